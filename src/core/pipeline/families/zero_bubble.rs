//! Zero bubble by hand, one chunk a rank: ZB-H1 and ZB-H2. The backward is cut into B and W, and W fills the gaps.

use super::weave::{Strand, WeavePattern, weave};
use crate::issue::Issue;
use crate::pipeline::op::Op;
use crate::pipeline::order::Order;
use crate::pipeline::registry::Spec;
use crate::pipeline::spec::each_rank;
use crate::t;

/// B runs `warm_up(r)` turns behind F, at most m, and W `delay(r)` turns behind B.
fn delayed(spec: &Spec, warm_up: impl Fn(u32) -> u32, delay: impl Fn(u32) -> u32) -> Order {
    let (p, m) = (spec.pp, spec.microbatches);
    let ranks = each_rank(p, |r| {
        let (f, b, w) = (|i| Op::f(r, i), |i| Op::b(r, i), |i| Op::w(r, i));
        let lag = warm_up(r).min(m);
        let strands = [Strand { lag: 0, op: &f }, Strand { lag, op: &b }, Strand { lag: lag + delay(r), op: &w }];
        weave(WeavePattern::plain(m), &strands, false)
    });
    spec.order(ranks)
}

/// ZB-H1: weave(min(p − 1 − r, m)), backward group i = `B_i` and, from i = r on, `W_(i−r)`. 1F1B's memory on rank
/// 0.
///
/// Source: Qi et al. 2023, section 2.1.
pub(crate) fn h1(spec: &Spec) -> Order {
    let p = spec.pp;
    delayed(spec, |r| p - 1 - r, |r| r)
}

/// ZB-H2: weave(2(p − 1 − r)), W delayed by 2r backwards. Without idle time between a rank's first and last op for
/// tF = tB = tW and m ≥ 2p − 1, for 2p − 1 micro-batches held.
///
/// Source: Qi et al. 2023, section 2.2, from its description: no published generator emits exactly this.
pub(crate) fn h2(spec: &Spec) -> Order {
    let p = spec.pp;
    delayed(spec, |r| 2 * (p - 1 - r), |r| 2 * r)
}

/// A warning of ZB-H2 with fewer than the 2p − 1 micro-batches that it is described for.
pub(crate) fn warn_h2(spec: &Spec) -> Vec<Issue> {
    let fills = spec.pp.saturating_mul(2).saturating_sub(1);
    if spec.microbatches >= fills {
        return Vec::new();
    }
    let message = t!(
        "the Zero Bubble paper describes ZB-H2 for m ≥ 2p − 1 = {fills}: {microbatches} micro-batches \
            leave a bubble",
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
        assert!(text.starts_with("0F0,0F1,0F2,0F3,0F4,0B0,0W0,0F5,0B1,0W1,"), "{text}");
        let last = text.lines().last().unwrap();
        assert!(last.starts_with("2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3,2F4,2B4,2W0,"), "{last}");
    }

    #[test]
    fn few_micro_batches_for_h2_are_a_warning() {
        let spec = Spec::new(schedule("zb-h2").unwrap(), 4, 6);
        let built = build(&spec, &Durations::unit(4)).unwrap();
        assert!(built.warnings[0].message.to_string().contains("m ≥ 2p − 1 = 7"));
    }
}
