//! The playbook's recipe as a flow chart over the Run of the page.

use crate::learn::prelude::*;
use shardscope_core::run::Recompute;
use shardscope_core::search::recipe::walk;

/// Boxes of a row, the height of a box, and that of a row.
const ACROSS: usize = 2;
const HIGH: f64 = 74.0;
const ROW: f64 = 94.0;
/// Space between boxes, a share of the width, and between the lines of a box.
const SPACE: f64 = 0.04;
const LINE: f64 = 16.0;

/// Sizes of a layout, as the boxes write them in two lines.
fn sizes(run: &Run) -> [String; 2] {
    [format!("TP {} · PP {}", run.tp, run.pp), format!("ZeRO-{} · b {}", run.zero, run.micro_batch)]
}

pub(super) fn flow(dials: &Dials) -> Live {
    let times = dials.get("x");
    let run = Run { gpus: dials.run().gpus * times, ..dials.run().clone() };
    let walked = walk(&run, None);
    let of_run = evaluate(dials.run()).map_or(0.0, |evaluation| evaluation.report.step.time_s.0);
    let last = walked.steps.last().map_or(of_run, |step| step.time_s);
    let ratio = if of_run > 0.0 { last / of_run } else { 1.0 };
    let rows = walked.steps.len().div_ceil(ACROSS).max(1);
    let mut drawing = Drawing::new(ROW * rows as f64);
    let mut before: Option<&Run> = None;
    for (at, step) in walked.steps.iter().enumerate() {
        let width = 1.0 / ACROSS as f64;
        let (x, y) = (width * (at % ACROSS) as f64, ROW * (at / ACROSS) as f64 + 2.0);
        let place = Box { x, width: width - SPACE, y, height: HIGH };
        let changed = before.is_none_or(|before| *before != step.run);
        drawing.fill(place, if changed { Ink::Forward } else { Ink::Line }, 0.2, "");
        drawing.frame(place, if changed { Ink::Forward } else { Ink::Muted });
        let middle = x + (width - SPACE) / 2.0;
        let title = t!("{number} {kernel}", number = at + 1, kernel = step.title);
        let [cut, rest] = sizes(&step.run);
        let full =
            if step.run.recompute == Recompute::Full { t!("{rest} · recomputed", rest) } else { verbatim(rest) };
        let time = verbatim(show_seconds(Seconds(step.time_s)));
        let inks = [Ink::Text, Ink::Text, Ink::Text, Ink::Muted];
        for ((line, words), ink) in [title, verbatim(cut), full, time].into_iter().enumerate().zip(inks) {
            drawing.words((middle, y + 13.0 + LINE * line as f64), Anchor::Middle, ink, words);
        }
        if at + 1 < walked.steps.len() {
            let way = if at % ACROSS + 1 == ACROSS {
                ((0.5 - SPACE / 2.0, y + HIGH + 9.0), "↙")
            } else {
                ((x + width - SPACE / 2.0, y + HIGH / 2.0), "→")
            };
            drawing.words(way.0, Anchor::Middle, Ink::Text, verbatim(way.1));
        }
        before = Some(&step.run);
    }
    if walked.steps.is_empty() {
        drawing.words((0.0, 20.0), Anchor::Start, Ink::Text, &walked.end);
    }
    let text = vec![
        t!("The recipe on your run: first a layout that fits, then the batch, then one size after the other, each \
                kept only where the step gets shorter."),
        t!(
            "With {gpus} GPUs it ends at {time} per step, {share} of the time of your run. Read each box as a \
                question that the calculator answered.",
            gpus = run.gpus,
            time = show_seconds(Seconds(last)),
            share = show_percent(ratio)
        ),
    ];
    let bullets = el("ol", &[], &[walked.steps.iter().map(|step| bullet(&step.text)).collect()]);
    let cells = walked.steps.iter().map(|step| {
        vec![step.title.into(), verbatim(sizes(&step.run).join(" · ")), verbatim(show_seconds(Seconds(step.time_s)))]
    });
    let table = data(&["step of the recipe", "layout", "step time"], cells.collect());
    Live {
        legend: colours(&[(t!("changed the layout"), Ink::Forward), (t!("stays"), Ink::Line)]),
        picture: drawing.inline("The recipe as a flow chart"),
        table: Node::from_iter([bullets, table]),
        ..Live::of(text).formula("share = T(recipe) / T(your run)", number(ratio, 3)).below(
            "the ratio of the step time to that of your run",
            ratio,
            0.45,
            show_percent,
        )
    }
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
        assert!(walked.steps.len() > 3);
        for step in &walked.steps {
            let texts = sizes(&step.run).into_iter().chain([show_seconds(Seconds(step.time_s)), step.title.to_owned()]);
            assert!(texts.into_iter().all(|text| html.contains(&text)), "{}", step.title);
        }
    }
}
