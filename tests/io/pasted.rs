//! A text that is pasted onto the page goes where it is understood: published messages, tables and logs to the
//! diagnosis, published settings and models to the import, any other text nowhere.

use shardscope::io::pasted::{PastedKind, is_search, pasted};
use std::fs;

#[test]
fn published_messages_tables_and_logs_are_evidence() {
    let messages = fs::read_to_string("tests/data/traces/oom_messages.txt").unwrap();
    let mut count = 0;
    for message in messages.split("====").filter(|message| message.contains("Tried to allocate")) {
        let lines: Vec<&str> = message.lines().filter(|line| !line.starts_with('#')).collect();
        let message = lines.join("\n");
        assert_eq!(pasted(&message), Some(PastedKind::Evidence), "{message}");
        count += 1;
    }
    assert!(count > 8, "{count}");
    let table = fs::read_to_string("tests/data/traces/tracelens_llama70b_fsdp_nccl_summary_long.csv").unwrap();
    assert_eq!(pasted(&table), Some(PastedKind::Evidence));
    // Megatron-LM prints its arguments before its steps (megatron/training/arguments.py `_print_args`, training.py
    // `training_log`).
    let log = "  tensor_model_parallel_size ...................... 8\n  num_layers ...................... 32\n\
        iteration       10/     100 | elapsed time per iteration (ms): 4100.0 |\n\
        iteration       20/     100 | elapsed time per iteration (ms): 4102.0 |\n\
        iteration       30/     100 | elapsed time per iteration (ms): 4098.0 |\n";
    assert_eq!(pasted(log), Some(PastedKind::Evidence));
}

#[test]
fn published_settings_and_models_are_imported() {
    let mut count = 0;
    for entry in fs::read_dir("tests/data/launch").unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Lists of a program's own names, which nothing starts.
        if name.ends_with("_arguments.txt") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let present = shardscope::core::run::Run::default();
        if shardscope::io::import::read(&text, &present).is_ok() {
            assert_eq!(pasted(&text), Some(PastedKind::Settings), "{name}");
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
    let mut models = 0;
    for line in fs::read_to_string("tests/data/released_configs.jsonl").unwrap().lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(config) = row.get("config").filter(|config| config.get("model_type").is_some()) {
            assert_eq!(pasted(&config.to_string()), Some(PastedKind::Settings));
            models += 1;
        }
    }
    assert!(models > 20, "{models}");
    assert_eq!(pasted("https://example.org/#v=1&tp=4"), Some(PastedKind::Settings));
}

#[test]
fn other_texts_are_neither() {
    for text in ["", " \n", "Llama 3.1 8B", "64", "The run was slow: why?", "{\"name\": 1}", "<b>bold</b>", "4096"] {
        assert_eq!(pasted(text), None, "{text}");
    }
}

/// Pasted into the search of settings: published messages and settings go where any paste goes, words are searched for.
#[test]
fn a_search_takes_words_and_no_message() {
    let messages = fs::read_to_string("tests/data/traces/oom_messages.txt").unwrap();
    for message in messages.split("====").filter(|message| message.contains("Tried to allocate")) {
        let lines: Vec<&str> = message.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(!is_search(&lines.join("\n")) && !is_search(&lines.join(" ")), "{message}");
    }
    for line in fs::read_to_string("tests/data/released_configs.jsonl").unwrap().lines() {
        assert!(!is_search(line), "{line}");
    }
    for text in ["CUDA out of memory. Tried to allocate 1.96 GiB", "--tp 4 --pp 2", "https://x.org/#v=1&tp=4", "a\nb"] {
        assert!(!is_search(text), "{text}");
    }
    for text in ["micro-batch", "--tensor-model-parallel-size", "recompute\n", "why is my GPU out of memory?"] {
        assert!(is_search(text), "{text}");
    }
}
