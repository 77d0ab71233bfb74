//! Why a run is slower than predicted, or out of memory: what was measured of it beside the prediction.
//!
//! Evidence (a rank's trace, a job's operations, times of steps, a message of an allocator) becomes measured parts that
//! add up to the window, the predicted parts beside them, the differences, and causes by their seconds. File formats
//! are read elsewhere: `io/evidence`.

mod brief;
mod causes;
mod contradiction;
mod dimension;
mod example;
mod expected;
mod figures;
mod hypotheses;
mod lanes;
mod memory;
mod of_steps;
mod of_traces;
mod parts;
mod ranks;
mod remedies;
mod series;
mod timers;
mod trace;
mod trend;
mod two_runs;
mod waits;
mod workers;

pub use brief::{brief, of_brief, with_changes};
pub use causes::{
    Amounts, CauseId, Found, FoundCause, MessageRates, OtherChange, amounts, causes, explained, predicted_amounts,
    rates_of,
};
pub use contradiction::{contradict, work_of_other_settings};
pub use dimension::{Dimension, GroupSizes, ProcessGroup, described, dimension};
pub use example::{MadeDelays, data_parallel_seconds, example_trace, made_trace};
pub use expected::{ExpectedStep, StepShare, shares};
pub use figures::{COMPARED, FILES};
pub use hypotheses::{
    CountedAs, StatedUtilisation, counted, definition, faster_than_predicted, stated_settings, unlike, without_parts,
};
pub use lanes::{LaneKind, LaneSpan, MeasuredLanes, TraceLanes, seen};
pub use memory::{Fingerprint, MemoryFound, Moment, OutOfMemory, SizeReading, out_of_memory};
pub use of_steps::{of_numbered_series, of_series, of_steps_beside, printed_rate, utilisation_by};
pub use of_traces::{of_traces, of_traces_beside, of_two_traces, of_workers, without_profiler};
pub use parts::{Attribution, GapReason, GapSum, MeasuredPart, attribute};
pub use ranks::{CallTable, RankWaits, SeveralRanks, several};
pub use remedies::{Remedy, remedies};
pub use series::{RuledOut, SeriesPattern, StepSeries};
pub use timers::{TimerName, TimerTimes, by_timers};
pub use trace::{AttentionPass, GpuWork, Interval, RankTrace, StepMark, StepWindow, WorkKind};
pub use trend::{MemoryLine, MemoryTrend};
pub use two_runs::{RunTimes, gain_by_bubble, of_two_runs, per_microbatch};
pub use waits::{CallsOf, calls};
pub use workers::{WorkerOp, WorkerRatios, WorkerTimes};

use crate::advice::fit::shown;
use crate::issue::Issue;
use crate::message::Message;
use crate::run::registry::{BASED, field};
use crate::run::{Run, Value};
use crate::statics::named;
use crate::t;
use crate::time::{KernelClass, PartKind};
use crate::units::{Bytes, show_of_gpu};
use figures::of_files;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

named! {
    /// How a measured window may be compared with a prediction.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Comparison: name {
        /// Longer than the range of the prediction.
        Longer = "longer",
        /// Within the range: nothing to explain.
        Inside = "inside_the_range",
        /// Shorter than the range.
        Shorter = "shorter",
        /// A part of a step of this run, compared by what it holds.
        PartOfStep = "part_of_a_step",
        /// No step of this run: nothing is compared.
        AnotherRun = "not_of_this_run",
        /// The file has no order of events: sums alone.
        SumsOnly = "sums_only",
        /// Two runs of one program beside each other.
        TwoRuns = "two_runs",
        /// It is about memory.
        Memory = "memory",
    }
}

/// A part of the window, measured and predicted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartRow {
    pub rank: u64,
    pub name: StepShare,
    pub measured_ns: i64,
    /// None where nothing of it is predicted.
    pub predicted_s: Option<f64>,
}

/// Kernels of a class in the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelRow {
    pub class: KernelClass,
    pub count: u64,
    /// Time in which nothing of an earlier class runs; messages only while nothing computes.
    pub measured_ns: i64,
    pub median_ns: i64,
    pub predicted_s: Option<f64>,
}

/// Gaps of one reason.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GapRow {
    pub reason: GapReason,
    pub count: u64,
    pub measured_ns: i64,
    pub longest_ns: i64,
}

named! {
    /// A part of a step of reinforcement learning that its log times.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RlPart: name {
        Generation = "generation",
        /// All updates of the policy.
        Update = "update",
        /// New weights to the engines.
        Sync = "sync",
    }
}

