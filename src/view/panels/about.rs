//! About a number: the formula, the same with this run's values, the source, what it leaves out.

use crate::prelude::*;
use shardscope_core::explain::{Formula, Term};

/// A term: its name and value, its formula, the largest terms, its source; the rest is folded.
pub fn about(term: &Term, unit: MemoryUnit) -> Node {
    let copies = [form("As text", &term.text(unit)), form("As LaTeX", &term.latex(unit))];
    let more = [values(term, unit), notes(term)].into_iter().chain(copies);
    el(
        "div",
        &[("class", "term")],
        &[
            leaf("h2", "", &term.name),
            leaf("p", "big", term.shown(unit)),
            formula(term),
            terms(term, unit),
            inputs(term, unit),
            closed(term, unit),
            source(term),
            fold("With its values, notes, and to copy", more.collect()),
        ],
    )
}

/// A fold with a text to copy.
fn form(label: &'static str, content: &str) -> Node {
    fold(label, copied("", content, Node::none()))
}

fn body(term: &Term, unit: MemoryUnit) -> Node {
    Node::from_iter([
        formula(term),
        values(term, unit),
        terms(term, unit),
        inputs(term, unit),
        source(term),
        notes(term),
    ])
}

/// Terms that are shown before the smaller ones are folded together.
const SHOWN: usize = 3;

/// Terms of the formula that have formulas of their own, a fold each: the largest first, the smallest together.
fn terms(term: &Term, unit: MemoryUnit) -> Node {
    let parts = term.parts.iter();
    let mut parts: Vec<&Term> = parts.filter(|part| has_fold(part, term)).collect();
    let share = |part: &Term| (part.unit == term.unit).then(|| part.value / term.value);
    let size = |part: &Term| share(part).unwrap_or(0.0);
    parts.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let fold = |part: &&Term| {
        let bar = share(part).map_or_else(Node::none, |share| {
            let width = percent("width", share.clamp(0.0, 1.0));
            el("i", &[("style", &width)], &[])
        });
        let head = [
            el("span", &[("class", "symbol"), ("translate", "no")], &[subscripted(part.symbol)]),
            el("span", &[], &[prose(&part.name)]),
            el("span", &[("class", "share")], &[bar]),
            leaf("span", "amount", part.shown(unit)),
        ];
        let head = el("summary", &[], &head);
        el("details", &[("class", "term-fold")], &[head, body(part, unit)]).keyed(part.symbol)
    };
    // One more takes no more space than a line that says so.
    let few = parts.len() <= SHOWN + 1;
    let count = if few { parts.len() } else { SHOWN };
    let inside: Node = parts.iter().skip(count).map(fold).collect();
    let rest = (!few).then(|| smaller(&parts[count..], inside, term, unit));
    parts.iter().take(count).map(fold).chain(rest).collect()
}

/// True if `part` has a fold of its own below `term`.
fn has_fold(part: &Term, term: &Term) -> bool {
    part.opens() && !of_a_family(part, &term.parts)
}

/// True if `part` is one of the summands that a formula adds up, which are shown together.
pub(super) fn of_a_family(part: &Term, parts: &[Term]) -> bool {
    part.symbol.ends_with("_i") || parts.iter().filter(|other| other.symbol == part.symbol).count() > 1
}

/// The formula in symbols, or the rule of a value that has none.
fn formula(term: &Term) -> Node {
    if let Some((mark, piece)) = term.provenance() {
        return marked_as(mark.word(), piece);
    }
    let Some(formula) = term.formula() else {
        return Node::none();
    };
    code("formula", &format!("{} = {}", term.symbol, formula.text()))
}

/// The formula with the values of this run.
fn values(term: &Term, unit: MemoryUnit) -> Node {
    let result = leaf("p", "result", t!("= {result}", result = term.shown(unit)));
    let numbers = match term.with_values(unit) {
        numbers if numbers.is_empty() || term.provenance().is_some() => Node::none(),
        numbers => code("numbers", &format!("= {numbers}")),
    };
    Node::from_iter([numbers, result])
}

