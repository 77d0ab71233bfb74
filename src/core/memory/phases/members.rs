//! The models of reinforcement learning on a GPU, phase by phase.

use crate::explain::symbols::{ALLOCATED, ENGINE_GPUS, LARGEST_TENSOR, MODEL, RESERVED, SENT_AT_ONCE};
use crate::explain::{Provenance, Quantity};
use crate::memory::detailed::{Holding, States, forward_items, holdings, rank_memory, split_weights, states};
use crate::memory::estimate::{Component, Item, Lifetime, RankLoad, StageMemory};
use crate::memory::verdict::{FRAGMENTATION, PROCESS, fragmentation, process, process_words};
use crate::run::{Method, Phases, Placement, Scenario, SecondModel, Sleep};
use crate::statics::named;
use crate::units::{Bytes, GIB};
use serde::Serialize;

/// Bytes that verl sends at once. Source: `rollout.yaml`, `update_weights_bucket_megabytes`.
const BUCKET: f64 = 2.0 * GIB;

/// A phase and the GPU that is fullest in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phase {
    /// Name of the work that is done.
    pub name: &'static str,
    #[serde(skip)]
    pub(super) actor: Actor,
    #[serde(skip)]
    pub(super) work: Work,
    /// The fullest GPU.
    pub memory: StageMemory,
}

named! {
    /// A model of the phases.
    pub(super) enum Actor: name {
        Policy = "policy",
        Reference = "reference",
        Critic = "critic",
        Reward = "reward model",
        Engine = "rollout engine",
    }
}

/// Work of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Generate,
    Forward,
    Train,
    HandOver,
}

const PHASES: [(&str, Actor, Work); 8] = [
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
    /// Its memory in training; none for a model that is not trained.
    pub training: Option<StageMemory>,
}

impl Member {
    /// Bytes of all parameters of the rank, each part as `each` counts it.
    fn all<Q: Quantity>(&self, load: &RankLoad, each: impl Fn(&Holding) -> Q) -> Q {
        let parts = holdings(&self.scenario, load);
        Q::total("W_i", parts.iter().map(|part| (part.name.into(), each(part))))
    }

    /// Weights alone, as they compute.
    fn weights<Q: Quantity>(&self, load: &RankLoad) -> Item<Q> {
        let bytes = self.all(load, |part| split_weights(&self.scenario, part));
        Item::held(Component::Weights, self.actor.name(), bytes)
    }

    /// The method that counts its training: the Run's for the policy.
    pub fn method(&self) -> Method {
        if self.actor == Actor::Policy { self.scenario.run.memory_method } else { Method::Detailed }
    }

    /// Items that stay between two steps.
    fn lasting<Q: Quantity>(&self, load: &RankLoad) -> Vec<Item<Q>> {
        let Some(memory) = &self.training else {
            return vec![self.weights(load)];
        };
        let detailed = self.method() == Method::Detailed;
        let item = |component, counted: Bytes, of: fn(States<Q>) -> Q| {
            let bytes = if detailed {
                self.all(load, |part| of(states(&self.scenario, part, load.weight_versions)))
            } else {
                Q::marked(counted.0, Provenance::AddedUp)
            };
            Item::held(component, self.actor.name(), bytes)
        };
        let mut items = vec![
            item(Component::Weights, memory.weights, |states| states.weights),
            item(Component::Optimizer, memory.optimizer, |states| states.optimizer),
        ];
        // Flat buffers of gradients are never freed.
        if self.scenario.software.flat_buffers {
            items.push(item(Component::Gradients, memory.gradients, |states| states.gradients));
        }
        items
    }

    /// Bytes that wait in host memory while it does not work: weights, master weights and moments. Buffers of gradients
    /// are freed and made again, not copied. Source: Megatron core `distributed/param_and_grad_buffer.py`
    /// (`offload_to_cpu`, `reload_from_cpu`).
    fn on_host(&self, load: &RankLoad) -> f64 {
        let items = self.lasting::<f64>(load).into_iter();
        items.filter(|item| item.component != Component::Gradients).map(|item| item.bytes).sum()
    }

