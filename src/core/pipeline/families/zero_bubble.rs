//! Zero bubble by hand, one chunk a rank: ZB-H1 and ZB-H2. The backward is cut into B and W, and W fills the gaps.

use super::weave::{delayed_weights, weave};
use crate::issue::Issue;
use crate::pipeline::op::Op;
use crate::pipeline::order::{Order, Placement};
use crate::pipeline::spec::{Spec, each_rank};
use crate::t;

/// weave(warm-up(r)) with W delayed by delay(r) backwards.
fn delayed(spec: &Spec, warm_up: impl Fn(u64) -> u64, delay: impl Fn(u64) -> u64) -> Order {
    let (p, m) = (spec.pp, spec.microbatches);
    let size = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let units = m as usize;
    let ranks = each_rank(p, |r| {
        let index = |i: usize| u32::try_from(i).unwrap_or(u32::MAX);
        let b = |i| Op::b(r, index(i));
        let w = |i| Op::w(r, index(i));
        let rank = u64::from(r);
        let group = delayed_weights(units, size(delay(rank)), b, w);
        let forwards = (0..units).map(|i| Op::f(r, index(i)));
        weave(size(warm_up(rank)), forwards, units, group)
    });
    Order::new(ranks, p, Placement::Loop, m)
}

/// ZB-H1: weave(min(p − 1 − r, m)), backward group i = `B_i` and, from i = r on, `W_(i−r)`. 1F1B's memory on rank 0.
///
/// Source: Qi et al. 2023, section 2.1.
pub(crate) fn h1(spec: &Spec) -> Order {
    let p = u64::from(spec.pp);
    delayed(spec, |r| p - 1 - r, |r| r)
}

/// ZB-H2: weave(2(p − 1 − r)), W delayed by 2r backwards. Without idle time between a rank's first and last op for
/// tF = tB = tW and m ≥ 2p − 1, for 2p − 1 micro-batches held.
///
/// Source: Qi et al. 2023, section 2.2, from its description: no published generator emits exactly this.
pub(crate) fn h2(spec: &Spec) -> Order {
    let p = u64::from(spec.pp);
    delayed(spec, |r| 2 * (p - 1 - r), |r| 2 * r)
}

/// ZB-H2 is described for m ≥ 2p − 1.
pub(crate) fn warn_h2(spec: &Spec) -> Vec<Issue> {
    let fills = spec.pp.saturating_mul(2).saturating_sub(1);
    if spec.microbatches >= fills {
        return Vec::new();
    }
    let message = t!(
        "the Zero Bubble paper describes ZB-H2 for m ≥ 2p − 1 = {fills}: {microbatches} micro-batches leave a bubble",
        fills,
        microbatches = spec.microbatches
    );
    vec![Issue::warning("microbatches", message).with_fix("microbatches", fills)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Durations, build, schedule};

    #[test]
    fn h2_runs_2p_minus_1_forwards_on_rank_0_then_b_w_f() {
        // As the paper describes rank 0; the last rank keeps its weight gradients back.
        let spec = Spec::new(schedule("zb-h2").unwrap(), 3, 8);
        let order = build(&spec, &Durations::unit(3)).unwrap().order;
        let text = order.print();
        assert!(
            text.starts_with("0F0,0F1,0F2,0F3,0F4,0B0,0W0,0F5,0B1,0W1,"),
            "{text}"
        );
        let last = text.lines().last().unwrap();
        assert!(
            last.starts_with("2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3,2F4,2B4,2W0,"),
            "{last}"
        );
    }

    #[test]
    fn few_micro_batches_for_h2_are_a_warning() {
        let spec = Spec::new(schedule("zb-h2").unwrap(), 4, 6);
        let built = build(&spec, &Durations::unit(4)).unwrap();
        assert!(
            built.warnings[0]
                .message
                .to_string()
                .contains("m ≥ 2p − 1 = 7")
        );
    }
}
