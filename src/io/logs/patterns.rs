//! The lines that are known, as data: words that must be in a line, and the numbers behind some of them.
//!
//! Source of each format: the program's own code, at the places that `reference` names in the comments.

use shardscope_core::statics::named;

use LoggedQuantity::{
    Allocated, Consumed, CurrentSamplesPerSecond, Device, DeviceMemory, GlobalBatch, InUse, Iteration, LabelledPerGpu,
    MeanStepsPerSecond, OfAllPhases, Reserved, Round, SamplesPerSecond, Seconds, Setting, StepTokens, StepsPerSecond,
    Theory, Timer, TokensPerGpu, TokensPerSecond,
};

named! {
    /// A program that writes logs.
    #[derive(PartialOrd, Ord)]
    #[allow(missing_docs)] // their names say what they are
    pub(crate) enum LogProgram: name {
        MegatronLm = "Megatron-LM",
        MegatronBridge = "NeMo, Megatron-Bridge",
        MegatronDeepSpeed = "Megatron-DeepSpeed",
        AutoModel = "NeMo AutoModel",
        Torchtitan = "torchtitan",
        DeepSpeed = "DeepSpeed",
        HfTrainer = "Hugging Face Trainer",
        Accelerate = "Accelerate",
        ProgressBar = "tqdm",
        Nanotron = "nanotron",
        MaxText = "MaxText",
        Composer = "Composer, llm-foundry",
        Torchtune = "torchtune",
        MsSwift = "ms-swift",
        MegatronSwift = "ms-swift on Megatron-LM",
        Axolotl = "axolotl",
        LlamaFactory = "LLaMA-Factory",
        OlmoCore = "OLMo-core",
        Nanochat = "nanochat",
        Verl = "verl",
        Slime = "slime",
        PyTorch = "torch.cuda.memory_summary",
        NvidiaSmi = "nvidia-smi",
        NcclTests = "nccl-tests",
        Mamf = "MAMF-finder",
    }
}

impl LogProgram {
    /// True if it trains: what measures a device, a link or a loop beside it does not.
    pub(crate) fn trains(self) -> bool {
        !matches!(self, Self::ProgressBar | Self::PyTorch | Self::NvidiaSmi | Self::NcclTests | Self::Mamf)
    }

    /// True if it tells the step in a line of its own, above those of its figures.
    pub(crate) fn numbers_above(self) -> bool {
        matches!(self, Self::Composer | Self::OlmoCore)
    }
}

/// Meaning of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedQuantity {
    Iteration,
    Seconds,
    /// Sequences a step, printed in the line itself.
    GlobalBatch,
    /// Sequences of all steps so far.
    Consumed,
    /// Tokens a second and GPU.
    TokensPerGpu,
    /// Tokens a second over all GPUs.
    TokensPerSecond,
    /// Tokens a second and GPU that have a label; of a step the log does not say how many have one.
    LabelledPerGpu,
    /// Tokens of a step, over all GPUs.
    StepTokens,
    /// Sequences a second over all GPUs, mean since the start.
    SamplesPerSecond,
    /// Sequences a second over all GPUs, of this step.
    CurrentSamplesPerSecond,
    StepsPerSecond,
    /// Steps a second, mean since the start: first steps, evaluation and saving are in it.
    MeanStepsPerSecond,
    /// Seconds of a step of the optimizer in the training of a round.
    Update,
    /// Seconds of a round of reinforcement learning: generation, scores, updates.
    Round,
    /// Steps of a progress bar so far.
    Iterations,
    /// Peak of what PyTorch gave to tensors.
    Allocated,
    /// Peak of what its allocator held.
    Reserved,
    /// Memory as the driver shows it.
    Device,
    DeviceMemory,
    /// Memory in use now, no peak.
    InUse,
    /// Peak of a process over all phases of reinforcement learning; true: what its allocator held.
    OfAllPhases(bool),
    /// A program's own estimate, no measurement.
    Theory,
    /// Seconds of a part of the step, by a timer of this name.
    Timer(&'static str),
    /// A field of the Run, by its key.
    Setting(&'static str),
}

impl LoggedQuantity {
    /// True if a step follows from it.
    pub fn is_step(self) -> bool {
        matches!(
            self,
            Self::Seconds
                | Self::TokensPerGpu
                | Self::TokensPerSecond
                | Self::SamplesPerSecond
                | Self::CurrentSamplesPerSecond
                | Self::StepsPerSecond
                | Self::MeanStepsPerSecond
                | Self::Iterations
        )
    }

    /// True if it is a rate: of several ranks' the smallest is the slowest.
    pub fn is_rate(self) -> bool {
        self.is_step() && !matches!(self, Self::Seconds | Self::Iterations)
    }
}

pub(crate) struct LinePattern {
    pub program: LogProgram,
    /// Words that are in it, in this order.
    pub words: &'static [&'static str],
    /// Words before a number, what the number means, and what it is multiplied by to be seconds, GiB or a count.
    pub numbers: &'static [(&'static str, LoggedQuantity, f64)],
}

