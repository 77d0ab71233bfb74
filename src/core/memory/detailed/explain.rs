//! The formulas behind a rank's total: its inventory, written instead of computed.

use super::activations::Chunks;
use super::logits::loss_kernel;
use super::rank::{Lasting, inventory};
use crate::explain::{Term, Written};
use crate::memory::estimate::{Component, RankLoad};
use crate::memory::explain::{components, total};
use crate::memory::verdict::FRAGMENTATION;
use crate::message::Message;
use crate::run::Scenario;
use crate::source::{KORTHIKANTI_2022, ZERO};
use crate::t;

/// The tree behind the total of pipeline rank `rank`.
pub fn explain(scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
    let components = components(|add| {
        let chunks = Chunks::<Written>::of(scenario);
        let lasting = Lasting::of(scenario, &chunks, load);
        inventory(scenario, &chunks, &lasting, load, |(item, stage)| {
            let name = match stage.filter(|_| load.stages.len() > 1) {
                Some(stage) => t!("{tensor}, stage {stage}", tensor = Message::plain(item.name), stage),
                None => item.name.into(),
            };
            add(item, name);
        });
    });
    let components = components.map(|(component, sum)| sourced(scenario, component, sum));
    let term = total(t!("memory of pipeline rank {rank}", rank), components.into());
    if scenario.peaks_by_moment() {
        term.note("where gradients are freed after a step, at the fullest of three moments: the loss, a layer's backward pass or the optimizer's step")
    } else {
        term.note("leaves out CUDA graphs, user buffers of overlapped communication and the data loader")
    }
    .note("compared with what the driver shows a process, not with the nominal size")
}

/// The sum of a component with its source.
fn sourced(scenario: &Scenario, component: Component, sum: Term) -> Term {
    let kernel = loss_kernel(scenario);
    match component {
        Component::Weights | Component::Gradients => sum.from(&ZERO, "section 5"),
        Component::Optimizer => {
            sum.from(&ZERO, "section 5").note("sharded over d c, experts over their own data-parallel group")
        }
        Component::Activations => sum
            .from(&KORTHIKANTI_2022, "section 4, and each tensor's own formula")
            .note("micro-batches in flight are counted in the simulated order"),
        Component::Buffers => sum
            .from(kernel.source, kernel.place)
            .note("of the transients only the largest is counted: they do not meet"),
        Component::Overhead => sum.from(FRAGMENTATION.source, FRAGMENTATION.place),
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
