//! Reinforcement learning after pre-training: which models there are beside the trained policy, where they are, and
//! what of them stays on a GPU while another works.

use super::Run;
use super::choices::CrossEntropy;
use super::presets::MODELS;
use super::rl::RlParts;
use crate::cluster::Gpu;
use crate::field::Steps::Double;
use crate::field::{Choice, Held, Row, Slot, Value, fields, one_of, training};
use crate::model::Architecture;
use crate::units::Bytes;

one_of! {
    /// Framework of a layout of the phases.
    PhasesBy {
        /// verl: one hybrid engine, everything on the same GPUs.
        Verl = "verl" "verl",
        /// `OpenRLHF`: every model on GPUs of its own.
        OpenRlhf = "openrlhf" "OpenRLHF",
        /// TRL: GRPO with vLLM beside the trainer.
        Trl = "trl" "TRL",
        /// NeMo-RL: the engine beside the trainer, which leaves the GPU while it generates.
        NemoRl = "nemo-rl" "NeMo-RL",
        /// slime: Megatron-LM and `SGLang`, on GPUs of their own unless they are colocated.
        Slime = "slime" "slime",
    }
}

one_of! {
    Placement {
        /// All of them.
        Colocated = "colocated" "all on the same GPUs",
        /// All but the rollout engine.
        EngineApart = "engine-apart" "the engine on its own",
        /// The reference with the policy, the reward model with the critic; the engine apart.
        Pairs = "pairs" "policy and reference, critic and reward model",
        /// None: as many GPUs for each as for the policy.
        Apart = "apart" "each on its own",
    }
}

one_of! {
    /// Memory that the rollout engine leaves on the GPU while others work.
    Sleep {
        /// Its whole reservation.
        Off = "off" "stays",
        /// Nothing; weights wait in host memory.
        Host = "1" "weights to the host",
        /// Nothing; weights are dropped.
        Dropped = "2" "drops everything",
    }
}

/// A second model: the policy's own shapes, or a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondModel(&'static str);

impl SecondModel {
    /// The model that the policy is.
    const OWN: Choice = Choice { id: "policy", label: "as the policy" };
    /// The policy's own shapes.
    pub(super) const OWN_SHAPES: Self = Self(Self::OWN.id);

    /// The policy's shapes and the presets.
    fn options() -> Vec<Choice> {
        let presets = MODELS.iter().map(|preset| preset.choice);
        [Self::OWN].into_iter().chain(presets).collect()
    }

    pub fn id(self) -> &'static str {
        self.0
    }

    /// Its shapes; none where they are the policy's.
    pub(crate) fn architecture(self) -> Option<Architecture> {
        let preset = MODELS.iter().find(|preset| preset.choice.id == self.0)?;
        Some(preset.architecture)
    }
}

impl Held for SecondModel {
    fn slot(_: &Row) -> Slot {
        Slot::Choice { options: Self::options }
    }
    fn get(&self) -> Value {
        Value::Text(self.0.to_owned())
    }
    fn of(value: &Value) -> Option<Self> {
        let id = value.text()?;
        let options = Self::options();
        options.iter().find(|choice| choice.id.eq_ignore_ascii_case(id)).map(|choice| Self(choice.id))
    }
}

