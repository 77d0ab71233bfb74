//! The best order there is for given durations and memory, as far as a search of limited work finds it.
//!
//! A search over active schedules that ends where a lower bound proves the order optimal; see
//! [`certify`](super::super::certify).

use super::super::certify::certificate::MOST_OPS;
use super::super::certify::many::{DIRECT, Folded, folded};
use super::super::certify::modulo::periodic;
use super::super::certify::problem::Problem;
use super::super::certify::{OrderSearch, StepStages};
use super::super::durations::Durations;
use super::super::order::Order;
use super::super::registry::Spec;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::certify::Certificate;
    use crate::pipeline::{build, measure, schedule};

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
}
