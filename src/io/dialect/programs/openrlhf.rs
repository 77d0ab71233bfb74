//! OpenRLHF: supervised fine-tuning, DPO and reward models under DeepSpeed, and its trainer of reinforcement
//! learning, by the names of release 0.10 and later (`--ds.zero_stage`) and of those before (`--zero_stage`).
//!
//! Source: OpenRLHF/OpenRLHF 3c3be62 `openrlhf/cli/train_{sft,dpo,rm,ppo_ray}.py`,
//! `openrlhf/utils/deepspeed/deepspeed.py` and `deepspeed_utils.py`; names before of `v0.9.9`.

use super::source::Settings;
use super::table::{
    FULL_LENGTH, GPUS_OF_EACH_NODE, GPUS_OF_LAUNCHER, Program, SettingRow, Together, by, row, unless, when,
};
use super::values::{DYNAMIC, leaves, on, whole_node};
use crate::dialect::llama_factory::{self, EPOCHS};
use crate::dialect::text::words::entries;
use crate::dialect::{SettingEntries, tuning};
use shardscope_core::run::Value;

const NAME: &str = "OpenRLHF";

/// Starts of what starts each of its trainers, as a module or as a file.
const CLI: &str = "openrlhf.cli.";
const PATH: &str = "openrlhf/cli/";

/// True of a script that starts `module` of its command line.
fn starts(settings: &Settings, module: &str) -> bool {
    settings.script && [CLI, PATH].iter().any(|start| settings.text.contains(&format!("{start}{module}")))
}

/// DeepSpeed's optimizer states on the host.
const ADAM_OFFLOAD: &[(&str, &str)] = &[("deepspeed.zero_optimization.offload_optimizer.device", "cpu")];

/// The model keeps no layer's tensors.
fn checkpoints(value: &Value) -> SettingEntries {
    vec![("disable_gradient_checkpointing".to_owned(), Value::Bool(!on(value)))]
}

/// Passes in bf16 or fp16; a switch before 0.9.
fn precision(value: &Value) -> SettingEntries {
    match value.text() {
        Some("fp16") => entries(&[("fp16", ""), ("bf16", "false")]),
        Some("bf16") => entries(&[("bf16", "")]),
        None if on(value) => entries(&[("bf16", "")]),
        _ => Vec::new(),
    }
}

/// Gradients add up in fp32. Source: `deepspeed_utils.py`, `data_types.grad_accum_dtype`.
fn accumulates(value: &Value) -> SettingEntries {
    match value.text() {
        Some("fp32") => entries(&[("@precision", "bf16-fp32-grads")]),
        _ => Vec::new(),
    }
}

/// Adapters, where their rank is more than 0.
fn adapters(value: &Value) -> SettingEntries {
    match value {
        Value::Number(rank) if *rank > 0.0 => {
            vec![("finetuning_type".to_owned(), Value::from("lora")), ("lora_rank".to_owned(), value.clone())]
        }
        _ => Vec::new(),
    }
}

/// Ranks of ring attention, whose keys and values are gathered. Source: `models/ring_attn_utils.py`, whose
/// `ring_flash_attn.substitute_hf_flash_attn` takes `llama3_flash_attn_varlen_func`.
fn ring(value: &Value) -> SettingEntries {
    match value {
        Value::Number(ranks) if *ranks > 1.0 => vec![
            ("cp".to_owned(), value.clone()),
            ("@cp_comm".to_owned(), Value::from("all-gather")),
            ("@cp_a2a".to_owned(), Value::Null),
        ],
        Value::Number(_) => vec![("cp".to_owned(), value.clone())],
        _ => Vec::new(),
    }
}

/// `DeepSpeed`'s `AutoTP`, which cuts no sequence.
fn tensor_parallel(value: &Value) -> SettingEntries {
    vec![("@tp".to_owned(), value.clone()), ("@sequence_parallel".to_owned(), Value::Bool(false))]
}

