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

/// Length of the samples at which a command needs what is stated: its need grows with the length.
fn meeting(command: &str, stated: f64) -> u64 {
    let mut run = read(command, &Run::default()).unwrap().run;
    let parts = run.tp * run.cp;
    let (mut low, mut high) = (0, run.seq_len / parts);
    while low + 1 < high {
        let middle = u64::midpoint(low, high);
        run.seq_len = middle * parts;
        if report(&run).unwrap().memory.peak_bytes.gib() > stated { high = middle } else { low = middle }
    }
    high * parts
}

fn median(mut errors: Vec<f64>) -> f64 {
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}

/// `short` in the table: samples are shorter than the length that is asked for, which no file says; `meets_at` is the
/// length at which the prediction is what is stated. `card`: the figure is the size of the GPU. Left out are
/// reinforcement learning, whose figure is the card's with an engine of inference beside, launches by a file of
/// Accelerate's, and models that are not known by their own name.
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
        if line.text("kind") == "short" {
            let length = meeting(commands[path], stated);
            let shown: f64 = line.text("meets_at").parse().unwrap();
            println!("  met at {length} tokens, {shown}");
            // Wide, as the column of the prediction.
            assert!((0.5..2.0).contains(&(shown / length as f64)), "{path}: {length}");
        } else {
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
    assert!(full <= 0.1 && core <= 0.1, "{full} {core}");
    assert!(all <= 0.12, "{all}");
    // Seven of short samples, a 3B that states what its 7B does, and a length that its data does not reach.
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

/// ms-swift 3602360 `docs/source_en/Instruction/Supported-models-and-datasets.md` counts at most 131 tokens of
/// `self-cognition`, 607 and 544 of GPT-4's Alpaca, 25,826 of `LongAlpaca`. `Qwen3-SFT-Mixin` is not in it.
#[test]
fn samples_are_as_long_as_the_longest_that_ms_swift_counted() {
    let length = |command: &str, more: &str| {
        let text = format!("{command} --model Qwen/Qwen2.5-7B-Instruct {more}");
        read(&text, &Run::default()).unwrap_or_else(|issues| panic!("{issues:?}: {text}")).run.seq_len
    };
    let both = "--dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500'";
    for (command, more, tokens) in [
        ("swift sft", "--dataset 'swift/self-cognition#1000'", 131),
        ("swift sft", both, 607),
        ("swift sft", "--dataset vicgalle/alpaca-gpt4 --max_length 512", 512),
        ("swift sft", "--dataset AI-ModelScope/LongAlpaca-12k", 25_826),
        // Packs are full, subsets and unknown data are not counted, a student writes its own answers.
        ("swift sft", "--dataset 'swift/self-cognition#1000' --packing true --max_length 4096", 4096),
        ("swift sft", "--dataset 'swift/self-cognition:empty_think#600' --max_length 4096", 4096),
        ("swift sft", "--dataset swift/Qwen3-SFT-Mixin 'swift/self-cognition#600' --max_length 4096", 4096),
        ("swift rlhf --rlhf_type gkd --teacher_model Qwen/Qwen2.5-14B", "--dataset swift/self-cognition", 2048),
        // Parts of four ranks: 608.
        ("megatron sft --tensor_model_parallel_size 4 --micro_batch_size 1 --global_batch_size 64", both, 608),
        ("swift sft", "", 2048),
    ] {
        assert_eq!(length(command, more), tokens, "{command} {more}");
    }
}

/// Adapters of grouped linears have as many matrices as the rank has experts (modelscope/mcore-bridge f020e47
/// `tuners/lora.py:175`, `num_gemms`), one A for gate and up: Qwen3-30B-A3B has 48 layers of 128 experts of 768, h
/// 2048. transformers 4.55.2 `modeling_gpt_oss.py` has its experts in one parameter, which `target_modules` does not
/// name.
#[test]
fn each_expert_has_an_adapter_of_its_own_or_none() {
    let bytes = |text: &str| {
        let run = read(text, &Run::default()).unwrap_or_else(|issues| panic!("{issues:?}: {text}")).run;
        let memory = report(&run).unwrap().memory;
        let items = memory.per_stage[0].items.iter();
        items.filter(|item| item.name == "adapters of experts").map(|item| item.bytes.0).sum::<f64>()
    };
    let grouped = "NPROC_PER_NODE=2 megatron sft --model Qwen/Qwen3-30B-A3B --tuner_type lora --lora_rank 8 \
        --expert_model_parallel_size 2 --micro_batch_size 1 --global_batch_size 16 --max_length 2048";
    let elements = 48.0 * 64.0 * 8.0 * ((2048.0 + 2.0 * 768.0) + (768.0 + 2048.0));
    // Weights in bf16, gradients, masters and moments in fp32: one rank has them all.
    assert!((bytes(grouped) / (18.0 * elements) - 1.0).abs() < 1e-9, "{}", bytes(grouped) / elements);
    let gpt_oss = "CUDA_VISIBLE_DEVICES=0 swift sft --model openai-mirror/gpt-oss-20b --tuner_type lora \
        --target_modules all-linear --max_length 2048";
    assert_eq!(bytes(gpt_oss), 0.0);
    assert!(bytes(&format!("{gpt_oss} --target_parameters mlp.experts.gate_up_proj mlp.experts.down_proj")) > 1e9);
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
