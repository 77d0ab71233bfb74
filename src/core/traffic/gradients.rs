//! Messages of a step for its parameters: gradients behind the last backward pass, updated weights behind the next
//! first forward pass, and what the two ends of a pipeline share.
//!
//! ZeRO-0 all-reduces, ZeRO-1 and 2 reduce-scatter (ZeRO-2 here only once a step) and gather, FSDP under a pipeline
//! does both too, HSDP adds an all-reduce of the shards over its replicas; routed experts do the same over their own,
//! smaller group. Buckets and layers let all but the last piece run beside the pass.

use super::beside::{Beside, CONTENTION, Sent, Wait};
use super::collective::Fabric;
use super::held::HeldParameters;
use super::volume::ring;
use crate::cluster::{ParallelAxis, RankGroup};
use crate::explain::Quantity;
use crate::explain::symbols::{COPIES, EMBEDDINGS, GATHERED, HIDDEN, PADDED, REDUCED, SHARED, SHARING, TENSOR};
use crate::run::{Reduction, Scenario};
use crate::units::{Bytes, Seconds};

/// The messages of an update for the parameters that a GPU has held, each on the wire by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepMessages {
    /// Bytes that a GPU sends.
    pub bytes: Bytes,
    /// Gradients: reduced, scattered, or both.
    pub reduce: Seconds,
    /// Updated weights.
    pub gather: Seconds,
    /// Gradients of embeddings that several ranks of the pipeline hold.
    pub tied: Seconds,
    /// The part that is gradients and weights of routed experts.
    pub experts: Sent,
}

/// Messages of an update for the parameters that a GPU has `held`.
pub fn step_messages(scenario: &Scenario, held: HeldParameters) -> StepMessages {
    let (zero, precision, fabric) = (scenario.zero, scenario.trained_bytes(), Fabric::of(scenario));
    let grads = scenario.reduced_gradient();
    let weights = if zero.stage == 3 { scenario.sent_weight() } else { precision.gathered_weight() };
    let [reductions, gatherings] = at_update(scenario);
    let (mut reduce, mut gather, mut bytes) = (Seconds::ZERO, Seconds::ZERO, 0.0);
    let mut dense = Sent::default();
    for GradientSharing { elements, shard, copies, experts } in sharing(scenario, held) {
        // The experts come last: what was added up before them is the dense part.
        if experts {
            dense = Sent { bytes: Bytes(bytes), comm: reduce + gather };
        }
        let [group, over] = rings(scenario, experts);
        bytes += shared_bytes(elements, shard, [reductions * grads, gatherings * weights]);
        if zero.stage == 0 {
            reduce += fabric.all_reduce(group, Bytes(grads * elements));
        } else if reductions > 0.0 {
            reduce += fabric.gather(group, Bytes(grads * elements));
        }
        if gatherings > 0.0 {
            gather += fabric.gather(group, Bytes(weights * elements));
        }
        if copies > 1 {
            let part = |bytes: f64| Bytes(bytes * elements / shard as f64);
            if zero.outer > 1 {
                reduce += fabric.gather(over, part(grads));
                gather += fabric.gather(over, part(weights));
            } else {
                reduce += fabric.all_reduce(over, part(grads));
            }
            bytes += replica_bytes(between_groups::<f64>(scenario), elements, shard, copies);
        }
    }
    let (ends, tied) = embeddings(scenario, &fabric);
    let (copies, copied) = copied_heads(scenario, &fabric, held);
    StepMessages {
        bytes: Bytes(bytes + ends + copies),
        experts: Sent { bytes: Bytes(bytes - dense.bytes.0), comm: reduce + gather - dense.comm },
        reduce: reduce + copied,
        gather,
        tied,
    }
}

/// Parameters of a GPU and the ranks that have the same.
pub(crate) struct GradientSharing {
    pub elements: f64,
    /// Ranks over which they are cut, or which all add up their gradients.
    pub shard: u64,
    /// Groups that hold the same shards.
    pub copies: u64,
    /// True of routed experts.
    pub experts: bool,
}

/// The groups that gradients and weights of an update go round, of routed experts or of everything else: the ranks
/// that share them, and those that hold the same shards.
pub(super) fn rings(scenario: &Scenario, experts: bool) -> [RankGroup; 2] {
    let (mesh, held) = (scenario.layout.mesh(), HeldParameters::default());
    let GradientSharing { shard, .. } = sharing(scenario, held)[usize::from(experts)];
    if experts {
        [mesh.expert_shard_group(shard), mesh.expert_replica_group(shard)]
    } else {
        [mesh.shard_group(shard), mesh.replica_group(shard)]
    }
}

/// Parameters outside and inside the experts, each with its own ranks.
pub(crate) fn sharing(scenario: &Scenario, held: HeldParameters) -> [GradientSharing; 2] {
    let (layout, zero) = (&scenario.layout, scenario.zero);
    [(held.dense, zero.shard, layout.dp * layout.cp, false), (held.experts, zero.expert_shard, layout.expert_dp, true)]
        .map(|(elements, shard, ranks, experts)| match zero.stage {
            0 => GradientSharing { elements, shard: ranks, copies: 1, experts },
            _ => GradientSharing { elements, shard, copies: ranks / shard.max(1), experts },
        })
}

