//! The schedules of a block as a bound needs them: made once for every (schedule, chunks, ranks, micro-batches) and
//! shared by all layouts.

use super::axes::{ScheduleChunks, SplitRule};
use super::facts::{Facts, enter};
use super::space::Block;
use crate::pipeline::spec::op_count;
use crate::pipeline::{self, Durations, Spec, StagePlacement};
use crate::run::{Run, Scenario, StageKinds};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Rounds of the ranks, of as many micro-batches, after which orders repeat themselves.
const ROUNDS: u64 = 2;

/// Ranks that hold the same kinds of stages: they send, update and keep the same.
#[derive(Clone, Debug, PartialEq)]
pub struct AlikeRanks {
    /// One of them.
    pub sample: usize,
    /// Global stages that it holds.
    pub stages: Vec<usize>,
    /// Versions of their weights.
    pub versions: u64,
    /// Kind of each of its stages.
    pub kinds: Vec<usize>,
}

/// The sorts of the ranks of a schedule over the stages of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sorts {
    pub list: Vec<AlikeRanks>,
    /// Index of each rank's order.
    of: Vec<usize>,
}

impl Sorts {
    /// The sorts among ranks with these stages and versions.
    fn new(ranks: impl Iterator<Item = (Vec<usize>, u64)>, kinds: &StageKinds) -> Self {
        let mut sorts = Self::default();
        for (sample, (stages, versions)) in ranks.enumerate() {
            let kinds_of_rank: Vec<usize> = stages.iter().map(|stage| kinds.of[*stage]).collect();
            let same = |sort: &AlikeRanks| sort.kinds == kinds_of_rank && sort.versions == versions;
            let place = sorts.list.iter().position(same);
            sorts.of.push(place.unwrap_or(sorts.list.len()));
            if place.is_none() {
                sorts.list.push(AlikeRanks { sample, stages, versions, kinds: kinds_of_rank });
            }
        }
        sorts
    }
}

/// A schedule over the stages of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockProfile {
    pub facts: Rc<Facts>,
    /// Most activations alive at once on a rank of each sort, in micro-batches of each stage, where no other instant
    /// exceeds it.
    pub alive: Vec<Vec<Vec<f64>>>,
}

impl BlockProfile {
    fn new(facts: Rc<Facts>, sorts: &Sorts) -> Self {
        let mut alive = vec![Vec::new(); sorts.list.len()];
        for (rank, sort) in facts.ranks.iter().zip(&sorts.of) {
            for one in &rank.alive {
                enter(&mut alive[*sort], one);
            }
        }
        Self { facts, alive }
    }
}

/// A schedule that has an order. It is built when it is first asked for: most layouts run out of memory before.
#[derive(Clone, Debug)]
struct Ordered {
    chunks: ScheduleChunks,
    sorts: OnceCell<Sorts>,
    profile: OnceCell<BlockProfile>,
}

/// Blocks whose pipelines have the same stages and micro-batches.
#[derive(Clone, Debug, Default)]
pub struct BlockFamily {
    pub kinds: StageKinds,
    pp: u64,
    microbatches: u64,
    /// The schedules that have an order.
    schedules: Vec<Ordered>,
}

impl BlockFamily {
    /// True if a schedule has an order.
    pub fn has(&self, chunks: ScheduleChunks) -> bool {
        self.of(chunks).is_some()
    }
    fn of(&self, chunks: ScheduleChunks) -> Option<&Ordered> {
        self.schedules.iter().find(|one| one.chunks == chunks)
    }
}

/// The families seen so far, by ranks, chunks, split and micro-batches.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    known: BTreeMap<(u64, u64, SplitRule, u64), Rc<BlockFamily>>,
    /// Orders do not depend on how layers lie on stages: by schedule, chunks, ranks and micro-batches.
    facts: BTreeMap<(u8, u64, u64, u64), Option<Rc<Facts>>>,
    /// Ops laid out since this was last asked.
    laid_out: u64,
}

/// Ops laid out that take a unit of work of a bound.
const OPS: u64 = 100;

