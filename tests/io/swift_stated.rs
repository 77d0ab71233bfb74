//! ms-swift's examples state the memory of a GPU in their first comment lines: held against what an import of their
//! commands needs.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive GiB

use shardscope::core::memory::Verdict;
use shardscope::core::report::report;
use shardscope::core::run::{AdapterType, Allocator, CpComm, Optimizer, Run, Saved};
use shardscope::core::table::Table;
use shardscope::io::import::read;
use std::collections::BTreeMap;
use std::fs;

fn data(name: &str) -> String {
    fs::read_to_string(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The commands by the paths that stand above them.
fn commands(text: &str) -> BTreeMap<&str, &str> {
    let blocks = text.split("\n\n").filter_map(|block| block.strip_prefix("# ")?.split_once('\n'));
    blocks.filter(|(path, _)| path.starts_with("examples/")).collect()
}

/// What the import of a command needs on its fullest GPU, GiB, and its GPUs.
fn predicted(path: &str, command: &str) -> (f64, u64, Verdict) {
    let meaning = read(command, &Run::default()).unwrap_or_else(|issues| panic!("{path}: {issues:?}"));
    assert!(meaning.model.sure, "{path}: {:?}", meaning.model);
    let report = report(&meaning.run).unwrap_or_else(|refused| panic!("{path}: {refused:?}"));
    let segments = command.contains("expandable_segments:True");
    assert_eq!(meaning.run.allocator == Allocator::Expandable, segments, "{path}");
    (report.memory.peak_bytes.gib(), meaning.run.gpus, report.memory.verdict)
}

fn median(mut errors: Vec<f64>) -> f64 {
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}

/// `short` in the table: samples are shorter than the length that is asked for, which no file says. `card`: the figure
/// is the size of the GPU. Left out are reinforcement learning, whose figure is the card's with an engine of inference
/// beside, launches by a file of Accelerate's, and models that are not known by their own name.
#[test]
fn the_memory_that_examples_of_ms_swift_state_is_met_to_an_eighth_by_half_of_them() {
    let (text, table) = (data("swift_stated.sh"), data("swift_stated.csv"));
    let commands = commands(&text);
    let (mut all, mut full, mut core, mut far) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut rows = 0;
    for line in Table::read(&table).lines() {
        rows += 1;
        let path = line.text("path");
        let (need, gpus, verdict) = predicted(path, commands[path]);
        let stated: f64 = line.text("stated_gib").parse().unwrap();
        assert_eq!(gpus.to_string(), line.text("gpus"), "{path}");
        let error = need / stated - 1.0;
        // Wide, so that better methods need no new table.
        let shown: f64 = line.text("predicted_gib").parse().unwrap();
        assert!(shown / need < 4.0 && need / shown < 4.0, "{path}: {need} {shown}");
        println!("{path},{stated},{gpus},{},{need:.1} ({:+.0} %)", line.text("kind"), error * 100.0);
        all.push(error.abs());
        if line.text("kind") != "short" {
            // They ran on cards of 80 GB at most, which are the page's.
            assert_ne!(verdict, Verdict::Oom, "{path}");
            full.push(error.abs());
        }
        if commands[path].contains("megatron ") {
            core.push(error.abs());
        }
        if error.abs() > 0.5 {
            far.push(path.to_owned());
        }
    }
    let (all, full, core) = (median(all), median(full), median(core));
    println!("{rows} files: median {all:.3}, without short samples {full:.3}, Megatron {core:.3}; far: {far:#?}");
    assert_eq!(rows, commands.len());
    assert!(full <= 0.12, "{full}");
    // Adapters of routed experts are counted once a GPU, where ms-swift has one beside each expert.
    assert!(core <= 0.13, "{core}");
    assert!(all <= 0.18, "{all}");
    // Short samples.
    assert!(far.len() <= 9, "{far:#?}");
}

/// PEFT 0.18.0 and ms-swift 3602360 on Qwen2.5-7B: the linears of its 28 layers have 40,448 inputs and 49,664 outputs,
/// so LoRA has 90,112 numbers a rank and layer; a layer has 233,057,792 parameters.
#[test]
fn ways_to_train_a_part_have_the_rank_of_lora_with_as_many_numbers() {
    let run = |more: &str| {
        let text = format!("swift sft --model Qwen/Qwen2.5-7B-Instruct --tuner_type {more} --max_length 2048");
        read(&text, &Run::default()).unwrap_or_else(|issues| panic!("{more}: {issues:?}")).run
    };
    for (more, numbers) in [
        ("adalora", 12.0 * 90_112.0),
        ("adalora --adalora_init_r 20", 20.0 * 90_112.0),
        // Down to 128 and up again beside each FFN.
        ("adapter", 2.0 * 128.0 * 3_584.0),
        // Blocks of four inputs are turned, outputs are scaled.
        ("boft", 4.0 * 40_448.0 + 49_664.0),
        ("bone", 4.0 * 49_664.0),
        // Four new layers over 28.
        ("llamapro", 4.0 * 233_057_792.0 / 28.0),
        ("full --lisa_activated_layers 2", 2.0 * 233_057_792.0 / 28.0),
    ] {
        let rank: f64 = numbers / 90_112.0;
        assert_eq!(run(more).adapter.rank, Some(rank.ceil() as u64), "{more}");
    }
    // Copies of layers are bf16, and so are LISA's own layers and the ends beside them.
    assert_eq!(run("llamapro").adapter.dtype, Some(AdapterType::Bf16));
    assert_eq!(
        run("full --lisa_activated_layers 2").adapter.modules_to_save,
        Some(vec![Saved::Embedding, Saved::Head])
    );
    assert_eq!(run("full --use_galore true").optimizer, Optimizer::GaLore);
    // Eight bytes a parameter: weights, gradients and two moments in bf16.
    assert_eq!(run("full").precision.resolve().unwrap().total(), 8.0);
}

/// ms-swift 3602360 `megatron_args.py`: ETP is 1 where it is not said (line 619), a checkpoint names the model where
/// `--model` does not, and what a list of devices holds beyond its processes is spread over (`utils/env.py:64`).
#[test]
fn ms_swift_has_defaults_of_its_own() {
    let run = |text: &str| read(text, &Run::default()).unwrap_or_else(|issues| panic!("{issues:?}: {text}")).run;
    let experts = "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-30B-A3B --tensor_model_parallel_size 2 \
        --expert_model_parallel_size 4 --micro_batch_size 1 --global_batch_size 16 --max_length 4096";
    assert_eq!((run(experts).tp, run(experts).etp), (2, 1));
    for name in ["--load Qwen3-8B-mcore", "--mcore_model ckpt/Qwen3-8B-mcore"] {
        let text = format!("megatron sft {name} --micro_batch_size 1 --global_batch_size 8 --max_length 2048");
        assert_eq!(run(&text).model.as_published(), Some("qwen-3-8b"), "{name}");
    }
    let spread = run("CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=2 swift sft --model Qwen/Qwen3-8B --max_length 2048");
    assert_eq!((spread.gpus, spread.pp), (4, 2));
    let shared =
        run("NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B --sequence_parallel_size 8 --max_length 8192 \
        --per_device_train_batch_size 2 --gradient_accumulation_steps 4");
    // 28 heads go to four ranks, two of which stand in a ring; one rank of data parallelism has all of the batch.
    assert_eq!((shared.cp, shared.cp_comm, shared.cp_a2a, shared.global_batch), (8, CpComm::Hierarchical, Some(4), 8));
}
