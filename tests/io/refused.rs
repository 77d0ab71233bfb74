//! Requests that are no requests, and Runs that are refused.

use serde_json::{Value, json};
use shardscope::io::request::{Verb, answer};

#[test]
fn no_verb_answers_what_is_no_request() {
    for verb in Verb::ALL {
        for text in ["null", "[]", "\"x\"", "5", "true", "abc", ""] {
            assert!(answer(verb, text).is_err(), "{} answers {text}", verb.name());
        }
    }
}

/// Its MTP module is a layer like the last.
#[test]
fn a_part_that_layers_and_a_module_need_is_asked_for_once_a_kind() {
    let run = json!({ "model": { "base": "qwen-3.5-35b-a3b", "moe": { "experts": 0 } } });
    let Err(errors) = answer(Verb::Report, &run.to_string()) else { panic!("{run} has a report") };
    let mut errors: Vec<String> = errors
        .iter()
        .filter_map(|issue| serde_json::to_value(issue).ok())
        .map(|issue: Value| issue.to_string())
        .collect();
    let all = errors.len();
    errors.sort();
    errors.dedup();
    assert_eq!(errors.len(), all, "{errors:?}");
}
