//! Parts of the step: from the compute that the peak allows to the step that is predicted, a row a part, each beginning
//! where the one above ends. The usual rows are always there, so that nothing moves.

use super::step::by_profile;
use crate::node::figure::Scope;
use crate::prelude::*;
use crate::views::View;
use crate::words::of_microbatches;
use shardscope_core::cluster::Link;
use shardscope_core::run::Recompute;
use shardscope_core::time::{PartKind, Step, executed_flops, units_of_adapters};
use shardscope_core::traffic::Traffic;
use shardscope_core::units::show_flops;

/// A row: name, class, figure, and the parts that it adds up.
pub type WaterfallRow = (&'static str, &'static str, Figure, &'static [PartKind]);

/// All rows, in the order of a step. Those of one kind in use share a row, and one that is rarely used is there only
/// then.
static ROWS: [WaterfallRow; 10] = [
    ("Ideal compute", "c-compute", Figure::Compute, &[PartKind::Ideal]),
    ("Kernels below peak", "c-kernels", Figure::Compute, &[PartKind::Kernels]),
    ("Recomputation", "c-recompute", Figure::Compute, &[PartKind::Recompute]),
    ("Kernel launches", "c-host", Figure::Compute, &[PartKind::Launches]),
    ("Pipeline bubble", "hatch", Figure::Bubble, &[PartKind::Bubble]),
    ("Exposed TP", "c-exposed", Figure::Exposed, &[PartKind::ExposedTp]),
    ("Exposed CP, EP", "c-exposed", Figure::Exposed, &[PartKind::ExposedCp, PartKind::ExposedEp]),
    ("Exposed DP", "c-exposed", Figure::Exposed, &[PartKind::ExposedDp]),
    ("Optimizer", "c-opt-step", Figure::Step, &[PartKind::Optimizer]),
    ("Data loader", "c-host", Figure::Step, &[PartKind::Loader]),
];

/// The part whose row is there only where it takes time.
const RARE: PartKind = PartKind::Loader;

/// Share of a step below which a part is none: sums of its ops are no more exact.
const NOTHING: f64 = 1e-9;

/// Words in a sentence for a part.
pub const fn part_words(part: PartKind) -> &'static str {
    match part {
        PartKind::Ideal => "ideal compute",
        PartKind::Kernels => "kernels below peak",
        PartKind::Recompute => "recomputation",
        PartKind::Launches => "kernel launches",
        PartKind::Bubble => "pipeline bubble",
        PartKind::ExposedTp => "exposed TP",
        PartKind::ExposedCp => "exposed CP",
        PartKind::ExposedEp => "exposed EP",
        PartKind::ExposedDp => "exposed DP",
        PartKind::Optimizer => "optimizer step",
        PartKind::Loader => "data loader",
    }
}

/// Name of the figure of a part: that of its row where the row has no other part.
pub(crate) fn field_of(part: PartKind) -> &'static str {
    let row = ROWS.iter().find(|row| row.3 == [part]);
    row.map_or(part_words(part), |row| row.0)
}

/// True for a part that is a loss beside the kernels. Those are below the peak in every layout, more or less: only
/// where a known layout lessens them most are they called a loss.
const fn is_beside_kernels(part: PartKind) -> bool {
    !matches!(part, PartKind::Ideal | PartKind::Kernels)
}

/// The rows of `step` that are shown: name, class, figure and time.
pub fn parts(step: &Step) -> impl Iterator<Item = (&'static WaterfallRow, Seconds)> {
    let parts: Vec<(PartKind, f64)> = step.parts.iter().map(|part| (part.kind, part.seconds.0)).collect();
    rows_made_of(parts, step.time_s.0)
}

/// The rows of a step of `whole` seconds that is made of `parts`, seconds each: name, class, figure and time.
pub fn rows_made_of(parts: Vec<(PartKind, f64)>, whole: f64) -> impl Iterator<Item = (&'static WaterfallRow, Seconds)> {
    ROWS.iter().filter_map(move |row| {
        let parts = parts.iter().filter(|(kind, _)| row.3.contains(kind));
        let time: Seconds = parts.map(|(_, seconds)| Seconds(*seconds)).sum();
        // What rounding leaves of a difference is no time.
        let time = if time.0.abs() < NOTHING * whole { Seconds(0.0) } else { time };
        (!row.3.contains(&RARE) || time.0 > 0.0).then_some((row, time))
    })
}

/// Share of the step below which a loss that no known layout lessens is not called the main one: a choice.
pub const LEAST: f64 = 0.01;

/// The main loss: the part that a known layout lessens most (`lessened`), else the largest beside the kernels, where
/// that is a hundredth of the step at least; with its share of the step.
pub fn main_loss(evaluation: &Evaluation, lessened: Option<PartKind>) -> Option<(PartKind, f64)> {
    let step = &evaluation.report.step;
    let losses = step.parts.iter().filter(|part| match lessened {
        Some(kind) => part.kind == kind,
        None => is_beside_kernels(part.kind),
    });
    let most = losses.max_by(|a, b| a.seconds.0.total_cmp(&b.seconds.0))?;
    let least = if lessened.is_some() { SMALLEST_PRINTED } else { LEAST };
    (most.seconds.0 > least * step.time_s.0).then(|| (most.kind, most.seconds / step.time_s))
}

