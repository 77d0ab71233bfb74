//! Changes that make a Run fit, and measurements that narrow down one that should have.

use super::tuning::change;
use super::verdict;
use crate::core::report::Memory;
use crate::core::report::fit::{Suggestion, Suggestions};
use crate::core::report::narrow::{self, Counted, Narrowing};
use crate::core::source::HE_BLOG;
use crate::view::prelude::*;

/// The changes that a search found to make a Run fit, or to take less where it does.
pub fn suggestions(memory: &Memory, found: &Suggestions, unit: MemoryUnit) -> Node {
    let list = &found.list;
    let fits = memory.verdict == Verdict::Fits;
    let words = match (list.is_empty(), fits) {
        (true, true) => "No single setting takes less and still fits.",
        (true, false) if found.is_cut => "No change that was tried makes it fit.",
        (true, false) => {
            "No change of up to three settings makes it fit, nor up to 64 times as many GPUs. A smaller model or shorter sequences would."
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
    let rows: Vec<(bool, Vec<Node>)> = list.iter().map(|one| (false, suggestion(memory, one, unit))).collect();
    let peak = t!("peak {value}", value = unit.name());
    let head = [t!("change"), peak, t!("saves"), t!("step"), t!("GPU time per token")];
    let table = table("Suggestions", &head, &rows);
    Node::from_iter([note, table])
}

fn suggestion(memory: &Memory, one: &Suggestion, unit: MemoryUnit) -> Vec<Node> {
    let button = apply("fix", one.set.clone(), "", one.label());
    let batch = one.global_batch.map_or_else(Node::none, |batch| {
        let words = t!("global batch {batch}", batch);
        aside(&words)
    });
    let cost = change(one.dearer - 1.0);
    vec![
        el("span", &[], &[button, batch]),
        text(verbatim(unit.number(one.peak))),
        text(verbatim(unit.number(memory.peak_bytes - one.peak))),
        text(verbatim(show_seconds(one.step))),
        text(&cost),
    ]
}

/// The way back to more speed where memory is left, and what no estimate includes.
pub(crate) fn narrow(base: &Evaluation, unit: MemoryUnit) -> Node {
    way_back(&narrow::narrow(base), &narrow::gaps(base), unit)
}

fn way_back(way: &[Narrowing], gaps: &[Counted], unit: MemoryUnit) -> Node {
    let before = [None].into_iter().chain(way.iter().map(Some));
    let rows: Vec<(bool, Vec<Node>)> = way
        .iter()
        .zip(before)
        .enumerate()
        .map(|(at, (step, before))| {
            let more = before.map_or_else(String::new, |before| {
                let more = step.peak.0 - before.peak.0;
                let sign = if more < 0.0 { "−" } else { "+" };
                format!("{sign}{}", unit.number(crate::core::units::Bytes(more.abs())))
            });
            let cells = vec![
                text(t!("{n}. {step}", n = at + 1, step = step.label)),
                verdict(step.verdict),
                text(verbatim(unit.number(step.peak))),
                text(verbatim(&more)),
                text(verbatim(step.stage.to_string())),
            ];
            (false, cells)
        })
        .collect();
    let peak = t!("peak {value}", value = unit.name());
    let head = [t!("try"), t!("verdict"), peak, t!("more"), t!("stage")];
    let intro = t!(
        "Start with everything small, then put the settings back one by one: the step at which it fails again names the cause ({short}). What each step should take:",
        short = HE_BLOG.short
    );
    let list: Node = gaps
        .iter()
        .map(|(gap, counted)| {
            let counted = counted.map(|bytes| t!("{bytes} of it are counted above", bytes = unit.show(bytes)));
            let clauses = std::iter::once(gap.words().into()).chain(counted);
            bullet(Message::joined("; ", clauses))
        })
        .collect();
    Node::from_iter([
        muted(&intro),
        el("div", &[("class", "steps")], &[table("Narrowing it down", &head, &rows)]),
        heading("What stands between the estimate and the driver"),
        el("ul", &[("class", "gaps")], &[list]),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::fit::Fit;

    #[test]
    fn every_suggestion_is_a_button_that_sets_what_it_says() {
        let run = Run { micro_batch: 4, ..Run::default() };
        let base = evaluate(&run).unwrap();
        let found = Fit::finished(&base).suggestions();
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
