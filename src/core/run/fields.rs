//! The rows of the registry, in the contract's order, which is also the order of a link.
//!
//! To add a setting: a field in [`Run`](super::Run) with its default, and a row here.

use super::adapter::{AdapterMethod, AdapterType, BaseFormat, Saved};
use super::choices::{
    AttentionKernel, Choice, CpComm, CrossEntropy, Method, Module, MoeDispatch, OffloadFramework, OffloadTo, OneOf,
    Optimizer, Recompute, Reduction, Schedule, TpOverlap, Variant,
};
use super::field::{Field, Group, Slot, Steps};
use super::phases::{PhasesBy, Placement, SecondModel, Sleep};
use super::precision::POLICIES;
use super::presets::{GPUS, MODELS, STACKS};
use super::profile::MULTIPLIERS;
use crate::cluster::RankOrder;
use crate::model::{AttentionCount, Biases, Norm, QkNorm, Target};

/// Larger than any cluster or batch that was ever trained on. Products of two are taken as `f64`.
pub const MAX_COUNT: u64 = 1 << 40;

fn all<T: OneOf>() -> Vec<Choice> {
    T::ALL.iter().map(|(_, choice)| *choice).collect()
}

/// A whole number that always has a value.
macro_rules! count {
    ($low:expr, $high:expr, $steps:expr, $($path:ident).+) => {
        Slot::Count {
            range: ($low, $high),
            steps: $steps,
            get: |run| Some(run.$($path).+),
            set: |run, value| if let Some(value) = value { run.$($path).+ = value },
        }
    };
}
/// A whole number that may be unset.
macro_rules! maybe_count {
    ($low:expr, $high:expr, $steps:expr, $($path:ident).+) => {
        Slot::Count {
            range: ($low, $high),
            steps: $steps,
            get: |run| run.$($path).+,
            set: |run, value| run.$($path).+ = value,
        }
    };
}
macro_rules! number {
    ($low:expr, $high:expr, $step:expr, $($path:ident).+) => {
        Slot::Number {
            range: ($low, $high),
            steps: Steps::By($step),
            get: |run| Some(run.$($path).+),
            set: |run, value| if let Some(value) = value { run.$($path).+ = value },
        }
    };
}
macro_rules! maybe_number {
    ($low:expr, $high:expr, $step:expr, $($path:ident).+) => {
        Slot::Number {
            range: ($low, $high),
            steps: Steps::By($step),
            get: |run| run.$($path).+,
            set: |run, value| run.$($path).+ = value,
        }
    };
}
/// Text that may be unset.
macro_rules! maybe_text {
    ($($path:ident).+) => {
        Slot::Text {
            get: |run| run.$($path).+.as_deref(),
            set: |run, value| run.$($path).+ = value,
        }
    };
}
/// A list of as many numbers that may be unset.
macro_rules! maybe_numbers {
    ($length:expr, $low:expr, $high:expr, $($path:ident).+) => {
        Slot::Numbers {
            length: $length,
            range: ($low, $high),
            get: |run| run.$($path).+.as_ref(),
            set: |run, value| run.$($path).+ = value,
        }
    };
}
macro_rules! toggle {
    ($($path:ident).+) => {
        Slot::Toggle {
            get: |run| Some(run.$($path).+),
            set: |run, value| if let Some(value) = value { run.$($path).+ = value },
        }
    };
}
macro_rules! maybe_toggle {
    ($($path:ident).+) => {
        Slot::Toggle { get: |run| run.$($path).+, set: |run, value| run.$($path).+ = value }
    };
}
macro_rules! choice {
    ($kind:ty, $($path:ident).+) => {
        Slot::Choice {
            options: all::<$kind>,
            get: |run| Some(run.$($path).+.id()),
            set: |run, id| match id.and_then(<$kind>::from_id) {
                Some(value) => {
                    run.$($path).+ = value;
                    true
                }
                None => false,
            },
        }
    };
}
macro_rules! maybe_choice {
    ($kind:ty, $($path:ident).+) => {
        Slot::Choice {
            options: all::<$kind>,
            get: |run| run.$($path).+.map(OneOf::id),
            set: |run, id| {
                let value = id.and_then(<$kind>::from_id);
                if id.is_some() && value.is_none() {
                    return false;
                }
                run.$($path).+ = value;
                true
            },
        }
    };
}
/// A second model: the policy's shapes or a preset's; may be unset.
macro_rules! maybe_model {
    ($($path:ident).+) => {
        Slot::Choice {
            options: SecondModel::options,
            get: |run| run.$($path).+.map(SecondModel::id),
            set: |run, id| {
                let value = id.and_then(SecondModel::from_id);
                if id.is_some() && value.is_none() {
                    return false;
                }
                run.$($path).+ = value;
                true
            },
        }
    };
}
/// Some of a fixed list, which may be unset; none of them is unset.
macro_rules! maybe_set {
    ($kind:ty, $($path:ident).+) => {
        Slot::Set {
            options: all::<$kind>,
            get: |run| {
                let chosen = run.$($path).+.as_ref()?;
                Some(chosen.iter().map(|one| one.id()).collect())
            },
            set: |run, ids| {
                let chosen = ids.map(|ids| ids.iter().map(|id| <$kind>::from_id(id)).collect());
                let Some(chosen) = chosen.map_or(Some(None), |all: Option<Vec<_>>| all.map(Some)) else {
                    return false;
                };
                run.$($path).+ = chosen.filter(|chosen| !chosen.is_empty());
                true
            },
        }
    };
}
/// The id of a preset in a table of presets.
macro_rules! preset {
    ($table:ident, $($path:ident).+) => {
        Slot::Choice {
            options: || $table.iter().map(|preset| preset.choice).collect(),
            get: |run| run.$($path).+.base,
            set: |run, id| {
                let found = $table
                    .iter()
                    .map(|preset| preset.choice.id)
                    .find(|known| id.is_some_and(|id| id.eq_ignore_ascii_case(known)));
                if id.is_some() && found.is_none() {
                    return false;
                }
                run.$($path).+.base = found;
                true
            },
        }
    };
}

