//! Layouts that a search in the background found to do better, a card each, and the largest loss that a layout can
//! change.

use super::waterfall::{main_loss, part_words};
use super::words;
use crate::node::action::Compare;
use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::run::Recompute;
use shardscope_core::search::better::{Better, Betters, Cause, Gain, Reason};
use shardscope_core::search::session::PlanResult;
use shardscope_core::search::{Request, differences, tie};
use shardscope_core::time::PartKind;
use std::cmp::Ordering;
use std::sync::Arc;

/// Progress of the search in the background.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Searched {
    /// True if it is over.
    pub done: bool,
    /// Layouts looked at.
    pub evaluated: u64,
    /// True if its limit of work left layouts out.
    pub partial: bool,
    /// True if some layout is within the memory of a GPU.
    pub any: bool,
    /// Layouts that do better than the page's own.
    pub betters: Betters,
}

impl Searched {
    /// Share of the step of `evaluation` that the fastest layout known saves, where that can be told apart.
    pub fn gain(&self, evaluation: &Evaluation) -> Option<f64> {
        let faster = self.betters.list.iter().find(|better| better.gain == Gain::Time)?;
        Some(1.0 - faster.figures.time_s / evaluation.report.step.time_s)
    }

    /// Reads `result` for the run of `evaluation`; nothing where it is of another question, and no layouts that do
    /// better where it is of another layout.
    pub fn of(result: &PlanResult, evaluation: &Evaluation) -> Self {
        let run = &evaluation.scenario.run;
        let same = Request::question(&result.run) == Request::question(run);
        let Some(progress) = result.progress.filter(|_| same) else {
            return Self::default();
        };
        let betters = if result.run == *run { result.betters.clone() } else { Betters::default() };
        Self {
            done: progress.is_over() && betters.done,
            evaluated: progress.evaluated,
            partial: progress.stopped.is_some_and(|share| share < 1.0),
            any: result.best.is_some(),
            betters,
        }
    }
}

/// The sizes of a layout that are not 1, its schedule, and what else differs from `own`.
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
        parts.push(t!("{name}{chunks}", name = run.schedule.choice().label, chunks = verbatim(chunks)));
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

/// Words of a gain, and the colour that it has in the pictures.
const fn kind(gain: Gain) -> (&'static str, &'static str) {
    match gain {
        Gain::Time => ("Less time", "c-forward"),
        Gain::Memory => ("Less memory", "c-activations"),
        Gain::Gpus => ("Fewer GPUs", "c-weight"),
        Gain::Equal => ("May be equal", "c-overhead"),
    }
}

/// A card of a suggested layout: what it gains, what it is, the figure with the gain, the cause, the verdict, and what
/// can be done about it.
struct Card {
    gain: Gain,
    /// The layout.
    run: Arc<Run>,
    name: Message,
    /// The figure that gains, its field in a report, and whose it is.
    figure: Message,
    field: &'static str,
    scope: Scope,
    /// By how much.
    saved: Message,
    /// The cause.
    why: Message,
    verdict: (Verdict, Message),
}

impl Card {
    fn view(self) -> Node {
        let (kind, colour) = kind(self.gain);
        let (class, mark) = words::sign(self.verdict.0);
        // A gain that may be none is not offered as one.
        let used = if self.gain == Gain::Equal {
            Node::none()
        } else {
            load("main", &self.run, self.name.clone(), &[text("Use")])
        };
        let compare = el("button", &[], &[text("Compare")]).on(Action::Compare(Compare::Keep(Arc::clone(&self.run))));
        let verdict = el("span", &[("class", class)], &[leaf("b", "mark", mark), leaf("b", "word", self.verdict.1)]);
        let cells = [
            el("p", &[("class", "kind")], &[leaf("i", colour, ""), text(kind)]),
            leaf("h3", "", &self.name),
            el(
                "p",
                &[("class", "gain")],
                &[strong(self.figure).reports(self.field, &self.scope), text(", "), text(self.saved)],
            ),
            leaf("p", "why", self.why),
            el("p", &[("class", "act")], &[verdict, compare, used]),
        ];
        el("article", &[("class", "suggestion")], &cells)
    }
}

