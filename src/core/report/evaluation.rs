//! Everything known about a Run.

use super::Report;
use super::best_split::with_best_split;
use super::mend::mend;
use super::schedule::spec;
use crate::issue::Issue;
use crate::memory::RankLoad;
use crate::pipeline::{self, Durations, Order, Spans, Timeline};
use crate::run::Scenario;
use std::sync::OnceLock;

/// A Run understood, simulated and measured.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The Run understood.
    pub scenario: Box<Scenario>,
    /// Ops of every rank, in order.
    pub order: Order,
    /// Durations of each global stage; as all times here scaled to the measured step, where the Run has one.
    pub durations: Durations,
    /// Chunks and micro-batches that the schedule makes each rank hold.
    pub loads: Vec<RankLoad>,
    /// The rank that works longest, whose communication the overlap rows are.
    pub busiest: usize,
    /// When each rank starts and ends, and how long it works between.
    pub spans: Spans,
    /// The figures.
    pub report: Report,
    pub(super) timeline: OnceLock<Timeline>,
    pub(super) warnings: OnceLock<Vec<Issue>>,
}

impl Evaluation {
    /// The warnings of the report with the fixes that work: tried when they are first asked for, since no figure needs
    /// it.
    pub fn warnings(&self) -> &[Issue] {
        let mended = || {
            let built = spec(&self.scenario).ok();
            mend(&self.scenario.run, built.as_ref(), with_best_split(self, self.report.warnings.clone()))
        };
        self.warnings.get_or_init(mended)
    }
    /// When every rank does what: made when it is first asked for, since no figure needs it.
    pub fn timeline(&self) -> &Timeline {
        let made = || pipeline::simulate(&self.order, &self.durations).unwrap_or_default();
        self.timeline.get_or_init(made)
    }
    /// True if the timeline is there already.
    pub fn has_timeline(&self) -> bool {
        self.timeline.get().is_some()
    }
    /// Takes the timeline of the same Run that another thread has simulated, as its [`Timeline::times`].
    pub fn keep_timeline(&self, times: &[f64]) {
        // One that is there already is the same.
        let _ = self.timeline.set(Timeline::of_times(&self.order, times));
    }
    /// Index of `stage` among the chunks of `rank`, from 0.
    pub fn chunk_of(&self, rank: usize, stage: u32) -> usize {
        let stages = self.loads.get(rank).map_or(&[][..], |load| &load.stages);
        let position = stages.iter().position(|other| *other == stage as usize);
        position.unwrap_or(0)
    }
}
