//! Bad input to the whole run: a message at its field, or figures that are finite.

use crate::whole_run::run;
use shardscope::core::report::evaluate;
use shardscope::core::run::{Failures, Run, RunLength, Value};
use shardscope::core::whole_run::{answer, whole_run};

#[test]
fn a_run_that_cannot_finish_is_refused_at_its_field() {
    for (length, field) in [
        (RunLength { mtti_h: Some(1e-3), checkpoint_every_s: Some(3600.0), ..RunLength::default() }, "mtti_h"),
        (
            RunLength {
                failures: Some(Failures::Rate(1e6)),
                checkpoint_every_s: Some(36000.0),
                ..RunLength::default()
            },
            "failures",
        ),
        (RunLength { checkpoint_every_s: Some(0.1), ..RunLength::default() }, "checkpoint_every_s"),
        // The field that was set, where the failures were not.
        (RunLength { restart_s: Some(1e7), ..RunLength::default() }, "restart_s"),
        (RunLength { checkpoint_every_s: Some(1e8), ..RunLength::default() }, "checkpoint_every_s"),
    ] {
        let issues = whole_run(&evaluate(&run(length)).unwrap()).unwrap_err();
        assert_eq!(issues[0].field, field);
    }
    let issues = whole_run(&evaluate(&Run::default()).unwrap()).unwrap_err();
    assert_eq!(issues[0].field, "tokens_total");
}

/// An impossible value is refused at its field, by one message, and nothing of the answer is NaN.
#[test]
fn bad_input_has_its_message_at_its_field() {
    let ask = |settings: &str| {
        let value: Value = serde_json::from_str(&format!("{{\"gpus\":64{settings}}}")).unwrap();
        match answer(&value) {
            Ok(reply) => Ok(serde_json::to_string(&reply).unwrap()),
            Err(issues) => Err((issues[0].field.clone(), issues[0].message.to_string())),
        }
    };
    let tokens = ",\"tokens_total\":1e12";
    for (settings, field, says) in [
        (String::new(), "tokens_total", "needs a number of tokens"),
        (",\"tokens_total\":0".to_owned(), "tokens_total", "1"),
        (format!("{tokens},\"price_per_gpu_hour\":-1"), "price_per_gpu_hour", "0"),
        (format!("{tokens},\"storage_gb_per_s\":0"), "storage_gb_per_s", "0.001"),
        (format!("{tokens},\"failures\":\"-1\""), "failures", ""),
        (format!("{tokens},\"failures\":\"1e5\""), "failures", "does not finish: a restart takes"),
        (
            format!("{tokens},\"failures\":\"1e5\",\"restart_s\":0,\"checkpoint_every_s\":864000"),
            "failures",
            "does not finish",
        ),
        (format!("{tokens},\"mtti_h\":0.001,\"checkpoint_every_s\":3600"), "mtti_h", "does not finish"),
        (format!("{tokens},\"pue\":0.9"), "pue", "1"),
        (format!("{tokens},\"grid_kg_per_kwh\":-0.1"), "grid_kg_per_kwh", "0"),
        (format!("{tokens},\"restart_s\":-1"), "restart_s", "0"),
        (format!("{tokens},\"mtti_h\":0"), "mtti_h", "0.001"),
        (format!("{tokens},\"eval_every\":0"), "eval_every", "1"),
        (format!("{tokens},\"batch_ramp\":[512,16,1000]"), "batch_ramp", "increment"),
        (format!("{tokens},\"batch_ramp\":[16,7,1000]"), "batch_ramp", "increment"),
        (
            format!("{tokens},\"checkpoint_async\":false,\"storage_gb_per_s\":0.01,\"checkpoint_every_s\":60"),
            "checkpoint_every_s",
            "longer than",
        ),
    ] {
        let (at, message) = ask(&settings).expect_err(&settings);
        assert_eq!(at, field, "{settings}: {message}");
        assert!(message.contains(says), "{settings}: {message}");
    }
    for settings in
        ["\"mtti_h\":0.05", "\"pue\":4", "\"grid_kg_per_kwh\":300", "\"failures\":\"0\"", "\"tokens_total\":1"]
    {
        let given = if settings.contains("tokens") { "" } else { tokens };
        let reply = ask(&format!("{given},{settings}")).unwrap();
        assert!(!reply.contains("NaN") && !reply.contains("\"days\":null"), "{settings}: {reply}");
    }
}

