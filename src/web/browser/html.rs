//! Signals for attributes, texts and views of the page's own elements.
//!
//! Signals, memos and effects over boxed closures: leptos's code for them is compiled once for a type of value, not for
//! every closure.

use crate::view::node::markup::Node;
use leptos::prelude::*;

type Derived<T> = Box<dyn Fn() -> T + Send + Sync>;

/// A text that follows what it reads.
pub fn text(of: impl Fn() -> String + Send + Sync + 'static) -> Signal<String> {
    Signal::derive(Box::new(of) as Derived<String>)
}

/// A yes or no that follows what it reads.
pub fn flag(of: impl Fn() -> bool + Send + Sync + 'static) -> Signal<bool> {
    Signal::derive(Box::new(of) as Derived<bool>)
}

/// A view that follows what it reads.
pub(crate) fn view_of(of: impl Fn() -> Node + Send + Sync + 'static) -> Signal<Node> {
    Signal::derive(Box::new(of) as Derived<Node>)
}

/// A view that is computed once for each change of what it reads; `None` leaves it as it was.
pub(crate) fn view_once(view: impl Fn() -> Option<Node> + Send + Sync + 'static) -> Signal<Node> {
    let view: Derived<Option<Node>> = Box::new(view);
    Memo::new(move |before: Option<&Node>| view().unwrap_or_else(|| before.cloned().unwrap_or_default())).into()
}

/// Does something whenever what it reads has changed.
pub fn effect(action: impl Fn() + 'static) {
    let action: Box<dyn Fn()> = Box::new(action);
    Effect::new(move |_| action());
}
