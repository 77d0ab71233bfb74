//! Programs whose ranks share shards of PyTorch's FSDP or run Hugging Face's Trainer: NeMo Automodel, Primus with
//! torchtitan, NeMo-RL's and verl's other backend, LLaMA-Factory's second edition, ms-swift. Their base is torchtitan,
//! or LLaMA-Factory where Trainer runs them.
//!
//! Sources: NVIDIA-NeMo/Automodel 36044ad, its examples; modelscope/ms-swift 3602360 `swift/arguments`,
//! hiyouga/LLaMA-Factory ff6d4d1 `examples/v1`, and as in `on_megatron`.

use super::on_megatron::{
    NEMO_RL_TOGETHER, VERL_BUDGET, VERL_MICRO_OF_SHARDS, tuning_budget, tuning_together, verl_together,
};
use super::source::Settings;
use super::table::{
    GPUS_OF_EACH_NODE, GPUS_OF_LAUNCHER, Program, SettingRow, Together, by, by_where, otherwise, row, row_where, when,
};
use super::values::{
    ADAPTED, DYNAMIC, LENGTHS, cache_precision, engine, engine_of_verl, engine_precision, estimator, forced, leaves,
    on, preferred, prompts, rank, reference, sequence, stage, tunes, whole_node,
};
use crate::dialect::text::words::entries;
use crate::dialect::{SettingEntries, llama_factory, torchtitan};
use shardscope_core::run::Value;

const MODEL: &str = "hf_assets_path";
const LENGTH: &str = "training.seq_len";
const GLOBAL: &str = "training.global_batch_size";
const LOCAL: &str = "training.local_batch_size";
const TP: &str = "parallelism.tensor_parallel_degree";
const CP: &str = "parallelism.context_parallel_degree";
const PP: &str = "parallelism.pipeline_parallel_degree";
const EP: &str = "parallelism.expert_parallel_degree";

/// Every layer again, or nothing.
fn checkpoint(value: &Value) -> SettingEntries {
    entries(&[("activation_checkpoint.mode", if on(value) { "full" } else { "none" })])
}

/// Weights on the host.
const OFFLOAD: &[(&str, &str)] = &[("training.enable_cpu_offload", "")];

/// The type in which weights are kept.
fn dtype(value: &Value) -> SettingEntries {
    match value.text().map(|name| name.trim_start_matches("torch.")) {
        Some("bf16" | "bfloat16") => entries(&[("training.dtype", "bfloat16")]),
        Some("fp32" | "float32" | "float") => entries(&[("training.dtype", "float32")]),
        _ => Vec::new(),
    }
}

/// A number, where it is more than 0.
fn length(value: &Value) -> SettingEntries {
    match value {
        Value::Number(tokens) if *tokens > 0.0 => vec![(LENGTH.to_owned(), value.clone())],
        _ => Vec::new(),
    }
}

/// Ranks that share shards, where they are not all: -1 is all of them.
fn shard(value: &Value) -> SettingEntries {
    match value {
        Value::Number(ranks) if *ranks > 0.0 => vec![("@hsdp_shard".to_owned(), value.clone())],
        _ => Vec::new(),
    }
}

/// Context parallelism by torchtitan and Automodel, which gather keys and values where nothing else is said.
fn gathered(value: &Value) -> SettingEntries {
    vec![(CP.to_owned(), value.clone()), ("@cp_comm".to_owned(), Value::from("all-gather"))]
}

/// What verl's torchtitan does where its own settings are silent. Source: verl-project/verl 1dda039
/// `verl/trainer/config/engine/torchtitan.yaml:29`, `:70`.
fn model_engine(value: &Value) -> SettingEntries {
    match value.text() {
        Some("torchtitan") => entries(&[("activation_checkpoint.mode", "selective"), ("compile.enable", "true")]),
        _ => Vec::new(),
    }
}

/// The name of an optimizer's class. Those with Adam's name and states of other sizes, as `FlashAdamW` with its moments
/// in 8 bits, keep their own.
fn optimizer(value: &Value) -> SettingEntries {
    let class = value.text().and_then(|path| path.rsplit('.').next()).unwrap_or_default();
    let name = if ["Adam", "AdamW", "FusedAdam"].contains(&class) { "AdamW" } else { class };
    vec![("optimizer.name".to_owned(), Value::Text(name.to_owned()))]
}

