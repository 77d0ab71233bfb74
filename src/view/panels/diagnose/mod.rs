//! A diagnosis: the verdict, two bars on one axis, a row a part, the causes by seconds, lanes, kernels, how it was
//! read.
//!
//! Measured is filled, predicted is outlined; the colour says which part it is.

mod bars;
mod causes;
mod kernels;
mod lanes;
mod memory;
mod offered;
mod ranks;
mod rl;
mod spent;
mod steps;

pub use lanes::{LanePair, LaneZoom};
pub use offered::offered;

use crate::node::action::{Dialog, Save};
use crate::node::figure::Scope;
use crate::prelude::*;
use crate::views::View;
use shardscope_core::diagnose::{Comparison, Diagnosis, differences, with_changes};
use shardscope_core::run::registry::field;

const NS: f64 = 1e-9;

/// The page of a diagnosis for `run`; `report` is it as Markdown, `lanes` the timeline of its trace.
pub fn diagnosis(found: &Diagnosis, report: &str, run: &Run, lanes: Option<(&LanePair, LaneZoom)>) -> Node {
    let mut parts: Vec<Node> = ranks::late(found).into_iter().collect();
    parts.push(verdict(found));
    parts.push(compared_with(found, run));
    parts.extend(found.warnings.iter().map(|issue| leaf("p", "issue warning", issue.message.clone())));
    let mut section = |content: Node| parts.push(el("section", &[], &[content]));
    if let Some(series) = &found.series {
        section(steps::chart(found, series));
    }
    if let Some(bars) = bars::bars(found, run) {
        section(bars);
    }
    if let Some(ratios) = rl::ratios(found) {
        section(ratios);
    }
    if let Some(memory) = &found.memory {
        section(memory::bars(memory));
        if let Some(what) = memory::asked(memory) {
            section(what);
        }
    }
    if let Some(ranks) = &found.ranks {
        section(ranks::waits(ranks));
    }
    if let Some(ratios) = ranks::ratios(found) {
        section(ratios);
    }
    let is_not_longer = matches!(found.comparison, Comparison::Inside | Comparison::Shorter);
    let is_measured = found.window_ns > 0 || found.memory.is_some() || found.predicted_s.is_none();
    let nothing = found.causes.is_empty() && (is_not_longer || !found.rl.is_empty() || !is_measured);
    if !nothing {
        section(causes::causes(found, lanes.map(|(lanes, _)| lanes)));
    }
    // A trace that is longer has its own parts, which say more than the prediction's.
    if found.shows_remedies()
        && let Some(spent) = spent::spent(found, run)
    {
        section(spent);
    }
    if is_not_longer {
        section(steps::more(found));
    }
    if let Some((lanes, zoom)) = lanes {
        section(el("div", &[("id", "lanes")], &[lanes::timeline(lanes, zoom)]));
    }
    let how = how(found, report);
    section(if found.kernels.is_empty() {
        how
    } else {
        el("div", &[("class", "halves")], &[kernels::kernels(found), how])
    });
    el("div", &[("class", "diagnosis")], &parts)
}

/// The parts and causes alone, in another page or of a link.
pub fn diagnosis_of_link(found: &Diagnosis, run: &Run) -> Node {
    let found = &with_changes(found.clone(), run);
    let mut parts = vec![verdict(found)];
    let bars = bars::bars(found, run);
    parts.extend(bars.into_iter().chain([causes::causes(found, None)]).map(|content| el("section", &[], &[content])));
    el("div", &[("class", "diagnosis")], &parts)
}

