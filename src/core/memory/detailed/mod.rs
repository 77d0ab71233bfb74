//! `detailed`: every tensor of every pipeline rank.
//!
//! For each rank: the states of the parameters it holds, the activations of the chunks and micro-batches that the
//! schedule keeps alive, what exists for a moment on top (logits, the backward of a layer, what is being gathered),
//! and what no tensor accounts for. Source: Megatron Core, and Korthikanti 2022 where it is printed; held against measured
//! peaks in `tests/memory_measured.rs`.

mod activations;
mod dummies;
mod explain;
mod forward;
mod frozen;
mod holding;
mod logits;
mod moments;
mod shapes;
mod sharding;
mod states;
mod transient;

pub(crate) use activations::Chunks;
pub(crate) use forward::items as forward_items;
pub use holding::Kind;
pub(crate) use holding::{Holding, holdings};
pub use logits::LOSS_KERNELS;
pub use states::shards;
pub(crate) use states::{base_weights, weights};
use transient::Buffer;

use super::estimate::{Component, Item, Nature, RankLoad, StageMemory};
use super::method::MemoryMethod;
use super::verdict::{Need, PROCESS, fragmentation, process};
use crate::explain::Term;
use crate::issue::Issue;
use crate::run::Scenario;
use crate::units::{Bytes, GIB};

/// Every tensor that a rank holds, one by one.
pub struct Detailed;

impl MemoryMethod for Detailed {
    fn rank(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> StageMemory {
        rank_memory(scenario, rank, load)
    }

    fn ranks(&self, scenario: &Scenario, loads: &[RankLoad]) -> Vec<StageMemory> {
        ranks(scenario, &Chunks::of(scenario), loads)
    }

    fn need(&self, _: &Scenario, peak: Bytes) -> Need {
        Need::calibrated(peak)
    }

    fn ignored(&self, _: &Scenario) -> Vec<Issue> {
        Vec::new()
    }

    fn explain(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
        explain::explain(scenario, rank, load)
    }
}

/// Bytes that one micro-batch of global stage `stage` holds from its forward to its backward, logits included.
#[must_use]
pub fn chunk_activation_bytes(scenario: &Scenario, stage: usize) -> Bytes {
    let head = heads(scenario, stage).map_or(0.0, |head| head.held + head.inputs);
    layer_activation_bytes(scenario, stage) + Bytes(head)
}

/// The same of every global stage.
#[must_use]
pub(crate) fn activation_bytes(scenario: &Scenario, chunks: &Chunks) -> Vec<f64> {
    let stages = 0..scenario.stage_layers.len();
    let bytes = |stage: usize| {
        let head = heads(scenario, stage).map_or(0.0, |head| head.held + head.inputs);
        chunks.kept(stage).bytes() + head
    };
    stages.map(bytes).collect()
}

/// The same without what belongs to the head.
#[must_use]
pub(crate) fn layer_activation_bytes(scenario: &Scenario, stage: usize) -> Bytes {
    Bytes(activations::kept(scenario, stage).bytes())
}

/// What the head holds of one micro-batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heads {
    /// Logits from the loss's forward to its backward.
    pub held: f64,
    /// What the loss needs for a moment beyond that.
    pub momentary: f64,
    /// Inputs of the final norm and the head.
    pub inputs: f64,
}

/// The head's part of global stage `stage`, where it is the last.
#[must_use]
pub fn heads(scenario: &Scenario, stage: usize) -> Option<Heads> {
    holding::is_last(scenario, stage).then(|| Heads {
        held: logits::held(scenario),
        momentary: logits::momentary(scenario),
        inputs: logits::inputs(scenario),
    })
}

/// One rank, part by part.
#[must_use]
pub(crate) fn rank_memory(scenario: &Scenario, rank: usize, load: &RankLoad) -> StageMemory {
    let chunks = Chunks::of(scenario);
    let lasting = Lasting::of(scenario, &chunks, load);
    memory_of(scenario, &chunks, &lasting, (rank, load))
}

