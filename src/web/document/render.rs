//! View trees in the document: patched in place, so that the focus, open folds, selected text and scroll positions
//! survive every change; one listener an element finds what a press does in the tree itself.

use crate::core::message::Catalogue;
use crate::view::node::markup::{Action, Node, PanelAction, Press};
use crate::view::node::patch::{Document, action_at, patch, toggle};
use crate::web::browser::html::view_of;
use crate::web::browser::i18n;
use crate::web::browser::i18n::Language;
use crate::web::state::State;
use js_sys::{Function, Reflect};
use leptos::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::Element;

/// The function that carries out the actions of the page; a context.
#[derive(Clone, Copy)]
pub(crate) struct Dispatch(pub fn(State, Action, &web_sys::MouseEvent));

/// Shows `view` in an element: `<div use:patched=view>`. [`Dispatch`] carries out what is pressed in it.
#[allow(clippy::needless_pass_by_value)] // leptos calls it with what it holds
pub(crate) fn patched(element: Element, view: Signal<Node>) {
    follow(&element, view, &|_| ());
}

/// A handler of the actions of one panel.
pub(crate) type Handler = std::sync::Arc<dyn Fn(PanelAction) + Send + Sync>;

/// Shows `view` in `element`; `handler` carries out the actions of the panel.
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn handled(element: Element, (view, handler): (Signal<Node>, Handler)) {
    follow(&element, view, &move |action| handler(action));
}

/// A `div` of that class which shows `view`.
pub fn nodes(class: &'static str, view: impl Fn() -> Node + Send + Sync + 'static) -> AnyView {
    let view = view_of(view);
    view! { <div class=class use:patched=view></div> }.into_any()
}

fn follow(root: &Element, view: Signal<Node>, handler: &(impl Fn(PanelAction) + Clone + 'static)) {
    let (Some(state), Some(Dispatch(dispatch))) = (use_context::<State>(), use_context()) else {
        return;
    };
    let mounted = StoredValue::new_local(Vec::new());
    let target = root.clone();
    Effect::new(move |before: Option<Language>| {
        let view = view.get();
        let (language, catalogue) = i18n::shown();
        // Empty during the patch: handlers of the event "blur" run while nodes are removed.
        let Some(mut old) = mounted.try_update_value(std::mem::take) else {
            return language;
        };
        // The same view in another language is another text everywhere.
        if before.is_some_and(|before| before != language) {
            target.set_text_content(None);
            old = Vec::new();
        }
        let page = Page { document: document(), catalogue };
        mounted.set_value(patch(&page, target.unchecked_ref(), old, &view));
        language
    });
    let (target, handler) = (root.clone(), handler.clone());
    // Not `FnMut`: what a press does may press something else in this root.
    let pressed = Closure::<dyn Fn(web_sys::MouseEvent)>::new(move |event: web_sys::MouseEvent| {
        let Some(inner) = event.target().and_then(|inner| inner.dyn_into().ok()) else {
            return;
        };
        let path = path(&target, inner);
        let press = mounted.try_with_value(|mounted| action_at(mounted, &path).cloned());
        if let Some(press) = press.flatten() {
            // The view tree decides which folds are open: suppress the default.
            event.prevent_default();
            match press {
                Press::Page(action) => dispatch(state, action, &event),
                Press::Panel(action) => handler(action),
            }
        }
    });
    let target = root.clone();
    let toggled = Closure::<dyn Fn(web_sys::Event)>::new(move |event: web_sys::Event| {
        if let Some(fold) = event.target().and_then(|fold| fold.dyn_into().ok()) {
            let path = path(&target, fold);
            let page = Page { document: document(), catalogue: untrack(i18n::shown).1 };
            // As during a patch.
            if let Some(mut shown) = mounted.try_update_value(std::mem::take) {
                toggle(&page, &mut shown, &path);
                mounted.set_value(shown);
            }
        }
    });
    listen(root, Listeners { pressed, toggled });
}

/// Listeners of a root.
struct Listeners {
    pressed: Closure<dyn Fn(web_sys::MouseEvent)>,
    /// Events of folds do not bubble: they are heard on their way inwards.
    toggled: Closure<dyn Fn(web_sys::Event)>,
}

/// Adds `listeners` to `root` for as long as its owner lives. Another view may be shown in the same element after that:
/// listeners and content that stayed would be called, and seen, there.
fn listen(root: &Element, listeners: Listeners) {
    let functions = |of: &Listeners| -> (Function, Function) {
        (
            of.pressed.as_ref().unchecked_ref::<Function>().clone(),
            of.toggled.as_ref().unchecked_ref::<Function>().clone(),
        )
    };
    let (pressed, toggled) = functions(&listeners);
    let _ = root.add_event_listener_with_callback("click", &pressed);
    let _ = root.add_event_listener_with_callback_and_bool("toggle", &toggled, true);
    let heard = StoredValue::new_local(Some((root.clone(), listeners)));
    on_cleanup(move || {
        if let Some((root, listeners)) = heard.try_update_value(Option::take).flatten() {
            let (pressed, toggled) = functions(&listeners);
            let _ = root.remove_event_listener_with_callback("click", &pressed);
            let _ = root.remove_event_listener_with_callback_and_bool("toggle", &toggled, true);
            root.set_text_content(None);
        }
    });
}

/// The nodes from the one below `root` to `inner`.
fn path(root: &Element, inner: web_sys::Node) -> Vec<web_sys::Node> {
    let root: &web_sys::Node = root;
    let mut path = Vec::new();
    let mut next = Some(inner);
    while let Some(node) = next.filter(|node| node != root) {
        next = node.parent_node();
        path.push(node);
    }
    path.reverse();
    path
}

/// The browser's document.
struct Page {
    document: web_sys::Document,
    catalogue: Arc<Catalogue>,
}

/// The text where no line breaks between a figure and its percent sign; what is copied line by line stays.
fn unbroken(text: &str) -> Cow<'_, str> {
    if text.contains(" %") && !text.contains('\n') { text.replace(" %", "\u{a0}%").into() } else { text.into() }
}

