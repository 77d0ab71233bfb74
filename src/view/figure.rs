//! A picture in a panel: the words above it, and the buttons that save it.

use super::markup::{Html, el, leaf, raw, text};
use crate::core::units::MemoryUnit;

/// The buttons that save the picture `name`: the one in the same panel, or what the calculator draws as `picture`, where
/// the page shows it otherwise.
#[must_use]
pub fn save(name: &str, picture: &str, unit: MemoryUnit) -> Html {
    let button = |kind: &str, label: &str| {
        let title = format!("Save this picture as {label}");
        let attributes = [
            ("class", "link"),
            ("data-save", name),
            ("data-kind", kind),
            ("data-picture", picture),
            (
                "data-unit",
                if picture.is_empty() { "" } else { unit.name() },
            ),
            ("title", title.as_str()),
        ];
        el("button", &attributes, &[text(label)])
    };
    el(
        "span",
        &[("class", "save")],
        &[
            button("svg", "SVG"),
            raw(" ".to_owned()),
            button("png", "PNG"),
        ],
    )
}

/// What the colours of a picture stand for: class of the swatch and words.
#[must_use]
pub fn key(kinds: &[(&str, &str)]) -> Html {
    let item = |(class, said): &(&str, &str)| {
        let swatch = leaf("i", &format!("swatch {class}"), "");
        el("span", &[], &[swatch, text(said)])
    };
    let items: Vec<Html> = kinds.iter().map(item).collect();
    el("div", &[("class", "legend")], &items)
}

/// A picture of a panel with a line of words and the buttons that save it as `name`.
#[must_use]
pub fn figure(name: &str, words: &str, picture: Html) -> Html {
    let head = [
        leaf("small", "", words),
        leaf("span", "spring", ""),
        save(name, "", MemoryUnit::default()),
    ];
    el(
        "figure",
        &[],
        &[el("div", &[("class", "panel-head")], &head), picture],
    )
}