/// Data parallelism of a mesh, which is no field of a Run: times the other degrees it is the GPUs.
pub(crate) const REPLICAS: &str = "dp_replicate";
/// Data parallelism of ranks that share their states.
pub(crate) const SHARDS: &str = "dp_shard";
/// Sequences that a data-parallel rank takes at once, before a pipeline divides them.
pub(crate) const LOCAL_BATCH: &str = "local batch";
/// Steps whose gradients a data-parallel rank adds up.
pub(crate) const ACCUMULATION: &str = "accumulation";
/// Tokens of a micro-batch of a rank, of a micro-batch of all ranks, of a step.
pub(crate) const TOKENS: [&str; 3] = ["tokens of a rank", "tokens of all ranks", "tokens of a step"];
/// Nodes, and GPUs of each.
pub(crate) const NODES: [&str; 2] = ["nodes", "GPUs per node"];

/// Settings that programs print on lines of their own, as YAML or JSON, and the field of the Run.
pub(crate) const STATED: [(&str, &str); 13] = [
    ("tensor_model_parallel_size", "tp"),
    ("pipeline_model_parallel_size", "pp"),
    ("context_parallel_size", "cp"),
    ("expert_model_parallel_size", "ep"),
    ("expert_tensor_parallel_size", "etp"),
    ("micro_batch_size", "micro_batch"),
    ("global_batch_size", "global_batch"),
    ("global_train_batch_size", "global_batch"),
    ("seq_length", "seq_len"),
    ("encoder_seq_length", "seq_len"),
    ("max_seq_len", "seq_len"),
    ("num_nodes", NODES[0]),
    ("devices", NODES[1]),
];
/// 2²⁰ bytes in GiB.
const MIB: f64 = 1.0 / 1024.0;
/// 10⁹ bytes in GiB.
const GB: f64 = 1e9 / (1u64 << 30) as f64;
/// A byte in GiB.
const BYTE: f64 = 1.0 / (1u64 << 30) as f64;

const fn row(
    program: LogProgram,
    words: &'static [&'static str],
    numbers: &'static [(&'static str, LoggedQuantity, f64)],
) -> LinePattern {
    LinePattern { program, words, numbers }
}

use LogProgram::{
    Accelerate, AutoModel, Axolotl, Composer, DeepSpeed, HfTrainer, LlamaFactory, MaxText, MegatronBridge,
    MegatronDeepSpeed, MegatronLm, MegatronSwift, MsSwift, Nanochat, Nanotron, NvidiaSmi, OlmoCore, ProgressBar,
    PyTorch, Slime, Torchtitan, Torchtune, Verl,
};

