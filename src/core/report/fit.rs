//! What would make a Run fit: the smallest changes that do, each with what it costs in time.
//!
//! Every setting that can help is a [`Ladder`]: its values from the smallest change to the largest. A [`Search`] climbs
//! each ladder to the first value that fits; where few single changes do, pairs are tried, then triples, more GPUs last.

mod ladders;
mod search;

pub use search::{Goal, Search};

use super::{Evaluation, evaluate};
use crate::issue::Fix;
use crate::memory::Verdict;
use crate::run::Run;
use crate::run::registry::{Slot, field};
use crate::units::{Bytes, Seconds};

/// A setting's values that may help, smallest change first: the fields to set, as a link writes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    /// The field.
    pub field: &'static str,
    /// Its rungs.
    pub rungs: Vec<Set>,
    /// Whether a higher rung never needs more memory, so that the first that fits can be bisected.
    pub monotone: bool,
}

/// Fields and values, as a link writes them.
pub type Set = Vec<(&'static str, String)>;

/// A change that works.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// What the button says and sets; the global batch too, where it had to follow.
    pub fix: Fix,
    /// How many settings were changed by choice.
    pub changes: usize,
    /// The fullest rank after it.
    pub peak: Bytes,
    /// What it is held against.
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

/// Evaluates `run`, with the global batch raised to the next that divides where it has to be.
fn mended(mut run: Run) -> Option<(Run, Evaluation)> {
    for _ in 0..3 {
        let issues = match evaluate(&run) {
            Ok(evaluation) => return Some((run, evaluation)),
            Err(issues) => issues,
        };
        let fix = match issues.as_slice() {
            [only] if only.field == "global_batch" => only.fix.as_ref()?,
            _ => return None,
        };
        run = run.with_texts(&fix.set)?;
    }
    None
}

/// What `set` does to the Run of `base`; none where it does not work, or does not reach `goal`.
fn judge(base: &Evaluation, set: &Set, changes: usize, goal: Goal) -> Option<Suggestion> {
    let before = &base.scenario.run;
    let mut fix = Fix {
        label: words(set).into(),
        set: set.clone(),
    };
    let (run, evaluation) = mended(before.with_texts(&fix.set)?)?;
    let memory = &evaluation.report.memory;
    let less = memory.peak_bytes.0 < base.report.memory.peak_bytes.0 * 0.99;
    let reached = memory.verdict == Verdict::Fits && (goal == Goal::Fits || less);
    if !reached || run == *before {
        return None;
    }
    let a_token = |one: &Evaluation| one.report.step.time_s.0 / one.report.layout.tokens_per_step;
    let slower = a_token(&evaluation) / a_token(base);
    let batch = (run.global_batch != before.global_batch).then_some(run.global_batch);
    if let Some(batch) = batch {
        fix.set.push(("global_batch", batch.to_string()));
    }
    Some(Suggestion {
        fix,
        changes,
        peak: memory.peak_bytes,
        capacity: memory.capacity_bytes,
        step: evaluation.report.step.time_s,
        slower,
        dearer: slower * run.gpus as f64 / before.gpus as f64,
        global_batch: batch,
    })
}

/// "TP 4, Recomputed layers 3": the fields in the form's own words.
fn words(set: &Set) -> String {
    let words: Vec<String> = set
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .filter_map(|(key, text)| {
            let field = field(key)?;
            let name = match field.symbol {
                "" | "b" => field.label,
                symbol => symbol,
            };
            let value = match &field.slot {
                Slot::Choice { options, .. } | Slot::Set { options, .. } => options()
                    .into_iter()
                    .find(|option| option.id == text)
                    .map_or(text.as_str(), |option| option.label)
                    .to_owned(),
                Slot::Toggle { .. } => if text == "true" { "on" } else { "off" }.to_owned(),
                _ => text.clone(),
            };
            Some(format!("{name} {value}"))
        })
        .collect();
    words.join(", ")
}
