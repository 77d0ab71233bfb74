//! Defaults of transformers' code for each kind of model, where the file leaves them out.
//!
//! Source: huggingface/transformers, `models/<kind>/configuration_<kind>.py` and `modeling_<kind>.py`.

use shardscope_core::model::{Biases, Norm, QkNorm};

/// Mixers of the layers, where the file does not list them.
pub(crate) enum Mixers {
    /// Full attention, or what the entries of linear attention and state-space models say.
    Alike,
    /// Windows, except in every n-th layer, from the first on.
    Windows(u64),
    /// Chunks, except in every n-th layer.
    Chunks(u64),
    /// Windows in every layer, where `sliding_window` has a number (`modeling_mistral.py`, `create_causal_mask`).
    WindowsIfSaid,
    /// Windows from layer `max_window_layers` on, where `use_sliding_window` is true (`configuration_qwen2.py`).
    WindowsBehind,
}

/// A kind of model.
#[allow(clippy::struct_excessive_bools)] // independent facts of a table
pub(crate) struct ModelFamily {
    /// Its `model_type`s.
    pub kinds: &'static [&'static str],
    pub norm: Norm,
    /// Gate, up and down projections.
    pub gated: bool,
    /// Norm of queries and keys, unless `use_qk_norm` is false.
    pub qk_norm: QkNorm,
    /// Norms after attention and FFN too.
    pub post_norms: bool,
    /// Biases, unless the file sets them.
    pub biases: Biases,
    /// True if `attention_bias` decides.
    pub attention_bias_key: bool,
    /// Tied embeddings, where the file is silent.
    pub tied: bool,
    pub learned_positions: bool,
    /// GPT-2's names, with an FFN of four times the hidden size unless said.
    pub short_names: bool,
    pub experts: bool,
    pub latent: bool,
    pub prediction: bool,
    /// Its mixers of tokens.
    pub mixers: Mixers,
    /// A gate on the output of attention.
    pub gate: bool,
    pub sinks: bool,
    /// An FFN beside the experts.
    pub beside: bool,
    /// Shared experts, where the file does not say.
    pub shared_experts: u64,
    /// Layers from one with experts to the next, where the file does not say.
    pub sparse_step: u64,
    /// Shapes that the library takes where the file is silent, by entry.
    pub defaults: &'static [(&'static str, u64)],
    /// Parts that the calculator does not count.
    pub notes: &'static [&'static str],
}

const LLAMA: ModelFamily = ModelFamily {
    kinds: &["llama", "ministral", "yi", "aquila", "internlm3", "seed_oss", "granite"],
    norm: Norm::Rms,
    gated: true,
    qk_norm: QkNorm::None,
    post_norms: false,
    biases: Biases::None,
    attention_bias_key: true,
    tied: false,
    learned_positions: false,
    short_names: false,
    experts: false,
    latent: false,
    prediction: false,
    mixers: Mixers::Alike,
    gate: false,
    sinks: false,
    beside: false,
    shared_experts: 0,
    sparse_step: 1,
    defaults: &[],
    notes: &[],
};

const EXPERTS: ModelFamily = ModelFamily { experts: true, ..LLAMA };

/// Decoders like GPT-2: LayerNorm, two products in the FFN, biases everywhere.
const GPT: ModelFamily =
    ModelFamily { norm: Norm::Layer, gated: false, biases: Biases::All, attention_bias_key: false, ..LLAMA };

/// Gemma since its third release.
const GEMMA: ModelFamily =
    ModelFamily { tied: true, post_norms: true, qk_norm: QkNorm::Head, mixers: Mixers::Windows(6), ..LLAMA };

const UNKNOWN: &str = "this kind of model is not known: it is read as a Llama with the experts and the latent \
    attention that its entries name; whatever else it has is not counted";
const GATE: &str = "the gate of the shared experts (a hidden size a layer) is not counted";
const SCALES: &str = "the scales of layers and of the router are not counted";
const ROUTER: &str = "the load-balancing bias of the router (a number an expert) is not counted";

