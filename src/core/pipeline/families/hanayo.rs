//! Hanayo: the stages snake over the ranks in W waves; micro-batches come in units of P.
//!
//! A unit is as the paper draws it: by slots of equal length, F of stage s at s + 2 k and BW at 2 S − 1 − s + 2 k.
//! Laid end to end such units stall wherever a backward takes longer than a forward, so consecutive units overlap: each
//! rank keeps the order within a unit and takes the youngest unit that can go on, while it holds no more than P
//! micro-batches of its stages, what one unit needs on the fullest rank. What is ready is found with backwards of two
//! slots. The idle time is then that of one unit, 4 (P − 1) tF for tBW = 2 tF, however many follow.

use super::slots::{SlotGrid, units};
use crate::pipeline::op::{Op, OpKind, OrderItem};
use crate::pipeline::order::{Order, StagePlacement};
use crate::pipeline::registry::Spec;
use crate::pipeline::spec::repeated;
use std::collections::VecDeque;

/// Slots of an op where units are merged.
const fn slots(op: Op) -> u32 {
    match op.kind {
        OpKind::F => 1,
        _ => 2,
    }
}

/// Hanayo's order.
///
/// Source: Liu et al. 2023 for one unit; the paper's code lets the next unit in before the last one has left.
pub(crate) fn hanayo(spec: &Spec) -> Order {
    repeated(spec, (6 * spec.pp, spec.pp), merged)
}

fn merged(spec: &Spec) -> Order {
    let (p, m) = (spec.pp, spec.microbatches);
    let chunks = 2 * spec.waves;
    let stages = p * chunks;
    let limit = chunks * p;
    let mut ranks: Vec<Rank> = (0..p).map(|rank| Rank::new(unit(rank, p, chunks), m)).collect();
    let mut done = Done::new(stages, m);
    let mut slot = 0;
    while ranks.iter().any(|rank| !rank.open.is_empty()) {
        for rank in ranks.iter_mut().filter(|rank| rank.free <= slot) {
            if let Some(op) = rank.take(&done, slot, limit) {
                rank.free = slot + slots(op);
                done.enter(op, rank.free);
            }
        }
        slot += 1;
    }
    let ranks = ranks.into_iter().map(|rank| rank.items);
    spec.order(ranks)
}

/// Ops of `rank` in a unit of `p` micro-batches.
fn unit(rank: u32, p: u32, chunks: u32) -> Vec<Op> {
    let mut grid = SlotGrid::default();
    for chunk in 0..chunks {
        let stage = StagePlacement::Snake.stage(rank, chunk, p);
        grid.wave(0, stage, p * chunks, 0..p);
    }
    grid.by_slot().iter().flat_map(|item| item.ops()).collect()
}

/// When each forward and backward has ended, in slots.
struct Done {
    stages: usize,
    forward: Vec<u32>,
    backward: Vec<u32>,
}

impl Done {
    fn new(stages: u32, microbatches: u32) -> Self {
        let cells = stages as usize * microbatches as usize;
        Self { stages: stages as usize, forward: vec![u32::MAX; cells], backward: vec![u32::MAX; cells] }
    }
    fn at(&self, op: Op) -> usize {
        op.microbatch as usize * self.stages + op.stage as usize
    }
    fn enter(&mut self, op: Op, end: u32) {
        let at = self.at(op);
        match op.kind {
            OpKind::F => self.forward[at] = end,
            _ => self.backward[at] = end,
        }
    }
    /// True if everything `op` waits for has ended by `slot`.
    fn frees(&self, op: Op, slot: u32) -> bool {
        let at = self.at(op);
        match op.kind {
            OpKind::F => op.stage == 0 || self.forward[at - 1] <= slot,
            _ if op.stage as usize + 1 == self.stages => self.forward[at] <= slot,
            _ => self.backward[at + 1] <= slot,
        }
    }
}

/// Remaining ops of a unit on a rank.
struct Unit {
    ops: VecDeque<Op>,
    forwards: u32,
}

/// One rank while the order is made.
struct Rank {
    /// Its part of a unit of p micro-batches.
    unit: Vec<Op>,
    /// Units that it has begun, and the next one.
    open: VecDeque<Unit>,
    /// Micro-batches of the units after these.
    later: VecDeque<std::ops::Range<u32>>,
    free: u32,
    alive: u32,
    items: Vec<OrderItem>,
}

