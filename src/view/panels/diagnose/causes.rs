//! The causes: by seconds or bytes with what shows them and what to do; of a log what is consistent with it and what is
//! not.

use super::bars::{signed, to_explain};
use super::lanes::LanePair;
use super::{NS, amount, fields_of, head};
use crate::node::figure::Scope;
use crate::prelude::*;
use crate::views::View;
use shardscope_core::diagnose::{CauseId, Comparison, Diagnosis, FoundCause, MemoryFound};
use shardscope_core::units::show_of_gpu;

/// Share of a step from which on a cause that was measured is named beside the verdict.
const NAMED: f64 = 0.03;

/// Share of the step that the largest cause takes, where it is much.
pub(super) fn largest(found: &Diagnosis) -> Option<f64> {
    let seconds = found.causes.iter().filter_map(|cause| cause.seconds).fold(0.0, f64::max);
    let step = found.window_ns as f64 * NS;
    (step > 0.0).then_some(seconds / step).filter(|share| *share > NAMED)
}

/// The list in the words of what was read.
pub(super) fn causes(found: &Diagnosis, lanes: Option<&LanePair>) -> Node {
    let run = found.own.as_deref();
    let has_amounts = found.causes.iter().any(|cause| cause.seconds.is_some() || cause.bytes.is_some());
    if !has_amounts && found.series.is_some() && !(found.comparison == Comparison::Inside && found.causes.is_empty()) {
        return consistent(found, run);
    }
    let beyond = to_explain(found);
    let (words, beside) = match (beyond, &found.memory) {
        _ if found.comparison == Comparison::Memory => {
            let was_tried = found.causes.iter().any(|cause| cause.predicted_s.is_some());
            let is_last = found.causes.iter().any(|cause| cause.missing.is_some());
            let beside = match was_tried {
                true if is_last => t!("changes were tried on the run; what is not enough alone is last"),
                true => t!("changes were tried on the run"),
                false => Message::default(),
            };
            (t!("Causes, the likeliest first"), beside)
        }
        (Some(beyond), _) => {
            let shown = Scope::files().says("beyond the prediction", show_seconds(Seconds(beyond)));
            (t!("What explains the {beyond}", beyond = shown), explained(found, beyond))
        }
        _ if found.comparison == Comparison::TwoRuns => (t!("What makes the difference"), Message::default()),
        _ if found.parts.is_empty() => (t!("Causes"), Message::default()),
        _ => (t!("What the trace measures by itself"), Message::default()),
    };
    let mut rows: Vec<Node> =
        found.listed().map(|(number, at, cause)| row(number, at, cause, lanes, run, found.memory.as_ref())).collect();
    rows.extend(beyond.and_then(|beyond| rest(found, beyond)));
    let none = rows.is_empty().then(|| {
        muted(match found.comparison {
            Comparison::Inside => t!("Nothing to explain."),
            _ => t!("No cause was found in it."),
        })
    });
    Node::from_iter([
        head(words, beside, Node::none()),
        none.unwrap_or_default(),
        el("ol", &[("class", "causes")], &[rows.into_iter().collect()]),
    ])
}

/// From this factor on between the sum of the causes and the difference, the causes are said to be more than it. A
/// choice: seconds are shown with three digits, in which a smaller excess is hardly seen.
const MORE: f64 = 1.02;

/// A rest below this share of the difference is nothing. A choice: far above the rounding of a sum, and far below what
/// the three digits of the difference show.
const NOTHING: f64 = 1e-6;

/// Seconds of the causes, where these are more than `beyond`, the seconds by which the step is longer.
fn sum_above(found: &Diagnosis, beyond: f64) -> Option<f64> {
    let longer: f64 = found.causes.iter().filter_map(|cause| cause.seconds).sum();
    (longer > MORE * beyond).then_some(longer)
}

/// How far the calculator's own range reaches from its prediction.
fn own_error(found: &Diagnosis) -> f64 {
    let of = |end: Option<f64>| end.zip(found.predicted_s).map_or(0.0, |(end, predicted)| (end - predicted).abs());
    of(found.low_s).max(of(found.high_s))
}

