//! Facts of published `config.json` files against the parameter counts of the released checkpoints.

use super::*;
use shardscope_core::model::Architecture;
use shardscope_core::run::{Run, Scenario};

/// A line a checkpoint: name, parameters as its model page gives them, the file. Of Gemma 3 the parameters are those of
/// the language model (report, table 1), of GLM-4.7-Flash those of its name at the hub, 30B-A3B.
const RELEASED: &str = include_str!("../../../tests/data/released_configs.jsonl");

/// The text of a checkpoint's file.
fn released(name: &str) -> &'static str {
    let line = RELEASED.lines().find(|line| line.starts_with(&format!("{{\"name\":\"{name}\"")));
    line.and_then(|line| line.split_once("\"config\":")?.1.strip_suffix('}')).unwrap()
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn published_parameter_counts_are_met_to_half_a_percent() {
    for line in RELEASED.lines() {
        let row = parse(line);
        let (Some(Value::Text(name)), Some(Value::Number(published))) = (row.get("name"), row.get("parameters")) else {
            panic!("name and parameters are needed: {line}");
        };
        let model = read(&parse(released(name))).unwrap().model().resolve().unwrap();
        let off = model.elements().total() as f64 / published - 1.0;
        assert!(off.abs() < 0.005, "{name}: {off}");
    }
}

/// The presets were typed from the authors' papers, these from the files of the checkpoints.
#[test]
fn files_and_presets_of_a_model_agree() {
    for name in ["llama-3.1-8b", "mistral-7b", "qwen-2.5-7b", "mixtral-8x7b", "minimax-m2"] {
        let mut imported = read(&parse(released(name))).unwrap().model().resolve().unwrap();
        let preset = Based::<ModelParts>::preset(name).resolve().unwrap();
        if name == "mistral-7b" {
            // The file of the first release says windows of 4,096 (arXiv 2310.06825, table 1); later ones have none.
            assert_eq!((imported.window, preset.window), (4096, 0));
            (imported.window, imported.pattern) = (preset.window, preset.pattern);
        }
        assert_eq!(imported, preset);
    }
    let mut deepseek = read(&parse(released("deepseek-v3"))).unwrap().model().resolve().unwrap();
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
    // Of a model that sees as well the file is read one level down.
    for line in RELEASED.lines().filter(|line| !line.contains("text_config")) {
        let config = parse(line).get("config").cloned().unwrap();
        let imported = read(&config).unwrap();
        let Value::Map(entries) = &config else { panic!() };
        for (key, value) in entries {
            let used = imported.used.iter().any(|(name, _)| name == key);
            let ignored = imported.ignored.iter().any(|(name, _)| name == key);
            let named = used || ignored || *value == Value::Null;
            assert!(named && !(used && ignored), "{key}");
        }
    }
    let llama = read(&parse(released("llama-3.1-8b"))).unwrap();
    assert!(llama.ignored.iter().any(|(key, _)| key == "use_cache"));
    // The file's own values, by the names of Megatron-LM's `arguments.py`.
    let arguments = llama.parts.arguments.as_deref();
    let scaling = "--rope-scaling-factor 8 --use-rope-scaling";
    assert_eq!(
        arguments,
        Some(&*format!("--rotary-base 500000 --norm-epsilon 0.00001 --init-method-std 0.02 {scaling}"))
    );
    assert!(llama.assumed.iter().any(|line| line.to_string().starts_with("head width 128")));
    let gemma = read(&parse(released("gemma-2-9b"))).unwrap();
    assert!(gemma.assumed.iter().any(|line| line.to_string().starts_with("tied embeddings yes")));
    assert!(gemma.notes.is_empty() && gemma.parts.post_norms == Some(true));
}

#[test]
fn an_imported_model_makes_a_run_and_survives_its_link() {
    for name in ["llama-3.1-8b", "mixtral-8x7b", "deepseek-v2-lite", "gpt-2"] {
        let imported = read(&parse(released(name))).unwrap();
        let run = Run { model: imported.model(), tp: 1, pp: 1, ..Run::default() };
        let scenario = Scenario::new(&run).unwrap();
        let link = crate::link::encode(&run);
        let back = crate::link::decode(&link);
        assert!(back.notices.is_empty(), "{:?}", back.notices);
        assert_eq!(Scenario::new(&back.run).unwrap().model, scenario.model);
    }
}

