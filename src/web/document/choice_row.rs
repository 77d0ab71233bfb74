//! A row of buttons that choose one of several views of a panel.

use crate::web::browser::html::{flag, text};
use crate::web::browser::i18n::say;
use leptos::prelude::*;

/// A row of buttons that choose one of several views.
pub(crate) fn views(names: impl IntoIterator<Item = &'static str>, chosen: RwSignal<usize>) -> AnyView {
    let button = |(at, name): (usize, &'static str)| {
        let pressed = text(move || (chosen.get() == at).to_string());
        view! { <button aria-pressed=pressed on:click=move |_| chosen.set(at)>{say(name)}</button> }
    };
    view! {
        <span
            class="seg"
            role="group"
            aria-label=say("View")
        >
            {names.into_iter().enumerate().map(button).collect_view()}
        </span>
    }
    .into_any()
}

/// The view at `at` of such a row.
pub(crate) fn view_at(chosen: RwSignal<usize>, at: usize, content: AnyView) -> AnyView {
    view! { <div hidden=flag(move || chosen.get() != at)>{content}</div> }.into_any()
}
