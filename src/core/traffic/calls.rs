//! Messages by kind of collective: how many a GPU takes part in, and what it sends in them.
//!
//! Counted as the time of a row is: a message a layer, pass and micro-batch; gradients and weights of an update as one
//! for each group of ranks, however many buckets the software cuts them into.
//! Sources: Korthikanti 2022, section 4.2.2 (gathers and scatters of a layer); ZeRO, section 7; Llama 3, section 3.3.2
//! (all-gather of keys and values); DeepSpeed Ulysses, section 3.2 (four all-to-alls of attention).

use super::dispatch::{is_once_a_node, once_a_node};
use super::gradients::{at_update, embedding_bytes, embedding_group, replica_bytes, rings, shared_bytes, sharing};
use super::held::HeldParameters;
use super::shards::{repeated, with_microbatch};
use super::volume::{
    boundary_bytes, clone_bytes, context_bytes, exchanged_bytes, expert_bytes, gathered_share, layer_block,
    routed_layers, sent_states, stage_message, tensor_pairs,
};
use crate::cluster::{Link, ParallelAxis, RankGroup};
use crate::model::Mixer;
use crate::run::{CpComm, Module, Recompute, Reduction, Scenario};
use crate::units::{Bytes, by_field};
use serde::Serialize;

/// A kind of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallKind {
    AllGather,
    ReduceScatter,
    AllReduce,
    AllToAll,
    /// To one other rank.
    Send,
}

/// Messages of one kind in a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CallCount {
    pub kind: CallKind,
    /// Messages of a GPU.
    pub count: u64,
    /// Bytes that a GPU sends in one message, the mean where they differ.
    pub bytes: Bytes,
}

/// Some messages of one kind: their number, and the bytes that a GPU sends in all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Posted {
    pub count: f64,
    pub bytes: Bytes,
    /// Of the bytes, those over its network card; the others go over the links of its node.
    pub card: Bytes,
    /// Of those over the card, gradients and weights of routed experts.
    pub experts: Bytes,
}

by_field!(Posted { count, bytes, card, experts });

impl Posted {
    /// `count` messages of `bytes` each.
    fn each(count: f64, bytes: f64) -> Self {
        Self::all(count, count * bytes)
    }
    /// `count` messages with `bytes` in all; some of them may be shorter than others.
    fn all(count: f64, bytes: f64) -> Self {
        if bytes > 0.0 { Self { count, bytes: Bytes(bytes), ..Self::default() } } else { Self::default() }
    }
    /// A `share` of the bytes goes over the card.
    fn leaving(self, share: f64) -> Self {
        Self { card: self.bytes * share, ..self }
    }
    /// They are gradients or weights of routed experts where `experts` says so.
    fn of_experts(self, experts: bool) -> Self {
        if experts { Self { experts: self.card, ..self } } else { self }
    }
}

/// Messages by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Calls {
    pub all_gather: Posted,
    pub reduce_scatter: Posted,
    pub all_reduce: Posted,
    pub all_to_all: Posted,
    pub send: Posted,
}

by_field!(Calls { all_gather, reduce_scatter, all_reduce, all_to_all, send });

impl Calls {
    fn list(self) -> [(CallKind, Posted); 5] {
        [
            (CallKind::AllGather, self.all_gather),
            (CallKind::ReduceScatter, self.reduce_scatter),
            (CallKind::AllReduce, self.all_reduce),
            (CallKind::AllToAll, self.all_to_all),
            (CallKind::Send, self.send),
        ]
    }

    /// Bytes that a GPU sends in all of them.
    pub fn bytes(self) -> Bytes {
        Bytes(self.list().iter().map(|(_, posted)| posted.bytes.0).sum())
    }
    /// Those of them over its network card, and of these gradients and weights of routed experts.
    pub fn over_card(self) -> [Bytes; 2] {
        let sum = |part: fn(&Posted) -> f64| Bytes(self.list().iter().map(|(_, posted)| part(posted)).sum());
        [sum(|posted| posted.card.0), sum(|posted| posted.experts.0)]
    }

    /// Those of micro-batches that are `count`, of as many tokens as `usual` ones.
    pub fn over(self, count: f64, usual: f64) -> Self {
        let scaled = |posted: Posted| Posted { count: posted.count * count, ..posted * usual };
        Self {
            all_gather: scaled(self.all_gather),
            reduce_scatter: scaled(self.reduce_scatter),
            all_reduce: scaled(self.all_reduce),
            all_to_all: scaled(self.all_to_all),
            send: scaled(self.send),
        }
    }

