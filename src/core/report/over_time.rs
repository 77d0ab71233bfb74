//! The memory of one rank over one step: what the simulated schedule keeps alive at every instant, and why the fullest
//! instant is the fullest.
//!
//! By the detailed method, whose peak is this curve's peak; the published methods have no time axis. Where that peak is
//! one of three moments (the loss, a layer's backward pass, the optimizer's step) the curve is made of them. The memory
//! module lists what is allocated from one change to the next ([`memory::curve`](crate::memory::curve)); the timeline
//! gives the times, which op runs, and that transients are added only while a backward op runs.

use super::Evaluation;
use crate::memory::MemoryMethod;
use crate::memory::curve::{ActivationChange, CurvePoint, LiveChunk, curve};
use crate::memory::detailed::{self, Detailed, PeakMoment, memory_at};
use crate::memory::{Component, Lifetime, RankLoad, StageMemory};
use crate::pipeline::{OpKind, TimedOp, Way};
use crate::sort::sort_by;
use crate::units::{Bytes, Seconds};

/// From one change to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instant {
    /// When it begins.
    pub time: Seconds,
    /// The six components, in the order of the bars.
    pub components: [Bytes; 6],
    /// The op that began last, by its index in the rank's timeline; none before the first.
    pub op: Option<usize>,
}

impl Instant {
    pub fn total(&self) -> Bytes {
        self.components.into_iter().sum()
    }
}

/// One rank over one step.
#[derive(Clone, Debug, PartialEq)]
pub struct OverTime {
    /// Pipeline rank.
    pub rank: usize,
    /// End of the last rank's last op.
    pub makespan: Seconds,
    /// Every change, in order of time; the first at 0.
    pub instants: Vec<Instant>,
    /// Index of the fullest instant, the first of equals.
    pub peak: usize,
    /// Activations alive then, with the layers of each chunk.
    pub alive: Vec<(LiveChunk, u64)>,
    /// Logits and inputs of the head among it.
    pub head: Bytes,
    /// The op that began last then.
    pub op: Option<TimedOp>,
    /// Buffers that exist while a backward op runs, with their names.
    pub momentary: Vec<(&'static str, Bytes)>,
    /// The moment of the step that is the fullest, where the curve is made of moments.
    pub moment: Option<PeakMoment>,
}

impl OverTime {
    /// The fullest instant.
    pub fn fullest(&self) -> Instant {
        self.instants.get(self.peak).copied().unwrap_or(EMPTY)
    }

    /// The index of the instant at `time`.
    pub(crate) fn index_at(&self, time: Seconds) -> usize {
        let after = self.instants.partition_point(|one| one.time.0 <= time.0);
        after.saturating_sub(1)
    }

