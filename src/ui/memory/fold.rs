//! A part of the panel that opens on request.

use leptos::prelude::*;

/// A heading that folds what stands under it; `note` says beside it what is inside.
#[component]
pub fn Fold(
    id: &'static str,
    #[prop(into)] title: Signal<String>,
    #[prop(into)] note: Signal<String>,
    #[prop(into)] open: Signal<bool>,
    toggle: Callback<()>,
    children: ChildrenFn,
) -> impl IntoView {
    view! {
        <div class="part">
            <h3>
                <button class="fold" aria-expanded=move || open.get().to_string() aria-controls=id on:click=move |_| toggle.run(())>
                    <span class="mark" aria-hidden="true">{move || if open.get() { "▾" } else { "▸" }}</span>
                    <span class="name">{title}</span>
                    <span class="note">{note}</span>
                </button>
            </h3>
            <div id=id class="inside" hidden=move || !open.get()>
                <Show when=move || open.get()>{children()}</Show>
            </div>
        </div>
    }
}
