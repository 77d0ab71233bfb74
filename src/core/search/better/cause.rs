//! Why a layout does better: the part that shrinks most, before and after.

use crate::memory::Component;
use crate::report::Report;
use crate::run::Run;
use crate::sort::sort_by;
use crate::time::PartKind;
use serde::{Deserialize, Serialize};

/// The advantage of a proposed Run over the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gain {
    /// Less time.
    Time,
    /// Less memory on the fullest GPU.
    Memory,
    /// Fewer GPUs, and fewer GPU-hours a token.
    Gpus,
    /// Less time, by less than the error of a difference between two layouts.
    Equal,
    /// Less time a token with a larger batch in the same layout, where the pipeline has few micro-batches.
    Batch,
    /// Less time with other layers a stage, in the same layout otherwise.
    Split,
    /// Less time with activations in the host's memory, for a fine-tuning Run that fits.
    Hosted,
    /// The fastest layout that fits, for a Run that does not fit.
    Fits,
    /// The smallest change that fits, for a Run that does not fit.
    Change,
    /// The longest sequence that fits in the layout of a Run that does not fit.
    Length,
    /// LoRA or `QLoRA` at a length that fits, for a Run that does not fit.
    Adapter,
    /// Activations in the host's memory, for a fine-tuning Run of which no layout fits.
    Offload,
    /// The fewest GPUs on which a layout fits, for a Run that does not fit.
    Fewest,
}

impl Gain {
    /// True of what makes a Run fit that does not.
    pub fn is_way_to_fit(self) -> bool {
        matches!(self, Self::Fits | Self::Change | Self::Length | Self::Adapter | Self::Offload | Self::Fewest)
    }
}

/// A quantity that shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reason {
    /// A part of the step, seconds; of the bubble, the idle share of the ranks' time.
    Part(PartKind),
    /// A part of the step as a share of it: where the number of GPUs changes, and with it what a second costs.
    Share(PartKind),
    /// A part of the memory of the fullest GPU, bytes.
    Memory(Component),
}

/// A quantity before and after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// The loss that shrinks.
    pub reason: Reason,
    /// Its value in the Run's own layout.
    pub before: f64,
    /// Its value in the other.
    pub after: f64,
    /// Data-parallel size and micro-batches a pipeline, before and after.
    pub pipelines: [(u64, u64); 2],
}

impl Cause {
    /// The largest reason for `gain`; none where nothing shrinks.
    pub(super) fn of(gain: Gain, before: (&Run, &Report), after: (&Run, &Report)) -> Option<Self> {
        let (reason, values) = match gain {
            Gain::Time | Gain::Equal | Gain::Split | Gain::Hosted => time(before.1, after.1, false)?,
            // A step on fewer GPUs is longer: its parts are compared as shares.
            Gain::Gpus => time(before.1, after.1, true)?,
            // The first of what a card of a larger batch says that it saves.
            Gain::Batch => {
                let saved = saved_parts(before, after).into_iter();
                saved
                    .map(|(kind, _)| shown(kind, before.1, after.1, true))
                    .find(|(_, [before, after])| before > after)?
            }
            _ => memory(before.1, after.1)?,
        };
        let pipelines = [before, after].map(|(_, report)| (report.layout.dp, report.layout.microbatches));
        Some(Self { reason, before: values[0], after: values[1], pipelines })
    }
}

/// Seconds of the parts of a step that are of `kind`.
fn seconds(report: &Report, kind: PartKind) -> f64 {
    report.step.parts.iter().filter(|part| part.kind == kind).map(|part| part.seconds.0).sum()
}

/// The kinds of parts of a step but the ideal, which follows from the others where they are shares.
fn kinds(report: &Report) -> impl Iterator<Item = PartKind> {
    report.step.parts.iter().map(|part| part.kind).filter(|kind| *kind != PartKind::Ideal)
}

/// The part of the step that shrinks most, in time or as a share of it.
fn time(before: &Report, after: &Report, share: bool) -> Option<(Reason, [f64; 2])> {
    let value = |report: &Report, kind: PartKind| -> f64 {
        let seconds = seconds(report, kind);
        if share { seconds / report.step.time_s.0 } else { seconds }
    };
    let pairs = kinds(before).map(|kind| (kind, [value(before, kind), value(after, kind)]));
    let most = pairs.max_by(|(_, a), (_, b)| (a[0] - a[1]).total_cmp(&(b[0] - b[1])));
    let (kind, _) = most.filter(|(_, [before, after])| before > after)?;
    Some(shown(kind, before, after, share))
}

