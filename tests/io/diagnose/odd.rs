//! Files that are damaged, of other programs, or in other languages: a message, and what could be read.

use super::{bytes, trace};
use shardscope::core::diagnose::{CauseId, Comparison, Diagnosis};
use shardscope::core::model::CountedBy;
use shardscope::core::run::{Run, Scenario};
use shardscope::io::evidence::{EvidenceFile, EvidenceReader, diagnose, markdown, read};
use shardscope::io::request::{Answer, Verb, answer};

fn said(file: &[u8]) -> String {
    match read(file, &Run::default()) {
        Ok(_) => panic!("it was read"),
        Err(issues) => issues.iter().map(|issue| issue.message.to_string()).collect::<Vec<_>>().join("; "),
    }
}

#[test]
fn pieces_of_any_length_give_the_same_trace() {
    let whole = trace("hta_toy_mi250");
    for size in [1, 7, 1000] {
        let mut reader = EvidenceReader::default();
        for piece in bytes("hta_toy_mi250.json.gz").chunks(size) {
            reader.push(piece).unwrap();
        }
        let Ok(EvidenceFile::Trace(trace, _)) = reader.finish(&Run::default()) else { panic!("no trace") };
        assert_eq!(*trace, whole);
    }
}

#[test]
fn a_file_that_was_cut_off_keeps_what_stands_before() {
    let whole = bytes("hta_ddp_args_a100_rank0of2.json.gz");
    let Ok(EvidenceFile::Trace(part, notes)) = read(&whole[..whole.len() / 2], &Run::default()) else {
        panic!("nothing was kept")
    };
    assert!(part.activities.len() > 100);
    assert!(notes.iter().any(|note| note.message.to_string().contains("ends in the middle")), "{notes:?}");
    // Damaged in the middle.
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 64].fill(0xff);
    let Ok(EvidenceFile::Trace(part, notes)) = read(&damaged, &Run::default()) else { panic!("nothing was kept") };
    assert!(part.activities.len() > 100);
    assert!(notes.iter().any(|note| note.message.to_string().contains("what stands before is read")), "{notes:?}");
    let text =
        br#"{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"kernel","name":"gemm","ts":1,"dur":2},{"ph":"X","cat"#;
    let Ok(EvidenceFile::Trace(part, _)) = read(text, &Run::default()) else { panic!("nothing was kept") };
    assert_eq!(part.activities.len(), 1);
}

#[test]
fn what_cannot_be_read_says_why() {
    assert!(said(&bytes("no_gpu_kernels.json.gz")).contains("ProfilerActivity.CUDA"));
    assert!(
        said(br#"{"traceEvents":[{"ph":"X","cat":"browser","name":"paint","ts":1,"dur":2}]}"#).contains("no kernels")
    );
    assert!(said(br#"{"traceEvents":[{"ph":"X","#).contains("cut off"));
    assert!(said("GPU のメモリが足りません: 3.79 GiB".as_bytes()).contains("another language, with 3.79 GiB"));
}

/// Times that run backwards are left out and counted; a million process groups do not fill the memory.
#[test]
fn impossible_events_are_left_out() {
    let text = br#"{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"kernel","name":"gemm","ts":10,"dur":2},
        {"ph":"X","cat":"kernel","name":"gemm","ts":9,"dur":-5}]}"#;
    let Ok(EvidenceFile::Trace(part, notes)) = read(text, &Run::default()) else { panic!("nothing was kept") };
    assert_eq!(part.activities.len(), 1);
    assert!(notes[0].message.to_string().contains("before they begin"));
    let groups: Vec<String> = (0..200_000).map(|at| format!(r#"{{"pg_name":"{at}","ranks":[0,1]}}"#)).collect();
    let text = format!(
        r#"{{"schemaVersion":1,"distributedInfo":{{"rank":0,"pg_config":[{}]}},"traceEvents":[
            {{"ph":"X","cat":"kernel","name":"gemm","ts":10,"dur":2}}]}}"#,
        groups.join(",")
    );
    let Ok(EvidenceFile::Trace(part, _)) = read(text.as_bytes(), &Run::default()) else { panic!("nothing was kept") };
    assert!(part.groups.len() <= 60_000);
}

