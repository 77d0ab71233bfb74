//! Two Runs beside each other: what is set otherwise, every headline figure, memory on one scale, timelines on one axis.

use super::changes::{changes, name};
use super::issues;
use super::lod::Sums;
use super::markup::{Html, el, fold, percent, raw, span, table, text};
use super::memory::{Bar, bars_on, legend_entry, scale};
use super::shape::Shape;
use super::ticks::ticks;
use super::timeline::cells;
use super::viewport::Viewport;
use super::words;
use crate::issue::Issue;
use crate::memory::{Component, Verdict};
use crate::pipeline::Kind;
use crate::report::{Evaluation, Memory, Report};
use crate::run::Run;
use crate::units::{
    Bytes, MemoryUnit, Seconds, group, show_count, show_percent, show_seconds, significant,
};
use std::fmt::Write;

/// The second Run: what it is, and what follows from it.
pub struct Second<'a> {
    /// As typed.
    pub run: &'a Run,
    /// Its evaluation, or why there is none.
    pub evaluation: Result<&'a Evaluation, &'a [Issue]>,
}

/// The panel; `links` are those of the two Runs, for its buttons.
#[must_use]
pub fn compare(first: &Evaluation, second: &Second, links: [&str; 2], unit: MemoryUnit) -> Html {
    let (said, rest) = match second.evaluation {
        Ok(evaluation) => (
            text(&sentence([&first.report, &evaluation.report], unit)),
            both(first, evaluation, unit),
        ),
        Err(errors) => (
            text("The second run cannot work:"),
            errors.iter().map(issues::line).collect(),
        ),
    };
    Html::from_iter([
        head(links),
        el(
            "p",
            &[("role", "status"), ("class", "verdict-note")],
            &[said],
        ),
        settings(&first.scenario.run, second.run),
        rest,
    ])
}

fn head(links: [&str; 2]) -> Html {
    let button = |label: &str, title: &str, run: &str, second: &str| {
        let attributes = [("title", title), ("data-run", run), ("data-second", second)];
        el("button", &attributes, &[text(label)])
    };
    let buttons = Html::from_iter([
        button(
            "swap",
            "The second run becomes the first",
            links[1],
            links[0],
        ),
        button(
            "keep this as second",
            "This run becomes the second",
            "",
            links[0],
        ),
        button("close", "No second run", "", "-"),
    ]);
    el(
        "div",
        &[("class", "panel-head")],
        &[
            span("h2", "", "Compare"),
            span(
                "small",
                "",
                "first: this page's run; second: one kept beside it",
            ),
            span("span", "spring", ""),
            el("span", &[("class", "tools")], &[buttons]),
        ],
    )
}

