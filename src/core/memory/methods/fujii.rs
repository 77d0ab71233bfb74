//! `fujii-4d`: the estimator of Fujii et al. 2024, equations 1 to 18.
//!
//! Llama with untied embeddings, bf16 weights, fp32 gradients, Adam with ZeRO-1 over d c, sequence parallelism,
//! FlashAttention-2, no recomputation, 1F1B. The paper evaluates the first stage; the others follow from its own
//! equations 8, 9, 12 and 14. Its "GB" are GiB and its GPU memory is the size on the box.

use crate::explain::{Term, Unit};
use crate::issue::Issue;
use crate::memory::assumptions::{LLAMA, MEGATRON, ignored};
use crate::memory::estimate::{RankLoad, StageMemory};
use crate::memory::method::MemoryMethod;
use crate::memory::verdict::Need;
use crate::run::Scenario;
use crate::source::FUJII_2024;
use crate::t;
use crate::units::Bytes;

/// Up to this share of the GPU's memory none of the paper's 454 runs ran out. Source: Fujii 2024, section 5.
const FITS: f64 = 0.8;

/// The paper's symbols.
#[derive(Clone, Copy, Debug)]
struct Symbols {
    h: f64,
    f: f64,
    a: f64,
    k: f64,
    v: f64,
    s: f64,
    b: f64,
    t: f64,
    c: f64,
    d: f64,
    p: f64,
}

impl Symbols {
    fn of(scenario: &Scenario) -> Self {
        let (model, layout, run) = (&scenario.model, &scenario.layout, &scenario.run);
        Self {
            h: model.hidden as f64,
            f: model.ffn as f64,
            a: model.heads as f64,
            k: model.kv_heads as f64,
            v: model.vocab as f64,
            s: run.seq_len as f64,
            b: run.micro_batch as f64,
            t: layout.tp as f64,
            c: layout.cp as f64,
            d: layout.dp as f64,
            p: layout.pp as f64,
        }
    }

    /// Equation 1: `2 h² (1 + k/a)`, attention parameters of a layer.
    fn attention(self) -> f64 {
        2.0 * self.h * self.h * (1.0 + self.k / self.a)
    }

    /// Equation 2: `3 h f`, FFN parameters of a layer.
    fn ffn(self) -> f64 {
        3.0 * self.h * self.f
    }

    /// Equation 8: `layers · 2 h² ((1 + k/a + 1.5 f/h)/t + 1/h)`, parameters of a middle stage.
    fn stage_layers(self, layers: f64) -> f64 {
        layers * ((self.attention() + self.ffn()) / self.t + 2.0 * self.h)
    }

    /// Equations 6, 8, 9, 10: parameters of a stage; the first holds `h v / t` of embedding, the last as much of head
    /// and the final norm `h`.
    fn stage_parameters(self, stage: Stage) -> f64 {
        let embedding = self.h * self.v / self.t;
        let first = if stage.first { embedding } else { 0.0 };
        let last = if stage.last { embedding + self.h } else { 0.0 };
        first + self.stage_layers(stage.layers) + last
    }

    /// Equations 11 and 12: bytes a layer keeps of one micro-batch over `s b h`: attention `6 + 4 k/a`, FFN
    /// `2 + 8 f/h`, the inputs of two norms 4.
    fn layer_activation(self) -> f64 {
        (6.0 + 4.0 * self.k / self.a) + (2.0 + 8.0 * self.f / self.h) + 4.0
    }

    /// Equations 13 to 17: bytes a stage keeps:
    /// `s b h / (t c) · ((12 + 4 k/a + 8 f/h) layers · in flight + [first] 8 p + [last] 4 (1 + v/h))`.
    fn activations(self, stage: Stage) -> f64 {
        let embedding = if stage.first { 8.0 * self.p } else { 0.0 };
        let head = if stage.last { 4.0 * (1.0 + self.v / self.h) } else { 0.0 };
        self.s * self.b * self.h / (self.t * self.c)
            * (self.layer_activation() * stage.layers * stage.in_flight + embedding + head)
    }
}

/// Sizes of a stage in the equations.
#[derive(Clone, Copy, Debug)]
struct Stage {
    layers: f64,
    /// Micro-batches in flight: `p - r` for 1F1B.
    in_flight: f64,
    first: bool,
    last: bool,
}

impl Stage {
    /// Pipeline rank `rank`, holding the chunks `load`.
    fn of(scenario: &Scenario, rank: usize, load: &RankLoad) -> Self {
        let layers: u64 = load.stages.iter().filter_map(|stage| scenario.stage_layers.get(*stage)).sum();
        let ranks = scenario.layout.pp as f64;
        Self {
            layers: layers as f64,
            in_flight: ranks - rank as f64,
            first: rank == 0,
            last: rank as u64 + 1 == scenario.layout.pp,
        }
    }
}

/// The method of Fujii et al.
pub struct Fujii;

