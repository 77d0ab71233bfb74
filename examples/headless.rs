//! The calculator without a page: one request a line in, one answer a line out.
//!
//! `headless report < runs.jsonl` (a Run as JSON or as a link's fragment), `headless schedule < requests.jsonl` and
//! `headless plan < requests.jsonl`.

use serde::Serialize;
use shardscope::core::issue::{Issue, Severity};
use shardscope::core::report::{self, Refusal};
use shardscope::core::{pipeline, search};
use shardscope::io;
use std::io::{BufRead, Write, stdin, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let door = match std::env::args().nth(1).as_deref() {
        Some("report") => report_line,
        Some("schedule") => schedule_line,
        Some("plan") => plan_line,
        _ => {
            eprintln!("usage: headless report|schedule|plan, one request a line on standard input");
            return ExitCode::from(2);
        }
    };
    let mut out = stdout().lock();
    for line in stdin().lock().lines() {
        let Ok(line) = line else {
            return ExitCode::FAILURE;
        };
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        // Whoever wrote the line may wait for its answer before the next one.
        if writeln!(out, "{}", door(line))
            .and_then(|()| out.flush())
            .is_err()
        {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn report_line(line: &str) -> String {
    if line.starts_with('{') {
        return reply(
            io::json::read(line).and_then(|run| report::report_value(&run).map_err(|no| no.errors)),
        );
    }
    let link = io::link::decode(line);
    let (bad, unknown): (Vec<_>, Vec<_>) = link
        .notices
        .into_iter()
        .partition(|issue| issue.severity > Severity::Notice);
    if !bad.is_empty() {
        return reply(Err::<(), _>(bad));
    }
    reply(
        report::report(&link.run)
            .map_err(|no| no.errors)
            .map(|mut report| {
                report.warnings.splice(0..0, unknown);
                report
            }),
    )
}

fn schedule_line(line: &str) -> String {
    reply(io::json::read(line).and_then(|request| pipeline::request::answer(&request)))
}

fn plan_line(line: &str) -> String {
    reply(io::json::read(line).and_then(|request| search::plan(&request)))
}

fn reply<T: Serialize>(answer: Result<T, Vec<Issue>>) -> String {
    let text = match answer {
        Ok(answer) => serde_json::to_string(&answer),
        Err(errors) => serde_json::to_string(&Refusal { errors }),
    };
    text.unwrap_or_else(|error| format!(r#"{{"errors":[{{"field":"","message":"{error}"}}]}}"#))
}
