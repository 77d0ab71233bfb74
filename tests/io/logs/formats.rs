//! Lines of each program as its own code prints them, beside those of the collected examples: their units, the settings
//! that they state, and what stands between them in a real log.

use super::{figures, near, reading, refusal};
use shardscope::core::run::{Multiplier, Run};
use shardscope::io::logs::read;

/// `NeMo` 2.0, `nemo/lightning/megatron_parallel.py`: the progress printer.
#[test]
fn nemo_prints_its_batch_and_its_step_time() {
    let line = |step: u64, seconds: f64| {
        format!(
            "Training epoch 0, iteration {step}/99 | lr: 4.498e-06 | global_batch_size: 512 | global_step: {step} | max_memory_reserved: 55234789376 | max_memory_allocated: 51234789376 | reduced_train_loss: 11.03 | train_step_timing in s: {seconds} | consumed_samples: {}\n",
            (step + 1) * 512
        )
    };
    let log: String =
        [(0, 61.2), (1, 9.9), (2, 7.25), (3, 7.26), (4, 7.24)].map(|(step, seconds)| line(step, seconds)).concat();
    let read = reading(&log);
    assert!(near(read.step.unwrap().seconds, 7.25));
    assert_eq!(read.run.global_batch, 512);
    assert!(read.program.to_string().contains("NeMo"));
}

/// Megatron-LM, `initialize.py`: degrees are stated before the arguments, and without them.
#[test]
fn the_degrees_that_megatron_prints_first_are_taken() {
    let log = "using world size: 32, data-parallel size: 4, context-parallel size: 1, hierarchical context-parallel sizes: None, tensor-model-parallel size: 4, pipeline-model-parallel size: 2\n\
        15:  [2026-05-06 10:00:00.000000] iteration       12/     100 | consumed samples:         1536 | elapsed time per iteration (ms): 4321.0 | throughput per GPU (TFLOP/s/GPU): 400.0 | learning rate: 1.0E-05 | global batch size:   128 | lm loss: 9.0E+00 | loss scale: 1.0 | grad norm: 3.0 | num zeros: 0 | number of skipped iterations:   0 | number of nan iterations:   0 |\n";
    let read = reading(log);
    let run = &read.run;
    assert_eq!((run.gpus, run.tp, run.pp, run.global_batch), (32, 4, 2, 128));
    assert!(near(read.step.unwrap().seconds, 4.321));
}

/// torchtitan: the mesh states every degree, and with that the GPUs; of two ranks the slower one counts.
#[test]
fn the_mesh_of_torchtitan_is_the_number_of_gpus() {
    let log = "[rank0]:[titan] 2026-01-05 10:00:01,000 - root - INFO - Building device mesh with parallelism: pp=1, dp_replicate=2, dp_shard=8, cp=1, tp=8, ep=1, etp=1\n\
        [rank0]:[titan] 2026-01-05 10:00:05,000 - root - INFO - Trainer is initialized with local batch size 1, global batch size 32, gradient accumulation steps 2, sequence length 8192, total steps 100 (warmup 20)\n\
        [rank0]:[titan] 2026-01-05 10:01:00,000 - root - INFO - step:  7  loss:  7.1  grad_norm:  1.5  memory: 40.02GiB(50.59%)  tps: 1,024  tflops: 160.10  mfu: 16.2%\n\
        [rank1]:[titan] 2026-01-05 10:01:00,000 - root - INFO - step:  7  loss:  -1.0  grad_norm:  1.5  memory: 41.02GiB(51.85%)  tps: 1,000  tflops: 160.10  mfu: 16.2%\n";
    let read = reading(log);
    assert_eq!((read.run.gpus, read.run.tp, read.run.global_batch), (128, 8, 32));
    let (step, peaks) = figures(&read);
    assert!(near(step.unwrap(), 32.0 * 8192.0 / 128.0 / 1000.0));
    assert_eq!(peaks[1], Some(41.02));
}

