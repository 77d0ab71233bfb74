//! Parts of a training step, and the figures quoted about it.

use super::kernel_class::KernelClass;
use super::kernel_times::KernelPass;
use super::range::{REACH, RangeOf, range, range_ends};
use super::rates::ComputePeak;
use crate::explain::Quantity;
use crate::explain::symbols::{LOADING, MICROBATCHES, PACE, PIPELINE, SAMPLES, SEQUENCE, STAGE_LOADING};
use crate::maths::ln;
use crate::message::Message;
use crate::model::{AttentionCount, CONVENTIONS, Convention, CountedBy, model_flops_per_token};
use crate::run::Scenario;
use crate::source::{Cited, FUJII_2024};
use crate::t;
use crate::units::Seconds;
use serde::{Deserialize, Serialize};

/// Sharpness with which the slower of two processes that feed each other through a short queue sets the pace. Fitted to
/// table 3, where data loader and GPUs are near each other; at 6 equal paces take 12 % longer than either alone.
pub(crate) const COUPLING: Cited<f64> = Cited::fitted(6.0, &FUJII_2024, "fitted to table 3");

/// Seconds of a step whose GPUs need `busy` and whose data loader needs `floor`: never shorter than either,
/// `(busy⁶ + floor⁶)^(1/6)`.
pub fn with_loader(busy: Seconds, floor: Seconds) -> Seconds {
    let longer = busy.max(floor);
    if floor.0 <= 0.0 || longer.0 <= 0.0 {
        return longer;
    }
    longer * together(busy / longer, floor / longer)
}

/// `(b^q + f^q)^(1/q)`.
pub(crate) fn together<Q: Quantity>(busy: Q, floor: Q) -> Q {
    let pace = PACE.of::<Q>(COUPLING.value);
    (busy.power(pace) + floor.power(pace)).power(Q::number(1.0) / pace)
}

/// Time of a rank's data loader for a step: `k s²` a sequence, with `B/d` of them, or `b Σ L / (s b)` where
/// micro-batches have lengths of their own.
pub(crate) fn loader_floor(scenario: &Scenario) -> Seconds {
    Seconds(loading(scenario))
}

/// [`loader_floor`] in seconds, with its formula.
pub(crate) fn loading<Q: Quantity>(scenario: &Scenario) -> Q {
    let run = &scenario.run;
    let samples = match run.microbatch_lengths {
        Some(_) => scenario.usual_microbatches() * run.micro_batch as f64,
        None => run.global_batch as f64 / scenario.layout.dp as f64,
    };
    let square = SEQUENCE.of::<Q>(run.seq_len).power(Q::number(2.0));
    LOADING.of::<Q>(scenario.software.loader_ns * 1e-9) * square * SAMPLES.of::<Q>(samples)
}

/// Time that loading takes of the first stage, of the average of p ranks: `l m/p`. Source: the note on uneven
/// pipelines, which counts it to that stage.
pub(crate) fn stage_loading<Q: Quantity>(scenario: &Scenario) -> Q {
    let each = STAGE_LOADING.of::<Q>(scenario.run.loader_stage_s);
    each * MICROBATCHES.of::<Q>(scenario.usual_microbatches()) / PIPELINE.of::<Q>(scenario.layout.pp)
}

/// The parts that others computed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepParts {
    /// Compute of the average rank, with the next two.
    pub compute: Seconds,
    /// Forward passes that the backward pass repeats.
    pub recompute: Seconds,
    /// Kernel launches of the host that no kernel hides.
    pub launches: Seconds,
    /// Waiting in the pipeline.
    pub bubble: Seconds,
    /// Communication that is not hidden.
    pub not_hidden: Seconds,
    /// Time by which hidden communication slows compute.
    pub slows: Seconds,
    /// The two above by parallelism: tensor, context, expert and data parallel.
    pub exposed: [Seconds; 4],
    /// The second of them by parallelism.
    pub slowed: [Seconds; 4],
    /// Time on the wire of the messages that are exposed, by parallelism.
    pub wires: [Seconds; 4],
    /// The optimizer on the slowest rank.
    pub optimizer: Seconds,
}