impl Orders {
    /// The family of `block`, whose scenario is `scenario`, under `schedules`.
    pub fn family(
        &mut self,
        block: &Block,
        scenario: &Scenario,
        schedules: impl Fn() -> Vec<ScheduleChunks>,
    ) -> Rc<BlockFamily> {
        let (pp, microbatches) = (block.pp, scenario.layout.microbatches);
        let key = (pp, block.chunks, block.split, microbatches);
        if let Some(family) = self.known.get(&key) {
            return Rc::clone(family);
        }
        let mut alike = schedules();
        alike.retain(|chunks| {
            let spec = spec(&scenario.run, *chunks, pp, microbatches);
            chunks.each == block.chunks
                && spec.is_some_and(|spec| match pipeline::has_order(&spec) {
                    Ok(has) => has || self.facts(&scenario.run, *chunks, pp, microbatches).is_some(),
                    Err(_) => false,
                })
        });
        let ordered = |chunks| Ordered { chunks, sorts: OnceCell::new(), profile: OnceCell::new() };
        let made = Rc::new(BlockFamily {
            kinds: StageKinds::new(scenario),
            pp,
            microbatches,
            schedules: alike.into_iter().map(ordered).collect(),
        });
        self.known.insert(key, Rc::clone(&made));
        made
    }

    /// Units of work that orders took since this was last asked.
    pub fn spent(&mut self) -> u64 {
        std::mem::take(&mut self.laid_out) / OPS
    }

    /// The sorts of ranks of a schedule in `family`, whose layouts share `run`; none where it has no order.
    pub fn sorts<'a>(&mut self, family: &'a BlockFamily, run: &Run, chunks: ScheduleChunks) -> Option<&'a Sorts> {
        let one = family.of(chunks)?;
        if one.sorts.get().is_none() {
            let spec = spec(run, chunks, family.pp, family.microbatches)?;
            let made = if let Some(ranks) = held(&spec) {
                Sorts::new(ranks, &family.kinds)
            } else {
                let facts = self.facts(run, chunks, family.pp, family.microbatches)?;
                let ranks = facts.ranks.iter();
                let ranks = ranks.map(|rank| (rank.stages.clone(), rank.versions));
                Sorts::new(ranks, &family.kinds)
            };
            return Some(one.sorts.get_or_init(|| made));
        }
        one.sorts.get()
    }

    /// The profile of a schedule in `family`; none where it has no order.
    pub fn profile<'a>(
        &mut self,
        family: &'a BlockFamily,
        run: &Run,
        chunks: ScheduleChunks,
    ) -> Option<&'a BlockProfile> {
        let one = family.of(chunks)?;
        if one.profile.get().is_none() {
            let facts = self.facts(run, chunks, family.pp, family.microbatches)?;
            let made = BlockProfile::new(facts, self.sorts(family, run, chunks)?);
            return Some(one.profile.get_or_init(|| made));
        }
        one.profile.get()
    }

    /// The facts of an order; none where there is none.
    fn facts(&mut self, run: &Run, chunks: ScheduleChunks, pp: u64, microbatches: u64) -> Option<Rc<Facts>> {
        let (schedule, each) = (chunks.schedule as u8, chunks.virtual_stages);
        let key = (schedule, each, pp, microbatches);
        if let Some(facts) = self.facts.get(&key) {
            return facts.clone();
        }
        let made = self.stretched(run, chunks, pp, microbatches).or_else(|| {
            let spec = spec(run, chunks, pp, microbatches)?;
            Facts::timed(&spec).or_else(|| {
                self.laid_out = self.laid_out.saturating_add(op_count(&spec));
                facts(&spec)
            })
        });
        let made = made.map(Rc::new);
        self.facts.insert(key, made.clone());
        made
    }

    /// The facts of many rounds of the ranks, from those of few: where one round more changes nothing but the work, no
    /// number of rounds does.
    fn stretched(&mut self, run: &Run, chunks: ScheduleChunks, pp: u64, microbatches: u64) -> Option<Facts> {
        let (rounds, few) = (microbatches / pp, ROUNDS * pp);
        let varies = chunks.schedule.row().uses_durations || run.schedule_options.group.is_some();
        if varies || rounds < ROUNDS + 2 || !microbatches.is_multiple_of(pp) {
            return None;
        }
        let one = self.facts(run, chunks, pp, few)?;
        let two = self.facts(run, chunks, pp, few + pp)?;
        one.stretched(&two, (rounds - ROUNDS) as f64)
    }
}

