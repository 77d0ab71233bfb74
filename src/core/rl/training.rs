//! The trainer's side of a step: our own training step on the packed responses, and the passes beside it.

use super::WideningCause;
use crate::issue::Issue;
use crate::memory::phases::{Phase, policy_on_host};
use crate::report::{Evaluation, evaluate};
use crate::run::{LengthsParts, PhasesParts, RlParts, Run};
use crate::units::{Bytes, Seconds, whole};

/// Time of the updates over that of our training step on as many tokens: packing, heads of log-probabilities, small
/// batches. Fitted to 24 steps of NeMo-RL, with the engine's constants; 1.3 to 2.2 fit about as well.
pub const OVER_TRAINING: f64 = 1.8;
/// Time of a pass that computes log-probabilities over that of the update. verl prints 0.31 to 0.53 for the old ones
/// and 0.24 for the reference's (Qwen3-30B-A3B), NeMo-RL 0.19 for both together (pull request 1052).
const PASS: f64 = 0.20;

/// Seconds of the trainer in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Training {
    pub old: Seconds,
    pub reference: Seconds,
    pub reward: Seconds,
    pub values: Seconds,
    pub critic: Seconds,
    pub update: Seconds,
}

impl Training {
    pub fn total(&self) -> Seconds {
        self.old + self.reference + self.reward + self.values + self.critic + self.update
    }

    /// Every part `factor` times as long, the reward model's too.
    pub fn scaled(self, factor: f64) -> Self {
        let scale = |part: Seconds| part * factor;
        Self {
            old: scale(self.old),
            reference: scale(self.reference),
            reward: scale(self.reward),
            values: scale(self.values),
            critic: scale(self.critic),
            update: scale(self.update),
        }
    }
}

/// The tokens and samples that are trained on in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    pub responses: f64,
    /// Mean tokens of a response with its prompt.
    pub tokens: f64,
    /// Old log-probabilities are computed again.
    pub has_old: bool,
    pub has_reference: bool,
    /// The critic has GPUs of its own, beside the policy's.
    pub critic_is_apart: bool,
}

/// The trainer of a step, with its memory.
#[derive(Clone, Debug)]
pub struct Trained {
    pub training: Training,
    /// The fullest GPU of each phase.
    pub phases: Vec<Phase>,
    pub capacity: Bytes,
    pub parameters: f64,
    /// Bytes of the fullest GPU that wait in host memory while the engines work, where they leave it.
    pub moved: Bytes,
    pub causes: Vec<WideningCause>,
}

/// The Run of one update on `gpus` GPUs, and its share of the packed sequences over what divides evenly.
fn update_run(run: &Run, phases: &PhasesParts, gpus: u64, load: &Load) -> (Run, f64) {
    let updates = run.rl.updates.unwrap_or(1) as f64;
    let packed = load.responses * load.tokens / run.seq_len as f64 / updates;
    let ranks = run.tp.saturating_mul(run.pp).saturating_mul(run.cp).max(1);
    let even = (gpus / ranks).max(1).saturating_mul(run.micro_batch);
    let rounds = whole((packed / even as f64).round()).unwrap_or(1).max(1);
    let batch = rounds.saturating_mul(even);
    let documents = (run.seq_len as f64 / load.tokens).round();
    let documents = run.documents.clone().or_else(|| {
        let each = whole((run.seq_len as f64 / documents.max(1.0)).floor())?;
        let count = usize::try_from(whole(documents)?).ok()?;
        (2..=MOST_DOCUMENTS).contains(&count).then(|| vec![each; count])
    });
    let run = Run {
        gpus,
        global_batch: batch,
        documents,
        lengths: LengthsParts::default(),
        cp_dynamic: false,
        phases: phases.clone(),
        rl: RlParts::default(),
        measured_step_s: None,
        ..run.clone()
    };
    (run, packed / batch as f64)
}

/// Packed documents that are counted one by one; with more of them attention is a small part anyway.
const MOST_DOCUMENTS: usize = 256;

/// Evaluates the trainer of `run` on `gpus` GPUs.
///
/// # Errors
/// The settings that cannot work with `gpus` GPUs.
pub fn trained(run: &Run, phases: &PhasesParts, gpus: u64, load: &Load) -> Result<Trained, Vec<Issue>> {
    let (update, share) = update_run(run, phases, gpus, load);
    let evaluation = evaluate(&update)?;
    let rl = &run.rl;
    let updates = rl.updates.unwrap_or(1) as f64 * share * OVER_TRAINING;
    let once = evaluation.report.step.time_s * updates;
    let epochs = rl.epochs.unwrap_or(1) as f64;
    let pass = |runs: bool, of: Seconds| if runs { of * PASS } else { Seconds::ZERO };
    let second = |model| -> Result<Seconds, Vec<Issue>> {
        let run = Run { phases: PhasesParts::default(), ..update.of_second(model) };
        Ok(evaluate(&run)?.report.step.time_s * updates)
    };
    let critic = phases.critic.map(second).transpose()?;
    let reward = phases.reward.map(second).transpose()?;
    let mut training = Training {
        old: pass(load.has_old, once),
        reference: pass(load.has_reference, once),
        reward: reward.map_or(Seconds::ZERO, |time| time * PASS),
        values: critic.map_or(Seconds::ZERO, |time| time * PASS),
        critic: critic.map_or(Seconds::ZERO, |time| time * epochs),
        update: once * epochs,
    };
    if load.critic_is_apart {
        // The longer of the two is waited for.
        training.critic = (training.critic - training.update).max(Seconds::ZERO);
    }
    let causes = if load.tokens > run.seq_len as f64 { vec![WideningCause::Packing] } else { Vec::new() };
    Ok(Trained {
        training,
        phases: evaluation.report.memory.phases.clone(),
        capacity: evaluation.report.memory.capacity_bytes,
        parameters: sent(&evaluation),
        moved: policy_on_host(&evaluation.scenario, &evaluation.loads, &evaluation.report.memory.per_stage),
        causes,
    })
}

/// Parameters that the engines get: of adapters their own.
fn sent(evaluation: &Evaluation) -> f64 {
    let scenario = &evaluation.scenario;
    if scenario.adapter.is_some() {
        let loads = evaluation.loads.iter();
        let each = loads.map(|load| crate::traffic::HeldParameters::trained(scenario, &load.stages).total());
        return each.sum::<f64>() * scenario.layout.tp as f64;
    }
    scenario.model.elements().total() as f64
}
