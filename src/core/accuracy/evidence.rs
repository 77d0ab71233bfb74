//! One published row: its Run, and what was measured of it.

use super::sources::{EvidenceSource, FILES, MeasuredQuantity, SOURCES};
use crate::run::{Run, Scenario};
use crate::table::{Line, Table};
use std::collections::BTreeMap;

/// A measurement: a figure, or an outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measurement {
    /// Seconds a step.
    Step(f64),
    /// GiB.
    Memory(f64),
    /// The run needed more memory than there was.
    RanOut,
}

#[derive(Clone, Debug)]
pub struct Evidence {
    /// Id of its line in the tables. Several rows may come from one line: they measure one run.
    pub id: String,
    /// Its source, as an index into [`SOURCES`].
    pub source: usize,
    /// Its name in the source.
    pub label: String,
    pub run: Run,
    pub measured: Measurement,
    /// Further columns of the row.
    pub note: String,
    /// The document that printed it, with its release.
    pub origin: String,
    /// Sizes that agree with what ran, of seven; 1 where all do or nobody says.
    pub matched: f64,
}

impl Evidence {
    pub fn source(&self) -> &'static EvidenceSource {
        &SOURCES[self.source]
    }
}

/// The rows of `file` that say enough, in the order of [`SOURCES`], and how many lines it has.
pub fn read(file: &str, csv: &str) -> (Vec<Evidence>, usize) {
    let table = Table::read(csv);
    let ids = ids(file, &table);
    let mut rows = Vec::new();
    for (index, source) in SOURCES.iter().enumerate() {
        if source.reads(file) {
            let lines = table.lines().zip(&ids).filter(|(line, _)| belongs(source, *line));
            rows.extend(lines.filter_map(|(line, id)| evidence(id, index, source, line)));
        }
    }
    (rows, table.len())
}

/// Columns that are ours, not the source's: they may be mended.
const MENDED: [&str; 6] = ["run", "matched", "notes", "left_out", "flags", "held"];

/// Ids of the lines of `file`: their own, or its letters and a hash of what the source printed, so that an id stays
/// where lines are added or settings mended. Lines that print the same are counted.
fn ids(file: &str, table: &Table) -> Vec<String> {
    let letters = FILES.iter().find(|(name, _)| *name == file).map_or("", |(_, letters)| letters);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let id = |line: Line| match line.text("id") {
        "" => format!("{letters}{:08x}", line.hash(&MENDED)),
        id => id.to_owned(),
    };
    let mut counted = |id: String| {
        let count = seen.entry(id.clone()).or_default();
        *count += 1;
        if *count == 1 { id } else { format!("{id}-{count}") }
    };
    table.lines().map(|line| counted(id(line))).collect()
}

fn belongs(source: &EvidenceSource, line: Line) -> bool {
    source.only.iter().all(|(column, what)| {
        let (cell, told) = (line.text(column), what.trim_start_matches('!'));
        let says = told.strip_prefix('=').map_or_else(|| cell.contains(told), |exact| cell == exact);
        says != what.starts_with('!')
    })
}

/// The settings in the column `run`, as a link has them; none where the line says too little.
fn run(line: Line) -> Option<Run> {
    let pairs = line.text("run").split('&').map(|pair| pair.split_once('='));
    let pairs = pairs.map(|pair| pair.map(|(key, value)| (key.to_owned(), value.to_owned())));
    let (run, issues) = Run::from_pairs(&pairs.collect::<Option<Vec<_>>>()?);
    issues.is_empty().then_some(run)
}

/// `template` with its braces filled: `{column}` must not be empty, `{column|other}` may.
fn label(template: &str, line: Line) -> Option<String> {
    let mut pieces = template.split('{');
    let mut out = pieces.next()?.to_owned();
    for piece in pieces {
        let (name, after) = piece.split_once('}')?;
        let (column, other) = name.split_once('|').map_or((name, None), |(column, other)| (column, Some(other)));
        let cell = line.text(column).trim_end_matches(".0");
        out.push_str(if cell.is_empty() { other? } else { cell });
        out.push_str(after);
    }
    Some(out)
}

fn evidence(id: &str, index: usize, source: &EvidenceSource, line: Line) -> Option<Evidence> {
    let run = run(line)?;
    let measured = match source.quantity {
        MeasuredQuantity::FujiiTflops if line.text("tflops_per_gpu_or_oom") == "OOM" => Measurement::RanOut,
        MeasuredQuantity::FujiiTflops => {
            Measurement::Step(fujii_flops() / (line.number("tflops_per_gpu_or_oom")? * 1e12 * run.gpus as f64))
        }
        MeasuredQuantity::StepSeconds => Measurement::Step(line.number("step_time_s")?),
        MeasuredQuantity::TokensPerGpu => {
            let tokens = (run.global_batch * run.seq_len) as f64;
            let rate = line.number("tokens_per_s_per_gpu");
            let rate = rate.or_else(|| line.number("tokens_per_s"))?;
            // A rate is that of all GPUs together or of one GPU.
            let scope = line.text("tokens_scope");
            let whole = scope.starts_with("all GPUs") || scope.ends_with("(whole run)");
            let sharers = if whole { 1 } else { run.gpus };
            Measurement::Step(tokens / rate / sharers as f64)
        }
        MeasuredQuantity::Allocated | MeasuredQuantity::AllocatedLast | MeasuredQuantity::Reserved => {
            let peak = line.number("measured_GiB");
            Measurement::Memory(peak.or_else(|| line.number("peak_GiB"))?)
        }
        MeasuredQuantity::Steady => Measurement::Memory(line.number("steady_GiB")?),
        MeasuredQuantity::Outcome => Measurement::RanOut,
    };
    Scenario::new(&run).ok()?;
    Some(Evidence {
        id: id.to_owned(),
        source: index,
        label: label(source.label, line)?.trim_end().to_owned(),
        run,
        measured,
        note: line.text("notes").to_owned(),
        origin: line.text("source").to_owned(),
        matched: line
            .text("matched")
            .split_once('/')
            .and_then(|(agree, of)| Some(agree.parse::<f64>().ok()? / of.parse::<f64>().ok()?))
            .unwrap_or(1.0),
    })
}

/// FLOPs of a step of tables 3 and 4 as Megatron core 0.8 counts them: `12 B s L h² ((1 + k/a + s/h) + 1.5 f/h + V/(2
/// L h))`.
fn fujii_flops() -> f64 {
    let (l, h, f, k_a, v, s, b) = (32.0, 4096.0, 14336.0, 0.25, 128_256.0, 8192.0, 1024.0);
    12.0 * b * s * l * h * h * ((1.0 + k_a + s / h) + 1.5 * f / h + v / (2.0 * l * h))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_run_and_its_label() {
        let table = Table::read("tp,pp,recompute,run\n4,2.0,,\"tp=4&stage_layers=16,16\"\n,2,full,\n,,,wings=4\n");
        let lines: Vec<_> = table.lines().collect();
        let label = |line| label("tp {tp} pp {pp|1} {recompute|}", line);
        assert_eq!((label(lines[0]).as_deref(), label(lines[1])), (Some("tp 4 pp 2 "), None));
        assert_eq!(run(lines[0]).map(|run| (run.tp, run.stage_layers)), Some((4, Some(vec![16, 16]))));
        assert!(run(lines[1]).is_none() && run(lines[2]).is_none());
    }
}
