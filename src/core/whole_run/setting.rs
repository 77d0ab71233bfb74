//! Inputs of the whole run: what the Run sets, and the defaults of the rest.

use super::effective::{Rhythm, best_interval, in_steps};
use super::failures::{self, Uncertain};
use super::formulas;
use super::ramp::{Ramp, RampedSteps};
use super::spread::Doubt;
use crate::issue::Issue;
use crate::maths::ln;
use crate::message::Message;
use crate::report::{Evaluation, evaluate};
use crate::run::length::{ContextPhase, PUE, REPAIR_DAYS, ROLLBACK_STEPS, RunLength, STORAGE_GB_PER_S};
use crate::run::{FailureClass, Failures, LengthsParts, Operation, Recompute, Run, Scenario};
use crate::t;
use crate::units::{Bytes, Seconds, show_count};

/// Rate of a GPU's copy to host memory over PCIe 5 x16.
const TO_HOST: f64 = 50e9;
/// Least time that an asynchronous save blocks (`PyTorch` DCP: below 0.5 s of 50).
const LEAST_BLOCK: f64 = 0.5;
/// 80 % of a normal distribution lie within this many standard deviations.
const FOUR_OF_FIVE: f64 = 1.281_551_565_545;

/// Everything that the calendar of a run follows from.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// GPUs that train.
    pub gpus: u64,
    /// Nodes of eight GPUs.
    pub nodes: f64,
    pub tokens: f64,
    /// One step without stragglers.
    pub step: Seconds,
    /// Optimizer steps and their time, without stragglers.
    pub steps: RampedSteps,
    /// Time of a step with stragglers over that without.
    pub straggler: f64,
    /// Rollbacks after loss spikes, and the steps of each.
    pub rollbacks: f64,
    /// Steps that a rollback repeats or skips.
    pub rollback_steps: f64,
    /// From the first process to the first step.
    pub startup: Seconds,
    /// Evaluations, and the time of one.
    pub evaluations: f64,
    pub evaluation: Seconds,
    pub checkpoint: Bytes,
    /// Bytes a second of the storage.
    pub storage: f64,
    /// Interruptions per 1,000 node-days; none where the user gives the time between them.
    pub rate: Option<Uncertain>,
    /// Interruptions, restarts and saves; the interval is a whole number of steps.
    pub rhythm: Rhythm,
    /// Training between two saves that loses least.
    pub best_interval: Seconds,
    /// Standard deviations of what the calendar rests on.
    pub doubt: Doubt,
    /// Mean number of nodes under repair.
    pub under_repair: f64,
    /// Days until a failed node is back.
    pub repair_days: f64,
    /// Probability with which the spares suffice; none where there are no spares.
    pub spare_quantile: Option<f64>,
    /// Power of the site over that of its nodes.
    pub pue: f64,
    /// Emissions of the grid, kg of CO2 equivalent a kWh.
    pub grid: Option<f64>,
    pub price: Option<f64>,
}

