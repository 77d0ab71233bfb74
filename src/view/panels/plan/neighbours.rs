//! Why the run's layout is the best, or what beats it: its neighbours in a few sentences.

use super::controls::PlanView;
use crate::node::figure::Scope;
use crate::panels::names::brief;
use crate::panels::suggest::{MOST_TIGHT, are_as_tight};
use crate::prelude::*;
use shardscope_core::run::Recompute;
use shardscope_core::search::better::Gain;
use shardscope_core::search::filter::LayoutAxis;
use shardscope_core::search::neighbours::Neighbour;
use shardscope_core::search::{Figures, FoundLayout, LayoutPlace, is_told, least_told, main_loss};
use shardscope_core::units::show_gain;

/// The value that a neighbour has, as titles of layouts name it; none where there is no such layout at all.
fn name(one: &Neighbour) -> Option<Message> {
    let run = &one.alone.as_ref().or(one.best.as_ref()).or(one.tight.as_ref())?.run;
    let name = match (one.axis, &run.recompute) {
        (LayoutAxis::Zero, _) => verbatim(format!("ZeRO-{}", one.value)),
        (LayoutAxis::MicroBatch, _) => t!("micro-batch {micro_batch}", micro_batch = one.value),
        (LayoutAxis::Recompute, Recompute::None) => t!("no recomputation"),
        (LayoutAxis::Recompute, Recompute::Selective) => t!("selective recomputation"),
        (LayoutAxis::Recompute, other) => other.words(),
        (axis, _) => verbatim(format!("{} {}", axis.name(), one.value)),
    };
    // Its figure is of this one change: no layout with it was searched.
    Some(if one.is_searched { name } else { t!("{layout} and all else as it is", layout = name) })
}

/// "tight: 6.70 s", of the faster tight layout beside one that fits.
fn tight_words(found: &FoundLayout, own: &FoundLayout) -> Message {
    let time = Scope::of(&found.run, Some(&own.run)).says("step.time_s", show_seconds(found.figures.time_s));
    if found.figures.peak.may_run_out() { t!("may run out: {time}", time) } else { t!("tight: {time}", time) }
}

/// Neighbours by what is said of them.
#[derive(Default)]
struct Said {
    out: Vec<Message>,
    none: Vec<Message>,
    slower: Vec<Message>,
    equal: Vec<Message>,
    faster: Vec<Message>,
}

impl Said {
    fn add(&mut self, one: &Neighbour, own: &FoundLayout, unit: MemoryUnit) {
        let Some(name) = name(one) else { return };
        let is_out = |found: &FoundLayout| found.figures.peak.overall == Verdict::Oom;
        if let Some(alone) = one.alone.as_deref().filter(|alone| is_out(alone)) {
            let peak = &alone.figures.peak;
            self.out.push(t!(
                "{layout}: {need} of {capacity}",
                layout = name.clone(),
                need = Scope::of(&alone.run, Some(&own.run)).says("memory.peak_bytes", unit.show(peak.bytes)),
                capacity = Scope::run().says("memory.capacity_bytes", unit.show(peak.capacity))
            ));
        }
        let found = if one.is_searched { one.best.as_deref() } else { one.alone.as_deref().filter(|one| !is_out(one)) };
        let Some(found) = found else {
            if one.is_searched {
                self.none.push(match one.tight.as_deref() {
                    Some(tight) => t!("{layout}: {known}", layout = name, known = tight_words(tight, own)),
                    None => name,
                });
            }
            return;
        };
        let tight = one.tight.as_deref().map(|tight| tight_words(tight, own));
        let said = |known: Message| {
            let known = Message::joined("; ", std::iter::once(known).chain(tight));
            t!("{layout}: {known}", layout = name, known)
        };
        let (ours, theirs) = (own.figures.time_s, found.figures.time_s);
        let whose = Scope::of(&found.run, Some(&own.run));
        let time = whose.says("step.time_s", show_seconds(theirs));
        if is_told(&own.run, theirs.0, ours.0) {
            let less = whose.says("step.time_s, less", show_percent(1.0 - theirs.0 / ours.0));
            self.faster.push(said(t!("{time}, {less} less", time, less)));
        } else if is_told(&own.run, ours.0, theirs.0) {
            let more = whose.says("step.time_s, more", show_percent(theirs.0 / ours.0 - 1.0));
            let cause = match main_loss(own, found) {
                Some(cause) if !one.is_searched => t!("{cause}, across nodes", cause),
                Some(cause) => cause.into(),
                None => Message::default(),
            };
            self.slower.push(said(t!("{time}, {more} more ({cause})", time, more, cause)));
        } else {
            self.equal.push(said(time));
        }
    }
}

