//! Causes of the difference between a measured step and a predicted one, or one of another run. The seconds of a cause
//! are the time that was measured for it less the time that it takes in the prediction or in the other run.

use super::dimension::Dimension;
use super::expected::{ExpectedStep, StepShare};
use super::figures::{of_files, of_report, seconds_of_files, seconds_of_report, share_of_files};
use super::parts::{Attribution, GapReason, MeasuredPart};
use super::remedies::told_remedy;
use super::trace::RankTrace;
use super::waits::CallsOf;
use crate::message::Message;
use crate::run::Run;
use crate::sort::sort_by;
use crate::statics::named;
use crate::t;
use crate::time::{KernelClass, PartKind};
use crate::units::{Bytes, show_bandwidth, show_bytes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

named! {
    /// Causes of a longer step or of more memory; ids never change.
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
        /// Messages of which the trace does not tell the parallelism.
        GroupUnknown = "group-unknown",
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
        /// A limit below the memory of the GPU.
        MemoryLimit = "memory-limit",
        NeverFitted = "never-fitted",
        Evaluation = "evaluation",
        Context = "context",
    }
}

impl CauseId {
    /// True for messages beside which nothing computes.
    pub fn is_exposed(self) -> bool {
        matches!(
            self,
            Self::GradReduceLate
                | Self::ParamGatherExposed
                | Self::TpExposed
                | Self::CpExposed
                | Self::EpExposed
                | Self::GroupUnknown
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
            Self::GroupUnknown => t!("Collectives of an unknown group are not hidden"),
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
            Self::MemoryLimit => t!("A limit on the memory of the process"),
            Self::NeverFitted => t!("The run needs more than the GPU has"),
            Self::Evaluation => t!("Evaluation holds more than training"),
            Self::Context => t!("Memory outside PyTorch"),
        }
    }
}

/// One of several changes that remove a cause, each alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherChange {
    /// The change with what is predicted of it.
    pub change: Message,
    /// Fields and values that make it.
    pub set: Vec<(&'static str, String)>,
}

/// A cause, with its evidence and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundCause {
    pub id: CauseId,
    /// Seconds of the window that it takes; none for a cause of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Bytes of the GPU that it takes; none for a cause of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    pub title: Message,
    pub evidence: Message,
    /// The change that removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Message>,
    /// Fields and values that make the change on the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(&'static str, String)>,
    /// Other changes, each of which removes it as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherChange>,
    /// Changes of the run that were tried and are not enough alone, the largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_enough: Vec<OtherChange>,
    /// Bytes of the GPU that would still be missing without the cause: alone it is not what the run failed of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<f64>,
    /// The cheapest measurement that tells whether it is the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<Message>,
    /// Seconds of the window without it; where there is only a log, the step that is predicted with the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_s: Option<f64>,
    /// Seconds of a step that the calculator predicts for the run as it is, and with the fields of `set`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_s: Option<[f64; 2]>,
}

impl FoundCause {
    /// The cause `id` with its evidence; everything else is unset.
    pub fn new(id: CauseId, evidence: Message) -> Self {
        Self {
            id,
            seconds: None,
            bytes: None,
            title: id.title(),
            evidence,
            change: None,
            set: Vec::new(),
            others: Vec::new(),
            not_enough: Vec::new(),
            missing: None,
            measure: None,
            predicted_s: None,
            change_s: None,
        }
    }

    /// Its name in a list of causes: of one that is alone not what the run failed of, with that.
    pub fn listed_title(&self) -> Message {
        match self.missing {
            Some(_) => t!("{title}: not enough alone", title = &self.title),
            None => self.title.clone(),
        }
    }

    /// In words: the step without it, where its seconds are known.
    pub fn without_it(&self) -> Option<Message> {
        let seconds = self.predicted_s.filter(|_| self.seconds.is_some())?;
        Some(t!(
            "Without it the step would take {seconds}.",
            seconds = seconds_of_files(format!("step without {}", self.id.id()), seconds)
        ))
    }

