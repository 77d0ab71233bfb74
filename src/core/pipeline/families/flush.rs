//! One chunk a rank and whole backwards: naive, GPipe, 1F1B and the schedules that share its order.
//!
//! The i-th unit of a stage is a micro-batch; rank r runs stage r.

use super::weave::{Strand, WeavePattern, weave};
use crate::issue::Issue;
use crate::pipeline::op::Op;
use crate::pipeline::order::Order;
use crate::pipeline::registry::Spec;
use crate::pipeline::spec::each_rank;
use crate::t;

/// Each rank's backwards run `lag(r)` turns behind its forwards, at most m.
fn order(spec: &Spec, lag: impl Fn(u32) -> u32, pairs: bool) -> Order {
    let m = spec.microbatches;
    let row = |r| {
        let (forward, backward) = (|i| Op::f(r, i), |i| Op::bw(r, i));
        let strands = [Strand { lag: 0, op: &forward }, Strand { lag: lag(r).min(m), op: &backward }];
        weave(WeavePattern::plain(m), &strands, pairs)
    };
    spec.order(each_rank(spec.pp, row))
}

/// Rank r: F0 BW0 F1 BW1 ...: one micro-batch in the pipeline at a time.
///
/// Source: Ultra-Scale Playbook, pipeline parallelism.
pub(crate) fn naive(spec: &Spec) -> Order {
    order(spec, |_| 0, false)
}

/// Rank r: F0 .. F(m−1), then BW0 .. BW(m−1).
///
/// Source: Huang et al. 2019, in PyTorch's backward order (`ScheduleGPipe`, first in first out).
pub(crate) fn gpipe(spec: &Spec) -> Order {
    order(spec, |_| u32::MAX, false)
}

/// weave(min(p − 1 − r, m), F, BW).
///
/// Source: PipeDream-flush, Narayanan et al. 2021, section 2.2.
pub(crate) fn one_f_one_b(spec: &Spec) -> Order {
    let p = spec.pp;
    order(spec, |r| p - 1 - r, false)
}

/// weave(min(2(p − 1 − r), m), F, BW): twice the warm-up, so that latency between ranks hides.
pub(crate) fn eager(spec: &Spec) -> Order {
    let p = spec.pp;
    order(spec, |r| (p - 1 - r).saturating_mul(2), false)
}

/// Stashed versions of the weights on rank r of `PipeDream`, whose step is one of the endless 1F1B, filled and drained.
/// `PipeDream`-2BW stashes two: gradients of m ≥ p micro-batches are accumulated.
///
/// Source: Narayanan et al. 2019, weight stashing.
pub(crate) fn stashed(p: u32, r: u32) -> u32 {
    p - r
}

/// Warm-up 2(p − 1 − r) + 1, then pairs (F; BW), then BW.
///
/// Source: the overlapped 1F1B of Victarry's PP-Schedule-Visualization.
pub(crate) fn overlap(spec: &Spec) -> Order {
    let p = spec.pp;
    let warm_up = |r: u32| (p - 1 - r).saturating_mul(2).saturating_add(1);
    order(spec, warm_up, true)
}

/// Warning that programs refuse few micro-batches for 1F1B.
pub(crate) fn warn_few_microbatches(spec: &Spec) -> Vec<Issue> {
    let (p, m) = (spec.pp, spec.microbatches);
    if m >= p {
        return Vec::new();
    }
    let nanotron = if m + 1 < p { ", nanotron asserts m ≥ p − 1" } else { "" };
    let message = t!(
        "fewer micro-batches than ranks, {m} < {p}: PyTorch's Schedule1F1B raises{nanotron}; Megatron-LM runs it",
        m,
        p,
        nanotron
    );
    vec![Issue::warning("microbatches", message).with_fix("microbatches", p)]
}

/// 2BW accumulates over at least p micro-batches.
pub(crate) fn warn_2bw(spec: &Spec) -> Vec<Issue> {
    if spec.microbatches >= spec.pp {
        return Vec::new();
    }
    let message = t!(
        "PipeDream-2BW accumulates over m ≥ p micro-batches: with {microbatches} on {pp} ranks two versions of the \
            weights do not suffice",
        microbatches = spec.microbatches,
        pp = spec.pp
    );
    vec![Issue::warning("microbatches", message).with_fix("microbatches", spec.pp)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Durations, build, schedule, stats::peak_in_flight};

    fn built(id: &str, p: u32, m: u32) -> Order {
        let spec = Spec::new(schedule(id).unwrap(), p, m);
        build(&spec, &Durations::unit(p)).unwrap().order
    }

    #[test]
    fn one_f_one_b_holds_at_most_p_minus_r() {
        assert_eq!(peak_in_flight(&built("1f1b", 4, 8)), [4, 3, 2, 1]);
        assert_eq!(peak_in_flight(&built("1f1b", 4, 2)), [2, 2, 2, 1]);
    }

    #[test]
    fn gpipe_holds_every_micro_batch_and_naive_one() {
        assert_eq!(peak_in_flight(&built("gpipe", 3, 7)), [7, 7, 7]);
        assert_eq!(peak_in_flight(&built("naive", 3, 7)), [1, 1, 1]);
    }

    #[test]
    fn pipedream_stashes_a_version_for_each_micro_batch_in_flight() {
        let order = built("pipedream", 4, 16);
        assert_eq!(order.weight_copies, peak_in_flight(&order));
        assert_eq!(built("pipedream-2bw", 4, 16).weight_copies, [2; 4]);
    }

    #[test]
    fn few_micro_batches_are_a_warning_that_names_who_refuses_them() {
        let spec = Spec::new(schedule("1f1b").unwrap(), 4, 2);
        let built = build(&spec, &Durations::unit(4)).unwrap();
        assert!(built.warnings[0].message.to_string().contains("PyTorch"));
    }
}
