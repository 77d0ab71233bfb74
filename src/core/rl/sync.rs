//! New weights reach the engines, and what is not needed leaves the GPU and returns.

use crate::cluster::Gpu;
use crate::run::{PhasesBy, RlParts, RolloutFormat};
use crate::units::{Bytes, Seconds};

/// Seconds of a step beside its phases: buffers, preparation of the batch, data. A round figure: NeMo-RL pull request
/// 1052 prints 4 of 66.6 s.
pub const BESIDE_PHASES: f64 = 5.0;
/// Share of the link to the host that the move reaches: 28.8 of the 64 GB/s of PCIe 5. Inferred from NeMo-RL's
/// DeepSeek-V3 steps with 10 bytes a parameter over all GPUs, not fitted again since what moves follows the settings.
const HOST_SHARE: f64 = 0.45;

/// Bytes a second at which two bytes of each parameter reach the engines, by the usual path of a framework.
///
/// NeMo-RL: 20 GB/s colocated and 45 GB/s apart, inferred from its DeepSeek-V3 steps. verl: 1.9 to 8 GB/s measured
/// (`delta_weight_sync.md`, `fully_async.md`, 1dda039b). slime: 15 GB/s measured on GLM-4.5. Others: between verl's and
/// slime's, a guess.
pub fn usual_rate(framework: Option<PhasesBy>, is_split: bool) -> f64 {
    let gigabytes = match framework {
        Some(PhasesBy::NemoRl) if is_split => 45.0,
        Some(PhasesBy::NemoRl) => 20.0,
        Some(PhasesBy::Verl) => 4.0,
        Some(PhasesBy::Slime) => 15.0,
        _ => 10.0,
    };
    gigabytes * 1e9
}

/// Time until the engines have the new weights: `parameters` of them, with adapters the adapters' own alone.
pub fn sync(parameters: f64, rl: &RlParts, framework: Option<PhasesBy>) -> Seconds {
    let rate = rl.sync_gb_per_s.map_or_else(|| usual_rate(framework, rl.is_split()), |rate| rate * 1e9);
    // slime quantises what it sends to fp8 engines: 100 s where 48 s are bf16's. NeMo-RL's fp8 steps are not longer.
    // Others are taken as slime.
    let is_quantised = rl.rollout_precision.is_some_and(|format| format != RolloutFormat::Bf16);
    let quantises = is_quantised && framework != Some(PhasesBy::NemoRl) && rl.sync_gb_per_s.is_none();
    Seconds(2.0 * parameters / rate * if quantises { 2.0 } else { 1.0 })
}

/// Time in which the `moved` bytes of a colocated trainer leave its fullest GPU and return.
pub fn offload(moved: Bytes, gpu: &Gpu) -> Seconds {
    Seconds(2.0 * moved.0 / (HOST_SHARE * gpu.host.0))
}
