//! How the memory of a phase comes about: what works in it, what the other models leave, the engine, each with its formula.

use super::members::{Actor, BUCKET, Member, PHASES, Phase, Work, engine, largest_tensor, members};
use crate::explain::{Provenance, Term, Unit};
use crate::memory::detailed::{Holding, explain_rank, holdings, shards, split_weights, states};
use crate::memory::estimate::{Component, Item, RankLoad, StageMemory};
use crate::memory::verdict::{FRAGMENTATION, PROCESS, fragmentation};
use crate::message::Message;
use crate::run::{Method, Phases, Scenario};
use crate::t;

fn bytes(name: &'static str, value: f64) -> Term {
    Term::given("B_i", name, value, Unit::Bytes)
}

/// The tree behind the fullest GPU of `phase`, `Σ B_i`; none where the Run has no phases.
#[must_use]
pub(crate) fn explain(
    scenario: &Scenario,
    loads: &[RankLoad],
    training: &[StageMemory],
    phase: &Phase,
) -> Option<Term> {
    let phases = scenario.phases.as_ref()?;
    let total = Term::given("T", phase.name, phase.memory.total.0, Unit::Bytes)
        .note("the fullest GPU of this phase: what works, and what the other models leave");
    if scenario.run.memory_method != Method::Detailed {
        let items = phase.memory.items.iter().map(added_up);
        return Some(total.by("Σ B_i", items.collect()));
    }
    let rank = phase.memory.stage;
    let (load, trained) = (loads.get(rank)?, training.get(rank)?);
    let list = members(scenario, phases, rank, load, trained);
    let (_, actor, work) = PHASES.into_iter().find(|(name, ..)| *name == phase.name)?;
    let at_work = list.iter().find(|member| member.actor == actor);
    let mut parts = Vec::new();
    let mut items = phase.memory.items.as_slice();
    // What trains comes first and has a tree of its own.
    if let Some((member, memory)) =
        at_work.filter(|_| work == Work::Train).and_then(|member| Some((member, member.training.as_ref()?)))
    {
        items = items.get(memory.items.len()..)?;
        let mut tree = explain_rank(&member.scenario, rank, load);
        (tree.symbol, tree.name) = ("B_i", phase.name.into());
        parts.push(tree);
    }
    let loose: f64 = items.iter().filter(|item| is_loose(item)).map(|item| item.bytes.0).sum();
    for item in items.iter().filter(|item| item.bytes.0 > 0.0) {
        let member = list.iter().find(|member| member.actor.name() == item.name);
        let awake = work != Work::Train && phases.offload;
        parts.push(match (member, item.name) {
            (Some(member), _) => of_member(member, item, load, awake),
            (None, "rollout engine") => of_engine(scenario, phases, work, item),
            (None, "weights on their way") => on_their_way(scenario, item),
            (None, "fragmentation") => fragments(scenario, loose),
            (None, "CUDA context, libraries and communicators") => {
                bytes(item.name, item.bytes.0).marked(Provenance::LookedUp, "").from(PROCESS.source, PROCESS.place)
            }
            (None, _) => added_up(item),
        });
    }
    // Those beside what trains are joined to its own.
    if work == Work::Train && loose > 0.0 {
        parts.push(fragments(scenario, loose));
    }
    Some(total.by("Σ B_i", parts))
}

/// What the allocator loses of `loose` bytes.
fn fragments(scenario: &Scenario, loose: f64) -> Term {
    let share = fragmentation(scenario);
    let book = [
        Term::given("φ", "reserved over allocated", share, Unit::Ratio).from(FRAGMENTATION.source, FRAGMENTATION.place),
        Term::given("M", "allocated", loose, Unit::Bytes),
    ];
    bytes("fragmentation", (share - 1.0) * loose).over("(φ - 1) M", &book)
}

fn added_up(item: &Item) -> Term {
    bytes(item.name, item.bytes.0).marked(Provenance::AddedUp, "")
}

/// Whether the allocator may break an item into pieces: all but what the process and the engine reserve.
fn is_loose(item: &Item) -> bool {
    item.component != Component::Overhead && item.name != Actor::Engine.name()
}

/// Weights, gradients or states that a model leaves or works with: `Σ W_i`, each `w P/N`.
fn of_member(member: &Member, item: &Item, load: &RankLoad, awake: bool) -> Term {
    let scenario = &member.scenario;
    let lasting = member.training.is_some() && !awake;
    let of = |part: &Holding| {
        let n = shards(scenario, part.kind);
        let (value, shared) = match item.component {
            Component::Weights if !lasting => split_weights(scenario, part),
            component => {
                let states = states(scenario, part, load.weight_versions);
                match component {
                    Component::Weights => (states.weights, scenario.zero.stage >= 3),
                    Component::Gradients => (states.gradients, scenario.shards_gradients()),
                    _ => (states.optimizer, scenario.zero.stage >= 1),
                }
            }
        };
        let n = if shared { n } else { 1.0 };
        let book = [
            Term::given("w", "bytes a parameter", value * n / part.elements, Unit::Bytes),
            Term::given("P", "parameters on the GPU", part.elements, Unit::Parameters),
            Term::given("N", "ranks that share the states", n, Unit::Count),
        ];
        Term::given("W_i", part.name, value, Unit::Bytes).over("w P/N", &book)
    };
    let parts: Vec<Term> = holdings(scenario, load).iter().map(of).filter(|term| term.value > 0.0).collect();
    let name = t!("{model}: {part}", model = Message::plain(item.name), part = Message::plain(item.component.name()));
    let mut term = bytes(item.name, item.bytes.0).by("Σ W_i", parts);
    term.name = name;
    term
}

/// The reservation, or the weights alone while they are handed over: `2 P/t_r`.
fn of_engine(scenario: &Scenario, phases: &Phases, work: Work, item: &Item) -> Term {
    let term = bytes(item.name, item.bytes.0);
    if work != Work::HandOver || engine(scenario, phases, Work::HandOver) == phases.rollout.0 {
        return term.note("the engine's reservation: its framework's share of the GPU's memory, or what the run says");
    }
    let book = [
        Term::given("P", "parameters", scenario.model.elements().total() as f64, Unit::Parameters),
        Term::count("t_r", "GPUs of an engine", phases.rollout_tp),
    ];
    term.over("2 P/t_r", &book)
}

/// `max(k, 2 h max(V, f))`.
fn on_their_way(scenario: &Scenario, item: &Item) -> Term {
    let book = [
        Term::given("k", "bytes that are sent at once", BUCKET, Unit::Bytes),
        Term::given("n", "elements of the largest tensor", largest_tensor(scenario), Unit::Count),
    ];
    bytes(item.name, item.bytes.0).over("max(k, 2 n)", &book)
}
