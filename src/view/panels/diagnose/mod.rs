//! A diagnosis: the verdict, two bars on one axis, a row a part, the causes by seconds, kernels, how it was read.
//!
//! Measured is filled, predicted is outlined; the colour says which part it is.

use crate::node::action::Save;
use crate::prelude::*;
use shardscope_core::diagnose::{
    Comparison, Diagnosis, FoundCause, MemoryFound, PartRow, SeveralRanks, StepShare, WorkerTimes,
};

/// Name of a part, and the class of its colour.
const fn words(share: StepShare) -> (&'static str, &'static str) {
    match share {
        StepShare::Products => ("Matrix products", "c-compute"),
        StepShare::Attention => ("Attention", "c-kernels"),
        StepShare::Others => ("Other kernels", "c-other"),
        StepShare::Optimizer => ("Optimizer", "c-opt-step"),
        StepShare::Launches => ("Kernel launches", "c-host"),
        StepShare::Bubble => ("Pipeline bubble", "hatch"),
        StepShare::ExposedTp => ("Exposed TP", "c-exposed"),
        StepShare::ExposedCp => ("Exposed CP", "c-exposed"),
        StepShare::ExposedEp => ("Exposed EP", "c-exposed"),
        StepShare::ExposedDp => ("Exposed DP", "c-exposed"),
        StepShare::ExposedOther => ("Exposed, group not known", "c-exposed"),
        StepShare::ExpertWaits => ("Waits of experts", "hatch"),
        StepShare::Loader => ("Data loader", "c-host"),
        StepShare::Outside => ("Not in the model", "c-recompute"),
    }
}

/// The page of a diagnosis; `report` is it as Markdown.
pub fn diagnosis(found: &Diagnosis, report: &str) -> Node {
    let mut parts = vec![verdict(found)];
    parts.extend(found.warnings.iter().map(|issue| leaf("p", "issue warning", issue.message.clone())));
    if !found.parts.is_empty() {
        parts.push(el("section", &[], &[bars(found)]));
    }
    if let Some(memory) = &found.memory {
        parts.push(el("section", &[], &[memory_bar(memory)]));
    }
    parts.push(el("section", &[], &[causes(found)]));
    if let Some(ranks) = &found.ranks {
        parts.push(el("section", &[], &[waits(ranks)]));
    }
    if let Some(workers) = &found.workers {
        parts.push(el("section", &[], &[ratios(workers)]));
    }
    if !found.kernels.is_empty() {
        parts.push(el("section", &[], &[kernels(found)]));
    }
    parts.push(el("section", &[], &[how(found, report)]));
    el("div", &[("class", "diagnosis")], &parts)
}

fn verdict(found: &Diagnosis) -> Node {
    let class = match found.comparison {
        Comparison::Inside | Comparison::Shorter => "verdict-band good",
        Comparison::Longer | Comparison::Memory => "verdict-band bad",
        _ => "verdict-band",
    };
    leaf("p", class, found.verdict.clone()).say("role", "status")
}

fn own(found: &Diagnosis) -> Vec<&PartRow> {
    let first = found.parts.first().map(|part| part.rank);
    found.parts.iter().filter(|part| Some(part.rank) == first).collect()
}

const NS: f64 = 1e-9;

/// Measured over predicted: two bars, then a row a part.
fn bars(found: &Diagnosis) -> Node {
    let rows = own(found);
    let window = found.window_ns as f64 * NS;
    let predicted = found.predicted_s;
    let most = window.max(predicted.unwrap_or(0.0)).max(found.high_s.unwrap_or(0.0)).max(f64::MIN_POSITIVE);
    let bar = |label: &'static str, whole: f64, class: &str, part: &dyn Fn(&PartRow) -> f64| {
        let mut start = 0.0;
        let mut inside = Vec::new();
        for row in &rows {
            let share = part(row) / most;
            if share > 0.0 {
                let (name, colour) = words(row.name);
                inside.push(bar_at(&format!("{class} {colour}"), start, share).title(name));
                start += share;
            }
        }
        if class == "pr"
            && let (Some(low), Some(high)) = (found.low_s, found.high_s)
        {
            inside.push(bracket(low / most, high / most));
        }
        let cells = [
            leaf("span", "who", label),
            el("span", &[("class", "track")], &inside),
            leaf("span", "amount", verbatim(show_seconds(Seconds(whole)))),
        ];
        el("div", &[("class", "row total")], &cells)
    };
    let mut lines = vec![bar("Measured", window, "me", &|row| row.measured_ns as f64 * NS)];
    if let Some(predicted) = predicted {
        lines.push(bar("Predicted", predicted, "pr", &|row| row.predicted_s.unwrap_or(0.0)));
    }
    let compared = predicted.is_some();
    let rows = Rows::of(rows)
        .column("part", |row| text(words(row.name).0))
        .figures("measured", |row| show_seconds(Seconds(row.measured_ns as f64 * NS)));
    let rows = if compared { with_prediction(rows) } else { rows };
    let legend = t!("measured: filled; predicted: outlined, with its range");
    Node::from_iter([
        title("Measured over predicted"),
        muted(legend),
        el("div", &[("class", "waterfall diagnose-bars")], &lines),
        rows.table("Parts of the window"),
    ])
}