/// A schedule without regard to its capitals.
fn schedule(value: &Value) -> SettingEntries {
    let name = match value.text().map(str::to_ascii_lowercase).as_deref() {
        Some("interleaved1f1b") => "Interleaved1F1B",
        Some("gpipe") => "GPipe",
        Some("1f1b") => "1F1B",
        _ => return Vec::new(),
    };
    entries(&[("parallelism.pipeline_parallel_schedule", name)])
}

fn reshard(value: &Value) -> SettingEntries {
    entries(&[("parallelism.fsdp_reshard_after_forward", if on(value) { "always" } else { "never" })])
}

/// Who shards: Megatron-LM's FSDP, like PyTorch's, all states; DDP nothing.
fn strategy(value: &Value) -> SettingEntries {
    match value.text() {
        Some("fsdp2" | "megatron_fsdp") => entries(&[("parallelism.fsdp_reshard_after_forward", "default")]),
        Some("ddp") => entries(&[("@zero", "0")]),
        _ => Vec::new(),
    }
}

/// Kernels of the loss by their classes. Source: NVIDIA-NeMo/Automodel 36044ad `nemo_automodel/components/loss`.
fn loss(value: &Value) -> SettingEntries {
    match value.text().and_then(|path| path.rsplit('.').next()) {
        Some("FusedLinearCrossEntropy") => entries(&[("@cross_entropy", "fused-linear")]),
        Some("ChunkedCrossEntropy") => entries(&[("@cross_entropy", "chunked")]),
        Some("TEParallelCrossEntropy") => entries(&[("@cross_entropy", "te-fused")]),
        // PyTorch's, on whole logits.
        Some("MaskedCrossEntropy") => entries(&[("@objective", "next-token")]),
        _ => Vec::new(),
    }
}

/// An objective of a training loop of one's own on PyTorch's FSDP2: torchtitan, whose settings are the base, has the
/// next token alone.
fn on_loop(objective: &str) -> SettingEntries {
    entries(&[("@objective", objective), ("@stack", "fsdp2")])
}

/// Trainings of NeMo-RL on `DTensor`.
fn preference(_: &Value) -> SettingEntries {
    [on_loop("dpo"), vec![("@phases.framework".to_owned(), Value::Null)]].concat()
}

fn scores(_: &Value) -> SettingEntries {
    [on_loop("reward"), vec![("@phases.framework".to_owned(), Value::Null)]].concat()
}

/// Heads of classes of models.
fn class(value: &Value) -> SettingEntries {
    let path = value.text().unwrap_or_default();
    match path.rsplit('.').nth(1) {
        Some("NeMoAutoModelForCausalLM") => entries(&[("@objective", "next-token")]),
        Some("NeMoAutoModelForSequenceClassification") => on_loop("classification"),
        Some("NeMoAutoModelBiEncoder") => on_loop("embedding"),
        Some("NeMoAutoModelCrossEncoder") => on_loop("reranking"),
        _ => Vec::new(),
    }
}

/// Ways of tokens to experts.
fn dispatcher(value: &Value) -> SettingEntries {
    match value.text() {
        Some("deepep") => entries(&[("@moe_dispatch", "per-node")]),
        Some("hybridep") => entries(&[("@moe_dispatch", "hybridep")]),
        Some("torch") => entries(&[("@moe_dispatch", "all-to-all")]),
        _ => Vec::new(),
    }
}

/// Recipes of Transformer Engine by their short names: "current", "block", "mxfp8".
fn recipe(value: &Value) -> SettingEntries {
    match value.text() {
        Some("mxfp8") => entries(&[("model.converters", "mxfp8")]),
        Some(_) => entries(&[("model.converters", "float8")]),
        None => Vec::new(),
    }
}