/// Ranks of a second copy of the weights, where there is one.
fn hierarchy(value: &Value) -> SettingEntries {
    match value {
        Value::Number(ranks) if *ranks > 1.0 => vec![("@zero_hpz".to_owned(), value.clone())],
        _ => Vec::new(),
    }
}

fn on_host(value: &Value) -> SettingEntries {
    if on(value) { entries(&[("@objective.reference", "offloaded")]) } else { Vec::new() }
}

/// Attention that stores its scores, by Transformers' name.
fn attention(value: &Value) -> SettingEntries {
    let stored = value.text() == Some("eager");
    vec![("flash_attn".to_owned(), if stored { Value::from("disabled") } else { value.clone() })]
}

/// Fused norms and rotary embeddings; logits stay, because log-probabilities are read from them. Source:
/// `models/actor.py` (`AutoLigerKernelForCausalLM`, `output["logits"].to(torch.float32)`).
fn liger(value: &Value) -> SettingEntries {
    if on(value) { entries(&[("use_unsloth", "")]) } else { Vec::new() }
}

/// The optimizer that a name stands for; a name of another one sets nothing.
fn optimizer(value: &Value) -> SettingEntries {
    match value.text() {
        Some("muon") => entries(&[("@optimizer", "muon")]),
        Some("adam") => entries(&[("@optimizer", "adam")]),
        _ => Vec::new(),
    }
}

/// Rows of every trainer, then those that tune.
#[rustfmt::skip]
macro_rules! shared {
    ($($more:expr),* $(,)?) => {
        &[
            row("--data.max-len", "cutoff_len"),
            row("--max-len", "cutoff_len"),
            row("--train.micro-batch-size", "per_device_train_batch_size"),
            row("--micro-train-batch-size", "per_device_train_batch_size"),
            row("--train.batch-size", "@global_batch"),
            row("--train-batch-size", "@global_batch"),
            row("--ds.zero-stage", "deepspeed.zero_optimization.stage"),
            row("--zero-stage", "deepspeed.zero_optimization.stage"),
            when("--ds.adam-offload", ADAM_OFFLOAD),
            when("--adam-offload", ADAM_OFFLOAD),
            by("--ds.param-dtype", precision),
            by("--param-dtype", precision),
            by("--bf16", precision),
            by("--ds.zpg", hierarchy),
            by("--zpg", hierarchy),
            by("--ds.grad-accum-dtype", accumulates),
            by("--grad-accum-dtype", accumulates),
            by("--ds.attn-implementation", attention),
            by("--attn-implementation", attention),
            row("--flash-attn", "use_flash_attention_2"),
            by("--ds.use-liger-kernel", liger),
            by("--use-liger-kernel", liger),
            by("--ds.tensor-parallel-size", tensor_parallel),
            by("--ds-tensor-parallel-size", tensor_parallel),
            by("--ds.ring-attn-size", ring),
            by("--ring-attn-size", ring),
            by("--ds.lora.rank", adapters),
            by("--lora-rank", adapters),
            row("--ds.lora.target-modules", "lora_target"),
            row("--target-modules", "lora_target"),
            when("--ds.load-in-4bit", &[("quantization_bit", "4")]),
            when("--load-in-4bit", &[("quantization_bit", "4")]),
            by("$NPROC_PER_NODE", whole_node),
            row("nnodes", "nnodes"),
            $($more),*
        ]
    };
}

static TUNING: &[SettingRow] = shared![
    row("--model.model-name-or-path", "model_name_or_path"),
    row("--pretrain", "model_name_or_path"),
    by("--model.gradient-checkpointing-enable", checkpoints),
    by("--gradient-checkpointing", checkpoints),
    by("--optim", optimizer),
    row("--train.max-epochs", EPOCHS),
    row("--max-epochs", EPOCHS),
    by("--ref.offload", on_host),
    by("--ref-offload", on_host),
];

