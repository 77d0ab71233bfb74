//! The overlap table: each kind of communication against the compute that may hide it.

use super::beside::{Beside, ByLink, Sent, Wait};
use super::calls::{CallCount, CallKind, Calls};
use super::collective::Fabric;
use super::dispatch::is_once_a_node;
use super::gradients::rings;
use super::kind::Traffic;
use super::playbook::playbook_ratio;
use super::volume::sheet_bandwidth;
use crate::cluster::{Link, ParallelAxis};
use crate::run::{CpComm, Scenario};
use crate::units::{Bytes, Seconds};
use serde::Serialize;

/// One row, per step on the busiest rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverlapRow {
    /// Kind of communication.
    #[serde(rename = "name")]
    pub traffic: Traffic,
    /// Bytes that a GPU sends.
    pub bytes_per_gpu: Bytes,
    /// Time on the wire.
    pub comm_s: Seconds,
    /// `bytes_per_gpu` over `comm_s`, bytes a second: what the links reach together, latencies included; none where
    /// nothing is on the wire.
    pub reached_bytes_per_s: Option<f64>,
    /// Compute that it may hide behind.
    pub compute_s: Seconds,
    /// `comm_s` over `compute_s`; none where no compute is beside it: all of it is exposed.
    pub ratio: Option<f64>,
    /// Time that lengthens the step, the next two together; pipeline sends wait inside the bubble.
    pub exposed_s: Seconds,
    /// Wire time that no compute hides: there is none beside it, or too little.
    pub not_hidden_s: Seconds,
    /// Time by which hidden traffic slows the compute beside it.
    pub slows_compute_s: Seconds,
    /// What carries the messages that leave a node.
    #[serde(skip)]
    pub carried: CarriedBy,
    /// Rows whose traffic goes over the same wire.
    pub shares_wire_with: Vec<Traffic>,
    /// Its messages by kind: all of `bytes_per_gpu`.
    pub calls: Vec<CallCount>,
    /// Its time by pass; each pass hides behind its own compute.
    pub passes: Vec<PassTraffic>,
    /// The playbook's ratio as it prints it, in elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub printed_ratio: Option<f64>,
    /// The playbook's ratio in bytes, its slip mended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected_ratio: Option<f64>,
    /// Slowest link of the group.
    #[serde(skip)]
    pub link: Link,
    /// The part of gradients and `ZeRO` weights that is of routed experts.
    #[serde(skip)]
    pub experts: Sent,
    /// What of all else goes over the links of the node and over the card. The card is busy for the wire time; beside
    /// it the links of the node for as long as their bytes take at the rate that is reached there.
    #[serde(skip)]
    pub dense_links: ByLink,
    /// The same of `experts`.
    #[serde(skip)]
    pub expert_links: ByLink,
}

/// What carries the messages of a kind that leave a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedBy {
    /// Network cards of a node that share what a group sends to other nodes.
    pub cards: u64,
    /// The same for gradients and weights of routed experts, where it is another number.
    pub expert_cards: Option<u64>,
}

/// A pass over the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the embedding to the loss.
    Forward,
    /// Back, for the gradients.
    Backward,
}

/// A row in one of the passes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassTraffic {
    pub pass: Direction,
    /// Time on the wire.
    pub comm_s: Seconds,
    /// Compute that it may hide behind, less the share of rows that go first on the wire.
    pub compute_s: Seconds,
    /// Wire time that does not hide.
    pub not_hidden_s: Seconds,
    /// Time by which it slows the compute beside it.
    pub slows_compute_s: Seconds,
}

impl PassTraffic {
    fn of(pass: Direction, beside: Beside) -> Self {
        Self {
            pass,
            comm_s: beside.comm,
            compute_s: beside.window,
            not_hidden_s: beside.not_hidden,
            slows_compute_s: beside.slows,
        }
    }
}

