//! The page's export dialog: the formats to choose from, and the chosen one as text.

use super::formats::{FORMATS, export};
use super::stamp::Stamp;
use shardscope_core::report::evaluate;
use shardscope_core::run::Run;
use shardscope_view::node::action::{Dialog, Save};
use shardscope_view::node::markup::{Action, Node, copied, el, faint, leaf, text, title};
use shardscope_view::panels::issues::line;

/// The dialog with `id` chosen, the first form where it is none; the text bears `stamp`.
pub fn menu(run: &Run, id: &str, stamp: &Stamp) -> Node {
    let chosen = FORMATS.iter().find(|format| format.id == id).unwrap_or(&FORMATS[0]);
    let choices: Node = FORMATS
        .iter()
        .map(|format| {
            let pressed = (format.id == chosen.id).to_string();
            let attributes = [("aria-pressed", &*pressed)];
            let open = Action::Open(Dialog::Export(format.id));
            el("button", &attributes, &[text(format.label)]).title(format.what).on(open)
        })
        .collect();
    let body = match evaluate(run).and_then(|_| export(run, chosen.id, stamp)) {
        Err(issues) => el("div", &[("class", "taken")], &issues.iter().map(line).collect::<Vec<_>>()),
        Ok(file) => {
            let save = Save::Text { name: format!("shardscope.{}", chosen.end), text: file.as_str().into() };
            let save = leaf("button", "main", "Save").on(Action::Save(save));
            copied("main", &file, Node::from_iter([save, faint(chosen.what)]))
        }
    };
    [title("Export"), el("p", &[("class", "choices"), ("role", "group")], &[choices]).label("Form"), body]
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_can_be_chosen_copied_and_saved() {
        for format in FORMATS {
            let node = menu(&Run::default(), format.id, &Stamp::default());
            let actions = node.actions();
            let copies = |action: &&&Action| matches!(action, Action::Save(Save::Copy(text)) if !text.is_empty());
            assert_eq!(actions.iter().filter(copies).count(), 1, "{}", format.id);
            assert!(actions.contains(&&Action::Open(Dialog::Export(format.id))));
            assert!(node.to_html().contains(format.what), "{}", format.id);
        }
        let run = Run { tp: 7, ..Run::default() };
        let html = menu(&run, "json", &Stamp::default()).to_html();
        assert!(html.contains("issue error"), "{html}");
    }
}
