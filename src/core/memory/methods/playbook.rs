//! `playbook`: the Ultra-Scale Playbook's counts of parameters, gradients, states and activations.
//!
//! True parameter shapes, activations of the GPT block of Korthikanti 2022: `s b h (34 + 5 a s/h)` a layer.

use crate::explain::symbols::{
    ACCUMULATION, ACTIVATION, DATA, HEADS, HIDDEN, LAYERS_IN_FLIGHT, PLAIN_GRADIENT, RANK_PARAMETERS, RANK_SEQUENCE,
    SEQUENCES, STATES, TENSOR, WEIGHT,
};
use crate::explain::{Quantity, Term};
use crate::issue::Issue;
use crate::memory::assumptions::{MULTI_HEAD_GPT, PLAYBOOK_METHOD, TENSORS_ONLY, ignored};
use crate::memory::estimate::{Component, Item, RankLoad, StageMemory};
use crate::memory::explain::published;
use crate::memory::method::MemoryMethod;
use crate::model::{stage_elements, stage_range};
use crate::run::{Recompute, Scenario};
use crate::source::PLAYBOOK;
use crate::t;

/// Activations of one layer and micro-batch on one rank.
#[derive(Clone, Copy, Debug)]
struct Layer<Q> {
    s: Q,
    b: Q,
    h: Q,
    a: Q,
    t: Q,
    sequence_parallel: bool,
    scores: bool,
    full: bool,
    /// Bytes of an activation.
    k: Q,
}

impl<Q: Quantity> Layer<Q> {
    fn of(scenario: &Scenario) -> Self {
        let (run, layout) = (&scenario.run, &scenario.layout);
        Self {
            s: RANK_SEQUENCE.of(run.seq_len as f64 / layout.cp as f64),
            b: SEQUENCES.of(run.micro_batch),
            h: HIDDEN.of(scenario.model.hidden),
            a: HEADS.of(scenario.model.heads),
            t: TENSOR.of(layout.tp),
            sequence_parallel: layout.sequence_parallel,
            // FlashAttention drops what selective recomputation drops.
            scores: !run.runs_flash_attention() && run.recompute != Recompute::Selective,
            full: run.recompute == Recompute::Full,
            k: ACTIVATION.of(scenario.precision.computes.activation()),
        }
    }

    /// In bf16 `s b h (34 + 5 a s/h)`, over t with sequence parallelism; without it `s b h (10 + 24/t + 5 a s/(h t))`.
    /// Selective recomputation drops the scores, full keeps `2 s b h`. With k bytes an activation, masks of one byte as
    /// they are: 10 is 4 k + 2, 24 is 12 k, 5 is 2 k + 1.
    fn bytes(self) -> Q {
        let Self { s, b, h, a, t, k, .. } = self;
        let number = Q::number;
        if self.full {
            return k * s * b * h / if self.sequence_parallel { t } else { number(1.0) };
        }
        let scores = if self.scores { (k * 2.0 + number(1.0)) * a * s / h } else { number(0.0) };
        s * b
            * h
            * if self.sequence_parallel {
                (k * 16.0 + number(2.0) + scores) / t
            } else {
                k * 4.0 + number(2.0) + k * 12.0 / t + scores / t
            }
    }
}

fn items<Q: Quantity>(scenario: &Scenario, load: &RankLoad) -> Vec<Item<Q>> {
    let (bytes, zero) = (scenario.precision, scenario.zero.stage);
    let parameters = RANK_PARAMETERS.of::<Q>(parameters(scenario, load));
    let state = |each: Q, from| {
        each * parameters / if zero >= from { DATA.of::<Q>(scenario.layout.dp) } else { Q::number(1.0) }
    };
    let layers = LAYERS_IN_FLIGHT.of::<Q>(layers_in_flight(scenario, load));
    let optimizer = bytes.optimizer(scenario.run.optimizer);
    vec![
        Item::held(Component::Weights, "weights", state(WEIGHT.of(bytes.weights), 3)),
        Item::held(Component::Gradients, "gradients", state(PLAIN_GRADIENT.of(bytes.grads), 2)),
        Item::held(Component::Gradients, "fp32 accumulation", state(ACCUMULATION.of(bytes.grad_accumulation), 2)),
        Item::held(Component::Optimizer, "optimizer states", state(STATES.of(optimizer), 1)),
        Item::held(Component::Activations, "layers", layers * Layer::<Q>::of(scenario).bytes()),
    ]
}

/// Parameters of a rank by the model's true shapes.
fn parameters(scenario: &Scenario, load: &RankLoad) -> f64 {
    let layout = &scenario.layout;
    load.stages
        .iter()
        .map(|stage| {
            let predicts = scenario.modules_on(*stage) > 0;
            let elements = stage_elements(&scenario.model, &scenario.stage_layers, *stage, predicts);
            elements.dense_per_rank(&scenario.model, layout.tp) + elements.experts_per_rank(layout.ep, layout.etp)
        })
        .sum()
}

/// Layers of the rank, each as often as micro-batches of it are in flight.
fn layers_in_flight(scenario: &Scenario, load: &RankLoad) -> f64 {
    load.stages
        .iter()
        .zip(&load.in_flight)
        .map(|(stage, in_flight)| {
            let layers = stage_range(&scenario.stage_layers, *stage);
            (layers.end - layers.start) as f64 * in_flight
        })
        .sum()
}

/// The playbook's method.
pub struct Playbook;

impl MemoryMethod for Playbook {
    fn rank(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> StageMemory {
        let items = items::<f64>(scenario, load).into_iter().map(Item::plain);
        StageMemory::of_items(rank, load.stage_microbatches(), items)
    }

    fn ignored(&self, scenario: &Scenario) -> Vec<Issue> {
        ignored(scenario, "playbook", &[MULTI_HEAD_GPT, PLAYBOOK_METHOD, TENSORS_ONLY])
    }

    fn explain(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
        published(t!("memory of rank {rank} by the playbook", rank), || items(scenario, load))
            .from(&PLAYBOOK, "memory usage in transformers; ZeRO; tensor parallelism")
            .note(
                "leaves out grouped-query attention and gated FFNs in activations, logits, buffers, context, \
                fragmentation; shards over dp alone",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lecture: b 64, h 4096, s 32768, 8 ranks: the 10 b s h that tensor parallelism leaves whole.
    #[test]
    fn sequence_parallelism_takes_85_9_gb_a_block_to_10_7() {
        let whole = Layer {
            s: 32768.0,
            b: 64.0,
            h: 4096.0,
            a: 32.0,
            t: 8.0,
            sequence_parallel: false,
            scores: false,
            full: false,
            k: 2.0,
        };
        let cut = Layer { sequence_parallel: true, ..whole };
        let inside = 24.0 / 8.0 * whole.s * whole.b * whole.h;
        assert!(((whole.bytes() - inside) / 1e9 - 85.9).abs() < 0.05);
        assert!(((cut.bytes() - inside) / 1e9 - 10.7).abs() < 0.05);
    }

    /// GPT-3: dropping the scores takes 70 % of the activations away.
    #[test]
    fn selective_recomputation_of_gpt_3_drops_70_percent() {
        let stored = Layer {
            s: 2048.0,
            b: 1.0,
            h: 12288.0,
            a: 96.0,
            t: 1.0,
            sequence_parallel: false,
            scores: true,
            full: false,
            k: 2.0,
        };
        let dropped = Layer { scores: false, ..stored };
        let share = 1.0 - dropped.bytes() / stored.bytes();
        assert!((share - 0.70).abs() < 0.005, "{share}");
    }
}
