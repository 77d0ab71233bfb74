//! Figures of a timeline: makespan, the three bubbles that papers print, activations held, messages.
//!
//! busy(r) = the op durations of rank r as executed; ideal = mean of busy(r).
//! * `bubble_fraction` = 1 − ideal / makespan: share of the ranks' time that is idle (GPipe, Chimera, Hanayo);
//! * `bubble_over_ideal` = makespan / ideal − 1: idle over ideal time (Megatron, playbook); may exceed 1;
//! * `bubble_span` = max over r of (last end − first start − busy(r)) / busy(r): what the zero-bubble papers count,
//!   the skew of the start left out. Where every rank works equally long, dividing by the ideal time is the same: 533
//!   of the 555 rows that an independent simulator printed. In the other 22 a pair takes less than its parts and ranks
//!   fuse unequally many; they divide by the rank's own work, and so does this (`tests/schedules/peers.rs` holds both).

use super::fault::OrderFault;
use super::op::{Half, TimedOp};
use super::op::{OpKind, OrderItem};
use super::order::{Order, StagePlacement};
use super::row::{RankRow, Visit};
use super::simulate::{Spans, Timeline};
use serde::Serialize;

/// The numbers of one simulated step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// First start to last end over all ranks, seconds.
    pub makespan_s: f64,
    /// Mean busy time of a rank, seconds.
    pub ideal_s: f64,
    /// Idle share of the ranks' time.
    pub bubble_fraction: f64,
    /// Idle over ideal time.
    pub bubble_over_ideal: f64,
    /// Idle between a rank's first start and last end over its work, on the worst rank.
    pub bubble_span: f64,
    /// The largest makespan − busy(r), seconds.
    pub idle_max_s: f64,
    /// Seconds that each rank works.
    pub busy_s: Vec<f64>,
    /// Most chunk activations (of a split, where sequences are cut) that each rank holds at once.
    pub peak_in_flight: Vec<u32>,
    /// The most that each rank holds in stage-micro-batches: what multiplies the activations of its layers for one
    /// micro-batch.
    pub in_flight: Vec<f64>,
    /// Copies of its share of the weights on each rank.
    pub weight_copies: Vec<u32>,
    /// Boundary tensors that cross ranks, forward and backward, per micro-batch.
    pub messages_per_microbatch: f64,
}

impl Stats {
    /// Measures `spans`, which `order` gave.
    pub fn of(order: &Order, spans: &Spans) -> Self {
        let makespan_s = spans.makespan();
        let busy_s = spans.busy.clone();
        let ideal_s = busy_s.iter().sum::<f64>() / busy_s.len().max(1) as f64;
        let lengths = spans.starts.iter().zip(&spans.ends);
        let bubble_span =
            lengths.zip(&busy_s).map(|((start, end), busy)| over(end - start - busy, *busy)).fold(0.0, f64::max);
        let peak_in_flight = peak_in_flight(order);
        let a_microbatch = f64::from(order.chunks_per_rank() * order.splits);
        Self {
            makespan_s,
            ideal_s,
            bubble_fraction: over(makespan_s - ideal_s, makespan_s),
            bubble_over_ideal: over(makespan_s - ideal_s, ideal_s),
            bubble_span,
            idle_max_s: busy_s.iter().map(|busy| makespan_s - busy).fold(0.0, f64::max),
            busy_s,
            in_flight: peak_in_flight.iter().map(|peak| f64::from(*peak) / a_microbatch).collect(),
            peak_in_flight,
            weight_copies: order.weight_copies.clone(),
            messages_per_microbatch: messages_per_microbatch(order),
        }
    }
}

impl Stats {
    /// Figures of a pipeline whose step takes `step_s`, because it never drains or because it waits for a tower beside
    /// it. A rank is idle for the part of the step that it does not work.
    pub(crate) fn in_steady_state(self, step_s: f64) -> Self {
        let busy = self.busy_s.iter().copied();
        // Sums of the same times may differ in their last digits: no rank works longer than a step.
        let makespan_s = busy.clone().fold(step_s, f64::max);
        let idle_s = makespan_s - self.ideal_s;
        Self {
            makespan_s,
            bubble_fraction: over(idle_s, makespan_s),
            bubble_over_ideal: over(idle_s, self.ideal_s),
            bubble_span: busy.clone().map(|busy| over(makespan_s - busy, busy)).fold(0.0, f64::max),
            idle_max_s: busy.map(|busy| makespan_s - busy).fold(0.0, f64::max),
            ..self
        }
    }
}

/// Fill and drain of a simulated step, seconds: until the last rank starts, and from its end to that of the first. A
/// pipeline that never drains has them once in a training.
pub(crate) fn fill_and_drain(spans: &Spans) -> (f64, f64) {
    let last = |times: &[f64]| times.last().copied().unwrap_or(0.0);
    (last(&spans.starts), spans.makespan() - last(&spans.ends))
}