pub(super) static AUTOMODEL: Program = Program {
    name: "NeMo Automodel",
    is: |s| s.begins(&["step_scheduler."]) && s.begins(&["distributed.", "model._target_"]),
    base: &torchtitan::DIALECT,
    rows: &[
        row("model.pretrained_model_name_or_path", MODEL),
        row("model.config.pretrained_model_name_or_path", MODEL),
        by("model.torch_dtype", dtype),
        row("step_scheduler.global_batch_size", GLOBAL),
        row("step_scheduler.local_batch_size", LOCAL),
        row("step_scheduler.max_steps", "training.steps"),
        row("distributed.tp_size", TP),
        row("distributed.cp_size", CP),
        row("distributed.pp_size", PP),
        row("distributed.ep_size", "parallelism.expert_parallel_degree"),
        row("distributed.dp_replicate_size", "parallelism.data_parallel_replicate_degree"),
        row("distributed.sequence_parallel", "parallelism.enable_sequence_parallel"),
        by("distributed.activation_checkpointing", checkpoint),
        by("parallelizer.activation_checkpointing", checkpoint),
        by("distributed.strategy", strategy),
        by("loss_fn._target_", loss),
        by("model._target_", class),
        by("parallelizer.reshard_after_forward", reshard),
        by("distributed.pipeline.pp_schedule", schedule),
        row("distributed.pipeline.pp_microbatch_size", "parallelism.pipeline_parallel_microbatch_size"),
        row("distributed.pipeline.layers_per_stage", "parallelism.pipeline_parallel_layers_per_stage"),
        row("distributed.enable_async_tensor_parallel", "parallelism.enable_async_tensor_parallel"),
        row("distributed.enable_compile", "compile.enable"),
        row("compile.enabled", "compile.enable"),
        by("distributed.defer_fsdp_grad_sync", |value| {
            entries(&[("@zero2_reduce", if on(value) { "step" } else { "micro-batch" })])
        }),
        by("distributed.reshard_after_forward", reshard),
        by("distributed.moe.reshard_after_forward", reshard),
        row("dataset.seq_len", LENGTH),
        row("dataset.seq_length", LENGTH),
        by("packed_sequence.packed_sequence_size", length),
        by("packed_sequence.pack_size", length),
        by("optimizer._target_", optimizer),
        by("model.backend.dispatcher", dispatcher),
        row("model.backend.fake_balanced_gate", "debug.moe_force_load_balance"),
        when("fp8.enabled", &[("model.converters", "float8")]),
        row("fp8.recipe_name", "float8.recipe_name"),
        by("model.backend.te_fp8.recipe", recipe),
        by("peft._target_", |_| entries(ADAPTED)),
        row("peft.dim", "peft.rank"),
        row("peft.target_modules", "peft.targets"),
        when("quantization.load_in_4bit", &[("peft.bits", "4")]),
        row("benchmark.num_nodes", "nnodes"),
        row("ci.nodes", "nnodes"),
    ],
    together: &[Together {
        from: &[
            ("distributed.dp_size", None),
            ("distributed.tp_size", Some(1.0)),
            ("distributed.cp_size", Some(1.0)),
            ("distributed.pp_size", Some(1.0)),
        ],
        to: "nproc_per_node",
        of: |n| Some(n.iter().product()),
    }],
    // Gradients stay whole until the last micro-batch: components/distributed/config.py:318, utils.py:236.
    silent: "--nproc_per_node 8 --training.dtype bfloat16 --activation_checkpoint.mode none \
        --parallelism.enable_sequence_parallel=false --@zero2_reduce step",
    says: None,
};

pub(super) static PRIMUS: Program = Program {
    name: "Primus",
    is: |s| ["pre", "sft", "post"].iter().any(|kind| s.is(&format!("modules.{kind}_trainer.framework"), "torchtitan")),
    base: &torchtitan::DIALECT,
    rows: &[
        otherwise("modules.*.model", MODEL, "model.hf_assets_path"),
        row("modules.*.overrides.*.*", "*.*"),
        row("platform.num_nodes", "nnodes"),
        // The files of a model and of a trainer that it names: `primus/configs/models/torchtitan/qwen3_8b.yaml`.
        row("model.hf_assets_path", MODEL),
        row("*.*", "*.*"),
    ],
    together: &[],
    silent: "--nproc_per_node 8 --@gpu mi300x",
    says: super::table::FILES_OF_PRIMUS,
};

/// A degree that two revisions of a program count otherwise: 1 is none in both.
fn alone(value: &Value, degree: &str) -> SettingEntries {
    if *value == Value::Number(1.0) { entries(&[(degree, "1")]) } else { Vec::new() }
}

/// The switch of the second section of `DTensor` in arcee-ai/NeMo-RL.
const V2: &str = "policy.dtensor_v2_cfg.enabled";

