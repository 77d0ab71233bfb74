//! Tensors of a layer that recomputation keeps and drops. The time of repeating is in `time/compute.rs`.

use crate::model::Role;
use crate::run::{Module, Recompute, Scenario};

/// A recomputation setting as it acts on one layer.
#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    /// Everything is kept.
    Keep,
    /// Only the layer's input is kept.
    Full,
    /// The outputs of these modules are dropped.
    Modules(Vec<Module>),
    /// Every second matrix product is dropped (torchtitan's selective activation checkpointing, "op").
    EverySecondProduct,
    /// Outputs of matrix products and attention are kept, all else dropped (torchtitan's "op" of 2026).
    Products,
}

impl Policy {
    /// The policy of layer number `position` of a stage.
    #[must_use]
    pub fn of(scenario: &Scenario, position: u64) -> Self {
        match &scenario.run.recompute {
            Recompute::Selective if scenario.zero.stage == 3 => Self::EverySecondProduct,
            Recompute::Selective => Self::Modules(vec![Module::CoreAttn]),
            Recompute::OpSelective => Self::Products,
            Recompute::Full => Self::Full,
            Recompute::Layers(n) if position < *n => Self::Full,
            Recompute::None | Recompute::Layers(_) => Self::Keep,
            Recompute::Modules(modules) => Self::Modules(modules.clone()),
        }
    }

    /// The share of a tensor of `role` that is kept.
    #[must_use]
    pub fn kept(&self, role: Role) -> f64 {
        let dropped = match self {
            Self::Keep => false,
            Self::Full => role != Role::LayerInput,
            Self::Modules(modules) => modules.iter().any(|module| drops(*module, role)),
            Self::EverySecondProduct => return every_second(role),
            Self::Products => return of_products(role),
        };
        if dropped { 0.0 } else { 1.0 }
    }
}

/// Source: Megatron-LM `--recompute-modules`. The MLP starts again from its norm's input, which stays. The core of
/// attention drops its scores, or with FlashAttention its softmax statistics.
fn drops(module: Module, role: Role) -> bool {
    match module {
        Module::Norm => matches!(role, Role::AttentionNorm | Role::FfnNorm),
        Module::Mlp => matches!(role, Role::DenseUp | Role::DenseDown),
        Module::MoeAct => role == Role::RoutedDown,
        Module::MlaUp => role == Role::LatentUp,
        Module::CoreAttn => role == Role::Core,
    }
}

/// Of the products q, k, v, out, gate, up, down the first, third, fifth and seventh are saved, with the attention core
/// and the layer's input. Source: torchtitan `activation_checkpoint.py`.
fn every_second(role: Role) -> f64 {
    match role {
        Role::LayerInput | Role::Query | Role::Core | Role::Context | Role::Latent | Role::State => 1.0,
        Role::KeyValue | Role::DenseUp | Role::Routed | Role::RoutedUp | Role::Shared => 0.5,
        _ => 0.0,
    }
}

/// Products write queries, keys, values, latents, up-projections and router logits; tokens that were sent to experts are
/// kept too, so that none is sent again. Of the latents half is behind a norm; of the shared experts' tensors the input of
/// the down projection is a third. Source: torchtitan `activation_checkpoint.py`, its list of operators to save.
fn of_products(role: Role) -> f64 {
    match role {
        Role::AttentionNorm
        | Role::Residual
        | Role::FfnNorm
        | Role::DenseDown
        | Role::RoutedDown
        | Role::NormInput
        | Role::Mask => 0.0,
        Role::Latent => 0.5,
        Role::Shared => 2.0 / 3.0,
        _ => 1.0,
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

    /// Megatron-Bridge, `nemo-mbridge-perf-activation-recompute`: selective recomputation of `core_attn` takes Moonlight
    /// (27 layers, 16 heads, 4096 tokens, tp 2) from 36.618 to 36.614 GB: the statistics of FlashAttention, `4 a T/t` a
    /// layer. Megatron-LM: `--recompute-granularity selective` means that module where none is named.
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

    /// A Llama layer keeps `T h (2 + 2 + 4 k/a + 2 + 2 + 4 f/h + 2) + 4 a T`: its input, q, k, v, the context, and what the
    /// projections, gate, up and down write. 7 of 34 `T h` of Llama-8B go.
    #[test]
    fn between_products_norms_and_the_activation_function_go() {
        let run = Run { tp: 1, pp: 1, gpus: 8, ..Run::default() };
        let (h, f, k_a) = (4096.0, 14336.0, 0.25);
        let all = 12.0 + 4.0 * k_a + 6.0 * f / h;
        let kept = 10.0 + 4.0 * k_a + 4.0 * f / h;
        let dropped = 32.0 * 8192.0 * h * (all - kept);
        assert!((saved(&run, Recompute::OpSelective).0 / dropped - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_dense_model_saves_nothing_by_what_it_does_not_have() {
        let module = |module| saved(&Run::default(), Recompute::Modules(vec![module])).0;
        for none in [Module::MoeAct, Module::MlaUp] {
            assert!(module(none).abs() < 1e-9, "{none:?}");
        }
        assert!(module(Module::Norm) > 0.0 && module(Module::Mlp) > 0.0);
    }
}
