//! Parameters as model cards count them.

use shardscope::core::report::{Parameters, evaluate};
use shardscope::core::run::{Run, Value};

fn parameters(json: &str) -> Parameters {
    let value: Value = serde_json::from_str(json).unwrap();
    evaluate(&Run::from_value(&value).unwrap()).unwrap().report.parameters
}

/// DeepSeek-V3's README: 671 B of the main model, and 14 B of the module with the embedding and the head (0.9 B each)
/// that it shares.
#[test]
fn multi_token_prediction_counts_among_the_parameters() {
    let run =
        r#"{"model":{"base":"deepseek-v3","mtp_modules":N},"gpus":1024,"tp":1,"pp":16,"ep":64,"global_batch":4096}"#;
    let [without, with] = ["0", "1"].map(|modules| parameters(&run.replace('N', modules)));
    assert!((without.total as f64 / 671.03e9 - 1.0).abs() < 1e-4, "{}", without.total);
    assert_eq!(with.without_mtp, without.total);
    let shared = 2.0 * 129_280.0 * 7168.0;
    let module = (with.total - without.total) as f64 + shared;
    assert!((13.0e9..14.5e9).contains(&module), "{module}");
    assert!(with.active > without.active);
}

#[test]
fn a_stage_for_prediction_that_is_not_there_is_said() {
    let value: Value = serde_json::from_str(r#"{"mtp_stage":3}"#).unwrap();
    let warnings = evaluate(&Run::from_value(&value).unwrap()).unwrap().report.warnings;
    assert!(warnings.iter().any(|issue| issue.field == "mtp_stage"));
}

/// Llama-3.1-8B on tp 8, pp 4: Megatron-LM pads 128,256 entries to 126 times 1,024; a layer has `2 h² + 2 h h/4 + 3 h
/// f` in its matrices, a rank an eighth of them, and two norms.
#[test]
fn a_stage_holds_the_rows_that_pad_the_vocabulary() {
    let found = parameters(r#"{"tp":8,"pp":4}"#).per_stage;
    let (h, f) = (4096.0, 14_336.0);
    let layers = 8.0 * ((2.5 * h * h + 3.0 * h * f) / 8.0 + 2.0 * h);
    let end = 126.0 * 1024.0 * h / 8.0;
    assert_eq!(found, [layers + end, layers, layers, layers + end + h]);
}
