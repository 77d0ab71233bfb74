//! Memory against throughput of the searched layouts, and which of them no other beats in both.

use super::controls::{View, fold};
use super::rows::layout;
use crate::core::message::{Message, verbatim};
use crate::core::search::Figures;
use crate::core::search::front::Layouts;
use crate::core::search::session::Fold;
use crate::core::t;
use crate::core::units::{Bytes, GIB, MemoryUnit, group, show_seconds};
use crate::view::charts::figure::save;
use crate::view::charts::ticks::ticks;
use crate::view::node::markup::{Node, el, leaf, text};
use std::fmt::Write;

/// Memory against throughput of all layouts that were searched; the front marked.
pub(crate) fn pareto(view: &View) -> Node {
    if view.result.rows.is_empty() {
        return Node::none();
    }
    fold(view, Fold::Pareto, "Memory against throughput", || dots(view))
}

fn dots(view: &View) -> Node {
    let Layouts { front, others } = &view.result.layouts;
    if front.is_empty() {
        return leaf("p", "muted", "being searched…");
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
    let own = view.own.map(|own| point(&Figures::from(&own.report)));
    let all = || points.iter().copied().chain(own).chain(others());
    let (x, y) = (Scale::of(all().map(|p| p.0).chain([capacity])), Scale::of(all().map(|p| p.1)));
    let mut pieces = axes(view.unit, &x, &y, capacity);
    let place = |point: (f64, f64)| (x.share(point.0), 1.0 - y.share(point.1));
    pieces.push(cloud(others().map(place), points.iter().copied().map(place)));
    for (found, point) in front.iter().zip(&points) {
        let (cx, cy) = place(*point);
        let time = verbatim(show_seconds(found.figures.time_s));
        let title = Message::joined(", ", [layout(found), time]);
        let dot = [("class", "dot best"), ("cx", &*at(cx)), ("cy", &*at(cy)), ("r", "4")];
        pieces.push(el("circle", &dot, &[leaf("title", "", &title)]));
    }
    if let Some(own) = own {
        let (cx, cy) = place(own);
        let ring = [("class", "dot own"), ("cx", &*at(cx)), ("cy", &*at(cy)), ("r", "8")];
        pieces.push(el("circle", &ring, &[leaf("title", "", "this run")]));
    }
    let words = "Filled: Pareto-optimal. Grey: the other layouts that fit; the most that one can reach where it was not reported in full. The ring is your run.";
    let picture = el("svg", &[("role", "img")], &pieces).label(words);
    let figure = [picture, save("layouts"), leaf("figcaption", "muted", words)];
    el("figure", &[("class", "chart titled")], &figure)
}

/// The axes with their names and round numbers, and a rule at the `capacity`.
fn axes(unit: MemoryUnit, x: &Scale, y: &Scale, capacity: f64) -> Vec<Node> {
    let mut pieces: Vec<Node> = Vec::new();
    for tick in ticks(x.low / GIB, x.high / GIB, 4) {
        let place = at(x.share(tick * GIB));
        pieces.push(label(
            &[("x", &place), ("y", "100%"), ("dy", "15"), ("text-anchor", "middle")],
            unit.show(Bytes(tick * GIB)),
        ));
    }
    for tick in ticks(y.low, y.high, 4) {
        let place = at(1.0 - y.share(tick));
        let ends = [("x1", "0"), ("x2", "100%"), ("y1", &*place), ("y2", &*place)];
        pieces.push(el("line", &ends, &[]));
        pieces.push(label(
            &[("x", "-6"), ("y", &place), ("dy", "4"), ("text-anchor", "end")],
            group(&format!("{tick:.0}")),
        ));
    }
    let place = at(x.share(capacity));
    let rule = [("x1", &*place), ("x2", &*place), ("y1", "0"), ("y2", "100%")];
    pieces.push(el("line", &[&[("class", "one")], &rule[..]].concat(), &[]));
    let over = |x: &str, dx: &str, y: &str, dy: &str, anchor: &str, words: Message| {
        let place = [("x", x), ("dx", dx), ("y", y), ("dy", dy), ("text-anchor", anchor)];
        label(&place, words)
    };
    pieces.push(over("0", "-40", "0", "-8", "start", t!("tokens/s/GPU")));
    pieces.push(over(&place, "0", "0", "-8", "end", t!("usable memory")));
    pieces.push(over("100%", "0", "100%", "30", "end", t!("peak memory per GPU")));
    pieces
}

/// A share of the picture's width or height.
fn at(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// The dots of `others` and the steps of the `front`, one path each, in shares of the picture: thousands of elements would
/// be slow. Strokes keep their width.
fn cloud(others: impl Iterator<Item = (f64, f64)>, front: impl Iterator<Item = (f64, f64)>) -> Node {
    let number = |share: f64| (share * 1000.0).round();
    let (mut dots, mut steps) = (String::new(), String::new());
    for (x, y) in others {
        let _ = write!(dots, "M{} {}h0", number(x), number(y));
    }
    for (x, y) in front {
        let (x, y) = (number(x), number(y));
        let _ = if steps.is_empty() { write!(steps, "M{x} {y}") } else { write!(steps, "H{x}V{y}") };
    }
    let path = |class: &str, d: &str| {
        let fixed = [("vector-effect", "non-scaling-stroke"), ("stroke-linecap", "round")];
        el("path", &[&[("class", class), ("d", d)], &fixed[..]].concat(), &[])
    };
    let size = [("width", "100%"), ("height", "100%")];
    let view = [("viewBox", "0 0 1000 1000"), ("preserveAspectRatio", "none")];
    let paths = [path("others", &dots), path("front", &steps)];
    el("svg", &[&size[..], &view[..]].concat(), &paths)
}

/// Words of a chart.
pub fn label(attributes: &[(&'static str, &str)], words: impl Into<Message>) -> Node {
    el("text", attributes, &[text(words)])
}

/// A linear axis with a margin at both ends.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        let room = ((high - low) * 0.06).max(high * 1e-3).max(f64::MIN_POSITIVE);
        Self { low: low - room, high: high + room }
    }
    fn share(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }
}
