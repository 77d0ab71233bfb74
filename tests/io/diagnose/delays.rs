//! Known delays put into public traces, with seeds: the cause that was put in comes first wherever it is above 5 % of
//! the step. The trace without the delay stands in for the prediction.

#![allow(clippy::cast_possible_wrap)] // counts of a trace

use super::trace;
use shardscope::core::diagnose::{
    CauseId, Diagnosis, GpuWork, GroupSizes, RankTrace, StepWindow, WorkKind, attribute, dimension, of_traces_beside,
};
use shardscope::core::run::Run;
use shardscope::core::time::KernelClass;

/// Whole traces, whose kernels have their launches.
const WHOLE: [&str; 9] = [
    "hta_ddp_args_a100_rank0of2",
    "hta_ddp_eager_v100_rank1of2",
    "hta_rec_a100_rank3of8",
    "tracelens_ddp_mi300_rank0of8",
    "tracelens_flux_aiter_mi300",
    "tracelens_moe_decode_b200",
    "tracelens_prefill_mi300",
    "tracelens_qwen_forward_h100",
    "tracelens_qwen_forward_mi300",
];
/// Delays as shares of the step.
const SHARES: [f64; 8] = [0.05, 0.07, 0.1, 0.14, 0.2, 0.26, 0.33, 0.4];
const SIZES: GroupSizes = GroupSizes { tp: 1, cp: 1, ep: 1, dp: 8, pp: 1, gpus: 8 };

fn run() -> Run {
    Run { gpus: 8, tp: 1, pp: 1, global_batch: 8, ..Run::default() }
}

/// Numbers from 0 to 1 from a seed (a linear congruential generator, constants of Numerical Recipes).
struct Seed(u64);

