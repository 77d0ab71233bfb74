//! The layouts of a space, in blocks that share their stage times: everything but the schedule and the ZeRO stage.
//!
//! Two layouts that mean the same are one: sequence parallelism without tensor parallelism, ZeRO where there is one
//! replica, selective recomputation of what is not kept, any schedule of one stage.

use super::axes::{Axes, ScheduleChunks, SplitRule};
use super::promise::LayoutPlace;
use crate::cluster::Mesh;
use crate::model::Architecture;
use crate::pipeline::able::{TakenMicrobatches, combines, pipes, recomputes};
use crate::pipeline::release::has_stages;
use crate::run::presets::CombinedCuts;
use crate::run::{Recompute, Run, Schedule, Selective, divides_by};
use crate::sort::sort;
use std::collections::BTreeMap;

/// Layouts that differ only in schedule and ZeRO stage; their pipelines have the same stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Index of the run that it is a layout of: the base, or one of those that are searched also.
    pub variant: usize,
    pub tp: u64,
    pub pp: u64,
    pub cp: u64,
    pub ep: u64,
    pub etp: u64,
    /// Sequences a micro-batch.
    pub micro_batch: u64,
    pub sequence_parallel: bool,
    /// Index of the recomputation among the axes'.
    pub recompute: usize,
    /// Chunks a rank.
    pub chunks: u64,
    pub split: SplitRule,
}

impl Block {
    /// Sizes that the times of single layers depend on.
    pub fn kernels(&self) -> [u64; 7] {
        [self.variant as u64, self.tp, self.cp, u64::from(self.sequence_parallel), self.micro_batch, self.ep, self.etp]
    }
}

/// One layout of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub chunks: ScheduleChunks,
    pub zero: u64,
}

/// Key of the members of a block: its run, pipeline, chunks and recomputation, sharing of parameters between ranks,
/// experts on ranks of their own, the ZeRO stages that go with its cuts, and the micro-batches that its software takes.
type MembersKey = (usize, u64, u64, usize, [bool; 2], [bool; 4], TakenMicrobatches);

/// Everything that is tried.
#[derive(Clone, Debug, Default)]
pub struct Space {
    /// The run that all layouts vary.
    pub base: Run,
    /// The settings in which they differ.
    pub axes: Axes,
    pub blocks: Vec<Block>,
    /// Other ways to train the base, whose layouts are tried too.
    others: Vec<Run>,
    members: BTreeMap<MembersKey, Vec<Member>>,
    layers: u64,
    mtp_modules: u64,
    routed: bool,
    /// Layouts of one stage whose messages of experts run beside another micro-batch are tried without that too.
    pub(crate) unpairs: bool,
}

impl Space {
    /// The layouts of `base` over `axes` that divide the GPUs, the batch and the model.
    pub fn new(base: Run, axes: Axes, model: &Architecture) -> Self {
        let (layers, mtp_modules, routed) = (model.layers, model.mtp_modules, model.moe.is_some());
        let mut space = Self { base, axes, layers, mtp_modules, routed, ..Self::default() };
        let blocks = space.divide(model);
        space.blocks = blocks;
        space.list_members();
        space
    }

    /// Tries the layouts of `others` too, behind those of the base.
    pub(crate) fn also(&mut self, others: Vec<Run>) {
        let base = self.blocks.clone();
        for variant in 1..=others.len() {
            self.blocks.extend(base.iter().map(|block| Block { variant, ..*block }));
        }
        self.others = others;
        self.list_members();
    }

    fn list_members(&mut self) {
        for block in &self.blocks {
            let key = self.members_key(block);
            if !self.members.contains_key(&key) {
                let list = self.members_of(block);
                self.members.insert(key, list);
            }
        }
    }

    fn members_key(&self, block: &Block) -> MembersKey {
        let sharers = self.base.training_gpus() / (block.tp * block.pp).max(1);
        let Block { variant, pp, chunks, recompute, .. } = *block;
        let combined = [0, 1, 2, 3].map(|zero| self.is_combined(block, zero));
        let pipelines = (sharers / block.cp.max(1)).saturating_mul(block.micro_batch).max(1);
        let taken = TakenMicrobatches::of(&self.base, pp, self.base.global_batch / pipelines);
        (variant, pp, chunks, recompute, [sharers > 1, block.ep > 1], combined, taken)
    }

    /// True if the software runs the sizes of `block` together under a ZeRO stage, or the search does not ask.
    fn is_combined(&self, block: &Block, zero: u64) -> bool {
        let run = self.trained(block);
        let Block { tp, cp, ep, etp, .. } = *block;
        let cuts = CombinedCuts { tp, cp, ep, etp, zero, exchange: run.cp_comm };
        !self.axes.able || combines(run.stack.preset_row(), cuts)
    }

    /// The run that `block` is a layout of.
    fn trained(&self, block: &Block) -> &Run {
        let other = block.variant.checked_sub(1);
        other.and_then(|at| self.others.get(at)).unwrap_or(&self.base)
    }

