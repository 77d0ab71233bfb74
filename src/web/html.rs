//! Signals for attributes and texts of the page's own elements.

use leptos::prelude::*;

/// A text that follows what it reads. Attributes and children of this one type cost the page much less than closures of
/// a type each.
pub fn text(of: impl Fn() -> String + Send + Sync + 'static) -> Signal<String> {
    Signal::derive(of)
}

/// A yes or no that follows what it reads.
pub fn flag(of: impl Fn() -> bool + Send + Sync + 'static) -> Signal<bool> {
    Signal::derive(of)
}
