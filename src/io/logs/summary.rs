//! What a file says, before it is kept as a run: what it was read as, what was found, what is taken from the page.

use super::reading::Reading;
use crate::core::message::Message;
use crate::core::t;
use crate::core::units::{Seconds, show_percent, show_seconds};
use crate::view::node::markup::{Node, el, fold, leaf, table, text};

/// The view of a reading.
#[must_use]
pub fn summary(reading: &Reading) -> Node {
    let list = |messages: &[Message], class: &str| -> Node {
        let items: Node = messages
            .iter()
            .map(|message| leaf("li", class, message))
            .collect();
        el("ul", &[("class", "gaps")], &[items])
    };
    let mut parts = vec![leaf(
        "p",
        "size",
        t!("Read as {program}.", program = reading.program.clone()),
    )];
    if let Some(step) = reading.step {
        let (used, left_out) = (step.used, step.left_out);
        parts.push(leaf("p", "", t!(
            "A step took {seconds}: the median of {used} steps, which lie within {spread}; first and odd ones left out: {left_out}.",
            seconds = show_seconds(Seconds(step.seconds)), used, spread = show_percent(step.spread), left_out
        )));
    }
    if !reading.notes.is_empty() {
        parts.push(list(&reading.notes, "issue warning"));
    }
    if !reading.assumed.is_empty() {
        parts.push(leaf("h4", "", "Assumed"));
        parts.push(list(&reading.assumed, ""));
    }
    if !reading.used.is_empty() {
        let rows: Vec<_> = reading
            .used
            .iter()
            .map(|(what, how)| (false, vec![text(what), text(how)]))
            .collect();
        let count = t!("entries used: {count}", count = rows.len());
        parts.push(fold(
            &count,
            table("Entries used", &["entry", "read as"], &rows),
        ));
    }
    Node::from_iter(parts)
}