/// The closed form of a term, or of the first of its parts that has one.
fn closed(term: &Term, unit: MemoryUnit) -> Node {
    let inside = term.parts.iter().find_map(|part| Some((part, part.closed.as_deref()?)));
    let Some((part, closed)) = term.closed.as_deref().map(|closed| (term, closed)).or(inside) else {
        return Node::none();
    };
    let head = t!("closed form, {part}", part = part.name.clone());
    let body = [formula(closed), values(closed, unit), inputs(closed, unit), notes(closed), source(closed)];
    el("section", &[("class", "closed-form")], &[leaf("p", "muted", head), body.into_iter().collect()])
}

/// The way to a value that no formula over the parts gives: `word`, and the formula of a piece.
pub(super) fn marked_as(word: &'static str, piece: Option<&Formula>) -> Node {
    let mut pieces = vec![text(word)];
    if let Some(piece) = piece {
        let attributes = [("class", "rule"), ("translate", "no")];
        pieces.push(text(": "));
        pieces.push(el("span", &attributes, &[subscripted(piece.text())]));
    }
    el("p", &[("class", "muted")], &pieces)
}

/// A formula with its indices lowered: `N_e`.
fn subscripted(formula: &str) -> Node {
    let mut pieces = Vec::new();
    let mut rest = formula;
    while let Some((before, behind)) = rest.split_once('_') {
        let end = behind.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(behind.len());
        let (index, after) = behind.split_at(end);
        pieces.push(text(verbatim(before)));
        pieces.push(leaf("sub", "", verbatim(index)));
        rest = after;
    }
    pieces.push(text(verbatim(rest)));
    pieces.into_iter().collect()
}

/// Text that is the same in every language.
pub(super) fn code(class: &str, formula: &str) -> Node {
    let attributes = [("class", class), ("translate", "no")];
    el("p", &attributes, &[subscripted(formula)])
}

/// A symbol in the list of inputs.
pub(super) fn symbol(symbol: &str) -> Node {
    el("dt", &[("translate", "no")], &[subscripted(symbol)])
}

/// Terms of the formula without a fold of their own; of many summands the largest first and the smallest together.
fn inputs(term: &Term, unit: MemoryUnit) -> Node {
    let parts = term.parts.iter().filter(|part| !has_fold(part, term));
    let (mut summands, others): (Vec<&Term>, Vec<&Term>) = parts.partition(|part| of_a_family(part, &term.parts));
    summands.sort_by(|a, b| b.value.total_cmp(&a.value));
    let mut legend: Vec<&Term> = Vec::new();
    let count = if summands.len() <= SHOWN + 1 { summands.len() } else { SHOWN };
    let first = [&others[..], &summands[..count]].concat();
    let first = rows(&first, term, unit, &mut legend);
    let rest = rows(&summands[count..], term, unit, &mut legend);
    if first.is_empty() {
        return Node::none();
    }
    let rest = (!rest.is_empty()).then(|| smaller(&summands[count..], el("dl", &[], &rest), term, unit));
    let legend: Vec<Node> = legend
        .iter()
        .flat_map(|part| {
            let name = el("dd", &[("class", "legend-of")], &[prose(&part.name)]);
            [symbol(part.symbol), name]
        })
        .collect();
    let legend = (!legend.is_empty()).then(|| el("dl", &[], &legend));
    std::iter::once(el("dl", &[], &first)).chain(rest).chain(legend).collect()
}

/// A line for each of `parts` of `term`; the symbols of its formulas are added to those to be explained.
fn rows<'a>(parts: &[&'a Term], term: &Term, unit: MemoryUnit, legend: &mut Vec<&'a Term>) -> Vec<Node> {
    let lines = parts.iter().flat_map(|part| {
        let amount = leaf("dd", "amount", part.shown(unit));
        let how = of_a_family(part, &term.parts).then(|| how(part, unit, legend));
        let name = el("dd", &[], &[prose(&part.name)]);
        [symbol(part.symbol), name, amount].into_iter().chain(how)
    });
    lines.collect()
}

