//! Predicted over measured as points, and the same in words.

use crate::core::accuracy::{Bench, Fact, Kind};
use crate::core::calibrate::Standing;
use crate::core::message::Message;
use crate::core::t;
use crate::view::charts::figure::save;
use crate::view::charts::scatter::{Point, scatter, svg};
use crate::view::node::markup::{Node, el, leaf};

/// The scatter with its data table.
pub fn picture(bench: &Bench, memory: bool, like: &[Fact], yours: &[Standing]) -> Node {
    let (title, unit) = if memory {
        ("Memory peaks: predicted over measured", "GiB")
    } else {
        ("Step times: predicted over measured", "s")
    };
    let mut points = points(bench, memory);
    // Last, so that they lie over the others.
    points.extend(like.iter().map(|fact| Point { series: 3, ..point(bench, *fact) }));
    points.extend(yours.iter().map(|own| Point {
        measured: own.measured_s,
        ratio: own.before_s / own.measured_s,
        series: 4,
    }));
    let Some(scatter) = scatter(&points) else {
        return Node::none();
    };
    let words = t!(
        "{memory} Across: measured. Filled: dense runs; square: experts; hollow: shown only; large: most like yours. Beyond half and twice: on the edge.",
        memory = points_in_words(bench, memory)
    );
    let own = if yours.is_empty() {
        Node::none()
    } else {
        leaf("figcaption", "muted", "Ring: your runs, by the shipped constants.")
    };
    let pieces = [
        leaf("h3", "", title),
        svg(&scatter, unit),
        leaf("figcaption", "muted", &words),
        own,
        save(if memory { "accuracy-memory" } else { "accuracy-step" }),
    ];
    el("figure", &[("class", "scatter")], &pieces)
}

/// The series of a row in the scatter: dense, experts, and what was only shown.
fn series(bench: &Bench, row: usize) -> usize {
    let row = &bench.rows[row];
    if row.source().kind == Kind::Shown { 2 } else { usize::from(row.run.ep > 1) }
}

fn point(bench: &Bench, fact: Fact) -> Point {
    Point { measured: fact.measured, ratio: fact.ratio(), series: series(bench, fact.row) }
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
