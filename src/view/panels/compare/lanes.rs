//! The timelines of two Runs on one axis.

use crate::charts::figure::{figure, legend};
use crate::charts::prepared::KeyNotes;
use crate::charts::strips::strips;
use crate::panels::pipeline::colours;
use crate::prelude::*;

/// Both timelines over one axis that ends with the longer one, each named with its length and bubble.
pub fn timelines(runs: [&Evaluation; 2]) -> Node {
    let both = runs.iter().zip(["A", "B"]);
    let drawn: Vec<_> = both
        .map(|(run, which)| {
            let pipeline = &run.report.pipeline;
            let name = pipeline.schedule.choice().label;
            let length = show_seconds(Seconds(run.spans.makespan()));
            let bubble = show_percent(pipeline.bubble_fraction);
            // The step is longer: exposed messages and the optimizer come after it.
            let step = show_seconds(run.report.step.time_s);
            let title =
                t!("{which}: {name}, {length} of a step of {step}, {bubble} bubble", which, name, length, step, bubble);
            (title, run.timeline())
        })
        .collect();
    if drawn.iter().all(|(_, timeline)| timeline.makespan() <= 0.0) {
        return Node::none();
    }
    let picture = strips(&drawn).inline("Pipelines on one axis");
    Node::from_iter([
        leaf("h2", "", "Pipelines on one axis"),
        legend([colours(&runs, KeyNotes::default())]),
        figure("compared", "", picture),
    ])
}
