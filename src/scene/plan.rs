//! The plan as HTML text: how far the search is, the ranked layouts, why each beats the next, memory against
//! throughput, and the playbook's walk.

use super::markup::{Html, el, fold, percent, span, table, text};
use crate::run::{OneOf, Recompute, Run};
use crate::search::recipe::Walk;
use crate::search::{Plan, Progress, Row};
use crate::units::{MemoryUnit, group, show_percent, show_seconds};

/// Sentences that are shown.
const SENTENCES: usize = 5;

/// How a layout is linked to: rooms above know how.
pub type Link = fn(&Run) -> String;

/// A search under way; `data-more` asks the page to come again.
#[must_use]
pub fn progress(progress: &Progress) -> Html {
    let done = format!("{}%", (progress.share * 100.0).floor());
    let count = |count: u64| group(&count.to_string());
    let words = format!(
        "{} layouts looked at, {} fit in memory",
        count(progress.evaluated),
        count(progress.feasible)
    );
    let bar = el("b", &[("style", &percent("width", progress.share))], &[]);
    let ratio = el(
        "div",
        &[
            ("class", "ratio"),
            ("role", "progressbar"),
            ("aria-label", "Search"),
            ("aria-valuetext", &done),
            ("data-more", "1"),
        ],
        &[bar],
    );
    [ratio, span("p", "muted", &words)].into_iter().collect()
}

/// The answer.
#[must_use]
pub fn plan(plan: &Plan, walk: &Walk, unit: MemoryUnit, link: Link) -> Html {
    let count = |count: u64| group(&count.to_string());
    let summary = format!(
        "{} layouts, {} fit in memory, {} reported in full; no other can be among these. Strictly by time; ≈ ties with the first within 3.5 %.",
        count(plan.evaluated),
        count(plan.feasible),
        count(plan.reported)
    );
    let warnings = plan.warnings.iter();
    let mut parts: Vec<Html> = warnings
        .map(|issue| span("p", "issue warning", &issue.message))
        .collect();
    parts.push(span("p", "muted", &summary));
    if !plan.best.is_empty() {
        parts.push(rows(plan, unit, link));
        parts.push(sentences(plan));
        parts.push(pareto(plan, unit));
    }
    parts.push(recipe(walk));
    parts.into_iter().collect()
}

/// The sizes of a layout in one line: those that are not 1, and what is not usual.
fn layout(row: &Row) -> String {
    let run = &row.layout;
    let sizes = [
        ("TP", run.tp),
        ("PP", run.pp),
        ("CP", run.cp),
        ("EP", run.ep),
        ("ETP", run.etp),
    ];
    let mut list: Vec<String> = sizes
        .into_iter()
        .filter(|(_, size)| *size > 1)
        .map(|(name, size)| format!("{name} {size}"))
        .collect();
    list.push(format!("DP {}", row.report.layout.dp));
    list.push(format!("ZeRO-{}", run.zero));
    list.push(format!("micro-batch {}", run.micro_batch));
    if run.pp > 1 {
        let chunks = if run.virtual_stages > 1 {
            format!(" x {}", run.virtual_stages)
        } else {
            String::new()
        };
        list.push(format!("{}{chunks}", run.schedule.choice().label));
    }
    match run.recompute {
        Recompute::None => {}
        Recompute::Full => list.push("full recomputation".to_owned()),
        _ => list.push("selective recomputation".to_owned()),
    }
    if run.tp > 1 && !run.sequence_parallel {
        list.push("no SP".to_owned());
    }
    if run.stage_layers.is_some() {
        list.push("spared ends".to_owned());
    }
    list.join(" · ")
}

fn rows(plan: &Plan, unit: MemoryUnit, link: Link) -> Html {
    let head = [
        "layout",
        "step",
        "range",
        "tokens/s/GPU",
        "MFU",
        "peak memory",
        "bubble",
        "exposed",
    ];
    let rows: Vec<(bool, Vec<Html>)> = plan
        .best
        .iter()
        .enumerate()
        .map(|(index, row)| {
            let (report, step) = (&row.report, &row.report.step);
            let recommended = plan.recommended == Some(index);
            let mark = match (recommended, row.tie_with_first) {
                (true, _) => " recommended",
                (false, true) => " ≈",
                (false, false) => "",
            };
            let load = el(
                "button",
                &[
                    ("class", "link"),
                    ("data-run", &link(&row.layout)),
                    ("title", "Load this layout"),
                ],
                &[text(&layout(row))],
            );
            let name = [
                text(&format!("{}. ", index + 1)),
                load,
                span("small", "", mark),
            ];
            let range = format!(
                "{} to {}",
                show_seconds(step.low_s),
                show_seconds(step.high_s)
            );
            let figures = [
                show_seconds(step.time_s),
                range,
                group(&format!("{:.0}", step.tokens_per_s_per_gpu)),
                show_percent(step.mfu),
                format!(
                    "{}, stage {}",
                    unit.show(report.memory.peak_bytes),
                    report.memory.peak_stage
                ),
                show_percent(report.pipeline.bubble_fraction),
                show_percent(step.exposed_comm_s / step.time_s),
            ];
            let cells = std::iter::once(name.into_iter().collect());
            let figures = figures.iter().map(|figure| text(figure));
            (recommended, cells.chain(figures).collect())
        })
        .collect();
    table("Layouts by step time", &head, &rows)
}