/// A part of a step of reinforcement learning, measured and predicted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RlRow {
    pub name: RlPart,
    /// The median of the log's steps.
    pub measured_s: f64,
    /// None where the run on the page has no such step.
    pub predicted_s: Option<f64>,
    /// Measured over predicted.
    pub ratio: Option<f64>,
}

/// Messages of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRow {
    pub dimension: Dimension,
    pub kind: KernelClass,
    pub ranks: u64,
    pub count: u64,
    pub bytes: u64,
    pub measured_ns: i64,
    /// The part of that time in which the rank waits for another rank; none where it is not known.
    pub waiting_ns: Option<i64>,
    /// Bytes a second of the fastest call.
    pub bytes_per_s: Option<f64>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    pub errors: Vec<Issue>,
    pub warnings: Vec<Issue>,
    /// Sentences that say what was read from the file.
    pub read: Vec<Message>,
    pub comparison: Comparison,
    /// The verdict in a sentence.
    pub verdict: Message,
    pub window_ns: i64,
    pub rank: Option<u64>,
    /// True where the window is a whole step of this run.
    pub step: bool,
    /// Micro-batches in the window; none where they cannot be counted.
    pub microbatches: Option<f64>,
    /// The prediction of the window and its range, seconds.
    pub predicted_s: Option<f64>,
    pub low_s: Option<f64>,
    pub high_s: Option<f64>,
    /// Parts of each rank; those of a rank add up to its window.
    pub parts: Vec<PartRow>,
    pub kernels: Vec<KernelRow>,
    pub gaps: Vec<GapRow>,
    pub messages: Vec<MessageRow>,
    pub causes: Vec<FoundCause>,
    /// What to do about each part of the predicted step, the longest first; empty where no whole step is compared.
    pub remedies: Vec<Remedy>,
    /// Share of [`Self::difference_s`] that the causes explain, at most 1.
    pub explained: Option<f64>,
    /// Seconds by which the window is longer than what it is compared with, without what the profiler costs where that
    /// is known; none where causes have no seconds.
    #[serde(skip)]
    pub difference_s: Option<f64>,
    pub ranks: Option<SeveralRanks>,
    pub workers: Option<WorkerTimes>,
    pub series: Option<StepSeries>,
    pub memory: Option<MemoryFound>,
    /// Parts of a step of reinforcement learning; empty of other runs.
    pub rl: Vec<RlRow>,
    /// The predicted parts of a step, where only its whole was measured.
    #[serde(skip)]
    pub expected: BTreeMap<StepShare, f64>,
    /// What the predicted step of the whole layout is made of, seconds; empty where no whole step is compared.
    #[serde(skip)]
    pub made_of: Vec<(PartKind, f64)>,
    /// The run that was compared, where the files state another than the page's.
    #[serde(skip)]
    pub own: Option<Box<Run>>,
}

impl Diagnosis {
    /// True where the parts of the prediction are shown: those of a longer step that was measured part by part say
    /// more.
    pub fn shows_remedies(&self) -> bool {
        matches!(self.comparison, Comparison::Inside | Comparison::Shorter) || self.parts.is_empty()
    }

    /// The causes in the order of a list, each with its number there and its place in `causes`. Those that are alone
    /// not what the run failed of stand last and have no number.
    pub fn listed(&self) -> impl Iterator<Item = (Option<usize>, usize, &FoundCause)> {
        let all = || self.causes.iter().enumerate();
        let enough = all().filter(|(_, cause)| cause.missing.is_none());
        let enough = enough.enumerate().map(|(number, (at, cause))| (Some(number + 1), at, cause));
        enough.chain(all().filter(|(_, cause)| cause.missing.is_some()).map(|(at, cause)| (None, at, cause)))
    }

    /// Nothing known yet but how it is compared.
    pub fn empty(comparison: Comparison, verdict: Message) -> Self {
        Self {
            errors: Vec::new(),
            warnings: Vec::new(),
            read: Vec::new(),
            comparison,
            verdict,
            window_ns: 0,
            rank: None,
            step: false,
            microbatches: None,
            predicted_s: None,
            low_s: None,
            high_s: None,
            parts: Vec::new(),
            kernels: Vec::new(),
            gaps: Vec::new(),
            messages: Vec::new(),
            causes: Vec::new(),
            remedies: Vec::new(),
            explained: None,
            difference_s: None,
            ranks: None,
            workers: None,
            series: None,
            memory: None,
            rl: Vec::new(),
            expected: BTreeMap::new(),
            made_of: Vec::new(),
            own: None,
        }
    }

