//! A step of reinforcement learning as settings of the program that runs it: verl, NeMo-RL, slime, TRL.
//!
//! Names are those that the importers read (`src/io/dialect/programs`), so that a text comes back as the step that it
//! was written from. What a Run does not say is left to the program.

use super::stamp::Stamp;
use crate::dialect::text::yaml;
use crate::dialect::{SettingEntries, dialect};
use shardscope_core::report::Evaluation;
use shardscope_core::run::registry::field;
use shardscope_core::run::{Algorithm, PhasesBy, Run, Value};

/// A setting of a program, by its name and what of a Run it is; none where the Run does not say it.
type SaidSetting = (&'static str, fn(&SaidStep<'_>) -> Option<Value>);

/// A Run whose step is written.
struct SaidStep<'a> {
    run: &'a Run,
    evaluation: &'a Evaluation,
}

impl SaidStep<'_> {
    /// The value of a field; none where it is unset.
    fn field(&self, key: &str) -> Option<Value> {
        field(key).map(|field| field.get(self.run)).filter(|value| *value != Value::Null)
    }

    /// Responses of a step.
    fn responses(&self) -> Option<u64> {
        Some(self.run.rl.prompts?.saturating_mul(self.run.rl.samples?))
    }

    /// Responses of an update.
    fn of_update(&self) -> Option<u64> {
        Some(self.responses()? / self.run.rl.updates.unwrap_or(1).max(1))
    }

    /// The model's repository.
    fn model(&self) -> Option<Value> {
        crate::dialect::repository(&self.run.model).map(Value::from)
    }

    /// Tokens of the longest prompt: what the sequence leaves beside the response.
    fn prompt(&self) -> Option<u64> {
        self.run.seq_len.checked_sub(self.run.rl.response_limit?).filter(|tokens| *tokens > 0)
    }

    /// Whole nodes of `gpus` GPUs, and the GPUs of each.
    fn nodes(&self, gpus: u64) -> [u64; 2] {
        let each = self.evaluation.scenario.layout.per_node.min(gpus).max(1);
        [gpus.div_ceil(each), each]
    }

    fn has_reference(&self) -> bool {
        self.evaluation.scenario.phases.is_some_and(|phases| phases.reference)
    }
}

fn counted(count: Option<u64>) -> Option<Value> {
    count.map(Value::from)
}

