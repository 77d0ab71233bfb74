//! What a schedule makes each rank hold: the instant when its activations weigh most.

use crate::memory::{self, RankLoad};
use crate::pipeline::{Item, Kind, Order};
use crate::run::Scenario;

/// What each rank holds when its activations are largest, by the bytes of its chunks.
pub fn loads(scenario: &Scenario, order: &Order) -> Vec<RankLoad> {
    let bytes: Vec<f64> = (0..scenario.stage_layers.len())
        .map(|stage| memory::chunk_activation_bytes(scenario, stage).0)
        .collect();
    order
        .ranks
        .iter()
        .enumerate()
        .map(|(rank, items)| {
            let stages: Vec<usize> = order
                .stages_of(rank)
                .into_iter()
                .map(|stage| stage as usize)
                .collect();
            RankLoad {
                in_flight: worst_instant(items, &stages, &bytes)
                    .into_iter()
                    .map(|count| f64::from(count) / f64::from(order.splits))
                    .collect(),
                stages,
                weight_versions: u64::from(order.weight_copies.get(rank).copied().unwrap_or(1)),
            }
        })
        .collect()
}

/// Activations of each of `stages` alive at the instant when they weigh most.
fn worst_instant(items: &[Item], stages: &[usize], bytes: &[f64]) -> Vec<u32> {
    let slot = |stage: u32| stages.iter().position(|held| *held == stage as usize);
    let mut alive = vec![0u32; stages.len()];
    let mut worst = (alive.clone(), 0.0, 0);
    for item in items {
        for op in item.ops().filter(|op| op.kind == Kind::F) {
            if let Some(slot) = slot(op.stage) {
                alive[slot] += 1;
            }
        }
        let weight: f64 = alive
            .iter()
            .zip(stages)
            .map(|(count, stage)| f64::from(*count) * bytes.get(*stage).copied().unwrap_or(0.0))
            .sum();
        let count = alive.iter().sum::<u32>();
        if weight > worst.1 || (weight >= worst.1 && count > worst.2) {
            worst = (alive.clone(), weight, count);
        }
        for op in item.ops().filter(|op| op.kind.frees()) {
            if let Some(slot) = slot(op.stage) {
                alive[slot] = alive[slot].saturating_sub(1);
            }
        }
    }
    worst.0
}
