//! The named parts of a rank's memory: states, activations, buffers and what no tensor accounts for.

use super::activations::{self, Chunks};
use super::holding::{self, Holding};
use super::{beside, dummies, logits, sharding, states, transient};
use crate::explain::symbols::{
    ALLOCATED, CUBLAS_WORKSPACE, ENGINE_WORKSPACE, HEADS_IN_FLIGHT, IN_FLIGHT, RESERVED, RESIDENT, STANDING, UNBROKEN,
    WORKSPACES,
};
use crate::explain::{Provenance, Quantity};
use crate::memory::estimate::{Component, Item, Lifetime, RankLoad};
use crate::memory::verdict::{FRAGMENTATION, PROCESS, fragmentation, process_words};
use crate::run::Scenario;
use crate::units::GIB;

/// An item, and the global stage of an activation.
pub(super) type Placed<Q> = (Item<Q>, Option<usize>);

pub(super) fn state_items<Q: Quantity>(
    scenario: &Scenario,
    load: &RankLoad,
    parts: &[Holding],
) -> impl Iterator<Item = Item<Q>> {
    let beside = beside::weights(scenario, parts);
    let own = parts.iter().flat_map(|part| {
        let states = states::states(scenario, part, load.weight_versions);
        [
            Item::held(Component::Weights, part.name, states.weights),
            Item::held(Component::Gradients, part.name, states.gradients),
            Item::held(Component::Optimizer, part.name, states.optimizer),
        ]
    });
    own.chain(beside)
}

/// Activations of all micro-batches in flight; an fp32 residual stream doubles the inputs of mixers.
pub(super) fn activation_items<Q: Quantity>(
    scenario: &Scenario,
    chunks: &Chunks<Q>,
    load: &RankLoad,
) -> impl Iterator<Item = Placed<Q>> {
    let alive = load.stages.iter().zip(&load.in_flight);
    let upcast = scenario.peaks_by_moment() && scenario.adapter.as_ref().is_some_and(|adapter| adapter.upcast);
    alive.flat_map(move |(stage, in_flight)| {
        let here = IN_FLIGHT.of::<Q>(*in_flight) * RESIDENT.factor::<Q>(resident(scenario, *stage));
        let pieces = chunks.kept(*stage).pieces.iter();
        pieces.map(move |piece| {
            let bytes = piece.total() * here;
            let bytes = if upcast && piece.enters { bytes * 2.0 } else { bytes };
            (Item::held(Component::Activations, piece.name, bytes), Some(*stage))
        })
    })
}

/// Bytes that the activations of a rank take on its host: of whole layers, or the inputs of modules of every layer but
/// the last of a stage.
pub(crate) fn offloaded_activation_bytes(scenario: &Scenario, load: &RankLoad) -> f64 {
    let each = load.stages.iter().zip(&load.in_flight);
    each.map(|(stage, in_flight)| {
        let kept = activations::kept(scenario, *stage);
        (kept.bytes() * (1.0 - resident(scenario, *stage)) + kept.away) * in_flight
    })
    .sum()
}

