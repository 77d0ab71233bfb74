//! Lower bounds of every layout of a space, in two steps. In the first, every layout gets a bound of its memory and of
//! the time that its mean rank computes and waits, block by block. In the second, the few layouts that may win get a
//! bound of their time by schedule and parameters, which costs much more.

use super::bound::{BoundedLayout, Path, PeakBound, even_time, states_run_out};
use super::orders::Orders;
use super::promise::{LayoutPlace, Promise};
use super::space::{Block, Member, Space};
use super::stages::{TimedStages, Weights, of_order};
use crate::memory::detailed::ChunkBytes;
use crate::run::{Recompute, Scenario};
use crate::sort::sort_by;

/// Blocks in a row, which share much of their work.
pub(crate) const ROW: usize = 32;
/// Units of work of a block whose layouts are timed.
const TIMED: u64 = 20;

/// Values that the layouts of one way to train share.
#[derive(Clone, Debug, Default)]
struct Shared {
    orders: Orders,
    weights: Weights,
}

/// The block that was looked at last: the next one may take over its scenario and its stages.
#[derive(Clone, Debug, Default)]
struct LastBlock {
    stages: Option<TimedStages>,
    scenario: Option<(Block, Scenario)>,
}

impl LastBlock {
    /// The scenario of the first layout of a block, and its stages; none where no such Run is valid.
    fn open(&mut self, space: &Space, block: &Block, first: Member) -> Option<Scenario> {
        let scenario = self.scenario(space, block, first)?;
        self.stages = self.stages.take().filter(|stages| stages.serve(block));
        Some(scenario)
    }

    /// The scenario of a block, made from that of the block before where they differ in recomputation only.
    fn scenario(&mut self, space: &Space, block: &Block, first: Member) -> Option<Scenario> {
        let recompute = &space.axes.recompute[block.recompute];
        if let Some((before, mut scenario)) = self.scenario.take() {
            let alike = Block { recompute: block.recompute, ..before };
            let checked = matches!(recompute, Recompute::Layers(_) | Recompute::Modules(_));
            if alike == *block && !checked {
                scenario.run.recompute.clone_from(recompute);
                return Some(scenario);
            }
        }
        Scenario::new(&space.run(block, first)).ok()
    }
}

/// The bounds as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllBounds {
    /// By way to train.
    shared: Vec<Shared>,
    weighed: LastBlock,
    timed: LastBlock,
    next: usize,
    /// First blocks of the rows after this one, the next last, in a round that takes up what the first passed over.
    again: Option<Vec<usize>>,
    next_timed: usize,
    pub evaluated: u64,
    /// Layouts that memory does not rule out, in the order of the space.
    pub promises: Vec<Promise>,
    /// Layouts that are tight at best and not listed ([`super::ranking::is_listed`]), in the order of the space.
    pub near: Vec<LayoutPlace>,
}

impl AllBounds {
    /// Share of the blocks of `space` that is done.
    pub fn share(&self, space: &Space) -> f64 {
        (self.next as f64 / space.blocks.len().max(1) as f64).min(1.0)
    }

    pub(crate) fn next(&self) -> usize {
        self.next
    }

    /// True if every block of `space` is done.
    pub(crate) fn is_over(&self, space: &Space) -> bool {
        self.next >= space.blocks.len()
    }

    /// Leaves out the row that begins with the next block.
    pub fn pass_over(&mut self, space: &Space) {
        self.next = match &mut self.again {
            None => self.next + ROW,
            Some(rows) => rows.pop().unwrap_or(space.blocks.len()),
        };
    }

    /// Takes up the `rows` that begin with these blocks.
    pub fn again(&mut self, mut rows: Vec<usize>, space: &Space) {
        rows.reverse();
        self.next = rows.pop().unwrap_or(space.blocks.len());
        self.again = Some(rows);
    }

    /// True in the round over all rows.
    pub fn is_first_round(&self) -> bool {
        self.again.is_none()
    }

    /// Brings what later rounds found into the order of the space, once they are over.
    pub fn settle(&mut self) {
        if self.again.is_some() {
            sort_by(&mut self.promises, |a, b| a.place.cmp(&b.place));
            sort_by(&mut self.near, LayoutPlace::cmp);
            self.next_timed = 0;
        }
    }

