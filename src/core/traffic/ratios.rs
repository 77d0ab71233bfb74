//! Overlap ratios that the playbook does not print, in its manner: communication over the compute it may hide behind,
//! at the data-sheet peak F (FLOP/s) and bandwidth B (bytes/s, one direction); at most 1 means that it can hide.
//!
//! Source: the playbook's appendix A3, whose way of counting is carried on here; two-byte activations.

use crate::units::{BytesPerSecond, FlopsPerSecond};

/// FLOPs that a GPU computes in the time of a byte on the link, F/B.
pub fn flops_per_byte(peak: FlopsPerSecond, wire: BytesPerSecond) -> f64 {
    peak.0 / wire.0
}

/// Ring attention: a block of keys and values against the attention of the block before, `(k/a) F/((s/c) B)`; twice as
/// much under a causal mask, which halves the attention.
pub fn ring_block_ratio(kv_share: f64, tokens_per_rank: f64, causal: bool, per_byte: f64) -> f64 {
    let mask = if causal { 2.0 } else { 1.0 };
    mask * kv_share / tokens_per_rank * per_byte
}

#[cfg(test)]
mod tests {
    use super::*;

    const H100: FlopsPerSecond = FlopsPerSecond(989e12);

    fn per_byte(gb: f64) -> f64 {
        flops_per_byte(H100, BytesPerSecond(gb * 1e9))
    }

    /// FLOPs a byte of the data sheets, peak over one direction of the wire: H100 2198 on NVLink, 19 780 at 400 Gbit/s;
    /// A100 1040 and 12 480 at 200; GB200 2778; H20 329 and 2960.
    #[test]
    fn flops_a_byte_are_those_of_the_data_sheets() {
        for (peak, gb, printed) in [
            (989e12, 450.0, 2198.0),
            (989e12, 50.0, 19_780.0),
            (312e12, 300.0, 1040.0),
            (312e12, 25.0, 12_480.0),
            (2500e12, 900.0, 2778.0),
            (148e12, 450.0, 329.0),
            (148e12, 50.0, 2960.0),
        ] {
            let ratio = flops_per_byte(FlopsPerSecond(peak), BytesPerSecond(gb * 1e9));
            assert!((ratio.round() - printed).abs() < 0.5, "{ratio} {printed}");
        }
    }

    /// Llama-70B (k/a 1/8), causal: 550 tokens a rank suffice on NVLink, 4.9 k over 400 Gbit/s.
    #[test]
    fn ring_attention_hides_from_so_many_tokens_a_rank_on() {
        let needed = |gb: f64| ring_block_ratio(1.0 / 8.0, 1.0, true, per_byte(gb));
        assert_eq!((needed(450.0) / 10.0).round() * 10.0, 550.0);
        assert_eq!((needed(50.0) / 100.0).round() / 10.0, 4.9);
    }
}
