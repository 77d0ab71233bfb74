//! The steps of two Runs part by part: paired bars on one scale, and what each part gains or loses.

use crate::panels::waterfall::parts;
use crate::prelude::*;

/// A part of both steps: name, class, and begin and length of each.
type Pair = (&'static str, &'static str, [(Seconds, Seconds); 2]);

/// The parts that either step has.
fn pairs(runs: [&Evaluation; 2]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    for (side, run) in runs.into_iter().enumerate() {
        let mut start = Seconds(0.0);
        for ((name, class, ..), time) in parts(&run.report.step) {
            let at = pairs.iter().position(|pair| pair.0 == *name).unwrap_or_else(|| {
                pairs.push((name, class, [(start, Seconds(0.0)); 2]));
                pairs.len() - 1
            });
            pairs[at].2[side] = (start, time);
            start += time;
        }
    }
    pairs
}

/// The difference of two times, with the sign as a colour.
fn difference([a, b]: [Seconds; 2]) -> Node {
    let apart = b - a;
    if show_seconds(a) == show_seconds(b) {
        return leaf("span", "muted", "same");
    }
    let (class, sign) = if apart.0 < 0.0 { ("better", "−") } else { ("worse", "+") };
    leaf("b", class, verbatim(format!("{sign}{}", show_seconds(Seconds(apart.0.abs())))))
}

fn line(class: &str, name: Node, track: &[Node], times: [Seconds; 2]) -> Node {
    let cells = [
        el("span", &[], &[name]),
        el("span", &[("class", "track")], track),
        inline(verbatim(show_seconds(times[0]))),
        inline(verbatim(show_seconds(times[1]))),
        difference(times),
    ];
    el("div", &[("class", class)], &cells)
}

/// The paired waterfall.
pub(super) fn falls(runs: [&Evaluation; 2]) -> Node {
    let steps = runs.map(|run| run.report.step.time_s);
    let longest = steps[0].0.max(steps[1].0);
    let bar = |class: &str, (start, time): (Seconds, Seconds), side: &str| {
        if time.0 <= 0.0 {
            return Node::none();
        }
        bar_at(&format!("{class} {side}"), start.0 / longest, time.0 / longest)
    };
    let head = [Node::none(), Node::none(), text("A"), text("B"), text("B − A")].map(|name| el("span", &[], &[name]));
    let rows = pairs(runs).into_iter().map(|(name, class, [a, b])| {
        line("pair", text(name), &[bar(class, a, "upper"), bar(class, b, "lower")], [a.1, b.1])
    });
    let total = line("pair total", text("Step"), &[], steps);
    let rows: Vec<Node> =
        std::iter::once(el("div", &[("class", "pair head")], &head)).chain(rows).chain([total]).collect();
    let title = [leaf("h2", "", "Where the step goes"), aside(t!("upper bar A, lower bar B"))];
    Node::from_iter([el("div", &[("class", "panel-head")], &title), el("div", &[("class", "pairs")], &rows)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts add up to the step on either side, whichever parts the other has.
    #[test]
    fn both_sides_add_up_to_their_steps() {
        let other = Run { schedule: Schedule::ZbV, ..Run::default() };
        let [a, b] = [Run::default(), other].map(|run| evaluate(&run).unwrap());
        let pairs = pairs([&a, &b]);
        for (side, run) in [&a, &b].into_iter().enumerate() {
            let sum: Seconds = pairs.iter().map(|pair| pair.2[side].1).sum();
            assert!((sum.0 - run.report.step.time_s.0).abs() < 1e-9 * sum.0);
        }
        let html = falls([&a, &b]).to_html();
        assert!(html.contains("better") && html.contains("same"), "{html}");
        assert!(!falls([&a, &a]).to_html().contains("better"));
    }
}
