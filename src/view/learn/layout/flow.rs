//! The playbook's recipe as a flow chart over the Run of the page.

use crate::learn::prelude::*;
use shardscope_core::run::Recompute;
use shardscope_core::search::recipe::{WalkStep, walk};

/// Boxes in a row.
const COLUMNS: usize = 2;
/// Height of a box, pixels.
const BOX_HEIGHT: f64 = 74.0;
/// Distance from the top of a box to the top of the box below it, pixels.
const ROW_PITCH: f64 = 94.0;
/// Space between two boxes of a row, as a share of the width of the chart.
const GAP: f64 = 0.04;
/// Distance between the lines of text of a box, pixels.
const LINE_PITCH: f64 = 16.0;
/// The challenge of the lesson: a step of the recipe's layout in less than this share of the time of the own run.
const GOAL: f64 = 0.45;

/// The sizes of a layout in two lines, as its box shows them.
fn sizes(run: &Run) -> [String; 2] {
    [format!("TP {} · PP {}", run.tp, run.pp), format!("ZeRO-{} · b {}", run.zero, run.micro_batch)]
}

/// Draws one box for each step of the recipe, with an arrow to the next box. `steps` must not be empty.
fn chart(steps: &[WalkStep]) -> Drawing {
    let mut drawing = Drawing::new(ROW_PITCH * steps.len().div_ceil(COLUMNS) as f64);
    let mut before: Option<&Run> = None;
    for (at, step) in steps.iter().enumerate() {
        let width = 1.0 / COLUMNS as f64;
        let (x, y) = (width * (at % COLUMNS) as f64, ROW_PITCH * (at / COLUMNS) as f64 + 2.0);
        let frame = Box { x, width: width - GAP, y, height: BOX_HEIGHT };
        let changed = before.is_none_or(|before| *before != step.run);
        drawing.fill(frame, if changed { Ink::Forward } else { Ink::Line }, 0.2, "");
        drawing.frame(frame, if changed { Ink::Forward } else { Ink::Muted });
        let middle = x + (width - GAP) / 2.0;
        let title = t!("{number} {kernel}", number = at + 1, kernel = step.title);
        let [parallelism, rest] = sizes(&step.run);
        let recomputes = step.run.recompute == Recompute::Full;
        let rest = if recomputes { t!("{rest} · recomputed", rest) } else { verbatim(rest) };
        let time = verbatim(show_seconds(Seconds(step.time_s)));
        let inks = [Ink::Text, Ink::Text, Ink::Text, Ink::Muted];
        for ((line, words), ink) in [title, verbatim(parallelism), rest, time].into_iter().enumerate().zip(inks) {
            drawing.words((middle, y + 13.0 + LINE_PITCH * line as f64), Anchor::Middle, ink, words);
        }
        if at + 1 < steps.len() {
            let ends_row = at % COLUMNS + 1 == COLUMNS;
            let (place, arrow) = if ends_row {
                ((0.5 - GAP / 2.0, y + BOX_HEIGHT + 9.0), "↙")
            } else {
                ((x + width - GAP / 2.0, y + BOX_HEIGHT / 2.0), "→")
            };
            drawing.words(place, Anchor::Middle, Ink::Text, verbatim(arrow));
        }
        before = Some(&step.run);
    }
    drawing
}

/// The chart of a recipe without steps: the words that say why it has none.
fn no_chart(reason: &Message) -> Drawing {
    let mut drawing = Drawing::new(ROW_PITCH);
    drawing.heading(20.0, reason);
    drawing
}

/// The effect of each step of the recipe in words, and the layouts as a table.
fn steps_in_words(steps: &[WalkStep]) -> Node {
    let bullets = el("ol", &[], &[steps.iter().map(|step| bullet(&step.text)).collect()]);
    let cells = steps.iter().map(|step| {
        vec![step.title.into(), verbatim(sizes(&step.run).join(" · ")), verbatim(show_seconds(Seconds(step.time_s)))]
    });
    let table = data(&["step of the recipe", "layout", "step time"], cells.collect());
    Node::from_iter([bullets, table])
}

/// The step of the lesson: the recipe for the Run of the page on as many times its GPUs as the slider `x` says.
pub(super) fn flow(dials: &Dials) -> Live {
    let run = Run { gpus: dials.run().gpus * dials.get("x"), ..dials.run().clone() };
    let walked = walk(&run, None);
    let steps = &walked.steps;
    let own_s = evaluate(dials.run()).map_or(0.0, |evaluation| evaluation.report.step.time_s.0);
    let recipe_s = steps.last().map_or(own_s, |step| step.time_s);
    let ratio = if own_s > 0.0 { recipe_s / own_s } else { 1.0 };
    let text = vec![
        t!("The recipe on your run: first a layout that fits, then the batch, then one size after the other, each \
                kept only where the step gets shorter."),
        t!(
            "With {gpus} GPUs it ends at {time} per step, {share} of the time of your run. Read each box as a \
                question that the calculator answered.",
            gpus = run.gpus,
            time = show_seconds(Seconds(recipe_s)),
            share = show_percent(ratio)
        ),
    ];
    let drawing = if steps.is_empty() { no_chart(&walked.end) } else { chart(steps) };
    let live = Live {
        legend: colours(&[(t!("changed the layout"), Ink::Forward), (t!("stays"), Ink::Line)]),
        picture: drawing.inline("The recipe as a flow chart"),
        table: steps_in_words(steps),
        ..Live::of(text)
    };
    let live = live.formula("share = T(recipe) / T(your run)", number(ratio, 3));
    live.below("the ratio of the step time to that of your run", ratio, GOAL, show_percent)
}

#[cfg(test)]
mod tests {
    use super::super::LESSON;
    use super::*;

    /// The chart walks the Run of the page: other GPUs give other boxes, and each box is a layout of the walk.
    #[test]
    fn the_chart_is_the_walk_of_the_run() {
        let step = LESSON.steps.iter().find(|step| step.id == "flow").unwrap();
        let run = Run { gpus: 16, global_batch: 64, ..Run::default() };
        let dials = Dials::new(step.sliders, &[]).beside(&run);
        let html = flow(&dials).picture.to_html();
        let walked = walk(&run, None);
        assert!(walked.steps.len() >= 3);
        for step in &walked.steps {
            let texts = sizes(&step.run).into_iter().chain([show_seconds(Seconds(step.time_s)), step.title.to_owned()]);
            assert!(texts.into_iter().all(|text| html.contains(&text)), "{}", step.title);
        }
    }
}
