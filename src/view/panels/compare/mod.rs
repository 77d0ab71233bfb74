//! Two Runs beside each other: what is set otherwise, every headline figure, memory on one scale, timelines on one axis.

mod bars;
mod figures;
mod lanes;

use super::changes::{Change, changes, name};
use super::issues;
use crate::core::issue::Issue;
use crate::core::report::Evaluation;
use crate::core::run::Run;
use crate::core::units::MemoryUnit;
use crate::view::node::action::Compare;
use crate::view::node::markup::{Action, Node, aside, el, fold, leaf, muted, table, text};
use bars::memory;
use figures::{figures, sentence};
use lanes::timelines;
use std::sync::Arc;

/// The second Run: what it is, and what follows from it.
pub struct Second<'a> {
    /// As typed.
    pub run: &'a Run,
    /// Its evaluation, or why there is none.
    pub evaluation: Result<&'a Evaluation, &'a [Issue]>,
}

/// The panel.
#[must_use]
pub fn compare(first: &Evaluation, second: &Second, unit: MemoryUnit) -> Node {
    let (verdict, rest) = match second.evaluation {
        Ok(evaluation) => (text(sentence([&first.report, &evaluation.report], unit)), both(first, evaluation, unit)),
        Err(errors) => (text("The second run cannot work:"), errors.iter().map(issues::line).collect()),
    };
    Node::from_iter([
        head([&first.scenario.run, second.run]),
        el("p", &[("role", "status"), ("class", "verdict-note")], &[verdict]),
        settings(&first.scenario.run, second.run),
        rest,
    ])
}

fn head(runs: [&Run; 2]) -> Node {
    let button = |label: &'static str, title: &'static str, compare: Compare| {
        el("button", &[], &[text(label)]).title(title).on(Action::Compare(compare))
    };
    let [first, second] = runs.map(|run| Arc::new(run.clone()));
    let buttons = Node::from_iter([
        button("swap", "The second run becomes the first", Compare::Swap(second, Arc::clone(&first))),
        button("keep this as second", "This run becomes the second", Compare::Keep(first)),
        button("close", "No second run", Compare::Close),
    ]);
    el(
        "div",
        &[("class", "panel-head")],
        &[
            leaf("h2", "", "Compare"),
            aside("first: this page's run; second: one kept beside it"),
            leaf("span", "spring", ""),
            el("span", &[("class", "tools")], &[buttons]),
        ],
    )
}

/// Settings that differ, each with a way to take it over.
fn settings(first: &Run, second: &Run) -> Node {
    let all = changes(first, second);
    if all.is_empty() {
        let words = "Both runs are set alike. Change anything: the second stays as it is.";
        return muted(words);
    }
    let row = |change: &Change| {
        let take = el("button", &[("class", "choose")], &[text("use this value")]).on(change.undo());
        let cells = vec![name(change.field), text(&change.to), text(&change.from), take, Node::none()];
        (false, cells)
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    table("Differences", &["Differences", "first", "second", "", ""], &rows)
}

fn both(first: &Evaluation, second: &Evaluation, unit: MemoryUnit) -> Node {
    let reports = [&first.report, &second.report];
    let head = ["", "first", "second", "difference", ""];
    let [headline, parts] = figures(reports, unit);
    Node::from_iter([
        table("Key figures of both runs", &head, &headline),
        memory(reports.map(|report| &report.memory), unit),
        timelines([first, second]),
        fold("What they are made of", table("Figures of both runs", &head, &parts)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::evaluate;

    fn html(first: &Run, second: &Run) -> String {
        panel(first, second).to_html()
    }

    fn panel(first: &Run, second: &Run) -> Node {
        let first = evaluate(first).unwrap();
        let other = evaluate(second);
        let second = Second { run: second, evaluation: other.as_ref().map_err(Vec::as_slice) };
        compare(&first, &second, MemoryUnit::Gib)
    }

    #[test]
    fn a_run_beside_itself_differs_in_nothing() {
        let html = html(&Run::default(), &Run::default());
        assert!(html.contains("set alike"));
        assert!(html.contains("same time per step and as much memory"), "{html}");
        assert!(!html.contains(" points") && !html.contains(">take<"));
    }

    #[test]
    fn the_difference_is_second_minus_first() {
        let pp2 = Run { pp: 2, ..Run::default() };
        let (there, back) = (html(&Run::default(), &pp2), html(&pp2, &Run::default()));
        // dp = gpus / (tp pp): 8 and 16.
        assert!(there.contains("<td>8</td><td>16</td><td>+8</td><td>+100 %</td>"), "{there}");
        assert!(back.contains("<td>16</td><td>8</td><td>−8</td><td>−50.0 %</td>"));
        let takes = |first: &Run, second: &Run, pp: &str| {
            let take = Action::Apply(vec![("pp", pp.to_owned())]);
            panel(first, second).actions().contains(&&take)
        };
        assert!(takes(&Run::default(), &pp2, "2") && takes(&pp2, &Run::default(), "4"));
    }

    #[test]
    fn both_pictures_share_their_scale() {
        let long = Run { global_batch: 512, ..Run::default() };
        let html = html(&Run::default(), &long);
        // Four ranks of each: the longer one's paper ends where the axis does, the shorter one's before.
        let papers: Vec<_> = html.split("<rect ").filter(|rect| rect.contains("url(#hatched)")).collect();
        let whole = |rect: &&&str| rect.contains("width=\"100%\"") || rect.contains("width=\"100.");
        assert_eq!(papers.len(), 8);
        assert_eq!(papers.iter().filter(whole).count(), 4);
        // The same GPU: its capacity stands at one place in every bar of both.
        let mut places: Vec<_> = html.split("class=\"capacity\" style=\"").skip(1).map(|rest| &rest[..12]).collect();
        assert_eq!(places.len(), 8);
        places.dedup();
        assert_eq!(places.len(), 1);
    }

    #[test]
    fn a_second_run_that_cannot_work_says_why() {
        let bad = Run { tp: 7, ..Run::default() };
        let html = html(&Run::default(), &bad);
        assert!(html.contains("cannot work") && html.contains("issue error"), "{html}");
    }
}