/// The rows, and the step below them, where no layout is known that lessens a part.
pub fn waterfall(evaluation: &Evaluation) -> Node {
    falls(evaluation, None)
}

/// The rows, and the step below them; the row of the main loss is marked, that of [`main_loss`].
pub fn falls(evaluation: &Evaluation, lessened: Option<PartKind>) -> Node {
    let step = &evaluation.report.step;
    let most = main_loss(evaluation, lessened).map(|(part, _)| part);
    let mut start = 0.0;
    let mut lines = Vec::new();
    for (row, time) in parts(step) {
        let (name, _, figure, kinds) = row;
        let share = time / step.time_s;
        let main = most.is_some_and(|most| kinds.contains(&most));
        let class = match () {
            () if time.0 <= 0.0 => "row zero",
            () if main => "row main",
            () => "row",
        };
        let plus = if start > 0.0 && share > 0.0 { "+ " } else { "" };
        let cells = [
            el("span", &[("class", "who")], &[ask("plain", *figure, &[text(*name)])]),
            track(evaluation, row, start, share),
            el(
                "span",
                &[("class", "amount")],
                &[text(verbatim(plus)), inline(verbatim(show_seconds(time))).reports(*name, &Scope::run())],
            ),
            leaf("span", "share", verbatim(show_percent(share))).reports(format!("{name} share"), &Scope::run()),
        ];
        lines.push(el("div", &[("class", class)], &cells));
        start += share;
    }
    let whole = el("i", &[("class", "whole")], &[]);
    let total = [
        el("span", &[("class", "who")], &[ask("plain", Figure::Step, &[text("Step")])]),
        el("span", &[("class", "track")], &[whole]),
        leaf("span", "amount", verbatim(show_seconds(step.time_s))).reports("step.time_s", &Scope::run()),
        leaf("span", "share", "100 %").reports("step.time_s share", &Scope::run()),
    ];
    lines.push(el("div", &[("class", "row total")], &total));
    if let Some(words) = by_profile(evaluation) {
        let open = link_button("Calibrate").on(Action::Show(View::Diagnose(true)));
        let parts = [text(words), text(" "), open];
        lines.push(el("p", &[("class", "muted note")], &parts));
    }
    el("div", &[("class", "waterfall")], &lines)
}

/// Share of the track from which on a bar holds its words: no side has space for them.
const LONG: f64 = 0.7;

/// The bar of a row and what is said beside it, on the side that has space.
fn track(evaluation: &Evaluation, row: &WaterfallRow, start: f64, share: f64) -> Node {
    let (_, class, ..) = *row;
    let end = start + share;
    let bar = (share > 0.0).then(|| bar_at(class, start, share));
    let (side, place) = if share > LONG {
        ("inside", format!("{};{}", percent("left", start), percent("right", 1.0 - end)))
    } else if start > 1.0 - end {
        ("before", format!("left:0;{}", percent("right", 1.0 - start)))
    } else {
        ("after", format!("right:0;{}", percent("left", end)))
    };
    let note = note_of(evaluation, row, share);
    let words = el("em", &[("class", side), ("style", &place)], &[text(note)]);
    let inside: Vec<Node> = bar.into_iter().chain([words]).collect();
    el("span", &[("class", "track")], &inside)
}

/// The part of `row` that takes the most of its time; the first where none takes any.
fn longest_of(step: &Step, row: &WaterfallRow) -> PartKind {
    let seconds = |kind: PartKind| step.parts.iter().find(|part| part.kind == kind).map_or(0.0, |part| part.seconds.0);
    row.3.iter().copied().fold(row.3[0], |longest, kind| if seconds(kind) > seconds(longest) { kind } else { longest })
}

/// The origin of the time of `row`: of the part that takes the most of it; where messages of both kinds take time over
/// different links, of each.
fn note_of(evaluation: &Evaluation, row: &WaterfallRow, share: f64) -> Message {
    let step = &evaluation.report.step;
    let takes_time = |kind: &PartKind| {
        let parts = step.parts.iter().filter(|part| part.kind == *kind);
        parts.map(|part| part.seconds.0).sum::<f64>() >= SMALLEST_PRINTED * step.time_s.0
    };
    if let [PartKind::ExposedCp, PartKind::ExposedEp] = row.3
        && row.3.iter().all(takes_time)
    {
        let [cp, ep] = [PartKind::ExposedCp, PartKind::ExposedEp].map(|part| note(evaluation, part, share));
        if cp != ep {
            return t!("CP {cp}, EP {ep}", cp, ep);
        }
    }
    note(evaluation, longest_of(step, row), share)
}

