//! What recomputation keeps of a layer, what it drops, and what dropping costs.

use super::detailed;
use crate::model::{Architecture, AttentionCount, Role, layer_forward_flops, stage_range};
use crate::run::{Module, Recompute, Scenario};
use crate::units::{Bytes, Flops};

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

/// What one recomputation setting saves and costs on one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The setting.
    pub setting: Recompute,
    /// How the page names it.
    pub name: &'static str,
    /// Bytes that one micro-batch of the stage no longer keeps on one GPU.
    pub saved: Bytes,
    /// Forward FLOPs that one GPU repeats for one micro-batch.
    pub cost: Flops,
}

/// Every setting that saves something on global stage `stage`, with the n layers that the Run has or half the stage.
#[must_use]
pub fn effects(scenario: &Scenario, stage: usize) -> Vec<Effect> {
    let layers = scenario.stage_layers.get(stage).copied().unwrap_or(0);
    let some = match scenario.run.recompute {
        Recompute::Layers(n) => n.min(layers),
        _ => layers.div_ceil(2),
    };
    let module = |module| Recompute::Modules(vec![module]);
    let with = |setting: &Recompute| {
        let mut changed = scenario.clone();
        changed.run.recompute = setting.clone();
        changed
    };
    let all = detailed::chunk_activation_bytes(&with(&Recompute::None), stage);
    [
        (Recompute::Selective, "selective"),
        (module(Module::Norm), "norms"),
        (module(Module::Mlp), "MLP"),
        (module(Module::MoeAct), "MoE activation"),
        (module(Module::MlaUp), "MLA up-projections"),
        (module(Module::CoreAttn), "core attention"),
        (Recompute::Layers(some), "full, some layers"),
        (Recompute::Full, "full"),
    ]
    .into_iter()
    .map(|(setting, name)| {
        let changed = with(&setting);
        Effect {
            saved: all - detailed::chunk_activation_bytes(&changed, stage),
            cost: repeated(&changed, stage),
            name,
            setting,
        }
    })
    .filter(|effect| effect.saved.0 > 0.0)
    .collect()
}

/// Forward FLOPs that one GPU repeats for one micro-batch of global stage `stage`, by the Run's own setting.
#[must_use]
pub fn repeated(scenario: &Scenario, stage: usize) -> Flops {
    let layers = stage_range(&scenario.stage_layers, stage);
    let per_token: f64 = layers
        .clone()
        .map(|index| {
            Policy::of(scenario, index - layers.start).flops(
                &scenario.model,
                index,
                scenario.run.seq_len,
            )
        })
        .sum();
    let gpus = scenario.layout.tp as f64 * scenario.layout.cp as f64;
    let tokens = scenario.run.micro_batch as f64 * scenario.run.seq_len as f64;
    Flops(per_token * tokens / gpus)
}

impl Policy {
    /// Forward FLOPs repeated for one token of layer `index`; norms and activation functions are not counted.
    ///
    /// Attention core `4 a e s/2`, MLP `6 h f` gated or `4 h f`, MLA's up-projections
    /// `2 (r_q a (n + r) + r_kv a (n + v))`, every second product `2 (h k e + a e h + h f)`.
    fn flops(&self, model: &Architecture, index: u64, seq: u64) -> f64 {
        let forward = |seq| layer_forward_flops(model, index, seq, AttentionCount::Causal);
        let core = forward(seq) - forward(0);
        match self {
            Self::Keep => 0.0,
            Self::Scores => core,
            Self::Full => forward(seq),
            Self::Modules(modules) => modules
                .iter()
                .map(|module| match module {
                    Module::Mlp if !model.is_moe_layer(index) => dense_ffn_flops(model),
                    Module::MlaUp => latent_up_flops(model),
                    Module::CoreAttn => core,
                    Module::Mlp | Module::Norm | Module::MoeAct => 0.0,
                })
                .sum(),
            Self::EverySecondProduct => {
                let h = model.hidden as f64;
                let up = if model.gated_ffn {
                    model.ffn as f64
                } else {
                    0.0
                };
                2.0 * h * (model.kv_width() as f64 + model.query_width() as f64 + up)
            }
        }
    }
}

fn dense_ffn_flops(model: &Architecture) -> f64 {
    let matrices = if model.gated_ffn { 3.0 } else { 2.0 };
    2.0 * matrices * model.hidden as f64 * model.ffn as f64
}

fn latent_up_flops(model: &Architecture) -> f64 {
    model.mla.map_or(0.0, |mla| {
        let query = mla.q_lora_rank * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
        let key_value = mla.kv_lora_rank * (mla.qk_nope_head_dim + mla.v_head_dim);
        2.0 * model.heads as f64 * (query + key_value) as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;

    fn effect(run: &Run, name: &str) -> Effect {
        let effects = effects(&Scenario::new(run).unwrap(), 0);
        effects
            .into_iter()
            .find(|effect| effect.name == name)
            .unwrap()
    }

    /// Survey section 2.3: a Llama-8B layer at 8192 tokens keeps 1.0635 GiB, full recomputation 2 s b h = 64 MiB.
    #[test]
    fn full_recomputation_keeps_the_input_of_every_layer_and_repeats_the_forward() {
        let run = Run {
            tp: 1,
            pp: 1,
            gpus: 8,
            ..Run::default()
        };
        let full = effect(&run, "full");
        assert!((full.saved.gib() - 32.0 * (1.0635 - 0.0625)).abs() < 0.01);
        let parameters = 8_030_261_248.0 - 2.0 * 128_256.0 * 4096.0 - 65.0 * 4096.0;
        let attention = 32.0 * 4.0 * 4096.0 * 4096.0;
        let printed = (2.0 * parameters + attention) * 8192.0;
        assert!((full.cost.0 / printed - 1.0).abs() < 1e-9);
    }

    /// Korthikanti 2022, sections 5 and 6: selective recomputation of GPT-3 saves 70 % of the activations,
    /// `5 a s²` a layer, and repeats the attention core, `4 s² h`, of which a causal mask leaves half. (The paper's
    /// 2.7 % counts the core three times.)
    #[test]
    fn selective_recomputation_of_gpt_3_saves_70_percent_and_repeats_the_core() {
        let run = Run {
            model: crate::run::Based::preset("gpt-3-175b"),
            tp: 8,
            pp: 1,
            gpus: 8,
            seq_len: 2048,
            flash_attention: false,
            ..Run::default()
        };
        let scenario = Scenario::new(&run).unwrap();
        let selective = effect(&run, "selective");
        let (s, h, a, l, t) = (2048.0, 12288.0, 96.0, 96.0, 8.0);
        assert!((selective.saved.0 / (5.0 * a * s * s * l / t) - 1.0).abs() < 1e-9);
        assert!(
            (selective.saved.0 / (s * h * (34.0 + 5.0 * a * s / h) * l / t) - 0.70).abs() < 0.005
        );
        assert!((selective.cost.0 / (2.0 * s * s * h * l / t) - 1.0).abs() < 1e-9);
        assert!(repeated(&scenario, 0).0.abs() < 1e-9);
    }

    #[test]
    fn nothing_is_offered_that_saves_nothing() {
        let dense = effects(&Scenario::new(&Run::default()).unwrap(), 0);
        let names: Vec<_> = dense.iter().map(|effect| effect.name).collect();
        assert_eq!(names, ["norms", "MLP", "full, some layers", "full"]);
    }
}
