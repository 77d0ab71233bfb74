//! Bounds and orders of the certificates against an exhaustive search over all orders of small random pipelines. A
//! bound that is too high is the one unforgivable fault. A hundredth of the usual cases are tried; `SHARDSCOPE_CASES`
//! says how many.

use crate::common::random::Random;
use shardscope::core::pipeline::certify::beam::Beam;
use shardscope::core::pipeline::certify::memo::Memo;
use shardscope::core::pipeline::certify::problem::Ticks;
use shardscope::core::pipeline::certify::relaxed::Few;
use shardscope::core::pipeline::certify::root::bound;
use shardscope::core::pipeline::certify::state::SearchProblem;
use shardscope::core::pipeline::certify::tails::Tails;
use shardscope::core::pipeline::certify::{OrderSearch, Problem, StepStages};
use shardscope::core::pipeline::{Durations, Order, StagePlacement, stats::peak_in_flight, time};
use std::collections::HashSet;

fn cases() -> usize {
    let asked = std::env::var("SHARDSCOPE_CASES").ok();
    let asked = asked.and_then(|asked| asked.parse::<usize>().ok());
    asked.map_or(60, |asked| asked / 100)
}

/// Every order one by one: states are the ends of all ops; cut only by the work that is left.
struct Exhaustive<'a> {
    problem: &'a Problem,
    ends: Vec<Vec<Ticks>>,
    clocks: Vec<Ticks>,
    seen: HashSet<Vec<Ticks>>,
    best: Option<Ticks>,
}

impl Exhaustive<'_> {
    fn optimum(problem: &Problem) -> Option<Ticks> {
        let mut search = Exhaustive {
            problem,
            ends: vec![Vec::new(); problem.chains.len()],
            clocks: vec![0; problem.ranks],
            seen: HashSet::new(),
            best: None,
        };
        search.go(problem.ops());
        search.best
    }

    /// The earliest start of the next op of `chain`, if it may run now.
    fn start(&self, chain: usize) -> Option<Ticks> {
        let k = self.ends[chain].len();
        if k == self.problem.microbatches as usize {
            return None;
        }
        let mut start = self.clocks[self.problem.chains[chain].rank];
        for arc in self.problem.arcs.iter().filter(|arc| arc.to == chain) {
            if let Some(before) = k.checked_sub(arc.offset as usize) {
                start = start.max(self.ends[arc.from].get(before)? + arc.lag);
            }
        }
        for pool in &self.problem.pools {
            let held = pool
                .stages
                .iter()
                .map(|(takes, frees, amount)| (self.ends[*takes].len() - self.ends[*frees].len()) * *amount as usize);
            let takes = pool.stages.iter().find(|(takes, _, _)| *takes == chain);
            let full = |amount: u32| held.clone().sum::<usize>() + amount as usize > pool.room as usize;
            if takes.is_some_and(|(_, _, amount)| full(*amount)) {
                return None;
            }
        }
        Some(start)
    }

    fn go(&mut self, left: usize) {
        let now = self.clocks.iter().copied().max().unwrap_or(0);
        let work = |rank: usize| -> Ticks {
            let chains = self.problem.chains.iter().zip(&self.ends).filter(|(chain, _)| chain.rank == rank);
            chains
                .map(|(chain, ends)| {
                    chain.ticks * (Ticks::from(self.problem.microbatches) - Ticks::try_from(ends.len()).unwrap())
                })
                .sum()
        };
        let least = (0..self.problem.ranks).map(|rank| self.clocks[rank] + work(rank)).max().unwrap_or(0).max(now);
        if self.best.is_some_and(|best| least >= best) {
            return;
        }
        if left == 0 {
            self.best = Some(now);
            return;
        }
        let ends = self.ends.iter().flat_map(|ends| std::iter::once(&-1).chain(ends));
        if !self.seen.insert(self.clocks.iter().chain(ends).copied().collect()) {
            return;
        }
        for chain in 0..self.problem.chains.len() {
            let Some(start) = self.start(chain) else { continue };
            let (rank, ticks) = (self.problem.chains[chain].rank, self.problem.chains[chain].ticks);
            let before = std::mem::replace(&mut self.clocks[rank], start + ticks);
            self.ends[chain].push(start + ticks);
            self.go(left - 1);
            self.ends[chain].pop();
            self.clocks[rank] = before;
        }
    }
}

