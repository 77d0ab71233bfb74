//! Logs, benchmarks, traces and snapshots: every known line on its example and on lines of its program's format with
//! other numbers, and whatever else a file may hold.
#![allow(clippy::format_push_string)] // helpers that tests share

mod around;
mod formats;
mod odd;
mod trainers;

use shardscope::core::calibrate::MemoryKind;
use shardscope::core::run::{Multiplier, Run, Value};
use shardscope::io::logs::{LogReader, Reading, read, too_large};

fn reading(text: &str) -> Reading {
    read(text, &Run::default()).unwrap_or_else(|issues| panic!("{issues:?}: {text}"))
}

fn refusal(bytes: &[u8]) -> String {
    let mut reader = LogReader::default();
    let result = reader.push(bytes).map_err(|issue| vec![issue]);
    let issues = result.and_then(|()| reader.finish(&Run::default())).unwrap_err();
    issues[0].message.to_string()
}

fn near(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-3
}

/// Seconds of a step; peaks allocated, reserved, of the device.
fn figures(reading: &Reading) -> Figures {
    let kinds = [MemoryKind::Allocated, MemoryKind::Reserved, MemoryKind::Device];
    let peak = |kind| reading.peaks.iter().find(|peak| peak.kind == kind).map(|peak| peak.gib);
    (reading.step.map(|step| step.seconds), kinds.map(peak))
}

/// Seconds of a step, and peaks.
type Figures = (Option<f64>, [Option<f64>; 3]);

/// 256 sequences of 8192 tokens on 64 GPUs, as the default run has them.
const TOKENS: f64 = 256.0 * 8192.0;

