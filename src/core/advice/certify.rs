//! The certificate of a Run's pipeline: how far its order is from the best one of the same stages under the same
//! memory.

use super::schedules::ScheduleFigures;
use crate::issue::Issue;
use crate::memory::Verdict;
use crate::message::Message;
use crate::pipeline::able::can_run;
use crate::pipeline::certify::certificate::{MOST_OPS, OPTIMAL};
use crate::pipeline::certify::joint::JointSearch;
use crate::pipeline::certify::splits::{Cost, Limit, Model, ModelPiece};
use crate::pipeline::certify::{Certificate, Proof, StepStages};
use crate::pipeline::{self, Order, SCHEDULES, Spec, build};
use crate::report::passes::layer_passes;
use crate::report::schedule::spec;
use crate::report::{Evaluation, ScheduleVariant, evaluate};
use crate::run::{OneOf, Run, Schedule, Value};
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
    /// Seconds that no pipeline of any split in any order falls below, the backward in two ops, with one stage a rank
    /// and as many micro-batches in the memory of each, for these exact times.
    pub lower_bound_s: f64,
    /// True if no split and order is faster by more than one in 10,000.
    pub proven: bool,
    /// Its shortest order that was found.
    pub found: SplitOrder,
    /// The order of the Run's software with the shortest step on these stages that fits, where that software takes no
    /// order that was found.
    pub able: Option<SplitOrder>,
    /// True if the Run's software takes an order that was found.
    pub is_able: bool,
}

/// An order of the stages of a split, and its figures as the Run has them that [`Self::set`] makes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SplitOrder {
    #[serde(with = "by_id")]
    pub schedule: Schedule,
    /// Micro-batches that a rank may hold, where the schedule takes such a limit.
    pub limit: u64,
    pub figures: ScheduleFigures,
}

/// A schedule as the text of its id.
mod by_id {
    use crate::run::{OneOf, Schedule};
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    #[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde calls
    pub(super) fn serialize<S: Serializer>(schedule: &Schedule, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(schedule.choice().id)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(text: D) -> Result<Schedule, D::Error> {
        let id = String::deserialize(text)?;
        Schedule::from_id(&id).ok_or_else(|| D::Error::custom("no schedule"))
    }
}

impl SplitOrder {
    /// The order of `schedule` on the stages of `layers` layers, evaluated; none where it cannot run.
    fn of(run: &Run, schedule: Schedule, limit: u64, layers: &[u64]) -> Option<(Self, Evaluation)> {
        let evaluation = evaluate(&run.with_texts(&set(run, schedule, limit, Some(layers)))?).ok()?;
        Some((Self { schedule, limit, figures: ScheduleFigures::of(&evaluation) }, evaluation))
    }

    /// The settings that make it the order of `run` on stages of `layers` layers. The step of a measured run is the
    /// computed one from then on.
    pub fn set(&self, run: &Run, layers: &[u64]) -> Vec<(&'static str, String)> {
        set(run, self.schedule, self.limit, Some(layers))
    }
}

fn set(run: &Run, schedule: Schedule, limit: u64, layers: Option<&[u64]>) -> Vec<(&'static str, String)> {
    let mut set = ScheduleVariant { schedule, chunks: None }.set(run, limit);
    if let Some(layers) = layers {
        set.retain(|(key, _)| *key != "stage_layers");
        set.push(("stage_layers", layers.iter().map(u64::to_string).collect::<Vec<_>>().join(",")));
    }
    if run.measured_step_s.is_some() {
        set.push(("measured_step_s", String::new()));
    }
    set
}

/// A search for the split of a Run's layers and the order of its ops together.
#[derive(Clone, Debug)]
pub struct SplitSearch {
    run: Run,
    /// Micro-batches that a rank may hold.
    limit: u64,
    joint: JointSearch,
    /// The last split that was evaluated.
    seen: Vec<u64>,
    best: Option<BestSplit>,
}

/// States that the search for a split and an order generates at most.
const WORK: u64 = 600_000;

impl SplitSearch {
    /// Ranks hold as many micro-batches as the Run's fullest does, and the backward is of two ops, as in the orders
    /// that are found. None where a rank has several stages or there is but one.
    pub fn new(evaluation: &Evaluation) -> Option<Self> {
        let scenario = &evaluation.scenario;
        if scenario.chunks != 1 || scenario.layout.pp == 1 || evaluation.durations.microbatch_scale.is_some() {
            return None;
        }
        if evaluation.order.away.is_some() {
            return None;
        }
        let room = StepStages::of_order(&evaluation.order, &evaluation.durations).ok()?.room.into_iter().max()?;
        let (run, limit) = (scenario.run.clone(), u64::from(room));
        // The times of passes are those of the Run that the search leads to.
        let evaluation = evaluate(&run.with_texts(&set(&run, Schedule::Optimal, limit, None))?).ok()?;
        let stages = StepStages::of_order(&evaluation.order, &evaluation.durations).ok()?;
        let unit = |[forward, input, weight]: &[f64; 3]| ModelPiece {
            fixed: 0.0,
            choices: vec![Cost {
                forward: *forward,
                backward_input: *input,
                backward_weight: *weight,
                kept: 1.0,
                working: 0.0,
            }],
        };
        let model = Model {
            units: layer_passes(&evaluation.scenario).iter().map(unit).collect(),
            ranks: stages.ranks(),
            microbatches: stages.microbatches,
            lag: stages.lag,
            whole: false,
            limit: Limit::Microbatches(room),
        };
        Some(Self { run, limit, joint: JointSearch::new(&model, WORK), seen: Vec::new(), best: None })
    }

