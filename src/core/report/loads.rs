//! Chunks and micro-batches that a schedule makes each rank hold: the instant when its activations weigh most.

use crate::memory::{self, Chunks, RankLoad};
use crate::pipeline::row::{RankRow, Visit};
use crate::pipeline::stats::Alive;
use crate::pipeline::{OpKind, Order};
use crate::run::Scenario;

/// Load of each rank when its activations are largest, by the bytes of its chunks.
pub fn loads(scenario: &Scenario, chunks: &Chunks, order: &Order) -> Vec<RankLoad> {
    let bytes = memory::activation_bytes(scenario, chunks);
    let by_layer = scenario.run.schedule.pairs_by_layer();
    order
        .ranks
        .iter()
        .enumerate()
        .map(|(rank, row)| {
            let stages: Vec<usize> = order.stages_of(rank).into_iter().map(|stage| stage as usize).collect();
            // Copies of a rank that runs both directions are stages that it holds besides: no versions of one.
            let copies = order.weight_copies.get(rank).copied().unwrap_or(1);
            let copies = u64::from(copies) * scenario.chunks;
            let load = |counts: Vec<u32>| RankLoad {
                in_flight: counts.into_iter().map(|count| f64::from(count) / f64::from(order.splits)).collect(),
                weight_versions: copies.div_ceil(stages.len().max(1) as u64).max(1),
                stages: stages.clone(),
            };
            if let Some(held) = held_by_order(order, rank) {
                return load(held);
            }
            let instant = worst_instant(row, &stages, &bytes, by_layer);
            let later =
                after_the_loss(scenario, chunks, &stages).map(|bytes| worst_instant(row, &stages, &bytes, by_layer));
            match later.filter(|later| *later != instant) {
                Some(later) => fuller(scenario, chunks, [instant, later].map(load)),
                None => load(instant),
            }
        })
        .collect()
}

/// Bytes of each stage's micro-batch in a backward pass, which has no logits, where that may make another instant the
/// fullest: on a rank that holds the head beside other stages.
fn after_the_loss(scenario: &Scenario, chunks: &Chunks, stages: &[usize]) -> Option<Vec<f64>> {
    let has_head = stages.len() > 1 && stages.contains(&scenario.last_stage());
    has_head.then(|| (0..scenario.stage_layers.len()).map(|stage| chunks.kept(stage).bytes()).collect())
}

/// The one of two loads of a rank that takes more memory; the first if both take the same.
fn fuller(scenario: &Scenario, chunks: &Chunks, [first, second]: [RankLoad; 2]) -> RankLoad {
    let bytes = |load: &RankLoad| memory::estimate_of(scenario, chunks, std::slice::from_ref(load)).peak().1.0;
    if bytes(&second) > bytes(&first) { second } else { first }
}

/// Activations that `rank` holds at most, of an order that lets some leave for the host: its only stage's.
fn held_by_order(order: &Order, rank: usize) -> Option<Vec<u32>> {
    order.away.as_ref()?.held.get(rank).map(|held| vec![*held])
}

/// Activations of each of `stages` alive at the instant when they weigh most.
fn worst_instant(row: &RankRow, stages: &[usize], bytes: &[f64], by_layer: bool) -> Vec<u32> {
    let by_stage = stages.iter().map(|stage| bytes.get(*stage));
    let bytes: Vec<f64> = by_stage.map(|bytes| bytes.copied().unwrap_or(0.0)).collect();
    let mut alive = Alive::none(stages);
    let mut worst = (alive.counts.clone(), 0.0, 0);
    row.ends(|part| match part {
        Visit::Item(item) => {
            let pair = by_layer && item.ops().count() > 1;
            if pair {
                alive.free(&[item], 1);
            }
            alive.add(&[item], 1);
            // Nothing weighs more without a forward.
            if item.ops().any(|op| op.kind == OpKind::F) {
                let counts = &alive.counts;
                let each = counts.iter().zip(&bytes);
                let weight: f64 = each.map(|(count, bytes)| f64::from(*count) * bytes).sum();
                let count = counts.iter().sum::<u32>();
                if weight > worst.1 || (weight >= worst.1 && count > worst.2) {
                    worst.0.clone_from(counts);
                    (worst.1, worst.2) = (weight, count);
                }
            }
            if !pair {
                alive.free(&[item], 1);
            }
        }
        Visit::Skipped(items, times) => {
            alive.add(items, times);
            alive.free(items, times);
        }
    });
    worst.0
}