/// All ranks, where what their `chunks` keep is known.
pub(crate) fn ranks(scenario: &Scenario, chunks: &Chunks, loads: &[RankLoad]) -> Vec<StageMemory> {
    let mut known: Vec<(&RankLoad, Lasting)> = Vec::new();
    let ranks = loads.iter().enumerate().map(|(rank, load)| {
        let alike = |(other, _): &(&RankLoad, _)| chunks.are_alike(other, load);
        let at = known.iter().position(alike).unwrap_or(known.len());
        if at == known.len() {
            known.push((load, Lasting::of(scenario, chunks, load)));
        }
        memory_of(scenario, chunks, &known[at].1, (rank, load))
    });
    ranks.collect()
}

/// What a rank holds whatever is in flight: the same on all ranks whose chunks are alike.
#[derive(Default)]
struct Lasting {
    states: Vec<Item>,
    buffers: Vec<Buffer>,
}

impl Lasting {
    fn of(scenario: &Scenario, chunks: &Chunks, load: &RankLoad) -> Self {
        if scenario.peaks_by_moment() {
            return Self::default();
        }
        let parts = holdings(scenario, load);
        Self {
            states: state_items(scenario, load, &parts).collect(),
            buffers: buffers(scenario, chunks, load, &parts),
        }
    }
}

/// One rank, where what it holds whatever is in flight is known.
fn memory_of(
    scenario: &Scenario,
    chunks: &Chunks,
    lasting: &Lasting,
    (rank, load): (usize, &RankLoad),
) -> StageMemory {
    let mut memory = StageMemory::empty(rank, load.stage_microbatches());
    let mut allocated = 0.0;
    let add = |item: Item| {
        allocated += item.bytes.0;
        memory.add(item);
    };
    if scenario.peaks_by_moment() {
        let items = moments::items(scenario, chunks, load);
        items.into_iter().for_each(add);
    } else {
        let buffers = head_buffers(scenario, load).into_iter().flatten();
        let buffers = buffers.chain(lasting.buffers.iter().copied());
        let states = lasting.states.iter().copied();
        states
            .chain(activation_items(scenario, chunks, load))
            .chain(buffers.map(Buffer::item))
            .for_each(add);
    }
    for item in overhead_items(scenario, load, allocated) {
        memory.add(item);
    }
    memory.summed()
}

/// What a chunk adds to the memory of its rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkBytes {
    /// Activations of its layers, a micro-batch.
    pub layers: f64,
    /// The largest backward pass or exchange of a layer.
    pub momentary: f64,
    /// What recomputation brings back.
    pub recomputed: f64,
    /// What sends and receives beside compute hold.
    pub exchanged: f64,
    /// It ends the model.
    pub last: bool,
}

/// What global stage `stage` adds to the memory of its rank.
#[must_use]
pub(crate) fn chunk_bytes(scenario: &Scenario, stage: usize) -> ChunkBytes {
    let kept = activations::kept(scenario, stage);
    ChunkBytes {
        layers: kept.bytes() * resident(scenario, stage),
        momentary: transient::largest(scenario, &[stage]).1,
        recomputed: kept.recomputed,
        exchanged: transient::double_buffers(scenario, &[stage]).unwrap_or(0.0),
        last: holding::is_last(scenario, stage),
    }
}

/// Bytes of a rank between two steps.
#[must_use]
pub fn steady(scenario: &Scenario, load: &RankLoad) -> Bytes {
    Bytes(moments::steady(scenario, load))
}

/// What a rank holds whatever its micro-batches: states, what sharding gathers, dummy weight gradients; at every moment
/// weights and states.
#[must_use]
pub(crate) fn lasting(scenario: &Scenario, load: &RankLoad) -> f64 {
    let parts = holdings(scenario, load);
    let states = parts.iter().map(|part| {
        let states = states::states(scenario, part, load.weight_versions);
        let gradients = if scenario.peaks_by_moment() {
            0.0
        } else {
            states.gradients
        };
        states.weights + gradients + states.optimizer
    });
    if scenario.peaks_by_moment() {
        return states.sum();
    }
    let gathered = sharding::buffers(scenario, load, &parts);
    let gathered: f64 = gathered.iter().map(|buffer| buffer.bytes).sum();
    let dummies = if scenario.software.dummy_wgrad {
        dummies::bytes(scenario, load)
    } else {
        0.0
    };
    states.sum::<f64>() + gathered + dummies
}

