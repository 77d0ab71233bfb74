//! The headless program as scripts use it: a process that answers on its standard output while its input stays open.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Built beside the tests: `cargo test` builds examples too, `cargo test --test io` takes the one that is there.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().unwrap().parent().unwrap();
    built.join("examples").join("headless")
}

/// Longer than any answer takes; a program that waits for the end of its input never answers.
const LONG: Duration = Duration::from_mins(1);

/// Sends each request to `command` only after the answer to the one before; the answers, parsed.
fn conversation(command: &str, requests: &[&str]) -> Vec<serde_json::Value> {
    lines(command, requests).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Sends each request to `command` only after the answer to the one before; the answers as the program writes them.
pub fn lines<T: AsRef<str>>(command: &str, requests: &[T]) -> Vec<String> {
    let mut process =
        Command::new(program()).arg(command).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    let output = BufReader::new(process.stdout.take().unwrap());
    let (send, lines) = channel();
    thread::spawn(move || {
        for line in output.lines() {
            send.send(line.unwrap()).unwrap();
        }
    });
    let answers = requests
        .iter()
        .map(|request| {
            let request = request.as_ref();
            writeln!(input, "{request}").unwrap();
            let line = lines.recv_timeout(LONG);
            line.unwrap_or_else(|_| panic!("{command}: no answer to {request}"))
        })
        .collect();
    drop(input);
    assert!(process.wait().unwrap().success());
    answers
}

#[test]
fn every_line_is_answered_before_the_next_is_sent() {
    // dp = gpus / (tp pp cp), by definition.
    let runs = [r#"{"gpus":64,"tp":2,"pp":4}"#, "v=1&gpus=128&tp=2&pp=4"];
    let dp: Vec<_> = conversation("report", &runs).iter().map(|report| report["layout"]["dp"].as_u64()).collect();
    assert_eq!(dp, [Some(8), Some(16)]);
    // (m + p - 1) (t_F + t_B) with a forward of 1 and a backward of 2.
    let request = r#"{"schedule":"1f1b","pp":4,"microbatches":8}"#;
    for answer in conversation("schedule", &[request, request]) {
        assert_eq!(answer["makespan_s"].as_f64(), Some(33.0));
    }
    let plan = r#"{"run":{"gpus":8},"top":1}"#;
    for answer in conversation("plan", &[plan, plan]) {
        assert_eq!(answer["best"].as_array().unwrap().len(), 1);
    }
}

/// Megatron-LM's own flags: `--tensor-model-parallel-size` is tensor parallelism.
#[test]
fn a_run_comes_in_and_goes_out_as_another_programs_arguments() {
    let request = r#"{"run":{"gpus":8,"tp":4,"pp":2},"format":"megatron"}"#;
    let written = conversation("export", &[request]);
    let text = written[0]["text"].as_str().unwrap();
    assert!(text.contains("--tensor-model-parallel-size 4"), "{text}");
    let request = serde_json::json!({ "text": text, "run": { "gpus": 8 } }).to_string();
    let misspelt = r#"{"text":"v=1","rum":{"gpus":8}}"#;
    let read = conversation("import", &[&request, "{}", misspelt]);
    assert_eq!(read[0]["run"]["tp"].as_u64(), Some(4));
    assert_eq!(read[0]["run"]["pp"].as_u64(), Some(2));
    assert_eq!(read[1]["errors"][0]["field"], "text");
    assert_eq!(read[2]["errors"][0]["field"], "rum");
}

/// 2,000 levels are a message, as they are to a page: no program ends of it.
#[test]
fn what_nests_too_deep_is_refused_and_the_next_line_answered() {
    let deep = format!("{}1{}", r#"{"model":"#.repeat(2000), "}".repeat(2000));
    let answers = conversation("report", &[&deep, "{}"]);
    let message = answers[0]["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("nested deeper than 64 levels"), "{message}");
    assert_eq!(answers[1]["errors"].as_array().unwrap().len(), 0);
}

/// As somebody has it who took the command from a release: without the repository, and without a guide.
#[test]
fn the_program_needs_no_file_beside_it_and_says_its_verbs() {
    let folder = std::env::temp_dir().join(format!("shardscope-alone-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(program()).args(arguments).current_dir(&folder).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text)
    };
    assert_eq!(run(&["--version"]), (Some(0), format!("{}\n", env!("CARGO_PKG_VERSION"))));
    let (status, help) = run(&["--help"]);
    assert_eq!(status, Some(0));
    for verb in shardscope::io::request::Verb::ALL {
        assert!(help.contains(&format!("**{}**", verb.name())), "{}", verb.name());
    }
    let (status, questions) = run(&["scoreboard", "questions"]);
    assert_eq!(status, Some(0));
    assert!(questions.lines().count() > 1000);
    assert_eq!(run(&["report", "run.json"]), (Some(2), String::new()));
    // No path of the machine that built it.
    let bytes = std::fs::read(program()).unwrap();
    let tables = concat!(env!("CARGO_MANIFEST_DIR"), "/public/data").as_bytes();
    assert!(!bytes.windows(tables.len()).any(|window| window == tables));
    std::fs::remove_dir_all(&folder).unwrap();
}
