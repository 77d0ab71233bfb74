//! Load of the links of a GPU over the step: the bytes of each of its groups on each link, and their share of the step.

use crate::prelude::*;
use shardscope_core::cluster::{GroupKind, Link};
use shardscope_core::report::rank_overlaps;
use shardscope_core::traffic::{ByLink, OverlapRow, Sent, Traffic, bandwidth};
use shardscope_core::units::BytesPerSecond;

/// The traffic of a kind of group over a step, on one kind of link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wire {
    pub kind: GroupKind,
    /// Bytes that a GPU sends over the link.
    pub bytes: Bytes,
    /// Time that they are on it, at the rate that is reached.
    pub time: Seconds,
    /// `time` over that of the step.
    pub busy: f64,
    pub link: Link,
    /// Rate of that link by the data sheet, one direction, per GPU.
    pub rate: BytesPerSecond,
    /// True if it sends in the forward pass, and in the backward pass.
    pub passes: [bool; 2],
}

/// For each pipeline rank, the wires of each kind of group that sends: the network first where it leaves its node, and
/// the links of the node where a part goes over them.
pub fn wires(evaluation: &Evaluation) -> Vec<Vec<Wire>> {
    let rows = rank_overlaps(evaluation);
    rows.iter().map(|rows| of_rows(evaluation, rows)).collect()
}

/// The wires of one rank from the rows of its overlap table. Gradients and ZeRO-3 weights go over one group, those of
/// routed experts over another.
fn of_rows(evaluation: &Evaluation, rows: &[OverlapRow]) -> Vec<Wire> {
    GroupKind::ALL.into_iter().flat_map(|kind| of_kind(evaluation, rows, kind)).collect()
}

fn of_kind(evaluation: &Evaluation, rows: &[OverlapRow], kind: GroupKind) -> Vec<Wire> {
    let scenario = &evaluation.scenario;
    let sent: &[Traffic] = match kind {
        GroupKind::Tp => &[Traffic::Tp],
        GroupKind::Cp => &[Traffic::Cp],
        GroupKind::Dp | GroupKind::ExpertDp => &[Traffic::Dp, Traffic::Zero3],
        GroupKind::Ep => &[Traffic::Ep],
        GroupKind::Pp => &[Traffic::Pp],
    };
    let sending: Vec<&OverlapRow> = rows.iter().filter(|row| sent.contains(&row.traffic)).collect();
    let mut links = ByLink::default();
    let mut passes = [false; 2];
    for row in &sending {
        links = links + if kind == GroupKind::ExpertDp { row.expert_links } else { row.dense_links };
        for pass in &row.passes {
            passes[pass.pass as usize] = true;
        }
    }
    let of = |(link, sent): (Link, Sent)| Wire {
        kind,
        bytes: sent.bytes,
        time: sent.comm,
        busy: sent.comm / evaluation.report.step.time_s,
        link,
        rate: bandwidth(scenario, link),
        passes,
    };
    let all = [(Link::Inter, links.card), (Link::Intra, links.node)];
    let wires: Vec<Wire> = all.into_iter().filter(|(_, sent)| sent.bytes.0 > 0.0).map(of).collect();
    match (sending.first(), kind) {
        // A rank that has nothing to send of a kind that others send.
        (Some(row), kind) if wires.is_empty() && kind != GroupKind::ExpertDp => vec![of((row.link, Sent::default()))],
        _ => wires,
    }
}

/// The rank whose links of a kind are busiest, the share of the step in which they are busy, and the group that sends
/// longest over them; none where nothing is sent.
pub(crate) fn busiest(ranks: &[Vec<Wire>], link: Link) -> Option<(usize, f64, Wire)> {
    let loads = ranks.iter().map(|wires| load(wires, link));
    let (rank, busy) = loads.enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let on_link = ranks[rank].iter().filter(|wire| wire.link == link);
    let most = on_link.max_by(|one, other| one.busy.total_cmp(&other.busy))?;
    (busy > 0.0).then_some((rank, busy, *most))
}

/// Share of the step for which a link is busy, all groups together.
pub fn load(wires: &[Wire], link: Link) -> f64 {
    let on_link = wires.iter().filter(|wire| wire.link == link);
    on_link.fold(0.0, |sum, wire| sum + wire.busy)
}

/// The wires of `kind`, the network first.
pub(super) fn of_group(wires: &[Wire], kind: GroupKind) -> impl Iterator<Item = &Wire> {
    wires.iter().filter(move |wire| wire.kind == kind)
}

