//! Memory of one rank over one step: what is alive when, and at which instant most is.
//!
//! The order of events comes from the simulated timeline as plain numbers; states and standing buffers lie beneath, the
//! activations of each chunk on top. At the instant that the schedule's load names, the curve meets the estimate.

use super::detailed::{self, HeadBytes};
use super::estimate::{RankLoad, StageMemory};
use super::verdict::fragmentation;
use crate::run::Scenario;
use crate::units::{Bytes, Seconds};

/// Activations of one chunk appear or go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActivationChange {
    /// When.
    pub time: Seconds,
    /// The global stage whose memory changes.
    pub stage: usize,
    /// Micro-batches: 1 at the start of a forward, -1 at the end of its backward; fractions for splits.
    pub by: f64,
}

/// A rank's memory from one change to the next, from the bottom up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// From when.
    pub time: Seconds,
    /// Weights, gradients and optimizer states.
    pub states: Bytes,
    /// Logits, transients and what is being gathered.
    pub buffers: Bytes,
    pub activations: Bytes,
    /// Context, communicators, fragmentation.
    pub overhead: Bytes,
}

impl CurvePoint {
    pub fn total(&self) -> Bytes {
        self.states + self.buffers + self.activations + self.overhead
    }
}

/// Activations of one chunk that are alive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveChunk {
    /// Global stage.
    pub stage: usize,
    /// Micro-batches.
    pub microbatches: f64,
    /// Their activations and logits.
    pub bytes: Bytes,
}

/// A rank over one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// One point a change, in time.
    pub points: Vec<CurvePoint>,
    /// Index of the highest point; the first of equals.
    pub peak: usize,
    /// Activations alive then.
    pub alive: Vec<LiveChunk>,
}

/// One chunk of the rank, with what a micro-batch of it holds.
struct Chunk {
    stage: usize,
    activations: f64,
    heads: Option<HeadBytes>,
    /// Micro-batches whose activations it holds.
    alive: f64,
}

impl Chunk {
    fn bytes(&self) -> Bytes {
        let head = self.heads.map_or(0.0, |head| head.held + head.inputs);
        Bytes(self.alive * (self.activations + head))
    }
}

/// The curve of pipeline rank `rank`, whose chunks are `load.stages`, by the detailed method. Changes are taken in the
/// order given.
pub fn curve(scenario: &Scenario, rank: usize, load: &RankLoad, changes: &[ActivationChange]) -> Curve {
    let empty = RankLoad { in_flight: vec![0.0; load.stages.len()], ..load.clone() };
    let base = detailed::rank_memory(scenario, rank, &empty);
    let fragmented = fragmentation(scenario) - 1.0;
    let mut chunks: Vec<Chunk> = load
        .stages
        .iter()
        .map(|stage| Chunk {
            stage: *stage,
            activations: detailed::layer_activation_bytes(scenario, *stage).0,
            heads: detailed::heads(scenario, *stage),
            alive: 0.0,
        })
        .collect();
    let mut curve =
        Curve { points: vec![point(Seconds::ZERO, &base, fragmented, &chunks)], peak: 0, alive: Vec::new() };
    let mut highest = curve.points[0].total().0;
    for change in changes {
        if let Some(chunk) = chunks.iter_mut().find(|chunk| chunk.stage == change.stage) {
            chunk.alive = (chunk.alive + change.by).max(0.0);
        }
        let now = point(change.time, &base, fragmented, &chunks);
        if now.total().0 > highest {
            highest = now.total().0;
            curve.peak = curve.points.len();
            curve.alive = chunks.iter().filter(|chunk| chunk.alive > 0.0).map(alive).collect();
        }
        curve.points.push(now);
    }
    curve
}

fn alive(chunk: &Chunk) -> LiveChunk {
    LiveChunk { stage: chunk.stage, microbatches: chunk.alive, bytes: chunk.bytes() }
}

/// The rank's memory at `time`: `base` without activations, those of `chunks`, and the share `fragmented` of them that
/// the allocator holds beside.
fn point(time: Seconds, base: &StageMemory, fragmented: f64, chunks: &[Chunk]) -> CurvePoint {
    let sum = |of: &dyn Fn(&Chunk) -> f64| -> f64 { chunks.iter().map(of).sum() };
    let head = |of: fn(&HeadBytes) -> f64| sum(&|chunk: &Chunk| chunk.alive * chunk.heads.as_ref().map_or(0.0, of));
    let activations = sum(&|chunk| chunk.alive * chunk.activations);
    let inputs = head(|head| head.inputs);
    let momentary = sum(&|chunk| chunk.alive.min(1.0) * chunk.heads.map_or(0.0, |h| h.momentary));
    CurvePoint {
        time,
        states: base.weights + base.gradients + base.optimizer,
        buffers: base.buffers + Bytes(inputs + head(|head| head.held)),
        activations: Bytes(activations),
        overhead: base.overhead + Bytes(fragmented * (activations + inputs) + momentary),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;

    /// Rank 3 of 1F1B: forward and backward in turn; rank 0 holds up to four.
    fn changes(alive: &[f64], stage: usize) -> Vec<ActivationChange> {
        alive.iter().enumerate().map(|(at, by)| ActivationChange { time: Seconds(at as f64), stage, by: *by }).collect()
    }

    #[test]
    fn the_highest_point_is_the_estimate_and_says_what_is_alive() {
        let scenario = Scenario::new(&Run::default()).unwrap();
        for (rank, order) in
            [(0, vec![1.0, 1.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0, -1.0, -1.0]), (3, vec![1.0, -1.0, 1.0, -1.0])]
        {
            let most = (4 - rank) as f64;
            let load = RankLoad { stages: vec![rank], in_flight: vec![most], weight_versions: 1 };
            let curve = curve(&scenario, rank, &load, &changes(&order, rank));
            let estimate = detailed::rank_memory(&scenario, rank, &load);
            let peak = curve.points[curve.peak].total().0;
            assert!((peak / estimate.total.0 - 1.0).abs() < 1e-12);
            assert_eq!(curve.alive.len(), 1);
            assert!((curve.alive[0].microbatches - most).abs() < 1e-12);
            let (first, last) = (curve.points.first().unwrap(), curve.points.last().unwrap());
            assert_eq!(first.total(), last.total());
        }
    }
}
