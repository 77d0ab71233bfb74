//! Layouts that a search in the background found to do better, a card each, and the largest loss that a layout can
//! change.

mod found;
mod lead;
mod reasons;
mod tight;

pub use found::SearchProgressShown;
pub use lead::lead;
pub use tight::tight_sentence;
pub(super) use tight::{MOST_TIGHT, are_as_tight};

use crate::node::action::Compare;
use crate::node::figure::Scope;
use crate::panels::budget::keeping_budget;
use crate::panels::changes::changes;
use crate::panels::names::{MORE_GPUS, SHORTENED, WITHOUT_HOST, brief, gpus_words, kind, names, sets};
use crate::prelude::*;
use crate::words;
use lead::nothing;
use reasons::{reasons, why_not_fewer};
use shardscope_core::search::better::{Better, Gain};
use std::sync::Arc;
use tight::{as_published, only_tight, ran_tight, tight_clause};

/// A card of a suggested layout: what it gains, what it is, the figure with the gain, the cause, the verdict, and what
/// can be done about it.
struct Card {
    gain: Gain,
    /// Words of the gain and their colour.
    kind: (&'static str, &'static str),
    /// The layout.
    run: Arc<Run>,
    /// All settings that it has other than the page's.
    sets: Message,
    name: Message,
    /// The figure that gains, its field in a report, and whose it is.
    figure: Message,
    field: &'static str,
    scope: Scope,
    /// By how much.
    saved: Message,
    /// The cause.
    why: Message,
    /// Its class and sign, and its words.
    verdict: ([&'static str; 2], Message),
}

impl Card {
    fn view(self) -> Node {
        let (kind, colour) = self.kind;
        let ([class, mark], words) = self.verdict;
        // A gain that may be none is not offered as one.
        let used =
            if self.gain == Gain::Equal { Node::none() } else { load("main", &self.run, self.sets, &[text("Use")]) };
        let compare = el("button", &[], &[text("Compare")]).on(Action::Compare(Compare::Keep(Arc::clone(&self.run))));
        let verdict = el("span", &[("class", class)], &[leaf("b", "mark", mark), leaf("b", "word", words)]);
        let cells = [
            el("p", &[("class", "kind")], &[leaf("i", colour, ""), text(kind)]),
            leaf("h3", "", &self.name),
            el(
                "p",
                &[("class", "gain")],
                &[strong(self.figure).reports(self.field, &self.scope), text(t!(", {saved}", saved = self.saved))],
            ),
            leaf("p", "why", self.why),
            el("p", &[("class", "act")], &[verdict, compare, used]),
        ];
        el("article", &[("class", "suggestion")], &cells)
    }
}

/// The cards of the layouts that do better, or why there are none.
pub fn suggestion(evaluation: &Evaluation, searched: &SearchProgressShown, unit: MemoryUnit) -> Node {
    let list = &searched.betters.list;
    // The fewest GPUs are a line below the cards, where there are three of them.
    let is_line = |better: &&Better| better.gain == Gain::Fewest && list.len() > CARDS;
    let shown: Vec<&Better> = list.iter().filter(|better| !is_line(better)).collect();
    let step_s = searched.step_of(evaluation);
    let mut cards = cards_of(evaluation, step_s, &shown, unit);
    let line: Node = list.iter().filter(is_line).map(|better| fewest(evaluation, better, &shown, unit)).collect();
    let tight = tight_clause(evaluation, searched, unit)
        .map_or_else(Node::none, |clause| only_tight(evaluation, searched, clause, unit));
    let said = ran_tight(&evaluation.scenario.run, searched);
    if cards.is_empty() {
        let words = if tight == Node::none() { nothing(evaluation, searched) } else { tight };
        let none = el("div", &[("class", "suggestions none")], &[words]);
        return Node::from_iter([none, as_published(&evaluation.scenario.run, &said)]);
    }
    // A larger batch, fewer GPUs and less memory say nothing of whether another layout is faster.
    let silent = |gain: Gain| matches!(gain, Gain::Equal | Gain::Batch | Gain::Gpus | Gain::Memory);
    if tight == Node::none() && list.iter().all(|better| silent(better.gain)) {
        cards.insert(0, nothing(evaluation, searched));
    }
    let published = as_published(&evaluation.scenario.run, &said);
    // The published runs stand second, as while the search runs: a node that becomes another's counts as a shift.
    Node::from_iter([el("div", &[("class", "suggestions")], &[cards.into_iter().collect(), tight]), published, line])
}

/// Settings that follow a change by themselves.
const FOLLOW: [&str; 2] = ["global_batch", "host_memory_gib"];

/// Cards in a row.
const CARDS: usize = 3;

/// "Fewest GPUs in another layout: 64 GPUs with TP 8 · PP 4, fits, 49.8 GiB, a step takes 171 s."
fn fewest(evaluation: &Evaluation, better: &Better, shown: &[&Better], unit: MemoryUnit) -> Node {
    let (own, figures) = (&evaluation.scenario.run, &better.figures);
    let scope = Scope::of(&better.run, Some(own));
    let name = brief(&better.run, own);
    let gpus = strong(gpus_words(better.run.gpus)).reports("gpus", &scope);
    let (fits, time) =
        (words::fits(&better.run, &figures.peak, &unit.show(figures.peak.bytes)), show_seconds(figures.time_s));
    let rest = t!("with {layout}: {fits}; a step takes {time}.", layout = name, fits, time);
    let rest = Message::joined(" ", [rest, why_not_fewer(own, better.run.gpus, shown)]);
    let taken = keeping_budget(own, better.run.clone());
    let take = load("", &taken, sets(&taken, own), &[text("Use")]);
    // The Run fits on its own GPUs by the cards above.
    let what = if better.run.gpus > own.gpus { MORE_GPUS } else { "Fewest GPUs" };
    let parts = [text(what), text(": "), gpus, text(" "), inline(rest), text(" "), take];
    el("p", &[("class", "muted fewest")], &parts)
}

/// The heading of the cards: of a Run that is tight, too, they are ways to make it fit where no layout of it does.
pub fn heading(evaluation: &Evaluation, searched: &SearchProgressShown) -> &'static str {
    let mends = || searched.betters.list.iter().any(|better| better.gain.is_way_to_fit());
    match evaluation.report.memory.overall() {
        Verdict::Oom => "Ways to make it fit",
        Verdict::Tight if mends() => "Ways to make it fit",
        Verdict::Fits | Verdict::Tight => "Layouts that do better",
    }
}

/// The cards of `list` beside a step of `step_s`.
fn cards_of(evaluation: &Evaluation, step_s: Seconds, list: &[&Better], unit: MemoryUnit) -> Vec<Node> {
    let names = names(list, &evaluation.scenario.run);
    let has_faster = |better: &Better| {
        let is_faster = |other: &&Better| other.figures.time_s.0 < better.figures.time_s.0;
        better.gain == Gain::Fits && list.iter().any(|other| other.gain == Gain::Change && is_faster(other))
    };
    let card = |(better, name): (&&Better, Message)| {
        let card = card(evaluation, step_s, better, list, name, unit);
        if has_faster(better) { Card { kind: WITHOUT_HOST, ..card } } else { card }
    };
    list.iter().zip(names).map(|pair| card(pair).view()).collect()
}

/// The card of a layout that is called `name`, one of `list`, beside a step of `step_s`.
fn card(
    evaluation: &Evaluation,
    step_s: Seconds,
    better: &Better,
    list: &[&Better],
    name: Message,
    unit: MemoryUnit,
) -> Card {
    let own = &evaluation.scenario.run;
    // The adapter that is trained already is no gain: the shorter sequence is.
    let is_own = better.gain == Gain::Adapter
        && better.run.adapter.method == own.adapter.method
        && better.run.seq_len < own.seq_len;
    let shown = Better { gain: if is_own { Gain::Length } else { better.gain }, ..better.clone() };
    let better = &shown;
    let (figure, saved, verdict) = headline(evaluation, step_s, better, unit);
    let peak = better.figures.peak;
    let (class, mark, _) = words::verdict_words(&better.run, peak.overall, [peak.bytes, peak.capacity]);
    let changed = changes(&better.run, own).into_iter().filter(|change| !FOLLOW.contains(&change.field.key)).count();
    let run = keeping_budget(own, better.run.clone());
    let (is_more, is_full) = (better.run.gpus > own.gpus, own.adapter.method.is_none());
    Card {
        gain: better.gain,
        sets: sets(&run, own),
        kind: if is_own { SHORTENED } else { kind(better.gain, changed == 1, is_more, is_full) },
        run: Arc::new(run),
        name,
        figure,
        field: match better.gain {
            Gain::Equal => "step.time_less",
            Gain::Time | Gain::Split | Gain::Hosted | Gain::Fits | Gain::Change | Gain::Adapter | Gain::Offload => {
                if own.rl.algorithm.is_some() {
                    "rl.step_s"
                } else {
                    "step.time_s"
                }
            }
            Gain::Memory => "memory.peak_bytes",
            Gain::Gpus | Gain::Fewest => "gpus",
            Gain::Batch => "step.time_per_token_less",
            Gain::Length => "seq_len",
        },
        scope: Scope::of(&better.run, Some(own)),
        saved,
        why: Message::joined(" ", reasons(evaluation, step_s, better, list, unit)),
        verdict: ([class, mark], verdict),
    }
}

/// Share of the time a token in steps of `step_s` that the batch of `better` saves.
fn saved_a_token(own: &Run, step_s: Seconds, better: &Better) -> f64 {
    let a_token = |run: &Run, time: Seconds| time.0 / run.global_batch as f64;
    1.0 - a_token(&better.run, better.figures.time_s) / a_token(own, step_s)
}

/// What a card shows: its figure, what that saves, and whether the layout fits.
fn headline(
    evaluation: &Evaluation,
    step_s: Seconds,
    better: &Better,
    unit: MemoryUnit,
) -> (Message, Message, Message) {
    let (own, report) = (&evaluation.scenario.run, &evaluation.report);
    let figures = &better.figures;
    let (time, peak) = (show_seconds(figures.time_s), unit.show(figures.peak.bytes));
    let word = |figure: &str| words::fits(&better.run, &figures.peak, figure);
    let against = || words::against(figures.time_s / step_s);
    match better.gain {
        Gain::Equal => {
            let saved = words::less(1.0 - figures.time_s / step_s);
            (saved, t!("cannot be told apart"), word(&peak))
        }
        Gain::Time | Gain::Split | Gain::Hosted => {
            let saved = 1.0 - figures.time_s / step_s;
            (verbatim(time), words::less(saved), word(&peak))
        }
        Gain::Memory => {
            let saved = unit.beyond(report.memory.peak_bytes, figures.peak.bytes);
            (verbatim(peak), t!("{saved} less", saved), word(&time))
        }
        Gain::Gpus => {
            let hours = |gpus: u64, time: Seconds| gpus as f64 * time.0;
            let saved = 1.0 - hours(better.run.gpus, figures.time_s) / hours(own.gpus, step_s);
            let saved = t!("{saved} % fewer GPU-hours", saved = show_gain(saved));
            (gpus_words(better.run.gpus), saved, word(&peak))
        }
        Gain::Batch => (words::less(saved_a_token(own, step_s, better)), t!("time per token"), word(&peak)),
        Gain::Fits | Gain::Change | Gain::Offload => (verbatim(time), against(), word(&peak)),
        Gain::Length => {
            let tokens = t!("{tokens} tokens", tokens = better.run.seq_len);
            (tokens, t!("instead of {tokens}", tokens = own.seq_len), word(&peak))
        }
        Gain::Adapter => (verbatim(time), t!("a step of an adapter"), word(&peak)),
        Gain::Fewest => (gpus_words(better.run.gpus), t!("instead of {gpus}", gpus = own.gpus), word(&peak)),
    }
}

#[cfg(test)]
mod tests;
