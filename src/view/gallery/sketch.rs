//! A schedule as a small picture, on the one axis that all of them share.
//!
//! In the steady state every schedule repeats itself, which a small picture would show as an even grey: there the axis
//! is cut, so that the pipeline's fill and drain stay legible.

use crate::charts::lod::Sums;
use crate::charts::shape::DrawnRanks;
use crate::charts::timeline::cells;
use crate::charts::viewport::Viewport;
use serde::{Deserialize, Serialize};
use shardscope_core::pipeline::OpKind;
use shardscope_core::report::Evaluation;
use std::fmt::Write;

/// Names of what is drawn, as the style sheet has them.
const KINDS: [&str; 3] = ["f", "b", "w"];
/// Width of the picture, in its own units: about the pixels of a card.
const WIDTH: f64 = 360.0;
/// Ranks drawn; of more, every n-th, and the fullest.
const ROWS: usize = 8;
/// Height of a rank's row with the space below it.
const PITCH: u32 = 12;
/// Height of a rank's row.
const ROW: f64 = 11.0;
/// Share of the width that the cut takes.
const CUT: f64 = 0.03;
/// Pipeline fills that are shown before the cut and left of the work behind it, and behind the work.
const SHOWN: f64 = 1.2;
const BEHIND: f64 = 2.0;
/// Least part that a cut leaves out, as a share of the axis.
const LEAST: f64 = 0.2;
/// Later chunks than this are drawn alike.
const CHUNKS: usize = 4;

/// A time axis from 0, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    pub end: f64,
    /// The part that is left out.
    pub cut: Option<(f64, f64)>,
}

impl Axis {
    /// The axis for the schedules of the Run of `own`: as long as two fills of the pipeline behind its work.
    pub fn of(own: &Evaluation, whole: bool) -> Self {
        let report = &own.report;
        let work = report.pipeline.ideal_s.0;
        // A fill: a micro-batch's work on a rank, once a rank.
        let fill = work / report.layout.microbatches as f64 * own.order.ranks.len() as f64;
        let end = (work + BEHIND * fill).max(report.pipeline.makespan_s.0);
        let cut = (SHOWN * fill, work - SHOWN * fill);
        let cuts = !whole && cut.1 - cut.0 > LEAST * end;
        Self { end, cut: cuts.then_some(cut) }
    }

    /// Visible pieces: from, to, and left edge as a share of the width.
    pub fn pieces(self) -> Vec<(f64, f64, f64)> {
        match self.cut {
            None => vec![(0.0, self.end, 0.0)],
            Some((from, to)) => vec![(0.0, from, 0.0), (to, self.end, self.x(to))],
        }
    }

    /// Place of `time`, as a share of the width; times that the cut leaves out are at its left edge, times behind the
    /// end at the end.
    pub fn x(self, time: f64) -> f64 {
        let time = time.clamp(0.0, self.end);
        let Some((from, to)) = self.cut else {
            return time / self.end;
        };
        let scale = (1.0 - CUT) / (from + self.end - to);
        if time < to { time.min(from) * scale } else { (from + time - to) * scale + CUT }
    }
}

/// The picture, ready to be shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sketch {
    /// SVG that fills its place: paper between the rows, a path for each kind of op and chunk of a rank, the cut.
    pub svg: String,
    /// End of the last op, seconds.
    pub end: f64,
    /// True where its ops are too short to be drawn apart.
    pub has_bands: bool,
}

impl Sketch {
    /// The sketch of the timeline of `evaluation`.
    pub fn of(evaluation: &Evaluation, axis: Axis) -> Self {
        let timeline = evaluation.timeline();
        let stride = timeline.ranks.len().div_ceil(ROWS).max(1);
        let sums = Sums::of(timeline);
        let drawn = DrawnRanks::with(stride, evaluation.report.memory.peak_stage);
        let rows = sums.rows(timeline, drawn);
        let mut has_bands = false;
        let mut paths = [const { String::new() }; KINDS.len() * CHUNKS];
        for (start, end, left) in axis.pieces() {
            let width = (axis.x(end) - left) * WIDTH;
            let view = Viewport { start, end, full: axis.end };
            for cell in cells(&rows, view, width) {
                has_bands |= cell.op.is_none();
                let chunk = cell.op.map_or(0, |timed| {
                    let chunk = evaluation.chunk_of(drawn.rank(cell.row), timed.op.stage);
                    chunk.min(CHUNKS - 1)
                });
                let kind = match cell.kind {
                    OpKind::F => 0,
                    OpKind::B | OpKind::BW => 1,
                    OpKind::W => 2,
                };
                let x = left * WIDTH + cell.x;
                let top = cell.row as f64 * f64::from(PITCH);
                let (upper, lower) = ((top + cell.band.0 * ROW).round(), (top + cell.band.1 * ROW).round());
                // Whatever there is is seen.
                let (upper, lower) = (upper, lower.max(upper + 1.0));
                let (from, to) = (x.round(), (x + cell.width).round().max(x.round() + 1.0));
                let (width, height) = (to - from, lower - upper);
                // Writing to a String cannot fail.
                let _ = write!(paths[kind * CHUNKS + chunk], "M{from} {upper}h{width}v{height}h-{width}z");
            }
        }
        Self { svg: drawing(rows.len(), &paths, axis), end: timeline.makespan(), has_bands }
    }
}

