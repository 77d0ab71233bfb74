//! Logs of programs that fine-tune and of those that learn by reinforcement. Lines are those that people published, or
//! what the program's own code prints at the commit named beside them, with numbers of our own.

use super::{Figures, TOKENS, figures, near, read, reading};
use shardscope::core::calibrate::{COARSE_NOISE, NOISE};
use shardscope::core::run::Run;
use shardscope::io::logs::Reading;

fn says(reading: &Reading, words: &str) -> bool {
    let measured = reading.measured.iter().map(|(what, how)| format!("{what}: {how}"));
    let others = reading.notes.iter().chain(&reading.assumed).map(ToString::to_string);
    measured.chain(others).any(|text| text.replace('\u{202f}', ",").contains(words))
}

/// A line for each of `items`.
fn lines<T>(items: impl IntoIterator<Item = T>, line: impl Fn(T) -> String) -> String {
    items.into_iter().map(line).collect()
}

fn on(text: &str, gpus: u64) -> Reading {
    read(text, &Run { gpus, tp: 1, ..Run::default() }).unwrap()
}

/// ms-swift, docs/source/BestPractices/Metax-support.md:120-139 at 3602360a: its own clock says 10 s at step 5 and
/// 172 s at step 90. The first step took 2.9 s, and the whole run 183 s for 94 steps with what was saved.
#[test]
fn ms_swift_tells_steps_by_what_lies_between_its_lines() {
    let printed = [
        (1, "2s", 4.87, 0.345_807),
        (5, "10s", 5.64, 0.461_462),
        (10, "20s", 5.64, 0.485_796),
        (15, "30s", 6.5, 0.493_855),
        (20, "39s", 6.5, 0.500_516),
        (25, "49s", 6.5, 0.505_48),
        (30, "59s", 6.5, 0.508_409),
        (35, "1m 8s", 6.5, 0.510_425),
        (40, "1m 18s", 6.5, 0.512_302),
        (45, "1m 27s", 6.5, 0.512_983),
        (50, "1m 37s", 6.5, 0.514_489),
        (85, "2m 43s", 6.5, 0.520_331),
        (90, "2m 52s", 6.5, 0.520_707),
    ];
    let mut log = lines(printed, |(step, elapsed, gib, speed): (u32, &str, f64, f64)| {
        format!(
            "{{'loss': 1.47, 'grad_norm': 10.5625, 'learning_rate': 2e-06, 'token_acc': 0.65, 'epoch': 0.01, \
                'global_step/max_steps': '{step}/94', 'percentage': '1.06%', 'elapsed_time': '{elapsed}', \
                'remaining_time': '4m 28s', 'memory(GiB)': {gib}, 'train_speed(iter/s)': {speed}}}\n"
        )
    });
    log += "{'train_runtime': 183.4332, 'train_samples_per_second': 8.177, 'train_steps_per_second': 0.512, \
        'train_loss': 1.50650934, 'token_acc': 0.6194337, 'epoch': 1.0, 'global_step/max_steps': '94/94', \
        'percentage': '100.00%', 'elapsed_time': '3m 3s', 'remaining_time': '0s', 'memory(GiB)': 6.5, \
        'train_speed(iter/s)': 0.512463}\n";
    let read = reading(&log);
    assert_eq!(read.program.to_string(), "a log of ms-swift");
    let (step, peaks) = figures(&read);
    assert!((step.unwrap() / ((172.0 - 10.0) / 85.0) - 1.0).abs() < 0.015, "{step:?}");
    assert_eq!(peaks, [None, Some(6.5), None]);
    assert!(read.sigma < COARSE_NOISE);
}

/// ms-swift's pull request 8007 prints seconds a step, counted from the checkpoint that a run began with; the clock
/// beside it does not depend on that. An evaluation has a line of its own at the same step.
#[test]
fn ms_swift_of_2026_leaves_out_an_evaluation_and_steps_before_a_checkpoint() {
    let start = 500_u32;
    let mut seconds = 0.0;
    let mut log = String::new();
    let line = |step: u32, seconds: f64, what: &str| {
        let each = seconds / f64::from(step - start);
        let (minutes, rest) = ((seconds / 60.0).floor(), seconds.rem_euclid(60.0).round());
        format!(
            "{{\"{what}\": 1.0, \"epoch\": 0.2, \"global_step/max_steps\": \"{step}/900\", \"percentage\": \"60%\", \
            \"elapsed_time\": \"{minutes}m {rest}s\", \"remaining_time\": \"1h 2m 3s\", \"memory(GiB)\": 61.25, \
            \"train_speed(s/it)\": {each:.6}}}\n"
        )
    };
    for step in (510..=560).step_by(10) {
        seconds += if step == 510 { 300.0 } else { 120.0 };
        log += &line(step, seconds, "loss");
        seconds += 60.0;
        log += &line(step, seconds, "eval_loss");
    }
    let read = reading(&log);
    let (step, peaks) = figures(&read);
    assert!(near(step.unwrap(), 12.0), "{step:?}");
    assert_eq!(peaks[1], Some(61.25));
}

