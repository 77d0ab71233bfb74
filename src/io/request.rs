//! Requests as lines of text: what the headless program and the npm package's `shardscope` command read and answer.

use super::auto::{self, ChosenAnswer};
use super::dialect::{Branch, Given};
use super::export::{self, Stamp};
use super::{evidence, import, json, link, logs, scoreboard};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use shardscope_core::advice;
use shardscope_core::advice::certify::Certified;
use shardscope_core::calibrate::{self, Calibration};
use shardscope_core::diagnose::Diagnosis;
use shardscope_core::issue::{Issue, Severity};
use shardscope_core::message::Message;
use shardscope_core::pipeline::{self, request::ScheduleReply};
use shardscope_core::report::Report;
use shardscope_core::rl;
use shardscope_core::run::{Run, Value};
use shardscope_core::search::auto::{choose, named};
use shardscope_core::search::{self, Plan};
use shardscope_core::statics::named;
use shardscope_core::t;
use shardscope_core::whole_run;

named! {
    /// Requests to the calculator, by the names that a command line gives them.
    pub enum Verb: name {
        /// A Run, as JSON or as a link: its [`Report`].
        Report = "report",
        /// A schedule and its durations: its order and times.
        Schedule = "schedule",
        /// A Run, and which fields are searched: the best layouts.
        Plan = "plan",
        /// A Run: how far the order of its pipeline is from the best one.
        Certify = "certify",
        /// `{"text": ..., "run": ...}`: what the text of another program means, over the Run.
        Import = "import",
        /// `{"run": ..., "format": ...}`: the Run as a text of another program.
        Export = "export",
        /// `{"runs": [{"run": ..., "step_s": ...}]}`: what measured runs teach, as a profile.
        Calibrate = "calibrate",
        /// `{"text": ..., "run": ...}`: what a log, a benchmark, a trace or a snapshot measured of a run.
        Log = "log",
        /// `{"files": [{"name": ..., "text" | "base64": ...}], "run": ...}`: where the rest of a measured step or of
        /// the memory is.
        Diagnose = "diagnose",
        /// A Run with a token budget, or with days or a date: its calendar, losses, energy and cost.
        WholeRun = "whole-run",
        /// A Run with `rl.*`: its step of reinforcement learning, by phase and group of GPUs, and the steps of other
        /// splits.
        Rl = "rl",
        /// Tables of published runs, and what of the scoreboard is asked for: questions, predictions, or the row of a
        /// tool.
        Scoreboard = "scoreboard",
    }
}

impl Verb {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.name() == name)
    }
}

/// Answers, each as its own object.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Answer {
    Report(Box<Report>),
    Schedule(Box<ScheduleReply>),
    Plan(Box<Plan>),
    Certified(Box<Certified>),
    Imported(Box<Imported>),
    Exported(json::Text),
    Measured(Box<RunMeasurements>),
    Diagnosed(Box<Diagnosis>),
    WholeRun(Box<whole_run::WholeRunReply>),
    Rl(Box<rl::RlReply>),
    Calibrated(Box<Calibration>),
    Scoreboard(Box<scoreboard::ScoreboardAnswer>),
    /// The answer to a request that left the layout to the search.
    // As plain data: an answer that held an answer would have no end as a type.
    Chosen(Box<ChosenAnswer<serde_json::Value>>),
}

/// Measurements of a run, as plain data.
#[derive(Serialize)]
pub struct RunMeasurements {
    errors: Vec<Issue>,
    program: Message,
    /// The observation that `calibrate` takes; none where nothing was measured.
    observation: Option<Value>,
    used: Vec<(Message, Message)>,
    assumed: Vec<Message>,
    notes: Vec<Message>,
    /// The calculator's step and peaks of the same run beside the measured ones.
    compared: Vec<Message>,
}

impl From<logs::Reading> for RunMeasurements {
    fn from(read: logs::Reading) -> Self {
        Self {
            errors: Vec::new(),
            observation: read.observation("").map(|one| one.to_value()),
            compared: read.compared(),
            program: read.program,
            used: read.measured.into_iter().chain(read.used).collect(),
            assumed: read.assumed,
            notes: read.notes,
        }
    }
}

