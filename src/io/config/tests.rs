//! Facts of published `config.json` files, typed in, against the parameter counts of the released checkpoints.

use super::*;
use crate::core::run::{Run, Scenario};

const LLAMA_31_8B: &str = r#"{"architectures":["LlamaForCausalLM"],"attention_bias":false,"attention_dropout":0.0,
"bos_token_id":128000,"eos_token_id":128001,"hidden_act":"silu","hidden_size":4096,"initializer_range":0.02,
"intermediate_size":14336,"max_position_embeddings":131072,"mlp_bias":false,"model_type":"llama",
"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"pretraining_tp":1,"rms_norm_eps":1e-05,
"rope_scaling":{"factor":8.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,
"rope_type":"llama3"},"rope_theta":500000.0,"tie_word_embeddings":false,"torch_dtype":"bfloat16","use_cache":true,
"vocab_size":128256}"#;
const MISTRAL_7B: &str = r#"{"architectures":["MistralForCausalLM"],"hidden_act":"silu","hidden_size":4096,
"intermediate_size":14336,"max_position_embeddings":32768,"model_type":"mistral","num_attention_heads":32,
"num_hidden_layers":32,"num_key_value_heads":8,"sliding_window":4096,"tie_word_embeddings":false,"vocab_size":32000}"#;
const QWEN_25_7B: &str = r#"{"architectures":["Qwen2ForCausalLM"],"attention_dropout":0.0,"hidden_act":"silu",
"hidden_size":3584,"intermediate_size":18944,"max_position_embeddings":131072,"max_window_layers":28,
"model_type":"qwen2","num_attention_heads":28,"num_hidden_layers":28,"num_key_value_heads":4,"rms_norm_eps":1e-06,
"rope_theta":1000000.0,"tie_word_embeddings":false,"use_sliding_window":false,"vocab_size":152064}"#;
const GEMMA_2_9B: &str = r#"{"architectures":["Gemma2ForCausalLM"],"attention_bias":false,"attn_logit_softcapping":50.0,
"final_logit_softcapping":30.0,"head_dim":256,"hidden_activation":"gelu_pytorch_tanh","hidden_size":3584,
"intermediate_size":14336,"max_position_embeddings":8192,"model_type":"gemma2","num_attention_heads":16,
"num_hidden_layers":42,"num_key_value_heads":8,"query_pre_attn_scalar":256,"sliding_window":4096,"vocab_size":256000}"#;
const GPT_2: &str = r#"{"activation_function":"gelu_new","architectures":["GPT2LMHeadModel"],"attn_pdrop":0.1,
"embd_pdrop":0.1,"layer_norm_epsilon":1e-05,"model_type":"gpt2","n_ctx":1024,"n_embd":768,"n_head":12,"n_layer":12,
"n_positions":1024,"resid_pdrop":0.1,"vocab_size":50257}"#;
const PHI_2: &str = r#"{"architectures":["PhiForCausalLM"],"embd_pdrop":0.0,"hidden_act":"gelu_new","hidden_size":2560,
"intermediate_size":10240,"layer_norm_eps":1e-05,"max_position_embeddings":2048,"model_type":"phi",
"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":32,"partial_rotary_factor":0.4,
"qk_layernorm":false,"resid_pdrop":0.1,"tie_word_embeddings":false,"vocab_size":51200}"#;
const MIXTRAL_8X7B: &str = r#"{"architectures":["MixtralForCausalLM"],"hidden_act":"silu","hidden_size":4096,
"intermediate_size":14336,"max_position_embeddings":32768,"model_type":"mixtral","num_attention_heads":32,
"num_experts_per_tok":2,"num_hidden_layers":32,"num_key_value_heads":8,"num_local_experts":8,"output_router_logits":false,
"router_aux_loss_coef":0.02,"tie_word_embeddings":false,"vocab_size":32000}"#;
const QWEN_15_MOE: &str = r#"{"architectures":["Qwen2MoeForCausalLM"],"decoder_sparse_step":1,"hidden_size":2048,
"intermediate_size":5632,"max_position_embeddings":8192,"model_type":"qwen2_moe","moe_intermediate_size":1408,
"norm_topk_prob":false,"num_attention_heads":16,"num_experts":60,"num_experts_per_tok":4,"num_hidden_layers":24,
"num_key_value_heads":16,"shared_expert_intermediate_size":5632,"tie_word_embeddings":false,"vocab_size":151936}"#;
const QWEN_3_30B: &str = r#"{"architectures":["Qwen3MoeForCausalLM"],"attention_bias":false,"decoder_sparse_step":1,
"head_dim":128,"hidden_size":2048,"intermediate_size":6144,"mlp_only_layers":[],"model_type":"qwen3_moe",
"moe_intermediate_size":768,"norm_topk_prob":true,"num_attention_heads":32,"num_experts":128,"num_experts_per_tok":8,
"num_hidden_layers":48,"num_key_value_heads":4,"tie_word_embeddings":false,"vocab_size":151936}"#;
const DEEPSEEK_V2_LITE: &str = r#"{"architectures":["DeepseekV2ForCausalLM"],"attention_bias":false,
"first_k_dense_replace":1,"hidden_size":2048,"intermediate_size":10944,"kv_lora_rank":512,"model_type":"deepseek_v2",
"moe_intermediate_size":1408,"moe_layer_freq":1,"n_routed_experts":64,"n_shared_experts":2,"num_attention_heads":16,
"num_experts_per_tok":6,"num_hidden_layers":27,"num_key_value_heads":16,"q_lora_rank":null,"qk_nope_head_dim":128,
"qk_rope_head_dim":64,"tie_word_embeddings":false,"v_head_dim":128,"vocab_size":102400}"#;
const DEEPSEEK_V3: &str = r#"{"architectures":["DeepseekV3ForCausalLM"],"attention_bias":false,"ep_size":1,
"first_k_dense_replace":3,"hidden_act":"silu","hidden_size":7168,"intermediate_size":18432,"kv_lora_rank":512,
"max_position_embeddings":163840,"model_type":"deepseek_v3","moe_intermediate_size":2048,"moe_layer_freq":1,"n_group":8,
"n_routed_experts":256,"n_shared_experts":1,"num_attention_heads":128,"num_experts_per_tok":8,"num_hidden_layers":61,
"num_key_value_heads":128,"num_nextn_predict_layers":1,"q_lora_rank":1536,"qk_nope_head_dim":128,"qk_rope_head_dim":64,
"tie_word_embeddings":false,"topk_group":4,"v_head_dim":128,"vocab_size":129280}"#;
/// As released: GLM-4.5-Air has no norm of queries and keys, GLM-4.5 has.
const GLM_45_AIR: &str = r#"{"architectures":["Glm4MoeForCausalLM"],"attention_bias":true,"first_k_dense_replace":1,
"head_dim":128,"hidden_act":"silu","hidden_size":4096,"intermediate_size":10944,"max_position_embeddings":131072,
"model_type":"glm4_moe","moe_intermediate_size":1408,"n_group":1,"n_routed_experts":128,"n_shared_experts":1,
"norm_topk_prob":true,"num_attention_heads":96,"num_experts_per_tok":8,"num_hidden_layers":46,"num_key_value_heads":8,
"num_nextn_predict_layers":1,"partial_rotary_factor":0.5,"rope_theta":1000000,"routed_scaling_factor":1.0,
"tie_word_embeddings":false,"topk_group":1,"use_qk_norm":false,"vocab_size":151552}"#;
const MINIMAX_M2: &str = r#"{"architectures":["MiniMaxM2ForCausalLM"],"head_dim":128,"hidden_act":"silu","hidden_size":3072,
"intermediate_size":1536,"max_position_embeddings":196608,"model_type":"minimax_m2","num_attention_heads":48,
"num_experts_per_tok":8,"num_hidden_layers":62,"num_key_value_heads":8,"num_local_experts":256,"qk_norm_type":"per_layer",
"rotary_dim":64,"scoring_func":"sigmoid","tie_word_embeddings":false,"use_qk_norm":true,"vocab_size":200064}"#;

