//! One rank, part by part, and all ranks.

use super::activations::Chunks;
use super::holding::holdings;
use super::items::{Placed, activation_items, buffers, head_buffers, overhead_items, state_items};
use super::moments::{self, PeakMoment};
use crate::explain::Quantity;
use crate::memory::estimate::{Item, Lifetime, RankLoad, StageMemory};
use crate::run::Scenario;

/// One rank, part by part.
pub(crate) fn rank_memory(scenario: &Scenario, rank: usize, load: &RankLoad) -> StageMemory {
    let chunks = Chunks::of(scenario);
    let lasting = Lasting::of(scenario, &chunks, load);
    memory_of(scenario, &chunks, &lasting, (rank, load))
}

/// A rank at one moment of a step, where the estimate is that of the fullest one; in a forward pass, none, without
/// what is there for a moment.
pub(crate) fn memory_at(scenario: &Scenario, rank: usize, load: &RankLoad, moment: Option<PeakMoment>) -> StageMemory {
    let items = moments::items_at(scenario, &Chunks::of(scenario), load, moment.unwrap_or(PeakMoment::Backward));
    let mut memory = StageMemory::empty(rank, load.stage_microbatches());
    let mut allocated = 0.0;
    for item in items.into_iter().filter(|item| moment.is_some() || item.lifetime != Lifetime::Momentary) {
        allocated += item.bytes;
        memory.add(item.plain());
    }
    for item in overhead_items::<f64>(scenario, load, allocated) {
        memory.add(item.plain());
    }
    memory.summed()
}

/// All ranks, where what their `chunks` keep is known.
pub(crate) fn ranks(scenario: &Scenario, chunks: &Chunks, loads: &[RankLoad]) -> Vec<StageMemory> {
    let mut lasting: Vec<(&RankLoad, Lasting<f64>)> = Vec::new();
    let ranks = loads.iter().enumerate().map(|(rank, load)| {
        let alike = |(other, _): &(&RankLoad, _)| chunks.are_alike(other, load);
        let at = lasting.iter().position(alike).unwrap_or(lasting.len());
        if at == lasting.len() {
            lasting.push((load, Lasting::of(scenario, chunks, load)));
        }
        memory_of(scenario, chunks, &lasting[at].1, (rank, load))
    });
    ranks.collect()
}

/// Items of a rank that do not depend on what is in flight: the same on all ranks whose chunks are alike.
pub(super) struct Lasting<Q> {
    states: Vec<Item<Q>>,
    buffers: Vec<Item<Q>>,
}

impl<Q: Quantity> Lasting<Q> {
    pub(super) fn of(scenario: &Scenario, chunks: &Chunks<Q>, load: &RankLoad) -> Self {
        if scenario.peaks_by_moment() {
            return Self { states: Vec::new(), buffers: Vec::new() };
        }
        let parts = holdings(scenario, load);
        Self { states: state_items(scenario, load, &parts).collect(), buffers: buffers(scenario, chunks, load, &parts) }
    }
}

/// Hands every item of a rank to `add`, in the order of the bars: the one description of the rank's memory.
pub(super) fn inventory<Q: Quantity>(
    scenario: &Scenario,
    chunks: &Chunks<Q>,
    lasting: &Lasting<Q>,
    load: &RankLoad,
    mut add: impl FnMut(Placed<Q>),
) {
    let mut allocated = 0.0;
    let mut counted = |placed: Placed<Q>| {
        allocated += placed.0.bytes.value();
        add(placed);
    };
    if scenario.peaks_by_moment() {
        moments::items(scenario, chunks, load).into_iter().for_each(&mut counted);
    } else {
        let apart = |item: Item<Q>| (item, None);
        lasting.states.iter().copied().map(apart).for_each(&mut counted);
        activation_items(scenario, chunks, load).for_each(&mut counted);
        head_buffers(scenario, load).into_iter().flatten().map(apart).for_each(&mut counted);
        lasting.buffers.iter().copied().map(apart).for_each(&mut counted);
    }
    for item in overhead_items(scenario, load, allocated) {
        add((item, None));
    }
}

/// One rank, where its lasting items are known.
fn memory_of(
    scenario: &Scenario,
    chunks: &Chunks,
    lasting: &Lasting<f64>,
    (rank, load): (usize, &RankLoad),
) -> StageMemory {
    let mut memory = StageMemory::empty(rank, load.stage_microbatches());
    inventory(scenario, chunks, lasting, load, |(item, _)| memory.add(item.plain()));
    memory.summed()
}
