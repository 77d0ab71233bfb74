//! Climbs the ladders one candidate at a time.

use super::ladders::{ladders, more_gpus};
use super::{Ladder, Set, Suggestion, judge};
use crate::report::Evaluation;
use std::collections::VecDeque;

/// What a change is to reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The verdict "fits".
    Fits,
    /// Less memory than now, of a Run that fits already.
    Less,
}

/// A ladder being climbed: the lowest rung that may fit, and the highest that must be tried.
#[derive(Clone, Debug)]
struct Climb {
    rungs: Vec<Set>,
    monotone: bool,
    low: usize,
    high: usize,
    changes: usize,
    found: Option<Suggestion>,
}

impl Climb {
    fn of(rungs: Vec<Set>, monotone: bool, changes: usize) -> Self {
        Self {
            low: 0,
            high: rungs.len(),
            rungs,
            monotone,
            changes,
            found: None,
        }
    }

    /// Tries one rung; true where there is no more to try.
    fn step(&mut self, base: &Evaluation, goal: Goal) -> bool {
        let at = if self.monotone {
            usize::midpoint(self.low, self.high)
        } else {
            self.low
        };
        let Some(rung) = self.rungs.get(at).filter(|_| self.low < self.high) else {
            return true;
        };
        if let Some(suggestion) = judge(base, rung, self.changes, goal) {
            self.found = Some(suggestion);
            self.high = at;
            !self.monotone || self.low >= self.high
        } else {
            self.low = at + 1;
            self.low >= self.high
        }
    }
}

/// Changes made together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Singles,
    Pairs,
    Triples,
    MoreGpus,
    Done,
}

/// The search for what makes a Run fit.
#[derive(Clone, Debug)]
pub struct Search {
    goal: Goal,
    ladders: Vec<Ladder>,
    gpus: Ladder,
    level: Level,
    waiting: VecDeque<Climb>,
    found: Vec<Suggestion>,
    tried: usize,
}

/// Most suggestions that are given.
const MAX_SUGGESTIONS: usize = 8;
/// Ops that are simulated in all.
const MAX_OPS: usize = 20_000_000;
/// Fewer single changes than this that work: pairs are tried as well.
const FEW: usize = 3;

impl Search {
    /// Prepares the search around the Run of `base`.
    #[must_use]
    pub fn new(base: &Evaluation) -> Self {
        let fits = base.report.memory.verdict == crate::memory::Verdict::Fits;
        let ladders = ladders(&base.scenario);
        let singles = ladders
            .iter()
            .map(|ladder| Climb::of(ladder.rungs.clone(), ladder.monotone, 1));
        Self {
            goal: if fits { Goal::Less } else { Goal::Fits },
            waiting: singles.collect(),
            gpus: more_gpus(&base.scenario.run),
            ladders,
            level: Level::Singles,
            found: Vec::new(),
            tried: 0,
        }
    }

    /// Tries one candidate; false once there is nothing more to try, or the limit of work is reached.
    pub fn step(&mut self, base: &Evaluation) -> bool {
        let limit = MAX_OPS / base.order.items().max(1);
        if self.level == Level::Done || self.tried >= limit.max(FEW) {
            return false;
        }
        if let Some(climb) = self.waiting.front_mut() {
            self.tried += 1;
            if climb.step(base, self.goal)
                && let Some(suggestion) = self.waiting.pop_front().and_then(|done| done.found)
            {
                self.found.push(suggestion);
            }
            return true;
        }
        let found = self.found.len();
        self.level = match self.level {
            Level::Singles if found < FEW && self.goal == Goal::Fits => Level::Pairs,
            Level::Pairs if found == 0 => Level::Triples,
            Level::Triples if found == 0 => Level::MoreGpus,
            _ => Level::Done,
        };
        self.waiting = match self.level {
            Level::Pairs => self.together(2),
            Level::Triples => self.together(3),
            Level::MoreGpus => self.with_gpus(),
            Level::Singles | Level::Done => VecDeque::new(),
        };
        self.level != Level::Done
    }