/// The smallest terms of `term`, folded, with their sum where they are of its unit.
fn smaller(parts: &[&Term], inside: Node, term: &Term, unit: MemoryUnit) -> Node {
    let n = parts.len();
    let sum = Term::given("", "", parts.iter().map(|part| part.value).sum(), term.unit);
    let words = if parts.iter().all(|part| part.unit == term.unit) {
        t!("{n} more, {sum}", n, sum = sum.shown(unit))
    } else {
        t!("{n} more", n)
    };
    el("details", &[("class", "term-fold")], &[leaf("summary", "", words), inside]).keyed("rest")
}

/// Formula of one of several summands, in a line or two; its symbols are added to those to be explained.
fn how<'a>(part: &'a Term, unit: MemoryUnit, legend: &mut Vec<&'a Term>) -> Node {
    let mut lines = Vec::new();
    let mut inside = vec![part];
    while let Some(term) = inside.pop() {
        for one in &term.parts {
            let is_listed = |other: &&Term| other.symbol == one.symbol && other.name == one.name;
            if !legend.iter().any(is_listed) {
                legend.push(one);
            }
        }
        if let Some(formula) = term.formula() {
            let left = if std::ptr::eq(term, part) { "" } else { term.symbol };
            let mut line = format!("{left} = {}", formula.text());
            let numbers = term.with_values(unit);
            if !numbers.is_empty() {
                line = format!("{line} = {numbers}");
            }
            lines.push(el("div", &[("translate", "no")], &[subscripted(line.trim_start())]));
        } else if let Some((mark, piece)) = term.provenance() {
            lines.push(marked_as(mark.word(), piece));
        }
        inside.extend(term.parts.iter().filter(|one| one.opens()));
    }
    el("dd", &[("class", "how")], &lines)
}

/// Source of a term, as a link.
pub(super) fn source(term: &Term) -> Node {
    let Some((source, place)) = term.source else {
        return Node::none();
    };
    el("p", &[("class", "muted")], &[text("Source: "), cited_at(source, place)])
}

fn notes(term: &Term) -> Node {
    if term.notes.is_empty() {
        return Node::none();
    }
    let item = |note: &Message| el("li", &[], &[prose(note)]);
    let items: Node = term.notes.iter().map(item).collect();
    el("ul", &[], &[items])
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::explain;

    /// Sources of a term and of everything with a formula below it.
    fn links(term: &Term) -> Vec<String> {
        let sources = term.source.iter();
        let mut found: Vec<String> = sources.map(|(source, place)| cited_at(source, place).to_html()).collect();
        let deeper = term.parts.iter().filter(|part| part.opens() && !of_a_family(part, &term.parts));
        found.extend(deeper.flat_map(links));
        found
    }

    /// The formula in symbols; its values and what the terms are made of on request.
    #[test]
    fn a_drawer_opens_short() {
        let evaluation = evaluate(&Run::default()).unwrap();
        for figure in [Figure::Memory(0), Figure::Step, Figure::Mfu, Figure::Tokens, Figure::Bubble] {
            let term = explain(&evaluation, figure).unwrap();
            let view = about(&term, MemoryUnit::Gib);
            let html = view.to_html();
            assert!(!html.contains(" open="), "{figure:?}");
            let first = html.split("<details").next().unwrap();
            assert!(first.contains(&formula(&term).to_html()) && !first.contains("class=\"numbers\""), "{figure:?}");
        }
    }

    #[test]
    fn a_figure_is_shown_with_formula_numbers_and_source() {
        let evaluation = evaluate(&Run::default()).unwrap();
        for figure in [Figure::Memory(0), Figure::Step, Figure::Bubble, Figure::Mfu] {
            let term = explain(&evaluation, figure).unwrap();
            let html = about(&term, MemoryUnit::Gib).to_html();
            assert!(html.contains("class=\"formula\""), "{figure:?}");
            assert!(html.contains(&term.shown(MemoryUnit::Gib).to_string()), "{figure:?}");
            let numbers = term.with_values(MemoryUnit::Gib);
            assert!(!numbers.is_empty(), "{figure:?}");
            let numbers = text(verbatim(format!("= {numbers}"))).to_html();
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
