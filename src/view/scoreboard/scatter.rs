//! Predicted over measured, by row and class.

use super::board::{Board, Tool};
use crate::charts::drawing::Form;
use crate::charts::figure::save;
use crate::charts::ink::Ink;
use crate::charts::plot::{Plot, PlotAxis, PlotMark, PlotScale, draw};
use crate::look::{Look, Slice};
use crate::node::action::BoardAction;
use crate::prelude::*;
use shardscope_core::calibrate::RunStanding;
use shardscope_core::scoreboard::{Column, Miss};

/// The scatter of the chosen row and class, with the buttons that choose.
pub fn scatter(board: &Board, look: &Look) -> Node {
    let Some(tool) = board.tool(look) else {
        return Node::none();
    };
    let pick = |label: Node, to: Look, is_on: bool| {
        let attributes = [("class", "toggle-link"), ("aria-pressed", if is_on { "true" } else { "false" })];
        el("button", &attributes, &[label]).on(Action::Board(BoardAction::Pick(to.tool, to.slice)))
    };
    let slices = Slice::ALL.iter().map(|(slice, choice)| {
        pick(text(choice.label), Look { slice: *slice, tool: tool.id.clone() }, *slice == look.slice)
    });
    let tools = board.tools.iter().map(|other| {
        let name = leaf("span", "", verbatim(&other.about.name));
        pick(name, Look { tool: other.id.clone(), slice: look.slice }, other.id == tool.id)
    });
    let group = |label: &'static str, buttons: Node| {
        el("span", &[("class", "tools"), ("role", "group")], &[buttons]).label(label)
    };
    let parts = [
        title("Predicted over measured"),
        el(
            "p",
            &[("class", "board-filters")],
            &[group("Class of runs", slices.collect()), group("Calculator", tools.collect())],
        ),
        if look.slice == Slice::Verdicts {
            muted("Verdicts are no figures: they stand beside this and in the list below.")
        } else {
            points(tool, look.slice, "Predicted over measured", &[], &[])
        },
    ];
    el("figure", &[("class", "chart")], &parts)
}

/// Why the row counts fewer figures of this class than are asked, which the heads of the table count; none where it
/// counts all, and of verdicts.
pub fn left_out(tool: &Tool, slice: Slice) -> Option<Message> {
    let of = || tool.score.columns.iter().filter(|score| slice.has(score.column));
    let fitted: usize = of().map(|score| score.fitted).sum();
    let missing: usize = of().map(|score| score.asked - score.covered).sum();
    let all = of().map(|score| score.asked + score.fitted).sum::<usize>();
    let name = verbatim(&tool.about.name);
    Some(match (fitted, missing) {
        (0, 0) => return None,
        (_, 0) => t!("The scoreboard asks {all}; {fitted} to which {name} was fitted are left out.", all, fitted, name),
        (0, _) => t!("The scoreboard asks {all}; {missing} are not covered by {name}.", all, missing, name),
        _ => t!(
            "The scoreboard asks {all}; {fitted} to which {name} was fitted are left out, and {missing} are not \
                covered.",
            all,
            fitted,
            name,
            missing
        ),
    })
}

/// Predictions of the row over measurements, for one class; `near` stand out, `yours` are runs of one's own.
pub fn points(tool: &Tool, slice: Slice, label: &'static str, near: &[&Miss], yours: &[RunStanding]) -> Node {
    let misses: Vec<&Miss> = tool.score.misses.iter().filter(|miss| slice.has(miss.column)).collect();
    if misses.is_empty() {
        return muted(t!("{name} predicts none of these runs.", name = verbatim(&tool.about.name)));
    }
    let is_peak = slice == Slice::Column(Column::Peaks);
    let unit = if is_peak { "GiB" } else { "s" };
    let across = PlotScale::log(misses.iter().map(|miss| miss.fact.measured), 1.1);
    let across = PlotAxis::new(across, across.round(), |tick| verbatim(format!("{} {unit}", significant(tick, 1))));
    let across = across.named(if is_peak { "measured peak" } else { "measured step time" });
    let up = PlotScale::log([0.5, 2.0].into_iter(), 1.0);
    let up = PlotAxis::new(up, vec![0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0], |ratio| verbatim(ratio.to_string()));
    let up = up.named("predicted over measured");
    let dot = |place, form, ink| PlotMark::Dot(place, form, ink, Message::default());
    let place = |miss: &Miss| (miss.fact.measured, miss.fact.ratio());
    let mut marks = vec![PlotMark::Band([0.9, 1.1], Message::default()), PlotMark::Level(1.0, Message::default())];
    marks.extend(misses.iter().map(|miss| match miss.column {
        Column::Experts => dot(place(miss), Form::Square, Ink::Backward),
        Column::Tuned => dot(place(miss), Form::Hollow, Ink::Exposed),
        _ => dot(place(miss), Form::Faint, Ink::Forward),
    }));
    // Last, so that they lie over the others.
    marks.extend(near.iter().map(|miss| dot(place(miss), Form::Large, Ink::Accent)));
    let of_own = |own: &RunStanding| dot((own.measured_s, own.before_s / own.measured_s), Form::Ring, Ink::Text);
    marks.extend(yours.iter().map(of_own));
    let within = |share: f64| misses.iter().filter(|miss| miss.fact.error() <= share).count();
    let words = t!(
        "{count} measured values of this kind, of the published runs whose tables give them: {near} \
            within 10 % (the band), {far} within 25 %. Over 1: predicted too \
            slow or too large. Squares: experts; hollow: fine-tuning; beyond half and twice: on the edge.",
        count = misses.len(),
        near = within(0.1),
        far = within(0.25)
    );
    let words = Message::joined(" ", std::iter::once(words).chain(left_out(tool, slice)));
    let alike = if near.is_empty() { Node::none() } else { caption("Large: the runs most like yours.") };
    let ring = if yours.is_empty() { Node::none() } else { caption("Ring: your runs, by the built-in model.") };
    let drawing = draw(&across, 260.0, &[Plot { up, marks }]).inline(label);
    Node::from_iter([drawing, caption(words), alike, ring, save("scoreboard")])
}
