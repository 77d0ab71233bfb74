//! How much work a Run's report is, known before it is done.

use super::schedule::spec;
use crate::pipeline::Spec;
use crate::pipeline::spec::op_count;
use crate::run::{Run, Scenario};

/// Ops above which nothing is simulated between two key strokes.
pub const MAX_OPS_AT_ONCE: u64 = 50_000;

/// Micro-batches per rank that an order is simulated for, about, until it repeats itself.
const UNTIL_PERIODIC: u32 = 4;

/// Ops of the Run's schedule; none where the Run makes no sense.
pub fn work(run: &Run) -> Option<u64> {
    let scenario = Scenario::new(run).ok()?;
    Some(op_count(&spec(&scenario).ok()?))
}

/// True if the Run's report takes so long that an interactive program leaves it to a worker.
pub fn needs_worker(run: &Run) -> bool {
    effort(run) > MAX_OPS_AT_ONCE
}

/// Ops that are laid out or simulated one by one for the Run's report; 0 where the Run is invalid: its errors are found
/// at once.
pub(crate) fn effort(run: &Run) -> u64 {
    Scenario::new(run).map_or(0, |scenario| effort_of(&scenario))
}

/// [`effort`] of a Run understood: each op counts as often as its schedule takes it up.
pub(crate) fn effort_of(scenario: &Scenario) -> u64 {
    let Ok(spec) = spec(scenario) else { return 0 };
    let unequal = scenario.run.microbatch_lengths.is_some() || scenario.samples.is_some();
    let whole = spec.schedule.uses_durations || unequal;
    let few = spec.microbatches.min(UNTIL_PERIODIC * spec.pp);
    let microbatches = if whole { spec.microbatches } else { few };
    spec.schedule.work.saturating_mul(op_count(&Spec { microbatches, ..spec.clone() }))
}
