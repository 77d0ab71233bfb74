//! What ZeRO-2, ZeRO-3 and FSDP gather and scatter beside the shards that stay.

use super::holding::{Holding, Kind, embedding_elements, is_last, kinds, layers_of};
use super::states::shards;
use super::transient::Buffer;
use crate::memory::estimate::RankLoad;
use crate::model::layer_elements;
use crate::run::Scenario;

/// Bytes of a gathered weight: what computes, bf16 unless the policy is fp32 throughout.
#[must_use]
pub fn gathered_bytes(scenario: &Scenario) -> f64 {
    let weights = scenario.precision.weights;
    if scenario.run.precision.base == Some("fp32") {
        weights
    } else {
        weights.min(2.0)
    }
}

/// Elements of the largest layer on the rank, the unit that FSDP gathers.
#[must_use]
pub fn largest_layer(scenario: &Scenario, load: &RankLoad) -> f64 {
    let layout = &scenario.layout;
    load.stages
        .iter()
        .flat_map(|stage| kinds(scenario, &layers_of(scenario, *stage)))
        .filter(|(count, _)| *count > 0)
        .map(|(_, index)| {
            let layer = layer_elements(&scenario.model, index);
            layer.dense_per_rank(&scenario.model, layout.tp)
                + layer.experts_per_rank(layout.ep, layout.etp)
        })
        .fold(0.0, f64::max)
}

/// Elements of the root unit: embedding, head and final norm.
#[must_use]
pub fn root_elements(holdings: &[Holding]) -> f64 {
    let root = |part: &&Holding| matches!(part.name, "embedding" | "head" | "final norm");
    holdings.iter().filter(root).map(|part| part.elements).sum()
}

/// The momentary part of sharding on one rank.
///
/// ZeRO-2: gradients of one layer while those of the layer before are reduced, `2 g U`. ZeRO-3: two gathered layers
/// and the root unit (embedding and head, whole for the step), `2 w U + w R`, the gradients of a layer in compute
/// precision with the one before in the reduce-scatter, `(w + g) U`, and the head's, `w R_head`. With a pipeline FSDP
/// keeps weights gathered and gradients unreduced until the last micro-batch: `(w + g) P`. Source: torchtitan
/// `parallelize_llama.py` (`reshard_after_forward`), PyTorch FSDP2 `_fsdp_param_group.py`.
#[must_use]
pub fn buffers(scenario: &Scenario, load: &RankLoad, holdings: &[Holding]) -> Vec<Buffer> {
    if shards(scenario, Kind::Dense) <= 1.0 && shards(scenario, Kind::Expert) <= 1.0 {
        return Vec::new();
    }
    let unit = largest_layer(scenario, load);
    let (w, g) = (gathered_bytes(scenario), scenario.precision.gradients());
    match scenario.zero.stage {
        2 => vec![Buffer::momentary("gradients being reduced", 2.0 * g * unit)],
        3 if scenario.layout.pp > 1 => {
            let trained: f64 = holdings.iter().map(|part| part.elements).sum();
            let waiting = if scenario.layout.microbatches > 1 {
                g
            } else {
                w
            };
            vec![
                Buffer::held("gathered weights of the stage", w * trained),
                Buffer::held(
                    "gradients waiting for the last micro-batch",
                    waiting * trained,
                ),
            ]
        }
        3 => {
            let head = if load.stages.iter().any(|stage| is_last(scenario, *stage)) {
                embedding_elements(scenario)
            } else {
                0.0
            };
            let root = root_elements(holdings);
            vec![
                Buffer::momentary("gathered layers", 2.0 * w * unit),
                Buffer::held("gathered embedding and head", w * root),
                Buffer::momentary("gradients being reduced", (w + g) * unit),
                Buffer::momentary("gradient of the head", w * head),
            ]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::detailed::{estimate, holdings};
    use crate::run::{Based, Run};

    fn load() -> RankLoad {
        RankLoad {
            stages: vec![0],
            in_flight: vec![1.0],
            weight_versions: 1,
        }
    }

    fn fsdp(gpus: u64) -> Run {
        Run {
            gpus,
            tp: 1,
            pp: 1,
            zero: 3,
            precision: Based::preset("fsdp-mixed"),
            ..Run::default()
        }
    }

    /// Torchtitan, Llama-3.1-8B: from 8 to 128 GPUs the shards shrink by 16 · 8.03 B (1/8 − 1/128) = 14.0 GiB, and
    /// what is gathered stays.
    #[test]
    fn sixteen_times_the_ranks_leave_14_gib_less_of_shards() {
        let of = |gpus| {
            let scenario = Scenario::new(&fsdp(gpus)).unwrap();
            estimate(&scenario, &[load()]).per_stage.remove(0)
        };
        let (few, many) = (of(8), of(128));
        assert!((few.allocated().gib() - many.allocated().gib() - 14.0).abs() < 0.05);
        assert_eq!(few.buffers, many.buffers);
    }

    #[test]
    fn an_hsdp_group_shards_and_the_rest_replicates() {
        let run = Run {
            hsdp_shard: Some(8),
            ..fsdp(128)
        };
        let scenario = Scenario::new(&run).unwrap();
        let group = estimate(&scenario, &[load()]).per_stage.remove(0);
        let small = Scenario::new(&fsdp(8)).unwrap();
        let alone = estimate(&small, &[load()]).per_stage.remove(0);
        assert_eq!(group.optimizer, alone.optimizer);
    }

    #[test]
    fn nothing_is_gathered_where_nothing_is_sharded() {
        let scenario = Scenario::new(&fsdp(1)).unwrap();
        let list = holdings(&scenario, &load());
        assert!(buffers(&scenario, &load(), &list).is_empty());
    }
}
