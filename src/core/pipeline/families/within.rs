//! Rules that lay out ops within a memory limit, made no slower by more memory.
//!
//! A heuristic may do worse with room than without. An order of a lower limit is one of the higher limit too, so the fastest of
//! them is taken, as far as a limit of work allows; at equal times the order of the limit itself stays.

use super::super::durations::Durations;
use super::super::order::Order;
use super::super::simulate::time;

/// Ops of the orders of lower limits that are laid out at most.
const WORK: u64 = 60_000;

/// A makespan must be shorter by this share to count.
const SHORTER: f64 = 1e-9;

/// The fastest order of `make` at `limit` and below; none where `limit` itself has none. `ops`: of one order.
pub(super) fn fastest(
    limit: u32,
    ops: u64,
    durations: &Durations,
    make: impl Fn(u32) -> Option<Order>,
) -> Option<Order> {
    let mut best = make(limit)?;
    let Ok(spans) = time(&best, durations) else { return Some(best) };
    // A rank that starts as early as it can and never waits: no order is faster.
    let busy = spans.starts.iter().zip(&spans.busy).map(|(start, busy)| start + busy);
    let floor = busy.fold(0.0, f64::max);
    let mut least = spans.makespan();
    let tries = u32::try_from(WORK / ops.max(1)).unwrap_or(u32::MAX).min(limit.saturating_sub(1));
    for lower in (limit - tries..limit).rev() {
        if least <= floor * (1.0 + SHORTER) {
            break;
        }
        let Some(order) = make(lower) else { continue };
        if let Ok(spans) = time(&order, durations)
            && spans.makespan() < least * (1.0 - SHORTER)
        {
            (least, best) = (spans.makespan(), order);
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::super::rounds::tests::any_durations;
    use crate::pipeline::{Spec, build, schedule, time};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn more_memory_is_no_slower(random in any::<u64>(), p in 1u32..6, m in 1u32..24) {
            for (id, chunks) in [("zb-auto", 1), ("zb-v-auto", 2)] {
                let durations = any_durations(random, chunks * p);
                let mut least = f64::INFINITY;
                for limit in 1..=2 * chunks * p + 1 {
                    let spec = Spec { memory_limit: Some(limit), ..Spec::new(schedule(id).unwrap(), p, m) };
                    let Ok(built) = build(&spec, &durations) else { continue };
                    let makespan = time(&built.order, &durations).unwrap().makespan();
                    prop_assert!(makespan <= least * (1.0 + 1e-8), "{} {} {} {}", id, limit, makespan, least);
                    least = least.min(makespan);
                }
            }
        }
    }
}
