//! Published models, with the shapes of their configuration files and the size their authors give.

use super::shapes::{
    DEEPSEEK, MIXTRAL_8X7B, QWEN_7B, QWEN_72B, gemma, gemma_4, glm_45, gpt_oss, indexed, like_deepseek, llama_4,
    nemotron_3, qwen_3, qwen_3_moe, qwen_hybrid, qwen_hybrid_moe,
};
use crate::field::Choice;
use crate::model::{Architecture, Compressed, Indexer, Kda, Mla, Moe, Pattern, QkNorm, SecondHeads, VisionEncoder};
use crate::source::{
    AUTOMODEL, CLUSTER_SIMULATOR, DEEPSEEK_V3, GPT_2, GPT_3, KIMI_K2, LLAMA_2, LLAMA_3, MAXTEXT, MEGATRON, MISTRAL_7B,
    MIXTRAL, PRIMUS, QWEN_2_VL, QWEN_25, Source, TORCHTITAN,
};

/// A published model.
#[derive(Clone, Copy, Debug)]
pub struct ModelPreset {
    pub choice: Choice,
    pub architecture: Architecture,
    /// Parameters as its authors count them.
    pub published: f64,
    /// Place of the shapes and the size in it.
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
    ("NVIDIA", &["nemotron"]),
    ("Google", &["gemma"]),
    ("Ai2", &["olmo"]),
    ("Xiaomi", &["mimo"]),
];

