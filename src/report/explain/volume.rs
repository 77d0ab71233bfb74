//! Bytes that a GPU of the busiest rank sends in a step, by kind: the formula with this run's values.

use super::super::Evaluation;
use crate::explain::{Term, Unit};
use crate::model::stage_range;
use crate::run::{CpComm, Scenario};
use crate::source::{MEGATRON, PLAYBOOK, ZERO};
use crate::traffic::{Copies, OverlapRow, element_bytes, is_once_a_node, once_a_node};

/// The volume of a row, with its formula where the formula is the whole of it.
pub fn volume(evaluation: &Evaluation, row: &OverlapRow) -> Term {
    let name = "bytes that a GPU sends";
    let plain = Term::given("V", name, row.bytes_per_gpu.0, Unit::Bytes);
    let Some(inputs) = Inputs::of(evaluation) else {
        return plain;
    };
    let source = match row.name {
        "dp" | "zero3" => (&ZERO, "section 7"),
        "tp" | "pp" => (&MEGATRON, "tensor and sequence parallelism, Megatron Core"),
        _ => (&PLAYBOOK, "context and expert parallelism"),
    };
    let counted = match row.name {
        "tp" => inputs.tensor(),
        "cp" => inputs.context(),
        "ep" => inputs.experts(),
        "pp" => inputs.pipeline(),
        _ => inputs.parameters(row.name == "zero3"),
    };
    if (counted.bytes / row.bytes_per_gpu.0 - 1.0).abs() < 1e-9 {
        plain
            .by(counted.formula, counted.parts)
            .from(source.0, source.1)
    } else {
        plain.note(
            "routed experts, replicas or tied embeddings are counted each over their own group",
        )
    }
}

/// A formula, its inputs and what it gives.
struct Counted {
    formula: &'static str,
    parts: Vec<Term>,
    bytes: f64,
}

/// What the formulas are made of.
struct Inputs<'a> {
    scenario: &'a Scenario,
    /// Stages on the rank.
    stages: f64,
    /// Layers of the rank, and those of them with routed experts.
    layers: f64,
    routed: f64,
    /// Micro-batches of a stage.
    m: f64,
    /// Tokens of a micro-batch.
    tokens: f64,
    /// Parameters of the GPU.
    held: f64,
}

fn count(symbol: &'static str, name: &str, value: f64) -> Term {
    Term::given(symbol, name, value, Unit::Count)
}

fn bytes(symbol: &'static str, name: &str, value: f64) -> Term {
    Term::given(symbol, name, value, Unit::Ratio)
}

/// `(n - 1)/n`.
fn ring(ranks: f64) -> f64 {
    (ranks - 1.0) / ranks
}

impl<'a> Inputs<'a> {
    fn of(evaluation: &'a Evaluation) -> Option<Self> {
        let scenario = &evaluation.scenario;
        let load = evaluation.loads.get(evaluation.busiest)?;
        let copies = load.stages.len() as f64 / scenario.chunks as f64;
        let layers = load
            .stages
            .iter()
            .flat_map(|stage| stage_range(&scenario.stage_layers, *stage));
        let routed = layers
            .clone()
            .filter(|layer| scenario.model.is_moe_layer(*layer))
            .count();
        Some(Self {
            scenario,
            stages: load.stages.len() as f64,
            layers: layers.count() as f64,
            routed: routed as f64,
            m: scenario.usual_microbatches() / copies,
            tokens: scenario.tokens_per_rank(),
            held: *evaluation
                .report
                .parameters
                .per_stage
                .get(evaluation.busiest)?,
        })
    }
    fn hidden(&self) -> f64 {
        self.scenario.model.hidden as f64
    }
    fn tp(&self) -> f64 {
        self.scenario.layout.tp as f64
    }
    /// T, h and m, which most of them share, behind `first`.
    fn with(&self, first: Vec<Term>) -> Vec<Term> {
        let mut parts = first;
        parts.extend([
            count("T", "tokens of a micro-batch on a rank", self.tokens),
            count("h", "hidden size", self.hidden()),
            count("m", "micro-batches", self.m),
        ]);
        parts
    }

    fn tensor(&self) -> Counted {
        let moe = self.scenario.model.moe;
        let shared = moe.is_some_and(|moe| moe.shared_experts > 0);
        let n = if shared {
            self.layers
        } else {
            self.layers - self.routed / 2.0
        };
        let name = "layers of the rank (one whose FFN is routed counts half)";
        let mut parts = self.with(vec![count("n", name, n)]);
        parts.push(count("t", "tensor parallel", self.tp()));
        Counted {
            formula: "16 n T h m (t - 1)/t",
            parts,
            bytes: 16.0 * n * self.tokens * self.hidden() * self.m * ring(self.tp()),
        }
    }

