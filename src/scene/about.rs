//! About a number: the formula, the same with this run's values, the source, what it leaves out.

use super::glossary::marked;
use super::markup::{Html, cited as link_to, el, fold, leaf, text};
use crate::explain::Term;
use crate::source::Source;

/// A term with everything below it.
#[must_use]
pub fn about(term: &Term) -> Html {
    el(
        "div",
        &[("class", "term")],
        &[
            leaf("h2", "", &capitalised(&term.name)),
            body(term),
            form("As text", &term.text()),
            form("As LaTeX", &term.latex()),
        ],
    )
}

/// A fold with a text to copy.
fn form(label: &str, content: &str) -> Html {
    let copy = [("data-save", "text"), ("data-kind", "copy")];
    let inside = [
        el(
            "pre",
            &[("class", "file"), ("tabindex", "0")],
            &[text(content)],
        ),
        el("button", &copy, &[text("Copy")]),
    ];
    fold(label, el("div", &[], &inside))
}

fn body(term: &Term) -> Html {
    let deeper = term.parts.iter().filter(|part| !part.formula.is_empty());
    let deeper: Html = deeper
        .map(|part| {
            let title = format!("{}: {}", part.symbol, part.name);
            [leaf("h3", "", &title), body(part)].into_iter().collect()
        })
        .collect();
    [
        formula(term),
        inputs(term),
        source(term),
        notes(term),
        deeper,
    ]
    .into_iter()
    .collect()
}

fn formula(term: &Term) -> Html {
    let result = leaf("p", "result", &format!("= {}", term.shown()));
    if term.formula.is_empty() {
        return result;
    }
    let said = format!("{} = {}", term.symbol, term.formula);
    let numbers = match term.substituted() {
        numbers if numbers.is_empty() => Html::none(),
        numbers => code("numbers", &format!("= {numbers}")),
    };
    [code("formula", &said), numbers, result]
        .into_iter()
        .collect()
}

/// What is the same in every language.
pub(super) fn code(class: &str, formula: &str) -> Html {
    let attributes = [("class", class), ("translate", "no")];
    el("p", &attributes, &[text(formula)])
}

fn inputs(term: &Term) -> Html {
    if term.parts.is_empty() {
        return Html::none();
    }
    let rows: Html = term
        .parts
        .iter()
        .flat_map(|part| {
            [
                leaf("dt", "", part.symbol),
                el("dd", &[], &[marked(&part.name)]),
                leaf("dd", "amount", &part.shown()),
            ]
        })
        .collect();
    el("dl", &[], &[rows])
}

/// Where a term stands, as a link.
pub(super) fn source(term: &Term) -> Html {
    let Some((source, place)) = term.source else {
        return Html::none();
    };
    el(
        "p",
        &[("class", "muted")],
        &[text("Source: "), cited(source, place)],
    )
}

/// A place in a document, as a link.
pub(super) fn cited(source: &Source, place: &str) -> Html {
    let name = format!("{}, {place}", source.short);
    link_to(source, &name)
}

fn notes(term: &Term) -> Html {
    if term.notes.is_empty() {
        return Html::none();
    }
    let item = |note: &String| el("li", &[], &[marked(note)]);
    let items: Html = term.notes.iter().map(item).collect();
    el("ul", &[], &[items])
}

pub(super) fn capitalised(text: &str) -> String {
    let mut out = text.to_owned();
    if let Some(first) = out.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Figure, evaluate, explain};
    use crate::run::Run;

    /// Where a term and everything with a formula below it stand.
    fn links(term: &Term) -> Vec<String> {
        let own = term.source.iter();
        let mut all: Vec<String> = own
            .map(|(source, place)| cited(source, place).into_string())
            .collect();
        let deeper = term.parts.iter().filter(|part| !part.formula.is_empty());
        all.extend(deeper.flat_map(links));
        all
    }

    #[test]
    fn a_figure_is_shown_with_formula_numbers_and_source() {
        let evaluation = evaluate(&Run::default()).unwrap();
        for figure in [Figure::Memory(0), Figure::Step, Figure::Bubble, Figure::Mfu] {
            let term = explain(&evaluation, figure).unwrap();
            let html = about(&term).into_string();
            assert!(html.contains("class=\"formula\""), "{figure:?}");
            assert!(html.contains(&term.shown()), "{figure:?}");
            let numbers = term.substituted();
            assert!(!numbers.is_empty(), "{figure:?}");
            let numbers = text(&format!("= {numbers}")).into_string();
            assert!(html.contains(&numbers), "{figure:?}: {numbers}");
            let links = links(&term);
            assert!(!links.is_empty(), "{figure:?}");
            for link in links {
                // Our own published runs stand in a panel, not at an address.
                assert!(link.contains("href=") || link.contains("title="), "{link}");
                assert!(html.contains(&link), "{figure:?}: {link}");
            }
        }
    }
}