/// What the parts that are longer than predicted explain of `beyond`, the seconds by which the step is longer. Where
/// they are more, others are shorter than predicted.
fn explained(found: &Diagnosis, beyond: f64) -> Message {
    let own = own_range(found);
    let says = |field: &str, shown: String| Scope::files().says(field, shown);
    if let Some(longer) = sum_above(found, beyond) {
        return t!(
            "these parts take {longer} more than predicted, other parts {shorter} less · the predicted step itself \
                may be off by {own}",
            longer = says("parts that are longer", show_seconds(Seconds(longer))),
            shorter = says("parts that are shorter", show_seconds(Seconds(longer - beyond))),
            own
        );
    }
    match found.explained {
        Some(share) => t!(
            "these parts are {share} of the difference · the predicted step itself may be off by {own}",
            share = says("explained", show_percent(share)),
            own
        ),
        None => t!("the predicted step itself may be off by {own}", own),
    }
}

/// How far the range reaches below the prediction and above it.
fn own_range(found: &Diagnosis) -> Message {
    let off = |field: &str, end: Option<f64>| {
        let off = end.zip(found.predicted_s).map_or(0.0, |(end, predicted)| end - predicted);
        Scope::compared().says(field, signed(off))
    };
    let (low, high) = (off("step range, low, off", found.low_s), off("step range, high, off", found.high_s));
    t!("{low} to {high}", low, high)
}

/// What no cause explains: the last row, also where nothing is left.
fn rest(found: &Diagnosis, beyond: f64) -> Option<Node> {
    let explained = found.explained?;
    let is_more = sum_above(found, beyond).is_some();
    let left = if is_more { 0.0 } else { beyond * (1.0 - explained) };
    if left < NOTHING * beyond {
        let nothing = if is_more {
            t!("Nothing: the causes above are more than the difference, and other parts are shorter.")
        } else {
            t!("Nothing: the causes above are the whole difference.")
        };
        let cells = [
            leaf("span", "number", ""),
            amount("amount", "0 s").reports("not explained", &Scope::files()),
            el("div", &[], &[heading("Not explained"), muted(nothing)]),
            el("div", &[], &[]),
            el("div", &[], &[]),
        ];
        return Some(el("li", &[("class", "rest")], &cells));
    }
    let words = if left <= own_error(found) {
        t!("About as much as this calculator misses by itself.")
    } else {
        t!("More than this calculator misses by itself.")
    };
    let narrowed = muted(t!("Narrowed by: traces of other ranks, one file a rank."));
    let cells = [
        leaf("span", "number", ""),
        amount("amount", &show_seconds(Seconds(left))).reports("not explained", &Scope::files()),
        el("div", &[], &[heading("Not explained"), muted(words)]),
        el("div", &[], &[narrowed]),
        el("div", &[], &[]),
    ];
    Some(el("li", &[("class", "rest")], &cells))
}

/// Settings in which a run that failed may differ from the one that is compared.
const MAY_DIFFER: [&str; 4] = ["micro_batch", "tp", "recompute", "stack.attention"];

/// What the bytes of a cause are: each cause counts something of its own.
const fn bytes_of(id: CauseId) -> Option<&'static str> {
    Some(match id {
        CauseId::NeverFitted => "missing at that moment",
        CauseId::Fragmentation => "reserved, not in use",
        CauseId::FirstOptimizerStep => "of optimizer states",
        CauseId::Logits | CauseId::LongestSample | CauseId::AttentionFallback => "asked for",
        CauseId::Context => "outside PyTorch",
        CauseId::OtherProcess => "of other processes",
        CauseId::AnotherSetting => "more than predicted",
        CauseId::Checkpoint | CauseId::Evaluation | CauseId::ExpertImbalance => "asked for then",
        CauseId::RetainedGraph => "more than before",
        _ => return None,
    })
}

