//! What a training step is made of, and the figures people quote about it.

use crate::run::Scenario;
use crate::units::Seconds;
use serde::Serialize;

/// Uncalibrated, every published run was slower than predicted or hardly faster: the range is -5 % to +25 %.
const LOW: f64 = 0.95;
const HIGH: f64 = 1.25;

/// The parts that others computed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepParts {
    /// Compute of the average rank.
    pub compute: Seconds,
    /// Waiting in the pipeline.
    pub bubble: Seconds,
    /// Communication that nothing hides.
    pub exposed: Seconds,
    /// The optimizer on the slowest rank.
    pub optimizer: Seconds,
    /// FLOPs really executed over model FLOPs: more than 1 with recomputation.
    pub hardware_over_model: f64,
}

/// One step, in seconds and in what follows from them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The whole step.
    pub time_s: Seconds,
    /// Compute of the average rank.
    pub compute_s: Seconds,
    /// Waiting in the pipeline.
    pub bubble_s: Seconds,
    /// Communication that nothing hides.
    pub exposed_comm_s: Seconds,
    /// The optimizer.
    pub optimizer_s: Seconds,
    /// Model FLOPs of the step over all GPUs.
    pub model_flops: f64,
    /// Model TFLOP/s a GPU.
    pub tflops_per_gpu: f64,
    /// Model FLOP/s over the bf16 peak.
    pub mfu: f64,
    /// The same with what recomputation executes.
    pub hfu: f64,
    /// What the data loader adds.
    pub host_s: Seconds,
    /// Tokens a second over all GPUs.
    pub tokens_per_s: f64,
    /// Tokens a second and GPU.
    pub tokens_per_s_per_gpu: f64,
    /// The fast end of the range.
    pub low_s: Seconds,
    /// The slow end of the range.
    pub high_s: Seconds,
    /// Days for the token budget, where one is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<f64>,
    /// GPU-hours for the token budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_hours: Option<f64>,
    /// Cost of the token budget, in the currency of the price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Measured over predicted, where a measured step rescales the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescaled_by: Option<f64>,
}

impl Step {
    /// Joins the parts: time = compute + bubble + exposed + optimizer + what the loader adds, all of it scaled to the
    /// measured step where there is one.
    #[must_use]
    pub fn new(scenario: &Scenario, parts: StepParts) -> Self {
        let run = &scenario.run;
        let gpus = scenario.layout.gpus as f64;
        let busy = parts.compute + parts.bubble + parts.exposed + parts.optimizer;
        let samples = run.global_batch as f64 / scenario.layout.dp as f64;
        let floor = Seconds(run.loader_ns * 1e-9 * (run.seq_len as f64).powi(2) * samples);
        let host = (floor - busy).max(Seconds::ZERO);
        let predicted = busy + host;
        let scale = run.measured_step_s.map(|measured| measured / predicted.0);
        let at = |seconds: Seconds| seconds * scale.unwrap_or(1.0);
        let time = at(predicted);
        let model_flops = scenario.model_flops();
        let tokens_per_s = scenario.tokens_per_step() / time.0;
        let tflops_per_gpu = model_flops / time.0 / gpus / 1e12;
        let mfu = tflops_per_gpu * 1e12 / scenario.gpu.bf16.0;
        let days = run
            .tokens_total
            .map(|tokens| tokens / tokens_per_s / 86_400.0);
        let gpu_hours = days.map(|days| days * 24.0 * gpus);
        Self {
            time_s: time,
            compute_s: at(parts.compute),
            bubble_s: at(parts.bubble),
            exposed_comm_s: at(parts.exposed),
            optimizer_s: at(parts.optimizer),
            model_flops,
            tflops_per_gpu,
            mfu,
            hfu: mfu * parts.hardware_over_model,
            host_s: at(host),
            tokens_per_s,
            tokens_per_s_per_gpu: tokens_per_s / gpus,
            low_s: if scale.is_some() { time } else { time * LOW },
            high_s: if scale.is_some() { time } else { time * HIGH },
            days,
            gpu_hours,
            cost: gpu_hours
                .zip(run.price_per_gpu_hour)
                .map(|(hours, price)| hours * price),
            rescaled_by: scale,
        }
    }
}
