//! Requests of the verb `whole-run`: a Run; `{"run", "days"}`; `{"run", "tokens", "by_days"}`.

use super::inverse::{Deadline, deadline, tokens_in};
use super::whole::{WholeRun, whole_run};
use crate::issue::Issue;
use crate::report::evaluate;
use crate::run::{Run, Value};
use crate::t;
use serde::Serialize;

/// The answer to a request.
#[derive(Debug, Serialize)]
pub struct Reply {
    errors: Vec<Issue>,
    warnings: Vec<Issue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    whole_run: Option<WholeRun>,
    /// Tokens that train in the days asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<f64>,
    /// The GPUs that a date needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<Deadline>,
}

/// Answers a request.
///
/// # Errors
/// Faults, by field.
pub fn answer(request: &Value) -> Result<Reply, Vec<Issue>> {
    let Some(run) = request.get("run") else {
        return of_run(&Run::from_value(request)?);
    };
    let run = Run::from_value(run)?;
    let empty = Reply { errors: Vec::new(), warnings: Vec::new(), whole_run: None, tokens: None, deadline: None };
    if let Some(days) = positive(request, "days")? {
        let evaluation = evaluate(&run)?;
        let tokens = tokens_in(&evaluation, days)?;
        let budget = Run { tokens_total: Some(tokens), ..run };
        return Ok(Reply { tokens: Some(tokens), ..of_run(&budget)? });
    }
    if let (Some(tokens), Some(days)) = (positive(request, "tokens")?, positive(request, "by_days")?) {
        return Ok(Reply { deadline: Some(deadline(&run, tokens, days)?), ..empty });
    }
    of_run(&run)
}

fn of_run(run: &Run) -> Result<Reply, Vec<Issue>> {
    let evaluation = evaluate(run)?;
    let (whole, mut warnings) = whole_run(&evaluation)?;
    warnings.extend(evaluation.report.warnings.iter().cloned());
    Ok(Reply { errors: Vec::new(), warnings, whole_run: Some(whole), tokens: None, deadline: None })
}

/// A positive number of the request; none where it is not there.
fn positive(request: &Value, key: &'static str) -> Result<Option<f64>, Vec<Issue>> {
    match request.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) if *number > 0.0 && number.is_finite() => Ok(Some(*number)),
        Some(_) => Err(vec![Issue::error(key, t!("needs a number above 0"))]),
    }
}
