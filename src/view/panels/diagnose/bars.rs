//! Measured over predicted: two bars on one axis, then a row a part with the difference.

use super::{NS, amount, head, legend, legend_item, seconds_of};
use crate::charts::ticks::{tick_label, ticks};
use crate::node::figure::Scope;
use crate::panels::waterfall::rows_made_of;
use crate::prelude::*;
use shardscope_core::diagnose::{Comparison, Diagnosis, ExpectedStep, PartRow, StepShare};

/// Name of a part, and the class of its colour.
pub(super) const fn words(share: StepShare) -> (&'static str, &'static str) {
    match share {
        StepShare::Products => ("Matrix products", "d-forward"),
        StepShare::Attention => ("Attention", "d-kernels"),
        StepShare::Others => ("Other kernels", "d-other"),
        StepShare::Optimizer => ("Optimizer", "d-optimizer"),
        StepShare::Launches => ("Kernel launches", "d-host"),
        StepShare::Bubble => ("Pipeline bubble", "d-muted hatched"),
        StepShare::ExposedTp => ("Exposed TP", "d-exposed"),
        StepShare::ExposedCp => ("Exposed CP", "d-exposed"),
        StepShare::ExposedEp => ("Exposed EP", "d-exposed"),
        StepShare::ExposedDp => ("Exposed DP", "d-exposed"),
        StepShare::ExposedOther => ("Exposed, group not known", "d-exposed"),
        StepShare::ExpertWaits => ("Waits of experts", "d-muted hatched"),
        StepShare::Loader => ("Data loader", "d-host"),
        StepShare::Outside => ("Not in the model", "d-recompute"),
    }
}

/// A part, seconds.
#[derive(Clone, Copy)]
struct BarRow {
    name: StepShare,
    measured: f64,
    predicted: Option<f64>,
}

fn rows_of(found: &Diagnosis) -> Vec<BarRow> {
    let first = found.parts.first().map(|part| part.rank);
    let own = found.parts.iter().filter(|part| Some(part.rank) == first);
    let row = |part: &PartRow| BarRow {
        name: part.name,
        measured: part.measured_ns as f64 * NS,
        predicted: part.predicted_s,
    };
    own.map(row).collect()
}

/// The bars; none where nothing was measured in seconds. A log has its whole alone over the predicted parts: its own
/// run's, or those of `run` where a link alone is left and the step is that of `run`.
pub(super) fn bars(found: &Diagnosis, run: &Run) -> Option<Node> {
    if found.window_ns <= 0 || found.workers.is_some() {
        return None;
    }
    let rows = rows_of(found);
    let whole = found.window_ns as f64 * NS;
    if rows.is_empty() {
        found.predicted_s?;
        return Some(of_log(found, whole, run));
    }
    let most = longest(found, whole);
    let mut inside = segments(&rows, "me", most, |row| row.measured);
    let mut lines = vec![line("Measured", whole, &inside)];
    if let Some(predicted) = found.predicted_s {
        inside = segments(&rows, "pr", most, |row| row.predicted.unwrap_or(0.0));
        inside.extend(range(found, most));
        lines.push(line(PREDICTED, predicted, &inside));
    }
    lines.push(axis(most));
    let rank = found.rank.map_or_else(Message::default, |rank| t!("rank {rank}", rank));
    Some(Node::from_iter([
        head("Measured over predicted", rank, legend(range_words(found))),
        el("div", &[("class", "pairs")], &lines),
        table(found, &rows, whole),
    ]))
}

