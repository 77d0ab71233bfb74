//! Seconds of a stage's kernels by class and pass: the same kernels that [`ComputeTime`](super::ComputeTime) adds up.

use super::compute::Clock;
use super::elementwise::embedding;
use super::kernel_class::KernelClass;
use super::vision::tower_time;
use crate::run::{Module, Recompute, Scenario};
use crate::statics::named;
use serde::Serialize;
use std::collections::BTreeMap;

named! {
    /// The pass that a kernel belongs to.
    #[derive(PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum KernelPass: name {
        Forward = "forward",
        /// Gradients of the inputs.
        BackwardInput = "backward_input",
        /// Gradients of the weights.
        BackwardWeight = "backward_weight",
        /// Forward kernels that the backward pass repeats.
        Recompute = "recompute",
        /// Once a step.
        Step = "step",
    }
}

/// Seconds by class and pass. Products of routed experts are with the other products, and everything that is neither
/// product nor attention of a layer with the elementwise kernels.
pub type KernelTimes = BTreeMap<(KernelClass, KernelPass), f64>;

const PASSES: [KernelPass; 3] = [KernelPass::Forward, KernelPass::BackwardInput, KernelPass::BackwardWeight];

impl Clock {
    /// The kernels of one micro-batch on global stage `stage`; launches that nothing hides are not among them.
    pub fn kernels(&self, scenario: &Scenario, stage: usize) -> KernelTimes {
        let mut times = KernelTimes::new();
        let mut add = |class, pass, seconds: f64| {
            if seconds > 0.0 {
                *times.entry((class, pass)).or_default() += seconds;
            }
        };
        let range = scenario.layers_of(stage);
        let mut forward = [0.0; 3];
        for (part, bf16) in scenario.by_precision(range) {
            for (layer, count) in self.timed(&scenario.model.kinds(part), bf16) {
                for (pass, seconds) in PASSES.into_iter().zip(layer.linear) {
                    add(KernelClass::Products, pass, count * seconds);
                }
                for (class, (first, second)) in
                    [(KernelClass::Attention, layer.core), (KernelClass::Elementwise, layer.elementwise)]
                {
                    add(class, KernelPass::Forward, count * first);
                    add(class, KernelPass::BackwardInput, count * second);
                }
                for (sum, seconds) in forward.iter_mut().zip([layer.linear[0], layer.core.0, layer.elementwise.0]) {
                    *sum += count * seconds;
                }
            }
        }
        for (class, seconds) in repeated(scenario, forward, self.stage(scenario, stage).recompute.0) {
            add(class, KernelPass::Recompute, seconds);
        }
        if stage == 0 {
            let (forward, backward) = embedding(self.rates(), scenario.tokens_per_rank(), scenario.model.hidden as f64);
            add(KernelClass::Embedding, KernelPass::Forward, forward);
            add(KernelClass::Embedding, KernelPass::BackwardInput, backward);
            if let Some(vision) = scenario.model.vision.filter(|vision| !vision.is_apart()) {
                let tower = tower_time(scenario, self.rates(), vision, self.weight());
                for (pass, seconds) in PASSES.into_iter().zip(tower) {
                    add(KernelClass::Products, pass, seconds);
                }
            }
        }
        let modules = scenario.modules_on(stage);
        if modules > 0 {
            for (pass, seconds) in PASSES.into_iter().zip(self.modules(scenario, modules)) {
                add(KernelClass::Products, pass, seconds);
            }
        }
        if stage == scenario.last_stage() {
            let head = self.head(scenario);
            for (pass, seconds) in PASSES.into_iter().zip(head.products) {
                add(KernelClass::Products, pass, head.count * seconds);
            }
            add(KernelClass::Loss, KernelPass::Forward, head.count * head.loss);
            add(KernelClass::Loss, KernelPass::BackwardInput, head.count * head.loss);
        }
        times
    }
}

/// Classes of the `seconds` that recomputation repeats of forward passes whose products, attention and elementwise
/// kernels take `forward`: of some modules by their own class, else in the proportion of the forward pass.
fn repeated(scenario: &Scenario, forward: [f64; 3], seconds: f64) -> [(KernelClass, f64); 3] {
    let [products, attention, others] = forward;
    let own: [f64; 3] = match scenario.run.recomputed() {
        Recompute::Selective => [0.0, 1.0, 0.0],
        Recompute::Modules(modules) if modules.iter().all(|module| *module == Module::CoreAttn) => [0.0, 1.0, 0.0],
        Recompute::Modules(modules) if modules.iter().all(|module| matches!(module, Module::Norm | Module::MoeAct)) => {
            [0.0, 0.0, 1.0]
        }
        Recompute::OpSelective => [products, 0.0, others],
        _ => [products, attention, others],
    };
    let sum = own.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let [products, attention, others] = own.map(|share| seconds * share / sum);
    [(KernelClass::Products, products), (KernelClass::Attention, attention), (KernelClass::Elementwise, others)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    /// Every kernel is in one class and pass: together they are the stage's passes without the host's launches.
    #[test]
    fn classes_add_up_to_the_passes_of_a_stage() {
        for (model, recompute) in [
            ("llama-3.1-8b", Recompute::None),
            ("llama-3.1-8b", Recompute::Full),
            ("deepseek-v3", Recompute::Selective),
            ("mixtral-8x7b", Recompute::Modules(vec![Module::Norm])),
        ] {
            let run = Run { model: Based::preset(model), recompute, ..Run::default() };
            let scenario = Scenario::new(&run).unwrap();
            let clock = Clock::new(&scenario);
            for stage in 0..scenario.stage_layers.len() {
                let whole = clock.stage(&scenario, stage);
                let sum: f64 = clock.kernels(&scenario, stage).values().sum();
                let expected = (whole.total() - whole.host).0;
                assert!((sum / expected - 1.0).abs() < 1e-9, "{model} {stage}: {sum} {expected}");
            }
        }
    }
}
