//! What the calculator predicts for the rank and the window that were measured, by the same parts.

use super::causes::MessageRates;
use super::dimension::Dimension;
use super::parts::{Attribution, GapReason, MeasuredPart};
use super::waits::CallsOf;
use crate::issue::Issue;
use crate::report::{Evaluation, by_rank, evaluate};
use crate::run::{Recompute, Run};
use crate::statics::named;
use crate::time::{KernelClass, KernelPass, PartKind};
use crate::traffic::Traffic;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

named! {
    /// A part of a step that is both measured and predicted.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum StepShare: name {
        /// Matrix products, those of experts too.
        Products = "products",
        Attention = "attention",
        /// Norms, elementwise kernels, casts, copies, embedding and loss.
        Others = "other_kernels",
        Optimizer = "optimizer",
        /// Gaps in which the host launches too late.
        Launches = "launches",
        /// Waiting for other pipeline ranks.
        Bubble = "bubble",
        ExposedTp = "exposed_tp",
        ExposedCp = "exposed_cp",
        ExposedEp = "exposed_ep",
        ExposedDp = "exposed_dp",
        /// Messages of a group that is not known.
        ExposedOther = "exposed_other",
        /// Waits inside libraries of experts.
        ExpertWaits = "expert_waits",
        Loader = "loader",
        /// Pauses, copies, gaps without a known reason.
        Outside = "not_in_the_model",
    }
}

impl StepShare {
    /// The share that a measured part belongs to; `pipelined` where the Run has several pipeline ranks.
    pub fn of(part: MeasuredPart, pipelined: bool) -> Self {
        use KernelClass as C;
        match part {
            MeasuredPart::Compute(C::Products | C::Grouped) => Self::Products,
            MeasuredPart::Compute(C::Attention) => Self::Attention,
            MeasuredPart::Compute(C::Optimizer) => Self::Optimizer,
            MeasuredPart::Compute(_) => Self::Others,
            MeasuredPart::Exposed(dimension, _) => match dimension {
                Dimension::Tensor => Self::ExposedTp,
                Dimension::Context => Self::ExposedCp,
                Dimension::Expert => Self::ExposedEp,
                Dimension::Data => Self::ExposedDp,
                Dimension::Pipeline => Self::Bubble,
                Dimension::Other => Self::ExposedOther,
            },
            MeasuredPart::ExpertWait => Self::ExpertWaits,
            MeasuredPart::Idle(GapReason::HostLate | GapReason::Synchronised) => Self::Launches,
            MeasuredPart::Idle(GapReason::Loader) => Self::Loader,
            MeasuredPart::Idle(GapReason::Launched) if pipelined => Self::Bubble,
            MeasuredPart::Idle(_) | MeasuredPart::Transfers => Self::Outside,
        }
    }
}

/// The shares of a window; they add up to it.
pub fn shares(found: &Attribution, pipelined: bool) -> BTreeMap<StepShare, i64> {
    let mut sums = BTreeMap::new();
    for (part, ns) in &found.parts {
        *sums.entry(StepShare::of(*part, pipelined)).or_default() += ns;
    }
    sums
}

/// The step of one pipeline rank as it is predicted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpectedStep {
    /// Seconds by share.
    pub shares: BTreeMap<StepShare, f64>,
    /// Seconds of the parts of the whole layout's step, as the report has them.
    pub made_of: Vec<(PartKind, f64)>,
    /// Seconds of kernels by class; those of a share's classes add up to it.
    pub kernels: BTreeMap<KernelClass, f64>,
    /// The whole step, and its range.
    pub time: f64,
    pub low: f64,
    pub high: f64,
    /// Micro-batches of a step.
    pub microbatches: u64,
    /// Layers with attention on the rank.
    pub attention_layers: f64,
    /// Forward passes of attention that a micro-batch runs: 2 where the backward pass repeats it.
    pub forwards: f64,
    /// True where it is of a whole step.
    pub whole: bool,
    /// Bytes a second that a GPU sends in messages of each parallelism.
    pub rates: BTreeMap<Dimension, f64>,
}

impl ExpectedStep {
    /// The step with what is predicted of exposed messages that `measured` has only as of an unknown group, as of an
    /// unknown group too: whose messages they are is not told, so that neither stands without the other.
    #[must_use]
    pub fn with_unknown_groups(mut self, measured: &BTreeMap<StepShare, i64>) -> Self {
        let has = |share: StepShare| measured.get(&share).is_some_and(|ns| *ns > 0);
        if has(StepShare::ExposedOther) {
            for share in [StepShare::ExposedTp, StepShare::ExposedCp, StepShare::ExposedDp] {
                let seconds = self.shares.get(&share).copied().filter(|_| !has(share)).unwrap_or(0.0);
                if seconds > 0.0 {
                    self.shares.remove(&share);
                    *self.shares.entry(StepShare::ExposedOther).or_default() += seconds;
                }
            }
        }
        self
    }
}

