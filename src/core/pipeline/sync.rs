//! When a step's gradients travel: behind the last backward pass of their stage and in what idles after it, once their
//! rank is done, or once all ranks are.
//!
//! A rank has one wire, on which its stages' gradients follow each other as they become complete: when the last
//! backward op of the stage has ended on every rank that holds it (both, where a stage is held twice). Layers finish
//! one after the other, so a share of that last op can already hide its stage's traffic. Source: PyTorch DDP and
//! Megatron-LM (buckets behind the backward pass), Chimera (eager synchronisation in bubbles).

use super::op::OpKind;
use super::op::{Half, TimedOp};
use super::simulate::Timeline;
use crate::sort::sort_by;

/// When gradients may leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReducePolicy {
    /// After the last op of the last rank.
    StepEnd,
    /// After the last op of the rank itself.
    RankEnd,
    /// As soon as the buckets of a stage are complete.
    #[default]
    Eager,
}

impl ReducePolicy {
    /// All of them, latest first.
    pub const ALL: [Self; 3] = [Self::StepEnd, Self::RankEnd, Self::Eager];
}

/// The gradients of one stage on one rank, on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    pub rank: usize,
    /// The global stage.
    pub stage: u32,
    /// When its gradients are complete on every rank that holds it, seconds.
    pub complete: f64,
    /// First on the wire.
    pub start: f64,
    /// Off the wire.
    pub end: f64,
    /// Seconds of it beside ops of the rank.
    pub behind: f64,
    /// Seconds in bubbles of the rank.
    pub bubble: f64,
    /// Seconds after the pipeline's end.
    pub after: f64,
}

/// Cost of a rank's gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankSync {
    /// On the wire.
    pub total: f64,
    /// Beside ops.
    pub behind: f64,
    pub bubble: f64,
    /// Seconds by which the ops beside it are slowed.
    pub slowed: f64,
    /// Seconds by which it makes the step longer, as far as this rank goes.
    pub exposed: f64,
}

/// Rules of overlap between traffic and ops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// Share of a stage's last backward op that its own traffic may hide behind, 0 to 1.
    pub share: f64,
    /// Share of hidden traffic that the ops beside it are slowed by.
    pub tax: f64,
}

/// When the last gradient of a stage is made, and by how long an op.
#[derive(Clone, Copy, Debug)]
struct Last {
    end: f64,
    op_s: f64,
}

/// The last op of each stage that makes gradients of its weights.
fn last_backwards(timeline: &Timeline, stages: usize) -> Vec<Last> {
    let none = Last { end: 0.0, op_s: 0.0 };
    let mut last = vec![none; stages];
    for op in timeline.ranks.iter().flatten() {
        if matches!(op.op.kind, OpKind::W | OpKind::BW)
            && let Some(last) = last.get_mut(op.op.stage as usize)
            && op.end >= last.end
        {
            *last = Last { end: op.end, op_s: op.end - op.start };
        }
    }
    last
}

fn end_of(ops: &[TimedOp]) -> f64 {
    ops.last().map_or(0.0, |op| op.end)
}

/// Seconds of `start..end` during which the rank runs ops.
fn busy(ops: &[TimedOp], start: f64, end: f64) -> f64 {
    let from = ops.partition_point(|op| op.end <= start);
    let beside = ops[from..].iter().take_while(|op| op.start < end);
    beside.filter(|op| op.half != Half::Second).map(|op| (op.end.min(end) - op.start.max(start)).max(0.0)).sum()
}

/// Puts the gradients of every rank on its wire. `seconds`: for each rank its stages with their time on the wire.
pub fn synchronise(
    timeline: &Timeline,
    seconds: &[Vec<(u32, f64)>],
    policy: ReducePolicy,
    overlap: Overlap,
) -> Vec<Bucket> {
    let makespan = timeline.makespan();
    let stages_held = seconds.iter().flatten().map(|(stage, _)| *stage as usize);
    let stages = stages_held.max().map_or(0, |most| most + 1);
    let last = last_backwards(timeline, stages);
    let mut done = vec![0.0f64; stages];
    for (ops, stages) in timeline.ranks.iter().zip(seconds) {
        for (stage, _) in stages {
            let done = &mut done[*stage as usize];
            *done = done.max(end_of(ops));
        }
    }
    let mut buckets = Vec::new();
    for (rank, (ops, stages)) in timeline.ranks.iter().zip(seconds).enumerate() {
        let mut stages = stages.clone();
        sort_by(&mut stages, |a, b| {
            let end = |stage: u32| last[stage as usize].end;
            end(a.0).total_cmp(&end(b.0)).then(a.0.cmp(&b.0))
        });
        let mut free = 0.0f64;
        for (stage, time) in stages {
            let at = stage as usize;
            let may = match policy {
                ReducePolicy::StepEnd => makespan,
                ReducePolicy::RankEnd => done[at],
                ReducePolicy::Eager => last[at].end - (overlap.share * last[at].op_s).min(time),
            };
            let start = free.max(may);
            let end = start + time;
            let after = (end - start.max(makespan)).max(0.0);
            let behind = busy(ops, start, end);
            let bubble = time - after - behind;
            buckets.push(Bucket {
                rank,
                stage,
                complete: last[at].end,
                start,
                end,
                behind,
                // A rest that is left by rounding alone is nothing.
                bubble: if bubble > makespan * 1e-12 { bubble } else { 0.0 },
                after,
            });
            free = end;
        }
    }
    buckets
}

