//! What transformers' own code says of each kind of model, where the file does not.
//!
//! Source: huggingface/transformers, `models/<kind>/configuration_<kind>.py` and `modeling_<kind>.py`.

use crate::core::model::{Biases, Norm, QkNorm};

/// A kind of model.
#[allow(clippy::struct_excessive_bools)] // independent facts of a table
pub struct Family {
    /// Its `model_type`s.
    pub kinds: &'static [&'static str],
    /// Normalisation.
    pub norm: Norm,
    /// Gate, up and down projections.
    pub gated: bool,
    /// Norm of queries and keys, unless `use_qk_norm` says no.
    pub qk_norm: QkNorm,
    /// Norms after attention and FFN too.
    pub post_norms: bool,
    /// Biases, unless the file says.
    pub biases: Biases,
    /// Whether `attention_bias` decides.
    pub attention_bias_key: bool,
    /// Whether embeddings are tied where the file is silent.
    pub tied: bool,
    /// Positions are learned.
    pub learned_positions: bool,
    /// GPT-2's names, with an FFN of four times the hidden size unless said.
    pub short_names: bool,
    /// Mixture of experts.
    pub experts: bool,
    /// Latent attention.
    pub latent: bool,
    /// Multi-token prediction.
    pub prediction: bool,
    /// What the calculator does not count.
    pub notes: &'static [&'static str],
}

const LLAMA: Family = Family {
    kinds: &[
        "llama",
        "mistral",
        "ministral",
        "yi",
        "aquila",
        "internlm3",
        "seed_oss",
    ],
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
    notes: &[],
};

const EXPERTS: Family = Family {
    experts: true,
    ..LLAMA
};

const WINDOW: &str = "sliding windows are not modelled: the layers that have one are counted and timed as full attention";
const UNKNOWN: &str = "this kind of model is not known: it is read as a Llama with the experts and the latent attention that its entries name; whatever else it has is not counted";
const ROUTER: &str = "the load-balancing bias of the router (a number an expert) is not counted";

static FAMILIES: &[Family] = &[
    LLAMA,
    Family {
        kinds: &["qwen2"],
        biases: Biases::Qkv,
        attention_bias_key: false,
        ..LLAMA
    },
    Family {
        kinds: &["qwen3"],
        qk_norm: QkNorm::Head,
        ..LLAMA
    },
    Family {
        kinds: &["gemma"],
        tied: true,
        ..LLAMA
    },
    Family {
        kinds: &["gemma2"],
        tied: true,
        post_norms: true,
        notes: &[WINDOW],
        ..LLAMA
    },
    Family {
        kinds: &["gemma3", "gemma3_text"],
        tied: true,
        post_norms: true,
        qk_norm: QkNorm::Head,
        notes: &[WINDOW],
        ..LLAMA
    },
    Family {
        kinds: &["phi3"],
        attention_bias_key: false,
        ..LLAMA
    },
    Family {
        kinds: &["phi"],
        norm: Norm::Layer,
        gated: false,
        biases: Biases::All,
        attention_bias_key: false,
        notes: &[
            "attention and FFN stand side by side behind one norm; the calculator counts two norms a layer",
            "the bias of the head is not counted",
        ],
        ..LLAMA
    },
    Family {
        kinds: &["gpt2"],
        norm: Norm::Layer,
        gated: false,
        biases: Biases::All,
        attention_bias_key: false,
        tied: true,
        learned_positions: true,
        short_names: true,
        ..LLAMA
    },
    Family {
        kinds: &["mixtral"],
        attention_bias_key: false,
        ..EXPERTS
    },
    Family {
        kinds: &["qwen2_moe"],
        biases: Biases::Qkv,
        attention_bias_key: false,
        notes: &["the gate of the shared experts (a hidden size a layer) is not counted"],
        ..EXPERTS
    },
    Family {
        kinds: &["qwen3_moe"],
        qk_norm: QkNorm::Head,
        ..EXPERTS
    },
    Family {
        kinds: &["glm4_moe"],
        qk_norm: QkNorm::Head,
        prediction: true,
        notes: &[ROUTER],
        ..EXPERTS
    },
    Family {
        kinds: &["minimax_m2"],
        qk_norm: QkNorm::All,
        attention_bias_key: false,
        notes: &[ROUTER],
        ..EXPERTS
    },
    Family {
        kinds: &["deepseek_v2"],
        latent: true,
        ..EXPERTS
    },
    Family {
        kinds: &["deepseek_v3", "kimi_k2"],
        latent: true,
        prediction: true,
        notes: &[ROUTER],
        ..EXPERTS
    },
];

/// The family of a `model_type`.
pub fn family(kind: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.kinds.contains(&kind))
}

/// What a kind that is not known is read as: dense, with experts, with latent attention, with both.
static STRANGERS: [Family; 4] = [
    Family {
        notes: &[UNKNOWN],
        ..LLAMA
    },
    Family {
        notes: &[UNKNOWN],
        ..EXPERTS
    },
    Family {
        latent: true,
        notes: &[UNKNOWN],
        ..LLAMA
    },
    Family {
        latent: true,
        notes: &[UNKNOWN],
        ..EXPERTS
    },
];

/// The family for a kind that is not known, by what its entries name.
pub fn unknown(experts: bool, latent: bool) -> &'static Family {
    &STRANGERS[usize::from(experts) + 2 * usize::from(latent)]
}

/// All that are known, for a message.
pub fn names() -> String {
    let all: Vec<&str> = FAMILIES
        .iter()
        .flat_map(|family| family.kinds)
        .copied()
        .collect();
    all.join(", ")
}