/// The total of `rank_memory` from its parts, for a search over many layouts that share them: `chunks` with the
/// micro-batches of each that are alive. Equal to it but for rounding, because the sum runs in another order; where the
/// peak is that of a moment, what is there at every moment.
#[must_use]
pub fn needed(
    scenario: &Scenario,
    lasting: f64,
    chunks: impl Iterator<Item = (ChunkBytes, f64)>,
) -> Bytes {
    if scenario.peaks_by_moment() {
        return Bytes(fragmentation(scenario) * lasting) + process(scenario);
    }
    let (mut kept, mut heads) = (0.0, 0.0);
    let (mut momentary, mut recomputed, mut exchanged) = (0.0f64, 0.0f64, 0.0f64);
    for (chunk, alive) in chunks {
        kept += chunk.layers * alive;
        heads += if chunk.last { alive } else { 0.0 };
        momentary = momentary.max(chunk.momentary);
        recomputed = recomputed.max(chunk.recomputed);
        exchanged = exchanged.max(chunk.exchanged);
    }
    let (mut logits, mut peak, mut inputs) = (0.0, 0.0, 0.0);
    if heads > 0.0 {
        logits = heads * logits::held(scenario);
        peak = heads.min(1.0) * logits::momentary(scenario);
        inputs = heads * logits::inputs(scenario);
    }
    let blocks = lasting + kept + inputs + momentary + recomputed + exchanged;
    Bytes(fragmentation(scenario) * blocks + logits + peak) + process(scenario)
}

fn state_items(
    scenario: &Scenario,
    load: &RankLoad,
    parts: &[Holding],
) -> impl Iterator<Item = Item> {
    parts.iter().flat_map(|part| {
        let states = states::states(scenario, part, load.weight_versions);
        [
            Item::held(Component::Weights, part.name, states.weights),
            Item::held(Component::Gradients, part.name, states.gradients),
            Item::held(Component::Optimizer, part.name, states.optimizer),
        ]
    })
}

fn activation_items(
    scenario: &Scenario,
    chunks: &Chunks,
    load: &RankLoad,
) -> impl Iterator<Item = Item> {
    let alive = load.stages.iter().zip(&load.in_flight);
    alive.flat_map(|(stage, in_flight)| {
        let here = resident(scenario, *stage);
        let pieces = chunks.kept(*stage).pieces.iter();
        pieces.map(move |piece| {
            let bytes = piece.total() * in_flight * here;
            Item::held(Component::Activations, piece.name, bytes)
        })
    })
}

/// Bytes that the activations of a rank take on its host: of every layer but the last two of a stage.
#[must_use]
pub(crate) fn offloaded_activation_bytes(scenario: &Scenario, load: &RankLoad) -> f64 {
    let each = load.stages.iter().zip(&load.in_flight);
    each.map(|(stage, in_flight)| {
        let kept = activations::kept(scenario, *stage).bytes();
        kept * (1.0 - resident(scenario, *stage)) * in_flight
    })
    .sum()
}

/// Share of the layers of `stage` whose activations are on the GPU: all, or the last two where they are offloaded.
fn resident(scenario: &Scenario, stage: usize) -> f64 {
    let leaves = |offload: crate::run::Offload| offload.activations.is_some();
    if !scenario.offload.is_some_and(leaves) {
        return 1.0;
    }
    let layers = holding::layers_of(scenario, stage);
    (2.0 / (layers.end - layers.start).max(1) as f64).min(1.0)
}

/// Micro-batches of the last global stage that are alive on the rank.
fn heads_in_flight(scenario: &Scenario, load: &RankLoad) -> f64 {
    load.stages
        .iter()
        .zip(&load.in_flight)
        .filter(|(stage, _)| holding::is_last(scenario, **stage))
        .map(|(_, in_flight)| in_flight)
        .sum()
}

