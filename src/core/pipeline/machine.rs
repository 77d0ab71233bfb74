//! The rules of the simulator, compiled for one order: every rank runs its row in order, each item as soon as the rank
//! is free and what it waits for has arrived. A result that crosses ranks arrives one latency later; links never
//! contend and the sender stays free.
//!
//! A rank runs until it is blocked, then sleeps on the one result that it lacks. In which turn ranks are run does not
//! change when their items start; [`super::leap`] makes use of it.

use super::durations::Durations;
use super::needs::{Need, needs};
use super::op::{Half, TimedOp};
use super::op::{Op, OpKind, OrderItem};
use super::order::Order;
use super::row::Loop;
use std::ops::Range;

/// Marks a result that does not exist yet and that the rank in the other bits waits for; ranks count from 1, 0 is none.
const ASLEEP: u32 = 1 << 31;

/// When a result was made, and on which rank, from 1.
#[derive(Clone, Copy, Default)]
pub(super) struct Made {
    pub end: f64,
    pub maker: u32,
}

/// Cells of a page.
const PAGE: usize = 512;

/// The results, forwards and gradients, by unit and stage: in pages, of which those exist that something is written on.
pub(super) struct Board(Vec<Vec<Made>>);

impl Board {
    fn new(cells: usize) -> Self {
        Self(vec![Vec::new(); cells.div_ceil(PAGE)])
    }
    fn at(&self, cell: isize) -> Option<&Made> {
        let cell = cell.cast_unsigned();
        self.0.get(cell / PAGE)?.get(cell % PAGE)
    }
    /// The result in a cell, if there is one.
    pub fn made(&self, cell: isize) -> Option<Made> {
        let made = self.at(cell).copied();
        made.filter(|made| made.maker != 0 && made.maker & ASLEEP == 0)
    }
    fn cell(&mut self, cell: isize) -> Option<&mut Made> {
        let cell = cell.cast_unsigned();
        let page = self.0.get_mut(cell / PAGE)?;
        if page.is_empty() {
            page.resize(PAGE, Made::default());
        }
        page.get_mut(cell % PAGE)
    }
    /// Writes a result; gives the rank that slept on it.
    pub fn enter(&mut self, cell: isize, end: f64, maker: u32) -> Option<usize> {
        let cell = self.cell(cell)?;
        let before = cell.maker;
        *cell = Made { end, maker };
        (before & ASLEEP != 0).then(|| (before ^ ASLEEP) as usize - 1)
    }
    /// Has `rank` sleep until a result is made. Two ranks wait for the same result only if one of them would have to
    /// make it itself; that rank never wakes.
    fn wait(&mut self, cell: isize, rank: u32) {
        if let Some(cell) = self.cell(cell).filter(|cell| cell.maker == 0) {
            cell.maker = rank | ASLEEP;
        }
    }
}

/// No cell.
const NONE: isize = isize::MIN;

/// An item of a loop: its duration, and the cells that it reads and writes in the first turn; of a pair first those of
/// the first op, then those of the second.
struct Step {
    seconds: f64,
    needs: [isize; 5],
    results: [isize; 2],
}

/// Cells of a step.
fn cells(list: &[isize]) -> impl Iterator<Item = isize> {
    list.iter().copied().take_while(|cell| *cell != NONE)
}

/// A loop of a row.
pub(super) struct Part<'a> {
    pub source: Loop<'a>,
    steps: Range<usize>,
    /// Cells that everything moves on by each turn.
    pub stride: isize,
}

/// Place of a rank in its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub part: usize,
    pub turn: u32,
    pub step: usize,
}

/// One rank.
pub(super) struct Lane<'a> {
    pub parts: Vec<Part<'a>>,
    pub at: Place,
    pub start: f64,
    pub free: f64,
    /// Seconds that it works in all.
    pub busy: f64,
    pub done: Vec<TimedOp>,
}

impl Lane<'_> {
    /// Items that it has run.
    pub fn position(&self) -> usize {
        let before = self.parts[..self.at.part].iter();
        let before = before.map(|part| part.source.body.len() * part.source.times as usize);
        let turns = self.parts.get(self.at.part).map_or(0, |part| part.source.body.len() * self.at.turn as usize);
        before.sum::<usize>() + turns + self.at.step
    }
    /// The turn, to count cells by.
    #[allow(clippy::cast_possible_wrap)] // an order has at most 2^21 ops
    pub const fn turn(&self) -> isize {
        self.at.turn as isize
    }
    /// Behind the last turn of a loop is the next.
    pub fn settle(&mut self) {
        let part = self.parts.get(self.at.part);
        if part.is_some_and(|part| self.at.turn >= part.source.times) {
            self.at.turn = 0;
            self.at.part += 1;
        }
    }
}

/// An order under durations, run as far as it was asked to.
pub(super) struct Machine<'a> {
    pub lanes: Vec<Lane<'a>>,
    steps: Vec<Step>,
    pub board: Board,
    width: usize,
    durations: &'a Durations,
    /// Seconds before which no op starts, rank by rank.
    starts: Option<&'a [Vec<f64>]>,
    records: bool,
}

