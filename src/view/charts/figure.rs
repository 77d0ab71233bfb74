//! A picture in a panel: the words above it, and the buttons that save it.

use crate::node::action::Save;
use crate::prelude::*;

/// The buttons that save the SVG picture of the same panel as `name`.
pub fn save(name: &'static str) -> Node {
    let button = |png: bool, label: &'static str| {
        let title = t!("Save this picture as {label}", label);
        let save = Save::Picture { name, drawn: None, unit: MemoryUnit::default(), png, run: None, theme: None };
        el("button", &[], &[text(label)]).title(title).on(Action::Save(save))
    };
    let kinds = el("div", &[], &[button(false, "SVG"), button(true, "PNG")]);
    let menu = [leaf("summary", "", "Save"), kinds];
    el("details", &[("class", "menu save")], &menu).keyed(name)
}

/// Legend of a picture.
pub fn legend(entries: impl IntoIterator<Item = Node>) -> Node {
    el("div", &[("class", "legend")], &[entries.into_iter().collect()])
}

/// Entry of a legend: class of the swatch and words.
pub fn swatch((class, words): &(&str, &'static str)) -> Node {
    el("span", &[], &[leaf("i", &format!("swatch {class}"), ""), text(*words)])
}

/// Legend of a picture: class of each swatch and words.
pub fn key(kinds: &[(&str, &'static str)]) -> Node {
    legend(kinds.iter().map(swatch))
}

/// A picture of a panel with a line of words and the buttons that save it as `name`.
pub fn figure(name: &'static str, words: impl Into<Message>, picture: Node) -> Node {
    let head = [aside(words), leaf("span", "spring", ""), save(name)];
    el("figure", &[], &[el("div", &[("class", "panel-head")], &head), picture])
}

/// The entry of a key for passes that are too short to be drawn apart.
pub fn bands() -> Node {
    let how = "Passes too short to be drawn apart: the height of each colour is its share of the time, what stays open \
        is idle.";
    leaf("span", "of-blocks", t!("bands: shares of time")).title(how)
}
