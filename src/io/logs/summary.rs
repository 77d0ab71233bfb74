//! The contents of a file, before it is kept as a run: what it was read as, what was measured, what is taken from the
//! page.

use super::Reading;
use crate::import::summary::changes;
use shardscope_core::issue::Issue;
use shardscope_core::message::Message;
use shardscope_core::run::Run;
use shardscope_core::t;
use shardscope_core::units::{Seconds, show_percent, show_seconds};
use shardscope_view::node::action::RunsAction;
use shardscope_view::node::markup::{Action, Node, bullet, el, fold, leaf, load, paragraph, subheading, table, text};
use shardscope_view::panels::issues::line;
use shardscope_view::words;

/// A file that was read, beside the Run of the page.
pub fn summary(of: &Reading, present: &Run) -> Node {
    let mut parts = vec![leaf("p", "size", t!("Read as {program}.", program = &of.program))];
    if let Some(step) = of.step {
        let (seconds, used, left_out) = (show_seconds(Seconds(step.seconds)), step.used, step.left_out);
        parts.push(paragraph(match (used, left_out) {
            (1, 0) => t!("A step took {seconds}, by one value.", seconds),
            (1, _) => {
                t!("A step took {seconds}, by one value; first and odd ones left out: {left_out}.", seconds, left_out)
            }
            _ => t!(
                "A step took {seconds}: the median of {used} steps, which lie within {spread}; first and odd ones \
                    left out: {left_out}.",
                seconds,
                used,
                spread = show_percent(step.spread),
                left_out
            ),
        }));
    }
    let pairs = |all: &[(Message, Message)]| -> Vec<_> {
        let rows = all.iter();
        rows.map(|(what, how)| (false, vec![text(what), leaf("span", "wrap", how)])).collect()
    };
    if !of.measured.is_empty() {
        let rows = pairs(&of.measured);
        parts.push(table("What was measured", &["measured", "read as"], &rows));
    }
    let notes = of.notes.iter().map(|note| Issue::warning("", note));
    parts.extend(notes.map(|note| line(&note)));
    let run = &of.run;
    let differences = changes(present, run);
    parts.push(subheading("Its run"));
    parts.push(paragraph(words::line(run)));
    parts.extend(of.compared().into_iter().map(paragraph));
    if !differences.is_empty() {
        let head = ["", "this page", "the file"];
        parts.push(table("Other than on this page", &head, &differences));
    }
    if !of.assumed.is_empty() {
        let items: Node = of.assumed.iter().map(bullet).collect();
        parts.push(subheading("Assumed"));
        parts.push(el("ul", &[("class", "gaps")], &[items]));
    }
    if !of.used.is_empty() {
        let rows = pairs(&of.used);
        let count = t!("entries used: {count}", count = rows.len());
        parts.push(fold(&count, table("Entries used", &["entry", "read as"], &rows)));
    }
    if of.observation("").is_some() {
        let keep = leaf("button", "main", "Keep this run").on(Action::Measured(RunsAction::Keep));
        let open = load(
            "",
            run,
            "Something assumed is wrong? Open the run, set it right, and read the file again.",
            &[text("Open its run")],
        );
        parts.push(el("p", &[("class", "row-of-buttons")], &[keep, text(" "), open]));
    } else {
        parts.push(leaf("p", "issue warning", "It has no time of a step and no peak of memory to compare."));
    }
    el("div", &[("class", "imported")], &parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs;

    fn read(text: &str) -> Node {
        let present = Run::default();
        summary(&logs::read(text, &present).unwrap(), &present)
    }

    #[test]
    fn every_guess_is_shown_before_a_run_is_kept() {
        let log = " iteration 3/ 50 | consumed samples: 384 | elapsed time per iteration (ms): 6000.0 | global batch \
            size: 128 |\n";
        let summary = read(log);
        assert!(summary.actions().contains(&&Action::Measured(RunsAction::Keep)));
        let html = summary.to_html();
        for words in [
            "Megatron-LM",
            "6.00 s",
            "what it does not state of model, cluster and layout is as on this page",
            "global batch size 128",
            "Other than on this page",
        ] {
            assert!(html.contains(words), "{words}: {html}");
        }
    }

    /// An average over all message sizes measures nothing.
    #[test]
    fn what_measures_nothing_cannot_be_kept() {
        let summary = read("# Avg bus bandwidth    : 231.5\n");
        assert!(!summary.actions().contains(&&Action::Measured(RunsAction::Keep)));
        assert!(summary.to_html().contains("no time of a step and no peak"));
    }
}