    /// Items while it does `work` and `phases` are as they are; those of training are in its `training`.
    fn working<Q: Quantity>(&self, work: Work, load: &RankLoad, phases: &Phases) -> Vec<Item<Q>> {
        if work == Work::Train && self.training.is_some() {
            return Vec::new();
        }
        let mut items = if phases.offload { vec![self.weights(load)] } else { self.lasting(load) };
        match work {
            Work::Forward => {
                let scores = matches!(self.actor, Actor::Policy | Actor::Reference);
                items.extend(forward_items(&self.scenario, load, scores));
            }
            Work::HandOver => {
                let largest = LARGEST_TENSOR.of::<Q>(largest_tensor(&self.scenario)) * 2.0;
                items.push(Item::buffer("weights on their way", SENT_AT_ONCE.of::<Q>(BUCKET).max(largest)));
            }
            Work::Train | Work::Generate => {}
        }
        items
    }
}

/// Elements of the largest whole tensor: the embedding, or a matrix of an FFN.
fn largest_tensor(scenario: &Scenario) -> f64 {
    let model = &scenario.model;
    (model.hidden * model.vocab.max(model.ffn)) as f64
}

/// True where a reference is a copy beside the policy: the base with its adapters off needs none.
fn has_reference(scenario: &Scenario, phases: &Phases) -> bool {
    phases.reference && scenario.adapter.is_none()
}

/// A second model in the layout of `scenario`; none where it cannot run in that layout, which is refused before.
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
    let member = |actor, scenario, training| Member { actor, scenario, training };
    let mut list = vec![member(Actor::Policy, scenario.clone(), Some(memory.clone()))];
    if has_reference(scenario, phases) {
        list.push(member(Actor::Reference, scenario.clone(), None));
    }
    if let Some(critic) = second(scenario, phases.critic) {
        let memory = rank_memory(&critic, rank, load);
        list.push(member(Actor::Critic, critic, Some(memory)));
    }
    list.extend(second(scenario, phases.reward).map(|reward| member(Actor::Reward, reward, None)));
    list
}

/// Weights of the rollout engine on one of its GPUs, in bf16.
fn engine_weights<Q: Quantity>(scenario: &Scenario, phases: &Phases) -> Q {
    MODEL.of::<Q>(scenario.model.elements().total()) * 2.0 / ENGINE_GPUS.of::<Q>(phases.rollout_tp)
}

/// Bytes of the engine on a GPU while something else works there.
fn engine<Q: Quantity>(scenario: &Scenario, phases: &Phases, work: Work) -> Q {
    let note = "the engine's reservation: its framework's share of the GPU's memory, or what the run says";
    match (work, phases.sleep) {
        (Work::Generate, _) | (_, Sleep::Off) => Q::number(phases.rollout.0).noted(note),
        (Work::HandOver, _) => engine_weights(scenario, phases),
        _ => Q::number(0.0),
    }
}

/// The phases of `scenario`, each by its fullest pipeline rank; none without a framework.
pub(crate) fn phases(scenario: &Scenario, loads: &[RankLoad], training: &[StageMemory]) -> Vec<Phase> {
    let Some(phases) = &scenario.phases else {
        return Vec::new();
    };
    let ranks = loads.iter().zip(training).enumerate();
    let ranks: Vec<_> =
        ranks.map(|(rank, (load, memory))| (load, members(scenario, phases, rank, load, memory))).collect();
    let exists = |actor: Actor| {
        let acts = |(_, list): &(&RankLoad, Vec<Member>)| list.iter().any(|m| m.actor == actor);
        actor == Actor::Engine || ranks.iter().any(acts)
    };
    let phase = |(name, actor, work): (&'static str, Actor, Work)| {
        let each = ranks.iter().enumerate();
        let each = each.map(|(rank, (load, list))| {
            let at_work = list.iter().find(|member| member.actor == actor).filter(|_| work == Work::Train);
            let training = at_work.and_then(|member| member.training.as_ref());
            let mut items = training.map_or_else(Vec::new, |memory| memory.items.clone());
            items.extend(beside::<f64>(scenario, phases, load, list, (actor, work)).into_iter().map(Item::plain));
            StageMemory::of_items(rank, 0.0, items)
        });
        let most = |most: StageMemory, one: StageMemory| {
            if one.total.0 > most.total.0 { one } else { most }
        };
        Phase { name, actor, work, memory: each.reduce(most).unwrap_or_default() }
    };
    let existing = PHASES.into_iter().filter(|(_, actor, _)| exists(*actor));
    existing.map(phase).collect()
}

