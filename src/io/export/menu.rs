//! The page's dialog for taking a run out: the forms to choose from, and the chosen one as text.

use super::formats::{FORMATS, Stamp, export};
use crate::core::run::Run;
use crate::view::issues::line;
use crate::view::markup::{Html, el, leaf, text};

/// The dialog with `id` chosen; the first form where it is none.
#[must_use]
pub fn menu(run: &Run, id: &str, stamp: &Stamp) -> Html {
    let chosen = FORMATS
        .iter()
        .find(|format| format.id == id)
        .unwrap_or(&FORMATS[0]);
    let choices: Html = FORMATS
        .iter()
        .map(|format| {
            let open = format!("export {}", format.id);
            let pressed = (format == chosen).to_string();
            let attributes = [
                ("data-open", &*open),
                ("aria-pressed", &pressed),
                ("title", format.what),
            ];
            el("button", &attributes, &[text(format.label)])
        })
        .collect();
    let body = match export(run, chosen.id, stamp) {
        Ok(file) => {
            let name = format!("shardscope.{}", chosen.end);
            let save = [
                ("class", "main"),
                ("data-save", &*name),
                ("data-kind", "text"),
            ];
            let copy = [
                ("class", "main"),
                ("data-save", "text"),
                ("data-kind", "copy"),
            ];
            [
                el(
                    "pre",
                    &[("tabindex", "0"), ("class", "file")],
                    &[text(&file)],
                ),
                el("button", &copy, &[text("Copy")]),
                el("button", &save, &[text("Save")]),
                leaf("span", "muted", chosen.what),
            ]
            .into_iter()
            .collect()
        }
        Err(issues) => issues.iter().map(line).collect(),
    };
    [
        leaf("h2", "", "Take this run out"),
        el(
            "p",
            &[
                ("class", "choices"),
                ("role", "group"),
                ("aria-label", "Form"),
            ],
            &[choices],
        ),
        el("div", &[("class", "taken")], &[body]),
    ]
    .into_iter()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_can_be_chosen_copied_and_saved() {
        for format in FORMATS {
            let html = menu(&Run::default(), format.id, &Stamp::default()).into_string();
            assert!(
                html.contains("data-kind=\"copy\"") && html.contains(format.what),
                "{html}"
            );
        }
        let run = Run {
            tp: 7,
            ..Run::default()
        };
        let html = menu(&run, "json", &Stamp::default()).into_string();
        assert!(html.contains("issue error"), "{html}");
    }
}
