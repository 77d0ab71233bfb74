//! Training software by name, with its decisions. Ids never change.
//!
//! Rows say what release notes, recipes and published runs say of the software; what they leave open is as in
//! `megatron-2024`, the default of the format, which holds what fields meant before there were stacks.

use crate::field::Choice;
use crate::run::OverlapShares;
use crate::run::choices::{
    AttentionKernel, CrossEntropy, EpOverlap, GraphPart, Graphs, MoeDispatch, OffloadFramework, Selective, TpOverlap,
};
use crate::source::{
    DEEPSEEK_V3, DEEPSPEED, FMS_ACCELERATION, LLM_FOUNDRY, MAXTEXT, MEGATRON, MEGATRON_BRIDGE, NANOTRON,
    NARAYANAN_2021, NEMO, PRIMUS, Source, TORCHTITAN, TORCHTUNE,
};
use crate::units::Seconds;

/// Programs that train, with all their versions and configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trainer {
    /// Megatron-LM, Megatron Core and `NeMo`.
    Megatron,
    /// llm-foundry on Composer.
    Composer,
    /// PyTorch's FSDP2 under a training loop of one's own, or `NeMo` `AutoModel`'s.
    PyTorch,
    Torchtitan,
    DeepSpeed,
    /// `DeepSeek`'s own, HAI-LLM.
    DeepSeek,
    MaxText,
    Nanotron,
    PaxMl,
    /// Hugging Face Trainer and what is built on it: TRL, axolotl, LLaMA-Factory.
    HuggingFace,
    Torchtune,
}

/// Named training software.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    pub choice: Choice,
    /// The program that it is a version or a configuration of.
    pub trainer: Trainer,
    pub software: Software,
    /// It is older than Megatron-FSDP. `megatron-2024` is not said to be: a request that names no software means it.
    pub before_fsdp: bool,
    /// The newest release of Megatron Core that it is, the second number of 0.x, 0 before the first; none: it has what
    /// any has, or is another program.
    pub newest_core: Option<u32>,
    /// It trains on AMD's GPUs alone.
    pub on_amd: bool,
    pub source: &'static Source,
    /// Description, and the origin of each decision.
    pub remark: &'static str,
}

impl Stack {
    const fn before_fsdp(self) -> Self {
        Self { before_fsdp: true, ..self }
    }

    const fn on_amd(self) -> Self {
        Self { on_amd: true, ..self }
    }

    const fn until_core(self, release: u32) -> Self {
        Self { newest_core: Some(release), ..self }
    }
}

const fn stack(
    id: &'static str,
    label: &'static str,
    trainer: Trainer,
    software: Software,
    source: &'static Source,
    remark: &'static str,
) -> Stack {
    Stack {
        choice: Choice { id, label },
        trainer,
        software,
        before_fsdp: false,
        newest_core: None,
        on_amd: false,
        source,
        remark,
    }
}

/// Megatron Core of 2024; its host time is fitted to its runs.
pub const MEGATRON_2024: Software = Software {
    attention: AttentionKernel::Flash2,
    cross_entropy: CrossEntropy::Megatron,
    fused_swiglu: true,
    dummy_wgrad: false,
    graphs: Graphs::NONE,
    gemm: 0.91,
    compile: false,
    fused_kernels: true,
    fsdp: false,
    reentrant: false,
    ends_apart: false,
    repeats_kv: false,
    flat_buffers: true,
    offload: Some(OffloadFramework::Megatron),
    copies_context: false,
    keeps_quantised: true,
    peers: Some(Peers::Megatron2024),
    frees_gradients: false,
    sums_whole: false,
    of_hub: false,
    metrics: 0.0,
    launches: None,
    trains_bf16: false,
    moe_fused: false,
    fused_permutation: false,
    tp_overlap: TpOverlap::None,
    overlap: OverlapShares { dp: 0.8, tp: 0.3, cp: 0.8, ep: None },
    ep_overlap: EpOverlap::None,
    delay_wgrad: false,
    selective: Selective::CoreAttention,
    grad_reduce_bytes: None,
    moe_dispatch: MoeDispatch::AllToAll,
    fp8_dispatch: false,
    host: Seconds(0.5e-3),
    turbo: false,
    loader_ns: 0.0,
};