/// Kinds of [`Step::parts`]: from the compute that the peak allows to the step that is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Executed FLOPs at the peak.
    Ideal,
    /// Kernels below the peak.
    Kernels,
    /// Forward passes that the backward pass repeats.
    Recompute,
    /// Kernel launches of the host that no kernel hides.
    Launches,
    /// Waiting in the pipeline.
    Bubble,
    /// Exposed communication of tensor parallelism.
    ExposedTp,
    /// Exposed messages of context parallelism.
    ExposedCp,
    /// Exposed messages of expert parallelism.
    ExposedEp,
    /// Exposed messages of data parallelism.
    ExposedDp,
    Optimizer,
    /// The data loader.
    Loader,
}

/// A part of the step of the average rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Kind of time.
    #[serde(rename = "name")]
    pub kind: PartKind,
    /// Time by which it lengthens the step.
    pub seconds: Seconds,
}

/// The step of one pipeline rank by parts; they sum to `time_s`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankParts {
    pub rank: usize,
    pub parts: Vec<Part>,
}

/// Kernels of a pipeline rank in a step, of one class and pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RankKernels {
    pub rank: usize,
    pub class: KernelClass,
    pub pass: KernelPass,
    pub seconds: Seconds,
}

/// The bubble by its causes, which sum to it. Each cause is the time by which the idle time falls when the cause is
/// taken away, in the order messages, unequal micro-batches, unequal stages; the rest is fill and drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct BubbleShares {
    pub fill_drain_s: Seconds,
    pub unequal_stages_s: Seconds,
    pub unequal_microbatches_s: Seconds,
    pub messages_s: Seconds,
}

/// FLOPs of a step without what is repeated, over all GPUs: half of the square of attention, images and the forward
/// passes of a reference or a teacher besides.
pub fn executed_flops(scenario: &Scenario) -> f64 {
    let token = scenario.flops_per_token(AttentionCount::Causal);
    // Passes without gradients take a third of what training all weights takes.
    let beside = scenario.forwards_beside() / 3.0;
    let beside = beside * model_flops_per_token(&scenario.model, scenario.attended_tokens(), AttentionCount::Causal);
    (token + beside) * scenario.tokens_per_step() + scenario.image_flops()
}

/// The path from ideal to actual: the causal FLOPs of a GPU at the peak of the precision; what its kernels take longer,
/// and a measured step besides; then every other part as it was computed. They sum to the step.
fn parts_of(scenario: &Scenario, parts: &StepParts, loader: Seconds, scale: f64) -> Vec<Part> {
    let kernels = (parts.compute - parts.recompute - parts.launches) * scale;
    let apart = scenario.busy_gpus() > scenario.layout.gpus;
    let elsewhere = if apart { scenario.image_flops() } else { 0.0 };
    let flops = (executed_flops(scenario) - elsewhere) / scenario.layout.gpus as f64;
    // A measured step may be shorter than the peak allows.
    let ideal = Seconds((flops / ComputePeak::of(scenario).rate().0).min(kernels.0));
    let [tp, cp, ep, dp] = parts.exposed.map(|exposed| exposed * scale);
    [
        (PartKind::Ideal, ideal),
        (PartKind::Kernels, kernels - ideal),
        (PartKind::Recompute, parts.recompute * scale),
        (PartKind::Launches, parts.launches * scale),
        (PartKind::Bubble, parts.bubble * scale),
        (PartKind::ExposedTp, tp),
        (PartKind::ExposedCp, cp),
        (PartKind::ExposedEp, ep),
        (PartKind::ExposedDp, dp),
        (PartKind::Optimizer, parts.optimizer * scale),
        (PartKind::Loader, loader * scale),
    ]
    .map(|(kind, seconds)| Part { kind, seconds })
    .to_vec()
}