fields! {
    /// Phases as a person sets them; unset: the framework's own.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PhasesParts in "phases." {
        /// whose layout of the phases of reinforcement learning; unset: no phases. Memory only
        framework: Option<PhasesBy> => training("RL framework").advanced(),
        /// which models share GPUs; unset: the framework's
        placement: Option<Placement> => training("Placement").advanced(),
        /// what the engine reserves of a GPU; unset: the framework's share
        rollout_gib: Option<f64> => training("Rollout engine").unit("GiB").number(0.1, 1e6, 8.0).advanced(),
        /// GPUs that share the weights of an engine; unset: 1
        rollout_tp: Option<u64> => training("Rollout TP").count(1, 1 << 10, Double).advanced(),
        /// what the engine leaves on the GPU while others work; unset: the framework's
        sleep: Option<Sleep> => training("Engine sleeps").advanced(),
        /// models leave the GPU while they do not work; unset: the framework's
        offload: Option<bool> => training("Offload idle models").advanced(),
        /// a frozen copy of the policy; adapters need none. Unset: the framework's
        reference: Option<bool> => training("Reference").advanced(),
        /// the trained critic of PPO; unset: none
        critic: Option<SecondModel> => training("Critic").advanced(),
        /// a frozen reward model; unset: rules
        reward: Option<SecondModel> => training("Reward model").advanced(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phases {
    pub framework: PhasesBy,
    pub placement: Placement,
    /// Reservation of the rollout engine on a GPU.
    pub rollout: Bytes,
    /// GPUs that share the weights of an engine.
    pub rollout_tp: u64,
    /// Memory that the engine leaves while others work.
    pub sleep: Sleep,
    /// True if models leave the GPU while they do not work.
    pub offload: bool,
    /// True if there is a reference.
    pub reference: bool,
    pub critic: Option<SecondModel>,
    pub reward: Option<SecondModel>,
}

/// Defaults of a framework.
struct Usual {
    placement: Placement,
    /// Share of the GPU's memory that the engine reserves.
    share: f64,
    sleep: Sleep,
    offload: bool,
    reference: bool,
}

impl Phases {
    /// True if each model has GPUs of its own.
    pub(crate) fn is_apart(&self) -> bool {
        self.placement == Placement::Apart
    }
}

impl PhasesBy {
    /// Source: verl `rollout.yaml` (`gpu_memory_utilization` 0.5, `free_cache_engine`) and `fsdp_config.param_offload`;
    /// `OpenRLHF` `cli/train_ppo_ray.py` (0.95, its colocated example 0.5); TRL `grpo_config.py`
    /// (`vllm_gpu_memory_utilization` 0.3, `vllm_enable_sleep_mode` off, its beta 0: no reference); NeMo-RL
    /// `grpo_math_1B.yaml` (0.6, `colocated.enabled`) and `grpo.py` (`offload_before_refit`); slime
    /// `slime/utils/arguments.py` (`--colocate` off, and `--offload` with it, `--use-kl-loss` off), its scripts
    /// (`--sglang-mem-fraction-static` 0.7).
    fn usual(self) -> Usual {
        let (placement, share, sleep, offload, reference) = match self {
            Self::Verl => (Placement::Colocated, 0.5, Sleep::Host, false, true),
            Self::OpenRlhf => (Placement::Apart, 0.95, Sleep::Off, false, true),
            Self::Trl => (Placement::Colocated, 0.3, Sleep::Off, false, false),
            Self::NemoRl => (Placement::Colocated, 0.6, Sleep::Host, true, true),
            Self::Slime => (Placement::EngineApart, 0.7, Sleep::Host, true, false),
        };
        Usual { placement, share, sleep, offload, reference }
    }
}

/// Share of a GPU that `OpenRLHF`'s colocated example gives its engine.
const OPENRLHF_COLOCATED: f64 = 0.5;

impl PhasesParts {
    /// Resolves them on `gpu`; none without a framework.
    pub fn resolve(&self, gpu: &Gpu) -> Option<Phases> {
        let framework = self.framework?;
        let usual = framework.usual();
        let placement = self.placement.unwrap_or(usual.placement);
        let share = match framework {
            PhasesBy::OpenRlhf if placement == Placement::Colocated => OPENRLHF_COLOCATED,
            _ => usual.share,
        };
        let given = self.rollout_gib.map(Bytes::from_gib);
        Some(Phases {
            framework,
            placement,
            rollout: given.unwrap_or(gpu.usable * share),
            rollout_tp: self.rollout_tp.unwrap_or(1),
            sleep: self.sleep.unwrap_or(usual.sleep),
            offload: self.offload.unwrap_or(usual.offload),
            reference: self.reference.unwrap_or(usual.reference),
            critic: self.critic,
            reward: self.reward,
        })
    }
}

impl Run {
    /// The Run that trains the `second` model in the layout of this one. The second model has no logits: its head gives
    /// one number.
    pub(crate) fn of_second(&self, second: SecondModel) -> Self {
        let mut run = Self {
            // The engines' own GPUs hold none of its shards.
            gpus: self.training_gpus(),
            phases: PhasesParts::default(),
            rl: RlParts::default(),
            objective: super::Based::preset("next-token"),
            stage_layers: None,
            cross_entropy: Some(CrossEntropy::FusedLinear),
            ..self.clone()
        };
        if second.0 != SecondModel::OWN.id {
            run.model = super::Based::preset(second.0);
        }
        // The head's matrix is h wide and one high: nothing beside the embedding.
        run.model.parts.tied_embeddings = Some(true);
        run
    }
}
