//! Messages of ZeRO-2 and 3 within a micro-batch: weights gathered before each pass, gradients scattered after the
//! backward one, a layer ahead of the compute that hides them.
//!
//! Volumes: `w P (n-1)/n` a gathering (two a micro-batch, a third before reentrant checkpoints run again), `g P
//! (n-1)/n` a scattering (one a micro-batch; ZeRO-2 may reduce once for several), over the shard group of the dense
//! weights and over that of the routed experts. Source: `ZeRO`, section 7.

use super::beside::{Beside, CONTENTION, Sent, StageWindows, Wait};
use super::calls;
use super::collective::Fabric;
use super::gradients::shared_bytes;
use super::held::HeldParameters;
use crate::cluster::RankGroup;
use crate::run::{Recompute, Reduction, Scenario};
use crate::units::{Bytes, Seconds};

/// Layers of a stage of `layers` whose forward pass, messages included, runs again in the backward pass: a share of
/// them.
pub(super) fn repeated(recompute: &Recompute, layers: f64) -> f64 {
    match recompute {
        Recompute::Full => 1.0,
        Recompute::Layers(n) => (*n as f64).min(layers) / layers.max(1.0),
        _ => 0.0,
    }
}

/// Reductions of gradients and gatherings of weights with a micro-batch, by ZeRO-2 and 3: FSDP under a pipeline keeps
/// what it gathered, and reduces once a step ([`at_update`](super::gradients::at_update)).
pub(crate) fn with_microbatch(scenario: &Scenario) -> [f64; 2] {
    let m = scenario.layout.microbatches as f64;
    if scenario.reduction() == Reduction::Step || scenario.shards_once_a_step() {
        [0.0; 2]
    } else if scenario.waits_for_last_microbatch() {
        [1.0 / m; 2]
    } else {
        // Reentrant checkpoints run the whole unit again, which gathers before it and after it (transformers issue
        // 30404).
        let layers = scenario.model.layers as f64;
        // Weight shards are gathered once more for a module that runs again (Megatron-LM, the chain of recomputation).
        let whole = scenario.software.reentrant || scenario.run.shards_weights();
        let again = if whole { repeated(scenario.run.recomputed(), layers) } else { 0.0 };
        [scenario.reductions() as f64 / m, if scenario.zero.stage == 3 { 2.0 + again } else { 1.0 }]
    }
}