/// The run was changed since the files were read: what changed, and of which run the predictions of `found` are: of the
/// one that the files state, where they state one, else of the run as it is now.
pub fn since(before: &Run, now: &Run, found: &Diagnosis) -> Option<Node> {
    let settings = differences(now, before);
    if settings.is_empty() {
        return None;
    }
    let settings = Message::joined(", ", settings);
    let words = if found.own.is_some() {
        t!(
            "The run on the page was changed since the files were read: {settings}. What is predicted here stays of \
                the run that the files state.",
            settings
        )
    } else {
        t!(
            "The run on the page was changed since the files were read: {settings}. What is predicted here is of the \
                run as it is now.",
            settings
        )
    };
    let run = leaf("button", "", "See the run").on(Action::Show(View::Run));
    Some(el("p", &[("class", "band"), ("role", "status")], &[inline(words), text(" "), run]))
}

/// Which run it is compared with: the one that the files state, with a press that makes it the page's, or the page's.
fn compared_with(found: &Diagnosis, page: &Run) -> Node {
    let of_memory = found.memory.as_ref().is_some_and(|memory| memory.need.is_some());
    let no_run = found.memory.as_ref().is_some_and(|memory| memory.no_run);
    if found.predicted_s.is_none() && !of_memory && !no_run {
        return Node::none();
    }
    let run = found.own.as_deref().unwrap_or(page);
    let sizes = [("TP", run.tp), ("PP", run.pp), ("CP", run.cp), ("EP", run.ep)].into_iter();
    let sizes = sizes.filter(|(name, size)| *size > 1 || ["TP", "PP"].contains(name));
    let sizes = sizes.map(|(name, size)| verbatim(format!("{name} {size}")));
    let sizes = sizes.chain([verbatim(format!("ZeRO-{}", run.zero))]);
    let gpus = Message::joined(" × ", [verbatim(run.gpus.to_string()), run.gpu.title()]);
    let batch = t!("batch {batch}", batch = run.global_batch);
    let words = Message::joined(" · ", [run.model.title(), gpus].into_iter().chain(sizes).chain([batch]));
    if no_run && found.predicted_s.is_none() {
        return run_to_state(words);
    }
    if found.window_ns == 0 && !of_memory {
        return stated_run(found, words);
    }
    if found.own.is_none() {
        return leaf("p", "muted beside", t!("Compared with the run on the page: {run}.", run = words));
    }
    let said = t!("Compared with the run that the files state: {run}. The page shows another.", run = words);
    let take = leaf("button", "", "Use this run").on(PanelAction::UseRun);
    el("p", &[("class", "band"), ("role", "status")], &[inline(said), text(" "), take])
}

/// Settings that decide what a GPU holds: the first that a run which failed has to state.
const TO_STATE: [&str; 10] =
    ["model", "gpus", "seq_len", "stack", "micro_batch", "tp", "pp", "zero", "recompute", "stack.attention"];

