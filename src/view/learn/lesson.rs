//! A lesson: its steps, and the contents of a step.

use super::dials::{Dials, Slider};
use crate::core::message::{Message, verbatim};
use crate::core::source::Source;
use crate::view::node::Node;

/// A lesson.
pub struct Lesson {
    /// Its id in links: see `id.rs`.
    pub id: &'static str,
    /// Its name.
    pub title: &'static str,
    /// Subject.
    pub about: &'static str,
    /// Its steps, in order.
    pub steps: &'static [Step],
}

/// A step of a lesson.
pub struct Step {
    /// Its id in links, within the lesson.
    pub id: &'static str,
    /// The idea in some words.
    pub title: &'static str,
    /// Its sliders.
    pub sliders: &'static [Slider],
    /// Text, formula and picture for values of the sliders.
    pub live: fn(&Dials) -> Live,
    /// The source, and the place in it.
    pub source: (&'static Source, &'static str),
    /// Settings that show it on the Run of the page; empty: the Run as it is.
    pub on_run: &'static [(&'static str, &'static str)],
}

/// Contents of a step for some values of its sliders.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Why, then what, then the cost.
    pub text: Vec<Message>,
    /// The formula in symbols, and the same with values and what comes out.
    pub formula: Option<[Message; 2]>,
    /// A line below the formula: what the simulation or the full model says instead.
    pub note: Message,
    /// Legend of the picture's colours.
    pub legend: Node,
    /// The picture.
    pub picture: Node,
    /// Values of the picture, as a table.
    pub table: Node,
}

impl Live {
    pub(super) fn of(text: Vec<Message>) -> Self {
        Self { text, ..Self::default() }
    }
    /// With the formula in `symbols`, and the same with `values` and what comes out.
    pub(super) fn formula(self, symbols: &'static str, values: impl Into<String>) -> Self {
        Self { formula: Some([verbatim(symbols), verbatim(values)]), ..self }
    }
    /// The same with words among the values.
    pub(super) fn worded(self, symbols: &'static str, values: Message) -> Self {
        Self { formula: Some([verbatim(symbols), values]), ..self }
    }
    pub(super) fn note(self, note: Message) -> Self {
        Self { note, ..self }
    }
}