/// As released: the file leaves out heads, head width and vocabulary.
const GEMMA_3_4B: &str = r#"{"architectures":["Gemma3ForConditionalGeneration"],"model_type":"gemma3",
"text_config":{"hidden_size":2560,"intermediate_size":10240,"model_type":"gemma3_text","num_hidden_layers":34,
"rope_scaling":{"factor":8.0,"rope_type":"linear"},"sliding_window":1024},"vision_config":{"hidden_size":1152}}"#;
const GEMMA_3_27B: &str = r#"{"architectures":["Gemma3ForConditionalGeneration"],"model_type":"gemma3",
"text_config":{"head_dim":128,"hidden_size":5376,"intermediate_size":21504,"model_type":"gemma3_text",
"num_attention_heads":32,"num_hidden_layers":62,"num_key_value_heads":16,"query_pre_attn_scalar":168,
"sliding_window":1024},"vision_config":{"hidden_size":1152}}"#;
const NEMOTRON_H_8B: &str = r#"{"architectures":["NemotronHForCausalLM"],"attention_bias":false,"attention_head_dim":128,
"conv_kernel":4,"expand":2,"hidden_size":4096,"hybrid_override_pattern":"M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
"intermediate_size":21504,"mamba_head_dim":64,"mamba_num_heads":128,"mlp_hidden_act":"relu2","model_type":"nemotron_h",
"n_groups":8,"num_attention_heads":32,"num_hidden_layers":52,"num_key_value_heads":8,"ssm_state_size":128,
"tie_word_embeddings":false,"vocab_size":131072}"#;
const QWEN_3_VL_30B: &str = r#"{"architectures":["Qwen3VLMoeForConditionalGeneration"],"model_type":"qwen3_vl_moe",
"text_config":{"attention_bias":false,"decoder_sparse_step":1,"head_dim":128,"hidden_size":2048,
"intermediate_size":6144,"mlp_only_layers":[],"model_type":"qwen3_vl_moe_text","moe_intermediate_size":768,
"num_attention_heads":32,"num_experts":128,"num_experts_per_tok":8,"num_hidden_layers":48,"num_key_value_heads":4,
"vocab_size":151936},"tie_word_embeddings":false,"vision_config":{"depth":27}}"#;
const SMOLLM_3: &str = r#"{"architectures":["SmolLM3ForCausalLM"],"attention_bias":false,"hidden_act":"silu",
"hidden_size":2048,"intermediate_size":11008,"mlp_bias":false,"model_type":"smollm3","num_attention_heads":16,
"num_hidden_layers":36,"num_key_value_heads":4,"vocab_size":128256}"#;
const PYTHIA_6_9B: &str = r#"{"architectures":["GPTNeoXForCausalLM"],"hidden_act":"gelu","hidden_size":4096,
"intermediate_size":16384,"model_type":"gpt_neox","num_attention_heads":32,"num_hidden_layers":32,
"tie_word_embeddings":false,"use_parallel_residual":true,"vocab_size":50432}"#;

