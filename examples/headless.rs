//! The calculator without a page: one request a line in, one answer a line out ([`shardscope::io::request`]).
//!
//! `headless report < runs.jsonl`, and `schedule`, `plan`, `import`, `log`, `export`, `calibrate`. The npm package's `shardscope` command
//! (tools/npm) answers the same.

use shardscope::core::issue::Issue;
use shardscope::core::report::Refusal;
use shardscope::io::request::{Answer, Verb, answer};
use std::io::{BufRead, Write, stdin, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some(verb) = Verb::named(&name) else {
        let names = Verb::ALL.map(|(name, _)| name).join("|");
        eprintln!("usage: headless {names}, one request a line on standard input");
        return ExitCode::from(2);
    };
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

fn reply(answer: Result<Answer, Vec<Issue>>) -> String {
    let text = match answer {
        Ok(answer) => serde_json::to_string(&answer),
        Err(errors) => serde_json::to_string(&Refusal { errors }),
    };
    text.unwrap_or_else(|error| format!(r#"{{"errors":[{{"field":"","message":"{error}"}}]}}"#))
}
