//! A picture in a panel: the words above it, and the buttons that save it.

use super::markup::{Html, el, leaf, raw, text};
use crate::units::MemoryUnit;

/// The buttons that save the picture `name`: the one in the same panel, or what the back room draws as `picture`, where
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
