//! Chimera: two pipelines in opposite directions over the same workers; each holds the weights of two stages.
//!
//! `concat` lies on the plain grid of [`slots`](super::slots). Forward doubling runs two micro-batches in each forward
//! slot, so that it is as long as a backward; backward halving is the same order over half micro-batches.

use super::slots::{SlotGrid, chimera_concat, notice_units, units};
use crate::issue::Issue;
use crate::pipeline::op::Op;
use crate::pipeline::order::Order;
use crate::pipeline::registry::Spec;
use crate::pipeline::spec::repeated;
use crate::run::Variant;
use crate::t;
use std::ops::Range;

/// The order of the variant asked for.
pub(crate) fn chimera(spec: &Spec) -> Result<Order, Issue> {
    let d = spec.pp;
    if !d.is_multiple_of(2) {
        let message = t!("Chimera needs an even PP; this is {d}", d);
        return Err(Issue::error("pp", message).with_near("pp", u64::from(d), spec.even_sizes()));
    }
    let unit = match spec.variant {
        Variant::ForwardDoubling => 2 * d,
        _ => d,
    };
    Ok(repeated(spec, (3 * unit, unit), laid_out))
}

fn laid_out(spec: &Spec) -> Order {
    let m = spec.microbatches;
    match spec.variant {
        Variant::Concat => chimera_concat(spec),
        Variant::ForwardDoubling => doubled(spec),
        Variant::BackwardHalving => {
            Order { microbatches: m, splits: 2, ..doubled(&Spec { microbatches: 2 * m, ..spec.clone() }) }
        }
    }
}

/// Warns of sizes that the paper does not draw.
pub(crate) fn warn(spec: &Spec) -> Vec<Issue> {
    if spec.microbatches.is_multiple_of(2) {
        return notice_units(spec);
    }
    let message = t!(
        "Chimera splits its micro-batches evenly over two directions: the paper's code wants an even number, not \
            {microbatches}",
        microbatches = spec.microbatches
    );
    vec![Issue::warning("microbatches", message).with_fix("microbatches", spec.microbatches + 1)]
}

/// Units of 2 D, shifted by the 3 D slots that each worker works in a unit.
fn doubled(spec: &Spec) -> Order {
    let (d, m) = (spec.pp, spec.microbatches);
    let mut grids: Vec<SlotGrid> = (0..d).map(|_| SlotGrid::default()).collect();
    for (j, unit) in (0u64..).zip(units(m, 2 * d)) {
        let start = 3 * u64::from(d) * j;
        for (worker, slot, op) in greedy_unit(d, unit) {
            grids[worker as usize].push(start + slot, op);
        }
    }
    spec.order(grids.into_iter().map(SlotGrid::by_slot))
}

/// One direction of a unit: which micro-batches, in pairs, and how far each has come.
struct Direction {
    microbatches: Range<u32>,
    /// Next pair to run forward and next micro-batch to run backward, per stage.
    forwards: Vec<u32>,
    backwards: Vec<u32>,
}

impl Direction {
    fn new(d: u32, microbatches: Range<u32>) -> Self {
        Self { microbatches, forwards: vec![0; d as usize], backwards: vec![0; d as usize] }
    }
    fn len(&self) -> u32 {
        self.microbatches.end - self.microbatches.start
    }
    fn pairs(&self) -> u32 {
        self.len().div_ceil(2)
    }
    fn backward_ready(&self, s: usize) -> bool {
        let next = self.backwards[s];
        let arrived = self.backwards.get(s + 1).map_or(self.forwards[s] * 2, |after| *after);
        next < arrived.min(self.len())
    }
    fn forward_ready(&self, s: usize) -> bool {
        let next = self.forwards[s];
        let arrived = s.checked_sub(1).map_or(self.pairs(), |before| self.forwards[before]);
        next < arrived
    }
}

