//! The pipeline timeline at the screen's level of detail: never truncated, never more than a few thousand cells.
//!
//! Where ops are wide enough on average each is a cell of its own. Where they are not, no picture draws any of them: a
//! row is cut into columns of about a pixel, and each says how its time is shared out, as bands of the colours of the
//! key: forward, backward, weight gradient from the top down, and what is left is idle and stays open. The shares are
//! sums over the ops behind a column, so they are exact. Columns are joined over some ops, since as wide as an op they
//! would show stripes that no rank has; neighbours with nearly the same shares are one cell; where the cells would
//! still be too many, more of the work may differ, and at last the columns widen. A wait of a few pixels or more stays
//! open from its beginning to its end.

use super::lod::{KindSeconds, RankOps};
use super::shape::DrawnRanks;
use super::viewport::Viewport;
use shardscope_core::pipeline::trace::Awaited;
use shardscope_core::pipeline::{Half, OpKind, TimedOp};
use std::collections::{HashMap, VecDeque};

/// Most cells in a picture of few rows.
const MAX_CELLS: usize = 4000;
/// Most cells for each row, in a picture of so many rows that this allows more than [`MAX_CELLS`].
const MAX_OF_ROW: usize = 160;
/// Ops at least this wide on average are drawn by themselves, pixels: narrower ones, alternating, would blend to
/// colours that the key does not have.
const NARROWEST: f64 = 2.5;
/// Steps from a fine picture to a coarse one: columns that are joined to one, and by how much the share of a kind may
/// differ between neighbours that are drawn as one cell.
const LEVELS: [(usize, f64); 7] = [(1, 0.15), (1, 0.25), (2, 0.25), (4, 0.25), (8, 0.25), (16, 0.25), (32, 0.25)];
/// Largest difference between idle shares of neighbours that are drawn as one cell, on every step.
const IDLE_DIFFERS: f64 = 0.15;
/// Columns without work from which on they are a wait that stays open; fewer are a share of the time around them.
const WAIT: usize = 3;
/// A message between ranks at least this wide is drawn, pixels.
const NARROWEST_MESSAGE: f64 = 0.75;

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
    pub kind: OpKind,
    /// The op, where it is one and not several together.
    pub op: Option<TimedOp>,
}

/// Most cells in a picture of `rows` rows.
fn most_cells(rows: usize) -> usize {
    MAX_CELLS.max(rows * MAX_OF_ROW)
}

/// The visible part of some rows of ops.
pub fn cells(rows: &[RankOps], view: Viewport, width: f64) -> Vec<Cell> {
    let seen: Vec<&[TimedOp]> = rows.iter().map(|row| row.visible(view.start, view.end)).collect();
    let most = most_cells(rows.len());
    if are_apart(&seen, view, width) {
        let mut out = Vec::new();
        for (row, ops) in seen.iter().enumerate() {
            each_op(row, ops, view, width, &mut out);
        }
        return out;
    }
    // Columns of a power of two of the axis: they stay where they are while the window moves.
    let mut column = view.full;
    while view.x(view.start + column / 2.0, width) >= 1.0 {
        column /= 2.0;
    }
    let mut by_column = Vec::with_capacity(rows.len());
    for (row, ops) in rows.iter().zip(&seen) {
        let columns = columns(*row, ops, view, column);
        let busy = columns.iter().filter(|column| !column.is_idle()).count();
        by_column.push((*ops, columns, pattern(ops.len(), busy)));
    }
    let mut coarsest = Vec::new();
    for (level, (joined, differs)) in LEVELS.into_iter().enumerate() {
        coarsest.clear();
        let mut count = 0;
        for (ops, columns, pattern) in &by_column {
            let stretches = stretches(ops, columns, joined.max(*pattern), WAIT.max(joined), differs);
            count += stretches.iter().map(Stretch::kinds).sum::<usize>();
            coarsest.push(stretches);
            // The rows below cannot make them fewer.
            if count > most && level + 1 < LEVELS.len() {
                break;
            }
        }
        if count <= most {
            break;
        }
    }
    let mut out = Vec::new();
    for (row, stretches) in coarsest.iter().enumerate() {
        for stretch in stretches {
            write(row, stretch, view, width, &mut out);
        }
    }
    out
}