impl Wire {
    /// "node link, 450 GB/s", "network, 50.0 GB/s a card".
    pub(crate) fn medium(&self) -> Message {
        let rate = show_bandwidth(self.rate.0);
        match self.link {
            Link::Intra => t!("node link, {rate}", rate),
            Link::Inter => t!("network, {rate} a card", rate),
        }
    }
    /// Load of its link, as a bar and in figures.
    pub(crate) fn meter(&self) -> Node {
        let share = percent("width", self.busy.min(1.0));
        let bar = el("i", &[("style", &*share)], &[]);
        let busy = show_percent(self.busy);
        el("span", &[("class", "meter")], &[el("u", &[], &[bar]), text(t!("{busy} busy", busy))])
    }
    /// "TP, node link, 18.8 % busy".
    pub fn words(&self) -> Message {
        let (kind, busy) = (self.kind.name(), show_percent(self.busy));
        match self.link {
            Link::Intra => t!("{kind}, node link, {busy} busy", kind, busy),
            Link::Inter => t!("{kind}, network, {busy} busy", kind, busy),
        }
    }
    /// Width of its line, pixels.
    pub(crate) fn thickness(&self) -> f64 {
        (1.0 + 20.0 * self.busy).min(5.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::Based;

    /// No link moves more than its data sheet says: the bytes at full rate take no longer than the time on it. DP of 4
    /// or more replicas with CP 2, TP 8 on nodes of eight: every ring has one member a node, so all leaves it; CP 2
    /// lies between nodes; TP stays.
    #[test]
    fn a_link_is_busy_at_least_as_long_as_its_bytes_take_at_full_rate() {
        for gpus in [64, 256, 1024] {
            let run = Run { gpus, tp: 8, cp: 2, zero: 3, global_batch: gpus, ..Run::default() };
            let evaluation = evaluate(&run).unwrap();
            let step = evaluation.report.step.time_s;
            for wires in wires(&evaluation) {
                assert_eq!(wires.len(), 4);
                for wire in &wires {
                    assert_eq!(wire.link == Link::Intra, wire.kind == GroupKind::Tp);
                    assert!(wire.busy > 0.0);
                    assert!(wire.bytes.0 / wire.rate.0 <= wire.time.0, "{wire:?}");
                    assert!((wire.time / step - wire.busy).abs() < 1e-12);
                }
                let both = load(&wires, Link::Intra) + load(&wires, Link::Inter);
                let sum: f64 = wires.iter().map(|wire| wire.busy).sum();
                assert!((both - sum).abs() < 1e-12);
            }
        }
    }

    /// Rings over eight GPUs of each node leave it over eight cards: of what a GPU sends an eighth is on its own card,
    /// the rest on NVLink (NCCL, `PERFORMANCE.md`: the bus bandwidth is that of all cards). A plain run of ZeRO-3.
    #[test]
    fn a_ring_through_whole_nodes_puts_an_eighth_on_each_card() {
        let run = Run { gpus: 64, tp: 1, pp: 1, zero: 3, ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        let [wires] = &wires(&evaluation)[..] else {
            panic!("one pipeline rank");
        };
        let [card, node] = &wires[..] else {
            panic!("{wires:?}");
        };
        assert_eq!(
            (card.link, node.link, card.kind, node.kind),
            (Link::Inter, Link::Intra, GroupKind::Dp, GroupKind::Dp)
        );
        let sent: f64 = evaluation.report.overlap.iter().map(|row| row.bytes_per_gpu.0).sum();
        assert!((card.bytes.0 * 8.0 / sent - 1.0).abs() < 1e-9 && (node.bytes.0 * 8.0 / 7.0 / sent - 1.0).abs() < 1e-9);
        assert!(node.time.0 < card.time.0);
    }

    /// The report's rows are the busiest rank's.
    #[test]
    fn the_busiest_rank_has_the_rows_of_the_report() {
        let run = Run { zero: 3, measured_step_s: Some(30.0), ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        let rows = rank_overlaps(&evaluation);
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[evaluation.busiest], evaluation.report.overlap);
        assert_ne!(rows[1], rows[evaluation.busiest]);
    }

    /// Mixtral 8x7B, EP 8 on 64 GPUs: of 32 layers a GPU holds one expert of three 4096 x 14336 matrices, and 8 GPUs
    /// hold the same. ZeRO-1 sends `(g + w) P (n-1)/n` of them over that group, with fp32 gradients and bf16 weights;
    /// ZeRO-3 gathers the weights of each micro-batch twice and scatters its gradients.
    #[test]
    fn gradients_of_experts_are_sent_over_their_own_group() {
        let expert = 32.0 * 3.0 * 4096.0 * 14336.0 * 7.0 / 8.0;
        for (zero, sent) in [(1, 4.0 + 2.0), (3, (4.0 + 2.0 * 2.0) * 4.0)] {
            let run = Run {
                model: Based::preset("mixtral-8x7b"),
                gpus: 64,
                tp: 1,
                pp: 1,
                ep: 8,
                zero,
                global_batch: 64 * 4,
                ..Run::default()
            };
            let evaluation = evaluate(&run).unwrap();
            let [wires] = &wires(&evaluation)[..] else {
                panic!("one pipeline rank");
            };
            // Both rings lie between nodes: the wire time is that of the card.
            let wire_of = |kind| {
                let sent: Bytes = of_group(wires, kind).map(|wire| wire.bytes).sum();
                let card = of_group(wires, kind).find(|wire| wire.link == Link::Inter).unwrap();
                Sent { bytes: sent, comm: card.time }
            };
            let (own, dense) = (wire_of(GroupKind::ExpertDp), wire_of(GroupKind::Dp));
            assert!((own.bytes.0 / (sent * expert) - 1.0).abs() < 1e-9, "{zero}");
            assert!(own.comm.0 > 0.0 && dense.comm.0 > 0.0);
            let rows = &evaluation.report.overlap;
            let rows = rows.iter().filter(|row| matches!(row.traffic, Traffic::Dp | Traffic::Zero3));
            let (bytes, time) =
                rows.fold((0.0, 0.0), |(bytes, time), row| (bytes + row.bytes_per_gpu.0, time + row.comm_s.0));
            assert!(((own.bytes + dense.bytes).0 / bytes - 1.0).abs() < 1e-9);
            assert!(((own.comm + dense.comm).0 / time - 1.0).abs() < 1e-9);
        }
    }
}
