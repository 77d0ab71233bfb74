//! A second Run beside the first: kept in the link.

use crate::view::node::markup::leaf;
use crate::view::panels::compare::{Second, compare as view, framed};
use crate::view::views::View;
use crate::web::browser::html::view_once;
use crate::web::document::render::nodes;
use crate::web::late::parts;
use crate::web::state::State;
use crate::web::state::evaluated::{drawn, evaluated};
use leptos::prelude::*;

parts! {
    views: second_run(state: State) -> AnyView = panel(state);
}

pub(crate) fn panel(state: State) -> AnyView {
    let second = evaluated(move || state.view.second.get());
    let (timed, _) = drawn(move || second.with(|second| second.evaluation.clone()));
    let is_framed = state.view.embed.is_some();
    let beside = view_once(move || {
        let Some(run) = state.view.second.get() else {
            return is_framed.then(|| leaf("p", "", NO_SECOND));
        };
        let (first, timed) = (state.drawn.get()?, timed.get());
        second.with(|second| {
            let evaluation = if second.errors.is_empty() {
                Ok(timed.as_deref().filter(|one| one.scenario.run == run)?)
            } else {
                Err(&second.errors[..])
            };
            let second = Second { run: &run, evaluation };
            let view = if is_framed { framed } else { view };
            Some(view(&first, &second, state.view.unit.get()))
        })
    });
    nodes("compare-runs", move || beside.get())
}

/// What a frame says whose link holds one Run.
const NO_SECOND: &str = "The comparison, once the link holds a second run.";

/// Copies the Run into the second, unless there is one, and shows the comparison, which stands on the view of the Run.
pub fn compare(state: State) {
    state.view.show(View::Run);
    state.panels.tab.set("results");
    if state.view.second.with_untracked(Option::is_none) {
        state.view.keep_second(Some(state.run.get_untracked()));
    }
    window().scroll_to_with_x_and_y(0.0, 0.0);
}
