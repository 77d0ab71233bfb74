//! The best order there is for given durations and memory, as far as a search of limited work finds it.
//!
//! A search over active schedules that ends where a lower bound proves the order optimal; see
//! [`certify`](super::super::certify).

use super::super::certify::certificate::MOST_OPS;
use super::super::certify::leaving::order_with_offload;
use super::super::certify::many::{DIRECT, Folded, folded};
use super::super::certify::modulo::periodic;
use super::super::certify::offload::{OffloadRules, OffloadedStage};
use super::super::certify::problem::Problem;
use super::super::certify::{OrderSearch, StepStages};
use super::super::durations::Durations;
use super::super::order::Order;
use super::super::registry::{HostWays, Spec};
use super::zb_auto::zb_auto;
use crate::issue::Issue;
use crate::t;

/// Micro-batches for each rank that are searched, of many.
const SEARCHED: u64 = 4;
/// States that the search generates at most.
const WORK: u64 = 40_000;

/// Micro-batches for each rank beyond which a repeated period is taken as it is: the fill and the drain are a small
/// part.
const ROUNDS: u64 = 16;

/// States of one pass of the search, from the first op to the last, at most: about a second.
const PASS: u64 = 1_000_000;

/// States of one pass of the search over `problem`: each op laid out is one of those that a rank may run next. Of many
/// micro-batches only as many are searched as fill the ranks twice.
fn pass(problem: &Problem) -> u64 {
    let (ranks, chains) = (problem.ranks as u64, problem.chains.len() as u64);
    let searched = u64::from(problem.microbatches).min(SEARCHED * ranks);
    chains * searched * ranks
}

/// The order with the least makespan that was found.
pub(crate) fn optimal(spec: &Spec, durations: &Durations) -> Result<Order, Issue> {
    let room = match &spec.memory_limits {
        Some(list) if list.len() == spec.pp as usize => list.clone(),
        Some(list) => {
            let message = t!("{list} limits for {pp} ranks", list = list.len(), pp = spec.pp);
            return Err(Issue::error("memory_limit", message));
        }
        None => vec![spec.memory_limit.unwrap_or(spec.pp); spec.pp as usize],
    };
    if room.contains(&0) {
        let message = "a rank must hold at least one micro-batch";
        return Err(Issue::error("memory_limit", message).with_fix("memory_limit", 1));
    }
    if let Some(ways) = &spec.ways {
        return leaving(spec, durations, &room, ways);
    }
    let room_of_all = room.iter().copied().min();
    let stages = StepStages {
        home: (0..spec.pp as usize).collect(),
        microbatches: spec.microbatches,
        forward: durations.forward.clone(),
        backward_input: durations.backward_input.clone(),
        backward_weight: durations.backward_weight.clone(),
        whole: spec.whole_backward,
        lag: durations.p2p,
        room,
        apart: Vec::new(),
    };
    let (problem, _) = stages.problem();
    if pass(&problem) > PASS {
        // One pass alone would be too much: the period that is solved by itself, or the order of a rule.
        return match periodic(&stages) {
            Some(chains) => Ok(spec.order(stages.rows(&chains))),
            None => zb_auto(&Spec { memory_limit: room_of_all, memory_limits: None, ..spec.clone() }, durations),
        };
    }
    let folded = if problem.ops() > DIRECT { folded(&stages, WORK) } else { None };
    let repeats_often = problem.ops() > MOST_OPS || u64::from(spec.microbatches) > ROUNDS * u64::from(spec.pp);
    let repeated = folded.as_ref().map(Folded::chains);
    if let Some(folded) = folded.as_ref().filter(|_| repeats_often) {
        return Ok(spec.order(stages.folded_rows(folded)));
    }
    let mut search = OrderSearch::new(&problem, WORK);
    for chains in periodic(&stages).into_iter().chain(repeated.clone()) {
        search.start_from(chains);
    }
    search.finish();
    match (search.best, folded) {
        (Some((_, chains)), Some(folded)) if repeated.as_ref() == Some(&chains) => {
            Ok(spec.order(stages.folded_rows(&folded)))
        }
        (Some((_, chains)), _) => Ok(spec.order(stages.rows(&chains))),
        (None, _) => Err(Issue::error("schedule", "no order was found")),
    }
}

