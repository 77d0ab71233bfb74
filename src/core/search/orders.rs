//! The schedules of a block as a bound needs them: made once for every (schedule, chunks, ranks, micro-batches) and shared
//! by all layouts.

use super::axes::{Chunks, Split};
use super::facts::{Facts, enter};
use super::space::Block;
use crate::pipeline::{self, Durations, Spec};
use crate::run::{Kinds, OneOf, Run, Scenario};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Rounds of the ranks, of as many micro-batches, after which orders repeat themselves.
const ROUNDS: u64 = 2;

/// Ranks that hold the same kinds of stages: they send, update and keep the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Sort {
    /// One of them.
    pub sample: usize,
    /// Kind of each stage that it holds.
    pub kinds: Vec<usize>,
    /// What is alive at once on one of them, in micro-batches of each stage, where no other instant exceeds it.
    pub alive: Vec<Vec<f64>>,
}

/// A schedule over the stages of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its order.
    pub facts: Rc<Facts>,
    /// Its sorts of ranks.
    pub sorts: Vec<Sort>,
}

impl Profile {
    fn new(facts: Rc<Facts>, kinds: &Kinds) -> Self {
        let mut sorts: Vec<Sort> = Vec::new();
        for (sample, rank) in facts.ranks.iter().enumerate() {
            let own: Vec<usize> = rank.stages.iter().map(|stage| kinds.of[*stage]).collect();
            let versions = |sort: &Sort| facts.ranks[sort.sample].versions;
            let same = |sort: &&mut Sort| sort.kinds == own && versions(sort) == rank.versions;
            if let Some(sort) = sorts.iter_mut().find(same) {
                for alive in &rank.alive {
                    enter(&mut sort.alive, alive);
                }
            } else {
                sorts.push(Sort {
                    sample,
                    kinds: own,
                    alive: rank.alive.clone(),
                });
            }
        }
        Self { facts, sorts }
    }
}

/// Blocks whose pipelines have the same stages and micro-batches.
#[derive(Clone, Debug, Default)]
pub struct Family {
    /// Their kinds of stages.
    pub kinds: Kinds,
    pp: u64,
    microbatches: u64,
    /// The schedules that have an order, profiled when they are first asked for: most layouts run out of memory before.
    profiles: Vec<(Chunks, OnceCell<Profile>)>,
}

impl Family {
    /// Whether a schedule has an order.
    #[must_use]
    pub fn has(&self, chunks: Chunks) -> bool {
        self.cell(chunks).is_some()
    }
    fn cell(&self, chunks: Chunks) -> Option<&OnceCell<Profile>> {
        let found = self.profiles.iter().find(|(known, _)| *known == chunks);
        found.map(|(_, profile)| profile)
    }
}

/// The families seen so far, by ranks, chunks, split and micro-batches.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    known: BTreeMap<(u64, u64, Split, u64), Rc<Family>>,
    /// Orders do not depend on how layers lie on stages: by schedule, chunks, ranks and micro-batches.
    facts: BTreeMap<(u8, u64, u64, u64), Option<Rc<Facts>>>,
}

impl Orders {
    /// The family of `block`, whose scenario is `scenario`, under `schedules`.
    pub fn family(
        &mut self,
        block: &Block,
        scenario: &Scenario,
        schedules: impl Fn() -> Vec<Chunks>,
    ) -> Rc<Family> {
        let (pp, microbatches) = (block.pp, scenario.layout.microbatches);
        let key = (pp, block.chunks, block.split, microbatches);
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        let mut own = schedules();
        own.retain(|chunks| {
            let spec = spec(&scenario.run, *chunks, pp, microbatches);
            chunks.each == block.chunks
                && spec.is_some_and(|spec| match pipeline::has_order(&spec) {
                    Ok(known) => {
                        known
                            || self
                                .facts(&scenario.run, *chunks, pp, microbatches)
                                .is_some()
                    }
                    Err(_) => false,
                })
        });
        let made = Rc::new(Family {
            kinds: Kinds::new(scenario),
            pp,
            microbatches,
            profiles: own.into_iter().map(|one| (one, OnceCell::new())).collect(),
        });
        self.known.insert(key, Rc::clone(&made));
        made
    }

