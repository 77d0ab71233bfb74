//! Keys of any page: a drawer that takes the focus and gives it back, Escape, arrows that turn the steps of a lesson,
//! Enter in the search for a setting.

use crate::view::node::action::Dialog;
use crate::web::document::modal;
use crate::web::state::State;
use leptos::prelude::*;
use std::cell::RefCell;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlElement, KeyboardEvent};

thread_local! {
    /// The element that was pressed to open the drawer.
    static PRESSED: RefCell<Option<HtmlElement>> = const { RefCell::new(None) };
}

fn find(selector: &str) -> Option<HtmlElement> {
    let found = document().query_selector(selector).ok().flatten();
    found?.dyn_into().ok()
}

/// The element that `event` happened in, or the nearest around it, that `selector` matches.
fn around(event: &Event, selector: &str) -> Option<HtmlElement> {
    let inner: web_sys::Element = event.target()?.dyn_into().ok()?;
    inner.closest(selector).ok().flatten()?.dyn_into().ok()
}

fn focus(element: Option<HtmlElement>) {
    if let Some(element) = element {
        let _ = element.focus();
    }
}

/// The button that closes the drawer, where it is a drawer and not a column.
fn closer() -> Option<HtmlElement> {
    find("main:not([hidden]) > .detail .close-sheet, .embed .detail .close-sheet")
        .filter(|closer| closer.offset_parent().is_some())
}

/// The drawer takes the focus from what `event` pressed.
pub(crate) fn drawer_opens(event: &Event) {
    PRESSED.set(around(event, "[data-action]"));
    // It is shown in answer to the same event.
    request_animation_frame(|| focus(closer()));
}

/// True for a press in the drawer, and for one that asks for another figure.
pub(crate) fn keeps_drawer(event: &Event) -> bool {
    around(event, ".detail, [data-action^=explain], .menu").is_some()
}

/// The drawer gives the focus back.
pub(crate) fn drawer_closes() {
    focus(PRESSED.take());
}

/// Goes to the first layout that does better, or to where it will stand.
pub(crate) fn to_suggestions() {
    focus(find(".suggestion .main").or_else(|| find(".results")));
}

/// Listens for keys.
pub(crate) fn listen(state: State) {
    let handle = window_event_listener_untyped("keydown", move |event| {
        if let Some(event) = event.dyn_ref() {
            pressed(state, event);
        }
    });
    on_cleanup(move || handle.remove());
}

fn pressed(state: State, event: &KeyboardEvent) {
    let with = event.alt_key() || event.ctrl_key() || event.meta_key() || event.shift_key();
    match &*event.key() {
        "Escape" if !event.default_prevented() && find("dialog[open]").is_none() => {
            if let Some(menu) = around(event, "details.menu[open]") {
                let _ = menu.remove_attribute("open");
                focus(find_in(&menu, "summary"));
            } else if let Some(closer) = closer() {
                // The drawer lies over a sheet.
                closer.click();
            } else if state.panels.sheet.with_untracked(Option::is_some) {
                let opener = find(".groups .group[aria-expanded=true]");
                state.panels.sheet.set(None);
                focus(opener);
            }
        }
        // Only where the arrows move nothing else.
        key @ ("ArrowLeft" | "ArrowRight")
            if !with && around(event, "input, textarea, select, dialog, [role=region]").is_none() =>
        {
            let back = key == "ArrowLeft";
            let step = if back { ".lesson-head .back" } else { ".lesson-head .next" };
            if let Some(step) = find(step) {
                step.click();
            }
        }
        "?" if !crate::web::browser::is_typing() && find("dialog[open]").is_none() => modal::open(state, Dialog::Keys),
        "Enter"
            if around(event, ".find").is_some()
                && !state.panels.search.with_untracked(|words| words.trim().is_empty()) =>
        {
            // The first one found: an answer, a run that is typed in one line among them, or a setting.
            match find(".answers-found button") {
                Some(answer) => answer.click(),
                None => focus(find(".field input, .field select")),
            }
        }
        _ => {}
    }
}

fn find_in(element: &HtmlElement, selector: &str) -> Option<HtmlElement> {
    let found = element.query_selector(selector).ok().flatten();
    found?.dyn_into().ok()
}