const ERNIE_45_21B: &str = r#"{"architectures":["Ernie4_5_MoeForCausalLM"],"head_dim":null,"hidden_act":"silu","hidden_size":2560,
"intermediate_size":12288,"max_position_embeddings":131072,"model_type":"ernie4_5_moe","moe_gate_act":null,
"moe_intermediate_size":1536,"moe_k":6,"moe_layer_end_index":null,"moe_layer_interval":1,"moe_layer_start_index":1,
"moe_num_experts":64,"moe_num_shared_experts":2,"num_attention_heads":20,"num_hidden_layers":28,"num_key_value_heads":4,
"rms_norm_eps":1e-05,"rope_theta":500000,"tie_word_embeddings":true,"use_bias":false,"vocab_size":103424}"#;
/// Its numbers by layer are lists.
const HUNYUAN_A13B: &str = r#"{"architectures":["HunYuanMoEV1ForCausalLM"],"head_dim":128,"hidden_size":4096,"intermediate_size":3072,
"model_type":"hunyuan_v1_moe","moe_intermediate_size":[3072,3072],"moe_topk":[8,8],"num_attention_heads":32,"num_experts":64,
"num_hidden_layers":32,"num_key_value_heads":8,"num_shared_expert":[1,1],"tie_word_embeddings":true,"use_qk_norm":true,
"vocab_size":128167}"#;
const LING_LITE_15: &str = r#"{"architectures":["BailingMoeForCausalLM"],"first_k_dense_replace":0,"hidden_act":"silu","hidden_size":2048,
"intermediate_size":1408,"model_type":"bailing_moe","moe_intermediate_size":1408,"norm_head":false,"norm_topk_prob":true,
"num_attention_heads":16,"num_experts":64,"num_experts_per_tok":6,"num_hidden_layers":28,"num_key_value_heads":4,
"num_shared_experts":2,"rope_theta":600000,"tie_word_embeddings":false,"use_bias":false,"use_qkv_bias":false,"vocab_size":126464}"#;
const LING_MINI_2: &str = r#"{"architectures":["BailingMoeV2ForCausalLM"],"first_k_dense_replace":1,"head_dim":128,"hidden_size":2048,
"intermediate_size":5120,"model_type":"bailing_moe","moe_intermediate_size":512,"moe_router_enable_expert_bias":true,
"moe_shared_expert_intermediate_size":512,"n_group":8,"num_attention_heads":16,"num_experts":256,"num_experts_per_tok":8,
"num_hidden_layers":20,"num_key_value_heads":4,"num_shared_experts":1,"tie_word_embeddings":false,"topk_group":4,"use_qk_norm":true,
"vocab_size":157184}"#;
const GRANITE_4_H_SMALL: &str = r#"{"attention_bias":false,"hidden_size":4096,"intermediate_size":768,"layer_types":["mamba","mamba","mamba",
"mamba","mamba","attention","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","attention","mamba","mamba","mamba",
"mamba","mamba","mamba","mamba","mamba","mamba","attention","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba",
"attention","mamba","mamba","mamba","mamba"],"mamba_d_conv":4,"mamba_d_head":64,"mamba_d_state":128,"mamba_expand":2,
"mamba_n_groups":1,"mamba_n_heads":128,"model_type":"granitemoehybrid","num_attention_heads":32,"num_experts_per_tok":10,
"num_hidden_layers":40,"num_key_value_heads":8,"num_local_experts":72,"position_embedding_type":"nope","shared_intermediate_size":1536,
"tie_word_embeddings":true,"vocab_size":100352}"#;
const GLM_47_FLASH: &str = r#"{"architectures":["Glm4MoeLiteForCausalLM"],"attention_bias":false,"first_k_dense_replace":1,"hidden_size":2048,
"intermediate_size":10240,"kv_lora_rank":512,"model_type":"glm4_moe_lite","moe_intermediate_size":1536,"n_group":1,
"n_routed_experts":64,"n_shared_experts":1,"norm_topk_prob":true,"num_attention_heads":20,"num_experts_per_tok":4,
"num_hidden_layers":47,"num_key_value_heads":20,"partial_rotary_factor":1.0,"q_lora_rank":768,"qk_nope_head_dim":192,
"qk_rope_head_dim":64,"topk_group":1,"topk_method":"noaux_tc","v_head_dim":256,"vocab_size":154880}"#;

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

