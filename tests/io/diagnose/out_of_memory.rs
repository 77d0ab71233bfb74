//! Messages of an allocator beside the run on the page: the rank that is compared.

use crate::common::run_with;
use shardscope::core::diagnose::{CauseId, Diagnosis, MemoryFound, out_of_memory};
use shardscope::core::memory::{Lifetime, StageMemory};
use shardscope::core::run::{OneOf, Run};
use shardscope::core::units::{Bytes, MemoryUnit, show_bytes, show_of_gpu};
use shardscope::io::evidence::{diagnose, diagnose_given, read};
use shardscope::io::export::{Stamp, export};

/// Frames of Megatron-LM's loss, which converts the logits to fp32 (`megatron/core/tensor_parallel/cross_entropy.py`).
const LOSS: &str = "  File \"megatron/core/models/gpt/gpt_model.py\", line 249, in forward\n    loss = \
    self.compute_language_model_loss(labels, logits)\n  File \"megatron/core/tensor_parallel/cross_entropy.py\", line \
    38, in calculate_logits_max\n    vocab_parallel_logits = vocab_parallel_logits.float()\n";

/// A message of PyTorch's: asked for, free, in use, allocated, and reserved but unallocated, GiB.
fn message([asked, free, used, allocated, unused]: [&str; 5]) -> String {
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked} GiB. GPU 3 has a total capacity of \
         79.11 GiB of which {free} GiB is free. Including non-PyTorch memory, this process has {used} GiB memory in \
         use. Of the allocated memory {allocated} GiB is allocated by PyTorch, and {unused} GiB is reserved by \
         PyTorch but unallocated.\n"
    )
}

/// 8,192 tokens of 64,128 words in fp32.
const ONE: [&str; 5] = ["1.96", "1.20", "77.91", "66.10", "9.80"];

fn found(text: &str, run: &Run) -> (Diagnosis, MemoryFound) {
    let diagnosis = diagnose(&[&read(text.as_bytes(), run)], run).unwrap();
    let memory = diagnosis.memory.clone().unwrap();
    (diagnosis, memory)
}

fn ranks(run: &Run) -> Vec<StageMemory> {
    shardscope::core::report::report(run).unwrap().memory.per_stage
}

/// 64 H100 with four pipeline ranks of Llama 3.1 8B: the last alone computes logits, the first is the fullest. A
/// message about logits, by size or by frames, is of the last; one that names a rank is of that rank.
#[test]
fn logits_are_compared_with_a_rank_that_has_logits() {
    let run = run_with(&[("stack.base", "megatron-2025"), ("global_batch", "128")]);
    let ranks = ranks(&run);
    let [first, last] = [&ranks[0], &ranks[3]].map(|rank| rank.total.0);
    assert!(first > 1.05 * last, "{first} {last}");
    let compared = |text: &str| {
        let (diagnosis, memory) = found(text, &run);
        let read: Vec<String> = diagnosis.read.iter().map(ToString::to_string).collect();
        (memory.need.unwrap()[1], read.join(" "))
    };
    let by_size = message(ONE);
    // No tensor of the run has 0.31 GiB.
    let by_frames = format!("{LOSS}{}", message(["0.31", "0.20", "77.91", "66.10", "9.80"]));
    for text in [&by_size, &by_frames, &format!("{LOSS}{by_size}")] {
        let (need, read) = compared(text);
        assert!((need / last - 1.0).abs() < 1e-9, "{need} {last} {text}");
        assert!(read.contains("pipeline rank 3"), "{read}");
    }
    let (need, read) = compared(&message(["0.31", "0.20", "77.91", "66.10", "9.80"]));
    assert!((need / first - 1.0).abs() < 1e-9 && read.contains("the fullest GPU"), "{need} {first} {read}");
    let (need, read) = compared(&format!("[rank0]: {}", message(ONE)));
    assert!(
        (need / first - 1.0).abs() < 1e-9 && read.contains("of rank 0, which the message names"),
        "{need} {first} {read}"
    );
}

const GIB: f64 = 1_073_741_824.0;

/// The fullest rank's tensors, GiB: all of its parts but those of the process and of fragmentation.
fn tensors(run: &Run) -> f64 {
    let rank = &ranks(run)[0];
    let is_tensor = |lifetime: Lifetime| !matches!(lifetime, Lifetime::Process | Lifetime::Fragmentation);
    rank.items.iter().filter(|item| is_tensor(item.lifetime)).map(|item| item.bytes.0).sum::<f64>() / GIB
}