/// The meaning of a text of another program, as plain data.
#[derive(Serialize)]
pub struct Imported {
    errors: Vec<Issue>,
    format: Message,
    run: Value,
    used: Vec<(String, Message)>,
    assumed: Vec<Message>,
    ignored: Vec<Message>,
    /// Settings that may matter and that are not read.
    unread: Vec<import::Unread>,
    /// Conditions of the text, and the way that each was taken.
    branches: Vec<Branch>,
    model: import::ModelRead,
}

impl From<import::Meaning> for Imported {
    fn from(read: import::Meaning) -> Self {
        Self {
            errors: Vec::new(),
            format: read.format,
            run: read.run.to_value(),
            used: read.used,
            assumed: read.assumed,
            ignored: read.ignored,
            unread: read.unread,
            branches: read.branches,
            model: read.model,
        }
    }
}

/// Answers one line.
///
/// # Errors
/// Every fault of the request, by field.
pub fn answer(verb: Verb, line: &str) -> Result<Answer, Vec<Issue>> {
    let line = line.trim();
    if verb == Verb::Report && !line.starts_with('{') {
        return report_of_link(line);
    }
    if verb == Verb::Diagnose {
        return diagnosed(line).map(|found| Answer::Diagnosed(Box::new(found)));
    }
    let request = json::read(line)?;
    let (request, chosen) = match verb {
        Verb::Report | Verb::Certify | Verb::Export | Verb::WholeRun => auto::resolved(&request)?,
        // It searches layouts anyway.
        Verb::Plan => (auto::unasked(&request)?, None),
        _ => (request, None),
    };
    let answer = of_run(verb, &request)?;
    Ok(match chosen {
        Some(chosen) => Answer::Chosen(Box::new(ChosenAnswer::new(plain(&answer), chosen))),
        None => answer,
    })
}

/// An answer as plain data. All of them are maps of numbers, texts and lists.
fn plain(answer: &Answer) -> serde_json::Value {
    serde_json::to_value(answer).unwrap_or_default()
}

fn of_run(verb: Verb, request: &Value) -> Result<Answer, Vec<Issue>> {
    Ok(match verb {
        Verb::Report => Answer::Report(Box::new(advice::report_value(request).map_err(|no| no.errors)?)),
        Verb::Schedule => Answer::Schedule(Box::new(pipeline::request::answer(request)?)),
        Verb::Plan => Answer::Plan(Box::new(search::plan(request)?)),
        Verb::Certify => Answer::Certified(Box::new(advice::certify::certify(request)?)),
        Verb::Import => {
            let (run, text) = run_and_text(request, "text", &GIVEN)?;
            let given = given(request)?;
            Answer::Imported(Box::new(import::read_given(text, &run, &given)?.into()))
        }
        Verb::Export => {
            let (run, format) = run_and_text(request, "format", &[])?;
            Answer::Exported(export::export(&run, format, &Stamp::default())?.into())
        }
        Verb::Log => {
            let (run, text) = run_and_text(request, "text", &[])?;
            Answer::Measured(Box::new(logs::read(text, &run)?.into()))
        }
        Verb::Diagnose => Answer::Diagnosed(Box::new(diagnosed_of(request)?)),
        Verb::WholeRun => Answer::WholeRun(Box::new(whole_run::answer(request)?)),
        Verb::Rl => Answer::Rl(Box::new(rl::answer(request)?)),
        Verb::Calibrate => Answer::Calibrated(Box::new(calibrate::calibrate(request)?)),
        Verb::Scoreboard => Answer::Scoreboard(Box::new(scoreboard::answer(request)?)),
    })
}

/// Bytes of a request that holds files.
pub const MAX_FILES: u32 = 16_000_000;
/// Files of a request at most.
const MAX_COUNT: usize = 256;

fn diagnosed(line: &str) -> Result<Diagnosis, Vec<Issue>> {
    diagnosed_of(&json::read_within(line, MAX_FILES)?)
}

