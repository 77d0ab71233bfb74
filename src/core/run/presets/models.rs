//! Published models, with the shapes of their configuration files and the size their authors give.

use crate::model::{Architecture, Biases, Mla, Moe, QkNorm};
use crate::run::choices::Choice;
use crate::source::{
    CLUSTER_SIMULATOR, DEEPSEEK_V3, GPT_2, GPT_3, KIMI_K2, LLAMA_2, LLAMA_3, MAXTEXT, MISTRAL_7B,
    MIXTRAL, PRIMUS, QWEN_25, Source, TORCHTITAN,
};

/// A published model.
#[derive(Clone, Copy, Debug)]
pub struct ModelPreset {
    /// Id and name.
    pub choice: Choice,
    /// Its shapes.
    pub architecture: Architecture,
    /// Parameters as its authors count them.
    pub published: f64,
    /// Where the shapes and the size stand.
    pub source: &'static Source,
    /// Table or section there.
    pub place: &'static str,
}

/// Makers by how the ids of their models begin.
const MAKERS: &[(&str, &[&str])] = &[
    ("Meta", &["llama"]),
    ("Alibaba", &["qwen"]),
    ("DeepSeek", &["deepseek"]),
    ("Mistral AI", &["mistral", "mixtral"]),
    ("Moonshot AI", &["kimi", "moonlight"]),
    ("Zhipu AI", &["glm"]),
    ("MiniMax", &["minimax"]),
    ("OpenAI", &["gpt"]),
];

/// The models under the name of their maker, in the order of [`MODELS`] inside each.
#[must_use]
pub fn by_maker() -> Vec<(&'static str, Vec<Choice>)> {
    let of = |begins: &[&str]| {
        let choices = MODELS.iter().map(|preset| preset.choice);
        choices
            .filter(|choice| begins.iter().any(|begin| choice.id.starts_with(begin)))
            .collect()
    };
    MAKERS
        .iter()
        .map(|(maker, begins)| (*maker, of(begins)))
        .collect()
}

/// The preset with this id.
#[must_use]
pub fn model(id: &str) -> Option<&'static ModelPreset> {
    MODELS.iter().find(|preset| preset.choice.id == id)
}

const fn preset(
    id: &'static str,
    label: &'static str,
    architecture: Architecture,
    published: f64,
    source: &'static Source,
    place: &'static str,
) -> ModelPreset {
    ModelPreset {
        choice: Choice { id, label },
        architecture,
        published,
        source,
        place,
    }
}

const QWEN_7B: Architecture = Architecture {
    biases: Biases::Qkv,
    ..Architecture::llama(28, 3584, 18944, 28, 4, 152_064)
};
const QWEN_72B: Architecture = Architecture {
    biases: Biases::Qkv,
    ..Architecture::llama(80, 8192, 29568, 64, 8, 152_064)
};
const MIXTRAL_8X7B: Architecture = Architecture {
    moe: Some(Moe {
        experts: 8,
        top_k: 2,
        expert_ffn: 14336,
        shared_experts: 0,
        dense_layers: 0,
        groups: 1,
        top_groups: 1,
    }),
    ..Architecture::llama(32, 4096, 14336, 32, 8, 32_000)
};
/// Without its multi-token-prediction module, as the 671 B are counted.
const DEEPSEEK: Architecture = Architecture {
    head_dim: 128,
    moe: Some(Moe {
        experts: 256,
        top_k: 8,
        expert_ffn: 2048,
        shared_experts: 1,
        dense_layers: 3,
        groups: 8,
        top_groups: 4,
    }),
    mla: Some(Mla {
        q_lora_rank: 1536,
        kv_lora_rank: 512,
        qk_nope_head_dim: 128,
        qk_rope_head_dim: 64,
        v_head_dim: 128,
    }),
    ..Architecture::llama(61, 7168, 18432, 128, 128, 129_280)
};