/// The example lines of the patterns that were collected from programs, repositories and issues.
#[test]
#[allow(clippy::too_many_lines)] // a table of lines
fn every_example_line_says_what_its_program_means() {
    let file: Value = serde_json::from_str(include_str!("../../data/log_patterns.json")).unwrap();
    let lines = |name: &str| -> Vec<String> {
        let Some(Value::List(lines)) = file.get(name).and_then(|entry| entry.get("lines")) else { panic!("{name}") };
        lines
            .iter()
            .map(|line| match line {
                Value::Text(text) => text.clone(),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    let gb = 1e9 / f64::from(1u32 << 30);
    let none = [None; 3];
    let expected: [(&str, Vec<Figures>); 16] = [
        ("megatron_iter", vec![(Some(5.6301), none), (Some(0.9), none)]),
        ("megatron_mem", vec![(None, [Some(54_250.985_839_843_75 / 1024.0), Some(61480.0 / 1024.0), None])]),
        ("bridge_step", vec![(Some(12.78), none), (Some(12.78), none)]),
        ("bridge_mem", vec![(None, [Some(47.5 * gb), None, None])]),
        (
            "titan",
            vec![
                (Some(TOKENS / 64.0 / 10_050.0), [None, Some(66.91), None]),
                (Some(TOKENS / 64.0 / 5856.0), [None, Some(49.66), None]),
            ],
        ),
        (
            "ds_timer",
            vec![
                (Some(256.0 / 8.009_124_183_089_22), [Some(63.31), None, None]),
                (Some(256.0 / 83.486_091_681_061_44), [Some(9.02), None, None]),
            ],
        ),
        ("ds_clock", vec![(None, none)]),
        ("megatron_deepspeed", vec![(Some(4.1031), none)]),
        ("hf", vec![(Some(1.0 / 0.185), none)]),
        (
            "automodel",
            vec![
                (Some(TOKENS / 6924.5), [Some(34.45), None, None]),
                (Some(TOKENS / 64.0 / 210.68), [Some(34.45), None, None]),
                (Some(TOKENS / 6924.5), [Some(11.66), None, None]),
            ],
        ),
        ("nanotron", vec![(Some(11.5), none)]),
        ("maxtext", vec![(Some(5.667), none)]),
        ("composer", vec![(None, [None, Some(51.328 * gb), None]), (None, none)]),
        ("summary", vec![(None, [Some(4877.0 / 1024.0), None, None]), (None, [None, Some(12420.0 / 1024.0), None])]),
        ("smi", vec![(None, [None, None, Some(86224.0 / 1024.0)])]),
        ("oom", vec![(None, none)]),
    ];
    for (name, expected) in expected {
        let lines = lines(name);
        assert_eq!(lines.len(), expected.len(), "{name}");
        for (line, (step, peaks)) in lines.iter().zip(expected) {
            let found = figures(&reading(line));
            let same = |a: Option<f64>, b: Option<f64>| match (a, b) {
                (Some(a), Some(b)) => near(a, b),
                (a, b) => a == b,
            };
            assert!(same(found.0, step), "{line}: {found:?}");
            assert!((0..3).all(|at| same(found.1[at], peaks[at])), "{line}: {found:?}");
        }
    }
    // An estimate, an argument, an average or a lower bound is named, not taken as measured.
    assert!(reading(&lines("megatron_theory")[0]).observation("").is_none());
    assert!(reading(&lines("nccl_avg")[0]).observation("").is_none());
    // 162.60 of 652.41 + 2001.89 + 162.60 + 1172.13.
    let shares = reading(&lines("ds_clock")[0]).measured;
    assert!(
        shares
            .iter()
            .any(|(what, how)| what.to_string() == "gradients between ranks" && how.to_string().contains(" 4 %"))
    );
    let ran_out = reading(&lines("oom")[0]);
    assert!(ran_out.notes.iter().any(|note| note.to_string().contains("at least 79.1")));
    // 300.51 GB/s of 450 by the data sheet, of which the model takes 0.78.
    let nccl = reading(&lines("nccl")[0]);
    assert_eq!(nccl.ratios[0].0, Multiplier::NodeLinks);
    assert!(near(nccl.ratios[0].1, 450.0 * 0.78 / 300.51), "{:?}", nccl.ratios);
    for name in ["mamf", "mamf_old"] {
        assert_eq!(reading(&lines(name)[0]).ratios[0].0, Multiplier::Gemm);
    }
}

/// A log of Megatron-LM with its arguments: the whole run comes from it. Values of `arguments.py`, format of
/// `training.py`.
#[test]
fn a_log_with_arguments_states_its_own_run() {
    let arguments = [
        ("tensor_model_parallel_size", "4"),
        ("pipeline_model_parallel_size", "2"),
        ("context_parallel_size", "1"),
        ("virtual_pipeline_model_parallel_size", "None"),
        ("world_size", "16"),
        ("micro_batch_size", "1"),
        ("global_batch_size", "64"),
        ("seq_length", "4096"),
        ("num_layers", "32"),
        ("hidden_size", "4096"),
        ("ffn_hidden_size", "11008"),
        ("num_attention_heads", "32"),
        ("num_query_groups", "1"),
        ("group_query_attention", "False"),
        ("padded_vocab_size", "32000"),
        ("vocab_size", "None"),
        ("swiglu", "True"),
        ("normalization", "RMSNorm"),
        ("add_bias_linear", "False"),
        ("bf16", "True"),
        ("untie_embeddings_and_output_weights", "True"),
        ("sequence_parallel", "True"),
        ("use_distributed_optimizer", "True"),
        ("recompute_granularity", "selective"),
        ("recompute_method", "None"),
        ("recompute_modules", "['core_attn']"),
        ("num_experts", "None"),
        ("moe_router_topk", "2"),
        ("position_embedding_type", "rope"),
        ("max_position_embeddings", "4096"),
        ("hidden_dropout", "0.0"),
        ("attention_dropout", "0.0"),
    ];
    let mut log = String::from("------------------------ arguments ------------------------\n");
    for (name, value) in arguments {
        log += &format!("  {name} {} {value}\n", ".".repeat(47 - name.len()));
    }
    log += "-------------------- end of arguments ---------------------\n";
    for (iteration, ms) in
        [(1, 41_234.5), (2, 8123.0), (3, 6010.2), (4, 6008.8), (5, 6011.4), (6, 14_900.1), (7, 6009.6)]
    {
        log += &format!(
            " [2026-03-02 11:22:{:02}.123456] iteration {iteration:>8}/      50 | consumed samples: {:>12} | elapsed time per iteration (ms): {ms:.1} | throughput per GPU (TFLOP/s/GPU): 321.0 | learning rate: 3.000000E-05 | global batch size:    64 | lm loss: 1.1E+01 | loss scale: 1.0 | grad norm: 2.5 | number of skipped iterations:   0 |\n",
            iteration,
            iteration * 64
        );
        if iteration < 3 {
            for rank in [0, 4, 8, 12] {
                log += &format!(
                    "[Rank {rank}] (after {iteration} iterations) memory (MB) | allocated: 21000.5 | max allocated: {}.25 | reserved: 42000.0 | max reserved: {}.0 | total device memory used: 52000.0\n",
                    38_000 + rank,
                    43_000 + rank
                );
            }
        }
    }
    let reading = reading(&log);
    let run = &reading.run;
    assert_eq!((run.tp, run.pp, run.gpus, run.global_batch, run.seq_len), (4, 2, 16, 64, 4096));
    assert_eq!(run.model.resolve().unwrap().layers, 32);
    let step = reading.step.unwrap();
    assert!(near(step.seconds, 6.0099), "{step:?}");
    assert_eq!((step.used, step.left_out), (4, 3));
    let (_, peaks) = figures(&reading);
    assert!(near(peaks[0].unwrap(), 38_012.25 / 1024.0) && near(peaks[2].unwrap(), 52_000.0 / 1024.0));
    assert!(!reading.used.is_empty());
}

/// torchtitan states sequence and batch when it starts, and the mesh.
#[test]
fn torchtitan_states_batch_sequence_and_mesh() {
    let log = "[rank0]:[titan] 2026-01-05 10:00:00,000 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory\n\
        [rank0]:[titan] 2026-01-05 10:00:01,000 - root - INFO - Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=32, cp=1, tp=2, ep=1, etp=1\n\
        [rank0]:[titan] 2026-01-05 10:00:05,000 - root - INFO - Trainer is initialized with local batch size 2, global batch size 64, gradient accumulation steps 1, sequence length 4096, total steps 1000 (warmup 200)\n\
        \u{1b}[32m[rank0]:[titan] 2026-01-05 10:01:00,000 - root - INFO - \u{1b}[31mstep: 10  \u{1b}[32mloss:  7.1  \u{1b}[38;2;180;60;0mgrad_norm:  1.5  \u{1b}[36mmemory: 40.02GiB(50.59%)  \u{1b}[34mtps: 3,210  \u{1b}[39mtflops: 160.10  mfu: 16.2%\u{1b}[39m\n\
        [rank1]:[titan] 2026-01-05 10:01:00,000 - root - INFO - step: 20  loss:  6.9  grad_norm:  1.4  memory: 40.02GiB(50.59%)  tps: 3,200  tflops: 160.10  mfu: N/A\n\
        [rank0]:[titan] 2026-01-05 10:01:00,000 - root - INFO - step: 20  loss:  6.9  grad_norm:  1.4  memory: 40.50GiB(51.20%)  tps: 3,220  tflops: 160.10  mfu: N/A\n";
    let reading = reading(log);
    assert_eq!((reading.run.tp, reading.run.pp, reading.run.seq_len, reading.run.global_batch), (2, 1, 4096, 64));
    let (step, peaks) = figures(&reading);
    assert!(near(step.unwrap(), 64.0 * 4096.0 / 64.0 / 3220.0) || near(step.unwrap(), 64.0 * 4096.0 / 64.0 / 3200.0));
    assert_eq!(peaks[1], Some(40.5));
}

/// Lines that no example had: Accelerate, progress bars, DeepSpeed's `MA`, nanotron's and `MaxText`'s memory, older
/// `NeMo`.
#[test]
fn the_other_lines_of_the_programs_are_read() {
    let one = |line: &str| figures(&reading(line));
    assert_eq!(one("GPU Total Peak Memory consumed during the train (max): 20480").1[0], Some(20.0));
    let bar =
        |number: u64, speed: &str| format!("\r {number}%|███       | {number}/100 [01:10<03:00, {speed}, loss=1.2]");
    let bars: String = [(1, "31.10s/it"), (2, "15.00s/it"), (3, "12.31s/it"), (4, "12.30s/it"), (5, "12.32s/it")]
        .map(|(number, speed)| bar(number, speed))
        .concat();
    assert!(near(one(&bars).0.unwrap(), 12.31));
    assert!(near(one(" 10%|█ | 10/100 [00:10<03:00,  1.25it/s]").0.unwrap(), 0.8));
    let memory = one("[2026-01-01 00:00:00,000] [INFO] [utils.py:781:see_memory_usage] MA 12.3 GB         Max_MA 20.1 GB         CA 22.0 GB         Max_CA 23 GB").1;
    assert_eq!((memory[0], memory[1]), (Some(20.1), Some(23.0)));
    let memory = one("01/02/2026 10:00:00 [INFO|DP=0|PP=0|TP=0]:  Memory usage: 5120.00MiB. Peak allocated 10240.00MiB. Peak reserved: 12288.00MiB").1;
    assert_eq!((memory[0], memory[1]), (Some(10.0), Some(12.0)));
    assert_eq!(one("\tUsing (GB) 44.6 / 95.74 (46.58%) on cuda:0").1, [None; 3]);
    assert!(near(
        one("Epoch 0: 10%| 10/100 [global_step=9.0, consumed_samples=80.0, train_step_timing in s=8.510]").0.unwrap(),
        8.51
    ));
    assert!(near(
        one("[batch=366/48000]:\n         Train throughput/device/tokens_per_sec: 4096.0\n").0.unwrap(),
        TOKENS / 64.0 / 4096.0
    ));
    let hf = reading(
        "***** train metrics *****\n  train_runtime            = 0:36:59\n  train_samples_per_second =      1.474\n  train_steps_per_second   =      0.185\n",
    );
    assert!(near(hf.step.unwrap().seconds, 1.0 / 0.185) && hf.sigma >= 0.15);
    let nanotron = "[INFO|DP=0]: iteration: 30 / 100 | consumed_tokens: 62.9M | time_per_iteration_ms: 2.1K | tokens_per_sec: 999K | tokens_per_sec_per_gpu: 15.6K | global_batch_size: 2.1M | lm_loss: 2.38";
    assert_eq!(reading(nanotron).run.global_batch, 256);
    let deepspeed = "[2026-01-01 00:00:00,000] [INFO] [config.py:1000:print]   train_batch_size ............. 128\n\
        [2026-01-01 00:00:00,000] [INFO] [config.py:1000:print]   train_micro_batch_size_per_gpu  ................. 4\n\
        [2026-01-01 00:00:00,000] [INFO] [config.py:1000:print]   gradient_accumulation_steps .. 2\n\
        [2026-01-01 00:00:00,000] [INFO] [config.py:1000:print]   bfloat16_enabled ............. True\n\
        [2026-01-01 00:00:00,000] [INFO] [config.py:1000:print]   zero_config .................. stage=3 contiguous_gradients=True\n\
        [2026-01-01 00:00:00,000] [INFO] [timer.py:264:stop] epoch=0/micro_step=20/global_step=10, RunningAvgSamplesPerSec=30.0, CurrSamplesPerSec=32.0, MemAllocated=9.1GB, MaxMemAllocated=50.2GB";
    let read = reading(deepspeed);
    assert_eq!((read.run.zero, read.run.gpus, read.run.micro_batch, read.run.global_batch), (3, 16, 4, 128));
    assert!(near(read.step.unwrap().seconds, 4.0));
}

/// nccl-tests on two hosts measures the network; an all-reduce that beats the data sheet says nothing of rings.
#[test]
fn nccl_tests_measure_links_or_network_by_their_hosts() {
    let mut text = String::from(
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n",
    );
    for rank in 0..16 {
        text += &format!(
            "#  Rank {rank:2} Group  0 Pid {} on   node{} device  {} [0x1b] NVIDIA H100 80GB HBM3\n",
            1000 + rank,
            rank / 8,
            rank % 8
        );
    }
    text += "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n";
    for size in [8.0e6, 32.0e6, 128.0e6, 512.0e6, 2048.0e6_f64] {
        // t = 60 us + S f/B with B = 200 GB/s.
        let (latency, bus) = (60e-6, 200e9);
        let seconds = latency + size * 15.0 / 16.0 / bus;
        let (alg, bandwidth) = (size / seconds / 1e9, size * 15.0 / 16.0 / seconds / 1e9);
        text += &format!(
            "{size:>13.0} {:>13.0}     float    none      -1   {:.2}  {alg:.2}  {bandwidth:.2}      0   {:.2}  {alg:.2}  {bandwidth:.2}      0\n",
            size / 4.0,
            seconds * 1e6,
            seconds * 1e6
        );
    }
    let reading_of = reading(&text);
    let (kind, ratio) = reading_of.ratios[0];
    assert_eq!(kind, Multiplier::Network);
    // The model: 8 cards of 50 GB/s at 0.75.
    assert!((ratio / (8.0 * 50.0 * 0.75 / 200.0) - 1.0).abs() < 0.02, "{ratio}");
    let fast = "# Collective test starting: all_reduce_perf\n 8589934592 2147483648 float sum -1 31000.0 277.1 480.0 0 31000.0 277.1 480.0 0\n";
    let fast = reading(fast);
    assert!(fast.ratios.is_empty() && fast.notes.iter().any(|note| note.to_string().contains("NVLS")));
}

/// One step of 1000 us: a product of 600, an all-reduce of 300 of which 100 lie behind it, nothing else.
#[test]
fn a_trace_gives_exposed_communication_compute_and_idle() {
    let event = |name: &str, category: &str, ts: f64, dur: f64| {
        format!(
            r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":0,"tid":7,"ts":{ts},"dur":{dur},"args":{{"stream":7,"name":"x"}}}}"#
        )
    };
    let steps: Vec<String> = (0..3)
        .flat_map(|step| {
            let begin = 1e6 + f64::from(step) * 1000.0;
            [
                event(&format!("ProfilerStep#{step}"), "user_annotation", begin, 1000.0),
                event("sm90_xmma_gemm_bf16bf16", "kernel", begin + 100.0, 600.0),
                event("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "kernel", begin + 600.0, 300.0),
            ]
        })
        .collect();
    let text = format!(
        r#"{{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"NVIDIA H100"}}],"distributedInfo":{{"backend":"nccl","rank":0,"world_size":64}},"traceEvents":[{}]}}"#,
        steps.join(",")
    );
    let figures = |reading: &Reading| -> Vec<String> {
        reading.measured.iter().map(|(what, how)| format!("{what}: {how}")).collect()
    };
    let whole = reading(&text);
    let mut pieces = LogReader::default();
    for piece in text.as_bytes().chunks(11) {
        pieces.push(piece).unwrap();
    }
    let pieces = pieces.finish(&Run::default()).unwrap();
    assert_eq!(whole, pieces);
    let figures = figures(&whole);
    for wanted in [
        "length of a step: 1.00 ms",
        "communication that nothing hides: 200 µs",
        "nothing runs: 200 µs",
        "matrix products: 600 µs",
    ] {
        assert!(figures.iter().any(|figure| figure.starts_with(wanted)), "{wanted}: {figures:?}");
    }
    // 1 ms is no step of the default run: it is not learned from.
    assert!(whole.step.is_none() && whole.observation("").is_none());
    assert!(whole.notes.iter().any(|note| note.to_string().contains("no whole step of the run")), "{:?}", whole.notes);
}

/// The trace of a snapshot is a ring: its curve is put where the segments end.
#[test]
fn a_snapshot_gives_the_peaks_of_its_curves() {
    let gib = 1u64 << 30;
    let text = format!(
        r#"{{"segments":[{{"device":0,"address":1,"total_size":{total},"allocated_size":{live},"active_size":{live},"blocks":[{{"size":5,"state":"inactive"}}]}}],
        "device_traces":[[{{"action":"segment_alloc","addr":1,"size":{a},"frames":[{{"name":"f","line":3}}]}},{{"action":"alloc","addr":1,"size":{b}}},
        {{"action":"alloc","addr":2,"size":{c}}},{{"action":"free_requested","addr":2,"size":{c}}},{{"action":"free_completed","addr":2,"size":{c}}}]],"allocator_settings":{{}}}}"#,
        total = 20 * gib,
        live = 10 * gib,
        a = 4 * gib,
        b = 2 * gib,
        c = 6 * gib
    );
    let reading = reading(&text);
    let (_, peaks) = figures(&reading);
    // 10 at the end, of which 2 came in the trace: it began at 8 and reached 8 + 2 + 6.
    assert_eq!((peaks[0], peaks[1]), (Some(16.0), Some(20.0)));
}

#[test]
fn what_cannot_be_read_says_why_and_what_would() {
    assert!(refusal(&[0x80, 4, 0x95, 1, 2]).contains("breaks off"));
    assert!(refusal(b"\x80\x02cposix\nsystem\nq\0.").contains("json.dump"));
    assert!(refusal(b"\x80\x04}\x94.").contains("no memory of a GPU"));
    assert!(refusal(b"PK\x03\x04 snap/data.pkl").contains("pickle"));
    assert!(refusal(&[0x1f, 0x8b, 8, 0]).contains("unpack"));
    assert!(refusal(b"ELF\0\0\x01\x02").contains("not text"));
    for text in ["", "hello", "{\"a\": 1}", "loss: 2.0 lr: 3e-4", "10%|█ | loading", "s/it it/s MiB / MiB"] {
        assert!(refusal(text.as_bytes()).contains("nothing in it is known"), "{text}");
    }
    assert!(refusal(br#"{"traceEvents":[]}"#).contains("no kernels"));
    assert!(refusal(br#"{"segments":[],"device_traces":[]}"#).contains("no memory"));
    assert!(too_large(300_000_000, false).is_some() && too_large(300_000_000, true).is_none());
    assert!(too_large(3_000_000_000, true).is_some());
}

/// A line cut in the middle, ranks in between, other locales, bytes that are no UTF-8: what is whole is read.
#[test]
fn half_lines_foreign_bytes_and_other_locales_lose_nothing_else() {
    let line = |number: u64, ms: &str| {
        format!(
            " [2026-01-01 00:00:00] iteration {number:>8}/  100 | consumed samples: 1 | elapsed time per iteration (ms): {ms} | learning rate: 1E-4 |\n"
        )
    };
    let mut bytes = Vec::new();
    for number in 1..20 {
        bytes.extend_from_slice(line(number, "2000,5").as_bytes());
        bytes.extend_from_slice(b"[rank3]: W0101 \xff\xfe\x90 broken \x1b[1;31m\x1b[");
        bytes.extend_from_slice(b"\n iteration 7/ 100 | consumed samples: 1 | elapsed time per itera\n");
    }
    let mut reader = LogReader::default();
    for piece in bytes.chunks(777) {
        reader.push(piece).unwrap();
    }
    assert_eq!(reader.taken(), bytes.len() as u64);
    let step = reader.finish(&Run::default()).unwrap().step.unwrap();
    assert_eq!((step.seconds, step.used), (2.0005, 17));
}

/// Lines as each program's own code prints them, with other numbers than the examples have: `training.py` and
/// `common_utils.py` of Megatron-LM, `train_utils.py` of Megatron-Bridge, `train_ft.py` of `AutoModel`, `metrics.py` of
/// torchtitan, `timer.py` and `utils.py` of `DeepSpeed`, `trainer.py` of nanotron, `metric_logger.py` of `MaxText`, the
/// console logger of Composer, `memory.py` of `PyTorch`.
#[test]
fn lines_of_every_program_with_other_numbers_are_read_by_their_units() {
    let gb = 1e9 / f64::from(1u32 << 30);
    let none = [None; 3];
    let rows: &[(&str, Figures)] = &[
        (
            " [2027-04-05 06:07:08.900000] iteration     4200/  500000 | consumed samples:      8601600 | elapsed time per iteration (ms): 31415.9 | learning rate: 1.5E-04 | global batch size:  2048 | lm loss: 2.0E+00 |",
            (Some(31.4159), none),
        ),
        (
            "[Rank 24] (after 2 iterations) memory (MB) | allocated: 12000.00 | max allocated: 25600.00 | reserved: 30720.00 | max reserved: 30720.00",
            (None, [Some(25.0), Some(30.0), None]),
        ),
        ("Step Time : 3.07s GPU utilization: 611.4MODEL_TFLOP/s/GPU", (Some(3.07), none)),
        (
            "[Rank 8] (after 2 iterations) memory (GB) | mem-reserved-gigabytes: 70.1 | mem-allocated-gigabytes: 30.2 | mem-max-allocated-gigabytes: 64.3 | mem-max-reserved-gigabytes: 71.9",
            (None, [Some(64.3 * gb), Some(71.9 * gb), None]),
        ),
        (
            "step 91 | epoch 2 | loss 0.9000 | grad_norm 1.0000 | lr 1.00e-06 | mem 70.25 GiB | tps 131072.00(2048.00/gpu) | num_label_tokens 999",
            (Some(TOKENS / 131_072.0), [Some(70.25), None, None]),
        ),
        (
            "[rank0]:[titan] 2027-01-05 10:01:00,000 - root - INFO - step: 900  loss:  2.1000  grad_norm:  0.2000  memory: 61.08GiB(77.21%)  tps: 1,234  tflops: 99.10  mfu: 10.02%",
            (Some(TOKENS / 64.0 / 1234.0), [None, Some(61.08), None]),
        ),
        (
            "[2027-01-05 10:00:00,000] [INFO] [timer.py:264:stop] epoch=1/micro_step=800/global_step=400, RunningAvgSamplesPerSec=51.2, CurrSamplesPerSec=64.0, MemAllocated=20.5GB, MaxMemAllocated=70.5GB",
            (Some(4.0), [Some(70.5), None, None]),
        ),
        (
            "[2027-01-05 10:00:00,000] [INFO] [utils.py:801:see_memory_usage] MA 1.5 GB         Max_MA 33.25 GB         CA 40.0 GB         Max_CA 44 GB",
            (None, [Some(33.25), Some(44.0), None]),
        ),
        (
            "{'train_runtime': 800.0, 'train_samples_per_second': 51.2, 'train_steps_per_second': 0.2, 'train_loss': 1.1, 'epoch': 1.0}",
            (Some(5.0), none),
        ),
        (
            "completed step: 77, seconds: 2.125, TFLOP/s/device: 301.0, Tokens/s/device: 3855.0, total_weights: 524288, loss: 3.9",
            (Some(2.125), none),
        ),
        (
            " samples/sec: 32.000 | iteration      900/   10000 | elapsed time per iteration (ms): 8000.0 | learning rate: 1E-4 | approx flops per GPU: 130.2TFLOPS | lm_loss: 3.0 |",
            (Some(8.0), none),
        ),
        (
            "| Allocated memory      |  20480 MiB |  67584 MiB |   9999 GiB |   9979 GiB |",
            (None, [Some(66.0), None, None]),
        ),
        (
            "| N/A   61C    P0   690W / 700W |  71680MiB / 81559MiB |    100%      Default |",
            (None, [None, None, Some(70.0)]),
        ),
    ];
    for (line, expected) in rows {
        let found = figures(&reading(line));
        let same = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => near(a, b),
            (a, b) => a == b,
        };
        assert!(same(found.0, expected.0), "{line}: {found:?}");
        for at in 0..3 {
            assert!(same(found.1[at], expected.1[at]), "{line}: {found:?}");
        }
    }
}