/// A measured whole over predicted parts.
fn of_log(found: &Diagnosis, whole: f64, run: &Run) -> Node {
    let most = longest(found, whole);
    let same = |time: f64| found.predicted_s.is_some_and(|predicted| (time / predicted - 1.0).abs() < 0.01);
    // The step of the Run view, part by part: as the diagnosis has it, or of the run where a link alone is left and the
    // step is that of the run.
    let of_run = || {
        let step = evaluate(found.own.as_deref().unwrap_or(run)).ok()?.report.step;
        let parts = step.parts.iter().map(|part| (part.kind, part.seconds.0)).collect();
        same(step.time_s.0).then_some(parts)
    };
    let made_of = if found.made_of.is_empty() { of_run().unwrap_or_default() } else { found.made_of.clone() };
    let named = rows_made_of(made_of, found.predicted_s.unwrap_or(0.0)).filter(|(_, time)| time.0 > 0.0);
    let named: Vec<(&'static str, &'static str, f64)> =
        named.map(|((name, class, ..), time)| (*name, as_predicted(class), time.0)).collect();
    let shares = if !named.is_empty() {
        None
    } else if found.expected.is_empty() {
        ExpectedStep::of(run, 0).ok().filter(|expected| same(expected.time)).map(|expected| expected.shares)
    } else {
        Some(found.expected.clone())
    };
    let shares = shares.unwrap_or_default();
    let shares = shares.into_iter().filter(|(_, seconds)| *seconds > 0.0).map(|(share, seconds)| {
        let (name, class) = words(share);
        (name, class, seconds)
    });
    let named: Vec<_> = named.into_iter().chain(shares).collect();
    let measured = [bar_at("me d-text", 0.0, whole / most).title("Measured, whole")];
    let mut start = 0.0;
    let (mut predicted, mut key) = (Vec::new(), Vec::new());
    for (name, colour, seconds) in named {
        let (class, shown) = (format!("pr {colour}"), show_seconds(Seconds(seconds)));
        let said = Message::joined(": ", [Message::from(name), Scope::compared().says(name, &shown)]);
        predicted.push(bar_at(&class, start, seconds / most).title(said));
        start += seconds / most;
        key.push(legend_item(&class, Message::joined(" ", [name.into(), Scope::compared().says(name, shown)])));
    }
    predicted.extend(range(found, most));
    let key = [inline(""), el("span", &[("class", "key-line")], &key), inline("")];
    let lines = [
        line("Measured", whole, &measured),
        line(PREDICTED, found.predicted_s.unwrap_or(0.0), &predicted),
        el("div", &[("class", "pair-row axis")], &key),
        axis(most),
    ];
    Node::from_iter([
        head("Measured over predicted", t!("a log has no parts"), legend(range_words(found))),
        el("div", &[("class", "pairs")], &lines),
    ])
}

/// The colour of a row of the Run view's step as a predicted part has it here.
fn as_predicted(class: &str) -> &'static str {
    match class {
        "c-compute" => "d-forward",
        "c-kernels" => "d-kernels",
        "c-recompute" => "d-recompute",
        "c-host" => "d-host",
        "c-opt-step" => "d-optimizer",
        "c-exposed" => "d-exposed",
        _ => "d-muted hatched",
    }
}

fn longest(found: &Diagnosis, whole: f64) -> f64 {
    let ends = [found.predicted_s, found.high_s];
    ends.into_iter().flatten().fold(whole, f64::max).max(f64::MIN_POSITIVE) * 1.02
}

fn segments(rows: &[BarRow], class: &str, most: f64, part: impl Fn(&BarRow) -> f64) -> Vec<Node> {
    let mut start = 0.0;
    let mut inside = Vec::new();
    for row in rows {
        let share = part(row) / most;
        if share > 0.0 {
            let (name, colour) = words(row.name);
            let scope = if class == "me" { Scope::files() } else { Scope::compared() };
            let shown = scope.says(share_field(row.name), show_seconds(Seconds(part(row))));
            let said = Message::joined(": ", [Message::from(name), shown]);
            inside.push(bar_at(&format!("{class} {colour}"), start, share).title(said));
            start += share;
        }
    }
    inside
}

fn range(found: &Diagnosis, most: f64) -> Option<Node> {
    let (low, high) = found.low_s.zip(found.high_s)?;
    Some(bracket(low / most, high / most).title(range_words(found)?))
}

/// The range of the predicted step in words.
pub(super) fn range_words(found: &Diagnosis) -> Option<Message> {
    let (low, high) = found.low_s.zip(found.high_s)?;
    Some(t!(
        "range {low} to {high}",
        low = Scope::compared().says("step range, low", show_seconds(Seconds(low))),
        high = Scope::compared().says("step range, high", show_seconds(Seconds(high)))
    ))
}

fn line(label: &'static str, whole: f64, inside: &[Node]) -> Node {
    let cells = [
        leaf("b", "", label),
        el("span", &[("class", "track")], inside),
        whole_of(amount("whole", &show_seconds(Seconds(whole))), label == PREDICTED),
    ];
    el("div", &[("class", "pair-row")], &cells)
}

/// Label of the bar of the prediction.
const PREDICTED: &str = "Predicted";

/// Marks the whole of what was measured, or `is_predicted`.
fn whole_of(shown: Node, is_predicted: bool) -> Node {
    if is_predicted { shown.reports("step.time_s", &Scope::compared()) } else { shown.reports("step", &Scope::files()) }
}

/// The field of a part, measured or predicted.
fn share_field(share: StepShare) -> String {
    format!("share {}", share.name())
}

/// The axis below bars that end at `most` seconds.
pub(super) fn axis(most: f64) -> Node {
    let marks = ticks(0.0, most, 6).into_iter();
    let marks: Node = marks
        .map(|tick| {
            let place = percent("left", tick / most);
            el("span", &[("style", &place)], &[text(verbatim(tick_label(tick)))])
        })
        .collect();
    el(
        "div",
        &[("class", "pair-row axis"), ("aria-hidden", "true")],
        &[Node::from_iter([inline(""), el("span", &[("class", "ticks")], &[marks]), inline("")])],
    )
}