/// Tables as nsys writes them with `--format json`, and as rocprof writes them.
#[test]
fn tables_as_json_and_those_of_rocprof_are_read_as_well() {
    let sums = r#"[{"Time (%)":80.0,"Total Time (ns)":8000000,"Instances":10,"Name":"sm90_xmma_gemm_bf16"},
        {"Time (%)":20.0,"Total Time (ns)":2000000,"Instances":4,"Name":"ncclDevKernel_AllReduce_Sum(x, y)"}]"#;
    let rocprof = "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n\
        \"Cijk_Alik_Bljk_BBS_BH\",10,8000000,800000,80.0\n\"ncclDevKernel_AllReduce\",4,2000000,500000,20.0\n";
    for text in [sums, rocprof] {
        let file = read(text.as_bytes(), &Run::default());
        let found = diagnose(&[&file], &Run::default()).unwrap();
        let rows: Vec<(u64, i64)> = found.kernels.iter().map(|row| (row.count, row.measured_ns)).collect();
        assert_eq!(rows.iter().map(|row| row.0).sum::<u64>(), 14, "{text}");
        assert!(rows.contains(&(10, 8_000_000)) && found.parts.is_empty(), "{rows:?}");
    }
    let kernels = r#"[{"Start (ns)":1000,"Duration (ns)":500,"Strm":7,"Name":"gemm"},
        {"Start (ns)":2000,"Duration (ns)":500,"Strm":7,"Name":"flash_fwd"}]"#;
    // Whole, and cut within a third row.
    for text in [kernels.to_owned(), format!("{},{{\"Start (ns)\":30", kernels.trim_end_matches(']'))] {
        let file = read(text.as_bytes(), &Run::default());
        assert_eq!(diagnose(&[&file], &Run::default()).unwrap().window_ns, 1500, "{text}");
    }
    let dispatches = "Kind,Kernel_Name,Start_Timestamp,End_Timestamp\nKERNEL_DISPATCH,Cijk_Ailk,1000,1500\n\
        KERNEL_DISPATCH,add,1500,2500\n";
    let file = read(dispatches.as_bytes(), &Run::default());
    assert_eq!(diagnose(&[&file], &Run::default()).unwrap().window_ns, 1500);
}

/// Rank and size of the job stand beside the events (`distributedInfo`).
#[test]
fn a_trace_says_which_rank_it_is_of() {
    for (name, rank, world) in
        [("hta_ddp_args_a100_rank0of2", 0, 2), ("hta_rec_a100_rank3of8", 3, 8), ("tracelens_ddp_mi300_rank0of8", 0, 8)]
    {
        let trace = trace(name);
        assert_eq!((trace.rank, trace.world), (Some(rank), Some(world)), "{name}");
    }
}

/// A snapshot (`torch.cuda.memory._snapshot()` as JSON) of which the peak is told by where its blocks were allocated:
/// the activations are gone before the optimizer's states come, so that the peak is that of the backward pass.
#[test]
fn a_snapshot_says_what_its_peak_is_made_of() {
    const GIB: u64 = 1 << 30;
    let event = |action: &str, address: u64, gib: u64, file: &str, name: &str| {
        let size = gib * GIB;
        format!(
            r#"{{"action":"{action}","addr":{address},"size":{size},"frames":[
                {{"name":"empty","filename":"x.py","line":1}},{{"name":"{name}","filename":"{file}","line":2}}]}}"#
        )
    };
    let events = [
        event("alloc", 1, 2, "train.py", "build"),
        event("alloc", 2, 5, "model.py", "forward"),
        event("alloc", 3, 3, "torch/autograd/graph.py", "_engine_run_backward"),
        event("free_completed", 2, 5, "torch/autograd/graph.py", "_engine_run_backward"),
        event("alloc", 4, 4, "torch/optim/adam.py", "step"),
    ];
    let text = format!(
        r#"{{"segments":[{{"device":0,"total_size":{},"allocated_size":{}}}],"device_traces":[[{}]]}}"#,
        10 * GIB,
        9 * GIB,
        events.join(",")
    );
    let file = read(text.as_bytes(), &Run::default());
    let found = diagnose(&[&file], &Run::default()).unwrap();
    let said: Vec<String> = found.read.iter().map(ToString::to_string).collect();
    for words in [
        "peak of allocated memory: 10",
        "of it allocated while loading: 2",
        "of it allocated in the forward pass: 5",
        "of it allocated in the backward pass: 3",
    ] {
        assert!(said.iter().any(|line| line.starts_with(words)), "{words}: {said:?}");
    }
    assert!(!said.iter().any(|line| line.contains("by the optimizer")), "{said:?}");
}

