//! Sources of published rows: the lines of a table that belong to each, and the measured quantity. The Run of a line
//! stands in its column `run`.

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

/// The measured quantity, and its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// TFLOP/s a GPU as tables 3 and 4 of Fujii 2024 count, or OOM: a step time, and a verdict.
    FujiiTflops,
    StepSeconds,
    /// Tokens a second and GPU: seconds a step.
    TokensPerGpu,
    /// GiB that PyTorch allocated on the fullest rank.
    Allocated,
    /// The same on the last rank.
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
    pub enum Kind: words {
        /// Constants were fitted to it, or chosen with it in view.
        Fitted = "used for fitting",
        /// Held to, no constant fitted.
        Held = "test set",
        /// Only shown.
        Shown = "shown only",
    }
}

/// Rows of one table that say the same things.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Name on the page.
    pub name: &'static str,
    /// Use that was made of it.
    pub kind: Kind,
    /// The table.
    pub file: &'static str,
    /// Columns and what they must contain; `=` in front: be.
    pub only: &'static [(&'static str, &'static str)],
    /// Columns and what they must not contain.
    pub without: &'static [(&'static str, &'static str)],
    /// The measured quantity.
    pub quantity: Quantity,
    /// The software stacks of its Runs, by their ids.
    pub stack: &'static str,
    /// Template of a row's label.
    pub label: &'static str,
}

impl Source {
    /// Holds rows of `file`: tables of throughput are one.
    pub fn reads(&self, file: &str) -> bool {
        self.file == file || self.file == THROUGHPUT && ["throughput_2.csv", "throughput_3.csv"].contains(&file)
    }
}

/// A row of [`SOURCES`], most of which have nothing to leave out.
const fn source(
    name: &'static str,
    kind: Kind,
    file: &'static str,
    only: &'static [(&'static str, &'static str)],
    quantity: Quantity,
    stack: &'static str,
    label: &'static str,
) -> Source {
    Source { name, kind, file, only, without: &[], quantity, stack, label }
}

const FUJII: &str = "fujii_measured.csv";
const THROUGHPUT: &str = "throughput.csv";
const MEMORY: &str = "measured_memory.csv";
const SIMUMAX: &str = "simumax_b200.csv";
/// The table of measured fine-tuning.
pub const TUNED: &str = "finetune_measured.csv";
const MLPERF: &str = "mlperf.csv";
const FMS: &str = "fms-acceleration";

/// Labels of rows of the throughput table.
const LAYOUT: &str = "{model} on {gpus} {gpu_type}, s {seq}, b {mbs|?}, tp {tp|1} pp {pp|1} {recompute|}";
/// Labels of rows of NVIDIA's performance summaries.
const PRECISE: &str = "{model} {precision} on {gpus} {gpu_type}, tp {tp|1} pp {pp|1} cp {cp|1} ep {ep|1}";

/// Labels of fine-tuning rows.
const TUNED_LABEL: &str = "{model}, {method}, {framework}, {gpus} GPUs, b {micro_batch}";

