//! Time of the attention core: a fused kernel, or scores written out.
//!
//! Causal attention computes half of the square. A fused kernel reaches `R / ((1 + 400/s) (1 + x S/n))` (`kernels.rs`)
//! where s is the length it sees at once (in a zig-zag ring of r ranks a chunk of `s / (2 r)`), n the tiles of all
//! heads and S the multiprocessors; its backward pass computes 2.5 times the forward FLOPs (scores are recomputed).

use super::kernels::LAST_WAVE;
use super::rates::{ATTENTION_HALF, Rates};
use crate::explain::Quantity;
use crate::explain::symbols::{
    BACKWARD_RATE, CORE_BACKWARD, CORE_FLOPS, CORE_FORWARD, CORE_WIDTH, ELEMENT, FORWARD_RATE, HALF_RATE, KEYS,
    LAUNCH_GAP, MEMORY_RATE, MULTIPROCESSORS, NARROW_HEADS, PLAIN_RATE, RANK_HEADS, REACH, SCORE_BYTES, SEEN_KEYS,
    TILE_ROWS, TILES, TOKENS,
};
use crate::run::{CpComm, Scenario};
use crate::source::MEGATRON;

/// Backward over forward FLOPs of a fused kernel: five matrix products instead of two.
const BACKWARD: f64 = 2.5;
/// Head width from which kernels run at full rate; narrower heads at the square root of the ratio.
const FULL_HEAD: f64 = 128.0;
/// Times a score passes through memory without a fused kernel. Forward: product written, softmax read and written, read
/// for the values. Backward: weights read for the gradient of the values, their own gradient written, softmax two read
/// and one written, read for the gradients of queries and of keys. Dropout reads and writes it once more each way and
/// writes or reads a mask of a byte. Source: PyTorch `derivatives.yaml` (`bmm`, `baddbmm`, `_softmax`), and the kernels
/// of [`MEGATRON`]'s fused softmax, which read the gradient and the weights and write one tensor.
const SCORE_PASSES: (f64, f64) = (4.0, 7.0);
/// Place in [`MEGATRON`] of the kernels whose passes and launches are counted.
const UNFUSED: &str = "core/transformer/dot_product_attention.py: product, softmax, dropout, product";
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
    /// Ranks of a ring, each of which meets the keys block by block; 1 where it has all at once.
    pub ring: f64,
    /// True if later keys are masked.
    pub causal: bool,
    /// A fused kernel, or scores in memory.
    pub fused: bool,
    /// Dropout on the scores.
    pub dropout: bool,
}

/// Ranks among which blocks of keys and values go round: groups of a hierarchy, one where heads are exchanged or keys
/// are gathered before attention.
pub(crate) fn ring_ranks(scenario: &Scenario) -> f64 {
    match scenario.run.cp_comm {
        CpComm::Ring => scenario.layout.cp as f64,
        CpComm::Hierarchical => (scenario.layout.cp / scenario.exchange_ranks()) as f64,
        CpComm::AllGather | CpComm::Ulysses => 1.0,
    }
}

/// Forward and backward seconds.
pub(crate) fn core<Q: Quantity>(rates: &Rates, core: Core) -> (Q, Q) {
    let (forward, backward) = if core.fused { fused::<Q>(rates, core) } else { unfused::<Q>(rates, core) };
    (forward.called(CORE_FORWARD), backward.called(CORE_BACKWARD))
}

/// FLOPs of the forward pass: two products of queries with `share` of the keys.
fn flops<Q: Quantity>(core: Core, share: f64) -> Q {
    let heads = RANK_HEADS.of::<Q>(core.heads);
    let flops = heads
        * (4.0 * share)
        * CORE_WIDTH.of::<Q>(core.head_width)
        * TOKENS.of::<Q>(core.tokens)
        * KEYS.of::<Q>(core.keys);
    flops.called(CORE_FLOPS)
}

