//! Worked cases of public threads and data: the numbers that the reference gives for them.

use super::bytes;
use shardscope::core::diagnose::{CauseId, Diagnosis, Moment};
use shardscope::core::run::{Based, Run};
use shardscope::io::evidence::{diagnose, read};

fn found(files: &[&[u8]], run: &Run) -> Diagnosis {
    let files: Vec<_> = files.iter().map(|file| read(file, run)).collect();
    diagnose(&files.iter().collect::<Vec<_>>(), run).unwrap()
}

/// Case 1, `nanochat` PR 477: steps of 683 ms with spikes of 0.67 s at irregular distances are the collector's.
#[test]
fn irregular_spikes_of_one_height_are_first_of_all_pauses() {
    let series = [682.98, 681.35, 1350.44, 667.30, 688.45, 1355.74, 682.99].map(|ms| ms * 1e-3);
    let found = shardscope::core::diagnose::StepSeries::of(&series).unwrap();
    assert!((found.median_s - 0.683).abs() < 1e-3 && found.spikes == 2, "{found:?}");
    assert!((found.spike_s - 0.67).abs() < 0.01);
    assert_eq!(found.causes()[0].id, CauseId::HostPause);
}

/// Case 6, Primus: 3.246 s, of which the last stage's 142 against 129 ms cost 0.188 s, messages and jitter 0.071 s. The
/// first iteration, 7.557 s, is left out.
#[test]
fn a_pipeline_of_eight_ranks_loses_time_to_its_last_stage() {
    let found = found(&[&bytes("primus_pp8.json.gz")], &Run::default());
    let times = found.workers.unwrap();
    assert_eq!((times.workers, times.microbatches, times.steps), (8, 16, 3));
    assert!((times.measured_s - 3.246).abs() < 0.002, "{}", times.measured_s);
    let (even, stages) = (times.even_s.unwrap(), times.stages_s.unwrap());
    assert!((even - 2.987).abs() < 0.02, "{even}");
    assert!((stages - 3.175).abs() < 0.002, "{stages}");
    assert!((times.measured_s - stages - 0.071).abs() < 0.002);
    assert_eq!(found.causes[0].id, CauseId::UnequalStages);
}

/// Case 7, `StragglerAnalysis` (OSDI 25): its labels are one slow worker, and unequal stages.
#[test]
fn labelled_jobs_have_the_cause_that_their_label_says() {
    let slow = found(&[&bytes("bytedance_AR.json.gz")], &Run::default());
    let ratios = slow.workers.unwrap().ratios;
    assert!((ratios.workers - 2.35).abs() < 0.02 && ratios.slow_worker == (0, 0), "{ratios:?}");
    assert!((ratios.stages - 1.05).abs() < 0.02 && (ratios.microbatches - 0.017).abs() < 0.01, "{ratios:?}");
    assert_eq!(slow.causes[0].id, CauseId::LateRank);
    let stages = found(&[&bytes("bytedance_ST.json.gz")], &Run::default());
    let ratios = stages.workers.unwrap().ratios;
    // 345.2 against 212 ms in its last step; 1.62 to 1.66 by step.
    assert!((ratios.stages - 1.64).abs() < 0.03 && (ratios.workers - 1.0).abs() < 0.02, "{ratios:?}");
    assert_eq!(stages.causes[0].id, CauseId::UnequalStages);
}

/// Case 8, `TraceLens`' table of Llama-70B on 8 MI300: rank 0 waits 84 % of its reduce-scatters for rank 4, 4.8 s a
/// step of two; the wire takes 1.87 s.
#[test]
fn rank_4_makes_the_others_wait() {
    let long = bytes("tracelens_llama70b_fsdp_nccl_summary_long.csv");
    let least = bytes("tracelens_llama70b_fsdp_nccl_summary_implicit_sync.csv");
    let found = found(&[&long, &least], &Run::default());
    let ranks = found.ranks.unwrap();
    assert_eq!((ranks.late, ranks.calls), (Some(4), 160));
    let first = &ranks.ranks[0];
    assert!((first.wire_s - 1.866).abs() < 0.001 && (first.waiting_s / 2.0 - 4.8).abs() < 0.02, "{first:?}");
    assert!((first.waiting_s / (first.wire_s + first.waiting_s) - 0.84).abs() < 0.005);
    assert_eq!(found.causes[0].id, CauseId::LateRank);
}