    /// The kinds that there are.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts are far below 2^53
    pub fn counts(self) -> Vec<CallCount> {
        let some = self.list().into_iter().filter(|(_, posted)| posted.bytes.0 > 0.0);
        some.map(|(kind, posted)| {
            let count = posted.count.round().max(1.0);
            CallCount { kind, count: count as u64, bytes: posted.bytes * (1.0 / count) }
        })
        .collect()
    }
}

/// Forward passes over the layers of a stage for one micro-batch, with the messages of each: the one of the training,
/// those that run again for the backward pass, a reference's and a teacher's.
pub(crate) fn forwards(scenario: &Scenario, stage: usize) -> f64 {
    let range = scenario.layers_of(stage);
    let layers = (range.end - range.start) as f64;
    1.0 + repeated(scenario.run.recomputed(), layers) + scenario.forwards_beside()
}

/// Forward passes over the routed layers of a stage for one micro-batch, which may run again without the others.
pub(crate) fn routed_forwards(scenario: &Scenario, stage: usize) -> f64 {
    let alone = matches!(scenario.run.recomputed(), Recompute::Modules(list) if list.contains(&Module::Moe));
    if alone { 2.0 + scenario.forwards_beside() } else { forwards(scenario, stage) }
}

/// Ends of the model on a stage: the embedding, the head.
pub(crate) fn model_ends(scenario: &Scenario, stage: usize) -> f64 {
    f64::from(u8::from(stage == 0) + u8::from(stage + 1 == scenario.stage_layers.len()))
}

/// Pairs of tensor-parallel messages of a forward or backward pass over the layers of a stage.
pub(crate) fn stage_pairs(scenario: &Scenario, stage: usize) -> f64 {
    let kinds = scenario.kinds_on(stage);
    kinds.iter().map(|(kind, n)| *n as f64 * tensor_pairs(&scenario.model, *kind)).sum()
}

/// Tensor parallel: with sequence parallelism a pair is a gather and a scatter, else one all-reduce. The embedding
/// scatters its output and gathers the gradient of it, the head gathers its input and scatters the gradient.
pub(super) fn tensor(scenario: &Scenario, stage: usize) -> Calls {
    let t = scenario.layout.tp as f64;
    let part = stage_message(scenario).0 * (t - 1.0) / t;
    let share = scenario.layout.mesh().group(ParallelAxis::Tp).ring_over_card();
    let pairs = stage_pairs(scenario, stage) * (forwards(scenario, stage) + 1.0);
    let ends = model_ends(scenario, stage);
    let beside = 1.0 + scenario.forwards_beside();
    if scenario.layout.sequence_parallel {
        let first = f64::from(u8::from(stage == 0));
        let last = ends - first;
        Calls {
            all_gather: (Posted::each(pairs, part * gathered_share(scenario))
                + Posted::each(first + last * beside, part))
            .leaving(share),
            reduce_scatter: Posted::each(pairs + first * beside + last, part).leaving(share),
            ..Calls::default()
        }
    } else {
        // The embedding's output, and the gradient of the head's input.
        let count = pairs + ends * f64::midpoint(beside, 1.0);
        Calls { all_reduce: Posted::each(count, 2.0 * part).leaving(share), ..Calls::default() }
    }
}

/// Context parallel. A ring sends keys and values `c - 1` times, in the backward pass with their gradients; an
/// all-gather gathers them in both passes and scatters the gradients; Ulysses exchanges queries, keys, values and
/// outputs.
pub(super) fn context(scenario: &Scenario, stage: usize) -> Calls {
    let c = scenario.layout.cp as f64;
    if scenario.layout.cp <= 1 {
        return Calls::default();
    }
    let passes = forwards(scenario, stage);
    let kinds = scenario.kinds_on(stage);
    kinds.iter().fold(Calls::default(), |sum, (kind, layers)| {
        sum + layer_context(scenario, kind.mixer, c, passes) * *layers as f64
    })
}

