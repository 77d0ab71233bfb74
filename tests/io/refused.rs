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

/// A request that is answered, of every verb.
fn answered(verb: Verb) -> Value {
    let run = json!({ "gpus": 8, "tokens_total": 1e11 });
    let log = " iteration 10/100 | elapsed time per iteration (ms): 9000.0 | global batch size: 128 |";
    match verb {
        Verb::Report | Verb::Certify => run,
        Verb::Schedule => json!({ "schedule": "1f1b", "pp": 2, "microbatches": 4 }),
        Verb::Plan => json!({ "run": run, "work": 1000 }),
        Verb::Import => json!({ "text": "--tensor-model-parallel-size 2", "run": run }),
        Verb::Export => json!({ "run": run, "format": "megatron" }),
        Verb::Calibrate => json!({ "runs": [{ "run": run, "step_s": 9.0 }] }),
        Verb::Log => json!({ "text": log, "run": run }),
        Verb::Diagnose => json!({ "files": [{ "text": log }], "run": run }),
        Verb::WholeRun => json!({ "run": run }),
        Verb::Rl => {
            let rl = json!({
                "algorithm": "grpo", "prompts": 128, "samples": 8, "prompt_tokens": 120, "rollout_tp": 4,
                "response_tokens": { "mean": 700 }, "response_limit": 4096
            });
            let phases = json!({ "framework": "verl" });
            json!({ "run": { "model": "qwen-3-32b", "gpus": 64, "tp": 4, "phases": phases, "rl": rl } })
        }
        Verb::Scoreboard => json!({ "ask": "origin" }),
    }
}

/// What stands beside a Run is known or refused, so that a mistyped question is not answered as another.
#[test]
fn every_verb_refuses_a_key_that_it_does_not_know() {
    for verb in Verb::ALL {
        let mut request = answered(verb);
        if let Err(issues) = answer(verb, &request.to_string()) {
            panic!("{}: {issues:?}", verb.name());
        }
        request["dayz"] = json!(30);
        let Err(issues) = answer(verb, &request.to_string()) else { panic!("{} answers {request}", verb.name()) };
        assert!(issues.iter().any(|issue| issue.field == "dayz"), "{}: {issues:?}", verb.name());
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

#[test]
fn a_key_that_is_none_comes_back_quoted_and_cut_at_80_characters() {
    for name in ["x".repeat(1_000_000), "a\n::error::b".to_owned(), "\u{202e}\u{1b}[31m".to_owned(), "z".repeat(81)] {
        let lines = [
            (Verb::Report, json!({ &name: 1 })),
            (Verb::Export, json!({ &name: 1, "format": "csv" })),
            (Verb::Plan, json!({ &name: 1 })),
            (Verb::Schedule, json!({ &name: 1 })),
            (Verb::Calibrate, json!({ &name: 1 })),
        ];
        for (verb, line) in lines {
            let Err(errors) = answer(verb, &line.to_string()) else { panic!("{} takes {name:.20}", verb.name()) };
            let field = &errors[0].field;
            assert!(field.starts_with('"') && field.ends_with('"'), "{} {field:.100}", verb.name());
            assert!(!field.chars().any(char::is_control), "{} {field:?}", verb.name());
            assert!(name.len() <= 80 || field.chars().count() == 82 && field.ends_with("…\""), "{field}");
        }
    }
    let Err(errors) = answer(Verb::Report, "{\"nonsense\":1}") else { panic!("there is such a field") };
    assert_eq!(errors[0].field, "nonsense");
}