    /// The instant at `time`.
    pub fn at(&self, time: Seconds) -> Instant {
        let at = self.index_at(time);
        self.instants.get(at).copied().unwrap_or(EMPTY)
    }
}

const EMPTY: Instant = Instant { time: Seconds(0.0), components: [Bytes(0.0); 6], op: None };

/// The memory of pipeline rank `rank` over the step of `evaluation`; none where there is no such rank.
pub fn over_time(evaluation: &Evaluation, rank: usize) -> Option<OverTime> {
    let scenario = &evaluation.scenario;
    let ops = evaluation.timeline().ranks.get(rank)?;
    let load = evaluation.loads.get(rank)?;
    if scenario.peaks_by_moment() {
        return Some(by_moment(evaluation, rank, ops, load));
    }
    let estimate = Detailed.estimate(scenario, &evaluation.loads);
    let estimate = estimate.per_stage.get(rank)?;
    let momentary = momentary(estimate);
    let transients: Bytes = momentary.iter().map(|(_, bytes)| *bytes).sum();
    let by_layer = scenario.run.schedule.pairs_by_layer();
    let mut events = events(ops, by_layer);
    if let Some(away) = &evaluation.order.away {
        add_ways(&mut events, away.of_rank(rank));
    }
    let splits = f64::from(evaluation.order.splits.max(1));
    let changes: Vec<ActivationChange> = events.iter().map(|event| event.change(ops, 1.0 / splits, by_layer)).collect();
    let curve = curve(scenario, rank, load, &changes);
    let instants = instants(&curve.points, &events, ops, estimate, transients);
    let peak = fullest(&instants);
    let head = curve.alive.iter().map(|alive| {
        let head = detailed::heads(scenario, alive.stage);
        Bytes(alive.microbatches * head.map_or(0.0, |head| head.held + head.inputs))
    });
    let layers = |stage: usize| scenario.stage_layers.get(stage).copied().unwrap_or(0);
    let running = instants.get(peak).and_then(|instant| instant.op);
    Some(OverTime {
        rank,
        makespan: Seconds(evaluation.timeline().makespan()),
        peak,
        head: head.sum(),
        op: running.and_then(|at| ops.get(at)).copied(),
        alive: curve.alive.iter().map(|alive| (*alive, layers(alive.stage))).collect(),
        instants,
        momentary,
        moment: None,
    })
}

/// The curve of a rank whose fullest moment is that of a loss, of a layer's backward pass or of the optimizer's step:
/// while a backward op runs the fuller of the first two, at the end of the step the third.
fn by_moment(evaluation: &Evaluation, rank: usize, ops: &[TimedOp], load: &RankLoad) -> OverTime {
    let scenario = &evaluation.scenario;
    let makespan = evaluation.timeline().makespan();
    let by_layer = scenario.run.schedule.pairs_by_layer();
    let mut events = events(ops, by_layer);
    if let Some(away) = &evaluation.order.away {
        add_ways(&mut events, away.of_rank(rank));
    }
    let unit = 1.0 / f64::from(evaluation.order.splits.max(1));
    let mut now = RankLoad { in_flight: vec![0.0; load.stages.len()], ..load.clone() };
    let mut known: Vec<(Vec<f64>, bool, StageMemory, Option<PeakMoment>)> = Vec::new();
    let mut look = |now: &RankLoad, backward: bool| -> (StageMemory, Option<PeakMoment>) {
        if let Some(found) = known.iter().find(|found| found.0 == now.in_flight && found.1 == backward) {
            return (found.2.clone(), found.3);
        }
        let at = |moment| (memory_at(scenario, rank, now, moment), moment);
        let (memory, moment) = if backward {
            let (loss, layer) = (at(Some(PeakMoment::Loss)), at(Some(PeakMoment::Backward)));
            if loss.0.total.0 > layer.0.total.0 { loss } else { layer }
        } else {
            at(None)
        };
        known.push((now.in_flight.clone(), backward, memory.clone(), moment));
        (memory, moment)
    };
    let mut running = RunningOps::default();
    let mut points: Vec<(Instant, StageMemory, Option<PeakMoment>, Vec<f64>)> = Vec::new();
    let mut add = |time: f64, op, (memory, moment): (StageMemory, Option<PeakMoment>), alive: Vec<f64>| {
        let components = memory.components().map(|(_, bytes)| bytes);
        let point = (Instant { time: Seconds(time), components, op }, memory, moment, alive);
        // Changes of one time are one instant.
        match points.last_mut() {
            Some(last) if last.0.time.0.total_cmp(&time).is_eq() => *last = point,
            _ => points.push(point),
        }
    };
    add(0.0, None, look(&now, false), now.in_flight.clone());
    for event in &events {
        let change = event.change(ops, unit, by_layer);
        if let Some(at) = now.stages.iter().position(|stage| *stage == change.stage) {
            now.in_flight[at] = (now.in_flight[at] + change.by).max(0.0);
        }
        running.take(event, ops);
        add(event.time, running.last, look(&now, running.backwards > 0), now.in_flight.clone());
    }
    let step = (memory_at(scenario, rank, &now, Some(PeakMoment::Step)), Some(PeakMoment::Step));
    // It follows the last op, with which the axis ends.
    let last = events.last().map_or(0.0, |event| event.time);
    add(if last > makespan { last } else { makespan }, None, step, now.in_flight.clone());
    let instants: Vec<Instant> = points.iter().map(|point| point.0).collect();
    let peak = fullest(&instants);
    let (instant, memory, moment, alive) = &points[peak];
    let layers = |stage: usize| scenario.stage_layers.get(stage).copied().unwrap_or(0);
    let activations = memory.activations;
    let count: f64 = alive.iter().sum();
    let alive = load.stages.iter().zip(alive).filter(|(_, microbatches)| **microbatches > 0.0);
    let alive = alive.map(|(stage, microbatches)| {
        // Chunks of one rank keep as much by layer.
        let bytes = activations * (microbatches / count);
        (LiveChunk { stage: *stage, microbatches: *microbatches, bytes }, layers(*stage))
    });
    OverTime {
        rank,
        makespan: Seconds(makespan),
        peak,
        head: Bytes::ZERO,
        op: instant.op.and_then(|at| ops.get(at)).copied(),
        alive: alive.collect(),
        momentary: momentary(memory),
        moment: *moment,
        instants,
    }
}

/// The ops that run on a rank after the events that were taken.
#[derive(Default)]
struct RunningOps {
    /// Backward ops that run.
    backwards: u32,
    /// Place of the op that began last.
    last: Option<usize>,
}

impl RunningOps {
    /// Takes the beginning or the end of an op; ways of activations are none.
    fn take(&mut self, event: &Event, ops: &[TimedOp]) {
        if event.is_way {
            return;
        }
        let backward = u32::from(ops[event.op].op.kind != OpKind::F);
        if event.begins {
            self.backwards += backward;
            self.last = Some(event.op);
        } else {
            self.backwards -= backward;
        }
    }
}

/// The instants of a rank: the `points` of its curve, the first of which is before the first of `events`. Of the
/// buffers `transients` exist only while a backward op runs.
fn instants(
    points: &[CurvePoint],
    events: &[Event],
    ops: &[TimedOp],
    estimate: &StageMemory,
    transients: Bytes,
) -> Vec<Instant> {
    let mut instants: Vec<Instant> = Vec::with_capacity(points.len());
    let mut running = RunningOps::default();
    for (at, point) in points.iter().enumerate() {
        if let Some(event) = at.checked_sub(1).and_then(|at| events.get(at)) {
            running.take(event, ops);
        }
        let buffers = if running.backwards > 0 { point.buffers } else { point.buffers - transients };
        let instant = Instant {
            time: point.time,
            components: [
                estimate.weights,
                estimate.gradients,
                estimate.optimizer,
                point.activations,
                buffers,
                point.overhead,
            ],
            op: running.last,
        };
        // Changes of one time are one instant.
        match instants.last_mut() {
            Some(last) if last.time.0.total_cmp(&point.time.0).is_eq() => *last = instant,
            _ => instants.push(instant),
        }
    }
    instants
}

/// The index of the fullest instant, the first of equals.
fn fullest(instants: &[Instant]) -> usize {
    let (mut peak, mut most) = (0, 0.0);
    for (at, instant) in instants.iter().enumerate() {
        let total = instant.total().0;
        if total > most * (1.0 + 1e-12) {
            (peak, most) = (at, total);
        }
    }
    peak
}

/// The buffers of a rank that exist while a backward op runs.
fn momentary(estimate: &StageMemory) -> Vec<(&'static str, Bytes)> {
    let buffers = estimate.parts(Component::Buffers).into_iter();
    buffers.filter(|item| item.lifetime == Lifetime::Momentary).map(|item| (item.name, item.bytes)).collect()
}

/// An op begins or ends.
struct Event {
    time: f64,
    begins: bool,
    op: usize,
    /// Activations leave for the host, or begin to come back.
    is_way: bool,
}

impl Event {
    /// An activation lives from the begin of its forward to the end of the op that frees it.
    fn change(&self, ops: &[TimedOp], unit: f64, by_layer: bool) -> ActivationChange {
        if self.is_way {
            let stage = ops.first().map_or(0, |op| op.op.stage as usize);
            let by = if self.begins { unit } else { -unit };
            return ActivationChange { time: Seconds(self.time), stage, by };
        }
        let op = ops[self.op].op;
        let early = by_layer && paired(ops, self.op);
        let by = match (self.begins, op.kind) {
            (true, OpKind::F) => unit,
            (begins, kind) if kind.frees() && begins == early => -unit,
            _ => 0.0,
        };
        ActivationChange { time: Seconds(self.time), stage: op.stage as usize, by }
    }
}

/// Begins and ends in order of time: what ends when another begins is freed first.
fn events(ops: &[TimedOp], by_layer: bool) -> Vec<Event> {
    let both = |(op, timed): (usize, &TimedOp)| {
        let event = |time, begins| Event { time, begins, op, is_way: false };
        [event(timed.start, true), event(timed.end, false)]
    };
    let mut events: Vec<Event> = ops.iter().enumerate().flat_map(both).collect();
    // In a pair that runs layer by layer the backward pass frees its memory first.
    let frees = |event: &Event| by_layer && ops[event.op].op.kind.frees();
    sort_by(&mut events, |a, b| {
        let order = a.time.total_cmp(&b.time).then(a.begins.cmp(&b.begins));
        order.then(frees(b).cmp(&frees(a)))
    });
    events
}

/// Adds activations that are off the GPU: gone at the end of their way to the host, there again when their way back
/// begins.
fn add_ways<'w>(events: &mut Vec<Event>, ways: impl Iterator<Item = &'w Way>) {
    // Times of ops are sums, whose last digits may differ: what makes the room for a way back is gone before.
    const AFTER: f64 = 1.0 + 1e-12;
    events.extend(ways.map(|way| Event {
        time: if way.is_back { way.start * AFTER } else { way.end },
        begins: way.is_back,
        op: 0,
        is_way: true,
    }));
    sort_by(events, |a, b| a.time.total_cmp(&b.time).then(a.begins.cmp(&b.begins)));
}

