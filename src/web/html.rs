//! Panels that are HTML text: put into the document whole, listened to once.

use crate::core::report::Figure;
use crate::io::link;
use crate::view::issues::read_fix;
use crate::view::markup::Node;
use crate::web::browser;
use crate::web::compare::compare;
use crate::web::dialog;
use crate::web::field::input_id_of;
use crate::web::history;
use crate::web::state::State;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// A text that follows what it reads. Attributes and children of this one type cost the page much less than closures of
/// a type each.
pub fn text(of: impl Fn() -> String + Send + Sync + 'static) -> Signal<String> {
    Signal::derive(of)
}

/// A yes or no that follows what it reads.
pub fn flag(of: impl Fn() -> bool + Send + Sync + 'static) -> Signal<bool> {
    Signal::derive(of)
}

/// An element whose content is `html`, redrawn when what it reads changes.
pub fn html(class: &'static str, html: impl Fn() -> Node + Send + Sync + 'static) -> AnyView {
    block(class, text(move || html().to_html()))
}

/// One instance for all panels.
pub fn block(class: &'static str, content: Signal<String>) -> AnyView {
    view! { <div class=class inner_html=content></div> }.into_any()
}

/// Does what the pressed button's `data-` attribute says: asks about a figure, goes to a field, mends an issue, opens a
/// run or the dialog, keeps a second run, goes a step back or forth.
pub fn pressed(state: State, event: &web_sys::MouseEvent) {
    let target = event
        .target()
        .and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    let Some(button) = target.and_then(|target| {
        target
            .closest(
                "[data-ask],[data-go],[data-fix],[data-run],[data-open],[data-second],[data-step]",
            )
            .ok()
            .flatten()
    }) else {
        return;
    };
    if let Some(figure) = button
        .get_attribute("data-ask")
        .and_then(|id| Figure::from_id(&id))
    {
        state.ask(figure);
    }
    if let Some(key) = button.get_attribute("data-go")
        && let Some(input) = browser::by_id(&input_id_of(&key))
    {
        input.scroll_into_view();
        let _ = input.focus();
    }
    if let Some(fragment) = button.get_attribute("data-run") {
        state.run.set(link::decode(&fragment).run);
        dialog::close();
    }
    if let Some(of) = button.get_attribute("data-open") {
        dialog::open(state, &of);
    }
    if let Some(fix) = button.get_attribute("data-fix") {
        state.apply(&read_fix(&fix));
    }
    if let Some(second) = button.get_attribute("data-second") {
        match second.as_str() {
            "+" => compare(state),
            "-" => state.second.set(None),
            link => state.second.set(Some(link::decode(link).run)),
        }
    }
    if let Some(step) = button.get_attribute("data-step") {
        history::step(state, step == "undo");
        browser::focus_again(&button, "data-step");
    }
}
