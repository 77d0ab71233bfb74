//! Calendar of a run by what takes the time.

use super::formulas;
use super::setting::Setting;
use crate::units::Seconds;
use serde::Serialize;

/// Parts of the calendar in the mean; they sum to it exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calendar {
    /// Steps, without stragglers.
    pub training: Seconds,
    /// Time by which stragglers make steps longer.
    pub stragglers: Seconds,
    /// From the first process to the first step, once.
    pub startup: Seconds,
    pub evaluating: Seconds,
    /// Steps that rollbacks repeat or skip.
    pub rolled_back: Seconds,
    /// Saves, as far as they block.
    pub saving: Seconds,
    /// Work that is repeated after interruptions.
    pub lost: Seconds,
    /// Downtime of interruptions.
    pub downtime: Seconds,
    /// Interruptions of the running job.
    pub broken: f64,
    /// Interruptions; where they go by the calendar, those of restarts too.
    pub interruptions: f64,
}

/// Kinds of time that do not train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// From the first process to the first step, once.
    Startup,
    Evaluation,
    /// Steps that rollbacks after loss spikes repeat or skip.
    Rollbacks,
    /// Saves, as far as they block.
    Checkpoints,
    /// Work that is repeated after interruptions.
    RepeatedWork,
    /// Downtime of interruptions.
    Restarts,
    /// Steps that wait for slow nodes.
    Stragglers,
}

/// A part of the calendar that does not train.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Loss {
    #[serde(rename = "name")]
    pub kind: LossKind,
    pub seconds: Seconds,
}

impl Calendar {
    /// The calendar of a setting. Of `W` productive time, `W/τ` segments fail `e^((τ+δ)/M) - 1` times each.
    pub fn new(setting: &Setting) -> Self {
        let rhythm = setting.rhythm;
        let work = setting.work();
        let saving = rhythm.saving(work);
        let fails = rhythm.mtti.0.is_finite() && rhythm.every.0.is_finite();
        let often = || formulas::broken(work.0, rhythm.every.0, rhythm.save.0, rhythm.mtti.0);
        let broken = if fails { often() } else { 0.0 };
        let downtime = rhythm.downtime() * broken;
        let total = rhythm.calendar(work);
        Self {
            training: setting.steps.time,
            stragglers: Seconds(formulas::stragglers(setting.steps.time.0, setting.straggler)),
            startup: setting.startup,
            evaluating: setting.evaluating(),
            rolled_back: setting.rolled_back(),
            saving,
            // Rounding may leave a little less than nothing.
            lost: (total - work - saving - downtime).max(Seconds::ZERO),
            downtime,
            broken,
            interruptions: if rhythm.by_calendar && fails { total / rhythm.mtti } else { broken },
        }
    }

    pub fn total(&self) -> Seconds {
        self.training + self.losses().iter().map(|loss| loss.seconds).sum()
    }

    /// All parts but the training.
    pub fn losses(&self) -> Vec<Loss> {
        let parts = [
            (LossKind::Startup, self.startup),
            (LossKind::Evaluation, self.evaluating),
            (LossKind::Rollbacks, self.rolled_back),
            (LossKind::Checkpoints, self.saving),
            (LossKind::RepeatedWork, self.lost),
            (LossKind::Restarts, self.downtime),
            (LossKind::Stragglers, self.stragglers),
        ];
        parts.into_iter().map(|(kind, seconds)| Loss { kind, seconds }).collect()
    }
}
