//! Ways to cut a model that training programs offer beside data parallelism.

use super::{Stack, Trainer};
use crate::run::{CpComm, CrossEntropy, Objective, Run};

/// Ways to cut a model.
#[allow(clippy::struct_excessive_bools)] // they are what a program offers
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    pub tensor: bool,
    pub pipeline: bool,
    pub context: bool,
    pub experts: bool,
    /// Largest ZeRO stage without a pipeline.
    pub zero: u64,
}

/// Sizes of a layout that a program may refuse together.
#[derive(Clone, Copy, Debug)]
pub struct CombinedCuts {
    pub tp: u64,
    pub cp: u64,
    pub ep: u64,
    pub etp: u64,
    pub zero: u64,
    /// How the ranks of a sequence exchange it.
    pub exchange: CpComm,
}

/// Everything.
const EVERY: Abilities = Abilities { tensor: true, pipeline: true, context: true, experts: true, zero: 3 };
/// Sharding of parameters alone.
const SHARDS: Abilities = Abilities { tensor: false, pipeline: false, context: false, experts: false, zero: 3 };

impl Stack {
    /// What its program can cut, in this version: Megatron-FSDP, which shards gradients and weights, is newer than
    /// Megatron Core 0.9 (`CHANGELOG.md` of Megatron-LM, 0.12 and 0.13); context parallelism and experts of GPT came
    /// with 0.4 (the same).
    pub fn abilities(&self) -> Abilities {
        let every = self.trainer.abilities();
        let every = if self.before_fsdp { Abilities { zero: 1, ..every } } else { every };
        if self.is_core(4) { every } else { Abilities { context: false, experts: false, ..every } }
    }

    /// True if it may be Megatron Core's `release` or a later one, or is another program.
    pub fn is_core(&self, release: u32) -> bool {
        self.newest_core.is_none_or(|newest| newest >= release)
    }

    /// False of programs that shard with PyTorch's FSDP alone: it shards gradients with the states, so that ZeRO-1 is
    /// none of its stages. Source: pytorch `torch/distributed/fsdp/_fully_shard`; `ShardingStrategy` of its first
    /// version.
    pub const fn has_zero_1(&self) -> bool {
        let alone =
            matches!(self.trainer, Trainer::PyTorch | Trainer::Torchtitan | Trainer::Torchtune | Trainer::Composer);
        !(alone && self.software.fsdp)
    }

    /// The ZeRO stage of PyTorch's FSDP on `pp` ranks: weights are sharded again after the forward pass unless a
    /// pipeline passes micro-batch after micro-batch (torchtitan b5bcd76 `distributed/fsdp.py`,
    /// `get_fsdp_reshard_after_forward_policy`).
    pub const fn fsdp_stage(pp: u64) -> u64 {
        if pp > 1 { 2 } else { 3 }
    }

    /// True if it cuts `layers` evenly over `stages`, each with a layer of the model, or with the embedding or the head
    /// in its place:
    ///
    /// - Megatron-LM d98e8a6 `megatron/core/transformer/transformer_block.py`, `get_num_layers_to_build`: the first and
    ///   the last stage may be left without a layer (`account_for_embedding_in_pipeline_split` and
    ///   `account_for_loss_in_pipeline_split`). Software of 2024 and before is not known to.
    /// - torchtitan b5bcd76, `generate_llm_fqn_per_model_part`: the embedding and the head count as layers. A loop of
    ///   one's own cuts as it likes.
    pub fn cuts_evenly(&self, layers: u64, stages: u64) -> bool {
        let counts_ends = match self.trainer {
            Trainer::Megatron => !self.before_fsdp && !self.software.is_megatron_until_2024(),
            Trainer::Torchtitan | Trainer::PyTorch => true,
            _ => false,
        };
        stages <= layers || counts_ends && stages == layers.saturating_add(2)
    }
}

