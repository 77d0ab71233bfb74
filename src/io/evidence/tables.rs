//! Tables as CSV or JSON: `nsys stats` and rocprof (sums of kernels, and kernels one by one), and `TraceLens`' table of
//! collectives by rank.

use super::jobs::work;
use serde_json::{Map, Value};
use shardscope_core::diagnose::{CallTable, RankTrace, WorkKind};
use shardscope_core::table::Table;
use shardscope_core::time::KernelClass;
use std::collections::BTreeMap;

/// A table, understood.
pub(crate) enum TableRead {
    /// Seconds and kernels by class.
    Sums(BTreeMap<KernelClass, (u64, f64)>),
    Trace(Box<RankTrace>),
    /// The largest kind of collectives by rank; the others behind it.
    Calls(Vec<CallTable>),
}

/// True where the first line has the columns of a table that is read.
pub(crate) fn is_table(head: &str) -> bool {
    let first = head.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let has = |words: &[&str]| words.iter().all(|word| first.contains(word));
    has(&["Total Time", "Name"])
        || has(&["Start", "Duration", "Name"])
        || has(&["TotalDurationNs", "Name"])
        || has(&["Kernel_Name", "Start_Timestamp"])
        || has(&["rank", "Collective name", "dur_sum"])
        || has(&["Collective name", "comm_latency_mean"])
}

/// True where it begins as a list of objects with the columns of such a table, as `nsys stats --format json` writes.
pub(crate) fn is_list(head: &str) -> bool {
    let has = |words: &[&str]| words.iter().all(|word| head.contains(word));
    let begins = head.trim_start_matches('\u{feff}').trim_start().starts_with('[');
    begins
        && (has(&["\"Total Time (ns)\"", "\"Name\""])
            || has(&["\"Start (ns)\"", "\"Duration (ns)\"", "\"Name\""])
            || has(&["\"TotalDurationNs\"", "\"Name\""])
            || has(&["\"Kernel_Name\"", "\"Start_Timestamp\""]))
}

