//! The pipeline timeline at the screen's level of detail: never truncated, never more than a few thousand cells.
//!
//! Where ops are wide enough each is a cell of its own. Where they are not, a row is cut into columns of equal time and
//! each says how its time is shared out: forward, backward, weight gradient from the top down, idle as lightness. Equal
//! neighbours are one cell; where the cells would still be too many, the columns widen until they are not.

use super::lod::Row;
use super::viewport::Viewport;
use shardscope_core::pipeline::{Half, Kind, TimedOp};
use std::collections::{HashMap, VecDeque};

/// Most cells in one picture.
pub(crate) const MAX_CELLS: usize = 4000;
/// An op at least this wide on average is drawn by itself, pixels.
const NARROWEST: f64 = 1.5;
/// Parts into which a column is shared out.
const SHARES: f64 = 8.0;

/// A rectangle of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Row, from 0.
    pub row: usize,
    /// Left edge, pixels.
    pub x: f64,
    /// Width, pixels.
    pub width: f64,
    /// Upper and lower edge as shares of the row's height; of a column, as shares of its time.
    pub band: (f64, f64),
    pub kind: Kind,
    /// Share of its column's time that is work, above 0; 1 for an op.
    pub busy: f64,
    /// The op, where it is one and not several together.
    pub op: Option<TimedOp>,
}

/// The visible part of some rows of ops.
pub fn cells(rows: &[Row], view: Viewport, width: f64) -> Vec<Cell> {
    let seen: Vec<&[TimedOp]> = rows.iter().map(|row| row.visible(view.start, view.end)).collect();
    let few = seen.iter().map(|ops| ops.len()).sum::<usize>() <= MAX_CELLS;
    // Columns of a power of two of the axis: they stay where they are while the window moves.
    let least = (rows.len() as f64 * width / (2.0 * MAX_CELLS as f64)).max(NARROWEST);
    let mut column = view.full;
    while view.x(view.start + column / 2.0, width) >= least {
        column /= 2.0;
    }
    loop {
        let mut out = Vec::new();
        for (index, (row, ops)) in rows.iter().zip(&seen).enumerate() {
            if few && ops.len() as f64 * NARROWEST <= width {
                each_op(index, ops, view, width, &mut out);
            } else {
                columns(index, *row, ops, view, width, column, &mut out);
            }
        }
        if out.len() <= MAX_CELLS || column >= view.full {
            return out;
        }
        column *= 2.0;
    }
}

fn each_op(row: usize, ops: &[TimedOp], view: Viewport, width: f64, out: &mut Vec<Cell>) {
    out.extend(ops.iter().map(|op| {
        let x = view.x(op.start, width).max(0.0);
        Cell {
            row,
            x,
            width: view.x(op.end, width).min(width) - x,
            band: match op.half {
                Half::Whole => (0.0, 1.0),
                Half::First => (0.0, 0.5),
                Half::Second => (0.5, 1.0),
            },
            kind: op.op.kind,
            busy: 1.0,
            op: Some(*op),
        }
    }));
}

/// Columns of equal shares, not yet written.
#[derive(Clone, Copy)]
struct Stretch {
    from: f64,
    to: f64,
    eighths: [u8; 3],
}

fn columns(row: usize, of: Row, ops: &[TimedOp], view: Viewport, width: f64, column: f64, out: &mut Vec<Cell>) {
    let (Some(first), Some(last)) = (ops.first(), ops.last()) else {
        return;
    };
    let end = last.end.min(view.end);
    let mut from = first.start.max(view.start);
    let mut before = of.work_before(from);
    let mut open: Option<Stretch> = None;
    while from < end {
        let edge = ((from / column).floor() + 1.0) * column;
        // Where a step is too small for the clock's precision, the column is the rest.
        let to = if edge > from { edge.min(end) } else { end };
        let after = of.work_before(to);
        let eighths = shares(before, after, to - from);
        match &mut open {
            Some(run) if run.eighths == eighths => run.to = to,
            _ => {
                write(row, open, view, width, out);
                open = Some(Stretch { from, to, eighths });
            }
        }
        (from, before) = (to, after);
    }
    write(row, open, view, width, out);
}

