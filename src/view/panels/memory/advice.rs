//! Changes that make a Run fit, and measurements that narrow down one that should have.

use super::tuning::change;
use super::verdict;
use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::advice::fit::Suggestions;
use shardscope_core::advice::narrow;
use shardscope_core::advice::narrow::{CountedGap, Narrowing};
use shardscope_core::report::Memory;
use shardscope_core::source::HE_BLOG;

/// The changes that a search found to make a Run fit, or to take less where it does.
pub fn suggestions(memory: &Memory, found: &Suggestions, unit: MemoryUnit) -> Node {
    let list = &found.list;
    let fits = memory.verdict == Verdict::Fits;
    let words = match (list.is_empty(), fits) {
        (true, true) => "No single setting takes less and still fits.",
        (true, false) if found.is_cut => "No change that was tried makes it fit.",
        (true, false) => {
            "No change of up to three settings makes it fit, nor up to 64 times as many GPUs. A smaller model or \
                shorter sequences would."
        }
        (false, true) => "The smallest change of each setting that takes less, the cheapest in GPU time first.",
        (false, false) => "The smallest changes that fit, the cheapest in GPU time first.",
    };
    let note = muted(words);
    let note = if found.is_cut {
        let words = "The search ended at its limit of work: some changes were not tried.";
        Node::from_iter([note, muted(words)])
    } else {
        note
    };
    if list.is_empty() {
        return note;
    }
    let table = Rows::of(list)
        .column("change", |one| {
            let batch = one.global_batch.map(|batch| aside(t!("global batch {batch}", batch)));
            let host = one.set.iter().find(|(key, _)| *key == "host_memory_gib");
            let host = host.map(|(_, gib)| aside(t!("hosts of {gib} GiB a node assumed", gib = gib.clone())));
            let press = apply("fix", one.set.clone(), "", one.label());
            el("span", &[], &[press, batch.unwrap_or_default(), host.unwrap_or_default()])
        })
        .figures(t!("peak {value}", value = unit.name()), |one| unit.number(one.peak))
        .figures("saves", |one| unit.number(memory.peak_bytes - one.peak))
        .figures("step", |one| show_seconds(one.step))
        .column("GPU time per token", |one| change(one.dearer - 1.0))
        .table("Suggestions");
    Node::from_iter([note, table])
}

/// The way back to more speed where memory is left, and what no estimate includes.
pub(crate) fn narrow(base: &Evaluation, unit: MemoryUnit) -> Node {
    way_back(base, &narrow::narrow(base), &narrow::gaps(base), unit)
}

fn way_back(base: &Evaluation, way: &[Narrowing], gaps: &[CountedGap], unit: MemoryUnit) -> Node {
    let capacity = base.report.memory.capacity_bytes;
    let more = |at: usize, step: &Narrowing| {
        let Some(before) = at.checked_sub(1).map(|before| &way[before]) else {
            return String::new();
        };
        let more = step.peak.0 - before.peak.0;
        format!("{}{}", if more < 0.0 { "−" } else { "+" }, unit.number(Bytes(more.abs())))
    };
    let steps = Rows::of(way.iter().enumerate())
        .column("try", |(at, step)| t!("{n}. {step}", n = at + 1, step = step.label))
        .column("verdict", |(_, step)| verdict(&base.scenario.run, step.verdict, [step.peak, capacity]))
        .figures(t!("peak {value}", value = unit.name()), |(_, step)| unit.number(step.peak))
        .figures("more", |(at, step)| more(*at, step))
        .figures("rank", |(_, step)| step.rank.to_string())
        .table("Narrowing it down");
    let intro = t!(
        "Start with everything small, then put the settings back one by one: the step at which it fails again names \
            the cause ({short}). What each step should take:",
        short = HE_BLOG.short
    );
    let list: Node = gaps
        .iter()
        .map(|(gap, counted)| {
            let counted = counted.map(|bytes| {
                let bytes = Scope::run().part(gap.words()).says("memory.gap_bytes", unit.show(bytes));
                t!("{bytes} of it are counted above", bytes)
            });
            let clauses = std::iter::once(gap.words().into()).chain(counted);
            bullet(Message::joined("; ", clauses))
        })
        .collect();
    Node::from_iter([
        muted(&intro),
        el("div", &[("class", "steps")], &[steps]),
        heading("What stands between the estimate and the driver"),
        el("ul", &[("class", "gaps")], &[list]),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::advice::fit::FitSearch;

    #[test]
    fn every_suggestion_is_a_button_that_sets_what_it_says() {
        let run = Run { micro_batch: 4, ..Run::default() };
        let base = evaluate(&run).unwrap();
        let found = FitSearch::finished(&base).suggestions();
        let sets = found.list.iter();
        let sets = sets.map(|one| Action::Apply(one.set.clone()));
        let sets: Vec<Action> = sets.collect();
        let view = suggestions(&base.report.memory, &found, MemoryUnit::Gib);
        assert_eq!(view.actions(), sets.iter().collect::<Vec<_>>());
    }

    #[test]
    fn the_way_is_told_step_by_step_in_gib() {
        let base = evaluate(&Run::default()).unwrap();
        let html = narrow(&base, MemoryUnit::Gib).to_html();
        assert!(html.contains("1. everything small") && html.contains("peak GiB"));
        assert!(html.contains("fragmentation") && !html.contains("GB"));
    }
}
