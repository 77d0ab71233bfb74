//! One rank, part by part, and all ranks.

use super::activations::Chunks;
use super::holding::holdings;
use super::items::{activation_items, buffers, head_buffers, overhead_items, state_items};
use super::moments;
use super::transient::Buffer;
use crate::memory::estimate::{Item, RankLoad, StageMemory};
use crate::run::Scenario;

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
        Self { states: state_items(scenario, load, &parts).collect(), buffers: buffers(scenario, chunks, load, &parts) }
    }
}

/// One rank, where what it holds whatever is in flight is known.
fn memory_of(scenario: &Scenario, chunks: &Chunks, lasting: &Lasting, (rank, load): (usize, &RankLoad)) -> StageMemory {
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
        states.chain(activation_items(scenario, chunks, load)).chain(buffers.map(Buffer::item)).for_each(add);
    }
    for item in overhead_items(scenario, load, allocated) {
        memory.add(item);
    }
    memory.summed()
}