/// The cards of the layouts that do better, or why there are none.
pub fn suggestion(evaluation: &Evaluation, searched: &Searched, unit: MemoryUnit) -> Node {
    let Betters { list, tight, .. } = &searched.betters;
    let mut cards: Vec<Node> = list.iter().map(|better| card(evaluation, better, unit).view()).collect();
    let none = list.iter().all(|better| better.gain != Gain::Time);
    let tight = if none && !tight.is_empty() { only_tight(evaluation, searched, unit) } else { Node::none() };
    if cards.is_empty() {
        let words = if tight == Node::none() { nothing(evaluation, searched) } else { tight };
        return el("div", &[("class", "suggestions none")], &[words]);
    }
    if list.iter().all(|better| better.gain == Gain::Equal) {
        cards.insert(0, nothing(evaluation, searched));
    }
    el("div", &[("class", "suggestions")], &[cards.into_iter().collect(), tight])
}

/// Tight layouts that take less time, on demand.
fn only_tight(evaluation: &Evaluation, searched: &Searched, unit: MemoryUnit) -> Node {
    let tight = &searched.betters.tight;
    let step_s = evaluation.report.step.time_s;
    let saved = |better: &Better| 100.0 * (1.0 - better.figures.time_s / step_s);
    let least = tight.iter().map(saved).fold(f64::INFINITY, f64::min);
    let most = tight.iter().map(saved).fold(0.0, f64::max);
    let usable = unit.show(evaluation.report.memory.capacity_bytes);
    let words = t!(
        "{count} are {least} to {most} % faster but may run out: their need may pass {usable}.",
        count = tight.len(),
        least = format!("{least:.0}"),
        most = format!("{most:.0}"),
        usable
    );
    let cards: Node = tight.iter().take(MOST_TIGHT).map(|better| card(evaluation, better, unit).view()).collect();
    let none = if searched.partial {
        t!("▲ Of the layouts looked at none that fits takes less time; the search ended at its limit of work.")
    } else {
        t!("▲ No layout that fits takes less time.")
    };
    let parts = [
        leaf("p", "tight", none),
        leaf("p", "muted", words),
        fold("Show the tight ones", el("div", &[("class", "suggestions")], &[cards])),
    ];
    el("div", &[("class", "only-tight")], &parts)
}

/// Tight layouts that are shown.
const MOST_TIGHT: usize = 4;

/// The card of a layout.
fn card(evaluation: &Evaluation, better: &Better, unit: MemoryUnit) -> Card {
    let (own, report) = (&evaluation.scenario.run, &evaluation.report);
    let figures = &better.figures;
    let percent = |share: f64| format!("{:.0}", 100.0 * share);
    let (time, peak) = (show_seconds(figures.time_s), unit.show(figures.peak.bytes));
    let word = |figure: &str| match figures.peak.overall {
        Verdict::Fits => t!("fits, {figure}", figure = figure.to_owned()),
        Verdict::Tight => t!("tight, {figure}", figure = figure.to_owned()),
        Verdict::Oom => t!("out of memory, {figure}", figure = figure.to_owned()),
    };
    let (figure, saved, verdict) = match better.gain {
        Gain::Equal => {
            let saved = t!("{saved} % less", saved = percent(1.0 - figures.time_s / report.step.time_s));
            (saved, t!("cannot be told apart"), word(&peak))
        }
        Gain::Time => {
            let saved = 1.0 - figures.time_s / report.step.time_s;
            (verbatim(time), t!("{saved} % less", saved = percent(saved)), word(&peak))
        }
        Gain::Memory => {
            let saved = unit.show(Bytes((report.memory.peak_bytes - figures.peak.bytes).0.max(0.0)));
            (verbatim(peak), t!("{saved} less", saved), word(&time))
        }
        Gain::Gpus => {
            let hours = |gpus: u64, time: Seconds| gpus as f64 * time.0;
            let saved = 1.0 - hours(better.run.gpus, figures.time_s) / hours(own.gpus, report.step.time_s);
            let saved = t!("{saved} % fewer GPU-hours", saved = percent(saved));
            (t!("{gpus} GPUs", gpus = better.run.gpus), saved, word(&peak))
        }
    };
    let name = brief(&better.run, own);
    let mut reasons: Vec<Message> = better.cause.iter().map(|cause| why(own, &better.run, cause, unit)).collect();
    if better.gain == Gain::Equal {
        reasons.push(t!(
            "Differences of this kind are known to {tie} %. Measure both: 20 steps each.",
            tie = significant(tie(own) * 100.0, 2)
        ));
    }
    if better.gain == Gain::Gpus {
        reasons.push(t!("A step takes {time}.", time = show_seconds(figures.time_s)));
    }
    Card {
        gain: better.gain,
        run: Arc::new(better.run.clone()),
        name,
        figure,
        field: match better.gain {
            Gain::Equal => "step.time_less",
            Gain::Time => "step.time_s",
            Gain::Memory => "memory.peak_bytes",
            Gain::Gpus => "gpus",
        },
        scope: Scope::of(&better.run, Some(own)),
        saved,
        why: Message::joined(" ", reasons),
        verdict: (figures.peak.overall, verdict),
    }
}