impl Seed {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The only step of `trace`, whole.
fn step(name: &str) -> (RankTrace, StepWindow) {
    let trace = trace(name);
    let (window, _) = trace.median_window().unwrap();
    let inside = |one: &&GpuWork| one.start >= window.begin && one.end <= window.end;
    let activities: Vec<GpuWork> = trace.activities.iter().filter(inside).copied().collect();
    let trace = RankTrace { activities, marks: Vec::new(), ..trace };
    let (window, _) = trace.median_window().unwrap();
    (trace, window)
}

/// `trace` with time put in: everything from `at` on is so much later, and what runs across it so much longer.
fn delayed(trace: &RankTrace, mut inserts: Vec<(i64, i64)>) -> RankTrace {
    inserts.sort_unstable();
    let later = |time: i64, inclusive: bool| -> i64 {
        let counts = |(at, _): &&(i64, i64)| if inclusive { *at <= time } else { *at < time };
        time + inserts.iter().filter(counts).map(|(_, length)| length).sum::<i64>()
    };
    let mut other = trace.clone();
    for one in &mut other.activities {
        (one.start, one.end) = (later(one.start, true), later(one.end, false));
        one.launch = one.launch.map(|launch| later(launch, true));
    }
    for (start, end) in &mut other.loading {
        (*start, *end) = (later(*start, true), later(*end, false));
    }
    for time in other.synchronised.iter_mut().chain(&mut other.calls) {
        *time = later(*time, true);
    }
    other.sorted()
}

/// Places at which nothing runs and kernels follow.
fn quiet(trace: &RankTrace) -> Vec<usize> {
    let mut end = i64::MIN;
    let mut found = Vec::new();
    for (at, one) in trace.activities.iter().enumerate() {
        if at > 0 && one.start >= end && one.launch.is_some() {
            found.push(at);
        }
        end = end.max(one.end);
    }
    found
}

/// The host stands still before the kernels at `places`, so long in all.
fn paused(trace: &RankTrace, places: &[usize], length: i64) -> RankTrace {
    let each = length / places.len() as i64;
    let inserts: Vec<_> = places.iter().map(|at| (trace.activities[*at].start, each)).collect();
    let firsts: Vec<i64> = inserts.iter().map(|(at, _)| *at).collect();
    let mut other = delayed(trace, inserts);
    // Their launches come right before them.
    let late: Vec<i64> = trace
        .activities
        .iter()
        .enumerate()
        .filter(|(at, one)| places.contains(at) || firsts.contains(&one.start))
        .map(|(_, one)| one.start)
        .collect();
    let shifted = |time: i64| time + firsts.iter().filter(|at| **at <= time).count() as i64 * each;
    let late: Vec<i64> = late.into_iter().map(shifted).collect();
    for one in &mut other.activities {
        if late.contains(&one.start) {
            one.launch = Some(one.start - 5_000);
        }
    }
    other
}

/// Kernels of the class that takes the largest part, each so much longer.
fn stretched(trace: &RankTrace, window: StepWindow, length: i64) -> Option<RankTrace> {
    let found = attribute(trace, window, SIZES);
    let parts = found.parts.iter().filter_map(|(part, ns)| match part {
        shardscope::core::diagnose::MeasuredPart::Compute(class) => Some((*class, *ns)),
        _ => None,
    });
    let (class, _) = parts.max_by_key(|(_, ns)| *ns)?;
    let of = |one: &&GpuWork| one.work == WorkKind::Kernel(class);
    let sum: i64 = trace.activities.iter().filter(of).map(|one| one.end - one.start).sum();
    let inserts = trace.activities.iter().filter(of).map(|one| {
        let share = (one.end - one.start) as f64 / sum as f64;
        #[allow(clippy::cast_possible_truncation)] // nanoseconds
        let more = (length as f64 * share) as i64;
        (one.end - 1, more)
    });
    Some(delayed(trace, inserts.collect()))
}

/// Messages that compute hid run alone, one after the other, until they take so long; with the cause that they are.
fn uncovered(trace: &RankTrace, length: i64) -> Option<(RankTrace, CauseId, i64)> {
    let mut other = trace.clone();
    let (mut put, mut id) = (0, None);
    let is_message = |one: &GpuWork| matches!(one.work, WorkKind::Kernel(class) if class.is_message());
    let messages: Vec<GpuWork> = trace.activities.iter().filter(|one| is_message(one)).copied().collect();
    for message in messages {
        let WorkKind::Kernel(class) = message.work else { continue };
        let now = other.activities.iter().find(|one| one.launch == message.launch && one.work == message.work)?;
        let (start, end) = (now.start, now.end);
        let hidden: Vec<&GpuWork> =
            other.activities.iter().filter(|one| !is_message(one) && one.start < end && one.end > start).collect();
        let covered: i64 = hidden.iter().map(|one| one.end.min(end) - one.start.max(start)).sum();
        let group = message.group.and_then(|at| trace.groups.get(usize::from(at)));
        let kind = match (dimension(class, group, SIZES), class) {
            (shardscope::core::diagnose::Dimension::Expert, _) => CauseId::EpExposed,
            (_, KernelClass::AllGather | KernelClass::Broadcast) => CauseId::ParamGatherExposed,
            _ => CauseId::GradReduceLate,
        };
        if covered * 2 < end - start || id.is_some_and(|id| id != kind) || put >= length {
            continue;
        }
        // At the end of what computes now; nothing else may compute across it.
        let at = hidden.iter().map(|one| one.end).min()?;
        if other.activities.iter().any(|one| one.start < at && one.end > at && !is_message(one)) {
            continue;
        }
        let long = (end - start).min(length - put);
        other.activities.retain(|one| !(one.start == start && one.work == message.work));
        other = delayed(&other, vec![(at, long)]);
        other.activities.push(GpuWork { start: at, end: at + long, ..message });
        other = other.sorted();
        put += long;
        id = Some(kind);
    }
    Some((other, id?, put))
}

/// One delay and what came of it.
struct Outcome {
    what: String,
    share: f64,
    right: bool,
    causes: Vec<(CauseId, f64)>,
    /// What the first cause says that the step would be without it, seconds.
    without: f64,
    /// Length of the window before the delay was put in, seconds.
    before: f64,
}

fn outcome(what: String, share: f64, found: &Diagnosis, before: f64, right: &[CauseId]) -> Outcome {
    let causes = found.causes.iter().map(|cause| (cause.id, cause.seconds.unwrap_or(0.0)));
    let causes: Vec<_> = causes.take(3).collect();
    let right = causes.first().is_some_and(|(id, _)| right.contains(id));
    let without = found.causes.first().and_then(|cause| cause.predicted_s).unwrap_or(f64::NAN);
    Outcome { what, share, right, causes, without, before }
}

#[test]
fn the_delay_that_was_put_in_comes_first() {
    let mut all: Vec<Outcome> = Vec::new();
    for (number, name) in WHOLE.into_iter().enumerate() {
        let (trace, window) = step(name);
        let before = window.length() as f64 * 1e-9;
        for (at, share) in SHARES.into_iter().enumerate() {
            let mut seed = Seed((number * 100 + at) as u64 + 1);
            #[allow(clippy::cast_possible_truncation)] // nanoseconds
            let length = (window.length() as f64 * share) as i64;
            let diagnose = |other: &RankTrace| of_traces_beside(&[other], Some(&trace), &run());
            if let Some(other) = stretched(&trace, window, length) {
                let right = [CauseId::SlowKernels, CauseId::AttentionFallback];
                all.push(outcome(format!("{name}: kernels"), share, &diagnose(&other), before, &right));
            }
            let places = quiet(&trace);
            if places.is_empty() {
                continue;
            }
            let mut pick = || {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index
                let at = (seed.next() * places.len() as f64) as usize;
                places[at]
            };
            for pauses in [1, 3] {
                if length / pauses > 12_000_000 {
                    let mut at: Vec<usize> = (0..pauses).map(|_| pick()).collect();
                    at.sort_unstable();
                    at.dedup();
                    let found = diagnose(&paused(&trace, &at, length));
                    all.push(outcome(format!("{name}: {pauses} pauses"), share, &found, before, &[CauseId::HostPause]));
                }
            }
            let mut many: Vec<usize> = (0..40).map(|_| pick()).collect();
            many.sort_unstable();
            many.dedup();
            if length / (many.len() as i64) < 5_000_000 {
                let found = diagnose(&paused(&trace, &many, length));
                all.push(outcome(format!("{name}: late launches"), share, &found, before, &[CauseId::HostLate]));
            }
            // Rank 1 comes late to a collective: rank 0 waits in it.
            let collectives = trace
                .activities
                .iter()
                .enumerate()
                .filter(|(_, one)| matches!(one.work, WorkKind::Kernel(class) if class.is_message()));
            // Where something computes across its begin or end, no rank would wait in it.
            let alone = |time: i64| {
                !trace.activities.iter().any(|one| {
                    one.start < time
                        && one.end > time
                        && !matches!(one.work, WorkKind::Kernel(class) if class.is_message())
                })
            };
            let collectives = collectives.filter(|(_, one)| alone(one.start) && alone(one.end - 1));
            let collectives: Vec<usize> = collectives.map(|(at, _)| at).collect();
            if collectives.len() >= 4 {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index
                let which = collectives[(seed.next() * collectives.len() as f64) as usize];
                let call = trace.activities[which];
                let waits = delayed(&trace, vec![(call.end - 1, length)]);
                let first = RankTrace { rank: Some(0), ..waits };
                let late = RankTrace { rank: Some(1), ..delayed(&trace, vec![(call.start, length)]) };
                let found = of_traces_beside(&[&first, &late], Some(&trace), &run());
                let named = found.ranks.as_ref().and_then(|ranks| ranks.late) == Some(1);
                let mut one = outcome(format!("{name}: rank 1 late"), share, &found, before, &[CauseId::LateRank]);
                one.right &= named;
                all.push(one);
            }
            if let Some((other, id, put)) = uncovered(&trace, length) {
                let share = put as f64 / window.length() as f64;
                all.push(outcome(format!("{name}: not hidden"), share, &diagnose(&other), before, &[id]));
            }
        }
    }
    let above: Vec<&Outcome> = all.iter().filter(|one| one.share >= 0.05 - 1e-9).collect();
    let wrong: Vec<String> = above
        .iter()
        .filter(|one| !one.right)
        .map(|one| format!("{} {:.3}: {:?}", one.what, one.share, one.causes))
        .collect();
    println!("{} delays, {} of 5 % and more, right first: {}", all.len(), above.len(), above.len() - wrong.len());
    let mut far: Vec<(f64, &str)> = above
        .iter()
        .map(|one| (((one.without - one.before) / (one.share * one.before)).abs(), one.what.as_str()))
        .collect();
    far.sort_by(|a, b| b.0.total_cmp(&a.0));
    assert!(wrong.is_empty(), "{wrong:#?}");
    // What the step would be without the cause is the step before the delay.
    assert!(far[0].0 < 0.05, "{:?}", &far[..3]);
    assert!(all.len() >= 200, "{}", all.len());
}
