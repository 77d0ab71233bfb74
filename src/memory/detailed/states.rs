//! Weights, gradients and optimizer states, sharded as ZeRO says.

use super::holding::{Holding, Kind};
use crate::run::Scenario;

/// Bytes of one holding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct States {
    /// Weights that compute.
    pub weights: f64,
    /// Gradients and their accumulation.
    pub gradients: f64,
    /// Master weights and moments.
    pub optimizer: f64,
}

/// Ranks that share one set of the states of `kind`: d c (or the HSDP group) for dense parameters, the experts' own
/// group world / (p x te) for theirs.
#[must_use]
pub fn shards(scenario: &Scenario, kind: Kind) -> f64 {
    match kind {
        Kind::Dense => scenario.zero.shard as f64,
        Kind::Expert => scenario.zero.expert_shard as f64,
        Kind::Frozen => 1.0,
    }
}

/// `P (w/n3 + g/n2 + o/n1)` where n1, n2, n3 is N from ZeRO-1, 2, 3 on and 1 below; stashed weights count again.
///
/// Source: Rajbhandari 2020 section 5; Megatron-LM `docs/dist_optimizer.md` (6 + 12/N for bf16 with fp32 gradients).
#[must_use]
pub fn states(scenario: &Scenario, holding: &Holding, versions: u64) -> States {
    let bytes = scenario.precision;
    let n = shards(scenario, holding.kind);
    let over = |stage: u64| {
        if scenario.zero.stage >= stage { n } else { 1.0 }
    };
    let p = holding.elements;
    let weights = p * bytes.weights * versions.max(1) as f64 / over(3);
    if holding.kind == Kind::Frozen {
        return States {
            weights,
            ..States::default()
        };
    }
    States {
        weights,
        gradients: p * bytes.gradients() / over(2),
        optimizer: p * bytes.optimizer(scenario.run.optimizer) / over(1),
    }
}
