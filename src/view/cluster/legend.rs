//! Legend of lines and colours, by group.

use super::wires::Wire;
use crate::prelude::*;
use shardscope_core::cluster::GroupKind;

/// A class for the colour and the dashes of a kind.
pub(super) fn class(kind: GroupKind) -> &'static str {
    match kind {
        GroupKind::Tp => "g-tp",
        GroupKind::Cp => "g-cp",
        GroupKind::Dp => "g-dp",
        GroupKind::Ep => "g-ep",
        GroupKind::ExpertDp => "g-edp",
        GroupKind::Pp => "g-pp",
    }
}

/// Line and colour of each group, the load of its first link, and its bytes on each link; `most` is the load of the
/// links that have the darkest colour.
pub fn legend(wires: &[Wire], most: Option<f64>, unit: MemoryUnit) -> Node {
    let item = |wire: &Wire| {
        let width = format!("border-top-width:{:.0}px", wire.thickness().max(1.0));
        let class = format!("line {}", class(wire.kind));
        let line = el("i", &[("class", &*class), ("style", &width)], &[]);
        let of_kind = wires.iter().filter(|other| other.kind == wire.kind);
        let over = |wire: &Wire| t!("{bytes} over {medium}", bytes = unit.fitting(wire.bytes), medium = wire.medium());
        let traffic = Message::joined("; ", of_kind.map(over));
        let kind = strong(wire.kind.name());
        el("span", &[], &[line, kind, text(" "), wire.meter(), leaf("small", "muted", traffic)])
    };
    // The network stands first where a group leaves its node.
    let is_first = |at: usize| at == 0 || wires[at - 1].kind != wires[at].kind;
    let items = wires.iter().enumerate().filter(|(at, _)| is_first(*at)).map(|(_, wire)| item(wire));
    let note = faint("line width: share of the step that the link is busy, at the rate that is reached");
    let scale = most.map(|most| {
        let ramp = leaf("i", "ramp", "");
        let ends = t!("0 to {most} busy", most = show_percent(most));
        el("span", &[], &[ramp, text(ends)])
    });
    let entries = items.chain((!wires.is_empty()).then_some(note)).chain(scale);
    el("div", &[("class", "legend links")], &[entries.collect()])
}