    /// In words: the change. Of a setting in which the run that failed differs it is what that run had, which may need
    /// more than the page's.
    pub fn change_words(&self) -> Option<Message> {
        let change = self.change.as_ref()?;
        Some(if self.id == CauseId::AnotherSetting && self.bytes.is_some() {
            t!("To compare with what failed: {change}.", change)
        } else {
            t!("Change: {change}.", change)
        })
    }

    /// In words: each of the other changes.
    pub fn other_words(&self) -> impl Iterator<Item = Message> {
        self.others.iter().map(|other| t!("Or: {change}.", change = &other.change))
    }

    /// In words: each of the changes that are not enough.
    pub fn not_enough_words(&self) -> impl Iterator<Item = Message> {
        self.not_enough.iter().map(|tried| t!("Tried: {change}.", change = &tried.change))
    }

    /// In words: the steps that are predicted with and without the change.
    pub fn with_change(&self) -> Option<Message> {
        let [now, after] = self.change_s?;
        let now = seconds_of_report("step.time_s", now);
        let after = seconds_of_report(format!("step.time_s with {:?}", self.set), after);
        Some(t!("With the change the calculator predicts {after} for the run, {now} as it is.", after, now))
    }

    /// Sets [`Self::predicted_s`] to what is left of `window` seconds without the cause.
    pub(super) fn without(&mut self, window: f64) {
        self.predicted_s = self.seconds.map(|seconds| (window - seconds).max(0.0));
    }
}

/// Seconds of a window by cause and by the part of the step that they are in.
pub type Amounts = BTreeMap<(CauseId, StepShare), f64>;

/// The rate that calls of a parallelism and kind should reach: bytes of message a second.
pub type MessageRates = BTreeMap<(Dimension, KernelClass), f64>;

/// Calls below this share of the rate that they should reach count as slowed by the network. A choice: the calculator's
/// own error of bandwidths is smaller than the difference to 1.
const SLOW_RATE: f64 = 0.6;

/// The rates that `calls`, those of another run, reached.
pub fn rates_of(calls: &[CallsOf]) -> MessageRates {
    calls.iter().filter_map(|calls| Some(((calls.dimension, calls.class), calls.rate?))).collect()
}

