//! Decisions of the training software: a preset ("what do you train with?"), and every field that wins over it.

use super::Run;
use super::based::{Based, Preset};
use super::choices::{AttentionKernel, CrossEntropy, EpOverlap, Graphs, Recompute, Schedule, Selective, TpOverlap};
use super::presets::{GpuFamily, STACKS, Software, Stack, Trainer};
use crate::field::{Choice, MissingParts, fields, training};
use crate::units::Seconds;

fields! {
    /// Parts of a stack that no other field sets; unset: the preset's.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StackParts in "stack." {
        /// how fast attention runs
        attention: Option<AttentionKernel> => training("Attention kernel").advanced(),
        /// the kernels between products are fused by torch.compile or XLA
        compile: Option<bool> => training("Compiler").advanced(),
        /// tokens are permuted by the kernel that sends them
        moe_fused: Option<bool> => training("Fused MoE").advanced(),
        /// what hides tensor-parallel messages behind the products beside them
        tp_overlap: Option<TpOverlap> => training("TP overlap by").advanced(),
        /// bytes per gradient between ranks; unset: as it is kept
        grad_reduce_bytes: Option<f64> => training("Reduced gradients").unit("B").number(1.0, 4.0, 1.0).advanced(),
        /// launches that no kernel hides, a layer and micro-batch, before CUDA graphs
        host_us_per_layer: Option<f64> => training("Host time").unit("µs per layer").number(0.0, 1e6, 50.0).advanced(),
    }
}

impl Preset for StackParts {
    fn presets() -> Vec<Choice> {
        STACKS.iter().map(|stack| stack.choice).collect()
    }
}

impl Based<StackParts> {
    /// The preset it starts from.
    pub fn preset_row(&self) -> &'static Stack {
        let named = STACKS.iter().find(|row| Some(row.choice.id) == self.base);
        // The table is not empty: its first row is the default of the format.
        named.unwrap_or(&STACKS[0])
    }
}

/// Settings of a Run and the columns of [`Software`] that they win over.
macro_rules! columns {
    ($($($set:ident).+ => $column:ident,)*) => {
        /// Writes what is set in `run` into `software`.
        fn win(run: &Run, software: &mut Software) {
            $(if let Some(set) = run.$($set).+ {
                software.$column = set;
            })*
        }

        /// Sets all of them in `run` as `software` has them.
        fn spell(run: &mut Run, software: &Software) {
            $(run.$($set).+ = Some(software.$column);)*
        }
    };
}

columns! {
    cross_entropy => cross_entropy,
    fused_swiglu => fused_swiglu,
    dummy_wgrad => dummy_wgrad,
    delay_wgrad => delay_wgrad,
    moe_dispatch => moe_dispatch,
    fp8_dispatch => fp8_dispatch,
    loader_ns => loader_ns,
    stack.parts.attention => attention,
    stack.parts.compile => compile,
    stack.parts.moe_fused => moe_fused,
    stack.parts.tp_overlap => tp_overlap,
}

impl Run {
    /// Decisions of the software: the stack's preset, its parts, and the fields of their own, which win.
    pub fn software(&self) -> Software {
        let mut software = self.stack.preset_row().software;
        win(self, &mut software);
        software.attention = self.attention_kernel();
        software.overlap = self.overlap.over(Some(software.overlap), &mut MissingParts::default());
        let parts = &self.stack.parts;
        software.graphs = self.graphs();
        software.ep_overlap = self.experts_beside();
        software.launches = software.launches.filter(|_| parts.host_us_per_layer.is_none());
        software.grad_reduce_bytes = parts.grad_reduce_bytes.or(software.grad_reduce_bytes);
        software.host = parts.host_us_per_layer.map_or(software.host, |micro| Seconds(micro * 1e-6));
        software
    }

    /// True unless its software trains on the GPUs of another maker alone; of GPUs of one's own nothing is said.
    pub fn is_on_gpus_of_its_software(&self) -> bool {
        !self.stack.preset_row().on_amd || self.gpu.family().is_none_or(GpuFamily::is_amd)
    }

    /// True unless adapters are to be trained by software that is known to have none.
    pub fn is_adapted_by_its_software(&self) -> bool {
        self.adapter.method.is_none() || self.stack.preset_row().has_adapters()
    }

