//! Lines around a program's own in a real log: launchers, other versions, several runs in one file; each line as the
//! program or the launcher named beside it prints it.

use super::{TOKENS, figures, near, reading};
use shardscope::core::run::{AttentionKernel, Multiplier, Run};
use shardscope::io::logs::read;

/// An iteration of Megatron-LM, without what newer versions add.
pub(super) fn iteration(number: u64, consumed: u64, ms: f64) -> String {
    format!(
        " iteration {number:>8}/  500 | consumed samples: {consumed:>12} | elapsed time per iteration (ms): {ms:.1} | learning rate: 1.5E-04 | lm loss: 7.3E+00 | loss scale: 1.0 | grad norm: 2.9 |"
    )
}

/// torchrun, `torchrun --tee`, srun, pdsh, kubectl, the CRI of Kubernetes, Ray, mpirun, Primus, NeMo-Run.
const BEFORE: [&str; 12] = [
    "",
    "[rank7]:",
    "[default7]:",
    " 0: ",
    "12: ",
    "lrdn0137: ",
    "[lrdn3321:3]:",
    "trainer-worker-0: ",
    "2026-11-22T10:00:00.123456789Z stdout F ",
    "(RayTrainWorker pid=1234, ip=10.0.0.7) ",
    "[1,0]<stdout>:",
    "[20251202 09:12:08][rank-7/8][INFO ] [--------trainer.py:2560] :",
];

#[test]
fn what_a_launcher_writes_before_a_line_changes_nothing() {
    for before in BEFORE {
        for (colour, end) in [("", "\n"), ("\u{1b}[32m", "\u{1b}[0m\r\n")] {
            let mut log = String::new();
            let mut line = |text: &str| log += &format!("{before}{colour}{text}{end}");
            line("------------------------ arguments ------------------------");
            for (name, value) in [
                ("tensor_model_parallel_size", 4),
                ("pipeline_model_parallel_size", 1),
                ("world_size", 32),
                ("seq_length", 4096),
                ("micro_batch_size", 2),
                ("global_batch_size", 96),
            ] {
                line(&format!("  {name} {} {value}", ".".repeat(47 - name.len())));
            }
            for number in 1..8 {
                let slow = if number == 1 { 30_000.0 } else { 3000.0 };
                line(&iteration(number, 96 * number, slow));
            }
            line(
                "[Rank 0] (after 2 iterations) memory (MB) | allocated: 9909.07 | max allocated: 51200.0 | reserved: 53248.0 | max reserved: 53248.0",
            );
            let read = reading(&log);
            let run = &read.run;
            assert_eq!(
                (run.tp, run.gpus, run.seq_len, run.micro_batch, run.global_batch),
                (4, 32, 4096, 2, 96),
                "{log}"
            );
            let (step, peaks) = figures(&read);
            assert!(near(step.unwrap(), 3.0), "{log}");
            assert_eq!((peaks[0], peaks[1]), (Some(50.0), Some(52.0)));
        }
    }
}

/// Rows of nccl-tests and the result of MAMF-finder begin their lines; a launcher may write its rank before them.
#[test]
fn benchmarks_are_read_behind_a_rank() {
    for before in BEFORE {
        let rows: String = [33_554_432u64, 134_217_728, 536_870_912, 2_147_483_648]
            .map(|size| {
                let seconds = 50e-6 + size as f64 * 0.875 / 320e9;
                let (algorithm, bus) = (
                    size as f64 / seconds / 1e9,
                    size as f64 * 0.875 / seconds / 1e9,
                );
                let micro = seconds * 1e6;
                format!("{before}{size:>12} {:>12}  bfloat16    none      -1  {micro:.1}  {algorithm:.2}  {bus:.2}      0  {micro:.1}  {algorithm:.2}  {bus:.2}      0\n", size / 2)
            })
            .concat();
        let nccl = reading(&rows);
        let (kind, ratio) = nccl.ratios[0];
        assert_eq!(kind, Multiplier::NodeLinks, "{rows}");
        assert!((ratio / (450.0 * 0.78 / 320.0) - 1.0).abs() < 0.02, "{ratio}");
        let mamf = reading(&format!("{before}mean:   655.5 TFLOPS @ 4096x4096x8192 (MxNxK)\n"));
        assert_eq!(mamf.ratios[0].0, Multiplier::Gemm);
    }
}

