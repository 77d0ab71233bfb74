//! A lesson: its steps, and the contents of a step.

use super::dials::{Dials, Slider};
use super::gauge::OnRun;
use super::goal::Goal;
use super::moments::Moments;
use crate::prelude::*;
use shardscope_core::source::Source;

pub struct Lesson {
    /// Its id in links: see `view/steps.rs`.
    pub id: &'static str,
    pub title: &'static str,
    /// Subject.
    pub about: &'static str,
    pub steps: &'static [LessonStep],
}

/// A step of a lesson.
pub struct LessonStep {
    /// Its id in links, within the lesson.
    pub id: &'static str,
    /// The idea in some words.
    pub title: &'static str,
    pub sliders: &'static [Slider],
    /// Text, formula and picture for values of the sliders.
    pub live: fn(&Dials) -> Live,
    /// The source, and the place in it.
    pub source: (&'static Source, &'static str),
    /// The figure of the page's Run that the step is about, and settings that change it; no settings: the Run as it is.
    pub on_run: OnRun,
}

/// Contents of a step for some values of its sliders.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Why, then what, then the cost: at most 60 words.
    pub text: Vec<Message>,
    /// The formula in symbols, and the same with values and what comes out.
    pub formula: Option<[Message; 2]>,
    /// A line below the formula: what the simulation or the full model says instead.
    pub note: Message,
    /// Remarks on how the sources count, and on their slips.
    pub compared: Message,
    pub goal: Option<Goal>,
    /// Legend of the picture's colours.
    pub legend: Node,
    pub picture: Node,
    /// What happens in the picture of pipelines over time.
    pub moments: Option<Moments>,
    /// Values of the picture, as a table.
    pub table: Node,
}

/// A second picture with its legend, below the first: a low frame has no room for it.
pub(super) fn second(legend: Node, picture: Node) -> Node {
    el("div", &[("class", "second-picture")], &[legend, picture])
}

impl Live {
    pub(super) fn of(text: impl Into<Vec<Message>>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
    /// With the formula in `symbols`, and the same with `values` and what comes out.
    pub(super) fn formula(self, symbols: &'static str, values: impl Into<String>) -> Self {
        self.worded(symbols, verbatim(values))
    }
    /// With the formula in `symbols`, and with `values` that have words among them.
    pub(super) fn worded(self, symbols: &'static str, values: Message) -> Self {
        Self { formula: Some([symbols.into(), values]), ..self }
    }
    pub(super) fn note(self, note: Message) -> Self {
        Self { note, ..self }
    }
    pub(super) fn compared(self, compared: Message) -> Self {
        Self { compared, ..self }
    }
    /// With the challenge to bring `subject` below `mark`.
    pub(super) fn below(self, subject: impl Into<Message>, now: f64, mark: f64, shown: fn(f64) -> String) -> Self {
        Self { goal: Some(Goal { subject: subject.into(), now, mark, is_below: true, shown }), ..self }
    }
    /// With the challenge to bring `subject` above `mark`.
    pub(super) fn above(self, subject: impl Into<Message>, now: f64, mark: f64, shown: fn(f64) -> String) -> Self {
        Self { goal: Some(Goal { subject: subject.into(), now, mark, is_below: false, shown }), ..self }
    }
}
