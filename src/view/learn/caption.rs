//! Captions of a picture: the legend of its colours, and its values as a table.

use crate::charts::figure::legend;
use crate::charts::ink::Ink;
use crate::prelude::*;

/// Names of the colours of a picture.
pub(super) fn colours(entries: &[(Message, Ink)]) -> Node {
    legend([swatches(entries)])
}

fn swatches(entries: &[(Message, Ink)]) -> Node {
    let each = entries.iter().map(|(name, ink)| {
        let colour = format!("background:var({})", ink.token());
        let swatch = el("i", &[("class", "swatch"), ("style", &colour)], &[]);
        el("span", &[], &[swatch, text(name)])
    });
    each.collect()
}

/// Opacity of what other ranks have.
pub(super) const FAINT: f64 = 0.16;

/// The legend of a picture of one rank.
pub(super) fn of_one_rank(entries: &[(Message, Ink)]) -> Node {
    let faint = inline("faint: on other ranks");
    legend([swatches(entries), faint])
}

/// Values of a picture, as a table that can be unfolded.
pub(super) fn data(head: &[&'static str], rows: Vec<Vec<Message>>) -> Node {
    listed("The same as a table", head, rows)
}

/// A table called `label` that can be unfolded.
pub(super) fn listed(label: &'static str, head: &[&'static str], rows: Vec<Vec<Message>>) -> Node {
    let cells = |row: Vec<Message>| (false, row.into_iter().map(text).collect());
    let rows: Vec<(bool, Vec<Node>)> = rows.into_iter().map(cells).collect();
    fold(label, table(label, head, &rows))
}
