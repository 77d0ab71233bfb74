//! Causes of a difference, by the seconds that each has: what was measured of it less what is predicted.

use super::dimension::Dimension;
use super::expected::{ExpectedStep, StepShare};
use super::parts::{Attribution, GapReason, MeasuredPart};
use super::trace::RankTrace;
use super::waits::CallsOf;
use crate::message::Message;
use crate::run::Run;
use crate::sort::sort_by;
use crate::statics::named;
use crate::t;
use crate::time::KernelClass;
use crate::units::{Seconds, show_bandwidth, show_percent, show_seconds};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

named! {
    /// What a step or a peak can be lengthened by; ids never change.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum CauseId: id {
        GradReduceLate = "grad-reduce-late",
        ParamGatherExposed = "param-gather-exposed",
        HostLate = "host-late",
        HostPause = "host-pause",
        LateRank = "late-rank",
        UnequalStages = "unequal-stages",
        UnequalLengths = "unequal-lengths",
        Bubble = "bubble",
        TpExposed = "tp-exposed",
        CpExposed = "cp-exposed",
        EpExposed = "ep-exposed",
        EpImbalance = "ep-imbalance",
        SlowNetwork = "slow-network",
        SlowKernels = "slow-kernels",
        AttentionFallback = "attention-fallback",
        Loader = "loader",
        Checkpoint = "checkpoint",
        Definition = "definition",
        AnotherSetting = "another-setting",
        Fragmentation = "fragmentation",
        LongestSample = "longest-sample",
        ExpertImbalance = "expert-imbalance",
        FirstOptimizerStep = "first-optimizer-step",
        Logits = "logits",
        RetainedGraph = "retained-graph",
        OtherProcess = "other-process",
        NeverFitted = "never-fitted",
        Evaluation = "evaluation",
        Context = "context",
    }
}

impl CauseId {
    /// True for messages that nothing hides.
    pub fn is_exposed(self) -> bool {
        matches!(
            self,
            Self::GradReduceLate | Self::ParamGatherExposed | Self::TpExposed | Self::CpExposed | Self::EpExposed
        )
    }

    /// Its name for people.
    pub fn title(self) -> Message {
        match self {
            Self::GradReduceLate => t!("Gradients are reduced while nothing else runs"),
            Self::ParamGatherExposed => t!("Weights are gathered while nothing else runs"),
            Self::HostLate => t!("The CPU launches kernels late"),
            Self::HostPause => t!("Pauses in which the CPU launches nothing"),
            Self::LateRank => t!("Messages wait for another rank"),
            Self::UnequalStages => t!("Pipeline stages take unequal time"),
            Self::UnequalLengths => t!("Micro-batches take unequal time"),
            Self::Bubble => t!("The rank waits for other pipeline ranks"),
            Self::TpExposed => t!("Tensor-parallel messages are not hidden"),
            Self::CpExposed => t!("Context-parallel messages are not hidden"),
            Self::EpExposed => t!("Messages of experts are not hidden"),
            Self::EpImbalance => t!("Expert ranks wait for one another"),
            Self::SlowNetwork => t!("Messages move slower than the links allow"),
            Self::SlowKernels => t!("Kernels take longer than predicted"),
            Self::AttentionFallback => t!("Attention runs on a slower kernel"),
            Self::Loader => t!("The data loader is late"),
            Self::Checkpoint => t!("A checkpoint is written"),
            Self::Definition => t!("The figure is counted in another way"),
            Self::AnotherSetting => t!("A setting of the run differs"),
            Self::Fragmentation => t!("Reserved memory that is not used"),
            Self::LongestSample => t!("A sample longer than the run states"),
            Self::ExpertImbalance => t!("More tokens on an expert than on average"),
            Self::FirstOptimizerStep => t!("Optimizer states are made for the first time"),
            Self::Logits => t!("Logits and loss"),
            Self::RetainedGraph => t!("Memory grows step by step"),
            Self::OtherProcess => t!("Another process holds memory"),
            Self::NeverFitted => t!("The run needs more than the GPU has"),
            Self::Evaluation => t!("Evaluation holds more than training"),
            Self::Context => t!("Memory outside PyTorch"),
        }
    }
}

