//! Layouts that a search in the background found to do better, a card each, and the largest loss that a layout can change.

use super::plan::rows::narrowed;
use super::waterfall::main_loss;
use crate::core::memory::Verdict;
use crate::core::message::{Message, verbatim};
use crate::core::report::Evaluation;
use crate::core::run::{OneOf, Recompute, Run};
use crate::core::search::session::{PlanQuery, PlanResult};
use crate::core::search::{Figures, Found, Place, Request, TIE, why};
use crate::core::t;
use crate::core::units::{Bytes, MemoryUnit, Seconds, show_percent, show_seconds, significant};
use crate::view::node::action::Compare;
use crate::view::node::markup::{Action, Node, el, leaf, load, muted, strong, text};
use std::sync::Arc;

/// Progress of the search in the background.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Searched {
    /// True if it is over.
    pub done: bool,
    /// Layouts looked at.
    pub evaluated: u64,
    /// Of these, the ones that fit.
    pub feasible: u64,
    /// The fastest.
    pub best: Option<Suggestion>,
}

impl Searched {
    /// Reads `result` of `query` for the run of `evaluation`; nothing where it is of another question.
    #[must_use]
    pub fn of(query: &PlanQuery, result: &PlanResult, evaluation: &Evaluation) -> Self {
        let own = Found {
            run: evaluation.scenario.run.clone(),
            figures: Figures::from(&evaluation.report),
            place: Place::new(0, 0),
        };
        let same = Request::question(&query.run) == Request::question(&own.run);
        let Some(progress) = result.progress.filter(|_| same) else {
            return Self::default();
        };
        Self {
            done: progress.is_over(),
            evaluated: progress.evaluated,
            feasible: progress.feasible,
            best: result.best.as_ref().map(|found| Suggestion {
                run: Arc::new(found.run.clone()),
                time: found.figures.time_s,
                range: narrowed(found),
                peak: found.figures.peak.bytes,
                why: why(found, &own),
            }),
        }
    }

    /// The layout found that takes less time than that of `evaluation` by more than a tie, or fits where that does not.
    #[must_use]
    pub fn better(&self, evaluation: &Evaluation) -> Option<&Suggestion> {
        let report = &evaluation.report;
        let fits = report.memory.verdict != Verdict::Oom;
        self.best.as_ref().filter(|best| !fits || best.time.0 * (1.0 + TIE) < report.step.time_s.0)
    }
}

/// A layout that a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// The layout.
    pub run: Arc<Run>,
    /// Its step.
    pub time: Seconds,
    /// The range of its step, where a profile says it.
    pub range: Option<String>,
    /// Memory of its fullest GPU.
    pub peak: Bytes,
    /// Why it beats the page's own, in a sentence.
    pub why: Message,
}

/// The sizes of a layout that are not 1, its schedule, and what else differs from `own`.
#[must_use]
pub fn brief(run: &Run, own: &Run) -> Message {
    let sizes = [("TP", run.tp), ("PP", run.pp), ("CP", run.cp), ("EP", run.ep)];
    let used = sizes.into_iter().filter(|(_, size)| *size > 1);
    let mut parts: Vec<Message> = used.map(|(name, size)| verbatim(format!("{name} {size}"))).collect();
    if parts.is_empty() {
        let replicas = run.data_parallel().unwrap_or(run.gpus);
        parts.push(verbatim(format!("DP {replicas}")));
    }
    if run.pp > 1 {
        let chunks = match run.virtual_stages {
            1 => String::new(),
            chunks => format!(" × {chunks}"),
        };
        parts.push(verbatim(format!("{}{chunks}", run.schedule.choice().label)));
    }
    if run.zero != own.zero {
        parts.push(verbatim(format!("ZeRO-{}", run.zero)));
    }
    if run.micro_batch != own.micro_batch {
        parts.push(verbatim(format!("b {}", run.micro_batch)));
    }
    if run.recompute != own.recompute {
        parts.push(match run.recompute {
            Recompute::None => t!("no recomputation"),
            Recompute::Selective => t!("selective"),
            _ => run.recompute.words(),
        });
    }
    Message::joined(" · ", parts)
}

/// Gain of a suggested layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gain {
    /// Less time a step.
    Time,
    /// Less memory on the fullest GPU.
    Memory,
    /// Fewer GPUs.
    Gpus,
}

impl Gain {
    /// Its words, and the colour that it has in the pictures.
    const fn row(self) -> (&'static str, &'static str) {
        match self {
            Self::Time => ("Less time", "c-forward"),
            Self::Memory => ("Less memory", "c-activations"),
            Self::Gpus => ("Fewer GPUs", "c-weight"),
        }
    }
}

/// A card of a suggested layout: what it gains, what it is, the figure with the gain, the cause, the verdict, and what can be
/// done about it.
pub(crate) struct Card<'a> {
    /// Its gain.
    pub gain: Gain,
    /// The layout.
    pub run: &'a Arc<Run>,
    /// Its name.
    pub name: Message,
    /// The figure that gains.
    pub figure: Message,
    /// By how much.
    pub saved: Message,
    /// The cause.
    pub why: Message,
    /// Verdict and memory.
    pub verdict: (Verdict, Message),
}