    /// Works on; true once the search is over.
    pub fn step(&mut self) -> bool {
        let is_over = self.joint.step();
        self.evaluate_best();
        is_over
    }

    /// The best so far, its pipeline held against what is proven by now.
    pub fn best(&self) -> Option<BestSplit> {
        let mut best = self.best.clone()?;
        best.lower_bound_s = self.joint.lower_bound_s().min(best.found.figures.makespan_s.0);
        best.proven = best.found.figures.makespan_s.0 <= best.lower_bound_s * (1.0 + OPTIMAL);
        Some(best)
    }

    /// Evaluates the search's best split where it is another: what is shown of it is what choosing it gives.
    fn evaluate_best(&mut self) {
        let Some(layers) = self.layers().filter(|layers| *layers != self.seen) else { return };
        self.seen.clone_from(&layers);
        let Some((found, evaluation)) = SplitOrder::of(&self.run, Schedule::Optimal, self.limit, &layers) else {
            return;
        };
        let before = self.best.as_ref().map_or(f64::INFINITY, |best| best.found.figures.makespan_s.0);
        if found.figures.makespan_s.0 < before {
            let is_able = can_run(&evaluation.scenario.run);
            let able = if is_able { None } else { self.fastest_able(&layers) };
            self.best =
                Some(BestSplit { stage_layers: layers, lower_bound_s: 0.0, proven: false, found, able, is_able });
        }
    }

    /// Layers a stage of the search's best split.
    fn layers(&self) -> Option<Vec<u64>> {
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
        Some(layers)
    }

    /// The order with the shortest step on stages of `layers` layers that fits and that the Run's software runs.
    fn fastest_able(&self, layers: &[u64]) -> Option<SplitOrder> {
        let stack = self.run.stack.preset_row();
        let named = ScheduleVariant::all(&self.run).into_iter().filter(|variant| variant.chunks.is_none());
        let drains = named.map(|variant| variant.schedule).filter(|schedule| !schedule.row().endless);
        let runs = drains.filter(|schedule| schedule.row().is_run_by(stack));
        let orders = runs.filter_map(|schedule| SplitOrder::of(&self.run, schedule, self.limit, layers));
        let orders = orders.filter(|(order, evaluation)| {
            order.figures.verdict == Verdict::Fits
                && evaluation.scenario.chunks == 1
                && can_run(&evaluation.scenario.run)
        });
        orders.map(|(order, _)| order).min_by(|a, b| a.figures.step_s.0.total_cmp(&b.figures.step_s.0))
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
        return Err(t!(
            "activations are offloaded to the host: the bounds of such orders are under “activations to the \
            host”"
        ));
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
    use crate::report::report;

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
        let makespan_s = best.found.figures.makespan_s.0;
        assert!(best.lower_bound_s <= makespan_s && makespan_s < evaluation.spans.makespan());
        assert!(SplitSearch::new(&evaluate(&Run { pp: 1, ..Run::default() }).unwrap()).is_none());
    }

    /// The Run that is chosen has the figures that were promised, also from a schedule with whole backwards, in another
    /// memory and from a measured step. No order of the software beats the bound of all orders on the same stages.
    #[test]
    fn a_split_that_is_chosen_gives_what_was_promised() {
        let default = Run { global_batch: 64, ..Run::default() };
        let gpipe = Run { schedule: Schedule::Gpipe, global_batch: 32, ..Run::default() };
        let measured = Run { measured_step_s: Some(5.0), ..default.clone() };
        let reads_orders = Run { stack: crate::run::Based::preset("torchtitan"), zero: 2, ..default.clone() };
        for run in [default, gpipe, measured, reads_orders] {
            let mut search = SplitSearch::new(&evaluate(&run).unwrap()).unwrap();
            while !search.step() {}
            let best = search.best().unwrap();
            assert_eq!(best.is_able, best.able.is_none(), "{best:?}");
            for order in [Some(best.found), best.able].into_iter().flatten() {
                let chosen = run.with_texts(&order.set(&run, &best.stage_layers)).unwrap();
                let chosen = report(&chosen).unwrap();
                assert_eq!(chosen.step.time_s, order.figures.step_s);
                assert_eq!(chosen.pipeline.makespan_s, order.figures.makespan_s);
                assert_eq!(chosen.pipeline.schedule, order.schedule);
                assert!(chosen.pipeline.makespan_s.0 >= best.lower_bound_s, "{best:?}");
            }
            if let Some(able) = best.able {
                assert!(able.schedule.row().is_run_by(run.stack.preset_row()) && able.schedule != Schedule::Optimal);
            }
        }
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