/// A cause, with what shows it and what to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundCause {
    pub id: CauseId,
    /// Seconds of the window; none of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Bytes of the GPU; none of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    pub title: Message,
    pub evidence: Message,
    /// What removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Message>,
    /// Fields that try it on the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(&'static str, String)>,
    /// The cheapest measurement that settles it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<Message>,
    /// The window without it; of a log alone, what the calculator predicts with the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_s: Option<f64>,
    /// Seconds of a step that the calculator predicts for the run as it is, and with the fields of `set`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_s: Option<[f64; 2]>,
}

impl FoundCause {
    /// The cause `id` with what speaks for it, and nothing else known.
    pub fn new(id: CauseId, evidence: Message) -> Self {
        Self {
            id,
            seconds: None,
            bytes: None,
            title: id.title(),
            evidence,
            change: None,
            set: Vec::new(),
            measure: None,
            predicted_s: None,
            change_s: None,
        }
    }

    /// What the step would take without it, where its seconds are known.
    pub fn without_it(&self) -> Option<Message> {
        let seconds = self.predicted_s.filter(|_| self.seconds.is_some())?;
        Some(t!("Without it the step would take {seconds}.", seconds = show_seconds(Seconds(seconds))))
    }

    /// What the calculator predicts with the change.
    pub fn with_change(&self) -> Option<Message> {
        let [now, after] = self.change_s?.map(|seconds| show_seconds(Seconds(seconds)));
        Some(t!("With the change the calculator predicts {after} for the run, {now} as it is.", after, now))
    }

    /// With the step or window that is left of one of `window` seconds once the cause is gone.
    pub(super) fn without(&mut self, window: f64) {
        self.predicted_s = self.seconds.map(|seconds| (window - seconds).max(0.0));
    }
}

/// Seconds that each cause has in a window, with the share that they are part of.
pub type Amounts = BTreeMap<(CauseId, StepShare), f64>;

/// Bytes a second that calls of a parallelism and kind should move, of message.
pub type MessageRates = BTreeMap<(Dimension, KernelClass), f64>;

/// A call at less than this share of the rate that it should reach is slow by its network. A choice, wider than what
/// the calculator misses of bandwidths by itself.
const SLOW_RATE: f64 = 0.6;

/// The rates of another run's calls.
pub fn rates_of(calls: &[CallsOf]) -> MessageRates {
    calls.iter().filter_map(|calls| Some(((calls.dimension, calls.class), calls.rate?))).collect()
}

/// What a window holds of every cause; messages slower than `rates` are so by their network.
pub fn amounts(
    found: &Attribution,
    calls: &[CallsOf],
    trace: &RankTrace,
    pipelined: bool,
    rates: &MessageRates,
) -> Amounts {
    let mut sums = Amounts::new();
    let mut add = |id, share, ns: i64| {
        if ns > 0 {
            *sums.entry((id, share)).or_default() += ns as f64 * 1e-9;
        }
    };
    for (part, ns) in &found.parts {
        let share = StepShare::of(*part, pipelined);
        match *part {
            MeasuredPart::Compute(_) => add(CauseId::SlowKernels, share, *ns),
            MeasuredPart::Exposed(Dimension::Pipeline, _) => add(CauseId::Bubble, share, *ns),
            MeasuredPart::Exposed(dimension, class) => {
                let of = calls.iter().filter(|calls| calls.dimension == dimension && calls.class == class);
                let waits = of.filter_map(|calls| calls.waiting).sum::<i64>().min(*ns);
                let waiting = if dimension == Dimension::Expert { CauseId::EpImbalance } else { CauseId::LateRank };
                add(waiting, share, waits);
                // Of fewer calls the fastest may have waited.
                let told = calls.iter().filter(|calls| (calls.dimension, calls.class) == (dimension, class));
                let reached = told.filter(|calls| calls.waiting.is_some()).filter_map(|calls| calls.rate);
                let reached = reached.max_by(f64::total_cmp);
                let share_of_rate = reached.zip(rates.get(&(dimension, class))).map(|(rate, should)| rate / should);
                let own = ns - waits;
                #[allow(clippy::cast_possible_truncation)] // a part of the nanoseconds
                let slow = share_of_rate
                    .filter(|share| *share < SLOW_RATE)
                    .map_or(0, |share| (own as f64 * (1.0 - share)) as i64);
                add(CauseId::SlowNetwork, share, slow);
                add(exposed_id(dimension, class), share, own - slow);
            }
            MeasuredPart::ExpertWait => add(CauseId::EpImbalance, share, *ns),
            // Copies of weights to the host are a checkpoint.
            MeasuredPart::Transfers if trace.to_host_bytes > 1 << 30 => add(CauseId::Checkpoint, share, *ns),
            MeasuredPart::Transfers => {}
            MeasuredPart::Idle(gap) => match gap {
                GapReason::HostLate | GapReason::Synchronised => add(CauseId::HostLate, share, *ns),
                GapReason::HostPause => add(CauseId::HostPause, share, *ns),
                GapReason::Loader => add(CauseId::Loader, share, *ns),
                GapReason::Launched if pipelined => add(CauseId::Bubble, share, *ns),
                _ => {}
            },
        }
    }
    sums
}