    /// Weighs the layouts of the next block; returns the units of work that this took.
    pub fn step(&mut self, space: &Space) -> u64 {
        let index = self.next;
        self.next += 1;
        if let Some(rows) = &mut self.again
            && self.next.is_multiple_of(ROW)
        {
            self.next = rows.pop().unwrap_or(space.blocks.len());
        }
        let block = &space.blocks[index];
        let members = space.members(block);
        let Some(first) = members.first() else {
            return 1;
        };
        let Some(mut scenario) = self.weighed.open(space, block, *first) else {
            return 2;
        };
        let Shared { orders, weights } = shared(&mut self.shared, block);
        let schedules = || space.schedules(block.pp);
        let family = orders.family(block, &scenario, schedules);
        // ZeRO-3 keeps and recomputes differently.
        let mut bytes: [Option<Vec<ChunkBytes>>; 2] = [None, None];
        // Passes of two micro-batches side by side, and those that are cut, take another time.
        let mut bounds: [[[Option<f64>; 2]; 2]; 2] = Default::default();
        for (at, member) in members.iter().enumerate() {
            if !family.has(member.chunks) {
                continue;
            }
            self.evaluated += 1;
            set(&mut scenario, *member);
            let sorts = || orders.sorts(&family, &scenario.run, member.chunks);
            let Some(owned) = weights.of(block, &scenario, sorts) else {
                continue;
            };
            if states_run_out(&scenario, &owned) {
                continue;
            }
            let (Some(profile), Some(sorts)) = (
                orders.profile(&family, &scenario.run, member.chunks),
                orders.sorts(&family, &scenario.run, member.chunks),
            ) else {
                continue;
            };
            let layout = BoundedLayout { scenario: &scenario, kinds: &family.kinds, sorts, profile, owned: &owned };
            let stages = &mut self.weighed.stages;
            let stages = stages.get_or_insert_with(|| TimedStages::new(block, &scenario));
            let fsdp = usize::from(member.zero == 3);
            let bytes = bytes[fsdp].get_or_insert_with(|| stages.bytes(block, &scenario, &family.kinds));
            let (peak, may_fit) = match layout.peak(bytes) {
                PeakBound::Listed { bytes, may_fit } => (bytes, may_fit),
                PeakBound::Near => {
                    self.near.push(LayoutPlace::new(index, at));
                    continue;
                }
                PeakBound::Out => continue,
            };
            let [pairs, cuts] = of_order(&scenario).map(usize::from);
            let bound = bounds[fsdp][pairs][cuts].get_or_insert_with(|| {
                let times = stages.plain(block, &scenario, &family.kinds);
                even_time(&scenario, &family.kinds, &times)
            });
            self.promises.push(Promise {
                bound: *bound,
                timed: false,
                peak,
                may_fit,
                place: LayoutPlace::new(index, at),
            });
        }
        self.weighed.scenario = Some((*block, scenario));
        2 + members.len() as u64 + orders.spent()
    }

    /// The best bound of the layout at `place`, and the units of work that this took.
    pub fn time(&mut self, space: &Space, place: LayoutPlace) -> (f64, u64) {
        let find = |promises: &[Promise]| {
            let found = promises.binary_search_by_key(&place, |promise| promise.place);
            found.map(|at| promises[at]).ok()
        };
        match find(&self.promises) {
            Some(promise) if !promise.timed => {
                self.time_block(space, place.block());
                (find(&self.promises).map_or(0.0, |one| one.bound), TIMED)
            }
            known => (known.map_or(0.0, |one| one.bound), 1),
        }
    }

    /// Times the layouts of the next block of which that is not done; none where all are.
    pub fn time_next(&mut self, space: &Space) -> Option<u64> {
        let rest = self.promises.get(self.next_timed..)?;
        let at = rest.iter().position(|promise| !promise.timed);
        let Some(at) = at else {
            self.next_timed = self.promises.len();
            return None;
        };
        self.next_timed += at;
        self.time_block(space, self.promises[self.next_timed].place.block());
        Some(TIMED)
    }

