//! The one answer: a Run's memory, pipeline, overlap and step time, in the names that the JSON
//! answer has (`src/web/javascript/api.d.ts`).
//!
//! The only place where memory, pipeline, traffic and time meet: `evaluate.rs` hands each what it needs of the others,
//! as numbers.

mod best_split;
mod by_rank;
mod confidence;
mod draft;
mod effort;
mod evaluate;
mod evaluation;
mod explain;
mod layer_splits;
pub mod lengths;
mod loads;
mod mend;
pub mod methods;
mod microbatch;
mod offload;
mod open;
pub mod over_time;
pub(crate) mod passes;
mod reduction;
pub(crate) mod schedule;
mod step;
pub mod sync;
mod tower;
mod variant;
mod warnings;

pub use crate::time::FOUR_OF_FIVE;
pub(crate) use best_split::{SplitSeeds, set_best, split_seeds};
pub use by_rank::{StepByRank, by_rank};
pub(crate) use confidence::nudged;
pub use draft::Timed;
pub use effort::{MAX_OPS_AT_ONCE, needs_worker, work};
pub(crate) use effort::{effort, effort_of};
pub use evaluate::{evaluate, evaluate_plain, evaluate_scenario, evaluate_timed, time};
pub use evaluation::Evaluation;
pub use explain::{Figure, explain};
pub use layer_splits::{LayerSplits, Pair, SplitFigures, SplitOrigin};
pub use lengths::{LengthsReport, ReplicasWait};
pub use microbatch::{
    DrawnPass, MicrobatchWaits, PassMessages, PassPart, PassParts, PassWork, StageMessages, microbatch_waits,
    stage_messages,
};
pub use offload::{OffloadStep, copy_rate};
pub use open::{EXPERTS_BESIDE, WHOLE_GRAPHS};
pub(crate) use passes::{LayerPass, exposed_more};
pub use passes::{PairingChange, windows};
pub use step::rank_overlaps;
pub use tower::TowerReport;
pub use variant::{SHOWN_CHUNKS, ScheduleVariant, memory_limit, schedule_ids, with_schedule};

use crate::issue::Issue;
use crate::memory::host::HostMemory;
use crate::memory::phases::Phase;
use crate::memory::verdict::Chance;
use crate::memory::{StageMemory, Verdict};
use crate::run::{OneOf, Run, Schedule};
use crate::time::Step;
use crate::traffic::OverlapRow;
use crate::units::{Bytes, MemoryUnit, Seconds};
use serde::{Deserialize, Serialize};

/// Everything the page shows of a Run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Empty here: a Run with errors has no report.
    pub errors: Vec<Issue>,
    /// Settings that work but are doubtful.
    pub warnings: Vec<Issue>,
    /// Derived sizes.
    pub layout: LayoutReport,
    /// Parameters, elements.
    pub parameters: Parameters,
    /// Memory by pipeline rank.
    pub memory: Memory,
    /// The simulated schedule.
    pub pipeline: Pipeline,
    /// Communication against the compute that may hide it.
    pub overlap: Vec<OverlapRow>,
    pub step: Step,
    /// The vision tower, where it has ranks of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tower: Option<TowerReport>,
    /// Effect of samples of unequal length, where the run has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengths: Option<LengthsReport>,
    /// Traffic over the link to the host, where something is offloaded; its exposed part is in `optimizer_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offload: Option<OffloadStep>,
    /// Splits of the layers over the stages, where there are several: of an `answer` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uneven: Option<LayerSplits>,
}

/// Derived sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayoutReport {
    /// Data-parallel size.
    pub dp: u64,
    /// Micro-batches a step and rank.
    pub microbatches: u64,
    /// Tokens a step over all ranks.
    pub tokens_per_step: f64,
}

/// Parameters, elements.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameters {
    /// Parameters of the whole model, multi-token prediction included.
    pub total: u64,
    /// Visited by one token.
    pub active: u64,
    /// Parameters of the whole model without multi-token prediction.
    pub without_mtp: u64,
    /// Parameters on one GPU of each pipeline rank before ZeRO, with the rows that pad the vocabulary.
    pub per_stage: Vec<f64>,
}

/// Memory by pipeline rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Memory {
    /// The method's id.
    pub method: &'static str,
    /// One entry a pipeline rank.
    pub per_stage: Vec<StageMemory>,
    /// The fullest rank.
    pub peak_stage: usize,
    pub peak_bytes: Bytes,
    /// Memory that they are held against.
    pub capacity_bytes: Bytes,
    /// Least need of the fullest rank, in view of measured runs.
    pub need_low_bytes: Bytes,
    /// Need by the estimate, process and fragmentation included.
    pub need_bytes: Bytes,
    /// Largest need, in view of measured runs.
    pub need_high_bytes: Bytes,
    /// Fits, tight or out of memory: all, some or none of that range is within the capacity.
    pub verdict: Verdict,
    /// Outcomes of the measured runs with this verdict.
    pub chance: Chance,
    /// Memory of the fullest GPU in each phase of reinforcement learning; the largest is the peak.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// Memory of a node's host, where something is offloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostMemory>,
}