/// Share of the layers of `stage` whose activations are on the GPU: all but those that leave, at least the last two
/// where the number is unset. Copies of `n` of `l` layers take the forward pass of `l / n` layers each, and the first
/// are back before the backward pass needs them. Source: Transformer Engine `pytorch/cpu_offload.py`,
/// `layer_window_map`.
pub(super) fn resident(scenario: &Scenario, stage: usize) -> f64 {
    let whole = |offload: &crate::run::Offload| offload.activations.is_some_and(crate::run::Activations::are_all);
    let Some(offload) = scenario.offload.filter(whole) else {
        return 1.0;
    };
    let layers = holding::layers_of(scenario, stage);
    let layers = layers.end - layers.start;
    let stay = offload.layers.map_or(2, |leave| layers.saturating_sub(leave));
    (stay as f64 / layers.max(1) as f64).min(1.0)
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

/// Logits and the inputs of the head, where the rank ends the model.
pub(super) fn head_buffers<Q: Quantity>(scenario: &Scenario, load: &RankLoad) -> Option<[Item<Q>; 2]> {
    let alive = heads_in_flight(scenario, load);
    let heads = HEADS_IN_FLIGHT.of::<Q>(alive);
    (alive > 0.0).then(|| {
        [
            Item::buffer("logits", logits::held(scenario, heads)),
            Item::buffer("inputs of the head", logits::inputs(scenario, heads)),
        ]
    })
}

/// Buffers that do not depend on what is in flight.
pub(super) fn buffers<Q: Quantity>(
    scenario: &Scenario,
    chunks: &Chunks<Q>,
    load: &RankLoad,
    holdings: &[Holding],
) -> Vec<Item<Q>> {
    let mut parts = Vec::with_capacity(16);
    if scenario.software.dummy_wgrad {
        parts.push(Item::buffer("dummy weight gradients", dummies::bytes(scenario, load)));
    }
    parts.push(library_workspaces(scenario));
    parts.extend(transient::transients(scenario, chunks, load));
    parts.extend(sharding::buffers(scenario, load, holdings));
    parts
}

/// Bytes that cuBLAS and Transformer Engine take of PyTorch's allocator for their products: 32 MiB each from Hopper on,
/// 8 and 4 before. A part of what every process needs. Source: PyTorch `CUDABlas.cpp` (`CUBLAS_WORKSPACE_CONFIG`),
/// Transformer Engine `module/base.py` (`get_cublas_workspace_size_bytes`).
fn workspaces<Q: Quantity>(scenario: &Scenario) -> Q {
    let (cublas, engine) = if scenario.gpu.computes_in_fp8() { (32.0, 32.0) } else { (8.0, 4.0) };
    let mib = GIB / 1024.0;
    CUBLAS_WORKSPACE.of::<Q>(cublas * mib) + ENGINE_WORKSPACE.of::<Q>(engine * mib)
}

/// The workspaces of cuBLAS and Transformer Engine as an item.
pub(super) fn library_workspaces<Q: Quantity>(scenario: &Scenario) -> Item<Q> {
    Item::buffer("library workspaces", workspaces(scenario))
}

pub(super) fn overhead_items<Q: Quantity>(scenario: &Scenario, load: &RankLoad, allocated: f64) -> [Item<Q>; 6] {
    let alive = if scenario.peaks_by_moment() { 0.0 } else { heads_in_flight(scenario, load) };
    let of_heads = |bytes: fn(&Scenario, Q) -> Q| {
        if alive > 0.0 { bytes(scenario, HEADS_IN_FLIGHT.of(alive)) } else { Q::number(0.0) }
    };
    let part = |lifetime, name, bytes| Item { lifetime, ..Item::held(Component::Overhead, name, bytes) };
    let process = |bytes| Q::marked(bytes, Provenance::LookedUp).cited(PROCESS.source, PROCESS.place);
    let communicator = |size: u64| if size > 1 { process(PROCESS.value.0) } else { Q::number(0.0) };
    let (layout, workspaces) = (&scenario.layout, workspaces::<f64>(scenario));
    let reserved = RESERVED.of::<Q>(fragmentation(scenario)).cited(FRAGMENTATION.source, FRAGMENTATION.place);
    let standing = states::standing(scenario, load);
    let unbroken = UNBROKEN.of::<Q>(of_heads(logits::held).value())
        + WORKSPACES.of::<Q>(workspaces)
        + STANDING.summand::<Q>(standing);
    let blocks = (reserved - Q::number(1.0)) * (ALLOCATED.of::<Q>(allocated) - unbroken);
    [
        part(Lifetime::Process, process_words(scenario), process(PROCESS.value.0 - workspaces)),
        part(Lifetime::Process, "communicators of context parallelism", communicator(layout.cp)),
        part(Lifetime::Process, "communicators of expert parallelism", communicator(layout.ep)),
        part(Lifetime::Process, "what your own runs took besides", Q::number(scenario.run.profile.overhead().0)),
        part(Lifetime::Held, "logits at their peak", of_heads(logits::momentary)),
        part(Lifetime::Fragmentation, "fragmentation", blocks),
    ]
}
