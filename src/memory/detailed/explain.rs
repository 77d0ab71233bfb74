//! How a rank's total comes about: components, what they are made of, and the formula behind each.

use super::activations::cut;
use super::holding::{Kind, holdings};
use super::logits::loss_kernel;
use super::rank_memory;
use super::states::shards;
use crate::explain::{Term, Unit};
use crate::memory::estimate::{Component, RankLoad, StageMemory};
use crate::memory::verdict::{FRAGMENTATION, PROCESS};
use crate::run::Scenario;
use crate::source::{KORTHIKANTI_2022, ZERO};

/// Symbol, name and formula of a component.
const COMPONENTS: [(Component, &str, &str, &str); 6] = [
    (Component::Weights, "W", "weights", "Σ P w"),
    (Component::Gradients, "G", "gradients", "Σ P g"),
    (Component::Optimizer, "O", "optimizer states", "Σ P o/N"),
    (
        Component::Activations,
        "A",
        "activations",
        "Σ tensors · layers · micro-batches in flight",
    ),
    (
        Component::Buffers,
        "B",
        "logits, transients and gathered tensors",
        "Σ",
    ),
    (Component::Overhead, "X", "what no tensor accounts for", "Σ"),
];

/// The tree behind the total of pipeline rank `rank`.
#[must_use]
pub fn explain(scenario: &Scenario, loads: &[RankLoad], rank: usize) -> Option<Term> {
    let load = loads.get(rank)?;
    let memory = rank_memory(scenario, rank, load);
    let parts = COMPONENTS
        .iter()
        .map(|(component, symbol, name, formula)| {
            let term = component_term(&memory, *component, symbol, name, formula);
            detail(scenario, load, *component, term)
        })
        .collect();
    Some(
        Term::given("T", format!("memory of pipeline rank {rank}"), memory.total.0, Unit::Bytes)
            .by("W + G + O + A + B + X", parts)
            .note("leaves out CUDA graphs, user buffers of overlapped communication, offloading and the data loader")
            .note("held against what the driver shows a process, not the size on the box"),
    )
}

fn component_term(
    memory: &StageMemory,
    component: Component,
    symbol: &'static str,
    name: &str,
    formula: &str,
) -> Term {
    let items: Vec<_> = memory
        .items
        .iter()
        .filter(|item| item.component == component)
        .map(|item| Term::given("", item.name.clone(), item.bytes.0, Unit::Bytes))
        .collect();
    let total = items.iter().map(|item| item.value).sum();
    Term::given(symbol, name, total, Unit::Bytes).by(formula, items)
}

/// Adds the inputs of a component's formula and where it stands.
fn detail(scenario: &Scenario, load: &RankLoad, component: Component, mut term: Term) -> Term {
    let bytes = scenario.precision;
    let given = |symbol, name: &str, value| Term::given(symbol, name, value, Unit::Ratio);
    let held = |kind: Kind| -> f64 {
        holdings(scenario, load)
            .iter()
            .filter(|part| part.kind == kind)
            .map(|part| part.elements)
            .sum()
    };
    match component {
        Component::Weights => {
            term.parts.push(Term::given(
                "P",
                "parameters of the rank",
                held(Kind::Dense),
                Unit::Count,
            ));
            if scenario.model.moe.is_some() {
                let experts = held(Kind::Expert);
                term.parts.push(Term::given(
                    "E",
                    "routed experts of the rank",
                    experts,
                    Unit::Count,
                ));
            }
            term.parts.push(given("w", "bytes a weight", bytes.weights));
            term.from(&ZERO, "section 5")
        }
        Component::Gradients => {
            term.parts.push(given(
                "g",
                "bytes a gradient and its accumulation",
                bytes.gradients(),
            ));
            term.from(&ZERO, "section 5")
        }
        Component::Optimizer => {
            let state = bytes.optimizer(scenario.run.optimizer);
            term.parts
                .push(given("o", "bytes of states a parameter", state));
            term.parts.push(given(
                "N",
                "ranks that share the states",
                shards(scenario, Kind::Dense),
            ));
            if scenario.model.moe.is_some() {
                let experts = shards(scenario, Kind::Expert);
                term.parts.push(given(
                    "N_e",
                    "ranks that share the experts' states",
                    experts,
                ));
            }
            term.from(&ZERO, "section 5")
                .note("sharded over d c, experts over their own data-parallel group")
        }
        Component::Activations => {
            let cut = cut(scenario);
            term.parts.push(Term::given(
                "T",
                "tokens of a micro-batch on a rank",
                cut.tokens,
                Unit::Count,
            ));
            term.from(
                &KORTHIKANTI_2022,
                "section 4, and each tensor's own formula",
            )
        }
        Component::Buffers => {
            let kernel = loss_kernel(scenario);
            term.parts
                .push(given("l", "bytes a logit held", kernel.value.held));
            term.from(kernel.source, kernel.place)
                .note("of the transients only the largest is counted: they do not meet")
        }
        Component::Overhead => {
            term.parts
                .push(given("φ", "reserved over allocated", FRAGMENTATION.value));
            term.parts.push(Term::given(
                "κ",
                "a process or a communicator",
                PROCESS.value.0,
                Unit::Bytes,
            ));
            term.from(FRAGMENTATION.source, FRAGMENTATION.place)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::detailed::estimate;
    use crate::run::Run;

    #[test]
    fn the_explanation_ends_at_the_estimate() {
        let scenario = Scenario::new(&Run::default()).unwrap();
        let loads: Vec<_> = (0..4)
            .map(|rank| RankLoad {
                stages: vec![rank],
                in_flight: vec![(4 - rank) as f64],
                weight_versions: 1,
            })
            .collect();
        let estimate = estimate(&scenario, &loads);
        for (rank, memory) in estimate.per_stage.iter().enumerate() {
            let term = explain(&scenario, &loads, rank).unwrap();
            let parts: f64 = term.parts.iter().map(|part| part.value).sum();
            assert!((term.value / memory.total.0 - 1.0).abs() < 1e-12);
            assert!((parts / memory.total.0 - 1.0).abs() < 1e-12);
        }
    }
}
