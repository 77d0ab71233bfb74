//! A tensor that a layer keeps for its backward pass: what it is, how it is cut, and its bytes by precision.

use super::architecture::Architecture;
use crate::explain::Quantity;

/// A layer as one rank sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut<Q = f64> {
    /// Tokens of a micro-batch on one context-parallel rank, T = s b / c.
    pub tokens: Q,
    /// Keys that a query meets, s; counts only where scores are stored.
    pub keys: Q,
    pub tp: Q,
    /// Ranks over which norms and residuals are cut: t with sequence parallelism, else 1.
    pub residual: Q,
    /// Ranks over which the kept inputs of column-parallel linears are cut: as `residual`, or 1 where the gathered
    /// input is kept.
    pub linear_input: Q,
    /// Tensor-parallel ranks inside an expert.
    pub etp: Q,
    /// Rows that the busiest expert rank computes over the average, or the padded capacity.
    pub routed: Q,
    /// Copies of the attention output that are kept: 2 with Ulysses.
    pub outputs: Q,
    /// Attention without stored scores.
    pub flash: bool,
    /// The SwiGLU's tensors that wait.
    pub swiglu: Swiglu,
    /// Inputs of linears and of the experts' SwiGLU wait in fp8, as DeepSeek-V3 trains.
    pub fp8: bool,
    /// Inputs of the layers' linears wait in a quantised copy.
    pub quantised: Option<Quantised>,
    /// Bytes of an activation: 2, in fp32 4.
    pub element: f64,
}

/// Tensors that a SwiGLU keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swiglu {
    /// Its input and the parts that several kernels hand on.
    Parts,
    /// Its input, of one kernel.
    Input,
    /// Its input in fp8, of one kernel.
    Fp8Input,
}

/// The copy of a linear's input that the gradient of its weight reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantised {
    /// Bytes of an element with its part of the scales.
    pub element: f64,
    /// The output projection keeps one beside what attention keeps.
    pub context: bool,
}

/// The place of a kept tensor in a layer, which decides whether recomputation drops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Input of the layer, where full recomputation starts.
    LayerInput,
    /// Output of the attention norm.
    AttentionNorm,
    Query,
    KeyValue,
    Latent,
    /// Outputs of MLA's up-projections.
    LatentUp,
    /// Softmax statistics, or stored scores.
    Core,
    /// Output of the attention core, input of the output projection.
    Context,
    /// Residual stream between attention and FFN.
    Residual,
    /// Output of the FFN's norm.
    FfnNorm,
    /// Output of the up (and gate) projection of a dense FFN.
    DenseUp,
    /// Input of the down projection of a dense FFN.
    DenseDown,
    /// Output of the up (and gate) projection of the shared experts, and input of their down projection.
    Shared,
    /// Router logits and probabilities.
    Router,
    /// Tokens sorted by expert.
    Routed,
    /// Their up projection.
    RoutedUp,
    /// Input of the experts' down projection.
    RoutedDown,
    /// Tensors of a state-space model or a linear attention between its projections.
    State,
    /// Inputs of the norms of queries and keys, and of the norms after attention and FFN.
    NormInput,
    /// Dropout masks.
    Mask,
}

/// A tensor that lives from a layer's forward to its backward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeptTensor<Q = f64> {
    pub name: &'static str,
    /// Its place in the layer.
    pub role: Role,
    /// Bytes on one rank.
    pub bytes: Q,
}

impl<Q> KeptTensor<Q> {
    pub(super) const fn new(name: &'static str, role: Role, bytes: Q) -> Self {
        Self { name, role, bytes }
    }
}

/// Bytes of an fp8 element with its scale, four bytes for 128 elements.
const FP8: f64 = 1.0 + 4.0 / 128.0;

/// Bytes of an element of `DeepSeek`'s E5M6, twelve bits, with its scale.
const E5M6: f64 = 1.5 + 4.0 / 128.0;

/// Bytes of a bf16 number: the inventory counts in bf16.
const BF16: f64 = 2.0;

impl Role {
    /// Bytes of a tensor over those in bf16, which the inventory counts in.
    ///
    /// Megatron-LM `fusions/fused_bias_swiglu.py`, `fp8_input_store`: gate and up wait as e4m3, without scales.
    pub(super) fn scale<Q: Quantity>(self, routed: bool, gated: bool, cut: &Cut<Q>) -> f64 {
        let scale = self.low_or_plain(routed, gated, cut);
        match self {
            Self::DenseUp | Self::RoutedUp if cut.swiglu == Swiglu::Fp8Input => 1.0 / BF16,
            // Two of three parts are gate and up.
            Self::Shared if cut.swiglu == Swiglu::Fp8Input && !cut.fp8 => {
                scale - (cut.element - 1.0) / BF16 * 2.0 / 3.0
            }
            _ => scale,
        }
    }