/// Cost of `buckets` to each rank. Ops beside traffic are slowed: the rank ends later by `tax` times what they hide,
/// and its wire after it; whichever is last ends the rank.
pub fn ranks(timeline: &Timeline, buckets: &[Bucket], tax: f64) -> Vec<RankSync> {
    let makespan = timeline.makespan();
    let cost = |(rank, ops): (usize, &Vec<TimedOp>)| {
        let of_rank = || buckets.iter().filter(move |bucket| bucket.rank == rank);
        let sum = |part: fn(&Bucket) -> f64| of_rank().map(part).sum::<f64>();
        let end = end_of(ops);
        let left: f64 = of_rank().map(|bucket| (bucket.end - bucket.start.max(end)).max(0.0)).sum();
        let (behind, total) = (sum(|bucket| bucket.behind), sum(|b| b.end - b.start));
        let slowed = tax * behind;
        let wire = of_rank().map(|bucket| bucket.end).fold(0.0, f64::max);
        let finish = if total > 0.0 { wire.max(end + slowed + left) } else { 0.0 };
        RankSync { total, behind, bubble: sum(|bucket| bucket.bubble), slowed, exposed: (finish - makespan).max(0.0) }
    };
    timeline.ranks.iter().enumerate().map(cost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Durations, Spec, build, measure, schedule};
    use proptest::prelude::*;

    const ALONE: Overlap = Overlap { share: 0.0, tax: 0.0 };

    fn timeline(id: &str, pp: u32, m: u32, v: u32, times: [f64; 3]) -> Timeline {
        let mut spec = Spec::new(schedule(id).unwrap(), pp, m);
        spec.virtual_stages = v;
        let durations = Durations::uniform(spec.stages(), times[0], times[1], times[2]);
        let order = build(&spec, &durations).unwrap().order;
        measure(&order, &durations).unwrap().0
    }

    /// `time` for every stage that a rank has.
    fn each(timeline: &Timeline, time: f64) -> Vec<Vec<(u32, f64)>> {
        let stages = |ops: &Vec<TimedOp>| {
            let mut stages: Vec<u32> = ops.iter().map(|op| op.op.stage).collect();
            stages.sort_unstable();
            stages.dedup();
            stages.into_iter().map(|stage| (stage, time)).collect()
        };
        timeline.ranks.iter().map(stages).collect()
    }

    fn exposed(timeline: &Timeline, time: f64, policy: ReducePolicy, overlap: Overlap) -> Vec<f64> {
        let buckets = synchronise(timeline, &each(timeline, time), policy, overlap);
        let ranks = ranks(timeline, &buckets, overlap.tax);
        ranks.iter().map(|rank| rank.exposed).collect()
    }

    /// The drain of 1F1B: the last backward of stage r ends `r tBW` before the step does, so g seconds of gradients
    /// show
    /// `max(0, g − r tBW)`; stage 0's are complete last and hide nowhere.
    #[test]
    fn a_stage_of_1f1b_hides_what_its_drain_has_room_for() {
        let (g, back) = (5.0, 2.0);
        for id in ["1f1b", "gpipe"] {
            let timeline = timeline(id, 4, 8, 1, [1.0, 1.0, 1.0]);
            let eager = exposed(&timeline, g, ReducePolicy::Eager, ALONE);
            for (rank, exposed) in eager.iter().enumerate() {
                let formula = (g - rank as f64 * back).max(0.0);
                assert!((exposed - formula).abs() < 1e-9, "{id} {rank}: {exposed}");
            }
            // One chunk a rank: when the stage is done, the rank is.
            assert_eq!(eager, exposed(&timeline, g, ReducePolicy::RankEnd, ALONE));
            assert_eq!(exposed(&timeline, g, ReducePolicy::StepEnd, ALONE), [g; 4]);
        }
    }

    /// A share of the last backward pass hides its own stage's traffic, and is slowed by it: `g − (1 − tax) min(g,
    /// share tBW)`.
    #[test]
    fn the_last_backward_pass_hides_its_share_and_pays_for_it() {
        let timeline = timeline("1f1b", 4, 8, 1, [1.0, 1.0, 1.0]);
        let overlap = Overlap { share: 0.8, tax: 0.4 };
        for g in [0.5, 1.6, 5.0] {
            let wait = exposed(&timeline, g, ReducePolicy::Eager, overlap)[0];
            let formula = g - 0.6 * f64::min(g, 1.6);
            assert!((wait - formula).abs() < 1e-9, "{g}: {wait} {formula}");
        }
    }

    /// Interleaved: the later chunk of a rank is complete while the earlier one still works, and hides behind it.
    #[test]
    fn a_later_chunk_hides_behind_the_backward_passes_of_the_earlier() {
        let timeline = timeline("interleaved-1f1b", 4, 8, 2, [1.0, 1.0, 1.0]);
        let buckets = synchronise(&timeline, &each(&timeline, 1.0), ReducePolicy::Eager, ALONE);
        for bucket in &buckets {
            if bucket.stage >= 4 {
                assert!((bucket.behind - 1.0).abs() < 1e-9, "{bucket:?}");
            } else {
                assert!(bucket.behind.abs() < 1e-9, "{bucket:?}");
            }
        }
        let waits = exposed(&timeline, 1.0, ReducePolicy::RankEnd, ALONE);
        assert!(waits[0] > exposed(&timeline, 1.0, ReducePolicy::Eager, ALONE)[0]);
    }

    /// Chimera, section 3.2: workers whose stages are complete early have bubbles left for them; the stages that end
    /// the step (0 of either direction) have none, on the first and the last worker alike.
    #[test]
    fn chimera_synchronises_its_middle_stages_in_bubbles() {
        let timeline = timeline("chimera", 4, 4, 1, [1.0, 1.0, 0.0]);
        let buckets = synchronise(&timeline, &each(&timeline, 1.0), ReducePolicy::Eager, ALONE);
        for bucket in &buckets {
            // The same stage is held by two ranks; both wait for both.
            let twins = buckets.iter().filter(|other| other.stage == bucket.stage);
            assert!(
                twins.clone().count() == 2 && twins.clone().all(|t| t.complete.total_cmp(&bucket.complete).is_eq())
            );
            let early = bucket.complete < timeline.makespan();
            assert_eq!(early, bucket.stage > 0, "{bucket:?}");
            if early {
                assert!((bucket.behind + bucket.bubble - 1.0).abs() < 1e-9 || bucket.after > 0.0);
            }
        }
        let eager: f64 = exposed(&timeline, 1.0, ReducePolicy::Eager, ALONE).iter().sum();
        let done: f64 = exposed(&timeline, 1.0, ReducePolicy::RankEnd, ALONE).iter().sum();
        assert!(eager < done, "{eager} {done}");
    }

    proptest! {
        #[test]
        fn earlier_never_shows_more_and_every_second_is_somewhere(
            id in proptest::sample::select(vec![
                "gpipe", "1f1b", "eager-1f1b", "zb-h1", "zb-v", "chimera", "dualpipev", "hanayo", "seq1f1b",
            ]),
            half in 1u32..4,
            rounds in 1u32..4,
            times in [0.1f64..2.0, 0.1f64..2.0, 0.1f64..2.0],
            time in 0.0f64..6.0,
            share in 0.0f64..1.0,
            tax in 0.0f64..1.0,
        ) {
            let pp = 2 * half;
            let timeline = timeline(id, pp, 2 * pp * rounds, 1, times);
            let overlap = Overlap { share, tax };
            let (work, makespan) = (each(&timeline, time), timeline.makespan());
            let [end, done, eager] = ReducePolicy::ALL.map(|policy| {
                let buckets = synchronise(&timeline, &work, policy, overlap);
                for bucket in &buckets {
                    prop_assert!(bucket.end >= bucket.complete - 1e-9 && bucket.end <= makespan + 2.0 * time + 1e-9);
                    let parts = bucket.behind + bucket.bubble + bucket.after;
                    prop_assert!((parts - time).abs() < 1e-9, "{:?}", bucket);
                }
                for two in buckets.windows(2).filter(|two| two[0].rank == two[1].rank) {
                    prop_assert!(two[0].end <= two[1].start + 1e-9);
                }
                let ranks = ranks(&timeline, &buckets, tax);
                for rank in &ranks {
                    prop_assert!(rank.exposed >= 0.0 && rank.exposed <= rank.total + 1e-9, "{:?}", rank);
                }
                Ok(ranks)
            });
            for ((end, done), eager) in end?.iter().zip(&done?).zip(&eager?) {
                prop_assert!(eager.exposed <= done.exposed + 1e-9 && done.exposed <= end.exposed + 1e-9);
                prop_assert!((end.exposed - end.total).abs() < 1e-9);
            }
        }
    }
}
