//! What exists only while one layer or one exchange is under way: the largest of these is added to what is held.

use super::activations::{Chunks, cut};
use super::holding::kinds_of;
use crate::memory::estimate::{Component, Item, Nature, RankLoad};
use crate::model::{Cut, Ffn};
use crate::run::{CpComm, Scenario, Schedule};

/// A momentary tensor with its name.
pub type Named = (&'static str, f64);

/// A buffer beside the states and activations of a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Buffer {
    /// What it is.
    pub name: &'static str,
    /// How large.
    pub bytes: f64,
    /// How long it is there.
    pub nature: Nature,
}

impl Buffer {
    /// One that stays, or comes and goes with activations.
    pub const fn held(name: &'static str, bytes: f64) -> Self {
        let nature = Nature::Held;
        Self { name, bytes, nature }
    }
    /// One that is there only while a backward op runs.
    pub const fn momentary(name: &'static str, bytes: f64) -> Self {
        let nature = Nature::Momentary;
        Self { name, bytes, nature }
    }
    /// Its part of the memory of a rank.
    pub fn item(self) -> Item {
        Item { nature: self.nature, ..Item::held(Component::Buffers, self.name, self.bytes) }
    }
}

/// Everything momentary on the rank of `load`, largest last-layer backward or exchange first; what recomputation
/// brings back stands beside it because it is alive during that backward.
pub(crate) fn transients(scenario: &Scenario, chunks: &Chunks, load: &RankLoad) -> impl Iterator<Item = Buffer> {
    let (name, bytes) = largest(scenario, &load.stages);
    let again = load.stages.iter().map(|stage| chunks.kept(*stage).recomputed);
    let momentary = [Buffer::momentary(name, bytes), Buffer::momentary("recomputed layer", again.fold(0.0, f64::max))];
    let beside = double_buffers(scenario, &load.stages).map(|bytes| Buffer::held("p2p double buffers", bytes));
    momentary.into_iter().chain(beside)
}

/// The largest backward pass of a layer or exchange on a rank with `stages`.
pub fn largest(scenario: &Scenario, stages: &[usize]) -> Named {
    let list = candidates(scenario, stages).into_iter();
    list.fold(("", 0.0), |most: Named, one| if one.1 > most.1 { one } else { most })
}

/// What sends and receives beside compute hold, where the schedule has them.
pub(crate) fn double_buffers(scenario: &Scenario, stages: &[usize]) -> Option<f64> {
    let beside = exchanges_behind_compute(scenario.run.schedule) && scenario.layout.pp > 1;
    beside.then(|| both_ways(scenario, stages))
}

/// A send and a receive, where there are neighbours.
pub(super) fn both_ways(scenario: &Scenario, stages: &[usize]) -> f64 {
    if scenario.layout.pp > 1 { 2.0 * boundary(scenario, stages) } else { 0.0 }
}

/// What one of `stages` receives of one micro-batch: in bf16 `2 T h`, over t with sequence parallelism, once more for each
/// module of multi-token prediction that stands before it.
fn boundary(scenario: &Scenario, stages: &[usize]) -> f64 {
    let cut = cut(scenario);
    let before = stages.iter().filter_map(|stage| stage.checked_sub(1));
    let states = before.map(|stage| scenario.states_sent(stage)).max();
    let one = cut.element * cut.tokens * scenario.model.hidden as f64 / cut.residual;
    one * states.unwrap_or(1) as f64
}

/// Schedules that send and receive while they compute.
pub(super) fn exchanges_behind_compute(schedule: Schedule) -> bool {
    matches!(schedule, Schedule::DualPipe | Schedule::DualPipeV | Schedule::Overlap | Schedule::InterleavedOverlap)
}

fn candidates(scenario: &Scenario, stages: &[usize]) -> Vec<Named> {
    let cut = cut(scenario);
    let mut list = ffn(scenario, stages, &cut);
    list.extend(attention(scenario, &cut));
    if scenario.layout.cp > 1 {
        list.push(context_exchange(scenario, &cut));
    }
    if scenario.layout.sequence_parallel {
        // What the gather receives; the rank's own part is kept already.
        let whole = cut.element * cut.tokens * scenario.model.hidden as f64;
        list.push(("sequence-parallel gather", whole * (1.0 - 1.0 / cut.tp)));
    }
    if scenario.layout.pp > 1 {
        list.push(("p2p receive buffer", boundary(scenario, stages)));
    }
    list
}

