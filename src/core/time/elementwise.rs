//! Kernels that are bound by memory: norms, residuals, activations, the loss, the embedding, the optimizer.
//!
//! Bytes of tensors read and written by each kernel, e an element, counted as Megatron fuses them (bias, dropout and
//! add in one; SwiGLU or GELU in one; norms in one), over the bandwidth that such kernels reach.
//! Source: counted from the kernels: norms and residuals move 40 to 60 h bytes a token and layer.

use super::rates::Rates;
use crate::explain::Quantity;
use crate::explain::symbols::{GRADIENT, MEMORY_RATE, STATES_MOVED, WEIGHT};
use crate::model::{Architecture, Norm, QkNorm};
use crate::run::{CrossEntropy, Optimizer, Precision, Software};

/// Bytes an element that `RMSNorm` moves as operators in fp32 beyond one kernel, forward and backward: cast 6, square
/// 8, mean 4, scale 8, cast 6, weight 4; backward weight 8, cast 6, scale 20, square 12, sum 12, cast 6.
const EAGER_NORM: (f64, f64) = (32.0, 58.0);
/// Elements that rotary embedding reads and writes as operators: two products, a rotation by halves and its copy, a
/// sum.
const EAGER_ROTARY: f64 = 11.0;

/// Bytes a token that one layer's elementwise kernels move on a rank, forward and backward.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LayerBytes {
    /// Two norms and two residual additions: read 2 h, write h, twice over; the backward pass once more.
    pub norms: (f64, f64),
    /// The activation function between the FFN's matrices.
    pub activation: (f64, f64),
    /// Rotary embedding of queries and keys.
    pub rotary: (f64, f64),
    /// Norm of queries and keys.
    pub qk_norm: (f64, f64),
}

impl LayerBytes {
    /// Kernels over width `h / cut` (cut: the tensor-parallel size with sequence parallelism), activations over `ffn`
    /// and rotary over `rotary` elements a token on the rank, `e` bytes an activation; `fused` or operator by operator.
    pub fn of(model: &Architecture, cut: f64, ffn: f64, rotary: f64, e: f64, fused: bool) -> Self {
        let h = model.hidden as f64 / cut;
        let mask = if model.dropout { (2.0 * e + 1.0) * h } else { 0.0 };
        // A norm reads and writes; its backward pass reads its input and a gradient, and writes one.
        let post = if model.post_norms { (4.0, 6.0) } else { (0.0, 0.0) };
        let norms = if model.post_norms { 4.0 } else { 2.0 };
        let apart = !fused && model.norm == Norm::Rms;
        let eager = if apart { EAGER_NORM } else { (0.0, 0.0) };
        let turn = if fused { 2.0 } else { EAGER_ROTARY };
        let normed = model.qk_norm != QkNorm::None && model.mla.is_none();
        Self {
            norms: (
                ((10.0 + post.0) * e + norms * eager.0) * h + mask,
                ((12.0 + post.1) * e + norms * eager.1) * h + mask,
            ),
            activation: activation(model.gated_ffn, ffn, e, fused),
            rotary: if model.learned_positions == 0 && model.gated_ffn {
                (turn * e * rotary, turn * e * rotary)
            } else {
                (0.0, 0.0)
            },
            qk_norm: if normed { (2.0 * e * rotary, 3.0 * e * rotary) } else { (0.0, 0.0) },
        }
    }
    /// Forward and backward bytes.
    pub fn total(self) -> (f64, f64) {
        let parts = [self.norms, self.activation, self.rotary, self.qk_norm];
        parts.into_iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
    }
}

/// Forward and backward bytes of the activation function over `ffn` channels: `SwiGLU` reads 2 f and writes f, its
/// backward pass reads 3 f and writes 2 f (two operators: reads 3 f and writes 2 f, then reads 6 f and writes 3 f);
/// GELU reads f and writes f, then reads 2 f and writes f.
pub fn activation(gated: bool, ffn: f64, e: f64, fused: bool) -> (f64, f64) {
    match (gated, fused) {
        (true, true) => (3.0 * e * ffn, 5.0 * e * ffn),
        (true, false) => (5.0 * e * ffn, 9.0 * e * ffn),
        (false, _) => (2.0 * e * ffn, 3.0 * e * ffn),
    }
}

/// Bytes a logit that the loss moves, forward and backward together: fp32 passes for the maximum, the exponential, the
/// sum and the gradient where each is a kernel; fused kernels keep to one or two passes. A metric reads 2, writes 4,
/// reads 4 and writes the log-softmax of 4 (Composer, `trainer.py`, `_eval_train_metrics`).
pub(crate) fn loss_bytes(software: &Software) -> f64 {
    let kernel = match software.cross_entropy {
        CrossEntropy::Megatron => 30.0,
        CrossEntropy::MegatronFused | CrossEntropy::Chunked | CrossEntropy::Selective => 16.0,
        CrossEntropy::TeFused | CrossEntropy::Compiled | CrossEntropy::FusedLinear => 8.0,
    };
    kernel + 14.0 * software.metrics
}

/// Seconds of kernels that are bound by the `bytes` that they read and write, at `rate` bytes a second.
pub(crate) fn through_memory<Q: Quantity>(bytes: Q, rate: Q) -> Q {
    bytes / rate
}

/// Forward and backward seconds of the embedding of `tokens` rows of width `h`: a gather, and a scattered addition.
pub fn embedding(rates: &Rates, tokens: f64, h: f64) -> (f64, f64) {
    let row = tokens * h / rates.elementwise.0;
    (2.0 * rates.element * row, (2.0 * rates.element + 8.0) * row)
}

/// Seconds of the optimizer on one rank: states read and written, gradient read, weight written for the `sharded`
/// elements that it updates; gradients of all `held` elements read for the norm and cleared.
pub fn optimizer<Q: Quantity>(rates: &Rates, precision: Precision, kind: Optimizer, sharded: Q, held: Q) -> Q {
    let (states, g) = (STATES_MOVED.of::<Q>(precision.optimizer(kind)), GRADIENT.of::<Q>(precision.gradients()));
    let update = states * 2.0 + g + WEIGHT.of::<Q>(precision.gathered_weight());
    through_memory(update * sharded + g * held * 1.5, MEMORY_RATE.of::<Q>(rates.elementwise.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Run, Scenario};

    /// Counted from the kernels: norms and residuals 40 to 60 h bytes a token and layer, `SwiGLU` 16 f.
    #[test]
    fn a_llama_layer_moves_what_its_kernels_read_and_write() {
        let model = Architecture::llama(32, 4096, 14336, 32, 8, 128_256);
        let bytes = LayerBytes::of(&model, 1.0, 14336.0, 5120.0, 2.0, true);
        let norms = (bytes.norms.0 + bytes.norms.1) / 4096.0;
        assert!((40.0..=60.0).contains(&norms), "{norms}");
        assert_eq!(bytes.activation.0 + bytes.activation.1, 16.0 * 14336.0);
    }

    /// Adam in mixed precision: 30 bytes a parameter (gradient 4, three states 24, weight 2).
    #[test]
    fn adam_moves_thirty_bytes_a_parameter() {
        let scenario = Scenario::new(&Run::default()).unwrap();
        let rates = Rates::of(&scenario);
        let time = optimizer(&rates, scenario.precision, Optimizer::Adam, 1e9, 0.0);
        assert!((time * rates.elementwise.0 - 30e9).abs() < 1.0);
    }
}
