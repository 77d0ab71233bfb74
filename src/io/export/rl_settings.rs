//! A step of reinforcement learning as settings of the program that runs it: verl, NeMo-RL, slime, TRL.
//!
//! Names are those that the importers read (`src/io/dialect/programs`), so that a text comes back as the step that it
//! was written from. What a Run does not say is left to the program.

use super::formats::{in_order, lines_of};
use super::stamp::Stamp;
use crate::dialect::text::yaml;
use crate::dialect::{SettingEntries, dialect, lost_in};
use crate::import;
use shardscope_core::report::Evaluation;
use shardscope_core::run::presets::Trainer;
use shardscope_core::run::registry::field;
use shardscope_core::run::{Algorithm, OneOf, PhasesBy, Recompute, Run, Value};

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

    /// GPUs of an engine, by the step or by the phases.
    fn engine(&self) -> Option<Value> {
        self.field("rl.rollout_tp").or(self.field("phases.rollout_tp"))
    }

    /// Share of a GPU that an engine has, by the step or by the bytes of the phases.
    fn share(&self) -> Option<Value> {
        let of_phases = || {
            let gib = self.run.phases.rollout_gib?;
            Some(Value::Number((1000.0 * gib / self.evaluation.scenario.gpu.memory.gib()).round() / 1000.0))
        };
        self.field("rl.memory_share").or_else(of_phases)
    }

    fn is_on_megatron(&self) -> bool {
        self.run.stack.preset_row().trainer == Trainer::Megatron
    }

    /// `value` where Megatron trains.
    fn on_megatron(&self, value: Option<Value>) -> Option<Value> {
        value.filter(|_| self.is_on_megatron())
    }

    /// `value` where PyTorch's FSDP trains.
    fn on_shards(&self, value: Option<Value>) -> Option<Value> {
        value.filter(|_| !self.is_on_megatron())
    }

    /// True if all layers are computed again.
    fn recomputes(&self) -> bool {
        *self.run.recomputed() == Recompute::Full
    }

    /// `value` where Megatron computes all layers again.
    fn again(&self, value: impl Into<Value>) -> Option<Value> {
        self.on_megatron(self.recomputes().then(|| value.into()))
    }

    /// Whether the trainer's states leave the GPU while the engine works.
    fn leaves(&self) -> Option<Value> {
        self.run.phases.offload.map(Value::Bool)
    }

    /// Rank of adapters.
    fn rank(&self) -> Option<Value> {
        self.evaluation.scenario.adapter.as_ref().map(|adapter| adapter.rank.into())
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
const VERL: &[SaidSetting] = &[
    ("algorithm.adv_estimator", |of| Some(estimator(of.run.rl.algorithm?, "gae").into())),
    // A stream has no batch: a step is what is trained on between two weight syncs.
    (
        "data.train_batch_size",
        |of| {
            if of.run.rl.apart().is_some() { Some(0_u64.into()) } else { of.field("rl.prompts") }
        },
    ),
    ("data.max_prompt_length", |of| counted(of.prompt())),
    ("data.max_response_length", |of| of.field("rl.response_limit")),
    ("actor_rollout_ref.model.path", |of| of.model()),
    ("actor_rollout_ref.actor.strategy", |of| Some(if of.is_on_megatron() { "megatron" } else { "fsdp2" }.into())),
    ("actor_rollout_ref.actor.ppo_mini_batch_size", |of| {
        counted(Some(of.run.rl.prompts? / of.run.rl.updates.unwrap_or(1).max(1)))
    }),
    ("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", |of| of.field("micro_batch")),
    ("actor_rollout_ref.actor.ppo_epochs", |of| of.field("rl.epochs")),
    ("actor_rollout_ref.actor.use_kl_loss", |of| Some(Value::Bool(of.has_reference()))),
    ("actor_rollout_ref.actor.megatron.tensor_model_parallel_size", |of| of.on_megatron(of.field("tp"))),
    ("actor_rollout_ref.actor.megatron.pipeline_model_parallel_size", |of| of.on_megatron(of.field("pp"))),
    ("actor_rollout_ref.actor.megatron.context_parallel_size", |of| of.on_megatron(of.field("cp"))),
    ("actor_rollout_ref.actor.megatron.expert_model_parallel_size", |of| of.on_megatron(of.field("ep"))),
    ("actor_rollout_ref.actor.megatron.param_offload", |of| of.on_megatron(of.leaves())),
    ("actor_rollout_ref.actor.megatron.optimizer_offload", |of| of.on_megatron(of.leaves())),
    ("actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity", |of| of.again("full")),
    ("actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method", |of| of.again("uniform")),
    ("actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers", |of| of.again(1_u64)),
    ("actor_rollout_ref.actor.ulysses_sequence_parallel_size", |of| of.on_shards(of.field("cp"))),
    ("actor_rollout_ref.model.enable_gradient_checkpointing", |of| of.on_shards(Some(Value::Bool(of.recomputes())))),
    ("actor_rollout_ref.actor.fsdp_config.param_offload", |of| of.on_shards(of.leaves())),
    ("actor_rollout_ref.actor.fsdp_config.optimizer_offload", |of| of.on_shards(of.leaves())),
    ("actor_rollout_ref.actor.fsdp_config.fsdp_size", |of| of.on_shards(of.field("hsdp_shard"))),
    ("actor_rollout_ref.model.lora_rank", |of| of.rank()),
    ("actor_rollout_ref.rollout.n", |of| of.field("rl.samples")),
    ("actor_rollout_ref.rollout.name", |of| of.field("rl.engine").or(Some("vllm".into()))),
    ("actor_rollout_ref.rollout.tensor_model_parallel_size", |of| of.engine()),
    ("actor_rollout_ref.rollout.gpu_memory_utilization", |of| of.share()),
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
    ("policy.megatron_cfg.enabled", |of| Some(Value::Bool(of.is_on_megatron()))),
    ("policy.megatron_cfg.tensor_model_parallel_size", |of| of.on_megatron(of.field("tp"))),
    ("policy.megatron_cfg.pipeline_model_parallel_size", |of| of.on_megatron(of.field("pp"))),
    ("policy.megatron_cfg.context_parallel_size", |of| of.on_megatron(of.field("cp"))),
    ("policy.megatron_cfg.expert_model_parallel_size", |of| of.on_megatron(of.field("ep"))),
    ("policy.megatron_cfg.activation_checkpointing", |of| of.on_megatron(Some(Value::Bool(of.recomputes())))),
    ("policy.dtensor_cfg.enabled", |of| Some(Value::Bool(!of.is_on_megatron()))),
    ("policy.dtensor_cfg.tensor_parallel_size", |of| of.on_shards(of.field("tp"))),
    ("policy.dtensor_cfg.context_parallel_size", |of| of.on_shards(of.field("cp"))),
    ("policy.dtensor_cfg.sequence_parallel", |of| {
        of.on_shards(Some(Value::Bool(of.run.sequence_parallel && of.run.tp > 1)))
    }),
    ("policy.dtensor_cfg.activation_checkpointing", |of| of.on_shards(Some(Value::Bool(of.recomputes())))),
    ("policy.generation.backend", |of| of.field("rl.engine")),
    ("policy.generation.vllm_cfg.tensor_parallel_size", |of| of.engine()),
    ("policy.generation.vllm_cfg.gpu_memory_utilization", |of| of.share()),
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
    ("--rollout-num-gpus-per-engine", |of| of.engine()),
    ("--sglang-mem-fraction-static", |of| of.share()),
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
/// What they do not say is in their comments: what comes back otherwise when they are read.
pub(super) fn settings(evaluation: &Evaluation, stamp: &Stamp) -> String {
    const WHAT: &str = "a step of reinforcement learning; data, rewards and checkpoints are yours";
    let run = &evaluation.scenario.run;
    let framework = run.phases.framework.filter(|_| run.rl.algorithm.is_some());
    let bare = framework.and_then(|framework| written(evaluation, framework, &[]));
    let Some((framework, bare)) = framework.zip(bare) else {
        let comments = stamp.head(
            evaluation,
            "no settings: they are written for runs with an RL algorithm whose framework is verl, NeMo-RL, slime \
                or TRL",
        );
        return yaml::print(&SettingEntries::new(), &comments);
    };
    let mut comments = stamp.head(evaluation, WHAT);
    // The GPU is named whatever comes back, and the memory that an engine has of it is read by it.
    let present = Run { gpu: run.gpu.clone(), ..Run::default() };
    if let Ok(read) = import::read(&bare, &present) {
        let lost = in_order(lost_in(&evaluation.scenario, &read.run), run);
        comments.push(format!("Not expressible in {}:", framework.choice().label));
        comments.extend(lines_of(&lost, run, &read.run.resolved()));
    }
    written(evaluation, framework, &comments).unwrap_or_default()
}

/// The settings for `framework` behind `comments`; none of OpenRLHF, which has no rows here.
fn written(evaluation: &Evaluation, framework: PhasesBy, comments: &[String]) -> Option<String> {
    let run = &evaluation.scenario.run;
    let known = SaidStep { run, evaluation };
    let entries = |rows: &[SaidSetting]| -> SettingEntries {
        rows.iter().filter_map(|(name, of)| Some(((*name).to_owned(), of(&known)?))).collect()
    };
    match framework {
        PhasesBy::Verl => {
            let program = match (run.rl.apart(), known.is_on_megatron()) {
                (Some(_), true) => {
                    "python3 -m verl.experimental.fully_async_policy.fully_async_main \
                        --config-name=fully_async_ppo_megatron_trainer.yaml"
                }
                (Some(_), false) => {
                    "python3 -m verl.experimental.fully_async_policy.fully_async_main \
                        --config-name=fully_async_ppo_trainer.yaml"
                }
                (None, _) => "python3 -m verl.trainer.main_ppo",
            };
            Some(command(program, &entries(VERL), comments))
        }
        PhasesBy::NemoRl => Some(yaml::print(&entries(NEMO_RL), comments)),
        PhasesBy::Slime => {
            let is_beside = run.rl.staleness.is_some_and(|steps| steps > 0.0);
            let program = if is_beside { "python3 train_async.py" } else { "python3 train.py" };
            Some(command(program, &entries(SLIME), comments))
        }
        PhasesBy::Trl => Some(yaml::print(&dialect("trl")?.written(&evaluation.scenario), comments)),
        PhasesBy::OpenRlhf => None,
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
    use shardscope_core::report::report;
    use shardscope_core::run::registry::{FIELDS, Field};

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

    /// Memory and step of what comes back, once what the comments name is set again, are those of the run: by Megatron
    /// and by FSDP, with all layers recomputed, an engine of its own size, adapters, an order that no program has.
    #[test]
    fn what_the_settings_do_not_say_is_named() {
        let stacks =
            ["megatron-2025&zero=1", "torchtitan-eager&tp=1&pp=1&zero=3&precision=fsdp-mixed", "fsdp2&tp=1&zero=3"];
        let more = [
            "",
            "&recompute=full",
            "&phases.rollout_gib=48&phases.rollout_tp=2&phases.offload=false&phases.reference=true",
            "&pp=2&schedule=zb-v&recompute=none",
            "&adapter.method=lora&adapter.rank=32",
        ];
        for framework in ["verl", "nemo-rl", "slime", "trl"] {
            for (stack, more) in stacks.iter().flat_map(|stack| more.iter().map(move |more| (stack, more))) {
                let (run, mut read, text) = back(&format!("{STEP}&phases.framework={framework}&stack={stack}{more}"));
                assert!(text.contains("# Not expressible in "), "{text}");
                let lines = text.lines().filter_map(|line| line.strip_prefix("#   ")?.split_once(": "));
                let named: Vec<&str> = lines.map(|(label, _)| label).collect();
                let is_part = |group: &Field, field: &Field| field.key.starts_with(&format!("{}.", group.key));
                let is_named = |field: &Field| {
                    let groups = FIELDS.iter().filter(|group| named.contains(&group.label));
                    named.contains(&field.label) || groups.into_iter().any(|group| is_part(group, field))
                };
                for field in FIELDS.iter().filter(|field| is_named(field)) {
                    let _ = field.set(&mut read, &field.get(&run));
                }
                let figures = |run: &Run| report(run).map(|report| [report.memory.peak_bytes.0, report.step.time_s.0]);
                let (Ok(meant), Ok(now)) = (figures(&run), figures(&read)) else {
                    assert!(figures(&run).is_err(), "{framework} {stack}{more}\n{text}");
                    continue;
                };
                let is_near = meant.iter().zip(now).all(|(meant, now)| (now / meant - 1.0).abs() < 0.005);
                let differ = FIELDS.iter().filter(|field| field.get(&read) != field.get(&run));
                let differ: Vec<_> = differ.map(|field| (field.key, field.get(&run), field.get(&read))).collect();
                assert!(is_near, "{framework} {stack}{more}: {meant:?} {now:?}\n{differ:?}\n{text}");
            }
        }
    }

    #[test]
    fn a_run_without_a_step_says_what_is_missing() {
        let text = export(&Run::default(), "rl", &Stamp::default()).unwrap();
        assert!(text.lines().all(|line| line.starts_with("# ")) && text.contains("with an RL algorithm"), "{text}");
    }
}
