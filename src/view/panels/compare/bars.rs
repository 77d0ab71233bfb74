//! Memory of two Runs on one scale.

use crate::core::report::Memory;
use crate::core::t;
use crate::core::units::MemoryUnit;
use crate::view::node::markup::{Node, el, leaf, percent};
use crate::view::panels::memory::{Bar, Bars, bars_on, legend, scale};
use crate::view::panels::words;

/// The bars of both on the longer one's scale.
pub fn memory(memories: [&Memory; 2], unit: MemoryUnit) -> Node {
    let scale = scale(memories[0]).max(scale(memories[1]));
    let pictures = memories.map(|memory| bars_on(memory, scale));
    let group = |(memory, picture, which): (&Memory, &Bars, &'static str)| {
        let rows: Node = picture
            .bars
            .iter()
            .map(|bar| bar_row(bar, picture.capacity, unit))
            .collect();
        Node::from_iter([
            leaf(
                "h3",
                "",
                t!(
                    "{which}: {memory}",
                    which,
                    memory = words::memory(memory, unit)
                ),
            ),
            el("div", &[("class", "bars thin")], &[rows]),
        ])
    };
    Node::from_iter([
        leaf("h3", "", "Memory per GPU, by pipeline rank, on one scale"),
        legend(&[&pictures[0], &pictures[1]]),
        group((memories[0], &pictures[0], "first")),
        group((memories[1], &pictures[1], "second")),
    ])
}

fn bar_row(bar: &Bar, capacity: f64, unit: MemoryUnit) -> Node {
    let mut track: Vec<Node> = bar
        .segments
        .iter()
        .map(|part| {
            let (class, style) = (part.class(), percent("width", part.length));
            let title = t!(
                "{component} {size}",
                component = part.component.name(),
                size = unit.show(part.bytes)
            );
            el("i", &[("class", &class), ("style", &style)], &[]).title(title)
        })
        .collect();
    let class = if bar.is_peak { "total bold" } else { "total" };
    track.push(el(
        "i",
        &[("class", "capacity"), ("style", &percent("left", capacity))],
        &[],
    ));
    el(
        "div",
        &[("class", "bar-row")],
        &[
            leaf("span", "who", bar.name()),
            el("div", &[("class", "track")], &track),
            leaf("span", class, unit.number(bar.total)),
        ],
    )
}