    /// Runs to the end; of a step of very many ops it ends early, with what was found until then.
    #[must_use]
    pub fn finish(mut self, base: &Evaluation) -> Vec<Suggestion> {
        while self.step(base) {}
        self.ranked()
    }

    /// What works, fewest changes first, then the least GPU time a token.
    #[must_use]
    pub fn ranked(&self) -> Vec<Suggestion> {
        let mut list = self.found.clone();
        list.sort_by(|a, b| {
            let cost = a.dearer.total_cmp(&b.dearer);
            a.changes
                .cmp(&b.changes)
                .then(cost)
                .then(a.fix.label.cmp(&b.fix.label))
        });
        list.dedup_by(|a, b| a.fix.set == b.fix.set);
        list.truncate(MAX_SUGGESTIONS);
        list
    }

    /// `count` ladders together: their first rungs, then each one's last beside the others' first, then all last.
    fn together(&self, count: usize) -> VecDeque<Climb> {
        combinations(self.ladders.len(), count)
            .into_iter()
            .filter_map(|chosen| {
                let chosen: Vec<&Ladder> = chosen.iter().map(|at| &self.ladders[*at]).collect();
                let recomputes = chosen
                    .iter()
                    .filter(|one| one.field.starts_with("recompute"));
                let mut rungs = mixed(&chosen);
                rungs.retain(|rung| !self.works_with_less(rung));
                (recomputes.count() < 2).then(|| Climb::of(rungs, false, count))
            })
            .collect()
    }

    /// Whether a part of `rung` is enough.
    fn works_with_less(&self, rung: &Set) -> bool {
        let within = |one: &Suggestion| one.fix.set.iter().all(|change| rung.contains(change));
        self.found.iter().any(within)
    }

    /// More GPUs alone, then with one or two of everything else at its furthest.
    fn with_gpus(&self) -> VecDeque<Climb> {
        let helped = |chosen: &[usize]| {
            let rungs = self.gpus.rungs.iter().map(|gpus| {
                let others = chosen
                    .iter()
                    .filter_map(|at| self.ladders[*at].rungs.last());
                gpus.iter().chain(others.flatten()).cloned().collect()
            });
            Climb::of(rungs.collect(), false, 1 + chosen.len())
        };
        (0..=2)
            .flat_map(|count| combinations(self.ladders.len(), count))
            .map(|chosen| helped(&chosen))
            .collect()
    }
}

