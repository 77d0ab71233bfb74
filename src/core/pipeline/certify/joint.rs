//! Split, choices and order together: which layers each stage has, what it recomputes, and the order of its ops.
//!
//! Candidates come out of [`splits`](super::splits) by rising bound; their own root bound and then a search for their
//! order decide. An order that was not tried takes at least the bound of the last candidate.

use super::problem::{Problem, Ticks};
use super::root::bound;
use super::search::OrderSearch;
use super::splits::{Model, StageCut};
use super::stages::{StepStages, TickScale};

/// A bound of sums of 64-bit floats is taken this much lower.
const ROUNDING: f64 = 1e-9;

/// Most splits that are looked at.
const SPLITS: usize = 400;
/// States that the search for the order of one split may generate at first.
const FIRST: u64 = 6_000;

/// The best split and order so far.
#[derive(Clone, Debug, PartialEq)]
pub struct JointResult {
    pub split: StageCut,
    pub stages: StepStages,
    /// The ops as chains in the order of their starts.
    pub chains: Vec<u16>,
    pub makespan_s: f64,
}

#[derive(Clone, Debug)]
struct Candidate {
    split: StageCut,
    stages: StepStages,
    problem: Problem,
    scale: TickScale,
    lower: f64,
    /// States for its order so far.
    spent: u64,
}

/// A search over splits, choices and orders that can be stopped at any time.
#[derive(Clone, Debug)]
pub struct JointSearch {
    /// Splits whose own bound is not known yet.
    raw: Vec<(f64, StageCut)>,
    model: Model,
    candidates: Vec<Candidate>,
    /// Least bound of the splits that are not looked at.
    left_out: f64,
    current: Option<(usize, OrderSearch)>,
    /// The best so far.
    pub best: Option<JointResult>,
    /// States generated, and the most that may be.
    pub states: u64,
    budget: u64,
}

impl JointSearch {
    /// A search of `budget` states.
    pub fn new(model: &Model, budget: u64) -> Self {
        let mut joint = Self {
            raw: model.candidates(1, f64::INFINITY).0,
            model: model.clone(),
            candidates: Vec::new(),
            left_out: 0.0,
            current: None,
            best: None,
            states: 0,
            budget,
        };
        // An order of the split of the least bound: the splits of larger bounds than its makespan are of no use.
        joint.look_at_next();
        if let Some(candidate) = joint.candidates.pop() {
            let mut search = OrderSearch::new(&candidate.problem, FIRST / 8);
            search.finish();
            joint.candidates.push(candidate);
            joint.take(0, &search);
            joint.candidates.clear();
        }
        (joint.raw, joint.left_out) = model.candidates(SPLITS, joint.goal());
        joint.raw.reverse();
        joint
    }

    /// No split with any choice in any order takes less, seconds; never above the best.
    pub fn lower_bound_s(&self) -> f64 {
        let looked_at = self.candidates.iter().map(|candidate| candidate.lower);
        let raw = self.raw.iter().map(|(bound, _)| bound * (1.0 - ROUNDING));
        let least = looked_at.chain(raw).fold(self.left_out * (1.0 - ROUNDING), f64::min);
        self.best.as_ref().map_or(least, |best| least.min(best.makespan_s))
    }

    /// The best is optimal over all splits, choices and orders.
    pub fn is_proven(&self) -> bool {
        self.best
            .as_ref()
            .is_some_and(|best| best.makespan_s <= self.lower_bound_s() * (1.0 + super::certificate::OPTIMAL))
    }

    /// Below this a candidate matters.
    fn goal(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |best| best.makespan_s / (1.0 + super::certificate::OPTIMAL / 2.0))
    }

    /// Works on: one more bound, or one more layer of an order's search. True once nothing better can be found or the
    /// work is spent.
    pub fn step(&mut self) -> bool {
        if let Some((at, mut search)) = self.current.take() {
            let before = search.children;
            let over = search.step();
            self.states += search.children - before;
            if over {
                self.take(at, &search);
            } else {
                self.current = Some((at, search));
            }
            return false;
        }
        // The bounds of some splits come first: the best of them is the likeliest.
        let few = self.candidates.len() < 24;
        let next = self.raw.last().map_or(f64::INFINITY, |(bound, _)| *bound);
        let goal = self.goal();
        let waiting = self.candidates.iter().any(|candidate| candidate.spent == 0 && candidate.lower < goal);
        if next < goal && (few || !waiting) && self.states < self.budget {
            self.look_at_next();
            return false;
        }
        if self.states >= self.budget && self.best.is_some() {
            return true;
        }
        let open = self.candidates.iter().enumerate().filter(|(_, candidate)| candidate.lower < goal);
        let likeliest =
            open.min_by(|(_, one), (_, other)| one.spent.cmp(&other.spent).then(one.lower.total_cmp(&other.lower)));
        let Some((at, candidate)) = likeliest else { return true };
        let budget = FIRST.max(candidate.spent * 4);
        let mut search = OrderSearch::new(&candidate.problem, budget);
        if let Some(chains) = super::modulo::periodic(&candidate.stages) {
            search.start_from(chains);
        }
        self.current = Some((at, search));
        false
    }

    fn look_at_next(&mut self) {
        let Some((_, split)) = self.raw.pop() else { return };
        let Some(stages) = self.model.stages(&split) else { return };
        let (problem, scale) = stages.problem();
        // A bound takes about as long as so many states.
        self.states += (problem.ops() * problem.chains.len() / 24) as u64;
        let lower = scale.seconds(bound(&problem));
        self.candidates.push(Candidate { split, stages, problem, scale, lower, spent: 0 });
    }

    fn take(&mut self, at: usize, search: &OrderSearch) {
        let candidate = &mut self.candidates[at];
        candidate.lower = candidate.lower.max(candidate.scale.seconds(search.lower));
        candidate.spent = candidate.spent.max(FIRST / 4) * 4;
        let Some((ticks, chains)) = &search.best else { return };
        let makespan_s = replayed(candidate, *ticks, chains);
        if self.best.as_ref().is_none_or(|best| makespan_s < best.makespan_s) {
            self.best = Some(JointResult {
                split: candidate.split.clone(),
                stages: candidate.stages.clone(),
                chains: chains.clone(),
                makespan_s,
            });
        }
    }
}

/// Seconds of an order under the true times.
fn replayed(candidate: &Candidate, ticks: Ticks, chains: &[u16]) -> f64 {
    candidate.stages.seconds(chains).unwrap_or_else(|| candidate.scale.seconds(ticks))
}
