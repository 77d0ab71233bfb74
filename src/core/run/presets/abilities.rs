//! Ways to cut a model that training programs offer beside data parallelism.

use super::Trainer;

/// Ways to cut a model.
#[allow(clippy::struct_excessive_bools)] // they are what a program offers
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Tensor parallelism.
    pub tensor: bool,
    /// Pipelines.
    pub pipeline: bool,
    /// Context parallelism.
    pub context: bool,
    /// Expert parallelism.
    pub experts: bool,
    /// Largest ZeRO stage without a pipeline.
    pub zero: u64,
}

/// Everything.
const EVERY: Abilities = Abilities { tensor: true, pipeline: true, context: true, experts: true, zero: 3 };
/// Sharding of parameters alone.
const SHARDS: Abilities = Abilities { tensor: false, pipeline: false, context: false, experts: false, zero: 3 };

impl Trainer {
    /// Ways to cut a model that its main branch offers for language models.
    ///
    /// Sources: Megatron-LM `arguments.py`, torchtitan and nanotron parallelism settings, `DeepSpeed`'s documentation
    /// (pipelines need a model written as `PipelineModule`, Hugging Face models are none), accelerate
    /// `FullyShardedDataParallelPlugin`, `NeMo` Automodel's FSDP2 manager, `MaxText` `base.yml`, llm-foundry's FSDP
    /// configuration.
    #[must_use]
    pub const fn abilities(self) -> Abilities {
        match self {
            Self::Megatron | Self::Torchtitan => EVERY,
            Self::DeepSeek | Self::Nanotron => Abilities { context: false, zero: 1, ..EVERY },
            Self::PyTorch | Self::MaxText => Abilities { pipeline: false, ..EVERY },
            Self::PaxMl => Abilities { tensor: true, ..SHARDS },
            Self::DeepSpeed => Abilities { experts: true, ..SHARDS },
            Self::Composer | Self::HuggingFace | Self::Torchtune => SHARDS,
        }
    }
}
