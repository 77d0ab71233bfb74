//! Why an op starts when it does: what it waited for and the chain that fixes the makespan. For the pictures.

use super::needs::{Need, needs};
use super::op::{Half, TimedOp};
use super::op::{Op, OpKind};
use super::order::Order;
use super::simulate::Timeline;
use std::borrow::Cow;

/// Place of an op in a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpPlace {
    pub rank: usize,
    /// Index in the rank's timed ops.
    pub at: usize,
}

/// Why an op did not start earlier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StartCause {
    /// It starts with the step.
    Nothing,
    /// The rank was busy with this op until then.
    Rank(OpPlace),
    /// It waited for this op's result, `p2p` included.
    Result(OpPlace),
    /// It waited for activations on their way to the host or back, after this op of the rank.
    Host(OpPlace),
}

/// Idle time of a rank in which the message that it waits for is on its way from another rank, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Awaited {
    pub rank: usize,
    /// When the message is sent, or later, when the rank has nothing else to run.
    pub from: f64,
    /// When it arrives and its op starts.
    pub to: f64,
}

/// Messages that the ranks of `timeline`, which `order` gave with latency `p2p`, wait for, rank by rank and in the
/// order of time. One that arrives while its rank works delays nothing and is none of them.
pub fn awaited(order: &Order, timeline: &Timeline, p2p: f64) -> Vec<Awaited> {
    if p2p <= 0.0 {
        return Vec::new();
    }
    // An idle rank starts with what arrives from another one; where activations leave, with what its host sends too.
    let trace = order.away.as_ref().map(|_| Trace::new(order, timeline, p2p));
    let mut found = Vec::new();
    for (rank, ops) in timeline.ranks.iter().enumerate() {
        let mut free = 0.0;
        for (at, op) in ops.iter().enumerate() {
            let arrives = |trace: &Trace| matches!(trace.cause(OpPlace { rank, at }), StartCause::Result(_));
            // What rounding leaves between two ops is no idle time.
            if op.start - free > p2p * 1e-6 && trace.as_ref().is_none_or(arrives) {
                found.push(Awaited { rank, from: free.max(op.start - p2p), to: op.start });
            }
            free = op.end.max(free);
        }
    }
    found
}

/// Places at which the results of a timeline are made: built once, read often.
#[derive(Clone, Debug)]
pub struct Places {
    units: usize,
    forwards: Vec<u64>,
    gradients: Vec<u64>,
}

impl Places {
    /// An index over `timeline`, which `order` gave.
    pub fn of(order: &Order, timeline: &Timeline) -> Self {
        let units = order.units() as usize;
        let cells = order.stages as usize * units;
        let (mut forwards, mut gradients) = (vec![u64::MAX; cells], vec![u64::MAX; cells]);
        for (rank, ops) in timeline.ranks.iter().enumerate() {
            for (at, timed) in ops.iter().enumerate() {
                let list = if timed.op.kind == OpKind::F {
                    &mut forwards
                } else if timed.op.kind.sends_gradient() {
                    &mut gradients
                } else {
                    continue;
                };
                let cell = timed.op.stage as usize * units + timed.op.microbatch as usize;
                if let Some(place) = list.get_mut(cell) {
                    *place = ((rank as u64) << 32) | at as u64;
                }
            }
        }
        Self { units, forwards, gradients }
    }
    fn find(&self, need: Need) -> Option<OpPlace> {
        let (list, s, i) = match need {
            Need::Forward(s, i) => (&self.forwards, s, i),
            Need::Gradient(s, i) => (&self.gradients, s, i),
        };
        let packed = *list.get(s as usize * self.units + i as usize)?;
        let rank = usize::try_from(packed >> 32).ok()?;
        let at = usize::try_from(packed & u64::from(u32::MAX)).ok()?;
        (packed != u64::MAX).then_some(OpPlace { rank, at })
    }
}