/// The cause that exposed messages of a parallelism and kind are.
fn exposed_id(dimension: Dimension, class: KernelClass) -> CauseId {
    match (dimension, class) {
        (Dimension::Tensor, _) => CauseId::TpExposed,
        (Dimension::Context, _) => CauseId::CpExposed,
        (Dimension::Expert, _) | (Dimension::Other, KernelClass::AllToAll | KernelClass::SendRecv) => {
            CauseId::EpExposed
        }
        (_, KernelClass::AllGather | KernelClass::Broadcast) => CauseId::ParamGatherExposed,
        _ => CauseId::GradReduceLate,
    }
}

/// What a predicted step holds of every cause that was `measured`: the prediction of a share goes to the causes in it
/// in proportion to what was measured, so that only what is beyond it remains.
pub fn predicted_amounts(expected: &ExpectedStep, measured: &Amounts) -> Amounts {
    let mut amounts = Amounts::new();
    for ((id, share), seconds) in measured {
        let whole: f64 = measured.iter().filter(|((_, other), _)| other == share).map(|(_, seconds)| seconds).sum();
        let predicted = expected.shares.get(share).copied().unwrap_or(0.0);
        if whole > 0.0 {
            amounts.insert((*id, *share), predicted * seconds / whole);
        }
    }
    amounts
}

/// A cause below this share of the window is not told.
const LEAST: f64 = 0.005;
/// Attention that takes so much longer than predicted runs on another kernel.
const FALLBACK: f64 = 1.5;

/// What the causes are told from.
pub struct Found<'a> {
    pub trace: &'a RankTrace,
    pub parts: &'a Attribution,
    pub calls: &'a [CallsOf],
    /// What messages should move, bytes a second.
    pub rates: &'a MessageRates,
    pub run: &'a Run,
    /// Length of the window, seconds.
    pub window: f64,
    pub measured: &'a Amounts,
    /// What is predicted; empty where nothing can be compared.
    pub predicted: &'a Amounts,
    /// True where kernels are compared with a prediction, and the difference is not within its range.
    pub compares: bool,
}

/// The causes by seconds, the largest first.
pub fn causes(found: &Found) -> Vec<FoundCause> {
    let mut all = Vec::new();
    for ((id, share), seconds) in found.measured {
        let predicted = found.predicted.get(&(*id, *share)).copied().unwrap_or(0.0);
        let effect = seconds - predicted;
        let by_itself = *id != CauseId::SlowKernels;
        if effect < LEAST * found.window || !(by_itself || found.compares && predicted > 0.0) {
            continue;
        }
        let slow_attention = *share == StepShare::Attention && *seconds > FALLBACK * predicted;
        let id = if *id == CauseId::SlowKernels && slow_attention { CauseId::AttentionFallback } else { *id };
        let mut cause = told(id, *share, found);
        cause.seconds = Some(effect);
        cause.evidence = if predicted > 0.0 {
            let (measured, predicted) = (show_seconds(Seconds(*seconds)), show_seconds(Seconds(predicted)));
            t!("{evidence} Measured {measured}, predicted {predicted}.", evidence = cause.evidence, measured, predicted)
        } else {
            cause.evidence
        };
        cause.without(found.window);
        all.push(cause);
    }
    sort_by(&mut all, |a: &FoundCause, b| b.seconds.unwrap_or(0.0).total_cmp(&a.seconds.unwrap_or(0.0)));
    all
}

/// What is said of a cause: its evidence, what would change it, how to measure more.
type Words = (Message, Option<Message>, Option<Message>);

