//! Single settings that would explain a run that stands out: a wrong layout is more often the reason than a wrong
//! constant.

use super::posterior::Posterior;
use crate::maths::exp;
use crate::message::{Message, verbatim};
use crate::report::evaluate_plain as evaluate;
use crate::run::registry::field;
use crate::run::{Profile, Run};
use crate::sort::sort_by;
use serde::{Deserialize, Serialize};

/// A change explains a figure that it brings this near.
const NEAR: f64 = 0.05;
/// Changes that are named at most.
const MAX_NAMED: usize = 3;

/// A change of one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspect {
    pub key: String,
    /// Its other value, as a link writes it.
    pub value: String,
    /// The model's prediction then, over what was measured.
    pub ratio: f64,
}

impl Suspect {
    /// "Recompute = full".
    pub fn text(&self) -> Message {
        let label = field(&self.key).map_or("", |field| field.label);
        Message::joined(" = ", [Message::plain(label), verbatim(self.value.clone())])
    }
}

/// Other values of settings that are often not what their owner thinks.
fn switches(run: &Run) -> Vec<(&'static str, String)> {
    let mut settings: Vec<(&'static str, String)> = Vec::new();
    let mut add = |key: &'static str, values: &[String]| {
        let now = field(key).and_then(|field| field.text(&run.resolved()));
        let others = values.iter().filter(|value| Some(*value) != now.as_ref());
        settings.extend(others.map(|value| (key, value.clone())));
    };
    let texts = |values: &[&str]| -> Vec<String> { values.iter().map(ToString::to_string).collect() };
    add("recompute", &texts(&["none", "selective", "full"]));
    add("zero", &texts(&["0", "1", "2", "3"]));
    let (micro, global) = (run.micro_batch, run.global_batch);
    let around = |value: u64| [value * 2, value / 2].map(|value| value.max(1).to_string());
    add("micro_batch", &around(micro));
    add("global_batch", &around(global));
    add("seq_len", &around(run.seq_len));
    add("sequence_parallel", &texts(&["true", "false"]));
    add("flash_attention", &texts(&["true", "false"]));
    add("cross_entropy", &texts(&["megatron", "megatron-fused", "te-fused"]));
    add("cuda_graphs", &texts(&["true", "false"]));
    add("precision", &texts(&["bf16", "bf16-fp32-grads", "te-fp8", "fp32"]));
    settings
}

/// The switches of `run` by which `figure` comes nearest to `measured`.
fn nearest(run: &Run, measured: f64, figure: impl Fn(&Run) -> Option<f64>) -> Vec<Suspect> {
    let mut found: Vec<Suspect> = switches(run)
        .into_iter()
        .filter_map(|(key, value)| {
            let other = run.with_texts(&[(key, value.clone())])?;
            let ratio = figure(&other)? / measured;
            ((ratio - 1.0).abs() < NEAR).then_some(Suspect { key: key.to_owned(), value, ratio })
        })
        .collect();
    sort_by(&mut found, |a, b| (a.ratio - 1.0).abs().total_cmp(&(b.ratio - 1.0).abs()));
    found.truncate(MAX_NAMED);
    found
}

/// Finds settings that would explain a step of `measured` seconds, given the multipliers that the other runs teach.
pub(super) fn suspects_of_step(run: &Run, others: &Posterior, measured: f64) -> Vec<Suspect> {
    let learned = Profile { means: Some(others.mean.iter().map(|log| exp(*log)).collect()), ..Profile::default() };
    nearest(run, measured, |run| {
        let run = Run { profile: learned.clone(), measured_step_s: None, ..run.clone() };
        let report = evaluate(&run).ok()?.report;
        Some(report.step.time_s.0)
    })
}

/// Finds settings that would explain `gib` of allocated memory.
pub(super) fn suspects_of_memory(run: &Run, gib: f64) -> Vec<Suspect> {
    nearest(run, gib, |run| Some(super::components::allocated(run).ok()?.gib()))
}
