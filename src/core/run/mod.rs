//! A Run: everything a person sets, raw and serialisable, and its meaning once validated.
//!
//! [`Run`] is what a link holds: one row a field, here and in the structs it names, in the order of a link.
//! [`registry`] lists them; links, JSON, the form and the tests are driven by it. [`Scenario`] is the Run understood:
//! shapes resolved, derived sizes computed, impossible settings refused.

mod adapter;
mod based;
mod check;
mod choices;
mod fitted;
pub mod follow;
mod gpu_parts;
mod json;
mod kinds;
mod layout;
pub mod length;
mod lengths;
mod model_parts;
mod objective;
mod offload;
mod phases;
pub mod phrase;
pub mod precision;
pub mod presets;
mod profile;
pub mod recipe;
pub mod registry;
mod resolved;
mod rl;
mod router;
mod samples;
mod scenario;
mod stack;
mod stages;

pub use adapter::{Adapter, AdapterMethod, AdapterParts, AdapterType, BaseFormat, ExpertAdapters, Saved};
pub use based::Based;
pub use check::{MAX_PARAMETERS, MAX_STAGES};
pub(crate) use check::{contradictions, divides_by};
pub use choices::{
    Allocator, AttentionKernel, Balance, CpComm, CrossEntropy, EpOverlap, FOR_PAIRS, GraphPart, Graphs, Leaving,
    Method, Module, MoeDispatch, OffloadFramework, OffloadTo, Optimizer, Recompute, Reduction, Schedule, Selective,
    TpOverlap, Variant,
};
pub use fitted::{CONSTANTS, Constant, Fitted, PRIORS, Prior};
pub use kinds::{Alike, StageKinds};
pub use layout::{Layout, Zero, even_split};
pub(crate) use layout::{divisors, stages_said};
pub use length::{ContextPhase, ContextPhases, FailureClass, Failures, Operation, RunLength};
pub use lengths::{Deal, LengthHistogram, LengthShape, LengthsParts};
pub use objective::{Learnt, Objective, ObjectiveParts, ReferencePlace};
pub use offload::{Activations, Offload, OffloadParts};
pub use phases::{Phases, PhasesBy, PhasesParts};
pub(crate) use phases::{Placement, SecondModel, Sleep};
pub use precision::{Format, Precision, PrecisionParts};
pub use presets::Software;
pub use profile::{Factors, LONGEST_NAME, MULTIPLIERS, Matrix, Multiplier, Profile, Vector};
pub use recipe::PrecisionRecipe;
pub use rl::{
    Algorithm, BatchOrder, CacheFormat, ResponseParts, ResponseShape, RlParts, RolloutEngine, RolloutFormat,
    RolloutPlacement,
};
pub(crate) use samples::Congruence;
pub use samples::{LengthRange, PackShape, SampleLengths, SamplePack, SamplePool};
pub use scenario::Scenario;
pub use stack::StackParts;

pub use crate::cluster::GpuParts;
pub use crate::field::{Choice, OneOf, Value, one_of};
pub use crate::model::ArchitectureParts as ModelParts;

use crate::cluster::RankOrder;
use crate::field::Steps::{By, Double, Round, Valid};
use crate::field::{cluster, fields, method, model, parallelism, shape, training};
use crate::model::AttentionCount;

/// Larger than any cluster or batch that was ever trained on. Products of two are taken as `f64`.
pub const MAX_COUNT: u64 = 1 << 40;