impl Run {
    /// What its software can cut: [`Stack::abilities`], and torchtune's recipes of adapters cut no tensors and no
    /// sequences (bd2a0fc `recipes/lora_finetune_distributed.py`).
    pub fn abilities(&self) -> Abilities {
        let stack = self.stack.preset_row();
        let is_adapted = stack.trainer == Trainer::Torchtune && self.adapter.method.is_some();
        if is_adapted { SHARDS } else { stack.abilities() }
    }
}

impl Trainer {
    /// True if its main branch, or a program built on it, trains `objective`, read in November 2026:
    ///
    /// - Hugging Face: TRL f2cd577 `trl/trainer`, `trl/experimental`; LLaMA-Factory ff6d4d1 `train/`; ms-swift 3602360
    ///   `swift/rlhf_trainers`, `swift/trainers`. `DeepSpeed` beneath the same, and `OpenRLHF`.
    /// - Megatron-LM beneath ms-swift 3602360, `megatron/trainers`: no ORPO, no `SimPO`.
    /// - torchtune bd2a0fc, its recipes: `full_dpo_distributed.py`, `knowledge_distillation_distributed.py`.
    /// - `MaxText` `configs/base.yml`: `use_dpo`, and its distillation trainer.
    /// - A loop of one's own: all.
    pub const fn has_objective(self, objective: Objective) -> bool {
        match self {
            Self::HuggingFace | Self::DeepSpeed | Self::PyTorch => true,
            Self::Megatron => !matches!(objective, Objective::Orpo | Objective::Simpo),
            Self::Torchtune | Self::MaxText => {
                matches!(objective, Objective::NextToken | Objective::Dpo | Objective::Distillation)
            }
            Self::Composer | Self::Torchtitan | Self::DeepSeek | Self::Nanotron | Self::PaxMl => {
                matches!(objective, Objective::NextToken)
            }
        }
    }

