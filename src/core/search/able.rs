//! Layouts that the named software can run.

use super::axes::Axes;
use super::space::{Block, Member, Space};
use crate::run::presets::Stack;
use crate::run::{Run, Schedule};

/// Leaves of `axes` what the software of `run` can cut, and schedules that it has.
pub(crate) fn limit(axes: &mut Axes, run: &Run) {
    let trainer = run.stack.preset_row().trainer;
    let able = trainer.abilities();
    let sizes = [
        (&mut axes.tp, able.tensor),
        (&mut axes.pp, able.pipeline),
        (&mut axes.cp, able.context),
        (&mut axes.ep, able.experts),
    ];
    for (list, able) in sizes {
        list.retain(|size| able || *size == 1);
    }
    axes.zero.retain(|zero| *zero <= able.zero);
    axes.schedules.retain(|schedule| schedule.row().called(trainer).is_some());
}

/// True if `stack` runs pipelines under `schedule`.
pub fn has_schedule(stack: &Stack, schedule: Schedule) -> bool {
    stack.trainer.abilities().pipeline && schedule.row().called(stack.trainer).is_some()
}

/// True if `stack` runs these sizes of TP, PP, CP and EP under this schedule and ZeRO stage.
fn runs(stack: &Stack, [tp, pp, cp, ep]: [u64; 4], schedule: Schedule, zero: u64) -> bool {
    let able = stack.trainer.abilities();
    // Gradients and weights are sharded under a pipeline by PyTorch's FSDP alone.
    let pipeline = pp == 1 || has_schedule(stack, schedule) && (zero < 2 || stack.software.fsdp);
    let sizes = [(tp, able.tensor), (cp, able.context), (ep, able.experts)];
    pipeline && zero <= able.zero && sizes.iter().all(|(size, able)| *able || *size == 1)
}

/// True if the software of `space` can run a layout of it.
pub(crate) fn is_able(space: &Space, block: &Block, member: Member) -> bool {
    let sizes = [block.tp, block.pp, block.cp, block.ep];
    runs(space.base.stack.preset_row(), sizes, member.chunks.schedule, member.zero)
}

/// True if the software of `run` can run its layout.
pub fn can_run(run: &Run) -> bool {
    runs(run.stack.preset_row(), [run.tp, run.pp, run.cp, run.ep], run.schedule, run.zero)
}
