//! The drawer that explains a figure; the fullest GPU until one is chosen.

use crate::view::panel::Panel;
use crate::web::i18n::say;
use crate::web::panel::shown;
use crate::web::render::patched;
use crate::web::shortcuts::drawer_closes;
use crate::web::state::{Panels, State};
use leptos::prelude::*;

/// The drawer.
#[component]
pub(crate) fn About() -> impl IntoView {
    let (state, panels) = (expect_context::<State>(), expect_context::<Panels>());
    let close = move |_| {
        panels.drawer.set(false);
        drawer_closes();
    };
    let asked = move || panels.whole.get().map_or_else(|| Panel::About(panels.figure.get()), Panel::AboutWhole);
    let content = shown(state, move || Some(asked()));
    view! {
        <button class="close-sheet" aria-label=say("Close") on:click=close>"✕"</button>
        <small class="muted">{say("About this number")}</small>
        <div use:patched=content></div>
    }
}