fields! {
    /// A complete configuration as typed. Every field has a default; the default Run is Llama-3.1-8B on 64 H100.
    #[allow(clippy::struct_excessive_bools)] // they are what a person sets
    #[derive(Clone, Debug, PartialEq)]
    #[must_use]
    pub struct Run in "" {
        /// a published model; its shapes can be changed one by one
        model: Based<ModelParts> = Based::preset("llama-3.1-8b") => model("Model"),
        /// a published accelerator; its figures can be changed one by one
        gpu: Based<GpuParts> = Based::preset("h100-sxm-80gb") => cluster("GPU"),
        /// in all, or with their kind: 2048 H800; data parallel follows from it
        gpus: u64 = 64 => cluster("GPUs").count(1, MAX_COUNT, Round),
        /// GPUs on one scale-up link (GB200 NVL72: 72)
        gpus_per_node: Option<u64> => cluster("GPUs per node").count(1, 1 << 20, Double),
        /// of a node; what is offloaded has to fit
        host_memory_gib: Option<f64>
            => cluster("Host memory").unit("GiB").number(1.0, 1e7, 256.0),
        /// ranks that share every matrix
        tp: u64 = 2 => parallelism("Tensor parallel").symbol("TP").count(1, 1 << 20, Valid),
        /// ranks that share the layers
        pp: u64 = 4 => parallelism("Pipeline parallel").symbol("PP").count(1, 1 << 20, Valid),
        /// ranks that share a sequence
        cp: u64 = 1 => parallelism("Context parallel").symbol("CP").count(1, 1 << 20, Valid),
        /// ranks that share the experts
        ep: u64 = 1
            => parallelism("Expert parallel").symbol("EP").count(1, 1 << 20, Valid),
        /// ranks that share one expert's matrices
        etp: u64 = 1 => parallelism("Expert tensor parallel").symbol("ETP").count(1, 1 << 20, Valid).advanced(),
        /// norms and dropouts cut along the sequence, with TP
        sequence_parallel: bool = true => parallelism("Sequence parallel").symbol("SP"),
        /// how ranks of a sequence meet all keys
        cp_comm: CpComm = CpComm::Ring => parallelism("CP exchange").advanced(),
        /// ranks that exchange heads for tokens where the exchange has two levels; unset: those of a node
        cp_a2a: Option<u64>
            => parallelism("CP all-to-all").unit("ranks").count(1, 1 << 20, Double).advanced(),
        /// the axes that ranks are numbered along, the fastest first
        rank_order: RankOrder = RankOrder::PpLast => parallelism("Rank order").advanced(),
        /// 1 shards optimizer states, 2 gradients, 3 weights
        zero: u64 = 1 => parallelism("ZeRO stage").count(0, 3, By(1.0)),
        /// ranks that share one set of shards; unset: all
        hsdp_shard: Option<u64> => parallelism("HSDP shard group").unit("ranks").count(1, 1 << 20, Double).advanced(),
        /// optimizer states are cut over the HSDP groups too (Megatron-FSDP, outer sharding `optim`)
        hsdp_optimizer: bool = false => parallelism("Optimizer over HSDP groups").advanced(),
        /// Megatron-FSDP keeps the buffers of two gathered layers and of the gradients of two for the whole run, as
        /// registered buffers of NCCL need them, instead of making them for each layer
        fsdp_double_buffer: bool = false => parallelism("FSDP double buffers").advanced(),
        /// data-parallel ranks that cut every weight among them, gather it before its product and scatter its gradient
        /// (Megatron-LM's generalized tensor parallelism: TP times these are its weight shards); 1: none
        weight_shards: u64 = 1
            => parallelism("Weight shards").symbol("GTP").unit("ranks").count(1, 1 << 20, Double).advanced(),
        /// the same of routed experts, among the ranks that hold the same ones
        expert_weight_shards: u64 = 1
            => parallelism("Expert weight shards").unit("ranks").count(1, 1 << 20, Double).advanced(),
        /// when ZeRO-2 reduces gradients to their shards, and whether Hugging Face's Trainer waits with FSDP too: later
        /// sends less and holds more; unset: every micro-batch, or as Trainer does it with FSDP
        zero2_reduce: Option<Reduction> => parallelism("Gradients are reduced").advanced(),
        /// ranks, of a node as a rule, that hold a second copy of the weights, which ZeRO-3 gathers for the backward
        /// pass (ZeRO++ hpZ)
        zero_hpz: Option<u64>
            => parallelism("hpZ group").unit("ranks").count(1, 1 << 20, Double).advanced(),
        /// ZeRO-3 gathers weights in eight bits (ZeRO++ qwZ)
        zero_qwz: bool = false => parallelism("8-bit weights (qwZ)").advanced(),
        /// ZeRO-3 scatters gradients in four bits (ZeRO++ qgZ)
        zero_qgz: bool = false => parallelism("4-bit gradients (qgZ)").advanced(),
        /// the order in which a rank works
        schedule: Schedule = Schedule::OneFOneB => parallelism("Schedule"),
        /// options that only some schedules use
        schedule_options: ScheduleOptions,
        /// model chunks per rank
        virtual_stages: u64 = 1
            => parallelism("Virtual stages").symbol("VP").count(1, 1 << 16, Valid),
        /// uneven pipelines: one number a stage, with commas
        stage_layers: Option<Vec<u64>> => parallelism("Layers by stage").advanced(),
        /// global stage that holds the MTP modules, counted from 0; unset: the last, with the loss
        mtp_stage: Option<u64> => parallelism("Stage of MTP").count(0, 1 << 16, By(1.0)).advanced(),
        /// tokens per sequence (8k is 8192)
        seq_len: u64 = 8192 => training("Sequence").symbol("s").unit("tokens").count(1, MAX_COUNT, Double),
        /// sequences that a rank works on at once
        micro_batch: u64 = 1 => training("Micro-batch").symbol("b").unit("seq").count(1, 1 << 30, Valid),
        /// sequences per step, over all ranks
        global_batch: u64 = 256 => training("Global batch").unit("seq").count(1, MAX_COUNT, Round),
        /// for unequal ones: one number each, with commas
        microbatch_lengths: Option<Vec<u64>> => training("Micro-batch lengths").unit("tokens").advanced(),
        /// of the documents packed in a sequence (THD), a sample: attention stays inside each; unset: one a sequence
        documents: Option<Vec<u64>> => training("Packed documents").unit("tokens").advanced(),
        /// samples of unequal length
        lengths: LengthsParts,
        /// every sample runs on as many ranks as its length needs (Megatron-LM's hybrid or dynamic context parallelism)
        cp_dynamic: bool = false => parallelism("Dynamic CP").advanced(),
        /// tokens of a sample that one rank takes under dynamic context parallelism; unset: its part of a full sequence
        cp_rank_tokens: Option<u64>
            => parallelism("Tokens a rank").unit("tokens").count(1, MAX_COUNT, Double).advanced(),
        /// 15T for days, GPU-hours and cost
        tokens_total: Option<f64> => training("Token budget").unit("tokens").number(1.0, 1e18, 1e12).advanced(),
        /// in any currency
        price_per_gpu_hour: Option<f64> => training("Price").unit("per GPU-hour").number(0.0, 1e6, 0.5).advanced(),
        /// interruptions, saves and the site: settings of the whole run
        length: RunLength,
        /// what you train with; sets defaults; your own settings override them
        stack: Based<StackParts> = Based::preset("megatron-2024") => training("Software"),
        /// bytes per parameter as weight, gradient and state
        precision: Based<PrecisionParts> = Based::preset("bf16-fp32-grads") => training("Precision"),
        /// by the states it keeps
        optimizer: Optimizer = Optimizer::Adam => training("Optimizer"),
        /// adapters beside a frozen base; no method: everything is trained
        adapter: AdapterParts,
        /// offloading to the host
        offload: OffloadParts,
        /// phases of reinforcement learning; no framework: there are none
        phases: PhasesParts,
        /// a step of reinforcement learning; no algorithm: there is none
        rl: RlParts,
        /// what is learnt from; a sample of pairs is two sequences
        objective: Based<ObjectiveParts> = Based::preset("next-token") => training("Objective").advanced(),
        /// recomputation
        recompute: Recompute = Recompute::None,
        /// attention without stored scores
        flash_attention: Option<bool> => training("FlashAttention").advanced(),
        /// how model FLOPs and MFU count attention; never changes time
        attention_flops: AttentionCount = AttentionCount::Causal => method("Attention FLOPs"),
        /// bytes per logit held and at peak
        cross_entropy: Option<CrossEntropy> => training("Loss kernel").advanced(),
        /// keeps 6 rather than 8 bytes per token and FFN channel
        fused_swiglu: Option<bool> => training("Fused SwiGLU").advanced(),
        /// inputs of linears and of the experts' SwiGLU wait in fp8
        fp8_activations: bool = false => training("fp8 activations").advanced(),
        /// input of a fused SwiGLU waits in fp8
        fp8_swiglu: bool = false => training("fp8 SwiGLU input").advanced(),
        /// Transformer Engine's buffers, one a weight shape
        dummy_wgrad: Option<bool> => training("Dummy weight gradients").advanced(),
        /// how evenly the router fills the experts: forced in benchmarks, natural else; sets the imbalance where that
        /// is unset
        moe_balance: Option<Balance> => training("Expert balance").advanced(),
        /// tokens of the busiest expert rank over the average: about 1.35 where routing is natural, 1 in benchmarks
        /// that force balance
        moe_imbalance: Option<f64> => training("Expert imbalance").unit("x").number(1.0, 64.0, 0.1).advanced(),
        /// spread of the router: standard deviation of the logarithm of the experts' popularity, from which the busiest
        /// rank follows for every expert-parallel size; a given imbalance wins
        moe_sigma: Option<f64> => training("Router spread").number(0.0, 3.0, 0.05).advanced(),
        /// spare slots of an expert rank for clones of experts with more tokens than the rest, which then share them
        /// (ECHO); it needs the spread of the router
        moe_clones: Option<u64> => training("Clones of experts").unit("a rank").count(0, 16, By(1.0)).advanced(),
        /// padded expert capacity; unset: dropless
        capacity_factor: Option<f64> => training("Capacity factor").unit("x").number(0.1, 64.0, 0.25).advanced(),
        /// a copy of a token for every expert, or one a node that is passed on inside
        moe_dispatch: Option<MoeDispatch> => training("Expert dispatch").advanced(),
        /// tokens go to experts, and their gradients back, in fp8
        fp8_dispatch: Option<bool> => training("fp8 dispatch").advanced(),
        /// expandable segments give back what no tensor fills before a run fails: more fits than blocks show
        allocator: Allocator = Allocator::Native => training("Allocator").advanced(),
        /// removes most of the host's launch overhead
        cuda_graphs: Option<bool> => training("CUDA graphs").advanced(),
        /// what CUDA graphs launch: none, whole layers, the whole iteration, or parts of a layer; wins over CUDA graphs
        graph_scope: Option<Vec<GraphPart>> => training("Captured by graphs").advanced(),
        /// passes of another micro-batch that expert messages run beside; unset: by the schedule
        ep_overlap: Option<EpOverlap> => training("EP overlap by").advanced(),
        /// weight gradients of the experts run beside messages
        delay_wgrad: Option<bool> => training("Delayed weight gradients").advanced(),
        /// shared experts run beside the messages of the routed ones (Megatron-LM, without EP overlap)
        shared_expert_overlap: bool = false => training("Shared-expert overlap").advanced(),
        /// tokens that an expert rank has room for, over the average: static shapes, so that no count reaches the host
        moe_rank_capacity: Option<f64> => training("Rank capacity").unit("x").number(1.0, 64.0, 0.25).advanced(),
        /// activations of experts are stored in pages for the tokens that came, not in room for all that may come
        moe_paged_stash: bool = false => training("Paged stash").advanced(),
        /// one step you measured; the time model is scaled to it
        measured_step_s: Option<f64> => method("Measured step").unit("s").number(1e-6, 1e7, 1.0).advanced(),
        /// host data loader: ns times seq² a sample and rank
        loader_ns: Option<f64> => method("Loader floor").unit("ns").number(0.0, 1e6, 0.5).advanced(),
        /// reading and preparing data as time of the first stage: seconds a micro-batch, before its forward pass
        loader_stage_s: f64 = 0.0 => method("Loading on stage 1").unit("s").number(0.0, 1e5, 0.1).advanced(),
        /// share of each window that may hide communication; unset: the stack's
        overlap: OverlapParts,
        /// corrections of the constants by the person's own runs
        profile: Profile,
        /// whose estimate the memory panel shows
        memory_method: Method = Method::Detailed => method("Memory method"),
    }
}

