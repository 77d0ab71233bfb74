//! Schedules drawn on a grid of equal slots: each op has a slot, a rank runs its ops by slot. Chimera's concatenated
//! units and Hanayo.
//!
//! What an op waits for lies in an earlier slot, so that an order by slots never dead-locks.

use crate::issue::Issue;
use crate::pipeline::op::{Item, Op};
use crate::pipeline::order::{Order, Placement};
use crate::pipeline::spec::{Spec, each_rank};

/// Ops with their slots, in any order.
#[derive(Default)]
pub(crate) struct Grid(Vec<(u64, Op)>);

impl Grid {
    pub(crate) fn push(&mut self, slot: u64, op: Op) {
        self.0.push((slot, op));
    }
    /// Forward k of a stage at s + 2k, its backward at 2S − 1 − s + 2k, from slot `start` on.
    fn wave(&mut self, start: u64, stage: u32, stages: u32, microbatches: std::ops::Range<u32>) {
        let (s, all) = (u64::from(stage), u64::from(stages));
        for (k, microbatch) in (0u64..).zip(microbatches) {
            self.push(start + s + 2 * k, Op::f(stage, microbatch));
            self.push(start + 2 * all - 1 - s + 2 * k, Op::bw(stage, microbatch));
        }
    }
    pub(crate) fn by_slot(mut self) -> Vec<Item> {
        self.0.sort_by_key(|(slot, _)| *slot);
        self.0.into_iter().map(|(_, op)| Item::from(op)).collect()
    }
}

/// Ranges of at most `unit` micro-batches.
pub(crate) fn units(m: u32, unit: u32) -> impl Iterator<Item = std::ops::Range<u32>> {
    (0..m.div_ceil(unit)).map(move |j| j * unit..(j * unit + unit).min(m))
}

/// Chimera by direct concatenation: units of N = D micro-batches, the first half down (stage s on worker s), the second
/// up (stage s on worker D − 1 − s), unit j shifted by 2 D j slots.
///
/// Source: Li and Hoefler 2021, section 3.
pub(crate) fn chimera_concat(spec: &Spec) -> Order {
    let (d, m) = (spec.pp, spec.microbatches);
    let ranks = each_rank(d, |worker| {
        let mut grid = Grid::default();
        for (j, unit) in (0u64..).zip(units(m, d)) {
            let middle = unit.start + (unit.end - unit.start).div_ceil(2);
            let start = 2 * u64::from(d) * j;
            grid.wave(start, worker, d, unit.start..middle);
            grid.wave(start, d - 1 - worker, d, middle..unit.end);
        }
        grid.by_slot()
    });
    Order {
        weight_copies: vec![2; d as usize],
        ..Order::new(ranks, d, Placement::Bidirectional, m)
    }
}

/// Hanayo: S = 2 W P stages laid as a snake, units of P micro-batches, unit j shifted by 2 S j slots.
///
/// Source: Liu et al. 2023 for one unit; further units follow as Chimera's do, no two ops meet in a slot.
pub(crate) fn hanayo(spec: &Spec) -> Order {
    let (p, m) = (spec.pp, spec.microbatches);
    let chunks = 2 * spec.waves;
    let stages = p * chunks;
    let ranks = each_rank(p, |rank| {
        let mut grid = Grid::default();
        for (j, unit) in (0u64..).zip(units(m, p)) {
            for chunk in 0..chunks {
                let stage = Placement::Snake.stage(rank, chunk, p);
                grid.wave(2 * u64::from(stages) * j, stage, stages, unit.clone());
            }
        }
        grid.by_slot()
    });
    Order::new(ranks, stages, Placement::Snake, m)
}

/// What lies outside the unit that the paper draws.
pub(crate) fn notice_units(spec: &Spec) -> Vec<Issue> {
    let (p, m) = (spec.pp, spec.microbatches);
    if m.is_multiple_of(p) {
        return Vec::new();
    }
    let name = spec.schedule.name;
    let message = format!(
        "{name} is drawn in units of {p} micro-batches: of {m} the last unit is shorter and idles more"
    );
    let nearest = (m / p).max(1) * p;
    vec![Issue::notice("microbatches", message).with_fix("microbatches", nearest)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_ops_of_a_rank_meet_in_a_slot() {
        for (p, waves, m) in [(2u32, 1, 6u32), (4, 2, 12), (5, 3, 10), (8, 1, 16)] {
            let stages = 2 * waves * p;
            for rank in 0..p {
                let mut grid = Grid::default();
                for (j, unit) in (0u64..).zip(units(m, p)) {
                    for chunk in 0..2 * waves {
                        let stage = Placement::Snake.stage(rank, chunk, p);
                        grid.wave(2 * u64::from(stages) * j, stage, stages, unit.clone());
                    }
                }
                let slots: BTreeSet<u64> = grid.0.iter().map(|(slot, _)| *slot).collect();
                assert_eq!(slots.len(), grid.0.len(), "p={p} W={waves}");
            }
        }
    }

    #[test]
    fn the_last_unit_may_be_short() {
        let all: Vec<_> = units(10, 4).collect();
        assert_eq!(all, [0..4, 4..8, 8..10]);
    }
}