fn times(random: &mut Random, stages: usize, least: u32) -> Vec<f64> {
    (0..stages).map(|_| f64::from(least + random.one(&[0, 1, 2, 3]))).collect()
}

/// Uneven small pipelines of one stage a rank, with caps, lags, and both kinds of backward.
fn small(random: &mut Random) -> StepStages {
    let ranks = random.one(&[2usize, 2, 3]);
    let microbatches = if ranks == 2 { random.one(&[2, 3, 4]) } else { random.one(&[2, 2, 3]) };
    StepStages {
        home: (0..ranks).collect(),
        microbatches,
        forward: times(random, ranks, 1),
        backward_input: times(random, ranks, 1),
        backward_weight: times(random, ranks, 0),
        whole: random.once_in(3),
        lag: random.one(&[0.0, 0.0, 1.0, 2.0, 3.0]),
        room: (0..ranks).map(|_| random.one(&[1, 1, 2, 3])).collect(),
        apart: (0..ranks).map(|_| random.once_in(6)).collect(),
    }
}

/// Two stages on every rank of a V, or of a loop.
fn two_each(random: &mut Random) -> StepStages {
    let (home, microbatches, whole) =
        random.one(&[(&[0, 0][..], 2, false), (&[0, 0], 3, true), (&[0, 1, 1, 0], 2, true), (&[0, 1, 0, 1], 2, true)]);
    let ranks = home.iter().max().unwrap() + 1;
    StepStages {
        home: home.to_vec(),
        microbatches,
        forward: times(random, home.len(), 1),
        backward_input: times(random, home.len(), 1),
        backward_weight: times(random, home.len(), 0),
        whole,
        lag: random.one(&[0.0, 1.0]),
        room: (0..ranks).map(|_| random.one(&[2, 3, 4])).collect(),
        apart: Vec::new(),
    }
}

/// Makespan and peaks of the found order in the simulator, with the true times.
fn replayed(stages: &StepStages, chains: &[u16]) -> (f64, Vec<u32>) {
    let count = u32::try_from(stages.home.len()).unwrap();
    let order = Order::new(stages.rows(chains), count, StagePlacement::Given, stages.microbatches);
    let durations = Durations {
        forward: stages.forward.clone(),
        backward_input: stages.backward_input.clone(),
        backward_weight: if stages.whole { vec![0.0; count as usize] } else { stages.backward_weight.clone() },
        ..Durations::unit(0).with_p2p(stages.lag)
    };
    (time(&order, &durations).unwrap().makespan(), peak_in_flight(&order))
}

/// The best order that a beam of any width finds.
fn unlimited(problem: &Problem) -> Option<Ticks> {
    let (layout, mut memo) = (SearchProblem::new(problem), Memo::new(problem));
    let mut beam = Beam::new(&layout, &mut memo, usize::MAX, Ticks::MAX - 1);
    let ended = std::iter::repeat_with(|| beam.advance(&layout, &mut memo)).find_map(|ended| ended);
    ended.unwrap().found.map(|(makespan, _)| makespan)
}

/// What a beam proves that merges states of the same counts.
fn merged(problem: &Problem, width: usize, alike: usize) -> Ticks {
    let (layout, mut memo) = (SearchProblem::new(problem), Memo::new(problem));
    let mut beam = Beam::new(&layout, &mut memo, width, Ticks::MAX - 1).merging(alike);
    let ended = std::iter::repeat_with(|| beam.advance(&layout, &mut memo)).find_map(|ended| ended);
    ended.unwrap().found.map_or(beam.dropped, |(makespan, _)| makespan.min(beam.dropped))
}

