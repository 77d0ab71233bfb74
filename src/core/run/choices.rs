//! The settings that are one of a list: their ids in links and JSON, which never change, and their labels.
//!
//! A table of lists, over 400 lines.

use crate::field::{Choice, FieldOf, Held, OneOf, Row, Settable, Slot, Steps, Value, one_of, training};
use crate::message::Message;
use crate::t;

one_of! {
    /// Exchange of keys and values between context-parallel ranks.
    CpComm {
        /// Rank to rank, a block a step, behind attention.
        Ring = "ring" "ring",
        /// All at once before attention (Llama 3).
        AllGather = "all-gather" "all-gather",
        /// Heads for tokens, by all-to-all.
        Ulysses = "ulysses" "Ulysses",
        /// Ulysses among near ranks, a ring between their groups.
        Hierarchical = "hierarchical" "Ulysses near, ring far (a2a+p2p)",
    }
}

one_of! {
    /// When ZeRO-2 reduces a stage's gradients to their shards.
    Reduction {
        /// After the backward pass of every micro-batch.
        MicroBatch = "micro-batch" "every micro-batch",
        /// After the last of the consecutive micro-batches of a stage (Llama 3).
        Group = "group" "every group",
        /// After the last micro-batch: ZeRO-1 in memory and time.
        Step = "step" "once a step",
    }
}

one_of! {
    /// PyTorch's ways to take memory from the driver.
    Allocator {
        /// Blocks of the size that was asked for, or larger, kept as they are.
        Native = "native" "blocks",
        /// One range of addresses a stream, whose pages are given back where no tensor is.
        Expandable = "expandable-segments" "expandable segments",
    }
}

one_of! {
    /// Ways of tokens to the experts of other nodes.
    MoeDispatch {
        /// A copy for every expert.
        AllToAll = "all-to-all" "all-to-all",
        /// One copy for every node that has some of the token's experts, passed on inside (`DeepEP`).
        PerNode = "per-node" "once a node",
        /// One copy for every node that has some of the token's experts, by HybridEP's kernels.
        HybridEp = "hybridep" "HybridEP",
    }
}

one_of! {
    Schedule {
        /// One micro-batch at a time.
        Naive = "naive" "Naive",
        /// All forwards, then all backwards.
        Gpipe = "gpipe" "GPipe",
        /// One forward, one backward (PipeDream-flush).
        OneFOneB = "1f1b" "1F1B",
        /// 1F1B with a doubled warm-up.
        Eager = "eager-1f1b" "Eager 1F1B",
        /// 1F1B over several chunks a rank.
        Interleaved = "interleaved-1f1b" "Interleaved 1F1B",
        /// Chunks breadth first.
        LoopedBfs = "looped-bfs" "Looped breadth-first",
        /// Asynchronous, with weight stashing.
        Pipedream = "pipedream" "PipeDream",
        /// Two weight versions.
        Pipedream2bw = "pipedream-2bw" "PipeDream-2BW",
        /// Two pipelines in opposite directions.
        Chimera = "chimera" "Chimera",
        /// Waves over a snake of stages.
        Hanayo = "hanayo" "Hanayo",
        /// Zero bubble, memory of 1F1B.
        ZbH1 = "zb-h1" "ZB-H1",
        /// Zero bubble, twice the memory.
        ZbH2 = "zb-h2" "ZB-H2",
        /// Zero bubble by heuristic under a memory limit.
        ZbAuto = "zb-auto" "ZB automatic",
        /// Interleaved with split backward.
        InterleavedZb = "interleaved-zb1p" "Interleaved zero bubble",
        /// Zero bubble on a V of two chunks.
        ZbV = "zb-v" "ZB-V",
        /// ZB-V by heuristic under a memory limit.
        ZbVAuto = "zb-v-auto" "ZB-V automatic",
        /// Half of 1F1B's activations.
        VHalf = "v-half" "V-Half",
        /// A third of 1F1B's activations.
        VMin = "v-min" "V-Min",
        /// DeepSeek's bidirectional schedule.
        DualPipe = "dualpipe" "DualPipe",
        /// DualPipe folded into a V.
        DualPipeV = "dualpipev" "DualPipeV",
        /// 1F1B with fused forward and backward.
        Overlap = "1f1b-overlap" "1F1B with overlap",
        /// Interleaved with fused forward and backward.
        InterleavedOverlap = "interleaved-overlap" "Interleaved with overlap",
        /// 1F1B over pieces of a sequence.
        Seq1F1B = "seq1f1b" "Seq1F1B",
        /// GPipe over pieces of a sequence.
        TeraPipe = "terapipe" "TeraPipe",
        /// The best order for the durations under a memory limit.
        Optimal = "optimal" "Optimal",
        /// An order that the user gives.
        Custom = "custom" "Custom order",
    }
}

