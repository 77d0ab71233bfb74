//! A timeline prepared for drawing and for tooltips: what every frame and every tooltip needs, built once.

use super::lod::Sums;
use super::shape::DrawnRanks;
use super::timeline::{Arrival, arrivals, has_columns};
use super::viewport::Viewport;
use crate::prelude::*;
use shardscope_core::pipeline::stats::weight_versions;
use shardscope_core::pipeline::trace::{Awaited, OpPlace, Places, awaited};
use shardscope_core::pipeline::{TimedOp, Trace};
use shardscope_core::report::over_time::over_time;
use std::sync::{Arc, OnceLock};

/// An evaluation with its indices; those that only a click asks for are built when it does.
#[derive(Debug)]
pub struct Prepared {
    pub evaluation: Arc<Evaluation>,
    /// Running sums of its work.
    pub sums: Sums,
    places: OnceLock<Places>,
    path: OnceLock<Vec<(OpPlace, TimedOp)>>,
    awaited: OnceLock<Vec<Awaited>>,
    versions: Vec<Vec<i32>>,
}

impl Prepared {
    pub fn of(evaluation: Arc<Evaluation>) -> Self {
        let sums = Sums::of(evaluation.timeline());
        let versions = versions(&evaluation);
        let (places, path, awaited) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { evaluation, sums, places, path, awaited, versions }
    }
    pub fn op(&self, place: OpPlace) -> Option<TimedOp> {
        let ops = self.evaluation.timeline().ranks.get(place.rank)?;
        ops.get(place.at).copied()
    }
    /// The version of the weights that a micro-batch meets on `rank`, where a rank keeps several: the updates behind
    /// them since the step began.
    pub fn version(&self, rank: usize, microbatch: u32) -> Option<i32> {
        version(&self.versions, rank, microbatch)
    }
    /// Answers why an op starts when it does.
    pub fn trace(&self) -> Trace<'_> {
        let (order, timeline) = (&self.evaluation.order, self.evaluation.timeline());
        let places = self.places.get_or_init(|| Places::of(order, timeline));
        Trace::with(order, timeline, self.evaluation.durations.p2p, places)
    }
    /// The chain of ops that fixes the makespan.
    pub fn critical_path(&self) -> &[(OpPlace, TimedOp)] {
        self.path.get_or_init(|| {
            let path = self.trace().critical_path().into_iter();
            path.filter_map(|place| Some((place, self.op(place)?))).collect()
        })
    }
    /// The messages between ranks that a picture of `drawn` has room for, `width` pixels wide.
    pub fn arrivals(&self, drawn: DrawnRanks, view: Viewport, width: f64) -> Vec<Arrival> {
        let awaited = self.awaited.get_or_init(|| awaited_in(&self.evaluation));
        let rows = self.sums.rows(self.evaluation.timeline(), drawn);
        arrivals(&rows, drawn, awaited, view, width)
    }
    /// What a picture of `drawn` has beside its blocks, `width` pixels wide.
    pub fn notes(&self, drawn: DrawnRanks, view: Viewport, width: f64) -> KeyNotes {
        let rows = self.sums.rows(self.evaluation.timeline(), drawn);
        let columns = has_columns(&rows, view, width);
        let messages = !self.arrivals(drawn, view, width).is_empty();
        // A column has one colour for all stages of its rank.
        KeyNotes { messages, columns, shades: !columns && has_later_stages(&self.evaluation) }
    }
    /// Memory of `rank` over time, MiB.
    pub fn curve(&self, rank: usize) -> Vec<(f64, u32)> {
        memory_curve(&self.evaluation, rank)
    }
    /// Seconds from the first start to the last end.
    pub fn makespan(&self) -> f64 {
        self.evaluation.spans.makespan()
    }
    pub fn ranks(&self) -> usize {
        self.evaluation.order.ranks.len()
    }
    /// The rank that needs the most memory.
    pub fn fullest(&self) -> usize {
        self.evaluation.report.memory.peak_stage
    }
}

/// Most paper in the colour of a later stage of a rank.
const MOST_PAPER: f64 = 0.75;
/// Paper that each of a rank's stages has more than the one before, where they are few.
const PAPER_OF_STAGE: f64 = 0.25;

/// Share of paper in the colour of the chunk at place `chunk` of a rank's `chunks`: each has a shade of its own.
pub fn paper_of_chunk(chunk: usize, chunks: usize) -> f64 {
    chunk as f64 * PAPER_OF_STAGE.min(MOST_PAPER / chunks.saturating_sub(1).max(1) as f64)
}

