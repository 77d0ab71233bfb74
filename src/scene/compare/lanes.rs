//! The timelines of two Runs on one axis.

use crate::pipeline::{Kind, schedule as schedule_row};
use crate::report::Evaluation;
use crate::scene::lod::Sums;
use crate::scene::markup::{Html, el, leaf, percent, raw, text};
use crate::scene::shape::Shape;
use crate::scene::ticks::ticks;
use crate::scene::timeline::cells;
use crate::scene::viewport::Viewport;
use crate::scene::words;
use crate::units::{Seconds, show_seconds};
use std::fmt::Write;

/// Units of a picture's width: it is stretched to the panel.
const WIDTH: f64 = 1000.0;
/// Height of a picture's rows together, and of one at most, CSS pixels.
const HEIGHT: f64 = 240.0;
const TALLEST: f64 = 18.0;

/// Both timelines over one axis that ends with the longer one.
pub fn timelines(runs: [&Evaluation; 2]) -> Html {
    let ends = runs.map(|run| run.timeline.makespan());
    let full = ends[0].max(ends[1]);
    if full <= 0.0 {
        return Html::none();
    }
    let axis: Html = ticks(0.0, full, 5)
        .into_iter()
        .map(|tick| {
            let place = percent("left", tick / full);
            el(
                "span",
                &[("style", &place)],
                &[text(&show_seconds(Seconds(tick)))],
            )
        })
        .collect();
    let key = [
        ("c-forward", "forward"),
        ("c-backward", "backward"),
        ("c-weight", "weight gradient, where it is an op of its own"),
        ("hatch", "bubble"),
    ];
    let key: Html = key
        .into_iter()
        .map(|(class, name)| {
            let swatch = leaf("i", &format!("swatch {class}"), "");
            el("span", &[], &[swatch, text(name)])
        })
        .collect();
    Html::from_iter([
        leaf("h3", "", "Pipeline timelines on one axis"),
        el(
            "div",
            &[("class", "legend"), ("aria-hidden", "true")],
            &[key],
        ),
        lane(runs[0], "first", full),
        lane(runs[1], "second", full),
        el(
            "div",
            &[("class", "lane-axis"), ("aria-hidden", "true")],
            &[axis],
        ),
    ])
}

fn lane(run: &Evaluation, which: &str, full: f64) -> Html {
    let report = &run.report;
    let schedule = report.pipeline.schedule;
    let schedule = schedule_row(schedule).map_or(schedule, |row| row.name);
    let said = words::pipeline(&report.pipeline, report.layout.microbatches);
    let end = format!("width:{:.3}%", run.timeline.makespan() / full * 100.0);
    Html::from_iter([
        leaf("h4", "", &format!("{which}: {schedule}. {said}")),
        el(
            "div",
            &[("class", "lane")],
            &[
                el("i", &[("class", "hatch"), ("style", &end)], &[]),
                raw(picture(run, full)),
            ],
        ),
    ])
}

/// A path a kind and lightness, so that thousands of ops are a few elements.
fn picture(run: &Evaluation, full: f64) -> String {
    let shape = Shape::of(run.timeline.ranks.len());
    let pitch = (HEIGHT / shape.count.max(1) as f64).min(TALLEST);
    let height = if pitch > 8.0 {
        pitch - 3.0
    } else {
        pitch * 0.85
    };
    let sums = Sums::of(&run.timeline);
    let rows = sums.rows(&run.timeline, shape.stride);
    let mut paths = [const { String::new() }; 6];
    for cell in cells(&rows, Viewport::all(full), WIDTH) {
        let kind = match cell.kind {
            Kind::F => 0,
            Kind::B | Kind::BW => 1,
            Kind::W => 2,
        };
        let later = cell
            .op
            .is_some_and(|op| run.chunk_of(cell.row * shape.stride, op.op.stage) > 0);
        let top = cell.row as f64 * pitch + cell.band.0 * height;
        let tall = (cell.band.1 - cell.band.0) * height;
        // A little paper between ops that are wide enough to be told apart.
        let wide = cell.width - if cell.width > 3.0 { 0.7 } else { 0.0 };
        // Writing to a text never fails.
        let _ = write!(
            paths[kind + 3 * usize::from(later)],
            "M{:.2} {top:.1}h{wide:.2}v{tall:.1}h-{wide:.2}z",
            cell.x
        );
    }
    let tall = pitch * shape.count as f64;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {tall:.1}\" height=\"{tall:.1}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    );
    for (path, class) in paths
        .iter()
        .zip(["f", "b", "w", "f later", "b later", "w later"])
    {
        if !path.is_empty() {
            let _ = write!(svg, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }
    svg.push_str("</svg>");
    svg
}