impl Rank {
    fn new(unit: Vec<Op>, microbatches: u32) -> Self {
        let size = unit.iter().map(|op| op.microbatch + 1).max().unwrap_or(1);
        let mut rank = Self {
            unit,
            open: VecDeque::new(),
            later: units(microbatches, size).collect(),
            free: 0,
            alive: 0,
            items: Vec::new(),
        };
        rank.open_next();
        rank
    }

    fn open_next(&mut self) {
        if let Some(microbatches) = self.later.pop_front() {
            let ops = self.unit.iter().map(|op| Op { microbatch: microbatches.start + op.microbatch, ..*op });
            let ops: VecDeque<Op> = ops.filter(|op| op.microbatch < microbatches.end).collect();
            let forwards = ops.iter().map(|op| u32::from(op.kind == OpKind::F)).sum();
            self.open.push_back(Unit { ops, forwards });
        }
    }

    /// Takes the next op of the youngest unit that can go on. A forward leaves place for all that older units still
    /// have to run, so that these never wait for it.
    fn take(&mut self, done: &Done, slot: u32, limit: u32) -> Option<Op> {
        let mut chosen = None;
        let mut older = 0;
        for (at, unit) in self.open.iter().enumerate() {
            let next = unit.ops.front().copied();
            let admitted = |op: &Op| op.kind != OpKind::F || at == 0 || self.alive + 1 + older <= limit;
            let ready = next.filter(|op| done.frees(*op, slot) && admitted(op));
            chosen = ready.map(|op| (at, op)).or(chosen);
            older += unit.forwards;
        }
        let (at, op) = chosen?;
        let youngest = at + 1 == self.open.len();
        let unit = &mut self.open[at];
        unit.ops.pop_front();
        if op.kind == OpKind::F {
            unit.forwards -= 1;
            self.alive += 1;
        } else {
            self.alive -= 1;
        }
        self.items.push(OrderItem::One(op));
        if youngest {
            self.open_next();
        }
        while self.open.front().is_some_and(|unit| unit.ops.is_empty()) {
            self.open.pop_front();
        }
        Some(op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Durations, build, measure, schedule};
    use std::collections::BTreeSet;

    #[test]
    fn no_two_ops_of_a_unit_meet_in_a_slot() {
        for (p, waves) in [(2u32, 1), (4, 2), (5, 3), (8, 1)] {
            let stages = 2 * waves * p;
            for rank in 0..p {
                let slot = |op: &Op| match op.kind {
                    OpKind::F => op.stage + 2 * op.microbatch,
                    _ => 2 * stages - 1 - op.stage + 2 * op.microbatch,
                };
                let ops = unit(rank, p, 2 * waves);
                let taken: BTreeSet<u32> = ops.iter().map(slot).collect();
                assert_eq!(taken.len(), ops.len(), "p={p} W={waves}");
                assert!(ops.is_sorted_by_key(slot));
            }
        }
    }

    #[test]
    fn units_keep_their_own_order_and_a_rank_never_holds_more_than_p_micro_batches() {
        for (p, waves, m) in [(1u32, 1, 5u32), (2, 3, 9), (4, 1, 64), (5, 2, 23), (8, 1, 24)] {
            let spec = Spec { waves, ..Spec::new(schedule("hanayo").unwrap(), p, m) };
            let order = build(&spec, &Durations::unit(spec.stages())).unwrap().order;
            for (rank, row) in (0..p).zip(&order.ranks) {
                let alone = unit(rank, p, 2 * waves);
                for range in units(m, p) {
                    let ops = row.iter().flat_map(OrderItem::ops);
                    let laid: Vec<Op> = ops.filter(|op| range.contains(&op.microbatch)).collect();
                    let drawn = alone.iter().map(|op| Op { microbatch: op.microbatch + range.start, ..*op });
                    let drawn: Vec<Op> = drawn.filter(|op| op.microbatch < range.end).collect();
                    assert_eq!(laid, drawn, "p={p} W={waves} m={m} rank {rank}");
                }
            }
            let (_, stats) = measure(&order, &Durations::unit(order.stages)).unwrap();
            assert!(stats.in_flight.iter().all(|alive| *alive <= f64::from(p)), "{:?}", stats.in_flight);
        }
    }

    #[test]
    fn a_long_order_is_the_merged_one() {
        let row = schedule("hanayo").unwrap();
        for p in 1..=6 {
            for waves in 1..=3 {
                for m in (6 * p..9 * p + 3).chain([14 * p + 1]) {
                    let spec = Spec { waves, ..Spec::new(row, p, m) };
                    assert_eq!(hanayo(&spec), merged(&spec), "p={p} W={waves} m={m}");
                }
            }
        }
    }
}