/// Settings of a launcher and of the communication.
static TOGETHER: [Together; 4] = [
    // `overlap_comm` is on in stage 3 unless it is said, and off before. Source: DeepSpeed edaa722
    // `runtime/zero/config.py`.
    Together {
        from: &[("--ds.zero-stage", None), ("--ds.overlap-comm", Some(0.0))],
        to: "@overlap.dp",
        of: |n| (n[0] < 3.0 && n[1] == 0.0).then_some(0.0),
    },
    Together {
        from: &[("--zero-stage", None), ("--overlap-comm", Some(0.0))],
        to: "@overlap.dp",
        of: |n| (n[0] < 3.0 && n[1] == 0.0).then_some(0.0),
    },
    GPUS_OF_LAUNCHER,
    GPUS_OF_EACH_NODE,
];

const fn tuning(is: fn(&Settings) -> bool, silent: &'static str) -> Program {
    Program {
        name: NAME,
        is,
        base: &llama_factory::DIALECT,
        rows: TUNING,
        together: &TOGETHER,
        silent,
        says: Some(
            "samples are counted at their full length (--data.max_len): shorter ones need less memory, and packing \
                takes the padding out",
        ),
    }
}

pub(super) static SFT: Program = tuning(
    |s| starts(s, "train_sft"),
    "--finetuning_type full --bf16 --disable_gradient_checkpointing --deepspeed.zero_optimization.stage 2 \
        --per_device_train_batch_size 8 --cutoff_len 2048 --@global_batch 128",
);

/// A model of its own is the reference, beside adapters too: `train_dpo.py:45`.
pub(super) static DPO: Program = tuning(
    |s| starts(s, "train_dpo"),
    "--finetuning_type full --bf16 --disable_gradient_checkpointing --deepspeed.zero_optimization.stage 2 \
        --per_device_train_batch_size 8 --cutoff_len 512 --@global_batch 128 --stage dpo \
        --@objective.reference resident",
);

pub(super) static REWARD: Program = tuning(
    |s| starts(s, "train_rm"),
    "--finetuning_type full --bf16 --disable_gradient_checkpointing --deepspeed.zero_optimization.stage 2 \
        --per_device_train_batch_size 1 --cutoff_len 512 --@global_batch 128 --stage rm",
);

/// Estimators of advantages. Source: `train_ppo_ray.py:478`; only `gae` has a critic (`:597`).
fn estimator(value: &Value) -> SettingEntries {
    let algorithm = match value.text() {
        Some("gae") => "ppo",
        Some("group_norm" | "dr_grpo") => "grpo",
        Some("rloo") => "rloo",
        Some("reinforce" | "reinforce_baseline") => "reinforce-plus-plus",
        _ => return Vec::new(),
    };
    entries(&[("@rl.algorithm", algorithm)])
}

/// No reference where the penalty is 0: `train_ppo_ray.py:84`.
fn penalty(value: &Value) -> SettingEntries {
    match value {
        Value::Number(weight) => vec![("@phases.reference".to_owned(), Value::Bool(*weight > 0.0))],
        _ => Vec::new(),
    }
}

/// The preset of a second model by its name, else one of the policy's shapes.
fn reward(value: &Value) -> SettingEntries {
    value.text().map(|name| entries(&[("@phases.reward", tuning::objective::teacher(name))])).unwrap_or_default()
}

/// All models on the same GPUs, the engines too unless they have some of their own.
fn colocated(value: &Value) -> SettingEntries {
    if on(value) { vec![("@phases.placement".to_owned(), Value::Null)] } else { Vec::new() }
}

