//! Changes that make a Run fit: the smallest, each with its price in time.
//!
//! Every setting that can help is a `TrialValues`: its values from the smallest change to the largest. A [`FitSearch`]
//! climbs each ladder to the first value that fits; where few single changes do, pairs are tried, then triples, more
//! GPUs last. It works in slices of a budget, counted by the work of its candidates, and can be dropped between two.
//! Its [`Base`] and its [`Suggestions`] can be sent to another thread.

mod ladders;
mod search;

pub(crate) use ladders::shorter_sequences;
pub(crate) use search::FitGoal;
pub use search::{FitSearch, LIMIT};

use crate::issue::{Fix, Issue};
use crate::memory::{self, RankLoad, Verdict};
use crate::message::{Message, verbatim};
use crate::pipeline::spec::op_count;
use crate::pipeline::{Spec, preview};
use crate::report::schedule::{in_run, spec};
use crate::report::{Evaluation, evaluate};
use crate::run::registry::{Field, Slot, field};
use crate::run::{Method, Run, Scenario, Schedule};
use crate::t;
use crate::units::{Bytes, Seconds};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// A setting's values that may help, smallest change first: the fields to set, as a link writes them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrialValues {
    pub field: &'static str,
    pub rungs: Vec<Set>,
    /// True if a higher rung never needs more memory, so that the first that fits can be bisected.
    pub monotone: bool,
}

/// Fields and values, as a link writes them.
pub type Set = Vec<(&'static str, String)>;

/// Result of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Suggestions {
    /// The least GPU time a token first.
    pub list: Vec<Suggestion>,
    /// Something was not tried because it would have taken more work than is allowed.
    pub is_cut: bool,
}

/// A change that works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suggestion {
    /// The fields to set; the global batch last, where it had to follow.
    #[serde(deserialize_with = "known_fields")]
    pub set: Set,
    /// Number of settings that were changed by choice.
    pub changes: usize,
    /// The fullest rank after it.
    pub peak: Bytes,
    /// Memory that it is held against.
    pub capacity: Bytes,
    /// Step time after it.
    pub step: Seconds,
    /// Time a token over that of the Run: 1.1 is 10 % slower.
    pub slower: f64,
    /// GPU time a token over that of the Run: differs from `slower` where GPUs are added.
    pub dearer: f64,
    /// The global batch, where it had to follow the data-parallel size.
    pub global_batch: Option<u64>,
}

/// Units of work to understand a candidate, besides its stages.
const UNDERSTAND: u64 = 50;
/// Units of work of a report, besides its ops: a unit is about what one op takes.
const REPORT: u64 = 300;

/// Fields and values that came from another thread.
fn known_fields<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Set, D::Error> {
    let set = Vec::<(String, String)>::deserialize(deserializer)?.into_iter();
    let fields = set.map(|(key, text)| Some((field(&key)?.key, text)));
    fields.collect::<Option<Set>>().ok_or_else(|| D::Error::custom("no such field"))
}

impl Suggestion {
    /// "TP 4, Recomputed layers 3": what was chosen, in the form's own words.
    pub fn label(&self) -> Message {
        let chosen = self.set.len() - usize::from(self.global_batch.is_some());
        words(&self.set[..chosen])
    }
}

/// The Run that is to fit: what its candidates are compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Base {
    run: Run,
    peak: Bytes,
    seconds_a_token: f64,
    goal: FitGoal,
}

/// A candidate that may reach the goal, not yet simulated.
struct Candidate {
    run: Run,
    /// Units of work that its report takes.
    work: u64,
}

/// Fields that follow a change by themselves: the batch is raised to the next that divides, the host gets memory for
/// what is offloaded.
const FOLLOW: [&str; 2] = ["global_batch", "host_memory_gib"];

/// The meaning of `run` once the fields of [`FOLLOW`] are set as their fixes say, one after the other; none where
/// anything else is wrong.
pub(crate) fn followed(mut run: Run) -> Option<(Scenario, Spec)> {
    for _ in 0..3 {
        let issues = match foreseen(&run) {
            Ok(found) => return Some(found),
            Err(issues) => issues,
        };
        let fix = match issues.as_slice() {
            [only] if FOLLOW.contains(&only.field.as_str()) => only.fix.as_ref()?,
            _ => return None,
        };
        run = run.with_texts(&fix.set)?;
    }
    None
}

/// The meaning of `run` and the pipeline that it asks for, which nothing simulates yet.
///
/// # Errors
/// The settings that cannot work, those of the schedule among them.
fn foreseen(run: &Run) -> Result<(Scenario, Spec), Vec<Issue>> {
    let scenario = Scenario::new(run)?;
    let spec = spec(&scenario).map_err(|issue| vec![issue])?;
    match preview(&spec) {
        Ok(_) => Ok((scenario, spec)),
        Err(issue) => Err(vec![in_run(issue, &scenario)]),
    }
}

/// Units of work of a report on `spec`: its ops, times what it takes to lay one out. Orders of V schedules look over
/// the more slots the more ranks there are; orders that are made from durations are laid out several times.
fn work(spec: &Spec) -> u64 {
    let factor = match spec.schedule.kind {
        Schedule::VHalf | Schedule::VMin => 1 + u64::from(spec.pp) / 8,
        _ if spec.schedule.uses_durations => 16 * spec.schedule.work,
        _ => 1,
    };
    REPORT + op_count(spec).saturating_mul(factor)
}

