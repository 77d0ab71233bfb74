//! Objectives as programs that tune name them: stages of LLaMA-Factory, and of ms-swift, whose settings become them;
//! trainers of TRL.
//!
//! Source: hiyouga/LLaMA-Factory ff6d4d1 `hparams/finetuning_args.py:460` (`stage`), `:183` (`pref_loss`), `:223`
//! (`ref_model`); modelscope/ms-swift 3602360 `arguments/rlhf_args.py:232` (`rlhf_type`), `arguments/model_args.py:72`
//! (`task_type`); huggingface/trl f2cd577 `trl/cli`, `trl/scripts`, `trainer/dpo_config.py` (`loss_type`).

use crate::dialect::python_trainer;
use crate::dialect::rows::hub;
use crate::dialect::rows::prelude::*;
use shardscope_core::run::{Objective, ObjectiveParts, ReferencePlace};

/// Words of ms-swift and TRL for an objective.
const NAMES: [(&str, Objective); 12] = [
    ("dpo", Objective::Dpo),
    ("kto", Objective::Kto),
    ("orpo", Objective::Orpo),
    ("simpo", Objective::Simpo),
    // Contrastive preference optimisation has pairs and no reference too.
    ("cpo", Objective::Simpo),
    ("rm", Objective::Reward),
    ("reward", Objective::Reward),
    ("reward_modeling", Objective::Reward),
    ("gkd", Objective::Distillation),
    ("seq_cls", Objective::Classification),
    ("embedding", Objective::Embedding),
    ("reranker", Objective::Reranking),
];

/// Losses of TRL's `DPOTrainer` that no other trainer of it has.
const DPO_LOSSES: [&str; 15] = [
    "sigmoid",
    "hinge",
    "ipo",
    "exo_pair",
    "nca_pair",
    "robust",
    "bco_pair",
    "sppo_hard",
    "discopop",
    "aot",
    "aot_pair",
    "aot_unpaired",
    "apo_zero",
    "apo_down",
    "sigmoid_norm",
];

/// Losses of next tokens: huggingface/trl f2cd577 `trl/trainer/sft_config.py` (`loss_type`).
const NEXT_TOKEN_LOSSES: [&str; 3] = ["nll", "dft", "chunked_nll"];

/// The objective that ms-swift or TRL calls `name`.
pub(in crate::dialect) fn named(name: &str) -> Option<Objective> {
    NAMES.iter().find(|(word, _)| *word == name).map(|(_, objective)| *objective)
}

/// The preset of a teacher by its name; one that is none is taken for a model of the student's size.
pub(in crate::dialect) fn teacher(name: &str) -> &'static str {
    hub::preset(name).unwrap_or("policy")
}

fn take(reader: &mut SettingsReader, objective: Objective) {
    reader.run.objective = Based { base: Some(objective.id()), parts: ObjectiveParts::default() };
}

/// Takes the objective of `stage` and `pref_loss`; returns it.
pub(in crate::dialect) fn of_stage(reader: &mut SettingsReader) -> Objective {
    take(reader, Objective::NextToken);
    let stage = reader.word("stage", "stage").unwrap_or_else(|| "sft".to_owned());
    let loss = reader.word("pref_loss", "loss of preferences");
    let objective = match (stage.as_str(), loss.as_deref()) {
        ("pt" | "sft", _) => return Objective::NextToken,
        ("dpo", Some("orpo")) => Objective::Orpo,
        ("dpo", Some("simpo")) => Objective::Simpo,
        (stage, _) => {
            let Some(objective) = named(stage) else {
                let stage = stage.to_owned();
                reader.assume(t!("training alone is counted, of the next token: {stage} has more models", stage));
                return Objective::NextToken;
            };
            objective
        }
    };
    take(reader, objective);
    if matches!(objective, Objective::Embedding | Objective::Reranking) {
        reader.assume("two sequences a sample: a query with one document; further ones take more memory and time");
    }
    // A model of its own where one is named, beside adapters too.
    let reference = reader.word("ref_model", "reference model");
    if reference.is_some() && objective.has_reference() {
        reader.run.objective.parts.reference = Some(ReferencePlace::Resident);
    }
    of_teacher(reader, "teacher_model", objective);
    objective
}

/// Takes the teacher of a distillation.
fn of_teacher(reader: &mut SettingsReader, key: &str, objective: Objective) {
    let Some(name) = reader.word(key, "teacher") else { return };
    if objective == Objective::Distillation {
        let id = teacher(&name);
        if id == "policy" {
            reader.assume(t!("a teacher of the student's size: {name} is no preset", name));
        }
        reader.set("objective.teacher", id);
    }
}

/// The trainer of TRL that a command runs: `trl dpo`, `trl/scripts/dpo.py`.
pub(in crate::dialect) fn trainer(text: &str) -> Option<&'static str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let command = words.windows(2).filter(|pair| pair[0].rsplit('/').next() == Some("trl")).map(|pair| pair[1]);
    let scripts = words.iter().filter_map(|word| word.rsplit('/').next()?.strip_suffix(".py"));
    // Two trainers generate what they learn from.
    let names = NAMES.iter().map(|(name, _)| *name).chain(["grpo", "rloo"]);
    let of = |word: &str| names.clone().find(|name| *name == word);
    command.chain(scripts).find_map(of)
}