    fn context(&self) -> Counted {
        let (model, c) = (&self.scenario.model, self.scenario.layout.cp as f64);
        let width = model.mla.map_or(model.kv_width() as f64, |mla| {
            let both = mla.qk_nope_head_dim + mla.qk_rope_head_dim + mla.v_head_dim;
            (model.heads * both) as f64 / 2.0
        });
        let mut parts = vec![
            count("n", "layers of the rank", self.layers),
            count("T", "tokens of a micro-batch on a rank", self.tokens),
            count("k", "width of the keys, as of the values", width),
            count("m", "micro-batches", self.m),
            count("c", "context parallel", c),
            count("t", "tensor parallel", self.tp()),
        ];
        let each = self.layers * self.tokens * self.m / self.tp();
        if self.scenario.run.cp_comm != CpComm::Ulysses {
            return Counted {
                formula: "12 n T k/t m (c - 1)",
                parts,
                bytes: 12.0 * each * width * (c - 1.0),
            };
        }
        let query = model.query_width() as f64;
        parts.push(count("q", "width of the queries", query));
        Counted {
            formula: "8 n T (q + k)/t m (c - 1)/c",
            parts,
            bytes: 8.0 * each * (query + width) * ring(c),
        }
    }

    fn experts(&self) -> Counted {
        let k = self.scenario.model.moe.map_or(0.0, |moe| moe.top_k as f64);
        if is_once_a_node(self.scenario) || self.scenario.run.fp8_dispatch {
            return self.dispatch(k);
        }
        let (e, u) = (
            self.scenario.layout.ep as f64,
            self.scenario.run.moe_imbalance,
        );
        let mut parts = self.with(vec![
            count("n", "routed layers of the rank", self.routed),
            count("K", "experts a token", k),
        ]);
        parts.extend([
            count("t", "tensor parallel", self.tp()),
            count("e", "expert parallel", e),
            bytes("u", "imbalance", u),
        ]);
        let tokens = self.routed * k * self.tokens * self.m;
        Counted {
            formula: "8 n K T h/t m u (e - 1)/e",
            parts,
            bytes: 8.0 * tokens * self.hidden() / self.tp() * u * ring(e),
        }
    }

    /// Dispatch and combine with what the Run says of copies and bytes.
    fn dispatch(&self, k: f64) -> Counted {
        let scenario = self.scenario;
        let (there, back) = element_bytes(scenario);
        let (moe, u) = (scenario.model.moe, scenario.run.moe_imbalance);
        let copies = match moe.filter(|_| is_once_a_node(scenario)) {
            Some(moe) => once_a_node(moe, scenario.layout.mesh().ep_group()),
            None => Copies {
                crossing: 0.0,
                inside: k * ring(scenario.layout.ep as f64),
            },
        };
        let mut parts = self.with(vec![count("n", "routed layers of the rank", self.routed)]);
        parts.extend([
            count("t", "tensor parallel", self.tp()),
            count("X", "copies of a token over the network", copies.crossing),
            count(
                "I",
                "copies inside nodes, or to every expert",
                copies.inside,
            ),
            bytes("d", "bytes of an element to the experts", there),
            bytes("c", "bytes of an element back", back),
            bytes("u", "imbalance", u),
        ]);
        let tokens = self.routed * self.tokens * self.m * self.hidden() / self.tp();
        Counted {
            formula: "2 (d + c) n (X + I) T h/t m u",
            parts,
            bytes: 2.0 * (there + back) * tokens * copies.total() * u,
        }
    }

    fn pipeline(&self) -> Counted {
        let t = if self.scenario.layout.sequence_parallel {
            self.tp()
        } else {
            1.0
        };
        let mut parts = self.with(Vec::new());
        parts.extend([
            count("v", "stages on the rank", self.stages),
            count("t", "cut by sequence parallelism", t),
        ]);
        Counted {
            formula: "4 T h m v/t",
            parts,
            bytes: 4.0 * self.tokens * self.hidden() * self.m * self.stages / t,
        }
    }

    /// Gradients and weights over the ranks that share them; `gathered`: the weights of ZeRO-3.
    fn parameters(&self, gathered: bool) -> Counted {
        let (zero, precision) = (self.scenario.zero, self.scenario.precision);
        let (g, w) = (precision.gradients(), precision.weights.min(2.0));
        let ranks = zero.shard as f64;
        let (formula, each) = match zero.stage {
            _ if gathered => ("2 w P m (D - 1)/D", 2.0 * w * self.m),
            0 => ("2 g P (D - 1)/D", 2.0 * g),
            1 => ("(g + w) P (D - 1)/D", g + w),
            2 => ("(g m + w) P (D - 1)/D", g * self.m + w),
            _ => ("g P m (D - 1)/D", g * self.m),
        };
        let mut parts = vec![
            count("P", "parameters of the GPU", self.held),
            count("D", "ranks that share them", ranks),
        ];
        for (symbol, term) in [
            ("g", bytes("g", "bytes of a gradient", g)),
            ("w", bytes("w", "bytes of a weight", w)),
            ("m", count("m", "micro-batches", self.m)),
        ] {
            if formula.contains(symbol) {
                parts.push(term);
            }
        }
        Counted {
            formula,
            parts,
            bytes: each * self.held * ring(ranks),
        }
    }
}