/// The least memory of `scenario`, whatever its order: each stage by itself with the micro-batches that 1F1B and
/// `GPipe` have alive on it, one in other schedules. None where the method does not add up stage by stage.
fn least_memory(scenario: &Scenario, spec: &Spec) -> Option<memory::Estimate> {
    if scenario.run.memory_method != Method::Detailed {
        return None;
    }
    let m = scenario.layout.microbatches;
    let alive = |stage: usize| match scenario.run.schedule {
        Schedule::OneFOneB => m.min(scenario.layout.pp.saturating_sub(stage as u64)) as f64,
        Schedule::Gpipe => m as f64,
        _ => 1.0 / f64::from(spec.pieces()),
    };
    let load = |stage| RankLoad { stages: vec![stage], in_flight: vec![alive(stage)], weight_versions: 1 };
    let loads: Vec<RankLoad> = (0..scenario.stage_layers.len()).map(load).collect();
    Some(memory::estimate(scenario, &loads))
}

impl Base {
    /// The base for changes of an evaluated Run.
    pub fn of(evaluation: &Evaluation) -> Self {
        let report = &evaluation.report;
        let fits = report.memory.verdict == Verdict::Fits;
        Self {
            run: evaluation.scenario.run.clone(),
            peak: report.memory.peak_bytes,
            seconds_a_token: report.step.time_s.0 / report.layout.tokens_per_step,
            goal: if fits { FitGoal::Less } else { FitGoal::Fits },
        }
    }

    /// True if memory of this verdict and peak reaches the goal.
    fn reached(&self, verdict: Verdict, peak: Bytes) -> bool {
        verdict == Verdict::Fits && (self.goal == FitGoal::Fits || peak.0 < self.peak.0 * 0.99)
    }

    /// The Run with `set`, where it works and may reach the goal; and the units of work that it took to see that.
    fn candidate(&self, set: &Set) -> (Option<Candidate>, u64) {
        let after = self.run.with_texts(set);
        let Some((scenario, spec)) = after.and_then(followed) else {
            return (None, UNDERSTAND);
        };
        let seen = UNDERSTAND + scenario.stage_layers.len() as u64;
        let hopeless = least_memory(&scenario, &spec)
            .is_some_and(|least| !self.reached(least.verdict(), least.peak().1 * (1.0 - 1e-9)));
        if hopeless || scenario.run == self.run {
            return (None, seen);
        }
        let work = work(&spec);
        let run = scenario.run;
        (Some(Candidate { run, work }), seen)
    }

    /// The suggestion of a candidate with its price, where it reaches the goal; `set` holds its fields, the values of
    /// `changes` settings.
    fn judge(&self, candidate: Candidate, set: &Set, changes: usize) -> Option<Suggestion> {
        let (before, run) = (&self.run, candidate.run);
        let report = evaluate(&run).ok()?.report;
        // A run beyond its host's memory does not fit.
        if !self.reached(report.memory.overall(), report.memory.peak_bytes) {
            return None;
        }
        let mut set = set.clone();
        if let Some(gib) = run.host_memory_gib
            && run.host_memory_gib != before.host_memory_gib
        {
            set.push(("host_memory_gib", gib.to_string()));
        }
        let batch = (run.global_batch != before.global_batch).then_some(run.global_batch);
        if let Some(batch) = batch {
            set.push(("global_batch", batch.to_string()));
        }
        let slower = report.step.time_s.0 / report.layout.tokens_per_step / self.seconds_a_token;
        Some(Suggestion {
            set,
            changes,
            peak: report.memory.peak_bytes,
            capacity: report.memory.capacity_bytes,
            step: report.step.time_s,
            slower,
            dearer: slower * run.gpus as f64 / before.gpus as f64,
            global_batch: batch,
        })
    }
}

/// A value of `field`, as a link writes it, in the form's own words.
pub fn shown(field: &Field, text: &str) -> Message {
    match &field.slot {
        Slot::Choice { options, .. } | Slot::Set { options, .. } => options()
            .into_iter()
            .find(|option| option.id == text)
            .map_or_else(|| verbatim(text), |option| Message::plain(option.label)),
        Slot::Toggle => Message::plain(if text == "true" { "on" } else { "off" }),
        _ => verbatim(text),
    }
}

/// "Use 192 GPUs", "Set PP to 8": a fix in the form's own words, where it has none of its own.
pub fn label(fix: &Fix) -> Message {
    let one = |(key, text): &(&'static str, String)| {
        let Some(field) = field(key) else {
            return Message::default();
        };
        let name = called(field);
        match text.parse::<u64>() {
            _ if text.is_empty() => t!("Unset {name}", name),
            Ok(gpus) if *key == "gpus" => t!("Use {gpus} GPUs", gpus),
            Ok(count) => t!("Set {name} to {count}", name, count),
            Err(_) => t!("Set {name} to {value}", name, value = shown(field, text)),
        }
    };
    fix.label.clone().unwrap_or_else(|| Message::joined(", ", fix.set.iter().map(one)))
}

/// Fields and their values in the form's own words: "TP 4, Recomputed layers 3".
pub fn words(set: &[(&str, String)]) -> Message {
    let words = set.iter().filter(|(_, text)| !text.is_empty()).filter_map(|(key, text)| {
        let field = field(key)?;
        Some(Message::joined(" ", [called(field), shown(field, text)]))
    });
    Message::joined(", ", words)
}

/// A field in a sentence: its symbol, or its label where it has none of its own.
pub fn called(field: &Field) -> Message {
    if field.symbol.len() > 1 { verbatim(field.symbol) } else { Message::plain(field.label) }
}
