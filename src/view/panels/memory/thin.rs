//! Bars to compare by: thin, and none of their parts opens a formula.

use super::{Bar, Bars, bars_on, scale};
use crate::prelude::*;
use shardscope_core::report::Memory;

/// The bars of what a card proposes below those of `own`, on the same scale where its memory is no larger; nothing
/// where they are the same.
pub fn suggested(own: &Memory, other: &Memory, name: Message, unit: MemoryUnit) -> Node {
    let scale = scale(own).max(scale(other));
    let bars = bars_on(other, scale);
    if bars == bars_on(own, scale) {
        return Node::none();
    }
    let head = match other.peak_phase() {
        Some(phase) => t!(
            "Suggested: {name}, while it trains; phase {phase} needs {peak}",
            name,
            phase = phase.name,
            peak = unit.show(other.peak_bytes)
        ),
        None => t!("Suggested: {name}", name),
    };
    Node::from_iter([heading(head), thin(&bars, unit)])
}

/// The bars of one picture.
fn thin(picture: &Bars, unit: MemoryUnit) -> Node {
    let rows: Vec<Node> = picture.bars.iter().map(|bar| bar_row(bar, picture.capacity, unit)).collect();
    el("div", &[("class", "bars thin")], &rows)
}

fn bar_row(bar: &Bar, capacity: f64, unit: MemoryUnit) -> Node {
    let mut track: Vec<Node> = bar
        .segments
        .iter()
        .map(|part| {
            let (class, style) = (part.class(), percent("width", part.length));
            let title = t!("{component} {size}", component = part.component.name(), size = unit.show(part.bytes));
            let drawn = el("i", &[("class", &class), ("style", &style)], &[]);
            // A part that is printed as 0 says nothing.
            if unit.printed(part.bytes) > 0.0 { drawn.title(title) } else { drawn }
        })
        .collect();
    let class = if bar.is_peak { "total bold" } else { "total" };
    track.push(el("i", &[("class", "capacity"), ("style", &percent("left", capacity))], &[]));
    el(
        "div",
        &[("class", "bar-row")],
        &[
            leaf("span", "who", bar.name()),
            el("div", &[("class", "track")], &track),
            leaf("span", class, verbatim(unit.number(bar.total))),
        ],
    )
}
