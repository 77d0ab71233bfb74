//! The formulas behind a rank's total: its inventory, written instead of computed.

use super::activations::{Chunks, tokens};
use super::logits::loss_kernel;
use super::rank::{Lasting, inventory};
use crate::explain::{Term, Unit, Written};
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
    let components = components.map(|(component, sum)| sourced(scenario, load, component, sum));
    let term = total(t!("memory of pipeline rank {rank}", rank), components.into());
    if scenario.peaks_by_moment() {
        term.note(
            "where gradients are freed after a step, at the fullest of three moments: the loss, a layer's \
            backward pass or the optimizer's step",
        )
    } else {
        term.note("leaves out CUDA graphs, user buffers of overlapped communication and the data loader")
    }
    .note("compared with what the driver shows a process, not with the nominal size")
}

/// The sum of a component with its source.
fn sourced(scenario: &Scenario, load: &RankLoad, component: Component, sum: Term) -> Term {
    let kernel = loss_kernel(scenario);
    match component {
        Component::Weights | Component::Gradients => sum.from(&ZERO, "section 5"),
        Component::Optimizer => {
            sum.from(&ZERO, "section 5").note("sharded over d c, experts over their own data-parallel group")
        }
        Component::Activations => sum
            .from(&KORTHIKANTI_2022, "section 4, and each tensor's own formula")
            .note("micro-batches in flight are counted in the simulated order")
            .closing(closed_form(scenario, load)),
        Component::Buffers => sum
            .from(kernel.source, kernel.place)
            .note("only the largest of the transients is counted: they are never there at the same time"),
        Component::Overhead => sum.from(FRAGMENTATION.source, FRAGMENTATION.place),
    }
}

/// Activations of a rank's layers as Korthikanti 2022 writes them, `34 s b h / t` a layer and micro-batch for GPT, with
/// this model's own factor; none where stages or micro-batches of a rank differ.
fn closed_form(scenario: &Scenario, load: &RankLoad) -> Option<Term> {
    let (run, layout) = (&scenario.run, &scenario.layout);
    let layers = *scenario.stage_layers.get(*load.stages.first()?)?;
    let alike = load.stages.iter().all(|stage| scenario.stage_layers.get(*stage) == Some(&layers));
    if !alike || layers == 0 || run.microbatch_lengths.is_some() || scenario.samples.is_some() {
        return None;
    }
    let chunks = Chunks::<f64>::of(scenario);
    let stages = load.stages.iter().zip(&load.in_flight);
    let value: f64 = stages.map(|(stage, alive)| alive * chunks.kept(*stage).bytes()).sum();
    let in_flight: f64 = load.in_flight.iter().sum();
    let (hidden, tp) = (scenario.model.hidden, layout.tp);
    let one = tokens(scenario) * hidden as f64 / tp as f64;
    let factor = value / (in_flight * layers as f64 * one);
    let parts = [
        Term::given("i", "micro-batches in flight, added over the stages of the rank", in_flight, Unit::Ratio),
        Term::count("L", "layers of a stage", layers),
        Term::given("κ", "bytes of a layer over s b h/(c t)", factor, Unit::Ratio),
        Term::count("s", "sequence length", run.seq_len),
        Term::count("b", "sequences of a micro-batch", scenario.sequences()),
        Term::count("h", "hidden size", hidden),
        Term::count("c", "context-parallel size", layout.cp),
        Term::count("t", "tensor-parallel size", tp),
    ];
    let name = "activations of the layers";
    let term = Term::made("A_L", name, Unit::Bytes, parts, |[in_flight, layers, factor, s, b, h, c, t]| {
        in_flight * layers * factor * (s * b * h / (c * t))
    });
    let term = term.from(&KORTHIKANTI_2022, "section 4, equation 2");
    factor.is_finite().then(|| term.note("κ is 34 for GPT with dropout and an MLP of 4 h, the scores aside"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryMethod;
    use crate::memory::detailed::Detailed;
    use crate::run::{Based, Run};

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

    /// Korthikanti 2022, equation 2 without the scores: a layer of GPT keeps 34 s b h/t bytes under sequence
    /// parallelism.
    #[test]
    fn gpt_keeps_34_s_b_h_a_layer() {
        let run = Run { model: Based::preset("gpt-3-175b"), gpus: 64, tp: 8, pp: 8, seq_len: 2048, ..Run::default() };
        let scenario = Scenario::new(&run).unwrap();
        let load = RankLoad { stages: vec![1], in_flight: vec![7.0], weight_versions: 1 };
        let closed = closed_form(&scenario, &load).unwrap();
        let factor = closed.parts.iter().find(|part| part.symbol == "κ").unwrap().value;
        assert!((closed.computed().unwrap() / closed.value - 1.0).abs() < 1e-12);
        assert!((factor / 34.0 - 1.0).abs() < 0.06, "{factor}");
    }
}