/// Backward of a gated FFN `4 T f / t`, of a plain one `2 T f / t`; of experts the same over their rows, and the
/// buffers that dispatch and combine them, `4 T K h`.
fn ffn(scenario: &Scenario, stages: &[usize], cut: &Cut) -> Vec<Named> {
    let model = &scenario.model;
    let bytes = if model.gated_ffn { 2.0 } else { 1.0 } * cut.element;
    let mut list = Vec::new();
    for stage in stages {
        let kinds = kinds_of(scenario, *stage);
        let any = |test: fn(Ffn) -> bool| kinds.iter().any(|(kind, _)| test(kind.ffn));
        if any(Ffn::is_dense) {
            list.push(("FFN backward", bytes * cut.tokens * model.ffn as f64 / cut.tp));
        }
        if let Some(shape) = model.moe.filter(|_| any(Ffn::is_routed)) {
            let rows = cut.tokens / cut.residual * shape.top_k as f64 * cut.routed;
            let expert = bytes * rows * shape.expert_ffn as f64;
            list.push(("experts' backward", expert));
            list.push(("dispatch and combine", 2.0 * cut.element * rows * shape.input(model.hidden) as f64));
        }
    }
    list
}

/// Gradients of queries, keys, values and output of a latent attention, `2 T a (2 (n + r) + v) / t`; of stored scores
/// `4 a s T / t`.
fn attention(scenario: &Scenario, cut: &Cut) -> Vec<Named> {
    let model = &scenario.model;
    let rows = cut.tokens * model.heads as f64 / cut.tp;
    let mut list = Vec::new();
    if let Some(mla) = model.mla {
        let query = mla.qk_nope_head_dim + mla.qk_rope_head_dim;
        let width = (2 * query + mla.v_head_dim) as f64;
        list.push(("latent attention backward", cut.element * rows * width));
    }
    if !cut.flash {
        list.push(("gradients of the scores", 2.0 * cut.element * rows * cut.keys));
    }
    list
}

/// Keys and values on their way between context-parallel ranks.
///
/// Ring: the next block arrives behind the present one, twice in the backward pass: `2 · 2 kv`. All-gather: the other
/// ranks' blocks and, in the backward pass, their gradients: `2 (c − 1) kv`. Ulysses: the largest of `4 qkv`,
/// `3 qkv + o` and `2 qkv + 4 o`. Source: SimuMax (its seven runs with context parallelism).
fn context_exchange(scenario: &Scenario, cut: &Cut) -> Named {
    let (model, cp) = (&scenario.model, scenario.layout.cp as f64);
    let kinds = model.all_kinds();
    let widths = kinds.iter().filter_map(|(kind, _)| {
        let heads = scenario.attended(kind.mixer)?;
        let kv_heads = (heads.key_value as f64 / cut.tp).max(1.0);
        let pair = kv_heads * (heads.qk + heads.value) as f64;
        Some((heads.queries() as f64 / cut.tp, pair, heads.output() as f64 / cut.tp))
    });
    let (query, pair, output) =
        widths.fold(
            (0.0, 0.0, 0.0),
            |widest: (f64, f64, f64), one| {
                if one.0 + one.1 > widest.0 + widest.1 { one } else { widest }
            },
        );
    let bytes = cut.element * cut.tokens;
    match scenario.run.cp_comm {
        CpComm::Ring => ("keys and values of the ring", bytes * 4.0 * pair),
        CpComm::AllGather => ("gathered keys and values", bytes * 2.0 * (cp - 1.0) * pair),
        CpComm::Ulysses => {
            let qkv = query + pair;
            let worst = (4.0 * qkv).max(3.0 * qkv + output).max(2.0 * qkv + 4.0 * output);
            ("Ulysses exchange", bytes * worst)
        }
    }
}