pub(super) static NEMO_RL: Program = Program {
    name: "NeMo-RL",
    is: |s| {
        s.begins(&["policy.dtensor_cfg.", "policy.train_global_batch_size", "policy.model_name"])
            || s.begins(&["defaults"]) && s.begins(&["policy.", "grpo.", "cluster."])
    },
    base: &torchtitan::DIALECT,
    rows: &[
        row("policy.model_name", MODEL),
        row("policy.train_global_batch_size", GLOBAL),
        row("policy.train_micro_batch_size", LOCAL),
        row("policy.max_total_sequence_length", LENGTH),
        by("policy.precision", |value| {
            entries(&[(
                "training.mixed_precision_param",
                if value.text() == Some("float32") { "float32" } else { "bfloat16" },
            )])
        }),
        row("policy.dtensor_cfg.tensor_parallel_size", TP),
        row("policy.dtensor_cfg.context_parallel_size", CP),
        row("policy.dtensor_cfg.expert_parallel_size", "parallelism.expert_parallel_degree"),
        row("policy.dtensor_cfg.sequence_parallel", "parallelism.enable_sequence_parallel"),
        by("policy.dtensor_cfg.activation_checkpointing", checkpoint),
        when("policy.dtensor_cfg.cpu_offload", OFFLOAD),
        // A section of arcee-ai/NeMo-RL. A degree of the experts beyond 1 is not read: at 0be5512
        // (`nemo_rl/models/policy/dtensor_v2/v2_policy_worker.py:264`) they have a dimension of the mesh of their own,
        // at 0912707 (`rlkit/models/policy/v2_policy_worker.py:190`) the ranks of data, context and tensor parallelism,
        // and no file says for which of them it is.
        row_where("policy.dtensor_v2_cfg.tensor_parallel_size", TP, V2),
        row_where("policy.dtensor_v2_cfg.context_parallel_size", CP, V2),
        row_where("policy.dtensor_v2_cfg.sequence_parallel", "parallelism.enable_sequence_parallel", V2),
        by_where("policy.dtensor_v2_cfg.activation_checkpointing", checkpoint, V2),
        by_where("policy.dtensor_v2_cfg.expert_parallel_size", |value| alone(value, EP), V2),
        row_where("policy.dtensor_v2_cfg.pipeline_parallel_size", PP, V2),
        by_where(
            "policy.dtensor_v2_cfg.cpu_offload",
            |value| if on(value) { entries(OFFLOAD) } else { Vec::new() },
            V2,
        ),
        when("policy.dtensor_cfg.lora_cfg.enabled", ADAPTED),
        row("policy.dtensor_cfg.lora_cfg.dim", "peft.rank"),
        by("policy.optimizer.name", optimizer),
        row("policy.generation.vllm_cfg.tensor_parallel_size", "@phases.rollout_tp"),
        row("policy.generation.vllm_cfg.gpu_memory_utilization", "@share"),
        by("grpo.num_prompts_per_step", prompts),
        row("grpo.num_generations_per_prompt", "@rl.samples"),
        by("loss_fn.force_on_policy_ratio", forced),
        by("loss_fn.reference_policy_kl_penalty", reference),
        row("policy.generation.vllm_cfg.enforce_eager", "@rl.eager"),
        by("policy.generation.backend", engine),
        by("policy.generation.vllm_cfg.precision", engine_precision),
        by("policy.generation.vllm_cfg.kv_cache_dtype", cache_precision),
        row("policy.generation.vllm_kwargs.max_num_seqs", "@rl.max_sequences"),
        row("cluster.num_nodes", "nnodes"),
        row("cluster.gpus_per_node", "nproc_per_node"),
        by("dpo.*", preference),
        by("sft.*", tunes),
        by("rm.*", scores),
    ],
    together: &NEMO_RL_TOGETHER,
    silent: "--nnodes 1 --nproc_per_node 8 --activation_checkpoint.mode none \
        --parallelism.enable_sequence_parallel=false --@phases.framework nemo-rl",
    says: super::table::FULL_LENGTH,
};

/// As with Megatron-LM, by the ranks that share a sequence; the second name is that of an engine's own.
static BUDGET: [(&str, Option<f64>); 8] = [
    VERL_BUDGET[0],
    VERL_BUDGET[1],
    VERL_BUDGET[2],
    VERL_BUDGET[3],
    ("actor_rollout_ref.actor.ulysses_sequence_parallel_size", Some(1.0)),
    ("actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size", Some(1.0)),
    ("actor_rollout_ref.actor.veomni.ulysses_parallel_size", Some(1.0)),
    // Its torchtitan multiplies by the tensor-parallel ranks: verl-project/verl 1dda039
    // `verl/workers/engine/torchtitan/transformer_impl.py:363`.
    ("actor_rollout_ref.actor.torchtitan.tensor_parallel_size", Some(1.0)),
];