/// Each kind's share of a column in eighths; they are rounded together, so that a busy column is full.
fn shares(before: [f64; 3], after: [f64; 3], span: f64) -> [u8; 3] {
    let mut sum = 0.0;
    let mut taken = 0u8;
    std::array::from_fn(|kind| {
        let eighths = (after[kind] - before[kind]) / span * SHARES;
        sum += eighths;
        // A part of an eighth by itself is one, whatever the others leave.
        let least = f64::from(taken) + eighths.round().min(1.0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to 8
        let upto = sum.round().max(least).min(SHARES) as u8;
        let share = upto - taken;
        taken = upto;
        share
    })
}

/// A cell for each kind that has a share.
fn write(row: usize, run: Option<Stretch>, view: Viewport, width: f64, out: &mut Vec<Cell>) {
    let Some(run) = run else { return };
    let x = view.x(run.from, width);
    let busy = f64::from(run.eighths.iter().sum::<u8>()) / SHARES;
    let mut top = 0.0;
    for (kind, eighths) in [Kind::F, Kind::BW, Kind::W].into_iter().zip(run.eighths) {
        let bottom = top + f64::from(eighths) / SHARES;
        if eighths > 0 {
            out.push(Cell { row, x, width: view.x(run.to, width) - x, band: (top, bottom), kind, busy, op: None });
        }
        top = bottom;
    }
}

/// The identity of a block in two timelines: row, direction of the pass, micro-batch.
fn block(cell: &Cell) -> Option<(usize, Kind, u32)> {
    let op = cell.op?.op;
    let kind = if op.kind == Kind::BW { Kind::B } else { op.kind };
    Some((cell.row, kind, op.microbatch))
}

/// The cells `to`, `share` of the way (0 to 1) from their places among the cells `from`: a block that was not there opens from
/// its middle, columns of many ops stand where they will.
pub fn moved(from: &[Cell], to: &[Cell], share: f64) -> Vec<Cell> {
    let mut places: HashMap<_, VecDeque<(f64, f64)>> = HashMap::new();
    for cell in from {
        if let Some(block) = block(cell) {
            places.entry(block).or_default().push_back((cell.x, cell.width));
        }
    }
    let between = |from: f64, to: f64| from + (to - from) * share;
    let mut cells = to.to_vec();
    for cell in &mut cells {
        let Some(block) = block(cell) else { continue };
        let before = places.get_mut(&block).and_then(VecDeque::pop_front);
        let (x, width) = before.unwrap_or((cell.x + cell.width / 2.0, 0.0));
        (cell.x, cell.width) = (between(x, cell.x), between(width, cell.width));
    }
    cells
}

/// The op of a row at `time`; of a pair the upper half where `upper`.
pub fn hit(ops: &[TimedOp], time: f64, upper: bool) -> Option<usize> {
    let from = ops.partition_point(|op| op.end < time);
    let found = |index: &usize| ops.get(*index).is_some_and(|op| op.start <= time && time <= op.end);
    let index = Some(from).filter(found)?;
    let second = ops.get(index + 1).filter(|next| next.half == Half::Second);
    match second {
        Some(next) if !upper && next.start <= time => Some(index + 1),
        _ => Some(index),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::lod::Sums;
    use shardscope_core::pipeline::{Durations, Spec, Timeline, build, measure, schedule};

    fn timeline(id: &str, pp: u32, m: u32) -> Timeline {
        let spec = Spec::new(schedule(id).unwrap(), pp, m);
        let durations = Durations::uniform(spec.stages(), 1.0, 1.0, 1.0);
        let built = build(&spec, &durations).unwrap();
        measure(&built.order, &durations).unwrap().0
    }

    fn drawn(timeline: &Timeline, view: Viewport, width: f64) -> Vec<Cell> {
        cells(&Sums::of(timeline).rows(timeline, 1), view, width)
    }

    #[test]
    fn every_op_of_a_small_pipeline_is_a_cell() {
        let timeline = timeline("1f1b", 4, 8);
        let cells = drawn(&timeline, Viewport::all(timeline.makespan()), 800.0);
        assert_eq!(cells.len(), 4 * 8 * 2);
        assert!(cells.iter().all(|cell| cell.op.is_some()));
    }

    #[test]
    fn a_large_pipeline_stays_whole_within_the_limit_at_every_zoom() {
        let timeline = timeline("zb-h1", 64, 512);
        let whole_axis = Viewport::all(timeline.makespan());
        for zoom in [1.0, 3.0, 17.0, 60.0, 400.0, 1e4] {
            let view = whole_axis.zoomed(zoom, whole_axis.full * 0.3);
            let drawn = drawn(&timeline, view, 760.0);
            assert!(drawn.len() <= MAX_CELLS, "{} at {zoom}", drawn.len());
            for row in 0..64 {
                let ops = &timeline.ranks[row];
                let (first, last) = (ops[0].start, ops[ops.len() - 1].end);
                let mine: Vec<_> = drawn.iter().filter(|cell| cell.row == row).collect();
                if last > view.end && first < view.start {
                    assert!(!mine.is_empty(), "rank {row} is empty at {zoom}");
                }
                if zoom <= 1.0 {
                    let end = mine.iter().map(|cell| cell.x + cell.width).fold(0.0, f64::max);
                    assert!((end - whole_axis.x(last, 760.0)).abs() < 1.0, "rank {row} is cut off");
                }
            }
        }
    }

    /// Inked area over the row's area is busy over total time, whatever the level of detail.
    #[test]
    fn idle_time_stays_open_at_any_level_of_detail() {
        for (id, m) in [("1f1b", 8), ("1f1b", 256), ("zb-h1", 64), ("dualpipev", 128)] {
            let timeline = timeline(id, 8, m);
            let full = timeline.makespan();
            let drawn = drawn(&timeline, Viewport::all(full), 700.0);
            let inked: f64 = drawn.iter().map(|cell| cell.width * (cell.band.1 - cell.band.0)).sum();
            let whole = timeline.ranks.iter().flatten().filter(|op| op.half != Half::Second);
            let busy: f64 = whole.map(|op| op.end - op.start).sum();
            let (inked, busy) = (inked / (700.0 * 8.0), busy / (full * 8.0));
            assert!((inked - busy).abs() < 0.02, "{id} m={m}: {inked} drawn of {busy}");
        }
    }

    /// A move begins at the old places and ends at the new ones; every block of both timelines is on its way between them.
    #[test]
    fn blocks_move_from_where_they_were_to_where_they_will_be() {
        for (before, after) in [(("1f1b", 4, 8), ("gpipe", 4, 8)), (("1f1b", 4, 8), ("zb-h1", 8, 16))] {
            let blocks = |(id, pp, m)| {
                let timeline = timeline(id, pp, m);
                drawn(&timeline, Viewport::all(timeline.makespan()), 800.0)
            };
            let (from, to) = (blocks(before), blocks(after));
            let start = moved(&from, &to, 0.0);
            let place = |cell: &Cell| (block(cell), cell.x, cell.width);
            let there: Vec<_> = start.iter().filter(|cell| cell.width > 0.0).map(place).collect();
            assert!(there.iter().all(|cell| from.iter().any(|old| place(old) == *cell)));
            // Forward and backward passes of micro-batches and ranks that both timelines have.
            assert_eq!(there.len(), 4 * 8 * 2);
            let end = moved(&from, &to, 1.0);
            assert!(end.iter().zip(&to).all(|(end, to)| (end.x - to.x).abs() + (end.width - to.width).abs() < 1e-9));
            for (half, (start, end)) in moved(&from, &to, 0.5).iter().zip(start.iter().zip(&to)) {
                assert!((half.x - f64::midpoint(start.x, end.x)).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn columns_stay_where_they_are_while_the_window_moves() {
        let spec = Spec::new(schedule("gpipe").unwrap(), 16, 1024);
        let uneven = (0..1024).map(|at| 0.5 + f64::from(at % 37)).collect();
        let durations = Durations::unit(16).with_microbatch_scale(uneven);
        let order = build(&spec, &durations).unwrap().order;
        let timeline = measure(&order, &durations).unwrap().0;
        let view = Viewport::all(timeline.makespan()).zoomed(3.0, 1000.0);
        let edges = |view: Viewport| -> Vec<i64> {
            #[allow(clippy::cast_possible_truncation)] // milliseconds of a small pipeline
            let time = |cell: &Cell| (view.time(cell.x, 700.0) * 1e3).round() as i64;
            drawn(&timeline, view, 700.0).iter().filter(|cell| cell.row == 9).map(time).collect()
        };
        let (here, there) = (edges(view), edges(view.panned(70.0)));
        let common = there.iter().filter(|edge| here.contains(edge)).count();
        assert!(common * 10 >= there.len() * 8, "{common} of {}", there.len());
    }

    #[test]
    fn what_is_under_the_pointer_is_found() {
        let ranks = timeline("1f1b", 4, 8).ranks;
        for (index, op) in ranks[2].iter().enumerate() {
            let middle = f64::midpoint(op.start, op.end);
            assert_eq!(hit(&ranks[2], middle, true), Some(index));
        }
        assert_eq!(hit(&ranks[3], 0.5, true), None);
    }
}