/// The trainer of TRL that a script of one's own runs, by a word of its name: `run_dpo.py`, `train_grpo.py`.
pub(in crate::dialect) fn named_in(words: &[String]) -> Option<&'static str> {
    const WORDS: [&str; 8] = ["dpo", "kto", "orpo", "simpo", "cpo", "gkd", "grpo", "rloo"];
    let stems = words.iter().filter_map(|word| word.rsplit('/').next()?.strip_suffix(".py"));
    let mut parts = stems.flat_map(|stem| stem.split(['_', '-']));
    parts.find_map(|part| WORDS.into_iter().find(|word| *word == part))
}

/// Takes the objective of TRL: by its trainer, else by a loss or a setting that one trainer alone has.
pub(in crate::dialect) fn of_trl(reader: &mut SettingsReader, loss: Option<&str>) {
    let said = reader.word("trainer", "trainer").and_then(|name| named(&name));
    // DPO's may be several, weighted.
    let mut losses = loss.unwrap_or_default().split_whitespace();
    let by_loss = losses.find_map(|loss| match loss {
        "kto" | "apo_zero_unpaired" => Some(Objective::Kto),
        "simpo" | "alphapo" => Some(Objective::Simpo),
        // allenai/open-instruct e6c3044 `open_instruct/dpo_utils.py:76`.
        "dpo" | "dpo_norm" | "wpo" => Some(Objective::Dpo),
        other => DPO_LOSSES.contains(&other).then_some(Objective::Dpo),
    });
    let ready = reader.has("precompute_ref_log_probs") && reader.flag("precompute_ref_log_probs", "reference before");
    let by_teacher = reader.has("teacher_model_name_or_path").then_some(Objective::Distillation);
    // TRL's `CPOConfig`, princeton-nlp/SimPO 1b3e8f3 `scripts/simpo_config.py`; TRL's `KTOConfig`.
    let by_weight = [
        ("gamma_beta_ratio", Objective::Simpo),
        ("simpo_gamma", Objective::Simpo),
        ("cpo_alpha", Objective::Simpo),
        ("desirable_weight", Objective::Kto),
    ];
    let by_weight = by_weight.iter().find(|(name, _)| reader.has(name)).map(|(_, objective)| *objective);
    let mut objective = said.or(by_loss).or(by_weight).or(by_teacher).or(ready.then_some(Objective::Dpo));
    // The step of reinforcement learning, or that its training alone is counted, is said where that is read.
    let learns = super::rollout::generates(reader);
    // Trainers of preferences alone cut prompts; the file does not say which of them runs.
    if objective.is_none() && !learns && reader.has("max_prompt_length") {
        objective = reader.choose("the trainer is that of DPO", true).then_some(Objective::Dpo);
    }
    let objective = objective.unwrap_or_else(|| {
        if !learns && loss.is_some_and(|loss| !NEXT_TOKEN_LOSSES.contains(&loss)) {
            reader.leave("loss_type");
        }
        Objective::NextToken
    });
    take(reader, objective);
    if objective == Objective::NextToken {
        python_trainer::other_trainer(reader);
    }
    of_teacher(reader, "teacher_model_name_or_path", objective);
    if ready && objective.has_reference() {
        reader.run.objective.parts.reference = Some(ReferencePlace::Nowhere);
    }
}

/// Takes the objective of torchtune: by the class of its loss. A recipe that distils has a teacher beside it. Source:
/// pytorch/torchtune bd2a0fc `torchtune/rlhf/loss`, `torchtune/modules/loss/kd_losses.py`,
/// `recipes/full_dpo_distributed.py` (a reference of its own).
pub(in crate::dialect) fn of_torchtune(reader: &mut SettingsReader, loss: &str) {
    let class = loss.rsplit('.').next().unwrap_or_default();
    let objective = match class {
        "DPOLoss" | "RSOLoss" => Objective::Dpo,
        "SimPOLoss" => Objective::Simpo,
        _ if reader.has("teacher_model._component_") => Objective::Distillation,
        _ => Objective::NextToken,
    };
    if class.starts_with("PPO") || class.starts_with("GRPO") {
        let loss = class.to_owned();
        reader.assume(t!("training alone is counted, of the next token: {stage} has more models", stage = loss));
    }
    take(reader, objective);
}

/// Takes the objective of axolotl by `rl` and its models of rewards. Source: axolotl 067b021
/// `utils/schemas/enums.py` (`RLType`), `utils/schemas/config.py` (`reward_model`, `process_reward_model`).
pub(in crate::dialect) fn of_axolotl(reader: &mut SettingsReader) {
    let stage = reader.word("rl", "objective");
    let rewards = reader.flag("reward_model", "model of rewards") | reader.flag("process_reward_model", "of rewards");
    let objective = match stage.as_deref() {
        Some("ipo" | "simpo_ipo") => Some(Objective::Dpo),
        Some(name) => named(name),
        None => rewards.then_some(Objective::Reward),
    };
    if let (Some(stage), None) = (&stage, objective) {
        let stage = stage.clone();
        reader.assume(t!("training alone is counted, of the next token: {stage} has more models", stage));
    }
    take(reader, objective.unwrap_or(Objective::NextToken));
}

/// Stage and loss that LLaMA-Factory has for an objective; none where it has none.
pub(in crate::dialect) fn stage_of(objective: Objective) -> Option<(&'static str, Option<&'static str>)> {
    Some(match objective {
        Objective::Dpo => ("dpo", None),
        Objective::Orpo => ("dpo", Some("orpo")),
        Objective::Simpo => ("dpo", Some("simpo")),
        Objective::Kto => ("kto", None),
        Objective::Reward => ("rm", None),
        _ => return None,
    })
}