/// Rows of reinforcement learning.
#[rustfmt::skip]
macro_rules! learning {
    ($($more:expr),* $(,)?) => {
        shared![
            by("--actor.gradient-checkpointing-enable", checkpoints),
            by("--gradient-checkpointing", checkpoints),
            by("--actor.optim", optimizer),
            by("--algo.advantage.estimator", estimator),
            by("--advantage-estimator", estimator),
            by("--algo.kl.init-coef", penalty),
            by("--init-kl-coef", penalty),
            row("--rollout.batch-size", "@rl.prompts"),
            row("--rollout-batch-size", "@rl.prompts"),
            row("--rollout.n-samples-per-prompt", "@rl.samples"),
            row("--n-samples-per-prompt", "@rl.samples"),
            row("--rollout.max-new-tokens", "@rl.response_limit"),
            row("--max-new-tokens", "@rl.response_limit"),
            row("--generate-max-len", "@rl.response_limit"),
            row("--train.max-epochs", "@rl.epochs"),
            row("--max-epochs", "@rl.epochs"),
            row("--vllm.tensor-parallel-size", "@rl.rollout_tp"),
            row("--vllm-tensor-parallel-size", "@rl.rollout_tp"),
            row("--vllm.gpu-memory-utilization", "@rl.memory_share"),
            row("--vllm-gpu-memory-utilization", "@rl.memory_share"),
            row("--vllm.enforce-eager", "@rl.eager"),
            row("--enforce-eager", "@rl.eager"),
            by("--vllm.enable-sleep", sleeps),
            by("--vllm-enable-sleep", sleeps),
            by("--ds.enable-sleep", leaves),
            by("--deepspeed-enable-sleep", leaves),
            by("--train.colocate-all", colocated),
            by("--colocate-all-models", colocated),
            unless("--train.colocate-actor-ref", BESIDE, "--train.colocate-all"),
            unless("--colocate-actor-ref", BESIDE, "--colocate-all-models"),
            by("--reward.model-name-or-path", reward),
            by("--reward-pretrain", reward),
            when("--train.dynamic-batch-enable", DYNAMIC),
            when("--use-dynamic-batch", DYNAMIC),
            $($more),*
        ]
    };
}

/// Source: OpenRLHF 3c3be62 `trainer/ray/vllm_engine.py` (`sleep(level=1)`).
fn sleeps(value: &Value) -> SettingEntries {
    if on(value) { vec![("@phases.sleep".to_owned(), Value::from("1"))] } else { Vec::new() }
}

/// The reference on the policy's GPUs, the engines on others, critic and reward model on a third kind: the last two
/// stand on the same ones with `colocate_critic_reward`, and are counted so without it.
const BESIDE: &[(&str, &str)] = &[("@phases.placement", "pairs")];

static LEARNING: &[SettingRow] =
    learning![row("--actor.model-name-or-path", "model_name_or_path"), row("--pretrain", "model_name_or_path")];

/// Settings that follow from several together, by the names of a release: updates of a step, the GPUs of the trained
/// model and of the engines, sequences of a micro-batch, the length of a sequence before it was one setting.
const fn together(names: [&'static [(&'static str, Option<f64>)]; 6]) -> [Together; 6] {
    [
        Together {
            from: names[0],
            to: "@rl.updates",
            of: |n| (n[2] > 0.0).then(|| (n[0] * n[1] / n[2]).floor().max(1.0)),
        },
        // The engines' GPUs are those of the models where all share them and generation does not run beside training.
        Together {
            from: names[1],
            to: "gpus",
            of: |n| Some(n[0] * n[1] + if n[4] > 0.0 && n[5] == 0.0 { 0.0 } else { n[2] * n[3] }),
        },
        Together { from: names[2], to: "@rl.rollout_gpus", of: |n| (n[2] == 0.0 || n[3] > 0.0).then(|| n[0] * n[1]) },
        // As many whole sequences as the tokens of a GPU hold: `replay_buffer.py:123`.
        Together {
            from: names[3],
            to: "per_device_train_batch_size",
            of: |n| {
                let length = if n[2] > 0.0 { n[2] } else { n[4] + n[5] };
                (n[0] > 0.0).then(|| (n[1] * n[3].max(1.0) / length.max(1.0)).floor().max(1.0))
            },
        },
        // As many batches as wait may be older than the weights: `train_ppo_ray.py:275`.
        Together { from: names[4], to: "@rl.staleness", of: |n| (n[0] > 0.0).then(|| n[1]) },
        Together { from: names[5], to: "cutoff_len", of: |n| Some(n.iter().sum()) },
    ]
}

/// Prompt and response of releases before 0.9.9, with their defaults.
static LENGTHS: [(&str, Option<f64>); 2] = [("--prompt-max-len", Some(1024.0)), ("--generate-max-len", Some(1024.0))];

