//! A second Run beside the first: kept in the link, shown by the back room.

use crate::io::link;
use crate::web::back::answer;
use crate::web::html::{block, text};
use crate::web::state::State;
use leptos::prelude::*;

/// The panel; empty while there is no second Run.
pub fn compare_panel(state: State) -> AnyView {
    let html = answer(state, "compare", move || {
        state
            .second
            .with(|second| second.as_ref().map(link::encode))
    });
    let content = move || {
        if state.second.with(Option::is_none) {
            String::new()
        } else {
            html.get()
        }
    };
    block("compare-runs", text(content))
}

/// Keeps the Run as it is for the second, unless there is one, and shows the panel, the first of all.
pub fn compare(state: State) {
    if state.second.with_untracked(Option::is_none) {
        state.second.set(Some(state.run.get_untracked()));
    }
    window().scroll_to_with_x_and_y(0.0, 0.0);
}
