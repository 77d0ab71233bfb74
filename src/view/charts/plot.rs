//! Plots: lines, dots and levels over two axes, each even or logarithmic; plots below each other share the axis across.

use super::drawing::{Anchor, Box, Drawing, Form};
use super::ink::Ink;
use super::ticks::ticks;
use shardscope_core::message::{Message, verbatim};
use shardscope_core::sort::sort_by;
use std::ops::Range;

/// Values placed between 0 and 1, evenly or by their logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlotScale {
    low: f64,
    high: f64,
    log: bool,
}

impl PlotScale {
    /// Evenly, from `low` to `high`.
    pub fn even(low: f64, high: f64) -> Self {
        Self { low, high, log: false }
    }
    /// Evenly, from 0 to a tenth over the largest of `values`.
    pub fn from_zero(values: impl Iterator<Item = f64>) -> Self {
        let high = range(values).1;
        Self::even(0.0, if high > 0.0 { high * 1.1 } else { 1.0 })
    }
    /// Evenly, over `values` with a margin at both ends; figures of three digits differ along the axis.
    pub fn around(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = range(values);
        let span = high - low;
        let room = (span * 0.06).max((high * LEAST_SPAN - span) / 2.0).max(f64::MIN_POSITIVE);
        Self::even(low - room, high + room)
    }
    /// By logarithm, over `values` above 0 and `room` times as far at both ends.
    pub fn log(values: impl Iterator<Item = f64>, room: f64) -> Self {
        let (low, high) = range(values.filter(|value| *value > 0.0));
        let high = if high > 0.0 { high } else { 1.0 };
        Self { low: low.min(high) / room, high: high * room, log: true }
    }
    /// The scale over at least a doubling.
    pub fn doubling(self) -> Self {
        Self { low: self.low.min(self.high / 2.0), ..self }
    }
    /// The scale in units of `unit`.
    pub fn per(self, unit: f64) -> Self {
        Self { low: self.low / unit, high: self.high / unit, ..self }
    }
    /// The scale with `room`, a share of the axis, left free at both ends.
    pub fn with_room(self, room: f64) -> Self {
        let more = room / (1.0 - 2.0 * room);
        let (low, high) = if self.log {
            let factor = (self.high / self.low).powf(more);
            (self.low / factor, self.high * factor)
        } else {
            let span = (self.high - self.low) * more;
            (self.low - span, self.high + span)
        };
        Self { low, high, ..self }
    }
    /// The share of the axis at which `value` is; values beyond an end are on it.
    pub fn place(self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        share.clamp(0.0, 1.0)
    }
    /// Round values: four or fewer, or 1, 2 and 5 of each power of ten, of many powers those alone.
    pub fn round(self) -> Vec<f64> {
        if !self.log {
            // One value alone says nothing of the scale.
            let few = ticks(self.low, self.high, 4);
            return if few.len() < 2 { ticks(self.low, self.high, 8) } else { few };
        }
        let multiples: &[f64] = if (self.high / self.low).log10() > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let mut list = Vec::new();
        let mut decade = 10f64.powf(self.low.log10().floor());
        while decade <= self.high {
            let some = multiples.iter().map(|multiple| multiple * decade);
            list.extend(some.filter(|tick| (self.low..=self.high).contains(tick)));
            decade *= 10.0;
        }
        list
    }
    /// Powers of `base` on the axis, of many every second or third.
    pub fn powers(self, base: f64) -> Vec<f64> {
        let (first, last) = ((self.low.log(base) - 1e-9).ceil(), (self.high.log(base) + 1e-9).floor());
        let stride = ((last - first) / 8.0).ceil().max(1.0);
        let exponents = std::iter::successors(Some(first), |power| Some(power + stride));
        exponents.take_while(|power| *power <= last).map(|power| base.powf(power)).collect()
    }
}

/// Least length of an axis over figures of three digits, a share of the largest: four steps of a hundredth.
const LEAST_SPAN: f64 = 0.04;

/// The least and the largest of the finite `values`; infinity and 0 of none.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite());
    finite.fold((f64::INFINITY, 0.0), |(low, high), value| (value.min(low), value.max(high)))
}

/// An axis: its scale, the values with words at it, and its name.
pub(crate) struct PlotAxis {
    pub scale: PlotScale,
    pub ticks: Vec<(f64, Message)>,
    pub name: Message,
}

