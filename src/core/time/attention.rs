//! How long the attention core takes: a fused kernel, or scores written out.
//!
//! Causal attention computes half of the square. A fused kernel reaches `R / (1 + 400 / s)` where s is the length it
//! sees at once (with zig-zag context parallelism a chunk of `s / (2 c)`), and its backward pass computes 2.5 times the
//! forward FLOPs (scores are recomputed). Source: kernel tables of FlashAttention-2 and 3.

use super::rates::{ATTENTION_HALF, Rates};

/// Backward over forward FLOPs of a fused kernel: five matrix products instead of two.
const BACKWARD: f64 = 2.5;
/// Head width from which kernels run at full rate; narrower heads at the square root of the ratio.
const FULL_HEAD: f64 = 128.0;
/// Times a score passes through memory without a fused kernel: product written, softmax read and written, read for the
/// values; dropout reads and writes it once more and writes a mask of a byte. Backward likewise with two products.
const SCORE_PASSES: (f64, f64) = (4.0, 8.0);
/// Kernels of the unfused form, forward and backward.
const KERNELS: (f64, f64) = (4.0, 6.0);

/// The attention of one micro-batch on one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Core {
    /// Query heads on the rank.
    pub heads: f64,
    /// Mean width of a query-key and a value head.
    pub head_width: f64,
    /// Query tokens on the rank.
    pub tokens: f64,
    /// Keys that each of them meets in the whole sequence, before masking.
    pub keys: f64,
    /// Context-parallel ranks that share the sequence.
    pub context: f64,
    /// Whether later keys are masked.
    pub causal: bool,
    /// A fused kernel, or scores in memory.
    pub fused: bool,
    /// Dropout on the scores.
    pub dropout: bool,
}

/// Forward and backward seconds.
#[must_use]
pub fn core(rates: &Rates, core: Core) -> (f64, f64) {
    let square = 4.0 * core.heads * core.head_width * core.tokens * core.keys;
    if core.fused {
        let flops = square * if core.causal { 0.5 } else { 1.0 };
        let seen = if core.context > 1.0 {
            core.keys / (2.0 * core.context)
        } else {
            core.keys
        };
        let reach =
            (core.head_width / FULL_HEAD).min(1.0).sqrt() / (1.0 + ATTENTION_HALF.value / seen);
        return (
            flops / (rates.attention_forward.0 * reach),
            BACKWARD * flops / (rates.attention_backward.0 * reach),
        );
    }
    let scores = core.heads * core.tokens * core.keys;
    let e = rates.element;
    let dropout = if core.dropout { 2.0 * e + 1.0 } else { 0.0 };
    let (forward, backward) = (SCORE_PASSES.0 * e, SCORE_PASSES.1 * e);
    let pass = |flops: f64, bytes: f64, kernels: f64| {
        flops / rates.gemm_plain.0
            + scores * (bytes + dropout) / rates.elementwise.0
            + kernels * rates.launch.0
    };
    (
        pass(square, forward, KERNELS.0),
        pass(2.0 * square, backward, KERNELS.1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Run, Scenario};

    fn rates() -> Rates {
        Rates::of(&Scenario::new(&Run::default()).unwrap())
    }

    const CORE: Core = Core {
        heads: 16.0,
        head_width: 128.0,
        tokens: 16384.0,
        keys: 16384.0,
        context: 1.0,
        causal: true,
        fused: true,
        dropout: false,
    };

    /// FlashAttention-3, figure of the forward pass on H100, d 128, causal: FlashAttention-2 runs at
    /// 191/260/298/319/333/335 TFLOP/s for s 512 to 16k (16k tokens in all).
    #[test]
    fn the_forward_rates_of_flash_attention_2_on_h100_are_met_to_6_percent() {
        let rates = rates();
        for (s, measured) in [
            (512.0, 191.0),
            (1024.0, 260.0),
            (2048.0, 298.0),
            (4096.0, 319.0),
            (8192.0, 333.0),
            (16384.0, 335.0),
        ] {
            let (forward, _) = core(&rates, Core { keys: s, ..CORE });
            let tflops = 4.0 * 16.0 * 128.0 * 16384.0 * s / 2.0 / forward / 1e12;
            assert!((tflops / measured - 1.0).abs() < 0.06, "{s}: {tflops}");
        }
    }

    #[test]
    fn scores_in_memory_cost_more_and_context_ranks_share_the_work() {
        let rates = rates();
        let fused = core(&rates, CORE);
        let stored = core(
            &rates,
            Core {
                fused: false,
                ..CORE
            },
        );
        assert!(stored.0 > 2.0 * fused.0 && stored.1 > fused.1);
        let shared = core(
            &rates,
            Core {
                tokens: 4096.0,
                context: 4.0,
                ..CORE
            },
        );
        assert!(shared.0 > fused.0 / 4.0 && shared.0 < fused.0 / 3.0);
    }
}
