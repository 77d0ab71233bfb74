//! The search over changes that make a Run fit. It tries the rungs of the ladders (values of settings, from the
//! smallest change to the largest) one candidate at a time.

use super::ladders::{ladders, more_gpus};
use super::{Base, FOLLOW, Set, Suggestion, Suggestions, TrialValues};
use crate::report::Evaluation;
use crate::run::Scenario;
use crate::sort::sort_by;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What a change has to reach to be suggested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FitGoal {
    /// The verdict "fits".
    Fits,
    /// Less memory than before: the goal for a Run that fits already.
    Less,
}

/// The search for the first rung of a ladder that works: by bisection where the ladder is monotone, else rung by rung.
#[derive(Clone, Debug)]
struct Climb {
    rungs: Vec<Set>,
    /// True if a higher rung never needs more memory.
    monotone: bool,
    /// The lowest rung that is not excluded.
    low: usize,
    /// The rungs from this one on need not be tried.
    high: usize,
    /// Number of settings that a rung changes.
    changes: usize,
    /// The lowest rung that worked so far.
    found: Option<Suggestion>,
}

impl Climb {
    fn of(rungs: Vec<Set>, monotone: bool, changes: usize) -> Self {
        Self { low: 0, high: rungs.len(), rungs, monotone, changes, found: None }
    }

    /// Index of the rung to try next; none after the last one.
    fn next(&self) -> Option<usize> {
        let at = if self.monotone { usize::midpoint(self.low, self.high) } else { self.low };
        (self.low < self.high).then_some(at)
    }

    /// Records the outcome of rung `at`. True if no rung is left to try.
    fn take(&mut self, at: usize, found: Option<Suggestion>) -> bool {
        if found.is_some() {
            self.found = found;
            self.high = at;
            !self.monotone || self.low >= self.high
        } else {
            self.low = at + 1;
            self.low >= self.high
        }
    }
}

/// Level of the search: the settings that its candidates change at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Singles,
    Pairs,
    Triples,
    MoreGpus,
    Done,
}

/// The search for changes that make a Run fit. It works in slices, and its suggestions so far can be read after each.
#[derive(Clone, Debug)]
pub struct FitSearch {
    base: Base,
    /// One ladder for each setting that may help.
    ladders: Vec<TrialValues>,
    /// The ladder of the number of GPUs, which is tried last.
    gpus: TrialValues,
    level: Level,
    /// Ladders of the level that are still to be climbed; the first of them is being climbed.
    waiting: VecDeque<Climb>,
    found: Vec<Suggestion>,
    /// Units of work after which the search ends.
    limit: u64,
    /// Units of work so far.
    spent: u64,
    /// True if a candidate was not tried because of the limit.
    is_cut: bool,
}

/// Most suggestions in an answer. A choice.
const MAX_SUGGESTIONS: usize = 8;
/// If fewer single changes than this work, pairs of changes are tried as well. A choice.
const FEW: usize = 3;

/// Units of work of a search that is not cut into slices: about 15 ms natively, 100 to 200 ms in a browser.
pub const LIMIT: u64 = 150_000;

impl FitSearch {
    /// Prepares the search around the Run of `base`. It takes at most `limit` units of work, each about that of one op:
    /// a candidate that would exceed the limit is not tried.
    pub fn new(base: Base, limit: u64) -> Self {
        let scenario = Scenario::new(&base.run);
        let ladders = scenario.as_ref().map(ladders).unwrap_or_default();
        let singles = ladders.iter().map(|ladder| Climb::of(ladder.rungs.clone(), ladder.monotone, 1));
        Self {
            waiting: singles.collect(),
            gpus: more_gpus(&base.run),
            base,
            ladders,
            level: Level::Singles,
            found: Vec::new(),
            limit,
            spent: 0,
            is_cut: false,
        }
    }

    /// The whole search without slices, with [`LIMIT`] units of work.
    pub fn finished(base: &Evaluation) -> Self {
        let mut fit = Self::new(Base::of(base), LIMIT);
        while !fit.step(LIMIT) {}
        fit
    }

    /// Works for about `budget` units: the last candidate may exceed them. True once the search is over.
    pub fn step(&mut self, budget: u64) -> bool {
        let end = self.spent.saturating_add(budget.max(1));
        while self.spent < end && self.level != Level::Done {
            if self.spent >= self.limit {
                self.is_cut = true;
                self.level = Level::Done;
            } else if !self.waiting.is_empty() {
                self.climb();
            } else {
                self.next_level();
            }
        }
        self.level == Level::Done
    }

    /// Tries one rung of the first ladder in `waiting`.
    fn climb(&mut self) {
        let Some(climb) = self.waiting.front_mut() else {
            return;
        };
        let Some((at, rung)) = climb.next().and_then(|at| Some((at, climb.rungs.get(at)?))) else {
            self.waiting.pop_front();
            return;
        };
        let (candidate, check_work) = self.base.candidate(rung);
        self.spent += check_work;
        let suggestion = match candidate {
            Some(candidate) if self.spent.saturating_add(candidate.work) > self.limit => {
                self.is_cut = true;
                None
            }
            Some(candidate) => {
                self.spent += candidate.work;
                self.base.judge(candidate, rung, climb.changes)
            }
            None => None,
        };
        if climb.take(at, suggestion)
            && let Some(suggestion) = self.waiting.pop_front().and_then(|done| done.found)
        {
            self.found.push(suggestion);
        }
    }