/// Presses that lead to the fields `keys`, by their labels.
fn fields_of(keys: &[&'static str]) -> Node {
    let links = keys.iter().filter_map(|key| field(key)).enumerate().map(|(at, field)| {
        let apart = verbatim(if at == 0 { "" } else { " · " });
        Node::from_iter([text(apart), link_button(field.label).on(Action::Focus(field.key))])
    });
    links.collect()
}

/// No run was given, and `run` on the page is its example: what to state first, each with a press that leads there.
fn run_to_state(run: Message) -> Node {
    let said = t!("No run was given: the page shows its example ({run}), and nothing is compared with it.", run);
    let first = t!("First state the run that failed; then each change is computed:");
    let settings = leaf("button", "main", "Paste its script or settings").on(Action::Open(Dialog::Import));
    let line = el("p", &[], &[inline(first), text(" "), fields_of(&TO_STATE)]);
    let said = el("p", &[], &[inline(said)]);
    el("div", &[("class", "band warn"), ("role", "status")], &[said, line, el("p", &[], &[settings])])
}

/// The run of settings beside which nothing was measured, with a press that makes it the page's where that is another.
fn stated_run(found: &Diagnosis, run: Message) -> Node {
    if found.own.is_none() {
        return leaf("p", "muted beside", t!("They state the run on the page: {run}.", run));
    }
    let said = t!("The run that the files state: {run}. The page shows another.", run);
    let take = leaf("button", "main", "Use this run").on(PanelAction::UseRun);
    el("p", &[("class", "band"), ("role", "status")], &[inline(said), text(" "), take])
}

fn verdict(found: &Diagnosis) -> Node {
    let (class, sign, words) = match found.comparison {
        Comparison::Inside if found.causes.is_empty() => {
            ("band ok", "✓ ", t!("Inside the range that is predicted for this layout"))
        }
        Comparison::Inside => match steps::lost_to_spikes(found) {
            Some(lost) => {
                ("band warn", "▲ ", t!("Inside the range, but spikes take {lost}", lost = steps::shown_lost(lost)))
            }
            None => ("band ok", "✓ ", t!("Inside the range")),
        },
        Comparison::Shorter => match causes::largest(found) {
            Some(share) => {
                let share = Scope::files().says("share of the largest cause", show_percent(share));
                let words = t!("Faster than predicted, but a cause below takes {share}", share);
                ("band warn", "▲ ", words)
            }
            None => ("band ok", "✓ ", t!("Faster than predicted")),
        },
        Comparison::Longer => ("band bad", "▲ ", t!("Longer than the range")),
        Comparison::Memory => ("band bad", "✕ ", t!("Out of memory")),
        Comparison::PartOfStep => ("band", "", t!("A part of a step")),
        Comparison::AnotherRun => ("band warn", "▲ ", t!("Not a step of this run")),
        Comparison::TwoRuns => ("band", "", t!("Two runs")),
        Comparison::SumsOnly => ("band", "", t!("Read")),
    };
    let head = el("b", &[], &[text(verbatim(sign)), text(words)]);
    el("p", &[("class", class), ("role", "status")], &[head, text(" "), inline(found.verdict.clone())])
}

/// A heading with small words beside it, and a legend at the other end.
fn head(words: impl Into<Message>, beside: Message, legend: Node) -> Node {
    el("div", &[("class", "head")], &[title(words), leaf("span", "muted small", beside), legend])
}

/// An item of a legend: its sign, of `class`, and what is said of it.
fn legend_item(class: &str, said: impl Into<Message>) -> Node {
    el("span", &[], &[el("i", &[("class", class)], &[]), text(said)])
}

/// What filled and outlined mean, and the bracket over the prediction, which is its `range` in words.
fn legend(range: Option<Message>) -> Node {
    let both = [legend_item("me d-text", t!("measured, filled")), legend_item("pr d-text", t!("predicted, outlined"))];
    let items: Vec<Node> = both.into_iter().chain(range.map(|words| legend_item("bracket", words))).collect();
    el("span", &[("class", "key-line")], &items)
}

/// A quantity whose unit is small: "5.62 s".
fn amount(class: &str, shown: &str) -> Node {
    let (value, unit) = shown.rsplit_once(' ').unwrap_or((shown, ""));
    // The blank is part of the text: what is copied or read aloud is "5.62 s".
    let unit = if unit.is_empty() { Message::default() } else { verbatim(format!(" {unit}")) };
    el("span", &[("class", class)], &[text(verbatim(value)), leaf("small", "", unit)])
}

fn seconds_of(ns: i64) -> String {
    show_seconds(Seconds(ns as f64 * NS))
}

fn how(found: &Diagnosis, report: &str) -> Node {
    let items: Node = found.read.iter().map(|words| bullet(words.clone())).collect();
    let copy = leaf("button", "", "Copy the report").on(Action::Save(Save::Copy(report.into())));
    let name = "diagnosis.md".to_owned();
    let save = leaf("button", "", "Save the report").on(Action::Save(Save::Text { name, text: report.into() }));
    let parts = [
        head("How it was read", Message::default(), Node::none()),
        el("ul", &[("class", "gaps")], &[items]),
        el("p", &[("class", "row-of-buttons")], &[copy, text(" "), save]),
    ];
    el("div", &[], &parts)
}

#[cfg(test)]
mod tests;
