//! The release of Megatron Core that the layers of a pipeline's stages need.

use crate::run::presets::{Peers, STACKS, Stack, Trainer};
use crate::run::{Run, even_split};

/// Release of Megatron Core since which the layers of each stage are given one by one, and that since which those of
/// the first and the last rank are: `--pipeline-model-parallel-layout`, `--decoder-first-pipeline-num-layers`. Source:
/// history of `megatron/training/arguments.py`.
pub const STAGES_SINCE: [&str; 2] = ["0.13 (2025)", "0.9"];

/// True if Megatron-LM's releases before [`STAGES_SINCE`] say the layers of these stages, `chunks` a rank, by those of
/// the first and the last rank: the ranks between have equally many.
pub fn differ_at_ends(stages: &[u64], chunks: u64) -> bool {
    let [_, between @ .., _] = stages else { return false };
    chunks == 1 && between.windows(2).all(|pair| pair[0] == pair[1])
}

/// [`STAGES_SINCE`] as the second number of the release.
const NUMBERS: [u32; 2] = [13, 9];

/// The place in [`STAGES_SINCE`] of the release that `stages` of a model with so many `mtp_modules` need, `chunks` a
/// rank, where `stack` may be an earlier one.
fn needed(stack: &Stack, mtp_modules: u64, stages: &[u64], chunks: u64) -> Option<usize> {
    let is_even = stages.windows(2).all(|pair| pair[0] == pair[1]);
    if is_even || stack.trainer != Trainer::Megatron || stack.software.peers == Some(Peers::Megatron2026) {
        return None;
    }
    // Software of 2025 writes them one by one.
    let is_old = !stack.is_core(NUMBERS[0]);
    Some(usize::from(is_old && mtp_modules == 0 && differ_at_ends(stages, chunks)))
}

/// [`needed`] of the stages of `run`.
fn needed_by(run: &Run) -> Option<usize> {
    if run.pp == 1 {
        return None;
    }
    let model = run.model.resolve().ok()?;
    let count = run.pp.saturating_mul(run.virtual_stages).min(model.layers);
    let stages = run.stage_layers.clone().unwrap_or_else(|| even_split(model.layers, count));
    needed(run.stack.preset_row(), model.mtp_modules, &stages, run.virtual_stages)
}

/// The release of Megatron Core that the stages of `run` need, where its software may be an earlier one.
pub fn needed_release(run: &Run) -> Option<&'static str> {
    needed_by(run).map(|at| STAGES_SINCE[at])
}

/// True if a run of `stack` may be of Megatron Core's `release`. The first stack is what a link or a request without
/// software means, so any release of Megatron-LM: it has all stages, and what they need is said beside them.
fn may_be(stack: &Stack, release: u32) -> bool {
    stack.choice == STACKS[0].choice || stack.is_core(release)
}

/// [`needed_release`] where no release that the software of `run` may be is as new.
pub(crate) fn lacked_release(run: &Run) -> Option<&'static str> {
    let at = needed_by(run)?;
    (!may_be(run.stack.preset_row(), NUMBERS[at])).then_some(STAGES_SINCE[at])
}

/// True if a release that `stack` may be has `stages` of a model with so many `mtp_modules`, `chunks` a rank.
pub(crate) fn has_stages(stack: &Stack, mtp_modules: u64, stages: &[u64], chunks: u64) -> bool {
    needed(stack, mtp_modules, stages, chunks).is_none_or(|at| may_be(stack, NUMBERS[at]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::able::can_run;

    /// `CHANGELOG.md` and `arguments.py` of Megatron-LM: core 0.9 gave the first and the last stage layers of their
    /// own, 0.13 (2025) each of them. What is called Megatron-LM 2024 is core 0.6 to 0.9.
    #[test]
    fn uneven_stages_need_the_release_that_has_their_argument() {
        let needed = |stack: &str, stages: &str, v: &str| {
            let edits = [("stack", stack), ("pp", "4"), ("stage_layers", stages), ("virtual_stages", v)];
            let run = Run::default().with_texts(&edits).unwrap();
            needed_release(&run)
        };
        assert_eq!(needed("megatron-2024", "8,8,8,8", "1"), None);
        assert_eq!(needed("megatron-2024", "7,9,9,7", "1"), Some("0.9"));
        assert_eq!(needed("megatron-2024", "8,8,9,7", "1"), Some("0.13 (2025)"));
        assert_eq!(needed("megatron-2024", "3,4,4,4,4,4,4,5", "2"), Some("0.13 (2025)"));
        assert_eq!(needed("megatron-2025", "7,9,9,7", "1"), Some("0.13 (2025)"));
        assert_eq!(needed("megatron-2026", "8,8,9,7", "1"), None);
        assert_eq!(needed("torchtitan", "8,8,9,7", "1"), None);
    }

    /// A release runs no stages that came after it: Megatron-LM of 2021 had one number of layers for all, core 0.8 of
    /// `NeMo` 24.07 too. What links that name no software mean is no one release.
    #[test]
    fn a_release_has_no_stages_that_came_after_it() {
        let lacked = |stack: &str, stages: &str, v: &str| {
            let edits = [("stack", stack), ("pp", "4"), ("stage_layers", stages), ("virtual_stages", v)];
            let run = Run::default().with_texts(&edits).unwrap();
            assert_eq!(lacked_release(&run).is_none(), can_run(&run), "{stack} {stages}");
            lacked_release(&run)
        };
        for stack in ["megatron-2021", "nemo-2024", "megatron-2024", "megatron-2025", "megatron-2026"] {
            assert_eq!(lacked(stack, "8,8,8,8", "1"), None);
            let is_before = |core: &[&str]| core.contains(&stack);
            let ends = is_before(&["megatron-2021", "nemo-2024"]).then_some("0.9");
            assert_eq!(lacked(stack, "7,9,9,7", "1"), ends, "{stack}");
            let each = is_before(&["megatron-2021", "nemo-2024"]).then_some("0.13 (2025)");
            assert_eq!(lacked(stack, "8,8,9,7", "1"), each, "{stack}");
        }
    }
}
