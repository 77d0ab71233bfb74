//! Two Runs beside each other: what is set otherwise, every headline figure, memory on one scale, timelines on one
//! axis.

mod bars;
mod falls;
mod figures;
mod lanes;

use super::changes::{SettingChange, changes, name};
use super::issues;
use crate::node::action::Compare;
use crate::node::figure::Scope;
use crate::panels::budget::{budget, budget_name};
use crate::panels::names::brief;
use crate::prelude::*;
use crate::words;
use bars::memory;
use falls::falls;
use figures::{figures, sentence};
use lanes::timelines;
use shardscope_core::issue::Issue;
use shardscope_core::run::Scenario;
use std::sync::Arc;

/// The second Run: what it is, and what follows from it.
pub struct Second<'a> {
    /// As typed.
    pub run: &'a Run,
    /// Its evaluation, or why there is none.
    pub evaluation: Result<&'a Evaluation, &'a [Issue]>,
}

/// The comparison on the page, with what can be done about it.
pub fn compare(first: &Evaluation, second: &Second, unit: MemoryUnit) -> Node {
    let head = head([&first.scenario.run, second.run]);
    Node::from_iter([head, shown(first, second, unit, true)])
}

/// The comparison in another page: what it says of both, and nothing that changes them.
pub fn framed(first: &Evaluation, second: &Second, unit: MemoryUnit) -> Node {
    shown(first, second, unit, false)
}

/// What the comparison says; a value of the second Run can be taken over where it is changing the first.
fn shown(first: &Evaluation, second: &Second, unit: MemoryUnit, is_changing: bool) -> Node {
    let (verdict, rest) = match second.evaluation {
        Ok(evaluation) => (text(sentence([first, evaluation], unit)), both(first, evaluation, unit)),
        Err(errors) => (text("B cannot work:"), errors.iter().map(issues::line).collect()),
    };
    let cards = match second.evaluation {
        Ok(evaluation) => Node::from_iter([
            card("A · this run", first, [&first.scenario.run, &evaluation.scenario.run], unit),
            card("B", evaluation, [&first.scenario.run, &evaluation.scenario.run], unit),
        ]),
        Err(_) => Node::none(),
    };
    Node::from_iter([
        el("div", &[("class", "compare-cards")], &[cards]),
        el("p", &[("role", "status"), ("class", "verdict-note")], &[verdict]),
        settings(&first.scenario.run, second.run, is_changing),
        rest,
    ])
}

/// The comparison in a picture: the pipelines of both Runs on one axis.
pub fn pictured(runs: [&Evaluation; 2]) -> Node {
    el("div", &[], &[leaf("p", "", named(runs.map(|one| &one.scenario.run))), timelines(runs)])
}

/// Both Runs by name: "A: Llama 3.1 8B on 64 GPUs, TP 2 · PP 4 · 1F1B; B: Llama 3.1 8B on 64 GPUs, TP 8".
pub fn named([a, b]: [&Run; 2]) -> Message {
    let name = |run: &Run, other: &Run| Message::joined(", ", [words::name(run), title(run, other)]);
    t!("A: {a}; B: {b}", a = name(a, b), b = name(b, a))
}

fn head(runs: [&Run; 2]) -> Node {
    let button = |class: &str, label: &'static str, title: &'static str, action: Action| {
        el("button", &[("class", class)], &[text(label)]).title(title).on(action)
    };
    let [first, second] = runs.map(|run| Arc::new(run.clone()));
    let swap = Compare::Swap(Arc::clone(&second), Arc::clone(&first));
    let buttons = Node::from_iter([
        button("", "Keep A as B", "A is kept as B, beside what you change", Action::Compare(Compare::Keep(first))),
        button("", "Swap", "B becomes A, and A becomes B", Action::Compare(swap.clone())),
        button("main", "Use B", "B becomes this run", Action::Compare(swap)),
        button("quiet", "Close ×", "Leave the comparison, without B", Action::Compare(Compare::Close)),
    ]);
    el(
        "div",
        &[("class", "panel-head")],
        &[leaf("h2", "", "Compare"), leaf("span", "spring", ""), el("span", &[("class", "tools")], &[buttons])],
    )
}

/// Settings that a title names at most.
const NAMED: usize = 2;

/// The title of `run` beside `other`: its layout, or what else it differs in.
fn title(run: &Run, other: &Run) -> Message {
    let (own, theirs) = (brief(run, other), brief(other, run));
    if own != theirs || run == other {
        return own;
    }
    let named = changes(run, other).into_iter().take(NAMED);
    let named = named.map(|change| Message::joined(": ", [change.field.label.into(), change.to]));
    Message::joined(" · ", named)
}

