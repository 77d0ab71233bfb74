//! Three ways to cut a sequence, side by side: tensor and sequence parallelism, Ulysses, and ring attention.
//!
//! Bytes that one of P ranks sends for a layer, forward and backward together, for a sequence of N tokens and width d;
//! beside it what the Fudan lecture counts (section on sequence parallelism), which differs in kind: TP + SP and
//! Ulysses a GPU, forward and backward; ring attention all GPUs together, forward only. What a GPU sends follows from
//! ring collectives, all-to-alls and the number of key-value heads.

use super::volume::rank_key_width;
use crate::model::Architecture;
use crate::run::Scenario;
use crate::units::Bytes;
use std::cmp::Ordering;

/// One way to cut a sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceCut {
    pub name: &'static str,
    /// As the lecture counts it.
    pub printed: Bytes,
    /// Its formula, in bytes of two-byte elements.
    pub formula: &'static str,
    /// Bytes that one GPU really sends: with `(P - 1)/P`, and with k of a key-value heads.
    pub sent: Bytes,
    /// Ranks it can use at most with `heads` query heads; none: any number.
    pub most_ranks: Option<u64>,
}

/// The three for `tokens` of width `width` over `ranks`, `bytes` an element, `kv_share` = k/a, `heads` query heads.
///
/// Megatron SP: 4 N d reduce-scattered and 4 N d gathered; Ulysses: 8 N d / P in eight all-to-alls, of which queries
/// and outputs are a half and keys and values k/a of the other; ring: `P - 1` blocks of K and V forward, twice
/// backward. The lecture counts P rounds in which all GPUs together send 2 N d elements of K and V: `O(N d P)`, above
/// the other two.
pub fn sequence_cuts(tokens: f64, width: f64, ranks: u64, bytes: f64, kv_share: f64, heads: u64) -> [SequenceCut; 3] {
    let p = ranks as f64;
    let volume = 8.0 * tokens * width * bytes;
    let ring = (p - 1.0) / p;
    [
        SequenceCut {
            name: "TP + SP",
            printed: Bytes(volume),
            formula: "16 N d",
            sent: Bytes(volume * ring),
            most_ranks: Some(heads),
        },
        SequenceCut {
            name: "Ulysses",
            printed: Bytes(volume / p),
            formula: "16 N d/P",
            sent: Bytes(volume / p * ring * f64::midpoint(1.0, kv_share)),
            most_ranks: Some(heads),
        },
        SequenceCut {
            name: "ring attention",
            printed: Bytes(2.0 * tokens * width * bytes * p),
            formula: "4 N d P",
            sent: Bytes(6.0 * tokens * width * bytes * kv_share * ring),
            most_ranks: None,
        },
    ]
}

/// The least that ring attention keeps on a rank for `chunk` tokens of one sequence: the block of K and V in use and
/// the one on its way, Q and the output: `b (2 (k + v) + q + o) c` over TP, b bytes an element. With as many key-value
/// heads as heads that is `6 b d c`, in bf16 the lecture's `12 d c`; grouped queries share keys and values: `(2 + 4
/// k/a) b d c`.
pub fn ring_buffer(scenario: &Scenario, chunk: f64) -> Bytes {
    let [query, output] = query_and_output(&scenario.model);
    let widths = 4.0 * rank_key_width(scenario) + (query + output) / scenario.layout.tp as f64;
    Bytes(scenario.precision.computes.activation() * widths * chunk)
}

/// Widths of the queries and of attention's output over all heads, of the widest layers.
fn query_and_output(model: &Architecture) -> [f64; 2] {
    let kinds = model.all_kinds();
    let heads = kinds.iter().filter_map(|(kind, _)| model.attention_heads(kind.mixer));
    let widths = heads.map(|heads| [heads.queries() as f64, heads.output() as f64]);
    widths.fold([0.0; 2], |most, one| if one[0] + one[1] > most[0] + most[1] { one } else { most })
}

/// The two pieces of a sequence of `2 ranks` pieces that `rank` holds: neighbours with the plain split; with the
/// zig-zag split one from either end.
pub fn ring_pieces(rank: u64, ranks: u64, zigzag: bool) -> [u64; 2] {
    if zigzag { [rank, 2 * ranks - 1 - rank] } else { [2 * rank, 2 * rank + 1] }
}

/// Work of `rank` under a causal mask in `step` of ring attention, where it meets the keys of the rank so many before
/// it; a full block is 1: pairs of pieces before the diagonal count a quarter, those on it half of that.
pub fn ring_work(rank: u64, step: u64, ranks: u64, zigzag: bool) -> f64 {
    let keys = ring_pieces((rank + ranks - step % ranks) % ranks, ranks, zigzag);
    let pair = |query: u64, key: u64| match key.cmp(&query) {
        Ordering::Less => 0.25,
        Ordering::Equal => 0.125,
        Ordering::Greater => 0.0,
    };
    let work = |query| keys.map(|key| pair(query, key)).iter().sum::<f64>();
    ring_pieces(rank, ranks, zigzag).map(work).iter().sum()
}

