//! The whole run: from the first step to the last token, in figures, a calendar bar, a waterfall of losses, one simulated future, the
//! curve of the save interval, and spare nodes.

mod answer;
mod calendar;
mod days;
mod fields;
mod interval;
mod kinds;
mod spares;

pub use fields::{Caption, caption, empty};

use crate::core::report::Evaluation;
use crate::core::run::Run;
use crate::core::units::{MemoryUnit, Seconds, number, show_seconds, significant};
use crate::core::whole_run::{self, Figure, Range, Setting, WholeRun, explain, figures};
use crate::view::node::markup::{Node, muted};
use crate::view::panels::about::about;

/// Everything that the view shows of a Run, but its range.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its setting.
    pub setting: Setting,
    /// Its figures, without their range.
    pub figures: WholeRun,
}

impl Answer {
    /// The answer of an evaluated Run.
    ///
    /// # Errors
    /// No token budget, or a run that does not finish.
    pub fn new(evaluation: &Evaluation) -> Result<Self, Vec<crate::core::issue::Issue>> {
        let setting = whole_run::setting(evaluation)?;
        let figures = figures(evaluation, &setting);
        Ok(Self { setting, figures })
    }

    /// `range` of an earlier answer, in proportion to this one: what stands there until its own is drawn.
    #[must_use]
    pub fn scaled(&self, range: Range, before: &WholeRun) -> Range {
        let days = self.figures.days / before.days;
        let energy = self.figures.energy_kwh / before.energy_kwh;
        Range {
            low_days: range.low_days * days,
            high_days: range.high_days * days,
            low_energy_kwh: range.low_energy_kwh * energy,
            high_energy_kwh: range.high_energy_kwh * energy,
            ..range
        }
    }
}

/// The key figures; each opens its formula.
#[must_use]
pub fn answer(run: &Run, answer: &Answer, range: Option<&Range>) -> Node {
    answer::answer(run, answer, range)
}

/// The calendar from the first step to the last token, and where the lost time goes.
#[must_use]
pub fn calendar(answer: &Answer, range: Option<&Range>) -> Node {
    Node::from_iter([calendar::bar(answer, range), calendar::losses(answer, range)])
}

/// One simulated future by days; `chosen` is another seed than the Run's own.
#[must_use]
pub fn future(run: &Run, answer: &Answer, chosen: Option<u64>) -> Node {
    days::days(run, &answer.setting, chosen)
}

/// The interval between two saves, and the spare nodes.
#[must_use]
pub fn choices(answer: &Answer) -> Node {
    Node::from_iter([interval::interval(answer), spares::spares(answer)])
}

/// Derivation of a figure.
#[must_use]
pub fn derivation(evaluation: &Evaluation, figure: Figure, unit: MemoryUnit) -> Node {
    let term = Answer::new(evaluation).ok().and_then(|answer| {
        let terms = explain(evaluation, &answer.setting, &answer.figures).into_iter();
        terms.map(|(known, term)| (known == figure, term)).find_map(|(is_it, term)| is_it.then_some(term))
    });
    term.map_or_else(|| muted("This run has no such figure."), |term| about(&term, unit))
}

/// A duration for people: `12 s`, `10.9 min`, `3.1 h`, `80.1 d`.
#[must_use]
pub fn duration(time: Seconds) -> String {
    if (120.0..7200.0).contains(&time.0) {
        return format!("{} min", short(time.0 / 60.0));
    }
    show_seconds(time)
}

/// Three significant digits, and no zeros behind the point of a whole number.
fn short(value: f64) -> String {
    let rounded = significant(value, 3);
    if value >= 1.0 && value.round() == value { number(value, 3) } else { rounded }
}

#[cfg(test)]
mod tests;
