//! The calculator without a page: one request a line in, one answer a line out ([`shardscope::io::request`]).
//!
//! `headless report < runs.jsonl`, and `schedule`, `plan`, `import`, `log`, `export`, `calibrate`. The npm package's `shardscope` command
//! (tools/npm) answers the same. `headless scoreboard questions > runs.jsonl`, `headless scoreboard predictions` and `headless
//! scoreboard score FILE` read the tables of `public/data` themselves; `headless diagnose [--run RUN] FILE...` reads files.

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

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some(verb) = Verb::named(&name) else {
        let names = Verb::ALL.map(Verb::name).join("|");
        eprintln!("usage: headless {names}, one request a line on standard input");
        return ExitCode::from(2);
    };
    if let (Verb::Scoreboard, Some(ask)) = (verb, std::env::args().nth(2)) {
        return scoreboard(&ask, std::env::args().nth(3).as_deref());
    }
    if verb == Verb::Diagnose && std::env::args().len() > 2 {
        return diagnosed(&std::env::args().skip(2).collect::<Vec<_>>());
    }
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
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/public/data");
    let tables = FILES.iter().map(|(name, _)| Some((*name, read_to_string(format!("{folder}/{name}")).ok()?)));
    let Some(tables) = tables.collect::<Option<BTreeMap<_, _>>>() else {
        eprintln!("the tables are not in {folder}");
        return ExitCode::FAILURE;
    };
    let request = match (ask, file.map(read_to_string)) {
        ("score", Some(Ok(text))) => json!({ "tables": tables, "predictions": text }),
        ("origin", None) => json!({ "ask": ask }),
        ("questions" | "predictions", None) => json!({ "tables": tables, "ask": ask }),
        _ => {
            eprintln!("usage: headless scoreboard questions|predictions|origin|score FILE");
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
    match writeln!(stdout(), "{text}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn reply(answer: Result<Answer, Vec<Issue>>) -> String {
    let text = match answer {
        Ok(answer) => serde_json::to_string(&answer),
        Err(errors) => serde_json::to_string(&Refusal { errors }),
    };
    text.unwrap_or_else(|error| format!(r#"{{"errors":[{{"field":"","message":"{error}"}}]}}"#))
}