fields! {
    /// Options that only some schedules use; unset: the schedule's own default.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ScheduleOptions in "schedule_options." {
        /// micro-batches of one chunk in a row; unset: PP
        group: Option<u64> => parallelism("Micro-batch group").count(1, 1 << 20, By(1.0)).advanced(),
        /// how Chimera joins its base units
        variant: Option<Variant> => parallelism("Chimera variant").advanced(),
        /// times the stages snake over the ranks
        waves: Option<u64> => parallelism("Hanayo waves").count(1, 1 << 10, By(1.0)).advanced(),
        /// of the automatic schedules, in chunks
        memory_limit: Option<u64> => parallelism("Activation limit").count(1, 1 << 20, By(1.0)).advanced(),
        /// pieces of a sequence (Seq1F1B, TeraPipe)
        splits: Option<u64> => parallelism("Sequence splits").count(1, 1 << 16, By(1.0)).advanced(),
        /// tokens such as 0F0,0BW0; ranks apart by |
        order: Option<String> => parallelism("Own order").advanced(),
    }
}

shape! {
    /// Share of each window, 0 to 1, that may hide communication.
    pub struct OverlapShares, OverlapParts in "overlap." {
        /// of the last backward pass that may hide gradients
        dp: f64 => method("DP overlap").unit("share").number(0.0, 1.0, 0.1),
        /// of the linears that may hide tensor-parallel traffic
        tp: f64 => method("TP overlap").unit("share").number(0.0, 1.0, 0.1),
        /// of attention that may hide context-parallel traffic
        cp: f64 => method("CP overlap").unit("share").number(0.0, 1.0, 0.1).advanced(),
        /// of other work that may hide expert all-to-all; unset: by the passes that the schedule runs beside it
        ep: Option<f64> => method("EP overlap").unit("share").number(0.0, 1.0, 0.1).advanced(),
    }
}

