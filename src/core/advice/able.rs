//! Layouts that the named software can run.

use crate::pipeline::families::interleaved::{takes_group, takes_rounds};
use crate::run::presets::{CombinedCuts, Stack, Trainer};
use crate::run::{Run, Schedule};

/// True if `stack` runs a pipeline of `pp` ranks under this schedule and ZeRO stage.
pub(crate) fn pipes(stack: &Stack, pp: u64, schedule: Schedule, zero: u64) -> bool {
    // Gradients and weights are sharded under a pipeline by PyTorch's FSDP alone.
    pp == 1 || schedule.row().is_run_by(stack) && (zero < 2 || stack.software.fsdp)
}

/// Counts of micro-batches that the interleaving of a program takes: the rules of the warnings beside the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TakenMicrobatches {
    /// Megatron-LM's groups.
    groups: bool,
    /// Megatron-LM's groups of as many micro-batches as there are ranks, which its combined 1F1B has.
    whole_groups: bool,
    /// PyTorch's rounds.
    rounds: bool,
}

impl TakenMicrobatches {
    /// For `microbatches` on `pp` ranks in the groups of `run`.
    pub(crate) fn of(run: &Run, pp: u64, microbatches: u64) -> Self {
        let count = |size: u64| u32::try_from(size).unwrap_or(u32::MAX).max(1);
        let (p, m) = (count(pp), count(microbatches));
        let group = run.schedule_options.group.map_or(p, count);
        Self { groups: takes_group(p, m, group), whole_groups: m.is_multiple_of(p), rounds: takes_rounds(p, m) }
    }

    /// True if `stack` runs them under `schedule`.
    pub(crate) fn are_run_by(self, stack: &Stack, schedule: Schedule) -> bool {
        match (stack.trainer, schedule) {
            (Trainer::Megatron, Schedule::Interleaved) => self.groups,
            (Trainer::Megatron, Schedule::InterleavedOverlap) => self.whole_groups,
            (Trainer::PyTorch | Trainer::Torchtitan, Schedule::Interleaved | Schedule::InterleavedZb) => self.rounds,
            _ => true,
        }
    }
}

/// True if the software of `run` takes its micro-batches; a batch that does not divide is an error of its own.
fn takes_microbatches(run: &Run) -> bool {
    let pipelines = run.training_gpus() / run.tp.saturating_mul(run.pp).saturating_mul(run.cp).max(1);
    let microbatches = run.global_batch / pipelines.saturating_mul(run.micro_batch).max(1);
    let taken = TakenMicrobatches::of(run, run.pp, microbatches);
    run.pp == 1 || taken.are_run_by(run.stack.preset_row(), run.schedule)
}

/// True if every stage of an even split has a layer: software cuts layers, not parts of them. A split that is given
/// says itself what its stages hold.
fn has_layers(run: &Run) -> bool {
    let layers = run.model.resolve().map_or(u64::MAX, |model| model.layers);
    run.stage_layers.is_some() || run.pp.saturating_mul(run.virtual_stages) <= layers
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
    let able = stack.abilities();
    let Run { tp, cp, ep, etp, zero, cp_comm: exchange, .. } = *run;
    let sizes = [(run.tp, able.tensor), (run.cp, able.context), (run.ep, able.experts)];
    pipes(stack, run.pp, run.schedule, run.zero)
        && takes_microbatches(run)
        && has_layers(run)
        && run.zero <= able.zero
        && sizes.iter().all(|(size, able)| *able || *size == 1)
        && (run.tp == 1 || cuts_base(run))
        && combines(stack, CombinedCuts { tp, cp, ep, etp, zero, exchange })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Megatron-LM raises where the last group of interleaving is smaller than the pipeline; PyTorch where its rounds
    /// are unequal. 1F1B takes any number.
    #[test]
    fn interleaving_runs_with_the_micro_batches_that_its_software_takes() {
        let run = |stack: &str, schedule: &str, batch: &str| {
            let edits = [("gpus", "3"), ("tp", "1"), ("pp", "3"), ("global_batch", batch), ("stack", stack)];
            let run = Run::default().with_texts(&edits).unwrap();
            run.with_texts(&[("schedule", schedule)]).unwrap()
        };
        for stack in ["megatron-2024", "megatron-2025", "torchtitan"] {
            assert!(can_run(&run(stack, "1f1b", "256")));
            assert!(can_run(&run(stack, "interleaved-1f1b", "255")));
            assert!(!can_run(&run(stack, "interleaved-1f1b", "256")), "{stack}");
        }
        assert!(!can_run(&run("megatron-2025", "interleaved-overlap", "256")));
    }

    /// `CHANGELOG.md` of Megatron-LM: its FSDP is newer than Megatron Core 0.9, the last of 2024. A layer is not cut
    /// over two stages: Llama 3.1 405B has 126.
    #[test]
    fn a_version_runs_what_it_has_and_a_stage_has_a_layer() {
        let sharded = |stack| {
            let run = Run { zero: 2, pp: 1, ..Run::default() };
            can_run(&run.with_texts(&[("stack", stack)]).unwrap())
        };
        assert!(sharded("megatron-2025") && !sharded("nemo-2024"));
        let chunks = |v: &str| {
            let edits =
                [("model", "llama-3.1-405b"), ("gpus", "2048"), ("tp", "8"), ("pp", "16"), ("global_batch", "256")];
            let run = Run::default().with_texts(&edits).unwrap();
            can_run(&run.with_texts(&[("schedule", "interleaved-1f1b"), ("virtual_stages", v)]).unwrap())
        };
        assert!(chunks("4") && !chunks("8"));
    }
}
