//! The key figures, and the list of issues.

use crate::core::report::work;
use crate::core::t;
use crate::core::units::show_count;
use crate::view::node::markup::{Node, text as plain};
use crate::view::panels::issues::{fault, list};
use crate::view::panels::strip::strip;
use crate::view::panels::words;
use crate::web::html::{flag, text, view_of};
use crate::web::i18n::{say, translated};
use crate::web::render::{nodes, patched};
use crate::web::state::State;
use leptos::prelude::*;

/// The key figures; each opens its formula.
#[component]
pub fn Strip() -> impl IntoView {
    let state = expect_context::<State>();
    let figures = move || {
        let unit = state.unit.get();
        state
            .evaluation()
            .map_or_else(Node::none, |evaluation| strip(&evaluation.report, unit))
    };
    let note = move || {
        let stands_in = state.shown.with(|shown| shown.stands_in);
        let issue = state.fault();
        issue.map_or_else(Node::none, |issue| fault(&issue, stands_in))
    };
    view! {
        <div class="strip-frame" class:stale=flag(move || state.is_stale()) role="region" aria-label=say("Key figures")>
            <p class="run-line">{text(move || translated(state.run.with(words::line)))}</p>
            {nodes("wait-note", move || waiting(state))}
            {nodes("stale-note", note)}
            {nodes("strip", figures)}
        </div>
    }
}

/// How much is being simulated, while it is.
pub fn waiting(state: State) -> Node {
    if !state.shown.with(|shown| shown.waits) {
        return Node::none();
    }
    let ops = state.run.with(work).unwrap_or_default();
    plain(t!("simulating {ops} ops…", ops = show_count(ops as f64)))
}

/// All issues, each with a link to its field.
#[component]
pub fn IssueList() -> impl IntoView {
    let state = expect_context::<State>();
    let issues = view_of(move || list(&state.noted()));
    view! {
        <ul
            class="issues"
            aria-label=say("What to know")
            use:patched=issues
        ></ul>
    }
}