/// Two lines leave one stretch of steps, which may hold anything: the mean since the start stands, and weighs little.
#[test]
fn ms_swift_of_two_lines_has_a_mean_since_the_start() {
    let log = "{'loss': 1.0692, 'grad_norm': 0.55, 'learning_rate': 1e-05, 'memory(GiB)': 73.23, 'train_speed(iter/s)': 0.0213, 'epoch': 0.01, 'global_step/max_steps': '5/935', 'percentage': '0.53%', 'elapsed_time': '3m 55s', 'remaining_time': '12h 8m'}\n\
        {'loss': 0.9692, 'grad_norm': 0.45, 'learning_rate': 1e-05, 'memory(GiB)': 73.23, 'train_speed(iter/s)': 0.0221, 'epoch': 0.02, 'global_step/max_steps': '10/935', 'percentage': '1.07%', 'elapsed_time': '7m 32s', 'remaining_time': '11h 38m'}\n";
    let read = on(log, 8);
    assert_eq!(figures(&read), (Some(1.0 / 0.0221), [None, Some(73.23), None]));
    assert!(near(read.sigma, COARSE_NOISE) && says(&read, "mean since the start"));
    // A GRPO trainer's step generates first: ms-swift and TRL print how long the completions are.
    let generates = log.replace("'grad_norm'", "'completions/mean_length': 512.0, 'grad_norm'");
    let read = on(&generates, 8);
    assert_eq!(figures(&read), (None, [None, Some(73.23), None]));
    assert!(says(&read, "no step is read"), "{:?}", read.notes);
}

/// ms-swift on Megatron-LM: swift/megatron/init.py:245 at 710553d8, and callbacks/print.py:49 at 3602360a.
#[test]
fn ms_swift_on_megatron_has_reserved_memory() {
    let old = " [2025-08-01 10:00:00] iteration        5/     100 | consumed samples:           80 | elapsed time per iteration (ms): 8123.4 | memory(GiB): 60.17 | elapsed time: 52s | remaining time: 12m 51s | learning rate: 1.000000E-05 | global batch size:    16 | lm loss: 1.1E+00 | loss scale: 1.0 | grad norm: 1.2 | number of skipped iterations:   0 | number of nan iterations:   0 |";
    let read = reading(old);
    assert_eq!(read.program.to_string(), "a log of ms-swift on Megatron-LM");
    assert_eq!((figures(&read), read.run.global_batch), ((Some(8.1234), [None, Some(60.17), None]), 16));
    let new = lines(1..9, |step: u32| {
        let seconds = 40.0 + 9.0 * f64::from(step);
        format!(
            "{{'loss': 1.2, 'grad_norm': 0.9, 'learning_rate': 1e-05, 'iteration': '{step}/50', 'elapsed_time': \
            '{seconds:.0}s', 'remaining_time': '5m 1s', 'memory(GiB)': 55.5, 'train_speed(s/it)': {:.6}}}\n",
            seconds / f64::from(step)
        )
    });
    let (step, peaks) = figures(&reading(&new));
    assert!(near(step.unwrap(), 9.0) && peaks[1] == Some(55.5), "{step:?}");
}

