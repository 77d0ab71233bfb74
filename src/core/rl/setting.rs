//! What a step follows from: the Run's settings of reinforcement learning, understood; what is missing is asked for.

use super::WideningCause;
use super::engine::EngineModel;
use super::lengths::{Lengths, doubts};
use super::rollout::Batch;
use super::training::Load;
use crate::cluster::Gpu;
use crate::issue::Issue;
use crate::message::Message;
use crate::model::Architecture;
use crate::run::{Algorithm, BatchOrder, PhasesBy, PhasesParts, RlParts, RolloutEngine, Run, contradictions, divisors};
use crate::t;
use crate::units::MemoryUnit;

/// Everything of a step but the time of its training.
#[derive(Clone, Debug)]
pub struct RlSetting<'a> {
    pub run: &'a Run,
    pub gpu: Gpu,
    pub per_node: u64,
    /// The phases with what reinforcement learning says of them.
    pub phases: PhasesParts,
    /// Models leave the GPU while they do not work.
    pub offloads: bool,
    pub engine: EngineModel,
    pub lengths: Lengths,
    pub prompt: f64,
    pub samples: f64,
    /// Responses that a step trains on.
    pub used: f64,
    /// Responses that are generated for them.
    pub generated: f64,
    pub has_reference: bool,
    pub critic_is_apart: bool,
    /// Why the answer is doubtful.
    pub causes: Vec<WideningCause>,
}

/// Sequences that an engine decodes at once where nothing is said. verl `rollout.yaml` (`max_num_seqs` 256), vLLM
/// (`max_num_seqs` 1024 on GPUs of 70 GB and more: recalled, not looked up), slime
/// `backends/sglang_utils/arguments.py:47` (512); NeMo-RL sets none.
fn usual_sequences(framework: Option<PhasesBy>) -> f64 {
    match framework {
        Some(PhasesBy::Verl) => 256.0,
        Some(PhasesBy::NemoRl) => f64::INFINITY,
        Some(PhasesBy::Slime) => 512.0,
        _ => 1024.0,
    }
}

impl<'a> RlSetting<'a> {
    /// Understands the Run.
    ///
    /// # Errors
    /// The fields that are missing or that cannot work.
    pub fn new(run: &'a Run) -> Result<Self, Vec<Issue>> {
        let (model, gpu) = match (run.model.resolve(), run.gpu.resolve()) {
            (Ok(model), Ok(gpu)) => (model, gpu),
            (model, gpu) => return Err([model.err(), gpu.err()].into_iter().flatten().flatten().collect()),
        };
        let per_node = run.gpus_per_node.unwrap_or(gpu.per_node);
        let (model, gpu) = (&model, &gpu);
        let mut issues = contradictions(run, model);
        issues.extend(asked(run));
        let rl = &run.rl;
        let limit = rl.response_limit.unwrap_or(1) as f64;
        let Some(lengths) = Lengths::of(&rl.response_tokens, limit).filter(|_| issues.is_empty()) else {
            return Err(issues);
        };
        let framework = run.phases.framework;
        let phases = run.filled_phases(gpu);
        let resolved = phases.resolve(gpu);
        let most = rl.max_sequences.map_or_else(|| usual_sequences(framework), |most| most as f64);
        let usual = (framework == Some(PhasesBy::Slime)).then_some(RolloutEngine::Sglang);
        let engine_of = RlParts { engine: rl.engine.or(usual), rollout_tp: Some(run.engine_tp()), ..rl.clone() };
        let engine = EngineModel::new(model, gpu, per_node, &engine_of, run.engine_share(gpu), most);
        let prompt = rl.prompt_tokens.unwrap_or(0.0);
        if let Some(issue) = too_small(run, model, gpu, &engine, prompt + limit) {
            issues.push(issue);
            return Err(issues);
        }
        let used = rl.prompts.unwrap_or(0) as f64 * rl.samples.unwrap_or(0) as f64;
        let generated = used / (1.0 - rl.filtered.unwrap_or(0.0));
        let mut setting = Self {
            run,
            gpu: *gpu,
            per_node,
            offloads: resolved.is_some_and(|phases| phases.offload),
            has_reference: resolved.is_some_and(|phases| phases.reference),
            critic_is_apart: resolved.is_some_and(|phases| phases.is_apart()),
            phases,
            causes: doubts(&lengths, &rl.response_tokens, generated).into_iter().collect(),
            engine,
            lengths,
            prompt,
            samples: rl.samples.unwrap_or(1) as f64,
            used,
            generated,
        };
        setting.causes.extend(setting.wide());
        Ok(setting)
    }

    /// GPUs that train.
    pub fn trainer(&self) -> u64 {
        self.run.gpus - self.run.rl.apart().unwrap_or(0)
    }

    /// Batches that may be started and not trained: φ = 1 + η.
    pub fn in_flight(&self) -> f64 {
        1.0 + self.run.rl.staleness.unwrap_or(0.0)
    }

    /// True if a batch is made of the responses that started first. Source: NeMo-RL (each trajectory has a target
    /// step); verl takes what has finished.
    pub fn is_by_start(&self) -> bool {
        match self.run.rl.order {
            Some(order) => order == BatchOrder::Start,
            None => self.run.phases.framework != Some(PhasesBy::Verl),
        }
    }