    /// Loss kernels of its software that keep fewer logits than its own, the smallest change first.
    pub(crate) fn smaller_losses(&self) -> &'static [CrossEntropy] {
        self.stack.preset_row().trainer.smaller_losses(self.software().cross_entropy)
    }

    /// Compute that messages of experts hide behind: by `ep_overlap`, else the schedule, else the stack.
    pub(crate) fn experts_beside(&self) -> EpOverlap {
        let set = self.ep_overlap.or_else(|| self.schedule.overlaps_experts());
        set.unwrap_or_else(|| self.stack.preset_row().software.ep_overlap)
    }

    /// The Run without messages of experts beside another micro-batch, by the setting of its software that has them
    /// there (Megatron-LM's `--overlap-moe-expert-parallel-comm`); none where that is off, or where the software has no
    /// such setting.
    pub(crate) fn unpaired(&self) -> Option<Self> {
        let schedule = match self.schedule {
            Schedule::Overlap => Schedule::OneFOneB,
            Schedule::InterleavedOverlap => Schedule::Interleaved,
            other if other.pairs_passes() => return None,
            other => other,
        };
        // On several ranks the schedule alone says it.
        let is_paired = schedule != self.schedule || self.pp == 1 && self.experts_beside() != EpOverlap::None;
        let is_set = self.stack.preset_row().trainer == Trainer::Megatron;
        let ep_overlap = self.ep_overlap.map(|_| EpOverlap::None);
        (is_paired && is_set).then(|| Self { schedule, ep_overlap, ..self.clone() })
    }

    /// Parts of a step that CUDA graphs launch: by `graph_scope`, else `cuda_graphs` (all or none), else the stack.
    pub fn graphs(&self) -> Graphs {
        match (&self.graph_scope, self.cuda_graphs) {
            (Some(parts), _) => Graphs::of(parts),
            (None, Some(false)) => Graphs::NONE,
            (None, Some(true)) => Graphs::ITERATION,
            (None, None) => self.stack.preset_row().software.graphs,
        }
    }

    /// Recomputation of the run, `selective` spelled out as the software means it.
    pub fn recomputed(&self) -> &Recompute {
        match (&self.recompute, self.stack.preset_row().software.selective) {
            (Recompute::Selective, Selective::Operators) => &Recompute::OpSelective,
            (Recompute::Selective, Selective::Layers) => &Recompute::Full,
            (recompute, _) => recompute,
        }
    }

    /// The attention kernel: the stack's, unless `flash_attention` is set.
    pub fn attention_kernel(&self) -> AttentionKernel {
        let set = self.stack.parts.attention;
        let kernel = set.unwrap_or_else(|| self.usual_attention());
        match self.flash_attention {
            Some(false) => AttentionKernel::Eager,
            Some(true) if kernel == AttentionKernel::Eager => AttentionKernel::Flash2,
            _ => kernel,
        }
    }

    /// The kernel that the stack takes on the Run's GPU: where it runs FlashAttention-2 elsewhere, Transformer Engine
    /// and PyTorch (`sdp_utils.cpp`, `check_prefer_cudnn_attention`) take cuDNN's on Blackwell, whose matrix
    /// instructions FlashAttention-2 does not use.
    fn usual_attention(&self) -> AttentionKernel {
        let blackwell = self.gpu.family().is_some_and(GpuFamily::is_blackwell);
        match self.stack.preset_row().software.attention {
            AttentionKernel::Flash2 if blackwell => AttentionKernel::Cudnn,
            kernel => kernel,
        }
    }

    /// Spells out the stack in every field that was left alone.
    pub(super) fn spell_stack(&mut self) {
        let software = self.software();
        spell(self, &software);
        self.flash_attention = Some(software.attention != AttentionKernel::Eager);
        self.cuda_graphs = self.cuda_graphs.or(Some(software.graphs.any()));
        self.graph_scope = Some(software.graphs.parts());
        self.ep_overlap = Some(software.ep_overlap);
        // A spread gives another imbalance to every expert-parallel size.
        if self.moe_sigma.is_none() {
            self.moe_imbalance = Some(self.imbalance(1.0, 1.0));
        }
        self.overlap = software.overlap.into();
        self.stack.parts.grad_reduce_bytes = software.grad_reduce_bytes;
        // 500, not 499.99999999999994.
        self.stack.parts.host_us_per_layer = Some((software.host.0 * 1e12).round() / 1e6);
    }
}