/// The message that `run` would print of its logits in fp32 as its last allocation, `more` GiB besides.
fn failure_of(run: &Run, more: f64) -> String {
    let asked = run.micro_batch as f64 * run.seq_len as f64 * 128_256.0 / run.tp as f64 * 4.0 / GIB;
    let allocated = tensors(run) + more - asked;
    let texts = [asked, 0.3, 78.81, allocated, 0.5].map(|gib| format!("{gib:.2}"));
    format!("{LOSS}{}", message(texts.each_ref().map(String::as_str)))
}

/// Llama 3.1 8B on 8 H100 at TP 4 with a fused loss and full recomputation.
fn recomputed() -> Run {
    run_with(&[
        ("stack.base", "megatron-2025"),
        ("gpus", "8"),
        ("tp", "4"),
        ("pp", "1"),
        ("micro_batch", "3"),
        ("global_batch", "96"),
        ("recompute", "full"),
    ])
}

/// Llama 3.1 8B on 8 H100 at TP 4. The page has a fused loss and full recomputation; what failed had neither, which the
/// sum of what was held and asked for tells. That run is named, and each other change is tried on it.
#[test]
fn a_message_that_the_run_does_not_explain_is_of_the_nearest_run_that_does() {
    let page = recomputed();
    let ran = page.with_texts(&[("recompute", "none"), ("cross_entropy", "megatron")]).unwrap();
    let held = tensors(&ran);
    assert!(held < 79.0 && held > 1.2 * tensors(&page), "{held} {}", tensors(&page));
    let (diagnosis, memory) = found(&failure_of(&ran, 0.0), &page);
    // What is compared with "allocated" is the sum of the named parts.
    let likely = memory.predicted_tensors().unwrap()[1] / GIB;
    assert!((likely / tensors(&page) - 1.0).abs() < 1e-9, "{likely}");
    let other = diagnosis.causes.iter().find(|cause| cause.id == CauseId::AnotherSetting).unwrap();
    let set = page.with_texts(&other.set).unwrap();
    assert!((tensors(&set) / held - 1.0).abs() < 0.005, "{:?}", other.set);
    assert_eq!((set.recompute.clone(), set.cross_entropy), (ran.recompute.clone(), ran.cross_entropy));
    let need = |run: &Run| ranks(run)[0].total.0;
    for cause in diagnosis.causes.iter().filter(|cause| cause.id != CauseId::AnotherSetting && !cause.set.is_empty()) {
        let changed = page.with_texts(&cause.set).unwrap();
        assert!(need(&changed) < need(&set), "{cause:#?}");
        let shown = shardscope::core::units::show_bytes(ranks(&changed)[0].total);
        assert!(cause.change.as_ref().unwrap().to_string().contains(&shown), "{shown}: {cause:#?}");
    }
    assert!(diagnosis.causes.iter().any(|cause| cause.id == CauseId::NeverFitted && !cause.set.is_empty()));
}