/// The origin of a part's time.
fn note(evaluation: &Evaluation, part: PartKind, share: f64) -> Message {
    let (scenario, step) = (&evaluation.scenario, &evaluation.report.step);
    let (run, layout) = (&scenario.run, &scenario.layout);
    let wire = |traffic: Traffic| {
        let row = evaluation.report.overlap.iter().find(|row| row.traffic == traffic);
        match row.map(|row| row.link) {
            _ if share <= 0.0 && row.is_some() => t!("hidden"),
            Some(Link::Intra) => t!("inside the node"),
            Some(Link::Inter) => t!("over the network"),
            None => t!("none in this run"),
        }
    };
    match part {
        PartKind::Ideal => t!(
            "{flops} at {tflops} TFLOP/s per GPU",
            flops = show_flops(executed_flops(scenario)),
            tflops = significant(step.peak.tflops, 3)
        ),
        PartKind::Kernels => {
            let ideal = step.parts[0].seconds / step.time_s;
            t!(
                "{share} of the {precision} peak",
                share = Scope::run().says("kernels share of the peak", show_percent(ideal / (ideal + share))),
                precision = step.peak.precision
            )
        }
        PartKind::Recompute if run.recompute == Recompute::None => t!("none in this run"),
        PartKind::Recompute => run.recompute.words(),
        PartKind::Launches if scenario.software.graphs.any() => t!("CUDA graphs"),
        PartKind::Launches => match units_of_adapters(scenario, 0) {
            Some(units) => t!(
                "gathering {units} units of FSDP a pass, as each matrix of an adapter is one",
                units = significant(units, 4)
            ),
            None => t!("not hidden behind kernels"),
        },
        PartKind::Bubble if layout.pp == 1 => t!("none in this run"),
        PartKind::Bubble => t!(
            "{schedule}, {ranks} ranks, {microbatches}",
            schedule = run.schedule.choice().label,
            ranks = layout.pp,
            microbatches = of_microbatches(layout.microbatches)
        ),
        PartKind::ExposedTp => wire(Traffic::Tp),
        PartKind::ExposedCp if layout.cp > 1 => wire(Traffic::Cp),
        PartKind::ExposedCp | PartKind::ExposedEp => wire(Traffic::Ep),
        PartKind::ExposedDp => wire(Traffic::Dp),
        PartKind::Optimizer => {
            t!("{optimizer}, ZeRO-{zero}", optimizer = run.optimizer.choice().label, zero = scenario.zero.stage)
        }
        PartKind::Loader => t!("reads the samples"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::Based;

    #[test]
    fn every_part_of_a_step_is_in_one_row() {
        let evaluation = evaluate(&Run::default()).unwrap();
        for part in &evaluation.report.step.parts {
            let rows = ROWS.iter().filter(|row| row.3.contains(&part.kind));
            assert_eq!(rows.count(), 1, "{:?} needs a row of the waterfall", part.kind);
        }
    }

    /// Context-parallel messages inside the node, those of experts between nodes: what is said of the row of both is of
    /// the longer ones, and where both take time of each.
    #[test]
    fn the_row_of_two_parts_says_where_the_longer_one_is_from() {
        let set = [("model", "deepseek-v3"), ("gpu", "h800-sxm-80gb"), ("gpus", "2048"), ("cp", "2"), ("ep", "256")];
        let run = Run::default().with_texts(&set).unwrap();
        let own = evaluate(&run.with_texts(&[("tp", "2"), ("pp", "4"), ("global_batch", "4096")]).unwrap()).unwrap();
        let exposed = |kind| own.report.step.parts.iter().find(|part| part.kind == kind).unwrap().seconds;
        let link = |traffic| own.report.overlap.iter().find(|row| row.traffic == traffic).unwrap().link;
        assert!(exposed(PartKind::ExposedEp) > exposed(PartKind::ExposedCp));
        assert_eq!([link(Traffic::Cp), link(Traffic::Ep)], [Link::Intra, Link::Inter]);
        let html = waterfall(&own).to_html();
        let row = html.split("Exposed CP, EP").nth(1).and_then(|rest| rest.split("</em>").next()).unwrap();
        assert!(row.ends_with("over the network"), "{row}");
        let both = exposed(PartKind::ExposedCp).0 >= SMALLEST_PRINTED * own.report.step.time_s.0;
        assert_eq!(row.contains("CP inside the node, EP over the network"), both, "{row}");
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
        let (part, share) = main_loss(&evaluation, None).unwrap();
        assert!(part == PartKind::Bubble && share > 3.0 / 11.0, "{part:?} {share}");
        let html = waterfall(&evaluation).to_html();
        assert_eq!(html.matches("row main").count(), 1);
        // What a known layout lessens is the loss that a layout can change.
        let (part, _) = main_loss(&evaluation, Some(PartKind::Kernels)).unwrap();
        assert_eq!(part, PartKind::Kernels);
    }

    /// One GPU has no communication and no pipeline, and launches of a model of 70 B parameters take less than a
    /// hundredth of its step: what is left that layouts differ in is no main loss.
    #[test]
    fn a_loss_of_less_than_a_hundredth_is_not_called_the_main_one() {
        let edits = [("model", "llama-3.1-70b"), ("gpus", "1"), ("tp", "1"), ("pp", "1")];
        let run = Run::default().with_texts(&edits).unwrap();
        let html = waterfall(&evaluate(&run).unwrap()).to_html();
        assert_eq!(html.matches("row main").count(), 0, "{html}");
    }
}
