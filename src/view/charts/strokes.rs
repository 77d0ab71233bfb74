//! Lines over the timeline with no more points than pixels: in-flight activations and the critical path.

use super::viewport::Viewport;
use shardscope_core::pipeline::TimedOp;
use shardscope_core::pipeline::trace::OpPlace;
use std::fmt::Write;

/// A stepped curve as a path of `(x, value)`: of the steps within one pixel only the first, the extremes and the last.
pub fn steps(curve: &[(f64, u32)], view: Viewport, width: f64) -> Vec<(f64, u32)> {
    let from = curve.partition_point(|(time, _)| *time < view.start);
    let to = curve.partition_point(|(time, _)| *time <= view.end);
    let mut level = from.checked_sub(1).map_or(0, |last| curve[last].1);
    let mut points = vec![(0.0, level)];
    let mut at = from;
    while at < to {
        let x = view.x(curve[at].0, width).floor();
        let (mut low, mut high) = (level, level);
        points.push((x, level));
        while at < to && view.x(curve[at].0, width) < x + 1.0 {
            level = curve[at].1;
            low = low.min(level);
            high = high.max(level);
            at += 1;
        }
        if low != high {
            points.extend([(x, low), (x, high), (x, level)]);
        }
    }
    points.push((width, level));
    points
}

/// A chain of ops as an SVG path through the middles of their rows; steps within a pixel and a row are left out.
pub fn chain(path: &[(OpPlace, TimedOp)], view: Viewport, width: f64, middle: impl Fn(usize) -> f64) -> String {
    let mut out = String::new();
    let mut last: Option<(f64, f64)> = None;
    let from = path.partition_point(|(_, op)| op.end < view.start);
    let to = path.partition_point(|(_, op)| op.start <= view.end);
    for (place, op) in path.get(from.saturating_sub(1)..to.max(from)).unwrap_or_default() {
        let y = middle(place.rank);
        for time in [op.start, op.end] {
            let x = view.x(time, width).clamp(-4.0, width + 4.0);
            let near =
                last.is_some_and(|(before_x, before_y)| (x - before_x).abs() < 1.0 && (y - before_y).abs() < 0.5);
            if near {
                continue;
            }
            let letter = if last.is_none() { 'M' } else { 'L' };
            // Writing to a String cannot fail.
            let _ = write!(out, "{letter}{x:.1} {y:.1}");
            last = Some((x, y));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::pipeline::{Durations, Spec, Trace, build, measure, schedule, stats};

    #[test]
    fn a_dense_curve_keeps_its_extremes_within_a_few_points_a_pixel() {
        let spec = Spec::new(schedule("1f1b").unwrap(), 8, 4096);
        let durations = Durations::unit(8);
        let order = build(&spec, &durations).unwrap().order;
        let timeline = measure(&order, &durations).unwrap().0;
        let curve = stats::in_flight_curve(&timeline.ranks[0]);
        assert!(curve.len() > 4000);
        let points = steps(&curve, Viewport::all(timeline.makespan()), 600.0);
        assert!(points.len() <= 4 * 601 + 2, "{}", points.len());
        assert_eq!(points.iter().map(|point| point.1).max(), Some(8));
        assert_eq!(points.last(), Some(&(600.0, 0)));
    }

    #[test]
    fn a_curve_begins_with_what_is_held_at_the_left_edge() {
        let view = Viewport { start: 2.5, end: 5.0, full: 10.0 };
        let points = steps(&[(1.0, 1), (2.0, 2), (3.0, 3), (6.0, 0)], view, 100.0);
        assert_eq!(points, [(0.0, 2), (20.0, 2), (20.0, 2), (20.0, 3), (20.0, 3), (100.0, 3)]);
    }

    #[test]
    fn the_critical_path_of_gpipe_runs_down_and_up_again() {
        let spec = Spec::new(schedule("gpipe").unwrap(), 4, 4);
        let durations = Durations::unit(4);
        let order = build(&spec, &durations).unwrap().order;
        let timeline = measure(&order, &durations).unwrap().0;
        let trace = Trace::new(&order, &timeline, 0.0);
        let path: Vec<_> = trace.critical_path().into_iter().map(|place| (place, trace.get(place).unwrap())).collect();
        let drawn = chain(&path, Viewport::all(timeline.makespan()), 700.0, |rank| rank as f64 * 10.0);
        assert!(drawn.starts_with("M0.0 0.0"), "{drawn}");
        assert!(drawn.ends_with("L700.0 0.0"), "{drawn}");
        assert!(drawn.contains(" 30.0L"), "it reaches the last rank: {drawn}");
    }
}
