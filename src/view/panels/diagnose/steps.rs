//! Steps of a log over the prediction, and what to do where there is nothing to explain.

use super::bars::range_words;
use super::{head, legend_item};
use crate::charts::ink::Ink;
use crate::charts::plot::{Plot, PlotAxis, PlotMark, PlotScale, draw};
use crate::charts::ticks::ticks;
use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::diagnose::{Comparison, Diagnosis, SeriesPattern, StepSeries};

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

/// Share of the time that spikes take from which on a run inside the range is not called well: steps that differ by
/// less scatter by themselves.
const LOST: f64 = 0.03;

/// Share of the time that spikes take, where it is much.
pub(super) fn lost_to_spikes(found: &Diagnosis) -> Option<f64> {
    found.series.as_ref().filter(|series| series.spikes > 0).map(|series| series.lost).filter(|lost| *lost > LOST)
}

/// That share in words.
pub(super) fn shown_lost(lost: f64) -> Message {
    Scope::files().says("lost to spikes", show_percent(lost))
}

/// The pattern, and how far its median is from the prediction where it is outside of the range.
fn named(found: &Diagnosis, series: &StepSeries) -> Message {
    let off = |share: f64| Scope::files().says("step beside the prediction", show_percent(share));
    let (pattern, times) = (name(series), found.predicted_s.map(|predicted| series.median_s / predicted));
    match times {
        Some(times) if found.high_s.is_some_and(|high| series.median_s > high) => {
            t!("{pattern}, {off} above the prediction", pattern, off = off(times - 1.0))
        }
        Some(times) if found.low_s.is_some_and(|low| series.median_s < low) => {
            t!("{pattern}, {off} below the prediction", pattern, off = off(1.0 - times))
        }
        _ => pattern,
    }
}

/// Room above the longest step that sets the axis.
const HEADROOM: f64 = 1.1;

/// Seconds of every step, with the prediction and its range.
pub(super) fn chart(found: &Diagnosis, series: &StepSeries) -> Node {
    // The first steps compile and fill caches: they are cut where the others end.
    let top = HEADROOM * found.high_s.into_iter().chain(found.predicted_s).fold(series.longest_s, f64::max);
    let cut = series.points.iter().copied().filter(|seconds| *seconds > top).fold(0.0, f64::max);
    // The numbers of the log, where it gives any.
    let number = |at: usize| series.numbers.get(at).map_or((at + 1) as f64, |number| *number as f64);
    let points: Vec<(f64, f64)> =
        series.points.iter().enumerate().map(|(at, seconds)| (number(at), seconds.min(top))).collect();
    let up = PlotScale::from_zero(std::iter::once(top));
    let up = PlotAxis::new(up, up.round(), |seconds| verbatim(show_seconds(Seconds(seconds)))).named("step time");
    let mut marks = Vec::new();
    if let (Some(low), Some(high)) = (found.low_s, found.high_s) {
        marks.push(PlotMark::Band([low, high], Message::default()));
    }
    marks.extend(found.predicted_s.map(|predicted| PlotMark::Dashed(predicted, Ink::Accent)));
    marks.push(PlotMark::Line(points, Ink::Text));
    let first = number(0);
    let last = number(series.points.len().saturating_sub(1)).max(first + 1.0);
    let scale = PlotScale::even(first, last);
    let across = PlotAxis::new(scale, ticks(first, last, 6), |step| verbatim(format!("{step:.0}")));
    let across = across.named("step");
    let of_files = |field: &str, shown: String| Scope::files().says(field, shown);
    let median = of_files("step", show_seconds(Seconds(series.median_s)));
    let spread = of_files("scatter", show_percent(series.spread));
    let beside = match series.spikes {
        0 => t!("median {median}, scatter {spread}, no spikes", median, spread),
        1 => t!("median {median}, scatter {spread}, one spike", median, spread),
        spikes => t!("median {median}, scatter {spread}, {spikes} spikes", median, spread, spikes),
    };
    let cut = (cut > 0.0).then(|| {
        t!(
            "the first steps, up to {longest}, are cut",
            longest = of_files("longest of the first steps", show_seconds(Seconds(cut)))
        )
    });
    let beside = Message::joined(" · ", std::iter::once(beside).chain(cut));
    let label = t!("Seconds of every step");
    let drawing = draw(&across, HEIGHT, &[Plot { up, marks }]).inline(label);
    Node::from_iter([head(named(found, series), beside, key(found)), el("figure", &[("class", "steps")], &[drawing])])
}

/// What the lines and the band are.
fn key(found: &Diagnosis) -> Node {
    let of = |field: &str, seconds: f64| Scope::compared().says(field, show_seconds(Seconds(seconds)));
    let predicted = found
        .predicted_s
        .map(|seconds| legend_item("line predicted", t!("predicted {seconds}", seconds = of("step.time_s", seconds))));
    let range = range_words(found).map(|words| legend_item("within", words));
    let items: Vec<Node> = std::iter::once(legend_item("line", t!("measured"))).chain(predicted).chain(range).collect();
    el("span", &[("class", "key-line")], &items)
}

/// Where nothing is to be explained: three ways on.
pub(super) fn more(found: &Diagnosis) -> Node {
    let card = |words: Message, why: Message, act: Node| {
        let parts = [heading(words), leaf("p", "muted", why), el("p", &[("class", "act")], &[act])];
        el("div", &[("class", "box")], &parts)
    };
    let cards = [
        card(
            t!("Make the range narrower"),
            t!("A run that was measured calibrates the predictions for runs like it."),
            leaf("button", "main", "Calibrate with it").on(PanelAction::Calibrate),
        ),
        if found.parts.is_empty() {
            card(
                t!("Look for a part that is too long"),
                t!("Two errors can cancel. A trace of one rank shows every part: torch.profiler, one step."),
                Node::none(),
            )
        } else {
            card(
                t!("Look for a rank that others wait for"),
                t!("The parts above are of the ranks whose traces were read. Add those of other ranks, one file a \
                        rank."),
                Node::none(),
            )
        },
        card(
            t!("Make the step itself shorter"),
            match lost_to_spikes(found) {
                _ if found.comparison == Comparison::Shorter => {
                    t!("The run is shorter than the range; another layout may take less time still.")
                }
                Some(lost) => t!(
                    "Between its spikes, which take {lost} of the time, the run is as predicted; another layout may \
                        take less.",
                    lost = shown_lost(lost)
                ),
                None => t!("The run is inside the range; another layout may take less time than this one."),
            },
            leaf("button", "", "See layouts").on(PanelAction::Layouts),
        ),
    ];
    Node::from_iter([head("To see more", Message::default(), Node::none()), el("div", &[("class", "thirds")], &cards)])
}
