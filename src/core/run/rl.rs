//! Reinforcement learning: what a step generates, where the engines are and what they keep, as a person sets it.
//!
//! An algorithm turns it on. Framework, reference, critic and reward model are those of [`super::phases`], which are
//! filled from here. It changes a training step in one way: the GPUs of separate engines do not train.

use super::Run;
use super::phases::{PhasesBy, PhasesParts, Placement, SecondModel};
use crate::cluster::Gpu;
use crate::field::Steps::{By, Double, Valid};
use crate::field::{fields, one_of, training};
use crate::model::TowerPlace;

one_of! {
    /// What is learned from the responses of a step.
    Algorithm {
        /// Advantages from the responses of one prompt.
        Grpo = "grpo" "GRPO",
        /// Advantages from a trained critic.
        Ppo = "ppo" "PPO",
        /// GRPO without a reference; prompts whose responses are all right or all wrong are generated again.
        Dapo = "dapo" "DAPO",
        /// As GRPO in time and memory.
        Rloo = "rloo" "RLOO",
        /// As GRPO in time and memory.
        ReinforcePlusPlus = "reinforce-plus-plus" "REINFORCE++",
    }
}

one_of! {
    /// GPUs of the engines.
    RolloutPlacement {
        /// All of them, in turn with training.
        Colocated = "colocated" "on the training's GPUs",
        /// GPUs of their own.
        Split = "split" "on GPUs of their own",
    }
}

one_of! {
    /// Program that generates.
    RolloutEngine {
        /// Its memory share is of the whole GPU.
        Vllm = "vllm" "vLLM",
        /// Its memory share is of what was free when it started.
        Sglang = "sglang" "SGLang",
    }
}

one_of! {
    /// Format of the engine's weights.
    RolloutFormat {
        Bf16 = "bf16" "bf16",
        Fp8 = "fp8" "fp8",
        Nvfp4 = "nvfp4" "NVFP4",
        Mxfp4 = "mxfp4" "MXFP4",
    }
}

one_of! {
    /// Format of keys and values in the engine.
    CacheFormat {
        Bf16 = "bf16" "bf16",
        Fp8 = "fp8" "fp8",
    }
}

one_of! {
    /// Responses that an asynchronous batch takes.
    BatchOrder {
        /// Those that started first: a long one holds its batch up.
        Start = "start" "first started",
        /// Those that finished first.
        Finish = "finish" "first finished",
    }
}

one_of! {
    /// Distribution of the lengths of responses.
    ResponseShape {
        /// All as long as the mean.
        Constant = "constant" "all equal",
        /// Log-normal, cut at the limit.
        LogNormal = "log-normal" "log-normal",
    }
}

fields! {
    /// Lengths of the responses; either the mean or the median is given.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ResponseParts in "rl.response_tokens." {
        /// distribution of the lengths; unset: log-normal, cut at the limit
        base: Option<ResponseShape> => training("Response lengths").advanced(),
        /// mean tokens of a response now, as the log prints it; it grows while a model learns
        mean: Option<f64> => training("Mean response").unit("tokens").number(1.0, 1e7, 256.0).advanced(),
        /// median tokens before the limit cuts them, instead of the mean
        median: Option<f64> => training("Median response").unit("tokens").number(1.0, 1e7, 256.0).advanced(),
        /// standard deviation of the logarithm of the lengths; unset: 0.6, which no run has printed
        sigma: Option<f64> => training("Spread of responses").symbol("σ").number(0.01, 3.0, 0.1).advanced(),
    }
}