/// True if the ops that are `seen` of all rows are drawn each by itself: they are few, and wide enough on average.
fn are_apart(seen: &[&[TimedOp]], view: Viewport, width: f64) -> bool {
    let count: usize = seen.iter().map(|ops| ops.len()).sum();
    if count > most_cells(seen.len()) {
        return false;
    }
    let shown = |op: &TimedOp| (op.end.min(view.end) - op.start.max(view.start)).max(0.0);
    let work: f64 = seen.iter().flat_map(|ops| ops.iter()).map(shown).sum();
    work / view.span() * width >= NARROWEST * count as f64
}

/// True if what `view` shows is cut into columns: its ops are too short to be drawn apart.
pub fn has_columns(rows: &[RankOps], view: Viewport, width: f64) -> bool {
    let seen: Vec<&[TimedOp]> = rows.iter().map(|row| row.visible(view.start, view.end)).collect();
    !are_apart(&seen, view, width)
}

/// A message that a row's rank waits for while it has nothing else to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Row, from 0.
    pub row: usize,
    /// Left edge, pixels.
    pub x: f64,
    /// Width, pixels.
    pub width: f64,
}

/// The messages of `awaited` that the visible part of `rows`, the `drawn` ranks, has room for. A picture of columns,
/// whose ops are narrower than a pixel or two, has none.
pub fn arrivals(rows: &[RankOps], drawn: DrawnRanks, awaited: &[Awaited], view: Viewport, width: f64) -> Vec<Arrival> {
    let seen: Vec<&[TimedOp]> = rows.iter().map(|row| row.visible(view.start, view.end)).collect();
    if !are_apart(&seen, view, width) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (row, ops) in seen.iter().enumerate() {
        let rank = drawn.rank(row);
        let first = awaited.partition_point(|one| (one.rank, one.to) < (rank, view.start));
        let mine = awaited[first..].iter().take_while(|one| one.rank == rank && one.from <= view.end);
        let bar = |one: &Awaited| {
            let x = view.x(one.from, width).max(0.0);
            Arrival { row, x, width: view.x(one.to, width).min(width) - x }
        };
        out.extend(mine.map(bar).filter(|one| !ops.is_empty() && one.width >= NARROWEST_MESSAGE));
    }
    out
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
            op: Some(*op),
        }
    }));
}

/// A part of a row, and the seconds of each kind of work in it.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Index of its first column on the axis.
    column: u64,
    from: f64,
    to: f64,
    work: KindSeconds,
    /// One over its time.
    per_second: f64,
}

impl Stretch {
    fn new(column: u64, [from, to]: [f64; 2], work: KindSeconds) -> Self {
        Self { column, from, to, work, per_second: 1.0 / (to - from).max(f64::MIN_POSITIVE) }
    }
    /// Each kind's share of its time.
    fn shares(&self) -> KindSeconds {
        self.work.map(|seconds| seconds * self.per_second)
    }
    fn is_idle(&self) -> bool {
        self.work == [0.0; 3]
    }
    /// Number of kinds of work in the stretch: each is drawn as a cell.
    fn kinds(&self) -> usize {
        self.work.iter().filter(|seconds| **seconds > 0.0).count()
    }
    /// True where `next` may be drawn as one with it: the share of no kind differs by more than `differs`.
    fn is_like(&self, next: &Self, differs: f64) -> bool {
        let (ours, theirs) = (self.shares(), next.shares());
        let idle = (ours.iter().sum::<f64>() - theirs.iter().sum::<f64>()).abs();
        let kinds = ours.iter().zip(theirs).all(|(ours, theirs)| (ours - theirs).abs() <= differs);
        kinds && idle <= differs.min(IDLE_DIFFERS)
    }
    /// The same work between two times inside it that have all of it; as it is where they are none.
    fn between(self, from: f64, to: f64) -> Self {
        if from < to { Self::new(self.column, [from, to], self.work) } else { self }
    }
    fn join(&mut self, next: &Self) {
        let work = [0, 1, 2].map(|kind| self.work[kind] + next.work[kind]);
        *self = Self::new(self.column, [self.from, next.to], work);
    }
}

