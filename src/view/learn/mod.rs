//! Lessons: seven, each of some steps. A step is one idea: a text of at most 90 words, a live picture with sliders, the
//! formula with its values, its source, and the way to see the same on the Run of the page.
//!
//! A step computes every figure that it shows with the calculator: templates hold no figures, arguments do. A lesson is a
//! file here; a new step is a row of its `steps`, its id in `view/steps.rs`, and a function from slider values to [`Live`].
//!
//! A [`Question`] names a step, its sliders and the Run; its [`Page`] holds the views.

mod bars;
mod caption;
mod dials;
mod lanes;
mod layout;
mod lesson;
mod matrices;
mod memory;
mod overlap;
mod page;
mod pictures;
mod pipelines;
mod plot;
mod question;
mod sequence;
mod tensor;
mod zero;

pub use crate::view::steps::StepId;
pub use dials::{Dials, Scale, Slider};
pub use lesson::{Lesson, Live, Step};
pub use page::{formula, head, picture, words};
pub use question::{Page, Question};

impl StepId {
    /// Its lesson.
    #[must_use]
    pub fn lesson(self) -> &'static Lesson {
        LESSONS.iter().find(|lesson| lesson.id == self.lesson_id()).unwrap_or(&LESSONS[0])
    }
    /// The step.
    #[must_use]
    pub fn step(self) -> &'static Step {
        let steps = self.lesson().steps;
        steps.iter().find(|step| step.id == self.id()).unwrap_or(&steps[0])
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
    use crate::core::message::Message;
    use crate::view::node::Node;

    /// The figures of a step come from the calculator, so its templates hold none; names such as 1F1B do.
    const NAMES: [&str; 13] = [
        "PipeDream-2BW",
        "1F1B",
        "ZeRO-1",
        "ZeRO-2",
        "ZeRO-3",
        "ZB-H1",
        "ZB-H2",
        "1D",
        "2D",
        "3D",
        "2.5D",
        "bf16",
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
                let live = (step.live)(&Dials::new(step.sliders, &at));
                let text: Vec<String> = live.text.iter().map(Message::to_string).collect();
                let count = text.iter().map(|text| text.split_whitespace().count()).sum::<usize>();
                assert!((20..=90).contains(&count), "{id}: {count} words");
                for message in &live.text {
                    message.templates(&mut |template| {
                        let mut bare = template.to_owned();
                        for name in NAMES {
                            bare = bare.replace(name, "");
                        }
                        assert!(!bare.contains(|c: char| c.is_ascii_digit()), "{id}: {template}");
                    });
                }
                let html: Node = [live.picture, live.table].into_iter().collect();
                let html = html.to_html();
                assert!(html.contains("aria-label") && html.contains("<table"), "{id}");
                for text in [&html, &text.join(" "), &format!("{:?}", live.formula), &live.note.to_string()] {
                    assert!(!text.contains("NaN") && !text.contains("inf"), "{id}: {text}");
                }
            }
        }
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