    fn low_or_plain<Q: Quantity>(self, routed: bool, gated: bool, cut: &Cut<Q>) -> f64 {
        match self {
            // Masks, statistics, scores and router logits are counted in their own bytes.
            Self::Mask | Self::Core | Self::Router => 1.0,
            _ if cut.fp8 => self.low_precision(routed).unwrap_or(cut.element / BF16),
            _ => match cut.quantised {
                Some(copy) => self.quantised(routed, copy, gated, cut.swiglu == Swiglu::Parts),
                None => cut.element / BF16,
            },
        }
    }

    /// Bytes of a tensor over those in bf16 where a recipe quantises the inputs of linears and keeps the copy that the
    /// gradient of the weight reads.
    ///
    /// The attention output is kept in bf16 for attention and the output projection both (Megatron-LM `attention.py`,
    /// `save_original_input`), with delayed scaling once more in fp8; gate and up stay in bf16, as does the router's
    /// input, which the shared experts read too (`moe/shared_experts.py`).
    fn quantised(self, routed: bool, copy: Quantised, gated: bool, unfused: bool) -> f64 {
        let low = copy.element / BF16;
        match self {
            // An unfused SwiGLU keeps as much again in bf16.
            Self::DenseDown | Self::RoutedDown if gated && unfused => f64::midpoint(1.0, low),
            Self::FfnNorm if routed => 1.0,
            Self::AttentionNorm | Self::FfnNorm | Self::DenseDown | Self::Routed | Self::RoutedDown => low,
            Self::Shared => match (gated, unfused) {
                (true, false) => (2.0 + low) / 3.0,
                (true, true) => (3.0 + low) / 4.0,
                (false, _) => f64::midpoint(1.0, low),
            },
            // Half of them enter norms, half the up-projections.
            Self::Latent => f64::midpoint(1.0, low),
            Self::Context if copy.context => 1.0 + low,
            _ => 1.0,
        }
    }

    /// Bytes of a tensor kept in low precision over those in bf16; none where it stays.
    ///
    /// `DeepSeek-V3`, section 3.3.3: activations are cached in fp8 for the backward pass of the linears; the input of
    /// the linear after attention in E5M6, because the backward pass of attention reads it too; the input of the
    /// experts' SwiGLU in fp8. Section 3.3.1: norms, attention and the router stay in bf16, so do what they read.
    fn low_precision(self, routed: bool) -> Option<f64> {
        Some(match self {
            Self::AttentionNorm | Self::DenseDown | Self::Routed | Self::RoutedUp | Self::RoutedDown | Self::Shared => {
                FP8 / BF16
            }
            Self::FfnNorm if !routed => FP8 / BF16,
            // Half of them enter norms, half the up-projections.
            Self::Latent => f64::midpoint(1.0, FP8 / BF16),
            Self::Context => E5M6 / BF16,
            _ => return None,
        })
    }
}

/// Bytes a token and FFN channel out of the up projection: gate and up, or up alone.
pub(super) fn up_bytes(model: &Architecture) -> f64 {
    if model.gated_ffn { 4.0 } else { 2.0 }
}

/// Bytes a token and FFN channel into the down projection, with what an unfused SwiGLU keeps beside it.
pub(super) fn down_bytes<Q>(model: &Architecture, cut: &Cut<Q>) -> f64 {
    if model.gated_ffn && cut.swiglu == Swiglu::Parts { 4.0 } else { 2.0 }
}

#[cfg(test)]
impl Cut {
    /// For tests: `tokens` that see `keys`, over `tp` ranks, with `residual` of the residual stream and of the linears'
    /// inputs on each; bf16, FlashAttention where `flash`.
    pub(crate) fn sample(tokens: f64, keys: f64, tp: f64, residual: f64, flash: bool) -> Self {
        Self {
            tokens,
            keys,
            tp,
            residual,
            linear_input: residual,
            etp: 1.0,
            routed: 1.0,
            outputs: 1.0,
            flash,
            swiglu: Swiglu::Input,
            fp8: false,
            quantised: None,
            element: 2.0,
        }
    }
}