#[cfg(test)]
mod tests {
    use super::loads;
    use crate::memory::Chunks;
    use crate::pipeline::Order;
    use crate::pipeline::row::RankRow;
    use crate::report::{evaluate, schedule_ids, with_schedule};
    use crate::run::{Run, Schedule};

    /// Items that repeat are looked at twice, at their first and last run: the worst instant of every rank is that of
    /// its whole list.
    #[test]
    fn the_worst_instant_is_that_of_the_whole_list() {
        let run = Run { global_batch: 1024, ..Run::default() };
        for id in schedule_ids() {
            let Ok(of) = evaluate(&run.with_texts(&with_schedule(&run, id)).unwrap()) else {
                assert_eq!(id, "custom");
                continue;
            };
            let chunks = Chunks::of(&of.scenario);
            let whole =
                Order { ranks: of.order.ranks.iter().map(|row| row.iter().collect()).collect(), ..of.order.clone() };
            assert_eq!(loads(&of.scenario, &chunks, &of.order), loads(&of.scenario, &chunks, &whole), "{id}");
        }
    }

    /// What a schedule's name decides is what its order does: two passes run as a pair, a rank holds one stage or more.
    #[test]
    fn a_schedule_pairs_passes_and_holds_stages_as_its_order_does() {
        let run = Run { global_batch: 1024, ..Run::default() };
        for id in schedule_ids().filter(|id| *id != "custom") {
            let of = evaluate(&run.with_texts(&with_schedule(&run, id)).unwrap()).unwrap();
            let mut items = of.order.ranks.iter().flat_map(RankRow::iter);
            assert_eq!(
                of.scenario.run.schedule.pairs_passes(),
                items.any(|item| item.second().is_some()),
                "{id} pairs passes or does not: `overlaps_experts` in src/core/run/choices.rs has to say the same"
            );
            assert_eq!(
                of.scenario.has_one_stage_a_rank(),
                (0..of.order.ranks.len()).all(|rank| of.order.stages_of(rank).len() == 1),
                "{id}: `has_one_stage_a_rank` in src/core/run/scenario.rs has to say what its order does"
            );
        }
    }

    /// A rank of both directions holds its stage and the one that mirrors it, each once (DualPipe: "2x parameters";
    /// Chimera, section 3.1: "two model replicas"); stashed versions are copies of the stage itself (PipeDream-2BW:
    /// two).
    #[test]
    fn weights_of_both_directions_are_held_once_each() {
        let weights = |schedule| -> Vec<f64> {
            let run = Run { schedule, stage_layers: Some(vec![9, 8, 8, 7]), ..Run::default() };
            let memory = evaluate(&run).unwrap().report.memory;
            let each = memory.per_stage.iter();
            each.map(|stage| stage.weights.0).collect()
        };
        let alone = weights(Schedule::OneFOneB);
        for schedule in [Schedule::DualPipe, Schedule::Chimera] {
            for (rank, held) in weights(schedule).into_iter().enumerate() {
                let both = alone[rank] + alone[3 - rank];
                assert!((held / both - 1.0).abs() < 1e-12, "{schedule:?} {rank}");
            }
        }
        for (rank, held) in weights(Schedule::Pipedream2bw).into_iter().enumerate() {
            assert!((held / alone[rank] - 2.0).abs() < 1e-12, "{rank}");
        }
    }
}
