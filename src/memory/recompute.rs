//! What recomputation keeps of a layer, what it drops, and what dropping costs.

use crate::model::Role;
use crate::run::{Module, Recompute, Scenario};

/// A recomputation setting as it acts on one layer.
#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    /// Everything is kept.
    Keep,
    /// Stored attention scores are dropped (Megatron's selective recomputation).
    Scores,
    /// Only the layer's input is kept.
    Full,
    /// The outputs of these modules are dropped.
    Modules(Vec<Module>),
    /// Every second matrix product is dropped (torchtitan's selective activation checkpointing, "op").
    EverySecondProduct,
}

impl Policy {
    /// The policy of layer number `position` of a stage.
    #[must_use]
    pub fn of(scenario: &Scenario, position: u64) -> Self {
        match &scenario.run.recompute {
            Recompute::Selective if scenario.zero.stage == 3 => Self::EverySecondProduct,
            Recompute::Selective => Self::Scores,
            Recompute::Full => Self::Full,
            Recompute::Layers(n) if position < *n => Self::Full,
            Recompute::None | Recompute::Layers(_) => Self::Keep,
            Recompute::Modules(modules) => Self::Modules(modules.clone()),
        }
    }

    /// The share of a tensor of `role` that is kept.
    #[must_use]
    pub fn kept(&self, role: Role, flash: bool) -> f64 {
        let dropped = match self {
            Self::Keep => false,
            Self::Scores => role == Role::Core && !flash,
            Self::Full => role != Role::LayerInput,
            Self::Modules(modules) => modules.iter().any(|module| drops(*module, role, flash)),
            Self::EverySecondProduct => return every_second(role),
        };
        if dropped { 0.0 } else { 1.0 }
    }
}

/// Source: Megatron-LM `--recompute-modules`. The MLP starts again from its norm's input, which stays.
fn drops(module: Module, role: Role, flash: bool) -> bool {
    match module {
        Module::Norm => matches!(role, Role::AttentionNorm | Role::FfnNorm),
        Module::Mlp => matches!(role, Role::DenseUp | Role::DenseDown),
        Module::MoeAct => role == Role::RoutedDown,
        Module::MlaUp => role == Role::LatentUp,
        Module::CoreAttn => role == Role::Core && !flash,
    }
}

/// Of the products q, k, v, out, gate, up, down the first, third, fifth and seventh are saved, with the attention core
/// and the layer's input. Source: torchtitan `activation_checkpoint.py`.
fn every_second(role: Role) -> f64 {
    match role {
        Role::LayerInput | Role::Query | Role::Core | Role::Context | Role::Latent => 1.0,
        Role::KeyValue | Role::DenseUp | Role::Routed | Role::Shared => 0.5,
        _ => 0.0,
    }
}
