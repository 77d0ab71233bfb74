//! Inks of pictures: roles, each with the style sheet's name and a colour.

use crate::palette::{Palette, Rgb};
use shardscope_core::pipeline::OpKind;

/// Role of a drawn element, not its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Paper,
    /// Hairlines.
    Line,
    /// Words and rules.
    Text,
    /// Secondary words.
    Muted,
    /// Selection, and the answer among others.
    Accent,
    /// Idle time, and dots among many.
    Hatch,
    Forward,
    /// Backward passes, whole or for the input.
    Backward,
    /// Gradients of weights.
    Weight,
    /// Communication that may show.
    Exposed,
    Optimizer,
    /// A component of memory, in the order of the bars.
    Memory(usize),
}

/// Tokens of the memory components.
const MEMORY: [&str; 6] =
    ["--m-weights", "--m-gradients", "--m-optimizer", "--m-activations", "--m-buffers", "--m-overhead"];

impl Ink {
    pub const fn of(kind: OpKind) -> Self {
        match kind {
            OpKind::F => Self::Forward,
            OpKind::B | OpKind::BW => Self::Backward,
            OpKind::W => Self::Weight,
        }
    }
    /// The style sheet's name of it.
    pub fn token(self) -> &'static str {
        match self {
            Self::Paper => "--bg",
            Self::Line => "--line",
            Self::Text => "--text",
            Self::Muted => "--muted",
            Self::Accent => "--accent",
            Self::Hatch => "--hatch",
            Self::Forward => "--t-forward",
            Self::Backward => "--t-backward",
            Self::Weight => "--t-weight",
            Self::Exposed => "--t-exposed",
            Self::Optimizer => "--t-optimizer",
            Self::Memory(component) => MEMORY[component % MEMORY.len()],
        }
    }
    /// Its colour in `palette`.
    pub const fn rgb(self, palette: &Palette) -> Rgb {
        match self {
            Self::Paper => palette.paper,
            Self::Line => palette.line,
            Self::Text => palette.text,
            Self::Muted => palette.muted,
            Self::Accent => palette.accent,
            Self::Hatch => palette.hatch,
            Self::Forward => palette.forward,
            Self::Backward => palette.backward,
            Self::Weight => palette.weight,
            Self::Exposed => palette.exposed,
            Self::Optimizer => palette.step,
            Self::Memory(component) => palette.components()[component % MEMORY.len()],
        }
    }
    pub const ALL: [Self; 17] = [
        Self::Paper,
        Self::Line,
        Self::Text,
        Self::Muted,
        Self::Accent,
        Self::Hatch,
        Self::Forward,
        Self::Backward,
        Self::Weight,
        Self::Exposed,
        Self::Optimizer,
        Self::Memory(0),
        Self::Memory(1),
        Self::Memory(2),
        Self::Memory(3),
        Self::Memory(4),
        Self::Memory(5),
    ];
}