/// What is set otherwise, each with a way to take it over.
fn settings(first: &Run, second: &Run) -> Html {
    let all = changes(first, second);
    if all.is_empty() {
        let words = "Both runs are set alike. Change anything: the second stays as it is.";
        return span("p", "muted", words);
    }
    let row = |change: &super::changes::Change| {
        let attributes = [("class", "choose"), ("data-fix", change.back.as_str())];
        let take = el("button", &attributes, &[text("take")]);
        let cells = vec![
            name(change.field),
            text(&change.to),
            text(&change.from),
            take,
            Html::none(),
        ];
        (false, cells)
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    table(
        "What is set otherwise",
        &["Set otherwise", "first", "second", "", ""],
        &rows,
    )
}

fn both(first: &Evaluation, second: &Evaluation, unit: MemoryUnit) -> Html {
    let reports = [&first.report, &second.report];
    let head = ["", "first", "second", "difference", ""];
    let [headline, parts] = figures(reports, unit);
    Html::from_iter([
        table("Key figures of both runs", &head, &headline),
        memory(reports.map(|report| &report.memory), unit),
        timelines([first, second]),
        fold(
            "What they are made of",
            table("Figures of both runs", &head, &parts),
        ),
    ])
}

/// What one gives and takes against the other, in a sentence.
fn sentence([a, b]: [&Report; 2], unit: MemoryUnit) -> String {
    let time = b.step.time_s / a.step.time_s - 1.0;
    let time = if time.abs() < SAME {
        "takes the same time a step".to_owned()
    } else {
        let word = if time < 0.0 { "less" } else { "more" };
        format!("takes {} {word} time a step", show_percent(time.abs()))
    };
    let bytes = b.memory.peak_bytes.0 - a.memory.peak_bytes.0;
    let memory = if bytes.abs() < SAME * a.memory.peak_bytes.0 {
        "as much memory on its fullest GPU".to_owned()
    } else {
        let word = if bytes < 0.0 { "less" } else { "more" };
        format!(
            "{} {word} memory on its fullest GPU",
            unit.show(Bytes(bytes.abs()))
        )
    };
    let verdict = |report: &Report| match report.memory.verdict {
        Verdict::Fits => "fits",
        Verdict::Tight => "is tight",
        Verdict::Oom => "runs out of memory",
    };
    let fits = if a.memory.verdict == b.memory.verdict {
        match a.memory.verdict {
            Verdict::Fits => "both fit".to_owned(),
            Verdict::Tight => "both are tight".to_owned(),
            Verdict::Oom => "both run out of memory".to_owned(),
        }
    } else {
        format!("it {}, the first {}", verdict(b), verdict(a))
    };
    format!("The second {time} and {memory}; {fits}.")
}

/// Shares nearer than this are printed alike.
const SAME: f64 = 5e-4;

type TableRow = (bool, Vec<Html>);

/// A figure of both: second minus first, and in percent of the first.
fn row(name: &str, [a, b]: [f64; 2], show: &dyn Fn(f64) -> String) -> TableRow {
    let same = show(a) == show(b);
    let difference = if same {
        "same".to_owned()
    } else {
        format!("{}{}", sign(b - a), show((b - a).abs()))
    };
    let share = if same || a == 0.0 {
        String::new()
    } else {
        format!(
            "{}{} %",
            sign(b - a),
            significant(((b - a) / a).abs() * 100.0, 3)
        )
    };
    let cells = [name, &show(a), &show(b), &difference, &share];
    (false, cells.map(text).into())
}

/// A share of something: its difference is in points.
fn points(name: &str, [a, b]: [f64; 2]) -> TableRow {
    let (shown, other) = (show_percent(a), show_percent(b));
    let difference = if shown == other {
        "same".to_owned()
    } else {
        format!("{}{:.1} points", sign(b - a), ((b - a) * 100.0).abs())
    };
    (
        false,
        [name, &shown, &other, &difference, ""].map(text).into(),
    )
}

fn sign(difference: f64) -> &'static str {
    if difference < 0.0 { "−" } else { "+" }
}