impl Run {
    /// The Run that the page opens with where the address names none: the defaults of a link's format, under
    /// Megatron-LM of 2025, which is a choice. What a link leaves out means the format's default, for ever.
    pub fn example() -> Self {
        Self { stack: Based::preset("megatron-2025"), ..Self::default() }
    }

    /// True of the run that the page opens with, and of the one that a link without settings means: nobody set it.
    /// What was measured of a run is no setting.
    pub fn is_as_opened(&self) -> bool {
        let settings = Self { measured_step_s: None, profile: Profile::default(), ..self.clone() };
        settings == Self::example() || settings == Self::default()
    }

    /// A fine-tuning run has few GPUs, trains a part of the weights or moves something to its host.
    pub fn is_tuned(&self) -> bool {
        self.gpus <= 8 || self.adapter.method.is_some() || self.offload.leaves()
    }

    /// Tokens of the busiest of `ranks` expert ranks over the average, where a rank holds `held` experts.
    pub fn imbalance(&self, held: f64, ranks: f64) -> f64 {
        let spread = || self.moe_sigma.map(|sigma| router::busiest(sigma, held, ranks, self.moe_clones.unwrap_or(0)));
        let balanced = || self.moe_balance.map(Balance::imbalance);
        self.moe_imbalance.or_else(spread).or_else(balanced).unwrap_or(1.0)
    }

    /// True if weights are cut over ranks above tensor parallelism.
    pub fn shards_weights(&self) -> bool {
        self.weight_shards > 1 || self.expert_weight_shards > 1
    }

    /// True if buffers of two layers and their gradients stay: PyTorch's FSDP has none that do.
    pub fn keeps_double_buffers(&self) -> bool {
        self.fsdp_double_buffer && self.zero >= 2 && !self.software().fsdp
    }

    /// True if attention stores no scores: FlashAttention has no fp32 kernel.
    pub(crate) fn runs_flash_attention(&self) -> bool {
        self.attention_kernel() != AttentionKernel::Eager && self.precision.computes() != Format::Fp32
    }

    /// In words: how model FLOPs count attention.
    pub(crate) fn attention_flops_note(&self) -> &'static str {
        match self.attention_flops {
            AttentionCount::Causal => "by half the square, as current Megatron-LM does",
            AttentionCount::Full => "by the full square, as papers up to 2023 do",
        }
    }
}