    fn time_block(&mut self, space: &Space, index: usize) {
        let block = &space.blocks[index];
        let members = space.members(block);
        let start = self.promises.partition_point(|promise| promise.place.block() < index);
        let promises = self.promises[start..].iter_mut();
        let promises: Vec<&mut Promise> = promises.take_while(|one| one.place.block() == index).collect();
        let first = members.first();
        let opened = first.and_then(|first| self.timed.open(space, block, *first));
        let Some(mut scenario) = opened else {
            return;
        };
        let Shared { orders, weights } = shared(&mut self.shared, block);
        let family = orders.family(block, &scenario, || space.schedules(block.pp));
        let stages = &mut self.timed.stages;
        let stages = stages.get_or_insert_with(|| TimedStages::new(block, &scenario));
        let mut paths: Vec<([u64; 4], Path)> = Vec::new();
        for promise in promises {
            promise.timed = true;
            let member = members[promise.place.member()];
            set(&mut scenario, member);
            let (Some(profile), Some(sorts)) = (
                orders.profile(&family, &scenario.run, member.chunks),
                orders.sorts(&family, &scenario.run, member.chunks),
            ) else {
                continue;
            };
            let Some(owned) = weights.of(block, &scenario, || Some(sorts)) else {
                continue;
            };
            // ZeRO 0 and 1 move nothing within a micro-batch; what ZeRO-2 moves hangs on the schedule's groups.
            let [pairs, cuts] = of_order(&scenario).map(u64::from);
            let key = [member.zero.max(1), scenario.reductions(), pairs, cuts];
            let path = paths.iter().position(|(path, _)| *path == key);
            let path = path.unwrap_or_else(|| {
                let times = stages.times(block, &scenario, &family.kinds);
                paths.push((key, Path::new(&family.kinds, times)));
                paths.len() - 1
            });
            let layout = BoundedLayout { scenario: &scenario, kinds: &family.kinds, sorts, profile, owned: &owned };
            promise.bound = layout.time(&paths[path].1, stages.clock.rates());
        }
        self.timed.scenario = Some((*block, scenario));
    }
}

fn shared<'a>(list: &'a mut Vec<Shared>, block: &Block) -> &'a mut Shared {
    if list.len() <= block.variant {
        list.resize_with(block.variant + 1, Shared::default);
    }
    &mut list[block.variant]
}

/// Makes the block's scenario that of `member`.
fn set(scenario: &mut Scenario, member: Member) {
    if !scenario.run.shards_weights() {
        scenario.zero.stage = member.zero;
    }
    scenario.run.zero = member.zero;
    scenario.run.virtual_stages = member.chunks.virtual_stages;
    if scenario.run.schedule != member.chunks.schedule {
        scenario.run.schedule = member.chunks.schedule;
        scenario.software.ep_overlap = scenario.run.experts_beside();
    }
}

#[cfg(test)]
mod tests {
    use super::super::axes::Axes;
    use super::super::is_listed;
    use super::*;
    use crate::report::evaluate_plain;
    use crate::run::presets::{GPUS, MODELS, STACKS};
    use crate::run::{OneOf, Run, Schedule};
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use proptest::test_runner::RngSeed;

    /// Settings that move time or memory without being searched.
    const SETTINGS: &[(&str, &str)] = &[
        ("precision", "te-fp8"),
        ("precision", "mxfp8"),
        ("overlap.ep", "0.5"),
        ("overlap.ep", "1"),
        ("overlap.dp", "0"),
        ("overlap.dp", "1"),
        ("ep_overlap", "1f1b"),
        ("delay_wgrad", "true"),
        ("shared_expert_overlap", "true"),
        ("moe_imbalance", "1.35"),
        ("moe_dispatch", "per-node"),
        ("cuda_graphs", "true"),
        ("loader_stage_s", "0.05"),
        ("loader_ns", "2.75"),
        ("zero2_reduce", "group"),
        ("zero2_reduce", "step"),
        ("hsdp_shard", "4"),
        ("rank_order", "tp-cp-ep-pp-dp"),
        ("schedule_options.group", "2"),
        ("schedule_options.memory_limit", "4"),
        ("recompute.modules", "moe_act"),
        ("gpu.inter_gb_per_s", "6.25"),
        ("gpu.hbm_gb_per_s", "100000"),
        ("offload.optimizer", "cpu"),
        ("offload.parameters", "cpu"),
        ("adapter.method", "lora"),
        ("host_memory_gib", "2048"),
        ("optimizer", "muon"),
        ("cp_comm", "all-gather"),
        ("model.tied_embeddings", "true"),
        ("model.vocab", "250000"),
    ];