pub(super) static VERL: Program = Program {
    name: "verl",
    is: |s| s.begins(&["actor_rollout_ref."]),
    base: &torchtitan::DIALECT,
    rows: &[
        row("actor_rollout_ref.model.path", MODEL),
        by("actor_rollout_ref.actor.strategy", engine_of_verl),
        row("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", LOCAL),
        when("actor_rollout_ref.actor.use_dynamic_bsz", DYNAMIC),
        row("actor_rollout_ref.actor.ulysses_sequence_parallel_size", CP),
        row("actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size", CP),
        by("actor_rollout_ref.model.enable_gradient_checkpointing", checkpoint),
        by("actor_rollout_ref.actor.fsdp_config.param_offload", leaves),
        by("actor_rollout_ref.actor.fsdp_config.optimizer_offload", leaves),
        by("actor_rollout_ref.actor.fsdp_config.model_dtype", dtype),
        by("actor_rollout_ref.actor.fsdp_config.fsdp_size", shard),
        // VeOmni shards as FSDP does; its experts have ranks of their own. Source: verl-project/verl 1dda039
        // `verl/trainer/config/engine/veomni.yaml`.
        row("actor_rollout_ref.actor.veomni.ulysses_parallel_size", CP),
        by("actor_rollout_ref.actor.veomni.param_offload", leaves),
        by("actor_rollout_ref.actor.veomni.optimizer_offload", leaves),
        by("actor_rollout_ref.actor.veomni.fsdp_size", shard),
        row("actor_rollout_ref.actor.veomni.expert_parallel_size", EP),
        // `verl/trainer/config/engine/torchtitan.yaml`.
        by("model_engine", model_engine),
        row("actor_rollout_ref.actor.torchtitan.tensor_parallel_size", TP),
        row("actor_rollout_ref.actor.torchtitan.pipeline_parallel_size", PP),
        by("actor_rollout_ref.actor.torchtitan.context_parallel_size", gathered),
        row("actor_rollout_ref.actor.torchtitan.expert_parallel_size", EP),
        by("actor_rollout_ref.actor.torchtitan.data_parallel_shard_size", shard),
        by("actor_rollout_ref.actor.torchtitan.param_offload", leaves),
        by("actor_rollout_ref.actor.torchtitan.optimizer_offload", leaves),
        row("actor_rollout_ref.actor.torchtitan.activation_checkpoint", "activation_checkpoint.mode"),
        row("actor_rollout_ref.actor.torchtitan.use_torch_compile", "compile.enable"),
        by("actor_rollout_ref.actor.use_kl_loss", reference),
        by("actor_rollout_ref.model.lora_rank", rank),
        row("actor_rollout_ref.model.target_modules", "peft.targets"),
        when("actor_rollout_ref.model.use_fused_kernels", &[("@cross_entropy", "fused-linear")]),
        row("actor_rollout_ref.rollout.tensor_model_parallel_size", "@phases.rollout_tp"),
        row("actor_rollout_ref.rollout.gpu_memory_utilization", "@share"),
        by("algorithm.adv_estimator", estimator),
        otherwise("data.train_batch_size", "@rl.prompts", "async_training.trigger_parameter_sync_step"),
        by("async_training.use_rollout_log_probs", forced),
        row("actor_rollout_ref.actor.ppo_epochs", "@rl.epochs"),
        row("actor_rollout_ref.rollout.max_num_seqs", "@rl.max_sequences"),
        row("actor_rollout_ref.rollout.enforce_eager", "@rl.eager"),
        by("actor_rollout_ref.rollout.name", engine),
        row("trainer.nnodes", "nnodes"),
        row("trainer.n_gpus_per_node", "nproc_per_node"),
    ],
    together: &verl_together(LENGTH, GLOBAL, LOCAL, &BUDGET, &VERL_MICRO_OF_SHARDS),
    silent: "--nnodes 1 --nproc_per_node 8 --activation_checkpoint.mode full --training.local_batch_size 1 --@cp_comm \
        ulysses --@phases.framework verl --@rl.algorithm ppo --@rl.prompts 1024",
    says: super::table::FULL_LENGTH,
};

