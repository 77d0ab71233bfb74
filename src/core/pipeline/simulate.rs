//! The one simulator: an order and durations give a timeline, or say where the order dead-locks.
//!
//! Every rank runs its list in order, each entry as soon as the rank is free and what it waits for has arrived. A
//! result that crosses ranks arrives one latency later; links never contend and the sender stays free. Time and memory
//! are linear in the ops: a rank runs until it is blocked, then sleeps on the one result that it lacks.

use super::durations::Durations;
use super::fault::{Fault, Stuck};
use super::needs::{Need, needs};
use super::op::{Item, Kind, Op};
use super::order::Order;
use serde::{Deserialize, Serialize};

/// Whether an op runs alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Half {
    /// Alone.
    Whole,
    /// Written first in a pair.
    First,
    /// Written second in a pair.
    Second,
}

/// An op with its times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimedOp {
    /// The op.
    pub op: Op,
    /// Alone, or which half of an overlapped pair: the other half is the neighbour with the same times.
    pub half: Half,
    /// Seconds from the start of the step.
    pub start: f64,
    /// Seconds from the start of the step.
    pub end: f64,
}

/// Every op of every rank, in the order of its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// One list a rank; a pair is two entries with equal times, as the order writes them.
    pub ranks: Vec<Vec<TimedOp>>,
}

impl Timeline {
    /// When the last rank ends.
    #[must_use]
    pub fn makespan(&self) -> f64 {
        let ends = self.ranks.iter().filter_map(|ops| ops.last());
        ends.map(|op| op.end).fold(0.0, f64::max)
    }
    /// The same on a clock that runs `scale` times as long.
    #[must_use]
    pub fn rescaled(mut self, scale: f64) -> Self {
        for op in self.ranks.iter_mut().flatten() {
            (op.start, op.end) = (op.start * scale, op.end * scale);
        }
        self
    }
}

const NOBODY: u32 = u32::MAX;

/// A result: when and where it was made, and who sleeps until it is.
#[derive(Clone, Copy)]
struct Cell {
    end: f64,
    rank: u32,
    sleeper: u32,
}

const EMPTY: Cell = Cell {
    end: f64::NAN,
    rank: NOBODY,
    sleeper: NOBODY,
};

/// Forwards first, gradients behind them.
struct Board {
    cells: Vec<Cell>,
    stages: usize,
    units: usize,
}

impl Board {
    fn new(order: &Order) -> Self {
        let (stages, units) = (order.stages as usize, order.units() as usize);
        let cells = vec![EMPTY; 2 * stages * units];
        Self {
            cells,
            stages,
            units,
        }
    }
    fn cell(&mut self, need: Need) -> &mut Cell {
        let index = match need {
            Need::Forward(s, i) => s as usize * self.units + i as usize,
            Need::Gradient(s, i) => (self.stages + s as usize) * self.units + i as usize,
        };
        &mut self.cells[index]
    }
    /// When `op` may start on `rank`, or what is still missing.
    fn arrival(&mut self, op: Op, rank: u32, order: &Order, latency: f64) -> Result<f64, Need> {
        let mut latest = 0.0f64;
        for need in needs(op, order) {
            let cell = self.cell(need);
            if cell.rank == NOBODY {
                return Err(need);
            }
            let crossing = if cell.rank == rank { 0.0 } else { latency };
            latest = latest.max(cell.end + crossing);
        }
        Ok(latest)
    }
    /// Enters a result; gives the rank that slept on it.
    fn finish(&mut self, op: Op, rank: u32, end: f64) -> u32 {
        let result = if op.kind == Kind::F {
            Need::Forward(op.stage, op.microbatch)
        } else if op.kind.sends_gradient() {
            Need::Gradient(op.stage, op.microbatch)
        } else {
            return NOBODY;
        };
        let cell = self.cell(result);
        let sleeper = cell.sleeper;
        *cell = Cell {
            end,
            rank,
            sleeper: NOBODY,
        };
        sleeper
    }
}