/// The columns of what is predicted.
fn with_prediction(rows: Rows<&PartRow>) -> Rows<&PartRow> {
    let predicted = |row: &&PartRow| row.predicted_s.map_or_else(String::new, |seconds| show_seconds(Seconds(seconds)));
    let difference = |row: &&PartRow| {
        row.predicted_s.map_or_else(String::new, |seconds| signed(row.measured_ns as f64 * NS - seconds))
    };
    rows.figures("predicted", predicted).figures("difference", difference)
}

fn signed(seconds: f64) -> String {
    format!("{} {}", if seconds < 0.0 { "−" } else { "+" }, show_seconds(Seconds(seconds.abs())))
}

/// The causes, by seconds or as a log allows.
fn causes(found: &Diagnosis) -> Node {
    let mut parts = vec![title(if found.memory.is_some() { "What would have fitted" } else { "Causes" })];
    if let Some(explained) = found.explained {
        parts.push(muted(t!("explained: {share} of the difference", share = show_percent(explained))));
    }
    if found.causes.is_empty() {
        parts.push(muted(match found.comparison {
            Comparison::Inside => t!("Nothing to explain."),
            _ => t!("No cause was found in it."),
        }));
    }
    let list: Node = found.causes.iter().enumerate().map(|(at, cause)| entry(at, cause)).collect();
    parts.push(el("ol", &[("class", "causes")], &[list]));
    Node::from_iter(parts)
}

fn entry(at: usize, cause: &FoundCause) -> Node {
    let amount = match (cause.seconds, cause.bytes) {
        (Some(seconds), _) => show_seconds(Seconds(seconds)),
        (None, Some(bytes)) => show_bytes(Bytes(bytes)),
        _ => String::new(),
    };
    let mut parts = vec![
        el("p", &[], &[leaf("b", "amount", verbatim(amount)), text(" "), strong(cause.title.clone())]),
        paragraph(cause.evidence.clone()),
    ];
    if let Some(change) = &cause.change {
        let seconds = cause.predicted_s.filter(|_| cause.seconds.is_some());
        parts.push(muted(match seconds {
            Some(seconds) => {
                t!("Change: {change}. Without the cause: {seconds}.", change, seconds = show_seconds(Seconds(seconds)))
            }
            None => t!("Change: {change}.", change),
        }));
    }
    if let Some(measure) = &cause.measure {
        parts.push(muted(t!("Settled by: {measure}.", measure)));
    }
    if !cause.set.is_empty() {
        let class = if at == 0 { "main" } else { "" };
        parts.push(apply(class, cause.set.clone(), "", "Try it on the run"));
    }
    el("li", &[], &parts)
}

