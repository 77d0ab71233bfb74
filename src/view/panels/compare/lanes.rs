//! The timelines of two Runs on one axis.

use crate::charts::figure::{figure, legend};
use crate::charts::prepared::KeyNotes;
use crate::charts::strips::lined_strips;
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
            let schedule = match run.scenario.layout.pp {
                1 => t!("{which}: one stage", which),
                _ => t!("{which}: {name}", which, name),
            };
            let lines = vec![schedule, t!("{length} of a step of {step}, {bubble} bubble", length, step, bubble)];
            (lines, run.timeline())
        })
        .collect();
    if drawn.iter().all(|(_, timeline)| timeline.makespan() <= 0.0) {
        return Node::none();
    }
    let picture = lined_strips(&drawn).inline("Pipelines on one axis");
    Node::from_iter([
        leaf("h2", "", "Pipelines on one axis"),
        legend([colours(&runs, KeyNotes::of_blocks(runs.iter().copied()))]),
        figure("compared", "", picture),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::pipeline::SCHEDULES;

    /// A telephone of 320 pixels shows about 45 characters of a picture's words: no line of any schedule is longer,
    /// with steps of minutes too.
    #[test]
    fn no_line_above_a_pipeline_is_cut_on_a_narrow_page() {
        let long = Run { global_batch: 16_384, gpus: 64, ..Run::default() };
        for row in SCHEDULES {
            let set = [("schedule", row.id().to_owned()), ("virtual_stages", "2".to_owned())];
            let Some(run) = long.with_texts(&set) else { continue };
            let Ok(evaluation) = evaluate(&run) else { continue };
            let html = timelines([&evaluation, &evaluation]).to_html();
            let words = html.split("</text>").filter_map(|part| part.rsplit('>').next());
            let longest = words.map(|words| words.chars().count()).max().unwrap_or(0);
            assert!((20..=45).contains(&longest), "{}: {longest}", row.name());
        }
    }
}
