//! The key figures, and the list of issues.

use crate::core::report::work;
use crate::core::t;
use crate::core::units::show_count;
use crate::view::node::markup::{Node, text as plain};
use crate::view::panels::issues::note;
use crate::view::panels::strip::strip;
use crate::view::panels::suggest::{Searched, suggestion};
use crate::view::panels::waterfall::waterfall;
use crate::web::evaluated::FAILED;
use crate::web::html::flag;
use crate::web::i18n::say;
use crate::web::panel::panel;
use crate::web::render::nodes;
use crate::web::state::State;
use leptos::prelude::*;

/// The key figures; each opens its formula.
#[component]
pub(crate) fn Strip() -> impl IntoView {
    let state = expect_context::<State>();
    let figures = panel(state, || true, |evaluation, unit| strip(&evaluation.scenario.run, &evaluation.report, unit));
    view! {
        <div class="strip-frame stale-able" class:stale=flag(move || state.is_stale()) role="region" aria-label=say("Key figures")>
            {nodes("wait-note", move || waiting(state))}
            {nodes("strip", move || figures.get())}
        </div>
    }
}

/// Where the step goes.
#[component]
pub(crate) fn Waterfall() -> impl IntoView {
    let state = expect_context::<State>();
    let rows = panel(state, || true, |evaluation, _| waterfall(evaluation));
    view! {
        <section class="water stale-able" class:stale=flag(move || state.is_stale()) aria-labelledby="water-title">
            <div class="panel-head">
                <h2 id="water-title">{say("Where the step goes")}</h2>
                <small>{say("each row starts where the one above ends")}</small>
            </div>
            {nodes("falls", move || rows.get())}
        </section>
    }
}

/// The main loss with the layout that changes it, and the line that names the field with a warning or an error.
#[component]
pub(crate) fn Advice() -> impl IntoView {
    let state = expect_context::<State>();
    let loss = panel(
        state,
        || true,
        move |evaluation, unit| suggestion(evaluation, &state.planner.searched(evaluation), unit),
    );
    let line = move || {
        let stands_in = state.shown.with(|shown| shown.stands_in);
        let searched = state.evaluation().map(|evaluation| state.planner.searched(&evaluation));
        let words = searched.filter(|searched| searched.evaluated > 0).map(|searched| {
            let Searched { done, evaluated, feasible, .. } = searched;
            if done {
                t!("{evaluated} layouts searched in the background, {feasible} fit.", evaluated, feasible)
            } else {
                t!("Searching layouts: {evaluated}.", evaluated)
            }
        });
        let searched = words.unwrap_or_default();
        note(state.fault().as_ref(), &state.noted(), stands_in, searched)
    };
    view! {
        <div class="advice stale-able" class:stale=flag(move || state.is_stale()) role="region" aria-label=say("What to change")>
            {nodes("loss-frame", move || loss.get())}
        </div>
        {nodes("note-line", line)}
    }
}

/// Number of ops being simulated, while they are.
pub(crate) fn waiting(state: State) -> Node {
    if state.undrawable.get() {
        return plain(FAILED);
    }
    if !state.shown.with(|shown| shown.waits) && state.is_drawn() {
        return Node::none();
    }
    let ops = state.run.with(work).unwrap_or_default();
    plain(t!("simulating {ops} ops…", ops = show_count(ops as f64)))
}
