//! The one simulator: an order and durations give a timeline, or say where the order dead-locks. Where only the ranks'
//! spans are asked for, what repeats is left out.

use super::durations::Durations;
use super::fault::{OrderFault, Stuck};
use super::leap;
use super::machine::{Machine, Place, record};
use super::needs::{Need, needs};
use super::op::{Half, Op, OrderItem, TimedOp};
use super::order::{Order, StagePlacement};
use super::row::RankRow;
use serde::{Deserialize, Serialize};

/// Every op of every rank, in the order of its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// One list a rank; a pair is two entries with equal times, as the order writes them.
    pub ranks: Vec<Vec<TimedOp>>,
}

impl Timeline {
    /// When the last rank ends.
    pub fn makespan(&self) -> f64 {
        let ends = self.ranks.iter().filter_map(|ops| ops.last());
        ends.map(|op| op.end).fold(0.0, f64::max)
    }
    /// Span of each rank's ops. A pair's two entries are one piece of work: the second is left out.
    pub fn spans(&self) -> Spans {
        let each = |one: fn(&[TimedOp]) -> f64| self.ranks.iter().map(|ops| one(ops)).collect();
        Spans {
            starts: each(|ops| ops.first().map_or(0.0, |op| op.start)),
            ends: each(|ops| ops.last().map_or(0.0, |op| op.end)),
            busy: each(|ops| {
                let works = ops.iter().filter(|op| op.half != Half::Second);
                works.map(|op| op.end - op.start).sum()
            }),
        }
    }
    /// Start and end of every item, rank by rank: all that its order does not say.
    pub fn times(&self) -> Vec<f64> {
        let ops = self.ranks.iter().flatten();
        let items = ops.filter(|op| op.half != Half::Second);
        items.flat_map(|op| [op.start, op.end]).collect()
    }
    /// The timeline of `order` with these [`Self::times`].
    pub fn of_times(order: &Order, times: &[f64]) -> Self {
        let mut times = times.chunks_exact(2);
        let ops_of = |row: &RankRow| {
            let mut ops = Vec::with_capacity(row.len());
            for (item, time) in row.iter().zip(&mut times) {
                record(&mut ops, item, time[0], time[1]);
            }
            ops
        };
        Self { ranks: order.ranks.iter().map(ops_of).collect() }
    }
}

/// When each rank starts and ends and how long it works between, seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spans {
    /// First start.
    pub starts: Vec<f64>,
    /// Last end.
    pub ends: Vec<f64>,
    /// Durations of its ops as executed.
    pub busy: Vec<f64>,
}

impl Spans {
    /// When the last rank ends.
    pub fn makespan(&self) -> f64 {
        self.ends.iter().copied().fold(0.0, f64::max)
    }

    /// The timeline with all times multiplied by `scale`.
    pub(crate) fn rescaled(mut self, scale: f64) -> Self {
        for list in [&mut self.starts, &mut self.ends, &mut self.busy] {
            for time in list {
                *time *= scale;
            }
        }
        self
    }

    fn of(machine: &Machine) -> Self {
        let lanes = || machine.lanes.iter();
        Self {
            starts: lanes().map(|lane| lane.start).collect(),
            ends: lanes().map(|lane| lane.free).collect(),
            // Sums of the same times may differ in their last digits: no rank works longer than it is there.
            busy: lanes().map(|lane| lane.busy.min(lane.free - lane.start)).collect(),
        }
    }
}

/// The end of all rows.
const END: Place = Place { part: usize::MAX, turn: 0, step: 0 };

/// Runs `order` under `durations`.
///
/// # Errors
/// An order that lacks or repeats an op or dead-locks, durations that do not fit it.
pub fn simulate(order: &Order, durations: &Durations) -> Result<Timeline, OrderFault> {
    order.check()?;
    durations.check(order.stages, order.units())?;
    let mut machine = Machine::new(order, durations, false, true);
    machine.run(|_| END);
    if !machine.is_done() {
        let stuck = stuck_ranks(&machine, order);
        return Err(OrderFault::Deadlock { stuck });
    }
    let lanes = machine.lanes.into_iter();
    Ok(Timeline { ranks: lanes.map(|lane| lane.done).collect() })
}

/// The spans that [`simulate`] would give, from what of it does not repeat: work that does not grow with the
/// micro-batches. An order by hand is checked; those of the schedules are by the tests.
///
/// # Errors
/// As [`simulate`].
pub fn time(order: &Order, durations: &Durations) -> Result<Spans, OrderFault> {
    durations.check(order.stages, order.units())?;
    let given = order.placement == StagePlacement::Given;
    if given {
        order.check()?;
    }
    let mut machine = Machine::new(order, durations, !given, false);
    if durations.microbatch_scale.is_none() && order.away.is_none() {
        if leap::run(&mut machine) {
            return Ok(Spans::of(&machine));
        }
        machine = Machine::new(order, durations, !given, false);
    }
    machine.run(|_| END);
    if machine.is_done() {
        Ok(Spans::of(&machine))
    } else {
        let stuck = stuck_ranks(&machine, order);
        Err(OrderFault::Deadlock { stuck })
    }
}

fn stuck_ranks(machine: &Machine, order: &Order) -> Vec<Stuck> {
    let mut stuck = Vec::new();
    for (rank, (lane, row)) in machine.lanes.iter().zip(&order.ranks).enumerate() {
        let at = lane.position();
        let ops = row.get(at).into_iter().flat_map(OrderItem::ops);
        let lacking = ops.filter_map(|op| {
            let mut lacks = needs(op, order).filter(|need| !machine.made(*need));
            lacks.next().map(|need| (op, need))
        });
        stuck.extend(lacking.take(1).map(|(op, need)| Stuck { rank, at, op, waits_for: missing_op(order, need) }));
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
    let items = order.ranks.iter().flat_map(RankRow::iter);
    let is_split = items.flat_map(OrderItem::ops).any(|op| op == split);
    if is_split { split } else { Op::bw(stage, microbatch) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::order::{StagePlacement, parse_ranks};

    fn order(text: &str, stages: u32, m: u32) -> Order {
        Order::new(parse_ranks(text).unwrap(), stages, StagePlacement::Given, m)
    }

    #[test]
    fn two_ranks_by_hand() {
        let order = order("0F0,0F1,0BW0,0BW1|1F0,1BW0,1F1,1BW1", 2, 2);
        let timeline = simulate(&order, &Durations::unit(2).with_p2p(0.5)).unwrap();
        let times: Vec<(f64, f64)> = timeline.ranks[1].iter().map(|op| (op.start, op.end)).collect();
        assert_eq!(times, [(1.5, 2.5), (2.5, 4.5), (4.5, 5.5), (5.5, 7.5)]);
        let last = timeline.ranks[0][3];
        assert_eq!((last.start, last.end), (8.0, 10.0));
    }

    #[test]
    fn a_deadlock_is_located() {
        let order = order("0F0,0BW0,0F1,0BW1|1F1,1F0,1BW0,1BW1", 2, 2);
        let Err(OrderFault::Deadlock { stuck }) = simulate(&order, &Durations::unit(2)) else {
            panic!("no deadlock");
        };
        assert_eq!(stuck[0].op, Op::bw(0, 0));
        assert_eq!(stuck[0].waits_for, Op::bw(1, 0));
        assert_eq!((stuck[1].rank, stuck[1].at, stuck[1].waits_for), (1, 0, Op::f(0, 1)));
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