    /// The profile of a schedule in `family`, whose layouts share `run`; none where it has no order.
    pub fn profile<'a>(
        &mut self,
        family: &'a Family,
        run: &Run,
        chunks: Chunks,
    ) -> Option<&'a Profile> {
        let cell = family.cell(chunks)?;
        if cell.get().is_none() {
            let facts = self.facts(run, chunks, family.pp, family.microbatches)?;
            return Some(cell.get_or_init(|| Profile::new(facts, &family.kinds)));
        }
        cell.get()
    }

    /// The facts of an order; none where there is none.
    fn facts(
        &mut self,
        run: &Run,
        chunks: Chunks,
        pp: u64,
        microbatches: u64,
    ) -> Option<Rc<Facts>> {
        let (schedule, each) = (chunks.schedule as u8, chunks.virtual_stages);
        let key = (schedule, each, pp, microbatches);
        if let Some(known) = self.facts.get(&key) {
            return known.clone();
        }
        let made = self
            .stretched(run, chunks, pp, microbatches)
            .or_else(|| facts(run, chunks, pp, microbatches));
        let made = made.map(Rc::new);
        self.facts.insert(key, made.clone());
        made
    }

    /// The facts of many rounds of the ranks, from those of few: where one round more changes nothing but the work, no
    /// number of rounds does.
    fn stretched(
        &mut self,
        run: &Run,
        chunks: Chunks,
        pp: u64,
        microbatches: u64,
    ) -> Option<Facts> {
        let (rounds, few) = (microbatches / pp, ROUNDS * pp);
        let varies = pipeline::schedule(chunks.schedule.id())?.uses_durations
            || run.schedule_options.group.is_some();
        if varies || rounds < ROUNDS + 2 || !microbatches.is_multiple_of(pp) {
            return None;
        }
        let one = self.facts(run, chunks, pp, few)?;
        let two = self.facts(run, chunks, pp, few + pp)?;
        one.stretched(&two, (rounds - ROUNDS) as f64)
    }
}

/// What is asked of a schedule.
fn spec(run: &Run, chunks: Chunks, pp: u64, microbatches: u64) -> Option<Spec> {
    let row = pipeline::schedule(chunks.schedule.id())?;
    let small = |value: u64| u32::try_from(value).ok();
    let options = &run.schedule_options;
    // A pipeline that never drains holds micro-batches of the next steps too.
    let alive = if row.endless { pp } else { 1 };
    let mut spec = Spec::new(row, small(pp)?, small(microbatches.max(alive))?);
    spec.virtual_stages = small(chunks.virtual_stages)?;
    spec.group = options.group.and_then(small);
    spec.variant = options.variant.unwrap_or(spec.variant);
    spec.waves = options.waves.and_then(small).unwrap_or(spec.waves);
    spec.memory_limit = options.memory_limit.and_then(small);
    spec.splits = options.splits.and_then(small).unwrap_or(spec.splits);
    Some(spec)
}

/// The facts of an order; none where there is none.
fn facts(run: &Run, chunks: Chunks, pp: u64, microbatches: u64) -> Option<Facts> {
    let spec = spec(run, chunks, pp, microbatches)?;
    let built = pipeline::build(&spec, &Durations::unit(spec.stages())).ok()?;
    Some(Facts::of(&built.order, &spec, spec.schedule.uses_durations))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Schedule;

    fn one(schedule: Schedule, v: u64, pp: u64, m: u64) -> Facts {
        let chunks = Chunks {
            schedule,
            virtual_stages: v,
            each: v,
        };
        facts(&Run::default(), chunks, pp, m).unwrap()
    }

    /// 1F1B: rank r holds p - r micro-batches; the last rank's last backward has all others behind it.
    #[test]
    fn a_rank_of_1f1b_holds_p_minus_r() {
        let facts = one(Schedule::OneFOneB, 1, 4, 8);
        for (rank, one) in facts.ranks.iter().enumerate() {
            assert_eq!(one.alive, [[4.0 - rank as f64]]);
            assert_eq!((one.first, one.last), (rank, Some((rank, true))));
            assert_eq!(one.work, [[8.0; 3]]);
        }
        assert_eq!(facts.hops, [0.0, 1.0, 2.0, 3.0]);
    }

    /// Of few rounds of the ranks, stretched, and of all of them.
    #[test]
    fn facts_of_many_micro_batches_are_those_of_few_with_more_work() {
        let run = Run::default();
        let mut orders = Orders::default();
        let mut shorter = 0;
        for (schedule, _) in Schedule::ALL {
            for (pp, v) in [(2, 2), (4, 3), (6, 2)] {
                for rounds in [6, 7, 11] {
                    let chunks = Chunks {
                        schedule: *schedule,
                        virtual_stages: v,
                        each: v,
                    };
                    let whole = facts(&run, chunks, pp, rounds * pp);
                    shorter += u32::from(orders.stretched(&run, chunks, pp, rounds * pp).is_some());
                    let ours = orders.facts(&run, chunks, pp, rounds * pp);
                    assert_eq!(
                        ours.as_deref(),
                        whole.as_ref(),
                        "{schedule:?} {pp} {rounds}"
                    );
                }
            }
        }
        assert!(shorter > 100, "{shorter}");
    }

    #[test]
    fn a_v_turns_without_a_message() {
        let facts = one(Schedule::ZbV, 1, 4, 8);
        assert_eq!(facts.hops, [0.0, 1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(facts.ranks[0].stages, [0, 7]);
    }
}
