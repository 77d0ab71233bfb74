//! `playbook`: the Ultra-Scale Playbook's counts of parameters, gradients, states and activations.
//!
//! True parameter shapes, activations of the GPT block of Korthikanti 2022: `s b h (34 + 5 a s/h)` a layer.

use crate::explain::{Term, Unit};
use crate::issue::Issue;
use crate::memory::assumptions::{MULTI_HEAD_GPT, PLAYBOOK_METHOD, TENSORS_ONLY, ignored};
use crate::memory::estimate::{Component, Item, RankLoad, StageMemory};
use crate::memory::method::MemoryMethod;
use crate::model::{stage_elements, stage_range};
use crate::run::{Recompute, Scenario};
use crate::source::PLAYBOOK;
use crate::t;
use crate::units::Bytes;

/// Activations of one layer and micro-batch on one rank.
#[derive(Clone, Copy, Debug)]
struct Layer {
    s: f64,
    b: f64,
    h: f64,
    a: f64,
    t: f64,
    sequence_parallel: bool,
    scores: bool,
    full: bool,
    /// Bytes of an activation.
    k: f64,
}

impl Layer {
    fn of(scenario: &Scenario) -> Self {
        let (run, layout) = (&scenario.run, &scenario.layout);
        Self {
            s: run.seq_len as f64 / layout.cp as f64,
            b: run.micro_batch as f64,
            h: scenario.model.hidden as f64,
            a: scenario.model.heads as f64,
            t: layout.tp as f64,
            sequence_parallel: layout.sequence_parallel,
            // FlashAttention drops what selective recomputation drops.
            scores: !run.runs_flash_attention() && run.recompute != Recompute::Selective,
            full: run.recompute == Recompute::Full,
            k: scenario.precision.computes.activation(),
        }
    }

    /// In bf16 `s b h (34 + 5 a s/h)`, over t with sequence parallelism; without it `s b h (10 + 24/t + 5 a s/(h t))`.
    /// Selective recomputation drops the scores, full keeps `2 s b h`. With k bytes an activation, masks of one byte as
    /// they are: 10 is 4 k + 2, 24 is 12 k, 5 is 2 k + 1.
    fn bytes(self) -> f64 {
        let Self { s, b, h, a, t, k, .. } = self;
        let cut = if self.sequence_parallel { t } else { 1.0 };
        if self.full {
            return k * s * b * h / cut;
        }
        let scores = if self.scores { (2.0 * k + 1.0) * a * s / h } else { 0.0 };
        s * b * h * ((4.0 * k + 2.0) / cut + 12.0 * k / t + scores / t)
    }
}

fn rank_memory(scenario: &Scenario, rank: usize, load: &RankLoad) -> StageMemory {
    let (layout, bytes) = (&scenario.layout, scenario.precision);
    let over = |stage: u64| {
        if scenario.zero.stage >= stage { layout.dp as f64 } else { 1.0 }
    };
    let parameters = parameters(scenario, load);
    let layer = Layer::of(scenario).bytes();
    let optimizer = bytes.optimizer(scenario.run.optimizer);
    let items = vec![
        Item::held(Component::Weights, "weights", Bytes(bytes.weights * parameters / over(3))),
        Item::held(Component::Gradients, "gradients", Bytes(bytes.grads * parameters / over(2))),
        Item::held(Component::Gradients, "fp32 accumulation", Bytes(bytes.grad_accumulation * parameters / over(2))),
        Item::held(Component::Optimizer, "optimizer states", Bytes(optimizer * parameters / over(1))),
        Item::held(Component::Activations, "layers", Bytes(layer * layers_in_flight(scenario, load))),
    ];
    StageMemory::of_items(rank, load.stage_microbatches(), items)
}

/// Parameters of a rank by the model's true shapes.
fn parameters(scenario: &Scenario, load: &RankLoad) -> f64 {
    let layout = &scenario.layout;
    load.stages
        .iter()
        .map(|stage| {
            let predicts = scenario.modules_on(*stage) > 0;
            let held = stage_elements(&scenario.model, &scenario.stage_layers, *stage, predicts);
            held.dense_per_rank(&scenario.model, layout.tp) + held.experts_per_rank(layout.ep, layout.etp)
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
        rank_memory(scenario, rank, load)
    }

    fn ignored(&self, scenario: &Scenario) -> Vec<Issue> {
        ignored(scenario, "playbook", &[MULTI_HEAD_GPT, PLAYBOOK_METHOD, TENSORS_ONLY])
    }

    fn explain(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
        explain(scenario, rank, load)
    }
}

/// Derivation of the figure of pipeline rank `rank`.
fn explain(scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
    let memory = rank_memory(scenario, rank, load);
    let (layer, precision) = (Layer::of(scenario), scenario.precision);
    let count = |symbol, name: &'static str, value| Term::given(symbol, name, value, Unit::Count);
    let bytes = |symbol, name: &'static str, value: f64| Term::given(symbol, name, value, Unit::Bytes);
    let states = precision.optimizer(scenario.run.optimizer);
    let book = [
        Term::given("n", "layers in flight", layers_in_flight(scenario, load), Unit::Ratio),
        Term::given("s", "tokens of a sequence on a rank", layer.s, Unit::Tokens),
        count("b", "sequences per micro-batch", layer.b),
        count("h", "hidden size", layer.h),
        count("a", "heads", layer.a),
        bytes("k", "bytes an activation", layer.k),
        count("t", "tensor parallel", layer.t),
        Term::given("P", "parameters of the rank", parameters(scenario, load), Unit::Parameters),
        bytes("w", "bytes per weight", precision.weights),
        bytes("g", "bytes per gradient and its accumulation", precision.gradients()),
        bytes("o", "bytes of states per parameter", states),
        count("D", "data parallel", scenario.layout.dp as f64),
    ];
    let formula = match (layer.full, layer.scores, layer.sequence_parallel) {
        (true, _, true) => "k n s b h/t",
        (true, _, false) => "k n s b h",
        (false, true, true) => "n s b h (16 k + 2 + (2 k + 1) a s/h)/t",
        (false, true, false) => "n s b h (4 k + 2 + 12 k/t + (2 k + 1) a s/(h t))",
        (false, false, true) => "n s b h (16 k + 2)/t",
        (false, false, false) => "n s b h (4 k + 2 + 12 k/t)",
    };
    let state = |symbol, name, value: f64, each: &str, from| {
        let over = if scenario.zero.stage >= from { "/D" } else { "" };
        bytes(symbol, name, value).over(format!("{each} P{over}"), &book)
    };
    let parts = vec![
        state("W", "weights", memory.weights.0, "w", 3),
        state("G", "gradients", memory.gradients.0, "g", 2),
        state("O", "optimizer states", memory.optimizer.0, "o", 1),
        bytes("A", "activations", memory.activations.0).over(formula, &book),
    ];
    Term::given("T", t!("memory of rank {rank} by the playbook", rank), memory.total.0, Unit::Bytes)
            .by("W + G + O + A", parts)
            .from(&PLAYBOOK, "memory usage in transformers; ZeRO; tensor parallelism")
            .note("leaves out grouped-query attention and gated FFNs in activations, logits, buffers, context, fragmentation; shards over dp alone")
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
