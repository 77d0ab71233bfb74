//! What the page's dialog shows but for imports: export, and what else has no place of its own.

use crate::core::report::evaluate;
use crate::core::run::Run;
use crate::io::export::{Stamp, menu::menu};
use crate::view::node::glossary;
use crate::view::node::markup::{Node, leaf};
use crate::view::panels::issues::line;
use crate::view::panels::{methods, published};

/// The dialog's content; `of` names it and says what of it, with a blank between: "export megatron".
#[must_use]
pub fn dialog(of: &str, run: &Run, stamp: &Stamp) -> Node {
    let (name, of) = of.split_once(' ').unwrap_or((of, ""));
    match name {
        "export" => menu(run, of, stamp),
        "published" => published::all(run),
        "beside" => published::beside(run),
        "methods" => evaluate(run).map_or_else(
            |issues| issues.iter().map(line).collect(),
            |evaluation| methods::panel(&evaluation),
        ),
        "glossary" => glossary::panel(of),
        "" => Node::none(),
        _ => leaf("p", "muted", "There is no page of that name."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_the_dialog_says_something_even_of_a_run_that_cannot_work() {
        let broken = Run {
            tp: 7,
            ..Run::default()
        };
        for of in [
            "export",
            "export csv",
            "published",
            "methods",
            "glossary",
            "glossary bubble",
            "nonsense",
        ] {
            for run in [&Run::default(), &broken] {
                assert_ne!(dialog(of, run, &Stamp::default()), Node::none(), "{of}");
            }
        }
        assert_eq!(dialog("", &broken, &Stamp::default()), Node::none());
    }
}