/// Megatron-DeepSpeed of the `BigScience` project: seconds, samples a second; its log of BLOOM.
#[test]
fn an_iteration_in_seconds_is_one_of_seconds() {
    let read = reading(
        "[default7]: iteration    12695/  115311 | consumed samples:      9841584 | consumed tokens:  20155564032 | elapsed time per iteration (s): 105.22 | learning rate: 5.969E-05 | global batch size:  2048 | lm loss: 2.463556E+00 | grad norm: 0.174 | num zeros: 0.0 | samples per second: 19.463 | TFLOPs: 149.02 |",
    );
    assert!(near(read.step.unwrap().seconds, 105.22));
    assert_eq!(read.run.global_batch, 2048);
}

/// AMD's Primus: this step's figure and the mean over the run, the memory of the device in 2³⁰ bytes.
#[test]
fn of_two_figures_the_first_is_the_steps() {
    let read = reading(
        "[20251121 12:10:29][rank-31/32][INFO ] [--------trainer.py:2488] :  iteration    12125/   36000 | consumed samples:      3104000 | elapsed time per iteration (ms): 2701.3/2712.7 | hip mem usage/free/total/usage_ratio: 227.35GB/28.63GB/255.98GB/88.81% | throughput per GPU (TFLOP/s/GPU): 210.5/217.3 | tokens per GPU (tokens/s/GPU): 12130.4/12525.5 | learning rate: 1.587349E-04 | global batch size:   256 | lm loss: 2.352391E+00 |",
    );
    let (step, peaks) = figures(&read);
    assert!(near(step.unwrap(), 2.7013));
    assert_eq!(peaks[2], Some(227.35));
    // 12,130 tokens a second and GPU of 2.7 s are 32,768 a step: the page's run has 64 GPUs, 8192 tokens and thus as
    // many.
    assert!(read.notes.is_empty(), "{:?}", read.notes);
}

/// Megatron-LM before it printed the batch: consumed samples of two lines, or of one; also behind a resumed checkpoint.
#[test]
fn the_batch_follows_from_the_samples_that_were_consumed() {
    let batch = |log: &str| reading(log).run.global_batch;
    assert_eq!(batch(&iteration(200, 25_600, 430.0)), 128);
    let two = [iteration(501, 90_320, 400.0), iteration(511, 90_800, 400.0)].join("\n");
    assert_eq!(batch(&two), 48);
    // Of GPT-NeoX 41.22 samples a second in 3.105 s.
    let neox = " samples/sec: 41.224 | iteration      100/  320000 | elapsed time per iteration (ms): 3105.0 | learning rate: 1.0E-05 | approx flops per GPU: 46.5TFLOPS | lm_loss: 8.8E+00 |";
    assert_eq!(batch(neox), 128);
}

/// Two runs appended to one file: the last that tells of steps is read, with its own arguments, and that is said.
#[test]
fn of_several_runs_in_a_file_the_last_is_read() {
    let run = |tp: u64, steps: u64, ms: f64, memory: f64| {
        let mut log = String::new();
        for (name, value) in [
            ("context_parallel_size", 1),
            ("global_batch_size", 64),
            ("micro_batch_size", 1),
            ("seq_length", 4096),
            ("tensor_model_parallel_size", tp),
            ("world_size", 16),
        ] {
            log += &format!("  {name} {} {value}\n", ".".repeat(47 - name.len()));
        }
        for number in 1..=steps {
            log += &iteration(number, 64 * number, ms);
            log += "\n";
        }
        log + &format!(
            "[Rank 0] (after 2 iterations) memory (MB) | allocated: 1.0 | max allocated: {memory:.1} | reserved: 2.0 | max reserved: {memory:.1}\n"
        )
    };
    let appended = run(2, 9, 5000.0, 61_440.0) + &run(8, 6, 3000.0, 30_720.0);
    let read = reading(&appended);
    assert_eq!(read.run.tp, 8);
    let step = read.step.unwrap();
    assert!(near(step.seconds, 3.0) && step.used == 4, "{step:?}");
    assert_eq!(figures(&read).1[0], Some(30.0));
    assert!(read.notes.iter().any(|note| note.to_string().contains("begin 2 times")));
    // One that ended before its first step tells nothing: the one before it is read.
    let failed = run(2, 9, 5000.0, 61_440.0) + &run(4, 0, 0.0, 71_680.0);
    let read = reading(&failed);
    assert_eq!((read.run.tp, figures(&read).0), (2, Some(5.0)));
    // Without arguments the steps begin again.
    let plain = |ms: f64| (1..6).map(|at| iteration(at, 64 * at, ms) + "\n").collect::<String>();
    let read = reading(&(plain(9000.0) + &plain(4000.0)));
    assert!(near(read.step.unwrap().seconds, 4.0));
}

