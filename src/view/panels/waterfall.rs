//! Where the step goes: from the compute that the peak allows to the step that is predicted, a row a part, each beginning
//! where the one above ends. The usual rows are always there, so that nothing moves.

use super::step::by_profile;
use crate::core::cluster::Link;
use crate::core::message::Message;
use crate::core::report::{Evaluation, Figure};
use crate::core::run::{OneOf, Recompute};
use crate::core::t;
use crate::core::time::{Step, executed_flops};
use crate::core::units::{Seconds, show_flops, show_percent, show_seconds, significant};
use crate::view::node::action::Dialog;
use crate::view::node::markup::{Action, Node, ask, el, leaf, percent, text};

/// A row: what it is called, its class, its figure, and the parts that it adds up.
pub type Row = (&'static str, &'static str, Figure, &'static [&'static str]);

/// All rows, in the order of a step. Those of one kind in use share a row, and one that is rarely used is there only then.
static ROWS: [Row; 10] = [
    ("Ideal compute", "c-compute", Figure::Compute, &["ideal"]),
    ("Kernels below peak", "c-kernels", Figure::Compute, &["kernels"]),
    ("Recomputation", "c-recompute", Figure::Compute, &["recompute"]),
    ("Kernel launches", "c-host", Figure::Compute, &["launches"]),
    ("Pipeline bubble", "hatch", Figure::Bubble, &["bubble"]),
    ("Exposed TP", "c-exposed", Figure::Exposed, &["exposed_tp"]),
    ("Exposed CP, EP", "c-exposed", Figure::Exposed, &["exposed_cp", "exposed_ep"]),
    ("Exposed DP", "c-exposed", Figure::Exposed, &["exposed_dp"]),
    ("Optimizer", "c-opt-step", Figure::Step, &["optimizer"]),
    (RARE, "c-host", Figure::Step, &["loader"]),
];

/// The row that is there only where it takes time.
const RARE: &str = "Data loader";

/// What a layout can change.
const CHANGEABLE: [&str; 6] = ["recompute", "bubble", "exposed_tp", "exposed_cp", "exposed_ep", "exposed_dp"];

/// The rows of `step` that are shown: name, class, figure and time.
pub fn parts(step: &Step) -> impl Iterator<Item = (&'static Row, Seconds)> {
    ROWS.iter().filter_map(|row| {
        let parts = step.parts.iter().filter(|part| row.3.contains(&part.name));
        let time: Seconds = parts.map(|part| part.seconds).sum();
        (row.0 != RARE || time.0 > 0.0).then_some((row, time))
    })
}

/// The largest part that a layout can change: its name and its share of the step.
#[must_use]
pub fn main_loss(evaluation: &Evaluation) -> Option<(&'static str, f64)> {
    let step = &evaluation.report.step;
    let parts = step.parts.iter();
    let losses = parts.filter(|part| CHANGEABLE.contains(&part.name));
    let most = losses.max_by(|a, b| a.seconds.0.total_cmp(&b.seconds.0))?;
    let name = match most.name {
        "recompute" => "recomputation",
        "bubble" => "pipeline bubble",
        "exposed_tp" => "exposed TP",
        "exposed_cp" => "exposed CP",
        "exposed_ep" => "exposed EP",
        _ => "exposed DP",
    };
    (most.seconds.0 > 0.0).then(|| (name, most.seconds / step.time_s))
}

/// The rows, and the step below them.
#[must_use]
pub fn waterfall(evaluation: &Evaluation) -> Node {
    let step = &evaluation.report.step;
    let most = main_loss(evaluation).map(|(name, _)| name);
    let mut start = 0.0;
    let mut lines = Vec::new();
    for (row, time) in parts(step) {
        let (name, _, figure, _) = row;
        let share = time / step.time_s;
        let main = most.is_some_and(|most| name.eq_ignore_ascii_case(most));
        let class = match () {
            () if time.0 <= 0.0 => "row zero",
            () if main => "row main",
            () => "row",
        };
        let plus = if start > 0.0 && share > 0.0 { "+ " } else { "" };
        let cells = [
            el("span", &[("class", "who")], &[ask("plain", *figure, &[text(*name)])]),
            track(evaluation, row, start, share),
            leaf("span", "amount", format!("{plus}{}", show_seconds(time))),
            leaf("span", "share", show_percent(share)),
        ];
        lines.push(el("div", &[("class", class)], &cells));
        start += share;
    }
    let whole = el("i", &[("class", "whole")], &[]);
    let total = [
        el("span", &[("class", "who")], &[ask("plain", Figure::Step, &[text("Step")])]),
        el("span", &[("class", "track")], &[whole]),
        leaf("span", "amount", show_seconds(step.time_s)),
        leaf("span", "share", "100 %"),
    ];
    lines.push(el("div", &[("class", "row total")], &total));
    if let Some(words) = by_profile(evaluation) {
        let open = leaf("button", "link", "My runs").on(Action::Open(Dialog::Runs));
        let parts = [text(words), text(" "), open];
        lines.push(el("p", &[("class", "muted note")], &parts));
    }
    el("div", &[("class", "waterfall")], &lines)
}

