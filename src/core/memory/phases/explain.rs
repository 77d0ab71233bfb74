//! The formulas behind the memory of a phase: its items, written instead of computed.

use super::members::{Phase, Work, beside, members};
use crate::explain::{Quantity, Term, Unit, Written, written};
use crate::memory::estimate::{Component, RankLoad, StageMemory};
use crate::memory::methods::info;
use crate::message::Message;
use crate::run::Scenario;
use crate::t;

/// The tree behind the fullest GPU of `phase`, `Σ B_i`; none where the Run has no phases.
pub(crate) fn explain(
    scenario: &Scenario,
    loads: &[RankLoad],
    training: &[StageMemory],
    phase: &Phase,
) -> Option<Term> {
    let phases = scenario.phases.as_ref()?;
    let rank = phase.memory.stage;
    let (load, trained) = (loads.get(rank)?, training.get(rank)?);
    let list = members(scenario, phases, rank, load, trained);
    let mut parts = Vec::new();
    let at_work = list.iter().find(|member| member.actor == phase.actor && phase.work == Work::Train);
    // A model in training has a tree of its own.
    if let Some(member) = at_work.filter(|member| member.training.is_some()) {
        let mut tree = info(member.method()).rule.explain(&member.scenario, rank, load);
        (tree.symbol, tree.name) = ("B_i", phase.name.into());
        parts.push(tree);
    }
    written(|| {
        for item in beside::<Written>(scenario, phases, load, &list, (phase.actor, phase.work)) {
            let (model, part) = (Message::plain(item.name), Message::plain(item.component.name()));
            let name = match item.component {
                Component::Buffers | Component::Overhead => model,
                _ => t!("{model}: {part}", model, part),
            };
            if item.bytes.value().abs() > 0.0 {
                parts.push(item.bytes.term("B_i", name, Unit::Bytes));
            }
        }
    });
    let term = written(|| Written::all("B_i", parts).term("T", phase.name, Unit::Bytes));
    Some(term.note("the fullest GPU of this phase: what works, and what the other models leave"))
}