    /// True if all responses of a batch start together though generation runs beside training: the next batch begins
    /// when the last is whole. Source: slime 624b824 `train_async.py:38`, `OpenRLHF` 3c3be623 `ppo_trainer_async.py`
    /// (`GenerateSamplesActor`).
    pub fn is_by_batch(&self) -> bool {
        let is_whole = matches!(self.run.phases.framework, Some(PhasesBy::Slime | PhasesBy::OpenRlhf));
        is_whole && self.run.rl.order.is_none()
    }

    /// The responses that engines on `gpus` GPUs generate for a step.
    pub fn batch(&self, gpus: u64) -> Batch<'_> {
        let rl = &self.run.rl;
        Batch {
            lengths: &self.lengths,
            prompt: self.prompt,
            samples: self.samples,
            used: self.used,
            generated: self.generated,
            oversampling: rl.oversampling.unwrap_or(1.0),
            engines: (gpus as f64 / self.engine.tp).floor().max(1.0),
            tools: rl.tool_s.unwrap_or(0.0) * rl.turns.unwrap_or(1).saturating_sub(1) as f64,
        }
    }

    /// The tokens and samples that the trainer works on in a step.
    pub fn load(&self) -> Load {
        Load {
            responses: self.used,
            tokens: self.prompt + self.lengths.mean,
            has_old: self.run.rl.old_log_probs.unwrap_or(true),
            has_reference: self.has_reference,
            critic_is_apart: self.critic_is_apart,
        }
    }

    /// Reasons why the range may be wider than it is measured.
    fn wide(&self) -> Vec<WideningCause> {
        let rl = &self.run.rl;
        let fits = self.engine.capacity(self.prompt, self.lengths.mean);
        let found = [
            (self.engine.spans_nodes, WideningCause::Nodes),
            (fits < NEARLY_FULL, WideningCause::Cache),
            (rl.eager == Some(true), WideningCause::Eager),
            (rl.filtered.is_some() || rl.oversampling.is_some(), WideningCause::Filter),
            (rl.turns.is_some_and(|turns| turns > 1), WideningCause::Tools),
        ];
        found.into_iter().filter(|(holds, _)| *holds).map(|(_, cause)| cause).collect()
    }
}

/// Responses at once below which a small change of the engine's memory changes the step much.
const NEARLY_FULL: f64 = 40.0;

/// Issues for the fields that a step needs and that are not set.
fn asked(run: &Run) -> Vec<Issue> {
    let rl = &run.rl;
    let Some(algorithm) = rl.algorithm else {
        return vec![Issue::error("rl.algorithm", t!("which algorithm: grpo, ppo, dapo, …?"))];
    };
    let lengths = &rl.response_tokens;
    let is_apart = rl.is_split() && rl.rollout_gpus.is_none();
    let needs: [(bool, &'static str, Message); 8] = [
        (rl.prompts.is_none(), "rl.prompts", t!("how many prompts has a step?")),
        (rl.samples.is_none(), "rl.samples", t!("how many responses does a prompt get?")),
        (rl.prompt_tokens.is_none(), "rl.prompt_tokens", t!("how many tokens has a prompt on average?")),
        (
            lengths.mean.is_none() && lengths.median.is_none(),
            "rl.response_tokens.mean",
            t!("how many tokens has a response on average now? Every figure follows from it, so nothing is assumed"),
        ),
        (
            rl.response_limit.is_none(),
            "rl.response_limit",
            t!("at how many tokens is a response cut? A step waits for the longest, so nothing is assumed"),
        ),
        (
            is_apart,
            "rl.rollout_gpus",
            t!("engines on GPUs of their own: how many of the {gpus} GPUs?", gpus = run.gpus),
        ),
        (
            algorithm == Algorithm::Dapo && rl.filtered.is_none(),
            "rl.filtered",
            t!("the share of the prompts that DAPO filters follows from no setting: give it from a log"),
        ),
        (
            rl.turns.is_some_and(|turns| turns > 1) && rl.tool_s.is_none(),
            "rl.tool_s",
            t!("the time of tools and sandboxes between turns follows from no setting: give yours"),
        ),
    ];
    let missing = needs.into_iter().filter(|(missing, ..)| *missing);
    missing.map(|(_, field, message)| Issue::error(field, message)).collect()
}

/// Why the engine cannot work: its weights leave no room for one response of `longest` tokens.
fn too_small(run: &Run, model: &Architecture, gpu: &Gpu, engine: &EngineModel, longest: f64) -> Option<Issue> {
    let missing = engine.held(longest) - engine.room.0;
    if missing <= 0.0 {
        return None;
    }
    let tp = run.engine_tp();
    let taken = gpu.usable * run.engine_share(gpu);
    let message = t!(
        "an engine on {tp} GPUs takes {taken} of each; its weights are {weights}, and with what an engine needs beside \
            them no response of {longest} tokens fits",
        tp,
        taken = MemoryUnit::Gib.show(taken),
        weights = MemoryUnit::Gib.show(engine.weights()),
        longest = longest.round().to_string()
    );
    let works = |tp: u64| {
        let rl = RlParts { rollout_tp: Some(tp), ..run.rl.clone() };
        let other =
            EngineModel::new(model, gpu, run.gpus_per_node.unwrap_or(gpu.per_node), &rl, run.engine_share(gpu), 1.0);
        other.room.0 >= other.held(longest)
    };
    let gpus = run.rl.apart().unwrap_or(run.gpus);
    let wider = divisors(gpus).filter(|other| *other > tp && *other <= 1 << 10).find(|other| works(*other));
    let issue = Issue::error("rl.rollout_tp", message);
    Some(match wider {
        Some(wider) => issue.with_fix("rl.rollout_tp", wider),
        None => issue,
    })
}
