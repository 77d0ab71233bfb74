//! The models of reinforcement learning on a GPU, phase by phase.

use crate::memory::detailed::{forward_items, rank_memory, weights};
use crate::memory::estimate::{Component, Item, Nature, RankLoad, StageMemory};
use crate::memory::verdict::{fragmentation, process};
use crate::run::{Phases, Placement, Scenario, SecondModel, Sleep};
use crate::units::{Bytes, GIB};
use serde::Serialize;

/// What verl sends at once. Source: `rollout.yaml`, `update_weights_bucket_megabytes`.
pub(super) const BUCKET: f64 = 2.0 * GIB;

/// A phase and the GPU that is fullest in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phase {
    /// What happens.
    pub name: &'static str,
    /// The fullest GPU.
    pub memory: StageMemory,
}

/// A model of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Actor {
    Policy,
    Reference,
    Critic,
    Reward,
    Engine,
}

impl Actor {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Reference => "reference",
            Self::Critic => "critic",
            Self::Reward => "reward model",
            Self::Engine => "rollout engine",
        }
    }
}

/// What an actor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Generate,
    Forward,
    Train,
    HandOver,
}

pub(super) const PHASES: [(&str, Actor, Work); 8] = [
    ("rollout", Actor::Engine, Work::Generate),
    ("log-probabilities", Actor::Policy, Work::Forward),
    ("log-probabilities of the reference", Actor::Reference, Work::Forward),
    ("rewards", Actor::Reward, Work::Forward),
    ("values", Actor::Critic, Work::Forward),
    ("critic update", Actor::Critic, Work::Train),
    ("policy update", Actor::Policy, Work::Train),
    ("weight synchronisation", Actor::Policy, Work::HandOver),
];

/// A model on one pipeline rank.
pub(super) struct Member {
    pub actor: Actor,
    pub scenario: Scenario,
    /// In training, of one that is trained.
    pub training: Option<StageMemory>,
    weights: f64,
}

impl Member {
    fn trained(actor: Actor, scenario: Scenario, memory: StageMemory, load: &RankLoad) -> Self {
        Self { actor, weights: weights(&scenario, load), scenario, training: Some(memory) }
    }

    /// What stays between two steps.
    fn lasting(&self) -> Vec<Item> {
        let name = self.actor.name();
        let Some(memory) = &self.training else {
            return vec![Item::held(Component::Weights, name, self.weights)];
        };
        let mut items = vec![
            Item::held(Component::Weights, name, memory.weights.0),
            Item::held(Component::Optimizer, name, memory.optimizer.0),
        ];
        // Flat buffers of gradients are never freed.
        if self.scenario.software.flat_buffers {
            items.push(Item::held(Component::Gradients, name, memory.gradients.0));
        }
        items
    }

    /// What is there while it works and `phases` are as they are.
    fn working(&self, work: Work, load: &RankLoad, phases: &Phases) -> Vec<Item> {
        let name = self.actor.name();
        if let (Work::Train, Some(memory)) = (work, &self.training) {
            return memory.items.clone();
        }
        let mut items =
            if phases.offload { vec![Item::held(Component::Weights, name, self.weights)] } else { self.lasting() };
        match work {
            Work::Forward => {
                let scores = matches!(self.actor, Actor::Policy | Actor::Reference);
                items.extend(forward_items(&self.scenario, load, scores));
            }
            Work::HandOver => {
                let largest = 2.0 * largest_tensor(&self.scenario);
                let bytes = BUCKET.max(largest);
                items.push(Item::held(Component::Buffers, "weights on their way", bytes));
            }
            Work::Train | Work::Generate => {}
        }
        items
    }
}

/// Elements of the largest whole tensor: the embedding, or a matrix of an FFN.
pub(super) fn largest_tensor(scenario: &Scenario) -> f64 {
    let model = &scenario.model;
    (model.hidden * model.vocab.max(model.ffn)) as f64
}

/// Whether the policy needs no second copy for a reference: the base with its adapters off is one.
fn has_reference(scenario: &Scenario, phases: &Phases) -> bool {
    phases.reference && scenario.adapter.is_none()
}

/// A second model in the layout of `scenario`; none where it cannot run so, which a check has refused.
fn second(scenario: &Scenario, model: Option<SecondModel>) -> Option<Scenario> {
    Scenario::new(&scenario.run.of_second(model?)).ok()
}

/// The models on pipeline rank `rank`, which holds `load` and trains the policy with `memory`.
pub(super) fn members(
    scenario: &Scenario,
    phases: &Phases,
    rank: usize,
    load: &RankLoad,
    memory: &StageMemory,
) -> Vec<Member> {
    let mut list = vec![Member::trained(Actor::Policy, scenario.clone(), memory.clone(), load)];
    let frozen =
        |actor, scenario: Scenario| Member { actor, weights: weights(&scenario, load), scenario, training: None };
    if has_reference(scenario, phases) {
        list.push(frozen(Actor::Reference, scenario.clone()));
    }
    if let Some(critic) = second(scenario, phases.critic) {
        let memory = rank_memory(&critic, rank, load);
        list.push(Member::trained(Actor::Critic, critic, memory, load));
    }
    list.extend(second(scenario, phases.reward).map(|reward| frozen(Actor::Reward, reward)));
    list
}