/// The version of the weights that each micro-batch is computed with on a rank that updates them after every backward:
/// the number of updates before its forward. Its backward takes the same version from the stash (`PipeDream`, section
/// 3.3).
pub fn weight_versions(ops: &[TimedOp]) -> Vec<i32> {
    let mut versions = Vec::new();
    let mut updates = 0;
    for TimedOp { op, .. } in ops {
        match op.kind {
            OpKind::F => versions.push(updates),
            kind if kind.frees() => updates += 1,
            _ => {}
        }
    }
    versions
}

/// Version that a micro-batch meets where weights are updated once in `every` micro-batches and a rank keeps two
/// versions: micro-batch k of the training, from 0, meets max(⌊k/every⌋ − 1, 0), that of one update ago on every
/// rank (`PipeDream-2BW`, section 3.1).
pub fn buffered_version(k: u32, every: u32) -> i32 {
    let updates = i32::try_from(k / every.max(1)).unwrap_or(i32::MAX);
    (updates - 1).max(0)
}

fn over(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Most activations that each rank holds at once: from the start of F to the end of BW or W. It depends on the order
/// alone, since a rank runs one entry at a time; a pair counts its new forward before it frees the old one. What is on
/// the host is not held.
pub fn peak_in_flight(order: &Order) -> Vec<u32> {
    if let Some(away) = &order.away {
        return away.held.clone();
    }
    let peak = |row: &RankRow| {
        let (mut alive, mut peak) = (0i64, 0i64);
        row.ends(|part| match part {
            Visit::Item(item) => {
                alive += count(item, |kind| kind == OpKind::F);
                peak = peak.max(alive);
                alive -= count(item, OpKind::frees);
            }
            Visit::Skipped(items, times) => {
                let gained = |item: &OrderItem| count(*item, |kind| kind == OpKind::F);
                let freed = |item: &OrderItem| count(*item, OpKind::frees);
                let change: i64 = items.iter().map(|item| gained(item) - freed(item)).sum();
                alive += change * i64::from(times);
            }
        });
        u32::try_from(peak).unwrap_or(0)
    };
    order.ranks.iter().map(peak).collect()
}

fn count(item: OrderItem, which: impl Fn(OpKind) -> bool) -> i64 {
    item.ops().map(|op| i64::from(which(op.kind))).sum()
}

/// Activations that a rank holds of each of its stages.
#[derive(Clone, Debug)]
pub struct Alive<'a> {
    /// Activations stage by stage.
    pub counts: Vec<u32>,
    stages: &'a [usize],
}

impl<'a> Alive<'a> {
    /// None, of `stages`.
    pub fn none(stages: &'a [usize]) -> Self {
        Self { counts: vec![0; stages.len()], stages }
    }
    fn count(&mut self, stage: u32) -> Option<&mut u32> {
        let at = self.stages.iter().position(|one| *one == stage as usize)?;
        self.counts.get_mut(at)
    }
    /// Adds the activations of `items`, which run `times` times.
    pub fn add(&mut self, items: &[OrderItem], times: u32) {
        for item in items {
            for op in item.ops().filter(|op| op.kind == OpKind::F) {
                if let Some(count) = self.count(op.stage) {
                    *count += times;
                }
            }
        }
    }
    /// Subtracts the activations that `items` free, which run `times` times.
    pub fn free(&mut self, items: &[OrderItem], times: u32) {
        for item in items {
            for op in item.ops().filter(|op| op.kind.frees()) {
                if let Some(count) = self.count(op.stage) {
                    *count = count.saturating_sub(times);
                }
            }
        }
    }
}

/// Activations that a rank holds over time: each change with its time, ascending.
pub fn in_flight_curve(ops: &[TimedOp]) -> Vec<(f64, u32)> {
    let mut changes: Vec<(f64, bool)> = Vec::with_capacity(ops.len());
    // Blocks follow each other: one op, or the two of a pair, of which the new forward counts before the old is freed.
    for block in ops.chunk_by(|_, next| next.half == Half::Second) {
        let gained = block.iter().filter(|op| op.op.kind == OpKind::F);
        changes.extend(gained.map(|op| (op.start, true)));
        let freed = block.iter().filter(|op| op.op.kind.frees());
        changes.extend(freed.map(|op| (op.end, false)));
    }
    let mut alive = 0u32;
    let mut curve: Vec<(f64, u32)> = Vec::with_capacity(changes.len());
    for (time, gained) in changes {
        alive = if gained { alive + 1 } else { alive.saturating_sub(1) };
        match curve.last_mut() {
            Some(last) if last.0.total_cmp(&time).is_eq() => last.1 = alive,
            _ => curve.push((time, alive)),
        }
    }
    curve
}

/// Boundary tensors that cross ranks, forward and backward, per micro-batch.
pub fn messages_per_microbatch(order: &Order) -> f64 {
    let (p, units) = (order.pp(), order.units() as usize);
    let crossing = if order.placement == StagePlacement::Given {
        let mut home = vec![usize::MAX; order.stages as usize * units];
        for (rank, row) in order.ranks.iter().enumerate() {
            for op in row.iter().flat_map(OrderItem::ops) {
                let cell = op.stage as usize * units + op.microbatch as usize;
                if let Some(home) = home.get_mut(cell) {
                    *home = rank;
                }
            }
        }
        let crossings = home.iter().zip(home.iter().skip(units));
        crossings.filter(|(before, after)| before != after).count()
    } else {
        let crosses = |stage: &u32| order.placement.crosses(*stage, p);
        (1..order.stages).filter(crosses).count() * units
    };
    2.0 * crossing as f64 / f64::from(order.microbatches.max(1))
}

