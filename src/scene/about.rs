//! About a number: the formula, the same with this run's values, the source, what it leaves out.

use super::markup::{Html, cited, el, span, text};
use crate::explain::Term;

/// A term with everything below it.
#[must_use]
pub fn about(term: &Term) -> Html {
    el(
        "div",
        &[("class", "term")],
        &[span("h2", "", &capitalised(&term.name)), body(term)],
    )
}

fn body(term: &Term) -> Html {
    let deeper = term.parts.iter().filter(|part| !part.formula.is_empty());
    let deeper: Html = deeper
        .map(|part| {
            let title = format!("{}: {}", part.symbol, part.name);
            [span("h3", "", &title), body(part)].into_iter().collect()
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
    let result = span("p", "result", &format!("= {}", term.shown()));
    if term.formula.is_empty() {
        return result;
    }
    [
        code("formula", &format!("{} = {}", term.symbol, term.formula)),
        code("numbers", &format!("= {}", term.substituted())),
        result,
    ]
    .into_iter()
    .collect()
}

/// What is the same in every language.
fn code(class: &str, formula: &str) -> Html {
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
                span("dt", "", part.symbol),
                span("dd", "", &part.name),
                span("dd", "amount", &part.shown()),
            ]
        })
        .collect();
    el("dl", &[], &[rows])
}

fn source(term: &Term) -> Html {
    let Some((source, place)) = term.source else {
        return Html::none();
    };
    let name = format!("{}, {place}", source.short);
    let source = cited(source, &name);
    el("p", &[("class", "muted")], &[text("Source: "), source])
}

fn notes(term: &Term) -> Html {
    if term.notes.is_empty() {
        return Html::none();
    }
    let items: Html = term.notes.iter().map(|note| span("li", "", note)).collect();
    el("ul", &[], &[items])
}

fn capitalised(text: &str) -> String {
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

    #[test]
    fn a_figure_is_shown_with_formula_numbers_and_source() {
        let evaluation = evaluate(&Run::default()).unwrap();
        for figure in [Figure::Memory(0), Figure::Step, Figure::Bubble, Figure::Mfu] {
            let term = explain(&evaluation, figure).unwrap();
            let html = about(&term).into_string();
            assert!(html.contains("class=\"formula\""), "{figure:?}");
            assert!(html.contains(&term.shown()), "{figure:?}");
        }
    }
}