one_of! {
    /// The form of Chimera.
    Variant {
        /// Base units one after the other.
        Concat = "concat" "direct concatenation",
        /// Forwards of two micro-batches at once.
        ForwardDoubling = "forward-doubling" "forward doubling",
        /// Backwards of half a micro-batch.
        BackwardHalving = "backward-halving" "backward halving",
    }
}

one_of! {
    /// The optimizer, by the states it keeps.
    Optimizer {
        /// Two moments.
        Adam = "adam" "Adam",
        /// No state.
        Sgd = "sgd" "SGD",
        /// One moment.
        SgdMomentum = "sgd-momentum" "SGD with momentum",
        /// Factored second moment.
        Adafactor = "adafactor" "Adafactor",
        /// Two moments of one byte.
        Adam8Bit = "adam-8bit" "8-bit Adam",
        /// One moment.
        Lion = "lion" "Lion",
        /// One moment, whole matrices.
        Muon = "muon" "Muon",
        /// Two moments of one byte in unified memory, which the driver moves to the host.
        Adam8BitPaged = "adam-8bit-paged" "paged 8-bit Adam",
        /// Two moments of four bytes there.
        AdamPaged = "adam-paged" "paged Adam",
        /// One moment, and one number a block for the second.
        AdamMini = "adam-mini" "Adam-mini",
        /// Moments of gradients that are projected to a quarter of the hidden size.
        GaLore = "galore" "GaLore",
    }
}

one_of! {
    /// Kernels of the loss, by their treatment of the logits.
    CrossEntropy {
        /// Unfused, vocabulary-parallel.
        Megatron = "megatron" "Megatron, unfused",
        MegatronFused = "megatron-fused" "Megatron, fused",
        /// Transformer Engine's, in place.
        TeFused = "te-fused" "Transformer Engine, fused",
        /// PyTorch's, compiled: the cast to fp32 and the softmax stay inside one kernel.
        Compiled = "compiled" "PyTorch, compiled",
        /// A slice of the logits at a time.
        Chunked = "chunked" "chunked",
        /// One kernel with the head: no logits are kept (Liger, cut cross-entropy).
        FusedLinear = "fused-linear" "fused with the head",
        /// TRL's `selective_log_softmax`, of the logits as the program returns them, one sequence after the other.
        Selective = "selective" "TRL, of chosen tokens",
    }
}

one_of! {
    /// The kernel that computes attention.
    AttentionKernel {
        /// Scores are written to memory.
        Eager = "eager" "eager, scores in memory",
        /// FlashAttention-1, or its Triton form.
        Flash1 = "flash-1" "FlashAttention-1",
        Flash2 = "flash-2" "FlashAttention-2",
        /// FlashAttention-3: Hopper only.
        Flash3 = "flash-3" "FlashAttention-3",
        /// FlashAttention-4: Blackwell of data centers only.
        Flash4 = "flash-4" "FlashAttention-4",
        /// cuDNN's, which Transformer Engine picks from Hopper on.
        Cudnn = "cudnn" "cuDNN",
        /// cuDNN's in fp8.
        Fp8 = "fp8" "cuDNN, fp8",
        /// AMD's in assembly, which Transformer Engine takes by `NVTE_CK_USES_FWD_V3`.
        Aiter = "aiter" "AITER, assembly",
    }
}

