//! A second Run beside the first: kept in the link.

use crate::view::node::markup::Node;
use crate::view::panels::compare::{Second, compare as view};
use crate::web::evaluated::evaluated;
use crate::web::panel::panel;
use crate::web::render::nodes;
use crate::web::state::State;
use leptos::prelude::*;

/// The panel; empty while there is no second Run.
pub(crate) fn compare_panel(state: State) -> AnyView {
    let second = evaluated(move || state.second.get());
    let beside = panel(
        state,
        move || state.second.with(Option::is_some) && !second.with(|second| second.waits),
        move |first, unit| {
            let Some(run) = state.second.get() else {
                return Node::none();
            };
            second.with(|second| {
                let of = second.evaluation.as_deref();
                let evaluation = of.filter(|_| second.errors.is_empty());
                let second = Second {
                    run: &run,
                    evaluation: evaluation.ok_or(&second.errors),
                };
                view(first, &second, unit)
            })
        },
    );
    let content = move || {
        if state.second.with(Option::is_none) {
            Node::none()
        } else {
            beside.get()
        }
    };
    nodes("compare-runs", content)
}

/// Copies the Run into the second, unless there is one, and scrolls to the panel at the top.
pub fn compare(state: State) {
    if state.second.with_untracked(Option::is_none) {
        state.second.set(Some(state.run.get_untracked()));
    }
    window().scroll_to_with_x_and_y(0.0, 0.0);
}
