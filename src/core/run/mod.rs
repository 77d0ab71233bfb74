//! A Run: everything a person sets, raw and serialisable, and what it means once validated.
//!
//! [`Run`] is what a link holds. [`registry`] has one row a field; links, JSON, the form and the tests are driven by
//! it. [`Scenario`] is the Run understood: shapes resolved, derived sizes computed, impossible settings refused.

mod adapter;
mod based;
mod check;
mod choices;
mod field;
mod fields;
mod gpu_parts;
mod json;
mod kinds;
mod layout;
mod model_layers;
mod model_parts;
mod offload;
mod phases;
pub mod precision;
pub mod presets;
mod profile;
pub mod recipe;
pub mod registry;
mod resolved;
mod scenario;
mod set;
mod stack;
mod stages;
mod text;
mod value;

pub use adapter::{Adapter, AdapterMethod, AdapterParts, AdapterType, BaseFormat, Saved};
pub use based::Based;
pub(crate) use check::divides_by;
pub use check::{MAX_PARAMETERS, MAX_STAGES};
pub use choices::{
    AttentionKernel, Choice, CpComm, CrossEntropy, Method, Module, MoeDispatch, OffloadFramework, OffloadTo, OneOf,
    Optimizer, Recompute, Reduction, Schedule, TpOverlap, Variant,
};
pub use fields::MAX_COUNT;
pub use gpu_parts::{GpuParts, PrecisionParts};
pub use kinds::{Alike, Kinds};
pub use layout::{Layout, Zero, even_split};
pub use model_parts::ModelParts;
pub use offload::{Offload, OffloadParts};
pub use phases::{Phases, PhasesParts};
pub(crate) use phases::{Placement, SecondModel, Sleep};
pub use precision::{Format, Precision};
pub use presets::Software;
pub use profile::{Factors, LONGEST_NAME, MULTIPLIERS, Matrix, Multiplier, Profile, Vector};
pub use recipe::Recipe;
pub use scenario::Scenario;
pub use stack::StackParts;
pub use value::Value;

use crate::cluster::RankOrder;
use crate::model::AttentionCount;

#[allow(clippy::struct_excessive_bools)] // they are what a person sets
/// A complete configuration as typed. Every field has a default; the default Run is Llama-3.1-8B on 64 H100.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The model: a preset, or a preset with changes, or shapes.
    pub model: Based<ModelParts>,
    /// The GPU: a preset, or a preset with changes, or figures.
    pub gpu: Based<GpuParts>,
    /// GPUs in all.
    pub gpus: u64,
    /// GPUs on one scale-up link; none: the GPU's own.
    pub gpus_per_node: Option<u64>,
    /// Memory of a node's host, GiB; none: not known.
    pub host_memory_gib: Option<f64>,
    /// Tensor-parallel size.
    pub tp: u64,
    /// Pipeline-parallel size.
    pub pp: u64,
    /// Context-parallel size.
    pub cp: u64,
    /// Expert-parallel size.
    pub ep: u64,
    /// Tensor-parallel size inside experts.
    pub etp: u64,
    /// Megatron sequence parallelism.
    pub sequence_parallel: bool,
    /// How context-parallel ranks exchange keys and values.
    pub cp_comm: CpComm,
    /// The order of the mesh axes that ranks are numbered along.
    pub rank_order: RankOrder,
    /// ZeRO stage, 0 to 3.
    pub zero: u64,
    /// When ZeRO-2 reduces gradients.
    pub zero2_reduce: Reduction,
    /// Ranks that share one set of ZeRO shards; none: all of dp · cp.
    pub hsdp_shard: Option<u64>,
    /// Pipeline schedule.
    pub schedule: Schedule,
    /// What only some schedules use.
    pub schedule_options: ScheduleOptions,
    /// Model chunks a rank.
    pub virtual_stages: u64,
    /// Layers of each global stage; none: even.
    pub stage_layers: Option<Vec<u64>>,
    /// Global stage of the multi-token-prediction modules; none: the last.
    pub mtp_stage: Option<u64>,
    /// Tokens a sequence.
    pub seq_len: u64,
    /// Sequences a micro-batch.
    pub micro_batch: u64,
    /// Sequences a step.
    pub global_batch: u64,
    /// Tokens of each micro-batch of a rank; none: equal.
    pub microbatch_lengths: Option<Vec<u64>>,
    /// Tokens to train on, for days, GPU-hours and cost.
    pub tokens_total: Option<f64>,
    /// Price of one GPU for one hour.
    pub price_per_gpu_hour: Option<f64>,
    /// The training software: what it decides, the fields that may be unset follow.
    pub stack: Based<StackParts>,
    /// Bytes a parameter.
    pub precision: Based<PrecisionParts>,
    /// Optimizer.
    pub optimizer: Optimizer,
    /// Adapters beside a frozen base; no method: everything is trained.
    pub adapter: AdapterParts,
    /// What leaves the GPU for its host.
    pub offload: OffloadParts,
    /// Phases of reinforcement learning; no framework: there are none.
    pub phases: PhasesParts,
    /// Recomputation.
    pub recompute: Recompute,
    /// Attention without stored scores; none: the stack's.
    pub flash_attention: Option<bool>,
    /// How model FLOPs count attention.
    pub attention_flops: AttentionCount,
    /// Loss kernel; none: the stack's.
    pub cross_entropy: Option<CrossEntropy>,
    /// One kernel for the SwiGLU, which does not keep its intermediate product; none: the
    /// stack's.
    pub fused_swiglu: Option<bool>,
    /// Inputs of linears and of the experts' SwiGLU wait for the backward pass in fp8.
    pub fp8_activations: bool,
    /// Transformer Engine's dummy weight-gradient buffers; none: the stack's.
    pub dummy_wgrad: Option<bool>,
    /// Tokens of the busiest expert rank over the average.
    pub moe_imbalance: f64,
    /// Padded expert capacity; none: dropless.
    pub capacity_factor: Option<f64>,
    /// How tokens travel to experts; none: the stack's.
    pub moe_dispatch: Option<MoeDispatch>,
    /// Tokens on their way to experts, and gradients on theirs, in fp8; none: the stack's.
    pub fp8_dispatch: Option<bool>,
    /// CUDA graphs; none: the stack's.
    pub cuda_graphs: Option<bool>,
    /// One measured step, to which the time model is scaled.
    pub measured_step_s: Option<f64>,
    /// What the person's own runs taught about the constants.
    pub profile: Profile,
    /// Host data loader: nanoseconds · `seq_len`² a sample and data-parallel rank; none: the stack's.
    pub loader_ns: Option<f64>,
    /// Share of each window that may hide communication; none: the stack's.
    pub overlap: OverlapParts,
    /// Memory method.
    pub memory_method: Method,
}