static FAMILIES: &[ModelFamily] = &[
    LLAMA,
    ModelFamily { kinds: &["mistral", "ministral3"], mixers: Mixers::WindowsIfSaid, ..LLAMA },
    ModelFamily {
        kinds: &["qwen2", "qwen2_vl", "qwen2_5_vl"],
        biases: Biases::Qkv,
        attention_bias_key: false,
        mixers: Mixers::WindowsBehind,
        ..LLAMA
    },
    ModelFamily { kinds: &["qwen3"], qk_norm: QkNorm::Head, mixers: Mixers::WindowsBehind, ..LLAMA },
    ModelFamily { kinds: &["qwen3_vl"], qk_norm: QkNorm::Head, ..LLAMA },
    ModelFamily { kinds: &["gemma", "ernie4_5"], tied: true, ..LLAMA },
    ModelFamily { kinds: &["hunyuan_v1_dense"], qk_norm: QkNorm::Head, ..LLAMA },
    ModelFamily { kinds: &["mimo"], biases: Biases::Qkv, attention_bias_key: false, prediction: true, ..LLAMA },
    ModelFamily { kinds: &["glm4"], post_norms: true, ..LLAMA },
    ModelFamily { kinds: &["ernie4_5_moe"], tied: true, prediction: true, notes: &[ROUTER], ..EXPERTS },
    ModelFamily { kinds: &["hunyuan_v1_moe"], qk_norm: QkNorm::Head, ..EXPERTS },
    ModelFamily { kinds: &["bailing_moe", "granitemoe", "granitemoehybrid"], ..EXPERTS },
    ModelFamily { kinds: &["bailing_moe_v2"], qk_norm: QkNorm::Head, prediction: true, notes: &[ROUTER], ..EXPERTS },
    ModelFamily { kinds: &["olmoe"], qk_norm: QkNorm::All, ..EXPERTS },
    ModelFamily { kinds: &["gemma2"], tied: true, post_norms: true, mixers: Mixers::Windows(2), ..LLAMA },
    ModelFamily {
        kinds: &["gemma3"],
        // Its files leave out what is as in `configuration_gemma3.py`.
        defaults: &[
            ("hidden_size", 2304),
            ("intermediate_size", 9216),
            ("num_hidden_layers", 26),
            ("num_attention_heads", 8),
            ("num_key_value_heads", 4),
            ("head_dim", 256),
            ("sliding_window", 4096),
            ("vocab_size", 262_208),
        ],
        ..GEMMA
    },
    ModelFamily { kinds: &["gemma4"], notes: &[SCALES], ..GEMMA },
    ModelFamily { kinds: &["gemma4_moe"], experts: true, beside: true, notes: &[SCALES], ..GEMMA },
    ModelFamily { kinds: &["olmo2"], qk_norm: QkNorm::All, ..LLAMA },
    ModelFamily { kinds: &["olmo3"], qk_norm: QkNorm::All, mixers: Mixers::Windows(4), ..LLAMA },
    ModelFamily { kinds: &["smollm3"], tied: true, ..LLAMA },
    ModelFamily {
        kinds: &["gpt_oss"],
        biases: Biases::All,
        attention_bias_key: false,
        mixers: Mixers::Windows(2),
        sinks: true,
        ..EXPERTS
    },
    ModelFamily { kinds: &["llama4"], mixers: Mixers::Chunks(4), shared_experts: 1, ..EXPERTS },
    ModelFamily { kinds: &["qwen3_next", "qwen3_5_moe"], qk_norm: QkNorm::Head, gate: true, notes: &[GATE], ..EXPERTS },
    ModelFamily { kinds: &["qwen3_5"], qk_norm: QkNorm::Head, gate: true, ..LLAMA },
    ModelFamily { kinds: &["nemotron_h"], gated: false, prediction: true, notes: &[ROUTER], ..EXPERTS },
    ModelFamily {
        kinds: &["mimo_v2", "mimo_v2_flash"],
        attention_bias_key: false,
        sinks: true,
        prediction: true,
        notes: &[ROUTER],
        ..EXPERTS
    },
    ModelFamily { kinds: &["kimi_linear"], latent: true, prediction: true, notes: &[ROUTER], ..EXPERTS },
    ModelFamily {
        kinds: &["kimi_k3"],
        latent: true,
        prediction: true,
        gate: true,
        notes: &[ROUTER, "attention residuals are not counted"],
        ..EXPERTS
    },
    ModelFamily { kinds: &["deepseek_v4"], sinks: true, prediction: true, notes: &[ROUTER], ..EXPERTS },
    ModelFamily { kinds: &["phi3"], attention_bias_key: false, mixers: Mixers::WindowsIfSaid, ..LLAMA },
    ModelFamily {
        kinds: &["phi"],
        notes: &[
            "attention and FFN stand side by side behind one norm; the calculator counts two norms a layer",
            "the bias of the head is not counted",
        ],
        ..GPT
    },
    ModelFamily { kinds: &["gpt_neox"], ..GPT },
    ModelFamily { kinds: &["gpt2"], tied: true, learned_positions: true, short_names: true, ..GPT },
    ModelFamily { kinds: &["mixtral"], attention_bias_key: false, mixers: Mixers::WindowsIfSaid, ..EXPERTS },
    ModelFamily { kinds: &["qwen2_moe"], biases: Biases::Qkv, attention_bias_key: false, notes: &[GATE], ..EXPERTS },
    ModelFamily { kinds: &["qwen3_moe", "qwen3_vl_moe"], qk_norm: QkNorm::Head, ..EXPERTS },
    ModelFamily { kinds: &["glm4_moe"], qk_norm: QkNorm::Head, prediction: true, notes: &[ROUTER], ..EXPERTS },
    ModelFamily {
        kinds: &["minimax_m2"],
        qk_norm: QkNorm::All,
        attention_bias_key: false,
        notes: &[ROUTER],
        ..EXPERTS
    },
    ModelFamily { kinds: &["deepseek_v2"], latent: true, ..EXPERTS },
    ModelFamily {
        kinds: &["deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa", "glm4_moe_lite"],
        latent: true,
        prediction: true,
        notes: &[ROUTER],
        ..EXPERTS
    },
];

/// The family of a `model_type`; `_text` is the language model of one that sees.
pub(crate) fn family(kind: &str) -> Option<&'static ModelFamily> {
    let kind = kind.strip_suffix("_text").unwrap_or(kind);
    FAMILIES.iter().find(|family| family.kinds.contains(&kind))
}

/// Families for a kind that is not known: dense, with experts, with latent attention, with both.
static STRANGERS: [ModelFamily; 4] = [
    ModelFamily { notes: &[UNKNOWN], ..LLAMA },
    ModelFamily { notes: &[UNKNOWN], ..EXPERTS },
    ModelFamily { latent: true, notes: &[UNKNOWN], ..LLAMA },
    ModelFamily { latent: true, notes: &[UNKNOWN], ..EXPERTS },
];

/// The family for a kind that is not known, by what its entries name.
pub fn unknown(experts: bool, latent: bool) -> &'static ModelFamily {
    &STRANGERS[usize::from(experts) + 2 * usize::from(latent)]
}

/// All that are known, for a message.
pub fn names() -> String {
    let kinds: Vec<&str> = FAMILIES.iter().flat_map(|family| family.kinds).copied().collect();
    kinds.join(", ")
}
