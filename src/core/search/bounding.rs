//! The first pass of a search: what every layout of a space takes at least, block by block.

use super::bound::{Layout, Path, states_run_out};
use super::orders::Orders;
use super::ranking::{Place, Promise};
use super::space::{Block, Member, Space};
use super::stages::{Stages, Weights};
use crate::memory::detailed::ChunkBytes;
use crate::run::{Recompute, Scenario};

/// The pass under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounding {
    orders: Orders,
    weights: Weights,
    stages: Option<Stages>,
    last: Option<(Block, Scenario)>,
    variant: usize,
    next: usize,
    /// Layouts looked at.
    pub evaluated: u64,
    /// Those that memory does not rule out.
    pub promises: Vec<Promise>,
}

impl Bounding {
    /// Share of the blocks of `space` that is done.
    #[must_use]
    pub fn share(&self, space: &Space) -> f64 {
        self.next as f64 / space.blocks.len().max(1) as f64
    }

    /// Whether every block of `space` is done.
    #[must_use]
    pub(crate) fn is_over(&self, space: &Space) -> bool {
        self.next >= space.blocks.len()
    }

    /// Bounds the layouts of the next block; returns the units of work that this took.
    pub fn step(&mut self, space: &Space) -> u64 {
        let index = self.next;
        self.next += 1;
        let block = space.blocks[index];
        if self.variant != block.variant {
            // Nothing of another way to train is alike.
            (self.orders, self.weights) = (Orders::default(), Weights::default());
            (self.stages, self.last) = (None, None);
            self.variant = block.variant;
        }
        let members = space.members(&block);
        let Some(first) = members.first() else {
            return 1;
        };
        let Some(mut scenario) = self.scenario(space, &block, *first) else {
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
        let clock = stages.clock.clone();
        let schedules = || space.schedules(block.pp);
        let family = self.orders.family(&block, &scenario, schedules);
        let mut bytes: [Option<Vec<ChunkBytes>>; 2] = [None, None];
        let mut paths: Vec<([u64; 2], Path)> = Vec::new();
        for (at, member) in members.iter().enumerate() {
            if !family.has(member.chunks) {
                continue;
            }
            self.evaluated += 1;
            set(&mut scenario, *member);
            let orders = &mut self.orders;
            let mut profile = || orders.profile(&family, &scenario.run, member.chunks);
            let Some(owned) = self.weights.of(&block, &scenario, &mut profile) else {
                continue;
            };
            if states_run_out(&scenario, &owned) {
                continue;
            }
            let Some(profile) = profile() else {
                continue;
            };
            let mut layout = Layout {
                scenario: &scenario,
                clock: &clock,
                kinds: &family.kinds,
                profile,
                owned: &owned,
                bytes: &[],
            };
            // ZeRO-3 keeps and recomputes differently.
            layout.bytes = bytes[usize::from(member.zero == 3)]
                .get_or_insert_with(|| stages.bytes(&block, &scenario, &family.kinds));
            let Some(peak) = layout.peak() else {
                continue;
            };
            // ZeRO 0 and 1 move nothing within a micro-batch; what ZeRO-2 moves hangs on the schedule's groups.
            let key = [member.zero.max(1), scenario.reductions()];
            let known = paths.iter().position(|(known, _)| *known == key);
            let known = known.unwrap_or_else(|| {
                let times = stages.times(&block, &scenario, &family.kinds);
                paths.push((key, Path::new(&family.kinds, times)));
                paths.len() - 1
            });
            self.promises.push(Promise {
                bound: layout.time(&paths[known].1),
                peak,
                place: Place::new(index, at),
            });
        }
        self.last = Some((block, scenario));
        2 + members.len() as u64
    }

    /// The scenario of a block, made from that of the block before where they differ in recomputation only.
    fn scenario(&mut self, space: &Space, block: &Block, first: Member) -> Option<Scenario> {
        let recompute = &space.axes.recompute[block.recompute];
        if let Some((before, mut scenario)) = self.last.take() {
            let alike = Block {
                recompute: block.recompute,
                ..before
            };
            let checked = matches!(recompute, Recompute::Layers(_) | Recompute::Modules(_));
            if alike == *block && !checked {
                scenario.run.recompute.clone_from(recompute);
                return Some(scenario);
            }
        }
        Scenario::new(&space.run(block, first)).ok()
    }
}

/// Makes the block's scenario that of `member`.
fn set(scenario: &mut Scenario, member: Member) {
    scenario.zero.stage = member.zero;
    scenario.run.zero = member.zero;
    scenario.run.schedule = member.chunks.schedule;
    scenario.run.virtual_stages = member.chunks.virtual_stages;
}
