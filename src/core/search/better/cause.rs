//! Why a layout does better: the part that shrinks most, before and after.

use crate::memory::Component;
use crate::report::Report;
use crate::run::Run;
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
            Gain::Time | Gain::Equal | Gain::Split => time(before.1, after.1, false)?,
            // A step of a larger batch is longer: its parts are compared as shares.
            Gain::Gpus | Gain::Batch => time(before.1, after.1, true)?,
            _ => memory(before.1, after.1)?,
        };
        let pipelines = [before, after].map(|(_, report)| (report.layout.dp, report.layout.microbatches));
        Some(Self { reason, before: values[0], after: values[1], pipelines })
    }
}

/// The part of the step that shrinks most, in time or as a share of it.
fn time(before: &Report, after: &Report, share: bool) -> Option<(Reason, [f64; 2])> {
    let value = |report: &Report, kind: PartKind| -> f64 {
        let parts = report.step.parts.iter().filter(|part| part.kind == kind);
        let seconds: f64 = parts.map(|part| part.seconds.0).sum();
        if share { seconds / report.step.time_s.0 } else { seconds }
    };
    let kinds = before.step.parts.iter().map(|part| part.kind);
    // The ideal follows from the others where it is a share.
    let kinds = kinds.filter(|kind| *kind != PartKind::Ideal);
    let pairs = kinds.map(|kind| (kind, [value(before, kind), value(after, kind)]));
    let most = pairs.max_by(|(_, a), (_, b)| (a[0] - a[1]).total_cmp(&(b[0] - b[1])));
    let (kind, values) = most.filter(|(_, [before, after])| before > after)?;
    let bubble = [before, after].map(|report| report.pipeline.bubble_fraction);
    Some(match kind {
        // The bubble as the pictures show it, the idle share of the ranks' time, where that shrinks too.
        PartKind::Bubble if bubble[0] > bubble[1] => (Reason::Part(kind), bubble),
        _ if share => (Reason::Share(kind), values),
        PartKind::Bubble => {
            (Reason::Share(kind), [before, after].map(|report| value(report, kind) / report.step.time_s.0))
        }
        _ => (Reason::Part(kind), values),
    })
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