/// Experts that a token may take from anywhere: how many, how many it visits, their width.
const fn experts(experts: u64, top_k: u64, expert_ffn: u64) -> Moe {
    Moe {
        experts,
        top_k,
        expert_ffn,
        shared_experts: 0,
        dense_layers: 0,
        groups: 1,
        top_groups: 1,
    }
}

/// Heads of 128 whose queries and keys are normed.
const fn qwen_3(model: Architecture) -> Architecture {
    Architecture {
        head_dim: 128,
        qk_norm: QkNorm::Head,
        ..model
    }
}

/// The same with experts in every layer, as wide as a dense FFN of the family never is.
const fn qwen_3_moe(
    (layers, hidden): (u64, u64),
    (heads, kv_heads): (u64, u64),
    moe: Moe,
) -> Architecture {
    Architecture {
        moe: Some(moe),
        ..qwen_3(Architecture::llama(
            layers,
            hidden,
            moe.expert_ffn,
            heads,
            kv_heads,
            151_936,
        ))
    }
}

/// GLM-4.5: a shared expert, biases of queries, keys and values.
const fn glm_45(model: Architecture, moe: Moe) -> Architecture {
    Architecture {
        head_dim: 128,
        biases: Biases::Qkv,
        moe: Some(Moe {
            shared_experts: 1,
            ..moe
        }),
        ..model
    }
}

/// Latent attention and shared experts in the shapes of DeepSeek-V3, without groups of experts.
const fn like_deepseek(model: Architecture, q_lora_rank: u64, moe: Moe) -> Architecture {
    Architecture {
        head_dim: 128,
        moe: Some(moe),
        mla: Some(Mla {
            q_lora_rank,
            kv_lora_rank: 512,
            qk_nope_head_dim: 128,
            qk_rope_head_dim: 64,
            v_head_dim: 128,
        }),
        ..model
    }
}