/// The part `kind` of a step as it is shown, in time or as a share, before and after.
fn shown(kind: PartKind, before: &Report, after: &Report, share: bool) -> (Reason, [f64; 2]) {
    let bubble = [before, after].map(|report| report.pipeline.bubble_fraction);
    let of_step = || [before, after].map(|report| seconds(report, kind) / report.step.time_s.0);
    match kind {
        // The bubble as the pictures show it, the idle share of the ranks' time, where that shrinks too.
        PartKind::Bubble if bubble[0] > bubble[1] => (Reason::Part(kind), bubble),
        PartKind::Bubble => (Reason::Share(kind), of_step()),
        _ if share => (Reason::Share(kind), of_step()),
        _ => (Reason::Part(kind), [before, after].map(|report| seconds(report, kind))),
    }
}

/// Share of what a larger batch saves from which on a part of the step is named. A choice.
const NAMED: f64 = 0.05;

/// The parts of the step of `before` that take less time for as many tokens in `after`, the same Run with a larger
/// batch: each with its share of what they save together, the largest first.
pub(super) fn saved_parts(before: (&Run, &Report), after: (&Run, &Report)) -> Vec<(PartKind, f64)> {
    let times = after.0.global_batch as f64 / before.0.global_batch as f64;
    let saves = |kind: PartKind| (kind, seconds(before.1, kind) - seconds(after.1, kind) / times);
    let mut saved: Vec<(PartKind, f64)> = kinds(before.1).map(saves).filter(|(_, saves)| *saves > 0.0).collect();
    let all: f64 = saved.iter().map(|(_, saves)| *saves).sum();
    for (_, saves) in &mut saved {
        *saves /= all;
    }
    saved.retain(|(_, share)| *share >= NAMED);
    sort_by(&mut saved, |a, b| b.1.total_cmp(&a.1));
    saved
}

/// The component of the fullest GPU that shrinks most; none where the GPU is fullest in another phase then, whose
/// components are of other work.
fn memory(before: &Report, after: &Report) -> Option<(Reason, [f64; 2])> {
    let phase = |report: &Report| report.memory.peak_phase().map(|phase| phase.name);
    if phase(before) != phase(after) {
        return None;
    }
    let (before, after) = (before.memory.fullest()?, after.memory.fullest()?);
    let values =
        before.components().map(|(_, bytes)| bytes.0).into_iter().zip(after.components().map(|(_, bytes)| bytes.0));
    let pairs = Component::ALL.into_iter().zip(values);
    let (component, (before, after)) = pairs.max_by(|(_, a), (_, b)| (a.0 - a.1).total_cmp(&(b.0 - b.1)))?;
    (before > after).then_some((Reason::Memory(component), [before, after]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::report;
    use crate::run::{Algorithm, Based, ResponseParts, RlParts};

    /// Generation holds no activations for a backward pass: a layout that makes it the fullest phase has not taken the
    /// activations of the update away.
    #[test]
    fn another_phase_is_no_reason() {
        let rl = RlParts {
            algorithm: Some(Algorithm::Grpo),
            prompts: Some(128),
            samples: Some(8),
            prompt_tokens: Some(512.0),
            response_tokens: ResponseParts { mean: Some(900.0), ..ResponseParts::default() },
            response_limit: Some(4096),
            ..RlParts::default()
        };
        let run = Run { model: Based::preset("qwen-3-32b"), rl, ..Run::default() };
        let other = Run { tp: 4, ..run.clone() };
        let [before, after] = [&run, &other].map(|run| report(run).unwrap());
        let phases = [&before, &after].map(|report| report.memory.peak_phase().unwrap().name);
        assert_ne!(phases[0], phases[1]);
        assert_eq!(Cause::of(Gain::Change, (&run, &before), (&other, &after)), None);
        assert!(Cause::of(Gain::Change, (&run, &before), (&run, &before)).is_none());
    }
}
