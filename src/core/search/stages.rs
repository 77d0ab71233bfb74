//! Times of the stages of a block: stages that hold the same are timed once.

use super::axes::SplitRule;
use super::orders::{AlikeRanks, Sorts};
use super::space::Block;
use crate::cluster::{Link, ParallelAxis, RankOrder};
use crate::memory::RankLoad;
use crate::memory::detailed::{ChunkBytes, chunk_bytes, lasting};
use crate::report::{LayerPass, exposed_more};
use crate::run::{Alike, Reduction, Scenario, StageKinds};
use crate::time::Clock;
use crate::traffic::{HeldParameters, StageWindows, shards};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Seconds of one micro-batch on a stage, waits included, as the report adds them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageTime {
    pub forward: f64,
    pub backward_input: f64,
    pub backward_weight: f64,
    /// One message to the next stage.
    pub send: f64,
    /// The forward and the backward pass with no other micro-batch beside them, and with loading: what the reductions
    /// of a step run beside.
    pub windows: [f64; 2],
}

impl StageTime {
    pub fn backward(&self) -> f64 {
        self.backward_input + self.backward_weight
    }

    /// The least that it takes where a forward and a backward pass of two micro-batches side by side take `saved`
    /// seconds less.
    fn paired(self, saved: f64) -> Self {
        let alone = self.forward + self.backward();
        let least = if alone > 0.0 { (1.0 - saved / alone).min(1.0) } else { 1.0 };
        Self {
            forward: self.forward * least,
            backward_input: self.backward_input * least,
            backward_weight: self.backward_weight * least,
            ..self
        }
    }
}

/// Key of a stage's time besides its kernels, without what ZeRO moves: recomputation, pairs and cut passes of the
/// schedule, the wire to the next stage, the kind.
type PlainKey = (usize, [bool; 2], Option<bool>, Alike);
/// Key of the rest of it: the stage of ZeRO with its ranks and reductions.
type TimeKey = (PlainKey, [u64; 3]);
/// Key of a chunk's bytes besides its kernels: recomputation, ZeRO-3, neighbours, the kind.
type BytesKey = (usize, bool, bool, Alike);

/// A stage without what ZeRO moves.
#[derive(Clone, Copy, Debug)]
struct Plain {
    /// No other micro-batch runs beside it.
    alone: StageTime,
    windows: StageWindows,
    /// The same beside passes of two micro-batches.
    windows_beside: Option<StageWindows>,
    /// Seconds that a forward and a backward pass side by side take less.
    saved: f64,
}

/// Stages timed and weighed so far, over blocks that share their kernels.
#[derive(Clone, Debug)]
pub struct TimedStages {
    pub clock: Clock,
    kernels: [u64; 7],
    /// The pipeline size, where the groups inside a stage depend on it: the pipeline is not the last axis of the mesh.
    pp: Option<u64>,
    plain: BTreeMap<PlainKey, Plain>,
    times: BTreeMap<TimeKey, StageTime>,
    bytes: BTreeMap<BytesKey, ChunkBytes>,
}

impl TimedStages {
    /// Nothing known of the kernels of `block` but their times.
    pub fn new(block: &Block, scenario: &Scenario) -> Self {
        Self {
            clock: Clock::new(scenario),
            kernels: block.kernels(),
            pp: (scenario.layout.rank_order != RankOrder::PpLast).then_some(block.pp),
            plain: BTreeMap::new(),
            times: BTreeMap::new(),
            bytes: BTreeMap::new(),
        }
    }

    /// True if `block` has the same kernels.
    pub fn serve(&self, block: &Block) -> bool {
        self.kernels == block.kernels() && self.pp.is_none_or(|pp| pp == block.pp)
    }

    /// Seconds of each kind without what ZeRO moves within a micro-batch: at most those with it.
    pub fn plain(&mut self, block: &Block, scenario: &Scenario, kinds: &StageKinds) -> Vec<StageTime> {
        let each = kinds.keys.iter().zip(&kinds.sample);
        each.map(|(kind, stage)| {
            let key = plain_key(block, scenario, *kind);
            let plain = self.plain_of(key, scenario, *stage);
            plain.alone.paired(plain.saved)
        })
        .collect()
    }

    fn plain_of(&mut self, key: PlainKey, scenario: &Scenario, stage: usize) -> Plain {
        let entry = self.plain.entry(key);
        *entry.or_insert_with(|| plain_time(scenario, &self.clock, stage))
    }

    pub fn times(&mut self, block: &Block, scenario: &Scenario, kinds: &StageKinds) -> Vec<StageTime> {
        if scenario.reduction() == Reduction::Step {
            return self.plain(block, scenario, kinds);
        }
        let moved = [scenario.zero.stage, block.pp, scenario.reductions()];
        let each = kinds.keys.iter().zip(&kinds.sample);
        each.map(|(kind, stage)| {
            let key = plain_key(block, scenario, *kind);
            if let Some(time) = self.times.get(&(key, moved)) {
                return *time;
            }
            let Plain { alone: mut time, windows, windows_beside, saved } = self.plain_of(key, scenario, *stage);
            let (weights, gradients) = shards(scenario, *stage, &windows);
            let beside = windows_beside.map(|windows| shards(scenario, *stage, &windows));
            let more = exposed_more([weights, gradients], beside.map(|(weights, gradients)| [weights, gradients]));
            for wait in [weights, gradients] {
                let [forward, backward] = [wait.forward, wait.backward].map(|pass| pass.exposed().0);
                time.forward += forward;
                time.backward_input += backward;
                time.windows[0] += forward * (1.0 + scenario.forwards_beside());
                time.windows[1] += backward;
            }
            let time = time.paired(saved - more.0);
            self.times.insert((key, moved), time);
            time
        })
        .collect()
    }