const fn row(
    key: &'static str,
    group: Group,
    label: &'static str,
    symbol: &'static str,
    unit: &'static str,
    hint: &'static str,
    slot: Slot,
) -> Field {
    Field { key, group, label, symbol, unit, hint, advanced: false, slot }
}

impl Field {
    const fn advanced(mut self) -> Self {
        self.advanced = true;
        self
    }
}

use Group::{Cluster, Method as How, Model, Parallelism, Training};
use Steps::{By, Double, Round, Valid};

/// Every setting.
#[rustfmt::skip] // a table: one row a line
pub static FIELDS: &[Field] = &[
    row("model", Model, "Model", "", "", "a published model; its shapes can be changed one by one", preset!(MODELS, model)),
    row("model.layers", Model, "Layers", "L", "", "transformer layers", maybe_count!(1, 100_000, Valid, model.parts.layers)),
    row("model.hidden", Model, "Hidden size", "h", "", "width of the residual stream", maybe_count!(1, 1 << 20, By(128.0), model.parts.hidden)),
    row("model.ffn", Model, "FFN size", "f", "", "width of a dense FFN", maybe_count!(1, 1 << 24, By(128.0), model.parts.ffn)).advanced(),
    row("model.heads", Model, "Attention heads", "a", "", "query heads", maybe_count!(1, 1 << 16, Valid, model.parts.heads)).advanced(),
    row("model.kv_heads", Model, "Key-value heads", "k", "", "fewer than the query heads: grouped-query attention", maybe_count!(1, 1 << 16, Valid, model.parts.kv_heads)).advanced(),
    row("model.head_dim", Model, "Head width", "d", "", "hidden size over heads, unless the model says otherwise", maybe_count!(1, 1 << 16, Double, model.parts.head_dim)).advanced(),
    row("model.vocab", Model, "Vocabulary", "v", "", "entries of the embedding, unpadded", maybe_count!(1, 1 << 26, By(128.0), model.parts.vocab)).advanced(),
    row("model.gated_ffn", Model, "Gated FFN", "", "", "SwiGLU's third matrix", maybe_toggle!(model.parts.gated_ffn)).advanced(),
    row("model.tied_embeddings", Model, "Tied embeddings", "", "", "the head shares the embedding's weights", maybe_toggle!(model.parts.tied_embeddings)).advanced(),
    row("model.norm", Model, "Normalisation", "", "", "RMSNorm has no bias", maybe_choice!(Norm, model.parts.norm)).advanced(),
    row("model.post_norms", Model, "Norms after", "", "", "a norm after attention and FFN too (Gemma 2 and 3)", maybe_toggle!(model.parts.post_norms)).advanced(),
    row("model.qk_norm", Model, "Query-key norm", "", "", "a norm of queries and keys: by head, or over all heads", maybe_choice!(QkNorm, model.parts.qk_norm)).advanced(),
    row("model.biases", Model, "Biases", "", "", "which linears carry one", maybe_choice!(Biases, model.parts.biases)).advanced(),
    row("model.dropout", Model, "Dropout", "", "", "its masks are kept for the backward pass", maybe_toggle!(model.parts.dropout)).advanced(),
    row("model.learned_positions", Model, "Learned positions", "", "rows", "0 with rotary positions", maybe_count!(0, 1 << 26, Double, model.parts.learned_positions)).advanced(),
    row("model.mtp_modules", Model, "MTP modules", "", "", "multi-token-prediction modules after the last layer", maybe_count!(0, 64, By(1.0), model.parts.mtp_modules)).advanced(),
    row("model.pattern", Model, "Layer pattern", "", "", "kinds of layers, repeated to model.layers: (Wd*5,Ad)*10, MEM*E; unset: one kind behind the leading dense layers", Slot::Text {
        get: |run| run.model.parts.pattern.as_deref(),
        set: |run, value| run.model.parts.pattern = value,
    }).advanced(),
    row("model.name", Model, "Model name", "", "", "what this model is called on the page and in reports", Slot::Text {
        get: |run| run.model.parts.name.as_deref(),
        set: |run, value| run.model.parts.name = value,
    }).advanced(),
    row("model.window", Model, "Window", "", "tokens", "keys that a query of a sliding-window layer meets, its own included", maybe_count!(0, 1 << 30, Double, model.parts.window)).advanced(),
    row("model.chunk", Model, "Attention chunk", "", "tokens", "tokens that attention of a chunked layer stays in", maybe_count!(0, 1 << 30, Double, model.parts.chunk)).advanced(),
    row("model.value_head_dim", Model, "Head width, value (GQA)", "", "", "0: as the head width", maybe_count!(0, 1 << 16, Double, model.parts.value_head_dim)).advanced(),
    row("model.sinks", Model, "Attention sinks", "", "", "a learned logit per head, which takes part in every softmax", maybe_toggle!(model.parts.sinks)).advanced(),
    row("model.output_gate", Model, "Output gate", "", "", "the output of attention is multiplied by a gate as wide as itself", maybe_toggle!(model.parts.output_gate)).advanced(),
    row("model.second.kv_heads", Model, "Second shape, key-value heads", "", "", "of layers B of the pattern", maybe_count!(1, 1 << 16, Double, model.parts.second_kv_heads)).advanced(),
    row("model.second.head_dim", Model, "Second shape, head width", "", "", "of layers B of the pattern", maybe_count!(1, 1 << 16, Double, model.parts.second_head_dim)).advanced(),
    row("model.second.shared_kv", Model, "Second shape, keys as values", "", "", "one projection makes keys and values of layers B", maybe_toggle!(model.parts.second_shared_kv)).advanced(),
    row("model.dsa.heads", Model, "Indexer heads", "", "", "heads that select the keys of sparse attention", maybe_count!(1, 1 << 16, Double, model.parts.indexer_heads)).advanced(),
    row("model.dsa.head_dim", Model, "Indexer head width", "", "", "width of one head of the indexer", maybe_count!(1, 1 << 16, Double, model.parts.indexer_head_dim)).advanced(),
    row("model.dsa.top_k", Model, "Selected keys", "", "", "keys that a query of sparse attention keeps", maybe_count!(1, 1 << 30, Double, model.parts.indexer_top_k)).advanced(),
    row("model.mamba.heads", Model, "Mamba heads", "", "", "heads of a Mamba-2 layer", maybe_count!(1, 1 << 16, Double, model.parts.mamba_heads)).advanced(),
    row("model.mamba.head_dim", Model, "Mamba head width", "", "", "width of one head of a Mamba-2 layer", maybe_count!(1, 1 << 16, Double, model.parts.mamba_head_dim)).advanced(),
    row("model.mamba.state", Model, "Mamba state", "", "", "state of one channel", maybe_count!(1, 1 << 16, Double, model.parts.mamba_state)).advanced(),
    row("model.mamba.groups", Model, "Mamba groups", "", "", "groups of heads that share B and C; TP divides them", maybe_count!(1, 1 << 16, Double, model.parts.mamba_groups)).advanced(),
    row("model.gdn.key_heads", Model, "Delta net key heads", "", "", "heads of queries and keys of a gated delta net", maybe_count!(1, 1 << 16, Double, model.parts.delta_key_heads)).advanced(),
    row("model.gdn.value_heads", Model, "Delta net value heads", "", "", "heads of values of a gated delta net", maybe_count!(1, 1 << 16, Double, model.parts.delta_value_heads)).advanced(),
    row("model.gdn.head_dim", Model, "Delta net head width", "", "", "width of one head of a gated delta net", maybe_count!(1, 1 << 16, Double, model.parts.delta_head_dim)).advanced(),
    row("model.kda.heads", Model, "KDA heads", "", "", "heads of Kimi delta attention", maybe_count!(1, 1 << 16, Double, model.parts.kda_heads)).advanced(),
    row("model.kda.head_dim", Model, "KDA head width", "", "", "width of one head of Kimi delta attention", maybe_count!(1, 1 << 16, Double, model.parts.kda_head_dim)).advanced(),
    row("model.kda.gate_rank", Model, "KDA gate rank", "", "", "rank of its output gate; 0: full", maybe_count!(0, 1 << 16, Double, model.parts.kda_gate_rank)).advanced(),
    row("model.csa.q_lora_rank", Model, "CSA query rank", "", "", "rank of the query's down-projection of DeepSeek-V4's attention", maybe_count!(1, 1 << 20, By(64.0), model.parts.csa_q_lora_rank)).advanced(),
    row("model.csa.o_lora_rank", Model, "CSA output rank", "", "", "rank of one group's output projection", maybe_count!(1, 1 << 20, By(64.0), model.parts.csa_o_lora_rank)).advanced(),
    row("model.csa.o_groups", Model, "CSA output groups", "", "", "groups of heads with an output projection of their own", maybe_count!(1, 1 << 10, Double, model.parts.csa_o_groups)).advanced(),
    row("model.csa.streams", Model, "Residual streams", "", "", "streams of the residual that hyper-connections mix", maybe_count!(1, 64, Double, model.parts.csa_streams)).advanced(),
    row("model.moe.experts", Model, "Experts", "E", "", "routed experts per layer; 0: dense", maybe_count!(0, 1 << 16, Double, model.parts.experts)).advanced(),
    row("model.moe.top_k", Model, "Experts per token", "K", "", "routed experts that a token visits", maybe_count!(1, 1 << 10, By(1.0), model.parts.top_k)).advanced(),
    row("model.moe.expert_ffn", Model, "Expert FFN size", "", "", "FFN width of one expert", maybe_count!(1, 1 << 24, By(128.0), model.parts.expert_ffn)).advanced(),
    row("model.moe.shared_experts", Model, "Shared experts", "", "", "experts that every token visits", maybe_count!(0, 1 << 10, By(1.0), model.parts.shared_experts)).advanced(),
    row("model.moe.dense_layers", Model, "Leading dense layers", "", "", "layers before the first with experts", maybe_count!(0, 100_000, By(1.0), model.parts.dense_layers)).advanced(),
    row("model.moe.groups", Model, "Expert groups", "", "", "groups that the experts stand in, one a node as a rule; 1: none", maybe_count!(1, 1 << 16, Double, model.parts.groups)).advanced(),
    row("model.moe.top_groups", Model, "Groups per token", "", "", "groups that a token's experts come from at most", maybe_count!(1, 1 << 16, By(1.0), model.parts.top_groups)).advanced(),
    row("model.moe.latent", Model, "Latent width", "", "", "width that tokens are projected to before they are routed; 0: the hidden size", maybe_count!(0, 1 << 20, By(128.0), model.parts.latent)).advanced(),
    row("model.mla.q_lora_rank", Model, "Query rank", "", "", "rank of the query's down-projection; 0: none", maybe_count!(0, 1 << 20, By(64.0), model.parts.q_lora_rank)).advanced(),
    row("model.mla.kv_lora_rank", Model, "Key-value rank", "", "", "rank of the joint key-value down-projection", maybe_count!(1, 1 << 20, By(64.0), model.parts.kv_lora_rank)).advanced(),
    row("model.mla.qk_nope_head_dim", Model, "Head width, no position", "", "", "query and key width without rotary position", maybe_count!(1, 1 << 16, By(32.0), model.parts.qk_nope_head_dim)).advanced(),
    row("model.mla.qk_rope_head_dim", Model, "Head width, rotary", "", "", "query and key width with rotary position", maybe_count!(1, 1 << 16, By(32.0), model.parts.qk_rope_head_dim)).advanced(),
    row("model.mla.v_head_dim", Model, "Head width, value", "", "", "value width of a head", maybe_count!(1, 1 << 16, By(32.0), model.parts.v_head_dim)).advanced(),
    row("model.vision.image_width", Model, "Image width", "", "px", "pixels across", maybe_count!(1, 1 << 16, By(14.0), model.parts.image_width)).advanced(),
    row("model.vision.image_height", Model, "Image height", "", "px", "pixels down", maybe_count!(1, 1 << 16, By(14.0), model.parts.image_height)).advanced(),
    row("model.vision.channels", Model, "Image channels", "", "", "3 for colour", maybe_count!(1, 1 << 10, By(1.0), model.parts.channels)).advanced(),
    row("model.vision.patch", Model, "Patch side", "", "px", "pixels along one side of a patch", maybe_count!(1, 1 << 10, By(1.0), model.parts.patch)).advanced(),
    row("model.vision.hidden", Model, "ViT hidden size", "", "", "width of the vision tower", maybe_count!(1, 1 << 20, By(128.0), model.parts.vision_hidden)).advanced(),
    row("model.vision.ffn", Model, "ViT FFN size", "", "", "FFN width of the vision tower", maybe_count!(1, 1 << 24, By(128.0), model.parts.vision_ffn)).advanced(),
    row("model.vision.layers", Model, "ViT layers", "", "", "layers of the vision tower", maybe_count!(1, 10_000, By(1.0), model.parts.vision_layers)).advanced(),
    row("model.vision.frozen", Model, "ViT frozen", "", "", "the tower keeps its weights only; its projector is trained", maybe_toggle!(model.parts.vision_frozen)).advanced(),

    row("gpu", Cluster, "GPU", "", "", "a published accelerator; its figures can be changed one by one", preset!(GPUS, gpu)),
    row("gpu.memory_gib", Cluster, "Memory", "", "GiB", "the size on the box", maybe_number!(0.1, 1e6, 8.0, gpu.parts.memory_gib)).advanced(),
    row("gpu.usable_gib", Cluster, "Usable memory", "", "GiB", "what the driver shows a process", maybe_number!(0.1, 1e6, 1.0, gpu.parts.usable_gib)).advanced(),
    row("gpu.bf16_tflops", Cluster, "bf16 peak", "", "TFLOP/s", "dense, without sparsity", maybe_number!(0.1, 1e6, 10.0, gpu.parts.bf16_tflops)).advanced(),
    row("gpu.fp8_tflops", Cluster, "fp8 peak", "", "TFLOP/s", "dense, without sparsity", maybe_number!(0.1, 1e6, 10.0, gpu.parts.fp8_tflops)).advanced(),
    row("gpu.fp4_tflops", Cluster, "fp4 peak", "", "TFLOP/s", "dense, without sparsity", maybe_number!(0.1, 1e6, 10.0, gpu.parts.fp4_tflops)).advanced(),
    row("gpu.hbm_gb_per_s", Cluster, "Memory bandwidth", "", "GB/s", "of the GPU's own memory", maybe_number!(0.1, 1e6, 100.0, gpu.parts.hbm_gb_per_s)).advanced(),
    row("gpu.intra_gb_per_s", Cluster, "Scale-up link", "", "GB/s", "one direction, per GPU (NVLink 900 is 450)", maybe_number!(0.1, 1e6, 50.0, gpu.parts.intra_gb_per_s)).advanced(),
    row("gpu.inter_gb_per_s", Cluster, "Network", "", "GB/s", "one direction, per GPU (400 Gb/s is 50)", maybe_number!(0.01, 1e6, 12.5, gpu.parts.inter_gb_per_s)).advanced(),
    row("gpu.host_gb_per_s", Cluster, "Link to the host", "", "GB/s", "PCIe or NVLink-C2C, one direction, per GPU", maybe_number!(0.1, 1e5, 16.0, gpu.parts.host_gb_per_s)).advanced(),
    row("gpu.gpus_per_node", Cluster, "GPUs per node (of this GPU)", "", "", "GPUs on its scale-up link", maybe_count!(1, 1 << 20, Double, gpu.parts.gpus_per_node)).advanced(),

    row("gpus", Cluster, "GPUs", "", "", "in all; data parallel follows from it", count!(1, MAX_COUNT, Round, gpus)),
    row("gpus_per_node", Cluster, "GPUs per node", "", "", "GPUs on one scale-up link (GB200 NVL72: 72)", maybe_count!(1, 1 << 20, Double, gpus_per_node)),
    row("host_memory_gib", Cluster, "Host memory", "", "GiB", "of a node; what is offloaded has to fit", maybe_number!(1.0, 1e7, 256.0, host_memory_gib)).advanced(),

    row("tp", Parallelism, "Tensor parallel", "TP", "", "ranks that share every matrix", count!(1, 1 << 20, Valid, tp)),
    row("pp", Parallelism, "Pipeline parallel", "PP", "", "ranks that share the layers", count!(1, 1 << 20, Valid, pp)),
    row("cp", Parallelism, "Context parallel", "CP", "", "ranks that share a sequence", count!(1, 1 << 20, Valid, cp)),
    row("ep", Parallelism, "Expert parallel", "EP", "", "ranks that share the experts", count!(1, 1 << 20, Valid, ep)).advanced(),
    row("etp", Parallelism, "Expert tensor parallel", "ETP", "", "ranks that share one expert's matrices", count!(1, 1 << 20, Valid, etp)).advanced(),
    row("sequence_parallel", Parallelism, "Sequence parallel", "SP", "", "norms and dropouts cut along the sequence, with TP", toggle!(sequence_parallel)),
    row("cp_comm", Parallelism, "CP exchange", "", "", "how ranks of a sequence meet all keys", choice!(CpComm, cp_comm)).advanced(),
    row("rank_order", Parallelism, "Rank order", "", "", "the axes that ranks are numbered along, the fastest first", choice!(RankOrder, rank_order)).advanced(),
    row("zero", Parallelism, "ZeRO stage", "", "", "1 shards optimizer states, 2 gradients, 3 weights", count!(0, 3, By(1.0), zero)),
    row("hsdp_shard", Parallelism, "HSDP shard group", "", "ranks", "ranks that share one set of shards; unset: all", maybe_count!(1, 1 << 20, Double, hsdp_shard)).advanced(),
    row("zero2_reduce", Parallelism, "ZeRO-2 reduces", "", "", "when gradients are reduced to their shards: later sends less and holds more", choice!(Reduction, zero2_reduce)).advanced(),
    row("schedule", Parallelism, "Schedule", "", "", "the order in which a rank works", choice!(Schedule, schedule)),
    row("schedule_options.group", Parallelism, "Micro-batch group", "", "", "micro-batches of one chunk in a row; unset: PP", maybe_count!(1, 1 << 20, By(1.0), schedule_options.group)).advanced(),
    row("schedule_options.variant", Parallelism, "Chimera variant", "", "", "how Chimera joins its base units", maybe_choice!(Variant, schedule_options.variant)).advanced(),
    row("schedule_options.waves", Parallelism, "Hanayo waves", "", "", "times the stages snake over the ranks", maybe_count!(1, 1 << 10, By(1.0), schedule_options.waves)).advanced(),
    row("schedule_options.memory_limit", Parallelism, "Activation limit", "", "", "of the automatic schedules, in chunks", maybe_count!(1, 1 << 20, By(1.0), schedule_options.memory_limit)).advanced(),
    row("schedule_options.splits", Parallelism, "Sequence splits", "", "", "pieces of a sequence (Seq1F1B, TeraPipe)", maybe_count!(1, 1 << 16, By(1.0), schedule_options.splits)).advanced(),
    row("schedule_options.order", Parallelism, "Own order", "", "", "tokens such as 0F0,0BW0; ranks apart by |", maybe_text!(schedule_options.order)).advanced(),
    row("virtual_stages", Parallelism, "Virtual stages", "VP", "", "model chunks per rank", count!(1, 1 << 16, Valid, virtual_stages)),
    row("stage_layers", Parallelism, "Layers by stage", "", "", "uneven pipelines: one number a stage, with commas", Slot::Counts {
        get: |run| run.stage_layers.as_ref(),
        set: |run, value| run.stage_layers = value,
    }).advanced(),
    row("mtp_stage", Parallelism, "Stage of MTP", "", "", "global stage that holds the MTP modules, counted from 0; unset: the last, with the loss", maybe_count!(0, 1 << 16, By(1.0), mtp_stage)).advanced(),

    row("seq_len", Training, "Sequence", "s", "tokens", "tokens per sequence (8k is 8192)", count!(1, MAX_COUNT, Double, seq_len)),
    row("micro_batch", Training, "Micro-batch", "b", "seq", "sequences that a rank works on at once", count!(1, 1 << 30, Valid, micro_batch)),
    row("global_batch", Training, "Global batch", "", "seq", "sequences per step, over all ranks", count!(1, MAX_COUNT, Round, global_batch)),
    row("microbatch_lengths", Training, "Micro-batch lengths", "", "tokens", "for unequal ones: one number each, with commas", Slot::Counts {
        get: |run| run.microbatch_lengths.as_ref(),
        set: |run, value| run.microbatch_lengths = value,
    }).advanced(),
    row("tokens_total", Training, "Token budget", "", "tokens", "15T for days, GPU-hours and cost", maybe_number!(1.0, 1e18, 1e12, tokens_total)).advanced(),
    row("price_per_gpu_hour", Training, "Price", "", "per GPU-hour", "in any currency", maybe_number!(0.0, 1e6, 0.5, price_per_gpu_hour)).advanced(),
    row("stack", Training, "Software", "", "", "what you train with; sets what software decides, and what is set besides wins", preset!(STACKS, stack)),
    row("stack.attention", Training, "Attention kernel", "", "", "how fast attention runs", maybe_choice!(AttentionKernel, stack.parts.attention)).advanced(),
    row("stack.compile", Training, "Compiler", "", "", "the kernels between products are fused by torch.compile or XLA", maybe_toggle!(stack.parts.compile)).advanced(),
    row("stack.moe_fused", Training, "Fused MoE", "", "", "tokens are permuted by the kernel that sends them", maybe_toggle!(stack.parts.moe_fused)).advanced(),
    row("stack.tp_overlap", Training, "TP overlap by", "", "", "what hides tensor-parallel messages behind the products beside them", maybe_choice!(TpOverlap, stack.parts.tp_overlap)).advanced(),
    row("stack.grad_reduce_bytes", Training, "Reduced gradients", "", "B", "bytes per gradient between ranks; unset: as it is kept", maybe_number!(1.0, 4.0, 1.0, stack.parts.grad_reduce_bytes)).advanced(),
    row("stack.host_us_per_layer", Training, "Host time", "", "µs per layer", "launches that no kernel hides, a layer and micro-batch, before CUDA graphs", maybe_number!(0.0, 1e6, 50.0, stack.parts.host_us_per_layer)).advanced(),
    row("precision", Training, "Precision", "", "", "bytes per parameter as weight, gradient and state", preset!(POLICIES, precision)),
    row("precision.weights", Training, "Weights", "", "B", "bytes of the weights that compute", maybe_number!(0.0, 16.0, 1.0, precision.parts.weights)).advanced(),
    row("precision.grads", Training, "Gradients", "", "B", "bytes per gradient", maybe_number!(0.0, 16.0, 1.0, precision.parts.grads)).advanced(),
    row("precision.grad_accumulation", Training, "Accumulation", "", "B", "bytes of a separate accumulation buffer", maybe_number!(0.0, 16.0, 1.0, precision.parts.grad_accumulation)).advanced(),
    row("precision.master", Training, "Master weights", "", "B", "the optimizer's own copy", maybe_number!(0.0, 16.0, 1.0, precision.parts.master)).advanced(),
    row("precision.moment1", Training, "First moment", "", "B", "bytes per parameter", maybe_number!(0.0, 16.0, 1.0, precision.parts.moment1)).advanced(),
    row("precision.moment2", Training, "Second moment", "", "B", "bytes per parameter", maybe_number!(0.0, 16.0, 1.0, precision.parts.moment2)).advanced(),
    row("precision.param_gather", Training, "Low-precision weights", "", "", "linears keep no bf16 copy (Megatron's fp8-param-gather)", maybe_toggle!(precision.parts.param_gather)).advanced(),
    row("precision.bf16_first", Training, "First layers in bf16", "", "", "layers at the start whose linears stay in bf16 under an fp8 or fp4 policy", maybe_count!(0, 100_000, By(1.0), precision.parts.bf16_first)).advanced(),
    row("precision.bf16_last", Training, "Last layers in bf16", "", "", "layers at the end whose linears stay in bf16 under an fp8 or fp4 policy", maybe_count!(0, 100_000, By(1.0), precision.parts.bf16_last)).advanced(),
    row("optimizer", Training, "Optimizer", "", "", "by the states it keeps", choice!(Optimizer, optimizer)),
    row("adapter.method", Training, "Adapters", "", "", "train low-rank adapters beside a frozen base; unset: everything is trained", maybe_choice!(AdapterMethod, adapter.method)),
    row("adapter.rank", Training, "Adapter rank", "r", "", "rank of the adapters; unset: 8", maybe_count!(1, 1 << 16, Double, adapter.rank)),
    row("adapter.targets", Training, "Adapted linears", "", "", "linears of a layer with an adapter; unset: all", maybe_set!(Target, adapter.targets)),
    row("adapter.dtype", Training, "Adapter type", "", "", "what adapters are kept in: PEFT casts them to fp32", maybe_choice!(AdapterType, adapter.dtype)).advanced(),
    row("adapter.base", Training, "Base format", "", "", "how the frozen linears are quantised; unset: QLoRA's NF4 with double quantisation, else not", maybe_choice!(BaseFormat, adapter.base)),
    row("adapter.modules_to_save", Training, "Trained whole", "", "", "copies of the embedding or the head that are trained beside the adapters", maybe_set!(Saved, adapter.modules_to_save)).advanced(),
    row("adapter.sharded", Training, "Sharded adapters", "", "", "adapters are sharded as the base is; off: every rank has all of them", maybe_toggle!(adapter.sharded)).advanced(),
    row("adapter.upcast", Training, "fp32 residual", "", "", "prepare_model_for_kbit_training: layers' inputs wait in fp32", maybe_toggle!(adapter.upcast)).advanced(),
    row("offload.optimizer", Training, "Offload optimizer", "", "", "states of the optimizer leave the GPU", maybe_choice!(OffloadTo, offload.optimizer)).advanced(),
    row("offload.gradients", Training, "Offload gradients", "", "", "gradients leave the GPU; with DeepSpeed they follow the optimizer", maybe_choice!(OffloadTo, offload.gradients)).advanced(),
    row("offload.parameters", Training, "Offload parameters", "", "", "parameters stay on the host and come layer by layer", maybe_choice!(OffloadTo, offload.parameters)).advanced(),
    row("offload.activations", Training, "Offload activations", "", "", "what layers keep for the backward pass waits on the host", maybe_choice!(OffloadTo, offload.activations)).advanced(),
    row("offload.framework", Training, "Offload by", "", "", "whose implementation; unset: the software's", maybe_choice!(OffloadFramework, offload.framework)).advanced(),
    row("offload.fraction", Training, "Offloaded states", "", "share", "of the optimizer's states that leave; unset: all", maybe_number!(0.0, 1.0, 0.25, offload.fraction)).advanced(),
    row("phases.framework", Training, "RL framework", "", "", "whose layout of the phases of reinforcement learning; unset: no phases. Memory only", maybe_choice!(PhasesBy, phases.framework)).advanced(),
    row("phases.placement", Training, "Placement", "", "", "which models share GPUs; unset: the framework's", maybe_choice!(Placement, phases.placement)).advanced(),
    row("phases.rollout_gib", Training, "Rollout engine", "", "GiB", "what the engine reserves of a GPU; unset: the framework's share", maybe_number!(0.1, 1e6, 8.0, phases.rollout_gib)).advanced(),
    row("phases.rollout_tp", Training, "Rollout TP", "", "", "GPUs that share the weights of an engine; unset: 1", maybe_count!(1, 1 << 10, Double, phases.rollout_tp)).advanced(),
    row("phases.sleep", Training, "Engine sleeps", "", "", "what the engine leaves on the GPU while others work; unset: the framework's", maybe_choice!(Sleep, phases.sleep)).advanced(),
    row("phases.offload", Training, "Offload idle models", "", "", "models leave the GPU while they do not work; unset: the framework's", maybe_toggle!(phases.offload)).advanced(),
    row("phases.reference", Training, "Reference", "", "", "a frozen copy of the policy; adapters need none. Unset: the framework's", maybe_toggle!(phases.reference)).advanced(),
    row("phases.critic", Training, "Critic", "", "", "the trained critic of PPO; unset: none", maybe_model!(phases.critic)).advanced(),
    row("phases.reward", Training, "Reward model", "", "", "a frozen reward model; unset: rules", maybe_model!(phases.reward)).advanced(),
    row("recompute", Training, "Recompute", "", "", "activations dropped and computed again in the backward pass", Slot::Choice {
        options: || vec![
            Choice { id: "none", label: "none" },
            Choice { id: "selective", label: "selective (attention)" },
            Choice { id: "op-selective", label: "between products (torchtitan)" },
            Choice { id: "full", label: "full" },
        ],
        get: |run| match run.recompute {
            Recompute::None => Some("none"),
            Recompute::Selective => Some("selective"),
            Recompute::OpSelective => Some("op-selective"),
            Recompute::Full => Some("full"),
            Recompute::Layers(_) | Recompute::Modules(_) => None,
        },
        set: |run, id| {
            run.recompute = match id {
                None | Some("none") => Recompute::None,
                Some("selective") => Recompute::Selective,
                Some("op-selective") => Recompute::OpSelective,
                Some("full") => Recompute::Full,
                Some(_) => return false,
            };
            true
        },
    }),
    row("recompute.layers", Training, "Recomputed layers", "", "a stage", "full recomputation of the first n layers of a stage", Slot::Count {
        range: (0, 100_000),
        steps: By(1.0),
        get: |run| match run.recompute {
            Recompute::Layers(layers) => Some(layers),
            _ => None,
        },
        set: |run, layers| match layers {
            Some(layers) => run.recompute = Recompute::Layers(layers),
            None if matches!(run.recompute, Recompute::Layers(_)) => run.recompute = Recompute::None,
            None => {}
        },
    }).advanced(),
    row("recompute.modules", Training, "Recomputed modules", "", "", "only these, in every layer", Slot::Set {
        options: all::<Module>,
        get: |run| match &run.recompute {
            Recompute::Modules(modules) => Some(modules.iter().map(|module| module.id()).collect()),
            _ => None,
        },
        set: |run, ids| {
            match ids {
                Some(ids) => {
                    let modules: Option<Vec<_>> = ids.iter().map(|id| Module::from_id(id)).collect();
                    let Some(modules) = modules else { return false };
                    run.recompute = Recompute::Modules(modules);
                }
                None if matches!(run.recompute, Recompute::Modules(_)) => run.recompute = Recompute::None,
                None => {}
            }
            true
        },
    }).advanced(),
    row("flash_attention", Training, "FlashAttention", "", "", "attention without stored scores", maybe_toggle!(flash_attention)).advanced(),
    row("attention_flops", How, "Attention FLOPs", "", "", "how model FLOPs and MFU count attention; never changes time", choice!(AttentionCount, attention_flops)),
    row("cross_entropy", Training, "Loss kernel", "", "", "bytes per logit held and at peak", maybe_choice!(CrossEntropy, cross_entropy)).advanced(),
    row("fused_swiglu", Training, "Fused SwiGLU", "", "", "keeps 6 rather than 8 bytes per token and FFN channel", maybe_toggle!(fused_swiglu)).advanced(),
    row("fp8_activations", Training, "fp8 activations", "", "", "inputs of linears and of the experts' SwiGLU wait in fp8", toggle!(fp8_activations)).advanced(),
    row("dummy_wgrad", Training, "Dummy weight gradients", "", "", "Transformer Engine's buffers, one a weight shape", maybe_toggle!(dummy_wgrad)).advanced(),
    row("moe_imbalance", Training, "Expert imbalance", "", "x", "tokens of the busiest expert rank over the average: about 1.5 where routing is natural, 1 in benchmarks that force balance", number!(1.0, 64.0, 0.1, moe_imbalance)).advanced(),
    row("capacity_factor", Training, "Capacity factor", "", "x", "padded expert capacity; unset: dropless", maybe_number!(0.1, 64.0, 0.25, capacity_factor)).advanced(),
    row("moe_dispatch", Training, "Expert dispatch", "", "", "a copy of a token for every expert, or one a node that is passed on inside", maybe_choice!(MoeDispatch, moe_dispatch)).advanced(),
    row("fp8_dispatch", Training, "fp8 dispatch", "", "", "tokens go to experts, and their gradients back, in fp8", maybe_toggle!(fp8_dispatch)).advanced(),
    row("cuda_graphs", Training, "CUDA graphs", "", "", "removes most of the host's launch overhead", maybe_toggle!(cuda_graphs)).advanced(),
    row("measured_step_s", How, "Measured step", "", "s", "one step you measured; the time model is scaled to it", maybe_number!(1e-6, 1e7, 1.0, measured_step_s)).advanced(),
    row("loader_ns", How, "Loader floor", "", "ns", "host data loader: ns times seq² a sample and rank", maybe_number!(0.0, 1e6, 0.5, loader_ns)).advanced(),
    row("overlap.dp", How, "DP overlap", "", "share", "of the last backward pass that may hide gradients", maybe_number!(0.0, 1.0, 0.1, overlap.dp)),
    row("overlap.tp", How, "TP overlap", "", "share", "of the linears that may hide tensor-parallel traffic", maybe_number!(0.0, 1.0, 0.1, overlap.tp)),
    row("overlap.cp", How, "CP overlap", "", "share", "of attention that may hide context-parallel traffic", maybe_number!(0.0, 1.0, 0.1, overlap.cp)).advanced(),
    row("overlap.ep", How, "EP overlap", "", "share", "of other work that may hide expert all-to-all", maybe_number!(0.0, 1.0, 0.1, overlap.ep)).advanced(),
    row("profile.name", How, "Profile", "", "", "what your own runs taught, by the name you gave it", maybe_text!(profile.name)).advanced(),
    row("profile.means", How, "Multipliers", "", "", "times of GEMM, elementwise kernels, links in a node, network, host, loader, everything", maybe_numbers!(MULTIPLIERS, 0.02, 50.0, profile.means)).advanced(),
    row("profile.widths", How, "Widths", "", "", "how sure each multiplier is: standard deviation of its logarithm", maybe_numbers!(MULTIPLIERS, 0.0, 3.0, profile.widths)).advanced(),
    row("profile.correlations", How, "Correlations", "", "", "of those, one letter per pair", maybe_text!(profile.correlations)).advanced(),
    row("profile.spread", How, "Spread", "", "", "how far a run lies from a model whose constants are all known", maybe_number!(0.0, 1.0, 0.01, profile.spread)).advanced(),
    row("profile.memory", How, "Memory by your runs", "", "", "GiB beyond the model's overhead, and reserved over allocated", maybe_numbers!(2, 0.0, 64.0, profile.memory)).advanced(),
    row("profile.runs", How, "Runs in the profile", "", "", "how many it was fitted to", maybe_count!(1, 100_000, By(1.0), profile.runs)).advanced(),
    row("profile.gpu", How, "GPU of the profile", "", "", "what they ran on", maybe_text!(profile.gpu)).advanced(),
    row("profile.version", How, "Version of the profile", "", "", "of the calculator that fitted it", maybe_text!(profile.version)).advanced(),
    row("memory_method", How, "Memory method", "", "", "whose estimate the memory panel shows", choice!(Method, memory_method)),
];