/// Weights of the rollout engine on one of its GPUs, in bf16.
fn engine_weights(scenario: &Scenario, phases: &Phases) -> f64 {
    2.0 * scenario.model.elements().total() as f64 / phases.rollout_tp as f64
}

/// What the engine has on a GPU while something else works there.
pub(super) fn engine(scenario: &Scenario, phases: &Phases, work: Work) -> f64 {
    match (work, phases.sleep) {
        (Work::Generate, _) | (_, Sleep::Off) => phases.rollout.0,
        (Work::HandOver, _) => engine_weights(scenario, phases),
        _ => 0.0,
    }
}

/// The phases of `scenario`, each by its fullest pipeline rank; none without a framework.
#[must_use]
pub(crate) fn phases(scenario: &Scenario, loads: &[RankLoad], training: &[StageMemory]) -> Vec<Phase> {
    let Some(phases) = &scenario.phases else {
        return Vec::new();
    };
    let ranks = loads.iter().zip(training).enumerate();
    let ranks: Vec<_> =
        ranks.map(|(rank, (load, memory))| (load, members(scenario, phases, rank, load, memory))).collect();
    let exists = |actor: Actor| {
        let known = |(_, list): &(&RankLoad, Vec<Member>)| list.iter().any(|m| m.actor == actor);
        actor == Actor::Engine || ranks.iter().any(known)
    };
    let of = |(name, actor, work): (&'static str, Actor, Work)| {
        let each = ranks.iter().enumerate();
        let each = each.map(|(rank, (load, list))| phase(scenario, phases, rank, load, list, (actor, work)));
        let most = |most: StageMemory, one: StageMemory| {
            if one.total.0 > most.total.0 { one } else { most }
        };
        Phase { name, memory: each.reduce(most).unwrap_or_default() }
    };
    let existing = PHASES.into_iter().filter(|(_, actor, _)| exists(*actor));
    existing.map(of).collect()
}

/// One rank in one phase.
fn phase(
    scenario: &Scenario,
    phases: &Phases,
    rank: usize,
    load: &RankLoad,
    list: &[Member],
    (actor, work): (Actor, Work),
) -> StageMemory {
    let beside = |other: Actor| match phases.placement {
        Placement::Colocated => true,
        Placement::EngineApart => (other == Actor::Engine) == (actor == Actor::Engine),
        Placement::Apart => other == actor,
    };
    // What works stands first: its explanation counts on it.
    let at_work = list.iter().find(|member| member.actor == actor);
    let mut items = at_work.map_or_else(Vec::new, |member| member.working(work, load, phases));
    let mut engine_alone = at_work.is_none();
    for member in list.iter().filter(|member| beside(member.actor) && member.actor != actor) {
        engine_alone = false;
        if !phases.offload {
            items.extend(member.lasting());
        }
    }
    let counted: f64 = items.iter().map(|item| item.bytes.0).sum();
    let has_overhead = work == Work::Train;
    // A reservation has what its process needs in it, and a training's memory its own overhead.
    let loose = if has_overhead {
        counted - at_work.and_then(|own| own.training.as_ref()).map_or(0.0, |own| own.total.0)
    } else {
        counted
    };
    let overhead = |nature, name, bytes| Item { nature, ..Item::held(Component::Overhead, name, bytes) };
    let extra = (fragmentation(scenario) - 1.0) * loose;
    items.push(overhead(Nature::Fragmentation, "fragmentation", extra));
    if !has_overhead && !engine_alone {
        let name = "CUDA context, libraries and communicators";
        items.push(overhead(Nature::Process, name, process(scenario).0));
    }
    if beside(Actor::Engine) {
        let bytes = engine(scenario, phases, work);
        items.push(Item::held(Component::Buffers, Actor::Engine.name(), bytes));
    }
    StageMemory::of_items(rank, 0.0, items)
}

/// Bytes a GPU that wait on its host while they are not needed: models that leave it, and the engine's weights.
#[must_use]
pub(crate) fn away(scenario: &Scenario, loads: &[RankLoad], training: &[StageMemory]) -> Bytes {
    let Some(phases) = &scenario.phases else {
        return Bytes::ZERO;
    };
    let mut away = 0.0;
    if phases.offload {
        let ranks = loads.iter().zip(training).enumerate();
        let each = ranks.map(|(rank, (load, memory))| -> f64 {
            let list = members(scenario, phases, rank, load, memory);
            let items = list.iter().flat_map(Member::lasting);
            items.map(|item| item.bytes.0).sum()
        });
        away = each.fold(0.0, f64::max);
    }
    if phases.sleep == Sleep::Host && phases.placement == Placement::Colocated {
        away += engine_weights(scenario, phases);
    }
    Bytes(away)
}
