//! The dialog's element: what opens it on a page, and closes it.

use crate::view::node::action::Dialog;
use crate::web::browser;
use crate::web::state::State;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

fn element() -> Option<web_sys::HtmlDialogElement> {
    browser::by_id("dialog").and_then(|element| element.dyn_into().ok())
}

/// Opens the dialog on `page`, or turns to it.
pub fn open(state: State, page: Dialog) {
    state.panels.dialog.set(Some(page));
    if let Some(dialog) = element().filter(|dialog| !dialog.open()) {
        let _ = dialog.show_modal();
    }
}

/// Closes the dialog.
pub fn close() {
    if let Some(dialog) = element() {
        dialog.close();
    }
}
