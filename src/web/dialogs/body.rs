//! The open page of the dialog.

use crate::io::export::Stamp;
use crate::io::import::summary::summary;
use crate::view::node::action::Dialog;
use crate::view::node::markup::Node;
use crate::web::browser;
use crate::web::browser::html::view_once;
use crate::web::dialogs::page;
use crate::web::document::render::patched;
use crate::web::late::parts;
use crate::web::state::State;
use leptos::prelude::*;

parts! {
    second: dialog_page(state: State, typed: RwSignal<String>) -> AnyView = body(state, typed);
}

/// The page; `typed` is a text to import.
pub(crate) fn body(state: State, typed: RwSignal<String>) -> AnyView {
    let content = content(state, typed);
    view! {
        <div class="summary" aria-live="polite" use:patched=content></div>
    }
    .into_any()
}

/// The open page about the Run, with the import that is `typed`; nothing while the dialog is closed.
fn content(state: State, typed: RwSignal<String>) -> Signal<Node> {
    view_once(move || {
        Some(match state.panels.dialog.get() {
            None => Node::none(),
            Some(Dialog::Import) => match typed.get() {
                text if text.trim().is_empty() => Node::none(),
                text => {
                    let follows = state.view.follows.get();
                    state.run.with(|run| summary(&text, run, follows))
                }
            },
            Some(page) => {
                let stamp = Stamp { date: &browser::today(), address: &browser::address() };
                state.run.with(|run| page::content(page, run, &stamp))
            }
        })
    })
}
