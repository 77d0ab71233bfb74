//! Predicted over measured for many runs at once: a point a run on a logarithmic axis, 1 where both agree.

use crate::core::units::significant;
use crate::view::node::markup::{Node, el, text};

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// What was measured.
    pub measured: f64,
    /// Predicted over measured.
    pub ratio: f64,
    /// Which of the series.
    pub series: usize,
}

/// The picture: axes in units of the picture's width and height, y down.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// The points, x and y from 0 to 1, and their series; those beyond the axis lie on its edge.
    pub points: Vec<(f64, f64, usize)>,
    /// Round numbers of the measured axis with their place.
    pub across: Vec<(f64, f64)>,
    /// Ratios with their place; 1 is among them.
    pub up: Vec<(f64, f64)>,
}

/// The picture as SVG: places are shares of its size, so that text keeps its own. The first series is round, the second
/// square, the third hollow, the fourth large, the fifth a ring.
#[must_use]
pub fn svg(picture: &Scatter, unit: &str) -> Node {
    let at = |share: f64| format!("{:.2}%", share * 100.0);
    let line = |class: &str, ends: [&str; 4]| {
        let [x1, y1, x2, y2] = ends;
        let attributes = [("class", class), ("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2)];
        el("line", &attributes, &[])
    };
    let mut pieces = Vec::new();
    for (ratio, share) in &picture.up {
        let y = at(*share);
        let class = if (ratio - 1.0).abs() < 1e-9 { "one" } else { "" };
        pieces.push(line(class, ["0%", &y, "100%", &y]));
        let attributes = [("x", "-6"), ("y", &*y), ("dy", "4"), ("text-anchor", "end")];
        pieces.push(el("text", &attributes, &[text(ratio.to_string())]));
    }
    let mut free = f64::NEG_INFINITY;
    for (value, share) in &picture.across {
        if *share - free < 0.1 {
            continue;
        }
        free = *share;
        let x = at(*share);
        pieces.push(line("", [&x, "99%", &x, "100%"]));
        let attributes = [("x", &*x), ("y", "100%"), ("dy", "15"), ("text-anchor", "middle")];
        let words = format!("{} {unit}", significant(*value, 1));
        pieces.push(el("text", &attributes, &[text(&words)]));
    }
    for (across, up, series) in &picture.points {
        let (x, y) = (at(*across), at(*up));
        pieces.push(if *series == 1 {
            let place = [("class", "s1"), ("x", &*x), ("y", &*y)];
            let size = [("width", "5"), ("height", "5"), ("transform", "translate(-2.5 -2.5)")];
            el("rect", &[&place[..], &size[..]].concat(), &[])
        } else {
            let class = format!("s{series}");
            let r = if *series >= 3 { "5" } else { "2.6" };
            let place = [("class", &*class), ("cx", &*x), ("cy", &*y), ("r", r)];
            el("circle", &place, &[])
        });
    }
    el("svg", &[("aria-hidden", "true")], &pieces)
}

/// Ratios shown: from half to twice.
const REACH: f64 = 2.0;
/// Ratios that have a line.
const LINES: [f64; 5] = [0.5, 0.8, 1.0, 1.25, 2.0];

/// Lays the points out; none where there are none.
#[must_use]
pub fn scatter(points: &[Point]) -> Option<Scatter> {
    let of = |fold: fn(f64, f64) -> f64, start| points.iter().map(|p| p.measured).fold(start, fold);
    let (least, most) = (of(f64::min, f64::INFINITY), of(f64::max, 0.0));
    if !(least > 0.0 && least <= most && most.is_finite()) {
        return None;
    }
    let (low, high) = (least.ln() - 0.1, most.ln() + 0.1);
    let x = |measured: f64| (measured.ln() - low) / (high - low);
    let y = |ratio: f64| {
        let share = ratio.max(1e-9).ln() / REACH.ln();
        f64::midpoint(1.0, -share.clamp(-1.0, 1.0))
    };
    let mut across = Vec::new();
    let mut decade = 10f64.powf(least.log10().floor());
    while decade <= most {
        for round in [1.0, 2.0, 5.0].map(|multiple| multiple * decade) {
            if (0.0..=1.0).contains(&x(round)) {
                across.push((round, x(round)));
            }
        }
        decade *= 10.0;
    }
    Some(Scatter {
        points: points.iter().map(|point| (x(point.measured), y(point.ratio), point.series)).collect(),
        across,
        up: LINES.map(|ratio| (ratio, y(ratio))).to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_lies_on_the_middle_line_and_all_points_on_the_picture() {
        let point = |measured, ratio| Point { measured, ratio, series: 0 };
        let picture = scatter(&[point(2.0, 1.0), point(80.0, 9.0), point(0.3, 0.1)]).unwrap();
        let middle = picture.up.iter().find(|(ratio, _)| (*ratio - 1.0).abs() < 1e-12);
        assert!((middle.unwrap().1 - 0.5).abs() < 1e-12);
        assert!((picture.points[0].1 - 0.5).abs() < 1e-12);
        for (x, y, _) in &picture.points {
            assert!((0.0..=1.0).contains(x) && (0.0..=1.0).contains(y));
        }
        assert!(picture.across.iter().any(|(value, _)| (*value - 10.0).abs() < 1e-9));
        assert!(scatter(&[]).is_none());
        assert_eq!(svg(&picture, "s").to_html().matches("<circle").count(), 3);
    }
}