/// All model presets, in the order of the page.
pub static MODELS: &[ModelPreset] = &[
    preset(
        "llama-3.1-8b",
        "Llama 3.1 8B",
        Architecture::llama(32, 4096, 14336, 32, 8, 128_256),
        8.03e9,
        &LLAMA_3,
        "table 3",
    ),
    preset(
        "llama-3.1-70b",
        "Llama 3.1 70B",
        Architecture::llama(80, 8192, 28672, 64, 8, 128_256),
        70.55e9,
        &LLAMA_3,
        "table 3",
    ),
    preset(
        "llama-3.1-405b",
        "Llama 3.1 405B",
        Architecture::llama(126, 16384, 53248, 128, 8, 128_256),
        405.9e9,
        &LLAMA_3,
        "table 3",
    ),
    preset(
        "llama-2-7b",
        "Llama 2 7B",
        Architecture::llama(32, 4096, 11008, 32, 32, 32_000),
        6.74e9,
        &LLAMA_2,
        "table 1",
    ),
    preset(
        "llama-2-13b",
        "Llama 2 13B",
        Architecture::llama(40, 5120, 13824, 40, 40, 32_000),
        13.02e9,
        &LLAMA_2,
        "table 1",
    ),
    preset(
        "llama-2-70b",
        "Llama 2 70B",
        Architecture::llama(80, 8192, 28672, 64, 8, 32_000),
        68.98e9,
        &LLAMA_2,
        "table 1",
    ),
    preset(
        "mistral-7b",
        "Mistral 7B",
        Architecture::llama(32, 4096, 14336, 32, 8, 32_000),
        7.24e9,
        &MISTRAL_7B,
        "table 1",
    ),
    preset(
        "qwen-2.5-7b",
        "Qwen 2.5 7B",
        QWEN_7B,
        7.61e9,
        &QWEN_25,
        "table 1",
    ),
    preset(
        "qwen-2.5-72b",
        "Qwen 2.5 72B",
        QWEN_72B,
        72.7e9,
        &QWEN_25,
        "table 1",
    ),
    preset(
        "mixtral-8x7b",
        "Mixtral 8x7B",
        MIXTRAL_8X7B,
        46.7e9,
        &MIXTRAL,
        "table 1",
    ),
    preset(
        "deepseek-v3",
        "DeepSeek-V3",
        DEEPSEEK,
        671.0e9,
        &DEEPSEEK_V3,
        "section 4.2",
    ),
    preset(
        "gpt-3-175b",
        "GPT-3 175B",
        Architecture::gpt(96, 12288, 96, 50257, 2048),
        175.0e9,
        &GPT_3,
        "table 2.1",
    ),
    preset(
        "gpt-2-xl",
        "GPT-2 XL",
        Architecture::gpt(48, 1600, 25, 50257, 1024),
        1.558e9,
        &GPT_2,
        "table 2",
    ),
    preset(
        "qwen-3-8b",
        "Qwen 3 8B",
        qwen_3(Architecture::llama(36, 4096, 12288, 32, 8, 151_936)),
        8.2e9,
        &MAXTEXT,
        "qwen3-8b.yml; 8.2 B: model card",
    ),
    preset(
        "qwen-3-32b",
        "Qwen 3 32B",
        qwen_3(Architecture::llama(64, 5120, 25600, 64, 8, 151_936)),
        32.8e9,
        &MAXTEXT,
        "qwen3-32b.yml; 32.8 B: model card",
    ),
    preset(
        "qwen-3-30b-a3b",
        "Qwen 3 30B-A3B",
        qwen_3_moe((48, 2048), (32, 4), experts(128, 8, 768)),
        30.5e9,
        &MAXTEXT,
        "qwen3-30b-a3b.yml; 30.5 B: model card",
    ),
    preset(
        "qwen-3-235b-a22b",
        "Qwen 3 235B-A22B",
        qwen_3_moe((94, 4096), (64, 4), experts(128, 8, 1536)),
        235.0e9,
        &MAXTEXT,
        "qwen3-235b-a22b.yml; 235 B: its name",
    ),
    preset(
        "qwen-3-coder-480b-a35b",
        "Qwen 3 Coder 480B-A35B",
        qwen_3_moe((62, 6144), (96, 8), experts(160, 8, 2560)),
        480.0e9,
        &MAXTEXT,
        "qwen3-480b-a35b.yml; 480 B: its name",
    ),
    preset(
        "glm-4.5",
        "GLM-4.5 355B-A32B",
        Architecture {
            qk_norm: QkNorm::Head,
            ..glm_45(
                Architecture::llama(92, 5120, 12288, 96, 8, 151_552),
                Moe {
                    dense_layers: 3,
                    ..experts(160, 8, 1536)
                },
            )
        },
        355.0e9,
        &CLUSTER_SIMULATOR,
        "355 B with multi-token prediction and without embeddings: GLM-4.5's paper, table 1",
    ),
    preset(
        "glm-4.5-air",
        "GLM-4.5-Air 106B-A12B",
        glm_45(
            Architecture::llama(46, 4096, 10944, 96, 8, 151_552),
            Moe {
                dense_layers: 1,
                ..experts(128, 8, 1408)
            },
        ),
        106.0e9,
        &CLUSTER_SIMULATOR,
        "106 B: GLM-4.5's paper, table 1",
    ),
    preset(
        "kimi-k2",
        "Kimi K2",
        like_deepseek(
            Architecture::llama(61, 7168, 18432, 64, 64, 163_840),
            1536,
            Moe {
                shared_experts: 1,
                dense_layers: 1,
                ..experts(384, 8, 2048)
            },
        ),
        1043.0e9,
        &KIMI_K2,
        "table 2; the 1043 B of GLM-4.5's table 1 are with one module of multi-token prediction, which was not released: 1026 B without",
    ),
    preset(
        "moonlight-16b-a3b",
        "Moonlight 16B-A3B",
        like_deepseek(
            Architecture::llama(27, 2048, 11264, 16, 16, 163_840),
            0,
            Moe {
                shared_experts: 2,
                dense_layers: 1,
                ..experts(64, 6, 1408)
            },
        ),
        16.0e9,
        &TORCHTITAN,
        "models/kimi_k2_7, _moonlight_16b_a3b_config; 16 B: its name",
    ),
    preset(
        "minimax-m2",
        "MiniMax-M2 230B-A10B",
        Architecture {
            head_dim: 128,
            qk_norm: QkNorm::All,
            moe: Some(experts(256, 8, 1536)),
            ..Architecture::llama(62, 3072, 1536, 48, 8, 200_064)
        },
        229.9e9,
        &PRIMUS,
        "minimax_m2.5.yaml; 229.9 B: its makers",
    ),
    preset(
        "mixtral-8x22b",
        "Mixtral 8x22B",
        Architecture {
            moe: Some(experts(8, 2, 16384)),
            ..Architecture::llama(56, 6144, 16384, 48, 8, 32_768)
        },
        141.0e9,
        &MAXTEXT,
        "mixtral-8x22b.yml; 141 B: its makers",
    ),
    preset(
        "mistral-large-3",
        "Mistral Large 3",
        like_deepseek(
            Architecture::llama(61, 7168, 16384, 128, 128, 131_072),
            1536,
            Moe {
                shared_experts: 1,
                dense_layers: 3,
                ..experts(128, 4, 4096)
            },
        ),
        673.0e9,
        &CLUSTER_SIMULATOR,
        "673 B without the vision tower: model card",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::stage_elements;

    /// To half a percent where the authors print three digits or more; a name's two or three digits to one percent, which
    /// `tests/presets.rs` holds the models of 2026 to.
    #[test]
    fn parameters_are_what_the_authors_published() {
        for preset in MODELS {
            let mut counted = preset.architecture;
            if preset.place.contains("with one module") {
                counted.mtp_modules = 1;
            }
            let ours = stage_elements(&counted, &[counted.layers], 0).total() as f64;
            let off = ours / preset.published - 1.0;
            let named = preset.source.short == "MaxText" || preset.published >= 100e9;
            let most = if named { 0.01 } else { 0.005 };
            let id = preset.choice.id;
            assert!(
                off.abs() < most,
                "{id}: {ours} against {}",
                preset.published
            );
        }
    }

    #[test]
    fn every_model_has_one_maker() {
        for preset in MODELS {
            let makers = by_maker();
            let lists = makers.iter().flat_map(|(_, choices)| choices);
            let count = lists.filter(|choice| choice.id == preset.choice.id).count();
            assert_eq!(count, 1, "{}", preset.choice.id);
        }
    }

    /// The exact counts of the released checkpoints.
    #[test]
    fn released_checkpoints_are_met_to_the_last_parameter() {
        for (id, exact) in [
            ("llama-3.1-8b", 8_030_261_248),
            ("llama-3.1-70b", 70_553_706_496),
            ("llama-2-7b", 6_738_415_616),
            ("mistral-7b", 7_241_732_096),
            ("qwen-2.5-7b", 7_615_616_512),
            ("mixtral-8x7b", 46_702_792_704),
            ("gpt-2-xl", 1_557_611_200),
        ] {
            let preset = model(id).unwrap();
            assert_eq!(preset.architecture.elements().total(), exact, "{id}");
        }
    }

    #[test]
    fn mixtral_and_deepseek_activate_what_they_publish() {
        for (id, active) in [("mixtral-8x7b", 12.9e9), ("deepseek-v3", 37.0e9)] {
            let ours = model(id).unwrap().architecture.elements().active() as f64;
            assert!((ours / active - 1.0).abs() < 0.02, "{id}: {ours}");
        }
    }
}
