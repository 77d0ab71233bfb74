//! The formulas behind a rank's total: its inventory, written instead of computed.

use super::activations::Chunks;
use super::logits::loss_kernel;
use super::rank::{Lasting, inventory};
use crate::explain::{Quantity, Term, Unit, Written, written};
use crate::memory::estimate::{Component, RankLoad};
use crate::memory::verdict::FRAGMENTATION;
use crate::message::Message;
use crate::run::Scenario;
use crate::source::{KORTHIKANTI_2022, ZERO};
use crate::t;

/// Symbol of a component, that of its parts, and its name in the drawer.
const fn symbols(component: Component) -> (&'static str, &'static str, &'static str, &'static str) {
    match component {
        Component::Weights => ("W", "W_i", "Σ W_i", "weights"),
        Component::Gradients => ("G", "G_i", "Σ G_i", "gradients"),
        Component::Optimizer => ("O", "O_i", "Σ O_i", "optimizer states"),
        Component::Activations => ("A", "A_i", "Σ A_i", "activations"),
        Component::Buffers => ("B", "B_i", "Σ B_i", "logits, transients and gathered tensors"),
        Component::Overhead => ("X", "X_i", "Σ X_i", "fragmentation and CUDA overhead"),
    }
}

/// The tree behind the total of pipeline rank `rank`.
pub fn explain(scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
    let mut parts = Component::ALL.map(|component| (component, Vec::new()));
    written(|| {
        let chunks = Chunks::<Written>::of(scenario);
        let lasting = Lasting::of(scenario, &chunks, load);
        inventory(scenario, &chunks, &lasting, load, |(item, stage)| {
            let (component, list) = &mut parts[item.component as usize];
            let name = match stage.filter(|_| load.stages.len() > 1) {
                Some(stage) => t!("{tensor}, stage {stage}", tensor = Message::plain(item.name), stage),
                None => item.name.into(),
            };
            if item.bytes.value().abs() > 0.0 {
                list.push(item.bytes.term(symbols(*component).1, name, Unit::Bytes));
            }
        });
    });
    let components = parts.map(|(component, list)| sum(scenario, component, list));
    let total = components.iter().map(|component| component.value).sum();
    let term = Term::given("T", t!("memory of pipeline rank {rank}", rank), total, Unit::Bytes)
        .by("W + G + O + A + B + X", components.into());
    if scenario.peaks_by_moment() {
        term.note("where gradients are freed after a step, at the fullest of three moments: the loss, a layer's backward pass or the optimizer's step")
    } else {
        term.note("leaves out CUDA graphs, user buffers of overlapped communication and the data loader")
    }
    .note("compared with what the driver shows a process, not with the nominal size")
}

/// A component of `parts`.
fn sum(scenario: &Scenario, component: Component, parts: Vec<Term>) -> Term {
    let (symbol, _, formula, name) = symbols(component);
    let total = parts.iter().map(|part| part.value).sum();
    let term = Term::given(symbol, name, total, Unit::Bytes).by(formula, parts);
    let kernel = loss_kernel(scenario);
    match component {
        Component::Weights | Component::Gradients => term.from(&ZERO, "section 5"),
        Component::Optimizer => {
            term.from(&ZERO, "section 5").note("sharded over d c, experts over their own data-parallel group")
        }
        Component::Activations => term
            .from(&KORTHIKANTI_2022, "section 4, and each tensor's own formula")
            .note("micro-batches in flight are counted in the simulated order"),
        Component::Buffers => term
            .from(kernel.source, kernel.place)
            .note("of the transients only the largest is counted: they do not meet"),
        Component::Overhead => term.from(FRAGMENTATION.source, FRAGMENTATION.place),
    }
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
