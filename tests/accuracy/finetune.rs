//! Fine-tuning against published measurements: every row of `public/data/finetune_measured.csv` that says enough.

use crate::common::figures;
use shardscope::core::accuracy::{
    Evidence, LEFT_OUT, MeasuredQuantity, Measurement, Prediction, SOURCES, SourceUse, read,
};
use shardscope::core::advice::staircase::staircase;
use shardscope::core::memory::{Component, Verdict};
use shardscope::core::model::Target;
use shardscope::core::report::report;
use shardscope::core::run::{AdapterMethod, AdapterParts, BaseFormat, Based, Run, Scenario};
use shardscope::core::time::Clock;
use shardscope::core::traffic::Traffic;
use std::collections::{BTreeMap, BTreeSet};

fn rows() -> Vec<Evidence> {
    crate::common::evidence("finetune_measured.csv")
}

/// Signed errors of the rows of a quantity, by source and label.
fn errors(about: &[MeasuredQuantity]) -> Vec<(&'static str, String, f64)> {
    let rows = rows();
    let rows = rows.iter().filter(|row| about.contains(&row.source().quantity));
    rows.filter_map(|row| {
        let (Measurement::Memory(measured) | Measurement::Step(measured)) = row.measured else {
            return None;
        };
        let ours = Prediction::of(row).unwrap().value;
        Some((row.source().name, row.label.clone(), ours / measured - 1.0))
    })
    .collect()
}