/// Evidence and change of one cause.
fn told(id: CauseId, share: StepShare, found: &Found) -> FoundCause {
    let (set, change_s) = tries(id, found.run);
    let (evidence, change, measure) = match id {
        CauseId::HostLate => host_late(found),
        CauseId::HostPause => host_pause(found),
        CauseId::Loader => (
            t!("{count} gaps in which the CPU waits for the data loader.", count = gaps(found, GapReason::Loader)),
            Some(t!("more workers, prefetching, data that is prepared before")),
            Some(t!("the same step with mock data: 5 min")),
        ),
        CauseId::SlowKernels | CauseId::AttentionFallback => slow_kernels(id, share),
        CauseId::Bubble => (
            t!("Receives of the pipeline and gaps behind kernels that were launched in time."),
            None,
            Some(t!("traces of the first and the last pipeline stage, one file a rank: 5 min")),
        ),
        CauseId::Checkpoint => {
            let copied = crate::units::show_bytes(crate::units::Bytes(found.trace.to_host_bytes as f64));
            (t!("{copied} are copied to the host in this step.", copied), Some(t!("asynchronous saves")), None)
        }
        _ => exposed(id, share, found),
    };
    FoundCause { change, set, measure, change_s, ..FoundCause::new(id, evidence) }
}

/// Kernels that were launched too late.
fn host_late(found: &Found) -> Words {
    let late = [GapReason::HostLate, GapReason::Synchronised].map(|gap| found.parts.gaps.get(&gap).copied());
    let [late, synchronised] = late.map(Option::unwrap_or_default);
    let median = show_seconds(Seconds(found.parts.median_kernel as f64 * 1e-9));
    let evidence = t!(
        "{count} gaps end with a kernel that was launched too late, {synchronised} of them after a call that \
            waits for the GPU; the median kernel takes {median}.",
        count = late.count + synchronised.count,
        synchronised = synchronised.count,
        median
    );
    let slower = found.trace.with_stacks;
    let measure = if slower {
        t!("profile again without stacks and shapes, which slow the CPU: 5 min")
    } else {
        t!("the same step with a micro-batch twice as large: time that does not grow is the CPU's, 10 min")
    };
    (evidence, Some(t!("CUDA graphs, a larger micro-batch, fewer reads of values (.item()) in a step")), Some(measure))
}

/// Long gaps, in some of which the CPU does nothing.
fn host_pause(found: &Found) -> Words {
    let pauses = found.parts.gaps.get(&GapReason::HostPause).copied().unwrap_or_default();
    let longest = show_seconds(Seconds((pauses.longest.1 - pauses.longest.0) as f64 * 1e-9));
    let evidence = t!(
        "Pauses of more than 10 ms: {count}, the longest {longest}; in {silent} of them no call of the CPU \
            begins.",
        count = pauses.count,
        longest,
        silent = pauses.silent
    );
    let measure = t!("gc.disable() and one collection every 100 steps: 5 min");
    (evidence, None, Some(measure))
}

/// Kernels of a part of the compute that are slower than predicted.
fn slow_kernels(id: CauseId, share: StepShare) -> Words {
    let words = match share {
        StepShare::Products => t!("matrix products"),
        StepShare::Attention => t!("attention"),
        StepShare::Optimizer => t!("the optimizer"),
        _ => t!("norms, elementwise kernels and copies"),
    };
    let measure = if id == CauseId::AttentionFallback {
        t!("read the name of the attention kernel in the trace: 1 min")
    } else {
        t!("read the clocks while it runs (nvidia-smi dmon), and time one product: 5 min")
    };
    (t!("This is time of {words}.", words), None, Some(measure))
}

/// Messages of a parallelism that the step waits for.
fn exposed(id: CauseId, share: StepShare, found: &Found) -> Words {
    let dimension = match share {
        StepShare::ExposedTp => Dimension::Tensor,
        StepShare::ExposedCp => Dimension::Context,
        StepShare::ExposedEp | StepShare::ExpertWaits => Dimension::Expert,
        StepShare::ExposedDp => Dimension::Data,
        _ => Dimension::Other,
    };
    let messages = messages(found, dimension);
    let (change, measure) = match id {
        CauseId::LateRank | CauseId::EpImbalance => {
            (None, Some(t!("traces of several ranks of the same step, one file a rank: 5 min")))
        }
        CauseId::SlowNetwork => (
            Some(t!(
                "the cards that NCCL uses (NCCL_DEBUG=INFO), RoCE or InfiniBand switched on, direct access to GPUs"
            )),
            Some(t!("nccl-tests on one node and on two: 10 min")),
        ),
        CauseId::GradReduceLate => (
            Some(t!("reduce beside the backward pass: --overlap-grad-reduce; under FSDP leave \
                    CUDA_DEVICE_MAX_CONNECTIONS unset")),
            None,
        ),
        CauseId::ParamGatherExposed => {
            (Some(t!("gather beside compute: --overlap-param-gather, or prefetching of FSDP")), None)
        }
        CauseId::TpExposed => (Some(t!("overlap of tensor parallelism, or a smaller tensor-parallel size")), None),
        CauseId::CpExposed => (Some(t!("a smaller context-parallel size, or longer sequences a rank")), None),
        _ => (Some(t!("overlap of expert parallelism, or expert parallelism within a node")), None),
    };
    let evidence = match id {
        CauseId::SlowNetwork => Message::joined(" ", [messages, should_reach(found, dimension)]),
        _ => messages,
    };
    (evidence, change, measure)
}

