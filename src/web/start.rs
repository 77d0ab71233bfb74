//! The start of a first visit: what the sentence is for, and published runs to start from.

use crate::core::run::presets::PUBLISHED;
use crate::web::i18n::say;
use crate::web::state::State;
use crate::web::{browser, history};
use leptos::prelude::*;

/// A line above the figures of a page that was opened without a run.
pub fn start(state: State) -> AnyView {
    if !browser::link_text().is_empty() {
        return ().into_any();
    }
    let load = move |event| {
        let id = event_target_value(&event);
        if let Some(known) = PUBLISHED.iter().find(|known| known.id == id) {
            history::load(state, known.run());
        }
    };
    let runs = PUBLISHED
        .iter()
        .map(|known| view! { <option value=known.id>{known.name}</option> })
        .collect_view();
    view! {
        <p class="start">
            <span>{say("What to train, on what, with what: edit the words above, or start from")}</span>
            <select aria-label=say("Published run") on:change=load>
                <option value="">{say("a published run")}</option>
                {runs}
            </select>
        </p>
    }
    .into_any()
}