/// axolotl, core/trainers/base.py:742 at 067b021c and of 0.12; utils/bench.py of 0.9 prints what is allocated after a
/// step.
#[test]
fn axolotl_has_peaks_and_tokens_with_a_label_from_which_no_step_follows() {
    let log = "[2026-03-01 10:00:00,000] [INFO] [axolotl.utils.callbacks] GPU memory usage while training: 71.442GB (+1.201GB cache, +0.988GB misc)\n\
        {'loss': 1.21, 'grad_norm': 0.9, 'learning_rate': 2e-05, 'memory/max_active (GiB)': 31.44, 'memory/max_allocated (GiB)': 31.43, 'memory/device_reserved (GiB)': 33.71, 'tokens_per_second_per_gpu': 2841.3, 'epoch': 0.1}\n\
        {'eval_loss': 1.0, 'eval_runtime': 9.0, 'memory/max_active (GiB)': 40.0, 'memory/max_allocated (GiB)': 40.0, 'memory/device_reserved (GiB)': 44.0, 'epoch': 0.1}\n\
        {'loss': 1.11, 'grad_norm': 0.9, 'learning_rate': 2e-05, 'memory/max_active (GiB)': 31.44, 'memory/max_allocated (GiB)': 31.44, 'memory/device_reserved (GiB)': 33.71, 'tokens_per_second_per_gpu': 2852.0, 'epoch': 0.2}\n";
    let read = on(log, 8);
    assert_eq!(figures(&read), (None, [Some(31.44), Some(33.71), None]));
    assert!(says(&read, "of those with a label: 2852") && says(&read, "no step follows"), "{:?}", read.measured);
    // A step that the progress bar tells; the names of 0.12, as a tutorial has them.
    let bar = " 78%|███▋  | 156/200 [06:52<01:48,  2.46s/it]\n\
        {'loss': 0.0001, 'grad_norm': 0.0014, 'learning_rate': 2.60e-05, 'memory/max_mem_active(gib)': 14.56, 'memory/max_mem_allocated(gib)': 14.56, 'memory/device_mem_reserved(gib)': 14.6, 'epoch': 52.0}\n";
    let read = reading(bar);
    assert_eq!(read.program.to_string(), "a log of axolotl");
    assert_eq!(figures(&read), (Some(2.46), [Some(14.56), Some(14.6), None]));
}

/// LLaMA-Factory, `train/callbacks.py:275` at ff6d4d12: lines of its `trainer_log.jsonl`, whose clock has whole
/// seconds; steps of 1.3 s are told by lines that lie further apart. An evaluation has a line of its own at the same
/// step.
#[test]
fn llama_factory_tells_steps_by_its_clock() {
    let line = |step: u32, seconds: f64, what: &str| {
        let (hours, rest) = ((seconds / 3600.0).floor(), seconds % 3600.0);
        let (minutes, rest) = ((rest / 60.0).floor(), (rest % 60.0).floor());
        format!(
            "{{\"current_steps\": {step}, \"total_steps\": 400, \"{what}\": 1.2, \"lr\": 1e-05, \"epoch\": 0.4, \"percentage\": 1.0, \"elapsed_time\": \"{hours}:{minutes:02}:{rest:02}\", \"remaining_time\": \"0:40:00\", \"throughput\": 9000.0, \"total_tokens\": 81920, \"vram_allocated\": 30.25, \"vram_reserved\": 33.5}}\n"
        )
    };
    let mut log = String::new();
    let mut seconds = 20.0;
    for step in (5..=300).step_by(5) {
        seconds += 6.5;
        log += &line(step, seconds, "loss");
        if step % 100 == 0 {
            seconds += 45.0;
            log += &line(step, seconds, "eval_loss");
        }
    }
    let read = reading(&log);
    assert_eq!(read.program.to_string(), "a log of LLaMA-Factory");
    let (step, peaks) = figures(&read);
    assert!((step.unwrap() / 1.3 - 1.0).abs() < 0.03, "{step:?}");
    assert_eq!(peaks, [Some(30.25), Some(33.5), None]);
    // Two lines leave one stretch, which may hold anything.
    assert_eq!(figures(&reading(&(line(5, 30.0, "loss") + &line(50, 90.0, "loss")))).0, None);
}