/// Utilisation as a published convention counts it, over the same peak.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MfuBy {
    /// The convention.
    pub name: CountedBy,
    /// FLOPs of a token, forward and backward.
    pub flops_per_token: f64,
    /// TFLOP/s a GPU.
    pub tflops_per_gpu: f64,
    /// Model FLOPs a second over the peak.
    pub mfu: f64,
    /// FLOPs that it counts.
    pub counts: Message,
    /// Why it is above 1, where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Message>,
}

/// FLOPs of a step over what `gpus` could compute in its time at their peak.
pub(crate) fn utilisation<Q: Quantity>([flops, time, gpus, peak]: [Q; 4]) -> Q {
    flops / (time * gpus * peak)
}

/// Tokens of a step, a second and GPU.
pub(crate) fn token_rate<Q: Quantity>([tokens, time, gpus]: [Q; 3]) -> Q {
    tokens / (time * gpus)
}

/// Utilisation by every convention that covers the model, in a step of `time`.
fn mfu_by(scenario: &Scenario, time: Seconds, peak: ComputePeak) -> Vec<MfuBy> {
    let (seq, gpus) = (scenario.run.seq_len, scenario.busy_gpus() as f64);
    let one = |convention: &Convention| {
        let flops_per_token = convention.flops_per_token(&scenario.model, seq)?;
        let flops = flops_per_token * scenario.tokens_per_step();
        let mfu = utilisation([flops, time.0, gpus, peak.rate().0]);
        // All attention is computed by half of the square at most, windows and sparse keys by less.
        let note = (mfu > 1.0).then(|| t!("above 1: it counts attention that masks and windows leave out"));
        let counts = Message::plain(convention.remark);
        Some(MfuBy {
            name: convention.by,
            flops_per_token,
            tflops_per_gpu: flops / time.0 / gpus / 1e12,
            mfu,
            counts,
            note,
        })
    };
    CONVENTIONS.iter().filter_map(one).collect()
}

