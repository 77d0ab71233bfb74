//! Splits of a model's units into stages with a choice each, listed by rising bound.
//!
//! Units are embedding, vision tower, layers, head: a stage is a range of them with one choice (keep, recompute). The
//! bound of a stage alone needs sums over the units in front and behind. After `head`, the forwards in front, the stage
//! has m micro-batches to work on; after its last B follows `drain`, the gradients in front. Its first B comes `fill`
//! after its first F, and before it at most c forwards run, since it has room for c; in the same way at most c W are
//! left after its last B. With `short = m − c`:
//!
//! `beta = head + max(m (f + b + w), fill + m (b + w) + short f, m (f + b) + short w + drain,
//! fill + m b + short (f + w) + drain, ⌈m / c⌉ loop − w + drain)`.
//!
//! So the least over all splits of the largest beta is a dynamic program over (stage, units placed), a lower bound for
//! every split and choice. Each cell keeps its k best, ties by the sum of squared work. Choices of stages in front and
//! behind count with their least times, which keeps the bound true.

use super::stages::StepStages;
use crate::sort::sort_by;

/// Times and memory of a unit under one choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
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
pub struct ModelPiece {
    /// Bytes of weights, gradients and states.
    pub fixed: f64,
    /// One cost a choice; every unit has as many.
    pub choices: Vec<Cost>,
}

/// Activations that a rank may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// This number of micro-batches on every stage.
    Microbatches(u32),
    /// The micro-batches that fit into this number of bytes beside the fixed memory.
    Bytes(f64),
}

/// A model to be cut into as many stages as there are ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// From the first to the last.
    pub units: Vec<ModelPiece>,
    pub ranks: usize,
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
pub struct StageCut {
    /// Units before the end of each stage.
    pub ends: Vec<usize>,
    /// The choice of each stage.
    pub choices: Vec<usize>,
}

/// Least times of the units in front of each place.
struct LeastTimes {
    forwards: Vec<f64>,
    backwards: Vec<f64>,
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
    pub fn stages(&self, split: &StageCut) -> Option<StepStages> {
        let mut stages = StepStages {
            home: (0..self.ranks).collect(),
            microbatches: self.microbatches,
            whole: self.whole,
            lag: self.lag,
            ..StepStages::default()
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

    /// Least time of a step in which stage `stage` has the units `from..to`, whose sums are `sums`; none where it has
    /// no room for a micro-batch.
    fn stage_bound(&self, least: &LeastTimes, stage: usize, (from, to): (usize, usize), sums: &Sums) -> Option<f64> {
        let LeastTimes { forwards, backwards } = least;
        let (count, last, m) = (self.units.len(), self.ranks - 1, f64::from(self.microbatches));
        let room = self.room(sums)?;
        let front = self.lag * stage as f64;
        let behind = forwards[count] - forwards[to] + backwards[count] - backwards[to];
        let lags = 2.0 * self.lag * (last - stage) as f64;
        let round = sums.forward + sums.backward + sums.weight + behind + lags;
        let rounds = f64::from(self.microbatches.div_ceil(room));
        let drain = backwards[from] + front;
        let (f, b, w) = (sums.forward, sums.backward, sums.weight);
        // Before its first B a rank runs as many F as it has room for; as many W stay for the end of its last B.
        let (fill, short) = (f + behind + lags, f64::from(self.microbatches - room));
        let work = (m * (f + b + w)).max(fill + m * (b + w) + short * f);
        let both = (m * (f + b)).max(fill + m * b + short * f) + short * w + drain;
        Some(forwards[from] + front + work.max(both).max(rounds * round - w + drain))
    }

    /// Splits with a bound up to `limit`, by rising bound, at most `most` of them; and the least bound of all splits
    /// that are left out.
    ///
    /// A cell drops a partial split only if it has `most` others whose bounds are no larger. The same holds for their
    /// completions, so every dropped split has at least the bound of the last one in the list.
    pub fn candidates(&self, most: usize, limit: f64) -> (Vec<(f64, StageCut)>, f64) {
        let (count, last) = (self.units.len(), self.ranks - 1);
        let choices = self.units.first().map_or(0, |unit| unit.choices.len());
        if self.ranks == 0 || count < self.ranks || choices == 0 {
            return (Vec::new(), f64::INFINITY);
        }
        let (mut forwards, mut backwards) = (vec![0.0], vec![0.0]);
        for unit in &self.units {
            let least = |time: fn(&Cost) -> f64| unit.choices.iter().map(time).fold(f64::INFINITY, f64::min);
            forwards.push(forwards[forwards.len() - 1] + least(|cost| cost.forward));
            backwards.push(backwards[backwards.len() - 1] + least(|cost| cost.backward_input));
        }
        let fronts = LeastTimes { forwards, backwards };
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
                        let beta = self.stage_bound(&fronts, stage, (from, to), &sums);
                        let Some(beta) = beta.filter(|beta| *beta <= limit) else { continue };
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
    fn read(&self, history: &[Vec<Vec<Partial>>], mut at: usize) -> (f64, StageCut) {
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
        (bound, StageCut { ends, choices })
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