/// torchtune, `training/metric_logging.py:206`, `recipes/full_finetune_distributed.py:1083` and
/// `training/memory.py:361` at bd2a0fc7, on the screen and in its file.
#[test]
fn torchtune_has_peaks_of_each_step_and_a_step_by_its_bar() {
    let built = "INFO:torchtune.utils._logging:Memory stats after model init:\n\tCUDA peak memory active: 70.10 GiB\n\tCUDA peak memory alloc: 70.10 GiB\n\tCUDA peak memory reserved: 71.20 GiB\n";
    let read = reading(built);
    assert!(read.observation("").is_none() && says(&read, "no peak"), "{:?}", read.peaks);
    let step = |step: u32, gib: f64| {
        format!(
            "Step {step} | loss:1.53 lr:2e-05 tokens_per_second_per_gpu:1523.7 peak_memory_active:{gib} peak_memory_alloc:{gib} peak_memory_reserved:48.25 grad_norm:2.1 \n"
        )
    };
    let bar = |step: u32, seconds: f64| {
        format!("\r1|{step}|Loss: 1.53:   1%|  | {step}/808 [00:30<1:00:00, {seconds}s/it]\n")
    };
    let steps = lines(1..6, |at| bar(at, if at == 1 { 19.0 } else { 4.5 }) + &step(at, 40.0 + f64::from(at)));
    let log = built.to_owned() + &steps;
    let read = reading(&log);
    assert_eq!(read.program.to_string(), "a log of torchtune");
    assert_eq!(figures(&read), (Some(4.5), [Some(45.0), Some(48.25), None]));
    assert!(says(&read, "of those with a label: 1524") && says(&read, "no step follows"));
    let disk = "{\"step\": 7, \"loss\": 1.2, \"lr\": 2e-05, \"tokens_per_second_per_gpu\": 901.5, \"peak_memory_active\": 33.0, \"peak_memory_alloc\": 33.0, \"peak_memory_reserved\": 35.5}\n";
    assert_eq!(figures(&reading(disk)), (None, [Some(33.0), Some(35.5), None]));
}

/// `OLMo-core`, `console_logger.py:76`, `speed_monitor.py:167` and `gpu_memory_monitor.py:38` at fa6c5014; "system/" is
/// of releases before 2.3. A step is 1 / BPS, whatever batch the page has.
#[test]
fn olmo_core_tells_the_step_and_its_tokens_of_a_gpu() {
    let log = "2025-06-10 10:00:00 host:0 olmo_core.train.callbacks.gpu_memory_monitor:38 INFO GPU capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory of which 4.00GiB is currently allocated and 5.00GiB is currently reserved.\n\
        2025-06-10 10:00:10 host:0 olmo_core.train.callbacks.console_logger:76 INFO [step=100/1000,epoch=1,eta=1h11m]\n    optim/total grad norm=0.4123\n    throughput/device/BPS=0.3811\n    throughput/device/BPS (actual avg)=0.2000\n    throughput/device/TPS=12,488\n    throughput/device/TPS (actual avg)=9,000\n    throughput/device/MFU=41.20\n    system/GPU active mem (GiB)=52.11\n    system/GPU reserved mem (GiB)=61.02\n\
        2025-06-10 10:00:36 host:0 olmo_core.train.callbacks.console_logger:76 INFO [step=110/1000,epoch=1,eta=1h10m]\n    throughput/device/BPS=0.3815\n    throughput/device/TPS=12,499\n    throughput/device/MFU=41.30\n    gpu_memory/GPU active mem (GiB)=52.12\n";
    let read = on(log, 8);
    assert_eq!(read.program.to_string(), "a log of OLMo-core");
    assert_eq!(figures(&read), (Some(1.0 / 0.3815), [Some(52.12), Some(61.02), None]));
    // 12499 / 0.3815 tokens of a GPU and step; the run has 2^21 over 8.
    assert!(says(&read, "32,763 tokens per GPU, the run 262,144"), "{:?}", read.notes);
    assert!(says(&read, "active memory"));
}

/// nanochat, `scripts/base_train.py:411`, 427, 567 and 597 at 92d63d4e; times of a published run of 32,768 tokens a
/// step (d12, 8 x 1024 tokens a micro-batch). Its evaluation has lines of its own and is not in `dt`.
#[test]
fn nanochat_states_its_batch_in_tokens() {
    let mut log = String::from(
        "Tokens / micro-batch / rank: 8 x 1024 = 8,192\nTokens / micro-batch: 16,384\nTotal batch size 32,768 => gradient accumulation steps: 2\nStep 00200 | Validation bpb: 1.946162\n",
    );
    let steps = [
        (200, 558.89, 58_679),
        (210, 559.86, 58_578),
        (220, 560.65, 58_446),
        (230, 560.60, 58_451),
        (240, 566.99, 57_792),
    ];
    for (step, ms, rate) in steps {
        log += &format!(
            "step {step:05}/35280 (0.57%) | loss: 5.147944 | lrm: 1.00 | dt: {ms:.2}ms | tok/sec: {},{} | bf16_mfu: 0.00 | epoch: 1 pq: 0 rg: 14 | total time: 1.84m | eta: 326.0m\n",
            rate / 1000,
            rate % 1000
        );
    }
    log += "Peak memory usage: 30720.00MiB\n";
    let read = reading(&log);
    assert_eq!(read.program.to_string(), "a log of nanochat");
    let run = &read.run;
    assert_eq!((run.gpus, run.micro_batch, run.seq_len, run.global_batch), (2, 8, 1024, 32));
    assert_eq!((run.tp, run.pp, run.cp), (1, 1, 1));
    assert_eq!(figures(&read), (Some(0.56065), [Some(30.0), None, None]));
    // Tokens over all GPUs: a rate taken as one of a GPU would make the batch twice as large.
    assert!(!says(&read, "check batch"), "{:?}", read.notes);
}