/// Runs `order` under `durations`.
///
/// # Errors
/// An order that lacks or repeats an op or dead-locks, durations that do not fit it.
pub fn simulate(order: &Order, durations: &Durations) -> Result<Timeline, Fault> {
    order.check()?;
    durations.check(order.stages, order.units())?;
    let p = order.ranks.len();
    let mut board = Board::new(order);
    let mut next = vec![0usize; p];
    let mut free = vec![0.0f64; p];
    let mut ranks: Vec<Vec<TimedOp>> = order
        .ranks
        .iter()
        .map(|items| Vec::with_capacity(items.len()))
        .collect();
    let mut awake: Vec<u32> = (0..order.pp()).rev().collect();
    while let Some(rank) = awake.pop() {
        let r = rank as usize;
        while let Some(item) = order.ranks[r].get(next[r]).copied() {
            let arrival = item_arrival(&mut board, item, rank, order, durations.p2p);
            let ready = match arrival {
                Ok(ready) => ready,
                Err(need) => {
                    // Two ranks lack the same result only where one waits for itself, and that one never wakes.
                    let cell = board.cell(need);
                    if cell.sleeper == NOBODY {
                        cell.sleeper = rank;
                    }
                    break;
                }
            };
            let start = free[r].max(ready);
            let end = start + durations.of_item(item);
            let halves = match item {
                Item::One(_) => [Half::Whole; 2],
                Item::Pair(..) => [Half::First, Half::Second],
            };
            for (op, half) in item.ops().zip(halves) {
                ranks[r].push(TimedOp {
                    op,
                    half,
                    start,
                    end,
                });
                let sleeper = board.finish(op, rank, end);
                if sleeper != NOBODY {
                    awake.push(sleeper);
                }
            }
            free[r] = end;
            next[r] += 1;
        }
    }
    let stuck = stuck_ranks(&mut board, order, &next);
    if stuck.is_empty() {
        Ok(Timeline { ranks })
    } else {
        Err(Fault::Deadlock { stuck })
    }
}

fn item_arrival(
    board: &mut Board,
    item: Item,
    rank: u32,
    order: &Order,
    latency: f64,
) -> Result<f64, Need> {
    let first = board.arrival(item.first(), rank, order, latency)?;
    match item.second() {
        None => Ok(first),
        Some(second) => Ok(first.max(board.arrival(second, rank, order, latency)?)),
    }
}

fn stuck_ranks(board: &mut Board, order: &Order, next: &[usize]) -> Vec<Stuck> {
    let mut stuck = Vec::new();
    for (rank, at) in next.iter().copied().enumerate() {
        let Some(item) = order.ranks[rank].get(at).copied() else {
            continue;
        };
        for op in item.ops() {
            #[allow(clippy::cast_possible_truncation)] // a rank index comes from a u32 count
            if let Err(need) = board.arrival(op, rank as u32, order, 0.0) {
                stuck.push(Stuck {
                    rank,
                    at,
                    op,
                    waits_for: missing_op(order, need),
                });
                break;
            }
        }
    }
    stuck
}

/// The op of the order that makes what is missing.
fn missing_op(order: &Order, need: Need) -> Op {
    let (forward, stage, microbatch) = match need {
        Need::Forward(s, i) => (true, s, i),
        Need::Gradient(s, i) => (false, s, i),
    };
    if forward {
        return Op::f(stage, microbatch);
    }
    let split = Op::b(stage, microbatch);
    let items = order.ranks.iter().flatten();
    let is_split = items.flat_map(|item| item.ops()).any(|op| op == split);
    if is_split {
        split
    } else {
        Op::bw(stage, microbatch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::order::{Placement, parse_ranks};

    fn order(text: &str, stages: u32, m: u32) -> Order {
        Order::new(parse_ranks(text).unwrap(), stages, Placement::Given, m)
    }

    #[test]
    fn two_ranks_by_hand() {
        let order = order("0F0,0F1,0BW0,0BW1|1F0,1BW0,1F1,1BW1", 2, 2);
        let timeline = simulate(&order, &Durations::unit(2).with_p2p(0.5)).unwrap();
        let times: Vec<(f64, f64)> = timeline.ranks[1]
            .iter()
            .map(|op| (op.start, op.end))
            .collect();
        assert_eq!(times, [(1.5, 2.5), (2.5, 4.5), (4.5, 5.5), (5.5, 7.5)]);
        let last = timeline.ranks[0][3];
        assert_eq!((last.start, last.end), (8.0, 10.0));
    }

    #[test]
    fn a_deadlock_is_located() {
        let order = order("0F0,0BW0,0F1,0BW1|1F1,1F0,1BW0,1BW1", 2, 2);
        let Err(Fault::Deadlock { stuck }) = simulate(&order, &Durations::unit(2)) else {
            panic!("no deadlock");
        };
        assert_eq!(stuck[0].op, Op::bw(0, 0));
        assert_eq!(stuck[0].waits_for, Op::bw(1, 0));
        assert_eq!(
            (stuck[1].rank, stuck[1].at, stuck[1].waits_for),
            (1, 0, Op::f(0, 1))
        );
    }

    #[test]
    fn a_pair_waits_for_both_halves_and_ends_at_once() {
        let order = order("0F0,(0F1;0BW0),0BW1|1F0,1BW0,1F1,1BW1", 2, 2);
        let timeline = simulate(&order, &Durations::unit(2).with_pair(2.5)).unwrap();
        let pair = &timeline.ranks[0][1..3];
        assert_eq!((pair[0].half, pair[1].half), (Half::First, Half::Second));
        assert_eq!((pair[0].start, pair[0].end), (4.0, 6.5));
        assert_eq!((pair[1].start, pair[1].end), (4.0, 6.5));
    }
}
