//! `detailed`: every tensor of every pipeline rank.
//!
//! For each rank: the states of the parameters it holds, the activations of the chunks and micro-batches that the
//! schedule keeps alive, what exists for a moment on top (logits, the backward of a layer, what is being gathered),
//! and what no tensor accounts for. Source: Megatron Core, and Korthikanti 2022 where it is printed; held against
//! measured peaks in `tests/memory/measured.rs`.

mod activations;
mod beside;
mod dummies;
mod explain;
mod forward;
mod frozen;
mod holding;
mod items;
mod logits;
mod moments;
mod rank;
mod sharding;
mod states;
mod tower;
mod transient;

pub(crate) use activations::Chunks;
pub(crate) use beside::{REFERENCE_MODEL, offloaded_reference, reference_on_host};
pub(crate) use forward::items as forward_items;
pub use holding::ShardGroup;
pub(crate) use holding::{Holding, holdings, parameters};
pub(crate) use items::offloaded_activation_bytes;
pub use logits::LOSS_KERNELS;
pub use moments::PeakMoment;
pub(crate) use rank::{memory_at, rank_memory, ranks};
pub use states::shards;
pub(crate) use states::{States, base_weights, split_weights, states, weights};
pub(crate) use tower::tower_rank;

use super::estimate::{RankLoad, StageMemory};
use super::method::MemoryMethod;
use super::verdict::{MemoryNeed, fragmentation, process};
use crate::explain::Term;
use crate::issue::Issue;
use crate::run::Scenario;
use crate::units::Bytes;
use items::resident;

/// Every tensor that a rank holds, one by one.
pub struct Detailed;

impl MemoryMethod for Detailed {
    fn rank(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> StageMemory {
        rank_memory(scenario, rank, load)
    }

    fn ranks(&self, scenario: &Scenario, loads: &[RankLoad]) -> Vec<StageMemory> {
        ranks(scenario, &Chunks::of(scenario), loads)
    }

    fn need(&self, scenario: &Scenario, peak: Bytes) -> MemoryNeed {
        MemoryNeed::of(scenario, peak)
    }

    fn ignored(&self, _: &Scenario) -> Vec<Issue> {
        Vec::new()
    }

    fn explain(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
        explain::explain(scenario, rank, load)
    }
}

/// Bytes that one micro-batch of global stage `stage` holds from its forward to its backward, logits included.
pub fn chunk_activation_bytes(scenario: &Scenario, stage: usize) -> Bytes {
    let head = heads(scenario, stage).map_or(0.0, |head| head.held + head.inputs);
    layer_activation_bytes(scenario, stage) + Bytes(head)
}

/// Bytes that one micro-batch of each global stage holds, logits included.
pub(crate) fn activation_bytes(scenario: &Scenario, chunks: &Chunks) -> Vec<f64> {
    let stages = 0..scenario.stage_layers.len();
    let bytes = |stage: usize| {
        let head = heads(scenario, stage).map_or(0.0, |head| head.held + head.inputs);
        chunks.kept(stage).bytes() + head
    };
    stages.map(bytes).collect()
}

/// Bytes that one micro-batch of global stage `stage` holds in its layers, without logits.
pub(crate) fn layer_activation_bytes(scenario: &Scenario, stage: usize) -> Bytes {
    Bytes(activations::kept(scenario, stage).bytes())
}

/// Bytes that the head holds of one micro-batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadBytes {
    /// Logits from the loss's forward to its backward.
    pub held: f64,
    /// Bytes that the loss needs for a moment beyond that.
    pub momentary: f64,
    /// Inputs of the final norm and the head.
    pub inputs: f64,
}

/// The head's part of global stage `stage`, where it is the last.
pub fn heads(scenario: &Scenario, stage: usize) -> Option<HeadBytes> {
    holding::is_last(scenario, stage).then(|| HeadBytes {
        held: logits::held(scenario, 1.0),
        momentary: logits::momentary(scenario, 1.0),
        inputs: logits::inputs(scenario, 1.0),
    })
}

/// Bytes that a chunk adds to the memory of its rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkBytes {
    /// Activations of its layers, a micro-batch.
    pub layers: f64,
    /// The largest backward pass or exchange of a layer.
    pub momentary: f64,
    /// Bytes that recomputation brings back.
    pub recomputed: f64,
    /// Buffers of sends and receives that run beside compute.
    pub exchanged: f64,
    /// Bytes that the head holds of a micro-batch, where it ends the model.
    pub head: Option<HeadBytes>,
}