/// What the key figures say, and what they are made of.
fn figures(reports: [&Report; 2], unit: MemoryUnit) -> [Vec<TableRow>; 2] {
    let bytes = |bytes: f64| unit.show(Bytes(bytes));
    let seconds = |seconds: f64| show_seconds(Seconds(seconds));
    let whole = |count: f64| group(&format!("{count:.0}"));
    let three = |figure: f64| significant(figure, 3);
    let of = |figure: fn(&Report) -> f64| reports.map(figure);
    let word = |report: &Report| words::verdict(report.memory.verdict);
    let verdict = ["Verdict", word(reports[0]), word(reports[1]), "", ""];
    let headline = vec![
        (true, verdict.map(text).into()),
        row("Memory", of(|r| r.memory.peak_bytes.0), &bytes),
        row("Step", of(|r| r.step.time_s.0), &seconds),
        row("Tokens/s/GPU", of(|r| r.step.tokens_per_s_per_gpu), &whole),
        points("MFU", of(|r| r.step.mfu)),
        points("Bubble", of(|r| r.pipeline.bubble_fraction)),
        points("Exposed", of(|r| r.step.exposed_comm_s / r.step.time_s)),
    ];
    let mut parts = vec![row(
        "Usable memory",
        of(|r| r.memory.capacity_bytes.0),
        &bytes,
    )];
    for component in Component::ALL {
        let at = |report: &Report| {
            let rank = report.memory.per_stage.get(report.memory.peak_stage);
            let all = rank.map_or(Vec::new(), |rank| rank.components().to_vec());
            let own = all.into_iter().find(|(name, _)| *name == component.name());
            own.map_or(0.0, |(_, bytes)| bytes.0)
        };
        let name = format!("Fullest GPU: {}", component.name());
        parts.push(row(&name, reports.map(at), &bytes));
    }
    let both =
        |figure: fn(&Report) -> Option<f64>| reports.map(|report| figure(report).unwrap_or(0.0));
    parts.extend([
        row("Step: compute", of(|r| r.step.compute_s.0), &seconds),
        row("Step: bubble", of(|r| r.step.bubble_s.0), &seconds),
        row(
            "Step: exposed communication",
            of(|r| r.step.exposed_comm_s.0),
            &seconds,
        ),
        row("Step: optimizer", of(|r| r.step.optimizer_s.0), &seconds),
        row("Step: data loader", of(|r| r.step.host_s.0), &seconds),
        row("TFLOP/s/GPU", of(|r| r.step.tflops_per_gpu), &three),
        row("Tokens/s", of(|r| r.step.tokens_per_s), &whole),
        row("Tokens a step", of(|r| r.layout.tokens_per_step), &whole),
        row("Parameters", of(|r| r.parameters.total as f64), &show_count),
        row("Data-parallel size", of(|r| r.layout.dp as f64), &whole),
        row(
            "Micro-batches a step",
            of(|r| r.layout.microbatches as f64),
            &whole,
        ),
        row("Days", both(|r| r.step.days), &three),
        row("GPU-hours", both(|r| r.step.gpu_hours), &whole),
        row("Cost", both(|r| r.step.cost), &whole),
    ]);
    // What neither has is no figure of theirs.
    parts.retain(|(_, cells)| {
        !["0.0 GiB", "0.0 GB", "0 s", "0"]
            .iter()
            .any(|none| cells[1..3] == [text(none), text(none)])
    });
    [headline, parts]
}

/// The bars of both on the longer one's scale.
fn memory(memories: [&Memory; 2], unit: MemoryUnit) -> Html {
    let scale = scale(memories[0]).max(scale(memories[1]));
    let pictures = memories.map(|memory| bars_on(memory, scale));
    let used = |component: &Component| {
        let mut segments = pictures
            .iter()
            .flat_map(|picture| &picture.bars)
            .flat_map(|bar| &bar.segments);
        segments.any(|part| part.component == *component)
    };
    let legend: Html = Component::ALL
        .into_iter()
        .filter(used)
        .map(legend_entry)
        .collect();
    let group = |(memory, picture, which): (&Memory, &super::memory::Bars, &str)| {
        let rows: Html = picture
            .bars
            .iter()
            .map(|bar| bar_row(bar, picture.capacity, unit))
            .collect();
        Html::from_iter([
            span(
                "h4",
                "",
                &format!("{which}: {}", words::memory(memory, unit)),
            ),
            el("div", &[("class", "bars thin")], &[rows]),
        ])
    };
    Html::from_iter([
        span("h3", "", "Memory per GPU, by stage, on one scale"),
        el(
            "div",
            &[("class", "legend"), ("aria-hidden", "true")],
            &[legend],
        ),
        group((memories[0], &pictures[0], "first")),
        group((memories[1], &pictures[1], "second")),
    ])
}

fn bar_row(bar: &Bar, capacity: f64, unit: MemoryUnit) -> Html {
    let (first, last) = bar.stages;
    let who = if first == last {
        format!("stage {first}")
    } else {
        format!("{first} to {last}")
    };
    let mut track: Vec<Html> = bar
        .segments
        .iter()
        .map(|part| {
            let class = format!("segment c-{}", part.component.name());
            let style = format!(
                "{};{}",
                percent("left", part.start),
                percent("width", part.length)
            );
            let title = format!("{} {}", part.component.name(), unit.show(part.bytes));
            el(
                "i",
                &[("class", &class), ("style", &style), ("title", &title)],
                &[],
            )
        })
        .collect();
    let end = bar
        .segments
        .last()
        .map_or(0.0, |part| part.start + part.length);
    let place = if end < 0.86 {
        percent("left", end)
    } else {
        percent("right", 1.0 - end)
    };
    let class = if bar.is_peak { "total bold" } else { "total" };
    track.push(el(
        "i",
        &[("class", "capacity"), ("style", &percent("left", capacity))],
        &[],
    ));
    track.push(el(
        "span",
        &[("class", class), ("style", &place)],
        &[text(&unit.show(bar.total))],
    ));
    el(
        "div",
        &[("class", "bar-row")],
        &[
            span("span", "who", &who),
            el("div", &[("class", "track")], &track),
        ],
    )
}