fn layer_context(scenario: &Scenario, mixer: Mixer, c: f64, forwards: f64) -> Calls {
    let attends = scenario.model.attention_heads(mixer).is_some();
    let block = layer_block(scenario, mixer).0;
    let group = scenario.layout.mesh().group(ParallelAxis::Cp);
    // A block, and as much again of gradients in the backward pass.
    // A GPU at the end of its node hands all of it to another node: that one sets the pace.
    let ring = |groups: f64| {
        let blocks = Posted::all((groups - 1.0) * (forwards + 1.0), (groups - 1.0) * block * (forwards + 2.0));
        blocks.leaving(all_over(group.link()))
    };
    let exchange = |group: RankGroup, bytes: f64| {
        Posted::each(4.0 * (forwards + 1.0), bytes / 8.0).leaving(group.exchanged_over_card())
    };
    let gathered = |count: f64| Posted::each(count, block * (c - 1.0)).leaving(group.ring_over_card());
    match scenario.run.cp_comm {
        CpComm::Ring if attends => Calls { send: ring(c), ..Calls::default() },
        CpComm::AllGather if attends => {
            Calls { all_gather: gathered(forwards + 1.0), reduce_scatter: gathered(1.0), ..Calls::default() }
        }
        CpComm::Hierarchical if attends => {
            let near = scenario.exchange_ranks();
            let exchanged = if near > 1 { exchanged_bytes(scenario, mixer, near).0 } else { 0.0 };
            let inner = RankGroup { size: near, in_node: near.min(group.in_node) };
            Calls { all_to_all: exchange(inner, exchanged), send: ring(c / near as f64), ..Calls::default() }
        }
        _ => Calls { all_to_all: exchange(group, context_bytes::<f64>(scenario, mixer, 1.0)), ..Calls::default() },
    }
}

/// Expert parallel: a dispatch and a combine a pass; clones with their weights before a forward pass, and their
/// gradients after the backward one.
pub(super) fn experts(scenario: &Scenario, stage: usize) -> Calls {
    let layers = routed_layers(scenario, stage);
    if scenario.layout.ep <= 1 || layers <= 0.0 {
        return Calls::default();
    }
    let forwards = layers * routed_forwards(scenario, stage);
    let passes = forwards + layers;
    let clones = scenario.clones().map_or(0.0, |slots| slots as f64 * passes);
    let group = scenario.layout.mesh().group(ParallelAxis::Ep);
    let exchanged = group.exchanged_over_card();
    let copies = scenario.model.moe.filter(|_| is_once_a_node(scenario)).map(|moe| once_a_node::<f64>(moe, group));
    let crossing = copies.map_or(exchanged, |copies| copies.crossing / copies.total());
    Calls {
        all_to_all: Posted::all(2.0 * passes, expert_bytes::<f64>(scenario, passes)).leaving(crossing),
        send: Posted::all(clones, clone_bytes::<f64>(scenario, forwards, layers)).leaving(exchanged),
        ..Calls::default()
    }
}

/// The share over the card of messages that one link carries.
fn all_over(link: Link) -> f64 {
    if link == Link::Inter { 1.0 } else { 0.0 }
}

/// Sends of hidden states to the next stage and of gradients to the one before, `states` of each.
fn sends(scenario: &Scenario, states: [u64; 2]) -> Calls {
    let share = all_over(scenario.layout.mesh().link(ParallelAxis::Pp));
    let send = states.map(|states| Posted::each(1.0, boundary_bytes(scenario, states as f64)).leaving(share));
    Calls { send: send[0] + send[1], ..Calls::default() }
}

/// Weights that ZeRO-2 and 3 gather for the passes of a micro-batch, and gradients that they scatter: layer by layer,
/// routed experts over their own ranks.
pub(super) fn shards(scenario: &Scenario, stage: usize) -> [Calls; 2] {
    let zero = scenario.zero;
    if scenario.reduction() == Reduction::Step || scenario.shards_once_a_step() {
        return [Calls::default(); 2];
    }
    let layers = scenario.stage_layers.get(stage).copied().unwrap_or(0).max(1) as f64;
    let [reductions, gatherings] = with_microbatch(scenario);
    let posted = |held: HeldParameters, ranks: [u64; 2], bytes: f64, times: f64| {
        let mesh = scenario.layout.mesh();
        let one = |elements: f64, ranks: u64, group: RankGroup| {
            let posted = Posted::each(layers * times, shared_bytes(elements, ranks, [bytes, 0.0]) / layers);
            posted.leaving(group.ring_over_card())
        };
        one(held.dense, ranks[0], mesh.shard_group(ranks[0]))
            + one(held.experts, ranks[1], mesh.expert_shard_group(ranks[1])).of_experts(true)
    };
    let ranks = [zero.shard, zero.expert_shard];
    let mut weights = Posted::default();
    if zero.stage == 3 || scenario.software.fsdp {
        let held = HeldParameters::of(scenario, &[stage]);
        let second = scenario.second_copy().map_or(ranks, |ranks| [ranks, zero.experts_within(ranks)]);
        let passes = gatherings.max(1.0);
        let once = gatherings / passes;
        let element = scenario.sent_weight();
        weights = posted(held, ranks, element, once * (1.0 + scenario.forwards_beside()))
            + posted(held, second, element, once * (passes - 1.0));
    }
    let trained = HeldParameters::trained(scenario, &[stage]);
    let gradients = posted(trained, ranks, scenario.reduced_gradient(), reductions);
    [Calls { all_gather: weights, ..Calls::default() }, Calls { reduce_scatter: gradients, ..Calls::default() }]
}