/// Logits and what the head reads, where the rank ends the model.
fn head_buffers(scenario: &Scenario, load: &RankLoad) -> Option<[Buffer; 2]> {
    let heads = heads_in_flight(scenario, load);
    (heads > 0.0).then(|| {
        [
            Buffer::held("logits", heads * logits::held(scenario)),
            Buffer::held("inputs of the head", heads * logits::inputs(scenario)),
        ]
    })
}

/// Those that do not depend on what is in flight.
fn buffers(
    scenario: &Scenario,
    chunks: &Chunks,
    load: &RankLoad,
    holdings: &[Holding],
) -> Vec<Buffer> {
    let mut parts = Vec::with_capacity(16);
    if scenario.software.dummy_wgrad {
        parts.push(Buffer::held(
            "dummy weight gradients",
            dummies::bytes(scenario, load),
        ));
    }
    parts.push(Buffer::held("library workspaces", workspaces(scenario)));
    parts.extend(transient::transients(scenario, chunks, load));
    parts.extend(sharding::buffers(scenario, load, holdings));
    parts
}

/// What cuBLAS and Transformer Engine take of PyTorch's allocator for their products: 32 MiB each from Hopper on, 8 and 4
/// before. A part of what every process needs. Source: PyTorch `CUDABlas.cpp` (`CUBLAS_WORKSPACE_CONFIG`), Transformer
/// Engine `module/base.py` (`get_cublas_workspace_size_bytes`).
fn workspaces(scenario: &Scenario) -> f64 {
    let mib = if scenario.gpu.computes_in_fp8() {
        64.0
    } else {
        12.0
    };
    mib * GIB / 1024.0
}

/// What a profile adds to the overhead.
const BY_YOUR_RUNS: &str = "what your own runs took besides";

fn overhead_items(scenario: &Scenario, load: &RankLoad, allocated: f64) -> [Item; 6] {
    let heads = heads_in_flight(scenario, load);
    let of_heads = |bytes: fn(&Scenario) -> f64, share: f64| {
        if share > 0.0 {
            share * bytes(scenario)
        } else {
            0.0
        }
    };
    let layout = &scenario.layout;
    let by_moment = scenario.peaks_by_moment();
    let part = |nature, name, bytes| Item {
        nature,
        ..Item::held(Component::Overhead, name, bytes)
    };
    let communicator = |size: u64| if size > 1 { PROCESS.value.0 } else { 0.0 };
    let unbroken = if by_moment { 0.0 } else { heads };
    let blocks = allocated - of_heads(logits::held, unbroken) - workspaces(scenario);
    [
        part(
            Nature::Process,
            "CUDA context, libraries and communicators",
            PROCESS.value.0 - workspaces(scenario),
        ),
        part(
            Nature::Process,
            "communicators of context parallelism",
            communicator(layout.cp),
        ),
        part(
            Nature::Process,
            "communicators of expert parallelism",
            communicator(layout.ep),
        ),
        part(
            Nature::Process,
            BY_YOUR_RUNS,
            scenario.run.profile.overhead().0,
        ),
        part(
            Nature::Held,
            "logits at their peak",
            of_heads(logits::momentary, unbroken.min(1.0)),
        ),
        part(
            Nature::Fragmentation,
            "fragmentation",
            (fragmentation(scenario) - 1.0) * blocks,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    #[test]
    fn the_parts_add_up_to_the_whole() {
        for model in [
            "llama-3.1-8b",
            "mixtral-8x7b",
            "deepseek-v3",
            "llama-3.1-70b",
        ] {
            for zero in 0..4 {
                let run = Run {
                    model: Based::preset(model),
                    zero,
                    cp: 2,
                    ..Run::default()
                };
                let scenario = Scenario::new(&run).unwrap();
                for stage in 0..4 {
                    let load = RankLoad {
                        stages: vec![stage],
                        in_flight: vec![3.0],
                        weight_versions: 1,
                    };
                    let long = rank_memory(&scenario, stage, &load).total;
                    let chunk = (chunk_bytes(&scenario, stage), 3.0);
                    let short = needed(&scenario, lasting(&scenario, &load), [chunk].into_iter());
                    assert!((short / long - 1.0).abs() < 1e-12, "{model} {zero} {stage}");
                }
            }
        }
    }
}
