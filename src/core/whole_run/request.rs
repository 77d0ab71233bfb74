//! Requests of the verb `whole-run`: a Run; `{"run", "days"}`; `{"run", "tokens", "by_days"}`.

use super::inverse::{Deadline, MOST_DAYS, deadline, tokens_in};
use super::whole::{WholeRun, whole_run};
use crate::issue::Issue;
use crate::report::evaluate;
use crate::run::{Run, Value};
use crate::t;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct WholeRunReply {
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
pub fn answer(request: &Value) -> Result<WholeRunReply, Vec<Issue>> {
    let Some(run) = request.get("run") else {
        return of_run(&Run::from_value(request)?);
    };
    request.entries(&["run", "days", "tokens", "by_days"])?;
    let run = Run::from_value(run)?;
    let empty =
        WholeRunReply { errors: Vec::new(), warnings: Vec::new(), whole_run: None, tokens: None, deadline: None };
    let asked = (positive(request, "tokens", MOST_TOKENS)?, positive(request, "by_days", MOST_DAYS)?);
    if let Some(days) = positive(request, "days", MOST_DAYS)? {
        if asked != (None, None) {
            return Err(vec![Issue::error("days", t!("days ask for tokens: either days, or tokens and by_days"))]);
        }
        let evaluation = evaluate(&run)?;
        let tokens = tokens_in(&evaluation, days)?;
        let budget = Run { tokens_total: Some(tokens), ..run };
        return Ok(WholeRunReply { tokens: Some(tokens), ..of_run(&budget)? });
    }
    let other = |key| vec![Issue::error(key, t!("tokens and by_days are asked together"))];
    match asked {
        (Some(tokens), Some(days)) => {
            let of_layout = t!(
                "every number of GPUs has the layout of the run: with a layout chosen for each, as on the page, fewer \
                    GPUs may do"
            );
            let warnings = vec![Issue::warning("gpus", of_layout)];
            Ok(WholeRunReply { warnings, deadline: Some(deadline(&run, tokens, days)?), ..empty })
        }
        (Some(_), None) => Err(other("by_days")),
        (None, Some(_)) => Err(other("tokens")),
        (None, None) => of_run(&run),
    }
}

fn of_run(run: &Run) -> Result<WholeRunReply, Vec<Issue>> {
    let evaluation = evaluate(run)?;
    let (whole, mut warnings) = whole_run(&evaluation)?;
    warnings.extend(evaluation.report.warnings.iter().cloned());
    Ok(WholeRunReply { errors: Vec::new(), warnings, whole_run: Some(whole), tokens: None, deadline: None })
}

/// Tokens that a question may give at most, as `tokens_total`.
const MOST_TOKENS: f64 = 1e18;

/// A number of the request over 0 and up to `most`; none where it is not there.
fn positive(request: &Value, key: &'static str, most: f64) -> Result<Option<f64>, Vec<Issue>> {
    match request.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) if *number > 0.0 && *number <= most => Ok(Some(*number)),
        Some(_) => Err(vec![Issue::error(key, t!("needs a number over 0, at most {most}", most = most.to_string()))]),
    }
}
