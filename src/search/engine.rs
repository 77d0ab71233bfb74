//! The search itself: bound every layout, then ask the full report of the most promising until no other can win.
//!
//! Exact: a layout is left unreported only where its bound says that it runs out of memory, or that it is slower than
//! the last of the layouts already reported. It stops wherever its budget ends and goes on from there.

use super::bound::{Layout, Path};
use super::orders::Orders;
use super::space::{Member, Space};
use super::stages::{Stages, Weights};
use crate::memory::Verdict;
use crate::memory::detailed::ChunkBytes;
use crate::report::{Memory, Report, report};
use crate::run::{Run, Scenario};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Units of work of a report, besides its ops.
const REPORT: u64 = 100;
/// Ops of a report that make a unit.
const OPS: u64 = 20;

/// Where a layout stands in its space.
type Place = (usize, usize);

/// A layout that may win, smallest bound first, then first in its space.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Promise {
    bound: f64,
    place: Place,
}

impl Eq for Promise {}
impl PartialOrd for Promise {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Promise {
    /// Reversed: a heap gives its greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        let time = other.bound.total_cmp(&self.bound);
        time.then(other.place.cmp(&self.place))
    }
}

/// A layout with its report.
#[derive(Clone, Debug)]
pub struct Found {
    /// The layout.
    pub run: Run,
    /// Its report.
    pub report: Report,
    place: Place,
}

impl Found {
    fn key(&self) -> (f64, Place) {
        (self.report.step.time_s.0, self.place)
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// It is over.
    pub done: bool,
    /// Share of the work that is done, about: 0 to 1.
    pub share: f64,
    /// Layouts looked at.
    pub evaluated: u64,
    /// Of these, the ones that memory does not rule out.
    pub feasible: u64,
    /// Of these, the ones whose full report was asked.
    pub reported: u64,
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    space: Space,
    top: usize,
    orders: Orders,
    weights: Weights,
    stages: Option<Stages>,
    next: usize,
    queue: BinaryHeap<Promise>,
    best: Vec<Found>,
    first_bound: f64,
    progress: Progress,
}

impl Search {
    /// A search for the `top` fastest layouts of `space`.
    #[must_use]
    pub fn new(space: Space, top: usize) -> Self {
        Self {
            space,
            top: top.max(1),
            orders: Orders::default(),
            weights: Weights::default(),
            stages: None,
            next: 0,
            queue: BinaryHeap::new(),
            best: Vec::new(),
            first_bound: 0.0,
            progress: Progress {
                done: false,
                share: 0.0,
                evaluated: 0,
                feasible: 0,
                reported: 0,
            },
        }
    }

    /// Works for about `budget` units, each of a microsecond or a few, and says how far it is.
    pub fn step(&mut self, budget: u64) -> Progress {
        let mut left = budget.max(1);
        while left > 0 && !self.progress.done {
            let spent = if self.next < self.space.blocks.len() {
                self.bound_block()
            } else {
                self.report_one()
            };
            left = left.saturating_sub(spent.max(1));
        }
        self.progress.share = self.share();
        self.progress
    }

    /// Works until it is over.
    pub fn finish(&mut self) {
        while !self.step(u64::MAX).done {}
    }

    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// The fastest layouts so far, strictly by step time; equal ones in the order of the space.
    #[must_use]
    pub fn best(&self) -> &[Found] {
        &self.best
    }

    /// What is searched.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Bounding is taken for most of the work; then the bound climbs towards the time of the last row.
    fn share(&self) -> f64 {
        const BOUNDING: f64 = 0.7;
        if self.progress.done {
            return 1.0;
        }
        let blocks = self.space.blocks.len().max(1) as f64;
        let bounding = BOUNDING * self.next as f64 / blocks;
        let climbed = match (self.queue.peek(), self.slowest()) {
            (Some(next), Some(end)) if end > self.first_bound => {
                (next.bound - self.first_bound) / (end - self.first_bound)
            }
            _ => 0.0,
        };
        bounding + (1.0 - BOUNDING) * climbed.clamp(0.0, 1.0)
    }

    /// Time of the last row, once there are enough.
    fn slowest(&self) -> Option<f64> {
        let last = self.best.last().filter(|_| self.best.len() >= self.top);
        last.map(|found| found.report.step.time_s.0)
    }