fields! {
    /// A step of reinforcement learning as a person sets it.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RlParts in "rl." {
        /// turns reinforcement learning on; unset: there is none
        algorithm: Option<Algorithm> => training("RL algorithm").advanced(),
        /// prompts of a step
        prompts: Option<u64> => training("Prompts").count(1, 1 << 24, Double).advanced(),
        /// responses to each prompt
        samples: Option<u64> => training("Responses a prompt").count(1, 1 << 16, Double).advanced(),
        /// mean tokens of a prompt
        prompt_tokens: Option<f64> => training("Mean prompt").unit("tokens").number(0.0, 1e7, 64.0).advanced(),
        /// lengths of the responses
        response_tokens: ResponseParts,
        /// tokens at which the engine cuts a response
        response_limit: Option<u64>
            => training("Response limit").unit("tokens").count(1, 1 << 24, Double).advanced(),
        /// updates of the weights from the responses of a step; unset: 1
        updates: Option<u64> => training("Updates a step").count(1, 1 << 16, Double).advanced(),
        /// times that a step's responses are trained on; unset: 1
        epochs: Option<u64> => training("Epochs a step").count(1, 1 << 10, By(1.0)).advanced(),
        /// whether the engines have GPUs of their own; unset: where their number is given
        placement: Option<RolloutPlacement> => training("Engines").advanced(),
        /// GPUs of the engines, of all GPUs; the rest trains
        rollout_gpus: Option<u64> => training("Engines' GPUs").count(1, 1 << 24, Valid).advanced(),
        /// program that generates; unset: vLLM, with slime SGLang
        engine: Option<RolloutEngine> => training("Engine").advanced(),
        /// GPUs that share the weights of an engine; unset: 1
        rollout_tp: Option<u64> => training("Engine TP").count(1, 1 << 10, Double).advanced(),
        /// share of a GPU's memory that the engine takes; unset: the framework's
        memory_share: Option<f64> => training("Engine's memory").unit("share").number(0.01, 1.0, 0.05).advanced(),
        /// responses that an engine decodes at once, at most; unset: the framework's
        max_sequences: Option<u64> => training("Sequences at once").count(1, 1 << 20, Double).advanced(),
        /// format of the engine's weights; unset: bf16
        rollout_precision: Option<RolloutFormat> => training("Engine precision").advanced(),
        /// format of keys and values in the engine; unset: bf16
        cache_precision: Option<CacheFormat> => training("KV precision").advanced(),
        /// the engine launches every kernel from the host: no CUDA graphs
        eager: Option<bool> => training("Engine without graphs").advanced(),
        /// training steps that a response may be older than the weights it trains; unset: 0, generation and training
        /// wait for each other
        staleness: Option<f64> => training("Staleness limit").unit("steps").number(0.0, 64.0, 1.0).advanced(),
        /// responses that an asynchronous batch takes; unset: the framework's
        order: Option<BatchOrder> => training("Batch order").advanced(),
        /// log-probabilities of the responses are computed again by the trainer; unset: they are
        old_log_probs: Option<bool> => training("Old log-probabilities").advanced(),
        /// generated over used responses, where those that are slowest are dropped; unset: 1
        oversampling: Option<f64> => training("Over-sampling").unit("x").number(1.0, 16.0, 0.25).advanced(),
        /// share of the prompts that is generated and dropped, as DAPO does with those that teach nothing
        filtered: Option<f64> => training("Filtered prompts").unit("share").number(0.0, 0.95, 0.1).advanced(),
        /// seconds of the verifier or sandbox after the last response
        verifier_s: Option<f64> => training("Verifier").unit("s").number(0.0, 1e5, 1.0).advanced(),
        /// turns of a response: each but the last waits for a tool; unset: 1
        turns: Option<u64> => training("Turns").count(1, 1 << 10, By(1.0)).advanced(),
        /// seconds of a tool between two turns
        tool_s: Option<f64> => training("Tool a turn").unit("s").number(0.0, 1e5, 1.0).advanced(),
        /// rate at which new weights reach the engines: twice the parameters over the time; unset: the framework's
        sync_gb_per_s: Option<f64> => training("Weight sync").unit("GB/s").number(0.01, 1e6, 5.0).advanced(),
        /// steps, for days and price
        steps: Option<u64> => training("RL steps").count(1, 1 << 40, Double).advanced(),
        /// seconds of generation that a log prints for this run
        measured_generation_s: Option<f64>
            => training("Measured generation").unit("s").number(1e-3, 1e7, 1.0).advanced(),
        /// seconds of all updates that a log prints for this run
        measured_update_s: Option<f64> => training("Measured update").unit("s").number(1e-3, 1e7, 1.0).advanced(),
        /// seconds of the weight sync that a log prints for this run
        measured_sync_s: Option<f64> => training("Measured sync").unit("s").number(1e-3, 1e7, 1.0).advanced(),
    }
}