/// Number of the GPUs where models share GPUs in pairs. Source: `OpenRLHF` 3c3be62 `openrlhf/cli/train_ppo_ray.py:41`
/// (`colocate_actor_ref`), `:107` (`colocate_critic_reward`).
fn pair(actor: Actor) -> u8 {
    match actor {
        Actor::Policy | Actor::Reference => 0,
        Actor::Critic | Actor::Reward => 1,
        Actor::Engine => 2,
    }
}

/// Items of one rank in one phase, without those of a model that is trained in it.
pub(super) fn beside<Q: Quantity>(
    scenario: &Scenario,
    phases: &Phases,
    load: &RankLoad,
    list: &[Member],
    (actor, work): (Actor, Work),
) -> Vec<Item<Q>> {
    let beside = |other: Actor| match phases.placement {
        Placement::Colocated => true,
        Placement::EngineApart => (other == Actor::Engine) == (actor == Actor::Engine),
        Placement::Pairs => pair(other) == pair(actor),
        Placement::Apart => other == actor,
    };
    let at_work = list.iter().find(|member| member.actor == actor);
    let mut items = at_work.map_or_else(Vec::new, |member| member.working::<Q>(work, load, phases));
    let mut engine_alone = at_work.is_none();
    for member in list.iter().filter(|member| beside(member.actor) && member.actor != actor) {
        engine_alone = false;
        if !phases.offload {
            items.extend(member.lasting(load));
        }
    }
    let allocated: f64 = items.iter().map(|item| item.bytes.value()).sum();
    let overhead = |lifetime, name, bytes| Item { lifetime, ..Item::held(Component::Overhead, name, bytes) };
    let reserved = RESERVED.of::<Q>(fragmentation(scenario)).cited(FRAGMENTATION.source, FRAGMENTATION.place);
    let extra = (reserved - Q::number(1.0)) * ALLOCATED.of::<Q>(allocated);
    items.push(overhead(Lifetime::Fragmentation, "fragmentation", extra));
    // A reservation has what its process needs in it, and a training's memory its own overhead.
    if work != Work::Train && !engine_alone {
        let bytes = Q::marked(process(scenario).0, Provenance::LookedUp).cited(PROCESS.source, PROCESS.place);
        items.push(overhead(Lifetime::Process, process_words(scenario), bytes));
    }
    if beside(Actor::Engine) {
        items.push(Item::buffer(Actor::Engine.name(), engine(scenario, phases, work)));
    }
    items
}

/// Bytes of the policy that leave the fullest GPU and return, where models leave it while they do not work.
pub(crate) fn policy_on_host(scenario: &Scenario, loads: &[RankLoad], training: &[StageMemory]) -> Bytes {
    let each = loads.iter().zip(training).map(|(load, memory)| {
        let policy = Member { actor: Actor::Policy, scenario: scenario.clone(), training: Some(memory.clone()) };
        policy.on_host(load)
    });
    Bytes(each.fold(0.0, f64::max))
}

/// Bytes a GPU that wait on its host while they are not needed: models that leave it, and the engine's weights.
pub(crate) fn away(scenario: &Scenario, loads: &[RankLoad], training: &[StageMemory]) -> Bytes {
    let Some(phases) = &scenario.phases else {
        return Bytes::ZERO;
    };
    let mut away = 0.0;
    if phases.offload {
        let ranks = loads.iter().zip(training).enumerate();
        let each = ranks.map(|(rank, (load, memory))| -> f64 {
            let list = members(scenario, phases, rank, load, memory);
            list.iter().map(|member| member.on_host(load)).sum()
        });
        away = each.fold(0.0, f64::max);
    }
    if phases.sleep == Sleep::Host && phases.placement == Placement::Colocated {
        away += engine_weights::<f64>(scenario, phases);
    }
    Bytes(away)
}