impl PlotAxis {
    /// With `ticks`, each in the words of `label`; of those that read alike the first.
    pub fn new<M: Into<Message>>(scale: PlotScale, ticks: Vec<f64>, label: impl Fn(f64) -> M) -> Self {
        let mut ticks: Vec<(f64, Message)> = ticks.into_iter().map(|tick| (tick, label(tick).into())).collect();
        ticks.dedup_by(|after, before| after.1 == before.1);
        Self { scale, ticks, name: Message::default() }
    }
    pub fn named(self, name: impl Into<Message>) -> Self {
        Self { name: name.into(), ..self }
    }
}

/// A part of a plot, in values of its axes.
pub(crate) enum PlotMark {
    Line(Vec<(f64, f64)>, Ink),
    /// A dot with its tooltip.
    Dot((f64, f64), Form, Ink, Message),
    /// Dots of one ink, thousands of them.
    Cloud(Vec<(f64, f64)>, Ink),
    /// Names of points, the most important first, each where it covers nothing; none on a narrow page.
    Names(Vec<((f64, f64), Ink, Message)>),
    /// Dots with their numbers from 1.
    Numbered(Vec<(f64, f64)>, Ink),
    /// A band across between two values upwards, with its name.
    Band([f64; 2], Message),
    /// A band upwards between two values across, with its name; never narrower than can be seen.
    Span([f64; 2], Message),
    /// A line across at a value upwards, with its name.
    Level(f64, Message),
    /// A dashed line across at a value upwards, which a key beside the plot names.
    Dashed(f64, Ink),
    /// A line upwards at a value across, with its name.
    Rule(f64, Message),
}

fn around((x, y): (f64, f64), (width, height): (f64, f64)) -> Box {
    Box { x: x - width / 2.0, width, y: y - height / 2.0, height }
}

/// Width of a name, a share of the plot's.
fn width(name: &Message) -> f64 {
    LETTER * name.to_string().chars().count() as f64
}

/// A plot of its own axis upwards.
pub(crate) struct Plot {
    pub up: PlotAxis,
    pub marks: Vec<PlotMark>,
}

/// Least width of a band upwards, a share of the plot's.
const NARROWEST: f64 = 0.012;
/// Height of a line of words, pixels.
const WORDS: f64 = 20.0;
/// Width of a letter as a share of the width of a plot, which is 560 pixels.
const LETTER: f64 = 0.0115;
/// Height of a name beside a point, pixels.
const NAME: f64 = 13.0;
/// Room of a point: a share of the width, and pixels.
const POINT: (f64, f64) = (0.025, 10.0);
/// Names of one plot among which one without room beside its point stands above or below it, with a line to it.
const FEW_NAMES: usize = 8;
/// From a point to the middle of such a name, pixels.
const LEAD: f64 = 30.0;
/// Between a name and the line beside it, a share of the width.
const BESIDE: f64 = 0.008;
/// Width of a plot by which distances across are held against distances upwards, pixels.
const PLOT_WIDTH: f64 = 560.0;
/// Words across an axis are at least so far apart, shares of the width.
const APART: f64 = 0.08;

/// The `plots` over one axis `across`, each `height` pixels high.
pub(crate) fn draw(across: &PlotAxis, height: f64, plots: &[Plot]) -> Drawing {
    let line = |words: &Message| if words.is_empty() { 0.0 } else { WORDS };
    let heads = plots.iter().map(|plot| {
        // A rule near the right has its name above the plot, in a line of its own below that of the axis: on a narrow
        // page both would meet in one.
        let is_above = |mark: &PlotMark| matches!(mark, PlotMark::Rule(value, _) if across.scale.place(*value) >= 0.5);
        line(&plot.up.name) + if plot.marks.iter().any(is_above) { WORDS } else { 0.0 }
    });
    let gap = 10.0;
    let foot = heads.clone().map(|head| head + height + gap).sum::<f64>();
    let mut drawing = Drawing::new(foot + WORDS + line(&across.name));
    let mut top = 0.0;
    for (plot, head) in plots.iter().zip(heads) {
        top += head;
        let area = Area { across: across.scale, up: plot.up.scale, top, height };
        drawing.words((0.0, top - head + 10.0), Anchor::Start, Ink::Muted, &plot.up.name);
        for (value, words) in &plot.up.ticks {
            let y = area.y(*value);
            drawing.line((0.0, y), (1.0, y), Ink::Line, 1.0);
            drawing.tick(y, words);
        }
        area.paint(&mut drawing, &plot.marks);
        top += height + gap;
    }
    let mut last = f64::NEG_INFINITY;
    for (value, words) in &across.ticks {
        let x = across.scale.place(*value);
        if x - last >= APART {
            drawing.words((x, foot + 6.0), Anchor::Middle, Ink::Muted, words);
            last = x;
        }
    }
    drawing.words((0.5, foot + WORDS + 8.0), Anchor::Middle, Ink::Muted, &across.name);
    drawing
}