/// The answer of a Run in one line, with its memory on a bar.
fn card(letter: &'static str, evaluation: &Evaluation, runs: [&Run; 2], unit: MemoryUnit) -> Node {
    let (report, run) = (&evaluation.report, &evaluation.scenario.run);
    let (memory, step) = (&report.memory, &report.step);
    let (class, mark, _) = words::verdict_of(run, &memory.peak());
    let (own, other) = (runs[0], if run == runs[0] { runs[1] } else { runs[0] });
    let scope = Scope::of(run, Some(own));
    let figure = |name: Node, value: String, unit: Message, field: &'static str| {
        let value = [strong(verbatim(value)).reports(field, &scope), aside(unit)];
        el("span", &[], &[name, el("span", &[], &value)])
    };
    let parted = |shown: String| {
        let (number, unit) = shown.rsplit_once(' ').map_or((shown.as_str(), ""), |parts| parts);
        (number.to_owned(), verbatim(unit))
    };
    let capacity = t!("of {capacity}", capacity = unit.show(memory.capacity_bytes));
    let name = |name: &'static str| leaf("span", "name", name);
    let verdict =
        Node::from_iter([leaf("span", "name", "Memory"), el("span", &[("class", class)], &[leaf("b", "mark", mark)])]);
    let timed = [
        ("Step", parted(show_seconds(step.time_s)), "step.time_s"),
        ("MFU", parted(show_percent(step.mfu)), "step.mfu"),
        ("Bubble", parted(show_percent(report.pipeline.bubble_fraction)), "pipeline.bubble_fraction"),
    ];
    let timed = timed.map(|(label, (value, unit), field)| figure(name(label), value, unit, field));
    let figures =
        std::iter::once(figure(verdict, unit.number(memory.peak_bytes), capacity, "memory.peak_bytes")).chain(timed);
    let budget = [leaf("span", "name", budget_name(run)), budget(evaluation, &scope)];
    let title = [strong(letter), text(" "), faint(title(run, other))];
    let cells = [
        el("p", &[], &title),
        el("div", &[("class", "compare-figures")], &[figures.collect()]),
        el("div", &[("class", "compare-budget")], &budget),
    ];
    el("article", &[("class", &format!("compare-card {class}"))], &cells)
}

/// Settings that differ, each with a way to take it over where the comparison changes the Run.
fn settings(first: &Run, second: &Run, is_changing: bool) -> Node {
    let differences = changes(first, second);
    let words = match differences.len() {
        0 => return muted("Both runs are set alike. Change anything: the second stays as it is."),
        1 => t!("One setting differs."),
        n => t!("{n} settings differ.", n),
    };
    let row = |change: &SettingChange| {
        // A value that cannot stand beside the other settings of A is not offered.
        let taken = first.with_texts(&[(change.field.key, change.back.clone())]).filter(|_| is_changing);
        let take = if taken.is_some_and(|run| Scenario::new(&run).is_ok()) {
            el("button", &[("class", "link")], &[text("use this value")]).on(change.undo())
        } else {
            Node::none()
        };
        let values = [text(" "), text(&change.to), text(" → "), strong(&change.from), text(" "), take];
        // No form has the field in another page.
        let name = if is_changing { name(change.field) } else { inline(change.field.label) };
        el("li", &[], &[name, Node::from_iter(values)]).keyed(change.field.key)
    };
    let rows: Node = differences.iter().map(row).collect();
    el("div", &[("class", "differences")], &[strong(words), el("ul", &[], &[rows])])
}