/// A run that went on from a checkpoint is one run: its first steps after it are no steps like the others.
#[test]
fn a_resumed_run_is_one_run() {
    let mut log = String::new();
    for (from, to) in [(1, 30), (21, 60)] {
        for number in from..=to {
            let ms = if number == from { 45_000.0 } else { 6000.0 };
            log += &(iteration(number, 32 * number, ms) + "\n");
        }
    }
    let read = reading(&log);
    let step = read.step.unwrap();
    assert!(near(step.seconds, 6.0) && step.used > 50, "{step:?}");
    assert!(read.notes.is_empty(), "{:?}", read.notes);
}

/// `--rampup-batch-size`: steps of a smaller batch are shorter.
#[test]
fn steps_of_a_batch_that_grew_are_let_go() {
    let line = |number: u64, batch: u64| {
        format!(
            " iteration {number}/ 900 | consumed samples: {} | elapsed time per iteration (ms): {}.0 | global batch size: {batch:>5} |\n",
            number * 16,
            batch * 100
        )
    };
    let log: String = (1..40).map(|number| line(number, if number < 20 { 16 } else { 64 })).collect();
    let read = reading(&log);
    assert!(near(read.step.unwrap().seconds, 6.4));
    assert_eq!(read.run.global_batch, 64);
    assert!(read.notes.iter().any(|note| note.to_string().contains("batch changes")));
}

/// torchtitan of 2024 and 2025: words a second, the mesh as a list, `Training starts`; a validation is no step.
#[test]
fn older_lines_of_torchtitan_are_read() {
    let log = "\u{1b}[36m[rank0]:2024-08-20 10:00:01,000 - root - INFO - Building 2-D device mesh with ['dp', 'tp'], [8, 4]\u{1b}[39m\n\
        [rank0]:2024-08-20 10:00:02,000 - root - INFO - GPU capacity: NVIDIA H100 (0) with 79.10GiB memory\n\
        [rank0]:2024-08-20 10:00:03,000 - root - INFO - Training starts at step 1, with local batch size 2, global batch size 16, sequence length 4096, total steps 1000 (warmup 200)\n\
        [rank0]:2024-08-20 10:01:00,000 - root - INFO - \u{1b}[36mstep: 10  \u{1b}[32mloss:  7.6000  \u{1b}[33mmemory: 30.00GiB(37.93%)  \u{1b}[34mwps: 2,048  \u{1b}[35mmfu: 20.11%\u{1b}[39m\n\
        [rank0]:2024-08-20 10:01:30,000 - root - INFO - validate step: 10  loss:  7.9000  memory: 44.00GiB(55.63%)  tps: 99,000\n\
        [rank0]:2024-08-20 10:02:00,000 - root - INFO - \u{1b}[36mstep: 20  \u{1b}[32mloss:  7.5000  \u{1b}[33mmemory: 30.10GiB(38.05%)  \u{1b}[34mwps: 2,048  \u{1b}[35mmfu: 20.11%\u{1b}[39m\n";
    let read = reading(log);
    let run = &read.run;
    assert_eq!((run.gpus, run.tp, run.pp, run.micro_batch, run.global_batch, run.zero), (32, 4, 1, 2, 16, 3));
    assert_eq!(run.stack.base, Some("torchtitan"));
    let (step, peaks) = figures(&read);
    assert!(near(step.unwrap(), 16.0 * 4096.0 / 32.0 / 2048.0));
    assert_eq!(peaks[1], Some(30.1));
    // flame, a trainer on torchtitan.
    let flame = "[rank0]:2025-06-01 10:00:00,000 - root - INFO - step:    1,200 token:   78,643,200  loss:  3.2100  lr: 3.0000e-04 gnorm:  0.31 memory: 61.25GiB tgs:  40,960 mfu: 45.10% [ 0:10:00< 1:20:00]";
    let (step, peaks) = figures(&reading(flame));
    assert!(near(step.unwrap(), TOKENS / 64.0 / 40_960.0));
    assert_eq!(peaks[1], Some(61.25));
}

/// transformers: the bar's steps, the batch of a device and the steps that are added up give the ranks.
#[test]
fn the_batches_of_a_trainer_are_its_ranks() {
    let log = "***** Running training *****\n  Num examples = 52,002\n  Num Epochs = 3\n  Instantaneous batch size per device = 2\n\
        \u{20}\u{20}Total train batch size (w. parallel, distributed & accumulation) = 64\n  Gradient Accumulation steps = 4\n  Total optimization steps = 2,436\n\
        \u{20}\u{20}0%|          | 9/2436 [01:00<4:00:00,  5.95s/it]\r\n  0%|          | 10/2436 [01:06<4:00:00,  5.95s/it]\r\n";
    let present = Run { tp: 1, pp: 1, ..Run::default() };
    let read = read(log, &present).unwrap();
    assert_eq!((read.run.gpus, read.run.micro_batch, read.run.global_batch), (8, 2, 64));
    assert!(near(read.step.unwrap().seconds, 5.95));
}

