//! Lines over two axes, each linear or logarithmic, with round numbers, units and names.

use super::Live;
use super::caption::{colours, data};
use crate::core::message::{Message, verbatim};
use crate::core::units::number;
use crate::view::charts::drawing::{Anchor, Drawing};
use crate::view::charts::ink::Ink;
use crate::view::charts::ticks::ticks;
use crate::view::node::Node;

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
    /// The same with powers of ten.
    Tens,
}

/// A line through points, each marked; or a line alone.
pub(super) struct Line {
    pub name: Message,
    pub ink: Ink,
    pub points: Vec<(f64, f64)>,
    /// What stands at a point, by its index: a name, or nothing.
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

/// Height of a plot, of the words above it and of the axis below.
const HEIGHT: f64 = 150.0;
const WORDS: f64 = 20.0;
const AXIS: f64 = 20.0;

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
        Self { legend: colours(&entries), picture: draw(across, plots), table: data(head, rows), ..self }
    }
}

/// Places values between 0 and 1.
struct Scale {
    spacing: Spacing,
    low: f64,
    high: f64,
}

impl Scale {
    fn of(spacing: Spacing, values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::MAX, 0.0f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            (low, high) = (low.min(value), high.max(value));
        }
        let high = if high > 0.0 { high } else { 1.0 };
        match spacing {
            Spacing::Linear => Self { spacing, low: 0.0, high: high * 1.1 },
            Spacing::Doublings | Spacing::Tens => Self { spacing, low: low.min(high / 2.0), high },
        }
    }
    fn place(&self, value: f64) -> f64 {
        let share = match self.spacing {
            Spacing::Linear => (value - self.low) / (self.high - self.low),
            _ => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        share.clamp(0.0, 1.0)
    }
    /// Round values; of ratios, powers of ten or of two.
    fn ticks(&self) -> Vec<f64> {
        if self.spacing == Spacing::Linear {
            return ticks(self.low, self.high, 4);
        }
        let base: f64 = if self.spacing == Spacing::Tens { 10.0 } else { 2.0 };
        let (first, last) = ((self.low.log(base) - 1e-9).ceil(), (self.high.log(base) + 1e-9).floor());
        let stride = ((last - first) / 8.0).ceil().max(1.0);
        let mut powers = Vec::new();
        let mut power = first;
        while power <= last {
            powers.push(base.powf(power));
            power += stride;
        }
        powers
    }
}

fn draw(across: Axis, plots: &[Plot]) -> Node {
    let all = || plots.iter().flat_map(|plot| &plot.lines);
    let points = || all().flat_map(|line| &line.points);
    let x = Scale::of(across.spacing, points().map(|point| point.0));
    // Dots of the first and last value stand within the picture.
    let place = |value: f64| 0.02 + 0.95 * x.place(value);
    let each = WORDS + HEIGHT + 10.0;
    let foot = each * plots.len() as f64;
    let mut drawing = Drawing::new(foot + AXIS + WORDS);
    for (at, plot) in plots.iter().enumerate() {
        let top = each * at as f64 + WORDS;
        let levels = plot.level.iter().map(|(value, _)| *value);
        let ups = plot.lines.iter().flat_map(|line| &line.points);
        let y = Scale::of(plot.up.spacing, ups.map(|point| point.1).chain(levels));
        let down = |value: f64| top + HEIGHT * (1.0 - y.place(value));
        drawing.words((0.0, top - 10.0), Anchor::Start, Ink::Muted, plot.up.name);
        for tick in y.ticks() {
            drawing.line((0.0, down(tick)), (1.0, down(tick)), Ink::Line, 1.0);
            drawing.name(down(tick), verbatim(number(tick, 3)));
        }
        if let Some((value, name)) = &plot.level {
            drawing.line((0.0, down(*value)), (1.0, down(*value)), Ink::Text, 1.5);
            drawing.words((1.0, down(*value) - 8.0), Anchor::End, Ink::Text, name);
        }
        for line in &plot.lines {
            stroke(&mut drawing, line, top, &place, &down);
        }
    }
    for tick in x.ticks() {
        let words = verbatim(number(tick, 3));
        drawing.words((place(tick), foot + 6.0), Anchor::Middle, Ink::Muted, words);
    }
    drawing.words((0.5, foot + AXIS + 8.0), Anchor::Middle, Ink::Muted, across.name);
    let label = Message::joined(", ", all().map(|line| line.name.clone()));
    drawing.inline(label)
}

fn stroke(drawing: &mut Drawing, line: &Line, top: f64, place: &impl Fn(f64) -> f64, down: &impl Fn(f64) -> f64) {
    let at = |(x, y): (f64, f64)| (place(x), down(y));
    if line.marks == Marks::Numbers {
        return numbers(drawing, line, top, &at);
    }
    for pair in line.points.windows(2) {
        drawing.line(at(pair[0]), at(pair[1]), line.ink, 1.5);
    }
    if line.marks == Marks::Dots {
        for point in &line.points {
            drawing.words(at(*point), Anchor::Middle, line.ink, verbatim("●"));
        }
    }
}

/// Numbers stand in four rows at half the height, so that those of near points do not meet.
fn numbers(drawing: &mut Drawing, line: &Line, top: f64, at: &impl Fn((f64, f64)) -> (f64, f64)) {
    let mut order: Vec<usize> = (0..line.points.len()).collect();
    crate::core::sort::sort_by(&mut order, |a, b| line.points[*a].0.total_cmp(&line.points[*b].0));
    for (rank, index) in order.into_iter().enumerate() {
        let (x, y) = at(line.points[index]);
        let level = top + HEIGHT / 2.0 + 13.0 * (rank % 4) as f64;
        let side = if y < level { -7.0 } else { 7.0 };
        drawing.line((x, y), (x, level + side), Ink::Line, 1.0);
        drawing.words((x, y), Anchor::Middle, line.ink, verbatim("●"));
        let words = verbatim((index + 1).to_string());
        drawing.words((x, level), Anchor::Middle, Ink::Text, words);
    }
}
