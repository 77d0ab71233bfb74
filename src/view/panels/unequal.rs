//! Micro-batches of unequal length: how samples are packed, and what each way of running them takes, drawn and in a
//! table.

use crate::charts::drawing::{Anchor, Box, DETAIL, Drawing};
use crate::charts::figure::figure;
use crate::charts::ink::Ink;
use crate::charts::strips::strips;
use crate::node::action::PanelChoice;
use crate::prelude::*;
use shardscope_core::advice::unequal::{SampleWay, Unequal, unequal as ways};
use shardscope_core::pipeline::Timeline;
use shardscope_core::pipeline::packing::LengthSpread;
use shardscope_core::units::thousands;

/// The distributions, and what the page calls them.
pub(crate) const SPREADS: [(LengthSpread, &str); 3] =
    [(LengthSpread::LogNormal, "log-normal"), (LengthSpread::Bimodal, "bimodal"), (LengthSpread::Uniform, "uniform")];

/// The panel for lengths that are spread like this.
pub fn unequal(evaluation: &Evaluation, spread: LengthSpread) -> Node {
    let present = own(evaluation);
    let Some(found) = ways(evaluation, spread) else {
        let why = "The stages of this run cannot be timed at other sequence lengths.";
        return Node::from_iter([present, muted(why)]);
    };
    let message = t!(
        "{samples} samples of up to {longest} tokens, drawn with a fixed seed, for one pipeline of {ranks} ranks; a \
            micro-batch has at most the {most_tokens} tokens of this run's. The formula is (c − 1) max t + Σ t, with \
            t what the longest rank takes: exact for GPipe with equal stages, an objective for the others. It does \
            not see the order; the simulation does.",
        samples = found.samples,
        longest = found.longest,
        ranks = found.ranks,
        most_tokens = found.most_tokens
    );
    Node::from_iter([
        present,
        choices(
            ["Sample lengths", "Distribution of sample lengths"],
            SPREADS.map(|(known, label)| {
                let choice = Action::Choose(PanelChoice::Spread(known));
                (choice, label.into(), known == spread)
            }),
            Node::none(),
        ),
        muted(&message),
        figure("lengths", "Samples by length, tokens", histogram(&found).inline("Histogram of sample lengths")),
        figure(
            "packing",
            "Micro-batches by time: samples, and what is padding (hatched)",
            packing(&found).inline("Samples in their micro-batches, in three ways"),
        ),
        figure(
            "unequal",
            "The pipeline that they make, on one axis",
            pipelines(&found).inline("The simulated pipeline of each way, on one axis"),
        ),
        figures(&found),
        muted(
            "Let in as memory allows: a rank takes the next micro-batch whenever what it holds stays within the \
                tokens of as many full ones as there are ranks, and a backward pass as soon as it can. A run that \
                uses a row takes time in proportion to its tokens, padding included; here short sequences pay for \
                what each micro-batch costs at least.",
        ),
    ])
}

/// Result for the run's own lengths, where it has any.
fn own(evaluation: &Evaluation) -> Node {
    let scenario = &evaluation.scenario;
    if scenario.run.microbatch_lengths.is_none() {
        return Node::none();
    }
    let pipeline = &evaluation.report.pipeline;
    let message = t!(
        "This run has {microbatches} micro-batches of its own lengths: {makespan_s} simulated, {bubble_fraction} of \
            it bubble. ",
        microbatches = scenario.layout.microbatches,
        makespan_s = show_seconds(pipeline.makespan_s),
        bubble_fraction = show_percent(pipeline.bubble_fraction)
    );
    let mut set = vec![("microbatch_lengths", String::new())];
    if evaluation.order.splits == 1 && pipeline.schedule == Schedule::Custom {
        set.push(("schedule_options.order", String::new()));
        set.push(("schedule", "1f1b".to_owned()));
    }
    let equal = apply("fix", set, "", "make them equal");
    el("p", &[], &[text(&message), equal])
}

/// Height of a strip of micro-batches, and of the words above it.
const STRIP: f64 = 32.0;
const WORDS: f64 = 18.0;
/// A strip with its words and the gap below it.
const PITCH: f64 = STRIP + WORDS + 8.0;

/// Bins of the histogram of lengths, and its height, pixels.
const BINS: usize = 16;
const HIGH: f64 = 80.0;
const AXIS: f64 = 18.0;