/// Parameters of the checkpoints as their model pages give them.
#[test]
fn published_parameter_counts_are_met_to_half_a_percent() {
    for (config, published) in [
        (LLAMA_31_8B, 8_030_261_248.0),
        (MISTRAL_7B, 7_241_732_096.0),
        (QWEN_25_7B, 7_615_616_512.0),
        (GEMMA_2_9B, 9_241_705_984.0),
        (GPT_2, 124_439_808.0),
        (PHI_2, 2_779_683_840.0),
        (MIXTRAL_8X7B, 46_702_792_704.0),
        (QWEN_15_MOE, 14_315_784_192.0),
        (QWEN_3_30B, 30_532_122_624.0),
        (DEEPSEEK_V2_LITE, 15_706_484_224.0),
        (MINIMAX_M2, 228.69e9),
        (GLM_45_AIR, 106.852e9),
        (DEEPSEEK_V3, 671.0e9),
        // Gemma 3's report, table 1: embedding and the rest of the language model.
        (GEMMA_3_4B, 675e6 + 3209e6),
        (GEMMA_3_27B, 1416e6 + 25_600e6),
        (NEMOTRON_H_8B, 8.10e9),
        (QWEN_3_VL_30B, 30_532_122_624.0),
        (SMOLLM_3, 3_075_098_624.0),
        (PYTHIA_6_9B, 6_857_302_016.0),
        (ERNIE_45_21B, 21.83e9),
        (HUNYUAN_A13B, 80.39e9),
        (LING_LITE_15, 16.8e9),
        (LING_MINI_2, 16.26e9),
        (GRANITE_4_H_SMALL, 32.2e9),
        // 30B-A3B: its name at the hub.
        (GLM_47_FLASH, 30e9),
    ] {
        let imported = read(&parse(config)).unwrap();
        let model = imported.model().resolve().unwrap();
        let ours = model.elements().total() as f64;
        let off = ours / published - 1.0;
        assert!(off.abs() < 0.005, "{}: {ours} {off}", imported.kind);
    }
}

