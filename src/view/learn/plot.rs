//! The plots of lessons: lines over axes with round numbers, units and names.

use super::Live;
use super::caption::{colours, data};
use crate::charts::drawing::Form;
use crate::charts::ink::Ink;
use crate::charts::plot::{self, PlotMark, PlotScale, draw};
use crate::prelude::*;

/// An axis: its name with the unit, and its values' spacing.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub name: &'static str,
    pub spacing: Spacing,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Spacing {
    /// From 0.
    Linear,
    /// Equal ratios are equally far; powers of two are marked.
    Doublings,
    /// Equal ratios are equally far; powers of ten are marked.
    Tens,
}

/// A line through points, each marked; or a line alone.
pub(super) struct Line {
    pub name: Message,
    pub ink: Ink,
    pub points: Vec<(f64, f64)>,
    /// Mark of a point, by its index: a name, or nothing.
    pub marks: Marks,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Marks {
    /// Only the line.
    None,
    /// A dot at each point of the line.
    Dots,
    /// Numbers from 1 and no line.
    Numbers,
}

/// Height of a plot, pixels.
const HEIGHT: f64 = 150.0;

/// A plot of its own axis upwards; several share the axis across.
pub(super) struct Plot {
    pub up: Axis,
    pub lines: Vec<Line>,
    /// A level with its name.
    pub level: Option<(f64, Message)>,
}

impl Live {
    /// With plots below each other over one axis `across` for a picture; `rows` is the same as a table.
    pub(super) fn plots(self, across: Axis, plots: &[Plot], head: &[&'static str], rows: Vec<Vec<Message>>) -> Self {
        let lines = plots.iter().flat_map(|plot| &plot.lines);
        let entries: Vec<(Message, Ink)> = lines.map(|line| (line.name.clone(), line.ink)).collect();
        Self { legend: colours(&entries), picture: picture(across, plots), table: data(head, rows), ..self }
    }
}

impl Axis {
    /// Over `values`; `room` of its length is left free at both ends.
    fn over(self, values: impl Iterator<Item = f64>, room: f64) -> plot::PlotAxis {
        let (scale, ticks) = match self.spacing {
            Spacing::Linear => {
                let scale = PlotScale::from_zero(values);
                (scale, scale.round())
            }
            spacing => {
                let scale = PlotScale::log(values, 1.0).doubling();
                (scale, scale.powers(if spacing == Spacing::Tens { 10.0 } else { 2.0 }))
            }
        };
        plot::PlotAxis::new(scale.with_room(room), ticks, |tick| verbatim(number(tick, 3))).named(self.name)
    }
}

fn picture(across: Axis, plots: &[Plot]) -> Node {
    let lines = || plots.iter().flat_map(|plot| &plot.lines);
    let points = lines().flat_map(|line| &line.points);
    // Dots of the first and last value are within the picture.
    let x = across.over(points.map(|point| point.0), 0.025);
    let each: Vec<plot::Plot> = plots.iter().map(Plot::marked).collect();
    draw(&x, HEIGHT, &each).inline(Message::joined(", ", lines().map(|line| line.name.clone())))
}

impl Plot {
    fn marked(&self) -> plot::Plot {
        let points = self.lines.iter().flat_map(|line| &line.points).map(|point| point.1);
        let up = self.up.over(points.chain(self.level.iter().map(|(value, _)| *value)), 0.0);
        let level = self.level.iter().map(|(value, name)| PlotMark::Level(*value, name.clone()));
        plot::Plot { up, marks: level.chain(self.lines.iter().flat_map(Line::marks)).collect() }
    }
}

impl Line {
    fn marks(&self) -> Vec<PlotMark> {
        let line = PlotMark::Line(self.points.clone(), self.ink);
        let dot = |point: &(f64, f64)| PlotMark::Dot(*point, Form::Dot, self.ink, Message::default());
        match self.marks {
            Marks::None => vec![line],
            Marks::Dots => std::iter::once(line).chain(self.points.iter().map(dot)).collect(),
            Marks::Numbers => vec![PlotMark::Numbered(self.points.clone(), self.ink)],
        }
    }
}
