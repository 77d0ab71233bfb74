//! The drawer that explains a figure: closed until one is asked, gone with Escape or a press elsewhere unless it is
//! pinned.

use crate::core::report::Figure;
use crate::core::t;
use crate::view::panel::Panel;
use crate::web::html::text;
use crate::web::i18n::{say, translated};
use crate::web::panel::shown;
use crate::web::render::patched;
use crate::web::shortcuts::{drawer_closes, keeps_drawer};
use crate::web::state::{Panels, State};
use leptos::prelude::*;

/// The drawer.
#[component]
pub(crate) fn About() -> impl IntoView {
    let (state, panels) = (expect_context::<State>(), expect_context::<Panels>());
    let pinned = RwSignal::new(false);
    let close = move |_| {
        panels.drawer.set(false);
        drawer_closes();
    };
    let asked = move || panels.whole.get().map_or_else(|| Panel::About(panels.figure.get()), Panel::AboutWhole);
    let handle = window_event_listener_untyped("pointerdown", move |event| {
        if panels.drawer.get_untracked() && !pinned.get_untracked() && !keeps_drawer(&event) {
            panels.drawer.set(false);
        }
    });
    on_cleanup(move || handle.remove());
    let content = shown(state, move || panels.drawer.get().then(asked));
    let rank = move || match panels.figure.get() {
        Some(Figure::Memory(rank) | Figure::Component(rank, _)) if state.rank() != Some(rank) => Some(rank),
        _ => None,
    };
    let select = move |rank: usize| {
        let label = say(t!("Select rank {rank}", rank));
        view! { <button class="link" on:click=move |_| state.select_rank(rank)>{label}</button> }
    };
    let pin = text(move || translated(if pinned.get() { "unpin" } else { "pin" }));
    view! {
        <span class="tools">
            {move || rank().map(select)}
            <button
                class="link"
                aria-pressed=text(move || pinned.get().to_string())
                on:click=move |_| pinned.update(|on| *on = !*on)
            >
                {pin}
            </button>
            <button class="link close-sheet" on:click=close>{say("close")}</button>
        </span>
        <div use:patched=content></div>
    }
}
