//! Growth of the cost: step time, memory and efficiency of the best layout at each number of GPUs, sequence length or
//! batch, as small curves over a doubling axis; hover shows the layout, a table has the same figures.

use super::controls::{PlanView, buttons, fold};
use super::rows::layout;
use crate::charts::drawing::Form;
use crate::charts::figure::save;
use crate::charts::ink::Ink;
use crate::charts::plot::{Plot, PlotAxis, PlotMark, PlotScale, draw};
use crate::node::action::PlanFold;
use crate::prelude::*;
use shardscope_core::search::FoundLayout;
use shardscope_core::search::session::PlanCommand;
use shardscope_core::search::sweep::{Grown, Points};
use shardscope_core::units::group;

const BUTTONS: [(PlanCommand, &str); 3] = [
    (PlanCommand::Sweep(Grown::Gpus), "over GPUs"),
    (PlanCommand::Sweep(Grown::SeqLen), "over the sequence"),
    (PlanCommand::Sweep(Grown::GlobalBatch), "over the batch"),
];

/// The buttons, and the curves of the last sweep.
pub(crate) fn sweeps(view: &PlanView) -> Node {
    let name = faint("How the cost grows");
    let chips = el("p", &[("class", "chips ask")], &[name, buttons(&BUTTONS)]);
    let Some(sweep) = &view.result.sweep else {
        return chips;
    };
    Node::from_iter([chips, curves(view, sweep)])
}

fn axis_name(grown: Grown) -> &'static str {
    match grown {
        Grown::Gpus => "GPUs",
        Grown::SeqLen => "tokens per sequence",
        Grown::GlobalBatch => "sequences per step",
    }
}

fn unit_of(unit: MemoryUnit) -> f64 {
    match unit {
        MemoryUnit::Gib => shardscope_core::units::GIB,
        MemoryUnit::Gb => 1e9,
    }
}

/// Figure of a layout in a chart, true for a logarithmic axis, and a line across it.
type Part<'a> = (&'a dyn Fn(&FoundLayout) -> f64, bool, Option<f64>);

fn curves(view: &PlanView, sweep: &Points) -> Node {
    let bytes = unit_of(view.unit);
    let names = [t!("Step time, s"), t!("Peak memory, {unit}", unit = view.unit.name()), t!("MFU, %")];
    let capacity = sweep.last_fit().map(|(_, found)| found.figures.peak.capacity.0 / bytes);
    let parts: [Part; 3] = [
        (&|found| found.figures.time_s.0, true, None),
        (&|found| found.figures.peak.bytes.0 / bytes, false, capacity),
        (&|found| found.figures.mfu * 100.0, false, None),
    ];
    let pictures: Node =
        names.iter().zip(parts).map(|(name, (part, log, line))| chart(sweep, name, part, log, line)).collect();
    let none = sweep.points.iter().filter(|point| point.best.is_none());
    let mut none: Vec<String> = none.map(|point| short(point.value)).collect();
    if none.len() > 6 {
        none.truncate(6);
        none.push("…".to_owned());
    }
    let what = t!(
        "The best layout at each point, all else as in this run; {grown} to the right, doubling.",
        grown = axis_name(sweep.grown)
    );
    let without = (!none.is_empty()).then(|| t!("Nothing fits or divides at {points}.", points = none.join(", ")));
    let words = Message::joined(" ", std::iter::once(what).chain(without));
    let data_table = fold(view, PlanFold::SweepTable, "Show as a table", || data_table(view, sweep));
    Node::from_iter([el("div", &[("class", "curves")], &[pictures]), footnote(&words), data_table])
}

/// A power of two as people write it: "1k", "64k", "1M".
fn short(value: u64) -> String {
    match value {
        v if v >= 1 << 20 && v.is_multiple_of(1 << 20) => format!("{}M", v >> 20),
        v if v >= 1024 && v.is_multiple_of(1024) => format!("{}k", v >> 10),
        v => v.to_string(),
    }
}

fn chart(sweep: &Points, name: &Message, part: &dyn Fn(&FoundLayout) -> f64, log: bool, line: Option<f64>) -> Node {
    let points = &sweep.points;
    let heading = caption(name);
    let places = points.iter().enumerate();
    let found: Vec<((f64, f64), u64, &FoundLayout)> = places
        .filter_map(|(index, point)| {
            let best = point.best.as_deref()?;
            Some(((index as f64, part(best)), point.value, best))
        })
        .collect();
    let values = || found.iter().map(|(at, ..)| at.1).chain(line);
    if values().next().is_none() {
        return el("figure", &[("class", "chart")], &[heading]);
    }
    let scale = if log { PlotScale::log(values(), 1.3) } else { PlotScale::from_zero(values()) };
    let up = PlotAxis::new(scale, scale.round(), |tick| verbatim(significant(tick, 3)));
    let across = PlotScale::even(-0.5, points.len() as f64 - 0.5);
    let every = points.len().div_ceil(6).max(1);
    let ticks = (0..points.len()).step_by(every).map(|index| index as f64);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index
    let across = PlotAxis::new(across, ticks.collect(), |index| verbatim(short(points[index as usize].value)));
    let across = across.named(axis_name(sweep.grown));
    let joined = found.windows(2).filter(|pair| pair[1].0.0 - pair[0].0.0 < 1.5);
    let lines = joined.map(|pair| PlotMark::Line(vec![pair[0].0, pair[1].0], Ink::Accent));
    let dots = found.iter().map(|(at, value, best)| {
        let value = group(&value.to_string());
        let (figure, layout) = (significant(at.1, 3), layout(best));
        let title = t!("{value} {axis}: {figure}, {layout}", value, axis = axis_name(sweep.grown), figure, layout);
        PlotMark::Dot(*at, Form::Dot, Ink::Accent, title)
    });
    let level = line.map(|line| PlotMark::Level(line, Message::default()));
    let marks = level.into_iter().chain(lines).chain(dots).collect();
    let picture = draw(&across, 150.0, &[Plot { up, marks }]).inline(name);
    el("figure", &[("class", "chart")], &[heading, picture, save("plan")])
}

fn data_table(view: &PlanView, sweep: &Points) -> Node {
    let figure = |best: &Option<_>, show: &dyn Fn(&FoundLayout) -> String| {
        let none = || "–".to_owned();
        best.as_deref().map_or_else(none, show)
    };
    Rows::of(&sweep.points)
        .figures(axis_name(sweep.grown), |point| group(&point.value.to_string()))
        .figures("step", |point| figure(&point.best, &|found| show_seconds(found.figures.time_s)))
        .figures("peak memory", |point| figure(&point.best, &|found| view.unit.show(found.figures.peak.bytes)))
        .figures("MFU", |point| figure(&point.best, &|found| show_percent(found.figures.mfu)))
        .column("best layout", |point| match &point.best {
            None => text("nothing fits or divides"),
            Some(found) => load("link", &found.run, "", &[text(layout(found))]),
        })
        .table("How the cost grows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_short() {
        assert_eq!([short(512), short(65_536), short(1 << 20)], ["512", "64k", "1M"]);
    }
}