/// The shortest order that was found in which activations may leave over `ways` where ranks have room for `room` of
/// them.
fn leaving(spec: &Spec, durations: &Durations, room: &[u32], ways: &HostWays) -> Result<Order, Issue> {
    if durations.microbatch_scale.is_some() {
        let message = "orders with offloading are searched for micro-batches of equal length only";
        return Err(Issue::error("offload.order", message));
    }
    let at = |list: &[f64], stage: usize| list.get(stage).copied().unwrap_or(0.0);
    let stage = |(stage, room): (usize, &u32)| {
        let (backward, weight) = (at(&durations.backward_input, stage), at(&durations.backward_weight, stage));
        OffloadedStage {
            forward: at(&durations.forward, stage),
            backward: if spec.whole_backward { backward + weight } else { backward },
            weight: if spec.whole_backward { 0.0 } else { weight },
            out: at(&ways.out, stage),
            back: at(&ways.back, stage),
            room: *room,
        }
    };
    let stages: Vec<OffloadedStage> = room.iter().enumerate().map(stage).collect();
    let rules = OffloadRules {
        microbatches: spec.microbatches,
        lag: durations.p2p,
        is_split: !spec.whole_backward,
        is_shared: ways.is_shared,
    };
    let found = order_with_offload(&stages, rules).ok_or_else(|| {
        let message = t!(
            "{m} micro-batches on {pp} ranks are too many to search an order with offloading",
            m = spec.microbatches,
            pp = spec.pp
        );
        Issue::error("offload.order", message)
    })?;
    let rows = found.rows(stages.len(), rules.is_split);
    Ok(Order { away: Some(Box::new(found.away(stages.len(), rules.is_split))), ..spec.order(rows) })
}

#[cfg(test)]
mod tests {
    use super::super::super::certify::leaving::tests::cases;
    use super::super::super::certify::offload::least_with_offload;
    use super::*;
    use crate::pipeline::certify::Certificate;
    use crate::pipeline::{build, measure, schedule, simulate, time};

    fn built(p: u32, m: u32, limit: u32, durations: &Durations) -> Order {
        let spec = Spec { memory_limit: Some(limit), ..Spec::new(schedule("optimal").unwrap(), p, m) };
        build(&spec, durations).unwrap().order
    }

    #[test]
    fn many_micro_batches_are_written_as_a_period() {
        let durations = Durations::uniform(4, 1.0, 1.1, 0.9).with_p2p(0.05);
        for limit in [2, 4, 7] {
            let order = built(4, 2000, limit, &durations);
            assert!(order.check().is_ok());
            let written: usize = order.ranks.iter().map(|row| row.written().len()).sum();
            assert!(written < 4 * 3 * 200, "{written}");
            let (_, stats) = measure(&order, &durations).unwrap();
            assert!(stats.peak_in_flight.iter().all(|peak| *peak <= limit));
        }
    }

    /// A repeated short order drifts where stages are uneven; the search of all micro-batches proves its own order.
    #[test]
    fn uneven_stages_of_some_thousand_ops_are_ordered_at_their_bound() {
        let mut durations = Durations::uniform(16, 1.0, 1.1, 0.8).with_p2p(0.1);
        for (stage, forward) in durations.forward.iter_mut().enumerate() {
            *forward += 0.04 * ((stage * 7) % 16) as f64;
        }
        let order = built(16, 64, 32, &durations);
        assert!(order.check().is_ok());
        let gap = Certificate::of(&order, &durations).unwrap().gap;
        assert!(gap < 0.01, "{gap}");
    }

