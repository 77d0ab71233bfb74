//! NeMo before its second edition, as the files of NeMo-Framework-Launcher have it: PyTorch Lightning's `trainer`
//! around the arguments of Megatron-LM.
//!
//! Source: NVIDIA/NeMo-Framework-Launcher 26e42fa `launcher_scripts/conf`, NVIDIA/NeMo v1.23
//! `examples/nlp/language_modeling/conf/megatron_gpt_config.yaml`.

use super::source::Settings;
use super::table::{Program, Together, by, row, when};
use super::values::{groups, on};
use crate::dialect::text::words::entries;
use crate::dialect::{SettingEntries, megatron};
use shardscope_core::run::Value;

/// Passes in 16 or 32 bits: `bf16`, `bf16-mixed`, 16, 32.
fn precision(value: &Value) -> SettingEntries {
    match value {
        Value::Number(bits) if *bits == 16.0 => entries(&[("--fp16", "")]),
        Value::Text(name) if name.starts_with("bf16") => entries(&[("--bf16", "")]),
        Value::Text(name) if name.starts_with("16") => entries(&[("--fp16", "")]),
        _ => Vec::new(),
    }
}

/// The optimizer's name: of the distributed ones the states are sharded.
fn optimizer(value: &Value) -> SettingEntries {
    match value.text() {
        Some("distributed_fused_adam" | "mcore_distributed_optim") => entries(&[("--use-distributed-optimizer", "")]),
        Some("fused_adam" | "adam" | "adamw") => entries(&[("--optimizer", "adam")]),
        _ => Vec::new(),
    }
}

fn activation(value: &Value) -> SettingEntries {
    match value.text() {
        Some("fast-swiglu" | "swiglu") => entries(&[("--swiglu", "")]),
        Some("squared-relu") => entries(&[("--squared-relu", "")]),
        _ => Vec::new(),
    }
}

fn normalization(value: &Value) -> SettingEntries {
    match value.text() {
        Some("rmsnorm") => entries(&[("--normalization", "RMSNorm")]),
        Some("layernorm" | "layernorm1p") => entries(&[("--normalization", "LayerNorm")]),
        _ => Vec::new(),
    }
}

/// Whether embedding and head share their weights: Megatron-LM's argument says the opposite.
fn shared(value: &Value) -> SettingEntries {
    let apart = if on(value) { "false" } else { "" };
    entries(&[("--untie-embeddings-and-output-weights", apart)])
}

fn positions(value: &Value) -> SettingEntries {
    match value.text() {
        Some("rope") => entries(&[("--position-embedding-type", "rope")]),
        Some("learned_absolute") => entries(&[("--position-embedding-type", "learned_absolute")]),
        _ => Vec::new(),
    }
}

/// The format in which the optimizer reduces gradients; fp32 unless it is bf16.
fn reduced(value: &Value) -> SettingEntries {
    match value.text() {
        Some("bf16") => entries(&[("--grad-reduce-in-bf16", "")]),
        _ => Vec::new(),
    }
}

/// True of the files of its trainings; conversions and evaluations have no steps.
fn trains(settings: &Settings) -> bool {
    let of_text = ["model.encoder_seq_length", "model.num_layers", "model.data.train_ds."];
    let of_images = ["model.unet", "model.vision.", "model.first_stage", "model.text."];
    settings.begins(&["trainer.max_steps"])
        && settings.begins(&["exp_manager."])
        && settings.begins(&[MICRO])
        && settings.begins(&of_text)
        && !settings.begins(&of_images)
}

/// Steps, where they are said: -1 is as many as the epochs have.
fn steps(value: &Value) -> SettingEntries {
    match value {
        Value::Number(count) if *count > 0.0 => vec![("--train-iters".to_owned(), value.clone())],
        _ => Vec::new(),
    }
}

/// Adapters by their scheme; everything is trained where there is none.
fn scheme(value: &Value) -> SettingEntries {
    match value.text() {
        Some(kind @ ("lora" | "qlora")) => entries(&[("peft.kind", kind)]),
        _ => Vec::new(),
    }
}

/// What the `type` of a tokenizer names: a model of the Hub, or one of Megatron-LM's kinds.
fn tokenizer(value: &Value) -> SettingEntries {
    match value.text() {
        Some(name) if name.contains('/') => entries(&[("--tokenizer-model", name)]),
        Some(kind) => entries(&[("--tokenizer-type", kind)]),
        None => Vec::new(),
    }
}

const MICRO: &str = "model.micro_batch_size";

pub(super) static NEMO_1: Program = Program {
    name: "NeMo 1",
    is: trains,
    base: &megatron::DIALECT,
    rows: &[
        row("trainer.num_nodes", "--nnodes"),
        row("trainer.devices", "--nproc-per-node"),
        by("trainer.max_steps", steps),
        by("trainer.precision", precision),
        row("model.encoder_seq_length", "--seq-length"),
        row("model.data.train_ds.max_seq_length", "--seq-length"),
        by("model.peft.peft_scheme", scheme),
        row("model.peft.lora_tuning.adapter_dim", "peft.rank"),
        row("model.activations_checkpoint_granularity", "--recompute-granularity"),
        row("model.activations_checkpoint_method", "--recompute-method"),
        row("model.activations_checkpoint_num_layers", "--recompute-num-layers"),
        by("model.num_query_groups", groups),
        by("model.tokenizer.type", tokenizer),
        row("model.tokenizer.model", "--tokenizer-model"),
        row("model.bias", "--add-bias-linear"),
        by("model.activation", activation),
        by("model.normalization", normalization),
        by("model.share_embeddings_and_output_weights", shared),
        by("model.position_embedding_type", positions),
        when("model.fp8", &[("--fp8-format", "hybrid")]),
        when("model.ub_tp_comm_overlap", &[("--tp-comm-overlap", "")]),
        by("model.optim.name", optimizer),
        by("model.optim.grad_sync_dtype", reduced),
        when("model.optim.overlap_grad_sync", &[("--overlap-grad-reduce", "")]),
        when("model.optim.overlap_param_sync", &[("--overlap-param-gather", "")]),
        row("model.*", "--*"),
    ],
    // Apex's distributed Adam stores 16 bits of a master weight, whose other half is the bf16 weight itself; beside fp8
    // weights it stores all 32: NVIDIA/NeMo
    // 000316c `nemo/collections/nlp/models/language_modeling/megatron_base_model.py` (`setup_optimization`:
    // `store_param_remainders`, `fp8_params`).
    together: &[Together {
        from: &[
            ("model.megatron_amp_O2", None),
            ("model.optim.name=distributed_fused_adam", None),
            ("model.fp8_params", Some(0.0)),
        ],
        to: "@precision.master",
        of: |n| (n[0] > 0.0 && n[1] > 0.0 && n[2] == 0.0).then_some(2.0),
    }],
    silent: "--nnodes 1 --nproc-per-node 8 --recompute-granularity none",
    says: None,
};
