//! Bytes that a GPU of the busiest rank sends in a step, by kind: the formula with this run's values.

use super::super::Evaluation;
use crate::cluster::Axis;
use crate::explain::{Provenance, Term, Unit};
use crate::message::Message;
use crate::model::LayerKind;
use crate::run::{CpComm, Reduction, Scenario};
use crate::source::{MEGATRON, PLAYBOOK, ZERO};
use crate::t;
use crate::traffic::{
    Copies, Held, OverlapRow, Traffic, element_bytes, is_once_a_node, once_a_node, rank_key_width, tensor_pairs,
    widest_queries,
};

/// The volume of a row, with its formula.
pub(crate) fn volume(evaluation: &Evaluation, row: &OverlapRow) -> Term {
    let name = "bytes that a GPU sends";
    let plain = Term::given("V", name, row.bytes_per_gpu.0, Unit::Bytes);
    let gathered = row.traffic == Traffic::Zero3;
    let Some(inputs) = Inputs::of(evaluation, gathered) else {
        return plain;
    };
    let book = inputs.book();
    match row.traffic {
        Traffic::Tp => plain.over("8 b n T h m (t - 1)/t", &book),
        Traffic::Cp if !evaluation.scenario.model.pattern.is_uniform() => plain.marked(Provenance::AddedUp, ""),
        Traffic::Cp if evaluation.scenario.run.cp_comm == CpComm::Ulysses => {
            plain.over("4 b l T (q/t + w) m (c - 1)/c", &book)
        }
        Traffic::Cp => plain.over("6 b l T w m (c - 1)", &book),
        Traffic::Ep => inputs.experts(plain, &book),
        Traffic::Pp if evaluation.scenario.layout.sequence_parallel => plain.over("2 b T h m v/t", &book),
        Traffic::Pp => plain.over("2 b T h m v", &book),
        Traffic::Dp | Traffic::Zero3 => inputs.parameters(plain, gathered),
    }
    .from(
        match row.traffic {
            Traffic::Dp | Traffic::Zero3 => &ZERO,
            Traffic::Tp | Traffic::Pp => &MEGATRON,
            Traffic::Cp | Traffic::Ep => &PLAYBOOK,
        },
        match row.traffic {
            Traffic::Dp | Traffic::Zero3 => "section 7",
            Traffic::Tp | Traffic::Pp => "tensor and sequence parallelism, Megatron Core",
            Traffic::Cp | Traffic::Ep => "context and expert parallelism",
        },
    )
}

/// What the formulas are made of.
struct Inputs<'a> {
    scenario: &'a Scenario,
    /// Stages on the rank.
    stages: f64,
    /// Layers of the rank, and those of them with routed experts.
    layers: f64,
    /// Pairs of tensor-parallel messages of a pass.
    pairs: f64,
    routed: f64,
    /// Micro-batches of a stage.
    m: f64,
    /// Parameters of the GPU: all that are gathered, or those that are trained.
    held: Held,
}

fn count(symbol: &'static str, name: impl Into<Message>, value: f64) -> Term {
    Term::given(symbol, name, value, Unit::Count)
}

fn bytes(symbol: &'static str, name: impl Into<Message>, value: f64) -> Term {
    Term::given(symbol, name, value, Unit::Bytes)
}

impl<'a> Inputs<'a> {
    fn of(evaluation: &'a Evaluation, gathered: bool) -> Option<Self> {
        let scenario = &evaluation.scenario;
        let load = evaluation.loads.get(evaluation.busiest)?;
        let copies = load.stages.len() as f64 / scenario.chunks as f64;
        let model = &scenario.model;
        let kinds = load.stages.iter().flat_map(|stage| scenario.kinds_on(*stage).to_vec());
        let sum = |each: &dyn Fn(LayerKind) -> f64| -> f64 {
            let kinds = kinds.clone();
            kinds.map(|(kind, count)| count as f64 * each(kind)).sum()
        };
        Some(Self {
            scenario,
            stages: load.stages.len() as f64,
            layers: sum(&|_| 1.0),
            pairs: sum(&|kind| tensor_pairs(model, kind)),
            routed: sum(&|kind| f64::from(u8::from(kind.ffn.is_routed()))),
            m: scenario.usual_microbatches() / copies,
            held: if gathered { Held::of(scenario, &load.stages) } else { Held::trained(scenario, &load.stages) },
        })
    }

    /// Every symbol of a message of activations.
    fn book(&self) -> Vec<Term> {
        let (scenario, model) = (self.scenario, &self.scenario.model);
        let layout = &scenario.layout;
        let k = model.moe.map_or(0, |moe| moe.top_k);
        let imbalance = scenario.run.moe_imbalance;
        vec![
            Term::given("T", "tokens of a micro-batch on a rank", scenario.tokens_per_rank(), Unit::Tokens),
            bytes("b", "bytes an activation", scenario.precision.computes.activation()),
            count("h", "hidden size", model.hidden as f64),
            count("h_e", "width of what is routed", model.moe.map_or(0, |moe| moe.input(model.hidden)) as f64),
            count("m", "micro-batches", self.m),
            count("n", "layers of the rank (one whose FFN is routed counts half)", self.pairs / 2.0),
            count("l", "layers of the rank", self.layers),
            count("e", "routed layers of the rank", self.routed),
            count("v", "stages on the rank", self.stages),
            count("t", "tensor parallel", layout.tp as f64),
            count("c", "context parallel", layout.cp as f64),
            count("x", "expert parallel", layout.ep as f64),
            count("q", "width of the queries", widest_queries(model)),
            count("w", "width of the keys on a rank, as of the values", rank_key_width(scenario)),
            Term::count("K", "experts per token", k),
            Term::given("u", "imbalance", imbalance, Unit::Ratio),
        ]
    }