/// Bytes that mean nothing, and every real file cut at any place: an answer, no panic.
#[test]
fn garbage_and_cut_files_have_an_answer() {
    let mut seed = 7u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    for start in [
        "",
        "{",
        "[",
        "{\"traceEvents\":[",
        "Start (ns),Duration (ns),Name\n",
        "\u{1f}\u{8b}",
        "{\"0\":{\"1\":{\"fwd_start\":[",
    ] {
        for _ in 0..40 {
            let mut text = start.as_bytes().to_vec();
            text.extend((0..next() % 300).map(|_| u8::try_from(next() % 256).unwrap()));
            let file = read(&text, &Run::default());
            let _ = diagnose(&[&file], &Run::default());
        }
    }
    for name in ["hta_toy_mi250.json.gz", "primus_pp8.json.gz", "rocprofv3_results.json.gz", "bytedance_AR.json.gz"] {
        let whole = bytes(name);
        for _ in 0..20 {
            let at = usize::try_from(next()).unwrap() % whole.len();
            let file = read(&whole[..at], &Run::default());
            let _ = diagnose(&[&file], &Run::default());
        }
    }
}

/// Several files of one drop: a log beside a trace takes the profiler's cost from the host; what cannot be read is a
/// warning.
#[test]
fn files_of_one_drop_are_read_beside_each_other() {
    let (trace, broken) = (bytes("hta_ddp_args_a100_rank0of2.json.gz"), b"nonsense".to_vec());
    let files: Vec<_> = [&trace, &broken].map(|file| read(file, &Run::default())).into();
    let found = diagnose(&files.iter().collect::<Vec<_>>(), &Run::default()).unwrap();
    assert!(!found.parts.is_empty() && !found.warnings.is_empty());
}

/// A summary has sums alone: no parts, no gaps.
#[test]
fn a_summary_has_no_parts_and_a_kernel_trace_has() {
    let sums = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n\
        80.0,8000000,10,800000,800000,1,2,3,sm90_xmma_gemm_bf16\n\
        20.0,2000000,4,500000,500000,1,2,3,\"ncclDevKernel_AllReduce_Sum(x, y)\"\n";
    let file = read(sums.as_bytes(), &Run::default());
    let found = diagnose(&[&file], &Run::default()).unwrap();
    assert!(found.parts.is_empty() && found.kernels.len() == 2 && found.kernels[0].measured_ns == 8_000_000);
    let rows = "Start (ns),Duration (ns),CorrId,Device,Strm,Name\n1000,500,1,0,7,gemm\n2000,500,2,0,7,flash_fwd\n";
    let file = read(rows.as_bytes(), &Run::default());
    let found = diagnose(&[&file], &Run::default()).unwrap();
    assert_eq!(found.window_ns, 1500);
    assert_eq!(found.parts.iter().map(|part| part.measured_ns).sum::<i64>(), 1500);
}

