//! The panels of the back room, by name: what a person opens to look further, as HTML text.

use super::about::about;
use super::markup::{Html, span};
use super::memory;
use crate::report::{Evaluation, Figure, explain, fit, methods, narrow};
use crate::units::MemoryUnit;

/// What is asked of a panel.
pub struct Question<'a> {
    /// The Run, evaluated.
    pub evaluation: &'a Evaluation,
    /// What of it: the figure to explain, the row to open; empty for all.
    pub of: &'a str,
    /// GiB or GB.
    pub unit: MemoryUnit,
}

/// A panel of the back room.
pub struct BackPanel {
    /// What the page asks for.
    pub name: &'static str,
    /// What it shows.
    pub html: fn(&Question) -> Html,
}

/// All of them.
pub static PANELS: &[BackPanel] = &[
    BackPanel {
        name: "about",
        html: about_figure,
    },
    BackPanel {
        name: "methods",
        html: |question| memory::methods(&methods::rows(question.evaluation), question.unit),
    },
    BackPanel {
        name: "fit",
        html: |question| {
            let found = fit::Search::new(question.evaluation).finish(question.evaluation);
            memory::fit(
                &question.evaluation.report.memory,
                &found,
                false,
                question.unit,
            )
        },
    },
    BackPanel {
        name: "narrow",
        html: |question| {
            let evaluation = question.evaluation;
            memory::narrow(
                &narrow::narrow(evaluation),
                &narrow::gaps(evaluation),
                question.unit,
            )
        },
    },
];

/// The panel called `name`; nothing where there is none.
#[must_use]
pub fn panel(name: &str, question: &Question) -> Html {
    PANELS
        .iter()
        .find(|panel| panel.name == name)
        .map_or_else(Html::none, |panel| (panel.html)(question))
}

/// Where a figure comes from; the fullest GPU where none is named.
fn about_figure(question: &Question) -> Html {
    let evaluation = question.evaluation;
    let peak = Figure::Memory(evaluation.report.memory.peak_stage);
    Figure::from_id(question.of)
        .and_then(|figure| explain(evaluation, figure))
        .or_else(|| explain(evaluation, peak))
        .map_or_else(
            || span("p", "muted", "Choose a figure to see where it comes from."),
            |term| about(&term),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::run::Run;

    #[test]
    fn every_panel_says_something_of_the_default_run() {
        let evaluation = evaluate(&Run::default()).unwrap();
        for panel in PANELS {
            let question = Question {
                evaluation: &evaluation,
                of: "",
                unit: MemoryUnit::Gib,
            };
            assert_ne!((panel.html)(&question), Html::none(), "{}", panel.name);
        }
    }
}