impl RlParts {
    /// True where the engines have GPUs of their own: as said, or where their number is.
    pub fn is_split(&self) -> bool {
        match self.placement {
            Some(placement) => placement == RolloutPlacement::Split,
            None => self.rollout_gpus.is_some(),
        }
    }

    /// GPUs of separate engines; none where they share the training's.
    pub fn apart(&self) -> Option<u64> {
        self.rollout_gpus.filter(|_| self.is_split())
    }
}

impl PhasesBy {
    /// Share of a GPU's memory that the engine takes: beside a trainer, or on GPUs of its own where it `is_split`.
    ///
    /// Source: as `usual`; slime `sglang_mem_fraction_static`, whose examples have 0.7; NeMo-RL's recipes of split runs
    /// `gpu_memory_utilization` 0.8.
    pub(crate) fn memory_share(self, is_split: bool) -> f64 {
        match (self, is_split) {
            (Self::NemoRl, true) => 0.8,
            (Self::OpenRlhf, true) => 0.95,
            (Self::Slime, _) => 0.7,
            (Self::Verl | Self::OpenRlhf, _) => 0.5,
            (Self::Trl, false) => 0.3,
            (Self::Trl, true) => 0.9,
            (Self::NemoRl, false) => 0.6,
        }
    }
}

impl Run {
    /// GPUs that train the language model: all of them, but for those of separate engines and of a vision tower
    /// on ranks of its own.
    pub fn training_gpus(&self) -> u64 {
        let engines = self.rl.apart().filter(|engines| self.rl.algorithm.is_some() && *engines < self.gpus);
        self.gpus - engines.or(self.tower_gpus()).unwrap_or(0)
    }

    /// GPUs of a vision tower on ranks of its own, where there are others.
    fn tower_gpus(&self) -> Option<u64> {
        let tower = &self.model.parts.vision;
        let is_there = tower.base.is_some() || tower.hidden.is_some();
        let apart = is_there && tower.placement == Some(TowerPlace::OwnRanks);
        apart.then(|| tower.gpus.unwrap_or(1)).filter(|gpus| *gpus < self.gpus)
    }

    /// The share of a GPU's memory that the engines take.
    pub(crate) fn engine_share(&self, gpu: &Gpu) -> f64 {
        let reserved = self.phases.rollout_gib.map(|gib| (gib / gpu.usable.gib()).min(1.0));
        let usual = || self.phases.framework.unwrap_or(PhasesBy::Verl).memory_share(self.rl.is_split());
        self.rl.memory_share.or(reserved).unwrap_or_else(usual)
    }

    /// GPUs that share the weights of an engine.
    pub(crate) fn engine_tp(&self) -> u64 {
        self.rl.rollout_tp.or(self.phases.rollout_tp).unwrap_or(1)
    }

    /// The phases with what reinforcement learning says of them; those of the Run where it is off.
    pub(crate) fn filled_phases(&self, gpu: &Gpu) -> PhasesParts {
        let mut phases = self.phases.clone();
        let rl = &self.rl;
        let Some(algorithm) = rl.algorithm else {
            return phases;
        };
        phases.framework.get_or_insert(PhasesBy::Verl);
        let place = if rl.is_split() { Placement::EngineApart } else { Placement::Colocated };
        phases.placement.get_or_insert(place);
        phases.rollout_gib.get_or_insert(gpu.usable.gib() * self.engine_share(gpu));
        if let Some(tp) = rl.rollout_tp {
            phases.rollout_tp.get_or_insert(tp);
        }
        match algorithm {
            Algorithm::Ppo => {
                phases.critic.get_or_insert(SecondModel::OWN_SHAPES);
            }
            Algorithm::Dapo => {
                phases.reference.get_or_insert(false);
            }
            Algorithm::Grpo | Algorithm::Rloo | Algorithm::ReinforcePlusPlus => {}
        }
        phases
    }
}
