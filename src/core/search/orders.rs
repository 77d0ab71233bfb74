//! What a bound needs to know of a schedule's order: who holds which stages, how much of it is alive at once, what a
//! rank does first and last. Made once for every (schedule, chunks, ranks, micro-batches) and shared by all layouts.

use super::axes::{Chunks, Split};
use super::space::Block;
use crate::pipeline::row::Visit;
use crate::pipeline::stats::Alive;
use crate::pipeline::{self, Durations, Item, Kind, Order, Spec};
use crate::run::{Kinds, OneOf, Run, Scenario, Schedule};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// One rank of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct RankFacts {
    /// Global stages that it holds.
    pub stages: Vec<usize>,
    /// Forwards, backwards (input) and backwards (weight) of each of `stages`, in micro-batches.
    pub work: Vec<[f64; 3]>,
    /// Micro-batches of each of `stages` that are alive at once, at every instant that no other exceeds in all of them.
    pub alive: Vec<Vec<f64>>,
    /// Versions of the weights.
    pub versions: u64,
    /// The stage of its first forward.
    pub first: usize,
    /// What its last op still has behind it: the stage, and whether the stages before add their weight gradients to the
    /// way back; none where nothing waits for it.
    pub last: Option<(usize, bool)>,
}

/// An order, as far as a bound looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Its ranks.
    pub ranks: Vec<RankFacts>,
    /// Messages from the first stage to each stage.
    pub hops: Vec<f64>,
    /// Pieces of a micro-batch.
    pub pieces: f64,
}

impl Facts {
    fn of(order: &Order, spec: &Spec, timed: bool) -> Self {
        let mut hops = vec![0.0];
        for stage in 1..order.stages {
            let before = hops.last().copied().unwrap_or(0.0);
            let crosses = order.placement.crosses(stage, order.pp());
            hops.push(before + f64::from(u8::from(crosses)));
        }
        Self {
            ranks: (0..order.ranks.len())
                .map(|rank| rank_facts(order, spec, rank, timed))
                .collect(),
            hops,
            pieces: f64::from(spec.pieces()),
        }
    }
}

fn rank_facts(order: &Order, spec: &Spec, rank: usize, timed: bool) -> RankFacts {
    let stages: Vec<usize> = order
        .stages_of(rank)
        .into_iter()
        .map(|s| s as usize)
        .collect();
    let pieces = f64::from(spec.pieces());
    let mut slot = vec![0usize; order.stages as usize];
    for (index, stage) in stages.iter().enumerate() {
        slot[*stage] = index;
    }
    let mut work = vec![[0.0; 3]; stages.len()];
    let mut alive = Alive::none(&stages);
    let mut peaks = Peaks::default();
    let mut grown = false;
    let by_layer = OneOf::from_id(spec.schedule.id).is_some_and(Schedule::pairs_by_layer);
    let mut first = None;
    let mut last = None;
    let mut visit = |item: Item, times: u32| {
        for op in item.ops() {
            let stage = op.stage as usize;
            let share = f64::from(times) / pieces;
            let done = &mut work[slot[stage]];
            match op.kind {
                Kind::F => {
                    done[0] += share;
                    first = first.or(Some(stage));
                }
                Kind::B => done[1] += share,
                Kind::W => done[2] += share,
                Kind::BW => {
                    done[1] += share;
                    done[2] += share;
                }
            }
            last = op
                .kind
                .sends_gradient()
                .then_some((stage, op.kind == Kind::BW));
        }
    };
    order.ranks[rank].ends(|part| match part {
        Visit::Item(item) => {
            let pair = by_layer && item.ops().count() > 1;
            if pair && grown {
                peaks.pass(&alive.counts);
            }
            if pair {
                alive.free(&[item], 1);
            }
            grown |= item.ops().any(|op| op.kind == Kind::F);
            alive.add(&[item], 1);
            if grown && item.ops().any(|op| op.kind.frees()) {
                peaks.pass(&alive.counts);
                grown = false;
            }
            if !pair {
                alive.free(&[item], 1);
            }
            visit(item, 1);
        }
        Visit::Skipped(items, times) => {
            alive.add(items, times);
            alive.free(items, times);
            for item in items {
                visit(*item, times);
            }
        }
    });
    let splits = f64::from(order.splits);
    RankFacts {
        // An order that depends on durations holds at least one chunk of its first stage; nothing else is sure.
        alive: if timed {
            let one = |slot| if slot == 0 { 1.0 / splits } else { 0.0 };
            vec![(0..stages.len()).map(one).collect()]
        } else {
            let shares = |counts: &Vec<u32>| -> Vec<f64> {
                counts
                    .iter()
                    .map(|count| f64::from(*count) / splits)
                    .collect()
            };
            peaks.all().iter().map(shares).collect()
        },
        first: if timed {
            stages.first().copied()
        } else {
            first
        }
        .unwrap_or(0),
        last: last.filter(|_| !timed),
        stages,
        work,
        versions: u64::from(order.weight_copies.get(rank).copied().unwrap_or(1)),
    }
}

/// The instants at which most is alive: no other holds as much everywhere, and none lies on the way between two others,
/// where chunks of any weight hold no more than at one end.
#[derive(Default)]
struct Peaks {
    known: Vec<Vec<u32>>,
    /// The instants passed last, the latest one behind.
    last: [Vec<u32>; 2],
}

impl Peaks {
    fn pass(&mut self, alive: &[u32]) {
        let [before, last] = &mut self.last;
        let mut ways = before.iter().zip(last.iter()).zip(alive);
        let straight = !before.is_empty() && ways.all(|((a, b), c)| 2 * b == a + c);
        if !straight && !last.is_empty() {
            enter(&mut self.known, last);
        }
        std::mem::swap(before, last);
        last.clear();
        last.extend_from_slice(alive);
    }
    fn all(mut self) -> Vec<Vec<u32>> {
        let last = std::mem::take(&mut self.last[1]);
        if !last.is_empty() {
            enter(&mut self.known, &last);
        }
        self.known
    }
}

/// Adds an instant, unless a known one holds as much everywhere; drops those that hold no more than it.
fn enter<T: PartialOrd + Copy>(peaks: &mut Vec<Vec<T>>, alive: &[T]) {
    let covers = |a: &[T], b: &[T]| a.iter().zip(b).all(|(a, b)| a >= b);
    if peaks.iter().any(|peak| covers(peak.as_slice(), alive)) {
        return;
    }
    peaks.retain(|peak| !covers(alive, peak));
    peaks.push(alive.to_vec());
}

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
                        known || self.facts(&scenario.run, *chunks, pp, microbatches).is_some()
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
        let key = (
            chunks.schedule as u8,
            chunks.virtual_stages,
            pp,
            microbatches,
        );
        let known = self.facts.entry(key);
        let make = || facts(run, chunks, pp, microbatches).map(Rc::new);
        known.or_insert_with(make).clone()
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

    #[test]
    fn a_v_turns_without_a_message() {
        let facts = one(Schedule::ZbV, 1, 4, 8);
        assert_eq!(facts.hops, [0.0, 1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(facts.ranks[0].stages, [0, 7]);
    }
}