/// The verb answers packed bytes and texts; a report names no host, user or path.
#[test]
fn the_verb_takes_files_and_its_report_names_nobody() {
    let text = "  File \"/home/someone/train.py\", line 1, in cross_entropy\\n\
        torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of \
        79.11 GiB of which 1.00 GiB is free. Of the allocated memory 75.00 GiB is allocated by PyTorch";
    let line = format!(r#"{{"files":[{{"name":"a","text":"{}"}}]}}"#, text.replace('"', "\\\""));
    let Ok(Answer::Diagnosed(found)) = answer(Verb::Diagnose, &line) else { panic!("no answer") };
    let report = markdown(&found);
    assert!(
        report.contains("1.00 GiB short") && !report.contains("someone") && !report.contains("train.py"),
        "{report}"
    );
    for wrong in ["{}", r#"{"files":[]}"#, r#"{"files":[{"name":"x"}]}"#, r#"{"files":[{"base64":"!"}],"run":{}}"#] {
        assert!(answer(Verb::Diagnose, wrong).is_err(), "{wrong}");
    }
}

/// Two ranks of data parallelism, on a page whose run has tensor-parallel groups of two and a pipeline.
#[test]
fn groups_of_another_job_are_not_those_of_the_run() {
    let file = read(&bytes("hta_ddp_args_a100_rank0of2.json.gz"), &Run::default());
    let run = Run { gpus: 64, tp: 2, pp: 4, ..Run::default() };
    let found = diagnose(&[&file], &run).unwrap();
    assert!(found.messages.iter().all(|row| row.dimension.name() == "dp"), "{:?}", found.messages);
    assert!(found.parts.iter().all(|part| part.name.name() != "bubble"), "{:?}", found.parts);
}

/// A log that states its batch is compared with it, and says so.
#[test]
fn a_log_says_which_settings_of_its_run_are_not_the_pages() {
    let line = |step: u64| {
        format!(
            " iteration {step:8}/ 100 | consumed samples: {} | elapsed time per iteration (ms): 5400.3 | throughput per \
             GPU (TFLOP/s/GPU): 75.0 | global batch size: 64 |\n",
            64 * step
        )
    };
    let text: String = (1..40).map(line).collect();
    let run = Run { gpus: 64, global_batch: 256, ..Run::default() };
    let file = read(text.as_bytes(), &run);
    let found = diagnose(&[&file], &run).unwrap();
    let says = |words: &str| found.read.iter().any(|line| line.to_string().contains(words));
    assert!(says("which differs from the page's: Global batch 64"), "{:?}", found.read);
}

/// A message that waits for 5 s has more nanoseconds than 32 bits, and keeps them with its group and bytes; a copy
/// keeps its bytes, a short kernel has neither.
#[test]
fn long_kernels_and_copies_keep_what_they_have() {
    let text = br#"{"schemaVersion":1,"traceEvents":[
        {"ph":"X","cat":"kernel","name":"gemm","ts":1,"dur":2.5,"args":{"device":0}},
        {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_bf16","ts":10,"dur":5000000.001,"args":{"device":0,
            "Collective name":"allreduce","In msg nelems":1000,"Out msg nelems":1000,"dtype":"BFloat16","Group size":8,
            "Process Group Name":"7","Process Group Description":"default_pg"}},
        {"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH","ts":6000000,"dur":3,"args":{"device":0,"bytes":4096}}]}"#;
    let Ok(EvidenceFile::Trace(trace, _)) = read(text, &Run::default()) else {
        panic!("no trace");
    };
    let of = |at: usize| {
        let one = &trace.activities[at];
        (one.end - one.start, one.group, one.bytes)
    };
    assert_eq!((of(0), of(1), of(2)), ((2500, None, 0), (5_000_000_001, Some(0), 2000), (3000, None, 4096)));
    assert_eq!(trace.kernels_ns, 5_000_002_501);
}

/// A launch script of the 70B on 256 GPUs beside the log of its steps, on a page that shows the 8B on 64.
const SCRIPT: &str = "#!/bin/bash
torchrun --nnodes 32 --nproc-per-node 8 pretrain_gpt.py --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 \\
    --num-attention-heads 64 --group-query-attention --num-query-groups 8 --seq-length 8192 --vocab-size 128256 \\
    --max-position-embeddings 8192 --swiglu --disable-bias-linear --untie-embeddings-and-output-weights \\
    --normalization RMSNorm --use-rotary-position-embeddings --bf16 --use-distributed-optimizer \\
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 --micro-batch-size 1 --global-batch-size 256\n";

fn steps() -> String {
    let line = |step: u64| {
        format!(
            " iteration {step:8}/ 100 | consumed samples: {} | elapsed time per iteration (ms): 12100.3 | throughput per \
             GPU (TFLOP/s/GPU): 306.0 | global batch size: 256 |\n",
            256 * step
        )
    };
    (1..40).map(line).collect()
}

