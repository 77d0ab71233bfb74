//! Traffic of offloading between a GPU and its host in a step, the part of it that hides behind compute, and the time
//! of the host's optimizer.
//!
//! With `P_r` parameters that a rank updates and m micro-batches: gradients leave in every backward pass and hide
//! behind it, the optimizer runs on the host over the parameters of all GPUs of the node, updated weights come back.
//! Parameters come before each pass, activations leave behind the forward pass and come before the backward one.

use super::passes::Pass;
use crate::memory::RankLoad;
use crate::memory::detailed::offloaded_activation_bytes;
use crate::memory::host::updated;
use crate::memory::reference_on_host;
use crate::pipeline::Order;
use crate::run::presets;
use crate::run::{Offload, OffloadFramework, OffloadTo, Scenario};
use crate::source::{Cited, DEEPSPEED, MEGATRON, SLIME, TORCHAO, ZERO_OFFLOAD};
use crate::traffic::HeldParameters;
use crate::units::{Bytes, Seconds};
use serde::Serialize;

/// Share of a link's nominal rate that copies reach: 0.75 to 0.8 of PCIe; GH200 copies 342 of 450 GB/s (vLLM PR 6496).
const LINK: f64 = 0.76;
/// Bytes a second of a node's NVMe disks where nothing is said: two of the fourth generation.
const DISKS: f64 = 12e9;

/// Share of the peak of a host's memory channels that fused Adam reaches with all cores: torchao's takes 0.57 s longer
/// for 1.1 billion bf16 parameters whose copies do not hide, 0.18 s of it on the link, the rest 14 bytes a parameter on
/// two channels of DDR4-3200 (optim README, compiled, Ryzen 5600).
const CHANNELS: f64 = 0.78;
/// Host memory below which a node is a desktop, bytes a second: two channels.
const DESKTOP: f64 = 100e9;
/// Link to the host above which a GPU has a CPU of its own, or half of one: NVLink-C2C, bytes a second.
const OWN_CPU: f64 = 200e9;
/// Host memory of a GPU that is no preset: 16 channels of DDR5-4800, as of a DGX H100.
const DRAM: f64 = 614.4e9;

/// Speed of Adam on the host.
enum HostRate {
    /// Seconds a parameter of a process, which steps its own with one thread.
    Process(Cited<f64>),
    /// Seconds a parameter of the node, whose processes share its cores.
    Node(Cited<f64>),
    /// All channels of the host's memory at [`CHANNELS`] of their peak.
    Channels,
}

/// Speed of the framework's optimizer where `processes` step beside each other, on a desktop or in a server. Published
/// runs go from 0.1 ns a parameter of the node (tuned, overlapped) to 1.7 ns: measure one step.
fn host_rate(framework: OffloadFramework, processes: f64, desktop: bool) -> HostRate {
    match framework {
        OffloadFramework::DeepSpeed if desktop => HostRate::Node(Cited::new(
            1.7e-9,
            &TORCHAO,
            "optim README: DeepSpeed on a Ryzen 5600 with DDR4, 1.27 to 3.13 s of 1.1 B",
        )),
        OffloadFramework::DeepSpeed => HostRate::Node(Cited::new(
            0.6e-9,
            &DEEPSPEED,
            "ZenFlow blog: ZeRO-Offload, Llama-2-7B on 4 A100, over 4 s; pull request 735: 11.6 B in 8.2 s; \
                issue 6834: a quarter of 72 B a node in 10 s",
        )),
        // torchrun and Ray give a process one thread where OMP_NUM_THREADS is not set (torch/distributed/run.py).
        OffloadFramework::Megatron if processes > 1.0 => HostRate::Process(Cited::new(
            2.6e-9,
            &SLIME,
            "3.3 B a process in 9.6 s under a profiler; ms-swift's Megatron examples on A800, whole steps of 80, \
                28 and 13 s",
        )),
        OffloadFramework::Megatron => HostRate::Process(Cited::new(
            1.4e-9,
            &MEGATRON,
            "HybridDeviceOptimizer, Qwen3-0.6B on one H100: 0.752 to 1.678 s (NeMo-RL PR 3628), less its copies",
        )),
        OffloadFramework::Fsdp2 => {
            HostRate::Node(Cited::new(1.4e-9, &ZERO_OFFLOAD, "table 4, PT-CPU: PyTorch's unfused Adam, 1 to 10 B"))
        }
        OffloadFramework::Torchao => HostRate::Channels,
    }
}

/// Seconds of Adam over `parameters` of each of `processes` on a node: never faster than its memory channels.
fn host_adam(scenario: &Scenario, framework: OffloadFramework, parameters: f64, processes: f64) -> f64 {
    let preset = scenario.run.gpu.base.and_then(presets::gpu);
    let cpus = if scenario.gpu.host.0 > OWN_CPU { processes } else { 1.0 };
    let dram = preset.map_or(DRAM, |preset| cpus * preset.host_dram.0);
    let bytes = scenario.trained_bytes();
    let states = bytes.optimizer(scenario.run.optimizer) + if bytes.master > 0.0 { 0.0 } else { bytes.weights };
    let gradient = bytes.grads.max(bytes.grad_accumulation);
    let channels = (gradient + 2.0 * states) * parameters * processes / (CHANNELS * dram);
    let cores = match host_rate(framework, processes, dram < DESKTOP) {
        HostRate::Process(rate) => rate.value * parameters,
        HostRate::Node(rate) => rate.value * parameters * processes,
        HostRate::Channels => 0.0,
    };
    cores.max(channels)
}

