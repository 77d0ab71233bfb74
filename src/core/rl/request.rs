//! Requests of the verb `rl`: a Run, or `{"run": ...}`.

use super::range::NOT_SAID;
use super::step::{RlStep, step};
use crate::issue::Issue;
use crate::run::{Run, Value};
use serde::Serialize;

/// Answer to a request.
#[derive(Debug, Serialize)]
pub struct RlReply {
    errors: Vec<Issue>,
    /// Warnings, by field.
    pub warnings: Vec<Issue>,
    /// The step.
    pub rl: RlStep,
}

/// Answers a request.
///
/// # Errors
/// Faults by field, and a sentence for what is not said.
pub fn answer(request: &Value) -> Result<RlReply, Vec<Issue>> {
    if let Value::Map(entries) = request {
        let asked = |(key, _): &(String, Value)| {
            let (name, why) = NOT_SAID.iter().find(|(name, _)| name == key)?;
            Some(Issue::error(*name, why()))
        };
        let refused: Vec<_> = entries.iter().filter_map(asked).collect();
        if !refused.is_empty() {
            return Err(refused);
        }
    }
    match request.get("run") {
        None => of_run(&Run::from_value(request)?),
        Some(run) => {
            request.entries(&["run"])?;
            of_run(&Run::from_value(run)?)
        }
    }
}

/// The answer for a Run.
///
/// # Errors
/// Settings that are missing or cannot work, by field.
pub fn of_run(run: &Run) -> Result<RlReply, Vec<Issue>> {
    let step = step(run)?;
    let doubts = step.causes.iter().map(|cause| {
        let (field, message) = cause.says();
        Issue::warning(field, message)
    });
    Ok(RlReply { errors: Vec::new(), warnings: doubts.collect(), rl: step })
}