const SVG: &str = "http://www.w3.org/2000/svg";

impl Document for Page {
    type Node = web_sys::Node;

    fn element(&self, tag: &str, svg: bool) -> web_sys::Node {
        let namespace = svg.then_some(SVG);
        let element = match namespace {
            Some(_) => self.document.create_element_ns(namespace, tag),
            None => self.document.create_element(tag),
        };
        // Only a name that is none fails.
        element.map_or_else(|_| self.text(""), Into::into)
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn text(&self, text: &str) -> web_sys::Node {
        self.document.create_text_node(&unbroken(text)).into()
    }

    fn picture(&self, svg: &str) -> web_sys::Node {
        let around = self.document.create_element("div").ok();
        let drawn = around.and_then(|around| {
            around.set_inner_html(svg);
            around.first_child()
        });
        drawn.unwrap_or_else(|| self.text(""))
    }

    fn set_text(&self, node: &web_sys::Node, text: &str) {
        node.set_text_content(Some(&unbroken(text)));
    }

    fn set_attribute(&self, node: &web_sys::Node, name: &str, value: Option<&str>) {
        let element: &Element = node.unchecked_ref();
        let _ = match value {
            Some(value) => element.set_attribute(name, value),
            None => element.remove_attribute(name),
        };
        let property = match name {
            "value" => JsValue::from(value.unwrap_or_default()),
            "checked" | "selected" => value.is_some().into(),
            _ => return,
        };
        let _ = Reflect::set(node, &name.into(), &property);
    }

    fn insert(&self, parent: &web_sys::Node, child: &web_sys::Node, before: Option<&web_sys::Node>) {
        let _ = parent.insert_before(child, before);
    }

    fn remove(&self, node: &web_sys::Node) {
        if let Some(parent) = node.parent_node() {
            let _ = parent.remove_child(node);
        }
    }

    fn has_focus(&self, node: &web_sys::Node) -> bool {
        let focused = self.document.active_element();
        focused.is_some_and(|focused| node.contains(Some(&focused)))
    }

    fn is_closed(&self, details: &web_sys::Node) -> bool {
        let details: &Element = details.unchecked_ref();
        !details.has_attribute("open")
    }
}
