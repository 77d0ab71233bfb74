//! Predicted against measured: errors by source, verdicts, worst misses, constants, and what is not modelled.

use super::drawing::save;
use super::issues::written;
use super::markup::{Html, el, fold, span, table, text};
use super::scatter::{Point, scatter, svg};
use super::words;
use crate::accuracy::{Bench, Fact, Kind, Measured, Prediction, constants, read, verdict_bands};
use crate::units::{MemoryUnit, Seconds, show_percent, show_seconds, significant};

/// Between the tables of a question, and between a table's name, predictions and text.
pub const BETWEEN: [char; 2] = ['\u{1e}', '\u{1f}'];

/// Some rows computed: `file first count` and the table's text in the lines below; a line a row comes back, none past
/// the last.
#[must_use]
pub fn some_rows(question: &str) -> Html {
    let Some((head, csv)) = question.split_once('\n') else {
        return text("?");
    };
    let mut words = head.split(' ');
    let file = words.next().unwrap_or_default();
    let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let (first, count): (usize, usize) = (number(), number());
    let (rows, _) = read(file, csv);
    let lines: Vec<String> = rows
        .iter()
        .skip(first)
        .take(count)
        .map(|row| Prediction::of(row).map_or_else(|| "-".to_owned(), Prediction::line))
        .collect();
    text(&lines.join("\n"))
}

/// The whole panel from tables and the predictions of their rows, joined by [`BETWEEN`].
#[must_use]
pub fn panel(question: &str) -> Html {
    let mut bench = Bench::default();
    let mut predictions = Vec::new();
    for table in question.split(BETWEEN[0]) {
        let mut parts = table.split(BETWEEN[1]);
        if let (Some(file), Some(lines), Some(csv)) = (parts.next(), parts.next(), parts.next()) {
            bench.add(read(file, csv));
            predictions.extend(lines.lines().map(Prediction::read));
        }
    }
    for prediction in predictions {
        bench.record(prediction);
    }
    [
        summary(&bench),
        picture(&bench, false),
        picture(&bench, true),
        details(&bench),
    ]
    .into_iter()
    .collect()
}

/// The scatter with its text twin.
fn picture(bench: &Bench, memory: bool) -> Html {
    let (title, unit) = if memory {
        ("Memory peaks: predicted over measured", "GiB")
    } else {
        ("Step times: predicted over measured", "s")
    };
    let Some(scatter) = scatter(&points(bench, memory)) else {
        return Html::none();
    };
    let words = format!(
        "{} Across: measured. Filled: dense runs; square: experts; hollow: shown only. Beyond half and twice: on the edge.",
        points_in_words(bench, memory)
    );
    let pieces = [
        span("h3", "", title),
        svg(&scatter, unit),
        span("figcaption", "muted", &words),
        save(
            if memory {
                "accuracy-memory"
            } else {
                "accuracy-step"
            },
            "",
            MemoryUnit::default(),
        ),
    ];
    el("figure", &[("class", "scatter")], &pieces)
}

/// A mean error above which a source is called a miss.
const MISS: f64 = 0.15;
/// Rows shown without a fold.
const FIRST: usize = 20;

/// What the model does not know about.
pub(super) const NOT_MODELLED: &[&str] = &[
    "stragglers, other jobs on the network, congestion between groups of one job",
    "checkpoints, evaluation, restarts",
    "kernels tuned to one shape: NVIDIA's own stacks run up to 26 % faster than predicted",
    "old kernels: the Triton attention of llm-foundry from 16 k tokens on is 35 % slower than predicted",
    "DeepSpeed of 2021 and 2022, whose ZeRO-1 sent more than it had to (BLOOM)",
    "the host's data loader, unless its floor is given",
    "experts that are not evenly loaded, unless the imbalance is given",
    "in-network reduction (NVLS, SHARP), asynchronous tensor parallelism, overlapped all-to-all",
];

