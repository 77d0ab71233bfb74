//! A vision tower on ranks of its own: two pipelines side by side, of which the longer sets the pace.
//!
//! It is a stage in front of the first that takes `e` of every micro-batch, forward and backward, and a message each
//! way. The longer of two times is what is counted for a step of `m` micro-batches. Where the pipeline sets the pace
//! the tower is hidden, and `e` is added for the first images and the last. Where the tower does, its rank is busy for
//! `m e` and idle twice: `p` forward passes after its first one until that micro-batch is back from the pipeline's `p`
//! ranks, and `p` backward passes before its last one, while the last micro-batch is there.
//! Source: Megatron-LM d98e8a6, `megatron/core/models/mimo`; Megatron-Bridge 067f987,
//! `tutorials/megatron_mimo/qwen35-vl-non-colocated-sft.md`.

use super::draft::Draft;
use super::step::copies;
use crate::cluster::Link;
use crate::issue::Issue;
use crate::memory::{RankLoad, detailed};
use crate::model::Vision;
use crate::run::Scenario;
use crate::t;
use crate::traffic::Fabric;
use crate::units::{Bytes, Seconds};
use serde::Serialize;

/// The tower beside the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TowerReport {
    pub gpus: u64,
    /// Its replicas.
    pub dp: u64,
    /// Forward pass of the images of a micro-batch of every replica of the language model that one replica of the tower
    /// serves, with the message of their states.
    pub forward_s: Seconds,
    /// Backward pass of these images, with the message of their gradients.
    pub backward_s: Seconds,
    /// Passes of a micro-batch on the longest rank of the pipeline.
    pub stage_s: Seconds,
    /// Time that the step waits for the tower; it is part of the bubble.
    pub waits_s: Seconds,
    /// Memory of a rank of it.
    pub memory_bytes: Bytes,
}

impl TowerReport {
    /// Both passes.
    pub fn passes(&self) -> Seconds {
        self.forward_s + self.backward_s
    }
    /// True where the pipeline sets the pace: it waits for the tower at the first micro-batch and the last alone.
    pub fn is_hidden(&self) -> bool {
        self.waits_s.0 <= self.passes().0 * (1.0 + 1e-9)
    }
    /// Its times `scale` times as long.
    pub(super) fn rescaled(self, scale: f64) -> Self {
        Self {
            forward_s: self.forward_s * scale,
            backward_s: self.backward_s * scale,
            stage_s: self.stage_s * scale,
            waits_s: self.waits_s * scale,
            ..self
        }
    }
}

impl Draft {
    /// The tower of this run, where it has ranks of its own, beside a pipeline that takes `makespan_s` without it.
    pub(super) fn tower(&self, loads: &[RankLoad], makespan_s: f64) -> Option<TowerReport> {
        let scenario = &self.scenario;
        let vision = scenario.model.vision.filter(Vision::is_apart)?;
        let [forward, backward] = self.clock.tower(scenario)?.map(Seconds);
        let of_rank = |load: &RankLoad| {
            let passes = load.stages.iter().filter_map(|stage| self.passes.get(*stage));
            passes.map(|pass| pass.total().0).sum::<f64>() / copies(scenario, load)
        };
        let stage_s = Seconds(loads.iter().map(of_rank).fold(0.0, f64::max));
        let link = if scenario.busy_gpus() <= scenario.layout.per_node { Link::Intra } else { Link::Inter };
        let tokens = vision.tokens() as f64 * vision.images_a_sequence() * scenario.sequences() as f64;
        let states = tokens * (scenario.model.hidden * (1 + vision.deepstack)) as f64;
        let message = Bytes(states * scenario.precision.computes.activation());
        let send = Fabric::of(scenario).send(link, message);
        let (forward_s, backward_s) = (forward + send, backward + send);
        let passes = forward_s + backward_s;
        let microbatches = scenario.usual_microbatches();
        let ahead = (scenario.layout.pp as f64).min(microbatches - 1.0);
        let there_and_back = Seconds(self.durations.of_one_microbatch());
        let idle = |pass: Seconds| (there_and_back - pass * ahead).max(Seconds::ZERO);
        let pace = passes * microbatches + idle(forward_s) + idle(backward_s);
        let waits_s = passes.max(pace - Seconds(makespan_s));
        Some(TowerReport {
            gpus: vision.gpus,
            dp: vision.replicas(),
            forward_s,
            backward_s,
            stage_s,
            waits_s: if tokens > 0.0 { waits_s } else { Seconds::ZERO },
            memory_bytes: detailed::tower_rank(scenario).unwrap_or_default(),
        })
    }
}

/// Refuses a tower whose rank needs more memory than a GPU has: the verdict is that of the language model's ranks.
///
/// # Errors
/// At the tower's GPUs.
pub(super) fn tower_fits(scenario: &Scenario) -> Result<(), Vec<Issue>> {
    let capacity = scenario.gpu.usable;
    let Some(need) = detailed::tower_rank(scenario).filter(|need| need.0 > capacity.0) else {
        return Ok(());
    };
    let message = t!(
        "a rank of the tower needs {need} GiB of {capacity}: more GPUs or tensor parallelism of its own cut it",
        need = format!("{:.1}", need.gib()),
        capacity = format!("{:.1}", capacity.gib())
    );
    Err(vec![Issue::error("model.vision.gpus", message)])
}
