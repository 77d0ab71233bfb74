//! The card of a Run, for posts and slides: its name, its answer and one step of its pipeline, 1200 x 630 pixels.

use super::picture::{Picture, RIGHT, stacked, svg};
use shardscope_core::message::{Catalogue, Message, verbatim};
use shardscope_core::report::Evaluation;
use shardscope_core::t;
use shardscope_core::units::{MemoryUnit, show_percent, show_seconds};
use shardscope_view::charts::lod::Sums;
use shardscope_view::charts::viewport::Viewport;
use shardscope_view::node::markup::{el, text};
use shardscope_view::paint::timeline::NAMES;
use shardscope_view::palette::{Palette, Rgb, Theme};
use shardscope_view::panels::budget::{PRICE, budget_tokens, money, show_tokens, sign};
use shardscope_view::words;

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 630.0;
const MARGIN: f64 = 52.0;
const INNER: f64 = WIDTH - 2.0 * MARGIN;
/// Top of the timeline, and the most pixels of the card for one of the timeline.
const TIMELINE: (f64, f64) = (256.0, 1.4);
/// Widest letters of the bold face, of its size: what a title is made to fit by.
const LETTER: f64 = 0.62;

/// Logo and name of the program, and `title`, made to fit.
fn head(title: &Message, palette: &Palette, catalogue: &Catalogue) -> String {
    let ink = rgb(palette.text);
    let size = (INNER / (LETTER * title.translated(catalogue).chars().count() as f64)).min(40.0);
    let bold =
        |x, y, size, said: &Message| line((x, y), size, [("font-weight", "600"), ("fill", &ink)], said, catalogue);
    let (forward, backward) = (rgb(palette.forward), rgb(palette.backward));
    let logo = format!(
        "<g transform=\"translate({MARGIN},40) scale(2.4)\"><path fill=\"{forward}\" d=\"M0 1h6v3H0zM3 5h6v3H3zM6 \
            9h4v3H6z\"/><path fill=\"{backward}\" d=\"M10 9h6v3H10zM9 5h7v3H9z\"/></g>"
    );
    logo + &bold(MARGIN + 52.0, 66.0, 26.0, &verbatim("Shardscope")) + &bold(MARGIN, 126.0, size, title)
}

fn rgb((r, g, b): Rgb) -> String {
    format!("rgb({r},{g},{b})")
}

