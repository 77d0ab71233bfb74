//! A menu: a word that opens a list of buttons.

use crate::web::browser::html::effect;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event};

/// The menu called `name`, whose words are `label`. A press on a button in it and a press elsewhere close it.
pub(crate) fn menu(class: &'static str, name: Signal<String>, label: AnyView, content: AnyView) -> AnyView {
    let menu = NodeRef::<leptos::html::Details>::new();
    let close = move || {
        if let Some(menu) = menu.get_untracked() {
            let _ = menu.remove_attribute("open");
        }
    };
    let inside = move |event: &Event| {
        let target: Option<web_sys::Node> = event.target().and_then(|target| target.dyn_into().ok());
        menu.get_untracked().is_some_and(|menu| menu.contains(target.as_ref()))
    };
    effect(move || {
        let handle = window_event_listener_untyped("pointerdown", move |event| {
            if !inside(&event) {
                close();
            }
        });
        on_cleanup(move || handle.remove());
    });
    let pressed = move |event: web_sys::MouseEvent| {
        let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        if target.and_then(|target| target.closest("button, a").ok()).flatten().is_some() {
            close();
        }
    };
    view! {
        <details class=format!("menu {class}") node_ref=menu>
            <summary aria-label=name title=name>{label}</summary>
            <div on:click=pressed>{content}</div>
        </details>
    }
    .into_any()
}