/// The columns of a row that `view` shows, from its first op to its last.
fn columns(row: RankOps, ops: &[TimedOp], view: Viewport, column: f64) -> Vec<Stretch> {
    let (Some(first), Some(last)) = (ops.first(), ops.last()) else {
        return Vec::new();
    };
    let (start, end) = (first.start.max(view.start), last.end.min(view.end));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index of a column
    let (first, count) = ((start / column).floor() as u64, ((end - start) / column).ceil() as usize + 2);
    let mut out = Vec::with_capacity(count);
    let mut walk = row.walk();
    let (mut from, mut before) = (start, walk.work_before(start));
    for column_index in first.. {
        // Edges are multiples of the column, not sums of steps, which rounding would move.
        let to = ((column_index + 1) as f64 * column).min(end);
        if to > from {
            let after = walk.work_before(to);
            // What rounding leaves of a sum is no work.
            let least = (to - from) * 1e-9;
            let work = std::array::from_fn(|kind| {
                let seconds = after[kind] - before[kind];
                if seconds > least { seconds } else { 0.0 }
            });
            out.push(Stretch::new(column_index, [from, to], work));
            (from, before) = (to, after);
        }
        if to >= end || out.len() > count {
            break;
        }
    }
    out
}

/// Ops that a column of a repeating pattern has at least, so that neighbours have nearly the same shares.
const OPS_OF_PATTERN: usize = 8;

/// Columns that are joined at most for the pattern that the ops make.
const MOST_OF_PATTERN: usize = 16;

/// Columns that are joined where `ops` ops lie behind `busy` columns: as wide as an op, columns would hold now more of
/// one kind and now of the other, and the row would show stripes that no rank has.
fn pattern(ops: usize, busy: usize) -> usize {
    (OPS_OF_PATTERN * busy / ops.max(1)).max(1).next_power_of_two().min(MOST_OF_PATTERN)
}

/// `columns` from one wait to the next, every `joined` of the axis as one, and neighbours that are alike as one.
/// Columns without work are a wait where there are at least `wait` of them.
fn stretches(ops: &[TimedOp], columns: &[Stretch], joined: usize, wait: usize, differs: f64) -> Vec<Stretch> {
    let mut out: Vec<Stretch> = Vec::new();
    for run in runs(columns, wait) {
        let begin = out.len();
        for group in groups(ops, run, joined) {
            match out[begin..].last_mut() {
                Some(last) if last.is_like(&group, differs) => last.join(&group),
                _ => out.push(group),
            }
        }
    }
    out
}

/// The parts of `columns` that begin and end with work, with fewer than `wait` columns without work between.
fn runs(columns: &[Stretch], wait: usize) -> Vec<&[Stretch]> {
    let mut runs = Vec::new();
    // First column with work of the present run, and the column behind its last.
    let mut open: Option<(usize, usize)> = None;
    for (at, _) in columns.iter().enumerate().filter(|(_, column)| !column.is_idle()) {
        open = match open {
            Some((first, behind)) if at - behind < wait => Some((first, at + 1)),
            Some((first, behind)) => {
                runs.push(&columns[first..behind]);
                Some((at, at + 1))
            }
            None => Some((at, at + 1)),
        };
    }
    runs.extend(open.map(|(first, behind)| &columns[first..behind]));
    runs
}

