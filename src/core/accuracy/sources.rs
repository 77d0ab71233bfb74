//! Which published rows become which Runs.

/// The tables, by the name of their file in `data/` beside the page.
pub const FILES: &[&str] = &[
    "fujii_measured.csv",
    "throughput.csv",
    "throughput_2.csv",
    "throughput_3.csv",
    "measured_memory.csv",
    "simumax_b200.csv",
    "uneven_pp_h20.csv",
    "megatron_golden.csv",
    "finetune_measured.csv",
];

/// The measured quantity, and its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// TFLOP/s a GPU as tables 3 and 4 of Fujii 2024 count, or OOM: a step time, and a verdict.
    FujiiTflops,
    /// Seconds a step.
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

/// Use that was made of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Constants were fitted to it, or chosen with it in view.
    Fitted,
    /// Held to, no constant fitted.
    Held,
    /// Only shown.
    Shown,
}

impl Kind {
    /// Its name on the page.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Fitted => "used for fitting",
            Self::Held => "test set",
            Self::Shown => "shown only",
        }
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
    /// The Run, see `template.rs`.
    pub run: &'static str,
    /// Template of a row's label.
    pub label: &'static str,
}

impl Source {
    /// Holds rows of `file`: tables of throughput are one.
    #[must_use]
    pub fn reads(&self, file: &str) -> bool {
        self.file == file || self.file == THROUGHPUT && ["throughput_2.csv", "throughput_3.csv"].contains(&file)
    }

    /// The software stack of its Runs, by its id; by release where a source has several.
    #[must_use]
    pub fn stack(&self) -> &'static str {
        let said = self.run.split('&').find_map(|pair| {
            let (key, value) = pair.trim().split_once('=')?;
            matches!(key, "stack" | "stack.base").then_some(value)
        });
        match said {
            Some("{tuned_hf_stack}") => "hf-trainer, hf-fused",
            Some("{tuned_automodel}") => "hf-fused, torchtitan",
            Some(id) if !id.starts_with('{') => id,
            _ => "megatron-2025, megatron-2026",
        }
    }
}

/// A row of [`SOURCES`], most of which have nothing to leave out.
const fn source(
    name: &'static str,
    kind: Kind,
    file: &'static str,
    only: &'static [(&'static str, &'static str)],
    quantity: Quantity,
    run: &'static str,
    label: &'static str,
) -> Source {
    Source { name, kind, file, only, without: &[], quantity, run, label }
}

const FUJII: &str = "fujii_measured.csv";
const THROUGHPUT: &str = "throughput.csv";
const MEMORY: &str = "measured_memory.csv";
const SIMUMAX: &str = "simumax_b200.csv";
const TUNED: &str = "finetune_measured.csv";
const FMS: &str = "fms-acceleration";

/// Labels of rows of the throughput table.
const LAYOUT: &str = "{model} on {gpus} {gpu_type}, s {seq}, b {mbs|?}, tp {tp|1} pp {pp|1} {recompute|}";
/// Labels of rows of NVIDIA's performance summaries.
const PRECISE: &str = "{model} {precision} on {gpus} {gpu_type}, tp {tp|1} pp {pp|1} cp {cp|1} ep {ep|1}";

/// Shapes and sizes that the held rows share.
macro_rules! gpt {
    ($more:literal) => {
        concat!(
            "model.layers={layers}&model.hidden={hidden}&model.ffn={wide}&model.heads={heads}",
            "&model.kv_heads={kv_heads|@heads}&model.vocab={vocab}&model.norm={norm}&model.biases=none&gpu.base={gpu_id}",
            "&gpus={gpus}&tp={tp|1}&pp={pp|1}&cp={cp|1}&schedule={schedule}&virtual_stages={chunks}",
            "&seq_len={seq}&micro_batch={mbs}&global_batch={gbs}&recompute={recompute|none}&zero={zero_stage}&",
            $more
        )
    };
}

/// Settings that the rows outside the fit share: everything but model and GPU.
macro_rules! outside {
    ($more:literal) => {
        concat!(
            $more,
            "&gpus={gpus}&tp={tp}&pp={pp|1}&cp={cp|1}&ep={ep|1}&schedule={schedule}&virtual_stages={chunks}",
            "&seq_len={seq}&micro_batch={mbs}&global_batch={gbs}&recompute={recompute|none}&zero={zero_stage}",
            "&hsdp_shard={shard|}&precision={policy}&{recipe|}"
        )
    };
}