    /// Bounds the layouts of the next block.
    fn bound_block(&mut self) -> u64 {
        let index = self.next;
        self.next += 1;
        let block = self.space.blocks[index];
        let members = self.space.members(&block);
        let Some(first) = members.first() else {
            return 1;
        };
        let Ok(mut scenario) = Scenario::new(&self.space.run(&block, *first)) else {
            return 2;
        };
        if !self
            .stages
            .as_ref()
            .is_some_and(|stages| stages.serve(&block))
        {
            self.stages = None;
        }
        let stages = self
            .stages
            .get_or_insert_with(|| Stages::new(&block, &scenario));
        let schedules = || self.space.schedules(block.pp);
        let family = self.orders.family(&block, &scenario, schedules);
        let mut bytes: [Option<Vec<ChunkBytes>>; 2] = [None, None];
        let mut paths: [Option<Path>; 4] = [None, None, None, None];
        for (at, member) in members.iter().enumerate() {
            let Some(profile) = family.profile(member.chunks) else {
                continue;
            };
            self.progress.evaluated += 1;
            set(&mut scenario, *member);
            // ZeRO-3 keeps and recomputes differently; ZeRO 0 and 1 move nothing within a micro-batch.
            let bytes = bytes[usize::from(member.zero == 3)]
                .get_or_insert_with(|| stages.bytes(&block, &scenario, &family.kinds));
            let path = paths[usize::try_from(member.zero.clamp(1, 3)).unwrap_or(1)]
                .get_or_insert_with(|| {
                    let times = stages.times(&block, &scenario, &family.kinds);
                    Path::new(&family.kinds, &times)
                });
            let owned = self.weights.of(&block, &scenario, profile);
            let layout = Layout {
                scenario: &scenario,
                clock: &stages.clock,
                kinds: &family.kinds,
                profile,
                owned: &owned,
                path,
                bytes,
            };
            if layout.runs_out() {
                continue;
            }
            self.progress.feasible += 1;
            let bound = layout.time();
            let place = (index, at);
            self.queue.push(Promise { bound, place });
        }
        self.first_bound = self.queue.peek().map_or(0.0, |first| first.bound);
        2 + members.len() as u64
    }

    /// Reports the most promising layout, unless nothing left can be among the best.
    fn report_one(&mut self) -> u64 {
        let Some(promise) = self.queue.pop() else {
            self.progress.done = true;
            return 1;
        };
        if self
            .slowest()
            .is_some_and(|slowest| promise.bound > slowest)
        {
            self.queue.push(promise);
            self.progress.done = true;
            return 1;
        }
        let (block, member) = promise.place;
        let block = self.space.blocks[block];
        let run = self.space.run(&block, self.space.members(&block)[member]);
        self.progress.reported += 1;
        let Ok(report) = report(&run) else {
            // No order or no shape after all: not a layout.
            self.progress.evaluated -= 1;
            self.progress.feasible -= 1;
            return REPORT;
        };
        let ops = 2 * block.pp * block.chunks * report.layout.microbatches;
        if fits(&report.memory) {
            self.enter(Found {
                run,
                report,
                place: promise.place,
            });
        } else {
            self.progress.feasible -= 1;
        }
        REPORT + ops / OPS
    }

    fn enter(&mut self, found: Found) {
        let (time, place) = found.key();
        let before = |other: &Found| {
            let (other_time, other_place) = other.key();
            let order = other_time.total_cmp(&time);
            order.then(other_place.cmp(&place)) == Ordering::Less
        };
        let at = self.best.partition_point(before);
        self.best.insert(at, found);
        self.best.truncate(self.top);
    }
}

/// Whether a layout is counted on: not out of memory, and no more needed than the driver shows.
///
/// The band of "tight" lies around all of the visible memory. Of the 31 published runs in it 18 ran out; a plan keeps to
/// its lower half, where the estimate itself still fits.
#[must_use]
pub fn fits(memory: &Memory) -> bool {
    memory.verdict != Verdict::Oom && memory.peak_bytes <= memory.capacity_bytes
}

/// Makes the block's scenario that of `member`.
fn set(scenario: &mut Scenario, member: Member) {
    scenario.zero.stage = member.zero;
    scenario.run.zero = member.zero;
    scenario.run.schedule = member.chunks.schedule;
    scenario.run.virtual_stages = member.chunks.virtual_stages;
}