/// `NeMo` 2 and Megatron Core of 2025 on Transformer Engine.
pub const MEGATRON_2025: Software = Software {
    attention: AttentionKernel::Cudnn,
    cross_entropy: CrossEntropy::TeFused,
    gemm: 0.97,
    tp_overlap: TpOverlap::Userbuffers,
    fused_permutation: true,
    overlap: OverlapShares { tp: 1.0, ..MEGATRON_2024.overlap },
    grad_reduce_bytes: Some(2.0),
    copies_context: true,
    peers: Some(Peers::Megatron2025),
    ..MEGATRON_2024
};

/// Megatron Core on `ROCm`. What products reach in training is the prior of every program: 0.92 of their rate alone.
const ON_ROCM: Software = Software {
    attention: AttentionKernel::Flash2,
    gemm: 0.92,
    tp_overlap: TpOverlap::None,
    copies_context: false,
    peers: None,
    ..MEGATRON_2025
};

/// Parts that the recipes of Megatron-Bridge capture: all but experts and their messages.
pub const PARTIAL: Graphs =
    Graphs::of(&[GraphPart::Attention, GraphPart::Mlp, GraphPart::Router, GraphPart::Preprocess, GraphPart::Mamba]);

/// PyTorch's FSDP without tensor parallelism of Megatron's kind, kernels one by one.
pub const FSDP: Software = Software {
    gemm: 0.88,
    fused_swiglu: false,
    fused_kernels: false,
    fsdp: true,
    flat_buffers: false,
    offload: None,
    peers: Some(Peers::Fsdp),
    selective: Selective::Layers,
    ..MEGATRON_2024
};

/// FSDP2 with torchao's linears, which save their inputs in bf16 and quantise again (`float8_linear.py`,
/// `mx_linear.py`).
const FSDP2: Software = Software { keeps_quantised: false, frees_gradients: true, ..FSDP };

/// torchtitan, whose Llama repeats keys and values for every query head (`model.py`, `repeat_kv`).
const TITAN: Software = Software { repeats_kv: true, selective: Selective::Operators, ..FSDP2 };

/// Hugging Face Trainer with PEFT: PyTorch's operators and FSDP, whose gradients are summed whole over micro-batches
/// ([`Scenario::sums_whole`](crate::run::Scenario)), reentrant checkpoints (transformers
/// `gradient_checkpointing_enable`, LLaMA-Factory `use_reentrant_gc`).
pub(crate) const HF_TRAINER: Software = Software {
    reentrant: true,
    frees_gradients: true,
    sums_whole: true,
    of_hub: true,
    peers: Some(Peers::Tuners),
    host: Seconds::ZERO,
    launches: Some(Launches { layer: 40.0, units: 2.0, asks_lengths: true }),
    ..FSDP
};

