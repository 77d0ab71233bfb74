//! Sequences cut into pieces: `Seq1F1B` and TeraPipe. Op index = micro-batch · c + split.
//!
//! Attention is causal: forwards run the splits of a micro-batch ascending, backwards descending.

use super::weave::{Strand, WeavePattern, weave};
use crate::pipeline::op::Op;
use crate::pipeline::order::Order;
use crate::pipeline::registry::Spec;
use crate::pipeline::spec::each_rank;

/// Micro-batches ascending, the splits of each descending.
fn backward_index(at: u32, c: u32) -> u32 {
    at / c * c + (c - 1 - at % c)
}

fn order(spec: &Spec, warm_up: impl Fn(u32) -> u32) -> Order {
    let (p, c) = (spec.pp, spec.splits);
    let units = spec.microbatches * c;
    let ranks = each_rank(p, |r| {
        let forward = |i| Op::f(r, i);
        let backward = |at| Op::bw(r, backward_index(at, c));
        let strands = [Strand { lag: 0, op: &forward }, Strand { lag: warm_up(r).min(units), op: &backward }];
        let pattern = WeavePattern { period: c, step: c, ..WeavePattern::plain(units) };
        weave(pattern, &strands, false)
    });
    Order { splits: c, causal: true, ..spec.order(ranks) }
}

/// weave(min(p − r − 2 + c, m c)) over the splits.
///
/// Source: Sun et al. 2024 (`Seq1F1B`). `SlimPipe` (Li et al. 2025, 2504.14519) has this order with slices of equal
/// tokens, whose attention the ranks share out, so that they take equal time.
pub(crate) fn seq1f1b(spec: &Spec) -> Order {
    let (p, c) = (spec.pp, spec.splits);
    order(spec, |r| p - 1 - r + c - 1)
}

/// GPipe over m c slices.
///
/// Source: Li et al. 2021 (TeraPipe); its choice of slice sizes is not made here.
pub(crate) fn terapipe(spec: &Spec) -> Order {
    order(spec, |_| u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_of_a_micro_batch_go_back_last_first() {
        let order: Vec<u32> = (0..6).map(|at| backward_index(at, 3)).collect();
        assert_eq!(order, [2, 1, 0, 5, 4, 3]);
    }
}
