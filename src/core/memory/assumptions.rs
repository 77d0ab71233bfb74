//! Assumptions of published methods, so that a Run outside them gets a warning that names the settings ignored.

use crate::issue::Issue;
use crate::message::Message;
use crate::model::{Biases, Norm};
use crate::run::registry::field;
use crate::run::{CrossEntropy, Method, Objective, OneOf, Recompute, Scenario, Schedule};
use crate::t;

/// Something a method assumes about a Run.
#[derive(Clone, Copy)]
pub(crate) struct Assumption {
    /// The field it concerns.
    field: &'static str,
    /// The assumption.
    assumed: &'static str,
    /// True if the Run agrees.
    holds: fn(&Scenario) -> bool,
}

const fn assume(field: &'static str, assumed: &'static str, holds: fn(&Scenario) -> bool) -> Assumption {
    Assumption { field, assumed, holds }
}

fn default(scenario: &Scenario, key: &str) -> bool {
    field(key).is_none_or(|field| !field.is_changed(&scenario.run))
}

const NEXT_TOKEN: Assumption =
    assume("objective", "the next token of every sequence", |s| s.learnt.objective == Objective::NextToken);
const ALL_WEIGHTS: Assumption = assume("adapter.method", "training of all weights", |s| s.adapter.is_none());
const DENSE: Assumption = assume("model.moe.experts", "a dense FFN", |s| s.model.moe.is_none());
const MULTI_HEAD: Assumption = assume("model.mla.kv_lora_rank", "multi-head attention", |s| s.model.mla.is_none());
const NO_TOWER: Assumption = assume("model.vision.layers", "no vision tower", |s| s.model.vision.is_none());
const ALL_HEADS: Assumption =
    assume("model.kv_heads", "as many key-value heads as heads", |s| s.model.kv_heads == s.model.heads);
const TWO_MATRICES: Assumption = assume("model.gated_ffn", "an FFN of two matrices", |s| !s.model.gated_ffn);
const ONE_TOKEN: Assumption = assume("model.mtp_modules", "no multi-token prediction", |s| s.model.mtp_modules == 0);
const DROPOUT: Assumption = assume("model.dropout", "dropout masks", |s| s.model.dropout);

/// A dense Llama: RMSNorm, SwiGLU, untied embeddings, no biases, no dropout.
pub const LLAMA: &[Assumption] = &[
    DENSE,
    assume("model.mla.kv_lora_rank", "grouped-query attention", |s| s.model.mla.is_none()),
    NO_TOWER,
    assume("model.gated_ffn", "a gated FFN", |s| s.model.gated_ffn),
    assume("model.norm", "RMSNorm", |s| s.model.norm == Norm::Rms),
    assume("model.biases", "no biases", |s| s.model.biases == Biases::None),
    assume("model.dropout", "no dropout", |s| !s.model.dropout),
    assume("model.tied_embeddings", "untied embeddings", |s| !s.model.tied_embeddings),
    ONE_TOKEN,
];

/// Format that every published method counts in.
const BF16: Assumption =
    assume("fp8_activations", "bf16 activations", |s| !s.run.fp8_activations && s.precision.recipe.is_none());

/// Megatron's usual training: 1F1B, ZeRO-1, sequence parallelism, FlashAttention, Adam with fp32 gradients.
pub const MEGATRON: &[Assumption] = &[
    assume("sequence_parallel", "sequence parallelism", |s| s.layout.tp == 1 || s.run.sequence_parallel),
    assume("zero", "ZeRO-1", |s| s.zero.stage == 1),
    assume("hsdp_shard", "shards over dp cp", |s| s.zero.shard == s.layout.dp * s.layout.cp),
    assume("schedule", "1F1B without virtual stages", |s| s.run.schedule == Schedule::OneFOneB),
    assume("precision", "bf16 with fp32 gradients", |s| default(s, "precision") && !s.run.precision.is_changed()),
    assume("optimizer", "Adam", |s| default(s, "optimizer")),
    assume("recompute", "no recomputation", |s| s.run.recompute == Recompute::None),
    assume("flash_attention", "FlashAttention", |s| s.run.runs_flash_attention()),
    assume("microbatch_lengths", "equal micro-batches", |s| s.run.microbatch_lengths.is_none()),
    assume("lengths.base", "samples that fill their sequence", |s| s.samples.is_none()),
    assume("cross_entropy", "fp32 logits, 4 bytes each", |s| s.software.cross_entropy == CrossEntropy::Megatron),
    assume("fused_swiglu", "an unfused SwiGLU, 8 bytes per token and FFN channel", |s| s.software.fused_swiglu),
    assume("dummy_wgrad", "no dummy weight gradients", |s| !s.software.dummy_wgrad),
    BF16,
    ALL_WEIGHTS,
    NEXT_TOKEN,
];

