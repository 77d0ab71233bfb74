//! Shared by the memory tests: a Run from JSON, and what 1F1B or interleaving makes each rank hold.

#![allow(dead_code, clippy::unwrap_used, clippy::cast_possible_truncation)]

use serde_json::Value as Json;
use shardscope::memory::{self, Estimate, RankLoad, StageMemory};
use shardscope::run::{Run, Scenario, Schedule};

/// Bytes in a GiB.
pub const GIB: f64 = 1_073_741_824.0;

/// The scenario of a Run in JSON.
pub fn scenario(run: &Json) -> Scenario {
    let value = serde_json::from_value(run.clone()).unwrap();
    let run = Run::from_value(&value).unwrap_or_else(|issues| panic!("{issues:?}"));
    Scenario::new(&run).unwrap_or_else(|issues| panic!("{issues:?}"))
}

/// In-flight chunks by the closed forms: 1F1B `min(p - r, m)`; interleaved 1F1B, where rank r has just run the
/// forward of virtual micro-batch `min(m v, 2 (p - r - 1) + (v - 1) p)`, chunk by chunk.
pub fn loads(scenario: &Scenario) -> Vec<RankLoad> {
    let (p, m) = (
        scenario.layout.pp as usize,
        scenario.layout.microbatches as usize,
    );
    (0..p)
        .map(|rank| match scenario.run.schedule {
            Schedule::Interleaved => interleaved(p, m, scenario.chunks as usize, rank),
            _ => RankLoad {
                stages: vec![rank],
                in_flight: vec![(p - rank).min(m) as f64],
                weight_versions: 1,
            },
        })
        .collect()
}

fn interleaved(p: usize, m: usize, v: usize, rank: usize) -> RankLoad {
    let alive = (2 * (p - rank - 1) + (v - 1) * p + 1).min(m * v);
    let mut in_flight = vec![0.0; v];
    for index in 0..alive {
        in_flight[(index / p) % v] += 1.0;
    }
    RankLoad {
        stages: (0..v).map(|chunk| chunk * p + rank).collect(),
        in_flight,
        weight_versions: 1,
    }
}

/// The estimate of a Run in JSON.
pub fn estimate(run: &Json) -> Estimate {
    let scenario = scenario(run);
    memory::estimate(&scenario, &loads(&scenario))
}

/// States of a rank, GiB.
pub fn states(rank: &StageMemory) -> f64 {
    rank.weights.gib() + rank.gradients.gib() + rank.optimizer.gib()
}

/// The sum of the items whose name is one of `names`, GiB.
pub fn items(rank: &StageMemory, names: &[&str]) -> f64 {
    rank.items
        .iter()
        .filter(|item| names.contains(&item.name.as_str()))
        .map(|item| item.bytes.gib())
        .sum()
}

/// One row of a table: the cells by the names of the header.
pub struct Row {
    header: Vec<String>,
    cells: Vec<String>,
}

impl Row {
    /// The cell under `name`; empty where the table has none.
    pub fn text(&self, name: &str) -> &str {
        let at = self.header.iter().position(|column| column == name);
        &self.cells[at.unwrap_or_else(|| panic!("no column {name}"))]
    }
    /// The cell under `name` as a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.text(name).parse().ok()
    }
    /// The cell under `name` as a count.
    pub fn count(&self, name: &str) -> u64 {
        let text = self.text(name);
        text.parse().unwrap_or_else(|_| panic!("{name} is {text}"))
    }
}

/// The rows of `tests/data/name`: a line of sources, a header, then one row a line.
pub fn table(name: &str) -> Vec<Row> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    assert!(
        lines.next().unwrap().starts_with("# "),
        "{name}: a source first"
    );
    let header = cells(lines.next().unwrap());
    lines
        .map(|line| Row {
            header: header.clone(),
            cells: cells(line),
        })
        .collect()
}

/// Cells between commas, quoted ones whole.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().unwrap().push(c),
        }
    }
    cells
}
