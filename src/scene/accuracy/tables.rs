//! The tables: errors by source, verdicts by band, misses, the constants; and the one miss that is told in words.

use crate::accuracy::{Bench, Fact, Measured, constants, verdict_bands};
use crate::scene::issues::written;
use crate::scene::markup::{Html, el, span, table, text};
use crate::scene::words;
use crate::units::{Seconds, show_off, show_percent, show_seconds, significant};

/// A mean error above which a source is called a miss.
const MISS: f64 = 0.15;

fn signed(share: f64) -> String {
    show_off(share, 1)
}

pub fn by_source(bench: &Bench) -> Html {
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

pub fn bands(bench: &Bench) -> Html {
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

pub fn misses(label: &str, bench: &Bench, facts: &[Fact]) -> Html {
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
pub fn uneven(bench: &Bench) -> Html {
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

pub fn constants_table() -> Html {
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
