//! Work of a rank between two times, by kind, without looking at every op in between.
//!
//! Running sums of the work by kind are beside the ops, one entry a block of ops, built once a timeline; a picture of
//! any width asks for its columns in the time of a binary search each, however many ops lie behind them.

use super::shape::DrawnRanks;
use shardscope_core::pipeline::{Half, OpKind, TimedOp, Timeline};

/// Ops between two running sums.
const BLOCK: usize = 4;

/// Seconds of work by kind: forward, backward, gradient of the weight.
pub(crate) type KindSeconds = [f64; 3];

/// Running sums over every rank of a timeline.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    ranks: Vec<Vec<KindSeconds>>,
}

/// A rank's ops and their running sums.
#[derive(Clone, Copy, Debug)]
pub struct RankOps<'a> {
    /// The ops, ascending.
    pub ops: &'a [TimedOp],
    sums: &'a [KindSeconds],
}

/// Adds the part of `op` that lies before `until`; a half of a pair has half the rank's attention.
fn add(work: &mut KindSeconds, op: &TimedOp, until: f64) {
    let slot = match op.op.kind {
        OpKind::F => 0,
        OpKind::B | OpKind::BW => 1,
        OpKind::W => 2,
    };
    let share = if op.half == Half::Whole { 1.0 } else { 0.5 };
    work[slot] += (op.end.min(until) - op.start).max(0.0) * share;
}

impl Sums {
    /// The sums of all ranks.
    pub fn of(timeline: &Timeline) -> Self {
        let sums = |ops: &Vec<TimedOp>| {
            let mut work = [0.0; 3];
            let mut sums = Vec::with_capacity(ops.len() / BLOCK + 1);
            for (at, op) in ops.iter().enumerate() {
                if at.is_multiple_of(BLOCK) {
                    sums.push(work);
                }
                add(&mut work, op, f64::INFINITY);
            }
            sums
        };
        Self { ranks: timeline.ranks.iter().map(sums).collect() }
    }

    /// The `drawn` ranks of the timeline that these are of.
    pub fn rows<'a>(&'a self, timeline: &'a Timeline, drawn: DrawnRanks) -> Vec<RankOps<'a>> {
        let rank = |row| {
            let rank = drawn.rank(row);
            Some(RankOps { ops: timeline.ranks.get(rank)?, sums: self.ranks.get(rank)? })
        };
        (0..drawn.rows(timeline.ranks.len())).filter_map(rank).collect()
    }
}

impl<'a> RankOps<'a> {
    /// The ops that touch `[start, end]`.
    pub fn visible(self, start: f64, end: f64) -> &'a [TimedOp] {
        let from = self.ops.partition_point(|op| op.end < start);
        let to = self.ops.partition_point(|op| op.start <= end);
        self.ops.get(from..to.max(from)).unwrap_or_default()
    }

    /// Answers for ascending times.
    pub(crate) fn walk(self) -> RowWalk<'a> {
        RowWalk { row: self, started: 0 }
    }
}

/// A walk along a row's ops: the work done before one time after the other, each at the cost of the way from the last.
pub(crate) struct RowWalk<'a> {
    row: RankOps<'a>,
    /// Ops that start before the last time.
    started: usize,
}

impl RowWalk<'_> {
    /// Work done before `time`, which is not less than the time before.
    pub(crate) fn work_before(&mut self, time: f64) -> KindSeconds {
        let RankOps { ops, sums } = self.row;
        // Steps that double until they are too far, then the place between the last two.
        let mut step = 1;
        while ops.get(self.started + step).is_some_and(|op| op.start < time) {
            self.started += step;
            step *= 2;
        }
        let ahead = &ops[self.started..ops.len().min(self.started + step)];
        self.started += ahead.partition_point(|op| op.start < time);
        // The last two may still run: they are never taken from a sum.
        let block = self.started.saturating_sub(2) / BLOCK;
        let mut work = sums.get(block).copied().unwrap_or_default();
        for op in &ops[(block * BLOCK).min(self.started)..self.started] {
            add(&mut work, op, time);
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shardscope_core::pipeline::{Durations, Spec, build, measure, schedule};

    fn timeline(id: &str, pp: u32, m: u32) -> Timeline {
        let spec = Spec::new(schedule(id).unwrap(), pp, m);
        let durations = Durations::uniform(spec.stages(), 1.0, 1.3, 0.7);
        let order = build(&spec, &durations).unwrap().order;
        measure(&order, &durations).unwrap().0
    }

    proptest! {
        /// The sums answer what adding up every op answers, pairs included.
        #[test]
        fn sums_are_what_the_ops_add_up_to(which in 0usize..3, share in 0.0f64..1.1, rank in 0usize..4) {
            let timeline = timeline(["1f1b", "zb-h1", "dualpipev"][which], 4, 24);
            let time = share * timeline.makespan();
            let sums = Sums::of(&timeline);
            let row = sums.rows(&timeline, DrawnRanks::all())[rank];
            let mut walk = row.walk();
            walk.work_before(time * 0.37);
            let mut expected = [0.0; 3];
            for op in &timeline.ranks[rank] {
                let part = (op.end.min(time) - op.start).max(0.0);
                let part = if op.half == Half::Whole { part } else { part / 2.0 };
                expected[match op.op.kind { OpKind::F => 0, OpKind::W => 2, _ => 1 }] += part;
            }
            let found = walk.work_before(time);
            for (found, expected) in found.iter().zip(expected) {
                prop_assert!((found - expected).abs() < 1e-9);
            }
        }
    }
}