/// Simulates and measures in one go.
///
/// # Errors
/// As [`super::simulate()`].
pub fn measure(order: &Order, durations: &super::Durations) -> Result<(Timeline, Stats), OrderFault> {
    let timeline = super::simulate(order, durations)?;
    let stats = Stats::of(order, &timeline.spans());
    Ok((timeline, stats))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::order::{StagePlacement, parse_ranks};
    use crate::pipeline::{Durations, Op, simulate};

    fn order(text: &str) -> Order {
        Order::new(parse_ranks(text).unwrap(), 2, StagePlacement::Loop, 2)
    }

    #[test]
    fn the_three_bubbles_of_gpipe_on_two_ranks_by_hand() {
        // F0 F1 . BW0 BW1 / . F0 F1 BW0 BW1 with BW of 2 slots: 9 slots, 6 of them work.
        let order = order("0F0,0F1,0BW0,0BW1|1F0,1F1,1BW0,1BW1");
        let (_, stats) = measure(&order, &Durations::unit(2)).unwrap();
        assert_eq!((stats.makespan_s, stats.ideal_s), (9.0, 6.0));
        assert!((stats.bubble_fraction - 1.0 / 3.0).abs() < 1e-12);
        assert!((stats.bubble_over_ideal - 0.5).abs() < 1e-12);
        assert!((stats.bubble_span - 0.5).abs() < 1e-12);
        assert_eq!(stats.peak_in_flight, [2, 2]);
        assert!((stats.messages_per_microbatch - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_pair_is_worked_once_and_holds_its_new_forward_before_it_frees() {
        let order = order("0F0,(0F1;0BW0),0BW1|1F0,1BW0,1F1,1BW1");
        let durations = Durations::unit(2).with_pair(2.5);
        let (timeline, stats) = measure(&order, &durations).unwrap();
        assert_eq!(stats.busy_s, [1.0 + 2.5 + 2.0, 6.0]);
        assert_eq!(stats.peak_in_flight, [2, 1]);
        let curve = in_flight_curve(&timeline.ranks[0]);
        assert_eq!(curve.iter().map(|point| point.1).max(), Some(2));
        assert_eq!(curve.last().map(|point| point.1), Some(0));
    }

    /// PipeDream on four stages: micro-batch 5, counted from 1, meets on stage 1 the weights behind micro-batch 1's
    /// update, its backward comes after those of 2, 3 and 4; rank r has p - r versions at once.
    #[test]
    fn weight_versions_are_those_of_pipedream_s_figure() {
        use crate::pipeline::{Spec, build, schedule};
        let spec = Spec::new(schedule("pipedream").unwrap(), 4, 16);
        let durations = Durations::unit(4);
        let order = build(&spec, &durations).unwrap().order;
        let timeline = simulate(&order, &durations).unwrap();
        let ops = &timeline.ranks[0];
        assert_eq!(weight_versions(ops)[..5], [0, 0, 0, 0, 1]);
        let before = ops.iter().take_while(|one| one.op != Op::bw(0, 4));
        assert_eq!(before.filter(|one| one.op.kind == OpKind::BW).count(), 4);
        for (rank, ops) in timeline.ranks.iter().enumerate() {
            let versions = weight_versions(ops);
            let behind = |k: usize| i32::try_from(k).unwrap() - versions[k];
            let most = (0..versions.len()).map(behind).max().unwrap() + 1;
            assert_eq!(u32::try_from(most), Ok(order.weight_copies[rank]));
        }
    }

    /// `PipeDream-2BW`, figure 2 (d = m = 4): inputs 1 to 8 meet version 0, 9 to 12 version 1. What is in flight at
    /// once, at most one input a stage, meets two versions at most.
    #[test]
    fn double_buffered_weights_are_those_of_the_2bw_paper() {
        let versions: Vec<i32> = (0..16).map(|k| buffered_version(k, 4)).collect();
        assert_eq!(versions, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
        for flight in versions.windows(4) {
            assert!(flight[3] - flight[0] <= 1);
        }
    }

    #[test]
    fn an_activation_lives_until_its_weight_gradient() {
        let order = order("0F0,0F1,0B0,0B1,0W0,0W1|1F0,1B0,1W0,1F1,1B1,1W1");
        let timeline = simulate(&order, &Durations::unit(2)).unwrap();
        assert_eq!(peak_in_flight(&order), [2, 1]);
        let curve = in_flight_curve(&timeline.ranks[0]);
        let end = timeline.ranks[0].last().unwrap().end;
        assert_eq!(curve.last(), Some(&(end, 0)));
    }
}