one_of! {
    /// Overlap of tensor-parallel messages with the products beside them.
    TpOverlap {
        /// Only reductions of the backward pass, behind weight gradients.
        None = "none" "weight gradients only",
        /// PyTorch's, chunk by chunk, forward and backward.
        AsyncTp = "async-tp" "async TP",
        /// Transformer Engine's, chunk by chunk, forward and backward.
        Userbuffers = "userbuffers" "userbuffers",
    }
}

one_of! {
    /// Destination of an offload.
    OffloadTo {
        Cpu = "cpu" "host memory",
        Nvme = "nvme" "NVMe",
    }
}

one_of! {
    /// Activations that leave the GPU: all of them, to the host or to disks, or the inputs of modules, to the host.
    /// Source: Megatron-LM `--offload-modules`.
    Leaving {
        Cpu = "cpu" "all, to host memory",
        /// All, to disks of the host.
        Nvme = "nvme" "all, to NVMe",
        /// Input of the norm before attention.
        AttnNorm = "attn_norm" "input of the attention norm",
        /// Input of the projection to queries, keys and values.
        QkvLinear = "qkv_linear" "input of the QKV projection",
        /// Queries, keys and values.
        CoreAttn = "core_attn" "input of core attention",
        /// Input of the projection behind attention.
        AttnProj = "attn_proj" "input of the output projection",
        /// Input of the norm before the FFN.
        MlpNorm = "mlp_norm" "input of the FFN norm",
        /// Tokens sorted by expert.
        ExpertFc1 = "expert_fc1" "input of the experts",
        /// Input of the experts' activation function.
        MoeAct = "moe_act" "input of the experts' activation",
    }
}

one_of! {
    /// Implementation of offloading.
    OffloadFramework {
        /// ZeRO-Offload and ZeRO-Infinity.
        DeepSpeed = "deepspeed" "DeepSpeed",
        /// Megatron's `HybridDeviceOptimizer` and `cpu_offloading`.
        Megatron = "megatron" "Megatron-LM",
        /// `CPUOffloadPolicy` of PyTorch's FSDP2, `CPUOffload` of its FSDP1, which copies a shard as it is stored and
        /// casts it on the GPU too (PyTorch 01caf79 `distributed/fsdp/_flat_param.py`, `_use_low_precision_shard`).
        Fsdp2 = "fsdp2" "PyTorch's FSDP",
        /// torchao's `CPUOffloadOptimizer`: one GPU.
        Torchao = "torchao" "torchao",
    }
}

one_of! {
    Method {
        /// Per tensor and stage.
        Detailed = "detailed" "detailed",
        /// Fujii et al. 2024.
        Fujii = "fujii-4d" "Fujii 4D",
        He = "he-blog" "Pengfei He's blog",
        Uneven = "uneven-pp" "NVIDIA uneven PP",
        Playbook = "playbook" "playbook",
    }
}

one_of! {
    /// A module that recomputation can drop.
    Module {
        Norm = "norm" "norms",
        /// The whole dense FFN.
        Mlp = "mlp" "MLP",
        /// The experts' activation function.
        MoeAct = "moe_act" "MoE activation",
        MlaUp = "mla_up" "MLA up-projections",
        /// Attention scores and softmax.
        CoreAttn = "core_attn" "core attention",
        /// The whole routed block, its messages included.
        Moe = "moe" "MoE block",
        /// The experts that every token visits.
        SharedExperts = "shared_experts" "shared experts",
    }
}

one_of! {
    /// Part of a step that CUDA graphs launch. Source: Megatron-LM `--cuda-graph-impl`, `--cuda-graph-modules`.
    GraphPart {
        None = "none" "none",
        /// Every layer whole, which experts without padding refuse.
        Layer = "layer" "whole layers",
        /// All passes of a step.
        Iteration = "iteration" "whole iteration",
        Attention = "attn" "attention",
        Mlp = "mlp" "MLP",
        Router = "moe_router" "router",
        /// Counts and maps of the tokens of each expert.
        Preprocess = "moe_preprocess" "preprocessing of tokens",
        Mamba = "mamba" "Mamba",
        /// The whole routed block, padded.
        Moe = "moe" "MoE block",
    }
}

/// Parts of a step that CUDA graphs launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Graphs(u16);

