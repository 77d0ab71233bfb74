//! The certificate of a Run's pipeline: how far its order is from the best one of the same stages under the same memory.

use super::evaluate::evaluate;
use super::evaluation::Evaluation;
use crate::issue::Issue;
use crate::message::Message;
use crate::pipeline;
use crate::pipeline::certify::{Certificate, Proof};
use crate::run::{OneOf, Run, Value};
use crate::t;
use serde::Serialize;

/// The answer of the verb `certify`.
#[derive(Clone, Debug, Serialize)]
pub struct Certified {
    /// Empty where there is an answer.
    pub errors: Vec<Issue>,
    /// Makespan of the Run's pipeline, seconds.
    pub makespan_s: f64,
    /// The memory of each rank is its own peak, ops are as it runs them.
    pub certificate: Certificate,
}

/// Certifies the pipeline of a Run.
///
/// # Errors
/// What is wrong with the Run, or why its schedule has no certificate.
pub fn certify(run: &Value) -> Result<Certified, Vec<Issue>> {
    let evaluation = evaluate(&Run::from_value(run)?)?;
    let no_certificate = |reason| vec![Issue::error("schedule", t!("there is no certificate: {reason}", reason))];
    let mut proof = proof(&evaluation).map_err(no_certificate)?;
    while !proof.step() {}
    let makespan_s = evaluation.spans.makespan();
    Ok(Certified { errors: Vec::new(), makespan_s, certificate: proof.certificate() })
}

/// The certificate of an evaluated Run in the making.
///
/// # Errors
/// Why its schedule has none.
pub fn proof(evaluation: &Evaluation) -> Result<Proof, Message> {
    if pipeline::schedule(evaluation.scenario.run.schedule.id()).is_some_and(|row| row.endless) {
        return Err(t!("the schedule never drains"));
    }
    Proof::new(&evaluation.order, &evaluation.durations)
}
