//! Energy and emissions of a run: power of its nodes by what they do, times the hours, times the site's factor.

use super::calendar::Calendar;
use super::formulas;
use super::power::{Activity, POWER_RANGE, node_power};
use super::setting::Setting;
use crate::report::Evaluation;
use crate::time::{PartKind, Step};
use crate::units::Seconds;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Energy {
    /// Watts of the job's nodes during a step.
    pub training_w: f64,
    /// Watts of the job's nodes while nothing runs.
    pub idle_w: f64,
    /// Kilowatt hours of the site.
    pub kwh: f64,
    /// Half width of its range, as a share.
    pub range: f64,
    /// Tonnes of CO₂ equivalent, where the grid's factor is given.
    pub co2e_t: Option<f64>,
}

/// Shares of a step: kernels (compute, recomputation, the optimizer), and waiting for the rest.
pub fn activity(step: &Step) -> Activity {
    let kernels = [PartKind::Ideal, PartKind::Kernels, PartKind::Recompute, PartKind::Optimizer];
    let parts = step.parts.iter().filter(|part| kernels.contains(&part.kind));
    let busy = (parts.map(|part| part.seconds).sum::<Seconds>() / step.time_s).clamp(0.0, 1.0);
    Activity { busy, waiting: 1.0 - busy }
}

/// Energy of the calendar of an evaluated Run.
pub(super) fn energy(evaluation: &Evaluation, setting: &Setting, calendar: &Calendar) -> Energy {
    let rated = evaluation.scenario.gpu.tdp_w * setting.gpus as f64;
    let (training_w, idle_w) =
        (node_power(rated, activity(&evaluation.report.step)), node_power(rated, Activity::NONE));
    // Steps, repeated steps and evaluations run kernels; start-up, saves and downtime do not.
    let idle = calendar.startup + calendar.saving + calendar.downtime;
    let kwh = formulas::energy([training_w, (calendar.total() - idle).0], [idle_w, idle.0], setting.pue);
    let co2e_t = setting.grid.map(|factor| formulas::emitted(kwh, factor));
    Energy { training_w, idle_w, kwh, range: POWER_RANGE, co2e_t }
}
