//! Lessons: seven, each of some steps. A step is one idea: a text of at most 90 words, a live picture with sliders, the
//! formula with its values, its source, and the way to see the same on the Run of the page.
//!
//! A step computes every figure that it shows with the calculator: templates hold no figures, arguments do. A lesson is a
//! file here; a new step is a row of its `STEPS` and a function from slider values to [`Live`].

mod bars;
mod caption;
mod dials;
mod lanes;
mod layout;
mod matrices;
mod memory;
mod overlap;
mod page;
mod pictures;
mod pipelines;
mod plot;
mod sequence;
mod tensor;
mod zero;

pub use dials::{Dials, Slider};
pub use page::{formula, head, lessons, on_run, picture, source, title, words};

use crate::core::message::{Message, verbatim};
use crate::core::source::Source;
use crate::view::node::Node;
use std::fmt::{self, Display, Formatter};

/// A lesson.
pub struct Lesson {
    /// In links; never changes.
    pub id: &'static str,
    /// Its name.
    pub title: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Its steps, in order.
    pub steps: &'static [Step],
}

/// A step of a lesson.
pub struct Step {
    /// The idea in some words.
    pub title: &'static str,
    /// What can be changed.
    pub sliders: &'static [Slider],
    /// Text, formula and picture for values of the sliders.
    pub live: fn(&Dials) -> Live,
    /// The source, and the place in it.
    pub source: (&'static Source, &'static str),
    /// Settings that show it on the Run of the page; empty: the Run as it is.
    pub on_run: &'static [(&'static str, &'static str)],
}

/// What a step shows for some values of its sliders.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Why, then what, then the cost.
    pub text: Vec<Message>,
    /// The formula in symbols, and the same with values and what comes out.
    pub formula: Option<[Message; 2]>,
    /// A line below the formula: what the simulation or the full model says instead.
    pub note: Message,
    /// What the colours of the picture stand for.
    pub legend: Node,
    /// The picture.
    pub picture: Node,
    /// What the picture shows, as a table.
    pub table: Node,
}

impl Live {
    fn of(text: Vec<Message>) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
    /// With the formula in `symbols`, and the same with `values` and what comes out.
    fn formula(self, symbols: &'static str, values: impl Into<Message>) -> Self {
        Self {
            formula: Some([verbatim(symbols), values.into()]),
            ..self
        }
    }
    fn note(self, note: Message) -> Self {
        Self { note, ..self }
    }
}

/// A step by its lesson and its number, both from 0; shown and linked as `pipelines.4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepId {
    lesson: usize,
    step: usize,
}

impl StepId {
    /// The step that a link names: `pipelines.4`, or `pipelines` for its first.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        let (id, number) = text.split_once('.').unwrap_or((text, "1"));
        let lesson = LESSONS.iter().position(|lesson| lesson.id == id)?;
        let step = number.parse::<usize>().ok()?.checked_sub(1)?;
        (step < LESSONS[lesson].steps.len()).then_some(Self { lesson, step })
    }
    /// The first step of the first lesson.
    #[must_use]
    pub const fn first() -> Self {
        Self { lesson: 0, step: 0 }
    }
    /// Its lesson.
    #[must_use]
    pub fn lesson(self) -> &'static Lesson {
        &LESSONS[self.lesson]
    }
    /// The step.
    #[must_use]
    pub fn step(self) -> &'static Step {
        &self.lesson().steps[self.step]
    }
    /// Every step of every lesson, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        let steps = |lesson: usize| 0..LESSONS[lesson].steps.len();
        (0..LESSONS.len())
            .flat_map(move |lesson| steps(lesson).map(move |step| Self { lesson, step }))
    }
    /// The one before and the one behind, over all lessons.
    #[must_use]
    pub(crate) fn neighbours(self) -> [Option<Self>; 2] {
        let all: Vec<Self> = Self::all().collect();
        let at = all.iter().position(|step| *step == self).unwrap_or(0);
        [at.checked_sub(1), Some(at + 1)].map(|at| all.get(at?).copied())
    }
}

impl Display for StepId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.lesson().id, self.step + 1)
    }
}

/// The lessons, in the order of the lecture and the playbook.
pub(crate) static LESSONS: &[Lesson] = &[
    memory::LESSON,
    zero::LESSON,
    tensor::LESSON,
    sequence::LESSON,
    pipelines::LESSON,
    overlap::LESSON,
    layout::LESSON,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of a step come from the calculator, so its templates hold none; names such as 1F1B do.
    const NAMES: [&str; 12] = [
        "1F1B", "ZeRO-1", "ZeRO-2", "ZeRO-3", "ZB-H1", "ZB-H2", "1D", "2D", "3D", "2.5D", "bf16",
        "fp32",
    ];

    fn positions(step: &Step, pick: impl Fn(&Slider) -> usize) -> Vec<usize> {
        step.sliders.iter().map(pick).collect()
    }

    /// At the start and at both ends of every slider: text, picture and table, no figure in a template, no NaN.
    #[test]
    fn every_step_shows_what_it_is_about() {
        for id in StepId::all() {
            let step = id.step();
            for at in [
                positions(step, |slider| slider.start),
                positions(step, |_| 0),
                positions(step, |slider| slider.values.len() - 1),
            ] {
                let live = (step.live)(&Dials::new(step, &at));
                let text: Vec<String> = live.text.iter().map(Message::to_string).collect();
                let count = text
                    .iter()
                    .map(|text| text.split_whitespace().count())
                    .sum::<usize>();
                assert!((20..=90).contains(&count), "{id}: {count} words");
                for message in &live.text {
                    message.templates(&mut |template| {
                        let mut bare = template.to_owned();
                        for name in NAMES {
                            bare = bare.replace(name, "");
                        }
                        assert!(
                            !bare.contains(|c: char| c.is_ascii_digit()),
                            "{id}: {template}"
                        );
                    });
                }
                let html: Node = [live.picture, live.table].into_iter().collect();
                let html = html.to_html();
                assert!(
                    html.contains("aria-label") && html.contains("<table"),
                    "{id}"
                );
                for text in [
                    &html,
                    &text.join(" "),
                    &format!("{:?}", live.formula),
                    &live.note.to_string(),
                ] {
                    assert!(
                        !text.contains("NaN") && !text.contains("inf"),
                        "{id}: {text}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_link_names_a_step_and_a_step_its_link() {
        for id in StepId::all() {
            assert_eq!(StepId::named(&id.to_string()), Some(id));
        }
        assert_eq!(
            StepId::named("pipelines").unwrap().to_string(),
            "pipelines.1"
        );
        for text in [
            "",
            "pipelines.0",
            "pipelines.99",
            "pipelines.x",
            "cooking.1",
        ] {
            assert_eq!(StepId::named(text), None, "{text}");
        }
        let [before, after] = StepId::first().neighbours();
        assert!(before.is_none() && after.is_some());
    }

    #[test]
    fn settings_for_the_run_are_fields_of_the_registry() {
        use crate::core::run::registry::field;
        for step in StepId::all().map(StepId::step) {
            for (key, _) in step.on_run {
                assert!(field(key).is_some(), "{key}");
            }
        }
    }
}
