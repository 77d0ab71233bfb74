//! How a rank's total comes about: components, what they are made of, and the formula behind each.

use super::activations::{Chunks, kept};
use super::holding::{Holding, Kind, holdings};
use super::items::{BY_YOUR_RUNS, heads_in_flight, workspaces};
use super::logits::loss_kernel;
use super::rank::rank_memory;
use super::shapes::{book, tensor};
use super::sharding::{accumulating, buffers, gathered_copies, largest_layer, root_elements};
use super::states::{quantised_linears, shards, states};
use super::{dummies, logits, transient};
use crate::explain::{Provenance, Term, Unit};
use crate::memory::estimate::{Component, RankLoad, StageMemory};
use crate::memory::verdict::{FRAGMENTATION, PROCESS, fragmentation};
use crate::message::Message;
use crate::run::{Optimizer, Scenario};
use crate::source::{KORTHIKANTI_2022, ZERO};
use crate::t;

/// The tree behind the total of pipeline rank `rank`.
pub fn explain(scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
    let memory = rank_memory(scenario, rank, load);
    if scenario.peaks_by_moment() || scenario.adapter.is_some() || scenario.offload.is_some() {
        return at_the_fullest_moment(&memory, rank);
    }
    let of = Explained { scenario, load, book: book(scenario), holdings: holdings(scenario, load) };
    let [weights, gradients, optimizer] = of.states();
    let (activations, buffers) = (of.activations(), of.buffers());
    let allocated = [&weights, &gradients, &optimizer, &activations, &buffers].map(|term| term.value).iter().sum();
    let overhead = of.overhead(allocated);
    let parts = vec![weights, gradients, optimizer, activations, buffers, overhead];
    bytes("T", t!("memory of pipeline rank {rank}", rank), memory.total.0)
        .by("W + G + O + A + B + X", parts)
        .note("leaves out CUDA graphs, user buffers of overlapped communication and the data loader")
        .note("compared with what the driver shows a process, not with the nominal size")
}

/// The same of a rank whose peak is that of a moment: what is there then.
fn at_the_fullest_moment(memory: &StageMemory, rank: usize) -> Term {
    let symbols = ["W", "G", "O", "A", "B", "X"];
    let parts = Component::ALL.iter().zip(symbols).map(|(component, symbol)| {
        let items = memory.parts(*component).into_iter();
        let items = items.map(|item| bytes("B_i", item.name, item.bytes.0).marked(Provenance::AddedUp, ""));
        sum(symbol, component.name(), "Σ B_i", items.collect())
    });
    bytes("T", t!("memory of pipeline rank {rank}", rank), memory.total.0)
        .by("W + G + O + A + B + X", parts.collect())
        .note("where gradients are freed after a step, at the fullest of three moments: the loss, a layer's backward pass or the optimizer's step")
        .note("compared with what the driver shows a process, not with the nominal size")
}

fn bytes(symbol: &'static str, name: impl Into<Message>, value: f64) -> Term {
    Term::given(symbol, name, value, Unit::Bytes)
}

fn count(symbol: &'static str, name: impl Into<Message>, value: f64) -> Term {
    Term::given(symbol, name, value, Unit::Count)
}

/// `parts`, which all have the symbol that `formula` adds up.
fn sum(symbol: &'static str, name: impl Into<Message>, formula: &str, parts: Vec<Term>) -> Term {
    let parts: Vec<Term> = parts.into_iter().filter(|part| part.value > 0.0).collect();
    let total = parts.iter().map(|part| part.value).sum();
    bytes(symbol, name, total).by(formula, parts)
}

/// A rank and what its terms are made of.
struct Explained<'a> {
    scenario: &'a Scenario,
    load: &'a RankLoad,
    book: Vec<Term>,
    holdings: Vec<Holding>,
}

