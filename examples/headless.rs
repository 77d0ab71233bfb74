//! The calculator without a page: one request a line in, one answer a line out ([`shardscope::io::request`]).
//!
//! `headless report < runs.jsonl`, and `schedule`, `plan`, `import`, `log`, `export`, `calibrate`. The npm package's `shardscope` command
//! (tools/npm) answers the same. `headless scoreboard questions > runs.jsonl`, `headless scoreboard predictions` and
//! `headless scoreboard score FILE` know the tables of `public/data`; `headless diagnose [--run RUN] FILE...` reads
//! files. Releases have it as a static command of Linux (`tools/native`), so it needs no file beside it.

use serde_json::{Value, json};
use shardscope::core::accuracy::FILES;
use shardscope::core::issue::Issue;
use shardscope::core::message::verbatim;
use shardscope::core::report::Refusal;
use shardscope::core::run::Run;
use shardscope::io::evidence::{EvidenceReader, diagnose};
use shardscope::io::request::{Answer, Verb, answer};
use std::collections::BTreeMap;
use std::fs::{File, read_to_string};
use std::io::{BufRead, Read, Write, stdin, stdout};
use std::process::ExitCode;

/// A table of `public/data`, within the program. The module of the Python package leaves it out: nothing there asks
/// for it.
#[cfg(not(target_family = "wasm"))]
macro_rules! table {
    ($name:literal) => {
        ($name, include_str!(concat!("../public/data/", $name)))
    };
}
#[cfg(target_family = "wasm")]
macro_rules! table {
    ($name:literal) => {
        ($name, "")
    };
}

/// The tables of published runs, each of [`FILES`].
const TABLES: &[(&str, &str)] = &[
    table!("fujii_measured.csv"),
    table!("throughput.csv"),
    table!("throughput_2.csv"),
    table!("throughput_3.csv"),
    table!("measured_memory.csv"),
    table!("simumax_b200.csv"),
    table!("uneven_pp_h20.csv"),
    table!("megatron_golden.csv"),
    table!("finetune_measured.csv"),
    table!("mlperf.csv"),
];

/// The verbs of the guide; `check` and `mcp` are the npm package's.
fn help() -> &'static str {
    let mut sections = include_str!("../tools/npm/GUIDE.md").split("\n## ");
    let verbs = sections.find(|section| section.starts_with("The verbs"));
    verbs.unwrap_or_default()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("", String::as_str);
    match (Verb::named(name), arguments.get(1..).unwrap_or_default()) {
        (Some(Verb::Scoreboard), [ask, more @ ..]) => scoreboard(ask, more.first().map(String::as_str)),
        (Some(Verb::Diagnose), files @ [_, ..]) => diagnosed(files),
        (Some(verb), []) => lines(verb),
        (None, []) if name == "--version" => said(env!("CARGO_PKG_VERSION")),
        (None, []) if name == "--help" || name == "-h" => said(help().trim_end()),
        _ => {
            let names = Verb::ALL.map(Verb::name).join("|");
            eprintln!(
                "usage: {names}, one request a line on standard input; diagnose [--run RUN] FILE...; \
                 scoreboard questions|predictions|origin|score FILE; --help; --version"
            );
            ExitCode::from(2)
        }
    }
}

/// Prints a text.
fn said(text: &str) -> ExitCode {
    match writeln!(stdout(), "{text}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Answers the lines of the standard input.
fn lines(verb: Verb) -> ExitCode {
    let mut out = stdout().lock();
    for line in stdin().lock().lines() {
        let Ok(line) = line else {
            return ExitCode::FAILURE;
        };
        if line.trim().is_empty() {
            continue;
        }
        let reply = reply(answer(verb, &line));
        // Whoever wrote the line may wait for its answer before the next one.
        if writeln!(out, "{reply}").and_then(|()| out.flush()).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Writes what is asked for of the scoreboard: the text of a file, or the score of the predictions in `file`.
fn scoreboard(ask: &str, file: Option<&str>) -> ExitCode {
    let of = |name| TABLES.iter().find(|(known, text)| *known == name && !text.is_empty());
    let Some(tables) = FILES.iter().map(|(name, _)| of(*name).copied()).collect::<Option<BTreeMap<_, _>>>() else {
        eprintln!("a table of published runs is not in this program");
        return ExitCode::FAILURE;
    };
    let request = match (ask, file.map(read_to_string)) {
        ("score", Some(Ok(text))) => json!({ "tables": tables, "predictions": text }),
        ("origin", None) => json!({ "ask": ask }),
        ("questions" | "predictions", None) => json!({ "tables": tables, "ask": ask }),
        _ => {
            eprintln!("usage: scoreboard questions|predictions|origin|score FILE");
            return ExitCode::from(2);
        }
    };
    let reply = reply(answer(Verb::Scoreboard, &request.to_string()));
    let text = serde_json::from_str::<Value>(&reply).ok().and_then(|reply| Some(reply["text"].as_str()?.to_owned()));
    match stdout().write_all(text.unwrap_or(reply + "\n").as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Reads files piece by piece and writes their diagnosis; `--run RUN` before them is the run, as JSON.
fn diagnosed(arguments: &[String]) -> ExitCode {
    let (run, files) = match arguments {
        [option, run, files @ ..] if option == "--run" => (run.as_str(), files),
        files => ("{}", files),
    };
    let run = serde_json::from_str(run).map_err(|error| error.to_string());
    let run = run.and_then(|run| Run::from_value(&run).map_err(|issues| format!("{issues:?}")));
    let run = match run {
        Ok(run) => run,
        Err(fault) => {
            eprintln!("--run: {fault}");
            return ExitCode::from(2);
        }
    };
    let read = |file: &String| {
        let failed = |error: std::io::Error| vec![Issue::error("files", verbatim(error.to_string()))];
        let mut file = File::open(file).map_err(failed)?;
        let (mut reader, mut piece) = (EvidenceReader::default(), vec![0; 1 << 20]);
        loop {
            let count = file.read(&mut piece).map_err(failed)?;
            if count == 0 {
                return reader.finish(&run);
            }
            reader.push(&piece[..count]).map_err(|issue| vec![issue])?;
        }
    };
    let read: Vec<_> = files.iter().map(read).collect();
    let found = diagnose(&read.iter().collect::<Vec<_>>(), &run);
    let text = reply(found.map(|found| Answer::Diagnosed(Box::new(found))));
    said(&text)
}

fn reply(answer: Result<Answer, Vec<Issue>>) -> String {
    let text = match answer {
        Ok(answer) => serde_json::to_string(&answer),
        Err(errors) => serde_json::to_string(&Refusal { errors }),
    };
    text.unwrap_or_else(|error| format!(r#"{{"errors":[{{"field":"","message":"{error}"}}]}}"#))
}