/// Forward and backward seconds of a fused kernel, which skips what a causal mask hides.
fn fused<Q: Quantity>(rates: &Rates, core: Core) -> (Q, Q) {
    let one = Q::number(1.0);
    let flops = flops::<Q>(core, if core.causal { 0.5 } else { 1.0 });
    let seen = if core.ring > 1.0 { core.keys / (2.0 * core.ring) } else { core.keys };
    let wide = if rates.any_head { 1.0 } else { (core.head_width / FULL_HEAD).min(1.0).sqrt() };
    let reach =
        NARROW_HEADS.factor::<Q>(wide) / (one + HALF_RATE.of::<Q>(ATTENTION_HALF.value) / SEEN_KEYS.of::<Q>(seen));
    let reach = reach.cited(ATTENTION_HALF.source, ATTENTION_HALF.place).called(REACH);
    let tiles = RANK_HEADS.of::<Q>(core.heads) * TOKENS.of::<Q>(core.tokens) / TILE_ROWS.of::<Q>(rates.attention_tile);
    let tiles = tiles.called(TILES);
    let wave = |longest: f64| one + MULTIPROCESSORS.of::<Q>(rates.multiprocessors) * longest / tiles;
    let (forward, backward) = LAST_WAVE.value;
    let forward = flops / (FORWARD_RATE.of::<Q>(rates.attention_forward.0) * reach) * wave(forward);
    let backward = flops * BACKWARD / (BACKWARD_RATE.of::<Q>(rates.attention_backward.0) * reach) * wave(backward);
    (forward.cited(LAST_WAVE.source, LAST_WAVE.place), backward.cited(LAST_WAVE.source, LAST_WAVE.place))
}

