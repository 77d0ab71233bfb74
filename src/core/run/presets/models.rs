//! Published models, with the shapes of their configuration files and the size their authors give.

use crate::model::{Architecture, Biases, Mla, Moe};
use crate::run::choices::Choice;
use crate::source::{
    DEEPSEEK_V3, GPT_2, GPT_3, LLAMA_2, LLAMA_3, MISTRAL_7B, MIXTRAL, QWEN_25, Source,
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
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_what_the_authors_published() {
        for preset in MODELS {
            let ours = preset.architecture.elements().total() as f64;
            let off = ours / preset.published - 1.0;
            assert!(
                off.abs() < 0.005,
                "{}: {ours} against {}",
                preset.choice.id,
                preset.published
            );
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