fn signed(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

/// The series of a row in the scatter: dense, experts, and what was only shown.
fn series(bench: &Bench, row: usize) -> usize {
    let row = &bench.rows[row];
    if row.source().kind == Kind::Shown {
        2
    } else {
        usize::from(row.run.ep > 1)
    }
}

/// The points of step times, or of memory peaks.
#[must_use]
pub fn points(bench: &Bench, memory: bool) -> Vec<Point> {
    let point = |fact: Fact| Point {
        measured: fact.measured,
        ratio: fact.ratio(),
        series: series(bench, fact.row),
    };
    bench.about(memory).map(point).collect()
}

/// The scatter in words.
#[must_use]
pub fn points_in_words(bench: &Bench, memory: bool) -> String {
    let errors: Vec<f64> = bench.about(memory).map(Fact::error).collect();
    let within = |share: f64| errors.iter().filter(|error| **error <= share).count();
    let worst = errors.iter().copied().fold(0.0, f64::max);
    format!(
        "{} {}: {} within 10 %, {} within 25 %, the worst misses by {:.0} %. Over 1: predicted too {}.",
        errors.len(),
        if memory { "memory peaks" } else { "step times" },
        within(0.1),
        within(0.25),
        worst * 100.0,
        if memory { "large" } else { "slow" },
    )
}

/// What came out, above the pictures.
#[must_use]
pub fn summary(bench: &Bench) -> Html {
    let mut pieces = vec![el(
        "p",
        &[],
        &[text(&format!(
            "{} published runs, computed just now in this page as it computes yours. {} further lines of the same tables are other hardware or frameworks, or leave out what a run needs.",
            bench.rows.len(),
            bench.lines.saturating_sub(bench.rows.len()),
        ))],
    )];
    if let Some((mean, worst, groups)) = bench.choice_loss() {
        pieces.push(el(
            "p",
            &[],
            &[text(&format!(
                "Choosing: in {groups} groups of layouts on the same GPUs (tables 3 and 4) the one predicted fastest was {} slower than the fastest measured on average, {} at worst.",
                show_percent(mean), show_percent(worst)
            ))],
        ));
    }
    pieces.push(span("h3", "", "Error by source"));
    pieces.push(by_source(bench));
    pieces.push(span(
        "p",
        "muted",
        "Mean and worst of |predicted/measured - 1|; bias over 0: predicted too slow or too large. Bold: a mean over 15 %.",
    ));
    pieces.push(span("h3", "", "Verdicts against 232 outcomes"));
    pieces.push(bands(bench));
    pieces.into_iter().collect()
}

fn by_source(bench: &Bench) -> Html {
    let rows: Vec<_> = bench
        .errors()
        .into_iter()
        .map(|error| {
            let cells = [
                error.source.name.to_owned(),
                error.source.kind.words().to_owned(),
                error.count.to_string(),
                show_percent(error.mean),
                signed(error.bias),
                show_percent(error.worst),
            ];
            (
                error.mean > MISS,
                cells.iter().map(|cell| text(cell)).collect(),
            )
        })
        .collect();
    table(
        "Error by source",
        &["source", "used as", "runs", "mean", "bias", "worst"],
        &rows,
    )
}

fn bands(bench: &Bench) -> Html {
    let rows: Vec<_> = verdict_bands(&bench.verdicts)
        .iter()
        .map(|band| {
            let rate = band.ran_out as f64 / band.runs.max(1) as f64;
            let cells = [
                words::verdict(band.verdict).to_owned(),
                band.runs.to_string(),
                band.ran_out.to_string(),
                show_percent(rate),
            ];
            (false, cells.iter().map(|cell| text(cell)).collect())
        })
        .collect();
    table(
        "Verdicts",
        &["verdict given", "runs", "ran out of memory", "rate"],
        &rows,
    )
}

/// What stands below the pictures: worst misses first, the uneven pipeline, the constants, what is left out.
#[must_use]
pub fn details(bench: &Bench) -> Html {
    let facts = bench.worst_first();
    let (first, rest) = facts.split_at(facts.len().min(FIRST));
    [
        span("h3", "", "Worst misses first"),
        misses("Worst misses", bench, first),
        fold(
            &format!("The other {} runs", rest.len()),
            misses("The other runs", bench, rest),
        ),
        uneven(bench),
        fold("How each constant was obtained", constants_table()),
        fold("What is not modelled", list(NOT_MODELLED)),
    ]
    .into_iter()
    .collect()
}

fn misses(label: &str, bench: &Bench, facts: &[Fact]) -> Html {
    let rows: Vec<_> = facts
        .iter()
        .map(|fact| {
            let row = &bench.rows[fact.row];
            let show = |value: f64| match row.measured {
                Measured::Memory(_) => format!("{} GiB", significant(value, 3)),
                _ => show_seconds(Seconds(value)),
            };
            let link = written(&row.run.changed_texts());
            let attributes = [
                ("class", "link"),
                ("data-run", &*link),
                ("title", &*row.note),
            ];
            let name = el("button", &attributes, &[text(&row.label)]);
            let source = span("small", "", &format!(" {}", row.source().name));
            // Runs and sources are called what their tables call them.
            let named = [("class", "wrap"), ("translate", "no")];
            let cells = vec![
                el("span", &named, &[name, source]),
                text(&show(fact.measured)),
                text(&show(fact.predicted)),
                text(&signed(fact.ratio() - 1.0)),
            ];
            (fact.error() > MISS, cells)
        })
        .collect();
    let head = ["run (opens it)", "measured", "predicted", "error"];
    table(label, &head, &rows)
}

/// The uneven pipeline on H20, which the model does not explain.
fn uneven(bench: &Bench) -> Html {
    let facts: Vec<&Fact> = bench
        .facts
        .iter()
        .filter(|fact| bench.rows[fact.row].source().file == "uneven_pp_h20.csv")
        .collect();
    let [even, uneven] = facts[..] else {
        return Html::none();
    };
    let said = format!(
        "Moving four of fourteen layers off the rank that holds the vision tower is predicted to be {} times as fast; measured was {}. With layers of equal cost the slowest rank goes from the tower and 14 layers to 18, and no tower makes that more than 22/18 = 1.22; the steps were measured at about 8 % of peak, so most of their time is not in the layers at all. No constant was bent to meet it.",
        significant(even.predicted / uneven.predicted, 3),
        significant(even.measured / uneven.measured, 4),
    );
    [
        span("h3", "", "A known miss: uneven pipeline on H20"),
        span("p", "", &said),
    ]
    .into_iter()
    .collect()
}

fn constants_table() -> Html {
    let rows: Vec<_> = constants()
        .into_iter()
        .map(|constant| {
            let place = format!("{}: {}", constant.source.short, constant.how);
            let cells = vec![
                text(&constant.name),
                text(&constant.value),
                span("span", "wrap", &place),
            ];
            (constant.fitted, cells)
        })
        .collect();
    [
        span("p", "muted", "Bold: fitted to training runs. The others were measured on kernels and wires by themselves, or are judgement where the text says so."),
        table("Constants", &["constant", "value", "how"], &rows),
    ]
    .into_iter()
    .collect()
}

fn list(items: &[&str]) -> Html {
    let items: Html = items.iter().map(|item| span("li", "", item)).collect();
    el("ul", &[("class", "plain")], &[items])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accuracy::read;
    use crate::run::Run;

    fn bench() -> Bench {
        let mut bench = Bench::default();
        bench.add(read(
            "uneven_pp_h20.csv",
            "first,second,step_time_s\n14,14,28.3887\n10,18,19.6071\n",
        ));
        bench.add(read(
            "fujii_measured.csv",
            "table,model,gpu,seq_len,tp,cp,pp,micro_batch,gpus,tflops_per_gpu_or_oom\n\
             3,llama-3.1-8b,a100-sxm-40gb,8192,4,1,2,1,8,182.6\n3,llama-3.1-8b,a100-sxm-40gb,8192,1,1,1,4,8,OOM\n",
        ));
        while bench.advance() {}
        bench
    }

    #[test]
    fn a_miss_is_shown_as_plainly_as_a_hit() {
        let bench = bench();
        let html = details(&bench).into_string();
        let (miss, hit) = (
            html.find("10 and 18 layers"),
            html.find("tp 4 cp 1 pp 2 b 1 on 8"),
        );
        assert!(miss.unwrap() < hit.unwrap());
        assert!(html.contains("measured was 1.448"), "{html}");
        assert!(summary(&bench).into_string().contains("Out of memory"));
        assert_eq!(
            (points(&bench, false).len(), points(&bench, true).len()),
            (3, 0)
        );
        assert!(points_in_words(&bench, false).starts_with("3 step times: 1 within 10 %"));
    }

    /// As the page asks: rows in slices, then the panel from their lines.
    #[test]
    fn slices_of_rows_make_the_same_panel_as_all_at_once() {
        let csv = "first,second,step_time_s\n14,14,28.3887\n10,18,19.6071\n";
        let slice =
            |first: usize| some_rows(&format!("uneven_pp_h20.csv {first} 1\n{csv}")).into_string();
        assert_eq!(slice(2), "");
        let [name, lines] = BETWEEN.map(String::from);
        let lines_of = format!("{}\n{}", slice(0), slice(1));
        let question = format!("uneven_pp_h20.csv{lines}{lines_of}{lines}{csv}{name}");
        let whole = panel(&question).into_string();
        assert!(
            whole.contains("measured was 1.448") && whole.contains("<svg"),
            "{whole}"
        );
    }

    /// A row's button holds the whole Run.
    #[test]
    fn a_row_opens_the_run_that_was_computed() {
        let bench = bench();
        for row in &bench.rows {
            let (run, issues) = Run::from_pairs(&row.run.changed_texts());
            assert!(issues.is_empty());
            assert_eq!(run, row.run);
        }
    }
}