fn both(first: &Evaluation, second: &Evaluation, unit: MemoryUnit) -> Node {
    let reports = [&first.report, &second.report];
    let head = ["", "A", "B", "difference", ""];
    let own = &first.scenario.run;
    let scopes = [Scope::run(), Scope::of(&second.scenario.run, Some(own))];
    let [headline, parts] = figures([first, second], scopes.clone(), unit);
    Node::from_iter([
        timelines([first, second]),
        falls([first, second]),
        memory(reports.map(|report| &report.memory), &scopes, unit),
        leaf("h2", "", "Key figures"),
        table("Key figures of both runs", &head, &headline),
        fold("What they are made of", table("Figures of both runs", &head, &parts)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // No hole of a template is left open.
        assert!(html.contains("set alike") && !html.contains('{'), "{html}");
        assert!(html.contains("same time per step and as much memory"), "{html}");
        assert!(!html.contains(" points") && !html.contains(">take<"));
    }

    /// A shared comparison names and draws both runs, each with what the other has not.
    #[test]
    fn a_shared_comparison_is_of_both() {
        let [a, b] = [Run::default(), Run { tp: 8, pp: 1, ..Run::default() }];
        let words = named([&a, &b]).to_string();
        assert!(words.starts_with("A: Llama 3.1 8B on 64 GPUs, TP 2 · PP 4") && words.contains("; B: "), "{words}");
        assert!(words.ends_with("TP 8"), "{words}");
        let html = pictured([&evaluate(&a).unwrap(), &evaluate(&b).unwrap()]).to_html();
        assert!(html.contains("Pipelines on one axis") && html.contains("A: ") && html.contains("B: "), "{html}");
    }

    /// In another page both Runs stand as in the page: the same figures in the same order, no press that changes one.
    #[test]
    fn a_comparison_in_another_page_has_the_figures_of_the_page_and_changes_nothing() {
        let [a, b] = [Run::default(), Run { tp: 8, pp: 1, ..Run::default() }].map(|run| evaluate(&run).unwrap());
        let second = Second { run: &b.scenario.run, evaluation: Ok(&b) };
        let [page, frame] = [compare, framed].map(|view| view(&a, &second, MemoryUnit::Gib));
        assert_eq!(page.figures(), frame.figures());
        let scopes =
            [Scope::run(), Scope::of(&b.scenario.run, Some(&a.scenario.run))].map(|scope| format!("{scope:?}"));
        for scope in scopes {
            let steps = frame
                .figures()
                .into_iter()
                .filter(|(field, of, _)| field == "step.time_s" && scope == format!("Scope({of:?})"));
            assert!(steps.count() > 0, "{scope}");
        }
        let changes = |action: &&&Action| {
            let explains = matches!(action, Action::Compare(Compare::Explain(_)));
            !explains && matches!(action, Action::Apply(_) | Action::Load(_) | Action::Focus(_) | Action::Compare(_))
        };
        assert!(page.actions().iter().any(|action| changes(&action)));
        assert_eq!(frame.actions().iter().filter(changes).count(), 0, "{:?}", frame.actions());
    }

    #[test]
    fn the_difference_is_second_minus_first() {
        let pp2 = Run { pp: 2, ..Run::default() };
        let (there, back) = (html(&Run::default(), &pp2), html(&pp2, &Run::default()));
        // dp = gpus / (tp pp): 8 and 16.
        assert!(
            there.contains("<td><span>8</span></td><td><span>16</span></td><td>+8</td><td>+100.0 %</td>"),
            "{there}"
        );
        assert!(back.contains("<td><span>16</span></td><td><span>8</span></td><td>−8</td><td>−50.0 %</td>"));
        let takes = |first: &Run, second: &Run, pp: &str| {
            let take = Action::Apply(vec![("pp", pp.to_owned())]);
            panel(first, second).actions().contains(&&take)
        };
        assert!(takes(&Run::default(), &pp2, "2") && takes(&pp2, &Run::default(), "4"));
    }

    /// Two numbers are no layers of four stages.
    #[test]
    fn a_value_that_cannot_stand_beside_the_others_is_not_offered() {
        let uneven = Run { pp: 2, ..Run::default() };
        let uneven = uneven.with_texts(&[("stage_layers", "17,15")]).unwrap();
        let panel = panel(&Run::default(), &uneven);
        let taken = |key: &str| {
            let is = |action: &&&Action| matches!(action, Action::Apply(set) if set[0].0 == key);
            panel.actions().iter().any(|action| is(&action))
        };
        assert!(taken("pp") && !taken("stage_layers"));
    }

    /// What the runs differ in stands in their titles: the layout, else the settings.
    /// A micro-batch of 4 instead of 1 moves no weight, gradient or optimizer state.
    #[test]
    fn the_sentence_names_the_component_that_differs_most() {
        let larger = Run { micro_batch: 4, ..Run::default() };
        let html = html(&Run::default(), &larger);
        assert!(html.contains("Memory differs most in activations: +"), "{html}");
        assert!(html.contains("; among tensors, most in activations of "), "{html}");
    }

    #[test]
    fn titles_tell_the_runs_apart() {
        for other in [
            Run { pp: 2, ..Run::default() },
            Run { schedule: Schedule::ZbH1, ..Run::default() },
            Run { global_batch: 512, ..Run::default() },
            Run { seq_len: 4096, ..Run::default() },
        ] {
            let own = Run::default();
            let (a, b) = (title(&own, &other).to_string(), title(&other, &own).to_string());
            assert!(a != b && !a.is_empty(), "{a} and {b}");
            let html = html(&own, &other);
            assert!(html.contains(&a) && html.contains(&b), "{html}");
        }
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
