//! Columns of fine-tuning runs: shapes, what is trained and by which kernels, from the words of the table.

use super::table::Line;

/// Models of the table: a part of their name, and the fields that say them. Shapes of Qwen 1 and Yi from their config.json.
const MODELS: [(&str, &str); 25] = [
    ("Mixtral-8x7B", "model=mixtral-8x7b"),
    ("Mistral-7B", "model=mistral-7b"),
    ("Mistral 7B", "model=mistral-7b"),
    ("Llama-3-8B", "model=llama-3.1-8b"),
    ("Llama3 8B", "model=llama-3.1-8b"),
    ("Llama-3.1-8B", "model=llama-3.1-8b"),
    ("Llama 3.1 8B", "model=llama-3.1-8b"),
    ("Llama 3 70B", "model=llama-3.1-70b"),
    ("Llama3 70B", "model=llama-3.1-70b"),
    ("Llama-3-70B", "model=llama-3.1-70b"),
    ("Llama 3.1 70B", "model=llama-3.1-70b"),
    ("Llama-2-70", "model=llama-2-70b"),
    ("Llama-2 70", "model=llama-2-70b"),
    ("Llama-2-7", "model=llama-2-7b"),
    ("Llama-2 7", "model=llama-2-7b"),
    (
        "Llama-3.2-1B",
        "model.base=llama-3.1-8b&model.layers=16&model.hidden=2048&model.ffn=8192&model.heads=32&model.kv_heads=8&model.head_dim=64&model.tied_embeddings=true",
    ),
    ("Qwen2.5 7B", "model=qwen-2.5-7b"),
    (
        "Qwen2.5 32B",
        "model.base=qwen-2.5-7b&model.layers=64&model.hidden=5120&model.ffn=27648&model.heads=40&model.kv_heads=8&model.vocab=152064",
    ),
    (
        "Llama-3.2-3B",
        "model.base=llama-3.1-8b&model.layers=28&model.hidden=3072&model.ffn=8192&model.heads=24&model.head_dim=128&model.tied_embeddings=true",
    ),
    (
        "granite-3.0-3b",
        "model.base=mixtral-8x7b&model.layers=32&model.hidden=1536&model.heads=24&model.kv_heads=8&model.head_dim=64&model.vocab=49155&model.tied_embeddings=true&model.moe.experts=40&model.moe.top_k=8&model.moe.expert_ffn=512",
    ),
    (
        "Qwen-1.8B",
        "model.base=llama-2-7b&model.layers=24&model.hidden=2048&model.ffn=5504&model.heads=16&model.kv_heads=16&model.vocab=151936&model.biases=qkv",
    ),
    ("Qwen-72B", "model.base=llama-2-70b&model.kv_heads=64&model.ffn=24576&model.vocab=152064&model.biases=qkv"),
    ("Qwen-7B", "model.base=llama-2-7b&model.vocab=151936&model.biases=qkv"),
    ("Qwen-14B", "model.base=llama-2-13b&model.ffn=13696&model.vocab=152064&model.biases=qkv"),
    (
        "Yi 34B",
        "model.base=llama-2-70b&model.layers=60&model.hidden=7168&model.ffn=20480&model.heads=56&model.vocab=64000",
    ),
];

