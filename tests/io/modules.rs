//! Grids of a vision tower and of the language model: what scripts say of them, and what an export says.

use shardscope::core::model::{TowerPlace, VisionEncoder};
use shardscope::core::run::Run;
use shardscope::io::import::read;

fn run(text: &str) -> Run {
    read(text, &Run::default()).unwrap_or_else(|issues| panic!("{issues:?}")).run
}

/// Megatron-Bridge 067f987, `qwen35-vl-non-colocated-sft.md`, section 3: 16 ranks of the language model and one of the
/// tower; a micro-batch of 2 is one sequence of each of two replicas.
#[test]
fn the_modules_of_megatron_bridges_script_are_a_tower_beside_the_pipeline() {
    let run = run("torchrun --nnodes 3 --nproc-per-node 8 examples/megatron_mimo/qwen35_vl/finetune_qwen35_vl.py \
        --hf-model Qwen/Qwen3.5-27B --seq-length 4096 --global-batch-size 32 --micro-batch-size 2 \
        --component language=tp=4,pp=2,cp=1,dp=2,rank_offset=0 --component images=tp=1,pp=1,cp=1,dp=1,rank_offset=16");
    assert_eq!((run.tp, run.pp, run.cp, run.gpus, run.micro_batch, run.global_batch), (4, 2, 1, 17, 1, 32));
    let vision = run.model.resolve().unwrap().vision.unwrap();
    assert_eq!((vision.base, vision.placement), (VisionEncoder::Qwen35, TowerPlace::OwnRanks));
    assert_eq!((vision.gpus, vision.tp, vision.frozen), (1, 1, false));
}

/// Megatron-LM d98e8a6, `examples/mimo/training/args.py`: both grids tile all ranks, experts have TP 1 where nothing
/// says it, and `--llm-only` has no tower.
#[test]
fn the_grids_of_megatron_lms_example_are_read() {
    let text = include_str!("../data/launch/megatron_mimo.sh");
    let seen = run(text);
    assert_eq!((seen.tp, seen.pp, seen.gpus, seen.etp), (2, 1, 8, 1));
    let vision = seen.model.resolve().unwrap().vision.unwrap();
    assert_eq!((vision.base, vision.gpus, vision.tp, vision.image_width), (VisionEncoder::RadioH, 2, 2, 512));
    let alone = run(&format!("{} --llm-only", text.trim_end()));
    assert!(alone.gpus == 6 && alone.model.resolve().unwrap().vision.is_none());
}
