//! Split, choices and order together: which layers each stage has, what it recomputes, and the order of its ops.
//!
//! Units are embedding, vision tower, layers, head: a stage is a range of them with one choice (keep, recompute). The bound of a
//! stage alone needs sums over the units in front and behind: with F and B in front, work m P, and the loop of the activations
//! that it has room for,
//!
//! `beta = F before + c i + max(m (f + b + w), m (f + b) + B before + c i, (⌈m / c_s⌉ − 1) loop + loop − w + B before + c i)`.
//!
//! So the least over all splits of the largest beta is a dynamic program over (stage, units placed), a lower bound for every split
//! and choice. Each cell keeps its k best, ties by the sum of squared work. The candidates come out by rising bound; their own
//! root bound and then a search for their order decide. What was not tried takes at least the bound of the last candidate.
//! Choices of stages in front and behind count with their least times, which keeps the bound true.

use super::problem::{Problem, Ticks};
use super::root::bound;
use super::search::Search;
use super::stages::{Scale, Stages};
use crate::sort::sort_by;

/// Times and memory of a unit under one choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Seconds of the forward.
    pub forward: f64,
    /// Seconds of the gradient of the input, with what is computed again; of the whole backward where it is one op.
    pub backward_input: f64,
    /// Seconds of the gradient of the weight.
    pub backward_weight: f64,
    /// Bytes that one micro-batch keeps until its backward has ended.
    pub kept: f64,
    /// Bytes that one micro-batch needs besides during its backward: computed again, then freed.
    pub working: f64,
}

/// A piece of the model that no cut divides.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Bytes of weights, gradients and states.
    pub fixed: f64,
    /// One cost a choice; every unit has as many.
    pub choices: Vec<Cost>,
}

/// Activations that a rank may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// So many micro-batches, whatever the stage.
    Microbatches(u32),
    /// As many as fit into so many bytes beside what is fixed.
    Bytes(f64),
}

/// A model to be cut into as many stages as there are ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// From the first to the last.
    pub units: Vec<Unit>,
    /// Pipeline ranks.
    pub ranks: usize,
    /// Micro-batches.
    pub microbatches: u32,
    /// Seconds between ranks.
    pub lag: f64,
    /// The backward is one op.
    pub whole: bool,
    /// Memory of a rank.
    pub limit: Limit,
}

/// A cut into stages: where each ends, and its choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Units before the end of each stage.
    pub ends: Vec<usize>,
    /// The choice of each stage.
    pub choices: Vec<usize>,
}

/// Sums over a range of units under one choice.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    forward: f64,
    backward: f64,
    weight: f64,
    kept: f64,
    working: f64,
    fixed: f64,
}

impl Model {
    fn sums(&self, from: usize, to: usize, choice: usize) -> Sums {
        self.units[from..to].iter().fold(Sums::default(), |sums, unit| {
            let cost = unit.choices[choice];
            Sums {
                forward: sums.forward + cost.forward,
                backward: sums.backward + cost.backward_input,
                weight: sums.weight + if self.whole { 0.0 } else { cost.backward_weight },
                kept: sums.kept + cost.kept,
                // One unit is computed again at a time where the backward is one op, all of the stage's before W.
                working: if self.whole { sums.working.max(cost.working) } else { sums.working + cost.working },
                fixed: sums.fixed + unit.fixed,
            }
        })
    }

    /// Micro-batches that a stage of these sums has room for; none where not one fits.
    fn room(&self, sums: &Sums) -> Option<u32> {
        let room = match self.limit {
            Limit::Microbatches(room) => room.min(self.microbatches),
            Limit::Bytes(bytes) => {
                let free = bytes - sums.fixed - sums.working;
                let most = f64::from(self.microbatches);
                let fit = if sums.kept > 0.0 { free / sums.kept } else { most };
                let fit = if free < 0.0 { 0.0 } else { fit.min(most) };
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 0 to m
                let fit = fit.floor() as u32;
                fit
            }
        };
        (room > 0).then_some(room)
    }