impl OverlapRow {
    /// What goes over the links of the node and over the card.
    pub fn links(&self) -> ByLink {
        self.dense_links + self.expert_links
    }
    /// All its times `scale` times as long; ratios and bytes stay.
    pub(crate) fn rescale(&mut self, scale: f64) {
        let times = [
            &mut self.comm_s,
            &mut self.compute_s,
            &mut self.exposed_s,
            &mut self.not_hidden_s,
            &mut self.slows_compute_s,
            &mut self.experts.comm,
            &mut self.dense_links.node.comm,
            &mut self.dense_links.card.comm,
            &mut self.expert_links.node.comm,
            &mut self.expert_links.card.comm,
        ];
        let passes = self.passes.iter_mut().flat_map(|pass| {
            [&mut pass.comm_s, &mut pass.compute_s, &mut pass.not_hidden_s, &mut pass.slows_compute_s]
        });
        for time in times.into_iter().chain(passes) {
            *time = *time * scale;
        }
        self.reached_bytes_per_s = reached(self.bytes_per_gpu, self.comm_s);
    }
}

/// Bytes a second of `sent` in `time`.
fn reached(sent: Bytes, time: Seconds) -> Option<f64> {
    (time.0 > 0.0).then(|| sent.0 / time.0)
}

/// All kinds of communication of a step on the busiest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct OverlapTotals {
    /// Gradients, and with ZeRO-1 and 2 the updated weights.
    pub dp: Wait,
    /// ZeRO-3 weights.
    pub zero3: Wait,
    /// Tensor parallel.
    pub tp: Wait,
    /// Context parallel.
    pub cp: Wait,
    /// Expert parallel.
    pub ep: Wait,
    /// Pipeline; its waiting is in the bubble, so nothing is exposed here.
    pub pp: Wait,
    /// Parameters of the rank, elements.
    pub elements: f64,
    /// Layers of a middle stage.
    pub next_layers: f64,
    /// Messages of each row by kind, in the order of the rows.
    pub calls: [Calls; 6],
}

/// A row for every parallelism larger than 1, and for ZeRO-3, from what the stages waited for.
pub(crate) fn overlap_rows(scenario: &Scenario, totals: &OverlapTotals) -> Vec<OverlapRow> {
    let (layout, mesh) = (&scenario.layout, scenario.layout.mesh());
    let shards = layout.dp * layout.cp > 1;
    let zero3 = shards && scenario.zero.stage == 3 && !scenario.shards_once_a_step();
    // Without replicas of the dense part, routed experts that fewer GPUs hold than tensor parallelism has may have
    // some, and tied embeddings are on both ends of the pipeline.
    let experts = mesh.expert_shard_group(layout.expert_dp).link();
    let parameters = match (shards, layout.expert_dp > 1) {
        (true, _) => mesh.link(ParallelAxis::Dp),
        (false, true) => experts,
        (false, false) => mesh.link(ParallelAxis::Pp),
    };
    let [gradients, weights, tensor, sends, context, experts_sent] = totals.calls;
    let rows = [
        (Traffic::Dp, shards || totals.dp.bytes.0 > 0.0, (totals.dp, gradients), parameters),
        (Traffic::Zero3, zero3 || totals.zero3.bytes.0 > 0.0, (totals.zero3, weights), parameters),
        (Traffic::Tp, layout.tp > 1, (totals.tp, tensor), mesh.link(ParallelAxis::Tp)),
        (Traffic::Pp, layout.pp > 1, (totals.pp, sends), mesh.link(ParallelAxis::Pp)),
        (Traffic::Cp, layout.cp > 1, (totals.cp, context), mesh.link(ParallelAxis::Cp)),
        (Traffic::Ep, layout.ep > 1, (totals.ep, experts_sent), mesh.link(ParallelAxis::Ep)),
    ];
    let rows = rows.into_iter().filter(|(_, present, ..)| *present);
    let rows: Vec<_> = rows.map(|(traffic, _, total, link)| (traffic, total, link)).collect();
    let row = |&(traffic, (total, calls), link): &(Traffic, (Wait, Calls), Link)| {
        let bandwidth = sheet_bandwidth(scenario, traffic);
        let printed = playbook_ratio(scenario, traffic, bandwidth, totals.elements, totals.next_layers);
        let both = total.both();
        let others = rows
            .iter()
            .filter(|(other, (wait, _), wire)| *other != traffic && *wire == link && wait.both().comm.0 > 0.0);
        let passes = [(Direction::Forward, total.forward), (Direction::Backward, total.backward)];
        let [dense_links, expert_links] = by_link(scenario, traffic, calls, total);
        OverlapRow {
            traffic,
            bytes_per_gpu: total.bytes,
            comm_s: both.comm,
            reached_bytes_per_s: reached(total.bytes, both.comm),
            compute_s: both.window,
            ratio: (both.window.0 > 0.0).then(|| both.comm / both.window),
            exposed_s: both.exposed(),
            not_hidden_s: both.not_hidden,
            slows_compute_s: both.slows,
            shares_wire_with: others.map(|(other, ..)| *other).collect(),
            calls: calls.counts(),
            passes: passes
                .into_iter()
                .filter(|(_, traffic)| traffic.comm.0 > 0.0)
                .map(|(pass, traffic)| PassTraffic::of(pass, traffic))
                .collect(),
            printed_ratio: printed.as_ref().map(|ratio| ratio.printed),
            corrected_ratio: printed.as_ref().map(|ratio| ratio.corrected),
            link,
            carried: carried(scenario, traffic, total.experts),
            experts: total.experts,
            dense_links,
            expert_links,
        }
    };
    rows.iter().map(row).collect()
}