impl Setting {
    /// The setting of `tokens` tokens of an evaluated Run.
    ///
    /// # Errors
    /// A batch ramp that does not lead to the batch.
    pub fn new(evaluation: &Evaluation, tokens: f64) -> Result<Self, Issue> {
        let (scenario, report) = (&evaluation.scenario, &evaluation.report);
        let run = &scenario.run;
        let length = &run.length;
        let gpus = scenario.busy_gpus();
        let step = report.step.time_s;
        let steps = steps(scenario, tokens, step)?;
        // A step that was measured, or fitted to the cluster, holds its stragglers.
        let measured = run.measured_step_s.is_some() || run.profile.means.is_some();
        let straggler = if measured { 1.0 } else { length.straggler.unwrap_or(1.0) };
        let samples = length.eval_samples.unwrap_or(0) as f64;
        let one_evaluation = evaluation_time(eval_share(run), samples, step, run.global_batch as f64);
        let bytes = length.checkpoint_bytes.unwrap_or_else(|| stored_bytes(scenario));
        let checkpoint = Bytes(bytes * trained_parameters(evaluation));
        let storage = length.storage_gb_per_s.unwrap_or(STORAGE_GB_PER_S) * 1e9;
        let (rate, mtti, rate_sigma) = interruptions(run, gpus);
        let restart = failures::downtime(length.operation.unwrap_or(Operation::Automatic));
        let [save, lag] = save_times(length, checkpoint, storage, gpus);
        let best_interval = best_interval(mtti, save);
        let rhythm = Rhythm {
            mtti,
            by_calendar: rate.is_some(),
            restart: Seconds(length.restart_s.unwrap_or(restart.value)),
            save,
            lag,
            every: length.checkpoint_every_s.map_or(best_interval, Seconds).max(lag),
        };
        let rhythm = in_steps(rhythm, step * straggler);
        let nodes = failures::nodes(gpus);
        let per_day = 86_400.0 / (mtti.0 * nodes);
        let repair_days = length.repair_days.unwrap_or(REPAIR_DAYS);
        Ok(Self {
            gpus,
            nodes,
            tokens,
            step,
            steps,
            straggler,
            rollbacks: length.rollbacks.unwrap_or(0) as f64,
            rollback_steps: length.rollback_steps.unwrap_or(ROLLBACK_STEPS) as f64,
            startup: length.startup_s.map_or_else(|| failures::startup(gpus), Seconds),
            evaluations: evaluations(length, steps),
            evaluation: one_evaluation,
            checkpoint,
            storage,
            rate,
            rhythm,
            best_interval,
            doubt: Doubt {
                rate: rate_sigma,
                restart: if length.restart_s.is_some() { 0.0 } else { restart.sigma },
                step: (ln(report.step.high_s / report.step.time_s) / FOUR_OF_FIVE).max(0.0),
            },
            under_repair: nodes * per_day * repair_days,
            repair_days,
            spare_quantile: length.spare_quantile,
            pue: length.pue.unwrap_or(PUE),
            grid: length.grid_kg_per_kwh,
            price: run.own_price(),
        })
    }

    /// Time of all steps, stragglers included.
    pub fn training(&self) -> Seconds {
        self.steps.time * self.straggler
    }

    /// Time that saves and interruptions follow: steps with stragglers, evaluations, and what rollbacks repeat.
    pub fn work(&self) -> Seconds {
        self.training() + self.evaluating() + self.rolled_back()
    }

    /// Time of all steps that rollbacks repeat or skip.
    pub fn rolled_back(&self) -> Seconds {
        Seconds(formulas::rolled_back(self.step.0, self.rollbacks, self.rollback_steps, self.straggler))
    }

    pub fn evaluating(&self) -> Seconds {
        Seconds(formulas::evaluating(self.evaluation.0, self.evaluations))
    }
}

/// Rate of interruptions where it is not replaced, mean time between them, and the uncertainty of either.
fn interruptions(run: &Run, gpus: u64) -> (Option<Uncertain>, Seconds, f64) {
    if let Some(hours) = run.length.mtti_h {
        return (None, Seconds(hours * 3600.0), failures::GIVEN_TIME);
    }
    let rate = failures::rate(run.length.failures.unwrap_or(Failures::Class(FailureClass::Unknown)));
    (Some(rate), failures::time_to_interrupt(rate.value, gpus), rate.sigma)
}

/// Steps of the tokens: full ones, or those of the batch ramp and what follows it, then the context phases; at least
/// one.
fn steps(scenario: &Scenario, tokens: f64, step: Seconds) -> Result<RampedSteps, Issue> {
    let run = &scenario.run;
    let phases = run.length.context_phases.as_ref().map_or(&[][..], |phases| &phases.0);
    let later: f64 = phases.iter().map(|phase| phase.tokens).sum();
    if later > tokens {
        let (later, total) = (show_count(later), show_count(tokens));
        let message = t!("the phases hold {later} tokens, the run trains on {total}", later, total);
        return Err(Issue::error("context_phases", message));
    }
    let count = ((tokens - later) / scenario.tokens_per_step()).max(1.0);
    let first = match Ramp::of(run)? {
        None => RampedSteps { count, time: step * count },
        Some(ramp) => {
            let full = run.global_batch as f64;
            let fill = (scenario.layout.pp - 1) as f64 / scenario.chunks as f64;
            ramp.steps(count * full, full, step, scenario.layout.microbatches as f64, fill)
        }
    };
    phases.iter().try_fold(first, |steps, phase| {
        let (count, step) = phase_steps(run, *phase)?;
        Ok(RampedSteps { count: steps.count + count, time: steps.time + step * count })
    })
}