/// The bounds hold, the order runs as long as was said and within its room; true where it is optimal and proven so.
fn holds(stages: &StepStages, random: &mut Random) -> bool {
    let (problem, scale) = stages.problem();
    let Some(optimum) = Exhaustive::optimum(&problem) else {
        // Too little shared room: everything dead-locks.
        let mut search = OrderSearch::new(&problem, 20_000);
        search.finish();
        assert!(!problem.pools.is_empty() && search.best.is_none(), "{stages:?}");
        return false;
    };
    assert!(bound(&problem) <= optimum, "root bound above {optimum}: {stages:?}");
    for side in [&problem, &problem.reversed()] {
        for depth in [1, 2] {
            let tails = Tails::with_depth(side, depth);
            for (chain, tau) in tails.tau.iter().enumerate() {
                let whole = Tails::new(side).tau[chain][0];
                assert!(tau[0] <= whole, "a shallow tail above a deep one: {stages:?}");
            }
        }
    }
    // The bounds of any of the chains, with others whose ops may overlap, hold for all.
    for _ in 0..8 {
        let kept: Vec<bool> = problem.chains.iter().map(|_| random.once_in(2)).collect();
        let few = Few::new(&problem, kept.clone());
        let mut search = OrderSearch::new(&few.problem, 20_000);
        search.finish();
        assert!(search.lower <= optimum, "chains {kept:?}: {} above {optimum}: {stages:?}", search.lower);
    }
    // A beam that drops what is dominated, and nothing else, meets the optimum from both ends.
    for side in [problem.clone(), problem.reversed()] {
        assert_eq!(unlimited(&side), Some(optimum), "{stages:?}");
        let (width, alike) = (random.one(&[1, 2, 8, 1000]), random.one(&[1, 1, 2, 4]));
        let merged = merged(&side, width, alike);
        assert!(merged <= optimum, "{merged} above {optimum}, {width} {alike}: {stages:?}");
    }
    let mut search = OrderSearch::new(&problem, 20_000);
    search.finish();
    assert!(search.lower <= optimum, "{} {optimum}: {stages:?}", search.lower);
    let Some((makespan, chains)) = search.best.clone() else {
        assert!(!problem.pools.is_empty(), "no order: {stages:?}");
        return false;
    };
    assert!(makespan >= optimum, "{optimum} {makespan}: {stages:?}");
    let (seconds, peaks) = replayed(stages, &chains);
    assert!((seconds - scale.seconds(makespan)).abs() < 1e-9 * seconds, "{stages:?}");
    assert!(peaks.iter().zip(&stages.room).all(|(peak, room)| peak <= room), "{peaks:?} {stages:?}");
    search.lower == optimum && makespan == optimum
}

#[test]
fn one_stage_a_rank_is_solved_and_proven() {
    let mut random = Random::new(30);
    for _ in 0..cases() {
        let stages = small(&mut random);
        assert!(holds(&stages, &mut random), "not proven: {stages:?}");
    }
}

#[test]
fn bounds_of_stages_that_share_room_hold() {
    let mut random = Random::new(31);
    for _ in 0..cases() / 3 {
        let stages = two_each(&mut random);
        let solvable = Exhaustive::optimum(&stages.problem().0).is_some();
        assert!(holds(&stages, &mut random) || !solvable, "not proven: {stages:?}");
    }
}

/// Stages that hold unequal amounts share room in the same way.
#[test]
fn bounds_of_unequal_amounts_hold() {
    let mut random = Random::new(32);
    for _ in 0..cases() / 3 {
        let stages = two_each(&mut random);
        let (mut problem, _) = stages.problem();
        for pool in &mut problem.pools {
            pool.room = random.one(&[0, 1, 2]);
            for (_, _, amount) in &mut pool.stages {
                *amount = random.one(&[1, 1, 2, 3]);
                pool.room += *amount;
            }
        }
        // There is room for all stages of a micro-batch.
        let optimum = Exhaustive::optimum(&problem).unwrap();
        assert!(bound(&problem) <= optimum, "{problem:?}");
        for side in [&problem, &problem.reversed()] {
            assert_eq!(unlimited(side), Some(optimum), "{problem:?}");
            assert!(merged(side, random.one(&[1, 4, 1000]), random.one(&[1, 2])) <= optimum, "{problem:?}");
        }
    }
}

/// The optimum is 27; 28 was once called proven.
#[test]
fn a_bound_of_shared_room_is_not_above_a_known_optimum() {
    let stages = StepStages {
        home: vec![0, 1, 1, 0],
        microbatches: 2,
        forward: vec![3.0, 3.0, 1.0, 3.0],
        backward_input: vec![1.0, 4.0, 1.0, 3.0],
        backward_weight: vec![0.0; 4],
        whole: true,
        lag: 0.0,
        room: vec![3, 3],
        apart: Vec::new(),
    };
    assert_eq!(Exhaustive::optimum(&stages.problem().0), Some(27));
    holds(&stages, &mut Random::new(1));
}
