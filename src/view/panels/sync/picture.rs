//! The end of the step, drawn: each rank's ops, and its gradients on the wire under them.

use crate::charts::drawing::{Anchor, Box, Drawing};
use crate::charts::ink::Ink;
use crate::charts::shape::DrawnRanks;
use crate::charts::ticks::tick_times;
use crate::charts::viewport::Viewport;
use crate::panels::pipeline::op_name;
use crate::prelude::*;
use shardscope_core::pipeline::sync::Bucket;
use shardscope_core::report::sync::GradientSync;

/// Ranks drawn; of more, every n-th.
const MAX_RANKS: usize = 32;
/// Height of the time axis, pixels.
const AXIS: f64 = 22.0;

/// The picture of `found`, from shortly before the first gradients can leave.
pub fn picture(evaluation: &Evaluation, found: &GradientSync) -> Drawing {
    let timeline = evaluation.timeline();
    let makespan = timeline.makespan();
    let buckets = &found.buckets;
    // The same window under every policy.
    let first = buckets.iter().map(|b| b.complete - (b.end - b.start)).fold(makespan, f64::min);
    let longest = found.ranks.iter().map(|rank| rank.total).fold(0.0, f64::max);
    let back = (makespan - first).max(longest).max(makespan * 0.02);
    let start = (makespan - 1.5 * back).max(0.0);
    let view = Viewport { start, end: makespan + longest * 1.05, full: makespan + longest * 1.05 };
    let stride = timeline.ranks.len().div_ceil(MAX_RANKS).max(1);
    let drawn = DrawnRanks::with(stride, evaluation.report.memory.peak_stage);
    let count = drawn.rows(timeline.ranks.len());
    let pitch = (420.0 / count as f64).clamp(16.0, 40.0);
    let (op, wire) = (pitch * 0.5, pitch * 0.28);
    let height = pitch * count as f64 + AXIS;
    let mut drawing = Drawing::new(height);
    let x = |time: f64| view.x(time, 1.0).clamp(0.0, 1.0);
    for row in 0..count {
        let idle = Box { x: 0.0, width: x(makespan), y: row as f64 * pitch, height: op };
        drawing.hatch(idle);
    }
    let place = |row: usize| (row as f64 * pitch, op);
    drawing.ops(timeline, drawn, view, place, op_name);
    for (row, rank) in (0..count).map(|row| (row, drawn.rank(row))) {
        let top = row as f64 * pitch;
        drawing.name(top + op / 2.0, t!("rank {rank}", rank));
        drawing.line((0.0, top + op), (1.0, top + op), Ink::Line, 1.0);
        for bucket in buckets.iter().filter(|bucket| bucket.rank == rank) {
            draw_bucket(&mut drawing, bucket, makespan, top + op + 1.0, wire, x);
        }
    }
    let foot = height - AXIS;
    drawing.line((x(makespan), 0.0), (x(makespan), foot + 4.0), Ink::Text, 2.0);
    drawing.line((0.0, foot), (1.0, foot), Ink::Line, 1.0);
    // The end of the pipeline has a label of its own.
    let (anchor, room) = if x(makespan) > 0.8 { (Anchor::End, -0.38..0.1) } else { (Anchor::Middle, -0.2..0.2) };
    for (tick, label) in tick_times(view.start, view.end, 6) {
        let near = room.contains(&(x(tick) - x(makespan)));
        if !near && x(tick) < 0.97 {
            drawing.line((x(tick), foot), (x(tick), foot + 4.0), Ink::Line, 1.0);
            drawing.words((x(tick), foot + 13.0), Anchor::Middle, Ink::Muted, verbatim(label));
        }
    }
    let end = t!("pipeline ends {makespan}", makespan = show_seconds(Seconds(makespan)));
    drawing.words((x(makespan), foot + 13.0), anchor, Ink::Text, &end);
    drawing
}

/// Draws a bucket at height `y`: what hides behind the pipeline pale, what is exposed after it full.
fn draw_bucket(drawing: &mut Drawing, bucket: &Bucket, makespan: f64, y: f64, height: f64, x: impl Fn(f64) -> f64) {
    let time = Seconds(bucket.end - bucket.start);
    let message = t!(
        "rank {rank}: gradients of stage {stage}, {time} from {start} to {end}",
        rank = bucket.rank,
        stage = bucket.stage,
        time = show_seconds(time),
        start = show_seconds(Seconds(bucket.start)),
        end = show_seconds(Seconds(bucket.end))
    );
    let mut fill = |from: f64, to: f64, opacity: f64| {
        if to > from {
            let place = Box { x: x(from), width: x(to) - x(from), y, height };
            drawing.fill(place, Ink::Exposed, opacity, &message);
        }
    };
    fill(bucket.start, bucket.end.min(makespan), 0.45);
    fill(bucket.start.max(makespan), bucket.end, 1.0);
    // The name stands on the longer part, where it fits.
    let hidden = (bucket.start, bucket.end.min(makespan).max(bucket.start));
    let visible = (bucket.start.max(makespan), bucket.end);
    let (part, ink) =
        if hidden.1 - hidden.0 > visible.1 - visible.0 { (hidden, Ink::Text) } else { (visible, Ink::Paper) };
    if x(part.1) - x(part.0) > 0.075 && height >= 10.0 {
        let middle = f64::midpoint(x(part.0), x(part.1));
        let at = (middle, y + height / 2.0);
        drawing.label(at, ink, t!("stage {stage}", stage = bucket.stage));
    }
}