/// The row of the cause at `at` in the list, with its number, where it is enough alone.
fn row(
    number: Option<usize>,
    at: usize,
    cause: &FoundCause,
    lanes: Option<&LanePair>,
    own: Option<&Run>,
    memory: Option<&MemoryFound>,
) -> Node {
    let shown = match (cause.seconds, cause.bytes) {
        (Some(seconds), _) => show_seconds(Seconds(seconds)),
        (None, Some(bytes)) if bytes > 0.0 => show_of_gpu(Bytes(bytes)),
        _ => String::new(),
    };
    let field = format!("{}, {}", cause.id.id(), cause.title);
    let is_bytes = cause.seconds.is_none() && cause.bytes.is_some_and(|bytes| bytes > 0.0);
    let counted = bytes_of(cause.id).filter(|_| is_bytes);
    let mut what = vec![heading(cause.listed_title())];
    if !cause.evidence.is_empty() {
        what.push(muted(cause.evidence.clone()));
    }
    let mut change = Vec::new();
    change.extend(cause.change_words().map(paragraph));
    change.extend(cause.without_it().map(paragraph));
    change.extend(cause.with_change().map(paragraph));
    for (words, other) in cause.other_words().zip(&cause.others) {
        change.push(el("p", &[], &[inline(words), text(" "), setting(&other.set, &cause.title, "", "Try it", own)]));
    }
    change.extend(cause.not_enough_words().map(muted));
    if let Some(measure) = &cause.measure {
        change.push(muted(t!("Settled by: {measure}.", measure)));
    }
    let is_other = cause.id == CauseId::AnotherSetting;
    if is_other && cause.bytes.is_some() && cause.set.is_empty() {
        change.push(el("p", &[], &[fields_of(&MAY_DIFFER)]));
    }
    let press = if is_other { "Set it as it ran" } else { "Try it on the run" };
    let class = if number == Some(1) { "main" } else { "" };
    // What is not enough has no press: the run would not fit with it.
    let mut buttons: Vec<Node> = number.map(|_| tried(cause, class, press, own)).into_iter().collect();
    let is_too_large = memory.and_then(|memory| memory.need).is_some_and(|[_, need, _, capacity]| need > capacity);
    if cause.id == CauseId::NeverFitted && cause.set.is_empty() && is_too_large {
        buttons.push(leaf("button", class, "See what fits on Run").on(PanelAction::Layouts));
    }
    if lanes.is_some_and(|lanes| lanes.measured.place_of(cause.id).is_some()) {
        buttons.push(leaf("button", "", "Show in the trace").on(PanelAction::Cause(at)));
    }
    let cells = [
        leaf("span", "number", number.map_or_else(Message::default, |number| verbatim(number.to_string()))),
        el(
            "div",
            &[],
            &[amount("amount", &shown).reports(field, &Scope::files()), counted.map_or_else(Node::none, muted)],
        ),
        el("div", &[], &what),
        el("div", &[], &change),
        el("div", &[("class", "act")], &buttons),
    ];
    el("li", &[("class", if number.is_some() { "" } else { "rest" })], &cells)
}

/// The button that sets what a cause names on the run that it is a cause of: that of the files, where they state one,
/// else the page's; nothing where it names no setting.
fn tried(cause: &FoundCause, class: &str, words: &'static str, own: Option<&Run>) -> Node {
    if cause.set.is_empty() { Node::none() } else { setting(&cause.set, &cause.title, class, words, own) }
}

/// The button that makes the change `set` on the run that the files state, else on the page's.
fn setting(
    set: &[(&'static str, String)],
    title: &Message,
    class: &str,
    words: &'static str,
    own: Option<&Run>,
) -> Node {
    if let Some(after) = own.and_then(|own| own.with_texts(set)) {
        return load(class, &after, title.clone(), &[text(words)]);
    }
    el("button", &[("class", class)], &[text(words)]).on(Action::Try(View::Run, set.to_vec()))
}

/// What a log is consistent with, each with what removes it and the test that settles it, and what its steps speak
/// against.
fn consistent(found: &Diagnosis, own: Option<&Run>) -> Node {
    let row = |cause: &FoundCause| {
        let mut parts = vec![heading(cause.title.clone()), muted(cause.evidence.clone())];
        parts.extend(cause.change.iter().map(|change| paragraph(t!("If it is: {change}.", change))));
        parts.extend(cause.measure.iter().map(|measure| paragraph(t!("Settled by: {measure}.", measure))));
        // What it sets is the cause, not its removal.
        parts.push(tried(cause, "", "See the run with it", own));
        el("li", &[], &parts)
    };
    let likely: Node = found.causes.iter().map(row).collect();
    let against = found.ruled_out().into_iter();
    let unlikely: Node = against
        .map(|one| el("li", &[], &[heading(one.name), muted(one.why), leaf("p", "figure", one.figure)]))
        .collect();
    let none = if found.causes.is_empty() { muted(t!("No cause was found in it.")) } else { Node::none() };
    let left = [
        head("Consistent with this log", t!("a log gives no seconds for a part"), Node::none()),
        none,
        el("ul", &[("class", "likely")], &[likely]),
    ];
    // What comes more rarely than the log is long is not in it.
    let seen = match found.series.as_ref().map(|series| series.steps) {
        Some(steps) => t!("not seen in its {steps} steps; what comes more rarely may still be", steps),
        None => t!("it has too few steps to tell"),
    };
    let right = [head("Not consistent", seen, Node::none()), el("ul", &[("class", "likely")], &[unlikely])];
    el("div", &[("class", "halves")], &[el("div", &[], &left), el("div", &[], &right)])
}