/// One step, in seconds and in what follows from them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The whole step.
    pub time_s: Seconds,
    /// Compute of the average rank.
    pub compute_s: Seconds,
    /// Waiting in the pipeline.
    pub bubble_s: Seconds,
    /// Communication that lengthens the step: the next two together.
    pub exposed_comm_s: Seconds,
    /// Communication that is not hidden.
    pub not_hidden_s: Seconds,
    /// Time by which hidden communication slows the compute beside it.
    pub slows_compute_s: Seconds,
    /// That time by parallelism: tensor, context, expert and data parallel.
    #[serde(skip)]
    pub slowed_by_s: [Seconds; 4],
    /// Time on the wire, by parallelism, of the messages of which the parts are exposed: those of the average rank, and
    /// after the last pass those of the slowest.
    #[serde(skip)]
    pub wires_s: [Seconds; 4],
    pub optimizer_s: Seconds,
    /// The path from ideal to actual; the parts sum to `time_s`.
    pub parts: Vec<Part>,
    /// The path from ideal to actual of each pipeline rank: in a report that is asked for, where the pipeline drains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_rank: Option<Vec<RankParts>>,
    /// Kernels of each pipeline rank by class and pass, with `by_rank`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernels: Option<Vec<RankKernels>>,
    /// `bubble_s` by its causes; set with `by_rank`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bubble: Option<BubbleShares>,
    /// Model FLOPs of the step over all GPUs.
    pub model_flops: f64,
    /// Model TFLOP/s a GPU.
    pub tflops_per_gpu: f64,
    /// Model FLOP/s over the peak.
    pub mfu: f64,
    /// FLOP/s that are executed, recomputation included, over the peak.
    pub hfu: f64,
    /// The peak that they are counted against.
    pub peak: ComputePeak,
    /// Utilisation by published conventions, over the same peak.
    pub mfu_by: Vec<MfuBy>,
    /// Time that the data loader adds.
    pub host_s: Seconds,
    /// Tokens a second over all GPUs.
    pub tokens_per_s: f64,
    /// Tokens a second and GPU.
    pub tokens_per_s_per_gpu: f64,
    /// The fast end of the range.
    pub low_s: Seconds,
    /// The slow end of the range.
    pub high_s: Seconds,
    /// The published runs behind the range, and its parts.
    pub range: RangeOf,
    /// Standard deviation of the logarithm of the time, where a profile has it: what the range then comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_sd: Option<f64>,
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
    pub fn new(scenario: &Scenario, parts: StepParts) -> Self {
        let run = &scenario.run;
        let gpus = scenario.busy_gpus() as f64;
        let exposed = parts.not_hidden + parts.slows;
        let busy = parts.compute + parts.bubble + exposed + parts.optimizer;
        let loading = Seconds(stage_loading(scenario));
        let host = with_loader(busy + loading, loader_floor(scenario)) - busy;
        let predicted = busy + host;
        let scale = run.measured_step_s.map(|measured| measured / predicted.0);
        let at = |seconds: Seconds| seconds * scale.unwrap_or(1.0);
        let time = at(predicted);
        let range = range(scenario);
        let model_flops = scenario.model_flops();
        let tokens_per_s = scenario.tokens_per_step() / time.0;
        let tflops_per_gpu = model_flops / time.0 / gpus / 1e12;
        let peak = ComputePeak::of(scenario);
        let mfu = utilisation([model_flops, time.0, gpus, peak.rate().0]);
        let days = run.tokens_total.map(|tokens| tokens / tokens_per_s / 86_400.0);
        let gpu_hours = days.map(|days| days * 24.0 * gpus);
        let mut step = Self {
            time_s: time,
            compute_s: at(parts.compute),
            bubble_s: at(parts.bubble),
            exposed_comm_s: at(exposed),
            not_hidden_s: at(parts.not_hidden),
            slows_compute_s: at(parts.slows),
            slowed_by_s: parts.slowed.map(at),
            wires_s: parts.wires.map(at),
            optimizer_s: at(parts.optimizer),
            parts: parts_of(scenario, &parts, host, scale.unwrap_or(1.0)),
            by_rank: None,
            kernels: None,
            bubble: None,
            model_flops,
            tflops_per_gpu,
            mfu,
            // Recomputation executes more than model FLOPs.
            hfu: mfu * (parts.compute / (parts.compute - parts.recompute)),
            peak,
            mfu_by: mfu_by(scenario, time, peak),
            host_s: at(host),
            tokens_per_s,
            tokens_per_s_per_gpu: token_rate([scenario.tokens_per_step(), time.0, gpus]),
            low_s: time,
            high_s: time,
            range: RangeOf::new(scenario, range, &[]),
            log_sd: None,
            days,
            gpu_hours,
            cost: gpu_hours.zip(run.own_price()).map(|(hours, price)| hours * price),
            rescaled_by: scale,
        };
        if scale.is_none() {
            (step.low_s, step.high_s) = step.ends(range.deviation());
        }
        step
    }

    /// Ends of a range whose logarithm has the standard deviation `sd`. The lower end is no shorter than the FLOPs of
    /// the step take at the peak of the data sheet.
    pub fn ends(&self, sd: f64) -> (Seconds, Seconds) {
        let ideal =
            self.parts.iter().find(|part| part.kind == PartKind::Ideal).map_or(Seconds(0.0), |part| part.seconds);
        let (low, high) = range_ends(sd);
        (Seconds((self.time_s * low).0.max(ideal.0)), self.time_s * high)
    }

    /// Standard deviation of the logarithm of the step, by the upper end of its range, which nothing bounds.
    pub fn deviation(&self) -> f64 {
        ln(self.high_s / self.time_s) / REACH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_never_shorter_than_its_data_loader() {
        for (busy, floor) in [(1.0, 0.0), (1.0, 0.5), (1.0, 1.0), (1.0, 4.0), (0.0, 1.0)] {
            let time = with_loader(Seconds(busy), Seconds(floor)).0;
            assert!(time >= busy.max(floor) && time <= 1.13 * busy.max(floor));
        }
        let far = with_loader(Seconds(1.0), Seconds(10.0)).0;
        assert!((far - 10.0).abs() < 1e-4);
    }
}