/// Script and log as two files, in either order, and in one text: the log is compared with the script's run.
#[test]
fn a_log_is_compared_with_the_run_of_the_script_beside_it() {
    let page = Run { gpus: 64, tp: 2, pp: 4, ..Run::default() };
    let (script, log) = (read(SCRIPT.as_bytes(), &page), read(steps().as_bytes(), &page));
    let both = read(format!("{SCRIPT}\n{}", steps()).as_bytes(), &page);
    for files in [&[&script, &log][..], &[&log, &script], &[&both]] {
        let found = diagnose(files, &page).unwrap();
        let own = found.own.as_deref().expect("a run of its own");
        assert_eq!((own.gpus, own.tp, own.pp, own.global_batch), (256, 8, 4, 256));
        let model = Scenario::new(own).unwrap().model;
        assert_eq!((model.layers, model.hidden), (80, 8192));
        // 256 sequences of 8,192 tokens are 0.89 EFLOP by 6 N a token: 11 s on 256 GPUs at 306 TFLOP/s.
        let predicted = found.predicted_s.unwrap();
        assert!((6.0..20.0).contains(&predicted), "{predicted}");
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
        assert!(!found.made_of.is_empty());
        // On a page that shows that run there is no other.
        assert_eq!(diagnose(files, own).unwrap().own, None);
    }
    let settings = diagnose(&[&script], &page).unwrap();
    assert!(settings.verdict.to_string().contains("nothing that was measured"), "{}", settings.verdict);
    // Alone, it names no model: 306 TFLOP/s over 12.1 s are 3.7 PFLOP a GPU, where the page's 8B has 1.6 on 64 GPUs
    // (6 x 8.03 G x 256 x 8192 / 64), and nothing is compared.
    let alone = diagnose(&[&log], &Run { global_batch: 256, ..page }).unwrap();
    assert_eq!((alone.comparison, alone.own, alone.predicted_s), (Comparison::AnotherRun, None, None));
    assert_eq!(alone.causes[0].id, CauseId::AnotherSetting);
    assert!(alone.causes.iter().all(|cause| cause.set.is_empty()));
}

/// Lines of Megatron-LM with the step of `run` and the TFLOP/s that this step has; the last step takes twice as long.
fn of_steps(run: &Run, seconds: f64, tflops: f64, slow: bool) -> String {
    let line = |step: u64| {
        let times = if slow && step == 40 { 2.0 } else { 1.0 };
        format!(
            " iteration {step:8}/ 100 | consumed samples: {} | elapsed time per iteration (ms): {:.1} | throughput per \
             GPU (TFLOP/s/GPU): {:.1} | global batch size: {} |\n",
            run.global_batch * step,
            seconds * 1e3 * times,
            tflops / times,
            run.global_batch
        )
    };
    (1..=40).map(line).collect()
}

/// A slow last step is the last step: rate and seconds of a log are those of its median step, and their product, the
/// work of a step, is that of the run.
#[test]
fn a_slow_last_step_makes_no_other_run_of_a_log() {
    let run = Run::default();
    let step = shardscope::core::report::report(&run).unwrap().step;
    let found = |slow| {
        let log = of_steps(&run, step.time_s.0, step.tflops_per_gpu, slow);
        diagnose(&[&read(log.as_bytes(), &run)], &run).unwrap()
    };
    let (slow, even) = (found(true), found(false));
    assert_eq!((slow.comparison, even.comparison), (Comparison::Inside, Comparison::Inside), "{}", slow.verdict);
    let printed = |found: &Diagnosis| {
        found.read.iter().map(ToString::to_string).find(|words| words.starts_with("As Megatron-LM counts"))
    };
    assert!(printed(&slow).is_some() && printed(&slow) == printed(&even), "{:?}", slow.read);
}

/// A script states batch, sequence, recomputation, precision and sharding: a slow log beside it is not explained by
/// another value of these. A log that states none of them may be.
#[test]
fn what_a_script_states_is_no_cause() {
    let page = Run { gpus: 64, tp: 2, pp: 4, ..Run::default() };
    let script = read(SCRIPT.as_bytes(), &page);
    let Ok(EvidenceFile::Settings(stated)) = &script else { panic!("no settings") };
    let step = shardscope::core::report::report(&stated.run).unwrap().step;
    let log = of_steps(&stated.run, 1.6 * step.time_s.0, step.tflops_per_gpu / 1.6, false);
    let given = ["recompute", "precision", "global_batch", "micro_batch", "seq_len", "zero"];
    let changed = |found: &Diagnosis| {
        let keys = found.causes.iter().flat_map(|cause| &cause.set);
        keys.map(|(key, _)| *key).filter(|key| given.contains(key)).collect::<Vec<_>>()
    };
    let beside = diagnose(&[&script, &read(log.as_bytes(), &page)], &page).unwrap();
    assert_eq!(beside.comparison, Comparison::Longer, "{}", beside.verdict);
    assert!(!beside.causes.is_empty() && changed(&beside).is_empty(), "{:#?}", beside.causes);
    let own = &stated.run;
    let alone = diagnose(&[&read(log.as_bytes(), own)], own).unwrap();
    assert!(!changed(&alone).is_empty() && !changed(&alone).contains(&"global_batch"), "{:#?}", alone.causes);
    for found in [&beside, &alone] {
        let ids: Vec<CauseId> = found.causes.iter().map(|cause| cause.id).collect();
        assert!((1..ids.len()).all(|at| !ids[..at].contains(&ids[at])), "{ids:?}");
        let excluded = found.ruled_out();
        assert!(!excluded.is_empty() && excluded.iter().all(|one| !one.id.is_some_and(|id| ids.contains(&id))));
    }
}