/// The message for an unknown kind names what it shares with known ones, and that there may be more.
#[test]
fn an_unknown_kind_is_read_by_its_entries_and_says_so() {
    for (config, kind) in [
        (released("llama-3.1-8b"), "llama"),
        (released("mixtral-8x7b"), "mixtral"),
        (released("deepseek-v3"), "deepseek_v3"),
    ] {
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
    let odd = released("llama-3.1-8b").replace("4096", "\"wide\"");
    assert!(message(&odd).contains("hidden_size takes a whole number"));
}

/// transformers: Gemma 2 slides in every other layer from the first on; Qwen's experts are in every
/// `decoder_sparse_step`th layer; a list wins over a rule, also in a kind that is not known.
#[test]
fn layers_that_differ_are_a_pattern() {
    let pattern = |json: &str| read(&parse(json)).unwrap().parts.pattern;
    assert_eq!(pattern(released("gemma-2-9b")).unwrap(), "Wd,Ad");
    let sparse = released("qwen-1.5-moe").replace("\"decoder_sparse_step\":1", "\"decoder_sparse_step\":2");
    assert_eq!(pattern(&sparse).unwrap(), "Ad,Ae");
    let list = ["\"sliding_attention\""; 31].join(",");
    let listed =
        format!("\"layer_types\":[{list},\"full_attention\"],\"sliding_window\":512,\"model_type\":\"stranger\"");
    let strange = released("llama-3.1-8b").replace("\"model_type\":\"llama\"", &listed);
    assert_eq!(pattern(&strange).unwrap(), "Wd*31,Ad");
    let short = strange.replace("\"full_attention\"]", "\"full_attention\",\"full_attention\"]");
    assert_eq!(read(&parse(&short)).unwrap_err()[0].field, "model.pattern");
}

/// `config.json` of Qwen2-VL-7B-Instruct: its tower and merger have 675 M parameters (report, section 2.1), and an
/// image of 1,024 x 1,024 pixels is 74 x 74 patches, a quarter as many tokens.
#[test]
fn a_tower_is_read_with_its_merger() {
    let file = parse(
        r#"{"model_type": "qwen2_vl", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
            "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": false,
            "vision_config": {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16, "in_chans": 3,
            "hidden_size": 3584, "patch_size": 14, "spatial_merge_size": 2, "spatial_patch_size": 14,
            "temporal_patch_size": 2}}"#,
    );
    let config = read(&file).unwrap();
    let model = config.model().resolve().unwrap();
    let vision = model.vision.unwrap();
    assert_eq!((vision.patches(), vision.tokens()), (74 * 74, 37 * 37));
    let language = Architecture { vision: None, ..model };
    let tower = (model.elements().total() - language.elements().total()) as f64;
    assert!((tower / 675e6 - 1.0).abs() < 0.015, "{tower}");
    assert!(
        config
            .assumed
            .iter()
            .any(|said| said.to_string().contains("1,024 x 1,024") || said.to_string().contains("1024 x 1024"))
    );
}

/// `config.json` of Qwen2-VL-72B-Instruct: Qwen2-72B behind the same tower, whose merger leads to 8,192 numbers. NeMo's
/// `Qwen2VLConfig72B` has the same sizes. It has the parameters of the preset.
#[test]
fn the_file_of_a_large_vision_model_has_the_shapes_of_its_preset() {
    let file = parse(
        r#"{"model_type": "qwen2_vl", "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80,
            "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 152064, "tie_word_embeddings": false,
            "vision_config": {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16, "in_chans": 3,
            "hidden_size": 8192, "patch_size": 14, "spatial_merge_size": 2, "spatial_patch_size": 14,
            "temporal_patch_size": 2}}"#,
    );
    let model = read(&file).unwrap().model().resolve().unwrap();
    let preset = shardscope_core::run::presets::model("qwen-2-vl-72b").unwrap();
    assert_eq!(model.elements().total(), preset.architecture.elements().total());
    assert_eq!(model.vision.unwrap().tokens(), preset.architecture.vision.unwrap().tokens());
}

/// The defaults of a tower's class are not the shapes that were released: a file that is silent has no tower.
#[test]
fn a_tower_that_leaves_a_shape_out_is_not_guessed() {
    let imported = read(&parse(released("qwen-3-vl-30b"))).unwrap();
    assert!(imported.model().resolve().unwrap().vision.is_none());
    assert!(imported.assumed.iter().any(|said| said.to_string().contains("only the language model is read")));
}
