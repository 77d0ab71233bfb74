//! Spare nodes: the distribution of the number of nodes under repair, and how many spares suffice.

use super::found::WholeRunAnswer;
use crate::charts::drawing::{Anchor, Box, Drawing};
use crate::charts::ink::Ink;
use crate::prelude::*;
use shardscope_core::units::show_part;
use shardscope_core::whole_run::{WholeRunFigure, spares as spares_for, suffices, under_repair};

/// Height of the picture above its axis, pixels.
const HEIGHT: f64 = 130.0;
/// The probability that is offered for enough spares. OPT-175B kept 12 spare nodes (Zhang 2022, section 2.5), which is
/// the quantile of this probability for its two failures a day and three days of repair.
const USUAL: f64 = 0.99;
/// Most bars; if there are more counts of nodes, each bar sums several.
const MAX_BARS: usize = 60;

/// Draws the distribution of the number of nodes under repair at once, with the mean `mean`. Counts above the `spares`
/// that the run has are marked. `enough` says how many spares suffice.
fn distribution(mean: f64, spares: u64, enough: &Message) -> Node {
    let counts = under_repair(mean);
    if counts.is_empty() {
        return Node::none();
    }
    let stride = counts.len().div_ceil(MAX_BARS).max(1);
    let bars: Vec<_> = counts.chunks(stride).collect();
    let heights: Vec<f64> = bars.iter().map(|bar| bar.iter().map(|(_, share)| share).sum()).collect();
    let highest = heights.iter().copied().fold(0.0, f64::max);
    let mut drawing = Drawing::new(HEIGHT + 36.0);
    let pitch = 1.0 / bars.len().max(1) as f64;
    let label_stride = bars.len().div_ceil(12);
    for (at, (bar, height)) in bars.iter().zip(&heights).enumerate() {
        let (first, last) = (bar[0].0, bar[bar.len() - 1].0);
        let pixels = HEIGHT * height / highest;
        let place = Box { x: at as f64 * pitch, width: pitch * 0.86, y: HEIGHT - pixels, height: pixels };
        let title = t!(
            "{count}: {share} of the time",
            count = match (first == last, first) {
                (true, 1) => t!("1 node"),
                (true, _) => t!("{count} nodes", count = first),
                (false, _) => t!("{count} nodes", count = format!("{first}–{last}")),
            },
            share = show_percent(*height)
        );
        let (ink, opacity) = if first > spares { (Ink::Exposed, 1.0) } else { (Ink::Forward, 0.6) };
        drawing.fill(place, ink, opacity, title);
        if at % label_stride == 0 {
            let middle = (place.x + place.width / 2.0, HEIGHT + 10.0);
            drawing.words(middle, Anchor::Middle, Ink::Muted, verbatim(first.to_string()));
        }
    }
    drawing.line((0.0, HEIGHT), (1.0, HEIGHT), Ink::Line, 1.0);
    let axis = t!("nodes under repair at once; height: share of time");
    drawing.words((0.5, HEIGHT + 26.0), Anchor::Middle, Ink::Muted, axis);
    el(
        "div",
        &[("class", "chart")],
        &[drawing.inline(t!("Nodes under repair at once: {enough}", enough = enough.clone()))],
    )
}

/// The section on spare nodes: how many suffice, the distribution of nodes under repair, and their price.
pub(super) fn spares(answer: &WholeRunAnswer) -> Node {
    let title = leaf("h2", "", "Spare nodes");
    let (setting, spares) = (&answer.setting, answer.figures.spares);
    let mean = setting.under_repair;
    if mean <= 0.0 {
        return el("section", &[], &[title, muted("No node fails in this run, so none has to stand by.")]);
    }
    if setting.nodes <= 1.0 && setting.spare_quantile.is_none() {
        return el("section", &[], &[title, muted("A run on one node keeps no spare: it waits for the repair.")]);
    }
    let quantile = setting.spare_quantile.unwrap_or(USUAL);
    let wanted = spares_for(mean, quantile);
    // A whole number of nodes suffices more often than is asked.
    let share = show_part(suffices(mean, wanted).unwrap_or(quantile));
    let enough = match wanted {
        1 => t!("1 spare node suffices {share} of the time", share),
        count => t!("{count} spare nodes suffice {share} of the time", count, share),
    };
    let picture = distribution(mean, spares, &enough);
    let nodes = number(setting.nodes, 4);
    let words = t!(
        "Nodes under repair at once, {mean} in the mean: {nodes}, {days} days of repair.",
        mean = significant(mean, 3),
        nodes = if nodes == "1" { t!("1 node") } else { t!("{count} nodes", count = nodes) },
        days = number(setting.repair_days, 3)
    );
    let (lead, paid) = if setting.spare_quantile.is_some() {
        let lead = el("button", &[("class", "link")], &[text(enough)]).on(Action::ExplainWhole(WholeRunFigure::Spares));
        let share = show_percent(spares as f64 / setting.nodes);
        (lead, t!("The spares are {share} of the nodes, and paid.", share))
    } else {
        let set = vec![("spare_quantile", USUAL.to_string())];
        let none = t!("No spare nodes are set, so none are in the cost.");
        let words = match wanted {
            1 => t!("Add 1 spare node to the cost"),
            count => t!("Add {count} spare nodes to the cost", count),
        };
        let button = apply("", set, enough.clone(), words);
        (Node::from_iter([text(none), text(" "), button]), t!("{enough}.", enough))
    };
    let words = Message::joined(" ", [words, paid]);
    el("section", &[], &[title, el("p", &[("class", "lead")], &[lead]), picture, muted(words)])
}