static LEARNT: [Together; 6] = together([
    &[
        ("--rollout.batch-size", Some(1024.0)),
        ("--rollout.n-samples-per-prompt", Some(1.0)),
        ("--train.batch-size", Some(128.0)),
    ],
    &[
        ("--actor.num-nodes", Some(1.0)),
        ("--actor.num-gpus-per-node", Some(8.0)),
        ("--vllm.num-engines", Some(0.0)),
        ("--vllm.tensor-parallel-size", Some(1.0)),
        ("--train.colocate-all", Some(0.0)),
        ("--train.async-enable", Some(0.0)),
    ],
    &[
        ("--vllm.num-engines", None),
        ("--vllm.tensor-parallel-size", Some(1.0)),
        ("--train.colocate-all", Some(0.0)),
        ("--train.async-enable", Some(0.0)),
    ],
    &[
        ("--train.dynamic-batch-enable", None),
        ("--train.max-tokens-per-gpu", Some(16192.0)),
        ("--data.max-len", Some(2048.0)),
        ("--ds.ring-attn-size", Some(1.0)),
        LENGTHS[0],
        LENGTHS[1],
    ],
    &[("--train.async-enable", None), ("--train.async-queue-size", Some(1.0))],
    &LENGTHS,
]);

/// By the names before 0.10.
static LEARNT_BEFORE: [Together; 6] = together([
    &[
        ("--rollout-batch-size", Some(1024.0)),
        ("--n-samples-per-prompt", Some(1.0)),
        ("--train-batch-size", Some(128.0)),
    ],
    &[
        ("--actor-num-nodes", Some(1.0)),
        ("--actor-num-gpus-per-node", Some(8.0)),
        ("--vllm-num-engines", Some(0.0)),
        ("--vllm-tensor-parallel-size", Some(1.0)),
        ("--colocate-all-models", Some(0.0)),
        ("--async-train", Some(0.0)),
    ],
    &[
        ("--vllm-num-engines", None),
        ("--vllm-tensor-parallel-size", Some(1.0)),
        ("--colocate-all-models", Some(0.0)),
        ("--async-train", Some(0.0)),
    ],
    &[
        ("--use-dynamic-batch", None),
        ("--train-max-tokens-per-gpu", Some(16192.0)),
        ("--max-len", Some(0.0)),
        ("--ring-attn-size", Some(1.0)),
        LENGTHS[0],
        LENGTHS[1],
    ],
    &[("--async-train", None), ("--async-queue-size", Some(1.0))],
    &LENGTHS,
]);

const fn learns(is: fn(&Settings) -> bool, together: &'static [Together], silent: &'static str) -> Program {
    Program { name: NAME, is, base: &llama_factory::DIALECT, rows: LEARNING, together, silent, says: FULL_LENGTH }
}

pub(super) static LEARNING_NOW: Program = learns(
    |s| starts(s, "train_ppo_ray") && s.begins(&["--actor.", "--vllm.", "--rollout.", "--ds."]),
    &LEARNT,
    "--finetuning_type full --bf16 --disable_gradient_checkpointing --deepspeed.zero_optimization.stage 2 --gpus 8 \
        --per_device_train_batch_size 1 --cutoff_len 2048 --@global_batch 128 --@phases.framework openrlhf \
        --@phases.placement apart --@rl.algorithm ppo --@rl.prompts 1024 --@rl.samples 1",
);

pub(super) static LEARNING_BEFORE: Program = learns(
    |s| starts(s, "train_ppo_ray"),
    &LEARNT_BEFORE,
    "--finetuning_type full --bf16 --disable_gradient_checkpointing --deepspeed.zero_optimization.stage 2 --gpus 8 \
        --per_device_train_batch_size 4 --cutoff_len 2048 --@global_batch 128 --@phases.framework openrlhf \
        --@phases.placement apart --@rl.algorithm ppo --@rl.prompts 1024 --@rl.samples 1",
);