/// ZeRO-2 and 3 within a micro-batch: weights gathered before each pass, gradients scattered after the backward one, a
/// layer ahead of the compute.
pub(crate) fn shards(scenario: &Scenario, stage: usize, windows: &StageWindows) -> (Wait, Wait) {
    let (layout, zero) = (&scenario.layout, scenario.zero);
    if scenario.reduction() == Reduction::Step || scenario.shards_once_a_step() {
        return (Wait::default(), Wait::default());
    }
    let fabric = Fabric::of(scenario);
    let groups = [layout.mesh().shard_group(zero.shard), layout.mesh().expert_shard_group(zero.expert_shard)];
    let grouped = |held: HeldParameters| [(held.dense, groups[0]), (held.experts, groups[1])];
    let owned = grouped(HeldParameters::of(scenario, &[stage]));
    let trained = grouped(HeldParameters::trained(scenario, &[stage]));
    let layers = scenario.stage_layers.get(stage).copied().unwrap_or(0).max(1) as f64;
    // The messages of all parameters, and those of the routed experts.
    let messages = |parts: [(f64, RankGroup); 2], bytes: f64| {
        let [dense, experts] = parts.map(|(elements, group)| Sent {
            bytes: Bytes(shared_bytes(elements, group.size, [bytes, 0.0])),
            comm: fabric.gather(group, Bytes(bytes * elements / layers)) * layers,
        });
        [dense + experts, experts]
    };
    let share = scenario.software.overlap.dp;
    let tax = CONTENTION.value;
    let [reductions, gatherings] = with_microbatch(scenario);
    let sent = messages(trained, scenario.reduced_gradient()).map(|part| part * reductions);
    let fsdp = scenario.software.fsdp;
    let once = if zero.stage == 3 || fsdp { messages(owned, scenario.sent_weight()) } else { Default::default() };
    // The second copy's ranks, where there is one, gather for the backward pass.
    let second = scenario.second_copy().map_or(once, |ranks| {
        let experts = zero.experts_within(ranks);
        let groups = [layout.mesh().shard_group(ranks), layout.mesh().expert_shard_group(experts)];
        let held = HeldParameters::of(scenario, &[stage]);
        messages([(held.dense, groups[0]), (held.experts, groups[1])], scenario.sent_weight())
    });
    let beside = |comm, window, share| Beside::new(comm, window, share, tax);
    // Weights and gradients share a wire: behind the backward pass the weights go first, gradients have what they
    // leave.
    let taken = if share > 0.0 { 1.0 / share } else { 0.0 };
    // Gathered before the forward pass, and again before the backward pass.
    let passes = gatherings.max(1.0);
    let fetched = once.map(|part| part * (gatherings / passes));
    let refetched = second.map(|part| part * (gatherings / passes) * (passes - 1.0));
    let gather = fetched[0].comm;
    let again = refetched[0].comm;
    let left = (windows.backward - again * taken).max(Seconds::ZERO);
    let [sent_weights, sent_gradients] = calls::shards(scenario, stage);
    let weights = Wait {
        bytes: sent_weights.bytes(),
        forward: beside(gather, windows.forward, share),
        backward: beside(again, windows.backward, share),
        experts: fetched[1] + refetched[1],
    };
    let gradients = Wait {
        bytes: sent_gradients.bytes(),
        forward: Beside::default(),
        backward: beside(sent[0].comm, left, share),
        experts: sent[1],
    };
    (weights, gradients)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;

    fn traffic(zero: u64) -> (Wait, Wait) {
        let run = Run { zero, tp: 1, pp: 1, gpus: 8, ..Run::default() };
        let scenario = Scenario::new(&run).unwrap();
        shards(&scenario, 0, &StageWindows::default())
    }

    /// Playbook: ZeRO-3 moves 3 P, two gatherings and a scattering; fp32 gradients count four bytes.
    #[test]
    fn zero_3_gathers_twice_and_scatters_once() {
        let (weights, gradients) = traffic(3);
        let sent = 8_030_261_248.0 * 7.0 / 8.0;
        assert!((weights.bytes.0 / (2.0 * 2.0 * sent) - 1.0).abs() < 1e-9);
        assert!((gradients.bytes.0 / (4.0 * sent) - 1.0).abs() < 1e-9);
        assert!((weights.exposed().0 / weights.both().comm.0 - 1.0).abs() < 1e-9);
    }

    /// m reductions of a stage in a step, one for each group of g micro-batches, or one at its end: the last is
    /// ZeRO-1's.
    #[test]
    fn zero_2_reduces_as_often_as_it_is_told() {
        let sent = |zero2_reduce, group| {
            let run = Run {
                zero: 2,
                zero2_reduce: Some(zero2_reduce),
                schedule: crate::run::Schedule::Interleaved,
                virtual_stages: 2,
                schedule_options: crate::run::ScheduleOptions { group, ..crate::run::ScheduleOptions::default() },
                ..Run::default()
            };
            let scenario = Scenario::new(&run).unwrap();
            let m = scenario.layout.microbatches as f64;
            let (_, gradients) = shards(&scenario, 1, &StageWindows::default());
            (gradients.bytes.0 * m, gradients.both().comm.0 * m)
        };
        // Stages 0 to 7 of four layers; g P (N - 1)/N with N = 8.
        let layer = (218_112_000.0 - 8_192.0) / 2.0 + 8_192.0;
        let once = 4.0 * 4.0 * layer * 7.0 / 8.0;
        for (reduction, group, times) in [
            (Reduction::MicroBatch, None, 32.0),
            (Reduction::Group, None, 8.0),
            (Reduction::Group, Some(12), 3.0),
            (Reduction::Group, Some(32), 1.0),
        ] {
            let (bytes, comm) = sent(reduction, group);
            assert!((bytes / (times * once) - 1.0).abs() < 1e-12);
            assert!((comm / (times * sent(Reduction::Group, Some(32)).1) - 1.0).abs() < 1e-12);
        }
        assert_eq!(sent(Reduction::Step, None), (0.0, 0.0));
    }

    /// ZeRO++ (Wang et al. 2023), table 1: of the 3 M that ZeRO-3 sends between nodes with bf16 gradients, qwZ takes
    /// half of both gatherings, hpZ the second of them, qgZ three quarters of the scattering: 0.75 M with all three.
    /// Inside nodes it costs time that a slow enough network leaves out.
    #[test]
    fn zero_plus_plus_sends_a_quarter_between_nodes() {
        let seconds = |hpz, qwz, qgz| {
            let mut run =
                Run { zero: 3, tp: 1, pp: 1, gpus: 64, zero_hpz: hpz, zero_qwz: qwz, zero_qgz: qgz, ..Run::default() };
            run.precision = crate::run::Based::preset("bf16");
            (run.gpu.parts.inter, run.overlap.dp) = (Some(0.01), Some(0.0));
            let (weights, gradients) = shards(&Scenario::new(&run).unwrap(), 0, &StageWindows::default());
            weights.both().comm.0 + gradients.both().comm.0
        };
        let plain = seconds(None, false, false);
        for (hpz, qwz, qgz, share) in [
            (None, true, false, 2.0),
            (Some(8), false, false, 2.0),
            (None, false, true, 2.25),
            (Some(8), true, true, 0.75),
        ] {
            let ours = seconds(hpz, qwz, qgz) / plain;
            assert!((ours / (share / 3.0) - 1.0).abs() < 0.01, "{hpz:?} {qwz} {qgz}: {ours}");
        }
    }

    /// Megatron-LM d98e8a6, docs/api-guide/core/generalized_tensor_parallel.md, section 1.3: of a weight's element two
    /// gatherings and a scattering send 6 bytes in bf16, 4.0626 with MXFP8 weights, 3.125 with NVFP4 ones, times
    /// (g - 1)/g; every micro-batch, in a pipeline too.
    #[test]
    fn weight_shards_send_what_their_table_says() {
        let sent = |precision: &'static str, pp| {
            let mut run = Run {
                weight_shards: 4,
                tp: 1,
                pp,
                gpus: 16,
                zero: 1,
                global_batch: 64,
                gpu: crate::run::Based::preset("b200-sxm"),
                precision: crate::run::Based::preset(precision),
                stack: crate::run::Based::preset("megatron-2026"),
                ..Run::default()
            };
            run.precision.parts.grads = Some(2.0);
            if precision != "bf16" {
                run.precision.parts.param_gather = Some(true);
            }
            let scenario = Scenario::new(&run).unwrap();
            let (weights, gradients) = shards(&scenario, 0, &StageWindows::default());
            let elements = HeldParameters::of(&scenario, &[0]).total();
            (weights.bytes.0 + gradients.bytes.0) / elements / (3.0 / 4.0)
        };
        for (precision, pp, bytes) in [("bf16", 1, 6.0), ("bf16", 2, 6.0), ("mxfp8", 1, 4.0626), ("nvfp4", 1, 3.125)] {
            let ours = sent(precision, pp);
            assert!((ours / bytes - 1.0).abs() < 1e-3, "{precision}: {ours} of {bytes}");
        }
    }

    #[test]
    fn lower_stages_send_no_weights_within_a_micro_batch() {
        assert_eq!(traffic(1), (Wait::default(), Wait::default()));
        assert_eq!(traffic(2).0, Wait::default());
        assert!(traffic(2).1.both().comm.0 > 0.0);
    }
}
