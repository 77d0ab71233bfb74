//! What the predicted step of a layout is made of, the longest part first, and what would shorten each: a setting with
//! its predicted gain, or what to look at.

use super::{amount, head};
use crate::node::figure::Scope;
use crate::panels::waterfall::{field_of, part_words};
use crate::prelude::*;
use shardscope_core::diagnose::{Diagnosis, Remedy, differences};
use shardscope_core::time::PartKind;

/// The parts beside the ideal compute, the longest first; none where no whole step was compared. `page` is the run on
/// the page, which a change is made on where the files state no other.
pub(super) fn spent(found: &Diagnosis, page: &Run) -> Option<Node> {
    let whole = found.predicted_s.filter(|whole| *whole > 0.0)?;
    let ideal = found.made_of.iter().find(|(kind, _)| *kind == PartKind::Ideal)?.1;
    let run = found.own.as_deref().unwrap_or(page);
    let rows: Vec<Node> =
        found.remedies.iter().enumerate().map(|(at, remedy)| row(at, remedy, whole, [run, page])).collect();
    if rows.is_empty() {
        return None;
    }
    let words = t!(
        "By prediction the compute takes {ideal} of the {whole} at the GPU's peak rate. The largest other parts, and \
            what would shorten each. Every change was tried on this run: it fits, or needs no more memory than now.",
        ideal = Scope::compared().says(field_of(PartKind::Ideal), show_seconds(Seconds(ideal))),
        whole = Scope::compared().says("step.time_s", show_seconds(Seconds(whole)))
    );
    Some(Node::from_iter([
        head("Where the predicted step goes", Message::default(), Node::none()),
        paragraph(words),
        el("ol", &[("class", "causes")], &rows),
    ]))
}

/// A part of a step of `whole` seconds, with its change and a press that makes it.
fn row(at: usize, remedy: &Remedy, whole: f64, runs: [&Run; 2]) -> Node {
    let field = field_of(remedy.part);
    let share = Scope::compared().says(format!("{field} share"), show_percent(remedy.seconds / whole));
    let share = t!("{share} of the predicted step", share);
    let mut what = Vec::new();
    if !remedy.change.is_empty() {
        what.push(paragraph(t!("Change: {change}.", change = &remedy.change)));
    }
    what.push(muted(remedy.words.clone()));
    let cells = [
        leaf("span", "number", verbatim((at + 1).to_string())),
        amount("amount", &show_seconds(Seconds(remedy.seconds))).reports(field, &Scope::compared()),
        el("div", &[], &[heading(part_words(remedy.part)), muted(share)]),
        el("div", &[], &what),
        el("div", &[("class", "act")], &[act(remedy, runs)]),
    ];
    el("li", &[], &cells)
}

/// A press that makes a change of `run` whose gain can be told, unless the `page` has it; other layouts where another
/// one may help.
fn act(remedy: &Remedy, [run, page]: [&Run; 2]) -> Node {
    let after = run.with_texts(&remedy.set).filter(|_| remedy.told && !remedy.set.is_empty());
    if let Some(after) = after {
        if differences(&after, page).is_empty() {
            return muted(t!("The page shows the run with it."));
        }
        return load("main", &after, remedy.change.clone(), &[text("Use")]);
    }
    let by_layout = !matches!(remedy.part, PartKind::Launches | PartKind::Optimizer | PartKind::Loader);
    if by_layout { leaf("button", "", "See layouts").on(PanelAction::Layouts) } else { Node::none() }
}