/// Torchtitan's FSDP, whose H100 have 96 GiB; a local batch is cut into as many micro-batches as there are stages.
const TORCHTITAN: &str = "stack={titan}&model={id}&gpu=h100-sxm-96gb&gpus={gpus}&tp={tp}&pp={pp}&schedule={schedule}&virtual_stages={chunks}\
    &zero=3&precision=fsdp-mixed&recompute={first_word}&seq_len={seq}&micro_batch={local}&global_batch={local_batch}";

/// Hugging Face Trainer and what is built like it, one GPU or FSDP.
const HF_RUN: &str = "stack={tuned_hf_stack}&{tuned_model}&gpu={tuned_gpu_label}&gpus={gpus}&tp=1&pp=1&zero={tuned_fsdp_zero}&sequence_parallel=false\
    &precision={tuned_precision}&cross_entropy={tuned_hf_loss}&fused_swiglu={tuned_swiglu|}&recompute={tuned_recompute}&seq_len={tokens}&micro_batch={micro_batch}&global_batch={tuned_batch}\
    &ep={tuned_ep|1}&adapter.method={tuned_method|}&adapter.base={tuned_base|}&adapter.rank={tuned_rank|}&adapter.targets={tuned_targets|}&adapter.sharded={tuned_sharded|}&adapter.upcast={tuned_upcast|}\
    &adapter.modules_to_save={tuned_saved|}&adapter.dtype={tuned_dtype|}&offload.parameters={tuned_offload|}&host_memory_gib=2048";
/// torchtune's 70B recipe: FSDP2, compiled, two sequences a GPU.
const TORCHTUNE_RUN: &str = "stack=torchtune&cross_entropy=chunked&offload.parameters={tuned_offload|}&host_memory_gib=2048&{tuned_model}&gpu={tuned_gpu_label}&gpus={gpus}&tp=1&pp=1&zero=3&sequence_parallel=false&precision=bf16-pure\
    &recompute=full&seq_len={tokens}&micro_batch={micro_batch}&global_batch={tuned_batch}&adapter.method={tuned_method|}&adapter.rank={tuned_rank|}&adapter.targets={tuned_targets|}";
/// Megatron-Bridge's recipes: 32 sequences a step; those of LoRA recompute a layer of the 20 to 40 of a rank, left out here.
const BRIDGE_RUN: &str = "stack=megatron-2025&{tuned_model}&gpu={tuned_gpu_label}&gpus={gpus}&tp={tuned_part_tp}&pp={tuned_part_pp}&schedule=interleaved-1f1b&virtual_stages={tuned_part_vp}\
    &precision={tuned_bridge_precision}&seq_len={seq}&micro_batch={micro_batch}&global_batch=32\
    &adapter.method={tuned_method|}&adapter.rank={tuned_rank|}&adapter.targets={tuned_targets|}";
/// Automodel's recipes of LoRA: 32 sequences a step.
const AUTOMODEL_RUN: &str = "stack={tuned_automodel}&{tuned_model}&gpu={tuned_gpu_label}&gpus={gpus}&tp={tuned_part_tp}&pp=1&precision=bf16&cross_entropy=megatron\
    &seq_len={seq}&micro_batch={micro_batch}&global_batch=32&adapter.method={tuned_method}&adapter.rank={tuned_rank}&adapter.targets={tuned_targets|}";
/// Labels of fine-tuning rows.
const TUNED_LABEL: &str = "{model}, {method}, {framework}, {gpus} GPUs, b {micro_batch}";

/// `SimuMax`'s Megatron-LM: fused cross-entropy, Transformer Engine, four micro-batches.
macro_rules! simumax {
    ($($model:tt)+) => {
        concat!(
            $($model)+,
            "&stack.base=megatron-2024&stack.attention=cudnn&gpu=b200-sxm&gpus=8&tp={tp}&pp={pp}&cp={cp}&ep={ep}&cp_comm=ulysses&seq_len={seq}&micro_batch=1",
            "&cross_entropy=te-fused&dummy_wgrad=true&capacity_factor=1&global_batch={four_dp}"
        )
    };
}

/// DeepSeek-V2 and V3 cut to a few layers, one of them dense.
macro_rules! deepseek {
    ($shape:literal) => {
        concat!(
            "model.layers={layers}&model.heads=128&model.head_dim=128&model.moe.dense_layers=1",
            "&model.mla.q_lora_rank=1536&model.mla.kv_lora_rank=512&model.mla.qk_nope_head_dim=128",
            "&model.mla.qk_rope_head_dim=64&model.mla.v_head_dim=128",
            $shape
        )
    };
}