/// Traffic over the link of a GPU to its host in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OffloadStep {
    /// Bytes that a GPU sends.
    pub to_host_bytes: Bytes,
    /// Bytes that a GPU receives.
    pub to_gpu_bytes: Bytes,
    /// Both on the link.
    pub transfer_s: Seconds,
    /// The part of the transfers that runs beside compute.
    pub hidden_s: Seconds,
    /// The optimizer on the host, disks included.
    pub host_step_s: Seconds,
    /// Seconds by which it makes the step longer.
    pub exposed_s: Seconds,
}

/// Bytes a second that copies between a GPU and its host reach, each way.
pub fn copy_rate(scenario: &Scenario) -> f64 {
    scenario.gpu.host.0 * LINK
}

/// Adds the activations that leave rank `rank` in its order: their ways are beside its compute, and what waits for them
/// is a bubble of the pipeline already.
pub(super) fn with_ways(step: Option<OffloadStep>, order: &Order, rank: usize, each: Bytes) -> Option<OffloadStep> {
    let Some(away) = &order.away else { return step };
    let mut step = step.unwrap_or_default();
    for way in away.of_rank(rank) {
        let seconds = Seconds(way.end - way.start);
        *(if way.is_back { &mut step.to_gpu_bytes } else { &mut step.to_host_bytes }) += each;
        step.transfer_s += seconds;
        step.hidden_s += seconds;
    }
    Some(step)
}

/// A copy that may run beside a pass, in a micro-batch.
struct Copy {
    to_host: f64,
    to_gpu: f64,
    window: f64,
}

/// The offloading of the rank of `load`, whose passes of a micro-batch are `passes`.
pub(crate) fn offload_step(scenario: &Scenario, load: &RankLoad, passes: &[&Pass]) -> Option<OffloadStep> {
    let reference = reference_on_host(scenario, load);
    let offload = scenario.offload.or((reference > 0.0).then_some(Offload::NOTHING))?;
    let rate = copy_rate(scenario);
    let m = scenario.usual_microbatches();
    let sum = |of: fn(&Pass) -> Seconds| passes.iter().map(|pass| of(pass).0).sum::<f64>();
    let (forward, backward) = (sum(Pass::forward), sum(Pass::backward));
    let mut step = OffloadStep::default();
    let mut exposed = 0.0;
    // A reference comes before its pass, which nothing hides.
    let reference = (reference > 0.0).then_some(Copy { to_host: 0.0, to_gpu: reference, window: 0.0 });
    for copy in copies(scenario, load, &offload, forward, backward).into_iter().chain(reference) {
        let seconds = copy.to_host.max(copy.to_gpu) / rate;
        step.to_host_bytes += Bytes(m * copy.to_host);
        step.to_gpu_bytes += Bytes(m * copy.to_gpu);
        step.transfer_s += Seconds(m * seconds);
        exposed += m * (seconds - copy.window).max(0.0);
    }
    if offload.optimizer.is_some() {
        let (p, bytes) = (updated(scenario, load) * offload.fraction, scenario.trained_bytes());
        // Megatron sends fp32 gradients and masters once a step, the others bring back what computes.
        let [sent, brought] = match offload.framework {
            OffloadFramework::Megatron => [4.0, 4.0],
            OffloadFramework::Fsdp2 => [0.0, 0.0],
            _ => [0.0, bytes.gathered_weight()],
        };
        step.to_host_bytes += Bytes(sent * p);
        step.to_gpu_bytes += Bytes(brought * p);
        let seconds = (sent + brought) * p / rate;
        step.transfer_s += Seconds(seconds);
        let node = scenario.layout.per_node.min(scenario.layout.gpus) as f64;
        let disks = if offload.optimizer == Some(OffloadTo::Nvme) {
            // States are read and written by the disks of the node.
            24.0 * p * node / DISKS
        } else {
            0.0
        };
        step.host_step_s = Seconds(host_adam(scenario, offload.framework, p, node) + disks);
        exposed += seconds + step.host_step_s.0;
    }
    step.exposed_s = Seconds(exposed);
    let hidden = step.transfer_s + step.host_step_s - step.exposed_s;
    step.hidden_s = hidden.max(Seconds::ZERO);
    Some(step)
}

/// The copies of a micro-batch, each beside the pass that may hide it.
fn copies(scenario: &Scenario, load: &RankLoad, offload: &Offload, forward: f64, backward: f64) -> Vec<Copy> {
    let mut list = Vec::new();
    let sharded = |elements: f64, stage: u64| {
        let n = if scenario.zero.stage >= stage { scenario.zero.shard as f64 } else { 1.0 };
        elements / n
    };
    let bytes = scenario.trained_bytes();
    if offload.parameters.is_some() {
        // FSDP2 copies the shard as it is stored and casts on the GPU.
        let stored = match offload.framework {
            OffloadFramework::Fsdp2 if scenario.adapter.is_none() => bytes.weights,
            _ => scenario.gathered_weight(),
        };
        let parameters = stored * sharded(HeldParameters::of(scenario, &load.stages).total(), 3);
        for window in [forward, backward] {
            list.push(Copy { to_host: 0.0, to_gpu: parameters, window });
        }
    }
    if offload.gradients.is_some() {
        let trained = HeldParameters::trained(scenario, &load.stages).total();
        list.push(Copy { to_host: bytes.grads * sharded(trained, 1), to_gpu: 0.0, window: backward });
    }
    if offload.activations.is_some() {
        let in_flight: f64 = load.in_flight.iter().sum::<f64>().max(1.0);
        let stages = load.stages.len().max(1) as f64;
        let one = offloaded_activation_bytes(scenario, load) / in_flight * stages;
        for (to_host, to_gpu, window) in [(one, 0.0, forward), (0.0, one, backward)] {
            list.push(Copy { to_host, to_gpu, window });
        }
    }
    list
}
