//! The release of Megatron Core that the layers of a pipeline's stages need.

use crate::run::presets::{Peers, Trainer};
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

/// The release of Megatron Core that the stages of `run` need, where its software may be an earlier one.
pub fn needed_release(run: &Run) -> Option<&'static str> {
    let stack = run.stack.preset_row();
    if run.pp == 1 || stack.trainer != Trainer::Megatron {
        return None;
    }
    let model = run.model.resolve().ok()?;
    let count = run.pp.saturating_mul(run.virtual_stages).min(model.layers);
    let stages = run.stage_layers.clone().unwrap_or_else(|| even_split(model.layers, count));
    let is_even = stages.windows(2).all(|pair| pair[0] == pair[1]);
    let [each, ends] = STAGES_SINCE;
    let is_old = stack.software.is_megatron_until_2024();
    match stack.software.peers {
        Some(Peers::Megatron2026) => None,
        _ if is_even => None,
        _ if is_old && model.mtp_modules == 0 && differ_at_ends(&stages, run.virtual_stages) => Some(ends),
        _ => Some(each),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
