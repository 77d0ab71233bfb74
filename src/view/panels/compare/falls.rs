//! The steps of two Runs part by part: paired bars on one scale, and what each part gains or loses.

use crate::panels::waterfall::parts;
use crate::prelude::*;
use shardscope_core::units::show_off;

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

/// The difference of two times, with the sign as a colour; of steps with unequal `tokens` that of the times per token,
/// as a share: a part that only grows with the batch is no loss.
fn difference([a, b]: [Seconds; 2], tokens: [f64; 2]) -> Node {
    if tokens[0] != tokens[1] {
        let [a, b] = [a.0 / tokens[0], b.0 / tokens[1]];
        return match b / a - 1.0 {
            _ if a <= 0.0 && b <= 0.0 => leaf("span", "muted", "same"),
            _ if a <= 0.0 => leaf("b", "worse", "new"),
            share if share.abs() < SMALLEST_PRINTED => leaf("span", "muted", "same"),
            share => leaf("b", if share < 0.0 { "better" } else { "worse" }, verbatim(show_off(share, 1))),
        };
    }
    let apart = b - a;
    if show_seconds(a) == show_seconds(b) {
        return leaf("span", "muted", "same");
    }
    let (class, sign) = if apart.0 < 0.0 { ("better", "−") } else { ("worse", "+") };
    leaf("b", class, verbatim(format!("{sign}{}", show_seconds(Seconds(apart.0.abs())))))
}

fn line(class: &str, name: Node, track: &[Node], times: [Seconds; 2], tokens: [f64; 2]) -> Node {
    let cells = [
        el("span", &[], &[name]),
        el("span", &[("class", "track")], track),
        inline(verbatim(show_seconds(times[0]))),
        inline(verbatim(show_seconds(times[1]))),
        difference(times, tokens),
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
    let tokens = runs.map(|run| run.report.layout.tokens_per_step);
    let one_batch = tokens[0] == tokens[1];
    let apart = if one_batch { "B − A" } else { "per token" };
    let head = [Node::none(), Node::none(), text("A"), text("B"), text(apart)].map(|name| el("span", &[], &[name]));
    let rows = pairs(runs).into_iter().map(|(name, class, [a, b])| {
        line("pair", text(name), &[bar(class, a, "upper"), bar(class, b, "lower")], [a.1, b.1], tokens)
    });
    let total = line("pair total", text("Step"), &[], steps, tokens);
    let rows: Vec<Node> =
        std::iter::once(el("div", &[("class", "pair head")], &head)).chain(rows).chain([total]).collect();
    let legend = if one_batch {
        t!("upper bar A, lower bar B")
    } else {
        t!("upper bar A, lower bar B; the steps have unequal batches, so the last column is what B takes per token \
            against A")
    };
    let title = [leaf("h2", "", "Where the step goes"), aside(legend)];
    Node::from_iter([el("div", &[("class", "panel-head")], &title), el("div", &[("class", "pairs")], &rows)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice the batch in one layout: compute takes as long per token, which is no loss, and the bubble of 1F1B less,
    /// since its idle share is (p - 1) / (m + p - 1).
    #[test]
    fn a_larger_batch_is_compared_per_token() {
        let own = Run::default();
        let [a, b] =
            [own.clone(), Run { global_batch: 2 * own.global_batch, ..own }].map(|run| evaluate(&run).unwrap());
        let html = falls([&a, &b]).to_html();
        let row = |name: &str| html.split("class=\"pair").find(|row| row.contains(name)).unwrap().to_owned();
        assert!(row("Ideal compute").contains("same") && row("Pipeline bubble").contains("better"), "{html}");
        assert!(row("Step<").contains("better") && !html.contains("B − A"), "{html}");
    }

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
