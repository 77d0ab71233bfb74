//! The largest loss that a layout can change, and the layout that a search in the background found to change it: always
//! two lines, so that nothing moves.

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
use crate::view::node::markup::{Action, Node, el, faint, inline, leaf, load, text};
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
            done: progress.done,
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

/// The two lines, and what can be done about them.
#[must_use]
pub fn suggestion(evaluation: &Evaluation, searched: &Searched, unit: MemoryUnit) -> Node {
    let (report, own) = (&evaluation.report, &evaluation.scenario.run);
    let fits = report.memory.verdict != Verdict::Oom;
    let better = searched.better(evaluation);
    let class = match (better, searched.done, fits) {
        (None, true, true) => "loss none",
        _ => "loss",
    };
    let lines = [
        leaf("p", "lead", lead(evaluation, better.is_none() && searched.done)),
        el("p", &[], &[second(evaluation, searched, better, unit)]),
    ];
    let buttons: [Node; 2] = match better {
        Some(best) => [
            el("button", &[], &[text("Compare")]).on(Action::Compare(Compare::Keep(Arc::clone(&best.run)))),
            load("main", &best.run, brief(&best.run, own), &[text("Use it")]),
        ],
        None => [("", "Compare"), ("main", "Use it")]
            .map(|(class, label)| el("button", &[("class", class), ("disabled", "disabled")], &[text(label)])),
    };
    let tools = el("span", &[("class", "tools")], &buttons);
    el("div", &[("class", class)], &[el("div", &[], &lines), tools])
}

/// Loss of time; a note that nothing faster was found, where the search is over.
fn lead(evaluation: &Evaluation, nothing_better: bool) -> Message {
    let memory = &evaluation.report.memory;
    if memory.verdict == Verdict::Oom {
        return t!("Out of memory: this layout does not fit.");
    }
    if nothing_better {
        return t!("No layout in the search takes {tie} % less time.", tie = significant(TIE * 100.0, 2));
    }
    match main_loss(evaluation) {
        Some((_, loss, share)) => {
            t!("Main loss that a layout can change: {loss}, {share} of the step.", loss, share = show_percent(share))
        }
        None => t!("No loss that a layout can change."),
    }
}

fn second(evaluation: &Evaluation, searched: &Searched, better: Option<&Suggestion>, unit: MemoryUnit) -> Node {
    let report = &evaluation.report;
    let Some(best) = better else {
        let words = if !searched.done {
            t!("Looking for a faster layout…")
        } else if searched.best.is_none() {
            t!("No layout fits on these GPUs.")
        } else {
            t!(
                "{evaluated} layouts searched, {feasible} fit.",
                evaluated = searched.evaluated,
                feasible = searched.feasible
            )
        };
        return faint(words);
    };
    let layout = brief(&best.run, &evaluation.scenario.run);
    let peak = unit.show(best.peak);
    let mut time = show_seconds(best.time);
    if let Some(range) = &best.range {
        time = format!("{time}; {range}");
    }
    let saved = 1.0 - best.time / report.step.time_s;
    let words = if report.memory.verdict == Verdict::Oom {
        t!("{layout} fits: {time} per step, {peak}.", layout, time, peak)
    } else {
        t!(
            "{layout} takes {saved} % less time ({time}) and needs {peak}.",
            layout,
            saved = format!("{:.0}", saved * 100.0),
            time,
            peak
        )
    };
    let more = (!searched.done).then(|| faint(" Still searching…"));
    let words = inline(words).title(&best.why);
    std::iter::once(words).chain(more).collect()
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
        assert!(faster.to_html().contains("TP 4 · PP 2 · 1F1B takes 20 % less time"));
        assert!(faster.actions().contains(&&Action::Load(Arc::new(other.clone()))));
        assert!(shown(&own, time * 0.99).actions().is_empty());
        let full = Run { seq_len: 65_536, ..Run::default() };
        let full = evaluate(&full).unwrap();
        assert_eq!(full.report.memory.verdict, Verdict::Oom);
        let slower = shown(&full, full.report.step.time_s.0 * 2.0);
        assert!(slower.to_html().contains("fits:") && slower.actions().len() == 2);
    }

    /// Its place is kept from the first paint on.
    #[test]
    fn two_lines_and_two_buttons_are_always_there() {
        let own = evaluate(&Run::default()).unwrap();
        for searched in [Searched::default(), found(Run::default(), 1.0)] {
            let html = suggestion(&own, &searched, MemoryUnit::Gib).to_html();
            assert_eq!((html.matches("<p").count(), html.matches("<button").count()), (2, 2));
        }
    }
}