/// Samples in equal ranges of length, up to the longest.
fn counts(found: &Unequal) -> [usize; BINS] {
    let mut counts = [0; BINS];
    for length in found.ways.first().into_iter().flat_map(|way| way.microbatches.iter().flatten()) {
        let bin = (length.saturating_sub(1) * BINS as u64).checked_div(found.longest).unwrap_or(0);
        counts[usize::try_from(bin).unwrap_or(0).min(BINS - 1)] += 1;
    }
    counts
}

fn histogram(found: &Unequal) -> Drawing {
    let counts = counts(found);
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let mut drawing = Drawing::new(HIGH + AXIS);
    for (bin, count) in counts.iter().enumerate() {
        let [x, next] = [bin, bin + 1].map(|bin| bin as f64 / BINS as f64);
        let height = (HIGH - 4.0) * *count as f64 / most;
        let to = (bin as u64 + 1) * found.longest / BINS as u64;
        let place = Box { x, width: next - x - 0.004, y: HIGH - height, height };
        drawing.fill(place, Ink::Memory(3), 1.0, t!("{count} samples of up to {to} tokens", count = *count, to));
        if bin % 4 == 3 {
            drawing.words((next, HIGH + 10.0), Anchor::End, Ink::Muted, verbatim(thousands(to)));
        }
    }
    drawing.line((0.0, HIGH), (1.0, HIGH), Ink::Line, 1.0);
    drawing
}

/// The first three ways that make other micro-batches of the samples: each micro-batch as wide as its time, its samples
/// one below the other.
pub(crate) fn packing(found: &Unequal) -> Drawing {
    let mut drawn: Vec<&SampleWay> = Vec::new();
    for way in &found.ways {
        if drawn.last().is_none_or(|last| last.tokens != way.tokens) {
            drawn.push(way);
        }
    }
    drawn.truncate(3);
    let sum = |way: &SampleWay| way.times.iter().sum::<f64>();
    let longest = drawn.iter().copied().map(sum).fold(0.0, f64::max).max(1e-12);
    let mut drawing = Drawing::new(PITCH * drawn.len() as f64);
    for (at, way) in drawn.iter().enumerate() {
        let top = PITCH * at as f64;
        let message = t!(
            "{way}: Σ t {way_2}, {padding} padding",
            way = way.name,
            way_2 = show_seconds(Seconds(sum(way))),
            padding = show_percent(way.padding())
        );
        drawing.words((0.0, top + 8.0), Anchor::Start, Ink::Text, &message);
        let mut x = 0.0;
        for ((samples, tokens), time) in way.microbatches.iter().zip(&way.tokens).zip(&way.times) {
            let width = time / longest;
            let place = Box { x, width: (width - 1.0 / DETAIL).max(width * 0.5), y: top + WORDS, height: STRIP };
            microbatch(&mut drawing, place, samples, *tokens);
            x += width;
        }
    }
    drawing
}

fn microbatch(drawing: &mut Drawing, place: Box, samples: &[u64], tokens: u64) {
    drawing.hatch(place);
    let count = samples.len().max(1);
    let each = place.height / count as f64;
    let padded = tokens as f64 / count as f64;
    for (row, length) in samples.iter().enumerate() {
        let gap = if each > 3.0 { 0.5 } else { 0.0 };
        let sample = Box {
            width: place.width * *length as f64 / padded.max(1.0),
            y: place.y + row as f64 * each,
            height: each - gap,
            ..place
        };
        drawing.fill(sample, Ink::Memory(3), 1.0, t!("{length} tokens", length));
    }
    if place.width > 0.012 {
        drawing.frame(place, Ink::Line);
    }
}

/// The ways that can be simulated, one below the other.
pub fn pipelines(found: &Unequal) -> Drawing {
    let drawn: Vec<(Message, &Timeline)> = found
        .ways
        .iter()
        .filter_map(|way| {
            let timeline = way.timeline.as_ref()?;
            let end = show_seconds(Seconds(timeline.makespan()));
            Some((t!("{packing}: {end}", packing = way.name, end), timeline))
        })
        .collect();
    strips(&drawn)
}

