//! The recipes by which Transformer Engine computes the linears of the layers in low precision.
//!
//! All three products of a linear run in it; embedding, head, router, norms, convolutions and the attention core stay
//! in bf16. A linear's input and the gradient of its output are quantised when they arrive, weights once a step.

use crate::cluster::Gpu;

#[allow(clippy::struct_excessive_bools)] // they are what tells recipes apart
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrecisionRecipe {
    /// Bytes of an element in one copy, with its part of the scales.
    pub element: f64,
    /// Bytes of an element of a weight in one copy.
    pub weight: f64,
    /// Bytes an element that quantisation reads: once, and once more where the largest value is looked for first.
    pub read: f64,
    /// True if the scales belong to whole tensors: from Blackwell on products read such a copy by row and by column.
    pub per_tensor: bool,
    /// True if the scales belong to 16 or 32 elements, which Blackwell's tensor cores read.
    pub microscaled: bool,
    /// Rows that the tokens of an expert are padded to.
    pub rows: f64,
    /// True if the output projection keeps its input beside what attention keeps.
    pub keeps_context: bool,
    /// True if attention may run in fp8 too.
    pub attention: bool,
    /// Bytes of an element that context-parallel ranks then send, on average: queries, keys, values and the output's
    /// gradient in fp8 where the scale is one a tensor, the output and the other gradients where it is known before.
    /// Source: Transformer Engine `attention/dot_product_attention/context_parallel.py`, `AttnFuncWithCPAndQKVOA2A`.
    pub attended: f64,
}

/// fp8 with one scale a tensor, from the largest values of past steps: e4m3, gradients e5m2.
pub(crate) static DELAYED: PrecisionRecipe = PrecisionRecipe {
    element: 1.0,
    weight: 1.0,
    read: 2.0,
    per_tensor: true,
    microscaled: false,
    rows: 16.0,
    keeps_context: true,
    attention: true,
    attended: 1.0,
};

/// fp8 with scales from the present largest value: one more pass.
pub(crate) static CURRENT: PrecisionRecipe =
    PrecisionRecipe { read: 4.0, keeps_context: false, attended: 1.5, ..DELAYED };

/// DeepSeek's: activations in 1 x 128, weights in 128 x 128, fp32 scales.
pub(crate) static BLOCKWISE: PrecisionRecipe = PrecisionRecipe {
    element: 1.0 + 4.0 / 128.0,
    weight: 1.0 + 4.0 / (128.0 * 128.0),
    read: 2.0,
    per_tensor: false,
    keeps_context: false,
    attention: false,
    attended: 2.0,
    ..DELAYED
};

/// e4m3 with a scale for every row of an operand (torchao's `rowwise`): the largest values of the rows of an operand
/// and of its transpose are looked for first, and neither pass is part of another kernel.
pub(crate) static ROWWISE: PrecisionRecipe = PrecisionRecipe { element: 1.0, weight: 1.0, read: 8.0, ..BLOCKWISE };

/// e4m3 in blocks of 32, a scale of one byte each.
pub static MXFP8: PrecisionRecipe = PrecisionRecipe {
    element: 1.0 + 1.0 / 32.0,
    weight: 1.0 + 1.0 / 32.0,
    microscaled: true,
    rows: 32.0,
    attention: true,
    ..BLOCKWISE
};

/// e2m1 in blocks of 16, a scale of one byte each; the largest value of the tensor is looked for first. Attention may
/// run in fp8 with one scale a tensor (Transformer Engine 2.8, `NVTE_DPA_FP8_RECIPE`).
pub static NVFP4: PrecisionRecipe = PrecisionRecipe {
    element: 0.5 + 1.0 / 16.0,
    weight: 0.5 + 1.0 / 16.0,
    read: 4.0,
    rows: 128.0,
    attended: DELAYED.attended,
    ..MXFP8
};

impl PrecisionRecipe {
    /// Copies of a tensor that products need on `gpu`: by row and by column, or one that they read both ways.
    pub fn copies(&self, gpu: &Gpu) -> f64 {
        if self.per_tensor && gpu.computes_in_fp4() { 1.0 } else { 2.0 }
    }

    /// Bytes of the copies of a weight on `gpu`.
    pub fn weights(&self, gpu: &Gpu) -> f64 {
        self.weight * self.copies(gpu)
    }

    /// Bytes an element that quantisation writes.
    pub fn written(&self, gpu: &Gpu) -> f64 {
        self.element * self.copies(gpu)
    }

    /// Bytes an element that quantisation reads and writes.
    pub fn moved(&self, gpu: &Gpu) -> f64 {
        self.read + self.written(gpu)
    }
}

#[cfg(test)]
mod tests {
    use crate::run::precision::POLICIES;
    use crate::run::presets;

    /// Transformer Engine, `docs/features/low_precision_training`: bytes a parameter of a quantised linear with its
    /// bf16 weight, and with parameters gathered in low precision, on Hopper and on Blackwell.
    #[test]
    fn weights_and_copies_take_what_transformer_engine_says() {
        let gpu = |id| presets::gpu(id).unwrap().gpu;
        let (hopper, blackwell) = (gpu("h100-sxm-80gb"), gpu("b200-sxm"));
        for (id, gpu, beside, alone) in [
            ("fp8-delayed", hopper, 4.0, 2.0),
            ("fp8-current", hopper, 4.0, 2.0),
            ("fp8-current", blackwell, 3.0, 1.0),
            ("fp8-blockwise", hopper, 4.0, 2.0),
            ("mxfp8", blackwell, 4.0625, 2.0625),
            ("nvfp4", blackwell, 3.125, 1.125),
        ] {
            let policy = POLICIES.iter().find(|policy| policy.choice.id == id);
            let mut bytes = policy.unwrap().bytes;
            assert!((bytes.weight_bytes(1.0, 1.0, &gpu) - beside).abs() < 1e-3, "{id}");
            bytes.param_gather = true;
            assert!((bytes.weight_bytes(1.0, 1.0, &gpu) - alone).abs() < 1e-3, "{id}");
            // Products outside a layer's linears stay in bf16.
            assert!((bytes.weight_bytes(1.0, 0.0, &gpu) - 2.0).abs() < 1e-12, "{id}");
        }
    }
}