/// Reductions of gradients, an all-reduce counting two, and gatherings of weights at an update.
pub(crate) fn at_update(scenario: &Scenario) -> [f64; 2] {
    let flag = |set: bool| f64::from(u8::from(set));
    match scenario.zero.stage {
        0 => [2.0, 0.0],
        _ if scenario.shards_once_a_step() => [1.0, 1.0],
        stage => [flag(scenario.reduction() == Reduction::Step), flag(stage <= 2)],
    }
}

/// Bytes of `elements` that `n` ranks share, of which each exchanges the bytes an element in `kinds`, one entry for
/// each kind of message.
pub(crate) fn shared_bytes<Q: Quantity>(elements: f64, n: u64, kinds: [Q; 2]) -> Q {
    let [reduced, gathered] = kinds;
    (reduced + gathered) * SHARED.of::<Q>(elements) * ring(SHARING.of::<Q>(n))
}

/// Bytes of an all-reduce of the gradients of `elements`, cut over `shard` ranks, between `copies` that hold the same.
pub(crate) fn replica_bytes<Q: Quantity>(gradient: Q, elements: f64, shard: u64, copies: u64) -> Q {
    let shares = gradient * SHARED.of::<Q>(elements) / SHARING.of::<Q>(shard);
    shares * ring(COPIES.of::<Q>(copies)) * 2.0
}

/// Bytes of a parameter that groups of shards exchange twice: gradients that they all add up, or, where states are cut
/// over the groups, half of a gradient that is scattered and a weight that is gathered.
pub(crate) fn between_groups<Q: Quantity>(scenario: &Scenario) -> Q {
    let gradient = REDUCED.of::<Q>(scenario.reduced_gradient());
    if scenario.zero.outer <= 1 {
        return gradient;
    }
    let weight =
        if scenario.zero.stage == 3 { scenario.sent_weight() } else { scenario.trained_bytes().gathered_weight() };
    (gradient + GATHERED.of::<Q>(weight)) * 0.5
}

/// Bytes of the gradients of embeddings that are on several ranks of a pipeline, `2 g V h/t (n - 1)/n`.
pub(crate) fn embedding_bytes<Q: Quantity>(scenario: &Scenario, gradient: Q) -> Q {
    let model = &scenario.model;
    if scenario.embedding_copies() <= 1 {
        return Q::number(0.0);
    }
    let elements =
        PADDED.of::<Q>(scenario.padded_vocabulary()) * HIDDEN.of::<Q>(model.hidden) / TENSOR.of(scenario.layout.tp);
    gradient * elements * 2.0 * ring(EMBEDDINGS.of::<Q>(scenario.embedding_copies()))
}

/// Synchronises the parameters that a GPU has `held`, beside its last `backward` and first `forward` pass, at every
/// update.
pub fn step_sync(scenario: &Scenario, held: HeldParameters, forward: Seconds, backward: Seconds) -> Wait {
    let sent = step_messages(scenario, held);
    let beside = |comm, window| Beside::new(comm, window, scenario.software.overlap.dp, CONTENTION.value);
    let once = Wait {
        bytes: sent.bytes,
        forward: beside(sent.gather, forward),
        backward: beside(sent.reduce, backward) + Beside::alone(sent.tied),
        experts: sent.experts,
    };
    once * scenario.updates()
}

/// Embeddings that are on several ranks of a pipeline, tied on both ends and with multi-token prediction: their
/// gradients are added up after the last backward pass, `2 g v h/t (n - 1)/n`. Source: Megatron-LM
/// `language_module.py`.
fn embeddings(scenario: &Scenario, fabric: &Fabric) -> (f64, Seconds) {
    let (model, layout) = (&scenario.model, &scenario.layout);
    let size = scenario.embedding_copies();
    if size <= 1 {
        return (0.0, Seconds::ZERO);
    }
    let bytes = scenario.reduced_gradient() * (model.vocab * model.hidden) as f64 / layout.tp as f64;
    (embedding_bytes(scenario, scenario.reduced_gradient()), fabric.all_reduce(embedding_group(scenario), Bytes(bytes)))
}

/// The ranks of a pipeline that hold embeddings.
pub(super) fn embedding_group(scenario: &Scenario) -> RankGroup {
    let layout = &scenario.layout;
    let size = scenario.embedding_copies().max(1);
    let apart = layout.mesh().span(ParallelAxis::Pp).offset(layout.pp - 1);
    RankGroup { size, in_node: if apart < layout.per_node { size } else { 1 } }
}