fn gaps(found: &Found, reason: GapReason) -> u64 {
    found.parts.gaps.get(&reason).map_or(0, |gaps| gaps.count)
}

/// Calls of a parallelism: how many, how long, how fast, how much of it waits.
fn messages(found: &Found, dimension: Dimension) -> Message {
    let of = || found.calls.iter().filter(move |calls| calls.dimension == dimension);
    let count: u64 = of().map(|calls| calls.count).sum();
    let total: i64 = of().map(|calls| calls.total).sum();
    let waiting: i64 = of().filter_map(|calls| calls.waiting).sum();
    let hidden = found.parts.messages.get(&dimension).copied().unwrap_or_default()
        - found.parts.sum(|part| matches!(part, MeasuredPart::Exposed(other, _) if other == dimension));
    let seconds = |ns: i64| show_seconds(Seconds(ns.max(0) as f64 * 1e-9));
    let mut parts = vec![t!(
        "{count} calls take {total}, {hidden} of it hidden behind compute.",
        count,
        total = seconds(total),
        hidden = seconds(hidden)
    )];
    if waiting > 0 && total > 0 {
        let at_least = of().any(|calls| calls.at_least);
        let share = show_percent(waiting as f64 / total as f64);
        parts.push(if at_least {
            t!("At least {share} of it is waiting for another rank.", share)
        } else {
            t!("{share} of it is waiting for another rank.", share)
        });
    }
    if let Some(rate) = of().filter_map(|calls| calls.rate).max_by(f64::total_cmp) {
        parts.push(t!("The fastest call moves {rate} of message.", rate = show_bandwidth(rate)));
    }
    Message::joined(" ", parts)
}

/// What the calls should move.
fn should_reach(found: &Found, dimension: Dimension) -> Message {
    let rate = found.rates.iter().filter(|((other, _), _)| *other == dimension).map(|(_, rate)| *rate);
    let rate = rate.max_by(f64::total_cmp).unwrap_or(0.0);
    t!("It should move {rate}.", rate = show_bandwidth(rate))
}

/// Fields that a change sets, and the steps that are predicted without and with it, seconds.
type TriedChange = (Vec<(&'static str, String)>, Option<[f64; 2]>);

/// Fields that try the change of a cause on `run`: those that change it and leave it working.
fn tries(id: CauseId, run: &Run) -> TriedChange {
    let set: Vec<(&'static str, String)> = match id {
        CauseId::GradReduceLate | CauseId::ParamGatherExposed if run.overlap.dp.is_some_and(|share| share < 0.5) => {
            vec![("overlap.dp", String::new())]
        }
        CauseId::HostLate if !run.graphs().any() => vec![("cuda_graphs", "true".to_owned())],
        CauseId::EpExposed if run.ep > 1 => vec![("ep_overlap", "true".to_owned())],
        _ => return TriedChange::default(),
    };
    let seconds = |run: &Run| crate::report::report(run).ok().map(|report| report.step.time_s.0);
    let run = &Run { measured_step_s: None, ..run.clone() };
    let after = run.with_texts(&set).filter(|after| after != run).and_then(|after| seconds(&after));
    match after {
        Some(after) => (set, seconds(run).map(|now| [now, after])),
        None => TriedChange::default(),
    }
}

/// Share of the difference that causes explain: each at most its part's difference, and only parts that differ by over
/// 2 % of the step.
pub fn explained(causes: &[FoundCause], difference: f64, step: f64) -> Option<f64> {
    if difference <= 0.0 {
        return None;
    }
    let counted = causes.iter().filter_map(|cause| cause.seconds).filter(|seconds| *seconds > 0.02 * step);
    Some((counted.sum::<f64>() / difference).min(1.0))
}