/// Work of the last rank under a causal mask in every one of `ranks` steps of ring attention, and none has more: with
/// the plain split early ranks wait for late ones; the zig-zag split gives all the same.
pub fn ring_steps(ranks: u64, zigzag: bool) -> Vec<f64> {
    (0..ranks).map(|step| ring_work(ranks - 1, step, ranks, zigzag)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    /// Fudan lecture: N = 1e6, d 4096, P 128, fp16. 8 N d = 65.536 GB against 8 N d / P = 0.512 GB.
    #[test]
    fn the_lectures_numbers_for_a_million_tokens_are_met() {
        let [tp, ulysses, ring] = sequence_cuts(1e6, 4096.0, 128, 2.0, 1.0, 32);
        assert_eq!(format!("{:.3}", tp.printed.gb()), "65.536");
        assert_eq!(format!("{:.3}", ulysses.printed.gb()), "0.512");
        assert!(ring.sent.0 > ulysses.sent.0 && ring.sent.0 < tp.sent.0);
        // 128 ranks are more than 32 heads: Ulysses could not run there.
        assert!(ulysses.most_ranks < Some(128));
    }

    /// Fudan lecture: P rounds of 4 s d bytes, "much higher" than Megatron's and Ulysses'. What one GPU sends is less
    /// than Megatron's: 12 N d (P - 1)/P bytes of 16 N d, each with as many key-value heads as heads.
    #[test]
    fn the_lectures_ring_is_the_sum_over_all_gpus_and_above_the_others() {
        let [tp, ulysses, ring] = sequence_cuts(1e6, 4096.0, 128, 2.0, 1.0, 32);
        assert_eq!(ring.printed.0, 128.0 * 4.0 * 1e6 * 4096.0);
        assert!(ring.printed.0 > 10.0 * tp.printed.0 && ring.printed.0 > ulysses.printed.0);
        assert_eq!(ring.sent.0, 12.0 * 1e6 * 4096.0 * 127.0 / 128.0);
    }

    /// Fudan lecture: K and V current `4 d c`, receiving `4 d c`, Q `2 d c`, output `2 d c`: 48 MiB for d 4096, c 1024.
    /// A quarter of the key-value heads (Llama 3.1 8B) halves that.
    #[test]
    fn ring_attention_keeps_twelve_bytes_a_channel_and_token_less_with_grouped_queries() {
        let buffer = |id: &'static str, tp| {
            let run = Run { model: Based::preset(id), tp, ..Run::default() };
            ring_buffer(&Scenario::new(&run).unwrap(), 1024.0).0
        };
        let mib = 1024.0 * 1024.0;
        assert_eq!(buffer("llama-2-7b", 1), 12.0 * 1024.0 * 4096.0);
        assert_eq!(buffer("llama-2-7b", 1), 48.0 * mib);
        assert_eq!(buffer("llama-3.1-8b", 1), 24.0 * mib);
        assert_eq!(buffer("llama-3.1-8b", 2), 12.0 * mib);
        // DeepSeek-V3: 128 heads, keys and queries of 192, values and outputs of 128.
        let expanded = 128.0 * (2.0 * (192.0 + 128.0) + 192.0 + 128.0);
        assert_eq!(buffer("deepseek-v3", 1), 2.0 * 1024.0 * expanded);
    }

    /// Under a causal mask the plain ring takes `(c - 1/2)` full blocks, the balanced one c halves.
    #[test]
    fn zigzag_halves_what_the_slowest_rank_does() {
        let sum = |zigzag| ring_steps(8, zigzag).iter().sum::<f64>();
        assert_eq!(sum(true), 4.0);
        assert_eq!(sum(false), 7.5);
    }

    /// A causal mask leaves `c²/2` of `c²` blocks to compute, on any rank: with the plain split rank r does r and a
    /// half, with the zig-zag split each rank does `c/2`, half a block in every step.
    #[test]
    fn both_splits_do_the_same_work_and_only_zigzag_divides_it_evenly() {
        for ranks in [2, 4, 8] {
            for rank in 0..ranks {
                let work = |zigzag| (0..ranks).map(move |step| ring_work(rank, step, ranks, zigzag));
                assert!(work(true).all(|work| work == 0.5));
                assert_eq!(work(false).sum::<f64>(), rank as f64 + 0.5);
                for zigzag in [false, true] {
                    let most = ring_steps(ranks, zigzag);
                    assert!(work(zigzag).zip(most).all(|(work, most)| work <= most));
                }
            }
        }
    }
}