/// All sources, those that constants were fitted to first.
#[rustfmt::skip]
pub static SOURCES: &[Source] = &[
    // Fujii 2024: four 200 Gbit/s cards a node, 12.5 GB/s a GPU with eight GPUs a node and 25 with four. Nanoseconds of
    // the data loader: the largest that no step of table 3 contradicts for the A100 host. No step of table 4 is bound by
    // its loader, but the coupling feels it: the H100 host's is chosen for the smallest error (1.9, which another survey
    // inferred, gives 4.6 % on table 4 instead of 4.0).
    source("Fujii 2024, table 3 (A100 40 GB)", Kind::Fitted, FUJII, &[("table", "=3")], Quantity::FujiiTflops,
        "stack=megatron-2024&model={model}&gpu.base={gpu}&gpu.inter_gb_per_s=12.5&gpus={gpus}&tp={tp}&cp={cp}&pp={pp}&micro_batch={micro_batch}&seq_len={seq_len}&global_batch=1024&loader_ns=2.75",
        "tp {tp} cp {cp} pp {pp} b {micro_batch} on {gpus}"),
    source("Fujii 2024, table 4 (H100 94 GB)", Kind::Fitted, FUJII, &[("table", "=4")], Quantity::FujiiTflops,
        "stack=megatron-2024&model={model}&gpu.base={gpu}&gpu.inter_gb_per_s=25&gpus={gpus}&tp={tp}&cp={cp}&pp={pp}&micro_batch={micro_batch}&seq_len={seq_len}&global_batch=1024&loader_ns=3",
        "tp {tp} cp {cp} pp {pp} b {micro_batch} on {gpus}"),
    // FSDP with bf16 gradients; MPT runs without dropout.
    source("llm-foundry, MPT on A100", Kind::Fitted, THROUGHPUT, &[("source", "llm-foundry"), ("held", "=yes"), ("gpu_type", "a100")], Quantity::StepSeconds,
        gpt!("model.gated_ffn=false&model.tied_embeddings=true&model.dropout=false&gpu.inter_gb_per_s=25&sequence_parallel=false&precision=bf16&stack=composer-2023"), LAYOUT),
    source("llm-foundry, MPT on H100", Kind::Fitted, THROUGHPUT, &[("source", "llm-foundry"), ("held", "=yes"), ("gpu_type", "h100")], Quantity::StepSeconds,
        gpt!("model.gated_ffn=false&model.tied_embeddings=true&model.dropout=false&gpu.inter_gb_per_s=50&sequence_parallel=false&precision=bf16&stack=composer-2023"), LAYOUT),
    // Megatron with sequence parallelism; the table names Transformer Engine as its software, which picks cuDNN's kernel.
    source("SimuMax, Llama on B200", Kind::Fitted, THROUGHPUT, &[("source", "SimuMax"), ("held", "=yes")], Quantity::StepSeconds,
        gpt!("model.gated_ffn=true&model.tied_embeddings=false&model.dropout=false&gpu.inter_gb_per_s=50&sequence_parallel=true&precision=bf16-fp32-grads&stack.base=megatron-2024&stack.attention=cudnn"), LAYOUT),
    // Jean Zay: four 100 Gbit/s cards for eight GPUs, "NVLink 4 inter-gpu connects" of the twelve of an A100 (BLOOM's model
    // card): 100 GB/s. Its fork of Megatron-DeepSpeed, like Megatron of 2021, had neither
    // FlashAttention nor overlapped gradients or tensor-parallel reductions.
    source("BLOOM candidates, 176B to 203B on A100", Kind::Fitted, THROUGHPUT, &[("source", "bigscience"), ("held", "=yes")], Quantity::StepSeconds,
        gpt!("model.gated_ffn=false&model.tied_embeddings=true&model.dropout=false&gpu.inter_gb_per_s=6.25&gpu.intra_gb_per_s=100&sequence_parallel=false&precision=bf16-fp32-grads&stack=megatron-2021"), LAYOUT),
    source("Narayanan 2021, GPT on A100", Kind::Fitted, THROUGHPUT, &[("source", "images/cases_april2021"), ("held", "=yes")], Quantity::StepSeconds,
        gpt!("model.gated_ffn=false&model.tied_embeddings=true&model.dropout=true&gpu.inter_gb_per_s=25&sequence_parallel={sp}&precision=bf16-fp32-grads&stack=megatron-2021"), LAYOUT),
    source("Korthikanti 2022, GPT on A100", Kind::Fitted, THROUGHPUT, &[("source", "calculon"), ("held", "=yes")], Quantity::StepSeconds,
        gpt!("model.gated_ffn=false&model.tied_embeddings=true&model.dropout=true&gpu.inter_gb_per_s=25&sequence_parallel={sp}&precision=bf16-fp32-grads&stack=megatron-2021&overlap.dp=0.8&overlap.tp=0.3"), LAYOUT),
    // Outside the fit; the dense ones were in view when Hopper's GEMM share and the contention were chosen.
    source("InternEvo, InternLM-7B on A100", Kind::Held, THROUGHPUT, &[("source", "InternEvo"), ("model", "InternLM-7B"), ("experts", "=")], Quantity::TokensPerGpu,
        outside!("model.layers=32&model.hidden=4096&model.ffn=11008&model.heads=32&model.kv_heads=32&model.vocab=103168&model.gated_ffn=true&model.tied_embeddings=false&model.norm=rmsnorm&model.biases=none&model.dropout=false&gpu.base=a100-sxm-80gb&gpu.inter_gb_per_s=6.25&sequence_parallel=false&stack=megatron-2024"), LAYOUT),
    source("NVIDIA dgxc, Llama 3.1 405B on H100", Kind::Held, THROUGHPUT, &[("source", "v24.11.1:llama3.1/README_405b"), ("model", "405B")], Quantity::TokensPerGpu,
        outside!("model.base=llama-3.1-405b&model.layers={layers|}&gpu=h100-sxm-80gb&stack=megatron-2025"), PRECISE),
    source("NVIDIA dgxc, Llama 3.1 70B on H100", Kind::Held, THROUGHPUT, &[("source", "v24.11.1:llama3.1/README_70b"), ("model", "70B")], Quantity::TokensPerGpu,
        outside!("model.base=llama-3.1-70b&model.layers={layers|}&gpu=h100-sxm-80gb&stack=megatron-2025"), PRECISE),
    source("NVIDIA dgxc, Llama 3.1 8B on H100", Kind::Held, THROUGHPUT, &[("source", "v25.02:llama3.1/README_8b"), ("model", "8B")], Quantity::TokensPerGpu,
        outside!("model.base=llama-3.1-8b&model.layers={layers|}&gpu=h100-sxm-80gb&stack=megatron-2025"), PRECISE),
    // The same runs a release later.
    source("NVIDIA dgxc 25.02, Llama 3.1 405B on H100", Kind::Held, THROUGHPUT, &[("source", "v25.02:llama3.1/README_405b"), ("model", "405B")], Quantity::TokensPerGpu,
        outside!("model.base=llama-3.1-405b&model.layers={layers|}&gpu=h100-sxm-80gb&stack=megatron-2025"), PRECISE),
    source("NVIDIA dgxc, Nemotron-4 15B on H100", Kind::Held, THROUGHPUT, &[("source", "v24.11.1:nemotron/README_15b")], Quantity::TokensPerGpu,
        outside!("model.layers=32&model.hidden=6144&model.ffn=24576&model.heads=48&model.kv_heads=8&model.head_dim=128&model.vocab=256000&model.gated_ffn=false&model.tied_embeddings=false&model.norm=layernorm&model.biases=none&model.dropout=false&gpu=h100-sxm-80gb&stack=megatron-2025"), PRECISE),
    // Routed experts: no constant was fitted to them.
    Source {
        without: &[("experts", "=")],
        ..source("SimuMax, DeepSeek-V2 layers on B200", Kind::Held, THROUGHPUT, &[("source", "SimuMax"), ("model", "deepseek-v2")], Quantity::TokensPerGpu,
            outside!("model.base=deepseek-v3&model.layers=4&model.hidden=5120&model.ffn=12288&model.vocab=102400&model.mtp_modules=0&model.moe.experts=160&model.moe.top_k=6&model.moe.expert_ffn=1536&model.moe.shared_experts=2&model.moe.dense_layers=1&gpu=b200-sxm&stack.base=megatron-2024&stack.attention=cudnn&capacity_factor=1"), PRECISE)
    },
    Source {
        without: &[("experts", "=")],
        ..source("SimuMax, DeepSeek-V3 layers on B200", Kind::Held, THROUGHPUT, &[("source", "SimuMax"), ("model", "deepseek-v3")], Quantity::TokensPerGpu,
            outside!("model.base=deepseek-v3&model.layers=4&model.mtp_modules=0&model.moe.dense_layers=1&gpu=b200-sxm&stack.base=megatron-2024&stack.attention=cudnn&capacity_factor=1"), PRECISE)
    },
    source("NVIDIA dgxc 25.02, Llama 3.1 70B on H100", Kind::Held, THROUGHPUT, &[("source", "v25.02:llama3.1/README_70b"), ("model", "70B")], Quantity::TokensPerGpu,
        outside!("model.base=llama-3.1-70b&model.layers={layers|}&gpu=h100-sxm-80gb&stack=megatron-2025"), PRECISE),
    source("NVIDIA dgxc 24.11, Llama 3.1 8B on H100", Kind::Held, THROUGHPUT, &[("source", "v24.11.1:llama3.1/README_8b"), ("model", "8B")], Quantity::TokensPerGpu,
        outside!("model.base=llama-3.1-8b&gpu=h100-sxm-80gb&stack=nemo-2024"), PRECISE),
    source("NVIDIA dgxc, GPT-3 175B on H100", Kind::Held, THROUGHPUT, &[("source", "nemo_megatron/README_175b")], Quantity::TokensPerGpu,
        outside!("{nemo}&gpu=h100-sxm-80gb&stack=megatron-2025"), PRECISE),
    source("NVIDIA dgxc, Nemotron-4 340B on H100", Kind::Held, THROUGHPUT, &[("source", "nemotron/README_340b")], Quantity::TokensPerGpu,
        outside!("{nemo}&gpu=h100-sxm-80gb&stack=megatron-2025"), PRECISE),
    source("NVIDIA dgxc, PaxML GPT-3 on H100", Kind::Held, THROUGHPUT, &[("source", "paxml/README")], Quantity::TokensPerGpu,
        "{nemo}&gpu=h100-sxm-80gb&stack=paxml&gpus={gpus}&tp=1&pp=1&zero=3&seq_len={seq}&micro_batch={mbs}&global_batch={gbs}&precision={policy}", PRECISE),
    source("NeMo 24.07 on H100", Kind::Held, THROUGHPUT, &[("source", "NeMo 24.07")], Quantity::TokensPerGpu,
        outside!("{nemo}&gpu=h100-sxm-80gb&stack=nemo-2024"), PRECISE),
    source("Megatron-MoE-ModelZoo, Qwen3-235B on H100", Kind::Held, THROUGHPUT, &[("source", "ModelZoo"), ("gpu_type", "H100")], Quantity::TokensPerGpu,
        "model.base=qwen-3-235b-a22b&gpu=h100-sxm-80gb&stack=megatron-2025&gpus={gpus}&tp={tp}&pp={pp}&cp={cp}&ep={ep}&schedule={schedule}&virtual_stages={chunks}&seq_len={seq}&micro_batch={mbs}&global_batch={gbs}&zero={zero_stage}&precision={policy}&{moe_zoo}", PRECISE),
    // NVIDIA's summaries of Megatron-Bridge and before it NeMo, release by release.
    source("Megatron-Bridge, Llama 3 8B", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "=LLAMA3_8B")], Quantity::TokensPerGpu,
        outside!("model.base=llama-3.1-8b&gpu={gpu_id}&{release}"), PRECISE),
    source("Megatron-Bridge, Llama 3 70B", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "=LLAMA3_70B")], Quantity::TokensPerGpu,
        outside!("model.base=llama-3.1-70b&gpu={gpu_id}&{release}"), PRECISE),
    source("Megatron-Bridge, Llama 3.1 405B", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "=LLAMA3.1_405B")], Quantity::TokensPerGpu,
        outside!("model.base=llama-3.1-405b&gpu={gpu_id}&{release}"), PRECISE),
    Source {
        without: &[("experts", "=")],
        ..source("Megatron-Bridge, DeepSeek-V3", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "DeepSeekV3")], Quantity::TokensPerGpu,
            outside!("model.base=deepseek-v3&model.layers={layers|}&model.mtp_modules={mtp}&stage_layers={deepseek_stages|}&gpu={gpu_id}&{release}"), PRECISE)
    },
    Source {
        without: &[("experts", "=")],
        ..source("Megatron-Bridge, Qwen3-235B", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "Qwen3_235B")], Quantity::TokensPerGpu,
            outside!("model.base=qwen-3-235b-a22b&gpu={gpu_id}&{release}"), PRECISE)
    },
    source("Megatron-Bridge, Qwen3-30B", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "Qwen3_30B")], Quantity::TokensPerGpu,
        outside!("model.base=qwen-3-30b-a3b&gpu={gpu_id}&{release}"), PRECISE),
    Source {
        without: &[("notes", "a regression by its own footnote")],
        ..source("Megatron-Bridge, gpt-oss 120B", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "GPT OSS 120B")], Quantity::TokensPerGpu,
            outside!("model.base=gpt-oss-120b&gpu={gpu_id}&{release}"), PRECISE)
    },
    source("Megatron-Bridge, Kimi K2", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "Kimi_K2")], Quantity::TokensPerGpu,
        outside!("model.base=kimi-k2&gpu={gpu_id}&{release}"), PRECISE),
    source("Megatron-Bridge, Nemotron 3 Nano", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "Nemotron_3_Nano")], Quantity::TokensPerGpu,
        outside!("model.base=nemotron-3-nano&gpu={gpu_id}&{release}"), PRECISE),
    source("Megatron-Bridge, Nemotron 3 Super", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "Nemotron_3_Super")], Quantity::TokensPerGpu,
        outside!("model.base=nemotron-3-super&model.mtp_modules=2&precision.bf16_last={bf16_last|}&gpu={gpu_id}&{release}"), PRECISE),
    source("Megatron-Bridge, Nemotron 3 Ultra", Kind::Shown, THROUGHPUT, &[("source", "Megatron-Bridge"), ("model", "Nemotron_3_Ultra")], Quantity::TokensPerGpu,
        outside!("model.base=nemotron-3-ultra&model.mtp_modules=2&gpu={gpu_id}&{release}"), PRECISE),
    source("Automodel, DeepSeek-V3 on H100", Kind::Shown, THROUGHPUT, &[("source", "Automodel"), ("model", "DeepSeek V3")], Quantity::TokensPerGpu,
        outside!("model.base=deepseek-v3&model.mtp_modules=0&gpu={gpu_id}&stack.base=fsdp2&stack.attention=cudnn&moe_dispatch=per-node"), PRECISE),
    source("Automodel, Kimi K2 on H100", Kind::Shown, THROUGHPUT, &[("source", "Automodel"), ("model", "Kimi K2")], Quantity::TokensPerGpu,
        outside!("model.base=kimi-k2&gpu={gpu_id}&stack.base=fsdp2&stack.attention=cudnn&moe_dispatch=per-node"), PRECISE),
    source("Automodel, Llama 3 70B on H100", Kind::Shown, THROUGHPUT, &[("source", "Automodel"), ("model", "Llama3 70B")], Quantity::TokensPerGpu,
        outside!("model.base=llama-3.1-70b&gpu={gpu_id}&stack.base=fsdp2&stack.attention=cudnn"), PRECISE),
    // A local batch is cut into as many micro-batches as there are stages.
    source("torchtitan, Llama 3.1 405B on H100", Kind::Shown, THROUGHPUT, &[("source", "torchtitan"), ("model", "405B")], Quantity::TokensPerGpu,
        "model.base=llama-3.1-405b&gpu=h100-sxm-96gb&gpus={gpus}&tp={tp}&pp={pp}&cp={cp}&schedule={schedule}&virtual_stages={chunks}&zero=3&precision=fp8-current&recompute={recompute}&seq_len={seq}&micro_batch={cut_batch}&global_batch={gbs}&stack.base=torchtitan&cross_entropy=megatron&stack.tp_overlap=async-tp&cp_comm=all-gather", PRECISE),
    Source {
        without: &[("precision", "rowwise")],
        ..source("torchtitan, async TP on H100", Kind::Shown, THROUGHPUT, &[("source", "asyncTP")], Quantity::TokensPerGpu,
            "model={id}&gpu=h100-sxm-96gb&gpus={gpus}&tp={tp}&pp=1&zero=3&precision={titan_precision}&recompute={recompute|none}&seq_len={seq}&micro_batch={cut_batch}&global_batch={gbs}&stack.base=torchtitan&stack.tp_overlap={async_tp}", PRECISE)
    },
    source("torchtitan, Llama 3.1 8B on H200", Kind::Shown, THROUGHPUT, &[("source", "torchtitan"), ("model", "8B")], Quantity::TokensPerGpu,
        "model.base=llama-3.1-8b&gpu={gpu_id}&gpus={gpus}&tp=1&pp=1&zero=3&precision=fp8-current&recompute={recompute}&seq_len={seq}&micro_batch=2&global_batch={gbs}&stack=torchtitan", PRECISE),
    source("fms-fsdp, Llama 2", Kind::Shown, THROUGHPUT, &[("source", "fms-fsdp"), ("recompute", "none")], Quantity::TokensPerGpu,
        "model.base=llama-2-7b&gpu.base=h100-sxm-80gb&gpu.inter_gb_per_s=12.5&gpus={gpus}&tp=1&pp=1&zero=3&hsdp_shard=8&precision=bf16&seq_len={seq}&micro_batch={mbs}&global_batch={gbs}&stack=torchtitan&cross_entropy=megatron", LAYOUT),
    source("Uneven PP note, vision-language on H20", Kind::Shown, "uneven_pp_h20.csv", &[], Quantity::StepSeconds,
        "stack=megatron-2024&model.layers=28&model.hidden=3584&model.ffn=18944&model.heads=28&model.kv_heads=28&model.vocab=152064&model.gated_ffn=false&model.tied_embeddings=false&model.norm=layernorm&model.biases=all&model.vision.image_width=224&model.vision.image_height=224&model.vision.channels=3&model.vision.patch=14&model.vision.hidden=4096&model.vision.ffn=16384&model.vision.layers=28&gpu=h20-sxm-96gb&gpus=4&tp=2&pp=2&seq_len=1024&micro_batch=1&global_batch=32&precision=bf16&stage_layers={first},{second}",
        "{first} and {second} layers on the two ranks"),
    // Memory.
    source("SimuMax peaks, Llama on B200", Kind::Held, SIMUMAX, &[("model", "llama")], Quantity::Allocated,
        simumax!("model.base={model}&model.layers={layers}"), "{layers} layers, tp {tp} pp {pp} cp {cp} s {seq}"),
    source("SimuMax peaks, DeepSeek-V2 on B200", Kind::Held, SIMUMAX, &[("model", "deepseek-v2")], Quantity::Allocated,
        simumax!(deepseek!("&model.hidden=5120&model.ffn=12288&model.vocab=102400&model.moe.experts=160&model.moe.top_k=6&model.moe.expert_ffn=1536&model.moe.shared_experts=2")), "{layers} layers, tp {tp} pp {pp} ep {ep} s {seq}"),
    source("SimuMax peaks, DeepSeek-V3 on B200", Kind::Held, SIMUMAX, &[("model", "deepseek-v3")], Quantity::Allocated,
        simumax!(deepseek!("&model.hidden=7168&model.ffn=18432&model.vocab=129280&model.moe.experts=256&model.moe.top_k=8&model.moe.expert_ffn=2048&model.moe.shared_experts=1")), "{layers} layers, tp {tp} pp {pp} ep {ep} s {seq}"),
    source("Megatron-LM's functional tests, GPT-7B", Kind::Held, MEMORY, &[("source", "/gpt3_7b_")], Quantity::AllocatedLast,
        "stack=megatron-2024&model.layers={layers}&model.hidden={hidden}&model.ffn={ffn}&model.heads={heads}&model.kv_heads={kv_heads}&model.vocab={vocab}&model.gated_ffn=false&model.norm=layernorm&model.biases=all&model.dropout=true&gpu=h100-sxm-80gb&gpus={gpus}&tp={tp}&pp={pp}&schedule={schedule}&virtual_stages={chunks}&sequence_parallel={sp}&seq_len={seq}&micro_batch={mbs}&global_batch={four_batches}",
        "{model} on {gpu_type}, tp {tp} pp {pp}"),
    source("Megatron-LM, golden peaks of its tests", Kind::Held, "megatron_golden.csv", &[("left_out", "=")], Quantity::AllocatedLast,
        "stack.base=megatron-2025&{run}", "{case} on {gpu_type}"),
    Source {
        without: &[("source", "trainy")],
        ..source("torchtitan, Llama on H100", Kind::Held, MEMORY, &[("source", "torchtitan:")], Quantity::Reserved, TORCHTITAN, "{model} on {gpus}, {notes}")
    },
    source("PyTorch issue 129721, Llama 8B on H100", Kind::Held, MEMORY, &[("source", "PR 132445")], Quantity::Reserved, TORCHTITAN, "{model} on {gpus}, {notes}"),
    source("Trainy, Llama 8B on H200", Kind::Shown, MEMORY, &[("source", "trainy")], Quantity::Reserved, TORCHTITAN, "{model} on {gpus}, {notes}"),
    // Fine-tuning. Bytes a logit of each kernel were read off these slopes. Samples without padding have no stated longest
    // micro-batch: their steady memory and throughput count, the peaks of adapters do not, those of full fine-tuning, which
    // hardly depend on it, do.
    source("fms-acceleration, adapters between steps", Kind::Fitted, TUNED, &[("source", FMS), ("method", "lora")], Quantity::Steady, HF_RUN, TUNED_LABEL),
    source("fms-acceleration, full fine-tuning between steps", Kind::Fitted, TUNED, &[("source", FMS), ("method", "=full")], Quantity::Steady, HF_RUN, TUNED_LABEL),
    source("fms-acceleration, peaks of adapters on one GPU", Kind::Fitted, TUNED, &[("source", FMS), ("method", "lora"), ("seq", "packed"), ("gpus", "=1")], Quantity::Allocated, HF_RUN, TUNED_LABEL),
    Source {
        without: &[("gpus", "=1")],
        ..source("fms-acceleration, peaks of adapters on several GPUs", Kind::Fitted, TUNED, &[("source", FMS), ("method", "lora"), ("seq", "packed")], Quantity::Allocated, HF_RUN, TUNED_LABEL)
    },
    source("fms-acceleration, peaks of full fine-tuning", Kind::Fitted, TUNED, &[("source", FMS), ("method", "=full")], Quantity::Allocated, HF_RUN, TUNED_LABEL),
    source("fms-acceleration, adapters that ran out", Kind::Held, TUNED, &[("source", FMS), ("method", "lora"), ("seq", "packed"), ("outcome", "OOM")], Quantity::Outcome, HF_RUN, TUNED_LABEL),
    source("fms-acceleration, speed of adapters", Kind::Held, TUNED, &[("source", FMS), ("method", "lora"), ("seq", "packed")], Quantity::TokensPerGpu, HF_RUN, TUNED_LABEL),
    source("fms-acceleration, speed of full fine-tuning", Kind::Shown, TUNED, &[("source", FMS), ("method", "=full"), ("model", "Mistral")], Quantity::TokensPerGpu, HF_RUN, TUNED_LABEL),
    source("fms-acceleration, speed of Granite's experts", Kind::Shown, TUNED, &[("source", FMS), ("model", "granite-3.0"), ("framework", "padding-free")], Quantity::TokensPerGpu, HF_RUN, TUNED_LABEL),
    // Not in view of any constant; kinds of peaks that are not what PyTorch allocated are shown only.
    source("Automodel, full fine-tuning of Llama 3.2 1B", Kind::Held, TUNED, &[("source", "Automodel"), ("method", "=full")], Quantity::Allocated, HF_RUN, TUNED_LABEL),
    source("Automodel, speed of LoRA", Kind::Held, TUNED, &[("source", "Automodel"), ("method", "=lora")], Quantity::TokensPerGpu, AUTOMODEL_RUN, TUNED_LABEL),
    source("torchtune, LoRA of Llama 3.1 70B", Kind::Shown, TUNED, &[("source", "torchtune"), ("method", "=lora")], Quantity::Allocated, TORCHTUNE_RUN, TUNED_LABEL),
    source("torchtune, full fine-tuning of Llama 3.1 70B", Kind::Shown, TUNED, &[("source", "torchtune"), ("method", "=full"), ("framework", "torchtune"), ("model", "70B")], Quantity::Allocated, TORCHTUNE_RUN, TUNED_LABEL),
    source("torchtune, speed of LoRA of Llama 3.1 70B", Kind::Held, TUNED, &[("source", "torchtune"), ("method", "=lora")], Quantity::TokensPerGpu, TORCHTUNE_RUN, TUNED_LABEL),
    source("Qwen, LoRA", Kind::Shown, TUNED, &[("source", "QwenLM"), ("method", "=lora")], Quantity::Reserved, HF_RUN, TUNED_LABEL),
    source("Qwen, LoRA with embedding and head", Kind::Shown, TUNED, &[("source", "QwenLM"), ("method", "=lora+emb")], Quantity::Reserved, HF_RUN, TUNED_LABEL),
    source("Qwen, Q-LoRA", Kind::Shown, TUNED, &[("source", "QwenLM"), ("method", "gptq")], Quantity::Reserved, HF_RUN, TUNED_LABEL),
    source("Qwen, speed of LoRA", Kind::Held, TUNED, &[("source", "QwenLM"), ("method", "=lora")], Quantity::TokensPerGpu, HF_RUN, TUNED_LABEL),
    source("Qwen, speed of Q-LoRA", Kind::Held, TUNED, &[("source", "QwenLM"), ("method", "gptq")], Quantity::TokensPerGpu, HF_RUN, TUNED_LABEL),
    source("fsdp_qlora, QLoRA", Kind::Shown, TUNED, &[("source", "fsdp_qlora"), ("method", "qlora"), ("gpu", "RTX")], Quantity::Reserved, HF_RUN, TUNED_LABEL),
    source("fsdp_qlora, LoRA", Kind::Shown, TUNED, &[("source", "fsdp_qlora"), ("method", "=lora"), ("gpu", "RTX")], Quantity::Reserved, HF_RUN, TUNED_LABEL),
    source("fsdp_qlora, speed on RTX 4090", Kind::Held, TUNED, &[("source", "fsdp_qlora"), ("gpu", "RTX 4090")], Quantity::TokensPerGpu, HF_RUN, TUNED_LABEL),
    source("fsdp_qlora, speed on data-centre GPUs", Kind::Held, TUNED, &[("source", "fsdp_qlora"), ("gpu", "00")], Quantity::TokensPerGpu, HF_RUN, TUNED_LABEL),
    source("Megatron-Bridge, LoRA of Llama 3 70B", Kind::Held, TUNED, &[("source", "Megatron-Bridge"), ("method", "=lora"), ("model", "Llama 3 70B")], Quantity::TokensPerGpu, BRIDGE_RUN, TUNED_LABEL),
    source("Megatron-Bridge, full fine-tuning of Llama 3 70B", Kind::Held, TUNED, &[("source", "performance-summary-archive"), ("method", "=full")], Quantity::TokensPerGpu, BRIDGE_RUN, TUNED_LABEL),
];
