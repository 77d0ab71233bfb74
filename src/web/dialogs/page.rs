//! Contents of a page of the dialog, and the page that a link opens.

use crate::core::message::verbatim;
use crate::core::report::evaluate;
use crate::core::run::Run;
use crate::io::export::{FORMATS, Stamp, menu::menu};
use crate::view::node::action::Dialog;
use crate::view::node::glossary;
use crate::view::node::markup::{Node, el, muted, table, text, title};
use crate::view::panels::issues::line;
use crate::view::panels::{methods, published};

/// The page that a link calls `name`: "methods", "export megatron", "glossary bubble".
pub fn named(name: &str) -> Dialog {
    let (page, of) = name.split_once(' ').unwrap_or((name, ""));
    match page {
        "import" => Dialog::Import,
        "export" => {
            let format = FORMATS.iter().find(|format| format.id == of);
            Dialog::Export(format.unwrap_or(&FORMATS[0]).id)
        }
        "published" => Dialog::Published,
        "methods" => Dialog::Methods,
        "keys" => Dialog::Keys,
        "glossary" => Dialog::Glossary(glossary::find(of).map(|word| word.names[0])),
        _ => Dialog::Unknown,
    }
}

/// The content of a page, about `run`; exports bear `stamp`. An import stands beside its input.
pub fn content(page: Dialog, run: &Run, stamp: &Stamp) -> Node {
    match page {
        Dialog::Import => Node::none(),
        Dialog::Export(format) => menu(run, format, stamp),
        Dialog::Published => published::all(run),
        Dialog::Methods => evaluate(run)
            .map_or_else(|issues| issues.iter().map(line).collect(), |evaluation| methods::panel(&evaluation)),
        Dialog::Glossary(word) => glossary::panel(word.unwrap_or_default()),
        Dialog::Keys => keys(),
        Dialog::Unknown => muted("There is no page of that name."),
    }
}

/// Keys of the page, and what each does.
const KEYS: [(&str, &str); 12] = [
    ("/", "find a setting"),
    ("?", "this list"),
    ("↑ ↓", "next size of a number; next option of a list"),
    ("Ctrl+Z, Shift+Ctrl+Z", "undo, redo"),
    ("Esc", "close a drawer, a menu or a dialog"),
    ("Tab", "next field or button; the first stop skips to the results"),
    ("Space", "on the timeline: play, stop"),
    ("W, S, 0", "on the timeline: zoom in, zoom out, all of it"),
    ("A, D", "on the timeline: earlier, later"),
    (", .", "on the timeline: op before, op behind"),
    ("F", "on the timeline: show the chosen op large"),
    ("← →", "in a lesson: step before, next step; in memory bars: part before, next part"),
];

/// The keys as a table.
fn keys() -> Node {
    let row = |(keys, does): &(&'static str, &'static str)| {
        let name = el("kbd", &[], &[text(verbatim(*keys))]);
        (false, vec![name, text(*does), Node::none()])
    };
    let rows: Vec<_> = KEYS.iter().map(row).collect();
    Node::from_iter([title("Keyboard"), table("Keyboard", &["key", "what it does", ""], &rows)])
}

#[cfg(test)]
mod tests {
    use crate::web::dialogs::page::*;

    #[test]
    fn every_page_that_a_link_names_has_content_even_for_an_invalid_run() {
        let invalid = Run { tp: 7, ..Run::default() };
        for name in ["export", "export csv", "published", "methods", "keys", "glossary", "glossary bubble", "nonsense"]
        {
            for run in [&Run::default(), &invalid] {
                let content = content(named(name), run, &Stamp::default());
                assert_ne!(content, Node::none(), "{name}");
            }
        }
    }

    #[test]
    fn a_link_names_the_page_that_an_action_opens() {
        for format in FORMATS {
            let page = Dialog::Export(format.id);
            assert_eq!(named(&page.id()), page);
        }
        let word = Dialog::Glossary(Some("bubble"));
        for page in [Dialog::Import, Dialog::Published, Dialog::Methods, Dialog::Keys, word] {
            assert_eq!(named(&page.id()), page);
        }
    }
}