    /// Beyond one pass of the search the order is the solved period, or a rule's: legal, and within its memory.
    #[test]
    fn a_pipeline_that_is_too_large_to_search_has_an_order() {
        let ms = [1.0, 1.1, 0.9];
        for (p, m, limit) in [(64, 256, 64), (128, 256, 40), (64, 256, 5)] {
            let durations = Durations::uniform(p, ms[0], ms[1], ms[2]).with_p2p(0.05);
            let order = built(p, m, limit, &durations);
            assert!(order.check().is_ok());
            let (_, stats) = measure(&order, &durations).unwrap();
            assert!(stats.peak_in_flight.iter().all(|peak| *peak <= limit), "{p} {m} {limit}");
            // No order is faster than a rank's work and the way through the others.
            let least = f64::from(m) * 3.0 + f64::from(p - 1) * ms[0];
            assert!(stats.makespan_s >= least, "{p} {m}: {} {least}", stats.makespan_s);
        }
    }

    #[test]
    fn every_rank_has_its_own_limit() {
        let durations = Durations::unit(3);
        let spec = Spec { memory_limits: Some(vec![3, 1, 2]), ..Spec::new(schedule("optimal").unwrap(), 3, 6) };
        let (_, stats) = measure(&build(&spec, &durations).unwrap().order, &durations).unwrap();
        assert!(stats.peak_in_flight.iter().zip([3, 1, 2]).all(|(peak, limit)| *peak <= limit));
        let short = Spec { memory_limits: Some(vec![1, 2]), ..spec.clone() };
        assert_eq!(build(&short, &durations).unwrap_err().field, "memory_limit");
        let none = Spec { memory_limits: Some(vec![0, 1, 2]), ..spec };
        assert_eq!(build(&none, &durations).unwrap_err().field, "memory_limit");
    }

    /// 3,189 small pipelines whose optimum another program found by exhaustive search: the schedule with ways to the
    /// host, simulated, is never below the optimum or the bound, holds no more than there is room for, and nearly
    /// always ends with the optimum.
    #[test]
    fn with_ways_to_the_host_no_order_ends_before_the_optimum() {
        let (mut count, mut exact) = (0, 0);
        for (stages, rules, optimum, _) in cases() {
            let (p, m) = (u32::try_from(stages.len()).unwrap(), rules.microbatches);
            let list = |of: fn(&OffloadedStage) -> f64| stages.iter().map(of).collect::<Vec<f64>>();
            let ways = HostWays { out: list(|one| one.out), back: list(|one| one.back), is_shared: rules.is_shared };
            let spec = Spec {
                memory_limits: Some(stages.iter().map(|one| one.room).collect()),
                whole_backward: !rules.is_split,
                ways: Some(ways),
                ..Spec::new(schedule("optimal").unwrap(), p, m)
            };
            let durations = Durations {
                forward: list(|one| one.forward),
                backward_input: list(|one| one.backward),
                backward_weight: list(|one| one.weight),
                ..Durations::unit(0).with_p2p(rules.lag)
            };
            let order = build(&spec, &durations).unwrap().order;
            let makespan = simulate(&order, &durations).unwrap().makespan();
            assert!(makespan >= optimum - 1e-9, "{makespan} before {optimum}: {stages:?} {rules:?}");
            assert!(makespan >= least_with_offload(&stages, rules) - 1e-9);
            assert!((time(&order, &durations).unwrap().makespan() - makespan).abs() < 1e-9);
            let held = order.away.as_ref().unwrap().held.iter();
            assert!(held.zip(&stages).all(|(held, stage)| *held <= stage.room), "{stages:?} {rules:?}");
            count += 1;
            exact += u32::from(makespan <= optimum + 1e-9);
        }
        println!("{count} pipelines, {exact} at the optimum");
        assert!(count == 3189 && exact >= 3138);
    }
}
