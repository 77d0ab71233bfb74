//! Tensors of a layer that recomputation keeps and drops. The time of repeating is in `time/compute.rs`.

use crate::model::Role;
use crate::run::{Activations, Leaving, Module, Recompute, Scenario};

/// A recomputation setting as it acts on one layer.
#[derive(Clone, Debug, PartialEq)]
pub enum LayerRecompute {
    /// Everything is kept.
    Keep,
    /// Only the layer's input is kept.
    Full,
    /// The outputs of these modules are dropped.
    Modules(Vec<Module>),
    /// Every second matrix product is dropped (torchtitan's selective activation checkpointing, "op").
    EverySecondProduct,
    /// This share is kept of all but the layer's input. Source: PyTorch `torch/_functorch/config.py`,
    /// `activation_memory_budget`: 0 keeps what checkpoints of the region keep, 0.4 saves 40 % of the activations
    /// between.
    Budget(f64),
}

impl LayerRecompute {
    /// The policy of layer number `position` of a stage.
    pub fn of(scenario: &Scenario, position: u64) -> Self {
        match scenario.run.recomputed() {
            Recompute::Selective => Self::Modules(vec![Module::CoreAttn]),
            Recompute::OpSelective => Self::EverySecondProduct,
            Recompute::Full => Self::Full,
            Recompute::Layers(n) if position < *n => Self::Full,
            Recompute::None | Recompute::Layers(_) => Self::Keep,
            Recompute::Modules(modules) => Self::Modules(modules.clone()),
            Recompute::Budget(share) => Self::Budget(*share),
        }
    }

    /// The share of a tensor of `role` that is kept.
    pub fn kept(&self, role: Role) -> f64 {
        let dropped = match self {
            Self::Keep => false,
            Self::Full => role != Role::LayerInput,
            Self::Modules(modules) => modules.iter().any(|module| drops(*module, role)),
            Self::EverySecondProduct => return every_second(role),
            Self::Budget(share) => return if role == Role::LayerInput { 1.0 } else { *share },
        };
        if dropped { 0.0 } else { 1.0 }
    }
}

/// True if recomputation of `module` drops a tensor of `role`. The MLP starts again from its norm's input, which stays.
/// The core of attention drops its scores, or with FlashAttention its softmax statistics.
///
/// Source: Megatron-LM `--recompute-modules`.
fn drops(module: Module, role: Role) -> bool {
    match module {
        Module::Norm => matches!(role, Role::AttentionNorm | Role::FfnNorm),
        Module::Mlp => matches!(role, Role::DenseUp | Role::DenseDown),
        Module::MoeAct => role == Role::RoutedDown,
        Module::MlaUp => role == Role::LatentUp,
        Module::CoreAttn => role == Role::Core,
        Module::Moe => matches!(role, Role::Router | Role::Routed | Role::RoutedUp | Role::RoutedDown | Role::Shared),
        Module::SharedExperts => role == Role::Shared,
    }
}

/// True if a tensor of `role` leaves the GPU: it is an input that a module of `leaving` saves for its backward pass.
///
/// Source: Megatron-LM `transformer_config.py`, `offload_modules`.
pub fn leaves(leaving: Activations, role: Role) -> bool {
    let module = match role {
        Role::LayerInput => Leaving::AttnNorm,
        Role::AttentionNorm => Leaving::QkvLinear,
        Role::Query | Role::KeyValue => Leaving::CoreAttn,
        Role::Context => Leaving::AttnProj,
        Role::Residual => Leaving::MlpNorm,
        Role::Routed => Leaving::ExpertFc1,
        Role::RoutedUp => Leaving::MoeAct,
        _ => return false,
    };
    leaving.hold(module)
}