/// The cause in a sentence: what is set differently, and the quantity before and after.
fn why(own: &Run, other: &Run, cause: &Cause, unit: MemoryUnit) -> Message {
    let Cause { reason, before, after, pipelines } = *cause;
    let [(dp, m), (other_dp, other_m)] = pipelines;
    let (name, show): (&'static str, Box<dyn Fn(f64) -> String>) = match reason {
        Reason::Part(PartKind::Bubble) => ("bubble", Box::new(show_percent)),
        Reason::Part(part) => (part_words(part), Box::new(|value| show_seconds(Seconds(value)))),
        Reason::Share(part) => (part_words(part), Box::new(show_percent)),
        Reason::Memory(component) => (component.name(), Box::new(move |value| unit.show(Bytes(value)))),
    };
    // No line ends between a number and its unit.
    let [before, after] = [before, after].map(|value| show(value).replace(' ', "\u{a0}"));
    let bubble = matches!(reason, Reason::Part(PartKind::Bubble) | Reason::Share(PartKind::Bubble));
    // More micro-batches are a cause of a smaller bubble, fewer are not.
    if bubble && other_m > m && own.pp > 1 && other.pp > 1 {
        let counted = if m == 1 { t!("1 micro-batch") } else { t!("{m} micro-batches", m) };
        return t!(
            "DP {dp} leaves {counted} per pipeline, DP {other_dp} leaves {other_m}: {name} {before} to {after}.",
            dp,
            counted,
            other_dp,
            other_m,
            name = Message::plain(name),
            before,
            after
        );
    }
    let differs = relevant(own, other, reason);
    t!("{differs}: {name} {before} to {after}.", differs, name = Message::plain(name), before, after)
}

