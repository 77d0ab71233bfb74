//! The whole run: from the first step to the last token, in figures, a calendar bar, a waterfall of losses, one
//! simulated future, the curve of the save interval, and spare nodes.

mod answer;
mod calendar;
mod days;
mod fields;
mod found;
mod interval;
mod inverse;
mod kinds;
mod spares;

pub use answer::{answer, assumed};
pub use days::future;
pub use fields::{Caption, caption, steps};
pub use found::{WholeRunAnswer, duration};
pub use inverse::{DateLayout, dates, trains};
pub use kinds::kind;

use crate::panels::about::about;
use crate::panels::budget::steps_alone;
use crate::prelude::*;
use shardscope_core::whole_run::{CalendarRange, WholeRunFigure, explain};

/// The calendar from the first step to the last token, and where the lost time goes.
pub fn calendar(answer: &WholeRunAnswer, range: Option<&CalendarRange>) -> Node {
    Node::from_iter([calendar::bar(answer, range), calendar::losses(answer, range)])
}

/// The interval between two saves, and the spare nodes.
pub fn choices(answer: &WholeRunAnswer) -> Node {
    Node::from_iter([interval::interval(answer), spares::spares(answer)])
}

/// Derivation of a figure.
pub fn derivation(evaluation: &Evaluation, figure: WholeRunFigure, unit: MemoryUnit) -> Node {
    let term = WholeRunAnswer::new(evaluation).ok().and_then(|answer| {
        let terms = explain(evaluation, &answer.setting, &answer.figures).into_iter();
        terms.map(|(known, term)| (known == figure, term)).find_map(|(is_it, term)| is_it.then_some(term))
    });
    let Some(term) = term else {
        return muted("This run has no such figure.");
    };
    match figure {
        WholeRunFigure::Cost | WholeRunFigure::Days => Node::from_iter([about(&term, unit), steps_alone(evaluation)]),
        _ => about(&term, unit),
    }
}

#[cfg(test)]
mod tests;
