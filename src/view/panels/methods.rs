//! Derivation of every figure: one page made of the same terms as the drawer, with the symbols and sources of each.

use super::about::{code, marked_as, of_a_family, source, symbol};
use crate::prelude::*;
use shardscope_core::explain::Term;
use shardscope_core::report::explain;
use shardscope_core::run::Method;

/// The figures of the page, by what they are about.
fn chapters(evaluation: &Evaluation) -> [(&'static str, Vec<Figure>); 4] {
    let report = &evaluation.report;
    let rank = report.memory.peak_stage;
    let mut memory = vec![Figure::Memory(rank)];
    memory.extend(Component::ALL.map(|component| Figure::Component(rank, component)));
    memory.extend([Figure::InFlight(rank), Figure::Capacity]);
    let step = [Figure::Step, Figure::Compute, Figure::Bubble, Figure::Mfu, Figure::Tokens];
    let mut wires = vec![Figure::Exposed];
    wires.extend((0..report.overlap.len()).map(Figure::Overlap));
    let methods = Method::ALL.iter().map(|(method, _)| Figure::Method(*method, rank));
    [
        ("Memory", memory),
        ("The step", step.to_vec()),
        ("Communication", wires),
        ("Memory by the methods of others", methods.collect()),
    ]
}

/// The page, in the symbols of this run's model and layout.
pub fn panel(evaluation: &Evaluation) -> Node {
    let mut pieces = vec![
        leaf("h2", "", "Methods"),
        muted(
            "The formulas behind the figures of this page, for the model and layout that it shows. A figure's own \
                drawer has its values.",
        ),
    ];
    for (title, figures) in chapters(evaluation) {
        pieces.push(heading(title));
        let mut names = Vec::new();
        for term in figures.into_iter().filter_map(|figure| explain(evaluation, figure)) {
            // A figure that is part of another has its words.
            if !names.contains(&term.name) {
                pieces.push(fold(term.name.clone(), formula(&term)));
                names.push(term.name);
            }
        }
    }
    pieces.into_iter().collect()
}

/// A formula, what its symbols are, what they are made of, and the source.
fn formula(term: &Term) -> Node {
    let mut pieces = vec![said(term)];
    let mut rows = Vec::new();
    let mut listed: Vec<String> = Vec::new();
    for part in &term.parts {
        let family = of_a_family(part, &term.parts);
        rows.push(symbol(part.symbol));
        rows.push(el("dd", &[], &[prose(&part.name)]));
        // Summands of one kind come about alike: each way is said once.
        let way = part.formula().map(|formula| formula.text().to_owned());
        if let (true, Some(way)) = (family, way)
            && !listed.contains(&way)
        {
            rows.push(el("dd", &[("class", "how")], &[said(part)]));
            listed.push(way);
        }
    }
    pieces.push(el("dl", &[("class", "glossary")], &rows));
    pieces.push(source(term));
    let notes: Node = term.notes.iter().map(bullet).collect();
    pieces.push(el("ul", &[("class", "gaps")], &[notes]));
    let deeper = |part: &&Term| part.opens() && !of_a_family(part, &term.parts);
    for part in term.parts.iter().filter(deeper) {
        pieces.push(subheading(Message::joined(": ", [verbatim(part.symbol), part.name.clone()])));
        pieces.push(formula(part));
    }
    el("div", &[("class", "term")], &pieces)
}

/// The formula itself, or how the figure comes about where it has none.
fn said(term: &Term) -> Node {
    match (term.formula(), term.provenance()) {
        (Some(formula), _) => code("formula", &format!("{} = {}", term.symbol, formula.text())),
        (None, Some((mark, piece))) => marked_as(mark.word(), piece),
        (None, None) => Node::none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::explain::Formula;
    use shardscope_core::run::presets::PUBLISHED;

    #[test]
    fn every_figure_of_a_run_is_on_the_page_and_can_be_taken_along() {
        let runs = [0, 3, 4].map(|index: usize| PUBLISHED[index].run());
        for run in std::iter::once(Run::default()).chain(runs) {
            let evaluation = evaluate(&run).unwrap();
            let html = panel(&evaluation).to_html();
            for (_, figures) in chapters(&evaluation) {
                for term in figures.into_iter().filter_map(|figure| explain(&evaluation, figure)) {
                    stands_in(&html, &term);
                    takes_along(&term);
                }
            }
            assert!(html.contains("class=\"formula\""));
        }
    }

    /// The formula, the names of its symbols, the source and what it leaves out; what it is made of as well.
    fn stands_in(html: &str, term: &Term) {
        let says = |piece: Node| {
            let piece = piece.to_html();
            assert!(html.contains(&piece), "{}: {piece}", term.name);
        };
        if term.formula().is_some() || term.provenance().is_some() {
            says(said(term));
        }
        if let Some((document, place)) = term.source {
            says(cited_at(document, place));
        }
        for note in &term.notes {
            says(text(note));
        }
        for part in &term.parts {
            says(prose(&part.name));
            if part.opens() && !of_a_family(part, &term.parts) {
                stands_in(html, part);
            }
        }
    }

    /// Braces balance, `$` come in pairs, every backslash begins a command, and nothing but ASCII needs a font.
    fn takes_along(term: &Term) {
        let latex = term.latex(MemoryUnit::Gib);
        let body: String = latex.lines().filter(|line| !line.starts_with('%')).collect::<Vec<_>>().join("\n");
        let mut depth = 0i32;
        let mut before = ' ';
        for c in body.chars() {
            depth += i32::from(c == '{' && before != '\\') - i32::from(c == '}' && before != '\\');
            assert!(depth >= 0, "{latex}");
            before = if before == '\\' && c == '\\' { ' ' } else { c };
        }
        assert_eq!(depth, 0, "{latex}");
        assert_eq!(body.matches("$$").count() % 2, 0);
        assert_eq!(body.matches("\\begin{aligned}").count(), body.matches("\\end{aligned}").count());
        assert!(body.is_ascii(), "{body}");
        for sign in ["%", "#", "_{}"] {
            assert!(!body.replace("\\%", "").replace("\\#", "").contains(sign), "{sign}: {latex}");
        }
        let text = term.text(MemoryUnit::Gib);
        let formula = term.formula().map_or("", Formula::text);
        assert!(text.contains(&term.shown(MemoryUnit::Gib).to_string()) && text.contains(formula), "{text}");
    }
}
