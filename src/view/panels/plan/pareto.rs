//! Memory against throughput: where the searched layouts stand, and which of them none beats.

use super::rows::layout;
use super::{View, fold};
use crate::core::message::{Message, verbatim};
use crate::core::search::session::Fold;
use crate::core::t;
use crate::core::units::{Bytes, GIB, group};
use crate::view::charts::figure::save;
use crate::view::charts::ticks::ticks;
use crate::view::node::markup::{Node, el, leaf, text};

/// Memory against throughput: a dot a layout; filled where none is both leaner and faster.
pub(crate) fn pareto(view: &View) -> Node {
    if view.result.rows.len() < 2 {
        return Node::none();
    }
    fold(view, Fold::Pareto, "Memory against throughput", || {
        dots(view)
    })
}

fn dots(view: &View) -> Node {
    let found = &view.result.rows;
    let points: Vec<(f64, f64)> = found
        .iter()
        .map(|row| {
            let figures = &row.figures;
            (figures.peak.bytes.0, figures.tokens_per_s_per_gpu)
        })
        .collect();
    let capacity = found.first().map_or(0.0, |row| row.figures.peak.capacity.0);
    let own = view.own.map(|own| {
        let report = &own.report;
        let step = report.step.tokens_per_s_per_gpu;
        (report.memory.peak_bytes.0, step)
    });
    let all = || points.iter().chain(&own);
    let (x, y) = (
        Scale::of(all().map(|p| p.0).chain([capacity])),
        Scale::of(all().map(|p| p.1)),
    );
    let at = |share: f64| format!("{:.2}%", share * 100.0);
    let mut pieces: Vec<Node> = Vec::new();
    for tick in ticks(x.low / GIB, x.high / GIB, 4) {
        let place = at(x.share(tick * GIB));
        pieces.push(label(
            &[
                ("x", &place),
                ("y", "100%"),
                ("dy", "15"),
                ("text-anchor", "middle"),
            ],
            view.unit.show(Bytes(tick * GIB)),
        ));
    }
    for tick in ticks(y.low, y.high, 4) {
        let place = at(1.0 - y.share(tick));
        let ends = [
            ("x1", "0"),
            ("x2", "100%"),
            ("y1", &*place),
            ("y2", &*place),
        ];
        pieces.push(el("line", &ends, &[]));
        pieces.push(label(
            &[
                ("x", "-6"),
                ("y", &place),
                ("dy", "4"),
                ("text-anchor", "end"),
            ],
            group(&format!("{tick:.0}")),
        ));
    }
    for (index, point) in points.iter().enumerate() {
        let beaten = points
            .iter()
            .any(|other| other.0 <= point.0 && other.1 >= point.1 && other != point);
        let (cx, cy) = (at(x.share(point.0)), at(1.0 - y.share(point.1)));
        let class = if beaten { "dot" } else { "dot best" };
        let number = verbatim((index + 1).to_string());
        let title = Message::joined(". ", [number, layout(&found[index])]);
        let dot = [("class", class), ("cx", &*cx), ("cy", &*cy), ("r", "4")];
        pieces.push(el("circle", &dot, &[leaf("title", "", &title)]));
    }
    if let Some(own) = own {
        let (cx, cy) = (at(x.share(own.0)), at(1.0 - y.share(own.1)));
        let ring = [("class", "dot own"), ("cx", &*cx), ("cy", &*cy), ("r", "8")];
        pieces.push(el("circle", &ring, &[leaf("title", "", "this run")]));
    }
    let place = at(x.share(capacity));
    let rule = [
        ("x1", &*place),
        ("x2", &*place),
        ("y1", "0"),
        ("y2", "100%"),
    ];
    pieces.push(el("line", &[&[("class", "one")], &rule[..]].concat(), &[]));
    let over = |x: &str, dx: &str, y: &str, dy: &str, anchor: &str, words: Message| {
        let place = [
            ("x", x),
            ("dx", dx),
            ("y", y),
            ("dy", dy),
            ("text-anchor", anchor),
        ];
        label(&place, words)
    };
    pieces.push(over("0", "-40", "0", "-8", "start", t!("tokens/s/GPU")));
    pieces.push(over(&place, "0", "0", "-8", "end", t!("usable memory")));
    pieces.push(over(
        "100%",
        "0",
        "100%",
        "30",
        "end",
        t!("peak memory per GPU"),
    ));
    let words = "Filled: Pareto-optimal. The ring is your run.";
    let picture = el("svg", &[("role", "img")], &pieces).label(words);
    let figure = [picture, save("layouts"), leaf("figcaption", "muted", words)];
    el("figure", &[("class", "chart titled")], &figure)
}

/// Words of a chart.
pub fn label(attributes: &[(&'static str, &str)], words: impl Into<Message>) -> Node {
    el("text", attributes, &[text(words)])
}

/// A linear axis with a little room at both ends.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        let room = ((high - low) * 0.06)
            .max(high * 1e-3)
            .max(f64::MIN_POSITIVE);
        Self {
            low: low - room,
            high: high + room,
        }
    }
    fn share(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }
}