/// Options that only some schedules use; none: the schedule's own default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScheduleOptions {
    /// Micro-batches of one chunk in a row (interleaved); default pp.
    pub group: Option<u64>,
    /// Form of Chimera.
    pub variant: Option<Variant>,
    /// Waves of Hanayo.
    pub waves: Option<u64>,
    /// Memory limit of the automatic schedules.
    pub memory_limit: Option<u64>,
    /// Pieces of a sequence (Seq1F1B, TeraPipe).
    pub splits: Option<u64>,
    /// Your own order: tokens with commas, ranks with `|`.
    pub order: Option<String>,
}

/// Share of each window, 0 to 1, that may hide communication.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverlapShares {
    /// Gradients behind the last backward pass, ZeRO-3 parameters behind layers.
    pub dp: f64,
    /// Tensor-parallel collectives behind linears.
    pub tp: f64,
    /// Context-parallel blocks behind attention.
    pub cp: f64,
    /// Expert all-to-all behind other work.
    pub ep: f64,
}

/// The same as far as a person sets them; none: the stack's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)] // each is the field of `OverlapShares` of the same name
pub struct OverlapParts {
    pub dp: Option<f64>,
    pub tp: Option<f64>,
    pub cp: Option<f64>,
    pub ep: Option<f64>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            model: Based::preset("llama-3.1-8b"),
            gpu: Based::preset("h100-sxm-80gb"),
            gpus: 64,
            gpus_per_node: None,
            host_memory_gib: None,
            tp: 2,
            pp: 4,
            cp: 1,
            ep: 1,
            etp: 1,
            sequence_parallel: true,
            cp_comm: CpComm::Ring,
            rank_order: RankOrder::PpLast,
            zero: 1,
            zero2_reduce: Reduction::MicroBatch,
            hsdp_shard: None,
            schedule: Schedule::OneFOneB,
            schedule_options: ScheduleOptions::default(),
            virtual_stages: 1,
            stage_layers: None,
            mtp_stage: None,
            seq_len: 8192,
            micro_batch: 1,
            global_batch: 256,
            microbatch_lengths: None,
            tokens_total: None,
            price_per_gpu_hour: None,
            stack: Based::preset("megatron-2024"),
            precision: Based::preset("bf16-fp32-grads"),
            optimizer: Optimizer::Adam,
            adapter: AdapterParts::default(),
            offload: OffloadParts::default(),
            phases: PhasesParts::default(),
            recompute: Recompute::None,
            flash_attention: None,
            attention_flops: AttentionCount::Causal,
            cross_entropy: None,
            fused_swiglu: None,
            fp8_activations: false,
            dummy_wgrad: None,
            moe_imbalance: 1.0,
            capacity_factor: None,
            moe_dispatch: None,
            fp8_dispatch: None,
            cuda_graphs: None,
            measured_step_s: None,
            profile: Profile::default(),
            loader_ns: None,
            overlap: OverlapParts::default(),
            memory_method: Method::Detailed,
        }
    }
}

impl Run {
    /// A fine-tuning run has few GPUs, trains a part of the weights or moves something to its host.
    #[must_use]
    pub fn is_tuned(&self) -> bool {
        self.gpus <= 8 || self.adapter.method.is_some() || self.offload.leaves()
    }

    /// Whether attention stores no scores: FlashAttention has no fp32 kernel.
    #[must_use]
    pub(crate) fn runs_flash_attention(&self) -> bool {
        self.attention_kernel() != AttentionKernel::Eager && self.precision.computes() != Format::Fp32
    }

    /// In words: how model FLOPs count attention.
    #[must_use]
    pub(crate) fn attention_flops_note(&self) -> &'static str {
        match self.attention_flops {
            AttentionCount::Causal => "by half the square, as current Megatron-LM does",
            AttentionCount::Full => "by the full square, as papers up to 2023 do",
        }
    }
}