/// A row a way, with the button that makes it the run's own.
fn figures(found: &Unequal) -> Node {
    let first = found.ways.first().and_then(SampleWay::simulated);
    let best = found.ways.iter().filter_map(SampleWay::simulated);
    let best = best.map(|time| time.0).fold(f64::INFINITY, f64::min);
    let of_first = |way: &SampleWay| {
        let both = way.simulated().zip(first);
        both.map_or("–".to_owned(), |(time, first)| format!("{}×", significant(first / time, 3)))
    };
    Rows::of(&found.ways)
        .column("way", |way| Message::from(way.name))
        .figures("micro-batches", |way| way.times.len().to_string())
        .figures("padding", |way| show_percent(way.padding()))
        .figures("max t", |way| show_seconds(Seconds(way.times.iter().copied().fold(0.0, f64::max))))
        .figures("formula", |way| show_seconds(way.formula))
        .column("simulated", |way| way.simulated().map_or(t!("cannot run"), |time| verbatim(show_seconds(time))))
        .figures("as fast", |way| of_first(way))
        .figures("tokens held", |way| format!("{} k", significant(way.held / 1e3, 3)))
        .column("", |way| use_way(way))
        .marked(|way| way.simulated().is_some_and(|time| time.0 <= best))
        .table("Ways to run unequal samples")
}

fn use_way(way: &SampleWay) -> Node {
    if way.set.is_empty() || way.timeline.is_none() {
        return Node::none();
    }
    let title = t!("Run it: {way}", way = way.name);
    apply("choose", way.set.clone(), &title, "use")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(run: &Run, spread: LengthSpread) -> Node {
        unequal(&evaluate(run).unwrap(), spread)
    }

    fn fixes(panel: &Node) -> Vec<Vec<(&'static str, String)>> {
        let actions = panel.actions().into_iter();
        let fixes = actions.filter_map(|action| match action {
            Action::Apply(set) => Some(set.clone()),
            _ => None,
        });
        fixes.collect()
    }

    #[test]
    fn every_distribution_is_one_press_and_every_way_one_more() {
        let run = Run::default();
        for (spread, label) in SPREADS {
            let view = panel(&run, spread);
            let choice = Action::Choose(PanelChoice::Spread(spread));
            assert!(view.actions().contains(&&choice), "{label}");
            let html = view.to_html();
            assert_eq!(html.matches("aria-pressed=\"true\"").count(), 1);
            assert!(!html.contains("NaN") && !html.contains("inf"), "{label}");
            let ways = fixes(&view);
            assert!(ways.len() >= 4, "{label}: {ways:?}");
            for fix in ways {
                let unequal = run.with_texts(&fix).unwrap();
                let view = panel(&unequal, spread);
                assert!(view.to_html().contains("make them equal"), "{fix:?}");
                let equal = unequal.with_texts(&fixes(&view)[0]).unwrap();
                assert!(equal.microbatch_lengths.is_none());
                assert_eq!(equal.schedule, run.schedule);
                assert!(evaluate(&equal).is_ok());
            }
        }
    }

    /// Every sample is in one bin; half of a uniform draw is shorter than half of the longest, about.
    #[test]
    fn the_histogram_counts_every_sample_once() {
        let evaluation = evaluate(&Run::default()).unwrap();
        for (spread, label) in SPREADS {
            let found = ways(&evaluation, spread).unwrap();
            let counts = counts(&found);
            assert_eq!(counts.iter().sum::<usize>(), found.samples, "{label}");
            let short = counts[..BINS / 2].iter().sum::<usize>() as f64 / found.samples as f64;
            assert!(spread != LengthSpread::Uniform || (short - 0.5).abs() < 0.15, "{short}");
        }
    }

    #[test]
    fn a_schedule_that_refuses_says_so_in_its_row() {
        // DualPipe on 16 ranks has no order for the 16 micro-batches that 64 samples of four each make; 1F1B has.
        let run = |schedule| Run { schedule, pp: 16, micro_batch: 4, ..Run::default() };
        let (refused, runs) = (Schedule::DualPipe, Schedule::OneFOneB);
        let html = |schedule| panel(&run(schedule), LengthSpread::LogNormal).to_html();
        let (refused, runs) = (html(refused), html(runs));
        for way in ["padded to the longest", "each to its own length"] {
            let row = |html: &str| {
                let cell = format!("<td>{way}</td><td>16</td>");
                let row = html.split("<tr").find(|row| row.contains(&cell));
                row.unwrap_or_else(|| panic!("{way}: {html}")).to_owned()
            };
            let row_of_refused = row(&refused);
            assert!(row_of_refused.contains("<td>cannot run</td>"), "{row_of_refused}");
            assert!(!row_of_refused.contains("<button"), "{row_of_refused}");
            assert!(row(&runs).contains("<button"), "{}", row(&runs));
        }
        assert!(!runs.contains("cannot run"));
    }
}