/// Finds ops of a timeline and what they wait for.
#[derive(Clone, Debug)]
pub struct Trace<'a> {
    order: &'a Order,
    timeline: &'a Timeline,
    p2p: f64,
    places: Cow<'a, Places>,
}

impl<'a> Trace<'a> {
    /// Over `timeline`, which `order` gave with latency `p2p`.
    pub fn new(order: &'a Order, timeline: &'a Timeline, p2p: f64) -> Self {
        Self { order, timeline, p2p, places: Cow::Owned(Places::of(order, timeline)) }
    }
    /// Over `timeline` with an index of its ops that was built before.
    pub fn with(order: &'a Order, timeline: &'a Timeline, p2p: f64, places: &'a Places) -> Self {
        Self { order, timeline, p2p, places: Cow::Borrowed(places) }
    }
    /// Places of the ops that make the results `op` needs.
    pub fn made_by(&self, op: Op) -> impl Iterator<Item = OpPlace> + '_ {
        needs(op, self.order).filter_map(|need| self.places.find(need))
    }
    /// The op at `place`.
    pub fn get(&self, place: OpPlace) -> Option<TimedOp> {
        self.timeline.ranks.get(place.rank)?.get(place.at).copied()
    }
    /// The result that arrives last of those that `op` on `rank` waits for, with the time of its arrival.
    pub(crate) fn latest_need(&self, op: Op, rank: usize) -> Option<(OpPlace, f64)> {
        let found = needs(op, self.order).filter_map(|need| {
            let place = self.places.find(need)?;
            let crossing = if place.rank == rank { 0.0 } else { self.p2p };
            Some((place, self.get(place)?.end + crossing))
        });
        found.max_by(|a, b| a.1.total_cmp(&b.1))
    }
    /// The reason why the op at `place` started when it did.
    pub fn cause(&self, place: OpPlace) -> StartCause {
        let Some(timed) = self.get(place) else {
            return StartCause::Nothing;
        };
        let ops = &self.timeline.ranks[place.rank];
        let (first, last) = match timed.half {
            Half::Whole => (place.at, place.at),
            Half::First => (place.at, (place.at + 1).min(ops.len() - 1)),
            Half::Second => (place.at.saturating_sub(1), place.at),
        };
        let block = &ops[first..=last];
        let waits = block.iter().filter_map(|half| self.latest_need(half.op, place.rank));
        let latest = waits.max_by(|a, b| a.1.total_cmp(&b.1));
        let before = first.checked_sub(1).map(|at| OpPlace { at, ..place });
        let free = before.and_then(|before| self.get(before)).map_or(0.0, |op| op.end);
        if let Some(before) = before.filter(|_| self.order.away.is_some()) {
            let ready = latest.map_or(free, |(_, arrival)| arrival.max(free));
            if timed.start > ready * (1.0 + 1e-9) {
                return StartCause::Host(before);
            }
        }
        match (latest, before) {
            // A tie goes to the other rank: that is the edge to draw.
            (Some((result, arrival)), Some(_)) if arrival >= free && result.rank != place.rank => {
                StartCause::Result(result)
            }
            (_, Some(before)) => StartCause::Rank(before),
            (Some((result, _)), None) => StartCause::Result(result),
            (None, None) => StartCause::Nothing,
        }
    }
    /// The chain of ops that fixes the makespan, from the first to the last: each starts when the one before it ends
    /// (and its result arrives).
    pub fn critical_path(&self) -> Vec<OpPlace> {
        let ranks = self.timeline.ranks.iter().enumerate();
        let lasts = ranks.filter_map(|(rank, ops)| {
            let at = ops.len().checked_sub(1)?;
            Some((OpPlace { rank, at }, ops[at].end))
        });
        let last = lasts.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.rank.cmp(&a.0.rank)));
        let Some((mut place, _)) = last else {
            return Vec::new();
        };
        let mut path = vec![place];
        // Every step goes to an op that ended before: no more steps than ops.
        while let StartCause::Rank(cause) | StartCause::Result(cause) | StartCause::Host(cause) = self.cause(place) {
            path.push(cause);
            place = cause;
        }
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::order::{StagePlacement, parse_ranks};
    use crate::pipeline::{Durations, simulate};

    #[test]
    fn the_critical_path_has_no_gap_and_ends_with_the_step() {
        let ranks = parse_ranks("0F0,(0F1;0BW0),0BW1|1F0,1BW0,1F1,1BW1").unwrap();
        let order = Order::new(ranks, 2, StagePlacement::Loop, 2);
        let timeline = simulate(&order, &Durations::unit(2).with_p2p(0.25)).unwrap();
        let trace = Trace::new(&order, &timeline, 0.25);
        let path = trace.critical_path();
        let ops: Vec<TimedOp> = path.iter().map(|place| trace.get(*place).unwrap()).collect();
        assert!(ops[0].start.abs() < 1e-12);
        assert!((ops[ops.len() - 1].end - timeline.makespan()).abs() < 1e-12);
        for (before, after) in path.iter().zip(&path[1..]) {
            let crossing = if before.rank == after.rank { 0.0 } else { 0.25 };
            let (before, after) = (trace.get(*before).unwrap(), trace.get(*after).unwrap());
            assert!((before.end + crossing - after.start).abs() < 1e-12);
        }
    }

    /// By hand: the first forward of rank r has crossed r links and r ranks, and nothing else waits for a message in a
    /// GPipe whose ranks are equal but the gradients that come back: the last rank turns at once, rank r waits for its
    /// first gradient, which has crossed p − 1 − r links.
    #[test]
    fn messages_of_gpipe_lie_where_the_closed_form_puts_them() {
        let (f, b, p2p) = (1.0, 2.0, 0.25);
        for (p, m) in [(2u32, 1u32), (4, 8), (5, 3)] {
            let rank = |rank: u32| {
                let passes = |name: &'static str| (0..m).map(move |i| format!("{rank}{name}{i}"));
                passes("F").chain(passes("BW")).collect::<Vec<_>>().join(",")
            };
            let ranks = (0..p).map(rank).collect::<Vec<_>>().join("|");
            let order = Order::new(parse_ranks(&ranks).unwrap(), p, StagePlacement::Loop, m);
            let timeline = simulate(&order, &Durations::uniform(p, f, b / 2.0, b / 2.0).with_p2p(p2p)).unwrap();
            let (last, m) = (f64::from(p - 1), f64::from(m));
            let mut expected = Vec::new();
            for rank in 0..p as usize {
                let r = rank as f64;
                let mut put = |to: f64| expected.push(Awaited { rank, from: to - p2p, to });
                if rank > 0 {
                    put(r * (f + p2p));
                }
                if r < last {
                    // All forwards of the last rank, then the first gradient back to here.
                    put(last * (f + p2p) + m * f + (last - r) * (b + p2p));
                }
            }
            let found = awaited(&order, &timeline, p2p);
            assert_eq!(found.len(), expected.len(), "{p}: {found:?}");
            for (found, expected) in found.iter().zip(&expected) {
                let same = (found.from - expected.from).abs() + (found.to - expected.to).abs() < 1e-9;
                assert!(same && found.rank == expected.rank, "{found:?} {expected:?}");
            }
            assert!(awaited(&order, &timeline, 0.0).is_empty());
        }
    }

    #[test]
    fn a_backward_waits_for_the_gradient_of_the_next_stage() {
        let ranks = parse_ranks("0F0,0BW0|1F0,1BW0").unwrap();
        let order = Order::new(ranks, 2, StagePlacement::Loop, 1);
        let timeline = simulate(&order, &Durations::unit(2)).unwrap();
        let trace = Trace::new(&order, &timeline, 0.0);
        let cause = trace.cause(OpPlace { rank: 0, at: 1 });
        assert_eq!(cause, StartCause::Result(OpPlace { rank: 1, at: 1 }));
        assert_eq!(trace.cause(OpPlace { rank: 0, at: 0 }), StartCause::Nothing);
    }
}