/// The SVG of `rows` rows.
fn drawing(rows: usize, paths: &[String], axis: Axis) -> String {
    let rows = u32::try_from(rows).unwrap_or(u32::MAX);
    let height = rows * PITCH;
    let mut svg =
        format!("<svg viewBox=\"0 0 {WIDTH} {height}\" preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\">");
    let mut path = |class: &str, d: &str| {
        let _ = write!(svg, "<path class=\"{class}\" d=\"{d}\"/>");
    };
    let gap = |row: u32| format!("M0 {}h{WIDTH}v1h-{WIDTH}z", (row + 1) * PITCH - 1);
    path("paper", &(0..rows).map(gap).collect::<String>());
    for (at, d) in paths.iter().enumerate().filter(|(_, d)| !d.is_empty()) {
        path(&format!("{} c{}", KINDS[at / CHUNKS], at % CHUNKS), d);
    }
    if let Some((from, to)) = axis.cut {
        let (left, right) = (axis.x(from) * WIDTH, axis.x(to) * WIDTH);
        let (middle, half) = (f64::midpoint(left, right), height / 2);
        path("paper", &format!("M{left:.0} 0H{right:.0}V{height}H{left:.0}z"));
        for (x, tip) in [(left, middle), (middle, right)] {
            path("break", &format!("M{x:.0} 0L{tip:.0} {half}L{x:.0} {height}"));
        }
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::evaluate;
    use shardscope_core::run::{Run, Schedule};

    fn of(schedule: Schedule) -> Evaluation {
        evaluate(&Run { schedule, ..Run::default() }).unwrap()
    }

    /// Times in order stay in order, the cut takes its share, fill and drain have one scale.
    #[test]
    fn an_axis_keeps_order_and_scale() {
        let prepared = of(Schedule::OneFOneB);
        for whole in [true, false] {
            let axis = Axis::of(&prepared, whole);
            assert_eq!(axis.cut.is_none(), whole);
            let xs: Vec<f64> = (0..=100).map(|at| axis.x(axis.end * f64::from(at) / 100.0)).collect();
            assert!(xs.is_sorted() && xs[0].abs() < 1e-12 && (xs[100] - 1.0).abs() < 1e-12);
            let scales: Vec<f64> =
                axis.pieces().iter().map(|(from, to, left)| (axis.x(*to - 1e-9) - left) / (to - from)).collect();
            assert!(scales.iter().all(|scale| (scale / scales[0] - 1.0).abs() < 1e-6));
        }
    }

    /// A pipeline with few micro-batches has no part that repeats.
    #[test]
    fn what_does_not_repeat_is_not_cut() {
        let few = evaluate(&Run { global_batch: 64, ..Run::default() });
        assert_eq!(Axis::of(&few.unwrap(), false).cut, None);
    }

    #[test]
    fn a_whole_sketch_has_every_op_of_a_small_pipeline() {
        for (schedule, kinds) in [(Schedule::Gpipe, 2), (Schedule::ZbH1, 3)] {
            let evaluation = of(schedule);
            let sketch = Sketch::of(&evaluation, Axis::of(&evaluation, true));
            for kind in &KINDS[..kinds] {
                let (_, path) = sketch.svg.split_once(&format!("\"{kind} c0")).unwrap();
                let (path, _) = path.split_once("/>").unwrap();
                assert_eq!(path.matches('M').count(), 4 * 32, "{schedule:?} {kind}");
            }
        }
    }

    /// Of 16 ranks and 512 micro-batches, whose passes are no pixel wide, the colours are those of the key, and the
    /// last rank's first micro-batches leave the row open as long as its first pass comes after 15 others.
    #[test]
    fn a_long_sketch_has_the_colours_of_the_key_alone() {
        let large = evaluate(&Run { gpus: 512, pp: 16, global_batch: 4096, ..Run::default() }).unwrap();
        let axis = Axis::of(&large, true);
        let sketch = Sketch::of(&large, axis);
        let small = of(Schedule::OneFOneB);
        assert!(sketch.has_bands && !Sketch::of(&small, Axis::of(&small, true)).has_bands);
        for class in sketch.svg.split("class=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(["paper", "f c0", "b c0"].contains(&class), "{class}");
        }
        let forwards = sketch.svg.split("f c0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        let row = |piece: &&str| piece.split_once(' ').unwrap().1.split('h').next().unwrap().to_owned();
        let pieces: Vec<&str> = forwards.split('M').skip(1).collect();
        let first = pieces.iter().find(|piece| row(piece) == format!("{}", 7 * PITCH)).unwrap();
        let left: f64 = first.split(' ').next().unwrap().parse().unwrap();
        let start = large.timeline().ranks[14][0].start;
        assert!((left - axis.x(start) * WIDTH).abs() <= 0.5, "{left}");
    }

    #[test]
    fn a_sketch_of_many_ranks_stays_small() {
        let large =
            evaluate(&Run { gpus: 512, pp: 16, global_batch: 1024, schedule: Schedule::ZbH1, ..Run::default() });
        let evaluation = large.unwrap();
        let sketch = Sketch::of(&evaluation, Axis::of(&evaluation, false));
        assert!(sketch.svg.contains(&format!("0 0 {WIDTH} {}", 8 * PITCH)));
        assert!(sketch.svg.len() < 20_000, "{}", sketch.svg.len());
    }
}
