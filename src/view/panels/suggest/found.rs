//! Progress of the search in the background, and what it found, as its cards are read.

use crate::prelude::*;
use shardscope_core::rl::{TOLD_APART, predict};
use shardscope_core::search::better::{Better, Betters, Gain, Reason};
use shardscope_core::search::session::PlanResult;
use shardscope_core::search::{Figures, PlanRequest};
use shardscope_core::time::PartKind;

/// Progress of the search in the background.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchProgressShown {
    /// True if it is over.
    pub done: bool,
    /// Layouts looked at.
    pub evaluated: u64,
    /// True if its limit of work left layouts out.
    pub partial: bool,
    /// True if some layout is within the memory of a GPU.
    pub any: bool,
    /// Layouts that do better than the page's own.
    pub betters: Betters,
    /// The step that they are measured against, where it is one of reinforcement learning: theirs are of that kind.
    pub rl_step: Option<Seconds>,
}

/// Share of a step of reinforcement learning from which on a shorter one is named.
pub(super) const RL_SHARE: f64 = 0.01;

/// `betters` of a Run with reinforcement learning, with times of whole steps, and the step of the Run. A layout that
/// changes such a step by less than a hundredth is none that does better; the batch of a training step is not that of
/// reinforcement learning.
pub(super) fn of_whole_steps(run: &Run, mut betters: Betters) -> (Betters, Option<Seconds>) {
    let Ok(own) = predict(run) else {
        betters.list.retain(|better| !is_of_time(better.gain));
        betters.tight.clear();
        return (betters, None);
    };
    let whole = |better: &Better| {
        let time_s = predict(&better.run).ok()?.step_s;
        let hours = |run: &Run, step: Seconds| step.0 * run.gpus as f64;
        let gains = match better.gain {
            Gain::Time | Gain::Split | Gain::Hosted | Gain::Equal => time_s.0 <= own.step_s.0 * (1.0 - RL_SHARE),
            Gain::Gpus => hours(&better.run, time_s) * TOLD_APART < hours(run, own.step_s),
            Gain::Batch => false,
            Gain::Memory => time_s.0 <= own.step_s.0 * (1.0 + RL_SHARE),
            _ => true,
        };
        gains.then(|| Better { figures: Figures { time_s, ..better.figures }, ..better.clone() })
    };
    betters.list = betters.list.iter().filter_map(whole).collect();
    betters.tight = betters.tight.iter().filter_map(whole).collect();
    (betters, Some(own.step_s))
}

/// The part of the step that is the cause of `better`.
pub(super) fn better_part(better: &Better) -> Option<PartKind> {
    match better.cause.as_ref()?.reason {
        Reason::Part(part) | Reason::Share(part) => Some(part),
        Reason::Memory(_) => None,
    }
}

/// True for a gain that is one of time.
pub(super) const fn is_of_time(gain: Gain) -> bool {
    matches!(gain, Gain::Time | Gain::Split | Gain::Hosted | Gain::Equal | Gain::Gpus | Gain::Batch)
}

impl SearchProgressShown {
    /// Share of the step of `evaluation` that the fastest layout known saves, where that can be told apart.
    pub fn gain(&self, evaluation: &Evaluation) -> Option<f64> {
        let faster = self.betters.list.iter().find(|better| better.gain == Gain::Time)?;
        Some(1.0 - faster.figures.time_s / self.step_of(evaluation))
    }

    /// Share of the step of `evaluation`, which is tight, that the fastest layout that fits takes longer; none
    /// where one that fits is faster.
    pub fn surer(&self, evaluation: &Evaluation) -> Option<f64> {
        let surer = self.betters.surer_s.filter(|_| self.rl_step.is_none())?;
        Some(surer / self.step_of(evaluation) - 1.0)
    }

    /// The part of the step that the fastest layout known lessens most: the cause that its card gives. Where none that
    /// fits is faster, of those that may run out.
    pub fn lessened(&self) -> Option<PartKind> {
        let mut faster = self.betters.list.iter().filter(|better| matches!(better.gain, Gain::Time | Gain::Split));
        better_part(faster.next().or_else(|| self.betters.tight.first())?)
    }

    /// The step of `evaluation` that layouts are measured against.
    pub(super) fn step_of(&self, evaluation: &Evaluation) -> Seconds {
        self.rl_step.unwrap_or(evaluation.report.step.time_s)
    }

    /// Reads `result` for the run of `evaluation`; nothing where it is of another question, and no layouts that do
    /// better where it is of another layout.
    pub fn of(result: &PlanResult, evaluation: &Evaluation) -> Self {
        let run = &evaluation.scenario.run;
        let same = PlanRequest::question(&result.run) == PlanRequest::question(run);
        let Some(progress) = result.progress.filter(|_| same) else {
            return Self::default();
        };
        let betters = if result.run == *run { result.betters.clone() } else { Betters::default() };
        let has_rl = run.rl.algorithm.is_some();
        let (betters, rl_step) = if has_rl { of_whole_steps(run, betters) } else { (betters, None) };
        Self {
            done: progress.is_over() && betters.done,
            evaluated: progress.evaluated,
            partial: progress.stopped.is_some_and(|share| share < 1.0),
            any: result.best.is_some(),
            betters,
            rl_step,
        }
    }
}
