//! Layouts that the named software can run.

use crate::run::presets::{CombinedCuts, Stack};
use crate::run::{Run, Schedule};

/// True if `stack` runs a pipeline of `pp` ranks under this schedule and ZeRO stage.
pub(crate) fn pipes(stack: &Stack, pp: u64, schedule: Schedule, zero: u64) -> bool {
    // Gradients and weights are sharded under a pipeline by PyTorch's FSDP alone.
    pp == 1 || schedule.row().is_run_by(stack) && (zero < 2 || stack.software.fsdp)
}

/// True if `stack` runs these sizes of a layout together.
pub(crate) fn combines(stack: &Stack, cuts: CombinedCuts) -> bool {
    stack.trainer.combines(cuts)
}

/// True if some software cuts the frozen base of `run`, where it has one, by tensor parallelism.
pub(crate) fn cuts_base(run: &Run) -> bool {
    !run.adapter.is_uncut(run.precision.computes())
}

/// True if the software of `run` can run its layout.
pub fn can_run(run: &Run) -> bool {
    let stack = run.stack.preset_row();
    let able = stack.trainer.abilities();
    let Run { tp, cp, ep, etp, zero, cp_comm: exchange, .. } = *run;
    let sizes = [(run.tp, able.tensor), (run.cp, able.context), (run.ep, able.experts)];
    pipes(stack, run.pp, run.schedule, run.zero)
        && run.zero <= able.zero
        && sizes.iter().all(|(size, able)| *able || *size == 1)
        && (run.tp == 1 || cuts_base(run))
        && combines(stack, CombinedCuts { tp, cp, ep, etp, zero, exchange })
}