fn sentences(plan: &Plan) -> Html {
    let why = plan
        .best
        .iter()
        .take(SENTENCES)
        .filter(|row| !row.why.is_empty());
    let items: Html = why.map(|row| span("li", "", &row.why)).collect();
    fold(
        "Why each of the first beats the next",
        el("ol", &[], &[items]),
    )
}

/// Memory against throughput: a dot a layout; filled where none is both leaner and faster.
fn pareto(plan: &Plan, unit: MemoryUnit) -> Html {
    const WIDTH: f64 = 600.0;
    const HEIGHT: f64 = 180.0;
    const EDGE: f64 = 24.0;
    let points: Vec<(f64, f64)> = plan
        .best
        .iter()
        .map(|row| {
            (
                row.report.memory.peak_bytes.0,
                row.report.step.tokens_per_s_per_gpu,
            )
        })
        .collect();
    let span_of = |part: fn(&(f64, f64)) -> f64| {
        let low = points.iter().map(part).fold(f64::INFINITY, f64::min);
        let high = points.iter().map(part).fold(0.0, f64::max);
        (low, (high - low).max(f64::MIN_POSITIVE))
    };
    let (x, y) = (span_of(|point| point.0), span_of(|point| point.1));
    let dots: Html = points
        .iter()
        .enumerate()
        .map(|(index, point)| {
            let beaten = points
                .iter()
                .any(|other| other.0 <= point.0 && other.1 >= point.1 && other != point);
            let cx = EDGE + (point.0 - x.0) / x.1 * (WIDTH - 2.0 * EDGE);
            let cy = HEIGHT - EDGE - (point.1 - y.0) / y.1 * (HEIGHT - 2.0 * EDGE);
            let fill = if beaten { "none" } else { "var(--accent)" };
            let dot = [
                ("cx", format!("{cx:.1}")),
                ("cy", format!("{cy:.1}")),
                ("r", "4".to_owned()),
                ("fill", fill.to_owned()),
                ("stroke", "var(--accent)".to_owned()),
            ];
            let attributes: Vec<(&str, &str)> = dot
                .iter()
                .map(|(key, value)| (*key, value.as_str()))
                .collect();
            let title = span(
                "title",
                "",
                &format!("{}. {}", index + 1, layout(&plan.best[index])),
            );
            el("circle", &attributes, &[title])
        })
        .collect();
    let box_size = format!("0 0 {WIDTH} {HEIGHT}");
    let label =
        "Peak memory to the right, tokens a second and GPU upwards; filled dots are beaten by none";
    let picture = el(
        "svg",
        &[
            ("viewBox", &box_size),
            ("role", "img"),
            ("aria-label", label),
            ("width", "100%"),
        ],
        &[dots],
    );
    let bytes = |value: f64| unit.show(crate::units::Bytes(value));
    let words = format!(
        "{label}. Memory {} to {}, {:.0} to {:.0} tokens/s/GPU.",
        bytes(x.0),
        bytes(x.0 + x.1),
        y.0,
        y.0 + y.1
    );
    let inside = [picture, span("p", "muted", &words)];
    fold("Memory against throughput", inside.into_iter().collect())
}

fn recipe(walk: &Walk) -> Html {
    let steps = walk.steps.iter();
    let items: Html = steps
        .map(|step| span("li", "", &format!("{}: {}", step.title, step.text)))
        .collect();
    let inside = [el("ol", &[], &[items]), span("p", "", &walk.end)];
    fold(
        "The playbook's recipe with this run's numbers",
        inside.into_iter().collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{Request, recipe};

    #[test]
    fn the_answer_says_its_rows_and_how_to_load_them() {
        let run = Run {
            gpus: 8,
            global_batch: 16,
            ..Run::default()
        };
        let mut request = Request::new(&run, &["zero"], 3).unwrap();
        let under_way = progress(&request.search.step(1)).into_string();
        assert!(under_way.contains("data-more"));
        request.search.finish();
        let answer = request.plan();
        let walk = recipe::walk(&run, request.search.best().first().map(|best| &**best));
        let html = plan(&answer, &walk, MemoryUnit::Gib, |run| {
            format!("tp={}", run.tp)
        });
        let html = html.into_string();
        assert_eq!(html.matches("data-run").count(), 3);
        assert!(html.contains("recommended") && !html.contains("data-more"));
        assert!(!html.contains("NaN") && !html.contains("inf"));
    }
}