    /// Keeps the first of the causes of one name.
    pub fn name_causes_once(&mut self) {
        causes::first_of_each(&mut self.causes, |cause| cause.id);
    }

    /// The causes that the steps of a log exclude. None of them is in [`Self::causes`]: what other lines of the log
    /// measure is not excluded.
    pub fn ruled_out(&self) -> Vec<RuledOut> {
        let mut list = self.series.as_ref().map(StepSeries::ruled_out).unwrap_or_default();
        list.retain(|one| self.causes.iter().all(|cause| Some(cause.id) != one.id));
        list
    }
}

/// Settings of `run` that are not those of `other`, with their values.
pub fn differences(run: &Run, other: &Run) -> Vec<Message> {
    let setting = |(key, value): (String, String)| {
        // What is written whole, as software is where a part of it differs, has the base of both.
        if field(&key).is_some_and(|field| field.text(run) == field.text(other)) {
            return None;
        }
        // A model or GPU of its own has its sizes as fields of their own.
        if value.is_empty() && (key == "model" || key == "gpu" || key.strip_suffix(".base").is_some()) {
            return None;
        }
        let field = field(&key)?;
        let value = if value.is_empty() { t!("as the software does") } else { shown(field, &value) };
        Some(Message::joined(" ", [Message::plain(field.label), value]))
    };
    // What `other` sets of a preset that both have, and `run` leaves to it.
    let left_out = |(key, _): (String, String)| {
        let part = field(&key)?;
        let whole = field(part.key.split('.').next()?).filter(|whole| BASED.contains(&whole.key))?;
        let is_left = part.get(run) == Value::Null && part.get(other) != Value::Null;
        (is_left && whole.key != part.key && whole.get(run) == whole.get(other)).then(|| {
            let by = if whole.key == "stack" { t!("as the software does") } else { t!("as the preset has it") };
            Message::joined(" ", [Message::plain(part.label), by])
        })
    };
    let set = run.differences(other).into_iter().filter_map(setting);
    set.chain(other.differences(run).into_iter().filter_map(left_out)).collect()
}

/// Diagnoses a message of an allocator, compared with `run` where one was given.
pub fn of_memory(message: OutOfMemory, run: Option<&Run>) -> Diagnosis {
    let found = out_of_memory(message, run);
    let held = |what: &str, bytes: f64| of_files(what, show_of_gpu(Bytes(bytes)));
    let moment = found.message.moment.filter(|moment| *moment != Moment::Unknown).map(Moment::words);
    let verdict = match (found.message.asked, found.message.free, found.short) {
        (Some(asked), Some(free), Some(short)) => {
            let [short, asked, free] = [held("short", short), held("asked for", asked), held("free", free)];
            match moment {
                Some(moment) => t!(
                    "{short} short: {asked} were asked for, {free} were free, while {moment}.",
                    short,
                    asked,
                    free,
                    moment
                ),
                None => t!("{short} short: {asked} were asked for, {free} were free.", short, asked, free),
            }
        }
        (Some(asked), ..) => match moment {
            Some(moment) => t!("{asked} were asked for, while {moment}.", asked = held("asked for", asked), moment),
            None => t!("{asked} were asked for.", asked = held("asked for", asked)),
        },
        _ => match moment {
            Some(moment) => t!("The GPU ran out of memory, while {moment}.", moment),
            None => t!("The GPU ran out of memory."),
        },
    };
    let mut diagnosis = Diagnosis::empty(Comparison::Memory, verdict);
    diagnosis.rank = found.message.rank;
    diagnosis.read.push(match found.message.library {
        Some(library) => t!("A message of {library}.", library),
        None if found.message.driver_pool => t!("A message of cudaMallocAsync, whose pools PyTorch does not see."),
        None => t!("A message of PyTorch's allocator: the first of its kind in the text."),
    });
    if let Some(step) = found.message.step {
        diagnosis.read.push(t!("It failed at step {step}.", step));
    }
    diagnosis.read.extend(found.whose_prediction());
    match run {
        None => diagnosis.read.push(t!(
            "No run was given: nothing is predicted, and the causes are what the message itself shows. With the run \
                that failed each change is computed."
        )),
        Some(run) if found.need.is_none() => {
            diagnosis.warnings.push(Issue::warning("files", memory::not_compared(&found.message, run)));
        }
        Some(_) => {}
    }
    diagnosis.warnings.extend(found.message.doubt().map(|words| Issue::warning("files", words)));
    diagnosis.causes.clone_from(&found.causes);
    diagnosis.memory = Some(found);
    diagnosis
}