/// Fine-tuning of verl on its torchtitan. Source: verl-project/verl 1dda039
/// `verl/trainer/config/engine/torchtitan.yaml`, `verl/workers/engine/torchtitan/transformer_impl.py:163` and `:363`.
pub(super) static VERL_TUNING_TORCHTITAN: Program = Program {
    name: "verl",
    is: |s| s.is_tuning_of_verl() && s.engine_of_verl() == Some("torchtitan"),
    base: &torchtitan::DIALECT,
    rows: &[
        row("model.path", MODEL),
        row("data.train_batch_size", GLOBAL),
        row("data.micro_batch_size_per_gpu", LOCAL),
        row("data.max_length", LENGTH),
        row("engine.tensor_parallel_size", TP),
        row("engine.pipeline_parallel_size", PP),
        by("engine.context_parallel_size", gathered),
        row("engine.expert_parallel_size", EP),
        by("engine.data_parallel_shard_size", shard),
        row("engine.activation_checkpoint", "activation_checkpoint.mode"),
        row("engine.use_torch_compile", "compile.enable"),
        by("model.lora_rank", rank),
        row("model.target_modules", "peft.targets"),
        row("trainer.nnodes", "nnodes"),
        row("trainer.n_gpus_per_node", "nproc_per_node"),
        row("--nnodes", "nnodes"),
        row("--nproc-per-node", "nproc_per_node"),
    ],
    together: &tuning_together(LOCAL, &tuning_budget("engine.tensor_parallel_size")),
    silent: "--activation_checkpoint.mode selective --compile.enable --training.local_batch_size 8 \
        --training.global_batch_size 256 --training.seq_len 1024 --@dynamic",
    says: super::table::FULL_LENGTH,
};

/// Fine-tuning of verl on NeMo Automodel, whose budget of tokens is that of one GPU. Source: verl-project/verl 1dda039
/// `verl/trainer/config/engine/automodel.yaml`, `verl/workers/engine/automodel/utils.py:67`.
pub(super) static VERL_TUNING_AUTOMODEL: Program = Program {
    name: "verl",
    is: |s| s.is_tuning_of_verl() && s.engine_of_verl() == Some("automodel"),
    base: &torchtitan::DIALECT,
    rows: &[
        row("model.path", MODEL),
        row("data.train_batch_size", GLOBAL),
        row("data.micro_batch_size_per_gpu", LOCAL),
        row("data.max_length", LENGTH),
        row("engine.tp_size", TP),
        row("engine.pp_size", PP),
        by("engine.cp_size", gathered),
        row("engine.ep_size", EP),
        by("engine.distributed_strategy", strategy),
        by("engine.activation_checkpointing", checkpoint),
        by("engine.model_dtype", dtype),
        row("engine.enable_compile", "compile.enable"),
        by("model.lora_rank", rank),
        row("model.target_modules", "peft.targets"),
        row("trainer.nnodes", "nnodes"),
        row("trainer.n_gpus_per_node", "nproc_per_node"),
        row("--nnodes", "nnodes"),
        row("--nproc-per-node", "nproc_per_node"),
    ],
    together: &tuning_together(LOCAL, &tuning_budget("")),
    silent: "--activation_checkpoint.mode none --training.local_batch_size 8 --training.global_batch_size 256 \
        --training.seq_len 1024 --@dynamic",
    says: super::table::FULL_LENGTH,
};

pub(super) static VERL_TUNING: Program = Program {
    name: "verl",
    is: Settings::is_tuning_of_verl,
    base: &torchtitan::DIALECT,
    rows: &[
        row("model.path", MODEL),
        row("data.train_batch_size", GLOBAL),
        row("data.micro_batch_size_per_gpu", LOCAL),
        row("data.max_length", LENGTH),
        row("engine.ulysses_sequence_parallel_size", CP),
        by("engine.model_dtype", dtype),
        by("engine.fsdp_size", shard),
        by("model.enable_gradient_checkpointing", checkpoint),
        by("model.lora_rank", rank),
        row("model.target_modules", "peft.targets"),
        // Ray starts the workers where torchrun does not.
        row("trainer.nnodes", "nnodes"),
        row("trainer.n_gpus_per_node", "nproc_per_node"),
        row("--nnodes", "nnodes"),
        row("--nproc-per-node", "nproc_per_node"),
    ],
    together: &tuning_together(LOCAL, &tuning_budget("engine.ulysses_sequence_parallel_size")),
    silent: "--activation_checkpoint.mode full --training.local_batch_size 8 --training.global_batch_size 256 \
        --training.seq_len 1024 \
        --@cp_comm ulysses --@dynamic",
    says: super::table::FULL_LENGTH,
};