impl Memory {
    /// Memory at the peak: the largest phase, else the fullest rank.
    pub fn fullest(&self) -> Option<&StageMemory> {
        let phases = self.phases.iter().map(|phase| &phase.memory);
        let mut candidates = phases.chain(self.per_stage.get(self.peak_stage));
        candidates.find(|memory| memory.total == self.peak_bytes)
    }
    /// The largest phase, where there are phases.
    pub fn peak_phase(&self) -> Option<&Phase> {
        let mut phases = self.phases.iter();
        phases.find(|phase| phase.memory.total == self.peak_bytes)
    }
    /// The verdict of the GPUs and of the host, whichever is worse: the one rule of what is proposed.
    pub fn overall(&self) -> Verdict {
        let host = self.host.as_ref().and_then(|host| host.verdict);
        self.verdict.max(host.unwrap_or(Verdict::Fits))
    }
    /// True if the fullest rank is tight and its estimate above the memory.
    pub fn may_run_out(&self) -> bool {
        self.peak().may_run_out()
    }
    /// The fullest rank.
    pub fn peak(&self) -> Peak {
        Peak {
            rank: self.peak_stage,
            bytes: self.peak_bytes,
            capacity: self.capacity_bytes,
            need: self.need_bytes,
            high: self.need_high_bytes,
            verdict: self.verdict,
            overall: self.overall(),
            chance: self.chance,
        }
    }
}

/// Memory of the fullest rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// Its pipeline rank.
    pub rank: usize,
    /// Bytes that it holds.
    pub bytes: Bytes,
    /// Memory that it has.
    pub capacity: Bytes,
    /// Need by the estimate, process and fragmentation included.
    pub need: Bytes,
    /// Largest need, in view of measured runs.
    pub high: Bytes,
    /// Fits, tight or out of memory.
    pub verdict: Verdict,
    /// The worse of the GPU's verdict and the host's.
    pub overall: Verdict,
    /// Outcomes of the measured runs with this verdict.
    pub chance: Chance,
}

impl Peak {
    /// True if it is tight and its estimate above the memory.
    pub fn may_run_out(&self) -> bool {
        self.verdict.may_run_out(self.bytes, self.capacity)
    }

    /// What the rank holds where that is beyond its capacity; where it is not, its need at the end of the range that
    /// gives the verdict.
    fn most(&self) -> Bytes {
        match self.verdict {
            Verdict::Fits => self.capacity,
            Verdict::Oom if self.bytes > self.capacity => self.bytes,
            Verdict::Tight | Verdict::Oom => self.high,
        }
    }

    /// Memory that is missing.
    pub fn missing(&self) -> Bytes {
        Bytes((self.most() - self.capacity).0.max(0.0))
    }

    /// Memory that is missing, as the difference of the figures that are printed.
    pub fn missing_words(&self, unit: MemoryUnit) -> String {
        unit.beyond(self.most(), self.capacity)
    }
}

/// Writes a schedule as its id.
#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde calls
fn as_id<S: serde::Serializer>(schedule: &Schedule, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(schedule.id())
}

/// The simulated schedule; of one that never drains, its steady state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pipeline {
    #[serde(serialize_with = "as_id")]
    pub schedule: Schedule,
    /// First start to last end; in a steady state from one step to the next.
    pub makespan_s: Seconds,
    /// Until the last rank starts, where that happens once in a training: of a schedule that never drains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill_s: Option<Seconds>,
    /// From the last rank's end to that of the first, where that happens once in a training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_s: Option<Seconds>,
    /// Mean busy time of a rank.
    pub ideal_s: Seconds,
    /// Idle over total time.
    pub bubble_fraction: f64,
    /// Idle over ideal time.
    pub bubble_over_ideal: f64,
    /// Idle between a rank's first and last op, over ideal time.
    pub bubble_span: f64,
    /// Chunk activations that each rank holds at most.
    pub peak_in_flight: Vec<u32>,
    /// Copies of the weights on each rank.
    pub weight_copies: Vec<u32>,
}

/// The response to a Run with errors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    /// Errors, field by field.
    pub errors: Vec<Issue>,
}

/// A report, or the reasons why there is none.
pub type Reported = Result<Report, Refusal>;

/// The report of a Run.
///
/// # Errors
/// The settings that cannot work, with what would.
pub fn report(run: &Run) -> Reported {
    evaluate(run).map(|evaluation| evaluation.report).map_err(|errors| Refusal { errors })
}

/// The report of one of many Runs that are compared: its range has neither new ground nor open settings in it, which
/// take evaluations of their own.
///
/// # Errors
/// As [`report`].
pub(crate) fn plain_report(run: &Run) -> Reported {
    evaluate_plain(run).map(|evaluation| evaluation.report).map_err(|errors| Refusal { errors })
}