/// The columns of a run between which a kind of work begins or ends: one that pauses for fewer than `joined` columns
/// goes on. Of several near each other the first counts.
fn borders(run: &[Stretch], joined: usize) -> Vec<usize> {
    let mut borders = Vec::new();
    for kind in 0..3 {
        let mut behind: Option<usize> = None;
        for (at, _) in run.iter().enumerate().filter(|(_, column)| column.work[kind] > 0.0) {
            if behind.is_none_or(|behind| at - behind >= joined) {
                borders.extend(behind);
                borders.push(at);
            }
            behind = Some(at + 1);
        }
        borders.extend(behind);
    }
    borders.sort_unstable();
    let mut last = 0;
    borders.retain(|border| {
        let counts = *border >= last + WAIT && *border + WAIT <= run.len();
        if counts {
            last = *border;
        }
        counts
    });
    borders
}

/// The columns of a run, every `joined` of the axis as one between the borders of its kinds of work. The run begins
/// with its first op of `ops` and ends with its last.
fn groups(ops: &[TimedOp], run: &[Stretch], joined: usize) -> Vec<Stretch> {
    let mut groups: Vec<Stretch> = Vec::new();
    let mut from = 0;
    for border in borders(run, joined).into_iter().chain([run.len()]) {
        groups.extend(windows(&run[from..border], joined));
        from = border;
    }
    if let Some(first) = groups.first_mut() {
        let start = ops.get(ops.partition_point(|op| op.end <= first.from)).map_or(first.from, |op| op.start);
        *first = first.between(first.from.max(start), first.to);
    }
    if let Some(last) = groups.last_mut() {
        let end = ops[..ops.partition_point(|op| op.start < last.to)].last().map_or(last.to, |op| op.end);
        *last = last.between(last.from, last.to.min(end));
    }
    groups
}

/// `columns`, every `joined` of the axis as one; what is less than half of that at an end goes with its neighbour.
fn windows(columns: &[Stretch], joined: usize) -> Vec<Stretch> {
    let place = |stretch: &Stretch| stretch.column / joined as u64;
    let mut parts: Vec<&[Stretch]> = columns.chunk_by(|one, next| place(one) == place(next)).collect();
    let is_short = |part: &[Stretch]| part.len() * 2 < joined;
    if parts.len() > 1 && parts.last().is_some_and(|part| is_short(part)) {
        parts.pop();
    }
    if parts.len() > 1 && is_short(parts[0]) {
        parts.remove(0);
    }
    // Each part goes on to where the next begins, the first from the beginning.
    let starts: Vec<u64> = parts.iter().map(|part| part[0].column).collect();
    let at = |index: usize| match index {
        0 => 0,
        _ => starts.get(index).map_or(columns.len(), |start| columns.partition_point(|one| one.column < *start)),
    };
    let joined = |part: &[Stretch]| {
        let mut part = part.iter().copied();
        let first = part.next()?;
        Some(part.fold(first, |mut group, column| {
            group.join(&column);
            group
        }))
    };
    (0..parts.len()).filter_map(|index| joined(&columns[at(index)..at(index + 1)])).collect()
}

/// A cell for each kind that has a share.
fn write(row: usize, stretch: &Stretch, view: Viewport, width: f64, out: &mut Vec<Cell>) {
    let x = view.x(stretch.from, width);
    let mut top = 0.0;
    for (kind, share) in [OpKind::F, OpKind::BW, OpKind::W].into_iter().zip(stretch.shares()) {
        let bottom = (top + share).min(1.0);
        if share > 0.0 {
            out.push(Cell { row, x, width: view.x(stretch.to, width) - x, band: (top, bottom), kind, op: None });
        }
        top = bottom;
    }
}