/// Mean absolute error by source, printed with the worst row.
fn table(errors: &[(&'static str, String, f64)]) -> BTreeMap<&'static str, f64> {
    let mut by: BTreeMap<&str, Vec<(&str, f64)>> = BTreeMap::new();
    for (source, label, error) in errors {
        by.entry(source).or_default().push((label, *error));
    }
    let mean = |list: &[(&str, f64)], of: fn(f64) -> f64| {
        list.iter().map(|(_, error)| of(*error)).sum::<f64>() / list.len() as f64
    };
    by.into_iter()
        .map(|(source, list)| {
            let worst = list.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap();
            println!(
                "{source}: {} rows, mean {:.2} %, bias {:+.2} %, worst {:+.2} % ({})",
                list.len(),
                100.0 * mean(&list, f64::abs),
                100.0 * mean(&list, |error| error),
                100.0 * worst.1,
                worst.0
            );
            (source, mean(&list, f64::abs))
        })
        .collect()
}

/// The aim: 1 % on average between steps.
#[test]
fn memory_between_steps_is_met_within_1_percent() {
    let errors = errors(&[MeasuredQuantity::Steady]);
    assert!(errors.len() >= 80, "{}", errors.len());
    for (source, mean) in table(&errors) {
        assert!(mean <= 0.01, "{source}: {mean}");
    }
}

/// The aims: 5 % on average on one GPU, 8 % on several.
#[test]
fn peaks_are_met_within_5_percent_on_one_gpu_and_8_on_several() {
    table(&errors(&[MeasuredQuantity::Allocated]));
    for (several, aim, least) in [(false, 0.05, 20), (true, 0.08, 50)] {
        let (sum, count) = mean_of(&[MeasuredQuantity::Allocated], |row| (row.run.gpus > 1) == several);
        assert!(count >= least, "{count}");
        assert!(sum / count as f64 <= aim, "{several}: {}", sum / count as f64);
    }
    // No constant was fitted to any of these.
    let (sum, count) = mean_of(&[MeasuredQuantity::Allocated], |row| row.source().kind == SourceUse::Held);
    assert!(count >= 4 && sum / count as f64 <= 0.08, "{}", sum / count as f64);
}

/// The time of operators that unpack GPTQ was read off Qwen-7B's Q-LoRA runs: those of Qwen-14B, which it has not seen,
/// are met within 10 %.
#[test]
fn unpacking_by_operators_is_read_off_one_model_and_meets_the_other() {
    let all = errors(&[MeasuredQuantity::TokensPerGpu]);
    let of = |model: &str| -> Vec<f64> {
        let own =
            all.iter().filter(|(source, label, _)| *source == "Qwen, speed of Q-LoRA" && label.starts_with(model));
        own.map(|(.., error)| error.abs()).collect()
    };
    let held = of("Qwen-14B");
    assert_eq!((held.len(), of("Qwen-7B").len()), (6, 6));
    assert!(held.iter().all(|error| *error <= 0.1), "{held:?}");
}

/// Transformers checkpoints whole layers (`use_reentrant`): the backward pass runs all of the forward pass again,
/// torchtune's and FSDP2's all but the last product.
#[test]
fn reentrant_checkpoints_run_the_whole_layer_again() {
    let repeated = |stack| {
        let mut run = one_gpu("mistral-7b", "bf16");
        (run.stack, run.adapter.method) = (Based::preset(stack), Some(AdapterMethod::Lora));
        let scenario = Scenario::new(&run).unwrap();
        Clock::new(&scenario).stage(&scenario, 0).repeated
    };
    assert!((repeated("hf-trainer") - 1.0).abs() < 1e-9);
    // Down is a fifth of the forward FLOPs of a layer: 14336 of 4096 (2.5 + 3 x 3.5).
    let early = repeated("torchtune");
    assert!((0.7..0.9).contains(&early), "{early}");
}

#[test]
fn what_ran_out_of_memory_is_never_said_to_fit() {
    let rows = rows();
    let out: Vec<_> = rows.iter().filter(|row| row.measured == Measurement::RanOut).collect();
    assert!(out.len() >= 12, "{}", out.len());
    for row in out {
        let verdict = Prediction::of(row).unwrap().verdict;
        println!("{}: {verdict:?}", row.label);
        assert_ne!(verdict, Verdict::Fits, "{}", row.label);
    }
}

/// The aim: tokens a second within 20 %, of every source by itself: none but fms-acceleration's was in view of a
/// constant, and one model of Qwen's.
#[test]
fn the_speed_of_adapters_is_met_within_20_percent() {
    let shown: Vec<&str> =
        SOURCES.iter().filter(|source| source.kind == SourceUse::Shown).map(|source| source.name).collect();
    for (source, mean) in table(&errors(&[MeasuredQuantity::TokensPerGpu])) {
        assert!(mean <= 0.2 || shown.contains(&source), "{source}: {mean}");
    }
    let (sum, count) = mean_of(&[MeasuredQuantity::TokensPerGpu], |_| true);
    assert!(count >= 80 && sum / count as f64 <= 0.2, "{}", sum / count as f64);
}

/// Sum of absolute errors and number of the rows of a quantity that are `wanted`; of what is shown only, none.
fn mean_of(about: &[MeasuredQuantity], wanted: impl Fn(&Evidence) -> bool) -> (f64, usize) {
    let rows = rows();
    let held = |row: &&Evidence| {
        let source = row.source();
        about.contains(&source.quantity) && source.kind != SourceUse::Shown && wanted(row)
    };
    let errors = rows.iter().filter(held).filter_map(|row| {
        let (Measurement::Memory(measured) | Measurement::Step(measured)) = row.measured else {
            return None;
        };
        Some((Prediction::of(row).unwrap().value / measured - 1.0).abs())
    });
    errors.fold((0.0, 0), |(sum, count), error| (sum + error, count + 1))
}

fn one_gpu(model: &'static str, precision: &'static str) -> Run {
    Run {
        model: Based::preset(model),
        gpu: Based::preset("a100-sxm-80gb"),
        stack: Based::preset("hf-trainer"),
        precision: Based::preset(precision),
        gpus: 1,
        tp: 1,
        pp: 1,
        zero: 0,
        sequence_parallel: false,
        recompute: shardscope::core::run::Recompute::Full,
        seq_len: 4096,
        micro_batch: 4,
        global_batch: 4,
        ..Run::default()
    }
}

/// Megatron-Bridge prints 278 to 279 GFLOP a token for LoRA of Llama 3 70B, `4 N` without attention, and 432 to 433 for
/// full fine-tuning at 4096 tokens, `6 N` with it.
#[test]
fn a_frozen_base_costs_four_flops_a_parameter_and_token() {
    let gflop = |adapter: AdapterParts| {
        let report = figures(&Run { model: Based::preset("llama-3.1-70b"), adapter, seq_len: 4096, ..Run::default() });
        report.step.model_flops / report.layout.tokens_per_step / 1e9
    };
    let attention = 6.0 * 80.0 * 8192.0 * 4096.0 / 1e9;
    let lora = gflop(AdapterParts {
        method: Some(AdapterMethod::Lora),
        rank: Some(16),
        targets: Some(vec![Target::Query, Target::Key, Target::Value]),
        ..AdapterParts::default()
    });
    assert!(((lora - attention) / 278.5 - 1.0).abs() < 0.005, "{lora}");
    let full = gflop(AdapterParts::default());
    assert!((full / 432.5 - 1.0).abs() < 0.005, "{full}");
}

/// fms-acceleration, Mistral 7B in pure bf16 on one A100: 6 bytes a parameter between steps and 10 at the optimizer's,
/// whatever the batch.
#[test]
fn pure_bf16_peaks_at_the_optimizers_step() {
    let p = 7_241_732_096.0;
    for batch in [4, 8] {
        let run = Run { micro_batch: batch, global_batch: batch, ..one_gpu("mistral-7b", "bf16-pure") };
        let rank = &figures(&run).memory.per_stage[0];
        let peak = rank.allocated().0 / p;
        assert!((peak - 10.0).abs() < 0.01, "{peak}");
        let states = (rank.weights + rank.optimizer).0 / p;
        assert!((states - 6.0).abs() < 1e-3, "{states}");
    }
}

/// fms-acceleration, Meta-Llama-3-8B in full on two and four A100 with `bf16: true` (`a100_80gb_liger.csv`): accelerate
/// keeps the shards in fp32, so 16 bytes a parameter between steps and 20 at the optimizer's, twice those of pure bf16.
#[test]
fn mixed_precision_under_fsdp_keeps_fp32_shards() {
    // On four GPUs the estimate of a layer's backward pass is above the optimizer's step.
    for (gpus, peak, tolerance) in [(2, 80_320_219_648.0, 0.005), (4, 40_168_839_680.0, 0.07)] {
        let run = Run { gpus, global_batch: 4 * gpus, zero: 3, ..one_gpu("llama-3.1-8b", "fsdp-mixed") };
        let run = Run { cross_entropy: Some(shardscope::core::run::CrossEntropy::FusedLinear), ..run };
        let rank = |run: &Run| figures(run).memory.per_stage.remove(0);
        let ours = rank(&run);
        assert!((ours.allocated().0 / peak - 1.0).abs() < tolerance, "{gpus}: {}", ours.allocated().0);
        if gpus == 2 {
            let states = (ours.weights + ours.gradients + ours.optimizer).0;
            assert!((states / 64_259_672_576.0 - 1.0).abs() < 0.005, "{states}");
        }
        let pure = rank(&Run { precision: Based::preset("bf16-pure"), ..run }).allocated().0;
        assert!(pure < 0.75 * peak, "{gpus}: {pure}");
    }
}

/// Weights that are never freed do not fragment: with the same batch Mixtral's run shows 37,596 MiB at the driver and
/// Mistral's 20,010 (fms-acceleration, GPTQ, b 4), 17.2 GiB for 18.3 GiB of frozen weights; reserved like the rest they
/// would be 20.8.
#[test]
fn frozen_weights_do_not_fragment() {
    let rows = rows();
    let total = |model: &str| {
        let row = rows.iter().find(|row| {
            let peaks =
                row.source().quantity == MeasuredQuantity::Allocated && row.run.gpus == 1 && row.run.micro_batch == 4;
            peaks && row.label.contains(model) && row.label.contains("autogptq, 1 GPUs")
        });
        figures(&row.unwrap().run).memory.peak_bytes.gib()
    };
    let (ours, measured) = (total("Mixtral-8x7B") - total("Mistral-7B"), f64::from(37_596 - 20_010) / 1024.0);
    assert!((ours - measured).abs() < 1.2, "{ours} {measured}");
    assert!((ours + 0.135 * 18.3 - measured).abs() > 3.0);
}

/// Other runs than those of [`frozen_weights_do_not_fragment`], which gave the rule. Qwen-14B at 512 tokens shows 14.5
/// GiB less with a base of 4 bits, for 16.0 GiB of weights (Qwen, `README.md`); Llama 3.3 70B fills 80 GB at 6,916
/// tokens (Unsloth, f0675: rank 32, fp32 residual).
#[test]
fn frozen_weights_do_not_fragment_in_runs_of_others() {
    let rows = rows();
    let reserved = |method: &str| {
        let row = rows.iter().find(|row| row.label.contains("Qwen-14B, ") && row.label.contains(method)).unwrap();
        let rank = figures(&row.run).memory.per_stage.remove(0);
        let Measurement::Memory(measured) = row.measured else { panic!("{}", row.label) };
        (rank.reserved().gib(), rank.weights.gib(), measured)
    };
    let ((whole, all, seen), (quantised, few, less)) = (reserved(" lora,"), reserved("qlora-gptq-int4"));
    let (ours, weights, measured) = (whole - quantised, all - few, seen - less);
    assert!((ours / measured - 1.0).abs() < 0.05, "{ours} {measured}");
    assert!((ours + 0.135 * weights) / measured > 1.1, "{weights}");
    let mut run = one_gpu("llama-3.1-70b", "bf16");
    (run.gpu, run.seq_len, run.micro_batch, run.global_batch) = (Based::preset("h100-sxm-80gb"), 6916, 1, 1);
    run.adapter.method = Some(AdapterMethod::Qlora);
    (run.adapter.rank, run.adapter.upcast) = (Some(32), Some(true));
    let memory = figures(&run).memory;
    let share = memory.need_bytes.0 / memory.capacity_bytes.0;
    assert!((share - 1.0).abs() < 0.05, "{share}");
}

/// QLoRA on cards of 48 GB. Dettmers 2023: a 65B at 512 tokens, rank 64, adapters in bf16 (`qlora.py`), states in
/// unified memory. Unsloth: a 70B at rank 32 fills such a card at 12,106 tokens (f0672); Hugging Face's software does
/// not fit (f0673).
#[test]
fn qlora_of_65_and_70_billion_on_48_gb_is_what_was_published() {
    let with = |pairs: &[(&str, &str)]| {
        let mut run = one_gpu("llama-3.1-70b", "bf16");
        (run.micro_batch, run.global_batch) = (1, 1);
        let set = [&[("gpu", "l40s"), ("adapter.method", "qlora")], pairs].concat();
        figures(&run.with_texts(&set).unwrap()).memory
    };
    let shape = [("model.ffn", "22016"), ("model.kv_heads", "64"), ("model.vocab", "32000"), ("adapter.rank", "64")];
    let first = [("seq_len", "512"), ("adapter.upcast", "true"), ("adapter.dtype", "bf16")];
    assert_eq!(with(&[&shape[..], &first].concat()).verdict, Verdict::Fits);
    let eager = [("seq_len", "512"), ("adapter.upcast", "true"), ("adapter.rank", "32")];
    assert!(with(&eager).need_bytes > with(&eager).capacity_bytes);
    // An RTX A6000, which shows 47.5 GiB.
    let fused =
        [("stack", "hf-fused"), ("cross_entropy", "fused-linear"), ("optimizer", "adam-8bit"), ("adapter.rank", "32")];
    let kept = [("seq_len", "12106"), ("offload.activations", "cpu"), ("host_memory_gib", "256")];
    let need = with(&[&fused[..], &kept].concat()).need_bytes.gib();
    assert!((need / 47.5 - 1.0).abs() < 0.05, "{need}");
}

/// A peak is that of the longest micro-batch (`a100_80gb_pf.csv`, f0433 to f0447, one GPU). Runs with padding, whose
/// samples are all as long as the longest, say how long that is, 2,300 to 2,500 tokens; with it beside b - 1 samples of
/// 290 tokens, the average, runs without padding are met within 3 %, with averages alone they miss by 16 to 20 %.
#[test]
fn the_longest_sample_sets_the_peak_without_padding() {
    let allocated = |stack, tokens: f64| {
        let mut run = one_gpu("mistral-7b", "bf16");
        (run.stack, run.micro_batch, run.global_batch) = (Based::preset(stack), 1, 1);
        (run.adapter.method, run.adapter.base) = (Some(AdapterMethod::Lora), Some(BaseFormat::Gptq4));
        (run.adapter.rank, run.adapter.targets) =
            (Some(16), Some(vec![Target::Query, Target::Key, Target::Value, Target::Output]));
        let run = run.with_texts(&[("seq_len", format!("{tokens:.0}"))]).unwrap();
        figures(&run).memory.per_stage.remove(0).allocated().gib()
    };
    for (stack, padded, free) in [
        ("hf-trainer", [(4.0, 10.357), (8.0, 16.595)], [(4.0, 6.050), (8.0, 6.804)]),
        ("hf-fused", [(4.0, 9.064), (8.0, 14.036)], [(4.0, 5.666), (8.0, 6.275)]),
    ] {
        let (few, many) = (allocated(stack, 8192.0), allocated(stack, 16384.0));
        let tokens = |peak: f64| 8192.0 + 8192.0 * (peak - few) / (many - few);
        let longest = padded.iter().map(|(batch, peak)| tokens(*peak) / batch).sum::<f64>() / 2.0;
        for (batch, peak) in free {
            let averages = allocated(stack, batch * 290.0) / peak - 1.0;
            let ours = allocated(stack, (batch - 1.0) * 290.0 + longest) / peak - 1.0;
            assert!(ours.abs() < 0.05 && averages < -0.13, "{stack} {batch}: {ours} {averages}");
        }
    }
}

/// axolotl pull request 3721: a base in NVFP4 takes about 3.5 times less than in bf16, and as its products read it, by
/// rows and by columns, about 1.75 times.
#[test]
fn a_base_in_nvfp4_takes_what_was_published() {
    let layers = |base: Option<BaseFormat>, gather| {
        let mut run = Run { gpu: Based::preset("b200-sxm"), ..one_gpu("llama-3.1-8b", "bf16") };
        run.adapter.method = Some(AdapterMethod::Lora);
        run.adapter.base = base;
        if gather {
            run.precision = Based::preset("nvfp4");
            run.precision.parts.param_gather = Some(true);
        }
        let items = figures(&run).memory.per_stage.remove(0).items;
        let weights =
            |item: &&shardscope::core::memory::Item| item.component == Component::Weights && item.name == "layers";
        items.iter().filter(weights).map(|item| item.bytes.0).sum::<f64>()
    };
    let whole = layers(None, false);
    assert!((whole / layers(Some(BaseFormat::Nvfp4), false) - 3.5).abs() < 0.1);
    assert!((whole / layers(None, true) - 1.75).abs() < 0.05);
}

/// Transformer Engine's `fp8_model_init`: a frozen linear is one copy of a byte, half of bf16, which fp8 products read:
/// nothing is quantised again in a step, so one of a single micro-batch is faster by that; products in bf16 unpack it
/// and are slower.
#[test]
fn a_base_in_fp8_is_a_byte_a_weight_that_fp8_products_read_as_it_is() {
    let of = |base, precision| {
        let mut run = one_gpu("llama-3.1-8b", precision);
        (run.stack, run.gpu) = (Based::preset("megatron-2025"), Based::preset("h100-sxm-80gb"));
        (run.adapter.method, run.adapter.base) = (Some(AdapterMethod::Lora), base);
        let report = figures(&run);
        let items = &report.memory.per_stage[0].items;
        let layers = items.iter().find(|item| item.component == Component::Weights && item.name == "layers").unwrap();
        (layers.bytes.0, report.step.time_s.0)
    };
    for (precision, faster) in [("fp8-delayed", true), ("bf16", false)] {
        let (plain, stored) = (of(None, precision), of(Some(BaseFormat::Fp8), precision));
        assert!((stored.0 / plain.0 - 0.5).abs() < 0.01, "{precision}");
        assert_eq!(stored.1 < plain.1, faster, "{precision}");
    }
}

/// The closed form of QLoRA with double quantisation, held against fms-acceleration's 4.01, 34.63 and 22.97 GiB
/// between steps: `0.515869 P_lin + 2 P_emb + 12 A`.
#[test]
fn qlora_between_steps_is_what_was_measured() {
    for (model, measured) in [("mistral-7b", 4.01), ("llama-2-70b", 34.63), ("mixtral-8x7b", 22.97)] {
        let mut run = one_gpu(model, "bf16");
        run.adapter = AdapterParts {
            method: Some(AdapterMethod::Qlora),
            rank: Some(16),
            targets: Some(vec![Target::Query, Target::Key, Target::Value, Target::Output]),
            ..AdapterParts::default()
        };
        let rank = &figures(&run).memory.per_stage[0];
        let steady = (rank.weights + rank.optimizer).gib();
        println!("{model}: {steady:.3} GiB, measured {measured}");
        assert!((steady / measured - 1.0).abs() < 0.006, "{model} {steady}");
    }
}

/// Fewer bits of the base, less memory; `DoRA` takes more than `LoRA`, and everything less than full fine-tuning.
#[test]
fn each_way_to_train_less_takes_less() {
    let needs = |method, base| {
        let mut run = one_gpu("llama-3.1-8b", "bf16");
        run.adapter.method = method;
        run.adapter.base = base;
        figures(&run).memory.need_bytes.gib()
    };
    let lora = |base| needs(Some(AdapterMethod::Lora), base);
    let order = [
        lora(Some(BaseFormat::Nf4Double)),
        lora(Some(BaseFormat::Nf4)),
        lora(Some(BaseFormat::Int8)),
        lora(None),
        needs(Some(AdapterMethod::Dora), None),
        needs(None, None),
    ];
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(needs(Some(AdapterMethod::Qlora), None), order[0]);
}

/// PEFT's `DoRA` keeps what the base writes beside what `LoRA` keeps: `2 T out` of every adapted linear of every layer,
/// and a magnitude of four, four and eight bytes a row.
#[test]
fn dora_keeps_what_the_base_writes() {
    let peak = |method| {
        let mut run = one_gpu("llama-3.1-8b", "bf16");
        run.recompute = shardscope::core::run::Recompute::None;
        (run.adapter.method, run.micro_batch, run.global_batch) = (Some(method), 1, 1);
        run.adapter.targets = Some(vec![Target::Query, Target::Value]);
        let items = figures(&run).memory.per_stage.remove(0).items;
        let activations = |name| items.iter().filter(move |item| item.name == name);
        activations("outputs before the magnitudes").map(|item| item.bytes.0).sum::<f64>()
    };
    let (t, layers, out) = (4096.0, 32.0, 4096.0 + 1024.0);
    assert!((peak(AdapterMethod::Dora) / (2.0 * t * layers * out) - 1.0).abs() < 1e-9);
    assert_eq!(peak(AdapterMethod::Lora), 0.0);
}

/// Hugging Face's Trainer steps embeddings with fp32 states beside 8-bit ones, 8 bytes against 2.03 (transformers
/// `trainer.py`, bitsandbytes `optim/optimizer.py`): of Llama-3.1-8B 525 M parameters are the embedding; torchtune
/// steps all alike.
#[test]
fn eight_bit_adam_leaves_embeddings_in_fp32_under_the_trainer() {
    let states = |stack| {
        let mut run = one_gpu("llama-3.1-8b", "bf16-pure");
        run.stack = Based::preset(stack);
        run.optimizer = shardscope::core::run::Optimizer::Adam8Bit;
        figures(&run).memory.per_stage[0].optimizer.0
    };
    let (all, embedding, small) = (8_030_261_248.0, 128_256.0 * 4096.0, 2.031_25);
    assert!((states("torchtune") / (small * all) - 1.0).abs() < 1e-6);
    let own = small * (all - embedding) + 8.0 * embedding;
    assert!((states("hf-trainer") / own - 1.0).abs() < 1e-6);
}

/// Adapters alone are reduced: with ZeRO-0 over N ranks `2 g A (N-1)/N` bytes a step.
#[test]
fn only_adapters_are_reduced() {
    let mut run = one_gpu("llama-3.1-8b", "bf16");
    (run.gpus, run.global_batch) = (4, 16);
    run.adapter.method = Some(AdapterMethod::Lora);
    run.adapter.rank = Some(16);
    let (h, f, kv, r, layers) = (4096.0, 14336.0, 1024.0, 16.0, 32.0);
    let adapters = layers * r * (4.0 * h + 2.0 * (h + kv) + 3.0 * (h + f));
    let report = figures(&run);
    let row = report.overlap.iter().find(|row| row.traffic == Traffic::Dp).unwrap();
    let sent = 2.0 * 4.0 * adapters * 3.0 / 4.0;
    assert!((row.bytes_per_gpu.0 / sent - 1.0).abs() < 1e-9);
}

/// Full fine-tuning under FSDP, packed, one micro-batch a step: between the passes nothing is whole, and the peak is
/// the optimizer's step, `10 P/N` (weights 2, gradients 2, states 4, a temporary of 2). Reentrant checkpoints gather a
/// third time (transformers issue 30404): `3 x 2 P (N-1)/N` a micro-batch.
#[test]
fn sharded_full_fine_tuning_peaks_in_the_optimizer_and_gathers_three_times() {
    let mut run = one_gpu("mistral-7b", "bf16-pure");
    (run.gpus, run.zero, run.micro_batch, run.global_batch) = (2, 3, 2, 4);
    run.recompute = shardscope::core::run::Recompute::Full;
    let report = figures(&run);
    let p = 7_241_732_096.0;
    let peak = report.memory.per_stage[0].allocated().0;
    assert!((peak / (10.0 * p / 2.0) - 1.0).abs() < 0.01, "{peak}");
    let row = report.overlap.iter().find(|row| row.traffic == Traffic::Zero3).unwrap();
    assert!((row.bytes_per_gpu.0 / (3.0 * 2.0 * p / 2.0) - 1.0).abs() < 1e-6, "{}", row.bytes_per_gpu.0);
}

/// Settings that cannot work are refused at their field, and the fix works.
#[test]
fn settings_without_meaning_are_refused_with_what_would_work() {
    let refused = |pairs: &[(&str, &str)]| {
        let mut run = one_gpu("gpt-3-175b", "bf16");
        for (key, value) in pairs {
            run = run.with_texts(&[(*key, (*value).to_owned())]).unwrap();
        }
        let error = report(&run).unwrap_err().errors.remove(0);
        let fix = error.fix.unwrap();
        assert!(report(&run.with_texts(&fix.set).unwrap()).is_ok());
        error.field
    };
    let targets = [("adapter.method", "lora"), ("adapter.targets", "q_proj,gate_proj")];
    assert_eq!(refused(&targets), "adapter.targets");
    assert_eq!(refused(&[("adapter.rank", "8")]), "adapter.method");
    let full = [("adapter.method", "qlora"), ("precision", "fp32")];
    assert_eq!(refused(&full), "precision");
    let run = Run::default();
    assert!(run.with_texts(&[("adapter.rank", "0".to_owned())]).is_none());
    assert!(run.with_texts(&[("adapter.targets", "wings".to_owned())]).is_none());
}

/// torchtune's table of Llama 3.2 3B (README, memory optimizations): every step takes less, down to the run that was
/// chosen. The staircase begins at 14 bytes a parameter beside gradients: bf16 weights, fp32 masters and moments (ZeRO,
/// section 3.1).
#[test]
fn the_staircase_leads_from_full_fine_tuning_to_the_run() {
    let mut run = one_gpu("llama-3.1-8b", "bf16-pure");
    run.stack = Based::preset("torchtune");
    run.adapter.method = Some(AdapterMethod::Qlora);
    run.optimizer = shardscope::core::run::Optimizer::Adam8Bit;
    let stairs = staircase(&run);
    assert_eq!(stairs.len(), 6);
    let first = &stairs[0].memory;
    let states = (first.weights + first.optimizer).0;
    assert!((states / (14.0 * 8_030_261_248.0) - 1.0).abs() < 1e-3);
    let peaks: Vec<f64> = stairs.iter().map(|stair| -stair.memory.total.0).collect();
    assert!(peaks.is_sorted(), "{peaks:?}");
    let chosen = figures(&run);
    let last = stairs.last().unwrap();
    assert_eq!(last.memory.total, chosen.memory.peak_bytes);
    assert_eq!(last.step, chosen.step.time_s);
    // Training on many GPUs has no staircase.
    assert!(staircase(&Run::default()).is_empty());
}

/// Every row of the table is computed, or counted with what it leaves out.
#[test]
fn every_row_is_computed_or_counted_with_the_reason() {
    let csv = std::fs::read_to_string("public/data/finetune_measured.csv").unwrap();
    let lines: Vec<&str> = csv.lines().filter(|line| !line.starts_with('#')).collect();
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for line in &lines[1..] {
        let one = format!("{}\n{line}\n", lines[0]);
        if read("finetune_measured.csv", &one).0.is_empty() {
            let source = line.split(',').nth(1).unwrap();
            let known = LEFT_OUT.iter().find(|(part, ..)| source.contains(part));
            *left.entry(known.unwrap_or_else(|| panic!("{line}")).0).or_default() += 1;
        }
    }
    let all: usize = LEFT_OUT.iter().map(|(_, count, _)| count).sum();
    println!("{} of {} rows are left out", all, lines.len() - 1);
    for (source, count, reason) in LEFT_OUT {
        println!("{count} of {source}: {reason}");
        assert_eq!(left.get(source), Some(&count), "{source}");
    }
}

/// Bytes a logit of the loss kernels were read off slopes: with the rows of any one model left out, the others give the
/// same within a tenth, and meet those of the one within the aims.
#[test]
fn a_model_left_out_of_the_slopes_is_met_all_the_same() {
    let rows = rows();
    let about = [MeasuredQuantity::Allocated];
    let peaks = rows.iter().filter(|row| {
        let source = row.source();
        about.contains(&source.quantity) && source.kind == SourceUse::Fitted
    });
    // Measured, predicted, and the part of it that the constant gives.
    let facts: Vec<(&str, [f64; 3])> = peaks
        .filter_map(|row| {
            let Measurement::Memory(measured) = row.measured else {
                return None;
            };
            let ranks = figures(&row.run).memory.per_stage;
            let logits = ranks[0].items.iter().find(|item| item.name == "logits");
            let logits = logits.map_or(0.0, |item| item.bytes.gib());
            let model = row.label.split(',').next().unwrap();
            Some((model, [measured, ranks[0].allocated().gib(), logits]))
        })
        .collect();
    let models: BTreeSet<&str> = facts.iter().map(|(model, _)| *model).collect();
    assert!(models.len() >= 4, "{models:?}");
    for left in models {
        let (mut top, mut bottom) = (0.0, 0.0);
        for (_, [measured, ours, logits]) in facts.iter().filter(|(model, _)| *model != left) {
            top += (measured - ours) * logits;
            bottom += logits * logits;
        }
        let more = top / bottom;
        assert!(more.abs() < 0.1, "{left}: {more}");
        let own = facts.iter().filter(|(model, _)| *model == left);
        let errors: Vec<f64> =
            own.map(|(_, [measured, ours, logits])| ((ours + more * logits) / measured - 1.0).abs()).collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        println!("{left}: constant {:+.2} %, {} rows within {:.2} %", 100.0 * more, errors.len(), 100.0 * mean);
        assert!(mean <= 0.05, "{left}: {mean}");
    }
}