impl Card<'_> {
    pub(crate) fn view(self) -> Node {
        let (kind, colour) = self.gain.row();
        let (class, mark) = match self.verdict.0 {
            Verdict::Fits => ("fits", "✓ "),
            Verdict::Tight => ("tight", "▲ "),
            Verdict::Oom => ("oom", "✕ "),
        };
        let compare = el("button", &[], &[text("Compare")]).on(Action::Compare(Compare::Keep(Arc::clone(self.run))));
        let verdict = el("span", &[("class", class)], &[leaf("b", "mark", mark), leaf("b", "word", self.verdict.1)]);
        let cells = [
            el("p", &[("class", "kind")], &[leaf("i", colour, ""), text(kind)]),
            leaf("h3", "", &self.name),
            el("p", &[("class", "gain")], &[strong(self.figure), text(", "), text(self.saved)]),
            leaf("p", "why", self.why),
            el("p", &[("class", "act")], &[verdict, compare, load("main", self.run, self.name, &[text("Use")])]),
        ];
        el("article", &[("class", "suggestion")], &cells)
    }
}

/// The cards of the layouts that do better, or why there are none.
#[must_use]
pub fn suggestion(evaluation: &Evaluation, searched: &Searched, unit: MemoryUnit) -> Node {
    let (report, own) = (&evaluation.report, &evaluation.scenario.run);
    let Some(best) = searched.better(evaluation) else {
        return el("div", &[("class", "suggestions none")], &[nothing(evaluation, searched)]);
    };
    let mut time = show_seconds(best.time);
    if let Some(range) = &best.range {
        time = format!("{time}; {range}");
    }
    let saved = 1.0 - best.time / report.step.time_s;
    let saved = match report.memory.verdict {
        Verdict::Oom => t!("and it fits"),
        _ => t!("{saved} % less", saved = format!("{:.0}", saved * 100.0)),
    };
    let card = Card {
        gain: Gain::Time,
        run: &best.run,
        name: brief(&best.run, own),
        figure: verbatim(time),
        saved,
        why: best.why.clone(),
        verdict: (Verdict::Fits, t!("fits, {peak}", peak = unit.show(best.peak))),
    };
    el("div", &[("class", "suggestions")], &[card.view()])
}

/// The words in place of the cards.
fn nothing(evaluation: &Evaluation, searched: &Searched) -> Node {
    let words = if !searched.done {
        t!("Looking for better layouts…")
    } else if searched.best.is_none() {
        t!("No layout fits on these GPUs.")
    } else if evaluation.report.memory.verdict == Verdict::Oom {
        t!("Out of memory: this layout does not fit.")
    } else {
        t!(
            "Within {tie} % of the fastest of {evaluated} layouts.",
            tie = significant(TIE * 100.0, 2),
            evaluated = searched.evaluated
        )
    };
    muted(words)
}

/// The main loss that a layout can change, and how far the search is: the line beside the head of the cards.
#[must_use]
pub fn lead(evaluation: &Evaluation, searched: &Searched) -> Message {
    let loss = match main_loss(evaluation) {
        Some((_, loss, share)) => {
            t!("The main loss a layout can change: {loss}, {share}.", loss, share = show_percent(share))
        }
        None => t!("No loss that a layout can change."),
    };
    let Searched { done, evaluated, feasible, .. } = *searched;
    let searched = match (evaluated, done) {
        (0, _) => Message::default(),
        (_, true) => t!("{evaluated} layouts searched, {feasible} fit.", evaluated, feasible),
        (_, false) => t!("Searching layouts: {evaluated}.", evaluated),
    };
    Message::joined(" ", [loss, searched])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::evaluate;

    fn found(run: Run, time: f64) -> Searched {
        Searched {
            done: true,
            evaluated: 10,
            feasible: 5,
            best: Some(Suggestion {
                run: Arc::new(run),
                time: Seconds(time),
                range: None,
                peak: Bytes(1e10),
                why: Message::default(),
            }),
        }
    }

    #[test]
    fn a_layout_is_suggested_where_it_is_faster_than_a_tie_or_this_one_does_not_fit() {
        let own = evaluate(&Run::default()).unwrap();
        let time = own.report.step.time_s.0;
        let other = Run { tp: 4, pp: 2, ..Run::default() };
        let shown =
            |evaluation: &Evaluation, time: f64| suggestion(evaluation, &found(other.clone(), time), MemoryUnit::Gib);
        let faster = shown(&own, time * 0.8);
        assert!(faster.to_html().contains("TP 4 · PP 2 · 1F1B") && faster.to_html().contains("20 % less"));
        assert!(faster.actions().contains(&&Action::Load(Arc::new(other.clone()))));
        assert!(shown(&own, time * 0.99).actions().is_empty());
        let full = Run { seq_len: 65_536, ..Run::default() };
        let full = evaluate(&full).unwrap();
        assert_eq!(full.report.memory.verdict, Verdict::Oom);
        let slower = shown(&full, full.report.step.time_s.0 * 2.0);
        assert!(slower.to_html().contains("and it fits") && slower.actions().len() == 2);
    }

    #[test]
    fn without_a_better_layout_there_are_words_and_nothing_to_press() {
        let own = evaluate(&Run::default()).unwrap();
        let words = |searched: &Searched| {
            let view = suggestion(&own, searched, MemoryUnit::Gib);
            assert!(view.actions().is_empty());
            view.to_html()
        };
        assert!(words(&Searched::default()).contains("Looking for better layouts"));
        let none = found(Run::default(), own.report.step.time_s.0);
        assert!(words(&none).contains("of the fastest of 10 layouts"));
        assert!(lead(&own, &none).to_string().contains("10 layouts searched, 5 fit."));
    }
}