/// All stacks; the first is the default of the format.
pub static STACKS: &[Stack] = &[
    stack(
        "megatron-2024",
        "Megatron-LM 2024",
        Trainer::Megatron,
        MEGATRON_2024,
        &MEGATRON,
        "core 0.6 to 0.9: FlashAttention-2, unfused loss, eager launches",
    )
    .until_core(9),
    stack(
        "megatron-2021",
        "Megatron-LM 2021",
        Trainer::Megatron,
        Software {
            attention: AttentionKernel::Eager,
            overlap: OverlapShares { dp: 0.0, tp: 0.0, ..MEGATRON_2024.overlap },
            peers: Some(Peers::Megatron2021),
            ..MEGATRON_2024
        },
        &NARAYANAN_2021,
        "scores in memory; neither gradients nor tensor-parallel messages overlap",
    )
    .before_fsdp()
    .until_core(0),
    stack(
        "megatron-2025",
        "NeMo 2, Megatron-LM 2025",
        Trainer::Megatron,
        MEGATRON_2025,
        &NEMO,
        "core 0.10 to 0.15: Transformer Engine picks cuDNN's attention; tp_comm_overlap by userbuffers, \
            cross_entropy_fusion_impl te and grad_reduce_in_fp32 false in the recipes",
    )
    .until_core(15),
    stack(
        "megatron-2026",
        "Megatron-LM 2026",
        Trainer::Megatron,
        Software {
            dummy_wgrad: true,
            graphs: PARTIAL,
            moe_fused: true,
            moe_dispatch: MoeDispatch::PerNode,
            peers: Some(Peers::Megatron2026),
            ..MEGATRON_2025
        },
        &MEGATRON_BRIDGE,
        "as 2025, with CUDA graphs and HybridEP or DeepEP in the recipes; on Blackwell the experts \
            are one kernel with SwiGLU and quantisation (Megatron-Bridge issue 2885, containers from 26.06)",
    ),
    stack(
        "composer-2023",
        "llm-foundry 2023",
        Trainer::Composer,
        Software { attention: AttentionKernel::Flash1, cross_entropy: CrossEntropy::Compiled, metrics: 2.0, ..FSDP },
        &LLM_FOUNDRY,
        "FSDP 1 with FlashAttention-1 or its Triton form and its loss, which writes a bf16 gradient \
            beside the logits (modeling_mpt.py, fused_crossentropy); recomputation by non-reentrant checkpoints",
    ),
    stack(
        "fsdp2",
        "PyTorch FSDP2, eager",
        Trainer::PyTorch,
        FSDP2,
        &TORCHTITAN,
        "Hugging Face Trainer and Automodel: scaled_dot_product_attention runs FlashAttention-2",
    ),
    stack(
        "torchtitan",
        "torchtitan, compiled",
        Trainer::Torchtitan,
        Software { compile: true, fused_swiglu: true, cross_entropy: CrossEntropy::Compiled, ..TITAN },
        &TORCHTITAN,
        "FSDP2; the compiler fuses norms, rotary embedding, SwiGLU and since 2025 the loss",
    ),
    stack(
        "torchtitan-eager",
        "torchtitan, eager",
        Trainer::Torchtitan,
        TITAN,
        &TORCHTITAN,
        "FSDP2 without the compiler",
    ),
    stack(
        "deepspeed",
        "DeepSpeed",
        Trainer::DeepSpeed,
        Software { fsdp: false, offload: Some(OffloadFramework::DeepSpeed), peers: None, ..FSDP },
        &DEEPSPEED,
        "Hugging Face models: FlashAttention-2, kernels one by one",
    ),
    stack(
        "deepseek-v3",
        "DeepSeek-V3's own",
        Trainer::DeepSeek,
        Software { moe_dispatch: MoeDispatch::PerNode, fp8_dispatch: true, peers: None, ..MEGATRON_2024 },
        &DEEPSEEK_V3,
        "sections 3.2 and 3.3: tokens cross nodes once and in fp8, behind computation; the attention \
            kernel is not named",
    ),
    stack(
        "maxtext",
        "MaxText (XLA on GPU)",
        Trainer::MaxText,
        Software { compile: true, attention: AttentionKernel::Cudnn, peers: None, ..MEGATRON_2024 },
        &MAXTEXT,
        "attention cudnn_flash_te in the GPU configurations",
    ),
    stack(
        "hf-trainer",
        "Hugging Face Trainer, PEFT",
        Trainer::HuggingFace,
        HF_TRAINER,
        &FMS_ACCELERATION,
        "TRL, axolotl and LLaMA-Factory: eager operators; gradients are freed after a step, logits \
            cast to fp32 and copied",
    ),
    stack(
        "hf-fused",
        "Hugging Face with fused kernels",
        Trainer::HuggingFace,
        Software {
            fused_kernels: true,
            cross_entropy: CrossEntropy::TeFused,
            launches: Some(Launches { layer: 22.0, units: 0.0, asks_lengths: true }),
            ..HF_TRAINER
        },
        &FMS_ACCELERATION,
        "the same with kernels for norms, rotary embedding and loss (fms-acceleration, Unsloth, \
            Liger)",
    ),
    stack(
        "nemo-2024",
        "NeMo 24.07",
        Trainer::Megatron,
        Software { cross_entropy: CrossEntropy::Megatron, ..MEGATRON_2025 },
        &NEMO,
        "Megatron core 0.8 and Transformer Engine 1.8 (software component versions of NeMo Framework 24.07): \
            userbuffers and fused attention as in 2025, the loss unfused",
    )
    .before_fsdp()
    .until_core(8),
    stack(
        "nanotron",
        "nanotron",
        Trainer::Nanotron,
        Software {
            overlap: OverlapShares { dp: 0.0, tp: 0.0, ..MEGATRON_2024.overlap },
            fsdp: false,
            peers: None,
            selective: Selective::CoreAttention,
            ..FSDP
        },
        &NANOTRON,
        "operators one by one; all-reduce of TP waits, gradients are reduced at the end of a step \
            (parallelism_config.py, gradient_accumulator.py)",
    ),
    stack(
        "paxml",
        "PaxML (XLA, FSDP)",
        Trainer::PaxMl,
        Software {
            compile: true,
            attention: AttentionKernel::Cudnn,
            fsdp: true,
            peers: None,
            selective: Selective::Layers,
            ..MEGATRON_2024
        },
        &NEMO,
        "XLA of 2024 with pipelined gathers and reductions (its flags in the recipes)",
    ),
    stack(
        "torchtune",
        "torchtune",
        Trainer::Torchtune,
        Software {
            trains_bf16: true,
            sums_whole: false,
            of_hub: false,
            reentrant: false,
            ends_apart: true,
            launches: Some(Launches { layer: 40.0, units: 0.0, asks_lengths: false }),
            ..HF_TRAINER
        },
        &TORCHTUNE,
        "pure bf16 with FSDP2; adapters in bf16",
    ),
    stack(
        "primus",
        "Primus with Primus-Turbo",
        Trainer::Megatron,
        Software { attention: AttentionKernel::Aiter, turbo: true, ..ON_ROCM },
        &PRIMUS,
        "Megatron Core on ROCm: use_turbo_attention and enable_primus_turbo take AITER's attention and Primus-Turbo's \
            products; no userbuffers",
    )
    .on_amd(),
    stack(
        "primus-hipblaslt",
        "Primus without Primus-Turbo",
        Trainer::Megatron,
        ON_ROCM,
        &PRIMUS,
        "the same by Transformer Engine on ROCm: products by hipBLASLt, attention by CK",
    )
    .on_amd(),
];