/// Seconds of each cause in a window. `rates` are what messages should reach: the time of slower ones is divided
/// between the network and the cause of their being exposed.
pub fn amounts(
    attribution: &Attribution,
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
    for (part, ns) in &attribution.parts {
        let share = StepShare::of(*part, pipelined);
        match *part {
            MeasuredPart::Compute(_) => add(CauseId::SlowKernels, share, *ns),
            MeasuredPart::Exposed(Dimension::Pipeline, _) => add(CauseId::Bubble, share, *ns),
            MeasuredPart::Exposed(dimension, class) => {
                let of_part = || calls.iter().filter(|calls| (calls.dimension, calls.class) == (dimension, class));
                let waits = of_part().filter_map(|calls| calls.waiting).sum::<i64>().min(*ns);
                let waiting = if dimension == Dimension::Expert { CauseId::EpImbalance } else { CauseId::LateRank };
                add(waiting, share, waits);
                // Calls without a waiting time are too few: even the fastest of them may have waited.
                let reached = of_part().filter(|calls| calls.waiting.is_some()).filter_map(|calls| calls.rate);
                let reached = reached.max_by(f64::total_cmp);
                let share_of_rate = reached.zip(rates.get(&(dimension, class))).map(|(rate, should)| rate / should);
                let transfer = ns - waits;
                #[allow(clippy::cast_possible_truncation)] // a part of the nanoseconds
                let slow = share_of_rate
                    .filter(|share| *share < SLOW_RATE)
                    .map_or(0, |share| (transfer as f64 * (1.0 - share)) as i64);
                add(CauseId::SlowNetwork, share, slow);
                add(exposed_id(dimension, class), share, transfer - slow);
            }
            MeasuredPart::ExpertWait => add(CauseId::EpImbalance, share, *ns),
            // More than 1 GiB copied to the host counts as a checkpoint.
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

/// The cause for exposed messages of a parallelism and kind.
fn exposed_id(dimension: Dimension, class: KernelClass) -> CauseId {
    match (dimension, class) {
        (Dimension::Tensor, _) => CauseId::TpExposed,
        (Dimension::Context, _) => CauseId::CpExposed,
        (Dimension::Expert, _) | (Dimension::Other, KernelClass::AllToAll | KernelClass::SendRecv) => {
            CauseId::EpExposed
        }
        (Dimension::Other, _) => CauseId::GroupUnknown,
        (_, KernelClass::AllGather | KernelClass::Broadcast) => CauseId::ParamGatherExposed,
        _ => CauseId::GradReduceLate,
    }
}

/// Predicted seconds of each cause in `measured`. The time that is predicted for a part of the step is divided among
/// the causes in that part, in proportion to their measured seconds.
pub fn predicted_amounts(expected: &ExpectedStep, measured: &Amounts) -> Amounts {
    let mut amounts = Amounts::new();
    for ((id, share), seconds) in measured {
        let measured_share: f64 =
            measured.iter().filter(|((_, other), _)| other == share).map(|(_, seconds)| seconds).sum();
        let predicted = expected.shares.get(share).copied().unwrap_or(0.0);
        if measured_share > 0.0 {
            amounts.insert((*id, *share), predicted * seconds / measured_share);
        }
    }
    amounts
}

/// Keeps the first entry of each cause.
pub(super) fn first_of_each<Entry>(list: &mut Vec<Entry>, id: impl Fn(&Entry) -> CauseId) {
    let mut named = Vec::new();
    list.retain(|entry| {
        let is_new = !named.contains(&id(entry));
        named.push(id(entry));
        is_new
    });
}

/// Causes that take less than this share of the window are not listed, and not counted. A choice.
pub(super) const LEAST: f64 = 0.005;
/// Attention that takes this many times the predicted time counts as run by a slower kernel. A choice.
const FALLBACK: f64 = 1.5;

/// Measurements and predictions that the causes are derived from.
pub struct Found<'a> {
    pub trace: &'a RankTrace,
    pub parts: &'a Attribution,
    pub calls: &'a [CallsOf],
    /// The rates that messages should reach.
    pub rates: &'a MessageRates,
    pub run: &'a Run,
    /// Length of the window, seconds.
    pub window: f64,
    pub measured: &'a Amounts,
    /// Seconds that are predicted, or those of the run that it is compared with; empty without either.
    pub predicted: &'a Amounts,
    /// True if slow kernels may be a cause: the step is compared with that of another run, or is longer than predicted.
    pub compares: bool,
}

/// The causes by seconds, the largest first.
pub fn causes(found: &Found) -> Vec<FoundCause> {
    let mut all = Vec::new();
    for ((id, share), seconds) in found.measured {
        let predicted = found.predicted.get(&(*id, *share)).copied().unwrap_or(0.0);
        let effect = seconds - predicted;
        let needs_prediction = *id == CauseId::SlowKernels;
        if effect < LEAST * found.window || needs_prediction && !(found.compares && predicted > 0.0) {
            continue;
        }
        let slow_attention = *share == StepShare::Attention && *seconds > FALLBACK * predicted;
        let id = if *id == CauseId::SlowKernels && slow_attention { CauseId::AttentionFallback } else { *id };
        let mut cause = described(id, *share, found);
        cause.seconds = Some(effect);
        cause.evidence = if predicted > 0.0 {
            let field = format!("{} in {share:?}", id.id());
            let (measured, predicted) = (seconds_of_files(&field, *seconds), seconds_of_report(&field, predicted));
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

/// Evidence of a cause, the change that removes it, and a measurement that tells whether it is the cause.
type Words = (Message, Option<Message>, Option<Message>);

/// The cause `id` with its evidence, change and measurement; without seconds.
fn described(id: CauseId, share: StepShare, found: &Found) -> FoundCause {
    let (set, change_s, named) = tries(id, found.run);
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
            let copied = show_bytes(Bytes(found.trace.to_host_bytes as f64));
            let copied = of_files("copied to the host", copied);
            (t!("{copied} are copied to the host in this step.", copied), Some(t!("asynchronous saves")), None)
        }
        _ => exposed(id, share, found),
    };
    FoundCause { change: named.or(change), set, measure, change_s, ..FoundCause::new(id, evidence) }
}

/// Kernels that were launched too late.
fn host_late(found: &Found) -> Words {
    let late = [GapReason::HostLate, GapReason::Synchronised].map(|gap| found.parts.gaps.get(&gap).copied());
    let [late, synchronised] = late.map(Option::unwrap_or_default);
    let median = seconds_of_files("median kernel", found.parts.median_kernel as f64 * 1e-9);
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
    let longest = seconds_of_files("longest pause", (pauses.longest.1 - pauses.longest.0) as f64 * 1e-9);
    let evidence = match (pauses.count, pauses.silent) {
        (1, 0) => t!("One pause of {longest}, in which the CPU starts calls, but no kernel.", longest),
        (1, _) => t!("One pause of {longest}, in which the CPU starts no call.", longest),
        (count, silent) if silent == count => {
            t!("{count} pauses, the longest {longest}. The CPU starts no call in any of them.", count, longest)
        }
        (count, silent) => t!(
            "{count} pauses, the longest {longest}. In {silent} of them the CPU starts no call.",
            count,
            longest,
            silent
        ),
    };
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
        // What is set already is no change.
        CauseId::GradReduceLate if found.run.overlap.dp != Some(0.0) => (
            Some(t!("the run is set to reduce beside the backward pass: look at the trace whether it does. Smaller \
                    buckets (--ddp-bucket-size) begin earlier; under FSDP leave CUDA_DEVICE_MAX_CONNECTIONS unset")),
            None,
        ),
        CauseId::GradReduceLate => (
            Some(t!("reduce beside the backward pass: --overlap-grad-reduce; under FSDP leave \
                    CUDA_DEVICE_MAX_CONNECTIONS unset")),
            None,
        ),
        CauseId::ParamGatherExposed => {
            (Some(t!("gather beside compute: --overlap-param-gather, or prefetching of FSDP")), None)
        }
        CauseId::GroupUnknown => {
            (None, Some(t!("a trace whose calls name their process groups, as a newer PyTorch writes them: 5 min")))
        }
        CauseId::TpExposed => (Some(t!("overlap of tensor parallelism, or a smaller tensor-parallel size")), None),
        CauseId::CpExposed => (Some(t!("a smaller context-parallel size, or longer sequences a rank")), None),
        _ => (Some(t!("overlap of expert parallelism, or expert parallelism within a node")), None),
    };
    let evidence = match id {
        CauseId::SlowNetwork => Message::joined(" ", [messages, should_reach(found, dimension)]),
        CauseId::GroupUnknown => {
            let unknown =
                t!("The trace does not tell whether they are of tensor, context or data parallelism; the prediction \
                    beside them covers those of the three that the trace does not name.");
            Message::joined(" ", [messages, unknown])
        }
        _ => messages,
    };
    (evidence, change, measure)
}

/// Number of gaps with this reason.
fn gaps(found: &Found, reason: GapReason) -> u64 {
    found.parts.gaps.get(&reason).map_or(0, |gaps| gaps.count)
}

/// In words: number, time, rate and waiting of the calls of a parallelism.
fn messages(found: &Found, dimension: Dimension) -> Message {
    let calls = || found.calls.iter().filter(move |calls| calls.dimension == dimension);
    let count: u64 = calls().map(|calls| calls.count).sum();
    let total: i64 = calls().map(|calls| calls.total).sum();
    let waiting: i64 = calls().filter_map(|calls| calls.waiting).sum();
    let hidden = found.parts.messages.get(&dimension).copied().unwrap_or_default()
        - found.parts.sum(|part| matches!(part, MeasuredPart::Exposed(other, _) if other == dimension));
    let of = |what: &str| format!("calls of {}, {what}", dimension.name());
    let seconds = |what: &str, ns: i64| seconds_of_files(of(what), ns.max(0) as f64 * 1e-9);
    let mut parts = vec![t!(
        "{count} calls take {total}, {hidden} of it hidden behind compute.",
        count,
        total = seconds("in all", total),
        hidden = seconds("hidden", hidden)
    )];
    if waiting > 0 && total > 0 {
        let at_least = calls().any(|calls| calls.at_least);
        let share = share_of_files(of("waiting"), waiting as f64 / total as f64);
        parts.push(if at_least {
            t!("At least {share} of it is waiting for another rank.", share)
        } else {
            t!("{share} of it is waiting for another rank.", share)
        });
    }
    if let Some(rate) = calls().filter_map(|calls| calls.rate).max_by(f64::total_cmp) {
        parts.push(t!(
            "The fastest call moves {rate} of message.",
            rate = of_files(of("fastest"), show_bandwidth(rate))
        ));
    }
    Message::joined(" ", parts)
}

/// In words: the rate that the calls should reach.
fn should_reach(found: &Found, dimension: Dimension) -> Message {
    let rate = found.rates.iter().filter(|((other, _), _)| *other == dimension).map(|(_, rate)| *rate);
    let rate = rate.max_by(f64::total_cmp).unwrap_or(0.0);
    let field = format!("calls of {}, bound of the rate", dimension.name());
    t!("It should move {rate}.", rate = of_report(field, show_bandwidth(rate)))
}

/// Fields and values of a change, the predicted steps without and with it in seconds, and the change in words where it
/// is one that was chosen among several.
type TriedChange = (Vec<(&'static str, String)>, Option<[f64; 2]>, Option<Message>);

/// The part of the predicted step that a cause lengthens.
fn part_of(id: CauseId) -> Option<PartKind> {
    Some(match id {
        CauseId::Bubble => PartKind::Bubble,
        CauseId::TpExposed => PartKind::ExposedTp,
        CauseId::CpExposed => PartKind::ExposedCp,
        CauseId::EpExposed => PartKind::ExposedEp,
        CauseId::HostLate => PartKind::Launches,
        _ => return None,
    })
}

/// The change of a cause as fields and values of `run`; empty where the change is no field, is set already, does not
/// work or gains less than can be told.
fn tries(id: CauseId, run: &Run) -> TriedChange {
    let set: Vec<(&'static str, String)> = match id {
        // An overlap that was set by hand goes back to what the software does; it needs no memory.
        CauseId::GradReduceLate | CauseId::ParamGatherExposed if run.overlap.dp.is_some_and(|share| share < 0.5) => {
            vec![("overlap.dp", String::new())]
        }
        _ => {
            let remedy = part_of(id).and_then(|part| told_remedy(part, run));
            return remedy
                .map_or_else(TriedChange::default, |remedy| (remedy.set, remedy.change_s, Some(remedy.change)));
        }
    };
    let seconds = |run: &Run| crate::report::report(run).ok().map(|report| report.step.time_s.0);
    let run = &Run { measured_step_s: None, ..run.clone() };
    let after = run.with_texts(&set).filter(|after| after != run).and_then(|after| seconds(&after));
    match after {
        Some(after) => (set, seconds(run).map(|now| [now, after]), None),
        None => TriedChange::default(),
    }
}

/// Share of `difference`, measured less predicted seconds of a step, that the listed causes sum to.
pub fn explained(causes: &[FoundCause], difference: f64) -> Option<f64> {
    if difference <= 0.0 {
        return None;
    }
    let listed = causes.iter().filter_map(|cause| cause.seconds);
    Some((listed.sum::<f64>() / difference).min(1.0))
}