    fn divide(&self, model: &Architecture) -> Vec<Block> {
        let axes = &self.axes;
        let mut found = Vec::new();
        // Sizes that a check would refuse in every layout are left out.
        let tps = axes.tp.iter().filter(|tp| divides_by(model, **tp));
        let whole = |cp: &&u64| self.base.seq_len.is_multiple_of(**cp);
        let cps: Vec<u64> = axes.cp.iter().filter(whole).copied().collect();
        for &tp in tps {
            let etp = axes.etp.clone().unwrap_or_else(|| usual_etp(model, tp));
            for &cp in &cps {
                for sequence_parallel in self.sequence_parallel(tp) {
                    for &micro_batch in &axes.micro_batch {
                        for &ep in &axes.ep {
                            for &etp in &etp {
                                let block = Block {
                                    variant: 0,
                                    tp,
                                    pp: 1,
                                    cp,
                                    ep,
                                    etp,
                                    micro_batch,
                                    sequence_parallel,
                                    recompute: 0,
                                    chunks: 1,
                                    split: SplitRule::Even,
                                };
                                self.pipelines(block, &mut found);
                            }
                        }
                    }
                }
            }
        }
        found
    }

    /// The values of sequence parallelism to try; one value without tensor parallelism, where it changes nothing.
    fn sequence_parallel(&self, tp: u64) -> Vec<bool> {
        let list = &self.axes.sequence_parallel;
        let one = usize::from(tp > 1) * list.len();
        list.iter().copied().take(one.max(1)).collect()
    }

    /// Every pipeline over the layout of a stage.
    fn pipelines(&self, stage: Block, found: &mut Vec<Block>) {
        let run = &self.base;
        let gpus = run.training_gpus();
        for &pp in &self.axes.pp {
            let ranks = stage.tp.saturating_mul(pp).saturating_mul(stage.cp);
            if ranks == 0 || !gpus.is_multiple_of(ranks) {
                continue;
            }
            let each = (gpus / ranks).saturating_mul(stage.micro_batch);
            let lengths = run.microbatch_lengths.as_ref();
            let batch = run.global_batch.is_multiple_of(each)
                && run.global_batch > 0
                && lengths.is_none_or(|list| list.len() as u64 == run.global_batch / each);
            let experts = stage.ep.saturating_mul(stage.etp);
            if !batch || !(gpus / pp).is_multiple_of(experts) {
                continue;
            }
            let mesh = Mesh {
                tp: stage.tp,
                cp: stage.cp,
                dp: gpus / ranks,
                pp,
                ep: stage.ep,
                etp: stage.etp,
                per_node: 1,
                order: run.rank_order,
            };
            if self.routed && !mesh.pipelines_agree() {
                continue;
            }
            let mut chunks: Vec<u64> = self.schedules(pp).iter().map(|one| one.each).collect();
            sort(&mut chunks);
            chunks.dedup();
            for &chunks in &chunks {
                let stages = pp.saturating_mul(chunks);
                let is_cut = self.base.stack.preset_row().cuts_evenly(self.layers, stages);
                if stages > self.layers && !(is_cut && self.axes.able) {
                    continue;
                }
                let is_had = |split: &SplitRule| !self.axes.able || self.has_stages(*split, pp, chunks);
                for split in self.splits(stages).into_iter().filter(is_had) {
                    for recompute in 0..self.axes.recompute.len() {
                        found.push(Block { pp, recompute, chunks, split, ..stage });
                    }
                }
            }
        }
    }

    /// True if the software has the stages of `split`, `chunks` on each of `pp` ranks; a split that is given stays.
    fn has_stages(&self, split: SplitRule, pp: u64, chunks: u64) -> bool {
        let stages = pp.saturating_mul(chunks);
        let layers = || self.layers_of(split, stages).unwrap_or_else(|| crate::run::even_split(self.layers, stages));
        let stack = self.base.stack.preset_row();
        pp == 1 || split == SplitRule::Given || has_stages(stack, self.mtp_modules, &layers(), chunks)
    }

    /// The splits that differ.
    fn splits(&self, stages: u64) -> Vec<SplitRule> {
        let mut tried: Vec<Option<Vec<u64>>> = Vec::new();
        let mut list = Vec::new();
        for &split in &self.axes.splits {
            let layers = self.layers_of(split, stages);
            let possible = split == SplitRule::Even || layers.is_some();
            if possible && !tried.contains(&layers) {
                tried.push(layers);
                list.push(split);
            }
        }
        list
    }

    /// Layers of each stage; none: the run's own even split.
    fn layers_of(&self, split: SplitRule, stages: u64) -> Option<Vec<u64>> {
        let (first, last) = match split {
            SplitRule::Even => return None,
            SplitRule::Given => return self.base.stage_layers.clone(),
            SplitRule::SpareLast => (0, 1),
            SplitRule::SpareEnds => (1, 1),
        };
        let whole = self.layers + first + last;
        if stages < 2 || whole / stages < 2 {
            return None;
        }
        // Inner stages take what does not divide, as in the run's own split.
        let mut list = crate::run::even_split(whole, stages);
        let end = list.len() - 1;
        list[0] -= first;
        list[end] -= last;
        let even = crate::run::even_split(self.layers, stages);
        (list != even).then_some(list)
    }