/// The identity of a block in two timelines: row, direction of the pass, micro-batch.
fn block(cell: &Cell) -> Option<(usize, OpKind, u32)> {
    let op = cell.op?.op;
    let kind = if op.kind == OpKind::BW { OpKind::B } else { op.kind };
    Some((cell.row, kind, op.microbatch))
}

/// The cells `to`, `share` of the way (0 to 1) from their places among the cells `from`: a block that was not there
/// opens from its middle, columns of many ops may be anywhere.
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
    use shardscope_core::pipeline::trace::awaited;
    use shardscope_core::pipeline::{Durations, Spec, Timeline, build, measure, schedule};

    fn timeline(id: &str, pp: u32, m: u32) -> Timeline {
        let spec = Spec::new(schedule(id).unwrap(), pp, m);
        let durations = Durations::uniform(spec.stages(), 1.0, 1.0, 1.0);
        let built = build(&spec, &durations).unwrap();
        measure(&built.order, &durations).unwrap().0
    }

    fn drawn(timeline: &Timeline, view: Viewport, width: f64) -> Vec<Cell> {
        cells(&Sums::of(timeline).rows(timeline, DrawnRanks::all()), view, width)
    }

    #[test]
    fn every_op_of_a_small_pipeline_is_a_cell() {
        let timeline = timeline("1f1b", 4, 8);
        let cells = drawn(&timeline, Viewport::all(timeline.makespan()), 800.0);
        assert_eq!(cells.len(), 4 * 8 * 2);
        assert!(cells.iter().all(|cell| cell.op.is_some()));
    }

    /// Closed form: the first forward pass of rank r has crossed r ranks and r links, and the link before it is drawn
    /// right before it, as long as a message takes; in a window of the axis where the window has it. A row without room
    /// for its ops has no room for messages.
    #[test]
    fn a_message_is_drawn_where_the_first_pass_of_a_rank_waits_for_it() {
        let (p, m, latency) = (4u32, 8u32, 0.5);
        let spec = Spec::new(schedule("gpipe").unwrap(), p, m);
        let durations = Durations::uniform(p, 1.0, 1.0, 1.0).with_p2p(latency);
        let order = build(&spec, &durations).unwrap().order;
        let timeline = measure(&order, &durations).unwrap().0;
        let (sums, sent) = (Sums::of(&timeline), awaited(&order, &timeline, latency));
        let whole_axis = Viewport::all(timeline.makespan());
        let window = Viewport { start: 1.0, end: 3.0, ..whole_axis };
        for (stride, kept, view) in [(1, 0, whole_axis), (2, 0, whole_axis), (2, 3, whole_axis), (1, 0, window)] {
            let ranks = DrawnRanks::with(stride, kept);
            let rows = sums.rows(&timeline, ranks);
            let drawn = arrivals(&rows, ranks, &sent, view, 900.0);
            for row in 0..rows.len() {
                let to = ranks.rank(row) as f64 * (1.0 + latency);
                let first = drawn.iter().find(|one| one.row == row);
                if to <= view.start || to - latency >= view.end {
                    assert!(first.is_none_or(|one| (one.x - view.x(to - latency, 900.0)).abs() > 1.0));
                    continue;
                }
                let first = first.unwrap();
                assert!((first.x - view.x(to - latency, 900.0).max(0.0)).abs() < 1e-6, "{row}: {first:?}");
                assert!((first.x + first.width - view.x(to, 900.0)).abs() < 1e-6, "{row}: {first:?}");
            }
        }
        let all = DrawnRanks::all();
        assert!(arrivals(&sums.rows(&timeline, all), all, &sent, whole_axis, 10.0).is_empty());
        // 16 passes a rank, of which 10 pixels show columns.
        assert!([10.0, 900.0].map(|width| has_columns(&sums.rows(&timeline, all), whole_axis, width)) == [true, false]);
    }

    #[test]
    fn a_large_pipeline_stays_whole_within_the_limit_at_every_zoom() {
        let timeline = timeline("zb-h1", 64, 512);
        let whole_axis = Viewport::all(timeline.makespan());
        for zoom in [1.0, 3.0, 17.0, 60.0, 400.0, 1e4] {
            let view = whole_axis.zoomed(zoom, whole_axis.full * 0.3);
            let drawn = drawn(&timeline, view, 760.0);
            assert!(drawn.len() <= most_cells(64), "{} at {zoom}", drawn.len());
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

    /// Seconds of work of a rank between two times, added up op by op.
    fn added_up(ops: &[TimedOp], from: f64, to: f64) -> KindSeconds {
        let mut work = [0.0; 3];
        let first = ops.partition_point(|op| op.end <= from);
        for op in ops[first..].iter().take_while(|op| op.start < to) {
            let part = (op.end.min(to) - op.start.max(from)).max(0.0);
            let kind = match op.op.kind {
                OpKind::F => 0,
                OpKind::B | OpKind::BW => 1,
                OpKind::W => 2,
            };
            work[kind] += if op.half == Half::Whole { part } else { part / 2.0 };
        }
        work
    }

    /// Times between ops in which a rank does nothing for at least `least`.
    fn gaps(ops: &[TimedOp], least: f64) -> Vec<(f64, f64)> {
        let mut end = ops[0].start;
        let mut gaps = Vec::new();
        for op in ops {
            if op.start - end >= least {
                gaps.push((end, op.start));
            }
            end = end.max(op.end);
        }
        gaps
    }

    /// Every cell of a picture against its ops: the bands are the shares of its time, no idle time that is wider than
    /// two columns is covered, and a rank's drawn idle time is its idle time. Returns the widest column, pixels.
    fn hold_to_ops(timeline: &Timeline, width: f64, which: &str) -> f64 {
        let full = timeline.makespan();
        let view = Viewport::all(full);
        let drawn = drawn(timeline, view, width);
        assert!(drawn.len() <= most_cells(timeline.ranks.len()), "{which}: {} cells", drawn.len());
        let mut coarsest: f64 = 0.0;
        for (rank, ops) in timeline.ranks.iter().enumerate() {
            let mine: Vec<&Cell> = drawn.iter().filter(|cell| cell.row == rank).collect();
            let (first, last) = (ops[0].start, ops.iter().map(|op| op.end).fold(0.0, f64::max));
            let mut inked = 0.0;
            for cell in &mine {
                inked += cell.width / width * full * (cell.band.1 - cell.band.0);
                if cell.op.is_some() {
                    continue;
                }
                let (from, to) = (view.time(cell.x, width), view.time(cell.x + cell.width, width));
                let work = added_up(ops, from, to);
                let kind = [OpKind::F, OpKind::BW, OpKind::W].iter().position(|kind| *kind == cell.kind).unwrap();
                let share = work[kind] / (to - from);
                let band = cell.band.1 - cell.band.0;
                assert!((band - share).abs() < 1e-6, "{which}, rank {rank}: {band} drawn of {share}");
            }
            let busy: f64 = added_up(ops, first, last).iter().sum();
            assert!((inked - busy).abs() < full / width, "{which}, rank {rank}: {inked} drawn of {busy} busy");
            let open = gaps(ops, 4.0 / width * full);
            // The steps of LEVELS join at most 32 columns of less than two pixels.
            for pixels in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0] {
                let edge = 2.0 * pixels / width * full;
                let wide = open.iter().filter(|(from, to)| to - from >= 2.0 * edge);
                let covered = wide.into_iter().any(|(from, to)| {
                    let (left, right) = (view.x(from + edge, width), view.x(to - edge, width));
                    mine.iter().any(|cell| cell.x < right - 1e-6 && left + 1e-6 < cell.x + cell.width)
                });
                if !covered {
                    coarsest = coarsest.max(pixels);
                    break;
                }
                assert!(pixels < 64.0, "{which}, rank {rank}: idle time is covered");
            }
        }
        coarsest
    }

    /// All schedules, from a few hundred ops on, with equal durations and with those that differ by stage.
    #[test]
    fn columns_hold_what_the_ops_behind_them_add_up_to() {
        for schedule in shardscope_core::pipeline::SCHEDULES {
            for (pp, m) in [(4, 16), (8, 128), (32, 64)] {
                let spec = Spec::new(schedule, pp, m);
                let unit = Durations::uniform(spec.stages(), 1.0, 1.0, 1.0);
                let mut uneven = Durations::uniform(spec.stages(), 0.0182, 0.0209, 0.0163);
                uneven.p2p = 0.000_37;
                for durations in [unit, uneven] {
                    // Some schedules need another shape; others have tests of their own for that.
                    let Ok(built) = build(&spec, &durations) else { continue };
                    let Ok((timeline, _)) = measure(&built.order, &durations) else { continue };
                    let which = format!("{:?} p {pp} m {m}", schedule.id());
                    for width in [311.0, 940.0] {
                        hold_to_ops(&timeline, width, &which);
                    }
                }
            }
        }
    }

    /// 128 micro-batches of equal passes on a phone: in the middle of the step every column of a rank has the shares of
    /// a forward and a backward pass, one to two; columns of a pixel had from none to all of either.
    #[test]
    fn a_repeating_pattern_is_drawn_without_stripes() {
        let spec = Spec::new(schedule("1f1b").unwrap(), 8, 128);
        let durations = Durations::uniform(spec.stages(), 1.0, 1.0, 1.0);
        let order = build(&spec, &durations).unwrap().order;
        let timeline = measure(&order, &durations).unwrap().0;
        let drawn = drawn(&timeline, Viewport::all(timeline.makespan()), 366.0);
        let middle = drawn.iter().filter(|cell| cell.x > 60.0 && cell.x + cell.width < 300.0 && cell.kind == OpKind::F);
        let shares: Vec<f64> = middle.map(|cell| cell.band.1 - cell.band.0).collect();
        assert!(drawn.iter().any(|cell| cell.op.is_none()), "it is drawn in columns");
        assert!(shares.iter().all(|share| (share - 1.0 / 3.0).abs() < 0.15), "{shares:?}");
    }

    /// A hundred to ten million ops with pauses of every length between them, by a fixed row of pseudo-random numbers.
    #[test]
    fn ten_million_ops_with_pauses_of_every_length_leave_them_open() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for (ranks, count) in [(1, 100), (2, 50_000), (2, 500_000), (1, 10_000_000)] {
            let rank = |_| {
                let mut time = 0.0;
                let op = |microbatch| {
                    let pause = if random() < 0.001 { 40.0 * random() } else { 0.0 };
                    let start = time + pause + 0.01 * random();
                    time = start + 0.05 + random();
                    let kind = match random() {
                        share if share < 0.3 => OpKind::F,
                        share if share < 0.7 => OpKind::BW,
                        _ => OpKind::W,
                    };
                    let op = shardscope_core::pipeline::Op { kind, stage: 0, microbatch };
                    TimedOp { op, half: Half::Whole, start, end: time }
                };
                (0..count).map(op).collect()
            };
            let timeline = Timeline { ranks: (0..ranks).map(rank).collect() };
            hold_to_ops(&timeline, 940.0, &format!("{count} ops"));
        }
    }

    /// 405B on 2,048 GPUs with 32 ranks: rank 0 waits from the end of its forwards to the first backward, a fifth of
    /// the step.
    #[test]
    fn the_wait_of_the_first_rank_for_its_first_backward_is_open() {
        let set = [("model", "llama-3.1-405b"), ("gpus", "2048"), ("tp", "8"), ("pp", "32"), ("cp", "2")];
        let run = shardscope_core::run::Run::default().with_texts(&set).unwrap();
        let evaluation = shardscope_core::report::evaluate(&run).unwrap();
        let timeline = evaluation.timeline();
        let coarsest = hold_to_ops(timeline, 940.0, "405B");
        assert!(coarsest <= 16.0, "{coarsest}");
        let ops = &timeline.ranks[0];
        let wait = gaps(ops, 0.1 * timeline.makespan());
        assert_eq!(wait.len(), 1, "the ops themselves have the wait");
    }

    /// What a column's cells leave open of the row is its idle share, from the top down without a gap between them; an
    /// op is whole.
    #[test]
    fn what_a_column_leaves_open_is_its_idle_time() {
        let timeline = timeline("zb-h1", 16, 2048);
        let view = Viewport::all(timeline.makespan());
        let mut columns: HashMap<(usize, u64), Vec<Cell>> = HashMap::new();
        for cell in drawn(&timeline, view, 700.0) {
            columns.entry((cell.row, cell.x.to_bits())).or_default().push(cell);
        }
        let mut most: f64 = 0.0;
        for cells in columns.values() {
            assert!(cells.iter().all(|cell| cell.op.is_none()) && cells[0].band.0 == 0.0, "{cells:?}");
            assert!(cells.windows(2).all(|pair| (pair[0].band.1 - pair[1].band.0).abs() < 1e-9), "{cells:?}");
            let [from, to] = [cells[0].x, cells[0].x + cells[0].width].map(|x| view.time(x, 700.0));
            let idle = 1.0 - added_up(&timeline.ranks[cells[0].row], from, to).iter().sum::<f64>() / (to - from);
            assert!((cells[cells.len() - 1].band.1 - (1.0 - idle)).abs() < 1e-6, "{idle}: {cells:?}");
            most = most.max(idle);
        }
        assert!(columns.len() >= timeline.ranks.len() && most > 0.01, "{} columns, idle {most}", columns.len());
    }

    /// 64 ranks and 128 micro-batches, as a card of a schedule and as the first screen draw them: the steady state is a
    /// handful of cells a row and not a checker of hundreds, also where the last passes wait for each other.
    #[test]
    fn a_long_pipeline_is_few_bands() {
        let timeline = timeline("1f1b", 64, 128);
        let view = Viewport::all(timeline.makespan());
        for (width, stride) in [(250.0, 8), (360.0, 8), (940.0, 4)] {
            let ranks = DrawnRanks::with(stride, 0);
            let rows = ranks.rows(timeline.ranks.len());
            let drawn = cells(&Sums::of(&timeline).rows(&timeline, ranks), view, width);
            assert!(drawn.iter().all(|cell| cell.op.is_none()), "{width}");
            assert!(drawn.len() <= 12 * rows, "{width}: {} cells in {rows} rows", drawn.len());
        }
    }

    /// A move begins at the old places and ends at the new ones; every block of both timelines is on its way between
    /// them.
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
        let spec = Spec::new(schedule("1f1b").unwrap(), 16, 1024);
        let uneven = (0..1024).map(|at| 0.5 + f64::from(at % 37)).collect();
        let durations = Durations::unit(16).with_microbatch_scale(uneven);
        let order = build(&spec, &durations).unwrap().order;
        let timeline = measure(&order, &durations).unwrap().0;
        let view = Viewport::all(timeline.makespan()).zoomed(3.0, 1000.0);
        // The first cell of a row begins where the window does.
        let edges = |view: Viewport| -> Vec<i64> {
            #[allow(clippy::cast_possible_truncation)] // milliseconds of a small pipeline
            let time = |cell: &Cell| (view.time(cell.x, 700.0) * 1e3).round() as i64;
            drawn(&timeline, view, 700.0).iter().filter(|cell| cell.row == 9 && cell.x > 2.0).map(time).collect()
        };
        let (here, there) = (edges(view), edges(view.panned(70.0)));
        assert!(there.len() > 10, "{}", there.len());
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