/// Names of algorithms as verl's estimators of advantages and slime's are called.
fn estimator(algorithm: Algorithm, ppo: &'static str) -> &'static str {
    match algorithm {
        Algorithm::Ppo => ppo,
        Algorithm::Grpo | Algorithm::Dapo => "grpo",
        Algorithm::Rloo => "rloo",
        Algorithm::ReinforcePlusPlus => "reinforce_plus_plus",
    }
}

/// verl b178a3c `verl/trainer/config`.
const VERL: &[SaidSetting] =
    &[
        ("algorithm.adv_estimator", |of| Some(estimator(of.run.rl.algorithm?, "gae").into())),
        // A stream has no batch: a step is what is trained on between two weight syncs.
        ("data.train_batch_size", |of| {
            if of.run.rl.apart().is_some() { Some(0_u64.into()) } else { of.field("rl.prompts") }
        }),
        ("data.max_prompt_length", |of| counted(of.prompt())),
        ("data.max_response_length", |of| of.field("rl.response_limit")),
        ("actor_rollout_ref.model.path", |of| of.model()),
        ("actor_rollout_ref.actor.strategy", |_| Some("megatron".into())),
        ("actor_rollout_ref.actor.ppo_mini_batch_size", |of| {
            counted(Some(of.run.rl.prompts? / of.run.rl.updates.unwrap_or(1).max(1)))
        }),
        ("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", |of| of.field("micro_batch")),
        ("actor_rollout_ref.actor.ppo_epochs", |of| of.field("rl.epochs")),
        ("actor_rollout_ref.actor.use_kl_loss", |of| Some(Value::Bool(of.has_reference()))),
        ("actor_rollout_ref.actor.megatron.tensor_model_parallel_size", |of| of.field("tp")),
        ("actor_rollout_ref.actor.megatron.pipeline_model_parallel_size", |of| of.field("pp")),
        ("actor_rollout_ref.actor.megatron.context_parallel_size", |of| of.field("cp")),
        ("actor_rollout_ref.actor.megatron.expert_model_parallel_size", |of| of.field("ep")),
        ("actor_rollout_ref.rollout.n", |of| of.field("rl.samples")),
        ("actor_rollout_ref.rollout.name", |of| of.field("rl.engine").or(Some("vllm".into()))),
        ("actor_rollout_ref.rollout.tensor_model_parallel_size", |of| of.field("rl.rollout_tp")),
        ("actor_rollout_ref.rollout.gpu_memory_utilization", |of| of.field("rl.memory_share")),
        ("actor_rollout_ref.rollout.max_num_seqs", |of| of.field("rl.max_sequences")),
        ("actor_rollout_ref.rollout.enforce_eager", |of| of.field("rl.eager")),
        ("trainer.nnodes", |of| counted(Some(of.nodes(of.run.training_gpus())[0]))),
        ("trainer.n_gpus_per_node", |of| counted(Some(of.nodes(of.run.training_gpus())[1]))),
        ("rollout.nnodes", |of| counted(Some(of.nodes(of.run.rl.apart()?)[0]))),
        ("rollout.n_gpus_per_node", |of| counted(Some(of.nodes(of.run.rl.apart()?)[1]))),
        // Its trainer and its engines stop without these two: `fully_async_rollouter.py:76` and `:400`.
        ("actor_rollout_ref.hybrid_engine", |of| of.run.rl.apart().map(|_| Value::Bool(false))),
        ("actor_rollout_ref.rollout.calculate_log_probs", |of| of.run.rl.apart().map(|_| Value::Bool(true))),
        // 0 is synchronous training.
        ("async_training.staleness_threshold", |of| {
            of.run.rl.apart().map(|_| Value::Number(of.run.rl.staleness.unwrap_or(0.0)))
        }),
        ("async_training.trigger_parameter_sync_step", |of| {
            of.run.rl.apart().map(|_| of.run.rl.updates.unwrap_or(1).max(1).into())
        }),
        ("async_training.require_batches", |of| of.run.rl.apart().map(|_| 1_u64.into())),
        ("async_training.use_rollout_log_probs", |of| {
            of.run.rl.apart()?;
            of.run.rl.old_log_probs.map(|passes| Value::Bool(!passes))
        }),
    ];

/// NVIDIA-NeMo/RL 7ea279a `examples/configs`.
const NEMO_RL: &[SaidSetting] = &[
    ("grpo.num_prompts_per_step", |of| of.field("rl.prompts")),
    ("grpo.num_generations_per_prompt", |of| of.field("rl.samples")),
    ("grpo.async_grpo.enabled", |of| of.run.rl.staleness.map(|steps| Value::Bool(steps > 0.0))),
    ("grpo.async_grpo.max_trajectory_age_steps", |of| of.field("rl.staleness")),
    ("loss_fn.force_on_policy_ratio", |of| of.run.rl.old_log_probs.map(|passes| Value::Bool(!passes))),
    ("loss_fn.reference_policy_kl_penalty", |of| Some(Value::Number(if of.has_reference() { 0.01 } else { 0.0 }))),
    ("policy.model_name", |of| of.model()),
    ("policy.max_total_sequence_length", |of| of.field("rl.response_limit")),
    ("policy.train_global_batch_size", |of| counted(of.of_update())),
    ("policy.train_micro_batch_size", |of| of.field("micro_batch")),
    ("policy.megatron_cfg.enabled", |_| Some(Value::Bool(true))),
    ("policy.megatron_cfg.tensor_model_parallel_size", |of| of.field("tp")),
    ("policy.megatron_cfg.pipeline_model_parallel_size", |of| of.field("pp")),
    ("policy.megatron_cfg.context_parallel_size", |of| of.field("cp")),
    ("policy.megatron_cfg.expert_model_parallel_size", |of| of.field("ep")),
    ("policy.generation.vllm_cfg.tensor_parallel_size", |of| of.field("rl.rollout_tp")),
    ("policy.generation.vllm_cfg.gpu_memory_utilization", |of| of.field("rl.memory_share")),
    ("policy.generation.vllm_cfg.enforce_eager", |of| of.field("rl.eager")),
    ("policy.generation.vllm_cfg.precision", |of| of.field("rl.rollout_precision")),
    ("policy.generation.vllm_cfg.kv_cache_dtype", |of| of.field("rl.cache_precision")),
    ("policy.generation.vllm_kwargs.max_num_seqs", |of| of.field("rl.max_sequences")),
    ("policy.generation.colocated.enabled", |of| Some(Value::Bool(!of.run.rl.is_split()))),
    ("policy.generation.colocated.resources.num_nodes", |of| counted(Some(of.nodes(of.run.rl.apart()?)[0]))),
    ("policy.generation.colocated.resources.gpus_per_node", |of| counted(Some(of.nodes(of.run.rl.apart()?)[1]))),
    ("cluster.num_nodes", |of| counted(Some(of.nodes(of.run.gpus)[0]))),
    ("cluster.gpus_per_node", |of| counted(Some(of.nodes(of.run.gpus)[1]))),
];

/// THUDM/slime 624b824 `slime/utils/arguments.py`.
const SLIME: &[SaidSetting] = &[
    ("--hf-checkpoint", |of| of.model()),
    ("--advantage-estimator", |of| Some(estimator(of.run.rl.algorithm?, "ppo").into())),
    ("--actor-num-nodes", |of| counted(Some(of.nodes(of.run.training_gpus())[0]))),
    ("--actor-num-gpus-per-node", |of| counted(Some(of.nodes(of.run.training_gpus())[1]))),
    ("--colocate", |of| (!of.run.rl.is_split()).then_some(Value::Bool(true))),
    ("--rollout-num-gpus", |of| counted(of.run.rl.apart())),
    ("--rollout-num-gpus-per-engine", |of| of.field("rl.rollout_tp")),
    ("--sglang-mem-fraction-static", |of| of.field("rl.memory_share")),
    ("--sglang-server-concurrency", |of| of.field("rl.max_sequences")),
    ("--rollout-batch-size", |of| of.field("rl.prompts")),
    ("--n-samples-per-prompt", |of| of.field("rl.samples")),
    ("--over-sampling-batch-size", |of| {
        let more = of.run.rl.oversampling.filter(|factor| *factor > 1.0)?;
        Some(Value::Number((of.run.rl.prompts? as f64 * more).round()))
    }),
    ("--rollout-max-response-len", |of| of.field("rl.response_limit")),
    ("--num-steps-per-rollout", |of| of.field("rl.updates").or(Some(Value::from(1)))),
    ("--num-rollout", |of| of.field("rl.steps")),
    ("--update-weights-interval", |of| of.field("rl.staleness").filter(|steps| *steps != Value::Number(0.0))),
    ("--use-kl-loss", |of| of.has_reference().then_some(Value::Bool(true))),
    ("--micro-batch-size", |of| of.field("micro_batch")),
    ("--tensor-model-parallel-size", |of| of.field("tp")),
    ("--pipeline-model-parallel-size", |of| of.field("pp")),
    ("--context-parallel-size", |of| of.field("cp")),
    ("--expert-model-parallel-size", |of| of.field("ep")),
];

/// The settings, where the Run has a step and its program is one of the four; else a comment that says what is missing.
pub(super) fn settings(evaluation: &Evaluation, stamp: &Stamp) -> String {
    let run = &evaluation.scenario.run;
    let known = SaidStep { run, evaluation };
    let entries = |rows: &[SaidSetting]| -> SettingEntries {
        rows.iter().filter_map(|(name, of)| Some(((*name).to_owned(), of(&known)?))).collect()
    };
    let what = "a step of reinforcement learning; data, rewards and checkpoints are yours";
    let framework = run.phases.framework.filter(|_| run.rl.algorithm.is_some());
    match framework {
        Some(PhasesBy::Verl) => {
            let program = if run.rl.apart().is_some() {
                "python3 -m verl.experimental.fully_async_policy.fully_async_main \
                    --config-name=fully_async_ppo_megatron_trainer.yaml"
            } else {
                "python3 -m verl.trainer.main_ppo"
            };
            command(program, &entries(VERL), &stamp.head(evaluation, what))
        }
        Some(PhasesBy::NemoRl) => yaml::print(&entries(NEMO_RL), &stamp.head(evaluation, what)),
        Some(PhasesBy::Slime) => {
            let is_beside = run.rl.staleness.is_some_and(|steps| steps > 0.0);
            let program = if is_beside { "python3 train_async.py" } else { "python3 train.py" };
            command(program, &entries(SLIME), &stamp.head(evaluation, what))
        }
        Some(PhasesBy::Trl) => match dialect("trl") {
            Some(trl) => yaml::print(&trl.written(&evaluation.scenario), &stamp.head(evaluation, what)),
            None => String::new(),
        },
        Some(PhasesBy::OpenRlhf) | None => {
            let comments = stamp.head(
                evaluation,
                "no settings: they are written for runs with an RL algorithm whose framework is verl, NeMo-RL, slime \
                    or TRL",
            );
            yaml::print(&SettingEntries::new(), &comments)
        }
    }
}

/// A command with its settings, a line each: arguments, or overrides as Hydra has them.
fn command(program: &str, entries: &SettingEntries, comments: &[String]) -> String {
    let mut text: String = comments.iter().flat_map(|comment| ["# ", comment, "\n"]).collect();
    text.push_str(program);
    for (name, value) in entries {
        let shown = match value {
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(yes) => if *yes { "True" } else { "False" }.to_owned(),
            _ => continue,
        };
        let setting = match (name.starts_with("--"), value) {
            (true, Value::Bool(_)) => name.clone(),
            (true, _) => format!("{name} {shown}"),
            (false, _) => format!("{name}={shown}"),
        };
        text.push_str(" \\\n    ");
        text.push_str(&setting);
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::super::formats::export;
    use super::*;
    use crate::{import, link};

    /// Fields of a step that every one of the four programs says.
    const SAID: [&str; 10] = [
        "gpus",
        "tp",
        "pp",
        "phases.framework",
        "rl.algorithm",
        "rl.prompts",
        "rl.samples",
        "rl.response_limit",
        "rl.updates",
        "micro_batch",
    ];

    const STEP: &str = "v=1&model=qwen-3-32b&gpus=64&tp=8&pp=1&seq_len=4608&global_batch=1024&rl.algorithm=grpo&\
        rl.prompts=256&rl.samples=8&rl.response_limit=4096&rl.updates=2&rl.rollout_tp=4";

    fn back(link_of: &str) -> (Run, Run, String) {
        let run = link::decode(link_of).run;
        let text = export(&run, "rl", &Stamp::default()).unwrap();
        // The comments hold the link, which says all.
        let bare: Vec<&str> = text.lines().filter(|line| !line.starts_with("# ")).collect();
        let read =
            import::read(&bare.join("\n"), &Run::default()).unwrap_or_else(|issues| panic!("{issues:?}\n{text}"));
        (run, read.run, text)
    }

    #[test]
    fn a_step_comes_back_from_the_settings_of_its_program() {
        for (framework, more) in [
            ("verl", ""),
            ("verl", "&rl.rollout_gpus=32&rl.staleness=1"),
            ("nemo-rl", ""),
            ("nemo-rl", "&rl.rollout_gpus=32&rl.staleness=1"),
            ("slime", "&rl.placement=colocated"),
            ("slime", "&rl.rollout_gpus=32&rl.staleness=1"),
        ] {
            let (run, read, text) = back(&format!("{STEP}&phases.framework={framework}{more}"));
            let split = ["rl.rollout_gpus", "rl.staleness"];
            for key in SAID.into_iter().chain(split) {
                let field = field(key).unwrap();
                assert_eq!(field.get(&read), field.get(&run), "{framework}{more} {key}\n{text}");
            }
        }
        // TRL has no tensor parallelism.
        let trl = STEP.replace("tp=8&pp=1", "tp=1&pp=1");
        let (run, read, text) = back(&format!("{trl}&phases.framework=trl&rl.placement=colocated"));
        for key in SAID.into_iter().filter(|key| *key != "gpus") {
            let field = field(key).unwrap();
            assert_eq!(field.get(&read), field.get(&run), "trl {key}\n{text}");
        }
    }

    #[test]
    fn a_run_without_a_step_says_what_is_missing() {
        let text = export(&Run::default(), "rl", &Stamp::default()).unwrap();
        assert!(text.lines().all(|line| line.starts_with("# ")) && text.contains("with an RL algorithm"), "{text}");
    }
}