/// Any number or text in any field of the run's length: an answer of finite figures, or a message at that field.
#[test]
fn absurd_values_are_answered_or_refused_at_their_field() {
    let keys = [
        "tokens_total",
        "price_per_gpu_hour",
        "failures",
        "mtti_h",
        "operation",
        "restart_s",
        "storage_gb_per_s",
        "checkpoint_every_s",
        "checkpoint_bytes",
        "checkpoint_async",
        "startup_s",
        "spare_quantile",
        "repair_days",
        "pue",
        "grid_kg_per_kwh",
        "batch_ramp",
        "context_phases",
        "rollbacks",
        "rollback_steps",
        "eval_every",
        "eval_samples",
        "straggler",
    ];
    let values = [
        "-1",
        "-1e-320",
        "0",
        "1e-320",
        "1e-9",
        "1",
        "7",
        "1e9",
        "1e300",
        "1e400",
        "-1e300",
        "\"NaN\"",
        "\"inf\"",
        "\"-1\"",
        "\"\"",
        "\"1e300\"",
        "[]",
        "[-16,16,1000]",
        "[16,16,0]",
        "[0,0,0]",
        "\"-16,16,1000\"",
        "\"131072:1e300\"",
        "\"0:0\"",
        "null",
        "true",
        "{}",
    ];
    let mut answered = 0;
    for key in keys {
        for text in values {
            let tokens = if key == "tokens_total" { "" } else { ",\"tokens_total\":1e12" };
            let request = format!("{{\"gpus\":64{tokens},\"{key}\":{text}}}");
            let Ok(value) = serde_json::from_str::<Value>(&request) else { continue };
            match answer(&value) {
                Ok(reply) => {
                    let reply = serde_json::to_value(&reply).unwrap();
                    let whole = &reply["whole_run"];
                    for figure in
                        ["days", "low_days", "high_days", "gpu_hours", "energy_kwh", "interruptions", "productive"]
                    {
                        assert!(
                            whole[figure].as_f64().is_some_and(|figure| figure >= 0.0),
                            "{key} {text} {figure}: {whole}"
                        );
                    }
                    answered += 1;
                }
                Err(issues) => assert_eq!(issues[0].field, key, "{text}: {}", issues[0].message),
            }
        }
    }
    assert!(answered > 80, "{answered}");
}

/// The number of GPUs that a date needs is of one layout: the answer says so.
#[test]
fn a_date_says_whose_layout_each_number_of_gpus_has() {
    let request = serde_json::from_str(r#"{"run":{"gpus":64},"tokens":1e11,"by_days":60}"#).unwrap();
    let reply = serde_json::to_value(answer(&request).unwrap()).unwrap();
    let warnings = reply["warnings"].as_array().unwrap();
    let says =
        |issue: &serde_json::Value| issue["field"] == "gpus" && issue.to_string().contains("the layout of the run");
    assert!(reply["deadline"]["gpus"].is_u64() && warnings.iter().any(says), "{reply}");
}

/// Questions of the inverse with absurd numbers are refused at their key, or answered.
#[test]
fn absurd_questions_are_refused_at_their_key() {
    for (question, field) in [
        ("\"days\":-1", Some("days")),
        ("\"days\":1e300", Some("days")),
        ("\"days\":\"soon\"", Some("days")),
        ("\"days\":1e-9", Some("days")),
        ("\"tokens\":1e12", Some("by_days")),
        ("\"by_days\":30", Some("tokens")),
        ("\"tokens\":0,\"by_days\":30", Some("tokens")),
        ("\"tokens\":1e300,\"by_days\":30", Some("tokens")),
        ("\"tokens\":1e18,\"by_days\":1e-320", None),
        ("\"days\":30,\"tokens\":1e12", Some("days")),
        ("\"days\":30,\"by_days\":30", Some("days")),
        ("\"dayz\":30", Some("dayz")),
        ("\"days\":36500", None),
    ] {
        let request: Value = serde_json::from_str(&format!("{{\"run\":{{\"gpus\":64}},{question}}}")).unwrap();
        match (answer(&request), field) {
            (Err(issues), Some(field)) => assert_eq!(issues[0].field, field, "{question}: {}", issues[0].message),
            (Ok(reply), None) => {
                assert!(!serde_json::to_string(&reply).unwrap().contains("\"days\":null"), "{question}");
            }
            (reply, _) => panic!("{question}: {:?}", reply.err()),
        }
    }
}