/// Case 9, Megatron-Bridge PR 5508: 3.79 GiB are 4,097 tokens of 248,320 words in fp32; the thread says 4,096.
#[test]
fn the_size_that_was_asked_for_is_that_of_the_logits() {
    let text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.79 GiB. GPU 0 has a total capacity of \
        79.11 GiB of which 2.10 GiB is free. Of the allocated memory 72.00 GiB is allocated by PyTorch, and 1.00 GiB \
        is reserved by PyTorch but unallocated.\n  File \"x/fused_cross_entropy.py\", line 1, in cross_entropy\n";
    let mut run = Run { tp: 1, pp: 1, seq_len: 4096, micro_batch: 1, ..Run::default() };
    run.model = Based::preset("llama-3.1-8b");
    let run =
        run.with_texts(&[("model.base", "llama-3.1-8b".to_owned()), ("model.vocab", "248320".to_owned())]).unwrap();
    let found = found(&[text.as_bytes()], &run);
    let memory = found.memory.unwrap();
    assert_eq!(memory.message.moment, Some(Moment::Loss));
    let what = memory.fingerprint.unwrap();
    // 3.79 GiB is printed with two decimals: 4,097 to 0.1 %.
    let tokens = memory.message.asked.unwrap() / (248_320.0 * 4.0);
    assert!(what.logits && (tokens - 4097.0).abs() < 1.0, "{what:?} {tokens}");
    assert_eq!(found.causes[0].id, CauseId::Logits);
}

/// Case 10, OLMo-core 846: a save before training made the optimizer's states; the 96 MiB are the last straw.
#[test]
fn a_save_before_training_made_the_states() {
    let text = "Traceback (most recent call last):\n  File \"olmo_core/train/trainer.py\", line 1, in fit\n  File \
        \"olmo_core/train/checkpoint.py\", line 2, in save_checkpoint\n    self.checkpointer.save()\n  File \
        \"torch/distributed/checkpoint/state_dict.py\", line 3, in _init_optim_state\n    optim.step(closure=None)\n\
        torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total capacity of 79.11 \
        GiB of which 77.00 MiB is free. Of the allocated memory 77.93 GiB is allocated by PyTorch, and 20.00 MiB is \
        reserved by PyTorch but unallocated.\n";
    let found = found(&[text.as_bytes()], &Run::default());
    let memory = found.memory.unwrap();
    assert_eq!((memory.message.moment, memory.message.makes_states), (Some(Moment::FirstStates), true));
    assert_eq!(found.causes[0].id, CauseId::FirstOptimizerStep);
}

/// Forms of the message from PyTorch 1.x to 2.5, `ROCm` and `cudaMallocAsync`, with the first cause of those whose
/// threads say it.
#[test]
fn messages_of_every_form_are_read() {
    let text = String::from_utf8(bytes("oom_messages.txt")).unwrap();
    let gib = |bytes: Option<f64>| bytes.map(|bytes| (bytes / f64::from(1u32 << 30) * 100.0).round() / 100.0);
    let causes = [
        ("A", Some(3.12), Some(22.0), CauseId::FirstOptimizerStep),
        ("B", Some(1.0), Some(14.25), CauseId::NeverFitted),
        ("C", Some(8.0), Some(16.01), CauseId::NeverFitted),
        ("D", Some(1.96), Some(22.41), CauseId::NeverFitted),
        ("E", Some(3.98), Some(6.74), CauseId::AnotherSetting),
        ("F", Some(0.0), Some(0.99), CauseId::AnotherSetting),
        ("G", Some(0.0), Some(68.63), CauseId::Fragmentation),
        ("H", Some(16.0), Some(1.67), CauseId::NeverFitted),
        ("I", Some(3.15), Some(31.66), CauseId::Fragmentation),
        ("J", Some(0.7), Some(171.63), CauseId::NeverFitted),
        ("K", Some(0.03), Some(16.66), CauseId::Fragmentation),
        ("L", Some(0.38), Some(6.61), CauseId::Fragmentation),
        ("M", None, Some(9.58), CauseId::OtherProcess),
        ("N", Some(0.29), None, CauseId::OtherProcess),
    ];
    let cases: Vec<&str> = text.split("====").collect();
    assert_eq!(cases.len(), causes.len());
    // None of them was this run: its tensors have other sizes than those that were asked for.
    let run = Run { model: Based::preset("gpt-3-175b"), ..Run::default() };
    for (case, (name, asked, allocated, cause)) in cases.into_iter().zip(causes) {
        let found = found(&[case.as_bytes()], &run);
        let memory = found.memory.clone().unwrap_or_else(|| panic!("{name} is not read"));
        assert_eq!((gib(memory.message.asked), gib(memory.message.allocated)), (asked, allocated), "{name}");
        assert_eq!(found.causes[0].id, cause, "{name}: {:#?}", found.causes);
    }
}
