//! The release of its software that a layout needs.

use crate::message::{Message, verbatim};
use crate::run::presets::{Peers, STACKS, Stack, Trainer};
use crate::run::{Run, even_split};
use crate::t;

/// Release of Megatron Core since which the layers of each stage are given one by one, and that since which those of
/// the first and the last rank are: `--pipeline-model-parallel-layout`, `--decoder-first-pipeline-num-layers`. Source:
/// history of `megatron/training/arguments.py`.
pub const STAGES_SINCE: [&str; 2] = ["0.13 (2025)", "0.9"];

/// Release of `DeepSpeed` since which it trains with tensor parallelism under ZeRO-3. From 0.16.4, the first with
/// `tensor_parallel.autotp_size`, to 0.19.3 its `runtime/engine.py` asserts a ZeRO stage of at most 2 beside it; 0.19.4
/// is of August 2026. Source: tags of deepspeedai/DeepSpeed, `_configure_tensor_parallel_states`.
pub const TENSOR_UNDER_ZERO_3_SINCE: &str = "0.19.4 (2026)";

/// What of a layout not every release of its software has, with the release since which it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeededRelease {
    /// The layers of its stages, of Megatron Core.
    Stages(&'static str),
    /// Tensor parallelism under ZeRO-3, of `DeepSpeed`.
    TensorUnderZero3,
}

impl NeededRelease {
    /// Program and release: `Megatron Core 0.13 (2025)`.
    pub fn release(self) -> String {
        match self {
            Self::Stages(release) => format!("Megatron Core {release}"),
            Self::TensorUnderZero3 => format!("DeepSpeed {TENSOR_UNDER_ZERO_3_SINCE}"),
        }
    }

    /// What needs it, in a sentence without its end.
    pub fn words(self) -> Message {
        let release = verbatim(self.release());
        match self {
            Self::Stages(_) => t!("{release} or later is needed for such stages", release),
            Self::TensorUnderZero3 => t!("{release} or later is needed for tensor parallelism under ZeRO-3", release),
        }
    }

    /// The field where it can be mended.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::Stages(_) => "stage_layers",
            Self::TensorUnderZero3 => "zero",
        }
    }
}

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
    let count = run.pp.saturating_mul(run.virtual_stages);
    let stages = run.stage_layers.clone().unwrap_or_else(|| {
        let mut stages = even_split(model.layers, count.min(model.layers));
        // More stages than layers: some hold the embedding or the head alone.
        stages.extend((count > model.layers).then_some(0));
        stages
    });
    needed(run.stack.preset_row(), model.mtp_modules, &stages, run.virtual_stages)
}

/// The release that the layout of `run` needs, where its software may be an earlier one.
pub fn needed_release(run: &Run) -> Option<NeededRelease> {
    if run.stack.preset_row().trainer == Trainer::DeepSpeed {
        return (run.tp > 1 && run.zero == 3).then_some(NeededRelease::TensorUnderZero3);
    }
    needed_by(run).map(|at| NeededRelease::Stages(STAGES_SINCE[at]))
}

/// True if a run of `stack` may be of Megatron Core's `release`. The first stack is what a link or a request without
/// software means, so any release of Megatron-LM: it has all stages, and what they need is said beside them.
fn may_be(stack: &Stack, release: u32) -> bool {
    stack.choice == STACKS[0].choice || stack.is_core(release)
}

/// [`needed_release`] of stages where no release that the software of `run` may be is as new.
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
            needed_release(&run).map(|needed| match needed {
                NeededRelease::Stages(release) => release,
                NeededRelease::TensorUnderZero3 => panic!("{stack} {stages}"),
            })
        };
        assert_eq!(needed("megatron-2024", "8,8,8,8", "1"), None);
        // 126 layers on 128 stages: two have none.
        let more =
            [("model", "llama-3.1-405b"), ("pp", "16"), ("schedule", "interleaved-1f1b"), ("virtual_stages", "8")];
        let run = Run::default().with_texts(&more).unwrap();
        assert_eq!(needed_release(&run), Some(NeededRelease::Stages(STAGES_SINCE[0])));
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

    /// `runtime/engine.py` of `DeepSpeed`, `_configure_tensor_parallel_states`: v0.16.4, v0.17.6, v0.18.9 and v0.19.3
    /// assert `zero_optimization_stage() <= 2`, v0.19.4 and v0.19.5 take stage 3 in training. Other stages and other
    /// programs need nothing.
    #[test]
    fn tensor_parallelism_under_zero_3_needs_the_release_that_takes_it() {
        for (stack, tp, zero, needs) in [
            ("deepspeed", "2", "3", true),
            ("deepspeed", "2", "2", false),
            ("deepspeed", "1", "3", false),
            ("fsdp2", "2", "3", false),
            ("megatron-2025", "2", "3", false),
        ] {
            let edits = [("stack", stack), ("pp", "1"), ("tp", tp), ("zero", zero)];
            let run = Run::default().with_texts(&edits).unwrap();
            let needed = needed_release(&run);
            assert_eq!(needed, needs.then_some(NeededRelease::TensorUnderZero3), "{stack} {tp} {zero}");
            let words = needed.map_or_else(String::new, |needed| needed.words().to_string());
            assert_eq!(words.contains("DeepSpeed 0.19.4"), needs, "{words}");
            // A release runs it.
            assert!(can_run(&run), "{stack} {tp} {zero}");
        }
    }
}