/// transformers, `trainer.py`, under tqdm: a checkpoint is loaded and texts are tokenised under bars of their own.
#[test]
fn the_bar_that_takes_longest_is_the_training() {
    let log = "Loading checkpoint shards: 100%|██████████| 4/4 [00:41<00:00, 10.25s/it]\n\
        Tokenizing: 100%|██████████| 20000/20000 [00:09<00:00, 2100.50it/s]\n\
        ***** Running training *****\n  Num examples = 20,000\n  Instantaneous batch size per device = 4\n\
        \u{20}\u{20}Total train batch size (w. parallel, distributed & accumulation) = 128\n  Gradient Accumulation steps = 4\n\
        \u{20}\u{20}1%|          | 1/600 [00:31<5:10:00, 31.05s/it]\r  1%|          | 2/600 [00:50<4:50:00, 22.02s/it]\r  1%|          | 3/600 [01:03<3:20:00, 13.40s/it]\r  1%|          | 4/600 [01:16<3:19:00, 13.42s/it]\r  1%|          | 5/600 [01:30<3:19:00, 13.38s/it]{'loss': 1.51, 'grad_norm': 2.1, 'learning_rate': 2e-05, 'epoch': 0.02}\n\
        100%|██████████| 50/50 [00:20<00:00,  2.50it/s]\n";
    let read = reading(log);
    assert!(near(read.step.unwrap().seconds, 13.40), "{:?}", read.step);
    assert_eq!((read.run.micro_batch, read.run.global_batch), (4, 128));
}

/// Accelerate's and PEFT's examples print the host's peak as well.
#[test]
fn the_peak_of_the_host_is_not_that_of_a_gpu() {
    let log = "Memory before entering the train : 1\nMemory consumed at the end of the train (end-begin): 2\nPeak Memory consumed during the train (max-begin): 3\n\
        Total Peak Memory consumed during the train (max): 30720\nCPU Memory before entering the train : 900\nCPU Total Peak Memory consumed during the train (max): 90000\n";
    assert_eq!(figures(&reading(log)).1, [Some(30.0), None, None]);
}

/// `MaxText` prints its configuration and the devices.
#[test]
fn maxtext_states_batch_and_sequence() {
    let log = "Config param global_batch_size_to_train_on: 48\nConfig param max_target_length: 4096\nNum_devices: 16, shape (1, 16, 1, 1)\n\
        completed step: 5, seconds: 3.250, TFLOP/s/device: 300.1, Tokens/s/device: 3780.923, total_weights: 196608, loss: 9.1\n";
    let read = reading(log);
    let run = &read.run;
    assert_eq!((run.global_batch, run.seq_len, run.gpus), (48, 4096, 16));
    assert!(near(read.step.unwrap().seconds, 3.25));
    assert!(read.notes.is_empty(), "{:?}", read.notes);
}

/// Composer's console logger: several figures of a batch, a line each; GB of 10⁹ bytes.
#[test]
fn a_batch_of_composer_is_several_lines() {
    let batch = |number: u64, rate: f64| {
        format!(
            "[epoch=1][batch={number}/2000]:\n\t Train time/batch: {number}\n\t Train memory/peak_allocated_mem: 40.5000\n\t Train memory/peak_reserved_mem: 44.1000\n\t Train trainer/device_train_microbatch_size: 8\n\t Train throughput/tokens_per_sec: {rate}\n\t Train throughput/device/tokens_per_sec: {}\n\t Train loss/train/total: 2.5\n",
            rate / 64.0
        )
    };
    let log: String = [(10, 3e5), (11, 9e5), (12, 9.01e5), (13, 8.99e5), (14, 9e5)]
        .map(|(number, rate)| batch(number, rate))
        .concat();
    let read = reading(&log);
    let (step, peaks) = figures(&read);
    assert!(near(step.unwrap(), 256.0 * 8192.0 / 9e5));
    let gb = 1e9 / f64::from(1u32 << 30);
    assert!(near(peaks[0].unwrap(), 40.5 * gb) && near(peaks[1].unwrap(), 44.1 * gb));
    assert_eq!(read.run.micro_batch, 8);
}

/// nvidia-smi's table, and its query as CSV: the largest of all GPUs.
#[test]
fn a_query_of_nvidia_smi_is_read_in_any_order() {
    for (head, rows) in [
        ("memory.used [MiB], memory.total [MiB]", ["61440 MiB, 81559 MiB", "66560 MiB, 81559 MiB"]),
        ("index, memory.total [MiB], memory.used [MiB]", ["0, 81559 MiB, 61440 MiB", "1, 81559 MiB, 66560 MiB"]),
    ] {
        let log = format!("{head}\n{}\n", rows.join("\n"));
        assert_eq!(figures(&reading(&log)).1, [None, None, Some(65.0)], "{log}");
    }
}

