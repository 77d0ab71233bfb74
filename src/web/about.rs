//! The drawer about a number; before anything is asked it explains the fullest GPU.

use crate::core::report::Figure;
use crate::web::i18n::say;
use crate::web::panel::named_panel;
use crate::web::render::patched;
use crate::web::state::State;
use leptos::prelude::*;

/// The drawer.
#[component]
pub fn About() -> impl IntoView {
    let state = expect_context::<State>();
    let figure = move || Some(state.figure.get().map(Figure::id).unwrap_or_default());
    let content = named_panel(state, "about", figure);
    view! {
        <button class="close-sheet" aria-label=say("Close") on:click=move |_| state.drawer.set(false)>"✕"</button>
        <small class="muted">{say("About this number")}</small>
        <div use:patched=content></div>
    }
}
