//! Shared by the memory tests: a Run from JSON, and what 1F1B or interleaving makes each rank hold.

#![allow(clippy::cast_possible_truncation)] // ranks and chunks are small

use serde_json::Value as Json;
use shardscope::core::accuracy::{Evidence, read};
use shardscope::core::memory::{self, Estimate, RankLoad, StageMemory};
use shardscope::core::run::{Run, Scenario, Schedule};

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
    let (p, m) = (scenario.layout.pp as usize, scenario.layout.microbatches as usize);
    (0..p)
        .map(|rank| match scenario.run.schedule {
            Schedule::Interleaved => interleaved(p, m, scenario.chunks as usize, rank),
            _ => RankLoad { stages: vec![rank], in_flight: vec![(p - rank).min(m) as f64], weight_versions: 1 },
        })
        .collect()
}

fn interleaved(p: usize, m: usize, v: usize, rank: usize) -> RankLoad {
    let alive = (2 * (p - rank - 1) + (v - 1) * p + 1).min(m * v);
    let mut in_flight = vec![0.0; v];
    for index in 0..alive {
        in_flight[(index / p) % v] += 1.0;
    }
    RankLoad { stages: (0..v).map(|chunk| chunk * p + rank).collect(), in_flight, weight_versions: 1 }
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
    rank.items.iter().filter(|item| names.contains(&item.name)).map(|item| item.bytes.gib()).sum()
}

/// The rows of a table in `public/data` that become Runs.
pub fn evidence(name: &str) -> Vec<Evidence> {
    let path = format!("{}/public/data/{name}", env!("CARGO_MANIFEST_DIR"));
    read(name, &std::fs::read_to_string(path).unwrap()).0
}

/// The estimate of a Run by the closed forms of what it holds in flight.
pub fn estimate_of(run: &Run) -> Estimate {
    let scenario = Scenario::new(run).unwrap_or_else(|issues| panic!("{issues:?}"));
    memory::estimate(&scenario, &loads(&scenario))
}