/// All sources, those that constants were fitted to first.
#[rustfmt::skip]
pub static SOURCES: &[Source] = &[
    // Fujii 2024: four 200 Gbit/s cards a node, 12.5 GB/s a GPU with eight GPUs a node and 25 with four. Nanoseconds of
    // the data loader: the largest that no step of table 3 contradicts for the A100 host. No step of table 4 is bound by
    // its loader, but the coupling feels it: the H100 host's is chosen for the smallest error (1.9, which another survey
    // inferred, gives 4.6 % on table 4 instead of 4.0).
    source("Fujii 2024, table 3 (A100 40 GB)", Kind::Fitted, FUJII, &[("table", "=3")], Quantity::FujiiTflops,
        "megatron-2024", "tp {tp} cp {cp} pp {pp} b {micro_batch} on {gpus}"),
    source("Fujii 2024, table 4 (H100 94 GB)", Kind::Fitted, FUJII, &[("table", "=4")], Quantity::FujiiTflops,
        "megatron-2024", "tp {tp} cp {cp} pp {pp} b {micro_batch} on {gpus}"),
    // FSDP with bf16 gradients; MPT runs without dropout.
    source("llm-foundry, MPT on A100", Kind::Fitted, THROUGHPUT, &[("source", "llm-foundry"), ("held", "=yes"), ("gpu_type", "a100")], Quantity::StepSeconds,
        "composer-2023", LAYOUT),
    source("llm-foundry, MPT on H100", Kind::Fitted, THROUGHPUT, &[("source", "llm-foundry"), ("held", "=yes"), ("gpu_type", "h100")], Quantity::StepSeconds,
        "composer-2023", LAYOUT),
    // Megatron with sequence parallelism; the table names Transformer Engine as its software, which picks cuDNN's kernel.
    source("SimuMax, Llama on B200", Kind::Fitted, THROUGHPUT, &[("source", "SimuMax"), ("held", "=yes")], Quantity::StepSeconds,
        "megatron-2024", LAYOUT),
    // Jean Zay: four 100 Gbit/s cards for eight GPUs, "NVLink 4 inter-gpu connects" of the twelve of an A100 (BLOOM's model
    // card): 100 GB/s. Its fork of Megatron-DeepSpeed, like Megatron of 2021, had neither
    // FlashAttention nor overlapped gradients or tensor-parallel reductions.
    source("BLOOM candidates, 176B to 203B on A100", Kind::Fitted, THROUGHPUT, &[("source", "bigscience"), ("held", "=yes")], Quantity::StepSeconds,
        "megatron-2021", LAYOUT),
    source("Narayanan 2021, GPT on A100", Kind::Fitted, THROUGHPUT, &[("source", "images/cases_april2021"), ("held", "=yes")], Quantity::StepSeconds,
        "megatron-2021", LAYOUT),
    source("Korthikanti 2022, GPT on A100", Kind::Fitted, THROUGHPUT, &[("source", "calculon"), ("held", "=yes")], Quantity::StepSeconds,
        "megatron-2021", LAYOUT),
    // Outside the fit; the dense ones were in view when Hopper's GEMM share and the contention were chosen.
    source("InternEvo, InternLM-7B on A100", Kind::Held, THROUGHPUT, &[("source", "InternEvo"), ("model", "InternLM-7B"), ("experts", "=")], Quantity::TokensPerGpu,
        "megatron-2024", LAYOUT),
    source("NVIDIA dgxc, Llama 3.1 405B on H100", Kind::Held, THROUGHPUT, &[("source", "v24.11.1:llama3.1/README_405b"), ("model", "405B")], Quantity::TokensPerGpu,
        "megatron-2025", PRECISE),
    source("NVIDIA dgxc, Llama 3.1 70B on H100", Kind::Held, THROUGHPUT, &[("source", "v24.11.1:llama3.1/README_70b"), ("model", "70B")], Quantity::TokensPerGpu,
        "megatron-2025", PRECISE),
    source("NVIDIA dgxc, Llama 3.1 8B on H100", Kind::Held, THROUGHPUT, &[("source", "v25.02:llama3.1/README_8b"), ("model", "8B")], Quantity::TokensPerGpu,
        "megatron-2025", PRECISE),
    // The same runs a release later.
    source("NVIDIA dgxc 25.02, Llama 3.1 405B on H100", Kind::Held, THROUGHPUT, &[("source", "v25.02:llama3.1/README_405b"), ("model", "405B")], Quantity::TokensPerGpu,
        "megatron-2025", PRECISE),
    source("NVIDIA dgxc, Nemotron-4 15B on H100", Kind::Held, THROUGHPUT, &[("source", "v24.11.1:nemotron/README_15b")], Quantity::TokensPerGpu,
        "megatron-2025", PRECISE),
    // Routed experts: no constant was fitted to them.
    Source {
        without: &[("experts", "=")],
        ..source("SimuMax, DeepSeek-V2 layers on B200", Kind::Held, THROUGHPUT, &[("source", "SimuMax"), ("model", "deepseek-v2")], Quantity::TokensPerGpu,
            "megatron-2024", PRECISE)
    },
    Source {
        without: &[("experts", "=")],
        ..source("SimuMax, DeepSeek-V3 layers on B200", Kind::Held, THROUGHPUT, &[("source", "SimuMax"), ("model", "deepseek-v3")], Quantity::TokensPerGpu,
            "megatron-2024", PRECISE)
    },
    source("NVIDIA dgxc 25.02, Llama 3.1 70B on H100", Kind::Held, THROUGHPUT, &[("source", "v25.02:llama3.1/README_70b"), ("model", "70B")], Quantity::TokensPerGpu,
        "megatron-2025", PRECISE),
    source("NVIDIA dgxc 24.11, Llama 3.1 8B on H100", Kind::Held, THROUGHPUT, &[("source", "v24.11.1:llama3.1/README_8b"), ("model", "8B")], Quantity::TokensPerGpu,
        "nemo-2024", PRECISE),
    source("NVIDIA dgxc, GPT-3 175B on H100", Kind::Held, THROUGHPUT, &[("source", "nemo_megatron/README_175b")], Quantity::TokensPerGpu,
        "megatron-2025", PRECISE),
    source("NVIDIA dgxc, Nemotron-4 340B on H100", Kind::Held, THROUGHPUT, &[("source", "nemotron/README_340b")], Quantity::TokensPerGpu,
        "megatron-2025", PRECISE),
    source("NVIDIA dgxc, PaxML GPT-3 on H100", Kind::Held, THROUGHPUT, &[("source", "paxml/README")], Quantity::TokensPerGpu,
        "paxml", PRECISE),
    source("NeMo 24.07 on H100", Kind::Held, THROUGHPUT, &[("source", "NeMo 24.07")], Quantity::TokensPerGpu,
        "nemo-2024", PRECISE),
    source("Megatron-MoE-ModelZoo, Qwen3-235B on H100", Kind::Held, THROUGHPUT, &[("source", "ModelZoo"), ("gpu_type", "H100")], Quantity::TokensPerGpu,
        "megatron-2025", PRECISE),
    // NVIDIA's summaries of Megatron-Bridge and before it NeMo, release by release.
    source("Megatron-Bridge, Llama 3 8B", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "=LLAMA3_8B")], Quantity::TokensPerGpu,
        "megatron-2025, megatron-2026", PRECISE),
    source("Megatron-Bridge, Llama 3 70B", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "=LLAMA3_70B")], Quantity::TokensPerGpu,
        "megatron-2025, megatron-2026", PRECISE),
    source("Megatron-Bridge, Llama 3.1 405B", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "=LLAMA3.1_405B")], Quantity::TokensPerGpu,
        "megatron-2025, megatron-2026", PRECISE),
    Source {
        without: &[("experts", "=")],
        ..source("Megatron-Bridge, DeepSeek-V3", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "DeepSeekV3")], Quantity::TokensPerGpu,
            "megatron-2025, megatron-2026", PRECISE)
    },
    Source {
        without: &[("experts", "=")],
        ..source("Megatron-Bridge, Qwen3-235B", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "Qwen3_235B")], Quantity::TokensPerGpu,
            "megatron-2025, megatron-2026", PRECISE)
    },
    source("Megatron-Bridge, Qwen3-30B", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "Qwen3_30B")], Quantity::TokensPerGpu,
        "megatron-2025, megatron-2026", PRECISE),
    Source {
        without: &[("notes", "a regression by its own footnote")],
        ..source("Megatron-Bridge, gpt-oss 120B", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "GPT OSS 120B")], Quantity::TokensPerGpu,
            "megatron-2025, megatron-2026", PRECISE)
    },
    source("Megatron-Bridge, Kimi K2", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "Kimi_K2")], Quantity::TokensPerGpu,
        "megatron-2025, megatron-2026", PRECISE),
    source("Megatron-Bridge, Nemotron 3 Nano", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "Nemotron_3_Nano")], Quantity::TokensPerGpu,
        "megatron-2025, megatron-2026", PRECISE),
    source("Megatron-Bridge, Nemotron 3 Super", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "Nemotron_3_Super")], Quantity::TokensPerGpu,
        "megatron-2025, megatron-2026", PRECISE),
    source("Megatron-Bridge, Nemotron 3 Ultra", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "Nemotron_3_Ultra")], Quantity::TokensPerGpu,
        "megatron-2025, megatron-2026", PRECISE),
    source("Automodel, DeepSeek-V3 on H100", Kind::Shown, THROUGHPUT, &[("source", "Automodel"), ("model", "DeepSeek V3")], Quantity::TokensPerGpu,
        "fsdp2", PRECISE),
    source("Automodel, Kimi K2 on H100", Kind::Shown, THROUGHPUT, &[("source", "Automodel"), ("model", "Kimi K2")], Quantity::TokensPerGpu,
        "fsdp2", PRECISE),
    source("Automodel, Llama 3 70B on H100", Kind::Shown, THROUGHPUT, &[("source", "Automodel"), ("model", "Llama3 70B")], Quantity::TokensPerGpu,
        "fsdp2", PRECISE),
    // A local batch is cut into as many micro-batches as there are stages.
    source("torchtitan, Llama 3.1 405B on H100", Kind::Shown, THROUGHPUT, &[("source", "torchtitan"), ("model", "405B")], Quantity::TokensPerGpu,
        "torchtitan", PRECISE),
    Source {
        without: &[("precision", "rowwise")],
        ..source("torchtitan, async TP on H100", Kind::Shown, THROUGHPUT, &[("source", "asyncTP")], Quantity::TokensPerGpu,
            "torchtitan", PRECISE)
    },
    source("torchtitan, Llama 3.1 8B on H200", Kind::Shown, THROUGHPUT, &[("source", "torchtitan"), ("model", "8B"), ("gpu_type", "H200")], Quantity::TokensPerGpu,
        "torchtitan", PRECISE),
    source("fms-fsdp, Llama 2", Kind::Shown, THROUGHPUT, &[("source", "fms-fsdp"), ("recompute", "none")], Quantity::TokensPerGpu,
        "torchtitan", LAYOUT),
    // No constant was fitted to them. What the configurations leave open: `src/core/run/presets/mlperf.rs`.
    source("MLPerf Training, Llama 3.1 405B", Kind::Held, MLPERF, &[("name", "405B")], Quantity::StepSeconds, "megatron-2025", "{name}"),
    source("MLPerf Training, Llama 3.1 8B", Kind::Held, MLPERF, &[("name", "8B")], Quantity::StepSeconds, "megatron-2025", "{name}"),
    source("MLPerf Training, LoRA of Llama 2 70B", Kind::Held, MLPERF, &[("name", "LoRA")], Quantity::StepSeconds,
        "nemo-2024, megatron-2025", "{name}"),
    source("Uneven PP note, vision-language on H20", Kind::Shown, "uneven_pp_h20.csv", &[], Quantity::StepSeconds,
        "megatron-2024", "{first} and {second} layers on the two ranks"),
    // Memory.
    source("SimuMax peaks, Llama on B200", Kind::Held, SIMUMAX, &[("model", "llama")], Quantity::Allocated,
        "megatron-2024", "{layers} layers, tp {tp} pp {pp} cp {cp} s {seq}"),
    source("SimuMax peaks, DeepSeek-V2 on B200", Kind::Held, SIMUMAX, &[("model", "deepseek-v2")], Quantity::Allocated,
        "megatron-2024", "{layers} layers, tp {tp} pp {pp} ep {ep} s {seq}"),
    source("SimuMax peaks, DeepSeek-V3 on B200", Kind::Held, SIMUMAX, &[("model", "deepseek-v3")], Quantity::Allocated,
        "megatron-2024", "{layers} layers, tp {tp} pp {pp} ep {ep} s {seq}"),
    source("Megatron-LM's functional tests, GPT-7B", Kind::Held, MEMORY, &[("source", "/gpt3_7b_")], Quantity::AllocatedLast,
        "megatron-2024", "{model} on {gpu_type}, tp {tp} pp {pp}"),
    source("Megatron-LM, golden peaks of its tests", Kind::Held, "megatron_golden.csv", &[("left_out", "=")], Quantity::AllocatedLast,
        "megatron-2025", "{case} on {gpu_type}"),
    Source {
        without: &[("source", "trainy")],
        ..source("torchtitan, Llama on H100", Kind::Held, MEMORY, &[("source", "torchtitan:")], Quantity::Reserved,
            "megatron-2025, megatron-2026", "{model} on {gpus}, {notes}")
    },
    source("PyTorch issue 129721, Llama 8B on H100", Kind::Held, MEMORY, &[("source", "PR 132445")], Quantity::Reserved,
        "megatron-2025, megatron-2026", "{model} on {gpus}, {notes}"),
    source("Trainy, Llama 8B on H200", Kind::Shown, MEMORY, &[("source", "trainy")], Quantity::Reserved,
        "megatron-2025, megatron-2026", "{model} on {gpus}, {notes}"),
    // Fine-tuning. Bytes a logit of each kernel were read off these slopes. Samples without padding have no stated longest
    // micro-batch: their steady memory and throughput count, the peaks of adapters do not, those of full fine-tuning, which
    // hardly depend on it, do.
    source("fms-acceleration, adapters between steps", Kind::Fitted, TUNED, &[("source", FMS), ("method", "lora")], Quantity::Steady,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("fms-acceleration, full fine-tuning between steps", Kind::Fitted, TUNED, &[("source", FMS), ("method", "=full")], Quantity::Steady,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("fms-acceleration, peaks of adapters on one GPU", Kind::Fitted, TUNED, &[("source", FMS), ("method", "lora"), ("seq", "packed"), ("gpus", "=1")], Quantity::Allocated,
        "hf-trainer, hf-fused", TUNED_LABEL),
    Source {
        without: &[("gpus", "=1")],
        ..source("fms-acceleration, peaks of adapters on several GPUs", Kind::Fitted, TUNED, &[("source", FMS), ("method", "lora"), ("seq", "packed")], Quantity::Allocated,
            "hf-trainer, hf-fused", TUNED_LABEL)
    },
    source("fms-acceleration, peaks of full fine-tuning", Kind::Fitted, TUNED, &[("source", FMS), ("method", "=full")], Quantity::Allocated,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("fms-acceleration, adapters that ran out", Kind::Held, TUNED, &[("source", FMS), ("method", "lora"), ("seq", "packed"), ("outcome", "OOM")], Quantity::Outcome,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("fms-acceleration, speed of adapters", Kind::Held, TUNED, &[("source", FMS), ("method", "lora"), ("seq", "packed")], Quantity::TokensPerGpu,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("fms-acceleration, speed of adapters on short samples", Kind::Held, TUNED, &[("source", FMS), ("method", "lora"), ("seq", "avg")], Quantity::TokensPerGpu,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("fms-acceleration, speed of full fine-tuning", Kind::Shown, TUNED, &[("source", FMS), ("method", "=full"), ("model", "Mistral")], Quantity::TokensPerGpu,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("fms-acceleration, speed of Granite's experts", Kind::Shown, TUNED, &[("source", FMS), ("model", "granite-3.0"), ("framework", "padding-free")], Quantity::TokensPerGpu,
        "hf-trainer, hf-fused", TUNED_LABEL),
    // Not in view of any constant; kinds of peaks that are not what PyTorch allocated are shown only.
    source("Automodel, full fine-tuning of Llama 3.2 1B", Kind::Held, TUNED, &[("source", "Automodel"), ("method", "=full")], Quantity::Allocated,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("Automodel, speed of LoRA", Kind::Held, TUNED, &[("source", "Automodel"), ("method", "=lora")], Quantity::TokensPerGpu,
        "hf-fused, torchtitan", TUNED_LABEL),
    source("torchtune, LoRA of Llama 3.1 70B", Kind::Shown, TUNED, &[("source", "torchtune"), ("method", "=lora")], Quantity::Allocated,
        "torchtune", TUNED_LABEL),
    source("torchtune, full fine-tuning of Llama 3.1 70B", Kind::Shown, TUNED, &[("source", "torchtune"), ("method", "=full"), ("framework", "torchtune"), ("model", "70B")], Quantity::Allocated,
        "torchtune", TUNED_LABEL),
    source("torchtune, speed of LoRA of Llama 3.1 70B", Kind::Held, TUNED, &[("source", "torchtune"), ("method", "=lora")], Quantity::TokensPerGpu,
        "torchtune", TUNED_LABEL),
    source("Qwen, LoRA", Kind::Shown, TUNED, &[("source", "QwenLM"), ("method", "=lora")], Quantity::Reserved,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("Qwen, LoRA with embedding and head", Kind::Shown, TUNED, &[("source", "QwenLM"), ("method", "=lora+emb")], Quantity::Reserved,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("Qwen, Q-LoRA", Kind::Shown, TUNED, &[("source", "QwenLM"), ("method", "gptq")], Quantity::Reserved,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("Qwen, speed of LoRA", Kind::Held, TUNED, &[("source", "QwenLM"), ("method", "=lora")], Quantity::TokensPerGpu,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("Qwen, speed of LoRA with embedding and head", Kind::Held, TUNED, &[("source", "QwenLM"), ("method", "=lora+emb")], Quantity::TokensPerGpu,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("Qwen, speed of Q-LoRA", Kind::Held, TUNED, &[("source", "QwenLM"), ("method", "gptq")], Quantity::TokensPerGpu,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("fsdp_qlora, QLoRA", Kind::Shown, TUNED, &[("source", "fsdp_qlora"), ("method", "qlora"), ("gpu", "RTX")], Quantity::Reserved,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("fsdp_qlora, LoRA", Kind::Shown, TUNED, &[("source", "fsdp_qlora"), ("method", "=lora"), ("gpu", "RTX")], Quantity::Reserved,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("fsdp_qlora, speed on RTX 4090", Kind::Held, TUNED, &[("source", "fsdp_qlora"), ("gpu", "RTX 4090")], Quantity::TokensPerGpu,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("fsdp_qlora, speed on data-centre GPUs", Kind::Held, TUNED, &[("source", "fsdp_qlora"), ("gpu", "00")], Quantity::TokensPerGpu,
        "hf-trainer, hf-fused", TUNED_LABEL),
    source("Megatron-Bridge, LoRA of Llama 3 70B", Kind::Held, TUNED, &[("source", "Megatron-Bridge"), ("method", "=lora"), ("model", "Llama 3 70B")], Quantity::TokensPerGpu,
        "megatron-2025", TUNED_LABEL),
    source("Megatron-Bridge, full fine-tuning of Llama 3 70B", Kind::Held, TUNED, &[("source", "performance-summary-archive"), ("method", "=full")], Quantity::TokensPerGpu,
        "megatron-2025", TUNED_LABEL),
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