/// Number and time of the steps of a context phase: those of the Run at that length, with as many tokens a step.
fn phase_steps(run: &Run, phase: ContextPhase) -> Result<(f64, Seconds), Issue> {
    let tokens = run.global_batch.saturating_mul(run.seq_len);
    let at_length = Run {
        seq_len: phase.seq_len,
        cp: phase.cp.unwrap_or(run.cp),
        global_batch: (tokens / phase.seq_len).max(1),
        measured_step_s: None,
        length: RunLength::default(),
        // Documents of a longer context are others.
        lengths: LengthsParts::default(),
        cp_dynamic: false,
        ..run.clone()
    };
    let refused = |issues: Vec<Issue>| {
        let length = phase.seq_len;
        let message = issues.into_iter().next().map_or_else(Message::default, |issue| issue.message);
        Issue::error("context_phases", t!("sequences of {length} tokens: {message}", length, message))
    };
    let evaluation = evaluate(&at_length).map_err(refused)?;
    let count = phase.tokens / evaluation.scenario.tokens_per_step();
    Ok((count, evaluation.report.step.time_s))
}

/// Time of an evaluation of `samples` sequences whose forward passes take `share` of a step with `batch` of them.
pub fn evaluation_time(share: f64, samples: f64, step: Seconds, batch: f64) -> Seconds {
    step * (share * samples / batch)
}

/// Time of an evaluated Run until `samples` sequences and `evaluations` evaluations of `set` sequences are done:
/// MLPerf's time to train, whose clock starts at the first sample.
pub fn time_to_train(evaluation: &Evaluation, samples: f64, evaluations: f64, set: f64) -> Seconds {
    let (run, step) = (&evaluation.scenario.run, evaluation.report.step.time_s);
    let batch = run.global_batch as f64;
    step * (samples / batch) + evaluation_time(eval_share(run), evaluations * set, step, batch)
}

/// Time of a forward pass over the time of a step: a third, a quarter with full recomputation, 0.45 measured with
/// adapters.
fn eval_share(run: &Run) -> f64 {
    if run.adapter.method.is_some() {
        0.45
    } else if matches!(run.recompute, Recompute::Full) {
        0.25
    } else {
        1.0 / 3.0
    }
}

/// Bytes a parameter of a checkpoint: weights, masters and moments; gradients are not stored.
fn stored_bytes(scenario: &Scenario) -> f64 {
    let bytes = scenario.trained_bytes();
    bytes.weights + bytes.optimizer(scenario.run.optimizer)
}

/// Parameters that are trained; experts count in full.
fn trained_parameters(evaluation: &Evaluation) -> f64 {
    let scenario = &evaluation.scenario;
    if scenario.adapter.is_some() {
        let layout = &scenario.layout;
        let ranks =
            evaluation.loads.iter().map(|load| crate::traffic::HeldParameters::trained(scenario, &load.stages).total());
        return ranks.sum::<f64>() * layout.tp as f64;
    }
    evaluation.report.parameters.total as f64
}

/// Evaluations within `steps`.
fn evaluations(length: &RunLength, steps: RampedSteps) -> f64 {
    let every = length.eval_every.filter(|every| *every > 0);
    every.map_or(0.0, |every| (steps.count / every as f64).floor())
}

/// Time that a save blocks, and time from its end until it is durable: it blocks while it goes to storage, or while it
/// goes to host memory with the way to storage behind training.
fn save_times(length: &RunLength, checkpoint: Bytes, storage: f64, gpus: u64) -> [Seconds; 2] {
    let to_storage = Seconds(checkpoint.0 / storage);
    if length.checkpoint_async.unwrap_or(true) {
        [Seconds((checkpoint.0 / gpus as f64 / TO_HOST).max(LEAST_BLOCK)), to_storage]
    } else {
        [to_storage, Seconds::ZERO]
    }
}
