//! Panels of the page: HTML text that follows the last valid evaluation.

use crate::core::report::Evaluation;
use crate::core::units::MemoryUnit;
use crate::view::markup::Node;
use crate::web::browser;
use crate::web::panels::{Question, named};
use crate::web::state::State;
use leptos::prelude::*;

/// What `html` makes of the last valid evaluation: again with each that follows, and with whatever else it reads.
/// Nothing is computed while `open` says no.
pub fn panel(
    state: State,
    open: impl Fn() -> bool + Send + Sync + 'static,
    html: impl Fn(&Evaluation, MemoryUnit) -> Node + Send + Sync + 'static,
) -> Signal<String> {
    Memo::new(move |before: Option<&String>| {
        let evaluation = open().then(|| state.evaluation()).flatten();
        evaluation.map_or_else(
            || before.cloned().unwrap_or_default(),
            |evaluation| html(&evaluation, state.unit.get()).to_html(),
        )
    })
    .into()
}

/// The panel `name` of [`crate::web::panels::PANELS`], while `query` asks for it.
pub fn named_panel(
    state: State,
    name: &'static str,
    query: impl Fn() -> Option<String> + Send + Sync + 'static,
) -> Signal<String> {
    let query = Signal::derive(query);
    panel(
        state,
        move || query.with(Option::is_some),
        move |evaluation, unit| {
            let of = query.get().unwrap_or_default();
            let question = Question {
                evaluation,
                of: &of,
                unit,
            };
            named(name, &question)
        },
    )
}

/// A fold whose content is the panel `name`, computed while it is open; a button in it chooses a variant by its
/// `data-of`.
pub fn fold(state: State, name: &'static str, summary: &'static str) -> AnyView {
    let open = RwSignal::new(false);
    let chosen = RwSignal::new(String::new());
    let content = named_panel(state, name, move || open.get().then(|| chosen.get()));
    let pressed = move |event: web_sys::MouseEvent| {
        if let Some((of, button)) = browser::pressed_data(&event, "data-of") {
            chosen.set(of);
            browser::focus_again(&button, "data-of");
        }
    };
    view! {
        <details class="twin" on:toggle=move |_| open.update(|open| *open = !*open) on:click=pressed>
            <summary>{summary}</summary>
            <div inner_html=content></div>
        </details>
    }
    .into_any()
}
