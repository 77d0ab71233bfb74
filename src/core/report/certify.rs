//! The certificate of a Run's pipeline: how far its order is from the best one of the same stages under the same memory.

use super::evaluate::evaluate;
use super::evaluation::Evaluation;
use super::passes::layer_passes;
use crate::issue::Issue;
use crate::message::Message;
use crate::pipeline;
use crate::pipeline::certify::joint::Joint;
use crate::pipeline::certify::splits::{Cost, Limit, Model, Unit};
use crate::pipeline::certify::{Certificate, Proof, Stages};
use crate::run::{OneOf, Run, Value};
use crate::t;
use serde::{Deserialize, Serialize};

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
/// Faults of the Run, or the reason why its schedule has no certificate.
pub fn certify(run: &Value) -> Result<Certified, Vec<Issue>> {
    let evaluation = evaluate(&Run::from_value(run)?)?;
    let no_certificate = |reason| vec![Issue::error("schedule", t!("there is no certificate: {reason}", reason))];
    let mut proof = proof(&evaluation).map_err(no_certificate)?;
    while !proof.step() {}
    let makespan_s = evaluation.spans.makespan();
    Ok(Certified { errors: Vec::new(), makespan_s, certificate: proof.certificate() })
}

/// The best split of a Run's layers with the best order so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestSplit {
    pub stage_layers: Vec<u64>,
    /// Makespan of its pipeline, seconds.
    pub makespan_s: f64,
    /// No split in any order takes less, seconds: one stage a rank, each with as many micro-batches in memory, the times exact.
    pub lower_bound_s: f64,
    /// Nothing is faster by one in 10,000.
    pub proven: bool,
}

/// A search for the split of a Run's layers and the order of its ops together.
#[derive(Clone, Debug)]
pub struct SplitSearch {
    joint: Joint,
}

/// States that the search for a split and an order generates at most.
const WORK: u64 = 600_000;

impl SplitSearch {
    /// Ranks hold as many micro-batches as the Run's fullest does. None where a rank has several stages or there is but one.
    pub fn new(evaluation: &Evaluation) -> Option<Self> {
        let scenario = &evaluation.scenario;
        if scenario.chunks != 1 || scenario.layout.pp == 1 || evaluation.durations.microbatch_scale.is_some() {
            return None;
        }
        let stages = Stages::of_order(&evaluation.order, &evaluation.durations).ok()?;
        // As the durations of the evaluation: scaled to a measured step.
        let scale = evaluation.report.step.rescaled_by.unwrap_or(1.0);
        let unit = |[forward, input, weight]: &[f64; 3]| Unit {
            fixed: 0.0,
            choices: vec![Cost {
                forward: forward * scale,
                backward_input: if stages.whole { input + weight } else { *input } * scale,
                backward_weight: weight * scale,
                kept: 1.0,
                working: 0.0,
            }],
        };
        let model = Model {
            units: layer_passes(scenario).iter().map(unit).collect(),
            ranks: stages.ranks(),
            microbatches: stages.microbatches,
            lag: stages.lag,
            whole: stages.whole,
            limit: Limit::Microbatches(stages.room.iter().copied().max()?),
        };
        Some(Self { joint: Joint::new(&model, WORK) })
    }

    /// Works on; true once the search is over.
    pub fn step(&mut self) -> bool {
        self.joint.step()
    }

    /// The best so far.
    pub fn best(&self) -> Option<BestSplit> {
        let found = self.joint.best.as_ref()?;
        let mut from = 0;
        let mut layers: Vec<u64> = Vec::new();
        for end in &found.split.ends {
            layers.push((end - from) as u64);
            from = *end;
        }
        // The first and the last unit are what those stages do beside their layers.
        *layers.first_mut()? -= 1;
        *layers.last_mut()? -= 1;
        Some(BestSplit {
            stage_layers: layers,
            makespan_s: found.makespan_s,
            lower_bound_s: self.joint.lower_bound_s(),
            proven: self.joint.is_proven(),
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The head makes the last of four stages of Llama 3.1 8B the longest: fewer layers there, and a shorter pipeline.
    #[test]
    fn a_split_and_its_order_are_no_slower_than_the_runs() {
        let run = Run { schedule: crate::run::Schedule::ZbH1, ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        let mut search = SplitSearch::new(&evaluation).unwrap();
        while !search.step() {}
        let best = search.best().unwrap();
        assert_eq!(best.stage_layers.iter().sum::<u64>(), 32);
        assert!(best.stage_layers[3] < 8, "{best:?}");
        assert!(best.lower_bound_s <= best.makespan_s && best.makespan_s < evaluation.spans.makespan());
        let split =
            Run { stage_layers: Some(best.stage_layers.clone()), schedule: crate::run::Schedule::Optimal, ..run };
        let split = evaluate(&split).unwrap();
        assert!((split.spans.makespan() / best.makespan_s - 1.0).abs() < 0.01, "{} {best:?}", split.spans.makespan());
        assert!(SplitSearch::new(&evaluate(&Run { pp: 1, ..Run::default() }).unwrap()).is_none());
    }
}