/// Share of paper in the colour of `stage` on `rank`.
pub fn paper_of_stage(evaluation: &Evaluation, rank: usize, stage: u32) -> f64 {
    let chunks = evaluation.loads.get(rank).map_or(1, |load| load.stages.len());
    paper_of_chunk(evaluation.chunk_of(rank, stage), chunks)
}

/// What a picture has beside its blocks, for its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyNotes {
    /// Messages between ranks.
    pub messages: bool,
    /// Columns of passes that are too short to be drawn apart.
    pub columns: bool,
    /// Blocks of a rank's later stages, in lighter colours.
    pub shades: bool,
}

impl KeyNotes {
    /// Of pictures of `evaluations` in which every pass is a block.
    pub fn of_blocks<'a>(evaluations: impl IntoIterator<Item = &'a Evaluation>) -> Self {
        let shades = evaluations.into_iter().any(has_later_stages);
        Self { messages: false, columns: false, shades }
    }

    /// What one of two pictures has.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            messages: self.messages || other.messages,
            columns: self.columns || other.columns,
            shades: self.shades || other.shades,
        }
    }
}

/// True where a rank has more than one stage.
fn has_later_stages(evaluation: &Evaluation) -> bool {
    evaluation.loads.iter().any(|load| load.stages.len() > 1)
}

/// The messages between ranks that the ranks of a timeline wait for.
pub fn awaited_in(evaluation: &Evaluation) -> Vec<Awaited> {
    awaited(&evaluation.order, evaluation.timeline(), evaluation.durations.p2p)
}

/// The versions of the weights that micro-batches meet on each rank, as updates since the step began; empty where a
/// rank keeps one. A step of `PipeDream-2BW` meets the weights of one update before it.
pub fn versions(evaluation: &Evaluation) -> Vec<Vec<i32>> {
    let versions: fn(&[TimedOp]) -> Vec<i32> = match evaluation.scenario.run.schedule {
        _ if evaluation.scenario.layout.pp == 1 => return Vec::new(),
        Schedule::Pipedream => weight_versions,
        Schedule::Pipedream2bw => |ops| vec![-1; ops.len() / 2],
        _ => return Vec::new(),
    };
    let ranks = evaluation.timeline().ranks.iter();
    ranks.map(|ops| versions(ops)).collect()
}

/// One of them.
pub fn version(versions: &[Vec<i32>], rank: usize, microbatch: u32) -> Option<i32> {
    versions.get(rank)?.get(microbatch as usize).copied()
}

/// Memory of `rank` over the step, MiB.
pub fn memory_curve(evaluation: &Evaluation, rank: usize) -> Vec<(f64, u32)> {
    let instants = over_time(evaluation, rank).map(|curve| curve.instants);
    let instants = instants.unwrap_or_default().into_iter();
    instants.map(|instant| (instant.time.0, mebibytes(instant.total()))).collect()
}

/// Whole MiB: finer than a pixel of any GPU's memory.
pub fn mebibytes(bytes: Bytes) -> u32 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
    let whole = (bytes.gib() * 1024.0).round() as u32;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Up to 32 stages a rank, each is told from the others, the first has the full colour, and none is paper.
    #[test]
    fn every_stage_of_a_rank_has_a_shade_of_its_own() {
        for chunks in 1..=32 {
            let papers: Vec<f64> = (0..chunks).map(|chunk| paper_of_chunk(chunk, chunks)).collect();
            assert!(papers[0] == 0.0 && papers[chunks - 1] <= 0.75, "{papers:?}");
            assert!(papers.windows(2).all(|pair| pair[1] - pair[0] > 0.02), "{papers:?}");
        }
    }

    #[test]
    fn the_critical_path_is_as_long_as_the_step() {
        let prepared = Prepared::of(Arc::new(evaluate(&Run::default()).unwrap()));
        let path = prepared.critical_path();
        let work: f64 = path.iter().map(|(_, op)| op.end - op.start).sum();
        let p2p = prepared.evaluation.durations.p2p;
        let hops = path.windows(2).filter(|two| two[0].0.rank != two[1].0.rank).count();
        let whole = work + p2p * hops as f64;
        assert!((whole - prepared.makespan()).abs() < 1e-9 * whole);
        let most = prepared.curve(0).iter().map(|step| step.1).max();
        let peak = mebibytes(prepared.evaluation.report.memory.per_stage[0].total);
        assert!(most.unwrap().abs_diff(peak) <= 1);
        assert!(prepared.curve(99).is_empty());
    }
}
