//! The timelines of two Runs on one axis.

use crate::core::report::Evaluation;
use crate::core::run::OneOf;
use crate::core::t;
use crate::core::units::{Seconds, show_percent, show_seconds};
use crate::view::charts::figure::{figure, key};
use crate::view::charts::strips::strips;
use crate::view::node::markup::{Node, heading, muted};
use crate::view::panels::words;

/// Both timelines over one axis that ends with the longer one, and the figures of each in words.
pub fn timelines(runs: [&Evaluation; 2]) -> Node {
    let both = runs.iter().zip(["A", "B"]);
    let drawn: Vec<_> = both
        .clone()
        .map(|(run, which)| {
            let pipeline = &run.report.pipeline;
            let name = pipeline.schedule.choice().label;
            let length = show_seconds(Seconds(run.spans.makespan()));
            let bubble = show_percent(pipeline.bubble_fraction);
            (t!("{which}: {name}, {length}, {bubble} bubble", which, name, length, bubble), run.timeline())
        })
        .collect();
    if drawn.iter().all(|(_, timeline)| timeline.makespan() <= 0.0) {
        return Node::none();
    }
    let picture = strips(&drawn).inline("Pipeline timelines on one axis");
    let notes = both.map(|(run, which)| {
        let notes = words::pipeline(&run.report.pipeline, run.report.layout.microbatches);
        muted(t!("{which}: {notes}", which, notes))
    });
    let pictures = [
        heading("Pipeline timelines on one axis"),
        key(&[
            ("c-forward", "forward"),
            ("c-backward", "backward"),
            ("c-weight", "weight gradient, where it is an op of its own"),
            ("hatch", "bubble"),
        ]),
        figure("compared", "", picture),
    ];
    pictures.into_iter().chain(notes).collect()
}