/// The GPU of an out-of-memory message, over the prediction.
fn memory_bar(memory: &MemoryFound) -> Node {
    let message = &memory.message;
    let gib = |bytes: f64| show_bytes(Bytes(bytes));
    let mut rows: Vec<(&'static str, f64)> = Vec::new();
    for (name, bytes) in [
        ("asked for", message.asked),
        ("free", message.free),
        ("allocated by PyTorch", message.allocated),
        ("reserved and not in use", message.unused),
        ("of other processes", message.others),
        ("the GPU's", message.total),
        ("allowed", message.allowed),
    ] {
        rows.extend(bytes.map(|bytes| (name, bytes)));
    }
    let said = Rows::of(rows).column("of the message", |row| text(row.0)).figures("size", |row| gib(row.1));
    let predicted = Rows::of(memory.predicted.clone())
        .column("predicted, fullest GPU", |row| text(row.0))
        .figures("size", |row| gib(row.1));
    let mut parts = vec![title("The GPU at that moment, over the prediction"), said.table("The message")];
    if !memory.predicted.is_empty() {
        parts.push(predicted.table("The prediction"));
    }
    if let Some(what) = &memory.fingerprint {
        parts.push(heading("What was asked for"));
        parts.push(paragraph(t!(
            "{asked}: {what}, to {off}.",
            asked = message.asked.map(gib).unwrap_or_default(),
            what = &what.name,
            off = show_percent(what.off)
        )));
    }
    Node::from_iter(parts)
}

fn waits(ranks: &SeveralRanks) -> Node {
    let seconds = |value: f64| show_seconds(Seconds(value));
    let late = ranks.late;
    let table = Rows::of(ranks.ranks.clone())
        .marked(|row| Some(row.rank) == late)
        .figures("rank", |row| row.rank.to_string())
        .figures("on the wire", |row| seconds(row.wire_s))
        .figures("waiting for another rank", |row| seconds(row.waiting_s))
        .figures("makes the others wait", |row| seconds(row.makes_wait_s));
    Node::from_iter([title("Who waits, and who is waited for"), table.table("Waits by rank")])
}

fn ratios(workers: &WorkerTimes) -> Node {
    let ratios = &workers.ratios;
    let rows: [(&'static str, f64); 3] =
        [("Workers", ratios.workers), ("Stages", ratios.stages), ("Micro-batches", ratios.microbatches)];
    let table = Rows::of(rows).column("ratio", |row| text(row.0)).figures("", |row| significant(row.1, 3));
    Node::from_iter([
        title("Three ratios"),
        table.table("Three ratios"),
        muted(
            "Slowest worker over the median of its stage; slowest stage over the median stage; spread of a worker's \
            micro-batches.",
        ),
    ])
}

fn kernels(found: &Diagnosis) -> Node {
    let rows = Rows::of(found.kernels.clone())
        .figures("class", |row| row.class.name().replace('_', " "))
        .figures("measured", |row| show_seconds(Seconds(row.measured_ns as f64 * NS)))
        .figures("predicted", |row| row.predicted_s.map_or_else(String::new, |seconds| show_seconds(Seconds(seconds))))
        .figures("kernels", |row| row.count.to_string())
        .figures("median", |row| show_seconds(Seconds(row.median_ns as f64 * NS)));
    let messages = Rows::of(found.messages.clone())
        .figures("messages", |row| format!("{} {}", row.dimension.name(), row.kind.name().replace('_', " ")))
        .figures("calls", |row| row.count.to_string())
        .figures("measured", |row| show_seconds(Seconds(row.measured_ns as f64 * NS)))
        .figures("bytes", |row| if row.bytes > 0 { show_bytes(Bytes(row.bytes as f64)) } else { String::new() })
        .figures("waiting", |row| {
            row.waiting_ns.map_or_else(String::new, |waiting| show_seconds(Seconds(waiting as f64 * NS)))
        });
    let mut parts = vec![title("Kernels by class"), rows.table("Kernels by class")];
    if !found.messages.is_empty() {
        parts.push(messages.table("Messages by kind"));
    }
    Node::from_iter(parts)
}

fn how(found: &Diagnosis, report: &str) -> Node {
    let items: Node = found.read.iter().map(|words| bullet(words.clone())).collect();
    let copy = leaf("button", "", "Copy the report").on(Action::Save(Save::Copy(report.into())));
    let name = "diagnosis.md".to_owned();
    let save = leaf("button", "", "Save the report").on(Action::Save(Save::Text { name, text: report.into() }));
    Node::from_iter([
        title("How it was read"),
        el("ul", &[("class", "gaps")], &[items]),
        el("p", &[("class", "row-of-buttons")], &[copy, text(" "), save]),
    ])
}

/// What files are read, and what each can tell.
pub fn offered() -> Node {
    let rows = [
        (
            "Trace of one rank",
            "PyTorch profiler (.json, .gz), rocprofv3, nsys kernel trace",
            "every part in seconds; waiting as “at least”",
        ),
        (
            "Traces of several ranks",
            "the same, one file a rank; Primus, StragglerAnalysis",
            "also who is late, and waiting apart from wire time",
        ),
        ("Summary", "nsys or rocprof kernel sums (.csv)", "kernels by class; no exposed time, no idle time"),
        (
            "Log",
            "Megatron-LM, NeMo, torchtitan, DeepSpeed, plain steps",
            "what is consistent with it, and what to measure next",
        ),
        (
            "Out-of-memory message",
            "PyTorch 1.x to 2.13, NCCL, cuBLAS, JAX",
            "what was asked for, at which moment, ranked causes",
        ),
        ("Memory snapshot", "PyTorch (.json)", "its peaks against the prediction"),
    ];
    let table = Rows::of(rows)
        .column("You have", |row| text(row.0))
        .column("Files", |row| text(row.1))
        .column("What it can tell", |row| text(row.2));
    Node::from_iter([title("What is read"), table.table("What is read")])
}