/// A line of text at a place.
fn line((x, y): (f64, f64), size: f64, look: [(&'static str, &str); 2], said: &Message, into: &Catalogue) -> String {
    let [x, y, size] = [x, y, size].map(|value| format!("{value:.1}"));
    let place = [("x", &*x), ("y", &y), ("font-size", &size)];
    el("text", &[place.as_slice(), &look].concat(), &[text(said)]).to_html_in(into)
}

/// A card with `inside`, drawn at `scale` from `top` on.
fn paper(palette: &Palette, above: &str, (top, scale): (f64, f64), inside: &str) -> String {
    format!(
        "<svg width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"system-ui, \
            sans-serif\" xmlns=\"http://www.w3.org/2000/svg\"><rect width=\"100%\" height=\"100%\" \
            fill=\"{}\"/>{above}<g transform=\"translate({MARGIN},{top}) scale({scale:.4})\">{inside}</g></svg>",
        rgb(palette.paper)
    )
}

/// The card of schedules of one Run on one axis: names, steps and bubbles are over their rows. `heading` names the
/// Runs where they differ.
pub fn compared_card(pictures: &[Picture], unit: MemoryUnit, heading: Option<&Message>) -> String {
    let Some(first) = pictures.first() else { return String::new() };
    let palette = first.theme.palette();
    let size = |svg: &str, name: &str| -> f64 {
        let value = svg.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
        value.and_then(|value| value.parse().ok()).unwrap_or(1.0)
    };
    let top = 144.0;
    let scale = |lanes: &str| ((HEIGHT - top - 12.0) / size(lanes, " height")).min(TIMELINE.1);
    // As wide as the card. A narrow one is higher, where its key has a line of its own: smaller, it is wider again.
    let wide = |scale: f64| {
        let width = INNER / scale - NAMES - RIGHT;
        let wide: Vec<Picture> = pictures.iter().map(|picture| Picture { width, ..*picture }).collect();
        stacked(&wide, unit, heading)
    };
    let first_scale = scale(&stacked(pictures, unit, heading));
    let lanes = wide(first_scale);
    let (scale, lanes) = match scale(&lanes) {
        smaller if smaller < first_scale => (smaller, wide(smaller)),
        _ => (first_scale, lanes),
    };
    let title = heading.cloned().unwrap_or_else(|| words::line(&first.evaluation.scenario.run));
    paper(&palette, &head(&title, &palette, first.catalogue), (top, scale), &lanes)
}

pub(super) fn card(evaluation: &Evaluation, theme: Theme, unit: MemoryUnit, catalogue: &Catalogue) -> String {
    let (run, report) = (&evaluation.scenario.run, &evaluation.report);
    let palette = theme.palette();
    let (ink, muted) = (rgb(palette.text), rgb(palette.muted));
    let bold =
        |x, y, size, said: &Message| line((x, y), size, [("font-weight", "600"), ("fill", &ink)], said, catalogue);
    let plain =
        |x, y, size, said: &Message| line((x, y), size, [("font-weight", "400"), ("fill", &muted)], said, catalogue);
    let memory = &report.memory;
    let (_, mark, verdict) = words::verdict_of(run, &memory.peak());
    let tokens = budget_tokens(run);
    let hours = tokens / report.step.tokens_per_s / 3600.0 * evaluation.scenario.layout.gpus as f64;
    let cost = money(&sign(run), hours * run.own_price().unwrap_or(PRICE));
    let (peak, capacity) = (unit.number(memory.peak_bytes), unit.show(memory.capacity_bytes));
    let figures = [
        (t!("{sign}{verdict}", sign = mark, verdict), t!("{peak} of {capacity}", peak, capacity)),
        (verbatim(show_seconds(report.step.time_s)), t!("a step")),
        (verbatim(show_percent(report.step.mfu)), verbatim("MFU")),
        (verbatim(cost), t!("for {tokens} tokens", tokens = show_tokens(tokens))),
    ];
    let columns = figures.iter().enumerate().map(|(at, (figure, what))| {
        let x = MARGIN + INNER * [0.0, 0.34, 0.56, 0.76][at];
        bold(x, 186.0, 34.0, figure) + &plain(x, 216.0, 20.0, what)
    });
    let sums = Sums::of(evaluation.timeline());
    let view = Viewport::all(evaluation.spans.makespan());
    let picture = Picture { evaluation, sums: &sums, view, width: INNER, rank: memory.peak_stage, theme, catalogue };
    // As high as there is room, and as wide as the card.
    let (top, most) = TIMELINE;
    let scale = ((HEIGHT - top - 12.0) / f64::from(picture.size(1.0).1)).min(most);
    let pipeline = svg(&Picture { width: INNER / scale - NAMES, ..picture });
    let above = head(&words::line(run), &palette, catalogue) + &columns.collect::<String>();
    paper(&palette, &above, (top, scale), &pipeline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::evaluate;
    use shardscope_core::run::{Run, Schedule};

    /// The answer of the card is the report's, and nothing of its timeline lies below its edge.
    #[test]
    fn the_card_has_the_answer_and_the_pipeline() {
        for (pp, gpus) in [(1, 8), (4, 64), (32, 512)] {
            let run = Run { pp, gpus, global_batch: gpus * 4, ..Run::default() };
            let evaluation = evaluate(&run).unwrap();
            let card = card(&evaluation, Theme::Light, MemoryUnit::Gib, &Catalogue::default());
            let report = &evaluation.report;
            for figure in [show_seconds(report.step.time_s), show_percent(report.step.mfu), format!("PP{pp}")] {
                assert!(card.contains(&figure) || figure == "PP1", "{figure}");
            }
            let inner = card.split("scale(").nth(2).unwrap();
            let number = |text: &str, end: &str| -> f64 { text.split(end).next().unwrap().parse().unwrap() };
            let height = number(inner.split(" height=\"").nth(1).unwrap(), "\"");
            assert!(TIMELINE.0 + number(inner, ")") * height <= HEIGHT);
            assert!(card.matches("rank ").count() >= usize::try_from(pp.min(8)).unwrap());
        }
    }

    /// The card of a comparison has every schedule of it, with the key of its colours, and all of it lies on the card.
    #[test]
    fn the_card_of_a_comparison_has_all_its_schedules() {
        let all = [(Schedule::ZbH1, "ZB-H1"), (Schedule::OneFOneB, "1F1B"), (Schedule::Gpipe, "GPipe")];
        // Few schedules are drawn large: their key has a line of its own.
        for (pp, count, drawn) in
            [(2, 3, 960.0), (4, 3, 960.0), (16, 3, 960.0), (4, 2, 1400.0), (4, 2, 600.0), (2, 1, 1400.0)]
        {
            let run = |schedule| Run { pp, schedule, ..Run::default() };
            let shown = &all[..count];
            let evaluations: Vec<_> = shown.iter().map(|(one, _)| evaluate(&run(*one)).unwrap()).collect();
            let sums: Vec<_> = evaluations.iter().map(|one| Sums::of(one.timeline())).collect();
            let end = evaluations.iter().map(|one| one.timeline().makespan()).fold(0.0, f64::max);
            let catalogue = Catalogue::default();
            let pictures = evaluations.iter().zip(&sums).map(|(evaluation, sums)| Picture {
                evaluation,
                sums,
                view: Viewport::all(end),
                width: drawn,
                rank: 0,
                theme: Theme::Dark,
                catalogue: &catalogue,
            });
            let card = compared_card(&pictures.collect::<Vec<_>>(), MemoryUnit::Gib, None);
            let titles = shown.iter().zip(["A", "B", "C"]).map(|((_, name), letter)| format!("{letter}  {name}: step"));
            for name in titles.chain([">weight gradient<".to_owned(), ">bubble<".to_owned()]) {
                assert_eq!(card.matches(&name).count(), 1, "{name}");
            }
            let inner = card.split("scale(").nth(2).unwrap();
            let number = |text: &str, end: &str| -> f64 { text.split(end).next().unwrap().parse().unwrap() };
            let scale = number(inner, ")");
            let size = |name: &str| number(inner.split(name).nth(1).unwrap(), "\"");
            assert!(144.0 + scale * size(" height=\"") <= HEIGHT);
            assert!((scale * size(" width=\"") - INNER).abs() < 4.0);
        }
    }
}