    /// A Run and the layouts of its GPUs under every schedule.
    fn space() -> impl Strategy<Value = Option<Space>> {
        let ids = |list: Vec<&'static str>| select(list);
        let models = ids(MODELS.iter().map(|row| row.choice.id).collect());
        let gpus = ids(GPUS.iter().map(|row| row.choice.id).collect());
        let stacks = ids(STACKS.iter().map(|row| row.choice.id).collect());
        let sizes = |list: &'static [u64]| select(list);
        let layout = (sizes(&[1, 2, 4, 8]), sizes(&[1, 2, 4, 8]), sizes(&[1, 1, 1, 2]), sizes(&[1, 2, 4, 8, 16]));
        let work = (sizes(&[16, 32, 64, 256, 1024]), sizes(&[32, 64, 128, 512]), sizes(&[2048, 4096, 16384]));
        let settings = vec(select(SETTINGS), 0..5);
        (models, gpus, stacks, layout, work, settings).prop_map(|(model, gpu, stack, layout, work, settings)| {
            let ((tp, pp, cp, ep), (gpus, batch, length)) = (layout, work);
            let sized = [("gpus", gpus), ("global_batch", batch), ("seq_len", length)];
            let named = [("model", model), ("gpu", gpu), ("stack", stack)];
            let named = named.map(|(key, id)| (key, id.to_owned()));
            let mut texts: Vec<(&str, String)> = named.to_vec();
            texts.extend(sized.map(|(key, size)| (key, size.to_string())));
            texts.extend(settings.iter().map(|(key, text)| (*key, (*text).to_owned())));
            let run = Run::default().with_texts(&texts)?;
            let mut axes = Axes::of(&run).ok()?;
            (axes.tp, axes.pp, axes.cp, axes.ep) = (vec![tp], vec![pp], vec![cp], vec![ep]);
            axes.micro_batch = vec![1, 2];
            axes.virtual_stages = Some(vec![2, 3]);
            axes.recompute = vec![Recompute::None, Recompute::Full];
            axes.sequence_parallel = vec![true];
            let schedules = Schedule::ALL.iter().map(|(schedule, _)| *schedule);
            // An order that is searched for takes long, and one that is written down is for its own sizes.
            let searched = [Schedule::Custom, Schedule::Optimal];
            axes.schedules = schedules.filter(|schedule| !searched.contains(schedule)).collect();
            let model = run.model.resolve().ok()?;
            Some(Space::new(run, axes, &model))
        })
    }

    /// Every layout is reported and held to what was promised of it.
    fn hold(space: &Space) -> u64 {
        let mut bounds = AllBounds::default();
        while !bounds.is_over(space) {
            bounds.step(space);
        }
        while bounds.time_next(space).is_some() {}
        let mut seen = 0;
        for (index, block) in space.blocks.iter().enumerate() {
            for (at, member) in space.members(block).iter().enumerate() {
                let run = space.run(block, *member);
                let Ok(found) = evaluate_plain(&run) else { continue };
                let place = LayoutPlace::new(index, at);
                let promise = bounds.promises.binary_search_by_key(&place, |promise| promise.place);
                let Ok(promise) = promise.map(|at| bounds.promises[at]) else {
                    assert!(!is_listed(&found.report.memory), "ruled out: {run:?}");
                    continue;
                };
                let (time, peak) = (found.report.step.time_s.0, found.report.memory.peak_bytes.0);
                assert!(promise.bound <= time, "{} s is above {time}: {run:?}", promise.bound);
                assert!(promise.peak <= peak, "{} bytes are above {peak}: {run:?}", promise.peak);
                seen += 1;
            }
        }
        seen
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 120, failure_persistence: None, rng_seed: RngSeed::Fixed(2_526), ..ProptestConfig::default()
        })]
        #[test]
        fn no_bound_is_above_the_report_of_its_layout(space in space()) {
            if let Some(space) = space {
                hold(&space);
            }
        }
    }
}