/// Messages of an update for the parameters that a GPU has `held`.
fn update(scenario: &Scenario, held: HeldParameters) -> Calls {
    let (layout, zero) = (&scenario.layout, scenario.zero);
    let gradient = scenario.reduced_gradient();
    let updated = scenario.trained_bytes().gathered_weight();
    let weight = if zero.stage == 3 { scenario.sent_weight() } else { updated };
    let [reductions, gatherings] = at_update(scenario);
    let mut calls = Calls::default();
    for part in sharing(scenario, held) {
        let [group, over] = rings(scenario, part.experts).map(RankGroup::ring_over_card);
        let once = |bytes: [f64; 2]| {
            let posted = Posted::each(1.0, shared_bytes(part.elements, part.shard, bytes));
            posted.leaving(group).of_experts(part.experts)
        };
        let reduced = once([reductions * gradient, 0.0]);
        if zero.stage == 0 {
            calls.all_reduce = calls.all_reduce + reduced;
        } else {
            calls.reduce_scatter = calls.reduce_scatter + reduced;
        }
        calls.all_gather = calls.all_gather + once([0.0, gatherings * weight]);
        if part.copies > 1 {
            let [reduced, gathered] =
                if zero.outer > 1 { [gradient, weight].map(|bytes| bytes / 2.0) } else { [gradient, 0.0] };
            let between = |bytes: f64| {
                let posted = Posted::each(1.0, replica_bytes(bytes, part.elements, part.shard, part.copies));
                posted.leaving(over).of_experts(part.experts)
            };
            if zero.outer > 1 {
                calls.reduce_scatter = calls.reduce_scatter + between(reduced);
                calls.all_gather = calls.all_gather + between(gathered);
            } else {
                calls.all_reduce = calls.all_reduce + between(reduced);
            }
        }
    }
    let shard = if scenario.shards_gradients() { zero.shard } else { 1 };
    for (copied, ranks) in held.copied.into_iter().zip(scenario.model.key_value_ranks(layout.tp)) {
        let between = replica_bytes(gradient, copied, shard, layout.tp / ranks);
        let group = layout.mesh().tensor_group(layout.tp / ranks);
        calls.all_reduce = calls.all_reduce + Posted::each(1.0, between).leaving(group.ring_over_card());
    }
    let ends = Posted::each(1.0, embedding_bytes(scenario, gradient));
    let ends = ends.leaving(embedding_group(scenario).ring_over_card());
    Calls { all_reduce: calls.all_reduce + ends, ..calls } * scenario.updates()
}

/// Messages of a step on a rank with `stages`: gradients, ZeRO's weights, tensor parallel, pipeline, context, experts.
pub(crate) fn step_calls(scenario: &Scenario, stages: &[usize]) -> [Calls; 6] {
    let copies = stages.len() as f64 / scenario.chunks as f64;
    let count = scenario.layout.microbatches as f64 / copies;
    let usual = scenario.usual_microbatches() / copies;
    let mut sums = [Calls::default(); 6];
    for &stage in stages {
        let [weights, gradients] = shards(scenario, stage);
        let handed = sent_states(scenario, stages, stage);
        let each = [
            gradients,
            weights,
            tensor(scenario, stage),
            sends(scenario, handed),
            context(scenario, stage),
            experts(scenario, stage),
        ];
        for (sum, calls) in sums.iter_mut().zip(each) {
            *sum = *sum + calls.over(count, usual);
        }
    }
    sums[0] = sums[0] + update(scenario, HeldParameters::trained(scenario, stages));
    sums
}
