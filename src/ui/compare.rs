//! A second Run beside the first: kept in the link, shown by the back room.

use crate::share::link;
use crate::ui::back::answer;
use crate::ui::browser;
use crate::ui::html::flag;
use crate::ui::state::State;
use leptos::prelude::*;

/// The panel; hidden while there is no second Run.
pub fn compare_panel(state: State) -> AnyView {
    let of = move || {
        state
            .second
            .with(|second| second.as_ref().map(link::encode))
    };
    let none = flag(move || state.second.with(Option::is_none));
    view! {
        <section
            id="compare-runs"
            class="stale-able"
            class:stale=flag(move || state.is_stale())
            aria-label="Compare"
            hidden=none
            inner_html=answer(state, "compare", of)
        ></section>
    }
    .into_any()
}

/// Keeps the Run as it is for the second, unless there is one, and shows the panel.
pub fn compare(state: State) {
    if state.second.with_untracked(Option::is_none) {
        state.second.set(Some(state.run.get_untracked()));
    }
    if let Some(panel) = browser::by_id("compare-runs") {
        panel.scroll_into_view();
    }
}