impl MemoryMethod for Fujii {
    fn rank(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> StageMemory {
        let (symbols, stage) = (Symbols::of(scenario), Stage::of(scenario, rank, load));
        let parameters = symbols.stage_parameters(stage);
        StageMemory {
            stage: rank,
            weights: Bytes(2.0 * parameters),
            gradients: Bytes(4.0 * parameters),
            optimizer: Bytes(12.0 * parameters / (symbols.d * symbols.c)),
            activations: Bytes(symbols.activations(stage)),
            in_flight: stage.in_flight,
            ..StageMemory::default()
        }
        .summed()
    }

    /// The paper's rule: up to 80 % of the memory fits, above all of it does not.
    fn need(&self, _: &Scenario, peak: Bytes) -> Need {
        Need { low: peak, likely: peak, high: peak / FITS }
    }

    fn capacity(&self, scenario: &Scenario) -> Bytes {
        scenario.gpu.memory
    }

    fn ignored(&self, scenario: &Scenario) -> Vec<Issue> {
        ignored(scenario, "fujii-4d", &[LLAMA, MEGATRON])
    }

    fn explain(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
        explain(scenario, rank, load)
    }
}

/// Derivation of the total of pipeline rank `rank`.
fn explain(scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
    let stage = Stage::of(scenario, rank, load);
    let x = Symbols::of(scenario);
    let count = |symbol, name: &'static str, value: f64| Term::given(symbol, name, value, Unit::Count);
    let ends = match (stage.first, stage.last) {
        (true, true) => " + 2 h v/t + h",
        (true, false) => " + h v/t",
        (false, true) => " + h v/t + h",
        (false, false) => "",
    };
    let parameters = Term::given("P", "parameters of the rank", x.stage_parameters(stage), Unit::Parameters)
        .over(
            format!("2 n h² ((1 + k/a + 1.5 f/h)/t + 1/h){ends}"),
            &[
                count("n", "layers of the rank", stage.layers),
                count("h", "hidden size", x.h),
                count("f", "FFN size", x.f),
                count("a", "heads", x.a),
                count("k", "key-value heads", x.k),
                count("v", "vocabulary", x.v),
                count("t", "tensor parallel", x.t),
            ],
        )
        .from(&FUJII_2024, "equations 6 to 10");
    let states = (6.0 + 12.0 / (x.d * x.c)) * x.stage_parameters(stage);
    let states = Term::given("M", "weights, gradients and optimizer", states, Unit::Bytes)
        .by("(6 + 12/(d c)) P", vec![count("d", "data parallel", x.d), count("c", "context parallel", x.c), parameters])
        .from(&FUJII_2024, "equations 7 to 10");
    let mut terms = String::from("(12 + 4 k/a + 8 f/h) n i");
    if stage.first {
        terms.push_str(" + 8 p");
    }
    if stage.last {
        terms.push_str(" + 4 (1 + v/h)");
    }
    let activations = Term::given("A", "activations", x.activations(stage), Unit::Bytes)
        .over(
            format!("s b h ({terms})/(t c)"),
            &[
                count("s", "tokens per sequence", x.s),
                count("b", "sequences per micro-batch", x.b),
                count("h", "hidden size", x.h),
                count("f", "FFN size", x.f),
                count("a", "heads", x.a),
                count("k", "key-value heads", x.k),
                count("v", "vocabulary", x.v),
                count("t", "tensor parallel", x.t),
                count("c", "context parallel", x.c),
                count("n", "layers of the rank", stage.layers),
                count("i", "micro-batches in flight", stage.in_flight),
                count("p", "pipeline parallel", x.p),
            ],
        )
        .from(&FUJII_2024, "equation 17")
        .note("an unfused SwiGLU: 8 f/h where a fused one keeps 6 f/h")
        .note("8 p: the embedding's int64 inputs as the paper counts them, h times what they are");
    let total = states.value + activations.value;
    Term::given("T", t!("memory of rank {rank} by Fujii 2024", rank), total, Unit::Bytes)
        .by("M + A", vec![states, activations])
        .from(&FUJII_2024, "equation 18")
        .note("leaves out logits of a last stage behind others, buffers, CUDA context, communicators, fragmentation")
        .note("held against the size on the box, of which a process sees a little less")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;

    fn loads(ranks: usize) -> Vec<RankLoad> {
        (0..ranks)
            .map(|rank| RankLoad { stages: vec![rank], in_flight: vec![(ranks - rank) as f64], weight_versions: 1 })
            .collect()
    }

    #[test]
    fn the_explanation_ends_at_the_estimate() {
        let scenario = Scenario::new(&Run::default()).unwrap();
        let loads = loads(4);
        let estimate = Fujii.estimate(&scenario, &loads);
        for (rank, load) in loads.iter().enumerate() {
            let term = explain(&scenario, rank, load);
            let total = estimate.per_stage[rank].total.0;
            assert!((term.value / total - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_run_outside_the_paper_is_told_what_is_ignored() {
        let run = Run { zero: 0, sequence_parallel: false, ..Run::default() };
        let warnings = Fujii.estimate(&Scenario::new(&run).unwrap(), &loads(4)).warnings;
        let fields: Vec<_> = warnings.iter().map(|issue| issue.field.as_str()).collect();
        assert_eq!(fields, ["sequence_parallel", "zero"]);
    }
}
