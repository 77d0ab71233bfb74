//! The page of a step, apart from its sliders: the list of lessons, head, words, picture.

use super::derivations::derivation;
use super::{Dials, LESSONS, Live, StepId};
use crate::prelude::*;
use crate::views::View;

/// A step with its sliders, and the steps whose challenge was answered.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub step: StepId,
    pub dials: &'a Dials,
    pub done: &'a [StepId],
}

impl Place<'_> {
    /// The way to `step`: in the same lesson with the sliders that both have, unless these answer its challenge before
    /// it was read.
    fn to(self, step: StepId) -> Action {
        let (row, same) = (step.step(), step.lesson == self.step.lesson);
        let carried = if same { self.dials.carried(row.sliders) } else { String::new() };
        let answers = || {
            let dials = Dials::linked(row.sliders, &carried).0.beside(self.dials.run());
            (row.live)(&dials).goal.is_some_and(|goal| goal.is_done())
        };
        let is_kept = step == self.step || carried.is_empty() || !answers();
        Action::Step(step, if is_kept { carried } else { String::new() })
    }
}

/// The lessons, and the steps of the one that is open.
pub(super) fn lessons(place: Place<'_>) -> Node {
    let first = StepId::all().filter(|id| id.step == 0);
    let items = first.map(|first| item(first, place));
    let list = el("ol", &[], &[items.collect()]);
    let nav = [leaf("h2", "", "Lessons"), list];
    el("nav", &[("class", "lessons")], &nav).label("Lessons")
}

fn item(first: StepId, place: Place<'_>) -> Node {
    let lesson = first.lesson();
    let open = first.lesson == place.step.lesson;
    let answered = place.done.iter().filter(|id| id.lesson == first.lesson).count();
    let count = leaf("span", "count", verbatim(format!("{answered}/{}", lesson.steps.len())));
    let head = [strong(lesson.title), count, aside(lesson.about)];
    let head = el("button", &[("class", "lesson")], &head).on(Action::Show(View::Learn(first)));
    let steps = if open { steps(first, place) } else { Node::none() };
    el("li", &[("class", if open { "open" } else { "" })], &[head, steps]).keyed(first.lesson_id())
}

/// Place in the lesson, title, and links to the steps beside.
pub(super) fn head(current: StepId, dials: &Dials) -> Node {
    let lesson = current.lesson();
    let at = Place { step: current, dials, done: &[] };
    let place = t!(
        "Lesson {lesson} of {lessons} · {title} · step {step} of {steps}",
        lesson = current.lesson + 1,
        lessons = LESSONS.len(),
        title = lesson.title,
        step = current.step + 1,
        steps = lesson.steps.len()
    );
    let [before, after] = current.neighbours();
    let back = before.map_or_else(Node::none, |id| {
        let title = t!("‹ {step}", step = id.step().title);
        let back = leaf("button", "back", title).keyed("back");
        back.say("aria-keyshortcuts", verbatim("ArrowLeft")).on(at.to(id))
    });
    let next = after.map_or_else(Node::none, |id| {
        let title = t!("Next: {step} ›", step = id.step().title);
        let next = leaf("button", "main next", title).keyed("next");
        next.say("aria-keyshortcuts", verbatim("ArrowRight")).on(at.to(id))
    });
    let title = el("div", &[], &[leaf("small", "muted", place), leaf("h1", "", current.step().title)]);
    el("div", &[("class", "lesson-head")], &[title, leaf("span", "spring", ""), back, next])
}

pub(super) fn title(current: StepId) -> Node {
    leaf("h2", "", current.step().title)
}

/// Its text.
pub(super) fn words(live: &Live) -> Node {
    let paragraphs = live.text.iter();
    paragraphs.map(|text| el("p", &[], &[prose(text)])).collect()
}

/// The formula of a step with its values, and what the simulation or the full model says.
pub(super) fn formula(live: &Live) -> Node {
    let lines = live
        .formula
        .iter()
        .flat_map(|[symbols, values]| [leaf("p", "formula", symbols), leaf("p", "values", t!("= {values}", values))]);
    let note = if live.note.is_empty() { Node::none() } else { muted(&live.note) };
    el("div", &[("class", "lesson-formula")], &[lines.chain([note, derived(live)]).collect()])
}

/// Where the formula comes from, folded.
fn derived(live: &Live) -> Node {
    let symbols = live.formula.as_ref().map(|[symbols, _]| symbols.to_string());
    let Some(lines) = symbols.and_then(|symbols| derivation(&symbols)) else {
        return Node::none();
    };
    fold("Where it comes from", el("ol", &[], &[lines.iter().map(|line| bullet(*line)).collect()]))
}

/// Remarks on the sources, folded; nothing where there is none.
pub(super) fn compared(live: &Live) -> Node {
    if live.compared.is_empty() { Node::none() } else { fold("Compared with the source", muted(&live.compared)) }
}

/// The challenge, and below it the formula behind a press.
pub(super) fn practice(live: &Live) -> Node {
    let goal = live.goal.as_ref().map_or_else(Node::none, super::Goal::view);
    let formula = match &live.formula {
        Some(_) => fold("Formula", formula(live)),
        None if live.note.is_empty() => Node::none(),
        None => muted(&live.note),
    };
    Node::from_iter([goal, formula, compared(live)])
}

/// The picture of a step and what its colours stand for.
pub(super) fn picture(live: &Live) -> Node {
    [&live.legend, &live.picture].into_iter().cloned().collect()
}

/// Every step of every lesson, as ways there.
pub(super) fn overview(place: Place<'_>) -> Node {
    let lesson = |first: StepId| {
        let title = heading(first.lesson().title);
        el("section", &[], &[title, steps(first, place)])
    };
    let lessons = StepId::all().filter(|id| id.step == 0).map(lesson);
    let lists = el("div", &[("class", "all-steps")], &[lessons.collect()]);
    let nav = [leaf("h2", "", "All steps"), lists];
    el("nav", &[], &nav).label("All steps")
}

/// The steps of the lesson that begins with `first`; a sign is before those whose challenge was answered.
fn steps(first: StepId, place: Place<'_>) -> Node {
    let steps = StepId::all().filter(|id| id.lesson == first.lesson);
    let steps = steps.map(|id| {
        let here = if id == place.step { "step" } else { "" };
        let class = if place.done.contains(&id) { "done" } else { "" };
        let button = link_button(id.step().title).on(place.to(id));
        el("li", &[("aria-current", here), ("class", class)], &[button])
    });
    el("ol", &[("class", "steps")], &[steps.collect()])
}

/// The sources of a step.
pub(super) fn source(current: StepId) -> Node {
    let (source, place) = current.step().source;
    let cite = [text("Source: "), cited_at(source, place)];
    el("p", &[("class", "muted")], &cite)
}