impl<'a> Machine<'a> {
    /// `in_order`: rows are known to run no op before the others of its own stage and unit that it needs. `records`:
    /// the ops are kept.
    pub fn new(order: &'a Order, durations: &'a Durations, in_order: bool, records: bool) -> Self {
        let width = 2 * order.stages as usize;
        let cells = width * order.units() as usize;
        let items = order.ranks.iter().map(|row| row.written().len()).sum();
        let mut machine = Self {
            lanes: Vec::with_capacity(order.ranks.len()),
            steps: Vec::with_capacity(items),
            board: Board::new(cells),
            width,
            durations,
            starts: order.away.as_ref().map(|away| &away.starts[..]),
            records,
        };
        for row in &order.ranks {
            let mut lane = Lane {
                parts: Vec::new(),
                at: Place::default(),
                start: 0.0,
                free: 0.0,
                busy: 0.0,
                done: Vec::with_capacity(if records { row.len() } else { 0 }),
            };
            for source in row.loops() {
                let from = machine.steps.len();
                for item in source.body {
                    machine.compile(*item, order, in_order);
                }
                let steps = from..machine.steps.len();
                lane.busy += if durations.microbatch_scale.is_some() {
                    let turns = (0..source.times).flat_map(|turn| source.turn(turn));
                    turns.map(|item| durations.of_item(item)).sum::<f64>()
                } else {
                    let turn = machine.steps[steps.clone()].iter();
                    turn.map(|step| step.seconds).sum::<f64>() * f64::from(source.times)
                };
                lane.parts.push(Part { source, steps, stride: width.cast_signed() * source.step as isize });
            }
            machine.lanes.push(lane);
        }
        machine
    }

    fn compile(&mut self, item: OrderItem, order: &Order, in_order: bool) {
        let mut step = Step { seconds: self.durations.of_item(item), needs: [NONE; 5], results: [NONE; 2] };
        let (mut waits, mut makes) = (step.needs.iter_mut(), step.results.iter_mut());
        for op in item.ops() {
            let is_same_stage = |need: &Need| match *need {
                Need::Forward(stage, _) | Need::Gradient(stage, _) => stage == op.stage,
            };
            let others = needs(op, order).filter(|need| !(in_order && is_same_stage(need)));
            for (need, cell) in others.zip(&mut waits) {
                *cell = self.cell(need);
            }
            for (made, cell) in result(op).into_iter().zip(&mut makes) {
                *cell = self.cell(made);
            }
        }
        self.steps.push(step);
    }

    fn cell(&self, need: Need) -> isize {
        let (column, unit) = match need {
            Need::Forward(s, i) => (s as usize, i),
            Need::Gradient(s, i) => (self.width / 2 + s as usize, i),
        };
        (unit as usize * self.width + column).cast_signed()
    }
    /// True if a result has been made.
    pub fn made(&self, need: Need) -> bool {
        self.board.made(self.cell(need)).is_some()
    }
    /// Cells that the loop of a lane waits for in its first turn.
    pub fn waits(&self, part: &Part) -> impl Iterator<Item = isize> {
        let steps = self.steps[part.steps.clone()].iter();
        steps.flat_map(|step| cells(&step.needs))
    }

    /// Runs every rank as far as it comes, the rank r up to `limit(r)`.
    pub fn run(&mut self, limit: impl Fn(usize) -> Place) {
        let mut awake: Vec<usize> = (0..self.lanes.len()).rev().collect();
        while let Some(rank) = awake.pop() {
            self.run_rank(rank, limit(rank), &mut awake);
        }
    }

    fn run_rank(&mut self, rank: usize, limit: Place, awake: &mut Vec<usize>) {
        let lane = &mut self.lanes[rank];
        #[allow(clippy::cast_possible_truncation)] // a rank index comes from a u32 count
        let mark = rank as u32 + 1;
        let by_item = self.records || self.durations.microbatch_scale.is_some();
        while lane.at < limit {
            let Some(part) = lane.parts.get(lane.at.part) else {
                return;
            };
            let shift = part.stride * lane.turn();
            for step in &self.steps[part.steps.start + lane.at.step..part.steps.end] {
                let mut start = lane.free;
                for need in cells(&step.needs) {
                    let Some(made) = self.board.made(need + shift) else {
                        self.board.wait(need + shift, mark);
                        return;
                    };
                    let crossing = if made.maker == mark { 0.0 } else { self.durations.p2p };
                    start = start.max(made.end + crossing);
                }
                if let Some(starts) = self.starts {
                    let not_before = starts.get(rank).and_then(|starts| starts.get(lane.position()));
                    start = start.max(not_before.copied().unwrap_or(0.0));
                }
                let mut end = start + step.seconds;
                if by_item {
                    #[allow(clippy::cast_possible_wrap)] // an order has at most 2^21 ops
                    let by = lane.at.turn as i32 * part.source.step;
                    let item = part.source.body[lane.at.step].moved(by);
                    end = start + self.durations.of_item(item);
                    if self.records {
                        record(&mut lane.done, item, start, end);
                    }
                }
                for result in cells(&step.results) {
                    awake.extend(self.board.enter(result + shift, end, mark));
                }
                if lane.at == Place::default() {
                    lane.start = start;
                }
                lane.free = end;
                lane.at.step += 1;
            }
            lane.at.step = 0;
            lane.at.turn += 1;
            lane.settle();
        }
    }

    /// Every rank has run its whole row.
    pub(crate) fn is_done(&self) -> bool {
        let mut lanes = self.lanes.iter();
        lanes.all(|lane| lane.at.part == lane.parts.len())
    }
}

/// The result that others may wait for.
fn result(op: Op) -> Option<Need> {
    if op.kind == OpKind::F {
        Some(Need::Forward(op.stage, op.microbatch))
    } else {
        let sends = op.kind.sends_gradient();
        sends.then_some(Need::Gradient(op.stage, op.microbatch))
    }
}

/// Appends the ops of an item.
pub(super) fn record(done: &mut Vec<TimedOp>, item: OrderItem, start: f64, end: f64) {
    let halves = match item {
        OrderItem::One(_) => [Half::Whole; 2],
        OrderItem::Pair(..) => [Half::First, Half::Second],
    };
    done.extend(item.ops().zip(halves).map(|(op, half)| TimedOp { op, half, start, end }));
}