/// Runs that failed with all activations kept, which the page's run recomputes, and whose tensors fit where their need
/// does not. By the report of the page's run with a change and all that differs, what is offered fits, and what is not
/// enough does not.
#[test]
fn changes_of_another_run_are_enough_with_all_that_differs() {
    let mut not_enough = 0;
    for layers in 32..48 {
        let page = recomputed().with_texts(&[("model.layers", &layers.to_string())]).unwrap();
        let fits = |set: &[(&'static str, String)]| {
            let memory = shardscope::core::report::report(&page.with_texts(set).unwrap()).unwrap().memory;
            memory.need_bytes.0 <= memory.capacity_bytes.0
        };
        let differs = [("recompute", "none".to_owned()), ("cross_entropy", "megatron".to_owned())];
        let ran = page.with_texts(&differs).unwrap();
        if fits(&differs) || tensors(&ran) > 78.0 {
            continue;
        }
        let (diagnosis, _) = found(&failure_of(&ran, 0.0), &page);
        let other = diagnosis.causes.iter().find(|cause| cause.id == CauseId::AnotherSetting).unwrap();
        assert_eq!(page.with_texts(&other.set).unwrap(), ran, "{:?}", other.set);
        let never = diagnosis.causes.iter().find(|cause| cause.id == CauseId::NeverFitted).unwrap();
        assert!(never.others.iter().all(|change| fits(&change.set)), "{layers} {never:#?}");
        assert!(never.not_enough.iter().all(|change| !fits(&change.set)), "{layers} {never:#?}");
        not_enough += never.not_enough.len();
    }
    assert!(not_enough > 0);
}

/// Twice what the largest of the tried runs needs is explained by none: no change of any has a button.
#[test]
fn a_message_that_nothing_explains_has_no_change_to_press() {
    let page = run_with(&[("gpus", "8"), ("tp", "8"), ("pp", "1"), ("global_batch", "96"), ("recompute", "full")]);
    let largest = page.with_texts(&[("recompute", "none")]).unwrap();
    let (diagnosis, _) = found(&failure_of(&page, 70.0 - tensors(&page)), &page);
    assert!(70.0 > 1.1 * tensors(&largest), "{}", tensors(&largest));
    assert!(diagnosis.causes.iter().any(|cause| cause.id == CauseId::AnotherSetting), "{:#?}", diagnosis.causes);
    assert!(diagnosis.causes.iter().all(|cause| cause.set.is_empty()), "{:#?}", diagnosis.causes);
}

/// The bars add up: the components are the need, and the need is the tensors and what is besides, by every method and
/// where a phase of reinforcement learning is the fullest moment.
#[test]
fn the_parts_of_the_prediction_are_its_whole() {
    let text = message(ONE);
    let methods = shardscope::core::memory::methods::METHODS.iter().map(|info| info.method.id());
    let small = [("model", "llama-3.1-8b"), ("gpus", "8"), ("tp", "4"), ("pp", "1"), ("global_batch", "64")];
    let mut runs: Vec<Run> =
        methods.map(|method| run_with(&[&small[..], &[("memory_method", method)]].concat())).collect();
    let rl = [("rl.algorithm", "grpo"), ("rl.prompts", "64"), ("rl.samples", "8"), ("rl.prompt_tokens", "512")];
    runs.push(run_with(
        &[&small[..], &rl, &[("rl.response_tokens.mean", "1024"), ("rl.response_limit", "4096")]].concat(),
    ));
    for run in runs {
        let report = shardscope::core::report::report(&run).unwrap();
        let (_, memory) = found(&text, &run);
        let need = memory.need.unwrap();
        assert!((need[1] / report.memory.need_bytes.0 - 1.0).abs() < 1e-9, "{:?}", run.memory_method);
        let sum: f64 = memory.predicted.iter().map(|(_, bytes)| bytes).sum();
        assert!((sum / need[1] - 1.0).abs() < 1e-9, "{:?}: {sum} {need:?}", run.memory_method);
        let tensors = memory.predicted_tensors().unwrap()[1];
        let stage = report.memory.fullest().unwrap();
        let is_tensor = |lifetime: Lifetime| !matches!(lifetime, Lifetime::Process | Lifetime::Fragmentation);
        let own: f64 = stage.items.iter().filter(|item| is_tensor(item.lifetime)).map(|item| item.bytes.0).sum();
        assert!((tensors / own - 1.0).abs() < 1e-9, "{:?}: {tensors} {own}", run.memory_method);
    }
}

/// What the host's kernel, Slurm, Kubernetes, a launcher and PyTorch's allocator for the CPU write is of no GPU.
#[test]
fn a_host_that_ran_out_is_no_gpu() {
    let texts = [
        "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. Some of the step tasks have been OOM Killed.\n\
         srun: error: node12: task 3: Out Of Memory\n",
        "torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -9) local_rank: 3\nKilled\n",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you \
         tried to allocate 141733920768 bytes. Error code 12 (Cannot allocate memory)\n",
        "kernel: Out of memory: Killed process 4242 (python) total-vm:131072kB, anon-rss:65536kB\n",
    ];
    for text in texts {
        let run = Run::default();
        let issues = diagnose(&[&read(text.as_bytes(), &run)], &run).unwrap_err();
        assert!(issues.iter().any(|issue| issue.message.to_string().contains("the host")), "{text}: {issues:?}");
    }
}

/// vLLM's check before it loads: 71.2 GiB wanted, 12.31 of 79.11 free; it holds nothing yet, so that 66.8 are
/// another's. A driver's error has no sizes.
#[test]
fn messages_of_engines_and_of_the_driver_are_read() {
    let run = run_with(&[("model", "llama-3.1-8b"), ("gpus", "8"), ("tp", "4"), ("pp", "1"), ("recompute", "full")]);
    let text = "ValueError: Free memory on device cuda:0 (12.31/79.11 GiB) on startup is less than desired GPU memory \
        utilization (0.9, 71.2 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.";
    let (diagnosis, memory) = found(text, &run);
    assert!((memory.short.unwrap() / GIB - (71.2 - 12.31)).abs() < 0.01, "{memory:?}");
    let first = &diagnosis.causes[0];
    assert_eq!((first.id, memory.fingerprint), (CauseId::OtherProcess, None));
    assert!((first.bytes.unwrap() / GIB - (79.11 - 12.31)).abs() < 0.01, "{first:?}");
    let (diagnosis, memory) =
        found("RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronous\n", &run);
    assert_eq!((memory.message.asked, memory.short, memory.message.library), (None, None, Some("CUDA")));
    assert!(diagnosis.verdict.to_string().contains("ran out of memory"), "{}", diagnosis.verdict);
}

/// 8,192 tokens of 128,256 words in fp32, 3.91 GiB, beside a run at TP 2: logits without TP, or of twice the tokens, in
/// fp32, or of four times in bf16. All are one product, and no cause is of one of them alone.
#[test]
fn a_size_of_several_tensors_is_said_to_be_of_all() {
    let page = run_with(&[("model", "llama-3.1-8b"), ("gpus", "8"), ("tp", "2"), ("pp", "1"), ("global_batch", "64")]);
    assert_eq!((page.micro_batch, page.seq_len), (1, 8192));
    let (diagnosis, memory) = found(&message(["3.91", "1.20", "77.91", "20.10", "2.80"]), &page);
    let what = memory.fingerprint.unwrap();
    let sizes = std::iter::once((what.tokens.unwrap(), what.logit_bytes, false))
        .chain(what.also.iter().map(|other| (other.tokens, other.logit_bytes, other.whole_vocabulary)));
    let sizes: Vec<f64> = sizes
        .map(|(tokens, bytes, whole)| tokens * if whole { 128_256.0 } else { 64_128.0 } * bytes as f64 / GIB)
        .collect();
    assert!(sizes.len() >= 3 && what.also.iter().any(|other| other.whole_vocabulary), "{sizes:?}");
    assert!(sizes.iter().all(|size| format!("{size:.2}") == "3.91"), "{sizes:?}");
    assert!(what.decides.is_some());
    assert_ne!(diagnosis.causes[0].id, CauseId::LongestSample, "{:#?}", diagnosis.causes);
    let logits = diagnosis.causes.iter().find(|cause| cause.id == CauseId::Logits).unwrap().evidence.to_string();
    assert!(what.also.iter().all(|other| logits.contains(&other.name.to_string())), "{logits}");
}

/// What was asked for is the logits without TP, or those of two sequences at TP 2: the rest that was held decides, of a
/// run that failed without TP.
#[test]
fn what_was_held_tells_two_runs_of_one_size_apart() {
    let page = run_with(&[
        ("stack.base", "megatron-2025"),
        ("model", "llama-3.1-8b"),
        ("model.layers", "12"),
        ("gpus", "8"),
        ("tp", "2"),
        ("pp", "1"),
        ("global_batch", "64"),
        ("cross_entropy", "megatron"),
        ("recompute", "none"),
    ]);
    let [without_tp, two] = [("tp", "1"), ("micro_batch", "2")].map(|set| page.with_texts(&[set]).unwrap());
    for (ran, other) in [(&without_tp, &two), (&two, &without_tp)] {
        let held = tensors(ran);
        assert!(held > 1.1 * tensors(&page) && (held / tensors(other) - 1.0).abs() > 0.1, "{held} {}", tensors(other));
        let (diagnosis, memory) = found(&failure_of(ran, 0.0), &page);
        assert!(!memory.fingerprint.unwrap().also.is_empty());
        let cause = diagnosis.causes.iter().find(|cause| cause.id == CauseId::AnotherSetting).unwrap();
        let set = page.with_texts(&cause.set).unwrap();
        assert_eq!((set.tp, set.micro_batch), (ran.tp, ran.micro_batch), "{cause:#?}");
    }
}

/// A run without recomputation that does not fit is offered full recomputation beside the changes with a shorter step.
/// Each change fits by its own report; the first is the fastest.
#[test]
fn each_change_that_makes_a_run_fit_is_offered() {
    let settings = [
        ("stack.base", "megatron-2025"),
        ("model", "llama-3.1-8b"),
        ("gpus", "8"),
        ("tp", "4"),
        ("pp", "1"),
        ("micro_batch", "6"),
        ("global_batch", "48"),
        ("recompute", "none"),
    ];
    let run = run_with(&settings);
    let report = |run: &Run| shardscope::core::report::report(run).unwrap();
    let need = report(&run).memory.need_bytes.0;
    assert!(need > report(&run).memory.capacity_bytes.0, "{need}");
    let (diagnosis, _) = found(&message(["0.31", "0.20", "77.91", "74.10", "2.80"]), &run);
    let never = diagnosis.causes.iter().find(|cause| cause.id == CauseId::NeverFitted).unwrap();
    let first = report(&run.with_texts(&never.set).unwrap());
    for other in &never.others {
        let after = report(&run.with_texts(&other.set).unwrap());
        assert!(after.memory.need_bytes.0 <= after.memory.capacity_bytes.0, "{other:?}");
        assert!(first.step.time_s.0 <= after.step.time_s.0 * (1.0 + 1e-9), "{other:?}");
        let shown = shardscope::core::units::show_bytes(after.memory.need_bytes);
        assert!(other.change.to_string().contains(&shown), "{other:?} {shown}");
    }
    let sets: Vec<_> = never.others.iter().map(|other| &other.set).chain([&never.set]).collect();
    assert!(sets.contains(&&vec![("recompute", "full".to_owned())]), "{sets:?}");
}

/// Llama 3.1 70B with a micro-batch of two, and 8B on 8 GPUs without a split. What surely fits, by the report of the
/// changed run, comes before what is tight, the fastest first; tight ones are named so. A micro-batch of one is offered
/// where it fits. A run that is predicted to need more than there is, range included, has no likelier cause in memory
/// that is reserved and not in use.
#[test]
fn the_first_change_of_a_run_that_does_not_fit_is_the_fastest_that_fits() {
    let large = [("model", "llama-3.1-70b"), ("tp", "4"), ("pp", "4"), ("micro_batch", "2")];
    let small = [("gpus", "8"), ("tp", "1"), ("pp", "1"), ("micro_batch", "4")];
    let tall = [("gpus", "8"), ("tp", "2"), ("pp", "1"), ("micro_batch", "8"), ("global_batch", "64")];
    for settings in [&large[..], &small[..], &tall[..]] {
        let run = run_with(settings);
        let report = |run: &Run| shardscope::core::report::report(run).unwrap();
        let memory = report(&run).memory;
        assert!(memory.need_low_bytes.0 > memory.capacity_bytes.0, "{settings:?}");
        let (diagnosis, _) = found(&message(["0.31", "0.20", "78.50", "68.50", "5.94"]), &run);
        let place = |id: CauseId| diagnosis.causes.iter().position(|cause| cause.id == id);
        let never = &diagnosis.causes[place(CauseId::NeverFitted).unwrap()];
        assert!(place(CauseId::NeverFitted) < place(CauseId::Fragmentation), "{:#?}", diagnosis.causes);
        let first = (never.change.clone().unwrap(), never.set.clone());
        let others = never.others.iter().map(|other| (other.change.clone(), other.set.clone()));
        let offered: Vec<_> = std::iter::once(first).chain(others).collect();
        let order: Vec<(bool, f64)> = offered
            .iter()
            .map(|(words, set)| {
                let after = report(&run.with_texts(set).unwrap());
                let is_tight = after.memory.need_high_bytes.0 > after.memory.capacity_bytes.0;
                assert!(after.memory.need_bytes.0 <= after.memory.capacity_bytes.0, "{words}");
                assert_eq!(words.to_string().contains("tight"), is_tight, "{words}");
                (is_tight, after.step.time_s.0)
            })
            .collect();
        assert!(order.is_sorted_by(|a, b| (!a.0 & b.0) || (a.0 == b.0 && a.1 <= b.1 * (1.0 + 1e-9))), "{order:?}");
        let one = report(&run.with_texts(&[("micro_batch", "1")]).unwrap()).memory;
        let is_offered = offered.iter().any(|(_, set)| set.iter().any(|(key, _)| *key == "micro_batch"));
        if one.need_high_bytes.0 <= one.capacity_bytes.0 {
            assert!(is_offered, "{offered:?}");
        }
    }
}

/// Runs of which no setting alone makes them fit, and one of which some do: every setting that was tried stands in the
/// list, and what it says is still missing is the need of the changed run's own report less the GPU's memory. What the
/// page says is missing of the run itself is what its report says.
#[test]
fn what_is_not_enough_says_what_would_still_be_missing() {
    let large = [("model", "llama-3.1-405b"), ("gpus", "1024"), ("global_batch", "1024"), ("seq_len", "8192")];
    let large =
        [&large[..], &[("tp", "1"), ("pp", "1"), ("zero", "3"), ("micro_batch", "1"), ("stack", "fsdp2")]].concat();
    let small = [("gpus", "8"), ("tp", "4"), ("pp", "1"), ("micro_batch", "6"), ("global_batch", "48")];
    let small = [&small[..], &[("recompute", "none")]].concat();
    for (settings, is_reached) in [(large, false), (small, true)] {
        let run = run_with(&settings);
        let memory = |run: &Run| shardscope::core::report::report(run).unwrap().memory;
        let missing = |run: &Run| memory(run).need_bytes.0 - memory(run).capacity_bytes.0;
        let (diagnosis, _) = found(&message(["2.00", "1.21", "77.90", "71.20", "4.90"]), &run);
        let never = diagnosis.causes.iter().find(|cause| cause.id == CauseId::NeverFitted).unwrap();
        let evidence = never.evidence.to_string();
        // As Run says it, to the digit.
        let (need, capacity) = (memory(&run).need_bytes, memory(&run).capacity_bytes);
        for figure in [MemoryUnit::Gib.show(need), MemoryUnit::Gib.beyond(need, capacity)] {
            assert!(evidence.contains(&figure), "{figure} {evidence}");
        }
        // Tensors beside tensors: what PyTorch counts as allocated holds nothing of the process.
        let (_, said) = evidence.split_once("Of tensors ").unwrap();
        let tensors: f64 = said.split_once(" GiB are predicted").unwrap().0.parse().unwrap();
        assert!(tensors < memory(&run).need_bytes.0 / GIB, "{evidence}");
        let times = shardscope::core::units::significant(tensors / 73.2, 2);
        assert!(said.contains(&format!("predicted, {times} times the 73.2 GiB")), "{evidence}");
        assert!(!never.not_enough.is_empty());
        let still: Vec<f64> = never
            .not_enough
            .iter()
            .map(|tried| {
                let still = missing(&run.with_texts(&tried.set).unwrap());
                assert!(still > 0.0 && tried.set.len() == 1, "{tried:?}");
                let said = format!("{} would still be missing", show_of_gpu(Bytes(still)));
                assert!(tried.change.to_string().contains(&said), "{tried:?} {said}");
                still
            })
            .collect();
        assert!(still.is_sorted(), "{still:?}");
        // One change is enough, or two at once.
        assert_eq!(never.set.len(), if is_reached { 1 } else { 2 }, "{:?}", never.set);
        assert!(missing(&run.with_texts(&never.set).unwrap()) <= 0.0);
        // Reserved memory would have served the request: that it would not have helped for long is said there.
        let pieces = diagnosis.causes.iter().find(|cause| cause.id == CauseId::Fragmentation).unwrap();
        assert_eq!(pieces.missing, Some(missing(&run)));
        assert!(pieces.evidence.to_string().contains("this one request would have been served"), "{pieces:?}");
        let listed: Vec<_> = diagnosis.listed().map(|(number, at, _)| (number, at)).collect();
        let alone = diagnosis.causes.iter().filter(|cause| cause.missing.is_some()).count();
        assert_eq!(listed.len(), diagnosis.causes.len());
        assert!(listed.iter().rev().take(alone).all(|(number, _)| number.is_none()), "{listed:?}");
    }
}

/// A message about the logits of a run that a smaller micro-batch alone makes fit: no change sets the loss besides, and
/// the loss alone says what would still be missing with it.
#[test]
fn a_change_that_is_enough_alone_is_offered_alone() {
    use shardscope::io::evidence::ExampleFile;
    let (run, file) = (ExampleFile::Memory.run(), ExampleFile::Memory.evidence());
    let diagnosis = diagnose(&[&file], &run).unwrap();
    let memory = |set: &[(&'static str, String)]| {
        shardscope::core::report::report(&run.with_texts(set).unwrap()).unwrap().memory
    };
    let lacks = |set: &[(&'static str, String)]| memory(set).need_bytes.0 - memory(set).capacity_bytes.0;
    let logits = diagnosis.causes.iter().find(|cause| cause.id == CauseId::Logits).unwrap();
    assert_eq!(logits.set.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["cross_entropy"]);
    assert_eq!(logits.missing, Some(lacks(&logits.set)));
    assert!(lacks(&logits.set) > 0.0 && lacks(&[("micro_batch", "2".to_owned())]) <= 0.0);
    let never = diagnosis.causes.iter().find(|cause| cause.id == CauseId::NeverFitted).unwrap();
    assert_eq!(never.set, [("micro_batch", "2".to_owned())]);
    for other in &never.others {
        assert!(other.set.len() == 1 && lacks(&other.set) <= 0.0, "{other:?}");
    }
}

/// A message and no run: neither the page's example nor that of a link is compared, no cause is of a setting, and none
/// offers one. What the message proves stands first where it is as much as was missing, and behind where it is less.
#[test]
fn without_a_run_the_message_alone_is_explained() {
    let full = message(["0.22", "0.12", "78.50", "77.00", "0.58"]);
    let in_pieces = message(["2.00", "0.58", "78.50", "60.21", "16.29"]);
    // 9 GiB asked for, 0.58 free: processes that the message names, this one's first.
    let of_others = |[own, others, allocated]: [&str; 3]| {
        let in_use = format!("Process 9 has {own} GiB memory in use. Process 7 has {others} GiB memory");
        message(["9.00", "0.58", own, allocated, "0.29"])
            .replace("Including non-PyTorch memory, ", "")
            .replace(&format!("this process has {own} GiB memory"), &in_use)
    };
    for page in [Run::default(), Run::example(), Run { measured_step_s: Some(3.0), ..Run::example() }] {
        for text in [&full, &in_pieces, &message(ONE), &format!("{LOSS}{}", message(ONE)), &format!("[rank3]: {full}")]
        {
            let (diagnosis, memory) = found(text, &page);
            assert!(memory.no_run && memory.need.is_none() && memory.fingerprint.is_none(), "{text}");
            assert!(diagnosis.own.is_none() && !diagnosis.causes.is_empty(), "{text}");
            assert!(diagnosis.read.iter().any(|words| words.to_string().contains("No run was given")), "{text}");
            for cause in &diagnosis.causes {
                assert_ne!(cause.id, CauseId::AnotherSetting, "{text}");
                assert!(cause.set.is_empty() && cause.others.is_empty(), "{cause:#?}");
            }
        }
        let first = |text: &str| found(text, &page).0.causes[0].id;
        assert_eq!(first(&full), CauseId::NeverFitted);
        assert_eq!(first(&in_pieces), CauseId::Fragmentation);
        // 8.42 GiB are missing: 12 GiB of another process explain them, 4 do not.
        assert_eq!(first(&of_others(["66.50", "12.00", "66.00"])), CauseId::OtherProcess);
        let less = of_others(["74.50", "4.00", "73.50"]);
        assert_eq!(first(&less), CauseId::NeverFitted);
        assert!(found(&less, &page).0.causes[1..].iter().any(|cause| cause.id == CauseId::OtherProcess));
    }
    // A run that is set, and a script beside the message that states the page's own, are compared.
    let set = run_with(&[("micro_batch", "2")]);
    assert!(found(&full, &set).1.need.is_some());
    for page in [Run::default(), Run::example()] {
        let script = export(&page, "megatron", &Stamp { date: "", address: "" }).unwrap();
        let files = [&script, &full].map(|text| read(text.as_bytes(), &page));
        let memory = diagnose(&[&files[0], &files[1]], &page).unwrap().memory.unwrap();
        assert!(!memory.no_run && memory.need.is_some());
        // So is a run that a request gives, whichever it is.
        let memory = diagnose_given(&[&files[1]], &page).unwrap().memory.unwrap();
        assert!(!memory.no_run && memory.need.is_some());
    }
}

/// What is reserved and not in use, 3.61 GiB, and what is free, 2.37 GiB, would have served the 3.91 GiB that were asked
/// for: that comes before a run that is too large, which the sum of tensors and request, 74.0 of 79.1 GiB, does not show.
#[test]
fn memory_in_pieces_comes_before_a_run_that_would_have_had_room() {
    let text = message(["3.91", "2.37", "76.72", "70.11", "3.61"]).replace("79.11", "79.10");
    let first = |text: &str| found(text, &Run::example()).0.causes[0].id;
    assert_eq!(first(&text), CauseId::Fragmentation);
    // More than both: no use of what is reserved serves it.
    assert_ne!(first(&message(["6.91", "2.37", "76.72", "70.11", "3.61"])), CauseId::Fragmentation);
}

/// What is asked for and held is less than the GPU has: no sentence says that it is more.
#[test]
fn tensors_that_would_have_room_are_not_said_to_be_more_than_the_gpu_has() {
    let run = run_with(&[("model", "llama-3.1-70b"), ("tp", "8"), ("pp", "4"), ("recompute", "full")]);
    let (diagnosis, _) = found(&message(["2.00", "0.58", "78.50", "60.21", "16.29"]), &run);
    let said: Vec<String> = diagnosis.causes.iter().map(|cause| cause.evidence.to_string()).collect();
    assert!(said.iter().all(|words| !words.contains("more is needed than the GPU has")), "{said:?}");
}

/// The FFN of GPT-3 is four times as wide as its hidden size: at TP 4 the input of the second product has the size of
/// the hidden states. Neither is logits, which no cause of this message is then.
#[test]
fn hidden_states_and_a_part_of_the_ffn_are_one_size() {
    let page = run_with(&[("model", "gpt-3-175b"), ("gpus", "64"), ("tp", "4"), ("pp", "16"), ("global_batch", "64")]);
    let page = page.with_texts(&[("micro_batch", "4"), ("recompute", "full")]).unwrap();
    let asked = page.micro_batch as f64 * page.seq_len as f64 * 12_288.0 * 2.0 / GIB * 1024.0;
    let text = message(["1.00", "0.01", "77.91", "20.10", "2.80"]).replace("1.00 GiB", &format!("{asked:.2} MiB"));
    let (diagnosis, memory) = found(&text, &page);
    let what = memory.fingerprint.unwrap();
    assert_eq!((what.logits, what.also.len()), (false, 1), "{what:?}");
    assert!(what.decides.is_some());
    assert!(diagnosis.causes.iter().all(|cause| cause.id != CauseId::Logits));
}

/// The settings that words name, by the field of each.
fn named(words: &str) -> Vec<&'static str> {
    let of = [
        ("micro_batch", "micro-batch "),
        ("recompute", "recomputation"),
        ("tp", "TP"),
        ("pp", "PP "),
        ("zero", "ZeRO-"),
        ("cross_entropy", "loss"),
    ];
    of.into_iter().filter(|(_, word)| words.contains(word)).map(|(key, _)| key).collect()
}

/// Every change that is offered names the fields that its press sets and no other; the rank of the message needs, with
/// them, what the words promise; and no two changes of a cause have the same figures.
#[test]
fn a_change_sets_what_it_names_and_needs_what_it_promises() {
    let mut offered = 0;
    let software = ["megatron-2025", "torchtitan", "fsdp2", "deepspeed", "hf-trainer"];
    for stack in software {
        for (model, gpus, tp, zero, micro_batch, recompute) in [
            ("llama-3.1-8b", "8", "1", "0", "4", "none"),
            ("llama-3.1-8b", "8", "1", "1", "8", "full"),
            ("llama-3.1-70b", "64", "4", "2", "2", "none"),
            ("llama-3.1-70b", "64", "1", "3", "4", "none"),
            ("llama-3.1-70b", "128", "8", "1", "2", "selective"),
        ] {
            let edits = [("model", model), ("gpus", gpus), ("tp", tp), ("pp", "1"), ("zero", zero)];
            let more = [("micro_batch", micro_batch), ("recompute", recompute), ("stack", stack)];
            let Some(run) = Run::example().with_texts(&[edits.as_slice(), &more].concat()) else { continue };
            if shardscope::core::report::report(&run).is_err() {
                continue;
            }
            for text in [
                format!("{LOSS}{}", message(["1.96", "0.20", "78.81", "71.00", "0.60"])),
                message(["2.00", "0.20", "78.81", "74.00", "0.60"]),
                format!("{LOSS}[rank0]: {}", failure_of(&run, 0.0)),
                "  File \"torch/optim/adamw.py\", line 1, in _init_group\n".to_owned()
                    + &message(["2.00", "0.20", "78.81", "74.00", "0.60"]),
            ] {
                let (diagnosis, memory) = found(&text, &run);
                for cause in diagnosis.causes.iter().filter(|cause| !cause.set.is_empty()) {
                    let first = (cause.change.clone().unwrap(), cause.set.clone());
                    let others = cause.others.iter().map(|other| (other.change.clone(), other.set.clone()));
                    let mut figures = Vec::new();
                    for (words, set) in std::iter::once(first).chain(others) {
                        let words = words.to_string();
                        let change = words.split_once(": ").unwrap_or_else(|| panic!("{words}")).0;
                        let mut keys: Vec<&str> = set.iter().map(|(key, _)| *key).collect();
                        let mut said = named(change);
                        keys.sort_unstable();
                        said.sort_unstable();
                        assert_eq!(said, keys, "{words} {set:?}");
                        let after = run.with_texts(&set).unwrap();
                        let need = out_of_memory(memory.message.clone(), Some(&after)).need;
                        let report = shardscope::core::report::report(&after).unwrap();
                        // Which rank is compared follows the size that was asked for, which the change may change.
                        let figure = memory.message.rank.and(need).map(|need| show_bytes(Bytes(need[1])));
                        let is_promised = figure.is_none_or(|figure| words.contains(&figure));
                        assert!(is_promised, "{words} {need:?} {set:?}");
                        figures.push((report.memory.need_bytes.0.to_bits(), report.step.time_s.0.to_bits()));
                        offered += 1;
                    }
                    let all = figures.len();
                    figures.sort_unstable();
                    figures.dedup();
                    assert_eq!(figures.len(), all, "{stack} {cause:#?}");
                }
            }
        }
    }
    assert!(offered > 40, "{offered}");
}