    pub fn bytes(&mut self, block: &Block, scenario: &Scenario, kinds: &StageKinds) -> Vec<ChunkBytes> {
        let each = kinds.keys.iter().zip(&kinds.sample);
        each.map(|(kind, stage)| {
            let key = (block.recompute, scenario.zero.stage == 3, block.pp > 1, *kind);
            let entry = self.bytes.entry(key);
            *entry.or_insert_with(|| chunk_bytes(scenario, *stage))
        })
        .collect()
    }
}

/// Bytes that the ranks of a sort hold whatever the micro-batches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Owned {
    /// Elements that are trained.
    pub trained: HeldParameters,
    /// Bytes of states and what sharding gathers.
    pub bytes: f64,
}

/// Its key: tp, pp, ep, etp, chunks, ZeRO, micro-batches up to the ranks; split; schedule.
type OwnedKey = ([u64; 7], SplitRule, u8);

/// Weights and states by pipeline, shared by all that differ in context, micro-batch or recomputation.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    known: BTreeMap<OwnedKey, Rc<Vec<Owned>>>,
}

impl Weights {
    /// Bytes of each sort of `sorts`; computed where they are not known.
    pub fn of<'a>(
        &mut self,
        block: &Block,
        scenario: &Scenario,
        sorts: impl FnOnce() -> Option<&'a Sorts>,
    ) -> Option<Rc<Vec<Owned>>> {
        // Stashed versions grow with the micro-batches up to the ranks.
        let several = scenario.layout.microbatches.min(block.pp.max(2));
        let zero = scenario.zero.stage;
        let Block { tp, pp, ep, etp, chunks, split, .. } = *block;
        let key = ([tp, pp, ep, etp, chunks, zero, several], split, scenario.run.schedule as u8);
        if let Some(owned) = self.known.get(&key) {
            return Some(Rc::clone(owned));
        }
        let sorts = sorts()?.list.iter();
        let made = Rc::new(sorts.map(|sort| owned(scenario, sort)).collect());
        self.known.insert(key, Rc::clone(&made));
        Some(made)
    }
}

fn owned(scenario: &Scenario, sort: &AlikeRanks) -> Owned {
    let load = RankLoad {
        stages: sort.stages.clone(),
        in_flight: vec![0.0; sort.stages.len()],
        weight_versions: sort.versions,
    };
    Owned { trained: HeldParameters::trained(scenario, &sort.stages), bytes: lasting(scenario, &load) }
}

/// What a schedule changes in the times of its passes: two micro-batches run side by side; the backward is cut. The two
/// say what messages of experts hide behind as well ([`crate::run::Run::experts_beside`]).
pub(crate) fn of_order(scenario: &Scenario) -> [bool; 2] {
    let schedule = scenario.run.schedule;
    [schedule.overlaps_experts().is_some(), schedule.row().splits_backward]
}

fn plain_key(block: &Block, scenario: &Scenario, kind: Alike) -> PlainKey {
    let order = of_order(scenario);
    let wire = (block.pp > 1).then(|| scenario.layout.mesh().link(ParallelAxis::Pp) == Link::Intra);
    (block.recompute, order, wire, kind)
}

fn plain_time(scenario: &Scenario, clock: &Clock, stage: usize) -> Plain {
    let LayerPass { compute, waits, windows, saved, windows_beside } = LayerPass::of(scenario, clock, stage);
    let (forward, backward) = (compute.forward + waits.forward(), compute.backward_input + waits.backward());
    let loading = if stage == 0 { scenario.run.loader_stage_s } else { 0.0 };
    let alone = StageTime {
        windows: [loading + forward.0, (backward + compute.backward_weight).0],
        forward: forward.0,
        backward_input: backward.0,
        backward_weight: compute.backward_weight.0,
        send: waits.send.0,
    };
    Plain { alone, windows, windows_beside, saved: saved.total().0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    #[test]
    fn stages_of_one_kind_take_the_same_time() {
        for model in ["llama-3.1-8b", "deepseek-v3"] {
            let run = Run { model: Based::preset(model), pp: 8, zero: 3, ..Run::default() };
            let scenario = Scenario::new(&run).unwrap();
            let clock = Clock::new(&scenario);
            let kinds = StageKinds::new(&scenario);
            for (stage, kind) in kinds.of.iter().enumerate() {
                let sample = kinds.sample[*kind];
                let time = |stage| plain_time(&scenario, &clock, stage).alone;
                assert_eq!(time(stage), time(sample));
            }
            assert!(kinds.sample.len() < 8);
        }
    }
}