/// Shares of exposed messages, each with its part of the step and its traffic.
const EXPOSED: [(StepShare, PartKind, &[Traffic]); 4] = [
    (StepShare::ExposedTp, PartKind::ExposedTp, &[Traffic::Tp]),
    (StepShare::ExposedCp, PartKind::ExposedCp, &[Traffic::Cp]),
    (StepShare::ExposedEp, PartKind::ExposedEp, &[Traffic::Ep]),
    (StepShare::ExposedDp, PartKind::ExposedDp, &[Traffic::Dp, Traffic::Zero3]),
];

/// Share of the exposed time of `traffic` by which hidden messages slow compute: it is measured as compute.
fn slowing(evaluation: &Evaluation, traffic: &[Traffic]) -> f64 {
    let rows = evaluation.report.overlap.iter().filter(|row| traffic.contains(&row.traffic));
    let (slows, exposed) =
        rows.fold((0.0, 0.0), |sums, row| (sums.0 + row.slows_compute_s.0, sums.1 + row.exposed_s.0));
    if exposed > 0.0 { slows / exposed } else { 0.0 }
}

/// Layers with attention on a pipeline rank.
fn attention_layers(evaluation: &Evaluation, rank: usize) -> f64 {
    let scenario = &evaluation.scenario;
    evaluation.loads.get(rank).map_or(0.0, |load| {
        let kinds = load.stages.iter().flat_map(|stage| scenario.kinds_on(*stage).to_vec());
        let counted = kinds.filter(|(kind, _)| scenario.model.attention_heads(kind.mixer).is_some());
        counted.map(|(_, count)| count as f64).sum()
    })
}

/// Bytes a second that messages of each parallelism are predicted to reach.
fn predicted_rates(evaluation: &Evaluation) -> BTreeMap<Dimension, f64> {
    let rates = evaluation.report.overlap.iter().filter_map(|row| {
        let dimension = match row.traffic {
            Traffic::Tp => Dimension::Tensor,
            Traffic::Cp => Dimension::Context,
            Traffic::Ep => Dimension::Expert,
            Traffic::Dp | Traffic::Zero3 => Dimension::Data,
            Traffic::Pp => return None,
        };
        Some((dimension, row.reached_bytes_per_s.filter(|rate| *rate > 0.0)?))
    });
    rates.collect()
}

impl ExpectedStep {
    /// The predicted step of `run` on pipeline rank `rank`.
    ///
    /// # Errors
    /// The settings of `run` that cannot work.
    pub fn of(run: &Run, rank: usize) -> Result<Self, Vec<Issue>> {
        let run = Run { measured_step_s: None, ..run.clone() };
        Ok(Self::of_evaluation(&evaluate(&run)?, rank))
    }

    pub(super) fn of_evaluation(evaluation: &Evaluation, rank: usize) -> Self {
        let (step, scenario) = (&evaluation.report.step, &evaluation.scenario);
        let single = by_rank(evaluation);
        let rank = rank.min(evaluation.loads.len().saturating_sub(1));
        let parts = single.as_ref().and_then(|single| single.parts.get(rank)).map_or(&step.parts, |rank| &rank.parts);
        let part = |kind: PartKind| parts.iter().find(|part| part.kind == kind).map_or(0.0, |part| part.seconds.0);
        let mut shares = BTreeMap::new();
        let mut slowed = 0.0;
        for (share, kind, traffic) in EXPOSED {
            let (seconds, slows) = (part(kind), slowing(evaluation, traffic));
            shares.insert(share, seconds * (1.0 - slows));
            slowed += seconds * slows;
        }
        let mut kernels: BTreeMap<KernelClass, f64> = BTreeMap::new();
        for kernel in single.iter().flat_map(|single| &single.kernels).filter(|kernel| kernel.rank == rank) {
            if kernel.pass != KernelPass::Step {
                *kernels.entry(kernel.class).or_default() += kernel.seconds.0;
            }
        }
        let compute = part(PartKind::Ideal) + part(PartKind::Kernels) + part(PartKind::Recompute);
        let of = |class: KernelClass| kernels.get(&class).copied().unwrap_or(0.0);
        let (products, attention) = (of(KernelClass::Products), of(KernelClass::Attention));
        // Passes side by side may take less than their kernels one by one.
        let together = if products + attention > 0.0 { products + attention } else { compute };
        let (products, attention) = if together > compute {
            (products * compute / together, attention * compute / together)
        } else {
            (products, attention)
        };
        shares.insert(StepShare::Products, products + slowed);
        shares.insert(StepShare::Attention, attention);
        shares.insert(StepShare::Others, (compute - products - attention).max(0.0));
        // What a hidden message slows is measured in the kernels beside it.
        of_share(&mut kernels, &[KernelClass::Products, KernelClass::Grouped], products + slowed);
        of_share(&mut kernels, &[KernelClass::Attention], attention);
        let rest = KernelClass::ALL.into_iter().filter(|class| of_class(*class) == Some(StepShare::Others));
        let others: Vec<KernelClass> = std::iter::once(KernelClass::Elementwise).chain(rest).collect();
        of_share(&mut kernels, &others, (compute - products - attention).max(0.0));
        shares.insert(StepShare::Launches, part(PartKind::Launches));
        shares.insert(StepShare::Bubble, part(PartKind::Bubble));
        shares.insert(StepShare::Optimizer, part(PartKind::Optimizer));
        of_share(&mut kernels, &[KernelClass::Optimizer], part(PartKind::Optimizer));
        shares.insert(StepShare::Loader, part(PartKind::Loader));
        let repeats = match scenario.run.recomputed() {
            Recompute::Full | Recompute::Selective => 2.0,
            _ => 1.0,
        };
        Self {
            rates: predicted_rates(evaluation),
            made_of: step.parts.iter().map(|part| (part.kind, part.seconds.0)).collect(),
            shares,
            kernels,
            time: step.time_s.0,
            low: step.low_s.0,
            high: step.high_s.0,
            microbatches: scenario.layout.microbatches,
            attention_layers: attention_layers(evaluation, rank),
            forwards: repeats,
            whole: true,
        }
    }