    /// Dispatch and combine, forward and backward, with the Run's copies and bytes.
    fn experts(&self, plain: Term, book: &[Term]) -> Term {
        let scenario = self.scenario;
        let mut book = book.to_vec();
        let (there, back) = element_bytes(scenario);
        book.extend([
            bytes("b_t", "bytes of an element to the experts", there),
            bytes("b_f", "bytes of an element back from them", back),
        ]);
        let Some(moe) = scenario.model.moe.filter(|_| is_once_a_node(scenario)) else {
            return plain.over("2 (b_t + b_f) e K T h_e m u (x - 1)/(t x)", &book);
        };
        let Copies { crossing, inside } = once_a_node(moe, scenario.layout.mesh().group(Axis::Ep));
        let copies = |symbol, name: &'static str, value| {
            Term::given(symbol, name, value, Unit::Ratio).marked(Provenance::AddedUp, "m (1 - (1 - 1/m)^K) (n - 1)/n")
        };
        book.extend([
            copies("X", "copies of a token over the network", crossing),
            copies("I", "copies inside nodes", inside),
        ]);
        plain.over("2 (b_t + b_f) e (X + I) T h_e m u/t", &book)
    }

    /// Gradients and weights over the ranks that share them, dense and routed each over their own; `gathered`: the
    /// weights of ZeRO-3.
    fn parameters(&self, plain: Term, gathered: bool) -> Term {
        let (scenario, layout, zero) = (self.scenario, &self.scenario.layout, self.scenario.zero);
        let weight = if gathered { scenario.gathered_weight() } else { scenario.trained_bytes().gathered_weight() };
        let mut parts = Vec::new();
        let often = scenario.reductions() as f64 / layout.microbatches as f64;
        let reductions = self.m * often;
        for (name, elements, shard, ranks) in [
            ("parameters outside the experts", self.held.dense, zero.shard, layout.dp * layout.cp),
            ("routed experts", self.held.experts, zero.expert_shard, layout.expert_dp),
        ] {
            if elements <= 0.0 {
                continue;
            }
            let copies = ranks / shard.max(1);
            let shard = if zero.stage == 0 { ranks } else { shard };
            let book = [
                Term::given("P", "parameters of the GPU", elements, Unit::Parameters),
                count("N", "ranks that share them", shard as f64),
                count("y", "groups that hold the same shards", copies as f64),
                bytes("g", "bytes per gradient between ranks", scenario.reduced_gradient()),
                bytes("w", "bytes per weight", weight),
                count("m", "micro-batches", self.m),
                count("R", "reductions of a stage's gradients", reductions),
                count("k", "updates of the weights", scenario.updates()),
            ];
            let formula = match (zero.stage, scenario.reduction()) {
                _ if gathered => "2 w P m (N - 1)/N",
                (0, _) => "2 g P k (N - 1)/N",
                (3, _) => "g P m (N - 1)/N",
                (_, Reduction::Step) => "(g + w) P k (N - 1)/N",
                (_, Reduction::MicroBatch) => "(g m + w k) P (N - 1)/N",
                (_, Reduction::Group) => "(g R + w k) P (N - 1)/N",
            };
            parts.extend(self::part(name, formula, &book));
            if zero.stage > 0 && copies > 1 && !gathered {
                let name = t!("{bytes}, between the groups", bytes = Message::plain(name));
                parts.extend(self::part(name, "2 g P k (y - 1)/(y N)", &book));
            }
        }
        if !gathered {
            parts.extend(self.copies());
        }
        plain.by("Σ V_i", parts)
    }

    /// Gradients between ranks that hold the same parameters besides data parallelism: heads of keys and values, and
    /// embeddings.
    fn copies(&self) -> Vec<Term> {
        let (scenario, layout) = (self.scenario, &self.scenario.layout);
        let model = &scenario.model;
        let shard = if scenario.shards_gradients() { scenario.zero.shard } else { 1 };
        let ranks = model.key_value_ranks(layout.tp);
        let mut book = vec![
            count("N", "ranks that share the gradients", shard as f64),
            count("k", "updates of the weights", scenario.updates()),
            bytes("g", "bytes per gradient between ranks", scenario.reduced_gradient()),
            count("v", "vocabulary", model.vocab as f64),
            count("h", "hidden size", model.hidden as f64),
            count("t", "tensor parallel", layout.tp as f64),
            count("n", "ranks of the pipeline that hold the embedding", scenario.embedding_copies() as f64),
        ];
        let ends =
            part("embeddings, between the ranks of the pipeline that hold them", "2 g v h k (n - 1)/(n t)", &book);
        let held = self.held.copied.into_iter().zip(ranks);
        let heads = held.map(|(copied, ranks)| {
            let name = "parameters of keys and values";
            book.push(Term::given("P", name, copied, Unit::Parameters));
            let same = layout.tp / ranks;
            book.push(count("y", "ranks that hold the same head", same as f64));
            let name = "keys and values, between the ranks that hold the same head";
            let term = part(name, "2 g P k (y - 1)/(y N)", &book);
            book.truncate(book.len() - 2);
            term
        });
        heads.chain([ends]).flatten().collect()
    }
}

/// A summand of the volume, where it is one.
fn part(name: impl Into<Message>, formula: &str, book: &[Term]) -> Option<Term> {
    let mut term = bytes("V_i", name, 0.0).over(formula, book);
    term.value = term.computed()?;
    (term.value > 0.0).then_some(term)
}