/// "Why this layout", a neighbour a line below what is said of it: "Memory runs out if nothing else changes with:"
/// "TP 4: 96.1 GiB of 79.2 GiB"; "The fastest that fits takes longer with:" "PP 8: 7.12 s, 6.1 % more (more bubble)".
/// A larger batch has a card. Nothing before the neighbours are known.
pub(crate) fn neighbours(view: &PlanView) -> Node {
    let Some(own) = view.own.filter(|own| own.scenario.run == view.result.run) else { return Node::none() };
    let (list, run) = (&view.result.neighbours.list, &own.scenario.run);
    // A step of reinforcement learning is more than that of the training.
    if list.is_empty() || run.rl.algorithm.is_some() {
        return Node::none();
    }
    let own = FoundLayout { run: run.clone(), figures: Figures::from(&own.report), place: LayoutPlace::new(0, 0) };
    let mut said = Said::default();
    for one in list {
        said.add(one, &own, view.unit);
    }
    let head = if said.faster.is_empty() { "Why this layout" } else { "This layout and its neighbours" };
    let tie = show_gain(least_told(run));
    let line = |list: Vec<Message>, head: Message| {
        if list.is_empty() {
            return Node::none();
        }
        let each: Vec<Node> = list.into_iter().map(|one| el("li", &[], &[inline(one)])).collect();
        el("li", &[], &[text(head), el("ul", &[], &each)])
    };
    let of_time = view.result.betters.tight.iter().map(|better| {
        let scope = Scope::of(&better.run, Some(run));
        let time = scope.says("step.time_s", show_seconds(better.figures.time_s));
        let less = scope.says("step.time_s, less", show_percent(1.0 - better.figures.time_s / own.figures.time_s));
        t!("{layout}: {known}", layout = brief(&better.run, run), known = t!("{time}, {less} less", time, less))
    });
    let tight = &view.result.betters.tight;
    let tight_head = match (are_as_tight(&own.figures.peak, tight), tight.iter().any(|one| one.gain == Gain::Equal)) {
        (true, false) => t!("Less time, and tight as this layout is:"),
        (true, true) => {
            t!("Less time (gains below {tie} % cannot be told apart), and tight as this layout is:", tie = &tie)
        }
        (false, false) => t!("Less time, but may need more than the GPU has:"),
        (false, true) => {
            t!("Less time (gains below {tie} % cannot be told apart), but may need more than the GPU has:", tie = &tie)
        }
    };
    let faster_tight: Vec<Message> = of_time.take(MOST_TIGHT).collect();
    let lines = [
        line(said.faster, t!("The fastest that fits takes less time with:")),
        line(faster_tight, tight_head),
        line(said.out, t!("Memory runs out if nothing else changes with:")),
        line(said.slower, t!("The fastest that fits takes longer with:")),
        line(
            said.equal,
            t!("The fastest that fits may be as fast (gains below {tie} % cannot be told apart) with:", tie),
        ),
        line(said.none, t!("None is known that fits, and some were not tried, with:")),
    ];
    if lines.iter().all(|line| *line == Node::none()) {
        return Node::none();
    }
    el("div", &[("class", "neighbours")], &[el("p", &[], &[strong(head)]), el("ul", &[], &lines)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::evaluate;
    use shardscope_core::search::session::{PlanQuery, PlanSession};

    /// Of the layout that the search puts first none that fits is said to be faster, and the memory that a neighbour is
    /// said to need is its report's. A layout that is slow has a neighbour that takes less time.
    #[test]
    fn the_fastest_layout_says_why_it_is() {
        let run = Run::default().with_texts(&[("stack", "megatron-2025".to_owned())]).unwrap();
        let words = |run: &Run| {
            let query = PlanQuery::search(run);
            let mut session = PlanSession::new(query.clone()).unwrap();
            while !session.step(1_000_000) {}
            let (result, own) = (session.result(true), evaluate(run).unwrap());
            let own = Some(&own);
            let view = PlanView { query: &query, result: &result, own, folds: &[], unit: MemoryUnit::Gib };
            (neighbours(&view), result)
        };
        let (_, result) = words(&run);
        let sure = result.rows.iter().find(|row| row.figures.peak.overall == Verdict::Fits).unwrap();
        let (node, result) = words(&sure.run);
        let html = node.to_html();
        assert!(html.contains("Why this layout") && !html.contains("takes less time with"), "{html}");
        assert!(result.neighbours.done && result.neighbours.list.len() > 6);
        let mut out = 0;
        for one in &result.neighbours.list {
            let Some(alone) = &one.alone else { continue };
            let report = evaluate(&alone.run).unwrap().report;
            if report.memory.overall() == Verdict::Oom {
                let need = MemoryUnit::Gib.show(report.memory.peak_bytes);
                assert!(html.contains(&need), "{:?} {}: {need} in {html}", one.axis, one.value);
                out += 1;
            }
        }
        assert!(out > 0, "{html}");
        let slow = run.with_texts(&[("tp", "8".to_owned()), ("pp", "8".to_owned())]).unwrap();
        let (node, _) = words(&slow);
        let html = node.to_html();
        assert!(html.contains("This layout and its neighbours") && html.contains("takes less time with"), "{html}");
    }
}