/// Stages of each rank and versions of their weights, where the schedule tells without its order: two directions share
/// few micro-batches as it happens.
fn held(spec: &Spec) -> Option<impl Iterator<Item = (Vec<usize>, u64)>> {
    let (row, p, chunks) = (spec.schedule, spec.pp, spec.chunks());
    matches!(row.placement, StagePlacement::Loop | StagePlacement::Snake).then(|| {
        (0..p).map(move |rank| {
            let stage = |chunk| row.placement.stage(rank, chunk, p) as usize;
            let stages = (0..chunks).map(stage).collect();
            (stages, u64::from((row.copies)(p, rank)))
        })
    })
}

/// The request for a schedule's order.
fn spec(run: &Run, chunks: ScheduleChunks, pp: u64, microbatches: u64) -> Option<Spec> {
    let row = chunks.schedule.row();
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
fn facts(spec: &Spec) -> Option<Facts> {
    let built = pipeline::build(spec, &Durations::unit(spec.stages())).ok()?;
    Some(Facts::of(&built.order, spec, spec.schedule.uses_durations))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{OneOf, Schedule};

    fn one(schedule: Schedule, v: u64, pp: u64, m: u64) -> Facts {
        let chunks = ScheduleChunks { schedule, virtual_stages: v, each: v };
        facts(&spec(&Run::default(), chunks, pp, m).unwrap()).unwrap()
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

    /// The facts of a few rounds of the ranks, stretched, equal those of all rounds.
    #[test]
    fn facts_of_many_micro_batches_are_those_of_few_with_more_work() {
        let run = Run::default();
        let mut orders = Orders::default();
        let mut shorter = 0;
        for (schedule, _) in Schedule::ALL {
            for (pp, v) in [(2, 2), (4, 3), (6, 2)] {
                for rounds in [6, 7, 11] {
                    let chunks = ScheduleChunks { schedule: *schedule, virtual_stages: v, each: v };
                    let whole = facts(&spec(&run, chunks, pp, rounds * pp).unwrap());
                    shorter += u32::from(orders.stretched(&run, chunks, pp, rounds * pp).is_some());
                    let ours = orders.facts(&run, chunks, pp, rounds * pp);
                    assert_eq!(ours.as_deref(), whole.as_ref(), "{schedule:?} {pp} {rounds}");
                }
            }
        }
        assert!(shorter > 100, "{shorter}");
    }

    /// For every schedule: the stages of each rank and its versions of the weights are those of the order.
    #[test]
    fn what_a_rank_holds_is_known_before_the_order() {
        let run = Run::default();
        for (schedule, _) in Schedule::ALL {
            let each = schedule.fixed_chunks(&run.schedule_options).unwrap_or(3);
            let chunks = ScheduleChunks { schedule: *schedule, virtual_stages: each, each };
            for m in [4, 8, 20] {
                let wanted = spec(&run, chunks, 4, m);
                let facts = wanted.as_ref().and_then(facts);
                let (Some(before), Some(facts)) = (wanted.as_ref().and_then(held), facts) else {
                    continue;
                };
                let ranks = facts.ranks.into_iter();
                let ranks = ranks.map(|rank| (rank.stages, rank.versions));
                assert!(before.eq(ranks), "{schedule:?} {m}");
            }
        }
    }

    /// Facts that no duration changes, against those of an order.
    #[test]
    fn facts_of_a_timed_schedule_need_no_order() {
        let mut met = 0;
        for (schedule, _) in Schedule::ALL {
            let chunks = ScheduleChunks { schedule: *schedule, virtual_stages: 2, each: 2 };
            for (pp, m) in [(2, 6), (4, 8)] {
                let spec = spec(&Run::default(), chunks, pp, m).unwrap();
                if let Some(timed) = Facts::timed(&spec) {
                    assert_eq!(facts(&spec), Some(timed), "{schedule:?} {pp} {m}");
                    met += 1;
                }
            }
        }
        assert!(met >= 4, "{met}");
    }

    #[test]
    fn a_v_turns_without_a_message() {
        let facts = one(Schedule::ZbV, 1, 4, 8);
        assert_eq!(facts.hops, [0.0, 1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(facts.ranks[0].stages, [0, 7]);
    }
}
