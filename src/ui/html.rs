//! Panels that are HTML text: put into the document whole, listened to once.

use crate::report::Figure;
use crate::scene::issues::read_fix;
use crate::scene::markup::Html;
use crate::share::link;
use crate::ui::browser;
use crate::ui::field::input_id_of;
use crate::ui::room;
use crate::ui::state::State;
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
pub fn html(class: &'static str, html: impl Fn() -> Html + Send + Sync + 'static) -> AnyView {
    block(class, text(move || html().into_string()))
}

/// One instance for all panels.
fn block(class: &'static str, content: Signal<String>) -> AnyView {
    view! { <div class=class inner_html=content></div> }.into_any()
}

/// Does what the pressed button's `data-` attribute says: asks about a figure, goes to a field, mends an issue, opens a
/// run or the dialog, keeps a second run, copies or files the text beside it.
pub fn pressed(state: State, event: &web_sys::MouseEvent) {
    let target = event
        .target()
        .and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    let Some(button) = target.and_then(|target| {
        target
            .closest(
                "[data-ask],[data-go],[data-fix],[data-run],[data-open],[data-second],[data-copy],[data-file]",
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
        room::close();
    }
    if let Some(of) = button.get_attribute("data-open") {
        room::open(state, &of);
    }
    let beside = |name: &str| {
        let name = button.get_attribute(name)?;
        let text = button.parent_element()?.query_selector("pre").ok()??;
        Some((name, text.text_content()?))
    };
    if let Some((name, text)) = beside("data-file") {
        browser::download(&name, "text/plain", &text);
    }
    if let Some((_, text)) = beside("data-copy") {
        let button = button.clone();
        browser::copy(&text, move |done| {
            button.set_text_content(Some(if done { "Copied" } else { "Select and copy" }));
        });
    }
    if let Some(fix) = button.get_attribute("data-fix") {
        state.apply(&read_fix(&fix));
    }
    if let Some(second) = button.get_attribute("data-second") {
        let second = (second != "-").then(|| link::decode(&second).run);
        state.second.set(second);
    }
}