    /// Goes on to the next level if the suggestions so far are too few, else ends the search.
    fn next_level(&mut self) {
        let found = self.found.len();
        self.level = match self.level {
            Level::Singles if found < FEW && self.base.goal == FitGoal::Fits => Level::Pairs,
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
    }

    /// Units of work so far.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// The changes that work among those tried so far, the least GPU time a token first.
    pub fn suggestions(&self) -> Suggestions {
        let mut list = self.found.clone();
        sort_by(&mut list, |a, b| {
            let cost = a.dearer.total_cmp(&b.dearer);
            cost.then(a.changes.cmp(&b.changes)).then_with(|| a.label().cmp(&b.label()))
        });
        list.dedup_by(|a, b| a.set == b.set);
        list.truncate(MAX_SUGGESTIONS);
        Suggestions { list, is_cut: self.is_cut }
    }

    /// Ladders that change `count` settings at once, one for each combination of settings. Recomputation is changed by
    /// one of them at most.
    fn together(&self, count: usize) -> VecDeque<Climb> {
        combinations(self.ladders.len(), count)
            .into_iter()
            .filter_map(|chosen| {
                let chosen: Vec<&TrialValues> = chosen.iter().map(|at| &self.ladders[*at]).collect();
                let recomputes = chosen.iter().filter(|ladder| ladder.field.starts_with("recompute"));
                let mut rungs = mixed(&chosen);
                rungs.retain(|rung| !self.includes_suggestion(rung));
                (recomputes.count() < 2).then(|| Climb::of(rungs, false, count))
            })
            .collect()
    }

    /// True if `rung` changes all settings of a suggestion: they alone do, whatever their values in `rung` are.
    fn includes_suggestion(&self, rung: &Set) -> bool {
        let changes = |key: &str| FOLLOW.contains(&key) || rung.iter().any(|(changed, _)| *changed == key);
        self.found.iter().any(|suggestion| suggestion.set.iter().all(|(key, _)| changes(key)))
    }

    /// Ladders of more GPUs: alone, then together with the last rungs of one or two other ladders.
    fn with_gpus(&self) -> VecDeque<Climb> {
        let with_others = |chosen: &[usize]| {
            let rungs = self.gpus.rungs.iter().map(|gpus| {
                let others = chosen.iter().filter_map(|at| self.ladders[*at].rungs.last());
                gpus.iter().chain(others.flatten()).cloned().collect()
            });
            Climb::of(rungs.collect(), false, 1 + chosen.len())
        };
        (0..=2).flat_map(|count| combinations(self.ladders.len(), count)).map(|chosen| with_others(&chosen)).collect()
    }
}

/// Every combination of the first or the last rung of each ladder in `chosen`. Those with fewer last rungs come first.
fn mixed(chosen: &[&TrialValues]) -> Vec<Set> {
    let mut masks: Vec<u32> = (0..1u32 << chosen.len()).collect();
    sort_by(&mut masks, |a, b| a.count_ones().cmp(&b.count_ones()));
    let mut sets: Vec<Set> = Vec::new();
    for mask in masks {
        let rung = |(at, ladder): (usize, &&TrialValues)| {
            let takes_last = mask & (1 << at) != 0;
            let rung = if takes_last { ladder.rungs.last() } else { ladder.rungs.first() };
            rung.cloned().unwrap_or_default()
        };
        let set: Set = chosen.iter().enumerate().flat_map(rung).collect();
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    sets
}

/// All ways to choose `count` of the numbers from 0 to `total` − 1, each in ascending order.
fn combinations(total: usize, count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    (count..=total)
        .flat_map(|last| {
            combinations(last - 1, count - 1).into_iter().map(move |mut chosen| {
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
    use crate::run::{Based, Run};

    fn suggestions(run: &Run) -> Vec<Suggestion> {
        FitSearch::finished(&evaluate(run).unwrap()).suggestions().list
    }

    /// The suggestions for `run`. Each of them, set on the Run as the page's button does, gives a Run that fits, with
    /// the figures of the suggestion.
    fn checked(run: &Run) -> Vec<Suggestion> {
        let list = suggestions(run);
        for suggestion in &list {
            let after = run.with_texts(&suggestion.set).unwrap();
            assert!(Scenario::new(&after).is_ok(), "{}", suggestion.label());
            let after = evaluate(&after).unwrap().report;
            assert_eq!(after.memory.verdict, Verdict::Fits, "{}", suggestion.label());
            assert_eq!(after.memory.peak_bytes, suggestion.peak);
            assert_eq!(after.step.time_s, suggestion.step);
            assert!(suggestion.slower.is_finite() && suggestion.slower > 0.0);
            // No other does with some of its settings alone: the rest of them would be no help.
            let chosen = |one: &Suggestion| -> Vec<&'static str> {
                one.set.iter().map(|(key, _)| *key).filter(|key| !FOLLOW.contains(key)).collect()
            };
            let all = chosen(suggestion);
            let fewer = list.iter().find(|one| {
                let some = chosen(one);
                one.changes < suggestion.changes && !some.is_empty() && some.iter().all(|key| all.contains(key))
            });
            assert!(
                fewer.is_none(),
                "{} beside {}",
                suggestion.label(),
                fewer.map(Suggestion::label).unwrap_or_default()
            );
        }
        list
    }

    /// Four cards of 24 GB: LoRA of 8 B parameters fits by itself, so no pair has an adapter.
    #[test]
    fn a_setting_that_does_alone_is_in_no_pair() {
        let run = Run { gpu: Based::preset("rtx-4090"), gpus: 4, tp: 4, pp: 1, ..Run::default() };
        let list = checked(&run);
        assert!(list.iter().any(|one| one.set[0].0 == "adapter.method" && one.changes == 1), "{list:?}");
    }

    fn llama_70b() -> Run {
        Run { model: Based::preset("llama-3.1-70b"), ..Run::default() }
    }

    #[test]
    fn every_suggestion_really_fits() {
        let long = Run { seq_len: 131_072, ..Run::default() };
        let wide = Run { micro_batch: 4, pp: 1, ..Run::default() };
        let experts = Run { model: Based::preset("mixtral-8x7b"), ..Run::default() };
        for run in [llama_70b(), long, wide, experts] {
            assert_ne!(evaluate(&run).unwrap().report.memory.verdict, Verdict::Fits);
            assert!(!checked(&run).is_empty());
        }
    }

    #[test]
    fn the_smallest_change_of_a_setting_is_the_one_suggested() {
        let run = Run { micro_batch: 4, ..Run::default() };
        let list = checked(&run);
        let layers = list.iter().find(|one| one.set[0].0 == "recompute.layers").unwrap();
        let n: u64 = layers.set[0].1.parse().unwrap();
        let fewer = vec![("recompute.layers", (n - 1).to_string())];
        let before = if n == 1 { Vec::new() } else { fewer };
        let memory = evaluate(&run.with_texts(&before).unwrap()).unwrap().report.memory;
        assert_ne!(memory.verdict, Verdict::Fits);
    }

    #[test]
    fn the_global_batch_follows_the_data_parallel_size() {
        // dp falls from 8 to 4, 2, 1 with more tp: 24 sequences divide over all; with more pp too.
        let run = Run { global_batch: 24, seq_len: 32768, gpus: 48, tp: 2, pp: 2, ..Run::default() };
        let batches: Vec<u64> = checked(&run).iter().filter_map(|one| one.global_batch).collect();
        println!("fit: global batches {batches:?}");
        for batch in batches {
            assert!(batch > 24, "only ever raised to the next that divides");
        }
    }

    #[test]
    fn a_run_that_no_setting_saves_is_given_more_gpus() {
        let run =
            Run { model: Based::preset("llama-3.1-405b"), gpus: 16, tp: 8, pp: 1, global_batch: 16, ..Run::default() };
        let list = checked(&run);
        assert!(!list.is_empty());
        for suggestion in list {
            assert_eq!(suggestion.set[0].0, "gpus");
        }
    }

    #[test]
    fn a_run_that_fits_is_told_what_would_take_less() {
        let base = evaluate(&Run::default()).unwrap();
        assert_eq!(Base::of(&base).goal, FitGoal::Less);
        let list = checked(&Run::default());
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

    /// The result does not depend on the places where it stops between two slices.
    #[test]
    fn slices_find_what_one_go_finds() {
        let base = evaluate(&llama_70b()).unwrap();
        let mut sliced = FitSearch::new(Base::of(&base), LIMIT);
        let mut slices = 1;
        while !sliced.step(1) {
            slices += 1;
        }
        assert!(slices > 10);
        assert_eq!(sliced.suggestions(), FitSearch::finished(&base).suggestions());
    }

    /// A Run whose search took more than 14 s without a limit.
    #[test]
    fn the_work_of_a_search_is_limited() {
        let large = Run { micro_batch: 1 << 30, global_batch: 1 << 40, ..Run::default() };
        let base = evaluate(&large).unwrap();
        let mut fit = FitSearch::new(Base::of(&base), 50_000);
        while !fit.step(1000) {}
        // The work of checking the last candidate, one unit for each of its stages, may exceed the limit.
        assert!(fit.spent() <= 50_000 + 100, "{}", fit.spent());
    }

    /// A mixture of experts on too few GPUs: the suggestions are sorted by GPU time a token.
    #[test]
    fn the_cheapest_change_is_listed_first() {
        let run = Run {
            model: Based::preset("deepseek-v3"),
            gpus: 1024,
            tp: 1,
            pp: 16,
            ep: 32,
            seq_len: 4096,
            global_batch: 1024,
            ..Run::default()
        };
        let list = suggestions(&run);
        assert!(list.len() > 1);
        assert!(list.windows(2).all(|pair| pair[0].dearer <= pair[1].dearer));
    }
}