    /// Loss kernels that keep fewer logits than its `now`, the smallest change first:
    ///
    /// - Megatron-LM d98e8a6 `megatron/training/arguments.py`: `--cross-entropy-loss-fusion`, and with
    ///   `--cross-entropy-fusion-impl te` Transformer Engine's. `DeepSeek`'s own is taken to have as much.
    /// - torchtune bd2a0fc `modules/loss/cross_entropy_loss.py`, `LinearCrossEntropyLoss`: slices of the head's output.
    /// - `MaxText` `configs/base.yml`, `num_vocab_tiling`: slices too.
    /// - On PyTorch a kernel that joins head and loss: Liger's `fused_linear_cross_entropy`, cut cross-entropy.
    /// - `PaxML`: none is known.
    pub(crate) const fn smaller_losses(self, now: CrossEntropy) -> &'static [CrossEntropy] {
        use CrossEntropy::{Chunked, FusedLinear, Megatron, MegatronFused, TeFused};
        match (self, now) {
            (Self::Megatron | Self::DeepSeek, Megatron) => &[MegatronFused, TeFused],
            (Self::Megatron | Self::DeepSeek, MegatronFused) => &[TeFused],
            (Self::Megatron | Self::DeepSeek | Self::PaxMl, _)
            | (Self::Torchtune | Self::MaxText, Chunked)
            | (_, FusedLinear) => &[],
            (Self::Torchtune | Self::MaxText, _) => &[Chunked],
            _ => &[FusedLinear],
        }
    }

    /// True if it runs these ways to cut a model together; each alone is one of its [`abilities`](Self::abilities).
    ///
    /// - `DeepSpeed` edaa722 exchanges sequences by Ulysses alone
    ///   (`deepspeed/runtime/sequence_parallel/ulysses_sp.py`).
    ///   Experts on ranks of their own (`deepspeed/module_inject/auto_ep_folding.py`, `validate_folding_global`) go
    ///   neither with tensor parallelism within an expert, nor with tensor and sequence parallelism at once, nor under
    ///   ZeRO-3 with one of these (sequence parallelism: `docs/_pages/config-json.md`, "expert parallelism",
    ///   constraints).
    pub fn combines(self, cut: CombinedCuts) -> bool {
        if self != Self::DeepSpeed {
            return true;
        }
        let CombinedCuts { tp, cp, ep, etp, zero, exchange } = cut;
        let by_experts = ep == 1 || etp == 1 && !(tp > 1 && cp > 1) && !(zero == 3 && (tp > 1 || cp > 1));
        by_experts && (cp == 1 || exchange == CpComm::Ulysses)
    }

    /// Ways to cut a model that its main branch offers for language models, read in August and November 2026:
    ///
    /// - Megatron-LM d98e8a6: `megatron/training/arguments.py`; ZeRO-2 and 3 are Megatron-FSDP's
    ///   `data_parallel_sharding_strategy` (`distributed_data_parallel_config.py`). `NeMo` and Megatron-Bridge train
    ///   with it.
    /// - torchtitan b5bcd76: `torchtitan/config/configs.py`, class `ParallelismConfig`.
    /// - nanotron 19f88fb: `src/nanotron/config/parallelism_config.py`.
    /// - `DeepSpeed` edaa722: `deepspeed/runtime/engine.py`, `_configure_tensor_parallel_states`, and
    ///   `docs/_pages/config-json.md`, "tensor parallelism" (`AutoTP` with ZeRO 0 to 3; with 3 since the release that
    ///   `core/pipeline/release.rs` names);
    ///   `docs/_tutorials/ulysses-alst-sequence-parallelism.md` for models of Hugging Face; `mixture-of-experts.md`.
    ///   Its pipelines need a model written as `PipelineModule`, which models of Hugging Face are not, and at most
    ///   ZeRO-1 (`deepspeed/runtime/pipe/engine.py`).
    /// - `NeMo` Automodel 36044ad: `docs/guides/distributed-setup.mdx` and `docs/guides/pipelining.mdx`; the schedules
    ///   are those of
    ///   `torch.distributed.pipelining`, which a training loop of one's own has too.
    /// - accelerate: its guide "ND-Parallel" (August 2025) has FSDP2 with tensor and context parallelism
    ///   (`ParallelismConfig`), which the Trainer and axolotl take.
    /// - `MaxText`: `PipelineParallelism` of `configs/types.py` and `layers/pipeline.py`, a pipeline differentiated as
    ///   a whole: all forward passes, then all backward passes, and with `num_pipeline_repeats` in breadth-first order.
    /// - torchtune bd2a0fc: `recipes/full_finetune_distributed.py`, `tensor_parallel_dim` and `context_parallel_dim`.
    /// - llm-foundry: Composer's guide to distributed training, data parallelism alone.
    ///
    /// [`combines`](Self::combines) says which of them it refuses together.
    pub const fn abilities(self) -> Abilities {
        match self {
            Self::Megatron | Self::Torchtitan | Self::PyTorch | Self::MaxText => EVERY,
            Self::DeepSeek => Abilities { context: false, zero: 1, ..EVERY },
            Self::Nanotron => Abilities { zero: 1, ..EVERY },
            Self::DeepSpeed => Abilities { pipeline: false, ..EVERY },
            Self::PaxMl => Abilities { tensor: true, ..SHARDS },
            Self::HuggingFace | Self::Torchtune => Abilities { tensor: true, context: true, ..SHARDS },
            Self::Composer => SHARDS,
        }
    }
}

impl Stack {
    /// False of software that is known to train no adapters beside a frozen base:
    ///
    /// - Megatron-LM by itself: adapters are those of `NeMo`, which trains with it (NVIDIA/Megatron-LM issue 554), and
    ///   of Megatron-Bridge: d98e8a6 `megatron/training/arguments.py` has no argument for one.
    /// - nanotron 19f88fb: its configuration has none.
    /// - `DeepSeek`'s own: the report of DeepSeek-V3 trains all weights.
    pub fn has_adapters(&self) -> bool {
        match self.trainer {
            Trainer::Megatron => !self.software.is_megatron_until_2024(),
            Trainer::Nanotron | Trainer::DeepSeek => false,
            _ => true,
        }
    }
}
