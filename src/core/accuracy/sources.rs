//! Sources of published rows: the lines of a table that belong to each, and the measured quantity. The Run of a line
//! is in its column `run`.

use crate::statics::named;

/// The tables, by the name of their file in `data/` beside the page, with the letters of the ids of their lines.
pub const FILES: &[(&str, &str)] = &[
    (FUJII, "fj"),
    (THROUGHPUT, "ta"),
    ("throughput_2.csv", "tb"),
    ("throughput_3.csv", "tc"),
    (MEMORY, "mm"),
    (SIMUMAX, "sm"),
    ("uneven_pp_h20.csv", "up"),
    ("megatron_golden.csv", "mg"),
    (TUNED, "f"),
    (MLPERF, "ml"),
];

/// Tables whose rows have a step, a date and a publisher.
pub const DATED: [&str; 6] = [FUJII, THROUGHPUT, "throughput_2.csv", "throughput_3.csv", TUNED, MLPERF];

/// The measured quantity, and its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredQuantity {
    /// TFLOP/s a GPU as tables 3 and 4 of Fujii 2024 count, or OOM: a step time, and a verdict.
    FujiiTflops,
    StepSeconds,
    /// Tokens a second and GPU: seconds a step.
    TokensPerGpu,
    /// GiB that PyTorch allocated on the fullest rank.
    Allocated,
    /// GiB that PyTorch allocated on the last rank.
    AllocatedLast,
    /// GiB that PyTorch's allocator held.
    Reserved,
    /// Ran, or ran out of memory.
    Outcome,
    /// GiB that PyTorch had allocated between steps.
    Steady,
}

named! {
    /// Use that was made of a source.
    pub enum SourceUse: words {
        /// Constants were fitted to it, or chosen with it in view.
        Fitted = "used for fitting",
        /// Held to, no constant fitted.
        Held = "test set",
        Shown = "shown only",
    }
}

/// Rows of one table whose columns have one meaning.
#[derive(Clone, Copy, Debug)]
pub struct EvidenceSource {
    pub name: &'static str,
    /// Use that was made of it.
    pub kind: SourceUse,
    /// The software stacks of its Runs, by their ids.
    pub stack: &'static str,
    pub file: &'static str,
    /// Columns and what they must contain; with `=` in front be, with `!` not.
    pub only: &'static [(&'static str, &'static str)],
    pub quantity: MeasuredQuantity,
    /// Template of a row's label.
    pub label: &'static str,
}

impl EvidenceSource {
    /// True if it has rows in `file`; the tables of throughput count as one.
    pub fn reads(&self, file: &str) -> bool {
        self.file == file || self.file == THROUGHPUT && ["throughput_2.csv", "throughput_3.csv"].contains(&file)
    }
}

const fn source(
    name: &'static str,
    kind: SourceUse,
    stack: &'static str,
    file: &'static str,
    only: &'static [(&'static str, &'static str)],
    quantity: MeasuredQuantity,
    label: &'static str,
) -> EvidenceSource {
    EvidenceSource { name, kind, stack, file, only, quantity, label }
}

/// Rows of the throughput tables, by their layout.
const fn layout(
    name: &'static str,
    kind: SourceUse,
    stack: &'static str,
    only: &'static [(&'static str, &'static str)],
    quantity: MeasuredQuantity,
) -> EvidenceSource {
    let label = "{model} on {gpus} {gpu_type}, s {seq}, b {mbs|?}, tp {tp|1} pp {pp|1} {recompute|}";
    source(name, kind, stack, THROUGHPUT, only, quantity, label)
}

/// Rows of programs' own summaries of throughput, by precision and layout.
const fn precise(
    name: &'static str,
    kind: SourceUse,
    stack: &'static str,
    only: &'static [(&'static str, &'static str)],
) -> EvidenceSource {
    let label = "{model} {precision} on {gpus} {gpu_type}, tp {tp|1} pp {pp|1} cp {cp|1} ep {ep|1}";
    source(name, kind, stack, THROUGHPUT, only, MeasuredQuantity::TokensPerGpu, label)
}

