//! Time of state-space models and linear attentions between their projections: kernels in chunks of the sequence, far
//! below the peak of matrix products.

use crate::maths::pow;
use crate::model::{Architecture, Mixer};

/// Forward rates in FLOP/s as executed, on H800. Gated delta net and Kimi delta attention: fla's Triton kernels, 8192
/// tokens, 96 heads of 128 (PaddlePaddle/flash-attention, pull request 133). Mamba-2: its scan of chunks, 80 heads of
/// 64, state 128 (`TileLang`, `benchmark/mamba2`), is the fastest of five kernels: all of them take three times as
/// long.
const DELTA_NET: f64 = 70.8e12;
const KDA: f64 = 44e12;
/// Mamba-2's kernels together, forward, on H800, in FLOP/s as executed: a third of the rate of its scan.
const MAMBA: f64 = 131e12 / 3.0;
/// Peak of the H800, dense bf16.
const HOPPER: f64 = 989e12;
/// Power of the peak that the rate grows with: B200 runs the same delta net at 96 TFLOP/s (flashinfer, pull request
/// 2742).
const GROWTH: f64 = 0.37;
/// Backward over forward: states and scores are computed again. Inferred from fla and mamba; no rate is published.
const BACKWARD: f64 = 3.0;
/// Tokens of a chunk of linear attention (fla).
const CHUNK: f64 = 64.0;
/// Tokens of a chunk of Mamba-2 (Megatron-LM).
const MAMBA_CHUNK: f64 = 128.0;

/// Executed FLOPs of the recurrence of `mixer`, forward, for one token; and their rate on a Hopper GPU.
fn executed(model: &Architecture, mixer: Mixer) -> (f64, f64) {
    // Scores, triangular solve, two products, state and output: n (6 d d + 10 C d + 2/3 C C).
    let delta = |heads: u64, width: u64| {
        let d = width as f64;
        heads as f64 * (6.0 * d * d + 10.0 * CHUNK * d + CHUNK * CHUNK * 2.0 / 3.0)
    };
    match (mixer, model.mamba, model.delta_net, model.kda) {
        // Scores of a group, masked scores and states of a head: g 2 Q N + n (2 Q p + 4 N p).
        (Mixer::Mamba, Some(sizes), ..) => {
            let (n, p) = (sizes.heads as f64, sizes.head_dim as f64);
            let (g, state) = (sizes.groups as f64, sizes.state as f64);
            let scores = g * 2.0 * MAMBA_CHUNK * state;
            (scores + n * (2.0 * MAMBA_CHUNK * p + 4.0 * state * p), MAMBA)
        }
        (Mixer::DeltaNet, _, Some(sizes), _) => (delta(sizes.value_heads, sizes.head_dim), DELTA_NET),
        (Mixer::Kda, _, _, Some(sizes)) => (delta(sizes.heads, sizes.head_dim), KDA),
        _ => (0.0, 1.0),
    }
}

/// Forward and backward seconds for `tokens`, all heads, on a GPU of this bf16 peak.
pub(crate) fn recurrence(peak: f64, model: &Architecture, mixer: Mixer, tokens: f64) -> (f64, f64) {
    let (flops, rate) = executed(model, mixer);
    let forward = tokens * flops / (rate * pow(peak / HOPPER, GROWTH));
    (forward, BACKWARD * forward)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeltaNet, Mamba};

    /// Counted by hand over the products of a chunk: 182 955 FLOPs a token and value head of a delta net; 3.41 MF of
    /// Nemotron 3 Nano's Mamba-2.
    #[test]
    fn executed_flops_are_those_of_the_chunked_kernels() {
        let model = Architecture {
            delta_net: Some(DeltaNet { key_heads: 1, value_heads: 1, head_dim: 128 }),
            mamba: Some(Mamba { heads: 64, head_dim: 64, state: 128, groups: 8 }),
            ..Architecture::llama(1, 2048, 512, 16, 2, 1000)
        };
        assert_eq!(executed(&model, Mixer::DeltaNet).0.round(), 182_955.0);
        let mamba = executed(&model, Mixer::Mamba).0 / 1e6;
        assert!((mamba - 3.41).abs() < 0.01, "{mamba}");
    }
}
