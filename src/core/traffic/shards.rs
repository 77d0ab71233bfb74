//! What ZeRO-2 and 3 send within a micro-batch: weights gathered before each pass, gradients scattered after the backward
//! one, a layer ahead of the compute that hides them.
//!
//! Volumes: `w P (n-1)/n` a gathering (two a micro-batch), `g P (n-1)/n` a scattering, over the shard group of the dense
//! weights and over that of the routed experts. Source: `ZeRO`, section 7.

use super::collective::Fabric;
use super::gradients::Held;
use super::waits::{StageWindows, Wait, visible};
use crate::run::Scenario;
use crate::source::{Cited, FUJII_2024};
use crate::units::{Bytes, Seconds};

/// Share of hidden gradient and `ZeRO` traffic that its compute is slowed by. Fitted with the other constants, mostly by
/// the ZeRO-3 rows of llm-foundry and `InternEvo`; published slow-downs run from 2 % to 50 %.
pub const CONTENTION: Cited<f64> =
    Cited::fitted(0.4, &FUJII_2024, "fitted with the throughput rows");

/// ZeRO-2 and 3 within a micro-batch: weights gathered before each pass, gradients scattered after the backward one, a
/// layer ahead of the compute.
pub(super) fn shards(
    scenario: &Scenario,
    stage: usize,
    windows: &StageWindows,
    fabric: &Fabric,
) -> (Wait, Wait) {
    let (layout, zero) = (&scenario.layout, scenario.zero);
    if zero.stage < 2 {
        return (Wait::default(), Wait::default());
    }
    let held = Held::of(scenario, &[stage]);
    let parts = [
        (held.dense, layout.mesh().shard_group(zero.shard)),
        (held.experts, layout.mesh().expert_group(zero.expert_shard)),
    ];
    let layers = scenario
        .stage_layers
        .get(stage)
        .copied()
        .unwrap_or(0)
        .max(1) as f64;
    let all = |bytes: f64| -> (Bytes, Seconds) {
        parts
            .iter()
            .fold((Bytes::ZERO, Seconds::ZERO), |sum, (elements, group)| {
                let n = group.size as f64;
                let sent = Bytes(bytes * elements * (n - 1.0) / n);
                let time = fabric.gather(*group, Bytes(bytes * elements / layers)) * layers;
                (sum.0 + sent, sum.1 + time)
            })
    };
    let share = scenario.run.overlap.dp;
    let tax = CONTENTION.value;
    let (sent, scatter) = all(scenario.precision.gradients());
    let (fetched, gather) = if zero.stage == 3 {
        all(scenario.precision.weights.min(2.0))
    } else {
        (Bytes::ZERO, Seconds::ZERO)
    };
    // Behind the backward pass the weights go first; gradients have what is left of the window.
    let left = (windows.backward * share - gather).max(Seconds::ZERO);
    let weights = Wait {
        bytes: fetched * 2.0,
        comm: gather * 2.0,
        window: windows.forward + windows.backward,
        forward: visible(gather, windows.forward, share, tax),
        backward: visible(gather, windows.backward, share, tax),
    };
    let gradients = Wait {
        bytes: sent,
        comm: scatter,
        window: windows.backward,
        forward: Seconds::ZERO,
        backward: visible(scatter, left, 1.0, tax),
    };
    (weights, gradients)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;

    fn traffic(zero: u64) -> (Wait, Wait) {
        let run = Run {
            zero,
            tp: 1,
            pp: 1,
            gpus: 8,
            ..Run::default()
        };
        let scenario = Scenario::new(&run).unwrap();
        shards(
            &scenario,
            0,
            &StageWindows::default(),
            &Fabric::of(&scenario),
        )
    }

    /// Playbook: ZeRO-3 moves 3 P, two gatherings and a scattering; fp32 gradients count four bytes.
    #[test]
    fn zero_3_gathers_twice_and_scatters_once() {
        let (weights, gradients) = traffic(3);
        let sent = 8_030_261_248.0 * 7.0 / 8.0;
        assert!((weights.bytes.0 / (2.0 * 2.0 * sent) - 1.0).abs() < 1e-9);
        assert!((gradients.bytes.0 / (4.0 * sent) - 1.0).abs() < 1e-9);
        assert!((weights.exposed().0 / weights.comm.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn lower_stages_send_no_weights_within_a_micro_batch() {
        assert_eq!(traffic(1), (Wait::default(), Wait::default()));
        assert_eq!(traffic(2).0, Wait::default());
        assert!(traffic(2).1.comm.0 > 0.0);
    }
}