impl Graphs {
    /// Launches one by one.
    pub const NONE: Self = Self(0);
    /// All passes of a step.
    pub const ITERATION: Self = Self::of(&[GraphPart::Iteration]);

    pub const fn of(parts: &[GraphPart]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < parts.len() {
            bits |= 1 << parts[at] as u16;
            at += 1;
        }
        Self(bits & !(1 << GraphPart::None as u16))
    }
    /// The parts, as a field holds them.
    pub fn parts(self) -> Vec<GraphPart> {
        let named: Vec<_> = GraphPart::ALL.iter().map(|(part, _)| *part).filter(|part| self.names(*part)).collect();
        if named.is_empty() { vec![GraphPart::None] } else { named }
    }
    fn names(self, part: GraphPart) -> bool {
        self.0 & (1 << part as u16) != 0
    }
    /// Launches no kernel one by one where `part` runs.
    pub fn hold(self, part: GraphPart) -> bool {
        self.names(part) || self.names(GraphPart::Layer) || self.names(GraphPart::Iteration)
    }
    pub fn any(self) -> bool {
        self != Self::NONE
    }
}

one_of! {
    /// Passes of another micro-batch that messages of experts run beside.
    EpOverlap {
        /// None.
        None = "none" "none",
        /// The backward pass beside a forward pass, layer by layer (Megatron-LM's combined 1F1B).
        OneFOneB = "1f1b" "1F1B, layer by layer",
        /// The pairs of DualPipe and DualPipeV.
        DualPipe = "dualpipe" "DualPipe",
    }
}

one_of! {
    /// Evenness with which the router fills the experts.
    Balance {
        /// Every expert gets as many tokens: how benchmarks run.
        Forced = "forced" "forced",
        /// As the auxiliary loss leaves it.
        Natural = "natural" "natural",
    }
}

impl Balance {
    /// Tokens of the busiest rank over the average. Natural: Megatron-MoE-ModelZoo, Qwen3-235B on 256 H100 forced and
    /// natural, 1.24 to 1.09 times the step at 16k to 128k tokens: 1.3 to 1.5 times the routed part.
    pub fn imbalance(self) -> f64 {
        match self {
            Self::Forced => 1.0,
            Self::Natural => 1.35,
        }
    }
}

impl Schedule {
    /// Compute that its pairs hide messages of experts behind; none where it has no pairs.
    pub const fn overlaps_experts(self) -> Option<EpOverlap> {
        match self {
            Self::DualPipe | Self::DualPipeV => Some(EpOverlap::DualPipe),
            Self::Overlap | Self::InterleavedOverlap => Some(EpOverlap::OneFOneB),
            _ => None,
        }
    }
    /// Passes of two micro-batches run as one block, the messages of one behind the compute of the other.
    pub const fn pairs_passes(self) -> bool {
        self.overlaps_experts().is_some()
    }
    /// A pair runs layer by layer: a layer of the backward pass goes as one of the forward pass comes, so that the
    /// two hold no more than one of them. Source: Megatron-LM `combined_1f1b.py`; its tests with
    /// `--overlap-moe-expert-parallel-comm` hold a micro-batch less than both would.
    pub(crate) fn pairs_by_layer(self) -> bool {
        matches!(self, Self::Overlap | Self::InterleavedOverlap)
    }
}

/// Micro-batches a pipeline rank from which on some passes run in pairs: `DualPipe` begins them once both directions
/// are full. Source: deepseek-ai/DualPipe `dualpipe.py`, which asks for as many.
pub const FOR_PAIRS: u64 = 2;

/// Tensors that software drops where it is told to recompute selectively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selective {
    /// The core of attention: Megatron-LM's default list of modules.
    CoreAttention,
    /// Every second matrix product, and all between products but attention: torchtitan's "op", in every year.
    Operators,
    /// Whole layers: wrappers of FSDP and DeepSpeed know no other.
    Layers,
}

/// Tensors that are recomputed in the backward pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Recompute {
    None,
    /// Core attention (no effect with FlashAttention).
    Selective,
    /// Every second matrix product and all between products but attention (torchtitan).
    OpSelective,
    /// Every layer, from its input.
    Full,
    /// This many layers a stage, from their input.
    Layers(u64),
    /// These modules of every layer.
    Modules(Vec<Module>),
    /// Kept: this share of what can be recomputed, as torch.compile's partitioner cuts its graph.
    Budget(f64),
}