const fn tuned(
    name: &'static str,
    kind: SourceUse,
    stack: &'static str,
    only: &'static [(&'static str, &'static str)],
    quantity: MeasuredQuantity,
) -> EvidenceSource {
    let label = "{model}, {method}, {framework}, {gpus} GPUs, b {micro_batch}";
    source(name, kind, stack, TUNED, only, quantity, label)
}

const FUJII: &str = "fujii_measured.csv";
pub(super) const THROUGHPUT: &str = "throughput.csv";
const MEMORY: &str = "measured_memory.csv";
const SIMUMAX: &str = "simumax_b200.csv";
/// The table of measured fine-tuning.
pub const TUNED: &str = "finetune_measured.csv";
const MLPERF: &str = "mlperf.csv";
const FMS: &str = "fms-acceleration";

/// All sources, those that constants were fitted to first.
pub static SOURCES: &[EvidenceSource] = &[
    // Fujii 2024: four 200 Gbit/s cards a node, 12.5 GB/s a GPU with eight GPUs a node and 25 with four. Nanoseconds of
    // the data loader: the largest that no step of table 3 contradicts for the A100 host. No step of table 4 is bound
    // by its loader, but the coupling feels it: the H100 host's is chosen for the smallest error (1.9
    // gives 4.6 % on table 4 instead of 4.0).
    source(
        "Fujii 2024, table 3 (A100 40 GB)",
        SourceUse::Fitted,
        "megatron-2024",
        FUJII,
        &[("table", "=3")],
        MeasuredQuantity::FujiiTflops,
        "tp {tp} cp {cp} pp {pp} b {micro_batch} on {gpus}",
    ),
    source(
        "Fujii 2024, table 4 (H100 94 GB)",
        SourceUse::Fitted,
        "megatron-2024",
        FUJII,
        &[("table", "=4")],
        MeasuredQuantity::FujiiTflops,
        "tp {tp} cp {cp} pp {pp} b {micro_batch} on {gpus}",
    ),
    // FSDP with bf16 gradients; MPT runs without dropout.
    layout(
        "llm-foundry, MPT on A100",
        SourceUse::Fitted,
        "composer-2023",
        &[("source", "llm-foundry"), ("held", "=yes"), ("gpu_type", "a100")],
        MeasuredQuantity::StepSeconds,
    ),
    layout(
        "llm-foundry, MPT on H100",
        SourceUse::Fitted,
        "composer-2023",
        &[("source", "llm-foundry"), ("held", "=yes"), ("gpu_type", "h100")],
        MeasuredQuantity::StepSeconds,
    ),
    // Megatron with sequence parallelism; the table names Transformer Engine as its software, which picks cuDNN's
    // kernel.
    layout(
        "SimuMax, Llama on B200",
        SourceUse::Fitted,
        "megatron-2024",
        &[("source", "SimuMax"), ("held", "=yes")],
        MeasuredQuantity::StepSeconds,
    ),
    // Jean Zay: four 100 Gbit/s cards for eight GPUs, "NVLink 4 inter-gpu connects" of the twelve of an A100 (BLOOM's
    // model card): 100 GB/s. Its fork of Megatron-DeepSpeed, like Megatron of 2021, had neither
    // FlashAttention nor overlapped gradients or tensor-parallel reductions.
    layout(
        "BLOOM candidates, 176B to 203B on A100",
        SourceUse::Fitted,
        "megatron-2021",
        &[("source", "bigscience"), ("held", "=yes")],
        MeasuredQuantity::StepSeconds,
    ),
    layout(
        "Narayanan 2021, GPT on A100",
        SourceUse::Fitted,
        "megatron-2021",
        &[("source", "images/cases_april2021"), ("held", "=yes")],
        MeasuredQuantity::StepSeconds,
    ),
    layout(
        "Korthikanti 2022, GPT on A100",
        SourceUse::Fitted,
        "megatron-2021",
        &[("source", "calculon"), ("held", "=yes")],
        MeasuredQuantity::StepSeconds,
    ),
    // Outside the fit; the dense ones were in view when Hopper's GEMM share and the contention were chosen.
    layout(
        "InternEvo, InternLM-7B on A100",
        SourceUse::Held,
        "megatron-2024",
        &[("source", "InternEvo"), ("model", "InternLM-7B"), ("experts", "=")],
        MeasuredQuantity::TokensPerGpu,
    ),
    precise(
        "NVIDIA dgxc, Llama 3.1 405B on H100",
        SourceUse::Held,
        "megatron-2025",
        &[("source", "v24.11.1:llama3.1/README_405b"), ("model", "405B")],
    ),
    precise(
        "NVIDIA dgxc, Llama 3.1 70B on H100",
        SourceUse::Held,
        "megatron-2025",
        &[("source", "v24.11.1:llama3.1/README_70b"), ("model", "70B")],
    ),
    precise(
        "NVIDIA dgxc, Llama 3.1 8B on H100",
        SourceUse::Held,
        "megatron-2025",
        &[("source", "v25.02:llama3.1/README_8b"), ("model", "8B")],
    ),
    // The same runs a release later.
    precise(
        "NVIDIA dgxc 25.02, Llama 3.1 405B on H100",
        SourceUse::Held,
        "megatron-2025",
        &[("source", "v25.02:llama3.1/README_405b"), ("model", "405B")],
    ),
    precise(
        "NVIDIA dgxc, Nemotron-4 15B on H100",
        SourceUse::Held,
        "megatron-2025",
        &[("source", "v24.11.1:nemotron/README_15b")],
    ),
    // Routed experts: no constant was fitted to them.
    precise(
        "SimuMax, DeepSeek-V2 layers on B200",
        SourceUse::Held,
        "megatron-2024",
        &[("source", "SimuMax"), ("model", "deepseek-v2"), ("experts", "!=")],
    ),
    precise(
        "SimuMax, DeepSeek-V3 layers on B200",
        SourceUse::Held,
        "megatron-2024",
        &[("source", "SimuMax"), ("model", "deepseek-v3"), ("experts", "!=")],
    ),
    precise(
        "NVIDIA dgxc 25.02, Llama 3.1 70B on H100",
        SourceUse::Held,
        "megatron-2025",
        &[("source", "v25.02:llama3.1/README_70b"), ("model", "70B")],
    ),
    precise(
        "NVIDIA dgxc 24.11, Llama 3.1 8B on H100",
        SourceUse::Held,
        "nemo-2024",
        &[("source", "v24.11.1:llama3.1/README_8b"), ("model", "8B")],
    ),
    precise(
        "NVIDIA dgxc, GPT-3 175B on H100",
        SourceUse::Held,
        "megatron-2025",
        &[("source", "nemo_megatron/README_175b")],
    ),
    precise(
        "NVIDIA dgxc, Nemotron-4 340B on H100",
        SourceUse::Held,
        "megatron-2025",
        &[("source", "nemotron/README_340b")],
    ),
    precise("NVIDIA dgxc, PaxML GPT-3 on H100", SourceUse::Held, "paxml", &[("source", "paxml/README")]),
    precise("NeMo 24.07 on H100", SourceUse::Held, "nemo-2024", &[("source", "NeMo 24.07")]),
    precise(
        "Megatron-MoE-ModelZoo, Qwen3-235B on H100",
        SourceUse::Held,
        "megatron-2025",
        &[("source", "ModelZoo"), ("gpu_type", "H100")],
    ),
    precise("Primus, Qwen3-30B on MI355X", SourceUse::Held, "primus", &[("source", "Primus pull 1011")]),
    precise("Primus, DeepSeek 16B on MI325X", SourceUse::Held, "torchtitan", &[("source", "Primus pull 1022")]),
    // NVIDIA's summaries of Megatron-Bridge and before it NeMo, release by release.
    precise(
        "Megatron-Bridge, Llama 3 8B",
        SourceUse::Shown,
        "megatron-2025, megatron-2026",
        &[("source", "Megatron-Bridge"), ("model", "=LLAMA3_8B")],
    ),
    precise(
        "Megatron-Bridge, Llama 3 70B",
        SourceUse::Shown,
        "megatron-2025, megatron-2026",
        &[("source", "Megatron-Bridge"), ("model", "=LLAMA3_70B")],
    ),
    precise(
        "Megatron-Bridge, Llama 3.1 405B",
        SourceUse::Shown,
        "megatron-2025, megatron-2026",
        &[("source", "Megatron-Bridge"), ("model", "=LLAMA3.1_405B")],
    ),
    precise(
        "Megatron-Bridge, DeepSeek-V3",
        SourceUse::Shown,
        "megatron-2025, megatron-2026",
        &[("source", "Megatron-Bridge"), ("model", "DeepSeekV3"), ("experts", "!=")],
    ),
    precise(
        "Megatron-Bridge, Qwen3-235B",
        SourceUse::Shown,
        "megatron-2025, megatron-2026",
        &[("source", "Megatron-Bridge"), ("model", "Qwen3_235B"), ("experts", "!=")],
    ),
    precise(
        "Megatron-Bridge, Qwen3-30B",
        SourceUse::Shown,
        "megatron-2025, megatron-2026",
        &[("source", "Megatron-Bridge"), ("model", "Qwen3_30B")],
    ),
    precise(
        "Megatron-Bridge, gpt-oss 120B",
        SourceUse::Shown,
        "megatron-2025, megatron-2026",
        &[("source", "Megatron-Bridge"), ("model", "GPT OSS 120B"), ("notes", "!a regression by its own footnote")],
    ),
    precise(
        "Megatron-Bridge, Kimi K2",
        SourceUse::Shown,
        "megatron-2025, megatron-2026",
        &[("source", "Megatron-Bridge"), ("model", "Kimi_K2")],
    ),
    precise(
        "Megatron-Bridge, Nemotron 3 Nano",
        SourceUse::Shown,
        "megatron-2025, megatron-2026",
        &[("source", "Megatron-Bridge"), ("model", "Nemotron_3_Nano")],
    ),
    precise(
        "Megatron-Bridge, Nemotron 3 Super",
        SourceUse::Shown,
        "megatron-2025, megatron-2026",
        &[("source", "Megatron-Bridge"), ("model", "Nemotron_3_Super")],
    ),
    precise(
        "Megatron-Bridge, Nemotron 3 Ultra",
        SourceUse::Shown,
        "megatron-2025, megatron-2026",
        &[("source", "Megatron-Bridge"), ("model", "Nemotron_3_Ultra")],
    ),
    precise(
        "Automodel, DeepSeek-V3 on H100",
        SourceUse::Shown,
        "fsdp2",
        &[("source", "Automodel"), ("model", "DeepSeek V3")],
    ),
    precise("Automodel, Kimi K2 on H100", SourceUse::Shown, "fsdp2", &[("source", "Automodel"), ("model", "Kimi K2")]),
    precise(
        "Automodel, Llama 3 70B on H100",
        SourceUse::Shown,
        "fsdp2",
        &[("source", "Automodel"), ("model", "Llama3 70B")],
    ),
    // A local batch is cut into as many micro-batches as there are stages.
    precise(
        "torchtitan, Llama 3.1 405B on H100",
        SourceUse::Shown,
        "torchtitan",
        &[("source", "torchtitan"), ("model", "405B")],
    ),
    precise(
        "torchtitan, async TP on H100",
        SourceUse::Shown,
        "torchtitan",
        &[("source", "asyncTP"), ("precision", "!rowwise")],
    ),
    precise(
        "torchtitan, Llama 3.1 8B on H200",
        SourceUse::Shown,
        "torchtitan",
        &[("source", "torchtitan"), ("model", "8B"), ("gpu_type", "H200")],
    ),
    layout(
        "fms-fsdp, Llama 2",
        SourceUse::Shown,
        "torchtitan",
        &[("source", "fms-fsdp"), ("recompute", "none")],
        MeasuredQuantity::TokensPerGpu,
    ),
    // No constant was fitted to them. What the configurations leave open: `src/core/run/presets/mlperf.rs`.
    source(
        "MLPerf Training, Llama 3.1 405B",
        SourceUse::Held,
        "megatron-2025",
        MLPERF,
        &[("name", "405B")],
        MeasuredQuantity::StepSeconds,
        "{name}",
    ),
    source(
        "MLPerf Training, Llama 3.1 8B",
        SourceUse::Held,
        "megatron-2025",
        MLPERF,
        &[("name", "8B")],
        MeasuredQuantity::StepSeconds,
        "{name}",
    ),
    source(
        "MLPerf Training, LoRA of Llama 2 70B",
        SourceUse::Held,
        "nemo-2024, megatron-2025",
        MLPERF,
        &[("name", "LoRA")],
        MeasuredQuantity::StepSeconds,
        "{name}",
    ),
    source(
        "Uneven PP note, vision-language on H20",
        SourceUse::Shown,
        "megatron-2024",
        "uneven_pp_h20.csv",
        &[],
        MeasuredQuantity::StepSeconds,
        "{first} and {second} layers on the two ranks",
    ),
    // Memory.
    source(
        "SimuMax peaks, Llama on B200",
        SourceUse::Held,
        "megatron-2024",
        SIMUMAX,
        &[("model", "llama")],
        MeasuredQuantity::Allocated,
        "{layers} layers, tp {tp} pp {pp} cp {cp} s {seq}",
    ),
    source(
        "SimuMax peaks, DeepSeek-V2 on B200",
        SourceUse::Held,
        "megatron-2024",
        SIMUMAX,
        &[("model", "deepseek-v2")],
        MeasuredQuantity::Allocated,
        "{layers} layers, tp {tp} pp {pp} ep {ep} s {seq}",
    ),
    source(
        "SimuMax peaks, DeepSeek-V3 on B200",
        SourceUse::Held,
        "megatron-2024",
        SIMUMAX,
        &[("model", "deepseek-v3")],
        MeasuredQuantity::Allocated,
        "{layers} layers, tp {tp} pp {pp} ep {ep} s {seq}",
    ),
    source(
        "Megatron-LM's functional tests, GPT-7B",
        SourceUse::Held,
        "megatron-2024",
        MEMORY,
        &[("source", "/gpt3_7b_")],
        MeasuredQuantity::AllocatedLast,
        "{model} on {gpu_type}, tp {tp} pp {pp}",
    ),
    source(
        "Megatron-LM, golden peaks of its tests",
        SourceUse::Held,
        "megatron-2025",
        "megatron_golden.csv",
        &[("left_out", "=")],
        MeasuredQuantity::AllocatedLast,
        "{case} on {gpu_type}",
    ),
    source(
        "torchtitan, Llama on H100",
        SourceUse::Held,
        "megatron-2025, megatron-2026",
        MEMORY,
        &[("source", "torchtitan:"), ("source", "!trainy")],
        MeasuredQuantity::Reserved,
        "{model} on {gpus}, {notes}",
    ),
    source(
        "PyTorch issue 129721, Llama 8B on H100",
        SourceUse::Held,
        "megatron-2025, megatron-2026",
        MEMORY,
        &[("source", "PR 132445")],
        MeasuredQuantity::Reserved,
        "{model} on {gpus}, {notes}",
    ),
    source(
        "Trainy, Llama 8B on H200",
        SourceUse::Shown,
        "megatron-2025, megatron-2026",
        MEMORY,
        &[("source", "trainy")],
        MeasuredQuantity::Reserved,
        "{model} on {gpus}, {notes}",
    ),
    // Fine-tuning. Bytes a logit of each kernel were read off these slopes. Samples without padding have no stated
    // longest micro-batch: their steady memory and throughput count, the peaks of adapters do not, those of full
    // fine-tuning, which hardly depend on it, do.
    tuned(
        "fms-acceleration, adapters between steps",
        SourceUse::Fitted,
        "hf-trainer, hf-fused",
        &[("source", FMS), ("method", "lora")],
        MeasuredQuantity::Steady,
    ),
    tuned(
        "fms-acceleration, full fine-tuning between steps",
        SourceUse::Fitted,
        "hf-trainer, hf-fused",
        &[("source", FMS), ("method", "=full")],
        MeasuredQuantity::Steady,
    ),
    tuned(
        "fms-acceleration, peaks of adapters on one GPU",
        SourceUse::Fitted,
        "hf-trainer, hf-fused",
        &[("source", FMS), ("method", "lora"), ("seq", "packed"), ("gpus", "=1")],
        MeasuredQuantity::Allocated,
    ),
    tuned(
        "fms-acceleration, peaks of adapters on several GPUs",
        SourceUse::Fitted,
        "hf-trainer, hf-fused",
        &[("source", FMS), ("method", "lora"), ("seq", "packed"), ("gpus", "!=1")],
        MeasuredQuantity::Allocated,
    ),
    tuned(
        "fms-acceleration, peaks of full fine-tuning",
        SourceUse::Fitted,
        "hf-trainer, hf-fused",
        &[("source", FMS), ("method", "=full")],
        MeasuredQuantity::Allocated,
    ),
    tuned(
        "fms-acceleration, adapters that ran out",
        SourceUse::Held,
        "hf-trainer, hf-fused",
        &[("source", FMS), ("method", "lora"), ("seq", "packed"), ("outcome", "OOM")],
        MeasuredQuantity::Outcome,
    ),
    tuned(
        "fms-acceleration, speed of adapters",
        SourceUse::Held,
        "hf-trainer, hf-fused",
        &[("source", FMS), ("method", "lora"), ("seq", "packed")],
        MeasuredQuantity::TokensPerGpu,
    ),
    tuned(
        "fms-acceleration, speed of adapters on short samples",
        SourceUse::Held,
        "hf-trainer, hf-fused",
        &[("source", FMS), ("method", "lora"), ("seq", "avg")],
        MeasuredQuantity::TokensPerGpu,
    ),
    tuned(
        "fms-acceleration, speed of full fine-tuning",
        SourceUse::Shown,
        "hf-trainer, hf-fused",
        &[("source", FMS), ("method", "=full"), ("model", "Mistral")],
        MeasuredQuantity::TokensPerGpu,
    ),
    tuned(
        "fms-acceleration, speed of Granite's experts",
        SourceUse::Shown,
        "hf-trainer, hf-fused",
        &[("source", FMS), ("model", "granite-3.0"), ("framework", "padding-free")],
        MeasuredQuantity::TokensPerGpu,
    ),
    // Not in view of any constant; kinds of peaks that are not what PyTorch allocated are shown only.
    tuned(
        "Automodel, full fine-tuning of Llama 3.2 1B",
        SourceUse::Held,
        "hf-trainer, hf-fused",
        &[("source", "Automodel"), ("method", "=full")],
        MeasuredQuantity::Allocated,
    ),
    tuned(
        "Automodel, speed of LoRA",
        SourceUse::Held,
        "hf-fused, torchtitan",
        &[("source", "Automodel"), ("method", "=lora")],
        MeasuredQuantity::TokensPerGpu,
    ),
    tuned(
        "torchtune, LoRA of Llama 3.1 70B",
        SourceUse::Shown,
        "torchtune",
        &[("source", "torchtune"), ("method", "=lora")],
        MeasuredQuantity::Allocated,
    ),
    tuned(
        "torchtune, full fine-tuning of Llama 3.1 70B",
        SourceUse::Shown,
        "torchtune",
        &[("source", "torchtune"), ("method", "=full"), ("framework", "torchtune"), ("model", "70B")],
        MeasuredQuantity::Allocated,
    ),
    tuned(
        "torchtune, speed of LoRA of Llama 3.1 70B",
        SourceUse::Held,
        "torchtune",
        &[("source", "torchtune"), ("method", "=lora")],
        MeasuredQuantity::TokensPerGpu,
    ),
    tuned(
        "Qwen, LoRA",
        SourceUse::Shown,
        "hf-trainer, hf-fused",
        &[("source", "QwenLM"), ("method", "=lora")],
        MeasuredQuantity::Reserved,
    ),
    tuned(
        "Qwen, LoRA with embedding and head",
        SourceUse::Shown,
        "hf-trainer, hf-fused",
        &[("source", "QwenLM"), ("method", "=lora+emb")],
        MeasuredQuantity::Reserved,
    ),
    tuned(
        "Qwen, Q-LoRA",
        SourceUse::Shown,
        "hf-trainer, hf-fused",
        &[("source", "QwenLM"), ("method", "gptq")],
        MeasuredQuantity::Reserved,
    ),
    tuned(
        "Qwen, speed of LoRA",
        SourceUse::Held,
        "hf-trainer, hf-fused",
        &[("source", "QwenLM"), ("method", "=lora")],
        MeasuredQuantity::TokensPerGpu,
    ),
    tuned(
        "Qwen, speed of LoRA with embedding and head",
        SourceUse::Held,
        "hf-trainer, hf-fused",
        &[("source", "QwenLM"), ("method", "=lora+emb")],
        MeasuredQuantity::TokensPerGpu,
    ),
    tuned(
        "Qwen, speed of Q-LoRA",
        SourceUse::Held,
        "hf-trainer, hf-fused",
        &[("source", "QwenLM"), ("method", "gptq")],
        MeasuredQuantity::TokensPerGpu,
    ),
    tuned(
        "fsdp_qlora, QLoRA",
        SourceUse::Shown,
        "hf-trainer, hf-fused",
        &[("source", "fsdp_qlora"), ("method", "qlora"), ("gpu", "RTX")],
        MeasuredQuantity::Reserved,
    ),
    tuned(
        "fsdp_qlora, LoRA",
        SourceUse::Shown,
        "hf-trainer, hf-fused",
        &[("source", "fsdp_qlora"), ("method", "=lora"), ("gpu", "RTX")],
        MeasuredQuantity::Reserved,
    ),
    tuned(
        "fsdp_qlora, speed on RTX 4090",
        SourceUse::Held,
        "hf-trainer, hf-fused",
        &[("source", "fsdp_qlora"), ("gpu", "RTX 4090")],
        MeasuredQuantity::TokensPerGpu,
    ),
    tuned(
        "fsdp_qlora, speed on data-centre GPUs",
        SourceUse::Held,
        "hf-trainer, hf-fused",
        &[("source", "fsdp_qlora"), ("gpu", "00")],
        MeasuredQuantity::TokensPerGpu,
    ),
    tuned(
        "Megatron-Bridge, LoRA of Llama 3 70B",
        SourceUse::Held,
        "megatron-2025",
        &[("source", "Megatron-Bridge"), ("method", "=lora"), ("model", "Llama 3 70B")],
        MeasuredQuantity::TokensPerGpu,
    ),
    tuned(
        "Megatron-Bridge, full fine-tuning of Llama 3 70B",
        SourceUse::Held,
        "megatron-2025",
        &[("source", "performance-summary-archive"), ("method", "=full")],
        MeasuredQuantity::TokensPerGpu,
    ),
];

/// Rows of the fine-tuning table that are not computed: a part of their source, how many, and why.
pub const LEFT_OUT: [(&str, usize, &str); 8] = [
    ("huggingface/peft@", 45, "sequence lengths vary or are not printed; methods other than LoRA"),
    ("fms-acceleration", 19, "Granite models with padded samples, or of a network that is not public"),
    ("LLaMA-Factory", 18, "rules of thumb, not measured"),
    ("pytorch/ao", 11, "sequence length not printed, or a vision model"),
    ("QwenLM", 9, "sums over GPUs, or a network that is not named"),
    ("Megatron-Bridge", 9, "micro-batch or recomputed modules not printed"),
    ("fsdp_qlora", 5, "GPUs without a preset here"),
    ("https:", 24, "batch or lengths not printed, captions of pictures, capacities"),
];