/// verl's `fsdp_sft_trainer.py` at b178a3cd; lines as a published guide shows them (Qwen2.5-32B on 8 H200).
#[test]
fn a_step_of_verl_in_supervised_tuning_is_its_time() {
    let log = "step:1 - train/loss:0.8078852891921997 - train/lr(1e-3):0.0002702702702702703 - train/time(s):14.796027898788452\n\
        step:2 - train/loss:0.7787683010101318 - train/lr(1e-3):0.0005405405405405405 - train/time(s):7.293778896331787\n\
        step:3 - train/loss:0.7899439334869385 - train/lr(1e-3):0.0008108108108108109 - train/time(s):6.083798885345459\n\
        step:3 - val/loss:0.7\n\
        step:127 - train/loss:0.1943996697664261 - train/lr(1e-3):0.00832235736719411 - train/time(s):6.062393665313721\n\
        step:128 - train/loss:0.1821298599243164 - train/lr(1e-3):0.008287170670328432 - train/time(s):6.20814323425293\n";
    let read = reading(log);
    assert_eq!(read.program.to_string(), "a log of verl");
    assert_eq!(figures(&read), (Some(6.083_798_885_345_459), [None; 3]));
    assert!(read.notes.is_empty(), "{:?}", read.notes);
    // sft_trainer.py counts the tokens of a step over all ranks, and its bar the seconds.
    let engine = "Epoch 1/1:   4%|▍ | 4/100 [00:12<05:00,  3.25s/it]\nstep:4 - train/loss:0.5 - train/grad_norm:1.0 - train/lr:1e-05 - train/mfu:0.4 - train/global_tokens:32768 - train/total_tokens(B):0.000131072\n";
    let read = reading(engine);
    assert_eq!(figures(&read).0, Some(3.25));
    assert!(says(&read, "a step has 512 tokens per GPU, the run 32,768"), "{:?}", read.notes);
}

/// verl-project/verl, issues 1208 (the first line) and 7412, where a new engine names the peaks otherwise.
#[test]
fn a_round_of_verl_is_no_step() {
    let log = "(TaskRunner pid=16292) step:2 - global_seqlen/mean:547190.500 - actor/grad_norm:0.069 - perf/mfu/actor:1.018 - perf/max_memory_allocated_gb:25.921 - perf/max_memory_reserved_gb:61.611 - perf/cpu_memory_used_gb:360.092 - actor/lr:0.000 - timing_s/gen:74.020 - timing_s/old_log_prob:3.566 - timing_s/ref:3.420 - timing_s/adv:1.167 - timing_s/update_actor:14.302 - timing_s/step:96.551 - timing_per_token_ms/adv:0.001\n\
        Training Progress:   0%|          | 2/624 [03:20<17:32:27, 96.94s/it]\n";
    let read = reading(log);
    assert_eq!(read.program.to_string(), "a log of verl");
    assert!(read.observation("").is_none(), "{:?} {:?}", read.step, read.peaks);
    assert!(says(&read, "seconds of a round") && says(&read, "96.6 s") && says(&read, "update of the policy: 14.3 s"));
    assert!(says(&read, "61.61 GiB, printed as \"gb\" = GiB") && says(&read, "no peak of a step"));
    assert!(says(&read, "no step is read") && !says(&read, "wait for the GPU"));
    let new = "(TaskRunner pid=222265) step:34 - global_seqlen/mean:458966.5 - actor/perf/max_memory_allocated_gb:24.52155876159668 - actor/perf/max_memory_reserved_gb:27.626953125 - timing_s/gen:541.1881153844297 - timing_s/update_actor:472.1077583655715 - timing_s/step:1163.9566092677414\n";
    let read = reading(new);
    assert!(read.observation("").is_none() && says(&read, "27.63 GiB"), "{:?}", read.measured);
}