/// Whose count a log's figure follows is named, and the count's own figure is the work of a step over its seconds:
/// 8,192 tokens a sequence, `3 (Σ layers + 2 h v)` FLOPs a token.
#[test]
fn the_count_of_flops_of_a_log_has_a_name() {
    let run = Run::default();
    let step = shardscope::core::report::report(&run).unwrap().step;
    let words = |log: &str| {
        let found = diagnose(&[&read(log.as_bytes(), &run)], &run).unwrap();
        let read: Vec<String> = found.read.iter().map(ToString::to_string).collect();
        format!("{} {}", found.verdict, read.join(" "))
    };
    let of_megatron = words(&of_steps(&run, 2.0 * step.time_s.0, step.tflops_per_gpu / 2.0, false));
    let by = step.mfu_by.iter().find(|row| row.name == CountedBy::Megatron).unwrap();
    let tokens = (run.global_batch * run.seq_len) as f64 / run.gpus as f64;
    let rate = by.flops_per_token * tokens / (2.0 * step.time_s.0) * 1e-12;
    for said in ["this calculator counts", "Megatron-LM prints", &shardscope::core::units::significant(rate, 3)] {
        assert!(of_megatron.contains(said), "{said}: {of_megatron}");
    }
    let of_trainer =
        "{'train_runtime': 310.0, 'train_samples_per_second': 5.2, 'train_steps_per_second': 0.33, 'mfu': 41}\n";
    assert!(words(of_trainer).contains("prints no MFU"), "{}", words(of_trainer));
}

/// A log whose lines count 256 sequences is no log of a script of 512, also where the page has 256: the log's batch is
/// taken, and both are named. The rate is compared with the work of the files' run as with that of the page.
#[test]
fn a_log_and_a_script_of_two_runs_are_told_apart() {
    let page = Run { gpus: 64, tp: 2, pp: 4, ..Run::default() };
    assert_eq!(page.global_batch, 256);
    let other = SCRIPT.replace("--global-batch-size 256", "--global-batch-size 512");
    assert_ne!(other, SCRIPT);
    let both = format!("{other}\n{}", steps());
    let (script, log) = (read(other.as_bytes(), &page), read(steps().as_bytes(), &page));
    let both = read(both.as_bytes(), &page);
    for files in [&[&script, &log][..], &[&both]] {
        let found = diagnose(files, &page).unwrap();
        assert_eq!(found.own.as_deref().unwrap().global_batch, 256);
        let said: Vec<String> = found.warnings.iter().map(|issue| issue.message.to_string()).collect();
        assert!(said.iter().any(|said| said.contains("256 and not 512")), "{said:?}");
    }
    // A log of one micro-batch a rank: its batch is stated, though twice the micro-batch would not divide it.
    let small = Run { global_batch: 8, ..page.clone() };
    let (script, log) = (read(other.as_bytes(), &small), read(of_steps(&small, 1.0, 300.0, false).as_bytes(), &small));
    let said = diagnose(&[&script, &log], &small).unwrap().warnings;
    assert!(said.iter().any(|issue| issue.message.to_string().contains("8 and not 512")), "{said:?}");
    // Half the rate is half the work.
    let slow = read(steps().replace(": 306.0", ": 153.0").as_bytes(), &page);
    let script = read(SCRIPT.as_bytes(), &page);
    let said = diagnose(&[&script, &slow], &page).unwrap().warnings;
    assert!(said.iter().any(|issue| issue.message.to_string().contains("153 TFLOP/s")), "{said:?}");
}
