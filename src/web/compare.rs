//! A second Run beside the first: kept in the link.

use crate::view::panels::compare::{Second, compare as view};
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
    let beside = view_once(move || {
        let run = state.view.second.get()?;
        let (first, timed) = (state.drawn.get()?, timed.get());
        second.with(|second| {
            let evaluation = if second.errors.is_empty() {
                Ok(timed.as_deref().filter(|one| one.scenario.run == run)?)
            } else {
                Err(&second.errors[..])
            };
            let second = Second { run: &run, evaluation };
            Some(view(&first, &second, state.view.unit.get()))
        })
    });
    nodes("compare-runs", move || beside.get())
}

/// Copies the Run into the second, unless there is one, and shows the comparison, which stands on the view of the Run.
pub fn compare(state: State) {
    state.view.show(View::Run);
    state.panels.tab.set("results");
    if state.view.second.with_untracked(Option::is_none) {
        state.view.keep_second(Some(state.run.get_untracked()));
    }
    window().scroll_to_with_x_and_y(0.0, 0.0);
}