/// `PyTorch`'s table in bytes of 2³⁰, and nanotron's in MiB.
#[test]
fn tables_of_memory_are_read_by_their_unit() {
    let table = "|===========================================================================|\n\
        | Allocated memory      |  20480 MiB |     60 GiB |   1024 TiB |   1023 TiB |\n\
        | GPU reserved memory   |  66560 MiB |  66560 MiB |  66560 MiB |      0 B   |\n";
    assert_eq!(figures(&reading(table)).1, [Some(60.0), Some(65.0), None]);
    let nanotron = "05/01/2026 10:00:00 [INFO|DP=0|PP=0|TP=0|ip-1]:  Memory usage: 20480.50MiB. Peak allocated 40960.00MiB. Peak reserved: 43008.00MiB\n\
        05/01/2026 10:00:01 [INFO|DP=0|PP=0|TP=0|ip-1]: iteration: 9 / 100 | consumed_tokens: 18.9M | time_per_iteration_ms: 5.25K | tokens_per_sec: 399K | tokens_per_sec_per_gpu: 6.24K | global_batch_size: 2.1M | lm_loss: 9.5\n";
    let read = reading(nanotron);
    assert_eq!(figures(&read).1, [Some(40.0), Some(42.0), None]);
    assert!(near(read.step.unwrap().seconds, 5.25));
}

/// `sendrecv` rows of nccl-tests have no reduction; without the list of ranks one node is assumed, and said.
#[test]
fn rows_of_nccl_tests_without_a_header_are_of_one_node() {
    let mut log = String::new();
    for size in [33_554_432.0, 134_217_728.0, 536_870_912.0, 1_073_741_824.0_f64] {
        let seconds = 40e-6 + size * 0.875 / 300e9;
        let (algorithm, bus) = (size / seconds / 1e9, size * 0.875 / seconds / 1e9);
        log += &format!(
            "  {size:.0}  {:.0}  bfloat16  none  -1  {:.2}  {algorithm:.2}  {bus:.2}  N/A  {:.2}  {algorithm:.2}  {bus:.2}  N/A\n",
            size / 2.0,
            seconds * 1e6,
            seconds * 1e6
        );
    }
    let read = reading(&log);
    let (kind, ratio) = read.ratios[0];
    assert_eq!(kind, Multiplier::NodeLinks);
    assert!((ratio / (450.0 * 0.78 / 300.0) - 1.0).abs() < 0.02, "{ratio}");
    assert!(read.assumed.iter().any(|one| one.to_string().contains("one node")));
}

/// MAMF-finder's last block: the mean at the best shape, not its luckiest burst.
#[test]
fn the_mean_of_mamf_finder_counts() {
    let log = "Tried 1369 shapes => the best outcomes were:\nmean:   701.5 TFLOPS @ 4096x4096x8192 (MxNxK)\nmedian: 703.1 TFLOPS @ 4096x4096x8192 (MxNxK)\nmax:    760.2 TFLOPS @ 8192x4096x4096 (MxNxK)\n";
    let [first, second] =
        [log, "mean:   760.2 TFLOPS @ 4096x4096x8192 (MxNxK)\n"].map(|text| reading(text).ratios[0].1);
    assert!((first / second - 760.2 / 701.5).abs() < 1e-9);
}

/// The software is that of an argument that only some releases have (Megatron-LM's `arguments.py` has
/// `--attention-backend` since December 2024), unless someone chose one; where none tells it, the page's: the figures
/// beside the log are those of Run. Both are said.
#[test]
fn software_follows_the_arguments_and_gpu_and_links_are_said_to_be_the_pages() {
    let log = "  tensor_model_parallel_size ...................... 1\n  world_size ...................................... 8\n  seq_length ...................................... 4096\n  micro_batch_size ................................ 1\n  global_batch_size ............................... 32\n";
    let newer = format!("{log}  attention_backend ............................... AttnBackend.flash\n");
    let software = |log: &str, present: &Run| read(log, present).unwrap();
    for (log, stack, words) in [
        (log, Run::default().stack.base, "software, as on this page: Megatron-LM 2024"),
        (&newer, Some("megatron-2025"), "NeMo 2, Megatron-LM 2025"),
    ] {
        let found = software(log, &Run::default());
        assert_eq!(found.run.stack.base, stack);
        let says = |words: &str| found.assumed.iter().any(|one| one.to_string().contains(words));
        assert!(says(words) && says("GPU and links, as on this page"), "{:?}", found.assumed);
    }
    let mut chosen = Run::default();
    chosen.stack.base = Some("megatron-2021");
    assert_eq!(software(&newer, &chosen).run.stack.base, Some("megatron-2021"));
}

/// A file that is no log gets a message that says what to do with it.
#[test]
fn archives_and_other_encodings_are_named() {
    assert!(refusal(b"PK\x03\x04 train.log").contains("unpack"));
    assert!(refusal(b"PK\x03\x04 snapshot/data.pkl").contains("json.dump"));
    assert!(refusal(&[0x28, 0xb5, 0x2f, 0xfd, 4]).contains("unpack"));
    assert!(refusal(b"\xff\xfei\0t\0e\0r\0").contains("UTF-8"));
}