    /// The schedules that are tried on `pp` ranks.
    pub fn schedules(&self, pp: u64) -> Vec<ScheduleChunks> {
        let axes = &self.axes;
        let plain = Schedule::OneFOneB;
        let list = axes.schedules.iter().copied();
        list.filter(|one| pp > 1 || *one == plain || !axes.schedules.contains(&plain))
            .flat_map(|one| axes.chunks(one, &self.base, pp, self.layers))
            .collect()
    }

    /// The layouts of `block`, one of [`Space::blocks`].
    pub fn members(&self, block: &Block) -> &[Member] {
        let list = self.members.get(&self.members_key(block));
        list.map_or(&[], Vec::as_slice)
    }

    /// The block of the layout at `place`, and its member there.
    pub(crate) fn at(&self, place: LayoutPlace) -> Option<(&Block, Member)> {
        let block = &self.blocks[place.block()];
        self.members(block).get(place.member()).map(|member| (block, *member))
    }
    fn members_of(&self, block: &Block) -> Vec<Member> {
        let run = self.trained(block);
        let (.., [shared, _], combined, taken) = self.members_key(block);
        let axes = &self.axes;
        // States that leave the GPU have to be sharded first.
        let least = run.offload.least_zero(run);
        let kept = |zero: u64| {
            // With FlashAttention that of Megatron-LM takes time and saves a thousandth; where it is that of whole
            // layers it is named so.
            let instead = match run.software().selective {
                Selective::CoreAttention if run.runs_flash_attention() => Some(Recompute::None),
                Selective::Layers => Some(Recompute::Full),
                Selective::CoreAttention | Selective::Operators => None,
            };
            let idle = axes.recompute[block.recompute] == Recompute::Selective
                && instead.is_some_and(|other| axes.recompute.contains(&other));
            let alone = axes.zero.iter().find(|zero| **zero >= least);
            // Weight shards go with ZeRO-1.
            let whole = zero == 1 || !run.shards_weights();
            zero >= least && (shared || Some(&zero) == alone) && !idle && whole
        };
        let stack = run.stack.preset_row();
        let overlaps = |schedule| recomputes(stack, schedule, block.ep, &axes.recompute[block.recompute]);
        let runs = |schedule: Schedule| {
            !axes.able || overlaps(schedule) && (block.pp == 1 || taken.are_run_by(stack, schedule))
        };
        let schedules = self.schedules(block.pp).into_iter();
        schedules
            .filter(|chunks| chunks.each == block.chunks && runs(chunks.schedule))
            .flat_map(|chunks| {
                let stages = axes.zero.iter().copied();
                stages.map(move |zero| Member { chunks, zero })
            })
            .filter(|member| kept(member.zero))
            .filter(|member| usize::try_from(member.zero).is_ok_and(|zero| combined.get(zero) == Some(&true)))
            .filter(|member| !axes.able || pipes(stack, block.pp, member.chunks.schedule, member.zero))
            .collect()
    }

    pub fn run(&self, block: &Block, member: Member) -> Run {
        Run {
            tp: block.tp,
            pp: block.pp,
            cp: block.cp,
            ep: block.ep,
            etp: block.etp,
            micro_batch: block.micro_batch,
            sequence_parallel: block.sequence_parallel,
            recompute: self.axes.recompute[block.recompute].clone(),
            mtp_stage: self.base.mtp_stage.filter(|_| block.split == SplitRule::Given),
            stage_layers: self.layers_of(block.split, block.pp.saturating_mul(block.chunks)),
            zero: member.zero,
            schedule: member.chunks.schedule,
            virtual_stages: member.chunks.virtual_stages,
            ..self.trained(block).clone()
        }
    }

    /// Every layout as a run, whether or not it works.
    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.blocks.iter().flat_map(move |block| {
            let members = self.members(block).iter();
            members.map(move |member| self.run(block, *member))
        })
    }
}

/// Experts whole, or cut as the other layers are.
fn usual_etp(model: &Architecture, tp: u64) -> Vec<u64> {
    if model.moe.is_some() && tp > 1 { vec![1, tp] } else { vec![1] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(run: &Run) -> Space {
        let axes = Axes::of(run).unwrap();
        Space::new(run.clone(), axes, &run.model.resolve().unwrap())
    }

    #[test]
    fn no_layout_stands_twice() {
        let run = Run { gpus: 8, global_batch: 16, ..Run::default() };
        let runs: Vec<Run> = space(&run).runs().collect();
        for (index, one) in runs.iter().enumerate() {
            assert!(!runs[..index].contains(one), "{one:?}");
        }
        assert!(runs.len() > 500);
    }

    #[test]
    fn a_spared_end_holds_a_layer_less() {
        let space = space(&Run::default());
        assert_eq!(space.layers_of(SplitRule::SpareLast, 4), Some(vec![8, 9, 8, 7]));
        assert_eq!(space.layers_of(SplitRule::SpareEnds, 4), Some(vec![7, 9, 9, 7]));
        assert_eq!(space.layers_of(SplitRule::SpareLast, 32), None);
    }
}