/// Slots of equal length: a pair forward, or one micro-batch backward. In each slot each worker takes what is ready by
/// then: a backward first, then the larger stage.
///
/// Source: Li and Hoefler 2021, section 3.5; the paper draws the order, the greedy rule reaches its 4 D − 2 slots.
fn greedy_unit(d: u32, unit: Range<u32>) -> Vec<(u32, u64, Op)> {
    let middle = unit.start + (unit.end - unit.start).div_ceil(2);
    let mut directions = [Direction::new(d, unit.start..middle), Direction::new(d, middle..unit.end)];
    let stage_of = |direction: usize, worker: u32| {
        if direction == 0 { worker } else { d - 1 - worker }
    };
    let mut ops = Vec::new();
    let mut slot = 0u64;
    loop {
        // (backward, stage, direction, worker): what each worker takes, chosen before any of it is done.
        let mut taken: Vec<(bool, u32, usize, u32)> = Vec::new();
        for worker in 0..d {
            let ready = (0..2).flat_map(|direction| {
                let stage = stage_of(direction, worker);
                let side = &directions[direction];
                let backward = side.backward_ready(stage as usize);
                let forward = side.forward_ready(stage as usize);
                [
                    backward.then_some((true, stage, direction, worker)),
                    forward.then_some((false, stage, direction, worker)),
                ]
            });
            taken.extend(ready.flatten().max());
        }
        if taken.is_empty() {
            return ops;
        }
        for (backward, stage, direction, worker) in taken {
            let side = &mut directions[direction];
            let (first, len) = (side.microbatches.start, side.len());
            if backward {
                let next = &mut side.backwards[stage as usize];
                ops.push((worker, slot, Op::bw(stage, first + *next)));
                *next += 1;
            } else {
                let next = &mut side.forwards[stage as usize];
                let pair = 2 * *next..(2 * *next + 2).min(len);
                ops.extend(pair.map(|k| (worker, slot, Op::f(stage, first + k))));
                *next += 1;
            }
        }
        slot += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Durations, build, measure, schedule};
    use crate::run::OneOf;

    #[test]
    fn forward_doubling_takes_4d_minus_2_equal_slots() {
        for d in [2, 4, 6, 8, 10] {
            let last = greedy_unit(d, 0..2 * d).iter().map(|op| op.1).max();
            assert_eq!(last, Some(u64::from(4 * d - 2) - 1), "D={d}");
        }
    }

    #[test]
    fn both_halves_of_a_micro_batch_run_forward_together() {
        let spec = Spec { variant: Variant::BackwardHalving, ..Spec::new(schedule("chimera").unwrap(), 4, 4) };
        let order = build(&spec, &Durations::unit(4)).unwrap().order;
        assert_eq!((order.units(), order.splits), (8, 2));
        let (_, stats) = measure(&order, &Durations::unit(4)).unwrap();
        // Half of forward doubling's 2 D on the same unit: no extra memory.
        assert!(stats.in_flight.iter().all(|held| *held <= 4.0));
        let items = order.ranks[0].iter().take(2);
        let first: Vec<String> = items.map(|item| item.to_string()).collect();
        assert_eq!(first, ["0F0", "0F1"]);
    }

    #[test]
    fn odd_workers_are_rejected_and_odd_micro_batches_doubted() {
        let spec = Spec::new(schedule("chimera").unwrap(), 3, 6);
        assert_eq!(build(&spec, &Durations::unit(3)).unwrap_err().field, "pp");
        let spec = Spec::new(schedule("chimera").unwrap(), 4, 5);
        let built = build(&spec, &Durations::unit(4)).unwrap();
        assert!(built.warnings[0].message.to_string().contains("even"));
        assert!(measure(&built.order, &Durations::unit(4)).is_ok());
    }

    #[test]
    fn a_long_order_is_the_one_laid_out_in_full() {
        let row = schedule("chimera").unwrap();
        for d in [2, 4, 6, 8] {
            for m in (3 * d..9 * d).chain([20 * d + 2]) {
                for (variant, _) in Variant::ALL {
                    let spec = Spec { variant: *variant, ..Spec::new(row, d, m) };
                    assert_eq!(chimera(&spec).unwrap(), laid_out(&spec), "D={d} m={m} {variant:?}");
                }
            }
        }
    }
}