    /// The stages of `split`; none where one has no room.
    #[must_use]
    pub fn stages(&self, split: &Split) -> Option<Stages> {
        let mut stages = Stages {
            home: (0..self.ranks).collect(),
            microbatches: self.microbatches,
            whole: self.whole,
            lag: self.lag,
            ..Stages::default()
        };
        let mut from = 0;
        for (to, choice) in split.ends.iter().zip(&split.choices) {
            let sums = self.sums(from, *to, *choice);
            stages.forward.push(sums.forward);
            stages.backward_input.push(sums.backward);
            stages.backward_weight.push(sums.weight);
            stages.room.push(self.room(&sums)?);
            stages.apart.push(!self.whole && sums.working > 0.0);
            from = *to;
        }
        Some(stages)
    }

    /// Splits of bounds up to `limit` by rising bound, at most `most` of them, and the least bound of all that are left out.
    ///
    /// Every partial split that a cell drops has `most` others in its cell whose bound is no larger, and so have their
    /// completions: what is dropped anywhere takes at least the bound of the last of the list.
    #[must_use]
    pub fn candidates(&self, most: usize, limit: f64) -> (Vec<(f64, Split)>, f64) {
        let (count, last) = (self.units.len(), self.ranks - 1);
        let choices = self.units.first().map_or(0, |unit| unit.choices.len());
        if self.ranks == 0 || count < self.ranks || choices == 0 {
            return (Vec::new(), f64::INFINITY);
        }
        // Least times of the units in front of a place.
        let (mut forwards, mut backwards) = (vec![0.0], vec![0.0]);
        for unit in &self.units {
            let least = |time: fn(&Cost) -> f64| unit.choices.iter().map(time).fold(f64::INFINITY, f64::min);
            forwards.push(forwards[forwards.len() - 1] + least(|cost| cost.forward));
            backwards.push(backwards[backwards.len() - 1] + least(|cost| cost.backward_input));
        }
        let m = f64::from(self.microbatches);
        let beta = |stage: usize, from: usize, to: usize, sums: &Sums| -> Option<f64> {
            let room = self.room(sums)?;
            let front = self.lag * stage as f64;
            let behind = forwards[count] - forwards[to] + backwards[count] - backwards[to];
            let lags = 2.0 * self.lag * (last - stage) as f64;
            let round = sums.forward + sums.backward + sums.weight + behind + lags;
            let rounds = f64::from(self.microbatches.div_ceil(room));
            let drain = backwards[from] + front;
            let work = m * (sums.forward + sums.backward + sums.weight);
            let most = work.max(m * (sums.forward + sums.backward) + drain);
            Some(forwards[from] + front + most.max(rounds * round - sums.weight + drain))
        };
        let mut cells: Vec<Vec<Partial>> = vec![Vec::new(); count + 1];
        cells[0].push(Partial { bound: 0.0, squares: 0.0, before: 0, choice: 0, from: 0 });
        let mut history = Vec::new();
        let mut dropped = false;
        for stage in 0..=last {
            let mut next: Vec<Vec<Partial>> = vec![Vec::new(); count + 1];
            for (to, cell) in next.iter_mut().enumerate().take(count - (last - stage) + 1).skip(stage + 1) {
                if stage == last && to < count {
                    continue;
                }
                for (from, partials) in cells.iter().enumerate().take(to).filter(|(_, partials)| !partials.is_empty()) {
                    for choice in 0..choices {
                        let sums = self.sums(from, to, choice);
                        let Some(beta) = beta(stage, from, to, &sums).filter(|beta| *beta <= limit) else { continue };
                        let work = sums.forward + sums.backward + sums.weight;
                        cell.extend(partials.iter().enumerate().map(|(before, partial)| Partial {
                            bound: partial.bound.max(beta),
                            squares: partial.squares + work * work,
                            before,
                            choice,
                            from,
                        }));
                    }
                }
                sort_by(cell, |one, other| {
                    one.bound.total_cmp(&other.bound).then(one.squares.total_cmp(&other.squares))
                });
                dropped |= cell.len() > most;
                cell.truncate(most);
            }
            history.push(std::mem::replace(&mut cells, next));
        }
        history.push(cells);
        let found: Vec<_> = (0..history[self.ranks][count].len()).map(|at| self.read(&history, at)).collect();
        let last = found.last().filter(|_| dropped).map_or(f64::INFINITY, |(bound, _)| *bound);
        (found, last.min(limit))
    }