/// The share of a tensor of `role` that is kept where every second product is recomputed: of q, k, v, out, gate, up and
/// down the first, third, fifth and seventh are saved, with the core of attention and the layer's input.
///
/// Source: torchtitan `activation_checkpoint.py`.
fn every_second(role: Role) -> f64 {
    match role {
        Role::LayerInput | Role::Query | Role::Core | Role::Context | Role::Latent | Role::State => 1.0,
        Role::KeyValue | Role::DenseUp | Role::Routed | Role::RoutedUp | Role::Shared => 0.5,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::detailed::chunk_activation_bytes;
    use crate::run::Run;
    use crate::units::Bytes;

    /// Bytes that a micro-batch of the first stage no longer keeps on one GPU.
    fn saved(run: &Run, recompute: Recompute) -> Bytes {
        let bytes = |recompute| {
            let run = Run { recompute, ..run.clone() };
            chunk_activation_bytes(&Scenario::new(&run).unwrap(), 0)
        };
        bytes(Recompute::None) - bytes(recompute)
    }

    /// A Llama-8B layer at 8192 tokens keeps 1.0635 GiB, under full recomputation its input, 2 s b h = 64 MiB.
    #[test]
    fn full_recomputation_keeps_the_input_of_every_layer() {
        let run = Run { tp: 1, pp: 1, gpus: 8, ..Run::default() };
        let full = saved(&run, Recompute::Full);
        assert!((full.gib() - 32.0 * (1.0635 - 0.0625)).abs() < 0.01);
    }

    /// Korthikanti 2022, sections 5 and 6: selective recomputation of GPT-3 saves 70 % of the activations, `5 a s²` a
    /// layer.
    #[test]
    fn selective_recomputation_of_gpt_3_saves_70_percent() {
        let run = Run {
            model: crate::run::Based::preset("gpt-3-175b"),
            tp: 8,
            pp: 1,
            gpus: 8,
            seq_len: 2048,
            flash_attention: Some(false),
            ..Run::default()
        };
        let selective = saved(&run, Recompute::Selective).0;
        let (s, h, a, l, t) = (2048.0, 12288.0, 96.0, 96.0, 8.0);
        assert!((selective / (5.0 * a * s * s * l / t) - 1.0).abs() < 1e-9);
        assert!((selective / (s * h * (34.0 + 5.0 * a * s / h) * l / t) - 0.70).abs() < 0.005);
    }

    /// Megatron-Bridge, `nemo-mbridge-perf-activation-recompute`: selective recomputation of `core_attn` takes
    /// Moonlight (27 layers, 16 heads, 4096 tokens, tp 2) from 36.618 to 36.614 GB: the statistics of FlashAttention,
    /// `4 a T/t` a layer. Megatron-LM: `--recompute-granularity selective` means that module where none is named.
    #[test]
    fn selective_recomputation_is_the_module_core_attn_and_drops_the_statistics() {
        let mut run = Run { gpus: 8, tp: 2, pp: 1, seq_len: 4096, ..Run::default() };
        (run.model.parts.layers, run.model.parts.heads) = (Some(27), Some(16));
        (run.model.parts.kv_heads, run.model.parts.head_dim) = (Some(16), Some(128));
        let module = Recompute::Modules(vec![Module::CoreAttn]);
        let dropped = saved(&run, Recompute::Selective).gb();
        assert!((dropped - (36.618 - 36.614)).abs() < 0.0006, "{dropped}");
        for flash_attention in [true, false] {
            run.flash_attention = Some(flash_attention);
            assert_eq!(saved(&run, Recompute::Selective), saved(&run, module.clone()));
        }
    }

    #[test]
    fn a_dense_model_saves_nothing_by_what_it_does_not_have() {
        let module = |module| saved(&Run::default(), Recompute::Modules(vec![module])).0;
        for none in [Module::MoeAct, Module::MlaUp, Module::Moe, Module::SharedExperts] {
            assert!(module(none).abs() < 1e-9, "{none:?}");
        }
        assert!(module(Module::Norm) > 0.0 && module(Module::Mlp) > 0.0);
    }
}
