//! A first time model: a constant share of the data-sheet peak for everything, backward twice the forward.
//!
//! Deliberately simple and labelled so on the page; it ranks layouts by what they compute, not by how well kernels run.

use crate::model::stage_flops;
use crate::run::{Recompute, Scenario};
use crate::source::{Cited, PLAYBOOK};
use crate::units::{Bytes, Flops, Seconds};

/// The share of the bf16 peak that training reaches. Well-tuned runs report an MFU of 40 to 50 %.
pub const SHARE_OF_PEAK: Cited<f64> =
    Cited::new(0.45, &PLAYBOOK, "MFU of the benchmark runs, 40 to 50 %");

/// Adam in mixed precision reads gradient, moments and master weight and writes all but the gradient, and the weight:
/// about 30 bytes a parameter at 80 % of the memory bandwidth.
const ADAM_BYTES: f64 = 30.0;
const OPTIMIZER_BANDWIDTH: f64 = 0.8;

/// Seconds of one micro-batch on one GPU of a global stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ComputeTime {
    /// Forward pass.
    pub forward: Seconds,
    /// Backward pass for the inputs; what is recomputed runs here.
    pub backward_input: Seconds,
    /// Backward pass for the weights.
    pub backward_weight: Seconds,
    /// The linears' part of forward and backward, behind which tensor-parallel traffic may hide.
    pub linear: Seconds,
    /// The attention core's part, behind which context-parallel traffic may hide.
    pub attention: Seconds,
    /// Recomputation's part.
    pub recompute: Seconds,
}

impl ComputeTime {
    /// Forward and backward together.
    #[must_use]
    pub fn total(self) -> Seconds {
        self.forward + self.backward_input + self.backward_weight
    }
}

/// FLOPs of the stage over t c GPUs at [`SHARE_OF_PEAK`]; backward twice the forward, half of it for the weights;
/// full recomputation adds the layers' forward.
#[must_use]
pub fn stage_compute(scenario: &Scenario, stage: usize) -> ComputeTime {
    let (run, layout) = (&scenario.run, &scenario.layout);
    let flops = stage_flops(&scenario.model, &scenario.stage_layers, stage, run.seq_len);
    let tokens = run.micro_batch as f64 * run.seq_len as f64;
    let rate = scenario.gpu.bf16 * SHARE_OF_PEAK.value;
    let seconds =
        |per_token: f64| Flops(per_token * tokens / (layout.tp * layout.cp) as f64) / rate;
    let forward = seconds(flops.total());
    let layers = scenario.stage_layers.get(stage).copied().unwrap_or(0);
    let repeated = match &run.recompute {
        Recompute::None => 0.0,
        Recompute::Full => 1.0,
        Recompute::Layers(n) => (*n).min(layers) as f64 / layers.max(1) as f64,
        Recompute::Selective | Recompute::Modules(_) if run.flash_attention => 0.0,
        Recompute::Selective | Recompute::Modules(_) => {
            flops.attention / (flops.attention + flops.linear)
        }
    };
    let recompute = seconds(flops.linear + flops.attention) * repeated;
    ComputeTime {
        forward,
        backward_input: forward + recompute,
        backward_weight: forward,
        linear: seconds(flops.linear + flops.head) * 3.0,
        attention: seconds(flops.attention) * 3.0,
        recompute,
    }
}

/// The optimizer's step over `elements` parameters of one GPU: bound by memory.
#[must_use]
pub fn optimizer_time(scenario: &Scenario, elements: f64) -> Seconds {
    Bytes(ADAM_BYTES * elements) / (scenario.gpu.hbm * OPTIMIZER_BANDWIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;

    /// Summed over the stages, the passes take model FLOPs / (0.45 peak) by construction of the model.
    #[test]
    fn all_stages_together_take_the_models_flops_at_the_share_of_peak() {
        let scenario = Scenario::new(&Run::default()).unwrap();
        let sum: f64 = (0..4)
            .map(|stage| stage_compute(&scenario, stage).total().0)
            .sum();
        let whole =
            scenario.model_flops() / (64.0 * 0.45 * 989e12) / scenario.layout.microbatches as f64
                * 4.0;
        assert!((sum / whole - 1.0).abs() < 1e-12, "{sum} {whole}");
    }
}
