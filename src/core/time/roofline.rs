//! Bound of each kernel of a layer: the FLOPs that it computes for every byte that it reads or writes, against the roof
//! of the GPU, `min(peak, bandwidth x intensity)`.

use super::attention::{Core, core, ring_ranks};
use super::elementwise::LayerBytes;
use super::gemm::{Output, gemm};
use super::rates::Rates;
use crate::run::Scenario;

/// A kernel of the forward pass of a layer on one rank, for one micro-batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel {
    /// Name of its work.
    pub name: &'static str,
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes of its inputs and outputs, each once.
    pub bytes: f64,
    pub seconds: f64,
}

impl Kernel {
    /// FLOPs a byte.
    pub fn intensity(&self) -> f64 {
        self.flops / self.bytes
    }
    /// FLOP/s that it reaches.
    pub fn rate(&self) -> f64 {
        self.flops / self.seconds
    }
}

/// The FLOP/s that the data sheet of `scenario`'s GPU allows at `intensity` FLOPs a byte, in bf16.
pub fn roof(scenario: &Scenario, intensity: f64) -> f64 {
    scenario.gpu.bf16.0.min(scenario.gpu.hbm.0 * intensity)
}

/// Operations an element that norms and residuals, and the activation function, compute; an exponential counts as one.
const NORM: f64 = 5.0;
const ACTIVATION: f64 = 5.0;

/// The kernels of the forward pass of a dense layer with plain attention in bf16, in their order.
pub fn kernels(scenario: &Scenario) -> [Kernel; 8] {
    let rates = Rates::of(scenario);
    let (model, layout) = (&scenario.model, &scenario.layout);
    let (t, n) = (layout.tp as f64, scenario.tokens_per_rank());
    let cut = if layout.sequence_parallel { t } else { 1.0 };
    let (h, f, d) = (model.hidden as f64, model.ffn as f64 / t, model.head_dim as f64);
    let (a, k) = (model.heads as f64 / t, (model.kv_heads as f64 / t).max(1.0));
    let e = rates.element;
    let matrices = if model.gated_ffn { 2.0 } else { 1.0 };
    let product = |name, inner: f64, outer: f64| Kernel {
        name,
        flops: 2.0 * n * inner * outer,
        bytes: e * (n * inner + inner * outer + n * outer),
        seconds: gemm(&rates, n, outer, inner, Output::Plain),
    };
    let moved = LayerBytes::of(model, cut, f, (a + k) * d, e, rates.fused);
    let elementwise = |name, flops: f64, bytes: f64| Kernel {
        name,
        flops: n * flops,
        bytes: n * bytes,
        seconds: n * bytes / rates.elementwise.0,
    };
    let keys = scenario.attended_tokens() as f64;
    let attention = Core {
        heads: a,
        head_width: d,
        tokens: n,
        keys,
        ring: ring_ranks(scenario),
        causal: true,
        fused: true,
        dropout: false,
    };
    [
        elementwise("norms and residuals", 2.0 * NORM * h / cut, moved.norms.0),
        product("query, key, value", h, (a + 2.0 * k) * d),
        elementwise("rotary embedding", 3.0 * (a + k) * d, moved.rotary.0),
        Kernel {
            name: "attention",
            flops: 2.0 * a * d * n * keys,
            bytes: e * n * 2.0 * (a + k) * d,
            seconds: core::<f64>(&rates, attention).0,
        },
        product("output projection", a * d, h),
        product("up projection", h, matrices * f),
        elementwise("activation function", ACTIVATION * f, moved.activation.0),
        product("down projection", f, h),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::layer::layer_time;
    use super::*;
    use crate::run::Run;

    /// The kernels are those that the layer's forward pass is the sum of.
    #[test]
    fn the_kernels_take_what_the_layer_takes() {
        for tp in [1, 2, 8] {
            let run = Run { tp, ..Run::default() };
            let scenario = Scenario::new(&run).unwrap();
            let layer = layer_time(&scenario, &Rates::of(&scenario), scenario.model.kind(0));
            let kernels: f64 = kernels(&scenario).iter().map(|kernel| kernel.seconds).sum();
            let forward = layer.linear[0] + layer.core.0 + layer.elementwise.0;
            assert!((kernels / forward - 1.0).abs() < 1e-9, "{tp}: {kernels} {forward}");
        }
    }

    /// Williams et al. 2009: nothing is above the roof, and below the ridge the bandwidth bounds.
    #[test]
    fn no_kernel_is_above_the_roof() {
        let scenario = Scenario::new(&Run::default()).unwrap();
        for kernel in kernels(&scenario) {
            assert!(kernel.rate() < roof(&scenario, kernel.intensity()), "{kernel:?}");
        }
        // H100 SXM: 989 TFLOP/s over 3.35 TB/s is 295 FLOPs a byte.
        let ridge = scenario.gpu.bf16.0 / scenario.gpu.hbm.0;
        assert_eq!(format!("{ridge:.0}"), "295");
        assert!(roof(&scenario, ridge / 2.0) < 0.51 * scenario.gpu.bf16.0);
    }
}