/// The presets were typed from the authors' papers, these from the files of the checkpoints.
#[test]
fn files_and_presets_of_a_model_agree() {
    for (config, preset) in [
        (LLAMA_31_8B, "llama-3.1-8b"),
        (MISTRAL_7B, "mistral-7b"),
        (QWEN_25_7B, "qwen-2.5-7b"),
        (MIXTRAL_8X7B, "mixtral-8x7b"),
        (MINIMAX_M2, "minimax-m2"),
    ] {
        let imported = read(&parse(config)).unwrap().model().resolve().unwrap();
        assert_eq!(imported, Based::<ModelParts>::preset(preset).resolve().unwrap());
    }
    let mut deepseek = read(&parse(DEEPSEEK_V3)).unwrap().model().resolve().unwrap();
    // The preset leaves multi-token prediction out, as the 671 B are counted.
    assert_eq!(deepseek.mtp_modules, 1);
    deepseek.mtp_modules = 0;
    // Node-limited routing (section 2.1.2): eight groups of experts, of which a token visits four.
    let moe = deepseek.moe.unwrap();
    assert_eq!((moe.groups, moe.top_groups), (8, 4));
    let preset = Based::<ModelParts>::preset("deepseek-v3").resolve().unwrap();
    assert_eq!(deepseek, preset);
}

#[test]
fn every_entry_is_used_or_listed_as_ignored() {
    for config in
        [LLAMA_31_8B, GPT_2, QWEN_3_30B, DEEPSEEK_V3, GEMMA_2_9B, ERNIE_45_21B, HUNYUAN_A13B, GRANITE_4_H_SMALL]
    {
        let config = parse(config);
        let imported = read(&config).unwrap();
        let Value::Map(entries) = &config else { panic!() };
        for (key, value) in entries {
            let used = imported.used.iter().any(|(name, _)| name == key);
            let ignored = imported.ignored.contains(key);
            let named = used || ignored || key == "model_type" || *value == Value::Null;
            assert!(named && !(used && ignored), "{key}");
        }
    }
    let llama = read(&parse(LLAMA_31_8B)).unwrap();
    assert!(llama.ignored.iter().any(|key| key == "use_cache"));
    // The file's own values, by the names of Megatron-LM's `arguments.py`.
    let arguments = llama.parts.arguments.as_deref();
    let scaling = "--rope-scaling-factor 8 --use-rope-scaling";
    assert_eq!(
        arguments,
        Some(&*format!("--rotary-base 500000 --norm-epsilon 0.00001 --init-method-std 0.02 {scaling}"))
    );
    assert!(llama.assumed.iter().any(|line| line.to_string().starts_with("head width 128")));
    let gemma = read(&parse(GEMMA_2_9B)).unwrap();
    assert!(gemma.assumed.iter().any(|line| line.to_string().starts_with("tied embeddings yes")));
    assert!(gemma.notes.is_empty() && gemma.parts.post_norms == Some(true));
}