fn diagnosed_of(request: &Value) -> Result<Diagnosis, Vec<Issue>> {
    request.entries(&["run", "files"])?;
    let empty = Value::Map(Vec::new());
    let run = Run::from_value(request.get("run").unwrap_or(&empty))?;
    let Some(Value::List(files)) = request.get("files") else {
        return Err(vec![Issue::error("files", t!("needs a list of files, each with text or base64"))]);
    };
    if files.is_empty() || files.len() > MAX_COUNT {
        return Err(vec![Issue::error("files", t!("takes 1 to {most} files", most = MAX_COUNT))]);
    }
    let read = files.iter().map(|file| match (file.get("text"), file.get("base64")) {
        (Some(Value::Text(text)), None) => evidence::read(text.as_bytes(), &run),
        (None, Some(Value::Text(packed))) => {
            let bytes = STANDARD.decode(packed.trim()).map_err(|_| vec![Issue::error("files", t!("no base64"))])?;
            evidence::read(&bytes, &run)
        }
        _ => Err(vec![Issue::error("files", t!("a file has a text or base64"))]),
    });
    let read: Vec<_> = read.collect();
    let read: Vec<_> = read.iter().collect();
    // A run that is given counts, also where it is the default.
    match request.get("run") {
        None | Some(Value::Null) => evidence::diagnose(&read, &run),
        Some(_) => evidence::diagnose_given(&read, &run),
    }
}

/// A value that cannot be read is an error; a key that is not known is a warning, since a newer version may know it.
fn report_of_link(text: &str) -> Result<Answer, Vec<Issue>> {
    if !text.contains('=') {
        return Err(vec![Issue::error("", t!("a request is an object of fields or the fragment of a link: v=1&tp=4"))]);
    }
    let link = link::decode(text);
    let (bad, unknown): (Vec<_>, Vec<_>) =
        link.notices.into_iter().partition(|issue| issue.severity > Severity::Notice);
    if !bad.is_empty() {
        return Err(bad);
    }
    let choice = link.auto.map(|given| choose(&link.run, given.iter().map(String::as_str))).transpose()?;
    let run = choice.as_ref().map_or(&link.run, |choice| &choice.run);
    let mut report = advice::answer(run).map_err(|no| no.errors)?;
    report.warnings.splice(0..0, unknown);
    let answer = Answer::Report(Box::new(report));
    Ok(match choice {
        Some(choice) => Answer::Chosen(Box::new(ChosenAnswer::new(plain(&answer), named(&choice)))),
        None => answer,
    })
}

const SET: &str = "set";
const FILES: &str = "files";
/// Keys of a request to import, beside text and Run.
pub const GIVEN: [&str; 2] = [SET, FILES];

/// What a request says beside a text: `set`, values by the names of variables or conditions, and `files`, a list of
/// `{"name": ..., "text": ...}`.
///
/// # Errors
/// Values of another kind, by key.
pub fn given(request: &Value) -> Result<Given, Vec<Issue>> {
    let mut given = Given::default();
    match request.get(SET) {
        None => {}
        Some(Value::Map(entries)) => {
            for (name, value) in entries {
                let text = match value {
                    Value::Text(text) => text.clone(),
                    Value::Bool(yes) => yes.to_string(),
                    Value::Number(number) => number.to_string(),
                    _ => return Err(vec![Issue::error(format!("set.{name}"), t!("needs a text, a number or true"))]),
                };
                given.set.push((name.clone(), text));
            }
        }
        Some(_) => return Err(vec![Issue::error(SET, t!("needs an object of names and values"))]),
    }
    match request.get(FILES) {
        None => {}
        Some(Value::List(files)) => {
            for file in files {
                let part = |key: &str| file.get(key).and_then(Value::text).map(str::to_owned);
                let (Some(name), Some(text)) = (part("name"), part("text")) else {
                    return Err(vec![Issue::error(FILES, t!("needs a name and a text in each"))]);
                };
                given.files.push((name, text));
            }
        }
        Some(_) => return Err(vec![Issue::error(FILES, t!("needs a list of files"))]),
    }
    Ok(given)
}

/// The Run and the text under `key` of a request that holds nothing else but keys of `more`; the default Run where it
/// has none.
fn run_and_text<'a>(request: &'a Value, key: &'static str, more: &[&str]) -> Result<(Run, &'a str), Vec<Issue>> {
    let keys: Vec<&str> = ["run", key].into_iter().chain(more.iter().copied()).collect();
    request.entries(&keys)?;
    let empty = Value::Map(Vec::new());
    let run = Run::from_value(request.get("run").unwrap_or(&empty))?;
    match request.get(key) {
        Some(Value::Text(text)) => Ok((run, text)),
        _ => Err(vec![Issue::error(key, "needs a text")]),
    }
}
