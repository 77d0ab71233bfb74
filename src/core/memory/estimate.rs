//! The result of a memory method: bytes by rank and purpose, the capacity they are held against, and a verdict.

use super::verdict::{MemoryNeed, Verdict};
use crate::explain::Quantity;
use crate::issue::Issue;
use crate::sort::sort_by;
use crate::statics::named;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Stages and micro-batches that the schedule makes one pipeline rank hold.
#[derive(Clone, Debug, PartialEq)]
pub struct RankLoad {
    /// Global stages whose weights the rank holds.
    pub stages: Vec<usize>,
    /// Activations of each of `stages` alive when the rank's activations peak, in micro-batches (splits count their
    /// fraction).
    pub in_flight: Vec<f64>,
    /// Versions of the weights kept at once: 1, or more with weight stashing.
    pub weight_versions: u64,
}

impl RankLoad {
    /// In-flight activations in stage-micro-batches: chunks over chunks a rank.
    pub(crate) fn stage_microbatches(&self) -> f64 {
        self.in_flight.iter().sum::<f64>() / self.stages.len().max(1) as f64
    }
}

named! {
    /// A purpose of memory, in the order of the bars.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Component: name {
        /// Weights that compute.
        Weights = "weights",
        /// Gradients and their accumulation.
        Gradients = "gradients",
        /// Optimizer states.
        Optimizer = "optimizer",
        /// Activations kept for the backward pass.
        Activations = "activations",
        /// Logits, transients, what is being gathered.
        Buffers = "buffers",
        /// Memory that no tensor accounts for.
        Overhead = "overhead",
    }
}

/// Lifetime of something in memory, and its holder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// Stays, or comes and goes with activations.
    #[default]
    Held,
    /// There only while a backward op runs.
    Momentary,
    /// Context, libraries and communicators of the process: outside PyTorch's allocator.
    Process,
    /// Memory that the allocator holds beyond what it has given out.
    Fragmentation,
}

/// A named part of a component: "attention output", "CUDA context".
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Item<Q = Bytes> {
    /// The component it is part of.
    pub component: Component,
    /// Its name on the page.
    #[serde(serialize_with = "crate::statics::name")]
    pub name: &'static str,
    /// Its size.
    pub bytes: Q,
    /// Its lifetime and holder.
    #[serde(skip)]
    pub lifetime: Lifetime,
}

impl<Q> Item<Q> {
    /// `bytes` of `component` that are called `name` and are held.
    pub fn held(component: Component, name: &'static str, bytes: Q) -> Self {
        Self { component, name, bytes, lifetime: Lifetime::Held }
    }
    /// A buffer that stays, or comes and goes with activations.
    pub(super) fn buffer(name: &'static str, bytes: Q) -> Self {
        Self::held(Component::Buffers, name, bytes)
    }
    /// A buffer that is there only while a backward op runs.
    pub(super) fn momentary(name: &'static str, bytes: Q) -> Self {
        Self { lifetime: Lifetime::Momentary, ..Self::buffer(name, bytes) }
    }
}

impl<Q: Quantity> Item<Q> {
    /// The item with a plain number of bytes.
    pub(super) fn plain(self) -> Item {
        let Self { component, name, bytes, lifetime } = self;
        Item { component, name, bytes: Bytes(bytes.value()), lifetime }
    }
}

/// Items of most ranks, at most.
const ITEMS: usize = 32;

/// The memory of one pipeline rank, a GPU of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StageMemory {
    /// Pipeline rank, 0-based.
    pub stage: usize,
    #[serde(rename = "weights_bytes")]
    pub weights: Bytes,
    /// Gradients and their accumulation.
    #[serde(rename = "gradients_bytes")]
    pub gradients: Bytes,
    /// Optimizer states.
    #[serde(rename = "optimizer_bytes")]
    pub optimizer: Bytes,
    /// Activations kept for the backward pass.
    #[serde(rename = "activations_bytes")]
    pub activations: Bytes,
    /// Transient and communication buffers.
    #[serde(rename = "buffers_bytes")]
    pub buffers: Bytes,
    /// Memory that no tensor of the model accounts for: context, communicators, fragmentation.
    #[serde(rename = "overhead_bytes")]
    pub overhead: Bytes,
    #[serde(rename = "total_bytes")]
    pub total: Bytes,
    /// In-flight activations, in stage-micro-batches.
    pub in_flight: f64,
    /// Named parts of the components.
    pub items: Vec<Item>,
}