    /// Seconds by class of a share.
    pub(super) fn kernels_of(&self, share: StepShare) -> impl Iterator<Item = (KernelClass, f64)> {
        let own = self.kernels.iter().filter(move |(class, _)| of_class(**class) == Some(share));
        own.map(|(class, seconds)| (*class, *seconds))
    }

    /// Bytes a second of message that calls should move: a GPU sends 2 (n − 1) / n of the message of an all-reduce,
    /// (n − 1) / n of that of a gather or scatter (nccl-tests, doc/PERFORMANCE.md).
    pub fn message_rates(&self, calls: &[CallsOf]) -> MessageRates {
        let rates = calls.iter().filter_map(|calls| {
            let sent = self.rates.get(&calls.dimension)?;
            let others = if calls.ranks > 1 { 1.0 - 1.0 / calls.ranks as f64 } else { 1.0 };
            let factor = match calls.class {
                KernelClass::AllReduce => 2.0 * others,
                KernelClass::AllGather | KernelClass::ReduceScatter => others,
                // Who sends how much in other calls is not known.
                _ => return None,
            };
            Some(((calls.dimension, calls.class), sent / factor))
        });
        rates.collect()
    }

    /// The step for a window that holds `share` of a rank's work: what happens once a step and in fill and drain is
    /// left out.
    #[must_use]
    pub fn scaled(mut self, share: f64) -> Self {
        let once =
            [StepShare::Bubble, StepShare::Optimizer, StepShare::Loader, StepShare::ExposedDp, StepShare::Outside];
        for (kind, seconds) in &mut self.shares {
            *seconds *= if once.contains(kind) { 0.0 } else { share };
        }
        for (class, seconds) in &mut self.kernels {
            *seconds *= if of_class(*class).is_some_and(|own| once.contains(&own)) { 0.0 } else { share };
        }
        let time: f64 = self.shares.values().sum();
        let wide = |end: f64| time * end / self.time.max(f64::MIN_POSITIVE);
        (self.low, self.high) = (wide(self.low), wide(self.high));
        self.time = time;
        self.whole = false;
        self
    }
}

/// The share that kernels of `class` are part of; none of messages.
fn of_class(class: KernelClass) -> Option<StepShare> {
    (!class.is_message()).then(|| StepShare::of(MeasuredPart::Compute(class), false))
}

/// Stretches the seconds of `classes` so that they are `seconds` together; the first has all where none is known.
fn of_share(kernels: &mut BTreeMap<KernelClass, f64>, classes: &[KernelClass], seconds: f64) {
    let sum: f64 = kernels.iter().filter(|(class, _)| classes.contains(class)).map(|(_, seconds)| seconds).sum();
    if sum > 0.0 {
        let own = kernels.iter_mut().filter(|(class, _)| classes.contains(class));
        own.for_each(|(_, one)| *one *= seconds / sum);
    } else if let (Some(class), true) = (classes.first(), seconds > 0.0) {
        kernels.insert(*class, seconds);
    }
}