/// The models under the name of their maker, in the order of [`MODELS`] inside each.
pub fn by_maker() -> Vec<(&'static str, Vec<Choice>)> {
    let models = |begins: &[&str]| {
        let choices = MODELS.iter().map(|preset| preset.choice);
        choices.filter(|choice| begins.iter().any(|begin| choice.id.starts_with(begin))).collect()
    };
    MAKERS.iter().map(|(maker, begins)| (*maker, models(begins))).collect()
}

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
    ModelPreset { choice: Choice { id, label }, architecture, published, source, place }
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
    preset("qwen-2.5-7b", "Qwen 2.5 7B", QWEN_7B, 7.61e9, &QWEN_25, "table 1"),
    preset("qwen-2.5-72b", "Qwen 2.5 72B", QWEN_72B, 72.7e9, &QWEN_25, "table 1"),
    preset(
        "qwen-2-vl-72b",
        "Qwen2-VL 72B",
        Architecture { vision: VisionEncoder::Qwen2Vl.shape(), ..QWEN_72B },
        73.4e9,
        &QWEN_2_VL,
        "table 1 and section 2.1: 675 M before Qwen2-72B",
    ),
    preset("mixtral-8x7b", "Mixtral 8x7B", MIXTRAL_8X7B, 46.7e9, &MIXTRAL, "table 1"),
    preset("deepseek-v3", "DeepSeek-V3", DEEPSEEK, 671.0e9, &DEEPSEEK_V3, "section 4.2"),
    preset("gpt-3-175b", "GPT-3 175B", Architecture::gpt(96, 12288, 96, 50257, 2048), 175.0e9, &GPT_3, "table 2.1"),
    preset("gpt-2-xl", "GPT-2 XL", Architecture::gpt(48, 1600, 25, 50257, 1024), 1.558e9, &GPT_2, "table 2"),
    preset(
        "qwen-3-8b",
        "Qwen 3 8B",
        qwen_3(Architecture::llama(36, 4096, 12288, 32, 8, 151_936)),
        8.2e9,
        &MAXTEXT,
        "qwen3-8b.yml; 8.2 B: model \
            card",
    ),
    preset(
        "qwen-3-32b",
        "Qwen 3 32B",
        qwen_3(Architecture::llama(64, 5120, 25600, 64, 8, 151_936)),
        32.8e9,
        &MAXTEXT,
        "qwen3-32b.yml; 32.8 B: model \
            card",
    ),
    preset(
        "qwen-3-30b-a3b",
        "Qwen 3 30B-A3B",
        qwen_3_moe((48, 2048), (32, 4), Moe::new(128, 8, 768)),
        30.5e9,
        &MAXTEXT,
        "qwen3-30b-a3b.yml; 30.5 B: model \
            card",
    ),
    preset(
        "qwen-3-235b-a22b",
        "Qwen 3 235B-A22B",
        qwen_3_moe((94, 4096), (64, 4), Moe::new(128, 8, 1536)),
        235.0e9,
        &MAXTEXT,
        "qwen3-235b-a22b.yml; 235 B: its \
            name",
    ),
    preset(
        "qwen-3-coder-480b-a35b",
        "Qwen 3 Coder 480B-A35B",
        qwen_3_moe((62, 6144), (96, 8), Moe::new(160, 8, 2560)),
        480.0e9,
        &MAXTEXT,
        "qwen3-480b-a35b.yml; 480 B: its \
            name",
    ),
    preset(
        "glm-4.5",
        "GLM-4.5 355B-A32B",
        Architecture {
            qk_norm: QkNorm::Head,
            ..glm_45(
                Architecture::llama(92, 5120, 12288, 96, 8, 151_552),
                Moe { dense_layers: 3, ..Moe::new(160, 8, 1536) },
            )
        },
        355.0e9,
        &CLUSTER_SIMULATOR,
        "355 B with multi-token prediction and without embeddings: GLM-4.5's paper, \
            table 1",
    ),
    preset(
        "glm-4.5-air",
        "GLM-4.5-Air 106B-A12B",
        glm_45(Architecture::llama(46, 4096, 10944, 96, 8, 151_552), Moe { dense_layers: 1, ..Moe::new(128, 8, 1408) }),
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
            Moe { shared_experts: 1, dense_layers: 1, ..Moe::new(384, 8, 2048) },
        ),
        1043.0e9,
        &KIMI_K2,
        "table 2; the 1043 B of GLM-4.5's table 1 are with one module of multi-token prediction, \
            which was not released: 1026 B without",
    ),
    preset(
        "moonlight-16b-a3b",
        "Moonlight 16B-A3B",
        like_deepseek(
            Architecture::llama(27, 2048, 11264, 16, 16, 163_840),
            0,
            Moe { shared_experts: 2, dense_layers: 1, ..Moe::new(64, 6, 1408) },
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
            moe: Some(Moe::new(256, 8, 1536)),
            ..Architecture::llama(62, 3072, 1536, 48, 8, 200_064)
        },
        229.9e9,
        &PRIMUS,
        "minimax_m2.5.yaml; 229.9 B: its makers",
    ),
    preset(
        "mixtral-8x22b",
        "Mixtral 8x22B",
        Architecture { moe: Some(Moe::new(8, 2, 16384)), ..Architecture::llama(56, 6144, 16384, 48, 8, 32_768) },
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
            Moe { shared_experts: 1, dense_layers: 3, ..Moe::new(128, 4, 4096) },
        ),
        673.0e9,
        &CLUSTER_SIMULATOR,
        "673 B without the vision tower: model card",
    ),
    preset(
        "deepseek-v3.2",
        "DeepSeek-V3.2",
        indexed(DEEPSEEK, 64),
        671.0e9,
        &MAXTEXT,
        "deepseek3.2-671b.yml; 671 B: DeepSeek-V3's report, the indexer \
            adds 0.85",
    ),
    preset(
        "deepseek-v4-flash",
        "DeepSeek-V4-Flash",
        Architecture {
            head_dim: 512,
            window: 128,
            sinks: true,
            pattern: Pattern::known("X0e*2,(X4e,X128e)*20,X4e"),
            indexer: Some(Indexer { heads: 64, head_dim: 128, top_k: 512 }),
            compressed: Some(Compressed { q_lora_rank: 1024, o_lora_rank: 1024, o_groups: 8, streams: 4 }),
            moe: Some(Moe { shared_experts: 1, ..Moe::new(256, 6, 2048) }),
            ..Architecture::llama(43, 4096, 2048, 64, 1, 129_280)
        },
        284.0e9,
        &PRIMUS,
        "deepseek_v4_flash.yaml; 284 B: model card",
    ),
    preset(
        "qwen-3-next-80b-a3b",
        "Qwen 3 Next 80B-A3B",
        qwen_hybrid_moe((48, 2048, 16, 151_936), 32, Moe::new(512, 10, 512)),
        80.0e9,
        &MAXTEXT,
        "qwen3-next-80b-a3b.yml; 80 B: its name",
    ),
    preset(
        "qwen-3.5-27b",
        "Qwen 3.5 27B (text)",
        qwen_hybrid(Architecture::llama(64, 5120, 17408, 24, 4, 248_320), 48, None),
        27.0e9,
        &TORCHTITAN,
        "models/qwen3_5, _27b; 27 B: its name",
    ),
    preset(
        "qwen-3.5-35b-a3b",
        "Qwen 3.5 35B-A3B (text)",
        qwen_hybrid_moe((40, 2048, 16, 248_320), 32, Moe::new(256, 8, 512)),
        35.0e9,
        &TORCHTITAN,
        "models/qwen3_5, _35b_a3b; 35 B: its name",
    ),
    preset(
        "qwen-3.5-122b-a10b",
        "Qwen 3.5 122B-A10B (text)",
        qwen_hybrid_moe((48, 3072, 32, 248_320), 64, Moe::new(256, 8, 1024)),
        122.0e9,
        &TORCHTITAN,
        "models/qwen3_5, _122b_a10b; 122 B: its name",
    ),
    preset(
        "qwen-3.5-397b-a17b",
        "Qwen 3.5 397B-A17B (text)",
        qwen_hybrid_moe((60, 4096, 32, 248_320), 64, Moe::new(512, 10, 1024)),
        397.0e9,
        &TORCHTITAN,
        "models/qwen3_5, _397b_a17b; 397 B: its name",
    ),
    preset(
        "glm-5",
        "GLM-5 744B-A40B",
        indexed(
            Architecture {
                head_dim: 256,
                mla: Some(Mla {
                    q_lora_rank: 2048,
                    kv_lora_rank: 512,
                    qk_nope_head_dim: 192,
                    qk_rope_head_dim: 64,
                    v_head_dim: 256,
                }),
                moe: Some(Moe { shared_experts: 1, dense_layers: 3, ..Moe::new(256, 8, 2048) }),
                ..Architecture::llama(78, 6144, 12288, 64, 64, 154_880)
            },
            32,
        ),
        744.0e9,
        &PRIMUS,
        "glm5.yaml; 744 B: GLM-5's report",
    ),
    preset(
        "gpt-oss-120b",
        "gpt-oss 120B",
        gpt_oss(36, 128),
        116.83e9,
        &MAXTEXT,
        "gpt-oss-120b.yml; 116.83 B: model card, table 1",
    ),
    preset(
        "gpt-oss-20b",
        "gpt-oss 20B",
        gpt_oss(24, 32),
        20.91e9,
        &MAXTEXT,
        "gpt-oss-20b.yml; 20.91 B: model card, table 1",
    ),
    preset(
        "llama-4-scout",
        "Llama 4 Scout 17B-16E",
        llama_4("Ce*3,Ae", 16384, 16),
        109.0e9,
        &MAXTEXT,
        "llama4-17b-16e.yml; 109 B with the vision tower: model \
            card",
    ),
    preset(
        "llama-4-maverick",
        "Llama 4 Maverick 17B-128E",
        llama_4("Cd,Ce,Cd,Ae", 16384, 128),
        400.0e9,
        &MAXTEXT,
        "llama4-17b-128e.yml; 400 B with the vision tower: \
            model card",
    ),
    preset(
        "nemotron-3-nano",
        "Nemotron 3 Nano 30B-A3B",
        nemotron_3(
            ("MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", 52),
            (2688, 32),
            64,
            Moe::new(128, 6, 1856),
        ),
        31.6e9,
        &MEGATRON,
        "examples/post_training/modelopt/conf/nvidia; 31.6 B: NVIDIA",
    ),
    preset(
        "nemotron-3-super",
        "Nemotron 3 Super 120B-A12B",
        nemotron_3(
            (
                "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM\
                 EM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME/*E",
                88,
            ),
            (4096, 32),
            128,
            Moe { latent: 1024, ..Moe::new(512, 22, 2688) },
        ),
        120.0e9,
        &MEGATRON,
        "examples/post_training/modelopt/conf/nvidia; 120 B: its name",
    ),
    preset(
        "nemotron-3-ultra",
        "Nemotron 3 Ultra 550B-A55B",
        nemotron_3(
            (
                "MEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEME\
                    M*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
                108,
            ),
            (8192, 64),
            256,
            Moe { latent: 2048, ..Moe::new(512, 22, 5120) },
        ),
        550.0e9,
        &MEGATRON,
        "examples/post_training/modelopt/conf/nvidia; 550 B: its name",
    ),
    preset(
        "gemma-3-27b",
        "Gemma 3 27B (text)",
        gemma("(Wd*5,Ad)*10,Wd*2", 128, Architecture::llama(62, 5376, 21504, 32, 16, 262_208)),
        27.0e9,
        &MAXTEXT,
        "gemma3-27b.yml; 27 B: its name",
    ),
    preset(
        "gemma-4-31b",
        "Gemma 4 31B (text)",
        gemma_4("Wd*5,Bd", 4, Architecture::llama(60, 5376, 21504, 32, 16, 262_144)),
        30.7e9,
        &MAXTEXT,
        "gemma4-31b.yml; 30.7 B: model card",
    ),
    preset(
        "gemma-4-26b-a4b",
        "Gemma 4 26B-A4B (text)",
        gemma_4(
            "Wx*5,Bx",
            2,
            Architecture { moe: Some(Moe::new(128, 8, 704)), ..Architecture::llama(30, 2816, 2112, 16, 8, 262_144) },
        ),
        25.2e9,
        &MAXTEXT,
        "gemma4-26b.yml; 25.2 B: model card",
    ),
    preset(
        "olmo-3-32b",
        "OLMo 3 32B",
        Architecture {
            qk_norm: QkNorm::All,
            window: 4096,
            pattern: Pattern::known("Wd*3,Ad"),
            ..Architecture::llama(64, 5120, 27648, 40, 8, 100_278)
        },
        32.0e9,
        &MAXTEXT,
        "olmo3-32b.yml; 32 B: its name; its two norms stand behind",
    ),
    preset(
        "kimi-k3",
        "Kimi K3",
        Architecture {
            output_gate: true,
            pattern: Pattern::known("Kd,Ke*2,Le,(Ke*3,Le)*21,Ke*3,Le*2"),
            kda: Some(Kda { heads: 96, head_dim: 128, gate_rank: 0 }),
            ..like_deepseek(
                Architecture::llama(93, 7168, 33792, 96, 96, 163_840),
                1536,
                Moe { shared_experts: 2, latent: 3584, ..Moe::new(896, 16, 3072) },
            )
        },
        2800.0e9,
        &PRIMUS,
        "kimi_k3.yaml; 2.8 T: derived there from the same shapes",
    ),
    preset(
        "mimo-v2-flash",
        "MiMo-V2-Flash",
        Architecture {
            head_dim: 192,
            value_head_dim: 128,
            sinks: true,
            window: 128,
            pattern: Pattern::known("Bd,(We*5,Be)*7,We*4,Be"),
            second: Some(SecondHeads { kv_heads: 4, head_dim: 192, shared_kv: false }),
            moe: Some(Moe::new(256, 8, 2048)),
            ..Architecture::llama(48, 4096, 16384, 64, 8, 152_576)
        },
        309.0e9,
        &AUTOMODEL,
        "mimo_v2_flash/config.py; 309 B: its makers",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::stage_elements;

    /// To half a percent where the authors print three digits or more; a name's two or three digits to one percent,
    /// which
    /// `tests/accuracy/presets.rs` holds the models of 2026 to.
    #[test]
    fn parameters_are_what_the_authors_published() {
        for preset in MODELS {
            let mut counted = preset.architecture;
            if preset.place.contains("with one module") {
                counted.mtp_modules = 1;
            }
            let ours = stage_elements(&counted, &[counted.layers], 0, true).total() as f64;
            let off = ours / preset.published - 1.0;
            let named =
                preset.source.short == "MaxText" || preset.place.contains("its name") || preset.published >= 100e9;
            let most = if named { 0.01 } else { 0.005 };
            let id = preset.choice.id;
            assert!(off.abs() < most, "{id}: {ours} against {}", preset.published);
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