/// Fine-tuning of releases up to 0.7, whose file is `sft_trainer.yaml`: FSDP of fp32 weights with passes in bf16,
/// micro-batches of a number of samples. Source: verl b178a3c `verl/trainer/fsdp_sft_trainer.py`,
/// `verl/trainer/config/sft_trainer.yaml`.
pub(super) static VERL_TUNING_BEFORE: Program = Program {
    name: "verl",
    is: Settings::is_tuning_of_verl_before,
    base: &torchtitan::DIALECT,
    rows: &[
        row("model.partial_pretrain", MODEL),
        row("data.train_batch_size", GLOBAL),
        row("data.micro_batch_size_per_gpu", LOCAL),
        row("data.max_length", LENGTH),
        row("ulysses_sequence_parallel_size", CP),
        by("model.fsdp_config.model_dtype", dtype),
        by("model.enable_gradient_checkpointing", checkpoint),
        by("model.lora_rank", rank),
        row("model.target_modules", "peft.targets"),
        row("--nnodes", "nnodes"),
        row("--nproc-per-node", "nproc_per_node"),
        otherwise("trainer.nnodes", "nnodes", "--nnodes"),
        otherwise("trainer.n_gpus_per_node", "nproc_per_node", "--nproc-per-node"),
    ],
    together: &[],
    silent: "--activation_checkpoint.mode full --training.local_batch_size 4 --training.global_batch_size 256 \
        --training.seq_len 1024 --@cp_comm ulysses",
    says: super::table::FULL_LENGTH,
};

/// The kernels' names; Transformers' `eager` is LLaMA-Factory's `disabled`.
fn attention(value: &Value) -> SettingEntries {
    let stored = value.text() == Some("eager");
    vec![("flash_attn".to_owned(), if stored { Value::from("disabled") } else { value.clone() })]
}

/// The settings of LLaMA-Factory's second edition.
static V1: [SettingRow; 16] = [
    row("model", MODEL),
    row("micro_batch_size", LOCAL),
    row("global_batch_size", GLOBAL),
    row("cutoff_len", LENGTH),
    row("max_steps", "training.steps"),
    row("cp_size", CP),
    row("dist_config.ep_size", "parallelism.expert_parallel_degree"),
    when("dist_config.offload_params", OFFLOAD),
    row("peft_config.name", "peft.kind"),
    row("peft_config.r", "peft.rank"),
    row("peft_config.target_modules", "peft.targets"),
    by("quant_config.quantization_bit", |value| vec![("peft.bits".to_owned(), value.clone())]),
    by("enable_activation_checkpointing", checkpoint),
    by("dist_config.name", |value| if value.text() == Some("fsdp2") { strategy(value) } else { Vec::new() }),
    row("mp_replicate_size", "parallelism.data_parallel_replicate_degree"),
    by("optim_config.name", |value| match value.text() {
        Some("muon") => entries(&[("optimizer.name", "muon")]),
        Some("adamw" | "adam") => entries(&[("optimizer.name", "AdamW")]),
        _ => Vec::new(),
    }),
];

pub(super) static LLAMA_FACTORY: Program = Program {
    name: "LLaMA-Factory",
    is: |s| s.begins(&["dist_config.name"]) && s.begins(&["model", "micro_batch_size", "cutoff_len"]),
    base: &torchtitan::DIALECT,
    rows: &V1,
    together: &[],
    silent: "--activation_checkpoint.mode full --training.local_batch_size 1 --training.seq_len 2048 --@cp_comm \
        ulysses",
    says: None,
};

/// FSDP by the name of a file that ms-swift brings. Source: ms-swift 3602360 `swift/config/fsdp2.json`.
fn sharded(value: &Value) -> SettingEntries {
    if value.text() == Some("fsdp2") {
        let file = [("fsdp", "full_shard auto_wrap"), ("fsdp_config.fsdp_version", "2")];
        return entries(&[&file[..], &[("fsdp_config.activation_checkpointing", "")]].concat());
    }
    vec![("fsdp".to_owned(), value.clone())]
}

/// The GPUs of a list of their numbers: `0,1,2,3`.
fn devices(value: &Value) -> SettingEntries {
    let count = match value {
        Value::Text(text) => text.split(',').filter(|part| part.trim().parse::<u64>().is_ok()).count(),
        Value::Number(_) => 1,
        Value::List(items) => items.len(),
        _ => 0,
    };
    if count == 0 { Vec::new() } else { vec![("devices".to_owned(), Value::from(count as u64))] }
}