    /// The split that the cell of all units holds at `at`.
    fn read(&self, history: &[Vec<Vec<Partial>>], mut at: usize) -> (f64, Split) {
        let mut place = self.units.len();
        let bound = history[self.ranks][place][at].bound;
        let (mut ends, mut choices) = (Vec::new(), Vec::new());
        for stage in (1..=self.ranks).rev() {
            let partial = history[stage][place][at];
            ends.push(place);
            choices.push(partial.choice);
            (place, at) = (partial.from, partial.before);
        }
        ends.reverse();
        choices.reverse();
        (bound, Split { ends, choices })
    }
}

/// Stages up to some place, by their largest bound.
#[derive(Clone, Copy, Debug)]
struct Partial {
    bound: f64,
    squares: f64,
    before: usize,
    choice: usize,
    from: usize,
}

/// A bound of sums of 64-bit floats is taken this much lower.
const ROUNDING: f64 = 1e-9;

/// Splits that are looked at, and states for the order of one at first.
const SPLITS: usize = 400;
const FIRST: u64 = 6_000;

/// The best split and order so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The split.
    pub split: Split,
    /// Its stages.
    pub stages: Stages,
    /// The ops as chains in the order of their starts.
    pub chains: Vec<u16>,
    /// Makespan, seconds.
    pub makespan_s: f64,
}

#[derive(Clone, Debug)]
struct Candidate {
    split: Split,
    stages: Stages,
    problem: Problem,
    scale: Scale,
    lower: f64,
    /// States for its order so far.
    spent: u64,
}

/// A search over splits, choices and orders that can be stopped at any time.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Splits whose own bound is not known yet.
    raw: Vec<(f64, Split)>,
    model: Model,
    candidates: Vec<Candidate>,
    /// Least bound of the splits that are not looked at.
    left_out: f64,
    current: Option<(usize, Search)>,
    /// The best so far.
    pub best: Option<Found>,
    /// States generated, and the most that may be.
    pub states: u64,
    budget: u64,
}

impl Joint {
    /// A search of `budget` states.
    #[must_use]
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
            let mut search = Search::new(&candidate.problem, FIRST / 8);
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
    #[must_use]
    pub fn lower_bound_s(&self) -> f64 {
        let looked_at = self.candidates.iter().map(|candidate| candidate.lower);
        let raw = self.raw.iter().map(|(bound, _)| bound * (1.0 - ROUNDING));
        let least = looked_at.chain(raw).fold(self.left_out * (1.0 - ROUNDING), f64::min);
        self.best.as_ref().map_or(least, |best| least.min(best.makespan_s))
    }

    /// The best is optimal over all splits, choices and orders.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.best
            .as_ref()
            .is_some_and(|best| best.makespan_s <= self.lower_bound_s() * (1.0 + super::certificate::OPTIMAL))
    }

    /// Below this a candidate matters.
    fn goal(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |best| best.makespan_s / (1.0 + super::certificate::OPTIMAL / 2.0))
    }

    /// Works on: one more bound, or one more layer of an order's search. True once nothing better can be found or the work is
    /// spent.
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
        let mut search = Search::new(&candidate.problem, budget);
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

    fn take(&mut self, at: usize, search: &Search) {
        let candidate = &mut self.candidates[at];
        candidate.lower = candidate.lower.max(candidate.scale.seconds(search.lower));
        candidate.spent = candidate.spent.max(FIRST / 4) * 4;
        let Some((ticks, chains)) = &search.best else { return };
        let makespan_s = replayed(candidate, *ticks, chains);
        if self.best.as_ref().is_none_or(|best| makespan_s < best.makespan_s) {
            self.best = Some(Found {
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