/// slime, `backends/megatron_utils/model.py:918` and `observability/train_metric_utils.py:401` at 624b824a: two steps
/// of the optimizer a round, whose tokens are or are not those of the run.
#[test]
fn a_step_of_slime_is_taken_where_its_tokens_are_those_of_the_run() {
    let step = |step: u32| {
        format!(
            "(MegatronTrainRayActor pid=1) [2026-01-05 12:20:29] model.py:918 - step {step}: {{'train/loss': 0.1, 'train/grad_norm': 0.62, 'train/lr-pg_0': 1e-06, 'train/global_batch_size': 256, 'train/step': {step}}}\n"
        )
    };
    let round = |round: u32, tokens: f64| {
        format!(
            "(MegatronTrainRayActor pid=1) [2026-01-05 12:20:30] train_metric_utils.py:401 - perf {round}: {{'perf/sleep_time': 4.0, 'perf/update_weights_time': 0.3, 'perf/train_wait_time': 101.2, 'perf/ref_log_probs_time': 11.5, 'perf/log_probs_time': 10.5, 'perf/actor_train_time': 41.0, 'perf/train_time': 64.0, 'perf/actor_train_tok_per_s': {}, 'perf/step_time': 165.2, 'perf/wait_time_ratio': 0.6}}\n",
            2.0 * tokens / 41.0
        )
    };
    let log = |tokens: f64| lines(0..4, |at| step(2 * at) + &step(2 * at + 1) + &round(at, tokens));
    let read = reading(&log(TOKENS));
    assert_eq!(read.program.to_string(), "a log of slime");
    assert_eq!(figures(&read), (Some(20.5), [None; 3]));
    assert!(near(read.sigma, NOISE) && says(&read, "seconds of a round"));
    let other = reading(&log(TOKENS / 3.0));
    assert!(other.observation("").is_none() && says(&other, "no step of this run"), "{:?}", other.notes);
    // A fork's lines, which do not tell the tokens.
    let bare = "[x] train_metric_utils.py:44 - perf 0: {'perf/actor_train_time': 1051.8, 'perf/ref_log_probs_time': 283.4, 'perf/log_probs_time': 242.6, 'perf/step_time': 1729.4}\n";
    let read = reading(bare);
    assert!(read.observation("").is_none() && says(&read, "no step is read"), "{:?}", read.notes);
}

/// huggingface/nanotron, pull request 23 (January 2024): bytes with three digits, on the iterations that print them.
/// trainer.py:1142 at 2411b022: what a model holds once it is built is no peak of a step.
#[test]
fn nanotron_has_reserved_memory_in_bytes() {
    let line = |step: u64, ms: &str, memory: &str| {
        format!(
            "01/17/2024 13:47:27 [INFO|DP=0|PP=0|TP=0|ip-26-0-160-225]: iteration: {step} / 1000 | consumed_tokens: 634K | elapsed_time_per_iteration_ms: {ms} | tokens_per_sec: 14.2K | tokens_per_sec_per_gpu: 1.78K | global_batch_size: 20 | lm_loss: 10.6 | lr: 1e-05 | model_tflops_per_gpu: 0.00869 | hardware_tflops_per_gpu: 0.00869 | grad_norm: 0.515{memory}\n"
        )
    };
    let with = " | cuda_memory_allocated: 75.2M | cuda_max_memory_reserved: 547M | hd_total_memory_tb: 312G | hd_used_memory_tb: 61.8G | hd_free_memory_tb: 250G";
    let log = line(991, "45", with) + &line(992, "41.2", "") + &line(993, "39.4", "") + &line(994, "43.2", "");
    let found: Figures = figures(&reading(&log));
    assert!(near(found.1[1].unwrap(), 547e6 / f64::from(1u32 << 30)), "{found:?}");
    assert!(near(found.0.unwrap(), 0.0413) && found.1[0].is_none(), "{found:?}");
    let built = "01/17/2024 13:47:27 [INFO|DP=0|PP=0|TP=0]: [After model building] Memory usage: 9000.00MiB. Peak allocated: 9000.00MiB Peak reserved: 9100.00MiB\n";
    assert!(reading(built).observation("").is_none());
}
