//! Layers with routed experts: their kernels, and the host that paces them.

use crate::explain::symbols::{LAYER_HOST, LAYER_KERNELS};
use crate::explain::{Quantity, Written};
use crate::run::{Constant, GraphPart, Multiplier, Scenario};

/// Seconds of the routed layers of a stage: messages hide behind them, and their host paces them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoutedTime {
    pub layers: f64,
    /// Attention and norms, forward and backward.
    pub attention: [f64; 2],
    /// Gradients of the weights, in the backward pass of attention.
    pub attention_weight: f64,
    /// Router, experts and permutation: forward, gradient of the input, gradient of the weight.
    pub experts: [f64; 3],
    /// Shared experts, forward and backward.
    pub shared: [f64; 2],
    /// Attention and experts again, where they are recomputed.
    pub again: f64,
}

/// Exponent by which the slower of GPU and host sets the pace of a routed layer: they meet at its wait for the token
/// counts.
const PACE: f64 = 6.0;

/// Seconds of work for `gpu` seconds whose host needs `host`.
pub fn paced_by(gpu: f64, host: f64) -> f64 {
    let longer = gpu.max(host);
    if longer <= 0.0 {
        return 0.0;
    }
    longer * pace(gpu / longer, host / longer)
}

/// `(g⁶ + H⁶)^(1/6)`, of times that are not so small or large that their powers lose digits.
fn pace<Q: Quantity>(gpu: Q, host: Q) -> Q {
    let exponent = Q::number(PACE);
    (gpu.power(exponent) + host.power(exponent)).power(Q::number(1.0) / exponent)
}

/// Seconds that the host adds to a routed layer of `gpu` seconds, `paced` together.
pub(crate) fn added_by_host<Q: Quantity>(paced: Q, gpu: Q) -> Q {
    paced - gpu
}

/// The formula of what the host adds to one routed layer and pass.
pub(crate) fn routed_gap_formula() -> Written {
    let (gpu, host) = (LAYER_KERNELS.of_piece(), LAYER_HOST.of_piece());
    added_by_host(pace(gpu, host), gpu)
}

/// Host seconds of a routed layer that a graph launches whole.
const CAPTURED: f64 = 0.2e-3;

/// Host seconds of a routed layer and micro-batch, forward and backward: the device's counts of tokens reach it in
/// every layer, so that its lead never grows beyond one. Graphs of a part of the layer leave what comes after that
/// wait.
pub fn routed_host(scenario: &Scenario, overlapped: bool) -> f64 {
    // Eager programs count their launches (`launches.rs`).
    let Some(moe) = scenario.model.moe.filter(|_| scenario.software.launches.is_none()) else {
        return 0.0;
    };
    // Padded to a capacity, no count of tokens comes back, and the host runs ahead.
    let padded = scenario.run.capacity_factor.or(scenario.run.moe_rank_capacity).is_some();
    if scenario.software.graphs.hold(GraphPart::Moe) || padded {
        return CAPTURED;
    }
    let fitted = |constant| scenario.fitted.of(constant);
    let local = (moe.experts as f64 / scenario.layout.ep as f64).max(1.0);
    let beside = if overlapped { fitted(Constant::HostOverlapped) } else { 1.0 };
    // The operands of each expert are quantised by themselves (Transformer Engine `module/grouped_linear.py`).
    let each = if scenario.precision.is_low() { fitted(Constant::HostExpert) } else { 0.0 };
    let seconds = fitted(Constant::Host) + each * local;
    seconds * beside * scenario.factors.of(Multiplier::Host)
}