#[test]
fn an_imported_model_makes_a_run_and_survives_its_link() {
    for config in [LLAMA_31_8B, MIXTRAL_8X7B, DEEPSEEK_V2_LITE, GPT_2] {
        let imported = read(&parse(config)).unwrap();
        let run = Run { model: imported.model(), tp: 1, pp: 1, ..Run::default() };
        let scenario = Scenario::new(&run).unwrap();
        let link = crate::io::link::encode(&run);
        let back = crate::io::link::decode(&link);
        assert!(back.notices.is_empty(), "{:?}", back.notices);
        assert_eq!(Scenario::new(&back.run).unwrap().model, scenario.model);
    }
}

/// The message for an unknown kind names what it shares with known ones, and that there may be more.
#[test]
fn an_unknown_kind_is_read_by_its_entries_and_says_so() {
    for (config, kind) in [(LLAMA_31_8B, "llama"), (MIXTRAL_8X7B, "mixtral"), (DEEPSEEK_V3, "deepseek_v3")] {
        let named = format!("\"model_type\":\"{kind}\"");
        let strange = config.replace(&named, "\"model_type\":\"stranger\"");
        let family = read(&parse(config)).unwrap().model().resolve().unwrap();
        let imported = read(&parse(&strange)).unwrap();
        let model = imported.model().resolve().unwrap();
        assert_eq!(model.elements(), family.elements(), "{kind}");
        assert!(imported.notes[0].contains("not known"));
    }
}

#[test]
fn what_cannot_be_read_says_why() {
    let message = |json: &str| read(&parse(json)).unwrap_err()[0].message.to_string();
    assert!(message("[1]").contains("object"));
    assert!(message("{}").contains("model_type"));
    assert!(message(r#"{"model_type":"bert"}"#).contains("bert"));
    let bare = read(&parse(r#"{"model_type":"llama"}"#)).unwrap_err();
    assert!(bare.len() >= 4 && bare[0].message.to_string().contains("hidden_size"));
    let odd = LLAMA_31_8B.replace("4096", "\"wide\"");
    assert!(message(&odd).contains("hidden_size takes a whole number"));
}

/// transformers: Gemma 2 slides in every other layer from the first on; Qwen's experts stand in every `decoder_sparse_step`th
/// layer; a list wins over a rule, also in a kind that is not known.
#[test]
fn layers_that_differ_are_a_pattern() {
    let pattern = |json: &str| read(&parse(json)).unwrap().parts.pattern;
    assert_eq!(pattern(GEMMA_2_9B).unwrap(), "Wd,Ad");
    let sparse = QWEN_15_MOE.replace("\"decoder_sparse_step\":1", "\"decoder_sparse_step\":2");
    assert_eq!(pattern(&sparse).unwrap(), "Ad,Ae");
    let list = ["\"sliding_attention\""; 31].join(",");
    let listed =
        format!("\"layer_types\":[{list},\"full_attention\"],\"sliding_window\":512,\"model_type\":\"stranger\"");
    let strange = LLAMA_31_8B.replace("\"model_type\":\"llama\"", &listed);
    assert_eq!(pattern(&strange).unwrap(), "Wd*31,Ad");
    let short = strange.replace("\"full_attention\"]", "\"full_attention\",\"full_attention\"]");
    assert_eq!(read(&parse(&short)).unwrap_err()[0].field, "model.pattern");
}
