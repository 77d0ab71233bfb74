//! Memory against throughput of the searched layouts, and which of them no other beats in both.

use super::controls::{PlanView, fold};
use super::rows::layout;
use crate::charts::drawing::Form;
use crate::charts::figure::save;
use crate::charts::ink::Ink;
use crate::charts::plot::{Plot, PlotAxis, PlotMark, PlotScale, draw};
use crate::node::action::PlanFold;
use crate::prelude::*;
use shardscope_core::search::Figures;
use shardscope_core::search::front::Layouts;
use shardscope_core::units::{GIB, group};

/// Memory against throughput of all layouts that were searched; the front marked.
pub(crate) fn pareto(view: &PlanView) -> Node {
    if view.result.rows.is_empty() {
        return Node::none();
    }
    fold(view, PlanFold::Pareto, "Memory against throughput", || dots(view))
}

fn dots(view: &PlanView) -> Node {
    let Layouts { front, others } = &view.result.layouts;
    if front.is_empty() {
        return muted("being searched…");
    }
    let point = |figures: &Figures| (figures.peak.bytes.0, figures.tokens_per_s_per_gpu);
    let points: Vec<(f64, f64)> = front.iter().map(|row| point(&row.figures)).collect();
    // Tokens of a step over its time: the same work for all.
    let work = front.first().map_or(0.0, |one| one.figures.tokens_per_s_per_gpu * one.figures.time_s.0);
    let others = || {
        let others = others.iter();
        others.map(|(peak, time)| (f64::from(*peak), work / f64::from(*time)))
    };
    let capacity = front.first().map_or(0.0, |row| row.figures.peak.capacity.0);
    let present = view.own.map(|present| point(&Figures::from(&present.report)));
    let every_point = || points.iter().copied().chain(present).chain(others());
    let (x, y) = (
        PlotScale::around(every_point().map(|p| p.0).chain([capacity])),
        PlotScale::around(every_point().map(|p| p.1)),
    );
    let round = x.per(GIB).round().into_iter().map(|gib| gib * GIB).collect();
    let across = PlotAxis::new(x, round, |bytes| verbatim(view.unit.show(Bytes(bytes))));
    // A layout of the front stands for all that need more and give less.
    let steps = points.windows(2).flat_map(|pair| [pair[0], (pair[1].0, pair[0].1)]);
    let mut marks = vec![
        PlotMark::Rule(capacity, t!("usable memory")),
        PlotMark::Cloud(others().collect(), Ink::Hatch),
        PlotMark::Line(steps.chain(points.last().copied()).collect(), Ink::Accent),
    ];
    marks.extend(front.iter().zip(&points).map(|(found, point)| {
        let time = verbatim(show_seconds(found.figures.time_s));
        PlotMark::Dot(*point, Form::Large, Ink::Accent, Message::joined(", ", [layout(found), time]))
    }));
    marks.extend(present.map(|present| PlotMark::Dot(present, Form::Ring, Ink::Text, t!("this run"))));
    let up = PlotAxis::new(y, y.round(), |tick| verbatim(group(&format!("{tick:.0}")))).named(t!("tokens/s/GPU"));
    let words = "Filled: Pareto-optimal. Grey: the other layouts that fit; the most that one can reach where it was \
        not reported in full. The ring is your run.";
    let across = across.named(t!("peak memory per GPU"));
    let picture = draw(&across, 240.0, &[Plot { up, marks }]).inline(words);
    let figure = [picture, save("layouts"), caption(words)];
    el("figure", &[("class", "chart")], &figure)
}
