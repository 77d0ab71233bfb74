//! The calculator without a page: one request a line in, one answer a line out.
//!
//! `headless report < runs.jsonl` (a Run as JSON or as a link's fragment), `headless schedule < requests.jsonl`,
//! `headless plan < requests.jsonl`, `headless import < texts.jsonl` (`{"text": ..., "run": ...}`) and
//! `headless export < requests.jsonl` (`{"run": ..., "format": "megatron"}`). The package's `shardscope` command
//! (tools/npm) answers the same.

use serde::Serialize;
use shardscope::core::issue::{Issue, Severity};
use shardscope::core::report::{self, Refusal};
use shardscope::core::run::{Run, Value};
use shardscope::core::{pipeline, search};
use shardscope::io;
use std::io::{BufRead, Write, stdin, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let door = match std::env::args().nth(1).as_deref() {
        Some("report") => report_line,
        Some("schedule") => schedule_line,
        Some("plan") => plan_line,
        Some("import") => import_line,
        Some("export") => export_line,
        _ => {
            eprintln!(
                "usage: headless report|schedule|plan|import|export, one request a line on standard input"
            );
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

/// A text of another program as the Run that it means; what it does not say is as in `run`.
fn import_line(line: &str) -> String {
    let read = || {
        let request = io::json::read(line)?;
        let run = part(&request, "run")?;
        let read = io::import::read(&text(&request, "text")?, &run)?;
        Ok(serde_json::json!({
            "errors": [],
            "format": read.format,
            "run": read.run.to_value(),
            "used": read.used,
            "assumed": read.assumed,
            "ignored": read.ignored,
        }))
    };
    reply(read())
}

/// A Run in the form of another program.
fn export_line(line: &str) -> String {
    let written = || {
        let request = io::json::read(line)?;
        let run = part(&request, "run")?;
        let stamp = io::export::Stamp::default();
        let text = io::export::export(&run, &text(&request, "format")?, &stamp)?;
        Ok(serde_json::json!({ "errors": [], "text": text }))
    };
    reply(written())
}

/// The Run under `key`; the default one where there is none.
fn part(request: &Value, key: &str) -> Result<Run, Vec<Issue>> {
    let empty = Value::Map(Vec::new());
    Run::from_value(request.get(key).unwrap_or(&empty))
}

fn text(request: &Value, key: &'static str) -> Result<String, Vec<Issue>> {
    match request.get(key) {
        Some(Value::Text(text)) => Ok(text.clone()),
        _ => Err(vec![Issue::error(key, "is a text")]),
    }
}

fn reply<T: Serialize>(answer: Result<T, Vec<Issue>>) -> String {
    let text = match answer {
        Ok(answer) => serde_json::to_string(&answer),
        Err(errors) => serde_json::to_string(&Refusal { errors }),
    };
    text.unwrap_or_else(|error| format!(r#"{{"errors":[{{"field":"","message":"{error}"}}]}}"#))
}
