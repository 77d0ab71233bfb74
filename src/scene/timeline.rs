//! The pipeline timeline at the screen's level of detail: never truncated, never more than a few thousand cells.
//!
//! An op that is wide enough is a cell of its own; narrower neighbours merge into one cell in the colour of the kind
//! that fills most of it. Where the cells would still be too many, the merging width doubles until they are not.

use super::viewport::Viewport;
use crate::pipeline::{Half, Kind, TimedOp};

/// Most cells in one picture.
pub const MOST_CELLS: usize = 4000;
/// An op at least this wide is drawn by itself, pixels.
const NARROWEST: f64 = 1.5;

/// A rectangle of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Row, from 0.
    pub row: usize,
    /// Left edge and width, pixels.
    pub x: f64,
    /// Width, pixels.
    pub width: f64,
    /// What fills (most of) it.
    pub kind: Kind,
    /// Whole height, or the upper or lower half of an overlapped pair.
    pub half: Half,
    /// The op, where it is one and not several merged.
    pub op: Option<TimedOp>,
}

/// The visible part of some rows of ops.
#[must_use]
pub fn cells(rows: &[&[TimedOp]], view: Viewport, width: f64) -> Vec<Cell> {
    let mut narrowest = NARROWEST;
    loop {
        let mut out = Vec::new();
        for (row, ops) in rows.iter().enumerate() {
            row_cells(row, visible(ops, view), view, width, narrowest, &mut out);
        }
        if out.len() <= MOST_CELLS || narrowest > width {
            return out;
        }
        narrowest *= 2.0;
    }
}

/// The ops that touch the viewport.
fn visible(ops: &[TimedOp], view: Viewport) -> &[TimedOp] {
    let from = ops.partition_point(|op| op.end < view.start);
    let to = ops.partition_point(|op| op.start <= view.end);
    ops.get(from..to.max(from)).unwrap_or_default()
}

/// Several narrow ops in one cell.
struct Merged {
    x: f64,
    end: f64,
    /// Time by kind: forward, backward, weight.
    time: [f64; 3],
}

impl Merged {
    fn slot(kind: Kind) -> usize {
        match kind {
            Kind::F => 0,
            Kind::B | Kind::BW => 1,
            Kind::W => 2,
        }
    }
    fn add(&mut self, op: &TimedOp, end: f64) {
        self.end = self.end.max(end);
        self.time[Self::slot(op.op.kind)] += op.end - op.start;
    }
    fn kind(&self) -> Kind {
        let [forward, backward, weight] = self.time;
        if forward >= backward && forward >= weight {
            Kind::F
        } else if backward >= weight {
            Kind::BW
        } else {
            Kind::W
        }
    }
}

fn row_cells(
    row: usize,
    ops: &[TimedOp],
    view: Viewport,
    width: f64,
    narrowest: f64,
    out: &mut Vec<Cell>,
) {
    let mut merged: Option<Merged> = None;
    for op in ops {
        let x = view.x(op.start, width).max(0.0);
        let end = view.x(op.end, width).min(width);
        if end - x >= narrowest {
            flush(row, merged.take(), out);
            let (half, kind) = (op.half, op.op.kind);
            out.push(Cell {
                row,
                x,
                width: end - x,
                kind,
                half,
                op: Some(*op),
            });
            continue;
        }
        match &mut merged {
            Some(open) if x < open.x + narrowest && x <= open.end + narrowest => open.add(op, end),
            _ => {
                flush(row, merged.take(), out);
                let mut open = Merged {
                    x,
                    end,
                    time: [0.0; 3],
                };
                open.add(op, end);
                merged = Some(open);
            }
        }
    }
    flush(row, merged, out);
}

/// Writes a merged cell; one that touches an equal neighbour continues it.
fn flush(row: usize, merged: Option<Merged>, out: &mut Vec<Cell>) {
    let Some(merged) = merged else { return };
    let kind = merged.kind();
    if let Some(last) = out.last_mut()
        && last.row == row
        && last.op.is_none()
        && last.kind == kind
        && merged.x - (last.x + last.width) < 0.5
    {
        last.width = merged.end - last.x;
        return;
    }
    let (x, width) = (merged.x, (merged.end - merged.x).max(0.5));
    out.push(Cell {
        row,
        x,
        width,
        kind,
        half: Half::Whole,
        op: None,
    });
}

/// The op of a row at `time`; of a pair the upper half where `upper`.
#[must_use]
pub fn hit(ops: &[TimedOp], time: f64, upper: bool) -> Option<usize> {
    let from = ops.partition_point(|op| op.end < time);
    let found = |index: &usize| {
        ops.get(*index)
            .is_some_and(|op| op.start <= time && time <= op.end)
    };
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
    use crate::pipeline::{Durations, Spec, build, measure, schedule};

    fn timeline(pp: u32, m: u32) -> Vec<Vec<TimedOp>> {
        let spec = Spec::new(schedule("1f1b").unwrap(), pp, m);
        let durations = Durations::unit(pp);
        let built = build(&spec, &durations).unwrap();
        measure(&built.order, &durations).unwrap().0.ranks
    }

    #[test]
    fn every_op_of_a_small_pipeline_is_a_cell() {
        let ranks = timeline(4, 8);
        let rows: Vec<_> = ranks.iter().map(Vec::as_slice).collect();
        let full = ranks[0].last().unwrap().end;
        let cells = cells(&rows, Viewport::all(full), 800.0);
        assert_eq!(cells.len(), 4 * 8 * 2);
        assert!(cells.iter().all(|cell| cell.op.is_some()));
    }

    #[test]
    fn a_large_pipeline_stays_whole_within_the_limit() {
        let ranks = timeline(64, 1024);
        let rows: Vec<_> = ranks.iter().map(Vec::as_slice).collect();
        let full = ranks[0].last().unwrap().end;
        let all = Viewport::all(full);
        let drawn = cells(&rows, all, 760.0);
        assert!(drawn.len() <= MOST_CELLS, "{}", drawn.len());
        for (row, ops) in ranks.iter().enumerate() {
            let last = drawn.iter().rfind(|cell| cell.row == row).unwrap();
            let end = all.x(ops.last().unwrap().end, 760.0);
            assert!(
                (last.x + last.width - end).abs() < 2.0,
                "rank {row} is cut off"
            );
        }
    }

    #[test]
    fn what_is_under_the_pointer_is_found() {
        let ranks = timeline(4, 8);
        for (index, op) in ranks[2].iter().enumerate() {
            let middle = f64::midpoint(op.start, op.end);
            assert_eq!(hit(&ranks[2], middle, true), Some(index));
        }
        assert_eq!(hit(&ranks[3], 0.5, true), None);
    }
}
