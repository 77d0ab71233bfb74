//! A text that is pasted onto the page, outside of its fields, is diagnosed or imported.

use crate::io::pasted::{PastedKind, is_search, pasted};
use crate::view::node::action::Dialog;
use crate::view::views::View;
use crate::web::browser;
use crate::web::document::modal;
use crate::web::late::parts;
use crate::web::state::State;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::ClipboardEvent;

parts! {
    second: pasted_text(state: State, text: String) -> () = take(state, text);
}

/// Listens for texts that are pasted; those that a field or another dialog takes are left alone.
/// The field that searches settings takes one line of words.
pub(crate) fn listen(state: State) {
    let handle = window_event_listener_untyped("paste", move |event| {
        let other =
            state.panels.dialog.with_untracked(|page| page.as_ref().is_some_and(|page| *page != Dialog::Import));
        let searches = browser::is_searching();
        if browser::is_typing() && !searches || other || state.panels.shares.get_untracked().is_some() {
            return;
        }
        let data = event.dyn_ref::<ClipboardEvent>().and_then(ClipboardEvent::clipboard_data);
        let text = data.and_then(|data| data.get_data("text/plain").ok()).filter(|text| !text.trim().is_empty());
        let text = text.filter(|text| !searches || !is_search(text));
        if let Some(text) = text {
            event.prevent_default();
            leptos::task::spawn_local(async move {
                let _ = pasted_text(state, text).await;
            });
        }
    });
    on_cleanup(move || handle.remove());
}

/// Opens the view that takes `text`; where none understands it, the import, which says so.
pub(crate) fn take(state: State, text: String) {
    match pasted(&text) {
        Some(PastedKind::Evidence) => {
            modal::close();
            state.view.show(View::Diagnose(false));
            state.pasted.set(Some(text));
            browser::to_top();
        }
        // The import says what it does not understand of any other text.
        Some(PastedKind::Settings) | None => {
            state.panels.imported.set(text);
            modal::open(state, Dialog::Import);
        }
    }
}
