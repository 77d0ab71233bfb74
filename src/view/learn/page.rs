//! The page of a step, apart from its sliders: the list of lessons, head, words, picture.

use super::{LESSONS, Live, StepId};
use crate::core::message::verbatim;
use crate::core::report::Evaluation;
use crate::core::run::Run;
use crate::core::t;
use crate::core::units::{MemoryUnit, show_percent, show_seconds};
use crate::view::node::Node;
use crate::view::node::markup::{Action, aside, cited_at, el, heading, leaf, link_button, muted, prose, strong, text};
use crate::view::views::View;

/// The lessons, and the steps of the one that is open.
pub(super) fn lessons(current: StepId) -> Node {
    let first = StepId::all().filter(|id| id.step == 0);
    let items = first.map(|first| item(first, current));
    let list = el("ol", &[], &[items.collect()]);
    let nav = [leaf("h2", "", "Lessons"), list];
    el("nav", &[("class", "lessons")], &nav).label("Lessons")
}

fn item(first: StepId, current: StepId) -> Node {
    let lesson = first.lesson();
    let open = first.lesson == current.lesson;
    let head = [strong(lesson.title), aside(lesson.about)];
    let head = el("button", &[("class", "lesson")], &head).on(Action::Show(View::Learn(first)));
    let steps = if open { steps(first, current) } else { Node::none() };
    el("li", &[("class", if open { "open" } else { "" })], &[head, steps]).keyed(first.lesson_id())
}

/// Where one is, the title, and the ways to the steps beside.
#[must_use]
pub fn head(current: StepId) -> Node {
    let lesson = current.lesson();
    let place = t!(
        "Lesson {lesson} of {lessons}, step {step} of {steps}",
        lesson = current.lesson + 1,
        lessons = LESSONS.len(),
        step = current.step + 1,
        steps = lesson.steps.len()
    );
    let [before, after] = current.neighbours();
    let back = before.map_or_else(Node::none, |id| {
        let title = t!("‹ {step}", step = id.step().title);
        let back = leaf("button", "back", title).keyed("back");
        back.say("aria-keyshortcuts", verbatim("ArrowLeft")).on(Action::Show(View::Learn(id)))
    });
    let next = after.map_or_else(Node::none, |id| {
        let title = t!("Next: {step} ›", step = id.step().title);
        let next = leaf("button", "main next", title).keyed("next");
        next.say("aria-keyshortcuts", verbatim("ArrowRight")).on(Action::Show(View::Learn(id)))
    });
    let title = el("div", &[], &[leaf("small", "muted", place), leaf("h1", "", lesson.title)]);
    el("div", &[("class", "lesson-head")], &[title, leaf("span", "spring", ""), back, next])
}

/// Title of a step.
pub(super) fn title(current: StepId) -> Node {
    leaf("h2", "", current.step().title)
}

/// Its text.
#[must_use]
pub fn words(live: &Live) -> Node {
    let paragraphs = live.text.iter();
    paragraphs.map(|text| el("p", &[], &[prose(text)])).collect()
}

/// The formula of a step with its values.
#[must_use]
pub fn formula(live: &Live) -> Node {
    let lines = live
        .formula
        .iter()
        .flat_map(|[symbols, values]| [leaf("p", "formula", symbols), leaf("p", "values", t!("= {values}", values))]);
    let note = muted(&live.note);
    el("div", &[("class", "lesson-formula")], &[lines.chain([note]).collect()])
}

/// The picture of a step and what its colours stand for.
#[must_use]
pub fn picture(live: &Live) -> Node {
    [&live.legend, &live.picture].into_iter().cloned().collect()
}

/// Every step of every lesson, as ways there.
pub(super) fn overview(current: StepId) -> Node {
    let lesson = |first: StepId| {
        let title = heading(first.lesson().title);
        el("section", &[], &[title, steps(first, current)])
    };
    let lessons = StepId::all().filter(|id| id.step == 0).map(lesson);
    let all = el("div", &[("class", "all-steps")], &[lessons.collect()]);
    let nav = [leaf("h2", "", "All steps"), all];
    el("nav", &[], &nav).label("All steps")
}

/// The steps of the lesson that begins with `first`.
fn steps(first: StepId, current: StepId) -> Node {
    let steps = StepId::all().filter(|id| id.lesson == first.lesson);
    let steps = steps.map(|id| {
        let here = if id == current { "step" } else { "" };
        let button = link_button(id.step().title).on(Action::Show(View::Learn(id)));
        el("li", &[("aria-current", here)], &[button])
    });
    el("ol", &[("class", "steps")], &[steps.collect()])
}

/// The step's settings on `run`, and the way there. `evaluate` gives the report of a Run.
pub(super) fn on_run(
    current: StepId,
    run: &Run,
    unit: MemoryUnit,
    evaluate: impl Fn(&Run) -> Option<Evaluation>,
) -> Node {
    let set: Vec<(&'static str, String)> =
        current.step().on_run.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    let settings: Vec<(String, String)> = set.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let (changed, issues) = run.with_differences(&settings);
    let figures = if issues.is_empty() { evaluate(&changed) } else { None };
    let said = figures.map_or_else(
        || t!("Your run does not work with these settings; the page says what would."),
        |evaluation| {
            let report = &evaluation.report;
            t!(
                "There: bubble {bubble}, step {step}, fullest GPU {peak}.",
                bubble = show_percent(report.pipeline.bubble_fraction),
                step = show_seconds(report.step.time_s),
                peak = unit.show(report.memory.peak_bytes)
            )
        },
    );
    let button = link_button("See it on your run").on(Action::Try(set));
    el("p", &[], &[button, text(" "), text(said)])
}

/// The sources of a step.
pub(super) fn source(current: StepId) -> Node {
    let (source, place) = current.step().source;
    let cite = [text("Source: "), cited_at(source, place)];
    el("p", &[("class", "muted")], &cite)
}
