//! Sequences cut into pieces: `Seq1F1B` and TeraPipe. Op index = micro-batch · c + split.
//!
//! Attention is causal: forwards run the splits of a micro-batch ascending, backwards descending.

use super::weave::weave;
use crate::pipeline::op::{Item, Op};
use crate::pipeline::order::{Order, Placement};
use crate::pipeline::spec::{Spec, each_rank};

/// Micro-batches ascending, the splits of each descending.
fn backward_index(at: u32, c: u32) -> u32 {
    at / c * c + (c - 1 - at % c)
}

fn order(spec: &Spec, warm_up: impl Fn(u32) -> u64) -> Order {
    let (p, c) = (spec.pp, spec.splits);
    let units = spec.microbatches * c;
    let ranks = each_rank(p, |r| {
        let warm_up = usize::try_from(warm_up(r).min(u64::from(units))).unwrap_or(usize::MAX);
        let forwards: Vec<Op> = (0..units).map(|i| Op::f(r, i)).collect();
        let mut backwards = (0..units).map(|at| Op::bw(r, backward_index(at, c)));
        weave(warm_up, forwards.into_iter(), units as usize, |_, out| {
            out.extend(backwards.next().map(Item::from));
        })
    });
    Order {
        splits: c,
        causal: true,
        ..Order::new(ranks, p, Placement::Loop, spec.microbatches)
    }
}

/// weave(min(p − r − 2 + c, m c)) over the splits.
///
/// Source: Sun et al. 2024 (`Seq1F1B`).
pub(crate) fn seq1f1b(spec: &Spec) -> Order {
    let (p, c) = (u64::from(spec.pp), u64::from(spec.splits));
    order(spec, |r| p - 1 - u64::from(r) + c - 1)
}

/// GPipe over m c slices.
///
/// Source: Li et al. 2021 (TeraPipe); its choice of slice sizes is not made here.
pub(crate) fn terapipe(spec: &Spec) -> Order {
    order(spec, |_| u64::MAX)
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
