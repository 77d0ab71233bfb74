//! The least time of a Run's pipeline by the room of its ranks: where all activations stay, and where they may leave
//! for the host.

use crate::memory::chunk_activation_bytes;
use crate::pipeline::certify::StepStages;
use crate::pipeline::certify::leaving::order_with_offload;
use crate::pipeline::certify::offload::{OffloadRules, OffloadedStage, least_with_offload};
use crate::report::{Evaluation, copy_rate};
use crate::units::{Bytes, Seconds};

/// Seconds of a way that nothing takes.
const NEVER: f64 = 1e12;

/// Bounds for ranks with room for as many micro-batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoomBound {
    pub room: u32,
    /// Activations on the rank that then holds most.
    pub bytes: Bytes,
    /// No order is faster where every activation stays.
    pub stays_s: Seconds,
    /// No order is faster whatever leaves over the link to the host.
    pub leaves_s: Seconds,
    /// An order in which some leave; none for a pipeline that is too long to be searched.
    pub found: Option<FoundOrder>,
}

/// An order with activations that leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundOrder {
    pub step_s: Seconds,
    /// Micro-batches that leave the first stage.
    pub leaving: usize,
}

/// Bounds of every room up to that of the ranks, with the share of a micro-batch's compute that its way to the host and
/// back takes on the slowest stage. None for a pipeline of one rank, or with several stages a rank, or with unequal
/// micro-batches.
pub fn bounds_by_room(evaluation: &Evaluation) -> Option<(Vec<RoomBound>, f64)> {
    let scenario = &evaluation.scenario;
    let never_drains = evaluation.report.pipeline.fill_s.is_some();
    if scenario.chunks != 1 || scenario.layout.pp < 2 || evaluation.durations.microbatch_scale.is_some() || never_drains
    {
        return None;
    }
    let stages = StepStages::of_order(&evaluation.order, &evaluation.durations).ok()?;
    if stages.home.len() != stages.ranks() {
        return None;
    }
    let kept: Vec<f64> = (0..stages.home.len()).map(|stage| chunk_activation_bytes(scenario, stage).0).collect();
    let most = kept.iter().copied().fold(0.0, f64::max);
    let rules =
        OffloadRules { microbatches: stages.microbatches, lag: stages.lag, is_split: !stages.whole, is_shared: false };
    let each = |room: u32, leaves: bool| {
        let each = kept.iter().enumerate().map(|(stage, kept)| {
            let way = if leaves { kept / copy_rate(scenario) } else { NEVER };
            OffloadedStage {
                forward: stages.forward[stage],
                backward: stages.backward_input[stage],
                weight: stages.weight(stage),
                out: way,
                back: way,
                room,
            }
        });
        each.collect::<Vec<_>>()
    };
    let of = |room: u32, leaves: bool| Seconds(least_with_offload(&each(room, leaves), rules));
    let found = |room: u32| {
        let order = order_with_offload(&each(room, true), rules)?;
        Some(FoundOrder { step_s: Seconds(order.makespan), leaving: order.leaving(0) })
    };
    let busy = kept.iter().enumerate().map(|(stage, kept)| 2.0 * kept / copy_rate(scenario) / stages.work(stage));
    let rooms = (1..=u32::try_from(stages.ranks()).ok()?).map(|room| RoomBound {
        room,
        bytes: Bytes(f64::from(room) * most),
        stays_s: of(room, false),
        leaves_s: of(room, true),
        found: found(room),
    });
    Some((rooms.collect(), busy.fold(0.0, f64::max)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::Trace;
    use crate::pipeline::trace::{OpPlace, StartCause};
    use crate::report::{evaluate, over_time::over_time};
    use crate::run::{Run, Schedule};

    /// No bound is above the run's own pipeline where its ranks hold as much, more room and a way out never make it
    /// longer, and a link without end makes it as short as room for all.
    #[test]
    fn no_bound_is_above_the_runs_own_order() {
        for schedule in [Schedule::OneFOneB, Schedule::ZbH1] {
            let run = Run { schedule, pp: 4, ..Run::default() };
            let evaluation = evaluate(&run).unwrap();
            let (rooms, _) = bounds_by_room(&evaluation).unwrap();
            assert_eq!(rooms.len(), 4);
            let own = evaluation.spans.makespan();
            assert!(rooms[3].stays_s.0 <= own * (1.0 + 1e-9), "{rooms:?} {own}");
            for pair in rooms.windows(2) {
                assert!(
                    pair[1].stays_s.0 <= pair[0].stays_s.0 + 1e-12 && pair[1].leaves_s.0 <= pair[0].leaves_s.0 + 1e-12
                );
            }
            assert!(rooms.iter().all(|room| room.leaves_s.0 <= room.stays_s.0 + 1e-12));
            // With room for all micro-batches under way an order is as short as 1F1B.
            assert!(rooms.iter().all(|room| room.found.unwrap().step_s.0 >= room.leaves_s.0 * (1.0 - 1e-9)));
            assert!(rooms[3].found.unwrap().step_s.0 <= own * 1.01 || schedule == Schedule::ZbH1);
            let mut fast = run.clone();
            fast.gpu.parts.host = Some(1e5);
            let (fast, busy) = bounds_by_room(&evaluate(&fast).unwrap()).unwrap();
            assert!(busy < 0.1 && fast[0].leaves_s.0 < rooms[0].leaves_s.0);
        }
        assert!(bounds_by_room(&evaluate(&Run { pp: 1, ..Run::default() }).unwrap()).is_none());
    }

    /// A run whose order lets activations leave takes what the bounds' order takes, no less than its bound, in the room
    /// that it is given; the fullest instant of its memory is the report's, and its host has what left.
    #[test]
    fn a_run_that_offloads_in_its_order_is_the_order_beside_the_bound() {
        let run = |room: u64, order: bool| {
            let mut run = Run { schedule: Schedule::Optimal, pp: 4, ..Run::default() };
            run.schedule_options.memory_limit = Some(room);
            run.offload.order = order.then_some(true);
            run.gpu.parts.host = Some(400.0);
            evaluate(&run).unwrap()
        };
        let (rooms, _) = bounds_by_room(&run(4, false)).unwrap();
        let (mut faster, mut waiting) = (0, 0);
        for (room, bounds) in (1..).zip(&rooms) {
            let (own, stays) = (run(room, true), run(room, false));
            let makespan = own.report.pipeline.makespan_s;
            let found = bounds.found.unwrap().step_s;
            assert!((makespan.0 / found.0 - 1.0).abs() < 1e-9, "{room}: {makespan:?} {bounds:?}");
            assert!(makespan.0 >= bounds.leaves_s.0 * (1.0 - 1e-9));
            assert!((own.timeline().makespan() / makespan.0 - 1.0).abs() < 1e-9);
            faster += u32::from(makespan.0 < 0.99 * stays.report.pipeline.makespan_s.0);
            assert!(own.report.pipeline.peak_in_flight.iter().all(|held| u64::from(*held) <= room));
            for memory in &own.report.memory.per_stage {
                let peak = over_time(&own, memory.stage).unwrap().fullest().total();
                assert!((peak / memory.total - 1.0).abs() < 1e-9, "{room} {} {peak:?}", memory.stage);
            }
            let waits = own
                .timeline()
                .ranks
                .iter()
                .enumerate()
                .flat_map(|(rank, ops)| (0..ops.len()).map(move |at| OpPlace { rank, at }));
            let trace = Trace::new(&own.order, own.timeline(), own.durations.p2p);
            waiting += waits.filter(|place| matches!(trace.cause(*place), StartCause::Host(_))).count();
            let left = own.order.away.as_ref().unwrap().ways.len();
            let host = own.report.memory.host.map_or(0.0, |host| host.activations_bytes.0);
            assert_eq!(left > 0, host > 0.0, "{room}");
        }
        assert!(faster > 0 && waiting > 0);
    }
}
