//! Steps of a log over the prediction, and what to do where there is nothing to explain.

use super::head;
use crate::charts::ink::Ink;
use crate::charts::plot::{Plot, PlotAxis, PlotMark, PlotScale, draw};
use crate::charts::ticks::ticks;
use crate::prelude::*;
use crate::views::View;
use shardscope_core::diagnose::{Diagnosis, SeriesPattern, StepSeries};

const HEIGHT: f64 = 140.0;

fn name(series: &StepSeries) -> Message {
    match series.pattern {
        SeriesPattern::Periodic => t!("Spikes at equal distances"),
        SeriesPattern::Irregular if series.spikes < 3 => t!("Two spikes of one height"),
        SeriesPattern::Irregular => t!("Spikes of one height at unequal distances"),
        SeriesPattern::Growing => t!("Spikes that grow"),
        SeriesPattern::Drift => t!("Steps become longer"),
        SeriesPattern::Jump => t!("Steps become longer at once"),
        SeriesPattern::Noisy => t!("Steps scatter"),
        SeriesPattern::Flat => t!("Flat"),
    }
}

/// Seconds of every step, with the prediction and its range.
pub(super) fn chart(found: &Diagnosis, series: &StepSeries) -> Node {
    let points: Vec<(f64, f64)> =
        series.points.iter().enumerate().map(|(at, seconds)| ((at + 1) as f64, *seconds)).collect();
    let heights = series.points.iter().copied().chain(found.high_s).chain(found.predicted_s);
    let up = PlotScale::from_zero(heights);
    let up = PlotAxis::new(up, up.round(), |seconds| verbatim(show_seconds(Seconds(seconds)))).named("step time");
    let mut marks = Vec::new();
    if let (Some(low), Some(high)) = (found.low_s, found.high_s) {
        marks.push(PlotMark::Band([low, high], Message::default()));
    }
    if let Some(predicted) = found.predicted_s {
        let shown = show_seconds(Seconds(predicted));
        marks.push(PlotMark::Level(predicted, t!("predicted {seconds}", seconds = shown)));
    }
    marks.push(PlotMark::Line(points, Ink::Exposed));
    let last = series.points.len().max(2) as f64;
    let across = PlotAxis::new(PlotScale::even(1.0, last), ticks(1.0, last, 6), |step| verbatim(format!("{step:.0}")));
    let across = across.named("step");
    let beside = t!(
        "median {median}, scatter {spread}, {spikes} spikes",
        median = show_seconds(Seconds(series.median_s)),
        spread = show_percent(series.spread),
        spikes = series.spikes
    );
    let label = t!("Seconds of every step");
    let drawing = draw(&across, HEIGHT, &[Plot { up, marks }]).inline(label);
    Node::from_iter([head(name(series), beside, Node::none()), el("figure", &[("class", "steps")], &[drawing])])
}

/// Where nothing is to be explained: three ways on.
pub(super) fn more() -> Node {
    let card = |words: Message, why: Message, act: Node| {
        let parts = [heading(words), leaf("p", "muted", why), el("p", &[("class", "act")], &[act])];
        el("div", &[("class", "box")], &parts)
    };
    let cards = [
        card(
            t!("Make the range narrower"),
            t!("A run that was measured calibrates the predictions for runs like it."),
            leaf("button", "main", "Calibrate with it").on(Action::Show(View::Diagnose(true))),
        ),
        card(
            t!("Look for a part that is too long"),
            t!("Two errors can cancel. A trace of one rank shows every part: torch.profiler, one step."),
            Node::none(),
        ),
        card(
            t!("Make the step itself shorter"),
            t!("Nothing is wrong with the run; another layout may take less time."),
            leaf("button", "", "See layouts").on(Action::Show(View::Run)),
        ),
    ];
    Node::from_iter([head("To see more", Message::default(), Node::none()), el("div", &[("class", "thirds")], &cards)])
}
