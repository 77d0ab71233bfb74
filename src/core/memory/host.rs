//! Memory that a node's host holds for its GPUs, and its verdict.
//!
//! Bytes a parameter that a rank updates `P_r`: DeepSpeed 16 with the optimizer (fp32 gradients, masters, two moments),
//! 2 more with the parameters, and half as much again for pinned buffers; Megatron-LM 8 of moments, and 8 for pinned
//! copies of masters and gradients; FSDP2 16; torchao two copies in the parameters' type, and the states. Activations
//! in pinned blocks. Source: DeepSpeed `stage_1_and_2.py`, `stage3.py` (`estimate_zero...`), Megatron-LM
//! `optimizer/cpu_offloading`, PyTorch PR 120256, torchao `optim/cpu_offload.py`.

use super::detailed::{Holding, base_weights, holdings, offloaded_activation_bytes, shards, weights};
use super::estimate::RankLoad;
use super::verdict::Verdict;
use crate::run::{Offload, OffloadFramework, OffloadTo, Precision, Scenario};
use crate::units::Bytes;
use serde::Serialize;

/// Pinned buffers beside what they move, as DeepSpeed's own estimate has them.
const DEEPSPEED_BUFFERS: f64 = 1.5;
/// Share of the host's memory that what is pinned may take: the rest is the loader's and the system's.
const USABLE: f64 = 0.9;

/// Memory of the host of the fullest node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HostMemory {
    /// States, gradients and parameters with their buffers, all GPUs of a node.
    pub states_bytes: Bytes,
    /// Activations of all GPUs of a node.
    pub activations_bytes: Bytes,
    /// Both.
    pub total_bytes: Bytes,
    /// The part of it that is on disks instead.
    pub disk_bytes: Bytes,
    /// Memory of the node, where the Run states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<Bytes>,
    /// Verdict, where the Run states the memory of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// Parameters that a rank trains and updates: its share of what it holds.
pub fn updated(scenario: &Scenario, load: &RankLoad) -> f64 {
    let parts = holdings(scenario, load);
    let share = |part: &Holding| {
        let sharded = scenario.zero.stage >= 1;
        part.elements / if sharded { shards(scenario, part.kind) } else { 1.0 }
    };
    parts.iter().filter(|part| part.trained).map(share).sum()
}

/// Bytes of the frozen base of a rank's shard, as it is stored.
fn frozen(scenario: &Scenario, load: &RankLoad) -> f64 {
    let parts = holdings(scenario, load);
    let frozen = parts.iter().filter(|part| !part.trained);
    let bytes = |part: &Holding| base_weights::<f64>(scenario, part) / shards(scenario, part.kind);
    frozen.map(bytes).sum()
}

/// Bytes of one GPU's states on its host.
fn states(scenario: &Scenario, load: &RankLoad, offload: &Offload) -> f64 {
    let (p, bytes) = (updated(scenario, load), scenario.trained_bytes());
    let moments = bytes.optimizer(scenario.run.optimizer) - bytes.master;
    let optimizer = offload.states();
    let parameters = match offload.parameters {
        Some(_) => weights(scenario, load),
        None => 0.0,
    };
    match offload.framework {
        OffloadFramework::DeepSpeed => (optimizer * p * (4.0 + 4.0 + moments) + parameters) * DEEPSPEED_BUFFERS,
        OffloadFramework::Megatron => optimizer * p * (4.0 + 4.0 + moments),
        // The stored parameter is the master.
        OffloadFramework::Fsdp2 => p * (2.0 * bytes.weights + moments) + frozen(scenario, load),
        OffloadFramework::Torchao => optimizer * p * (2.0 * bytes.weights + moments),
    }
}

/// Memory of a node's host, with the bytes `away` of each GPU for a while and the activations `left` that an order lets
/// leave it; none where nothing leaves the GPUs.
pub fn host(scenario: &Scenario, loads: &[RankLoad], away: Bytes, left: Bytes) -> Option<HostMemory> {
    let paged = Precision::paged(scenario.run.optimizer);
    if scenario.offload.is_none() && paged == 0.0 && away + left == Bytes::ZERO {
        return None;
    }
    let (offload, layout) = (scenario.offload.as_ref(), &scenario.layout);
    let gpus = layout.per_node.min(layout.gpus) as f64;
    let most = |figure: &dyn Fn(&RankLoad) -> f64| loads.iter().map(figure).fold(0.0, f64::max);
    let state_bytes = |load: &RankLoad| offload.map_or(0.0, |offload| states(scenario, load, offload));
    let pages = gpus * paged * most(&|load| updated(scenario, load));
    let node_states = gpus * most(&state_bytes);
    let on_disk = |offload: &Offload| [offload.optimizer, offload.parameters].contains(&Some(OffloadTo::Nvme));
    let disk = offload.is_some_and(on_disk);
    let states = gpus * away.0 + pages + if disk { 0.0 } else { node_states };
    let activations = match offload.and_then(|offload| offload.activations) {
        Some(_) => gpus * most(&|load| offloaded_activation_bytes(scenario, load)),
        None => gpus * left.0,
    };
    let total = Bytes(states + activations);
    let capacity = scenario.run.host_memory_gib.map(Bytes::from_gib);
    Some(HostMemory {
        states_bytes: Bytes(states),
        activations_bytes: Bytes(activations),
        total_bytes: total,
        disk_bytes: Bytes(if disk { node_states } else { 0.0 }),
        capacity_bytes: capacity,
        verdict: capacity.map(|capacity| match total {
            total if total <= capacity * USABLE => Verdict::Fits,
            total if total <= capacity => Verdict::Tight,
            _ => Verdict::Oom,
        }),
    })
}
