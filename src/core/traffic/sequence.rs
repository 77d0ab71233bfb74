//! Three ways to cut a sequence, side by side: tensor and sequence parallelism, Ulysses, and ring attention.
//!
//! Bytes of one layer on one of P ranks for a sequence of N tokens and width d, forward and backward together, with the
//! elements counted as the lecture does. Source: Fudan lecture, section on sequence parallelism; what is sent besides
//! follows from ring collectives, all-to-alls and the number of key-value heads.

use crate::units::Bytes;

/// One way to cut a sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceCut {
    /// What it is called.
    pub name: &'static str,
    /// As the lecture counts it.
    pub printed: Bytes,
    /// What one GPU really sends: with `(P - 1)/P`, and with k of a key-value heads.
    pub sent: Bytes,
    /// Ranks it can use at most with `heads` query heads; none: any number.
    pub most_ranks: Option<u64>,
}

/// The three for `tokens` of width `width` over `ranks`, `bytes` an element, `kv_share` = k/a, `heads` query heads.
///
/// Megatron SP: 4 N d reduce-scattered and 4 N d gathered; Ulysses: 8 N d / P in eight all-to-alls, of which queries and
/// outputs are a half and keys and values k/a of the other; ring: `(P - 1)` blocks of K and V forward, twice backward.
#[must_use]
pub fn sequence_cuts(
    tokens: f64,
    width: f64,
    ranks: u64,
    bytes: f64,
    kv_share: f64,
    heads: u64,
) -> [SequenceCut; 3] {
    let p = ranks as f64;
    let all = 8.0 * tokens * width * bytes;
    let ring = (p - 1.0) / p;
    [
        SequenceCut {
            name: "TP + SP",
            printed: Bytes(all),
            sent: Bytes(all * ring),
            most_ranks: Some(heads),
        },
        SequenceCut {
            name: "Ulysses",
            printed: Bytes(all / p),
            sent: Bytes(all / p * ring * f64::midpoint(1.0, kv_share)),
            most_ranks: Some(heads),
        },
        SequenceCut {
            name: "ring attention",
            printed: Bytes(6.0 * tokens * width * bytes),
            sent: Bytes(6.0 * tokens * width * bytes * kv_share * ring),
            most_ranks: None,
        },
    ]
}

/// The least that ring attention keeps on a rank for chunks of `chunk` tokens: K and V in use and on their way, Q and
/// the output: `12 d c` bytes in two-byte elements.
#[must_use]
pub fn ring_buffer(chunk: f64, width: f64) -> Bytes {
    Bytes(12.0 * width * chunk)
}

/// Work of each rank under a causal mask in every one of `ranks` steps of ring attention, a full block being 1: with the
/// plain split early ranks wait for late ones; the zig-zag split (a piece from either end) gives all the same.
#[must_use]
pub fn ring_steps(ranks: u64, zigzag: bool) -> Vec<f64> {
    (0..ranks)
        .map(|step| if zigzag || step == 0 { 0.5 } else { 1.0 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Fudan lecture: K and V current `4 d c`, receiving `4 d c`, Q `2 d c`, output `2 d c`.
    #[test]
    fn ring_attention_keeps_twelve_bytes_a_channel_and_token() {
        assert_eq!(ring_buffer(1024.0, 4096.0).0, 12.0 * 1024.0 * 4096.0);
    }

    /// Under a causal mask the plain ring takes `(c - 1/2)` full blocks, the balanced one c halves.
    #[test]
    fn zigzag_halves_what_the_slowest_rank_does() {
        let sum = |zigzag| ring_steps(8, zigzag).iter().sum::<f64>();
        assert_eq!(sum(true), 4.0);
        assert_eq!(sum(false), 7.5);
    }
}