/// Software whose published runs are of one class: the range of a predicted step is read from its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    Megatron2021,
    Megatron2024,
    Megatron2025,
    Megatron2026,
    /// PyTorch's own sharding.
    Fsdp,
    /// Programs that fine-tune: Hugging Face's Trainer and torchtune.
    Tuners,
}

/// Kernels that an eager program launches one by one: no pass is faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Launches {
    /// Kernels of a dense layer's forward pass, counted.
    pub layer: f64,
    /// Units of FSDP that an adapter is: PEFT's policy wraps each of its matrices (`fsdp_auto_wrap_policy`); fused
    /// kernels keep adapters out of FSDP (fms-acceleration `lora_adapters_switch_ddp_from_fsdp`).
    pub units: f64,
    /// Every attention reads from the device how long the sequences of a micro-batch are.
    pub asks_lengths: bool,
}

/// Everything that the software decides.
#[allow(clippy::struct_excessive_bools)] // they are what it decides
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Software {
    pub attention: AttentionKernel,
    pub cross_entropy: CrossEntropy,
    /// One kernel for the SwiGLU.
    pub fused_swiglu: bool,
    /// Transformer Engine's dummy weight-gradient buffers.
    pub dummy_wgrad: bool,
    /// Parts of a step that CUDA graphs launch.
    pub graphs: Graphs,
    /// Rate of large products inside a training step over their rate alone.
    pub gemm: f64,
    /// Kernels between products fused by a compiler.
    pub compile: bool,
    /// Kernels between products fused by hand-written kernels of the software.
    pub fused_kernels: bool,
    /// Sharding and recomputation of PyTorch: recomputation of a layer ends with the last tensor that its
    /// backward pass reads, and ZeRO-2 gathers weights in every micro-batch.
    pub fsdp: bool,
    /// Recomputation of whole layers all the same (reentrant checkpoints).
    pub reentrant: bool,
    /// Embedding and head are units of FSDP of their own, not whole as long as the model runs.
    pub ends_apart: bool,
    /// Keys and values are repeated for every query head before attention.
    pub repeats_kv: bool,
    /// Gradients and states are in flat buffers that stay (Megatron's DDP and distributed optimizer).
    pub flat_buffers: bool,
    /// Its own implementation of offloading; none: PyTorch's, which depends on the Run.
    pub offload: Option<OffloadFramework>,
    /// Tokens first in the hidden state, sequences first in attention kernels of its own: the attention output of
    /// several sequences is kept in both orders. Source: Transformer Engine `dot_product_attention/backends.py`; peaks
    /// of Megatron-LM's tests on A100 and GB200 have the copy, the outcomes of 2024 do not tell.
    pub copies_context: bool,
    /// Inputs of linears wait in the copy that a precision recipe made of them.
    pub keeps_quantised: bool,
    /// Class of published runs; none: no class of ten runs or more.
    pub peers: Option<Peers>,
    /// Gradients are freed after every step and the peak is that of a moment: loss, a layer's backward pass or
    /// the optimizer's step.
    pub frees_gradients: bool,
    /// Under FSDP gradients of several micro-batches are summed whole before they are sharded (accelerate's `no_sync`),
    /// unless the Run says otherwise.
    pub sums_whole: bool,
    /// Models of Hugging Face's library under its Trainer: experts run one after the other, the 8-bit states of
    /// embeddings are fp32.
    pub of_hub: bool,
    /// Cross-entropies that are computed again of every batch to be logged.
    pub metrics: f64,
    /// Launches of a layer's forward pass, each by the host alone; none: `host` a layer.
    pub launches: Option<Launches>,
    /// Adapters and states are bf16 as the model is.
    pub trains_bf16: bool,
    /// One kernel for dispatch and permutation of tokens.
    pub moe_fused: bool,
    /// Fused kernels for the experts' permutation. Source: Megatron-Bridge, `moe_permute_fusion` of its models.
    pub fused_permutation: bool,
    /// Overlap of tensor-parallel messages with products.
    pub tp_overlap: TpOverlap,
    /// Share of each window that may hide communication.
    pub overlap: OverlapShares,
    /// Passes of another micro-batch that messages of experts run beside, where the schedule has none of its own.
    pub ep_overlap: EpOverlap,
    /// Weight gradients of the experts wait until messages need company.
    pub delay_wgrad: bool,
    /// Operators that selective recomputation drops.
    pub selective: Selective,
    /// Bytes a gradient on its way between ranks; none: as it is kept.
    pub grad_reduce_bytes: Option<f64>,
    /// Way of the tokens to experts.
    pub moe_dispatch: MoeDispatch,
    /// Tokens on their way to experts in fp8.
    pub fp8_dispatch: bool,
    /// Host time a layer and micro-batch, forward and backward, that no kernel hides, with eager launches.
    pub host: Seconds,
    /// Products in MXFP8 by Primus-Turbo's kernels where the GPU is AMD's, not by hipBLASLt.
    pub turbo: bool,
    /// Nanoseconds of the data loader: times `seq_len`² a sample and rank.
    pub loader_ns: f64,
}