/// Units of a picture's width: it is stretched to the panel.
const WIDTH: f64 = 1000.0;
/// Height of a picture's rows together, and of one at most, CSS pixels.
const HEIGHT: f64 = 240.0;
const TALLEST: f64 = 18.0;

/// Both timelines over one axis that ends with the longer one.
fn timelines(runs: [&Evaluation; 2]) -> Html {
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
            let swatch = span("i", &format!("swatch {class}"), "");
            el("span", &[], &[swatch, text(name)])
        })
        .collect();
    Html::from_iter([
        span("h3", "", "Pipeline timelines on one axis"),
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
    let schedule = crate::pipeline::schedule(schedule).map_or(schedule, |row| row.name);
    let said = words::pipeline(&report.pipeline, report.layout.microbatches);
    let end = format!("width:{:.3}%", run.timeline.makespan() / full * 100.0);
    Html::from_iter([
        span("h4", "", &format!("{which}: {schedule}. {said}")),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;

    fn html(first: &Run, second: &Run) -> String {
        let first = evaluate(first).unwrap();
        let other = evaluate(second);
        let second = Second {
            run: second,
            evaluation: other.as_ref().map_err(Vec::as_slice),
        };
        compare(&first, &second, ["v=1", "v=1&pp=2"], MemoryUnit::Gib).into_string()
    }

    #[test]
    fn a_run_beside_itself_differs_in_nothing() {
        let html = html(&Run::default(), &Run::default());
        assert!(html.contains("set alike"));
        assert!(
            html.contains("same time a step and as much memory"),
            "{html}"
        );
        assert!(!html.contains(" points") && !html.contains("data-fix"));
    }

    #[test]
    fn the_difference_is_second_minus_first() {
        let pp2 = Run {
            pp: 2,
            ..Run::default()
        };
        let (there, back) = (html(&Run::default(), &pp2), html(&pp2, &Run::default()));
        // dp = gpus / (tp pp): 8 and 16.
        assert!(
            there.contains("<td>8</td><td>16</td><td>+8</td><td>+100 %</td>"),
            "{there}"
        );
        assert!(back.contains("<td>16</td><td>8</td><td>−8</td><td>−50.0 %</td>"));
        assert!(there.contains("data-fix=\"pp=2\"") && back.contains("data-fix=\"pp=4\""));
    }

    #[test]
    fn both_pictures_share_their_scale() {
        let long = Run {
            global_batch: 512,
            ..Run::default()
        };
        let html = html(&Run::default(), &long);
        // The longer one's paper ends where the axis does, the shorter one's before.
        assert_eq!(
            html.matches("class=\"hatch\" style=\"width:100.000%\"")
                .count(),
            1
        );
        assert_eq!(html.matches("class=\"hatch\"").count(), 2);
        // The same GPU: its capacity stands at one place in every bar of both.
        let mut places: Vec<_> = html
            .split("class=\"capacity\" style=\"")
            .skip(1)
            .map(|rest| &rest[..12])
            .collect();
        assert_eq!(places.len(), 8);
        places.dedup();
        assert_eq!(places.len(), 1);
    }

    #[test]
    fn a_second_run_that_cannot_work_says_why() {
        let bad = Run {
            tp: 7,
            ..Run::default()
        };
        let html = html(&Run::default(), &bad);
        assert!(
            html.contains("cannot work") && html.contains("issue error"),
            "{html}"
        );
    }
}
