//! Several pipelines as strips on one axis, one below the other: how much longer is one than the other, and where.

use super::drawing::{Anchor, Box, Drawing};
use super::ink::Ink;
use super::shape::DrawnRanks;
use super::ticks::{tick_label, ticks};
use super::viewport::Viewport;
use crate::prelude::*;
use shardscope_core::pipeline::Timeline;

/// Ranks drawn; of more, every n-th.
const MAX_RANKS: usize = 8;
/// Least height of a rank's row.
const MIN_ROW: f64 = 10.0;
/// Largest height of a rank's row.
const MAX_ROW: f64 = 18.0;
/// Height of all rows of a pipeline, where the height of a row is between these limits.
const ROWS: f64 = 96.0;
/// Height of a line of words above a strip, and of the room below them.
const LINE: f64 = 14.0;
const BELOW_WORDS: f64 = 4.0;
/// Height of the gap below a strip.
const GAP: f64 = 10.0;
/// Height of the time axis.
const AXIS: f64 = 18.0;

/// The picture of timelines with the words above each.
pub(crate) fn strips(drawn: &[(Message, &Timeline)]) -> Drawing {
    let lined: Vec<_> = drawn.iter().map(|(words, timeline)| (vec![words.clone()], *timeline)).collect();
    lined_strips(&lined)
}

/// The picture of timelines with lines of words above each: a picture's words go to no next line by themselves, and a
/// telephone has room for about 45 characters.
pub(crate) fn lined_strips(drawn: &[(Vec<Message>, &Timeline)]) -> Drawing {
    let ends = drawn.iter().map(|(_, timeline)| timeline.makespan());
    let longest = ends.fold(0.0, f64::max);
    let ranks = drawn.iter().map(|(_, timeline)| timeline.ranks.len());
    let most = ranks.max().unwrap_or(1).max(1);
    let stride = most.div_ceil(MAX_RANKS);
    let rows = most.div_ceil(stride);
    let row = (ROWS / rows as f64).clamp(MIN_ROW, MAX_ROW);
    let above = |lines: &[Message]| lines.len() as f64 * LINE + BELOW_WORDS;
    let height = |timeline: &Timeline| row * timeline.ranks.len().div_ceil(stride) as f64 + GAP;
    let foot: f64 = drawn.iter().map(|(lines, timeline)| above(lines) + height(timeline)).sum();
    let mut drawing = Drawing::new(foot + AXIS);
    let mut top = 0.0;
    for (lines, timeline) in drawn {
        for (at, words) in lines.iter().enumerate() {
            drawing.heading(top + 8.0 + at as f64 * LINE, words);
        }
        top += above(lines);
        strip(&mut drawing, timeline, longest, Place { top, row, stride });
        top += height(timeline);
    }
    drawing.line((0.0, foot), (1.0, foot), Ink::Line, 1.0);
    for tick in ticks(0.0, longest, 5) {
        let (x, words) = (tick / longest, tick_label(tick));
        drawing.line((x, foot), (x, foot + 4.0), Ink::Line, 1.0);
        drawing.words((x, foot + 11.0), Anchor::Middle, Ink::Muted, verbatim(&words));
    }
    drawing
}

/// Place of a strip: its top, the height of a rank's row, and the number of ranks of which one is drawn.
#[derive(Clone, Copy)]
struct Place {
    top: f64,
    row: f64,
    stride: usize,
}

fn strip(drawing: &mut Drawing, timeline: &Timeline, longest: f64, place: Place) {
    let Place { top, row: tall, stride } = place;
    let end = timeline.makespan() / longest;
    for row in 0..timeline.ranks.len().div_ceil(stride) {
        let y = top + row as f64 * tall;
        drawing.name(y + tall / 2.0, t!("rank {stride}", stride = row * stride));
        let idle = Box { x: 0.0, width: end, y, height: tall - 1.0 };
        drawing.hatch(idle);
    }
    drawing.ops(
        timeline,
        DrawnRanks::with(stride, 0),
        Viewport::all(longest),
        |row| (top + row as f64 * tall, tall - 1.0),
        |_| Message::default(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_pipelines_share_an_axis_and_small_pictures_stay_small() {
        let timeline = |schedule| {
            let run = Run { schedule, ..Run::default() };
            evaluate(&run).unwrap().timeline().clone()
        };
        let (one, other) = (timeline(Schedule::Gpipe), timeline(Schedule::ZbH1));
        let drawn = [("GPipe".into(), &one), ("ZB-H1".into(), &other)];
        let html = strips(&drawn).inline("Two").to_html();
        assert_eq!(html.matches("rank 3").count(), 2);
        assert!(html.contains("GPipe") && html.len() < 300_000, "{}", html.len());
    }
}
