//! Tensors that exist only while one layer or one exchange is under way: the largest is added to what is held.

use super::activations::{Chunks, cut};
use super::holding::kinds_of;
use crate::explain::symbols::{
    CONTEXT, EXPERT_FFN, FFN, HEADS, HIDDEN, KV_HEADS, LATENT_WIDTH, PLAIN_DIM, ROTARY_DIM, TOP_K, VALUE_DIM,
};
use crate::explain::{Provenance, Quantity};
use crate::memory::estimate::{Item, RankLoad};
use crate::model::{Cut, Ffn, Heads, key_value_widths};
use crate::run::{CpComm, Scenario, Schedule};

/// A momentary tensor with its name.
pub type Named<Q> = (&'static str, Q);

/// Everything momentary on the rank of `load`, largest last-layer backward or exchange first; the tensors of a
/// recomputed layer are beside it because they are alive during that backward.
pub(crate) fn transients<Q: Quantity>(
    scenario: &Scenario,
    chunks: &Chunks<Q>,
    load: &RankLoad,
) -> impl Iterator<Item = Item<Q>> {
    let (name, bytes) = largest(scenario, &load.stages);
    let again = load.stages.iter().map(|stage| chunks.kept(*stage).recomputed).fold(0.0, f64::max);
    let again = Q::marked(again, Provenance::AddedUp);
    let again = again.noted("tensors that recomputation drops, of the largest layer");
    let momentary = [Item::momentary(name, bytes), Item::momentary("recomputed layer", again)];
    let exchanges = exchanges_behind_compute(scenario.run.schedule) && scenario.layout.pp > 1;
    let beside = exchanges.then(|| Item::buffer("p2p double buffers", both_ways(scenario, &load.stages)));
    momentary.into_iter().chain(beside)
}

/// The largest backward pass of a layer or exchange on a rank with `stages`.
pub fn largest<Q: Quantity>(scenario: &Scenario, stages: &[usize]) -> Named<Q> {
    let list = candidates::<Q>(scenario, stages).into_iter();
    list.fold(("", Q::number(0.0)), |most: Named<Q>, one| if one.1.value() > most.1.value() { one } else { most })
}

/// A send and a receive, where there are neighbours.
pub(super) fn both_ways<Q: Quantity>(scenario: &Scenario, stages: &[usize]) -> Q {
    if scenario.layout.pp > 1 { boundary::<Q>(scenario, stages) * 2.0 } else { Q::number(0.0) }
}

/// Bytes that one of `stages` receives of one micro-batch: in bf16 `2 T h`, over t with sequence parallelism, once more
/// for each module of multi-token prediction that is before it.
fn boundary<Q: Quantity>(scenario: &Scenario, stages: &[usize]) -> Q {
    let cut = cut::<Q>(scenario);
    let before = stages.iter().filter_map(|stage| stage.checked_sub(1));
    let states = before.map(|stage| scenario.states_sent(stage)).max();
    let one = cut.tokens * HIDDEN.of::<Q>(scenario.model.hidden) / cut.residual * cut.element;
    one * states.unwrap_or(1) as f64
}

/// Schedules that send and receive while they compute.
pub(super) fn exchanges_behind_compute(schedule: Schedule) -> bool {
    schedule.pairs_passes()
}

fn candidates<Q: Quantity>(scenario: &Scenario, stages: &[usize]) -> Vec<Named<Q>> {
    let cut = cut::<Q>(scenario);
    let mut list = ffn(scenario, stages, &cut);
    list.extend(attention(scenario, &cut));
    if scenario.layout.cp > 1 {
        list.push(context_exchange(scenario, &cut));
    }
    if scenario.layout.sequence_parallel {
        // The gather receives the parts of the others; the rank's own is kept already.
        let one = Q::number(1.0);
        let hidden = cut.tokens * HIDDEN.of::<Q>(scenario.model.hidden) * cut.element;
        list.push(("sequence-parallel gather", hidden * (one - one / cut.tp)));
    }
    if scenario.layout.pp > 1 {
        list.push(("p2p receive buffer", boundary(scenario, stages)));
    }
    list
}

/// Backward of a gated FFN `4 T f / t`, of a plain one `2 T f / t`; of experts the same over their rows, and the
/// buffers that dispatch and combine them, `4 T K h`.
fn ffn<Q: Quantity>(scenario: &Scenario, stages: &[usize], cut: &Cut<Q>) -> Vec<Named<Q>> {
    let model = &scenario.model;
    let bytes = if model.gated_ffn { 2.0 } else { 1.0 } * cut.element;
    let mut list = Vec::new();
    for stage in stages {
        let kinds = kinds_of(scenario, *stage);
        let any = |test: fn(Ffn) -> bool| kinds.iter().any(|(kind, _)| test(kind.ffn));
        if any(Ffn::is_dense) {
            list.push(("FFN backward", cut.tokens * FFN.of::<Q>(model.ffn) / cut.tp * bytes));
        }
        if let Some(shape) = model.moe.filter(|_| any(Ffn::is_routed)) {
            let rows = cut.tokens / cut.residual * TOP_K.of::<Q>(shape.top_k) * cut.routed;
            let input = if shape.latent > 0 { LATENT_WIDTH } else { HIDDEN };
            let input = input.of::<Q>(shape.input(model.hidden));
            list.push(("experts' backward", rows * EXPERT_FFN.of::<Q>(shape.expert_ffn) * bytes));
            list.push(("dispatch and combine", rows * input * (2.0 * cut.element)));
        }
    }
    list
}

/// Gradients of queries, keys, values and output of a latent attention, `2 T a (2 (n + r) + v) / t`; of stored scores
/// `4 a s T / t`.
fn attention<Q: Quantity>(scenario: &Scenario, cut: &Cut<Q>) -> Vec<Named<Q>> {
    let model = &scenario.model;
    let rows = cut.tokens * HEADS.of::<Q>(model.heads) / cut.tp;
    let mut list = Vec::new();
    if let Some(mla) = model.mla {
        let query = PLAIN_DIM.of::<Q>(mla.qk_nope_head_dim) + ROTARY_DIM.of::<Q>(mla.qk_rope_head_dim);
        let width = query * 2.0 + VALUE_DIM.of::<Q>(mla.v_head_dim);
        list.push(("latent attention backward", rows * width * cut.element));
    }
    if !cut.flash {
        list.push(("gradients of the scores", rows * cut.keys * (2.0 * cut.element)));
    }
    list
}

/// Keys and values on their way between context-parallel ranks.
///
/// Ring: the next block arrives behind the present one, twice in the backward pass: `2 · 2 kv`. All-gather: the other
/// ranks' blocks and, in the backward pass, their gradients: `2 (c − 1) kv`. Ulysses: the largest of `4 qkv`,
/// `3 qkv + o` and `2 qkv + 4 o`. Source: SimuMax (its seven runs with context parallelism).
fn context_exchange<Q: Quantity>(scenario: &Scenario, cut: &Cut<Q>) -> Named<Q> {
    let kinds = scenario.model.all_kinds();
    let local = |heads: Heads| {
        let [key, value] = key_value_widths::<Q>(&heads);
        let kv_heads = (KV_HEADS.of::<Q>(heads.key_value) / cut.tp).max(Q::number(1.0));
        let a = HEADS.of::<Q>(heads.query) / cut.tp;
        let pair = if heads.value == heads.qk { key * 2.0 } else { key + value };
        [a * key, kv_heads * pair, a * value]
    };
    let zero = Q::number(0.0);
    let each = kinds.iter().filter_map(|(kind, _)| scenario.attended(kind.mixer).map(local));
    let [query, pair, output] = each.fold([zero; 3], |widest, one| {
        if one[0].value() + one[1].value() > widest[0].value() + widest[1].value() { one } else { widest }
    });
    let sent = |width: Q| cut.tokens * width * cut.element;
    match scenario.run.cp_comm {
        CpComm::Ring => ("keys and values of the ring", sent(pair * 4.0)),
        CpComm::AllGather => {
            let others = CONTEXT.of::<Q>(scenario.layout.cp) - Q::number(1.0);
            ("gathered keys and values", sent(others * pair * 2.0))
        }
        // The ring behind an all-to-all has blocks as large as one without.
        CpComm::Ulysses | CpComm::Hierarchical => {
            let qkv = query + pair;
            let worst = (qkv * 4.0).max(qkv * 3.0 + output).max(qkv * 2.0 + output * 4.0);
            ("Ulysses exchange", sent(worst))
        }
    }
}