/// True if a forward pass begins with op `index`.
fn paired(ops: &[TimedOp], index: usize) -> bool {
    let start = ops[index].start;
    let near = index.saturating_sub(1)..(index + 2).min(ops.len());
    let mut others = near.filter(|other| *other != index);
    others.any(|other| ops[other].op.kind == OpKind::F && ops[other].start.total_cmp(&start).is_eq())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::run::{Run, Schedule};

    fn curve(run: &Run, rank: usize) -> OverTime {
        over_time(&evaluate(run).unwrap(), rank).unwrap()
    }

    /// Narayanan 2021, section 2.2.1: rank r of 1F1B holds p - r micro-batches.
    #[test]
    fn one_f_one_b_peaks_with_p_minus_r_microbatches_alive() {
        for rank in 0..4 {
            let curve = curve(&Run::default(), rank);
            assert_eq!(curve.alive.len(), 1);
            let (alive, layers) = curve.alive[0];
            assert_eq!((alive.stage, layers), (rank, 8));
            assert_eq!(alive.microbatches, (4 - rank) as f64);
            let op = curve.op.unwrap().op;
            assert_eq!((op.kind, op.microbatch), (OpKind::BW, 0));
        }
    }

    #[test]
    fn the_fullest_instant_is_the_reports_peak_under_every_schedule() {
        for schedule in [
            Schedule::Gpipe,
            Schedule::OneFOneB,
            Schedule::Interleaved,
            Schedule::ZbH1,
            Schedule::ZbV,
            Schedule::VHalf,
            Schedule::DualPipe,
            Schedule::DualPipeV,
            Schedule::Chimera,
            Schedule::Hanayo,
            Schedule::Seq1F1B,
            Schedule::Overlap,
        ] {
            let run = Run {
                schedule,
                virtual_stages: if schedule == Schedule::Interleaved { 2 } else { 1 },
                ..Run::default()
            };
            let evaluation = evaluate(&run).unwrap();
            for memory in &evaluation.report.memory.per_stage {
                let curve = over_time(&evaluation, memory.stage).unwrap();
                let peak = curve.fullest().total();
                let off = peak / memory.total - 1.0;
                assert!(off.abs() < 1e-9, "{schedule:?} {} {off}", memory.stage);
                let most = curve.instants.iter().map(|one| one.total().0);
                assert!(most.fold(0.0, f64::max) <= peak.0 * (1.0 + 1e-9));
            }
        }
    }

    /// One stage, whose gradients are freed after the step: the curve's fullest instant is the peak of the report, at
    /// the moment that the estimate is of, whichever that is.
    #[test]
    fn the_fullest_moment_is_the_reports_peak() {
        let fsdp = "stack=fsdp2&tp=1&pp=1&zero=3&global_batch=128";
        let one = "stack=hf-trainer&tp=1&pp=1&gpus=1&global_batch=4";
        let titan = "stack=torchtitan&tp=1&pp=1&gpus=1&global_batch=8";
        let cases = [
            (fsdp, ""),
            (fsdp, "&recompute=full&seq_len=65536"),
            (fsdp, "&seq_len=512"),
            (titan, "&recompute=full"),
            (one, "&adapter.method=lora&seq_len=1024"),
            (one, "&adapter.method=qlora"),
        ];
        let mut moments = Vec::new();
        for (first, second) in cases {
            let texts = first.split('&').chain(second.split('&')).filter_map(|part| part.split_once('='));
            let texts: Vec<(&'static str, String)> = texts.map(|(key, text)| (key, text.to_owned())).collect();
            let run = Run::default().with_texts(&texts).unwrap();
            let evaluation = evaluate(&run).unwrap();
            let curve = over_time(&evaluation, 0).unwrap();
            let (peak, total) = (curve.fullest().total(), evaluation.report.memory.peak_bytes);
            assert!((peak / total - 1.0).abs() < 1e-9, "{second:?}: {peak:?} {total:?}");
            assert!(curve.instants.iter().all(|one| one.total().0 <= peak.0 * (1.0 + 1e-9)));
            assert!(curve.instants.iter().map(|one| one.time.0).is_sorted());
            moments.extend(curve.moment);
        }
        assert_eq!(moments.len(), cases.len());
        assert!(
            moments.contains(&PeakMoment::Step) && moments.iter().any(|moment| *moment != PeakMoment::Step),
            "{moments:?}"
        );
    }

    #[test]
    fn a_step_ends_as_it_began() {
        let curve = curve(&Run::default(), 0);
        let (first, last) = (curve.at(Seconds(-1.0)), *curve.instants.last().unwrap());
        assert_eq!(last.components[3], Bytes::ZERO);
        assert_eq!(last.components[4], first.components[4]);
        assert_eq!(first.time, Seconds::ZERO);
        assert_eq!(curve.at(curve.fullest().time), curve.fullest());
        let times: Vec<_> = curve.instants.iter().map(|one| one.time.0).collect();
        assert!(times.is_sorted());
    }
}
