//! Memory of two Runs on one scale.

use crate::panels::memory::{Bars, bars_on, legend, scale, thin};
use crate::panels::words;
use crate::prelude::*;
use shardscope_core::report::Memory;

/// The bars of both on the longer one's scale.
pub fn memory(memories: [&Memory; 2], unit: MemoryUnit) -> Node {
    let scale = scale(memories[0]).max(scale(memories[1]));
    let pictures = memories.map(|memory| bars_on(memory, scale));
    let group = |(memory, picture, which): (&Memory, &Bars, &'static str)| {
        Node::from_iter([
            heading(t!("{which}: {memory}", which, memory = words::memory(memory, unit))),
            thin(picture, unit),
        ])
    };
    Node::from_iter([
        leaf("h2", "", "Memory per GPU, by pipeline rank, on one scale"),
        legend(&[&pictures[0], &pictures[1]]),
        group((memories[0], &pictures[0], "A")),
        group((memories[1], &pictures[1], "B")),
    ])
}
