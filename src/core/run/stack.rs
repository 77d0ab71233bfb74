//! Decisions of the training software: a preset ("what do you train with?"), and every field that wins over it.

use super::based::Based;
use super::choices::{AttentionKernel, TpOverlap};
use super::presets::{STACKS, Software, Stack};
use super::{OverlapShares, Run};
use crate::units::Seconds;

/// Parts of a stack that no other field sets; none: the preset's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StackParts {
    /// The attention kernel.
    pub attention: Option<AttentionKernel>,
    /// Kernels between products fused by a compiler.
    pub compile: Option<bool>,
    /// One kernel for dispatch and permutation of tokens.
    pub moe_fused: Option<bool>,
    /// Overlap of tensor-parallel messages with products.
    pub tp_overlap: Option<TpOverlap>,
    /// Bytes a gradient on its way between ranks.
    pub grad_reduce_bytes: Option<f64>,
    /// Microseconds of host time a layer and micro-batch.
    pub host_us_per_layer: Option<f64>,
}

impl Based<StackParts> {
    /// The preset it starts from.
    #[must_use]
    pub fn preset_row(&self) -> &'static Stack {
        let named = STACKS.iter().find(|row| Some(row.choice.id) == self.base);
        // The table is not empty: its first row is the default of the format.
        named.unwrap_or(&STACKS[0])
    }
}

impl Run {
    /// Decisions of the software: the stack's preset, its parts, and the fields of their own, which win.
    #[must_use]
    pub fn software(&self) -> Software {
        let preset = self.stack.preset_row().software;
        let parts = &self.stack.parts;
        Software {
            attention: self.attention_kernel(),
            cross_entropy: self.cross_entropy.unwrap_or(preset.cross_entropy),
            fused_swiglu: self.fused_swiglu.unwrap_or(preset.fused_swiglu),
            dummy_wgrad: self.dummy_wgrad.unwrap_or(preset.dummy_wgrad),
            cuda_graphs: self.cuda_graphs.unwrap_or(preset.cuda_graphs),
            compile: parts.compile.unwrap_or(preset.compile),
            moe_fused: parts.moe_fused.unwrap_or(preset.moe_fused),
            tp_overlap: parts.tp_overlap.unwrap_or(preset.tp_overlap),
            overlap: OverlapShares {
                dp: self.overlap.dp.unwrap_or(preset.overlap.dp),
                tp: self.overlap.tp.unwrap_or(preset.overlap.tp),
                cp: self.overlap.cp.unwrap_or(preset.overlap.cp),
                ep: self.overlap.ep.unwrap_or(preset.overlap.ep),
            },
            grad_reduce_bytes: parts.grad_reduce_bytes.or(preset.grad_reduce_bytes),
            moe_dispatch: self.moe_dispatch.unwrap_or(preset.moe_dispatch),
            fp8_dispatch: self.fp8_dispatch.unwrap_or(preset.fp8_dispatch),
            host: parts.host_us_per_layer.map_or(preset.host, |micro| Seconds(micro * 1e-6)),
            loader_ns: self.loader_ns.unwrap_or(preset.loader_ns),
            ..preset
        }
    }

    /// The attention kernel: the stack's, unless `flash_attention` is set.
    #[must_use]
    pub fn attention_kernel(&self) -> AttentionKernel {
        let said = self.stack.parts.attention;
        let kernel = said.unwrap_or_else(|| self.stack.preset_row().software.attention);
        match self.flash_attention {
            Some(false) => AttentionKernel::Eager,
            Some(true) if kernel == AttentionKernel::Eager => AttentionKernel::Flash2,
            _ => kernel,
        }
    }

    /// Spells out the stack in every field that was left alone.
    pub(super) fn spell_stack(&mut self) {
        let software = self.software();
        self.flash_attention = Some(software.attention != AttentionKernel::Eager);
        self.cross_entropy = Some(software.cross_entropy);
        self.fused_swiglu = Some(software.fused_swiglu);
        self.dummy_wgrad = Some(software.dummy_wgrad);
        self.cuda_graphs = Some(software.cuda_graphs);
        self.overlap.dp = Some(software.overlap.dp);
        self.overlap.tp = Some(software.overlap.tp);
        self.overlap.cp = Some(software.overlap.cp);
        self.overlap.ep = Some(software.overlap.ep);
        self.moe_dispatch = Some(software.moe_dispatch);
        self.fp8_dispatch = Some(software.fp8_dispatch);
        self.loader_ns = Some(software.loader_ns);
        self.stack.parts = StackParts {
            attention: Some(software.attention),
            compile: Some(software.compile),
            moe_fused: Some(software.moe_fused),
            tp_overlap: Some(software.tp_overlap),
            grad_reduce_bytes: software.grad_reduce_bytes,
            // 500, not 499.99999999999994.
            host_us_per_layer: Some((software.host.0 * 1e12).round() / 1e6),
        };
    }
}