/// Pixels from a point to the next edge of `room`; 0 inside.
fn apart(room: Box, (x, y): (f64, f64)) -> f64 {
    let across = (room.x - x).max(x - room.x - room.width).max(0.0) * PLOT_WIDTH;
    let down = (room.y - y).max(y - room.y - room.height).max(0.0);
    across.hypot(down)
}

/// The place of a plot in its drawing.
struct Area {
    across: PlotScale,
    up: PlotScale,
    top: f64,
    height: f64,
}

impl Area {
    fn y(&self, value: f64) -> f64 {
        self.top + self.height * (1.0 - self.up.place(value))
    }
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.across.place(x), self.y(y))
    }
    fn paint(&self, drawing: &mut Drawing, marks: &[PlotMark]) {
        for mark in marks {
            match mark {
                PlotMark::Line(points, ink) => {
                    for pair in points.windows(2) {
                        drawing.line(self.at(pair[0]), self.at(pair[1]), *ink, 1.5);
                    }
                }
                PlotMark::Dot(point, form, ink, title) => drawing.dot(self.at(*point), *form, *ink, title),
                PlotMark::Cloud(points, ink) => {
                    let places = points.iter().map(|(x, y)| (self.across.place(*x), 1.0 - self.up.place(*y)));
                    drawing.cloud(self.top, self.height, places, *ink);
                }
                PlotMark::Names(names) => self.names(drawing, names, marks),
                PlotMark::Numbered(points, ink) => self.number(drawing, points, *ink),
                PlotMark::Band(ends, name) => {
                    let [low, high] = ends.map(|end| self.y(end));
                    drawing.fill(Box { x: 0.0, width: 1.0, y: high, height: low - high }, Ink::Accent, 0.1, "");
                    drawing.words((0.004, high - 8.0), Anchor::Start, Ink::Muted, name);
                }
                PlotMark::Span(ends, name) => {
                    let [from, to] = ends.map(|end| self.across.place(end));
                    let width = (to - from).max(NARROWEST);
                    let x = (f64::midpoint(from, to) - width / 2.0).clamp(0.0, 1.0 - width);
                    let area = Box { x, width, y: self.top, height: self.height };
                    drawing.fill(area, Ink::Accent, 0.1, "");
                    let (place, anchor) =
                        if x < 0.7 { (x + 0.004, Anchor::Start) } else { (x + width - 0.004, Anchor::End) };
                    drawing.words((place, self.top + 8.0), anchor, Ink::Muted, name);
                }
                PlotMark::Level(value, name) => {
                    let y = self.y(*value);
                    drawing.line((0.0, y), (1.0, y), Ink::Text, 1.5);
                    let (end, at) = self.of_level(y, width(name), marks);
                    drawing.words((end, at), Anchor::End, Ink::Text, name);
                }
                PlotMark::Dashed(value, ink) => drawing.dashed((0.0, self.y(*value)), (1.0, self.y(*value)), *ink, 1.5),
                PlotMark::Rule(value, name) => {
                    let x = self.across.place(*value);
                    drawing.line((x, self.top), (x, self.top + self.height), Ink::Text, 1.5);
                    // Near the left the name is inside, since the axis has its name above it.
                    if x < 0.5 {
                        drawing.words((x + 0.005, self.top + 10.0), Anchor::Start, Ink::Muted, name);
                    } else {
                        drawing.words((x, self.top - 10.0), Anchor::End, Ink::Muted, name);
                    }
                }
            }
        }
    }
    /// The name of a level is above it in the upper half, below it in the lower.
    fn beside(&self, y: f64) -> f64 {
        if y < self.top + self.height / 2.0 { y - 8.0 } else { y + 9.0 }
    }
    /// Right end and height of the name of a level at `y`: at the end of the plot, or left of a rule that would cross
    /// it there.
    fn of_level(&self, y: f64, width: f64, marks: &[PlotMark]) -> (f64, f64) {
        let rules = marks.iter().filter_map(|mark| match mark {
            PlotMark::Rule(value, _) => Some(self.across.place(*value)),
            _ => None,
        });
        let crossed = rules.filter(|x| *x > 1.0 - width && *x < 1.0).fold(1.0, f64::min);
        let end = if crossed < 1.0 { crossed - BESIDE } else { 1.0 };
        (end, self.clear_of(y, (end - width)..end, marks))
    }
    /// Where the name of a level at `y` stands that takes `across`: beside it, on the other side if a line of `marks`
    /// runs through the name there and through none on that side; outside of the plot never.
    fn clear_of(&self, y: f64, across: Range<f64>, marks: &[PlotMark]) -> f64 {
        let own = self.beside(y);
        let other = if own < y { y + 9.0 } else { y - 8.0 };
        let crossed = |at: f64| {
            let points = marks.iter().filter_map(|mark| match mark {
                PlotMark::Line(points, _) => Some(points),
                _ => None,
            });
            let mut places = points.flatten().map(|point| self.at(*point));
            places.any(|(x, line)| x >= across.start && (line - at).abs() < NAME)
        };
        let is_inside = other > self.top + NAME / 2.0 && other < self.top + self.height - NAME / 2.0;
        if crossed(own) && is_inside && !crossed(other) { other } else { own }
    }
    /// Room that a mark takes from names.
    fn rooms(&self, mark: &PlotMark, marks: &[PlotMark]) -> Vec<Box> {
        let between = |(x, y): (f64, f64), (right, low): (f64, f64)| Box {
            x: x.min(right),
            width: (right - x).abs(),
            y: y.min(low),
            height: (low - y).abs(),
        };
        match mark {
            PlotMark::Line(points, _) => {
                points.windows(2).map(|ends| between(self.at(ends[0]), self.at(ends[1]))).collect()
            }
            PlotMark::Dot(point, ..) => vec![around(self.at(*point), POINT)],
            PlotMark::Level(value, name) => {
                let (y, width) = (self.y(*value), width(name));
                let (end, at) = self.of_level(y, width, marks);
                let name = around((end - width / 2.0, at), (width, NAME));
                vec![between((0.0, y), (1.0, y)), name]
            }
            PlotMark::Rule(value, _) => {
                let x = self.across.place(*value);
                vec![between((x, self.top), (x, self.top + self.height))]
            }
            _ => Vec::new(),
        }
    }
    /// A name goes to the first corner or side of its point where it is inside the plot, covers neither a mark nor a
    /// name, and is nearer to its own point than to any other. Of few names, or of few in the colour of the text, one
    /// without such a place has a line to its point.
    fn names(&self, drawing: &mut Drawing, names: &[((f64, f64), Ink, Message)], marks: &[PlotMark]) {
        let plot = Box { x: 0.0, width: 1.0, y: self.top, height: self.height };
        let mut taken: Vec<Box> = marks.iter().flat_map(|mark| self.rooms(mark, marks)).collect();
        let points: Vec<(f64, f64)> = names.iter().map(|(point, ..)| self.at(*point)).collect();
        let first = names.iter().filter(|(_, ink, _)| *ink == Ink::Text).count();
        for (point, ink, name) in names {
            let ((x, y), width) = (self.at(*point), width(name));
            let (aside, down) = (f64::midpoint(POINT.0, width), f64::midpoint(POINT.1, NAME));
            let places = [
                (aside, -down, Anchor::Start),
                (-aside, -down, Anchor::End),
                (aside, down, Anchor::Start),
                (-aside, down, Anchor::End),
                (aside, 0.0, Anchor::Start),
                (-aside, 0.0, Anchor::End),
                (0.0, -down, Anchor::Middle),
                (0.0, down, Anchor::Middle),
            ];
            let rooms = places.map(|(across, down, side)| (around((x + across, y + down), (width, NAME)), side));
            let is_free = |own: &Box| plot.holds(*own) && !taken.iter().any(|other| own.meets(*other));
            let is_its_own = |room: &Box| {
                let own = apart(*room, (x, y));
                let mut others = points.iter().filter(|other| **other != (x, y));
                others.all(|other| apart(*room, *other) > 1.5 * own)
            };
            let near = rooms.into_iter().find(|(room, _)| is_free(room) && is_its_own(room));
            let has_lead = names.len() <= FEW_NAMES || *ink == Ink::Text && first <= FEW_NAMES;
            if near.is_none() && has_lead {
                let aside = width / 2.0;
                let far = [-LEAD, LEAD, -1.6 * LEAD, 1.6 * LEAD, -2.2 * LEAD, -3.0 * LEAD]
                    .into_iter()
                    .flat_map(|down| [0.0, aside, -aside].map(|across| around((x + across, y + down), (width, NAME))));
                if let Some(room) = far.into_iter().find(is_free) {
                    let edge = if room.y < y { room.y + NAME } else { room.y };
                    let middle = room.x + width / 2.0;
                    drawing.line((x, y), (middle, edge), Ink::Line, 1.0);
                    drawing.beside((middle, room.y + NAME / 2.0), Anchor::Middle, *ink, name.clone());
                    taken.push(room);
                    continue;
                }
            }
            if let Some((room, side)) = near {
                let aside = match side {
                    Anchor::Start => POINT.0 / 2.0,
                    Anchor::Middle => 0.0,
                    Anchor::End => -POINT.0 / 2.0,
                };
                drawing.beside((x + aside, room.y + NAME / 2.0), side, *ink, name.clone());
                taken.push(room);
            }
        }
    }
    /// Numbers are in four rows at half the height, so that those of near points do not meet.
    fn number(&self, drawing: &mut Drawing, points: &[(f64, f64)], ink: Ink) {
        let mut order: Vec<usize> = (0..points.len()).collect();
        sort_by(&mut order, |a, b| points[*a].0.total_cmp(&points[*b].0));
        for (rank, index) in order.into_iter().enumerate() {
            let (x, y) = self.at(points[index]);
            let level = self.top + self.height / 2.0 + 13.0 * (rank % 4) as f64;
            let side = if y < level { -7.0 } else { 7.0 };
            drawing.line((x, y), (x, level + side), Ink::Line, 1.0);
            drawing.dot((x, y), Form::Dot, ink, &Message::default());
            drawing.words((x, level), Anchor::Middle, Ink::Text, verbatim((index + 1).to_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_ticks_inside_them_and_all_values_between_their_ends() {
        for values in [[0.02, 40.0], [3.0, 9.0], [1.0, 1.0], [2e-9, 7e8]] {
            let numbers = || values.into_iter();
            for scale in [PlotScale::from_zero(numbers()), PlotScale::around(numbers()), PlotScale::log(numbers(), 1.3)]
            {
                let round = scale.round();
                assert!(!round.is_empty() && round.len() < 40, "{values:?} {scale:?}");
                for value in round.iter().chain(&values) {
                    assert!((scale.low * 0.999..=scale.high * 1.001).contains(value), "{value} {scale:?}");
                }
            }
            let powers = PlotScale::log(numbers(), 1.0).doubling().powers(2.0);
            assert!((1..=9).contains(&powers.len()), "{powers:?}");
        }
        let none = PlotScale::log(std::iter::empty(), 1.0).doubling();
        assert!((none.place(1.0) - 1.0).abs() < 1e-12);
    }

    /// Schedules of DeepSeek-V3 within a thousandth of each other: steps of 27.1 s, memory of 79.2 GiB.
    #[test]
    fn no_two_ticks_of_an_axis_read_alike() {
        use shardscope_core::units::{Seconds, show_seconds};
        for values in [[27.10, 27.11], [79.20, 79.21], [0.999_9, 1.000_1], [99.99, 100.0], [3.0, 9.0], [5.0, 5.0]] {
            let scale = PlotScale::around(values.into_iter());
            let axis = PlotAxis::new(scale, scale.round(), |time| verbatim(show_seconds(Seconds(time))));
            let words: Vec<String> = axis.ticks.iter().map(|(_, words)| words.to_string()).collect();
            assert!(words.len() > 1, "{words:?}");
            assert!(words.iter().enumerate().all(|(at, word)| !words[..at].contains(word)), "{words:?}");
        }
    }

    #[test]
    fn equal_ratios_are_equally_far_on_a_logarithmic_axis_and_what_is_beyond_stands_on_its_end() {
        let scale = PlotScale::log([0.5, 2.0].into_iter(), 1.0);
        assert!((scale.place(1.0) - 0.5).abs() < 1e-12);
        assert!((scale.place(9.0) - 1.0).abs() < 1e-12 && scale.place(0.1).abs() < 1e-12);
    }

    #[test]
    fn names_of_points_stay_inside_and_cover_nothing() {
        let plot = |points: &[(f64, f64)]| {
            let axis = |scale: PlotScale| PlotAxis::new(scale, Vec::new(), |_| Message::default());
            let names = points.iter().map(|point| (*point, Ink::Text, verbatim("twelve chars"))).collect();
            let plot = Plot { up: axis(PlotScale::even(0.0, 1.0)), marks: vec![PlotMark::Names(names)] };
            draw(&axis(PlotScale::even(0.0, 1.0)), 100.0, &[plot])
                .inline("Plot")
                .to_html()
                .matches(">twelve chars<")
                .count()
        };
        assert_eq!(plot(&[(0.5, 0.5); 9]), 4, "one at each corner");
        assert_eq!(plot(&[(1.0, 1.0), (0.0, 0.0)]), 2, "in the one corner that is inside");
        assert_eq!(plot(&[(0.3, 0.5), (0.7, 0.5)]), 2);
        // A point at the middle of the upper edge between two others has room below it alone.
        let beside = [(0.36, 0.9), (0.64, 0.9), (0.5, 0.9)];
        assert_eq!(plot(&beside), 3);
    }

    /// Three points 9 pixels apart, as kinds of GPUs are by days: each name is nearest to its own point, or a line
    /// leads from that to the name.
    #[test]
    fn no_name_stands_at_the_dot_of_another() {
        let axis = |scale: PlotScale| PlotAxis::new(scale, Vec::new(), |_| Message::default());
        let points = [(0.2, 0.2), (0.35, 0.45), (0.38, 0.38), (0.40, 0.42), (0.9, 0.8)];
        let names =
            points.iter().enumerate().map(|(at, point)| (*point, Ink::Text, verbatim(format!("kind {at} 80 GB"))));
        let marks = points.map(|point| PlotMark::Dot(point, Form::Dot, Ink::Accent, Message::default()));
        let marks = marks.into_iter().chain([PlotMark::Names(names.collect())]).collect();
        let plot = Plot { up: axis(PlotScale::even(0.0, 1.0)), marks };
        let html = draw(&axis(PlotScale::even(0.0, 1.0)), 180.0, &[plot]).inline("Plot").to_html();
        let number = |tag: &str, name: &str| -> f64 {
            let value = tag.split(&format!(" {name}=\"")).nth(1).unwrap_or_default();
            value.split(['"', '%']).next().unwrap_or_default().parse().unwrap_or(f64::NAN)
        };
        let dots: Vec<(f64, f64)> =
            html.split("<circle").skip(1).map(|tag| (number(tag, "cx") * 5.6, number(tag, "cy"))).collect();
        let leads: Vec<(f64, f64)> =
            html.split("<line").skip(1).map(|tag| (number(tag, "x1") * 5.6, number(tag, "y1"))).collect();
        for at in 0..points.len() {
            let tag = html.split("<text").find(|tag| tag.contains(&format!(">kind {at} 80 GB<"))).expect("a name");
            let width = width(&verbatim(format!("kind {at} 80 GB"))) * 560.0;
            let x = number(tag, "x") * 5.6;
            let left = match tag.split("text-anchor=\"").nth(1).and_then(|rest| rest.split('"').next()) {
                Some("middle") => x - width / 2.0,
                Some("end") => x - width,
                _ => x,
            };
            let away = |(dot_x, dot_y): (f64, f64)| {
                let across = (left - dot_x).max(dot_x - left - width).max(0.0);
                across.hypot(((number(tag, "y") - dot_y).abs() - NAME / 2.0).max(0.0))
            };
            let own = away(dots[at]);
            let others = dots.iter().enumerate().filter(|(other, _)| *other != at);
            let is_nearest = others.map(|(_, dot)| away(*dot)).fold(f64::INFINITY, f64::min) > own;
            let has_lead = leads.iter().any(|lead| (lead.0 - dots[at].0).hypot(lead.1 - dots[at].1) < 0.2);
            assert!(is_nearest || has_lead, "{at}: {tag}");
        }
    }

    #[test]
    fn a_plot_shows_its_marks_once() {
        let axis =
            |scale: PlotScale| PlotAxis::new(scale, scale.round(), |tick| verbatim(tick.to_string())).named("axis");
        let dot = |form| PlotMark::Dot((1.0, 1.0), form, Ink::Forward, "dot".into());
        let plot = Plot {
            up: axis(PlotScale::from_zero([2.0].into_iter())),
            marks: vec![
                PlotMark::Line(vec![(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)], Ink::Accent),
                dot(Form::Large),
                dot(Form::Square),
                PlotMark::Level(1.5, "level".into()),
                PlotMark::Cloud(vec![(1.0, 1.0); 1000], Ink::Hatch),
            ],
        };
        let html = draw(&axis(PlotScale::even(0.0, 2.0)), 100.0, &[plot]).inline("Plot").to_html();
        assert_eq!(html.matches("var(--accent)").count(), 2);
        assert_eq!((html.matches("<circle").count(), html.matches(">dot</title>").count()), (1, 2));
        assert!(html.contains(">level<") && html.len() < 20_000, "{}", html.len());
    }

    /// A rule near the end of the plot, as the memory of a GPU is: the name of a level ends before it.
    #[test]
    fn the_name_of_a_level_is_not_crossed_by_a_rule() {
        let axis =
            |scale: PlotScale| PlotAxis::new(scale, scale.round(), |tick| verbatim(tick.to_string())).named("axis");
        let end = |rule: f64| {
            let marks = vec![PlotMark::Level(1.2, "bound 4.52 s".into()), PlotMark::Rule(rule, "rule".into())];
            let plot = Plot { up: axis(PlotScale::even(0.0, 2.0)), marks };
            let html = draw(&axis(PlotScale::even(0.0, 2.0)), 200.0, &[plot]).inline("Plot").to_html();
            let before = html.split(">bound 4.52 s<").next().unwrap().rsplit(" x=\"").next().unwrap();
            before.split('%').next().unwrap().parse::<f64>().unwrap()
        };
        assert!(end(1.9) < 95.0 && end(1.9) > 85.0, "{}", end(1.9));
        assert!((end(1.0) - 100.0).abs() < 1e-9, "{}", end(1.0));
    }

    /// Two filled points and ten others around the second, which have no room for its name: it has a line to it.
    #[test]
    fn a_point_that_counts_is_named_however_many_others_there_are() {
        let axis = |scale: PlotScale| PlotAxis::new(scale, Vec::new(), |_| Message::default());
        let others = (0..10).map(|at| (0.3 + 0.012 * f64::from(at % 5), 0.2 + 0.05 * f64::from(at / 5)));
        let first = [(0.1, 0.9), (0.32, 0.18)].map(|point| (point, Ink::Text, verbatim("that counts")));
        let names = first.into_iter().chain(others.map(|point| (point, Ink::Muted, verbatim("other one"))));
        let plot = Plot { up: axis(PlotScale::even(0.0, 1.0)), marks: vec![PlotMark::Names(names.collect())] };
        let html = draw(&axis(PlotScale::even(0.0, 1.0)), 220.0, &[plot]).inline("Plot").to_html();
        assert_eq!(html.matches(">that counts<").count(), 2, "{html}");
    }

    /// The name of a level stands on the side on which no line runs through it.
    #[test]
    fn the_name_of_a_level_is_off_the_line() {
        let axis =
            |scale: PlotScale| PlotAxis::new(scale, scale.round(), |tick| verbatim(tick.to_string())).named("axis");
        let place = |line: f64| {
            let points = vec![(0.0, line), (1.0, line), (2.0, line)];
            let marks = vec![PlotMark::Level(1.2, "level".into()), PlotMark::Line(points, Ink::Exposed)];
            let plot = Plot { up: axis(PlotScale::even(0.0, 2.0)), marks };
            let html = draw(&axis(PlotScale::even(0.0, 2.0)), 200.0, &[plot]).inline("Plot").to_html();
            let before = html.split(">level<").next().unwrap().rsplit(" y=\"").next().unwrap();
            before.split('"').next().unwrap().parse::<f64>().unwrap()
        };
        let (under, over) = (place(1.3), place(1.1));
        assert!(under > over + 8.0, "{under} {over}");
    }
}