impl Recompute {
    /// The one called `id`: nothing, everything, or a selection by rule.
    pub(crate) fn from_rule(id: &str) -> Option<Self> {
        let named = WHOLE.iter().find(|(_, choice)| choice.id == id);
        named.map(|(recompute, _)| recompute.clone())
    }
    /// As a sentence names it: "selective recomputation", "3 recomputed layers".
    pub fn words(&self) -> Message {
        match self {
            Self::None => t!("no recomputation"),
            Self::Selective => t!("selective recomputation"),
            Self::OpSelective => t!("recomputation between products"),
            Self::Full => t!("full recomputation"),
            Self::Layers(1) => t!("1 recomputed layer"),
            Self::Layers(n) => t!("{n} recomputed layers", n = *n),
            Self::Modules(_) => t!("recomputed modules"),
            Self::Budget(share) => t!("a budget of {share} of the activations", share = *share),
        }
    }
}

/// Recomputation by its name, of the first n layers, or of modules: three settings of which the last one set counts.
const WHOLE: [(Recompute, Choice); 4] = [
    (Recompute::None, Choice { id: "none", label: "none" }),
    (Recompute::Selective, Choice { id: "selective", label: "selective" }),
    (Recompute::OpSelective, Choice { id: "op-selective", label: "between products (torchtitan)" }),
    (Recompute::Full, Choice { id: "full", label: "full" }),
];

impl Settable for Recompute {
    fn fields(_: &'static str, _: Row) -> Vec<FieldOf<Self>> {
        let whole = training("Recompute").hint("activations dropped and computed again in the backward pass");
        let layers = training("Recomputed layers").hint("full recomputation of the first n layers of a stage");
        let layers = layers.unit("a stage").advanced();
        let modules = training("Recomputed modules").hint("only these, in every layer").advanced();
        let budget = training("Activation budget").unit("share");
        let budget =
            budget.hint("torch.compile keeps this share of what can be recomputed: 0 is full, 1 none").advanced();
        vec![
            FieldOf::new(
                "recompute",
                whole,
                Slot::Choice { options: || WHOLE.iter().map(|(_, choice)| *choice).collect() },
                |held| {
                    let named = WHOLE.iter().find(|(recompute, _)| recompute == held);
                    named.map(|(_, choice)| Value::Text(choice.id.to_owned())).unwrap_or_default()
                },
                |held, value| Self::from_rule(value.text().unwrap_or("none")).map(|named| *held = named).is_some(),
            ),
            FieldOf::new(
                "recompute.layers",
                layers,
                Slot::Count { range: (0, 100_000), steps: Steps::By(1.0) },
                |held| if let Self::Layers(layers) = held { layers.get() } else { Value::Null },
                |held, value| held.replace(u64::of(value).map(Self::Layers), |held| matches!(held, Self::Layers(_))),
            ),
            FieldOf::new(
                "recompute.modules",
                modules,
                Slot::Set { options: Module::choices },
                |held| if let Self::Modules(modules) = held { modules.get() } else { Value::Null },
                |held, value| held.replace(Held::of(value).map(Self::Modules), |held| matches!(held, Self::Modules(_))),
            ),
            FieldOf::new(
                "recompute.budget",
                budget,
                Slot::Number { range: (0.0, 1.0), steps: Steps::By(0.1) },
                |held| if let Self::Budget(share) = held { share.get() } else { Value::Null },
                |held, value| held.replace(f64::of(value).map(Self::Budget), |held| matches!(held, Self::Budget(_))),
            ),
        ]
    }
}

impl Recompute {
    /// Becomes `set`, or nothing where that is unset and it was of this kind.
    fn replace(&mut self, set: Option<Self>, is_of_kind: fn(&Self) -> bool) -> bool {
        match set {
            Some(set) => *self = set,
            None if is_of_kind(self) => *self = Self::None,
            None => {}
        }
        true
    }
}