/// A dense GPT with multi-head attention and an FFN of two matrices; no vision tower.
pub(crate) const MULTI_HEAD_GPT: &[Assumption] = &[
    DENSE,
    MULTI_HEAD,
    NO_TOWER,
    ALL_HEADS,
    TWO_MATRICES,
    assume("model.ffn", "an FFN of four times the hidden size", |s| s.model.ffn == 4 * s.model.hidden),
    DROPOUT,
    ONE_TOKEN,
];

/// A dense GPT with multi-head attention and an FFN of two matrices, as the note on uneven pipelines assumes; its
/// formulas take any FFN width and a vision tower.
pub(crate) const MULTI_HEAD_GPT_SHAPES: &[Assumption] = &[
    DENSE,
    MULTI_HEAD,
    ALL_HEADS,
    TWO_MATRICES,
    DROPOUT,
    assume("model.tied_embeddings", "a head of its own", |s| !s.model.tied_embeddings),
    ONE_TOKEN,
];

/// Assumptions of methods that count the tensors of a layer and nothing beside them.
pub(crate) const TENSORS_ONLY: &[Assumption] = &[
    assume("microbatch_lengths", "equal micro-batches", |s| s.run.microbatch_lengths.is_none()),
    assume("lengths.base", "samples that fill their sequence", |s| s.samples.is_none()),
    assume("cross_entropy", "no logits", |s| s.software.cross_entropy == CrossEntropy::Megatron),
    assume("fused_swiglu", "no SwiGLU", |s| s.software.fused_swiglu),
    assume("dummy_wgrad", "no dummy weight gradients", |s| !s.software.dummy_wgrad),
    assume("hsdp_shard", "shards over all ranks", |s| s.run.hsdp_shard.is_none()),
    BF16,
    ALL_WEIGHTS,
    NEXT_TOKEN,
];

/// He's blog: any ZeRO stage over dp, equal stages, all or nothing recomputed.
pub(crate) const HE: &[Assumption] = &[
    assume("schedule", "one micro-batch in flight on every rank", |s| {
        s.layout.pp == 1 || s.run.schedule == Schedule::OneFOneB
    }),
    assume("stage_layers", "equal stages", |s| s.run.stage_layers.is_none()),
    assume("recompute", "no recomputation, or all of it", |s| {
        matches!(s.run.recompute, Recompute::None | Recompute::Full)
    }),
];

/// The uneven-pipeline note: unsharded 16 bytes a parameter, FlashAttention, sequence parallelism, one micro-batch.
pub(crate) const UNEVEN: &[Assumption] = &[
    assume("sequence_parallel", "sequence parallelism", |s| s.layout.tp == 1 || s.run.sequence_parallel),
    assume("cp", "no context parallelism", |s| s.layout.cp == 1),
    assume("zero", "no sharding", |s| s.zero.stage == 0),
    assume("schedule", "one micro-batch in flight", |s| s.layout.pp == 1 || s.run.schedule == Schedule::OneFOneB),
    assume("precision", "bf16 with 16-bit gradients", |s| {
        let bytes = s.precision;
        (bytes.weights, bytes.gradients(), bytes.master) == (2.0, 2.0, 4.0)
            && (bytes.moment1, bytes.moment2) == (4.0, 4.0)
    }),
    assume("optimizer", "Adam", |s| default(s, "optimizer")),
    assume("recompute", "no recomputation", |s| s.run.recompute == Recompute::None),
    assume("flash_attention", "FlashAttention", |s| s.run.runs_flash_attention()),
];

/// The playbook: any ZeRO stage over dp, none, selective or full recomputation.
pub(crate) const PLAYBOOK_METHOD: &[Assumption] =
    &[assume("recompute", "none, selective or full recomputation", |s| {
        matches!(s.run.recompute, Recompute::None | Recompute::Selective | Recompute::Full)
    })];

/// One warning for every field that the method with the id `method` ignores.
pub fn ignored(scenario: &Scenario, method: &'static str, lists: &[&[Assumption]]) -> Vec<Issue> {
    let named = Method::from_id(method).map_or(method, |method| method.choice().label);
    lists
        .iter()
        .copied()
        .flatten()
        .filter(|assumption| !(assumption.holds)(scenario))
        .map(|assumption| {
            Issue::warning(
                assumption.field,
                t!(
                    "the memory method {method} assumes {assumed} and ignores this",
                    method = Message::plain(named),
                    assumed = assumption.assumed
                ),
            )
        })
        .collect()
}