/// A row a part: both bars, both figures, the difference.
fn table(found: &Diagnosis, rows: &[BarRow], whole: f64) -> Node {
    let compared = found.predicted_s.is_some();
    let most = rows.iter().map(|row| row.measured.max(row.predicted.unwrap_or(0.0))).fold(f64::MIN_POSITIVE, f64::max);
    let differences = rows.iter().filter_map(|row| Some(row.measured - row.predicted?));
    let widest = differences.clone().map(f64::abs).fold(f64::MIN_POSITIVE, f64::max);
    let main = differences.fold(0.0, f64::max);
    let cells = |row: &BarRow| {
        let (name, colour) = words(row.name);
        let mut inside = Vec::new();
        if row.measured > 0.0 {
            inside.push(bar_at(&format!("me {colour}"), 0.0, row.measured / most));
        }
        if let Some(predicted) = row.predicted.filter(|predicted| compared && *predicted > 0.0) {
            inside.push(bar_at(&format!("pr {colour}"), 0.0, predicted / most));
        }
        let shown =
            |seconds: f64| verbatim(if seconds > 0.0 { show_seconds(Seconds(seconds)) } else { "0".to_owned() });
        let mut cells = vec![
            leaf("td", "", name),
            el("td", &[("class", "both")], &[el("span", &[("class", "track"), ("aria-hidden", "true")], &inside)]),
            leaf("td", "", shown(row.measured)).reports(share_field(row.name), &Scope::files()),
        ];
        if compared {
            let predicted = leaf("td", "", row.predicted.map_or_else(Message::default, shown));
            cells.push(predicted.reports(share_field(row.name), &Scope::compared()));
            let far = row.predicted.map(|predicted| row.measured - predicted);
            // What no figure of the row shows is none.
            let far = far.map(|far| if far.abs() < SMALLEST_PRINTED * whole { 0.0 } else { far });
            cells.push(difference(far, widest).reports(format!("{}, more", share_field(row.name)), &Scope::files()));
        }
        let far = row.predicted.map_or(0.0, |predicted| row.measured - predicted);
        let class = match () {
            () if compared && far.abs() < 0.002 * whole => "faint",
            () if compared && far > 0.0 && far >= main => "main",
            () => "",
        };
        el("tr", &[("class", class)], &[cells.into_iter().collect()])
    };
    let mut names = vec!["Part", "", "measured"];
    if compared {
        names.extend(["predicted", "difference"]);
    }
    let names: Node = names.into_iter().map(|name| leaf(if name.is_empty() { "td" } else { "th" }, "", name)).collect();
    let mut lines: Vec<Node> = rows.iter().map(cells).collect();
    let label = if found.step { "Step" } else { "Window" };
    let mut total = vec![
        leaf("td", "", label),
        leaf("td", "both", ""),
        whole_of(leaf("td", "", verbatim(seconds_of(found.window_ns))), false),
    ];
    if let Some(predicted) = found.predicted_s {
        total.push(whole_of(leaf("td", "", verbatim(show_seconds(Seconds(predicted)))), true));
        let more = leaf("td", "", verbatim(signed(whole - predicted)));
        total.push(more.reports("beyond the prediction, signed", &Scope::files()));
    }
    lines.push(el("tr", &[("class", "total")], &[total.into_iter().collect()]));
    scrolled("Parts of the window", grid("parts", names, lines.into_iter().collect()))
}

/// A difference with its bar: to the right longer, to the left shorter.
fn difference(far: Option<f64>, widest: f64) -> Node {
    let Some(far) = far else {
        return leaf("td", "", "");
    };
    let share = far.abs() / widest / 2.0;
    let bar = if far < 0.0 { bar_at("less", 0.5 - share, share) } else { bar_at("", 0.5, share) };
    let track = el("span", &[("class", "track"), ("aria-hidden", "true")], &[bar]);
    let shown = if far == 0.0 { "0".to_owned() } else { signed(far) };
    el("td", &[("class", "far")], &[track, inline(verbatim(shown))])
}

/// A difference with its sign.
pub(super) fn signed(seconds: f64) -> String {
    format!("{} {}", if seconds < 0.0 { "−" } else { "+" }, show_seconds(Seconds(seconds.abs())))
}

/// What is beyond the prediction, where that is to be explained.
pub(super) fn to_explain(found: &Diagnosis) -> Option<f64> {
    let compares = matches!(found.comparison, Comparison::Longer | Comparison::PartOfStep);
    let beyond = found.difference_s.or_else(|| Some(found.window_ns as f64 * NS - found.predicted_s?))?;
    (compares && beyond > 0.0).then_some(beyond)
}