impl Software {
    /// True of Megatron-LM's releases of 2024 and before.
    pub fn is_megatron_until_2024(&self) -> bool {
        matches!(self.peers, Some(Peers::Megatron2021 | Peers::Megatron2024))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run, Scenario};

    #[test]
    fn the_default_of_the_format_is_the_first() {
        assert_eq!(Run::default().stack.base, Some(STACKS[0].choice.id));
    }

    /// Every stack makes sense, alone and with the fields that win over it.
    #[test]
    fn a_field_that_is_set_wins_over_every_stack() {
        for row in STACKS {
            let mut run = Run { stack: Based::preset(row.choice.id), ..Run::default() };
            assert_eq!(run.software(), row.software);
            assert!(Scenario::new(&run).is_ok(), "{}", row.choice.id);
            run.flash_attention = Some(false);
            run.cuda_graphs = Some(!row.software.graphs.any());
            run.overlap.dp = Some(0.5);
            run.stack.parts.host_us_per_layer = Some(250.0);
            let software = Scenario::new(&run).unwrap().software;
            assert_eq!(software.attention, AttentionKernel::Eager);
            assert_eq!(software.graphs.any(), !row.software.graphs.any());
            assert_eq!((software.overlap.dp, software.host.0), (0.5, 250e-6));
            assert_eq!(run.resolved().software(), software, "{}", row.choice.id);
        }
    }
}
