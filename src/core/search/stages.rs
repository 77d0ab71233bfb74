//! How long the stages of a block take: stages that hold the same are timed once.

use super::axes::Split;
use super::facts::RankFacts;
use super::orders::{Profile, Sort};
use super::space::Block;
use crate::cluster::{Axis, Link, RankOrder};
use crate::memory::RankLoad;
use crate::memory::detailed::{ChunkBytes, chunk_bytes, lasting};
use crate::report::windows;
use crate::run::{Alike, Kinds, Scenario};
use crate::time::Clock;
use crate::traffic::{Held, stage_waits};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Seconds of one micro-batch on a stage, waits included, as the report adds them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageTime {
    /// Forward.
    pub forward: f64,
    /// Gradient of the input.
    pub backward_input: f64,
    /// Gradient of the weight.
    pub backward_weight: f64,
    /// One message to the next stage.
    pub send: f64,
}

impl StageTime {
    /// Both gradients.
    #[must_use]
    pub fn backward(&self) -> f64 {
        self.backward_input + self.backward_weight
    }
}

/// What a stage's time depends on besides its kernels: recomputation, ZeRO (from 2 on with its ranks and reductions), the
/// wire to the next stage, the kind.
type TimeKey = (usize, u64, [u64; 2], Option<bool>, Alike);
/// What a chunk's bytes depend on besides its kernels: recomputation, ZeRO-3, whether there are neighbours, the kind.
type BytesKey = (usize, bool, bool, Alike);

/// Stages timed and weighed so far, over blocks that share their kernels.
#[derive(Clone, Debug)]
pub struct Stages {
    /// The layers' times.
    pub clock: Clock,
    kernels: [u64; 6],
    /// The pipeline size, where the groups inside a stage depend on it: the pipeline is not the last axis of the mesh.
    pp: Option<u64>,
    times: BTreeMap<TimeKey, StageTime>,
    bytes: BTreeMap<BytesKey, ChunkBytes>,
}

impl Stages {
    /// Nothing known of the kernels of `block` but their times.
    #[must_use]
    pub fn new(block: &Block, scenario: &Scenario) -> Self {
        Self {
            clock: Clock::new(scenario),
            kernels: block.kernels(),
            pp: (scenario.layout.rank_order != RankOrder::PpLast).then_some(block.pp),
            times: BTreeMap::new(),
            bytes: BTreeMap::new(),
        }
    }

    /// Whether `block` has the same kernels.
    #[must_use]
    pub fn serve(&self, block: &Block) -> bool {
        self.kernels == block.kernels() && self.pp.is_none_or(|pp| pp == block.pp)
    }

    /// Seconds of each kind.
    pub fn times(&mut self, block: &Block, scenario: &Scenario, kinds: &Kinds) -> Vec<StageTime> {
        let zero = scenario.zero.stage.max(1);
        let ranks = if zero > 1 {
            [block.pp, scenario.reductions()]
        } else {
            [0, 0]
        };
        let wire = (block.pp > 1).then(|| scenario.layout.mesh().link(Axis::Pp) == Link::Intra);
        let each = kinds.keys.iter().zip(&kinds.sample);
        each.map(|(kind, stage)| {
            let key = (block.recompute, zero, ranks, wire, *kind);
            let known = self.times.entry(key);
            *known.or_insert_with(|| stage_time(scenario, &self.clock, *stage))
        })
        .collect()
    }

    /// Memory of each kind.
    pub fn bytes(&mut self, block: &Block, scenario: &Scenario, kinds: &Kinds) -> Vec<ChunkBytes> {
        let each = kinds.keys.iter().zip(&kinds.sample);
        each.map(|(kind, stage)| {
            let key = (
                block.recompute,
                scenario.zero.stage == 3,
                block.pp > 1,
                *kind,
            );
            let known = self.bytes.entry(key);
            *known.or_insert_with(|| chunk_bytes(scenario, *stage))
        })
        .collect()
    }
}

/// What the ranks of a sort hold whatever the micro-batches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Owned {
    /// Elements.
    pub elements: Held,
    /// Bytes of states and what sharding gathers.
    pub bytes: f64,
}

/// What decides it: tp, pp, ep, etp, chunks, ZeRO, micro-batches up to the ranks; split; schedule.
type OwnedKey = ([u64; 7], Split, u8);

/// Weights and states by pipeline, shared by all that differ in context, micro-batch or recomputation.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    known: BTreeMap<OwnedKey, Rc<Vec<Owned>>>,
}

impl Weights {
    /// What each sort of the profile holds that `profile` gives, where it is not known.
    pub fn of<'a>(
        &mut self,
        block: &Block,
        scenario: &Scenario,
        profile: impl FnOnce() -> Option<&'a Profile>,
    ) -> Option<Rc<Vec<Owned>>> {
        // Stashed versions grow with the micro-batches up to the ranks.
        let several = scenario.layout.microbatches.min(block.pp.max(2));
        let zero = scenario.zero.stage;
        let Block {
            tp,
            pp,
            ep,
            etp,
            chunks,
            split,
            ..
        } = *block;
        let key = (
            [tp, pp, ep, etp, chunks, zero, several],
            split,
            scenario.run.schedule as u8,
        );
        if let Some(known) = self.known.get(&key) {
            return Some(Rc::clone(known));
        }
        let profile = profile()?;
        let owned = |sort: &Sort| owned(scenario, &profile.facts.ranks[sort.sample]);
        let made = Rc::new(profile.sorts.iter().map(owned).collect());
        self.known.insert(key, Rc::clone(&made));
        Some(made)
    }
}

fn owned(scenario: &Scenario, rank: &RankFacts) -> Owned {
    let load = RankLoad {
        stages: rank.stages.clone(),
        in_flight: vec![0.0; rank.stages.len()],
        weight_versions: rank.versions,
    };
    Owned {
        elements: Held::of(scenario, &rank.stages),
        bytes: lasting(scenario, &load),
    }
}

fn stage_time(scenario: &Scenario, clock: &Clock, stage: usize) -> StageTime {
    let compute = clock.stage(scenario, stage);
    let waits = stage_waits(scenario, stage, &windows(&compute));
    StageTime {
        forward: (compute.forward + waits.forward()).0,
        backward_input: (compute.backward_input + waits.backward()).0,
        backward_weight: compute.backward_weight.0,
        send: waits.send.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    #[test]
    fn stages_of_one_kind_take_the_same_time() {
        for model in ["llama-3.1-8b", "deepseek-v3"] {
            let run = Run {
                model: Based::preset(model),
                pp: 8,
                zero: 3,
                ..Run::default()
            };
            let scenario = Scenario::new(&run).unwrap();
            let clock = Clock::new(&scenario);
            let kinds = Kinds::new(&scenario);
            for (stage, kind) in kinds.of.iter().enumerate() {
                let sample = kinds.sample[*kind];
                let time = |stage| stage_time(&scenario, &clock, stage);
                assert_eq!(time(stage), time(sample));
            }
            assert!(kinds.sample.len() < 8);
        }
    }
}
