//! Predicted over measured as points over a logarithmic axis, 1 where both agree, and the same in words.

use crate::core::accuracy::{Bench, Fact, Kind};
use crate::core::calibrate::Standing;
use crate::core::message::{Message, verbatim};
use crate::core::t;
use crate::core::units::significant;
use crate::view::charts::drawing::{Drawing, Form};
use crate::view::charts::figure::save;
use crate::view::charts::ink::Ink;
use crate::view::charts::plot::{Axis, Mark, Plot, Scale, draw};
use crate::view::node::markup::{Node, caption, el, heading};

/// The scatter with its data table.
pub fn picture(bench: &Bench, memory: bool, like: &[Fact], yours: &[Standing]) -> Node {
    let (title, unit) = if memory {
        ("Memory peaks: predicted over measured", "GiB")
    } else {
        ("Step times: predicted over measured", "s")
    };
    let mut points = points(bench, memory);
    // Last, so that they lie over the others.
    points.extend(like.iter().map(|fact| Point { series: Series::Alike, ..point(bench, *fact) }));
    points.extend(yours.iter().map(|own| Point {
        measured: own.measured_s,
        ratio: own.before_s / own.measured_s,
        series: Series::Yours,
    }));
    if points.is_empty() {
        return Node::none();
    }
    let words = t!(
        "{memory} Across: measured. Filled: dense runs; square: experts; hollow: shown only; large: most like yours. Beyond half and twice: on the edge.",
        memory = points_in_words(bench, memory)
    );
    let own = if yours.is_empty() { Node::none() } else { caption("Ring: your runs, by the shipped constants.") };
    let pieces = [
        heading(title),
        scatter(&points, unit).inline(title),
        caption(&words),
        own,
        save(if memory { "accuracy-memory" } else { "accuracy-step" }),
    ];
    el("figure", &[("class", "chart")], &pieces)
}

/// Runs that are drawn alike.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Series {
    Dense,
    Experts,
    Shown,
    Alike,
    Yours,
}

impl Series {
    fn of(bench: &Bench, row: usize) -> Self {
        let row = &bench.rows[row];
        match row.source().kind {
            Kind::Shown => Self::Shown,
            _ if row.run.ep > 1 => Self::Experts,
            _ => Self::Dense,
        }
    }
    const fn look(self) -> (Form, Ink) {
        match self {
            Self::Dense => (Form::Faint, Ink::Forward),
            Self::Experts => (Form::Square, Ink::Backward),
            Self::Shown => (Form::Hollow, Ink::Exposed),
            Self::Alike => (Form::Large, Ink::Accent),
            Self::Yours => (Form::Ring, Ink::Text),
        }
    }
}

/// A run in the scatter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Measured value, GiB or seconds.
    measured: f64,
    /// Predicted over measured.
    ratio: f64,
    series: Series,
}

/// The points over what was measured, in `unit`; ratios beyond half and twice stand on the edge.
fn scatter(points: &[Point], unit: &'static str) -> Drawing {
    let across = Scale::log(points.iter().map(|point| point.measured), 1.1);
    let across = Axis::new(across, across.round(), |tick| verbatim(format!("{} {unit}", significant(tick, 1))));
    let up = Scale::log([0.5, 2.0].into_iter(), 1.0);
    let up = Axis::new(up, vec![0.5, 0.8, 1.0, 1.25, 2.0], |ratio| verbatim(ratio.to_string()));
    let dot = |point: &Point| {
        let (form, ink) = point.series.look();
        Mark::Dot((point.measured, point.ratio), form, ink, Message::default())
    };
    let agreement = Mark::Level(1.0, Message::default());
    let marks = std::iter::once(agreement).chain(points.iter().map(dot)).collect();
    draw(&across, 240.0, &[Plot { up, marks }])
}

fn point(bench: &Bench, fact: Fact) -> Point {
    Point { measured: fact.measured, ratio: fact.ratio(), series: Series::of(bench, fact.row) }
}

/// The points of step times, or of memory peaks.
pub fn points(bench: &Bench, memory: bool) -> Vec<Point> {
    bench.about(memory).map(|fact| point(bench, fact)).collect()
}

/// The scatter in words.
pub(crate) fn points_in_words(bench: &Bench, memory: bool) -> Message {
    let errors: Vec<f64> = bench.about(memory).map(Fact::error).collect();
    let within = |share: f64| errors.iter().filter(|error| **error <= share).count();
    let worst = errors.iter().copied().fold(0.0, f64::max);
    let (count, near, far) = (errors.len(), within(0.1), within(0.25));
    let worst = format!("{:.0}", worst * 100.0);
    if memory {
        t!(
            "{count} memory peaks: {near} within 10 %, {far} within 25 %, the worst misses by {worst} %. Over 1: predicted too large.",
            count,
            near,
            far,
            worst
        )
    } else {
        t!(
            "{count} step times: {near} within 10 %, {far} within 25 %, the worst misses by {worst} %. Over 1: predicted too slow.",
            count,
            near,
            far,
            worst
        )
    }
}