/// The bar of a row and what is said beside it, on the side that has space.
fn track(evaluation: &Evaluation, row: &Row, start: f64, share: f64) -> Node {
    let (_, class, ..) = *row;
    let end = start + share;
    let bar = (share > 0.0).then(|| {
        let place = format!("{};{}", percent("left", start), percent("width", share));
        el("i", &[("class", class), ("style", &place)], &[])
    });
    let (side, place) =
        if start > 1.0 - end { ("before", percent("right", 1.0 - start)) } else { ("after", percent("left", end)) };
    let note = note(evaluation, row, share);
    let words = el("em", &[("class", side), ("style", &place)], &[text(note)]);
    let inside: Vec<Node> = bar.into_iter().chain([words]).collect();
    el("span", &[("class", "track")], &inside)
}

/// What a row comes from.
fn note(evaluation: &Evaluation, (_, _, _, of): &Row, share: f64) -> Message {
    let (scenario, step) = (&evaluation.scenario, &evaluation.report.step);
    let (run, layout) = (&scenario.run, &scenario.layout);
    let wire = |name: &str| {
        let row = evaluation.report.overlap.iter().find(|row| row.name == name);
        match row.map(|row| row.link) {
            _ if share <= 0.0 && row.is_some() => t!("hidden"),
            Some(Link::Intra) => t!("inside the node"),
            Some(Link::Inter) => t!("over the network"),
            None => t!("none in this run"),
        }
    };
    match of[0] {
        "ideal" => t!(
            "{flops} at {tflops} TFLOP/s per GPU",
            flops = show_flops(executed_flops(scenario)),
            tflops = significant(step.peak.tflops, 3)
        ),
        "kernels" => {
            let ideal = step.parts[0].seconds / step.time_s;
            t!(
                "{share} of the {precision} peak",
                share = show_percent(ideal / (ideal + share)),
                precision = step.peak.precision
            )
        }
        "recompute" if run.recompute == Recompute::None => t!("none in this run"),
        "recompute" => run.recompute.words(),
        "launches" if scenario.software.cuda_graphs => t!("CUDA graphs"),
        "launches" => t!("not hidden behind kernels"),
        "bubble" if layout.pp == 1 => t!("none in this run"),
        "bubble" => t!(
            "{schedule}, {ranks} ranks, {microbatches} micro-batches",
            schedule = run.schedule.choice().label,
            ranks = layout.pp,
            microbatches = layout.microbatches
        ),
        "exposed_tp" => wire("tp"),
        "exposed_cp" if layout.cp > 1 => wire("cp"),
        "exposed_cp" => wire("ep"),
        "exposed_dp" => wire("dp"),
        "optimizer" => {
            t!("{optimizer}, ZeRO-{zero}", optimizer = run.optimizer.choice().label, zero = scenario.zero.stage)
        }
        _ => t!("reads the samples"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::evaluate;
    use crate::core::run::{Based, Run};
    use crate::core::time::PARTS;

    #[test]
    fn every_part_of_a_step_is_in_one_row() {
        let mut shown: Vec<&str> = ROWS.iter().flat_map(|row| row.3).copied().collect();
        shown.sort_unstable();
        let mut all = PARTS.to_vec();
        all.sort_unstable();
        assert_eq!(shown, all);
    }

    /// Bars follow each other, and the last ends where the step ends.
    #[test]
    fn the_bars_end_where_the_step_ends() {
        for model in ["llama-3.1-8b", "mixtral-8x7b"] {
            let run = Run { model: Based::preset(model), ..Run::default() };
            let html = waterfall(&evaluate(&run).unwrap()).to_html();
            let number = |text: &str| -> f64 { text.split('%').next().unwrap().parse().unwrap() };
            let ends = html.split("<i class=\"").skip(1).filter_map(|bar| {
                let left = number(bar.split("left:").nth(1)?.split("<em").next()?);
                Some(left + number(bar.split("width:").nth(1)?))
            });
            let end = ends.fold(0.0, f64::max);
            assert!((end - 100.0).abs() < 0.01, "{end} {html}");
        }
    }

    /// A pipeline of four ranks with eight micro-batches idles at least (p - 1)/(m + p - 1): more than anything else.
    #[test]
    fn the_main_loss_of_a_short_pipeline_is_its_bubble() {
        let run = Run { global_batch: 64, ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        let (name, share) = main_loss(&evaluation).unwrap();
        assert!(name == "pipeline bubble" && share > 3.0 / 11.0, "{name} {share}");
        let html = waterfall(&evaluation).to_html();
        assert_eq!(html.matches("row main").count(), 1);
    }
}