/// The first difference that moves `reason` the way it went, down; all differences where none does.
fn relevant(own: &Run, other: &Run, reason: Reason) -> Message {
    use Component::{Activations, Buffers, Gradients, Optimizer, Overhead, Weights};
    use Ordering::{Greater, Less};
    let size = |name: &'static str, of: fn(&Run) -> u64, way: Ordering| {
        let (now, then) = (of(own), of(other));
        (then.cmp(&now) == way).then(|| t!("{name} {then} instead of {now}", name = verbatim(name), then, now))
    };
    let (tp, pp) = (|way| size("TP", |run| run.tp, way), |way| size("PP", |run| run.pp, way));
    let (cp, ep) = (|way| size("CP", |run| run.cp, way), |way| size("EP", |run| run.ep, way));
    let dp = |way| size("DP", |run| run.data_parallel().unwrap_or(0), way);
    let zero = |way| size("ZeRO", |run| run.zero, way);
    let micro = |way| {
        let (now, then) = (own.micro_batch, other.micro_batch);
        (then.cmp(&now) == way).then(|| t!("micro-batch {then} instead of {now}", then, now))
    };
    let schedule = || {
        let alike = (own.schedule, own.virtual_stages) == (other.schedule, other.virtual_stages);
        let label = |run: &Run| match run.virtual_stages {
            1 => run.schedule.choice().label.into(),
            chunks => t!("{name} × {chunks}", name = run.schedule.choice().label, chunks),
        };
        let both = own.pp > 1 && other.pp > 1 && !alike;
        both.then(|| t!("{then} instead of {now}", then = label(other), now = label(own)))
    };
    let recompute = || {
        let then = match other.recompute {
            Recompute::None => t!("no recomputation"),
            Recompute::Selective => t!("selective recomputation"),
            _ => other.recompute.words(),
        };
        let saves = other.recompute != Recompute::None || matches!(reason, Reason::Part(_) | Reason::Share(_));
        (own.recompute != other.recompute && saves).then_some(then)
    };
    let first = match reason {
        Reason::Part(part) | Reason::Share(part) => match part {
            PartKind::Bubble => schedule().or_else(|| pp(Less)).or_else(|| dp(Less)),
            PartKind::Recompute => recompute(),
            PartKind::ExposedCp => cp(Less),
            PartKind::ExposedEp => ep(Less),
            PartKind::ExposedDp => dp(Less).or_else(|| zero(Less)),
            PartKind::Optimizer => zero(Greater).or_else(|| dp(Greater)),
            PartKind::ExposedTp => tp(Less),
            PartKind::Ideal | PartKind::Kernels | PartKind::Launches | PartKind::Loader => {
                micro(Greater).or_else(|| tp(Less)).or_else(|| cp(Less))
            }
        },
        Reason::Memory(component) => {
            let sharded = || tp(Greater).or_else(|| pp(Greater));
            match component {
                Weights | Gradients | Optimizer => zero(Greater).or_else(sharded).or_else(|| ep(Greater)),
                Activations => {
                    let smaller = recompute().or_else(|| micro(Less)).or_else(|| cp(Greater));
                    smaller.or_else(sharded).or_else(schedule)
                }
                Buffers | Overhead => micro(Less).or_else(|| cp(Greater)).or_else(sharded),
            }
        }
    };
    first.unwrap_or_else(|| differences(other, own))
}

/// The words in place of the cards.
fn nothing(evaluation: &Evaluation, searched: &Searched) -> Node {
    let words = if !searched.done {
        t!("Looking for better layouts…")
    } else if evaluation.report.memory.overall() == Verdict::Oom {
        if searched.partial {
            t!("Out of memory: the search ended at its limit of work and found no layout that fits.")
        } else if searched.any {
            t!("Out of memory: no layout on these GPUs fits, a few are tight.")
        } else {
            t!("Out of memory: no layout fits on these GPUs.")
        }
    } else {
        let (tie, evaluated) = (significant(tie(&evaluation.scenario.run) * 100.0, 2), searched.evaluated);
        if searched.partial {
            t!(
                "Within {tie} % of the fastest found in {evaluated} layouts; the search ended at its limit of work.",
                tie,
                evaluated
            )
        } else {
            t!("Within {tie} % of the fastest of {evaluated} layouts.", tie, evaluated)
        }
    };
    muted(words)
}

/// The main loss that a layout can change, and how far the search is: the line beside the head of the cards.
pub fn lead(evaluation: &Evaluation, searched: &Searched) -> Message {
    let loss = match main_loss(evaluation) {
        Some((_, loss, share)) => {
            t!("The main loss a layout can change: {loss}, {share}.", loss, share = show_percent(share))
        }
        None => t!("No loss that a layout can change."),
    };
    let searched = match (searched.evaluated, searched.done) {
        (0, _) => Message::default(),
        (evaluated, true) => t!("{evaluated} layouts searched.", evaluated),
        (evaluated, false) => t!("Searching layouts: {evaluated}.", evaluated),
    };
    Message::joined(" ", [loss, searched])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Korthikanti 2022, equation 2: activations are `s b h (34 + 5 a s / h) / t` of a layer. They grow with the
    /// micro-batch b and shrink with the ranks t.
    #[test]
    fn a_cause_moves_the_quantity_the_way_it_went() {
        let run = Run { tp: 1, micro_batch: 1, ..Run::default() };
        let other = Run { tp: 4, micro_batch: 2, ..run.clone() };
        let text = |reason| relevant(&run, &other, reason).to_string();
        assert_eq!(text(Reason::Memory(Component::Activations)), "TP 4 instead of 1");
        assert_eq!(text(Reason::Part(PartKind::Kernels)), "micro-batch 2 instead of 1");
    }
}