pub(super) static SWIFT: Program = Program {
    name: "ms-swift",
    is: |s| s.entries.iter().any(|(name, value)| name == "program" && value.text() == Some("swift")),
    base: &llama_factory::DIALECT,
    rows: &[
        row("--model", "model_name_or_path"),
        row("--tuner-type", "finetuning_type"),
        row("--train-type", "finetuning_type"),
        // Names of release 2: modelscope/ms-swift v2.6.1 `swift/llm/utils/argument.py`.
        row("--sft-type", "finetuning_type"),
        row("--model-id-or-path", "model_name_or_path"),
        row("--batch-size", "per_device_train_batch_size"),
        row("--lora-target-modules", "lora_target"),
        row("--lora-rank", "lora_rank"),
        row("--target-modules", "lora_target"),
        row("--modules-to-save", "additional_target"),
        row("--target-parameters", "target_parameters"),
        row("--use-dora", "use_dora"),
        row("--adalora-init-r", "adalora_init_r"),
        row("--adapter-length", "adapter_length"),
        row("--boft-block-size", "boft_block_size"),
        row("--reft-rank", "reft_rank"),
        row("--vera-rank", "vera_rank"),
        row("--fourier-n-frequency", "fourier_n_frequency"),
        row("--llamapro-num-new-blocks", "llamapro_num_new_blocks"),
        row("--lisa-activated-layers", "lisa_activated_layers"),
        row("--use-galore", "use_galore"),
        row("--galore-rank", "galore_rank"),
        row("--sequence-parallel-size", "cp"),
        row("--quant-bits", "quantization_bit"),
        row("--max-length", "cutoff_len"),
        by("--rlhf-type", preferred),
        by("--task-type", stage),
        row("--ref-model", "ref_model"),
        row("--teacher-model", "teacher_model"),
        by("--attn-impl", attention),
        by("--attention-implementation", attention),
        row("--use-liger-kernel", "enable_liger_kernel"),
        by("--torch-dtype", |value| match value.text() {
            Some("bfloat16") => entries(&[("bf16", "")]),
            Some("float16") => entries(&[("fp16", "")]),
            // Passes in fp16 around fp32 weights: swift/arguments/base_args/model_args.py:130.
            Some("float32") => entries(&[("fp16", ""), ("bf16", "false"), ("pure_bf16", "false")]),
            _ => Vec::new(),
        }),
        by("--gradient-checkpointing", |value| {
            entries(&[("disable_gradient_checkpointing", if on(value) { "false" } else { "true" })])
        }),
        row("--per-device-train-batch-size", "per_device_train_batch_size"),
        row("--gradient-accumulation-steps", "gradient_accumulation_steps"),
        row("--deepspeed", "deepspeed"),
        by("--fsdp", sharded),
        by("$CUDA_VISIBLE_DEVICES", devices),
        by("$NPROC_PER_NODE", whole_node),
        row("nnodes", "nnodes"),
        row("--config-file", "config_file"),
        row("deepspeed.*.*", "deepspeed.*.*"),
        row("deepspeed.*.*.*", "deepspeed.*.*.*"),
        row("distributed_type", "distributed_type"),
        row("fsdp_config.*", "fsdp_config.*"),
        row("deepspeed_config.*", "deepspeed_config.*"),
        row("num_machines", "num_machines"),
        row("num_processes", "num_processes"),
        row("--optim", "optim"),
        row("--max-steps", "max_steps"),
        row("--packing", "packing"),
        // The loss of a shared sequence in slices of so many tokens: logits and their gradient are whole, in 16 bits,
        // as those of a compiled loss (swift/sequence_parallel/utils.py:65).
        by("$CELOSS_PARALLEL_SIZE", |value| match value {
            Value::Number(tokens) if *tokens > 0.0 => vec![("@cross_entropy".to_owned(), Value::from("compiled"))],
            _ => Vec::new(),
        }),
    ],
    together: &[GPUS_OF_LAUNCHER, GPUS_OF_EACH_NODE, Together { from: &LENGTHS, to: "cutoff_len", of: sequence }],
    // Weights are loaded in bf16 and trained so: without DeepSpeed and FSDP nothing keeps a copy in fp32. `galore_rank:
    // int = 128`: swift/trainers/arguments.py:193.
    silent: "--bf16 --pure_bf16 --lora_rank 8 --galore_rank 128 --per_device_train_batch_size 1 --cutoff_len 2048",
    says: super::table::SAMPLES,
};