impl StageMemory {
    /// A rank whose components are the sums of `items`; items of one name are joined, empty ones left out.
    pub(crate) fn of_items(stage: usize, in_flight: f64, items: impl IntoIterator<Item = Item>) -> Self {
        let mut memory = Self::empty(stage, in_flight);
        for item in items {
            memory.add(item);
        }
        memory.summed()
    }
    /// A rank of which nothing is counted yet.
    pub fn empty(stage: usize, in_flight: f64) -> Self {
        Self { stage, in_flight, items: Vec::with_capacity(ITEMS), ..Self::default() }
    }
    /// Counts `item` in its component, joined to one of its name.
    pub fn add(&mut self, item: Item) {
        *self.component_mut(item.component) += item.bytes;
        let same = self.items.iter_mut().find(|known| known.component == item.component && known.name == item.name);
        match same {
            Some(same) => same.bytes += item.bytes,
            None if item.bytes == Bytes::ZERO => {}
            None => self.items.push(item),
        }
    }
    fn component_mut(&mut self, component: Component) -> &mut Bytes {
        match component {
            Component::Weights => &mut self.weights,
            Component::Gradients => &mut self.gradients,
            Component::Optimizer => &mut self.optimizer,
            Component::Activations => &mut self.activations,
            Component::Buffers => &mut self.buffers,
            Component::Overhead => &mut self.overhead,
        }
    }
    /// Bytes that PyTorch has allocated at the peak (`max_memory_allocated`): all but the overhead, and so without
    /// [`Self::logits_beyond`]. Measured peaks are met without them (`tests/memory/measured.rs`).
    pub fn allocated(&self) -> Bytes {
        self.total - self.overhead
    }
    /// Bytes of the logits at their peak beyond those that the loss holds: the need of a GPU has them, and so have the
    /// tensors that a message of running out of memory is compared with.
    pub fn logits_beyond(&self) -> Bytes {
        let others = [Lifetime::Process, Lifetime::Fragmentation];
        let tensors = self.items.iter().filter(|item| !others.contains(&item.lifetime));
        tensors.filter(|item| item.component == Component::Overhead).map(|item| item.bytes).sum()
    }
    /// Bytes that PyTorch's allocator holds at the peak (`max_memory_reserved`): all but what the process takes beside
    /// it.
    pub fn reserved(&self) -> Bytes {
        let process = self.items.iter().filter(|item| item.lifetime == Lifetime::Process);
        self.total - process.map(|item| item.bytes).sum()
    }
    /// The named parts of `component`, largest first.
    pub fn parts(&self, component: Component) -> Vec<&Item> {
        let items = self.items.iter().filter(|item| item.component == component);
        let mut items: Vec<&Item> = items.collect();
        sort_by(&mut items, |a, b| b.bytes.0.total_cmp(&a.bytes.0));
        items
    }
    /// Fills in the total.
    pub(crate) fn summed(mut self) -> Self {
        self.total = self.components().into_iter().map(|(_, bytes)| bytes).sum();
        self
    }
    /// The six components in the order of the bars.
    pub fn components(&self) -> [(&'static str, Bytes); 6] {
        [
            ("weights", self.weights),
            ("gradients", self.gradients),
            ("optimizer", self.optimizer),
            ("activations", self.activations),
            ("buffers", self.buffers),
            ("overhead", self.overhead),
        ]
    }
}

/// A method's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// One entry a pipeline rank.
    pub per_stage: Vec<StageMemory>,
    /// Memory that it is held against.
    pub capacity: Bytes,
    /// Need of the fullest rank, by the method's rule.
    pub need: MemoryNeed,
    /// Fields that the method ignores.
    pub warnings: Vec<Issue>,
}

impl Estimate {
    /// The estimate of ranks `per_stage`, of which the fullest one's bytes become a `need`.
    pub fn new(
        per_stage: Vec<StageMemory>,
        capacity: Bytes,
        need: impl Fn(Bytes) -> MemoryNeed,
        warnings: Vec<Issue>,
    ) -> Self {
        Self { need: need(fullest(&per_stage).1), per_stage, capacity, warnings }
    }

    /// The fullest rank; the first of equals.
    pub fn peak(&self) -> (usize, Bytes) {
        fullest(&self.per_stage)
    }

    /// Fits, tight or out of memory.
    pub fn verdict(&self) -> Verdict {
        self.need.verdict(self.capacity)
    }
}

fn fullest(ranks: &[StageMemory]) -> (usize, Bytes) {
    ranks.iter().fold(
        (0, Bytes::ZERO),
        |(stage, peak), rank| {
            if rank.total.0 > peak.0 { (rank.stage, rank.total) } else { (stage, peak) }
        },
    )
}
