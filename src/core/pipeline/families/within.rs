//! Rules that lay out ops within a memory limit, made no slower by more memory.
//!
//! A heuristic may do worse with room than without. An order of a lower limit is one of the higher limit too, so the
//! fastest of them is taken, as far as a limit of work allows; at equal times the order of the limit itself stays.

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
    use crate::pipeline::{Durations, Spec, build, schedule, stats::peak_in_flight, time};
    use proptest::prelude::*;

    fn spec(id: &str, p: u32, m: u32, limit: Option<u32>) -> Spec {
        Spec { memory_limit: limit, ..Spec::new(schedule(id).unwrap(), p, m) }
    }

    /// Without a limit a rank of a V holds at most 2 p chunks, the memory of 1F1B.
    #[test]
    fn the_memory_limit_holds_on_every_rank() {
        let one = [(4, 8, 1), (4, 8, 3), (8, 20, 5), (5, 3, 9), (1, 4, 2)];
        let one = one.map(|(p, m, limit)| ("zb-auto", 1, (p, m, Some(limit))));
        let two = [(1, 3), (2, 2), (3, 9), (4, 1), (5, 12), (8, 16)].map(|(p, m)| ("zb-v-auto", 2, (p, m, None)));
        for (id, chunks, (p, m, limit)) in one.into_iter().chain(two) {
            let durations = Durations::uniform(chunks * p, 10.0, 12.0, 7.0).with_p2p(1.0);
            let order = build(&spec(id, p, m, limit), &durations).unwrap().order;
            let most = limit.unwrap_or(2 * p);
            assert!(peak_in_flight(&order).iter().all(|held| *held <= most), "{id} p={p} m={m}");
            assert!(time(&order, &durations).is_ok(), "{id} p={p} m={m}");
        }
    }

    #[test]
    fn what_is_laid_out_does_not_grow_with_the_micro_batches() {
        for (id, stages, p, last) in
            [("zb-auto", 4, 4, 1.0), ("zb-auto", 8, 8, 1.7), ("zb-v-auto", 8, 4, 1.0), ("zb-v-auto", 12, 6, 1.4)]
        {
            let mut durations = Durations::uniform(stages, 1.0, 1.1, 0.9).with_p2p(0.01);
            durations.forward[stages as usize - 1] *= last;
            let written = |m| -> usize {
                let order = build(&spec(id, p, m, None), &durations).unwrap().order;
                order.ranks.iter().map(|row| row.written().len()).sum()
            };
            assert_eq!(written(1000), written(5000), "{id} p={p}");
        }
    }

    proptest! {
        #[test]
        fn more_memory_is_no_slower(random in any::<u64>(), p in 1u32..6, m in 1u32..24) {
            for (id, chunks) in [("zb-auto", 1), ("zb-v-auto", 2)] {
                let durations = any_durations(random, chunks * p);
                let mut least = f64::INFINITY;
                for limit in 1..=2 * chunks * p + 1 {
                    let Ok(built) = build(&spec(id, p, m, Some(limit)), &durations) else { continue };
                    let makespan = time(&built.order, &durations).unwrap().makespan();
                    prop_assert!(makespan <= least * (1.0 + 1e-8), "{} {} {} {}", id, limit, makespan, least);
                    least = least.min(makespan);
                }
            }
        }
    }
}
