//! How busy the links of a GPU are over the step: what each of its groups sends, over which link, for what share of the
//! step.

use crate::core::cluster::{GroupKind, Link};
use crate::core::message::Message;
use crate::core::report::{Evaluation, rank_overlap};
use crate::core::t;
use crate::core::traffic::{OverlapRow, bandwidth};
use crate::core::units::{Bytes, BytesPerSecond, Seconds, show_bandwidth, show_percent};

/// The traffic of a kind of group over a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wire {
    /// Whose.
    pub kind: GroupKind,
    /// Bytes that a GPU sends.
    pub bytes: Bytes,
    /// Time on the wire.
    pub time: Seconds,
    /// That over the step.
    pub busy: f64,
    /// The slowest link of the group.
    pub link: Link,
    /// What that moves by the data sheet, one direction, per GPU.
    pub rate: BytesPerSecond,
    /// Whether something is sent in the forward pass, and in the backward pass.
    pub passes: [bool; 2],
}

/// Of one pipeline rank, a wire for each kind of group that sends.
#[must_use]
pub fn wires(evaluation: &Evaluation, rank: usize) -> Vec<Wire> {
    of_rows(evaluation, &rank_overlap(evaluation, rank))
}

/// The same from the rows of an overlap table. Gradients and ZeRO-3 weights go over one group.
fn of_rows(evaluation: &Evaluation, rows: &[OverlapRow]) -> Vec<Wire> {
    let step = evaluation.report.step.time_s;
    let of = |kind: GroupKind, names: &[&str]| {
        let mut own = rows
            .iter()
            .filter(|row| names.contains(&row.name))
            .peekable();
        let link = own.peek()?.link;
        let mut wire = Wire {
            kind,
            bytes: Bytes::ZERO,
            time: Seconds::ZERO,
            busy: 0.0,
            link,
            rate: bandwidth(&evaluation.scenario, link),
            passes: [false; 2],
        };
        for row in own {
            wire.bytes += row.bytes_per_gpu;
            wire.time += row.comm_s;
            for pass in &row.passes {
                wire.passes[usize::from(pass.pass != "forward")] = true;
            }
        }
        wire.busy = wire.time / step;
        Some(wire)
    };
    let kinds: [(GroupKind, &[&str]); 5] = [
        (GroupKind::Tp, &["tp"]),
        (GroupKind::Cp, &["cp"]),
        (GroupKind::Dp, &["dp", "zero3"]),
        (GroupKind::Ep, &["ep"]),
        (GroupKind::Pp, &["pp"]),
    ];
    kinds
        .into_iter()
        .filter_map(|(kind, names)| of(kind, names))
        .collect()
}

/// What is on a link for what share of the step, all groups together.
#[must_use]
pub(crate) fn load(wires: &[Wire], link: Link) -> f64 {
    let own = wires.iter().filter(|wire| wire.link == link);
    own.fold(0.0, |sum, wire| sum + wire.busy)
}

impl Wire {
    /// "node link, 450 GB/s".
    #[must_use]
    pub(crate) fn medium(&self) -> Message {
        let rate = show_bandwidth(self.rate.0);
        match self.link {
            Link::Intra => t!("node link, {rate}", rate),
            Link::Inter => t!("network, {rate}", rate),
        }
    }
    /// "TP, node link, 18.8 % busy".
    #[must_use]
    pub fn words(&self) -> Message {
        let (kind, busy) = (self.kind.name(), show_percent(self.busy));
        match self.link {
            Link::Intra => t!("{kind}, node link, {busy} busy", kind, busy),
            Link::Inter => t!("{kind}, network, {busy} busy", kind, busy),
        }
    }
    /// How thick its line is drawn, pixels.
    #[must_use]
    pub(crate) fn thickness(&self) -> f64 {
        (1.0 + 20.0 * self.busy).min(5.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::evaluate;
    use crate::core::run::Run;

    /// No link moves more than its data sheet says: the bytes at full rate take no longer than the time on the wire.
    #[test]
    fn a_link_is_busy_at_least_as_long_as_its_bytes_take_at_full_rate() {
        for gpus in [64, 256, 1024] {
            let run = Run {
                gpus,
                tp: 8,
                cp: 2,
                zero: 3,
                global_batch: gpus,
                ..Run::default()
            };
            let evaluation = evaluate(&run).unwrap();
            let step = evaluation.report.step.time_s;
            for rank in 0..4 {
                let wires = wires(&evaluation, rank);
                assert_eq!(wires.len(), 4);
                for wire in &wires {
                    // A ring leaves the node over the card of each member.
                    let axis = wire.kind;
                    let members = evaluation.scenario.layout.mesh().members(axis, 0);
                    let in_node = members
                        .sample(8)
                        .filter(|member| *member < 8)
                        .count()
                        .max(1);
                    let rate = wire.rate.0
                        * if wire.link == Link::Inter {
                            in_node as f64
                        } else {
                            1.0
                        };
                    assert!(wire.busy > 0.0);
                    if axis != GroupKind::Dp {
                        assert!(wire.bytes.0 / rate <= wire.time.0 * 1.000_001, "{wire:?}");
                    }
                    assert!((wire.time / step - wire.busy).abs() < 1e-12);
                }
                let both = load(&wires, Link::Intra) + load(&wires, Link::Inter);
                let sum: f64 = wires.iter().map(|wire| wire.busy).sum();
                assert!((both - sum).abs() < 1e-12);
            }
        }
    }

    /// The report's rows are the busiest rank's.
    #[test]
    fn the_busiest_rank_has_the_rows_of_the_report() {
        let run = Run {
            zero: 3,
            measured_step_s: Some(30.0),
            ..Run::default()
        };
        let evaluation = evaluate(&run).unwrap();
        let rows = rank_overlap(&evaluation, evaluation.busiest);
        assert_eq!(rows, evaluation.report.overlap);
        assert_ne!(rank_overlap(&evaluation, 1), rows);
        assert_eq!(rank_overlap(&evaluation, 99), []);
    }
}