/// What goes over the links of a node and over the card, of routed experts last.
fn by_link(scenario: &Scenario, traffic: Traffic, calls: Calls, total: Wait) -> [ByLink; 2] {
    let mesh = scenario.layout.mesh();
    let near = match traffic {
        Traffic::Dp | Traffic::Zero3 => rings(scenario, false).map(|ring| ring.in_node).into_iter().max().unwrap_or(1),
        Traffic::Tp => mesh.group(ParallelAxis::Tp).in_node,
        Traffic::Pp => 2,
        Traffic::Cp => mesh.group(ParallelAxis::Cp).in_node,
        Traffic::Ep => mesh.group(ParallelAxis::Ep).in_node,
    };
    let (fabric, once) = (Fabric::of(scenario), traffic == Traffic::Ep && is_once_a_node(scenario));
    let [exchanged, others] = [CallKind::AllToAll, CallKind::AllGather].map(|kind| fabric.inside(kind, near, once));
    let of = |sent: Sent, card: Bytes, exchanges: Bytes| {
        // Sums of the same parts in another order.
        let some = |bytes: Bytes| if bytes.0 > 1e-9 * sent.bytes.0 { bytes } else { Bytes::ZERO };
        let (card, node) = (some(card), some(sent.bytes - card));
        if card.0 <= 0.0 {
            return ByLink { node: sent, card: Sent::default() };
        }
        let exchanges = Bytes(exchanges.0.min(node.0));
        let inside = Seconds(exchanges.0 / exchanged + (node - exchanges).0 / others);
        let comm = if inside.0 < sent.comm.0 { inside } else { sent.comm };
        ByLink { node: Sent { bytes: node, comm }, card: Sent { bytes: card, comm: sent.comm } }
    };
    let [card, of_experts] = calls.over_card();
    let (experts, both) = (total.experts, total.both().comm);
    let dense = Sent { bytes: total.bytes - experts.bytes, comm: both - experts.comm };
    let exchanges = calls.all_to_all.bytes - calls.all_to_all.card;
    [of(dense, card - of_experts, exchanges), of(experts, of_experts, Bytes::ZERO)]
}

/// The network cards that a time is computed with: a ring leaves a node over the card of each of its members there; a
/// send, or what a GPU sends of an all-to-all, over that of the GPU.
fn carried(scenario: &Scenario, traffic: Traffic, experts: Sent) -> CarriedBy {
    let mesh = scenario.layout.mesh();
    let group = |axis| mesh.group(axis);
    let over = |cards: u64| CarriedBy { cards, expert_cards: None };
    match traffic {
        Traffic::Dp | Traffic::Zero3 => {
            let crossing = |experts: bool| rings(scenario, experts).into_iter().find(|ring| ring.nodes() > 1);
            let cards = crossing(false).map_or(1, |ring| ring.in_node);
            let of_experts = crossing(true).filter(|_| experts.bytes.0 > 0.0).map(|ring| ring.in_node);
            CarriedBy { cards, expert_cards: of_experts.filter(|other| *other != cards) }
        }
        Traffic::Tp => over(group(ParallelAxis::Tp).in_node),
        Traffic::Cp if scenario.run.cp_comm == CpComm::AllGather => over(group(ParallelAxis::Cp).in_node),
        // A ring of blocks hands them on as fast as its slowest link.
        Traffic::Cp | Traffic::Pp | Traffic::Ep => over(1),
    }
}