impl Explained<'_> {
    /// Weights, gradients, optimizer states, each of every kind of parameter.
    fn states(&self) -> [Term; 3] {
        let (scenario, precision) = (self.scenario, self.scenario.precision);
        let (mut weights, mut gradients, mut optimizer) = (Vec::new(), Vec::new(), Vec::new());
        for part in &self.holdings {
            let worth = states(scenario, part, self.load.weight_versions);
            let n = shards(scenario, part.kind);
            let ranks = if part.kind == Kind::Expert {
                "ranks that share the experts' states"
            } else {
                "ranks that share the states"
            };
            let book = [
                Term::given("P", "parameters on the GPU", part.elements, Unit::Parameters),
                bytes("w", "bytes per weight", precision.weights),
                Term::given(
                    "L",
                    "parameters of linears in quantised copies",
                    quantised_linears(scenario, part),
                    Unit::Parameters,
                ),
                bytes("q", "bytes of the quantised copies of a weight", precision.copies(&scenario.gpu)),
                bytes("g", "bytes per gradient and its accumulation", precision.gradients()),
                bytes("o", "bytes of states per parameter", optimizer_bytes(scenario, part)),
                count("c", "copies of the weights", self.load.weight_versions.max(1) as f64),
                count("N", ranks, n),
                Term::given(
                    "m",
                    "largest matrix, which stays whole",
                    part.largest_matrix.min(part.elements),
                    Unit::Parameters,
                ),
            ];
            // Frozen parameters are not sharded.
            let over = |stage| {
                let shared = match stage {
                    2 => scenario.shards_gradients(),
                    stage => scenario.zero.stage >= stage,
                };
                shared && (part.trained || part.kind != Kind::Frozen && stage == 3)
            };
            let by = |over: bool, whole: &str, cut: &str| {
                if over { cut.to_owned() } else { whole.to_owned() }
            };
            let quantised = quantised_linears(scenario, part) > 0.0;
            let of_weights = match (quantised, precision.param_gather) {
                (true, true) => "((P - L) w + L q)",
                (true, false) => "(P w + L q)",
                _ => "P w",
            };
            let copies = if self.load.weight_versions > 1 { format!("{of_weights} c") } else { of_weights.to_owned() };
            let term = |symbol, value, formula: String| bytes(symbol, part.name, value).over(formula, &book);
            let cut = format!("{copies}/N");
            weights.push(term("W_i", worth.weights, by(over(3), &copies, &cut)));
            gradients.push(term("G_i", worth.gradients, by(over(2), "P g", "P g/N")));
            let kept_whole = scenario.run.optimizer == Optimizer::Muon && part.largest_matrix > 0.0;
            let formula = match (kept_whole, over(1)) {
                (true, true) => "max(P/N, m) o",
                (false, true) => "P o/N",
                _ => "P o",
            };
            optimizer.push(term("O_i", worth.optimizer, formula.to_owned()));
        }
        [
            sum("W", "weights", "Σ W_i", weights).from(&ZERO, "section 5"),
            sum("G", "gradients", "Σ G_i", gradients).from(&ZERO, "section 5"),
            sum("O", "optimizer states", "Σ O_i", optimizer)
                .from(&ZERO, "section 5")
                .note("sharded over d c, experts over their own data-parallel group"),
        ]
    }

    /// Every tensor: bytes of a layer, layers, micro-batches in flight.
    fn activations(&self) -> Term {
        let mut parts = Vec::new();
        for (stage, in_flight) in self.load.stages.iter().zip(&self.load.in_flight) {
            for piece in kept(self.scenario, *stage).pieces {
                let shown = match self.load.stages.len() {
                    1 => piece.name.into(),
                    _ => t!("{tensor}, stage {stage}", tensor = Message::plain(piece.name), stage = *stage),
                };
                let share = if (piece.share - 1.0).abs() > 0.0 { "b z n i" } else { "b n i" };
                let mut one = tensor(self.scenario, &self.book, "b", piece.name, piece.bytes);
                one.name = t!("bytes in one layer");
                let book = [
                    one,
                    Term::given("z", "share that recomputation keeps", piece.share, Unit::Ratio),
                    count("n", "layers", piece.layers),
                    Term::given("i", "micro-batches in flight", *in_flight, Unit::Ratio),
                ];
                parts.push(bytes("A_i", shown, piece.total() * in_flight).over(share, &book));
            }
        }
        sum("A", "activations", "Σ A_i", parts)
            .from(&KORTHIKANTI_2022, "section 4, and each tensor's own formula")
            .note("micro-batches in flight are counted in the simulated order")
    }

    /// The book, with what a formula needs beside it.
    fn with(&self, more: Vec<Term>) -> Vec<Term> {
        let mut book = more;
        book.extend(self.book.iter().cloned());
        book
    }

    fn heads(&self) -> Vec<Term> {
        let heads = heads_in_flight(self.scenario, self.load);
        self.with(vec![Term::given("i", "micro-batches of the last stage in flight", heads, Unit::Ratio)])
    }

    fn buffers(&self) -> Term {
        let (scenario, load) = (self.scenario, self.load);
        let heads = heads_in_flight(scenario, load);
        let book = self.heads();
        let inputs = if super::activations::keeps_gathered_inputs(scenario) {
            "i (2 b T h/r + b T h (1 - 1/r))"
        } else {
            "2 i b T h/r"
        };
        let mut parts = vec![
            bytes("B_i", "logits", heads * logits::held(scenario)).over("l i e T V/t", &book),
            bytes("B_i", "inputs of the head", heads * logits::inputs(scenario)).over(inputs, &book),
        ];
        if scenario.software.dummy_wgrad {
            parts.push(self.momentary("dummy weight gradients", dummies::bytes(scenario, load)));
        }
        let shared = bytes("B_i", "library workspaces", workspaces(scenario));
        let rule = "32 MiB of cuBLAS and as much of Transformer Engine; 8 and 4 before Hopper";
        parts.push(shared.marked(Provenance::LookedUp, rule));
        let chunks = Chunks::of(scenario);
        let transients = transient::transients(scenario, &chunks, load);
        parts.extend(transients.map(|one| self.momentary(one.name, one.bytes)));
        parts.extend(self.gathered());
        let kernel = loss_kernel(scenario);
        sum("B", "logits, transients and gathered tensors", "Σ B_i", parts)
            .from(kernel.source, kernel.place)
            .note("of the transients only the largest is counted: they do not meet")
    }

    fn momentary(&self, name: &'static str, value: f64) -> Term {
        tensor(self.scenario, &self.book, "B_i", name, value)
    }

    /// What ZeRO-2, ZeRO-3 and FSDP hold beside their shards.
    fn gathered(&self) -> Vec<Term> {
        let (scenario, load) = (self.scenario, self.load);
        let precision = scenario.precision;
        let all: f64 = self.holdings.iter().map(|part| part.elements).sum();
        let parameters = |symbol, name: &'static str, value| Term::given(symbol, name, value, Unit::Parameters);
        let book = [
            parameters("U", "parameters of the largest layer", largest_layer(scenario, load)),
            parameters("A", "parameters of the two largest chunks", accumulating(scenario, load)),
            parameters("P", "parameters on the GPU", all),
            parameters("R", "embedding, head and final norm", root_elements(&self.holdings)),
            parameters("H", "parameters of the head", super::holding::embedding_elements(scenario)),
            bytes("w", "bytes a gathered weight", precision.gathered_weight()),
            bytes("q", "bytes of the quantised copies of a weight", gathered_copies(scenario)),
            bytes("g", "bytes per gradient and its accumulation", precision.gradients()),
        ];
        let waiting = if scenario.layout.microbatches > 1 { "g P" } else { "w P" };
        let quantised = gathered_copies(scenario) > 0.0;
        let named = buffers(scenario, load, &self.holdings).into_iter();
        named
            .map(|buffer| {
                let formula = match buffer.name {
                    "gradients being reduced" if scenario.zero.stage == 2 => "2 g U",
                    "gradients being reduced" => "(w + g) U",
                    "gradients of a group of micro-batches" => "g A",
                    "gathered weights of the stage" if quantised => "(w + q) P",
                    "gathered weights of the stage" => "w P",
                    "gradients waiting for the last micro-batch" => waiting,
                    "gathered layers" if quantised => "(2 w + q) U",
                    "gathered layers" => "2 w U",
                    "gathered embedding and head" => "w R",
                    _ => "w H",
                };
                bytes("B_i", buffer.name, buffer.bytes).over(formula, &book)
            })
            .collect()
    }

    fn overhead(&self, allocated: f64) -> Term {
        let (scenario, layout) = (self.scenario, &self.scenario.layout);
        let heads = heads_in_flight(scenario, self.load);
        let held = heads * logits::held(scenario);
        let mut book = self.heads();
        book.extend([
            Term::given("φ", "reserved over allocated", fragmentation(scenario), Unit::Ratio)
                .from(FRAGMENTATION.source, FRAGMENTATION.place),
            bytes("M", "allocated", allocated),
            bytes("L", "logits, which do not fragment", held),
            bytes("v", "workspaces, which do not either", workspaces(scenario)),
        ]);
        let process = |name: &'static str, taken: f64| {
            bytes("X_i", name, PROCESS.value.0 - taken)
                .marked(Provenance::LookedUp, "")
                .from(PROCESS.source, PROCESS.place)
        };
        let mut parts = vec![process("CUDA context, libraries and communicators", workspaces(scenario))];
        if layout.cp > 1 {
            parts.push(process("communicators of context parallelism", 0.0));
        }
        if layout.ep > 1 {
            parts.push(process("communicators of expert parallelism", 0.0));
        }
        let fitted = scenario.run.profile.overhead().0;
        if fitted != 0.0 {
            parts.push(bytes("X_i", BY_YOUR_RUNS, fitted));
        }
        let peak = heads.min(1.0) * logits::momentary(scenario);
        parts.push(bytes("X_i", "logits at their peak", peak).over("(p - l) min(i, 1) e T V/t", &book));
        let blocks = (fragmentation(scenario) - 1.0) * (allocated - held - workspaces(scenario));
        parts.push(bytes("X_i", "fragmentation", blocks).over("(φ - 1) (M - L - v)", &book));
        sum("X", "fragmentation and CUDA overhead", "Σ X_i", parts).from(FRAGMENTATION.source, FRAGMENTATION.place)
    }
}

/// Bytes of states a parameter: under Muon Adam steps what is no hidden matrix.
fn optimizer_bytes(scenario: &Scenario, part: &Holding) -> f64 {
    let kind = match scenario.run.optimizer {
        Optimizer::Muon if part.largest_matrix <= 0.0 => Optimizer::Adam,
        other => other,
    };
    scenario.precision.optimizer(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryMethod;
    use crate::memory::detailed::Detailed;
    use crate::run::Run;

    #[test]
    fn the_explanation_ends_at_the_estimate() {
        let scenario = Scenario::new(&Run::default()).unwrap();
        let loads: Vec<_> = (0..4)
            .map(|rank| RankLoad { stages: vec![rank], in_flight: vec![(4 - rank) as f64], weight_versions: 1 })
            .collect();
        let estimate = Detailed.estimate(&scenario, &loads);
        for (rank, memory) in estimate.per_stage.iter().enumerate() {
            let term = explain(&scenario, rank, &loads[rank]);
            let parts: f64 = term.parts.iter().map(|part| part.value).sum();
            assert!((term.value / memory.total.0 - 1.0).abs() < 1e-12);
            assert!((parts / memory.total.0 - 1.0).abs() < 1e-12);
        }
    }
}
