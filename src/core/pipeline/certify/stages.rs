//! The stages of a pipeline, their times and their room, as a [`Problem`] in ticks.

use super::problem::{Arc, Chain, Pool, Problem, Ticks};
use crate::maths::{exp2, log2};

/// The stages of a step whose order is looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepStages {
    /// The rank of each stage.
    pub home: Vec<usize>,
    pub microbatches: u32,
    /// Seconds of a forward, by stage.
    pub forward: Vec<f64>,
    /// Seconds of the gradient of the input, by stage; of the whole backward where [`Self::whole`].
    pub backward_input: Vec<f64>,
    /// Seconds of the gradient of the weight, by stage.
    pub backward_weight: Vec<f64>,
    /// The backward is one op, and frees at its end.
    pub whole: bool,
    /// Seconds of a message between ranks, which may work meanwhile.
    pub lag: f64,
    /// Stage-micro-batches that each rank holds at most, from the start of a forward to the end of what frees it.
    pub room: Vec<u32>,
    /// True of stages whose gradient of the input waits for the weight gradient of the micro-batch before: they have
    /// room to recompute one micro-batch at a time. Empty where no stage waits.
    pub apart: Vec<bool>,
}

/// Seconds of a tick: all times are rounded down to whole ticks, so that a bound in ticks is a bound of the true times
/// (shorter times lengthen no fixed order, so they do not lengthen the best one).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TickScale(pub f64);

impl TickScale {
    pub fn seconds(self, ticks: i64) -> f64 {
        ticks as f64 * self.0
    }
}

/// Ticks of the longest op: rounding moves a makespan by one in 10^5.
const LONGEST: f64 = 1_048_576.0;

impl StepStages {
    pub fn ranks(&self) -> usize {
        self.room.len()
    }
    pub const fn kinds(&self) -> usize {
        if self.whole { 2 } else { 3 }
    }

    /// Seconds of the weight gradient of a stage as an op of its own.
    pub fn weight(&self, stage: usize) -> f64 {
        if self.whole { 0.0 } else { self.backward_weight[stage] }
    }
    /// Seconds that a stage works for one micro-batch.
    pub fn work(&self, stage: usize) -> f64 {
        self.forward[stage] + self.backward_input[stage] + self.weight(stage)
    }

    fn scale(&self) -> TickScale {
        let lists = [&self.forward, &self.backward_input, &self.backward_weight];
        let kept = &lists[..self.kinds()];
        let longest = kept.iter().copied().flatten().copied().fold(self.lag, f64::max);
        let finest = LONGEST / longest;
        // A power of two keeps whole numbers whole.
        TickScale(if finest.is_finite() && finest > 0.0 { exp2(log2(finest).floor()) } else { 1.0 })
    }

    /// The problem and the seconds of its tick.
    #[allow(clippy::cast_possible_truncation)] // at most LONGEST
    pub fn problem(&self) -> (Problem, TickScale) {
        let scale = self.scale();
        let ticks = |seconds: f64| (seconds * scale.0).floor() as Ticks;
        let lists = [&self.forward, &self.backward_input, &self.backward_weight];
        let mut unit = ticks(self.lag);
        for time in lists[..self.kinds()].iter().copied().flatten() {
            unit = divisor(unit, ticks(*time));
        }
        let unit = unit.max(1);
        let ticks = |seconds: f64| ticks(seconds) / unit;
        let kinds = self.kinds();
        let mut chains = Vec::new();
        for (stage, rank) in self.home.iter().enumerate() {
            for list in &lists[..kinds] {
                chains.push(Chain { rank: *rank, ticks: ticks(list[stage]) });
            }
        }
        let lag = |one: usize, other: usize| if self.home[one] == self.home[other] { 0 } else { ticks(self.lag) };
        let mut arcs = Vec::new();
        let last = self.home.len() - 1;
        for stage in 0..=last {
            let at = stage * kinds;
            if stage > 0 {
                arcs.push(Arc { from: at - kinds, to: at, lag: lag(stage - 1, stage), offset: 0 });
            }
            arcs.push(Arc { from: at, to: at + 1, lag: 0, offset: 0 });
            if stage < last {
                arcs.push(Arc { from: at + kinds + 1, to: at + 1, lag: lag(stage, stage + 1), offset: 0 });
            }
            let frees = at + kinds - 1;
            if !self.whole {
                arcs.push(Arc { from: at + 1, to: frees, lag: 0, offset: 0 });
            }
            if !self.whole && self.apart.get(stage).is_some_and(|apart| *apart) {
                arcs.push(Arc { from: frees, to: at + 1, lag: 0, offset: 1 });
            }
            let room = self.room[self.home[stage]];
            if room < self.microbatches {
                arcs.push(Arc { from: frees, to: at, lag: 0, offset: room });
            }
        }
        let pools = (0..self.ranks()).filter_map(|rank| self.pool(rank));
        let problem =
            Problem { ranks: self.ranks(), microbatches: self.microbatches, chains, arcs, pools: pools.collect() };
        (problem, TickScale(unit as f64 / scale.0))
    }

    /// The room that the stages of `rank` share; none where one stage's own arc says it all or nothing is short.
    fn pool(&self, rank: usize) -> Option<Pool> {
        let kinds = self.kinds();
        let homes = self.home.iter().enumerate().filter(|(_, home)| **home == rank);
        let stages: Vec<_> = homes.map(|(stage, _)| (stage * kinds, (stage + 1) * kinds - 1, 1)).collect();
        let most = stages.len() as u64 * u64::from(self.microbatches);
        let shared = stages.len() > 1 && u64::from(self.room[rank]) < most;
        shared.then_some(Pool { rank, room: self.room[rank], stages })
    }
}

fn divisor(a: Ticks, b: Ticks) -> Ticks {
    if b == 0 { a } else { divisor(b, a % b) }
}