/// `all_results.json` of transformers, the summary of wandb, `dllogger.json` of `NeMo`.
#[test]
fn summaries_in_files_of_their_own_are_read() {
    let seconds = |log: &str| reading(log).step.unwrap().seconds;
    let results = "{\n    \"epoch\": 3.0,\n    \"total_flos\": 1.0e18,\n    \"train_loss\": 0.72,\n    \"train_runtime\": 2219.0,\n    \"train_samples_per_second\": 16.0,\n    \"train_steps_per_second\": 0.25\n}\n";
    assert!(near(seconds(results), 4.0));
    let wandb = "wandb: Run history:\nwandb:     train_step_timing in s ▂▄▂▅█▄▂▃▆▅▁▁▆\nwandb: Run summary:\nwandb:     train_step_timing in s 12.25\n";
    assert!(near(seconds(wandb), 12.25));
    let dllogger = "DLLL {\"timestamp\": \"1739210331.717398\", \"type\": \"LOG\", \"step\": 16, \"data\": {\"reduced_train_loss\": 10.9, \"global_step\": 16.0, \"consumed_samples\": 34272.0, \"train_step_timing in s\": 92.28738164901733, \"epoch\": 0}}\n";
    assert!(near(seconds(dllogger), 92.287_381_649));
    let nemo = "Epoch 0: :  12%|█▏        | 12/100 [10:48<1:20:00, reduced_train_loss=0.0172, global_step=11.00, consumed_samples=3072.0, train_step_timing in s=3.130]\n";
    let read = reading(nemo);
    assert!(near(read.step.unwrap().seconds, 3.13));
}

/// DeepSpeed since 0.14: other names of the timers; those of a micro-step are parts of them.
#[test]
fn newer_timers_of_deepspeed_are_shares() {
    let log = "[2024-04-04 09:09:53,313] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd_microstep: 6567.67 | bwd_microstep: 17950.36 | bwd_inner_microstep: 17711.20 | bwd_allreduce_microstep: 239.11 | step_microstep: 1139.27\n\
        [2024-04-04 09:09:53,313] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 6567.66 | bwd: 17950.35 | bwd_inner: 17711.19 | bwd_allreduce: 239.11 | step: 1139.29\n";
    let shown: Vec<String> = reading(log).measured.iter().map(|(what, how)| format!("{what}: {how}")).collect();
    // 17,711 of 6568 + 17,711 + 239 + 1139.
    assert!(shown.iter().any(|one| one.starts_with("backward pass") && one.contains("69 %")), "{shown:?}");
    assert_eq!(shown.len(), 4);
}

/// PyTorch until 2.0 says the sizes in brackets.
#[test]
fn the_older_refusal_of_memory_is_read() {
    let read = reading(
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.35 GiB total capacity; 76.10 GiB already allocated; 1.35 GiB free; 77.10 GiB reserved in total by PyTorch)",
    );
    assert!(read.observation("").is_none());
    assert!(read.notes.iter().any(|note| note.to_string().contains("at least 80")), "{:?}", read.notes);
}

/// The configuration that `NeMo`, Megatron-Bridge and llm-foundry print as YAML before they begin.
#[test]
fn sizes_in_a_printed_configuration_are_the_runs() {
    let log = "model:\n  tensor_model_parallel_size: 4\n  pipeline_model_parallel_size: 2\n  seq_length: 4096\ntrain:\n  global_batch_size: 128\n  micro_batch_size: 2\ntrainer:\n  num_nodes: 4\n  devices: 8\n\
        Step Time : 5.39s GPU utilization: 2347.0MODEL_TFLOP/s/GPU\n";
    let read = reading(log);
    let run = &read.run;
    assert_eq!((run.tp, run.pp, run.gpus, run.seq_len, run.global_batch, run.micro_batch), (4, 2, 32, 4096, 128, 2));
    assert!(near(read.step.unwrap().seconds, 5.39));
}

