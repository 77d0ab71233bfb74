//! Schedules drawn on a grid of equal slots: each op has a slot, a rank runs its ops by slot. Chimera's concatenated
//! units; Hanayo takes one unit from here.
//!
//! Everything an op waits for lies in an earlier slot, so that an order by slots never dead-locks.

use crate::issue::Issue;
use crate::pipeline::op::{Op, OrderItem};
use crate::pipeline::order::Order;
use crate::pipeline::registry::Spec;
use crate::pipeline::spec::each_rank;
use crate::sort::sort_by;
use crate::t;

/// Ops with their slots, in any order.
#[derive(Default)]
pub(crate) struct SlotGrid(Vec<(u64, Op)>);

impl SlotGrid {
    pub(crate) fn push(&mut self, slot: u64, op: Op) {
        self.0.push((slot, op));
    }
    /// Forward k of a stage at s + 2k, its backward at 2S − 1 − s + 2k, from slot `start` on.
    pub(crate) fn wave(&mut self, start: u64, stage: u32, stages: u32, microbatches: std::ops::Range<u32>) {
        let (s, last) = (u64::from(stage), u64::from(stages));
        for (k, microbatch) in (0u64..).zip(microbatches) {
            self.push(start + s + 2 * k, Op::f(stage, microbatch));
            self.push(start + 2 * last - 1 - s + 2 * k, Op::bw(stage, microbatch));
        }
    }
    pub(crate) fn by_slot(mut self) -> Vec<OrderItem> {
        sort_by(&mut self.0, |(a, _), (b, _)| a.cmp(b));
        self.0.into_iter().map(|(_, op)| OrderItem::from(op)).collect()
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
        let mut grid = SlotGrid::default();
        for (j, unit) in (0u64..).zip(units(m, d)) {
            let middle = unit.start + (unit.end - unit.start).div_ceil(2);
            let start = 2 * u64::from(d) * j;
            grid.wave(start, worker, d, unit.start..middle);
            grid.wave(start, d - 1 - worker, d, middle..unit.end);
        }
        grid.by_slot()
    });
    spec.order(ranks)
}

/// Warns of micro-batches outside the unit that the paper draws.
pub(crate) fn notice_units(spec: &Spec) -> Vec<Issue> {
    let (p, m) = (spec.pp, spec.microbatches);
    if m.is_multiple_of(p) {
        return Vec::new();
    }
    let name = spec.schedule.name();
    let message =
        t!("{name} is drawn in units of {p} micro-batches: of {m} the last unit is shorter and idles more", name, p, m);
    let nearest = (m / p).max(1) * p;
    vec![Issue::notice("microbatches", message).with_fix("microbatches", nearest)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_unit_may_be_short() {
        let ranges: Vec<_> = units(10, 4).collect();
        assert_eq!(ranges, [0..4, 4..8, 8..10]);
    }
}