/// Tensor-parallel ranks that hold the same key-value head, `t/k` side by side, add up the gradients of its
/// projections: `2 g P (y - 1)/y`, of the shards where gradients are sharded.
fn copied_heads(scenario: &Scenario, fabric: &Fabric, held: HeldParameters) -> (f64, Seconds) {
    let (layout, zero) = (&scenario.layout, scenario.zero);
    let shard = if scenario.shards_gradients() { zero.shard } else { 1 };
    let ranks = scenario.model.key_value_ranks(layout.tp);
    let shapes = ranks.into_iter().zip(held.copied);
    let shapes = shapes.filter(|(_, copied)| *copied > 0.0);
    shapes.fold((0.0, Seconds::ZERO), |sum, (ranks, copied)| {
        let copies = layout.tp / ranks;
        let gradient = scenario.reduced_gradient();
        let time = fabric.all_reduce(layout.mesh().tensor_group(copies), Bytes(gradient * copied / shard as f64));
        (sum.0 + replica_bytes(gradient, copied, shard, copies), sum.1 + time)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    const HELD: HeldParameters = HeldParameters { dense: 1e9, experts: 0.0, copied: [0.0; 2] };

    fn sync(run: &Run, window: f64) -> Wait {
        let scenario = Scenario::new(run).unwrap();
        step_sync(&scenario, HELD, Seconds(window), Seconds(window))
    }

    /// ZeRO (1910.02054), section 7, in bytes: ZeRO-0 sends `2 g P (D-1)/D`, ZeRO-1 `(g + 2) P (D-1)/D`.
    #[test]
    fn each_zero_stage_sends_what_the_paper_counts() {
        let mut run = Run::default();
        let dp = 8.0;
        run.zero = 0;
        assert!((sync(&run, 1.0).bytes.0 - 8e9 * (dp - 1.0) / dp).abs() < 1.0);
        run.zero = 1;
        assert!((sync(&run, 1.0).bytes.0 - 6e9 * (dp - 1.0) / dp).abs() < 1.0);
    }

    /// nanotron reduces its fp32 sums (`gradient_accumulator.py`), DeepSeek-V3 its fp32 gradients (section 3.3.3),
    /// FP8-LM fp8 gradients (section 2.1): ZeRO-0 sends `2 g P (D-1)/D` of one of the two.
    #[test]
    fn an_accumulated_gradient_travels_once() {
        for (precision, g) in [("playbook-20", 4.0), ("deepseek-fp8", 4.0), ("nanotron-fp8", 4.0), ("fp8-lm", 1.0)] {
            let run = Run { zero: 0, precision: Based::preset(precision), ..Run::default() };
            let sent = 2.0 * g * 1e9 * 7.0 / 8.0;
            assert!((sync(&run, 1.0).bytes.0 / sent - 1.0).abs() < 1e-12, "{precision}");
        }
    }

    /// Llama-3.1-70B (h 8192, 8 key-value heads of 128, 80 layers) at tp 16: a rank holds `2 h d` of keys and values a
    /// layer, and adds up their gradients with the rank beside it, an all-reduce of two.
    #[test]
    fn ranks_with_the_same_key_value_head_add_up_its_gradients() {
        let run = |tp| Run {
            model: Based::preset("llama-3.1-70b"),
            gpus: 256,
            gpus_per_node: Some(16),
            tp,
            pp: 1,
            zero: 0,
            global_batch: 256,
            ..Run::default()
        };
        let reduced = |tp| {
            let scenario = Scenario::new(&run(tp)).unwrap();
            let held = HeldParameters::of(&scenario, &[0]);
            (held, step_messages(&scenario, held).bytes.0)
        };
        assert_eq!(reduced(8).0.copied, [0.0; 2]);
        let (held, bytes) = reduced(16);
        let key_value = 80.0 * 2.0 * 8192.0 * 128.0;
        assert_eq!(held.copied, [key_value, 0.0]);
        let dp = 16.0;
        let sent = 2.0 * 4.0 * (held.dense * (dp - 1.0) / dp + key_value / 2.0);
        assert!((bytes / sent - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_long_pass_hides_gradients_but_for_their_contention() {
        let run = Run::default();
        let (open, hidden) = (sync(&run, 0.0), sync(&run, 1e3));
        let (open, hidden) = (open.both(), hidden.both());
        assert_eq!((open.not_hidden, open.slows), (open.comm, Seconds::ZERO));
        assert_eq!(hidden.not_hidden, Seconds::ZERO);
        assert!((hidden.slows.0 / hidden.comm.0 - CONTENTION.value).abs() < 1e-9);
    }

    /// HSDP: `(g + w) P (s-1)/s` within a shard group of s, an all-reduce of `P/s` over the r replicas.
    #[test]
    fn hybrid_shards_add_an_all_reduce_over_their_replicas() {
        let mut run = Run::default();
        (run.tp, run.pp, run.gpus, run.hsdp_shard) = (1, 1, 64, Some(8));
        let (s, r) = (8.0, 8.0);
        let sent = 6e9 * (s - 1.0) / s + 2.0 * 4e9 / s * (r - 1.0) / r;
        assert!((sync(&run, 0.0).bytes.0 / sent - 1.0).abs() < 1e-9);
    }
}