/// The text of `column`; none where the table does not say it.
pub(super) fn tuned(column: &str, line: Line) -> Option<String> {
    let (method, framework) = (line.text("method"), line.text("framework"));
    let (source, parallel) = (line.text("source"), line.text("parallel"));
    let adapts = method.contains("lora") || method.contains("dora");
    let part = |key: &str| {
        let words = parallel.split(' ');
        words.filter_map(|word| word.strip_prefix(key)).next_back()
    };
    let several = line.count("gpus", 1)? > 1;
    let text = match column {
        "model" => {
            let name = line.text("model");
            MODELS.iter().find(|(part, _)| name.contains(part))?.1
        }
        "method" if method.contains("qlora") => "qlora",
        "method" if method.contains("dora") => "dora",
        "method" if adapts => "lora",
        // TheBloke's cards: groups of 128, Mixtral without.
        "base" if method.contains("gptq") && line.text("model").contains("Mixtral") => "gptq4-row",
        // `finetune.py` turns the kernels off (`disable_exllama`).
        "base" if method.contains("gptq") && source.contains("QwenLM") => "gptq4-torch",
        "base" if method.contains("gptq") => "gptq4",
        "base" if method.contains("nf4") => "nf4-double",
        // Defaults of their scripts: Qwen `finetune.py`, fsdp_qlora `train.py`, torchtune `70B_lora.yaml`.
        "rank" if adapts && line.text("adapter_rank").is_empty() => {
            if framework == "torchtune" {
                "16"
            } else {
                "64"
            }
        }
        "rank" if adapts => line.text("adapter_rank").trim_end_matches(".0"),
        "targets" if adapts => {
            let targets = match (framework, line.text("targets")) {
                ("fsdp_qlora", "") => "q_proj k_proj v_proj gate_proj up_proj down_proj",
                ("torchtune", "") => "q_proj v_proj o_proj gate_proj up_proj down_proj",
                (_, "*_proj") => "",
                (_, targets) => targets,
            };
            let named = targets.replace("linear_qkv", "q_proj k_proj v_proj");
            return Some(named.replace(' ', ","));
        }
        "sharded" if parallel.contains("adapters DDP") => "false",
        "upcast" if framework.contains("baseline-peft-bnb") => "true",
        "precision" if adapts => "bf16",
        "precision" => "bf16-pure",
        // Automodel patches models with Liger's kernels.
        "hf_stack" if framework.contains("foak") || framework.ends_with("AutoModel") => "hf-fused",
        "hf_stack" => "hf-trainer",
        "hf_loss" if framework.contains("-liger") => "fused-linear",
        // The files of one release of the software share its loss.
        "hf_loss" if framework.contains("foak") && source.contains("_liger.csv") => "te-fused",
        "hf_loss" if framework.contains("foak") => "megatron-fused",
        "hf_loss" if line.text("loss_kernel").contains("linear-cut") => "fused-linear",
        // `modeling_qwen.py` computes its loss in 16 bits.
        "hf_loss" if source.contains("QwenLM") => "te-fused",
        "hf_loss" => "megatron",
        // Liger's kernel keeps gate and up alone.
        "swiglu" if framework.ends_with("AutoModel") => "true",
        // `examples/llm_benchmark/*_peft_benchmark.yaml`: a 7B on one GPU keeps everything, larger ones are cut, compiled
        // and checkpointed, those of Llama with sequence parallelism.
        "automodel" if part("tp") == Some("1") => "hf-fused&zero=0&recompute=none",
        "automodel" if line.text("model").contains("Llama") => {
            "torchtitan&zero=3&recompute=full&sequence_parallel=true"
        }
        "automodel" => "torchtitan&zero=3&recompute=full&sequence_parallel=false",
        // PEFT of 2023 kept adapters in the type of the weights beside them.
        "dtype" if source.contains("QwenLM") && !method.contains("gptq") => "bf16",
        "saved" if method.ends_with("+emb") => "embed_tokens,lm_head",
        "offload" if line.text("offload").contains("CPU") => "cpu",
        "recompute" if line.text("checkpointing") == "none" => "none",
        "recompute" => "full",
        "fsdp_zero"
            if several
                && (parallel.to_ascii_lowercase().contains("fsdp") || line.text("notes").contains("cumulative")) =>
        {
            "3"
        }
        "fsdp_zero" => "0",
        "gpu_label" => match line.text("gpu") {
            "H100-80GB" | "H100" | "H100 80GB SXM" => "h100-sxm-80gb",
            "A100-SXM4-80GB" | "A100-80GB" | "A100" => "a100-sxm-80gb",
            "A100 40GB" => "a100-sxm-40gb",
            "RTX 3090" | "RTX 4090" => "rtx-4090",
            "GB200" => "gb200",
            "GB300" => "gb300",
            _ => return None,
        },
        // ScatterMoE's experts, `...-ep2-padding-free`.
        "ep" => framework.split("-ep").nth(1)?.get(..1)?,
        "part_tp" => part("tp")?,
        "part_pp" => part("pp")?,
        "part_vp" => part("vp")?,
        "bridge_precision" if line.text("precision") == "MXFP8" => "mxfp8",
        "bridge_precision" => "fp8-current",
        _ => "",
    };
    Some(text.to_owned())
}

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