/// First and last rungs of several ladders in every mixture, the smallest change first.
fn mixed(chosen: &[&Ladder]) -> Vec<Set> {
    let mut masks: Vec<u32> = (0..1u32 << chosen.len()).collect();
    masks.sort_by_key(|mask| mask.count_ones());
    let mut sets: Vec<Set> = Vec::new();
    for mask in masks {
        let rung = |(at, ladder): (usize, &&Ladder)| {
            let last = mask & (1 << at) != 0;
            let rung = if last {
                ladder.rungs.last()
            } else {
                ladder.rungs.first()
            };
            rung.cloned().unwrap_or_default()
        };
        let set: Set = chosen.iter().enumerate().flat_map(rung).collect();
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    sets
}

/// All ways to choose `count` of `of`, in order.
fn combinations(of: usize, count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    (count..=of)
        .flat_map(|last| {
            combinations(last - 1, count - 1)
                .into_iter()
                .map(move |mut chosen| {
                    chosen.push(last - 1);
                    chosen
                })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Verdict;
    use crate::report::evaluate;
    use crate::run::{Based, Run, Scenario};

    fn suggestions(run: &Run) -> Vec<Suggestion> {
        let base = evaluate(run).unwrap();
        Search::new(&base).finish(&base)
    }

    /// Every suggestion, applied as the page's button does, is a Run that the calculator takes and calls fitting.
    fn hold(run: &Run) -> Vec<Suggestion> {
        let list = suggestions(run);
        for suggestion in &list {
            let after = run.with_texts(&suggestion.fix.set).unwrap();
            assert!(Scenario::new(&after).is_ok(), "{}", suggestion.fix.label);
            let after = evaluate(&after).unwrap().report;
            assert_eq!(
                after.memory.verdict,
                Verdict::Fits,
                "{}",
                suggestion.fix.label
            );
            assert_eq!(after.memory.peak_bytes, suggestion.peak);
            assert_eq!(after.step.time_s, suggestion.step);
            assert!(suggestion.slower.is_finite() && suggestion.slower > 0.0);
        }
        list
    }

    fn llama_70b() -> Run {
        Run {
            model: Based::preset("llama-3.1-70b"),
            ..Run::default()
        }
    }

    #[test]
    fn every_suggestion_really_fits() {
        let long = Run {
            seq_len: 131_072,
            ..Run::default()
        };
        let wide = Run {
            micro_batch: 4,
            pp: 1,
            ..Run::default()
        };
        let experts = Run {
            model: Based::preset("mixtral-8x7b"),
            ..Run::default()
        };
        for run in [llama_70b(), long, wide, experts] {
            assert_ne!(evaluate(&run).unwrap().report.memory.verdict, Verdict::Fits);
            assert!(!hold(&run).is_empty());
        }
    }

    #[test]
    fn the_smallest_change_of_a_setting_is_the_one_suggested() {
        let run = Run {
            micro_batch: 4,
            ..Run::default()
        };
        let list = hold(&run);
        let layers = list
            .iter()
            .find(|one| one.fix.set[0].0 == "recompute.layers")
            .unwrap();
        let n: u64 = layers.fix.set[0].1.parse().unwrap();
        let fewer = vec![("recompute.layers", (n - 1).to_string())];
        let before = crate::issue::Fix {
            label: String::new().into(),
            set: if n == 1 { Vec::new() } else { fewer },
        };
        let memory = evaluate(&run.with_texts(&before.set).unwrap())
            .unwrap()
            .report
            .memory;
        assert_ne!(memory.verdict, Verdict::Fits);
    }

    #[test]
    fn the_global_batch_follows_the_data_parallel_size() {
        // dp falls from 8 to 4, 2, 1 with more tp: 24 sequences divide over all; with more pp too.
        let run = Run {
            global_batch: 24,
            seq_len: 32768,
            gpus: 48,
            tp: 2,
            pp: 2,
            ..Run::default()
        };
        let batches: Vec<u64> = hold(&run)
            .iter()
            .filter_map(|one| one.global_batch)
            .collect();
        println!("fit: global batches {batches:?}");
        for batch in batches {
            assert!(batch > 24, "only ever raised to the next that divides");
        }
    }

    #[test]
    fn a_run_that_no_setting_saves_is_given_more_gpus() {
        let run = Run {
            model: Based::preset("llama-3.1-405b"),
            gpus: 8,
            tp: 8,
            pp: 1,
            global_batch: 8,
            ..Run::default()
        };
        let list = hold(&run);
        assert!(!list.is_empty());
        for suggestion in list {
            assert_eq!(suggestion.fix.set[0].0, "gpus");
        }
    }

    #[test]
    fn a_run_that_fits_is_told_what_would_take_less() {
        let base = evaluate(&Run::default()).unwrap();
        assert_eq!(Search::new(&base).goal, Goal::Less);
        let list = hold(&Run::default());
        assert!(!list.is_empty());
        for suggestion in list {
            assert!(suggestion.peak < base.report.memory.peak_bytes);
        }
    }

    #[test]
    fn choosing_two_of_four_gives_six() {
        assert_eq!(combinations(4, 2).len(), 6);
        assert_eq!(combinations(4, 3).len(), 4);
        assert_eq!(combinations(3, 0), [Vec::<usize>::new()]);
    }
}