/// nvidia-smi beside a training, every second: the log is the training's.
#[test]
fn a_log_with_more_lines_of_nvidia_smi_is_the_trainings() {
    let mut log = String::new();
    for number in 1..6 {
        log += &(iteration(number, 64 * number, 2000.0) + "\n");
        for gpu in 0..8 {
            log += &format!("{gpu}, 71680 MiB, 81559 MiB\n");
        }
    }
    let read = reading(&log);
    assert!(read.program.to_string().contains("Megatron-LM"));
    assert_eq!(figures(&read), (Some(2.0), [None, None, Some(70.0)]));
}

/// Megatron-LM of 2025: Python's objects as values, the vocabulary behind the arguments.
#[test]
fn objects_and_the_vocabulary_of_a_dump_are_read() {
    let mut log = String::new();
    for (name, value) in [
        ("add_bias_linear", "True"),
        ("add_qkv_bias", "True"),
        ("attention_backend", "AttnBackend.fused"),
        ("bf16", "True"),
        ("cp_comm_type", "['p2p']"),
        ("data_parallel_sharding_strategy", "no_shard"),
        ("exp_avg_dtype", "torch.bfloat16"),
        ("exp_avg_sq_dtype", "torch.bfloat16"),
        ("ffn_hidden_size", "3072"),
        ("fp8", "None"),
        ("fp8_recipe", "delayed"),
        ("global_batch_size", "16"),
        ("group_query_attention", "False"),
        ("hidden_size", "768"),
        ("kv_lora_rank", "32"),
        ("main_grads_dtype", "torch.float32"),
        ("main_params_dtype", "torch.float32"),
        ("max_position_embeddings", "512"),
        ("micro_batch_size", "1"),
        ("moe_router_topk", "2"),
        ("multi_latent_attention", "False"),
        ("num_attention_heads", "12"),
        ("num_experts", "None"),
        ("num_layers", "12"),
        ("num_query_groups", "1"),
        ("position_embedding_type", "learned_absolute"),
        ("profile_ranks", "[0]"),
        ("seq_length", "512"),
        ("tensor_model_parallel_size", "1"),
        ("tp_comm_overlap", "False"),
        ("transformer_impl", "transformer_engine"),
        ("use_distributed_optimizer", "True"),
        ("use_precision_aware_optimizer", "True"),
        ("vocab_size", "None"),
        ("world_size", "4"),
    ] {
        log += &format!("  {name} {} {value}\n", ".".repeat(47 - name.len()));
    }
    log += " > padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)\n";
    log += &iteration(10, 160, 400.0);
    let read = reading(&log);
    let model = read.run.model.resolve().unwrap();
    assert_eq!((model.vocab, model.layers, model.heads), (50_304, 12, 12));
    assert_eq!(read.run.gpus, 4);
    let precision = read.run.precision.resolve().unwrap();
    assert_eq!((precision.moment1, precision.moment2), (2.0, 2.0));
    assert_eq!(read.run.attention_kernel(), AttentionKernel::Cudnn);
}

/// nanotron prints three digits and no length: 852,000 tokens a second of 1.23 s are 1024 sequences of 1024 tokens.
#[test]
fn rounded_counts_of_nanotron_are_whole_ones() {
    let log = "[default0]:07/03/2024 23:22:15 [INFO|DP=0|PP=0|TP=0|ip-26-0-161-142]: iteration: 9 / 20 | consumed_tokens: 9.44M | elapsed_time_per_iteration_ms: 1.23K | tokens_per_sec: 852K | tokens_per_sec_per_gpu: 13.3K | global_batch_size: 1.02K | lm_loss: 9.5 | lr: 9.53e-05 | model_tflops_per_gpu: 121 | grad_norm: 18.3 |";
    let read = reading(log);
    assert_eq!((read.run.global_batch, read.run.seq_len), (1024, 1024));
    assert!(near(read.step.unwrap().seconds, 1.23));
    assert!(read.notes.is_empty(), "{:?}", read.notes);
}

/// transformers under tqdm: its own summary names the program, its bar tells the step.
#[test]
fn a_trainer_with_a_bar_is_a_trainer() {
    let log = "{'eval_loss': 1.1, 'eval_runtime': 12.3, 'eval_steps_per_second': 10.0, 'epoch': 1.0}\n\
        {'train_runtime': 812.3, 'train_samples_per_second': 64.0, 'train_steps_per_second': 0.4, 'train_loss': 1.0, 'epoch': 1.0}\n\
        100%|██████████| 400/400 [13:32<00:00,  2.03s/it]\n";
    let read = reading(log);
    assert!(read.program.to_string().contains("Hugging Face"));
    assert!(near(read.step.unwrap().seconds, 2.03));
}
