//! A part of the panel that opens on request and stays open when the Run changes.

use crate::view::node::markup::Node;
use crate::web::render::patched;
use leptos::prelude::*;

/// A heading that folds what stands under it.
pub struct Fold {
    /// Id of what it folds.
    pub id: &'static str,
    /// The heading.
    pub title: Signal<String>,
    /// Whether it is open.
    pub open: Signal<bool>,
    /// What it shows, empty while it is closed.
    pub content: Signal<Node>,
}

impl Fold {
    /// The fold; a press calls `toggle` with the new state.
    pub fn view(self, toggle: impl Fn(bool) + Send + 'static) -> AnyView {
        let Self {
            id,
            title,
            open,
            content,
        } = self;
        let expanded = Signal::derive(move || open.get().to_string());
        let mark = Signal::derive(move || if open.get() { "▾" } else { "▸" }.to_owned());
        let closed = Signal::derive(move || !open.get());
        view! {
            <div class="part">
                <h3>
                    <button class="fold" aria-expanded=expanded aria-controls=id on:click=move |_| toggle(!open.get_untracked())>
                        <span class="mark" aria-hidden="true">{mark}</span>
                        <span class="name">{title}</span>
                    </button>
                </h3>
                <div id=id class="inside" hidden=closed use:patched=content></div>
            </div>
        }
        .into_any()
    }
}