/// A list of objects as CSV; of a list that was cut off what is before.
fn as_csv(text: &str) -> Option<String> {
    let until = |end: Option<usize>| serde_json::from_str(&format!("{}]", &text[..=end?])).ok();
    let whole: Option<Vec<Map<String, Value>>> = serde_json::from_str(text).ok();
    // A brace may be in the name that was cut.
    let rows = whole.or_else(|| until(text.rfind('}'))).or_else(|| until(text.rfind("},")))?;
    let columns: Vec<&String> = rows.first()?.keys().collect();
    let cell = |text: &str| format!("\"{}\"", text.replace('"', "\"\"").replace(['\n', '\r'], " "));
    let line = |cells: Vec<String>| cells.join(",");
    let head = line(columns.iter().map(|name| cell(name)).collect());
    let value = |row: &Map<String, Value>, name: &str| match row.get(name) {
        Some(Value::String(text)) => cell(text),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let rows = rows.iter().map(|row| line(columns.iter().map(|name| value(row, name)).collect()));
    Some(std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n"))
}

/// Reads a table; none where no row is understood.
pub(crate) fn read(text: &str) -> Option<TableRead> {
    let csv;
    let text = if is_list(text) {
        csv = as_csv(text)?;
        &csv
    } else {
        text
    };
    let table = Table::read(text);
    let first = table.lines().next()?;
    let column = |words: &str| first.cells().map(|(name, _)| name.to_owned()).find(|name| name.starts_with(words));
    let numbers = |text: &str| text.replace(',', "").trim().parse::<f64>().ok();
    if column("dur_sum").is_some() {
        return calls(&table);
    }
    if column("comm_latency_mean").is_some() {
        return wires(&table);
    }
    if let (Some(start), Some(duration), Some(name)) = (column("Start ("), column("Duration ("), column("Name")) {
        let in_ns = if start.contains("(ns)") { 1.0 } else { 1e3 };
        let rows = table.lines().filter_map(|line| {
            let (start, length) = (numbers(line.text(&start))? * in_ns, numbers(line.text(&duration))? * in_ns);
            span(start, start + length, line.text(&name))
        });
        return traced(rows.collect());
    }
    if column("Start_Timestamp").is_some() {
        let rows = table.lines().filter_map(|line| {
            let (start, end) = (numbers(line.text("Start_Timestamp"))?, numbers(line.text("End_Timestamp"))?);
            span(start, end, line.text("Kernel_Name"))
        });
        return traced(rows.collect());
    }
    let time = column("Total Time").or_else(|| column("TotalDurationNs"))?;
    let count = column("Instances").or_else(|| column("Calls"))?;
    let name = column("Name")?;
    let scale = if time.contains("(ns)") || time.contains("Ns") { 1e-9 } else { 1e-6 };
    let mut sums: BTreeMap<KernelClass, (u64, f64)> = BTreeMap::new();
    for line in table.lines() {
        let (Some(seconds), Some(kernels)) = (numbers(line.text(&time)), numbers(line.text(&count))) else {
            continue;
        };
        let sum = sums.entry(KernelClass::of(line.text(&name)).class).or_default();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count
        let kernels = kernels.max(0.0) as u64;
        (sum.0, sum.1) = (sum.0 + kernels, sum.1 + seconds * scale);
    }
    (!sums.is_empty()).then_some(TableRead::Sums(sums))
}

type Span = (i64, i64, WorkKind, i64);

#[allow(clippy::cast_possible_truncation)] // nanoseconds of a clock
fn span(start: f64, end: f64, name: &str) -> Option<Span> {
    let found = KernelClass::of(name);
    let kind = if name.starts_with("[CUDA mem") { WorkKind::Transfer } else { WorkKind::Kernel(found.class) };
    let (start, end) = (start as i64, end as i64);
    (end > start).then_some((start, end, kind, if found.known { 0 } else { end - start }))
}

fn traced(rows: Vec<Span>) -> Option<TableRead> {
    let trace = RankTrace {
        kernels_ns: rows.iter().map(|(start, end, ..)| end - start).sum(),
        unknown_ns: rows.iter().map(|(.., unknown)| unknown).sum(),
        activities: rows.into_iter().map(|(start, end, kind, _)| work(start, end, kind)).collect(),
        ..RankTrace::default()
    };
    (!trace.activities.is_empty()).then(|| TableRead::Trace(Box::new(trace.sorted())))
}

/// Rank, calls and seconds of the calls of a kind, by its name and elements.
type CallsByKind = BTreeMap<(String, u64), Vec<(u64, u64, f64)>>;

/// Name of calls by their kind: a text of the file may hold anything.
fn called(name: &str, elements: u64) -> String {
    let kind = KernelClass::of_collective(name).map_or("collective", KernelClass::name);
    format!("{}, {elements}", kind.replace('_', " "))
}

/// `TraceLens`' summary by rank: microseconds of each kind of collective and rank.
fn calls(table: &Table) -> Option<TableRead> {
    let mut kinds = CallsByKind::new();
    for line in table.lines() {
        let (Some(rank), Some(micro), Some(count)) =
            (line.number("rank"), line.number("dur_sum"), line.number("operation_count"))
        else {
            continue;
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts
        let (rank, count, elements) = (rank as u64, count as u64, line.number("In msg nelems").unwrap_or(0.0) as u64);
        let key = (line.text("Collective name").to_owned(), elements);
        kinds.entry(key).or_default().push((rank, count, micro * 1e-6));
    }
    let tables = kinds.into_iter().filter(|(_, rows)| rows.len() > 1).map(|((name, elements), mut rows)| {
        rows.sort_by_key(|row| row.0);
        let least = rows.iter().map(|row| row.2).fold(f64::MAX, f64::min);
        CallTable { name: called(&name, elements), rows, wire_s: least }
    });
    let mut tables: Vec<CallTable> = tables.collect();
    let excess = |table: &CallTable| table.rows.iter().map(|row| row.2 - table.wire_s).sum::<f64>();
    tables.sort_by(|a, b| excess(b).total_cmp(&excess(a)));
    (!tables.is_empty()).then_some(TableRead::Calls(tables))
}

/// Its table of what a call takes at least: milliseconds of all calls of a kind, without a rank.
fn wires(table: &Table) -> Option<TableRead> {
    let tables = table.lines().filter_map(|line| {
        let wire = line.number("Total comm latency (ms)")? * 1e-3;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count
        let elements = line.number("In msg nelems").unwrap_or(0.0) as u64;
        let name = called(line.text("Collective name"), elements);
        Some(CallTable { name, rows: Vec::new(), wire_s: wire })
    });
    let tables: Vec<CallTable> = tables.collect();
    (!tables.is_empty()).then_some(TableRead::Calls(tables))
}
