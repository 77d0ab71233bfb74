//! What the predicted step of a layout is made of: where a run that is as fast as predicted spends its time.

use super::head;
use crate::panels::waterfall::part_words;
use crate::prelude::*;
use shardscope_core::diagnose::Diagnosis;
use shardscope_core::time::PartKind;

/// Parts below this share of the step are left out.
const LEAST: f64 = 0.005;

/// The parts beside the ideal compute, the longest first; none where no whole step was compared.
pub(super) fn spent(found: &Diagnosis) -> Option<Node> {
    let whole = found.predicted_s.filter(|whole| *whole > 0.0)?;
    let ideal = found.made_of.iter().find(|(kind, _)| *kind == PartKind::Ideal)?.1;
    let mut losses: Vec<(PartKind, f64)> = found.made_of.clone();
    losses.retain(|(kind, seconds)| *kind != PartKind::Ideal && *seconds > LEAST * whole);
    shardscope_core::sort::sort_by(&mut losses, |a: &(PartKind, f64), b| b.1.total_cmp(&a.1));
    let most = losses.first()?.1;
    let line = |(kind, seconds): &(PartKind, f64)| {
        let bar = bar_at("me d-text", 0.0, seconds / most);
        el(
            "tr",
            &[],
            &[
                leaf("td", "", part_words(*kind)),
                el("td", &[("class", "both")], &[el("span", &[("class", "track"), ("aria-hidden", "true")], &[bar])]),
                leaf("td", "", verbatim(show_seconds(Seconds(*seconds)))),
                leaf("td", "", verbatim(show_percent(seconds / whole))),
            ],
        )
    };
    let names = ["Part", "", "predicted", "of the step"];
    let names: Node = names.into_iter().map(|name| leaf(if name.is_empty() { "td" } else { "th" }, "", name)).collect();
    let rows: Node = losses.iter().map(line).collect();
    let words = t!(
        "By prediction the compute takes {ideal} of the {whole} at the GPU's peak rate. The largest other parts:",
        ideal = show_seconds(Seconds(ideal)),
        whole = show_seconds(Seconds(whole))
    );
    Some(Node::from_iter([
        head("Where the predicted step goes", Message::default(), Node::none()),
        paragraph(words),
        scrolled("Where the predicted step goes", grid("parts", names, rows)),
    ]))
}
