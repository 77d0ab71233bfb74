//! A config.json of every model of `presets_2026.csv`, written from the facts of its source, against the preset.
use shardscope::core::model::Vision;
use shardscope::core::run::{Run, Scenario, Value, presets};
use shardscope::io::config;
use shardscope::io::import::{UnreadKind, read};
use std::collections::BTreeSet;

/// Layers, shapes and parameters are those of the preset. Files of language models alone lack Llama 4's vision tower; a
/// file names MTP modules where the preset leaves them out.
#[test]
fn a_file_of_every_model_of_2026_gives_its_preset() {
    let text = std::fs::read_to_string("tests/data/model_configs.jsonl").unwrap();
    let mut count = 0;
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let Some(Value::Text(id)) = row.get("preset") else { panic!("no preset") };
        let read = config::read(row.get("config").unwrap());
        let read = read.unwrap_or_else(|issues| panic!("{id}: {issues:?}"));
        let mut ours = read.model().resolve().unwrap();
        let mut preset = presets::model(id).unwrap().architecture;
        preset.vision = None::<Vision>;
        assert_eq!(ours.elements(), preset.elements(), "{id}");
        assert_eq!(ours.all_kinds(), preset.all_kinds(), "{id}");
        // Widths of dense FFNs that no layer has, and heads that only the pattern's other layers use.
        (ours.ffn, ours.head_dim, ours.kv_heads) = (preset.ffn, preset.head_dim, preset.kv_heads);
        ours.mtp_modules = preset.mtp_modules;
        assert_eq!(ours, preset, "{id}");
        let run = Run { model: read.model(), tp: 1, pp: 1, ..Run::default() };
        assert!(Scenario::new(&run).is_ok(), "{id}");
        count += 1;
    }
    assert_eq!(count, 33);
}

/// Configurations as they were published raise no alarm by a part that they leave off: a window that is switched off
/// (`configuration_qwen2.py`), dropout of 0, no bias, no query rank.
#[test]
fn what_a_file_of_a_model_leaves_off_is_no_alarm() {
    let text = std::fs::read_to_string("tests/data/released_configs.jsonl").unwrap();
    let more = std::fs::read_to_string("tests/data/model_configs.jsonl").unwrap();
    let (mut seen, mut clear) = (0, 0);
    for line in text.lines().chain(more.lines()) {
        let row: Value = serde_json::from_str(line).unwrap();
        let config = row.get("config").unwrap();
        let import = read(&serde_json::to_string(config).unwrap(), &Run::default()).unwrap();
        for one in &import.unread {
            let value = config.get(&one.name).cloned().unwrap_or(Value::Null);
            let is_off = matches!(value, Value::Null | Value::Bool(false)) || value == Value::Number(0.0);
            // What a release's own code calls so may be on by default.
            let is_stranger = one.kind == UnreadKind::NotKnown && value != Value::Null;
            assert!(is_stranger || !is_off, "{}: {value:?} in {line}", one.name);
        }
        seen += 1;
        clear += u32::from(import.unread.is_empty());
    }
    println!("{clear} of {seen} published files without an entry that may matter");
    let qwen = r#"{"model_type": "qwen2", "hidden_size": 5120, "intermediate_size": 13824, "num_attention_heads": 40,
        "num_hidden_layers": 48, "num_key_value_heads": 8, "vocab_size": 152064, "tie_word_embeddings": false,
        "attention_dropout": 0.0, "max_window_layers": 48, "sliding_window": 131072, "use_sliding_window": false}"#;
    assert_eq!(read(qwen, &Run::default()).unwrap().unread, []);
}

/// `modeling_mistral.py`: every layer slides where `sliding_window` is a number; `configuration_qwen2.py`: those from
/// `max_window_layers` on, where `use_sliding_window` is true.
#[test]
fn windows_of_mistral_and_qwen_are_read() {
    let shape = r#""hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
        "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 32000, "tie_word_embeddings": false"#;
    for (kind, more, pattern, window) in [
        ("mistral", r#""sliding_window": 4096"#, Some("Wd"), Some(4096)),
        ("mistral", r#""sliding_window": null"#, None, None),
        (
            "qwen2",
            r#""use_sliding_window": true, "sliding_window": 8192, "max_window_layers": 31"#,
            Some("Ad*31,Wd"),
            Some(8192),
        ),
        ("qwen2", r#""use_sliding_window": false, "sliding_window": 8192, "max_window_layers": 16"#, None, None),
        ("qwen2", r#""use_sliding_window": true, "sliding_window": 8192, "max_window_layers": 32"#, None, None),
    ] {
        let text = format!("{{\"model_type\": \"{kind}\", {shape}, {more}}}");
        let parts = config::read(&serde_json::from_str(&text).unwrap()).unwrap().parts;
        assert_eq!((parts.pattern.as_deref(), parts.window), (pattern, window), "{text}");
    }
}

/// Every key of a released file stands in one of the three lists of its import, and each list names keys of the file.
#[test]
fn every_key_of_a_config_is_accounted_for() {
    let mut files = 0;
    for line in std::fs::read_to_string("tests/data/released_configs.jsonl").unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let Some(Value::Map(entries)) = row.get("config") else { continue };
        let text = serde_json::to_string(&Value::Map(entries.clone())).unwrap();
        let Ok(meaning) = read(&text, &Run::default()) else { continue };
        let language: Vec<&String> = match row.get("config").and_then(|config| config.get("text_config")) {
            Some(Value::Map(inner)) => inner.iter().map(|(key, _)| key).collect(),
            _ => Vec::new(),
        };
        let keys: BTreeSet<&str> = entries.iter().map(|(key, _)| key).chain(language).map(String::as_str).collect();
        let first = |name: &str| name.split(['.', ':']).next().unwrap_or_default().to_owned();
        let used: BTreeSet<String> = meaning.used.iter().map(|(name, _)| first(name)).collect();
        let ignored: BTreeSet<String> = meaning.ignored.iter().map(|words| first(&words.to_string())).collect();
        let unread: BTreeSet<String> = meaning.unread.iter().map(|one| first(&one.name)).collect();
        let all: BTreeSet<&str> = used.iter().chain(&ignored).chain(&unread).map(String::as_str).collect();
        assert_eq!(all, keys, "{line}");
        assert_eq!(used.len() + ignored.len() + unread.len(), keys.len(), "{line}");
        files += 1;
    }
    assert!(files > 20, "{files}");
}
