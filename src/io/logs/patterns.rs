//! The lines that are known, as data: words that must stand in a line, and the numbers behind some of them.
//!
//! Source of each format: the program's own code, at the places that `reference` names in the comments.

use shardscope_core::statics::named;

use Quantity::{
    Allocated, Consumed, CurrentSamplesPerSecond, Device, DeviceMemory, GlobalBatch, InUse, Iteration, Reserved,
    SamplesPerSecond, Seconds, Setting, StepsPerSecond, Theory, Timer, TokensPerGpu, TokensPerSecond,
};

named! {
    /// A program that writes logs.
    #[derive(PartialOrd, Ord)]
    #[allow(missing_docs)] // their names say what they are
    pub(crate) enum Program: name {
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
        PyTorch = "torch.cuda.memory_summary",
        NvidiaSmi = "nvidia-smi",
        NcclTests = "nccl-tests",
        Mamf = "MAMF-finder",
    }
}

/// Meaning of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
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
    /// Sequences a second over all GPUs, mean since the start.
    SamplesPerSecond,
    /// The same of this step.
    CurrentSamplesPerSecond,
    StepsPerSecond,
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
    /// A program's own estimate, no measurement.
    Theory,
    /// Seconds of a part of the step, by a timer of this name.
    Timer(&'static str),
    /// A field of the Run, by its key.
    Setting(&'static str),
}

impl Quantity {
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
                | Self::Iterations
        )
    }

    /// True if it is a rate: of several ranks' the smallest is the slowest.
    pub fn is_rate(self) -> bool {
        self.is_step() && !matches!(self, Self::Seconds | Self::Iterations)
    }
}

pub(crate) struct Pattern {
    pub program: Program,
    /// Words that stand in it, in this order.
    pub words: &'static [&'static str],
    /// Words before a number, what the number means, and what it is multiplied by to be seconds, GiB or a count.
    pub numbers: &'static [(&'static str, Quantity, f64)],
}

/// Data parallelism of a mesh, which is no field of a Run: times the other degrees it is the GPUs.
pub(crate) const REPLICAS: &str = "dp_replicate";
/// The same of those that share their states.
pub(crate) const SHARDS: &str = "dp_shard";
/// Sequences that a data-parallel rank takes at once, before a pipeline divides them.
pub(crate) const LOCAL_BATCH: &str = "local batch";
/// Steps whose gradients a data-parallel rank adds up.
pub(crate) const ACCUMULATION: &str = "accumulation";
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

const fn row(
    program: Program,
    words: &'static [&'static str],
    numbers: &'static [(&'static str, Quantity, f64)],
) -> Pattern {
    Pattern { program, words, numbers }
}

use Program::{
    Accelerate, AutoModel, Composer, DeepSpeed, HfTrainer, MaxText, MegatronBridge, MegatronDeepSpeed, MegatronLm,
    Nanotron, NvidiaSmi, ProgressBar, PyTorch, Torchtitan,
};

/// Every line that is known; the first that matches is taken.
pub(crate) static PATTERNS: &[Pattern] = &[
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
    // Megatron-LM training.py: ms an iteration, mean of the log interval.
    // Behind a rate or a time stands its mean over the run in Primus, AMD's Megatron-LM: "2701.3/2712.7"; its memory in
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
    // Hugging Face Trainer: what covers evaluation, saving and the first steps.
    row(
        HfTrainer,
        &["train_steps_per_second"],
        &[("train_steps_per_second", StepsPerSecond, 1.0), ("train_samples_per_second", SamplesPerSecond, 1.0)],
    ),
    row(HfTrainer, &["train_samples_per_second"], &[("train_samples_per_second", SamplesPerSecond, 1.0)]),
    row(HfTrainer, &["Instantaneous batch size per device ="], &[("per device =", Setting("micro_batch"), 1.0)]),
    row(HfTrainer, &["Total train batch size (w. parallel"], &[("accumulation) =", Setting("global_batch"), 1.0)]),
    row(HfTrainer, &["Gradient Accumulation steps ="], &[("steps =", Setting(ACCUMULATION), 1.0)]),
    // Accelerate's and PEFT's examples of peak memory, b2mb: 2^20 bytes; PEFT's name the host's as well.
    row(Accelerate, &["CPU Total Peak Memory consumed"], &[]),
    row(Accelerate, &["Total Peak Memory consumed during the train (max)"], &[("(max)", Allocated, MIB)]),
    // nanotron trainer.py: three digits with a suffix.
    row(
        Nanotron,
        &["iteration:", "time_per_iteration_ms:", "tokens_per_sec_per_gpu:"],
        &[
            ("iteration:", Iteration, 1.0),
            ("time_per_iteration_ms:", Seconds, 1e-3),
            ("tokens_per_sec:", TokensPerSecond, 1.0),
            ("global_batch_size:", GlobalBatch, 1.0),
        ],
    ),
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
pub fn matches(pattern: &Pattern, line: &str) -> bool {
    let mut rest = line;
    pattern.words.iter().all(|word| match rest.find(word) {
        Some(at) => {
            rest = &rest[at + word.len()..];
            true
        }
        None => false,
    })
}
