//! The certificate of a Run's pipeline: how far its order is from the best one of the same stages under the same
//! memory.

use crate::issue::Issue;
use crate::message::Message;
use crate::pipeline::certify::certificate::MOST_OPS;
use crate::pipeline::certify::joint::JointSearch;
use crate::pipeline::certify::splits::{Cost, Limit, Model, ModelPiece};
use crate::pipeline::certify::{Certificate, Proof, StepStages};
use crate::pipeline::{self, Order, SCHEDULES, Spec, build};
use crate::report::passes::layer_passes;
use crate::report::schedule::spec;
use crate::report::{Evaluation, evaluate};
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
    /// Its certificate, where each rank has room for its own peak and no backward pass is cut that the schedule runs
    /// whole.
    pub certificate: Certificate,
}

/// Certifies the pipeline of a Run.
///
/// # Errors
/// Faults of the Run, or the reason why its schedule has no certificate.
pub fn certify(run: &Value) -> Result<Certified, Vec<Issue>> {
    let evaluation = evaluate(&Run::from_value(run)?)?;
    let no_certificate = |reason| vec![Issue::error("schedule", t!("No bound for this kind: {reason}", reason))];
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
    /// Seconds that no split in any order falls below, with one stage a rank and as many micro-batches in the memory of
    /// each, for these exact times.
    pub lower_bound_s: f64,
    /// True if no split and order is faster by more than one in 10,000.
    pub proven: bool,
}

/// A search for the split of a Run's layers and the order of its ops together.
#[derive(Clone, Debug)]
pub struct SplitSearch {
    joint: JointSearch,
}

/// States that the search for a split and an order generates at most.
const WORK: u64 = 600_000;

impl SplitSearch {
    /// Ranks hold as many micro-batches as the Run's fullest does. None where a rank has several stages or there is but
    /// one.
    pub fn new(evaluation: &Evaluation) -> Option<Self> {
        let scenario = &evaluation.scenario;
        if scenario.chunks != 1 || scenario.layout.pp == 1 || evaluation.durations.microbatch_scale.is_some() {
            return None;
        }
        if evaluation.order.away.is_some() {
            return None;
        }
        let stages = StepStages::of_order(&evaluation.order, &evaluation.durations).ok()?;
        // As the durations of the evaluation: scaled to a measured step.
        let scale = evaluation.report.step.rescaled_by.unwrap_or(1.0);
        let unit = |[forward, input, weight]: &[f64; 3]| ModelPiece {
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
        Some(Self { joint: JointSearch::new(&model, WORK) })
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
    if evaluation.order.away.is_some() {
        return Err(t!("activations leave for the host: the bounds of such orders stand by the room of the ranks"));
    }
    let mut proof = Proof::new(&evaluation.order, &evaluation.durations)?;
    for order in other_orders(evaluation) {
        proof.start_from(&order);
    }
    Ok(proof)
}

/// Orders of the schedules with two stages a rank, where the Run has as many and its order is searched: within short
/// memory they are hard to find.
fn other_orders(evaluation: &Evaluation) -> Vec<Order> {
    let is_searched = evaluation.scenario.chunks == 2 && evaluation.order.items() <= MOST_OPS;
    let Some(spec) = spec(&evaluation.scenario).ok().filter(|_| is_searched) else {
        return Vec::new();
    };
    let memory_limit = evaluation.report.pipeline.peak_in_flight.iter().min().copied();
    let rows = SCHEDULES.iter().filter(|row| row.virtual_stages == Some(2) && row.kind != spec.schedule.kind);
    let order = |schedule| build(&Spec { schedule, memory_limit, ..spec.clone() }, &evaluation.durations).ok();
    rows.filter_map(order).map(|built| built.order).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Schedule;

    /// The head makes the last of four stages of Llama 3.1 8B the longest: fewer layers there, and a shorter pipeline.
    #[test]
    fn a_split_and_its_order_are_no_slower_than_the_runs() {
        let run = Run { schedule: Schedule::ZbH1, ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        let mut search = SplitSearch::new(&evaluation).unwrap();
        while !search.step() {}
        let best = search.best().unwrap();
        assert_eq!(best.stage_layers.iter().sum::<u64>(), 32);
        assert!(best.stage_layers[3] < 8, "{best:?}");
        assert!(best.lower_bound_s <= best.makespan_s && best.makespan_s < evaluation.spans.makespan());
        let split = Run { stage_layers: Some(best.stage_layers.clone()), schedule: Schedule::Optimal, ..run };
        let split = evaluate(&split).unwrap();
        assert!((split.spans.makespan() / best.makespan_s - 1.0).abs() < 0.01, "{} {best:?}", split.spans.makespan());
        assert!(SplitSearch::new(&evaluate(&Run { pp: 1, ..Run::default() }).unwrap()).is_none());
    }

    /// An order of the same stages in the same memory is known: the certificate's own best is no slower, before any
    /// search.
    #[test]
    fn a_certificate_knows_the_other_schedules_of_two_stages_a_rank() {
        let run = |schedule| Run { schedule, pp: 8, gpus: 64, global_batch: 128, ..Run::default() };
        let kinds = [Schedule::ZbV, Schedule::ZbVAuto, Schedule::VHalf, Schedule::VMin, Schedule::DualPipeV];
        let evaluations = kinds.map(|kind| evaluate(&run(kind)).unwrap());
        let mut faster = 0;
        for own in &evaluations {
            let certificate = proof(own).unwrap().certificate();
            for other in &evaluations {
                let peaks = |of: &Evaluation| of.report.pipeline.peak_in_flight.clone();
                let is_within = peaks(other).iter().zip(peaks(own)).all(|(other, own)| *other <= own);
                if is_within && other.order.items() == own.order.items() {
                    faster += usize::from(other.spans.makespan() < own.spans.makespan());
                    assert!(certificate.best_s <= other.spans.makespan() * 1.0001, "{:?}", other.scenario.run.schedule);
                }
            }
        }
        assert!(faster > 0, "no schedule is faster than another within its memory");
    }
}