/// Bytes that global stage `stage` adds to the memory of its rank.
pub(crate) fn chunk_bytes(scenario: &Scenario, stage: usize) -> ChunkBytes {
    let kept = activations::kept(scenario, stage);
    ChunkBytes {
        layers: kept.bytes() * resident(scenario, stage),
        momentary: transient::largest(scenario, &[stage]).1,
        recomputed: kept.recomputed,
        exchanged: transient::both_ways(scenario, &[stage]),
        head: heads(scenario, stage),
    }
}

/// Bytes of a rank between two steps.
pub fn steady(scenario: &Scenario, load: &RankLoad) -> Bytes {
    Bytes(moments::steady(scenario, load))
}

/// Bytes that a rank holds whatever its micro-batches: states, gathered shards, dummy weight gradients; at every moment
/// weights and states. What does not fragment counts for what fragments to as much.
pub(crate) fn lasting(scenario: &Scenario, load: &RankLoad) -> f64 {
    let parts = holdings(scenario, load);
    let states = parts.iter().map(|part| {
        let states: states::States = states::states(scenario, part, load.weight_versions);
        let gradients = if scenario.peaks_by_moment() { 0.0 } else { states.gradients };
        states.weights + gradients + states.optimizer
    });
    let unbroken = states::standing(scenario, load) * (1.0 - 1.0 / fragmentation(scenario));
    let states = states.sum::<f64>() - unbroken;
    if scenario.peaks_by_moment() {
        return states;
    }
    let gathered = sharding::buffers::<f64>(scenario, load, &parts);
    let gathered: f64 = gathered.iter().map(|buffer| buffer.bytes).sum();
    let dummies = if scenario.software.dummy_wgrad { dummies::bytes(scenario, load) } else { 0.0 };
    states + gathered + dummies
}

/// The total of `rank_memory` from its parts, for a search over many layouts that share them: `chunks` with the
/// micro-batches of each that are alive. Equal to it but for rounding, because the sum runs in another order; where the
/// peak is that of a moment, what is there at every moment.
pub fn needed(scenario: &Scenario, lasting: f64, chunks: impl Iterator<Item = (ChunkBytes, f64)>) -> Bytes {
    if scenario.peaks_by_moment() {
        return Bytes(fragmentation(scenario) * lasting) + process(scenario);
    }
    let (mut kept, mut logits, mut peak, mut inputs) = (0.0, 0.0, 0.0, 0.0);
    let (mut momentary, mut recomputed, mut exchanged) = (0.0f64, 0.0f64, 0.0f64);
    for (chunk, alive) in chunks {
        kept += chunk.layers * alive;
        if let Some(head) = chunk.head {
            logits += alive * head.held;
            peak += alive.min(1.0) * head.momentary;
            inputs += alive * head.inputs;
        }
        momentary = momentary.max(chunk.momentary);
        recomputed = recomputed.max(chunk.recomputed);
        exchanged = exchanged.max(chunk.exchanged);
    }
    if !transient::exchanges_behind_compute(scenario.run.schedule) {
        exchanged = 0.0;
    }
    let blocks = lasting + kept + inputs + momentary + recomputed + exchanged;
    Bytes(fragmentation(scenario) * blocks + logits + peak) + process(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    #[test]
    fn the_parts_add_up_to_the_whole() {
        for model in ["llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "llama-3.1-70b"] {
            for zero in 0..4 {
                let run = Run { model: Based::preset(model), zero, cp: 2, ..Run::default() };
                let scenario = Scenario::new(&run).unwrap();
                for stage in 0..4 {
                    let load = RankLoad { stages: vec![stage], in_flight: vec![3.0], weight_versions: 1 };
                    let long = rank_memory(&scenario, stage, &load).total;
                    let chunk = (chunk_bytes(&scenario, stage), 3.0);
                    let short = needed(&scenario, lasting(&scenario, &load), [chunk].into_iter());
                    assert!((short / long - 1.0).abs() < 1e-12, "{model} {zero} {stage}");
                }
            }
        }
    }
}
