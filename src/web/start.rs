//! The start of a first visit: what the sentence is for, and runs to start from.

use crate::core::run::presets::{PUBLISHED, PublishedRun, TUNED, TunedRun};
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
        let published = PUBLISHED.iter().find(|known| known.id == id);
        let tuned = TUNED.iter().find(|known| known.id == id);
        let run = published.map(PublishedRun::run);
        if let Some(run) = run.or_else(|| tuned.map(TunedRun::run)) {
            history::load(state, run);
        }
    };
    let option = |(id, name)| view! { <option value=id>{name}</option> };
    let published = PUBLISHED.iter().map(|known| (known.id, known.name));
    let tuned = TUNED.iter().map(|known| (known.id, known.name));
    view! {
        <p class="start">
            <span>{say("What to train, on what, with what: edit the words above, or start from")}</span>
            <select aria-label=say("Run to start from") on:change=load>
                <option value="">{say("a run")}</option>
                <optgroup label=say("Fine-tuning")>{tuned.map(option).collect_view()}</optgroup>
                <optgroup label=say("Published")>{published.map(option).collect_view()}</optgroup>
            </select>
        </p>
    }
    .into_any()
}