/// Every line that is known; the first that matches is taken.
pub(crate) static PATTERNS: &[LinePattern] = &[
    // Megatron-DeepSpeed, before Megatron-LM whose words it has: samples/sec of all GPUs.
    row(
        MegatronDeepSpeed,
        &["samples/sec:", "elapsed time per iteration (ms):", "approx flops per GPU"],
        &[
            ("iteration", Iteration, 1.0),
            ("elapsed time per iteration (ms):", Seconds, 1e-3),
            ("samples/sec:", CurrentSamplesPerSecond, 1.0),
        ],
    ),
    // ms-swift swift/megatron/init.py of 2025 (710553d8, line 245): Megatron-LM's line with the last rank's peak of
    // reserved memory since the start; as a line of logging.jsonl (line 305) seconds, without rounding to ms.
    row(
        MegatronSwift,
        &["iteration", "elapsed time per iteration (ms):", "memory(GiB):"],
        &[
            ("iteration", Iteration, 1.0),
            ("consumed samples:", Consumed, 1.0),
            ("elapsed time per iteration (ms):", Seconds, 1e-3),
            ("memory(GiB):", Reserved, 1.0),
            ("global batch size:", GlobalBatch, 1.0),
        ],
    ),
    row(
        MegatronSwift,
        &["elapsed_time_per_iteration", "memory(GiB)", "global_step/max_steps"],
        &[
            ("global_step/max_steps", Iteration, 1.0),
            ("consumed_samples", Consumed, 1.0),
            ("elapsed_time_per_iteration", Seconds, 1.0),
            ("memory(GiB)", Reserved, 1.0),
        ],
    ),
    // Megatron-LM training.py: ms an iteration, mean of the log interval.
    // Behind a rate or a time is its mean over the run in Primus, AMD's Megatron-LM: "2701.3/2712.7"; its memory in
    // 2^30 bytes.
    row(
        MegatronLm,
        &["iteration", "elapsed time per iteration (ms):"],
        &[
            ("iteration", Iteration, 1.0),
            (
                "consumed \
        samples:",
                Consumed,
                1.0,
            ),
            ("elapsed time per iteration (ms):", Seconds, 1e-3),
            ("global batch size:", GlobalBatch, 1.0),
            ("tokens per GPU (tokens/s/GPU):", TokensPerGpu, 1.0),
            ("tokens/s/GPU inst/harmonic mean:", TokensPerGpu, 1.0),
            ("usage/free/total/usage_ratio:", Device, 1.0),
        ],
    ),
    // BigScience's Megatron-DeepSpeed: seconds.
    row(
        MegatronLm,
        &["iteration", "elapsed time per iteration (s):"],
        &[
            ("iteration", Iteration, 1.0),
            (
                "consumed \
        samples:",
                Consumed,
                1.0,
            ),
            ("elapsed time per iteration (s):", Seconds, 1.0),
            ("global batch size:", GlobalBatch, 1.0),
        ],
    ),
    // Megatron-LM common_utils.py: "MB" of 2^20 bytes, a line a model-parallel rank, after iterations 1 and 2.
    row(
        MegatronLm,
        &["[Rank", "iterations) memory (MB)", "max allocated:"],
        &[
            ("(after", Iteration, 1.0),
            ("max allocated:", Allocated, MIB),
            ("max reserved:", Reserved, MIB),
            ("total device memory used:", Device, MIB),
        ],
    ),
    // Megatron-LM initialize.py, before its arguments.
    row(
        MegatronLm,
        &["using world size:", "tensor-model-parallel size:"],
        &[
            ("world size:", Setting("gpus"), 1.0),
            ("tensor-model-parallel size:", Setting("tp"), 1.0),
            ("pipeline-model-parallel size:", Setting("pp"), 1.0),
            ("context-parallel size:", Setting("cp"), 1.0),
        ],
    ),
    row(MegatronLm, &["Theoretical memory footprints:"], &[("total=", Theory, MIB)]),
    // Megatron-Bridge train_utils.py: memory in 1e9 bytes.
    row(MegatronBridge, &["Step Time :", "GPU utilization:"], &[("Step Time :", Seconds, 1.0)]),
    row(
        MegatronBridge,
        &["[Rank", "iterations) memory (GB)"],
        &[
            ("(after", Iteration, 1.0),
            ("mem-max-allocated-gigabytes:", Allocated, GB),
            ("mem-max-reserved-gigabytes:", Reserved, GB),
        ],
    ),
    row(
        MegatronBridge,
        &["train_step_timing in s"],
        &[
            ("global_step", Iteration, 1.0),
            ("consumed_samples", Consumed, 1.0),
            ("train_step_timing in s", Seconds, 1.0),
            ("global_batch_size:", GlobalBatch, 1.0),
        ],
    ),
    // NeMo AutoModel train_ft.py: "tps 6924.50(865.56/gpu)", "tps 210.68/gpu" or "tps 6924.50".
    row(
        AutoModel,
        &["step", "| loss", "GiB", "| tps", "/gpu)"],
        &[("step", Iteration, 1.0), ("mem", Allocated, 1.0), ("tps", TokensPerSecond, 1.0)],
    ),
    row(
        AutoModel,
        &["step", "| loss", "GiB", "| tps", "/gpu"],
        &[
            ("step", Iteration, 1.0),
            ("mem", Allocated, 1.0),
            ("tps", TokensPerGpu, 1.0),
            ("tps/gpu", TokensPerGpu, 1.0),
        ],
    ),
    row(
        AutoModel,
        &["step", "| loss", "GiB", "| tps"],
        &[("step", Iteration, 1.0), ("mem", Allocated, 1.0), ("tps", TokensPerSecond, 1.0)],
    ),
    // torchtitan metrics.py: max reserved, tokens a second over all GPUs divided by their number (wps until 2025, tgs
    // in flame); a validation has a line like that of a step.
    row(Torchtitan, &["validate step:"], &[]),
    row(Torchtitan, &["evaluation:", "step:"], &[]),
    row(Torchtitan, &["valid", "step:", "loss:", "memory:"], &[]),
    row(
        Torchtitan,
        &["step:", "loss:", "memory:", "GiB", "tps:"],
        &[("step:", Iteration, 1.0), ("memory:", Reserved, 1.0), ("tps:", TokensPerGpu, 1.0)],
    ),
    row(
        Torchtitan,
        &["step:", "loss:", "memory:", "GiB", "wps:"],
        &[("step:", Iteration, 1.0), ("memory:", Reserved, 1.0), ("wps:", TokensPerGpu, 1.0)],
    ),
    row(
        Torchtitan,
        &["step:", "loss:", "memory:", "GiB", "tgs:"],
        &[("step:", Iteration, 1.0), ("memory:", Reserved, 1.0), ("tgs:", TokensPerGpu, 1.0)],
    ),
    row(Torchtitan, &["CUDA capacity:", "GiB memory"], &[("with", DeviceMemory, 1.0)]),
    row(
        Torchtitan,
        &["rainer is initialized with", "local batch size", "global batch size"],
        &[
            ("local batch size", Setting(LOCAL_BATCH), 1.0),
            ("global batch size", Setting("global_batch"), 1.0),
            ("sequence length", Setting("seq_len"), 1.0),
        ],
    ),
    row(
        Torchtitan,
        &["raining starts at step", "local batch size", "global batch size"],
        &[
            ("local batch size", Setting(LOCAL_BATCH), 1.0),
            ("global batch size", Setting("global_batch"), 1.0),
            ("sequence length", Setting("seq_len"), 1.0),
        ],
    ),
    row(
        Torchtitan,
        &["Building device mesh with parallelism:"],
        &[
            ("pp=", Setting("pp"), 1.0),
            ("tp=", Setting("tp"), 1.0),
            ("cp=", Setting("cp"), 1.0),
            ("ep=", Setting("ep"), 1.0),
            ("dp_replicate=", Setting(REPLICAS), 1.0),
            ("dp_shard=", Setting(SHARDS), 1.0),
        ],
    ),
    row(Torchtitan, &["Building", "-D device mesh with ["], &[]),
    // DeepSpeed timer.py: "GB" of 2^30 bytes.
    row(
        DeepSpeed,
        &["RunningAvgSamplesPerSec=", "MaxMemAllocated="],
        &[
            ("global_step=", Iteration, 1.0),
            ("CurrSamplesPerSec=", CurrentSamplesPerSecond, 1.0),
            ("MaxMemAllocated=", Allocated, 1.0),
        ],
    ),
    row(
        DeepSpeed,
        &["SamplesPerSec=", "MaxMemAllocated="],
        &[("SamplesPerSec=", SamplesPerSecond, 1.0), ("MaxMemAllocated=", Allocated, 1.0)],
    ),
    row(
        DeepSpeed,
        &["time (ms) |", "forward:", "backward:"],
        &[
            ("forward:", Timer("forward pass"), 1e-3),
            ("backward_inner:", Timer("backward pass"), 1e-3),
            ("backward_allreduce:", Timer("gradients between ranks"), 1e-3),
            ("| step:", Timer("optimizer"), 1e-3),
        ],
    ),
    row(
        DeepSpeed,
        &["time (ms)", "| fwd:", "| bwd:"],
        &[
            ("| fwd:", Timer("forward pass"), 1e-3),
            ("| bwd_inner:", Timer("backward pass"), 1e-3),
            ("| bwd_allreduce:", Timer("gradients between ranks"), 1e-3),
            ("| step:", Timer("optimizer"), 1e-3),
        ],
    ),
    // DeepSpeed runtime/utils.py, see_memory_usage.
    row(DeepSpeed, &["MA ", "Max_MA ", "Max_CA "], &[("Max_MA", Allocated, 1.0), ("Max_CA", Reserved, 1.0)]),
    // ms-swift swift/trainers/patcher.py:29 and swift/megatron/callbacks/print.py:63 (3602360a): the peak of reserved
    // memory since the start, "train_speed" a mean since the start in steps a second, since 2026 in seconds a step;
    // `clock` reads the steps out of it.
    row(
        MegatronSwift,
        &["iteration", "train_speed("],
        &[("iteration", Iteration, 1.0), ("memory(GiB)", Reserved, 1.0)],
    ),
    row(MsSwift, &["train_speed("], &[("global_step/max_steps", Iteration, 1.0), ("memory(GiB)", Reserved, 1.0)]),
    // LLaMA-Factory train/callbacks.py:275 (ff6d4d12), its trainer_log.jsonl: a clock of whole seconds since the start,
    // peaks since it. Its "throughput" counts every token, padding too, since the start.
    row(
        LlamaFactory,
        &["\"current_steps\":", "loss\":", "\"elapsed_time\":"],
        &[("current_steps", Iteration, 1.0), ("vram_allocated", Allocated, 1.0), ("vram_reserved", Reserved, 1.0)],
    ),
    // TRL's steps that generate first: grpo_trainer.py, "completions/mean_length", "completion_length" until 2025.
    row(HfTrainer, &["completions/mean_length"], &[]),
    row(HfTrainer, &["completion_length"], &[]),
    // Hugging Face Trainer: what covers evaluation, saving and the first steps.
    row(
        HfTrainer,
        &["train_steps_per_second"],
        &[("train_steps_per_second", MeanStepsPerSecond, 1.0), ("train_samples_per_second", SamplesPerSecond, 1.0)],
    ),
    row(HfTrainer, &["train_samples_per_second"], &[("train_samples_per_second", SamplesPerSecond, 1.0)]),
    row(HfTrainer, &["Instantaneous batch size per device ="], &[("per device =", Setting("micro_batch"), 1.0)]),
    row(HfTrainer, &["Total train batch size (w. parallel"], &[("accumulation) =", Setting("global_batch"), 1.0)]),
    row(HfTrainer, &["Gradient Accumulation steps ="], &[("steps =", Setting(ACCUMULATION), 1.0)]),
    // axolotl core/trainers/base.py:742 (067b021c): PyTorch's peaks since the line before, "gib" until 0.12; those of
    // an evaluation are not of a step. Tokens whose label is not -100, base.py:768, as 0.13 names them in the second
    // row.
    row(Axolotl, &["eval_loss", "memory/max_"], &[]),
    row(
        Axolotl,
        &["memory/max_allocated (GiB)"],
        &[
            ("memory/max_allocated (GiB)", Allocated, 1.0),
            ("memory/device_reserved (GiB)", Reserved, 1.0),
            ("tokens_per_second_per_gpu", LabelledPerGpu, 1.0),
            ("tokens/train_per_sec_per_gpu", LabelledPerGpu, 1.0),
        ],
    ),
    row(
        Axolotl,
        &["memory/max_mem_allocated(gib)"],
        &[("memory/max_mem_allocated(gib)", Allocated, 1.0), ("memory/device_mem_reserved(gib)", Reserved, 1.0)],
    ),
    // axolotl utils/bench.py of 0.9: memory_allocated() after step 2.
    row(Axolotl, &["memory usage while training:", "GB ("], &[("while training:", InUse, 1.0)]),
    // torchtune training/metric_logging.py:206 and recipes/full_finetune_distributed.py:1090 (bd2a0fc7): tokens with a
    // label over all ranks, divided by GPUs and by ranks that share tokens; peaks since the line before. On disk as
    // text or as JSON. What a model holds before the first step, training/memory.py:361, is no peak of one.
    row(
        Torchtune,
        &["Step ", " | ", "tokens_per_second_per_gpu:"],
        &[
            ("Step ", Iteration, 1.0),
            ("tokens_per_second_per_gpu", LabelledPerGpu, 1.0),
            ("peak_memory_alloc", Allocated, 1.0),
            ("peak_memory_reserved", Reserved, 1.0),
        ],
    ),
    row(
        Torchtune,
        &["\"step\":", "\"tokens_per_second_per_gpu\":"],
        &[
            ("\"step\"", Iteration, 1.0),
            ("tokens_per_second_per_gpu", LabelledPerGpu, 1.0),
            ("peak_memory_alloc", Allocated, 1.0),
            ("peak_memory_reserved", Reserved, 1.0),
        ],
    ),
    row(Torchtune, &["peak memory alloc:", "GiB"], &[("alloc:", InUse, 1.0)]),
    row(Torchtune, &["peak memory reserved:", "GiB"], &[("reserved:", InUse, 1.0)]),
    // OLMo-core train/callbacks/console_logger.py:76 (fa6c5014): the step, below it a figure a line.
    // speed_monitor.py:167: tokens of a GPU a second, whatever they are, and steps a second, of this step;
    // gpu_memory_monitor.py:53: peaks of this step, "system/" before them until 2.2.
    row(OlmoCore, &["[step=", ",epoch="], &[("[step=", Iteration, 1.0)]),
    row(OlmoCore, &["throughput/device/TPS="], &[("TPS=", TokensPerGpu, 1.0)]),
    row(OlmoCore, &["throughput/device/BPS="], &[("BPS=", StepsPerSecond, 1.0)]),
    row(OlmoCore, &["GPU active mem (GiB)="], &[("(GiB)=", Allocated, 1.0)]),
    row(OlmoCore, &["GPU reserved mem (GiB)="], &[("(GiB)=", Reserved, 1.0)]),
    row(OlmoCore, &["GPU capacity:", "GiB memory"], &[(" with", DeviceMemory, 1.0)]),
    // nanochat scripts/base_train.py:567 and chat_sft.py:469 (92d63d4e): a step without evaluation, tokens of all GPUs;
    // base_train.py:411: a micro-batch and the batch in tokens; :597: the peak since the start.
    row(
        Nanochat,
        &["step ", "| loss:", "| dt:", "| tok/sec:"],
        &[("step ", Iteration, 1.0), ("| dt:", Seconds, 1e-3), ("tok/sec:", TokensPerSecond, 1.0)],
    ),
    row(
        Nanochat,
        &["Tokens / micro-batch / rank:", " x ", "= "],
        &[("rank:", Setting("micro_batch"), 1.0), (" x ", Setting("seq_len"), 1.0), ("= ", Setting(TOKENS[0]), 1.0)],
    ),
    row(Nanochat, &["Tokens / micro-batch:"], &[("micro-batch:", Setting(TOKENS[1]), 1.0)]),
    row(Nanochat, &["Total batch size", "=> gradient accumulation steps:"], &[("batch size", Setting(TOKENS[2]), 1.0)]),
    row(Nanochat, &["Peak memory usage:", "MiB"], &[("usage:", Allocated, MIB)]),
    // verl trainer/fsdp_sft_trainer.py (b178a3cd): a step of rank 0 without loading its data; sft_trainer.py: its
    // tokens.
    row(
        Verl,
        &["step:", "train/time(s):"],
        &[("step:", Iteration, 1.0), ("train/time(s):", Seconds, 1.0), ("train/global_tokens:", StepTokens, 1.0)],
    ),
    row(
        Verl,
        &["step:", "train/global_tokens:"],
        &[("step:", Iteration, 1.0), ("train/global_tokens:", StepTokens, 1.0)],
    ),
    // verl trainer/ppo/ray_trainer.py:1388 (b178a3cd), seconds; workers/fsdp_workers.py:915: "gb" of 2^30 bytes, peaks
    // of a worker's process since it began, by utils/metric/utils.py the largest of all workers.
    row(
        Verl,
        &["step:", "timing_s/step:"],
        &[
            ("step:", Iteration, 1.0),
            ("timing_s/step:", Round, 1.0),
            ("timing_s/gen:", Timer("generation"), 1.0),
            ("timing_s/reward:", Timer("rewards"), 1.0),
            ("timing_s/old_log_prob:", Timer("log-probabilities of the policy"), 1.0),
            ("timing_s/ref:", Timer("log-probabilities of the reference"), 1.0),
            ("timing_s/values:", Timer("values"), 1.0),
            ("timing_s/update_critic:", Timer("update of the critic"), 1.0),
            ("timing_s/update_actor:", Timer("update of the policy"), 1.0),
            ("timing_s/update_weights:", Timer("weights to the generation"), 1.0),
            ("perf/max_memory_allocated_gb:", OfAllPhases(false), 1.0),
            ("perf/max_memory_reserved_gb:", OfAllPhases(true), 1.0),
        ],
    ),
    // slime observability/train_metric_utils.py:376 (624b824a), seconds: what the training waits for, and what it does;
    // backends/megatron_utils/model.py:918: a line for each step of the optimizer.
    row(Slime, &["step ", ": {", "train/grad_norm"], &[]),
    row(
        Slime,
        &["perf ", ": {", "perf/actor_train_time"],
        &[
            ("perf ", Iteration, 1.0),
            ("perf/step_time", Round, 1.0),
            ("perf/train_wait_time", Timer("waiting for samples and weights"), 1.0),
            ("perf/ref_log_probs_time", Timer("log-probabilities of the reference"), 1.0),
            ("perf/log_probs_time", Timer("log-probabilities of the policy"), 1.0),
            ("perf/actor_train_time", Timer("update of the policy"), 1.0),
        ],
    ),
    // Accelerate's and PEFT's examples of peak memory, b2mb: 2^20 bytes; PEFT's name the host's as well.
    row(Accelerate, &["CPU Total Peak Memory consumed"], &[]),
    row(Accelerate, &["Total Peak Memory consumed during the train (max)"], &[("(max)", Allocated, MIB)]),
    // nanotron trainer.py: three digits with a suffix; the peak of reserved memory in bytes in 2024, pull request 23.
    row(
        Nanotron,
        &["iteration:", "time_per_iteration_ms:", "tokens_per_sec_per_gpu:"],
        &[
            ("iteration:", Iteration, 1.0),
            ("time_per_iteration_ms:", Seconds, 1e-3),
            ("tokens_per_sec:", TokensPerSecond, 1.0),
            ("global_batch_size:", GlobalBatch, 1.0),
            ("cuda_max_memory_reserved:", Reserved, BYTE),
        ],
    ),
    // What a model holds before the first step, trainer.py:1142, is no peak of one.
    row(Nanotron, &["[After model building]", "Memory usage:"], &[("Memory usage:", InUse, MIB)]),
    row(
        Nanotron,
        &["Memory usage:", "Peak allocated", "Peak reserved"],
        &[("Peak allocated", Allocated, MIB), ("Peak reserved", Reserved, MIB)],
    ),
    // MaxText metric_logger.py and max_utils.py.
    row(
        MaxText,
        &["completed step:", "seconds:"],
        &[("completed step:", Iteration, 1.0), ("seconds:", Seconds, 1.0), ("Tokens/s/device:", TokensPerGpu, 1.0)],
    ),
    row(MaxText, &["Config param global_batch_size_to_train_on:"], &[("train_on:", Setting("global_batch"), 1.0)]),
    row(MaxText, &["Config param max_target_length:"], &[("length:", Setting("seq_len"), 1.0)]),
    row(MaxText, &["Num_devices:"], &[("Num_devices:", Setting("gpus"), 1.0)]),
    row(MaxText, &["Config param ici_tensor_parallelism:"], &[("parallelism:", Setting("tp"), 1.0)]),
    row(MaxText, &["Config param ici_pipeline_parallelism:"], &[("parallelism:", Setting("pp"), 1.0)]),
    row(MaxText, &["Config param ici_context_parallelism:"], &[("parallelism:", Setting("cp"), 1.0)]),
    row(MaxText, &["Config param ici_expert_parallelism:"], &[("parallelism:", Setting("ep"), 1.0)]),
    row(MaxText, &["Using (GB)", "/"], &[("Using (GB)", InUse, 1.0), ("/", DeviceMemory, 1.0)]),
    // Composer: one figure a line; memory in 1e9 bytes.
    row(Composer, &["Train memory/peak_allocated_mem:"], &[("peak_allocated_mem:", Allocated, GB)]),
    row(Composer, &["Train memory/peak_reserved_mem:"], &[("peak_reserved_mem:", Reserved, GB)]),
    row(Composer, &["Train throughput/device/tokens_per_sec:"], &[("tokens_per_sec:", TokensPerGpu, 1.0)]),
    row(Composer, &["Train throughput/tokens_per_sec:"], &[("tokens_per_sec:", TokensPerSecond, 1.0)]),
    row(Composer, &["Train throughput/samples_per_sec:"], &[("samples_per_sec:", CurrentSamplesPerSecond, 1.0)]),
    row(Composer, &["Train throughput/batches_per_sec:"], &[("batches_per_sec:", StepsPerSecond, 1.0)]),
    row(
        Composer,
        &["Train trainer/device_train_microbatch_size:"],
        &[("microbatch_size:", Setting("micro_batch"), 1.0)],
    ),
    row(Composer, &["[batch="], &[("[batch=", Iteration, 1.0)]),
    // nvidia-smi: every process of the device.
    row(NvidiaSmi, &["MiB /", "MiB"], &[]),
    row(NvidiaSmi, &[" MiB, ", " MiB"], &[]),
    // PyTorch's table and its refusal.
    row(PyTorch, &["| Allocated memory"], &[]),
    row(PyTorch, &["| GPU reserved memory"], &[]),
    row(PyTorch, &["Tried to allocate", "total capa"], &[]),
    // A progress bar: "12.31s/it" or "1.23it/s".
    row(ProgressBar, &["s/it"], &[]),
    row(ProgressBar, &["it/s"], &[]),
];

/// Ends of the words of `pattern` in `line`, one behind the other; none where one is missing.
pub fn matches(pattern: &LinePattern, line: &str) -> bool {
    let mut rest = line;
    pattern.words.iter().all(|word| match rest.find(word) {
        Some(at) => {
            rest = &rest[at + word.len()..];
            true
        }
        None => false,
    })
}
