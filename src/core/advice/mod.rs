//! Questions about many Runs near one: what would fit, which schedule and which split of the layers takes less, how far
//! an order is from the best, and what each choice of a fine-tuning run saves.
//!
//! Each evaluates its Runs with [`crate::report`] and compares the reports.

mod away;
pub mod certify;
pub mod fit;
mod gaining;
pub mod narrow;
mod schedules;
mod splits;
pub mod staircase;
mod told;
mod tower;

pub use away::{FoundOrder, RoomBound, bounds_by_room};
pub use gaining::{GainingPipeline, TRIED_RANKS, pipeline_that_gains, pipeline_to_split};
pub use schedules::{ScheduleFigures, ScheduleRow, run_with, schedule_figures};
pub use splits::{BalancedSplits, LayerSplit, balance, tower_off};
pub use told::{is_told, least_saved, least_told, told_from, untold};
pub use tower::{TowerTimelines, tower_timelines};

use crate::report::{
    LayerSplits, MAX_OPS_AT_ONCE, Refusal, Report, Reported, SplitOrigin, by_rank, effort_of, evaluate, set_best,
};
use crate::run::{Run, Value};

/// The report of a Run given as an object.
///
/// # Errors
/// Unknown fields, wrong types, and settings that cannot work.
pub fn report_value(run: &Value) -> Reported {
    let run = Run::from_value(run).map_err(|errors| Refusal { errors })?;
    answer(&run)
}

/// The report of a Run with its splits of the layers, each an evaluation of its own, and the parts of single ranks;
/// without them where a report lays out more than [`MAX_OPS_AT_ONCE`] ops.
///
/// # Errors
/// The settings that cannot work, with what would.
pub fn answer(run: &Run) -> Reported {
    let evaluation = evaluate(run).map_err(|errors| Refusal { errors })?;
    let is_short = effort_of(&evaluation.scenario) <= MAX_OPS_AT_ONCE;
    let balance = if is_short { balance(&evaluation) } else { None };
    let ranks = if is_short { by_rank(&evaluation) } else { None };
    let mut warnings = evaluation.report.warnings.clone();
    if let Some(best) = balance.as_ref().and_then(|balance| balance.of(SplitOrigin::Best)) {
        set_best(&evaluation.scenario, &mut warnings, &best.layers);
    }
    let mut report = Report { uneven: balance.as_ref().map(LayerSplits::from), warnings, ..evaluation.report };
    if let Some(ranks) = ranks {
        report.step.by_rank = Some(ranks.parts);
        report.step.kernels = Some(ranks.kernels);
        report.step.bubble = Some(ranks.bubble);
    }
    Ok(report)
}
