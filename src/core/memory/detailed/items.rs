//! The named parts of a rank's memory: states, activations, buffers and what no tensor accounts for.

use super::activations::{self, Chunks};
use super::holding::{self, Holding};
use super::transient::{self, Buffer};
use super::{dummies, logits, sharding, states};
use crate::memory::estimate::{Component, Item, Nature, RankLoad};
use crate::memory::verdict::{PROCESS, fragmentation};
use crate::run::Scenario;
use crate::units::GIB;

pub(super) fn state_items(scenario: &Scenario, load: &RankLoad, parts: &[Holding]) -> impl Iterator<Item = Item> {
    parts.iter().flat_map(|part| {
        let states = states::states(scenario, part, load.weight_versions);
        [
            Item::held(Component::Weights, part.name, states.weights),
            Item::held(Component::Gradients, part.name, states.gradients),
            Item::held(Component::Optimizer, part.name, states.optimizer),
        ]
    })
}

pub(super) fn activation_items(scenario: &Scenario, chunks: &Chunks, load: &RankLoad) -> impl Iterator<Item = Item> {
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
pub(super) fn resident(scenario: &Scenario, stage: usize) -> f64 {
    let leaves = |offload: crate::run::Offload| offload.activations.is_some();
    if !scenario.offload.is_some_and(leaves) {
        return 1.0;
    }
    let layers = holding::layers_of(scenario, stage);
    (2.0 / (layers.end - layers.start).max(1) as f64).min(1.0)
}

/// Micro-batches of the last global stage that are alive on the rank.
pub(super) fn heads_in_flight(scenario: &Scenario, load: &RankLoad) -> f64 {
    load.stages
        .iter()
        .zip(&load.in_flight)
        .filter(|(stage, _)| holding::is_last(scenario, **stage))
        .map(|(_, in_flight)| in_flight)
        .sum()
}

/// Logits and what the head reads, where the rank ends the model.
pub(super) fn head_buffers(scenario: &Scenario, load: &RankLoad) -> Option<[Buffer; 2]> {
    let heads = heads_in_flight(scenario, load);
    (heads > 0.0).then(|| {
        [
            Buffer::held("logits", heads * logits::held(scenario)),
            Buffer::held("inputs of the head", heads * logits::inputs(scenario)),
        ]
    })
}

/// Those that do not depend on what is in flight.
pub(super) fn buffers(scenario: &Scenario, chunks: &Chunks, load: &RankLoad, holdings: &[Holding]) -> Vec<Buffer> {
    let mut parts = Vec::with_capacity(16);
    if scenario.software.dummy_wgrad {
        parts.push(Buffer::held("dummy weight gradients", dummies::bytes(scenario, load)));
    }
    parts.push(Buffer::held("library workspaces", workspaces(scenario)));
    parts.extend(transient::transients(scenario, chunks, load));
    parts.extend(sharding::buffers(scenario, load, holdings));
    parts
}

/// What cuBLAS and Transformer Engine take of PyTorch's allocator for their products: 32 MiB each from Hopper on, 8 and 4
/// before. A part of what every process needs. Source: PyTorch `CUDABlas.cpp` (`CUBLAS_WORKSPACE_CONFIG`), Transformer
/// Engine `module/base.py` (`get_cublas_workspace_size_bytes`).
pub(super) fn workspaces(scenario: &Scenario) -> f64 {
    let mib = if scenario.gpu.computes_in_fp8() { 64.0 } else { 12.0 };
    mib * GIB / 1024.0
}

/// What a profile adds to the overhead.
pub(super) const BY_YOUR_RUNS: &str = "what your own runs took besides";

pub(super) fn overhead_items(scenario: &Scenario, load: &RankLoad, allocated: f64) -> [Item; 6] {
    let heads = heads_in_flight(scenario, load);
    let of_heads = |bytes: fn(&Scenario) -> f64, share: f64| {
        if share > 0.0 { share * bytes(scenario) } else { 0.0 }
    };
    let layout = &scenario.layout;
    let by_moment = scenario.peaks_by_moment();
    let part = |nature, name, bytes| Item { nature, ..Item::held(Component::Overhead, name, bytes) };
    let communicator = |size: u64| if size > 1 { PROCESS.value.0 } else { 0.0 };
    let unbroken = if by_moment { 0.0 } else { heads };
    let blocks = allocated - of_heads(logits::held, unbroken) - workspaces(scenario);
    [
        part(Nature::Process, "CUDA context, libraries and communicators", PROCESS.value.0 - workspaces(scenario)),
        part(Nature::Process, "communicators of context parallelism", communicator(layout.cp)),
        part(Nature::Process, "communicators of expert parallelism", communicator(layout.ep)),
        part(Nature::Process, BY_YOUR_RUNS, scenario.run.profile.overhead().0),
        part(Nature::Held, "logits at their peak", of_heads(logits::momentary, unbroken.min(1.0))),
        part(Nature::Fragmentation, "fragmentation", (fragmentation(scenario) - 1.0) * blocks),
    ]
}
