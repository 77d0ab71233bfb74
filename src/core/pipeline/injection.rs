//! Adaptive injection: 1F1B lets in one micro-batch for each that leaves, however long they are; here a rank takes the
//! next one whenever its memory allows, and a backward pass as soon as one has arrived.
//!
//! With micro-batches of unequal length the strict rhythm stalls on long neighbours; short ones that fit into the same
//! memory fill the gaps. Source: Fudan lecture; `DynaPipe`, memory-aware adaptive scheduling.

use super::Durations;
use super::op::{Op, OrderItem};
use super::order::{Order, StagePlacement};
use super::row::RankRow;
use std::collections::VecDeque;

/// One rank while the order is made.
#[derive(Clone, Debug, Default)]
struct Rank {
    free: f64,
    /// Inputs that have arrived: when.
    forwards: VecDeque<f64>,
    /// Gradients that have arrived: when, of which micro-batch.
    gradients: VecDeque<(f64, u32)>,
    /// The next micro-batch to take in.
    next: u32,
    held: f64,
    done: u32,
    items: Vec<OrderItem>,
}

/// An order of `weights.len()` micro-batches over as many ranks as `durations` has stages. A rank holds at most `room`
/// of their weights at once, and always one of them.
///
/// Event by event: the rank that can start first does; a backward pass that has arrived goes before a forward one. No
/// order dead-locks: the last rank turns each micro-batch round, and a rank that holds none takes any.
pub(crate) fn adaptive(durations: &Durations, weights: &[f64], room: f64) -> Order {
    let stages = durations.forward.len();
    let microbatches = u32::try_from(weights.len()).unwrap_or(u32::MAX);
    let mut ranks = vec![Rank::default(); stages];
    if let Some(first) = ranks.first_mut() {
        first.forwards = weights.iter().map(|_| 0.0).collect();
    }
    let weight = |microbatch: u32| weights.get(microbatch as usize).copied().unwrap_or(0.0);
    while let Some((rank, op, start)) = earliest(&ranks, &weight, room) {
        let end = start + durations.of(op);
        let (crossing, last) = (end + durations.p2p, rank + 1 == stages);
        let row = &mut ranks[rank];
        row.free = end;
        row.items.push(OrderItem::One(op));
        if op.kind.frees() {
            row.gradients.pop_front();
            row.done += 1;
            row.held -= weight(op.microbatch);
            if rank > 0 {
                ranks[rank - 1].gradients.push_back((crossing, op.microbatch));
            }
        } else {
            row.forwards.pop_front();
            row.next += 1;
            row.held += weight(op.microbatch);
            if last {
                row.gradients.push_back((end, op.microbatch));
            } else {
                ranks[rank + 1].forwards.push_back(crossing);
            }
        }
    }
    let items = ranks.into_iter().map(|rank| rank.items);
    let stages = u32::try_from(stages).unwrap_or(u32::MAX);
    Order::new(items, stages, StagePlacement::Loop, microbatches)
}

/// The op that can start first, where and when.
fn earliest(ranks: &[Rank], weight: &impl Fn(u32) -> f64, room: f64) -> Option<(usize, Op, f64)> {
    let next_of = |(at, rank): (usize, &Rank)| {
        let stage = u32::try_from(at).ok()?;
        let back = rank.gradients.front();
        let back = back.map(|(arrival, i)| (Op::bw(stage, *i), arrival.max(rank.free)));
        let fits = rank.next == rank.done || rank.held + weight(rank.next) <= room;
        let front = rank.forwards.front().filter(|_| fits);
        let front = front.map(|arrival| (Op::f(stage, rank.next), arrival.max(rank.free)));
        let (op, start) = match (back, front) {
            (Some(back), Some(front)) if back.1 <= front.1 => back,
            (back, front) => front.or(back)?,
        };
        Some((at, op, start))
    };
    let ready = ranks.iter().enumerate().filter_map(next_of);
    ready.reduce(|first, next| if next.2 < first.2 { next } else { first })
}

/// Most of the `weights` that a rank holds at once under `order`, on the fullest rank.
pub fn fullest(order: &Order, weights: &[f64]) -> f64 {
    let chunk = f64::from(order.chunks_per_rank() * order.splits);
    let peak = |items: &RankRow| {
        let (mut alive, mut most) = (0.0f64, 0.0f64);
        for op in items.iter().flat_map(OrderItem::ops) {
            let index = (op.microbatch / order.splits.max(1)) as usize;
            let weight = weights.get(index).copied().unwrap_or(0.0) / chunk;
            if op.kind == super::OpKind::F {
                alive += weight;
                most = most.max(alive);
            } else if op.kind.frees() {
                alive -= weight;
            }
        }
        most
    };
    order.ranks.iter().map(peak).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Spec, build, measure, schedule};
    use proptest::prelude::*;

    fn of(times: &[f64], ranks: u32, room: f64) -> (Order, f64) {
        let durations = Durations::uniform(ranks, 1.0, 1.0, 1.0).with_microbatch_scale(times.to_vec());
        let order = adaptive(&durations, times, room);
        let makespan = measure(&order, &durations).unwrap().1.makespan_s;
        (order, makespan)
    }

    fn strict(times: &[f64], ranks: u32) -> f64 {
        let m = u32::try_from(times.len()).unwrap();
        let spec = Spec::new(schedule("1f1b").unwrap(), ranks, m);
        let durations = Durations::uniform(ranks, 1.0, 1.0, 1.0).with_microbatch_scale(times.to_vec());
        let order = build(&spec, &durations).unwrap().order;
        measure(&order, &durations).unwrap().1.makespan_s
    }

    /// Equal micro-batches, at most p of them held: 1F1B's `(m + p − 1)(tF + tBW)`.
    #[test]
    fn equal_micro_batches_take_as_long_as_1f1b() {
        for (p, m) in [(1, 4), (2, 6), (4, 8), (4, 3), (8, 16)] {
            let (order, makespan) = of(&vec![1.0; m], p, f64::from(p));
            let formula = 3.0 * (m as f64 + f64::from(p) - 1.0);
            assert!((makespan - formula).abs() < 1e-9, "{p} {m}: {makespan}");
            assert!(fullest(&order, &vec![1.0; m]) <= f64::from(p) + 1e-9);
        }
    }

    proptest! {
        #[test]
        fn every_order_runs_and_keeps_within_its_room(
            times in proptest::collection::vec(0.2f64..2.0, 1..16),
            ranks in 1u32..6,
            room in 0.1f64..8.0,
        ) {
            let (order, makespan) = of(&times, ranks, room);
            prop_assert!(order.check().is_ok());
            let longest = times.iter().copied().fold(0.0, f64::max);
            prop_assert!(fullest(&order, &times) <= room.max(longest) + 1e-9);
            let sum: f64 = times.iter().sum();
            prop_assert!(makespan >= 3.0 * sum - 1e-9);
        }
    }

    /// The lecture's point: with the memory of p long micro-batches, letting short ones in early is quicker than 1F1B's
    /// rhythm on most draws, and on their mean.
    #[test]
    fn letting_short_ones_in_is_quicker_on_average() {
        use crate::pipeline::packing::{LengthSpread, draw};
        let (mut sum, mut plain) = (0.0, 0.0);
        for seed in 0..40 {
            let drawn = draw(LengthSpread::Bimodal, 24, 8192, seed);
            let times: Vec<f64> = drawn.iter().map(|tokens| *tokens as f64 / 8192.0).collect();
            sum += of(&times, 4, 4.0).1;
            plain += strict(&times, 4);
        }
        assert!(sum < plain, "{sum} {plain}");
    }
}
