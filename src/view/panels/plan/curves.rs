//! How the cost grows: step time, memory and efficiency of the best layout at each number of GPUs, sequence length or
//! batch, as small curves over a doubling axis; hover shows the layout, a table has the same figures.

use super::controls::{View, buttons, fold};
use super::pareto::label;
use super::rows::layout;
use crate::core::message::Message;
use crate::core::search::Found;
use crate::core::search::session::{Fold, PlanCommand};
use crate::core::search::sweep::{Grown, Points};
use crate::core::t;
use crate::core::units::{MemoryUnit, group, show_percent, show_seconds, significant};
use crate::view::charts::figure::save;
use crate::view::charts::ticks::ticks;
use crate::view::node::markup::{Node, el, leaf, load, table, text};

const BUTTONS: [(PlanCommand, &str); 3] = [
    (PlanCommand::Sweep(Grown::Gpus), "over GPUs"),
    (PlanCommand::Sweep(Grown::SeqLen), "over the sequence"),
    (PlanCommand::Sweep(Grown::GlobalBatch), "over the batch"),
];

/// The buttons, and the curves of the last sweep.
pub(crate) fn sweeps(view: &View) -> Node {
    let name = leaf("span", "muted", "How the cost grows");
    let chips = el("p", &[("class", "chips ask")], &[name, buttons(&BUTTONS)]);
    let Some(sweep) = &view.result.sweep else {
        return chips;
    };
    [chips, curves(view, sweep)].into_iter().collect()
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
        MemoryUnit::Gib => crate::core::units::GIB,
        MemoryUnit::Gb => 1e9,
    }
}

/// What a chart shows of a layout, whether on a logarithmic axis, and a line across it.
type Part<'a> = (&'a dyn Fn(&Found) -> f64, bool, Option<f64>);

fn curves(view: &View, sweep: &Points) -> Node {
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
    let data_table = fold(view, Fold::SweepTable, "Show as a table", || data_table(view, sweep));
    [el("div", &[("class", "curves")], &[pictures]), leaf("p", "muted note", &words), data_table].into_iter().collect()
}

/// A power of two as people write it: "1k", "64k", "1M".
fn short(value: u64) -> String {
    match value {
        v if v >= 1 << 20 && v.is_multiple_of(1 << 20) => format!("{}M", v >> 20),
        v if v >= 1024 && v.is_multiple_of(1024) => format!("{}k", v >> 10),
        v => v.to_string(),
    }
}

/// The vertical axis: linear from 0, or logarithmic.
struct Upright {
    low: f64,
    high: f64,
    log: bool,
}

impl Upright {
    fn of(values: &[f64], log: bool) -> Self {
        let high = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let least = values.iter().copied().fold(high, f64::min);
        if log { Self { low: least / 1.3, high: high * 1.3, log } } else { Self { low: 0.0, high: high * 1.08, log } }
    }

    fn share(&self, value: f64) -> f64 {
        if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    fn ticks(&self) -> Vec<f64> {
        if !self.log {
            return ticks(self.low, self.high, 4);
        }
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let mut list = Vec::new();
        let mut decade = 10f64.powf(self.low.log10().floor());
        while decade <= self.high {
            let some = steps.iter().map(|step| step * decade);
            list.extend(some.filter(|tick| (self.low..=self.high).contains(tick)));
            decade *= 10.0;
        }
        list
    }
}

fn chart(sweep: &Points, name: &Message, part: &dyn Fn(&Found) -> f64, log: bool, line: Option<f64>) -> Node {
    let points = &sweep.points;
    let values: Vec<Option<f64>> = points.iter().map(|point| point.best.as_deref().map(part)).collect();
    let known: Vec<f64> = values.iter().flatten().copied().chain(line).collect();
    let heading = leaf("figcaption", "muted", name);
    if known.is_empty() {
        return el("figure", &[("class", "chart")], &[heading]);
    }
    let up = Upright::of(&known, log);
    let at = |share: f64| format!("{:.2}%", share * 100.0);
    let x = |index: usize| at((index as f64 + 0.5) / points.len() as f64);
    let y = |value: f64| at(1.0 - up.share(value));
    let segment = |class: &str, [x1, y1, x2, y2]: [&str; 4]| {
        let ends = [("class", class), ("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2)];
        el("line", &ends, &[])
    };
    let mut pieces = Vec::new();
    for tick in up.ticks() {
        let place = y(tick);
        pieces.push(segment("", ["0", &place, "100%", &place]));
        let words = significant(tick, 3);
        pieces.push(label(&[("x", "-6"), ("y", &place), ("dy", "4"), ("text-anchor", "end")], &words));
    }
    if let Some(line) = line {
        let place = y(line);
        pieces.push(segment("one", ["0", &place, "100%", &place]));
    }
    let every = points.len().div_ceil(6).max(1);
    for (index, point) in points.iter().enumerate().step_by(every) {
        let place = [("x", &*x(index)), ("y", "100%"), ("dy", "15"), ("text-anchor", "middle")];
        pieces.push(label(&place, short(point.value)));
    }
    for (index, pair) in values.windows(2).enumerate() {
        if let [Some(from), Some(to)] = pair {
            pieces.push(segment("curve", [&x(index), &y(*from), &x(index + 1), &y(*to)]));
        }
    }
    for (index, (point, value)) in points.iter().zip(&values).enumerate() {
        if let (Some(found), Some(value)) = (&point.best, value) {
            let title = format!(
                "{} {}: {}, {}",
                group(&point.value.to_string()),
                axis_name(sweep.grown),
                significant(*value, 3),
                layout(found)
            );
            let dot = [("class", "dot best"), ("cx", &*x(index)), ("cy", &*y(*value)), ("r", "3")];
            pieces.push(el("circle", &dot, &[leaf("title", "", &title)]));
        }
    }
    let picture = el("svg", &[("role", "img")], &pieces).label(name);
    let saves = save("plan");
    el("figure", &[("class", "chart")], &[heading, picture, saves])
}

fn data_table(view: &View, sweep: &Points) -> Node {
    let head = [axis_name(sweep.grown), "step", "peak memory", "MFU", "best layout"];
    let rows: Vec<(bool, Vec<Node>)> = sweep
        .points
        .iter()
        .map(|point| {
            let value = text(group(&point.value.to_string()));
            let cells = match &point.best {
                None => vec![value, text("–"), text("–"), text("–"), text("nothing fits or divides")],
                Some(found) => {
                    let figures = &found.figures;
                    vec![
                        value,
                        text(show_seconds(figures.time_s)),
                        text(view.unit.show(figures.peak.bytes)),
                        text(show_percent(figures.mfu)),
                        load("link", &found.run, "", &[text(layout(found))]),
                    ]
                }
            };
            (false, cells)
        })
        .collect();
    table("How the cost grows", &head, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_ticks_inside_them() {
        for values in [[0.02, 40.0], [3.0, 9.0], [1.0, 1.0]] {
            for log in [true, false] {
                let axis = Upright::of(&values, log);
                let ticks = axis.ticks();
                assert!(!ticks.is_empty(), "{values:?} {log}");
                for tick in ticks.iter().chain(&values) {
                    assert!((-0.01..=1.01).contains(&axis.share(*tick)), "{tick}");
                }
            }
        }
        assert_eq!([short(512), short(65_536), short(1 << 20)], ["512", "64k", "1M"]);
    }
}