/// Forward and backward seconds of kernels that write the scores out, masked ones too.
fn unfused<Q: Quantity>(rates: &Rates, core: Core) -> (Q, Q) {
    let pass = |products: f64, passes: f64, kernels: f64| {
        let element = ELEMENT.of::<Q>(rates.element);
        let moved = element * passes;
        let moved = if core.dropout { moved + (element * 2.0 + Q::number(1.0)) } else { moved };
        let scores = RANK_HEADS.of::<Q>(core.heads) * TOKENS.of::<Q>(core.tokens) * KEYS.of::<Q>(core.keys);
        let moved = (scores * moved).called(SCORE_BYTES);
        let seconds = flops::<Q>(core, 1.0) * products / PLAIN_RATE.of::<Q>(rates.gemm_plain.0)
            + moved / MEMORY_RATE.of::<Q>(rates.elementwise.0)
            + LAUNCH_GAP.of::<Q>(rates.launch.0) * kernels;
        seconds.cited(&MEGATRON, UNFUSED)
    };
    (pass(1.0, SCORE_PASSES.0, KERNELS.0), pass(2.0, SCORE_PASSES.1, KERNELS.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::AttentionKernel::{self, Cudnn, Flash3};
    use crate::run::{Based, Run};

    fn rates() -> Rates {
        Rates::of(&Scenario::new(&Run::default()).unwrap())
    }

    const CORE: Core = Core {
        heads: 16.0,
        head_width: 128.0,
        tokens: 16384.0,
        keys: 16384.0,
        ring: 1.0,
        causal: true,
        fused: true,
        dropout: false,
    };

    /// FlashAttention-3, figure of the forward pass on H100, d 128, causal: FlashAttention-2 runs at
    /// 191/260/298/319/333/335 TFLOP/s for s 512 to 16k (16k tokens in all).
    #[test]
    fn the_forward_rates_of_flash_attention_2_on_h100_are_met_to_6_percent() {
        let rates = rates();
        for (s, measured) in
            [(512.0, 191.0), (1024.0, 260.0), (2048.0, 298.0), (4096.0, 319.0), (8192.0, 333.0), (16384.0, 335.0)]
        {
            let (forward, _) = core::<f64>(&rates, Core { keys: s, ..CORE });
            let tflops = 4.0 * 16.0 * 128.0 * 16384.0 * s / 2.0 / forward / 1e12;
            assert!((tflops / measured - 1.0).abs() < 0.06, "{s}: {tflops}");
        }
    }

    #[test]
    fn scores_in_memory_cost_more_and_context_ranks_share_the_work() {
        let rates = rates();
        let fused = core::<f64>(&rates, CORE);
        let stored = core::<f64>(&rates, Core { fused: false, ..CORE });
        assert!(stored.0 > 2.0 * fused.0 && stored.1 > fused.1);
        let shared = core::<f64>(&rates, Core { tokens: 4096.0, ring: 4.0, ..CORE });
        assert!(shared.0 > fused.0 / 4.0 && shared.0 < fused.0 / 2.5);
    }

    // GPU, kernel, heads, sequences (none: 16k tokens), error allowed forward and backward, rows.
    type Bench = (&'static str, AttentionKernel, f64, Option<f64>, (f64, f64), &'static [(f64, f64, f64)]);
    const BENCHES: [Bench; 6] = [
        (
            "h200-sxm-141gb",
            Cudnn,
            64.0,
            Some(1.0),
            (0.03, 0.22),
            &[
                (2048.0, 484.0, 370.0),
                (4096.0, 591.0, 474.0),
                (8192.0, 644.0, 541.0),
                (16384.0, 673.0, 579.0),
                (32768.0, 688.0, 581.0),
            ],
        ),
        (
            "h100-sxm-80gb",
            Cudnn,
            16.0,
            None,
            (0.04, 0.0),
            &[(2048.0, 484.0, 0.0), (4096.0, 518.0, 0.0), (8192.0, 529.0, 0.0), (16384.0, 539.0, 0.0)],
        ),
        (
            "h100-sxm-80gb",
            Flash3,
            16.0,
            None,
            (0.03, 0.0),
            &[(2048.0, 521.0, 0.0), (4096.0, 579.0, 0.0), (8192.0, 602.0, 0.0), (16384.0, 616.0, 0.0)],
        ),
        (
            "gb200",
            Cudnn,
            64.0,
            Some(2.0),
            (0.06, 0.2),
            &[(2048.0, 1097.0, 885.0), (4096.0, 1408.0, 1148.0), (8192.0, 1574.0, 1332.0), (16384.0, 1708.0, 1328.0)],
        ),
        ("b200-sxm", Cudnn, 64.0, Some(1.0), (0.03, 0.12), &[(4096.0, 980.0, 821.0)]),
        ("b200-sxm", Cudnn, 8.0, Some(1.0), (0.1, 0.25), &[(4096.0, 357.0, 712.0)]),
    ];

    /// The benchmarks behind `KERNELS`, as printed: TFLOP/s forward and backward by length; 0 where none was printed
    /// for the causal mask.
    #[test]
    fn every_kernel_runs_as_its_benchmark_printed() {
        for (gpu, kernel, heads, batch, within, rows) in BENCHES {
            let mut run = Run { gpu: Based::preset(gpu), ..Run::default() };
            run.stack.parts.attention = Some(kernel);
            let rates = Rates::of(&Scenario::new(&run).unwrap());
            for (s, forward, backward) in rows {
                let tokens = batch.map_or(16384.0, |batch| batch * s);
                let one = Core { heads, tokens, keys: *s, ..CORE };
                let tflop = 4.0 * heads * 128.0 * tokens * s / 2.0 / 1e12;
                let (f, b) = core::<f64>(&rates, one);
                let (f, b) = (tflop / f, BACKWARD * tflop / b);
                assert!((f / forward - 1.0).abs() < within.0, "{gpu} {s}: {f}");
                let met = *backward <= 0.0 || (b / backward - 1.0).abs() < within.1;
                assert!(met, "{gpu} {s}, backward: {b}");
            }
        }
    }

    /// `SimuMax`, A100 `PCIe`, s 4096: 185 to 80 TFLOP/s forward from 64 to 4 heads, 157 to 105 backward.
    #[test]
    fn few_heads_slow_a_kernel_down_as_measured() {
        let run = Run { gpu: Based::preset("a100-sxm-80gb"), ..Run::default() };
        let rates = Rates::of(&Scenario::new(&run).unwrap());
        let pass = |heads: f64| {
            let one = Core { heads, tokens: 4096.0, keys: 4096.0, ..CORE };
            let (forward, backward) = core::<f64>(&rates, one);
            (heads / forward, heads / backward)
        };
        let most = pass(64.0);
        for (heads, forward, backward) in
            [(32.0, 177.0, 152.0), (16.0, 155.0, 138.0), (8.0, 121.0, 119.0), (4.0, 80.0, 105.0)]
        {
            let few = pass(heads);
            let (f, b) = (few.0 / most.0 * 185.0, few.1 / most.1 * 157.0);
            assert!((f / forward - 1.0).abs() < 0.1, "{heads}: {f}");
            assert!((b / backward - 1.0).abs() < 0.1, "{heads}: {b}");
        }
    }
}
