//! The gradients of a step on its timeline: which of them hide behind backward passes and in bubbles, and how that
//! relates to what the step counts as exposed.
//!
//! The step (as calibrated) lets each rank hide gradients behind one backward pass and charges the rank that is left
//! with most, as if no rank had a bubble after its last op. The picture includes those bubbles. Step and picture agree
//! where the charged rank is one that ends the step.

use super::evaluation::Evaluation;
use crate::pipeline::sync::{Bucket, Overlap, RankSync, ReducePolicy, ranks, synchronise};
use crate::traffic::{Beside, CONTENTION, HeldParameters, step_messages};
use crate::units::Seconds;

/// Gradients on the timeline under one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientSync {
    /// When they may leave.
    pub policy: ReducePolicy,
    /// Each rank's, in the order of its wire.
    pub buckets: Vec<Bucket>,
    /// Cost to each rank.
    pub ranks: Vec<RankSync>,
    /// Seconds by which the step is longer under each policy, in the order of [`ReducePolicy::ALL`].
    pub exposed: [Seconds; 3],
    /// Parts that the step counts.
    pub charged: Charged,
}

/// Parts of the step's exposed communication.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Charged {
    /// The rank whose parameters keep it longest.
    pub rank: usize,
    /// Its gradients, behind one backward pass of its stages.
    pub gradients: Beside,
    /// Updated weights, behind its first forward pass.
    pub weights: Beside,
    /// Embeddings that both ends hold.
    pub tied: Seconds,
    /// Waits of passes inside the pipeline: tensor, context and expert parallel, `ZeRO`.
    pub inside: Seconds,
}

/// The gradients of `evaluation` on its timeline; none where a step sends none at its end, as with an update after
/// every micro-batch.
pub fn gradient_sync(evaluation: &Evaluation, policy: ReducePolicy) -> Option<GradientSync> {
    let scenario = &evaluation.scenario;
    if scenario.updates() > 1.0 {
        return None;
    }
    let overlap = Overlap { share: scenario.software.overlap.dp, tax: CONTENTION.value };
    // The timeline is that of the measured step, where there is one.
    let measured = evaluation.report.step.rescaled_by.unwrap_or(1.0);
    let messages = |stages: &[usize]| step_messages(scenario, HeldParameters::trained(scenario, stages));
    let seconds: Vec<Vec<(u32, f64)>> = evaluation
        .loads
        .iter()
        .map(|load| {
            let apart: Vec<f64> = load.stages.iter().map(|stage| messages(&[*stage]).reduce.0).collect();
            // A rank's stages share its traffic; latencies are those of the whole.
            let sum: f64 = apart.iter().sum();
            let scale = if sum > 0.0 { messages(&load.stages).reduce.0 / sum * measured } else { 0.0 };
            let stages = load.stages.iter().filter_map(|s| u32::try_from(*s).ok());
            stages.zip(apart.iter().map(|time| time * scale)).collect()
        })
        .collect();
    if seconds.iter().flatten().all(|(_, time)| *time <= 0.0) {
        return None;
    }
    let timeline = evaluation.timeline();
    let under = |policy| {
        let buckets = synchronise(timeline, &seconds, policy, overlap);
        let ranks = ranks(timeline, &buckets, overlap.tax);
        (buckets, ranks)
    };
    let exposed = ReducePolicy::ALL.map(|policy| {
        let ranks = under(policy).1;
        Seconds(ranks.iter().map(|rank| rank.exposed).fold(0.0, f64::max))
    });
    let (buckets, ranks) = under(policy);
    Some(GradientSync { policy, buckets, ranks, exposed, charged: charged(evaluation) })
}

/// The step's own count, taken apart.
fn charged(evaluation: &Evaluation) -> Charged {
    let (scenario, durations) = (&evaluation.scenario, &evaluation.durations);
    let pieces = f64::from(evaluation.order.splits);
    let passes = |stages: &[usize], lists: &[&Vec<f64>]| {
        let spent = stages.iter().flat_map(|stage| {
            let times = lists.iter().filter_map(|list| list.get(*stage));
            times.copied().collect::<Vec<f64>>()
        });
        Seconds(spent.sum::<f64>() * pieces)
    };
    let share = scenario.software.overlap.dp;
    let measured = evaluation.report.step.rescaled_by.unwrap_or(1.0);
    let rank = |(rank, load): (usize, &crate::memory::RankLoad)| {
        let stages = &load.stages;
        let forward = passes(stages, &[&durations.forward]);
        let backward = [&durations.backward_input, &durations.backward_weight];
        let backward = passes(stages, &backward);
        let sent = step_messages(scenario, HeldParameters::trained(scenario, stages));
        let beside = |time: Seconds, window| Beside::new(time * measured, window, share, CONTENTION.value);
        let charged = Charged {
            rank,
            gradients: beside(sent.reduce, backward),
            weights: beside(sent.gather, forward),
            tied: sent.tied * measured,
            inside: Seconds::ZERO,
        };
        let both = charged.gradients + charged.weights;
        (both.exposed() + charged.tied, charged)
    };
    let ranks = evaluation.loads.iter().enumerate().map(rank);
    let none = (Seconds::ZERO, Charged::default());
    let (most, charged) = ranks.fold(none, |most, next| if next.0.0 > most.0.0 { next } else { most });
    let whole = evaluation.report.step.exposed_comm_s;
    Charged { rank: charged.rank, inside: (whole - most).max(Seconds::ZERO), ..charged }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::run::{Run, Schedule};
    use crate::time::PartKind;

    fn of(run: &Run) -> GradientSync {
        gradient_sync(&evaluate(run).unwrap(), ReducePolicy::Eager).unwrap()
    }

    /// The calibrated step and the picture are one formula where the charged rank ends the step:
    /// `R − (1 − tax) min(R, share B)`.
    #[test]
    fn the_rank_that_ends_the_step_shows_what_the_step_counts() {
        for (zero, measured_step_s) in [(0, None), (1, None), (1, Some(9.0))] {
            let run = Run { zero, measured_step_s, stage_layers: Some(vec![9, 8, 8, 7]), ..Run::default() };
            let evaluation = evaluate(&run).unwrap();
            let sync = gradient_sync(&evaluation, ReducePolicy::Eager).unwrap();
            assert_eq!(sync.charged.rank, 0, "{:?}", sync.charged);
            let picture = sync.ranks[0].exposed;
            assert!((picture - sync.charged.gradients.exposed().0).abs() < 1e-9 * picture);
            let charged = sync.charged;
            let both = charged.gradients + charged.weights;
            let sum = both.exposed() + charged.tied + charged.inside;
            let step = evaluation.report.step.exposed_comm_s;
            assert!((sum.0 - step.0).abs() < 1e-9 * step.0);
        }
    }

    /// Beside a frozen base the gradients of adapters alone are sent (Hu 2021, section 4.2: W0 receives no updates). On
    /// one stage what they and the updated weights keep the step is its exposed part of data parallelism.
    #[test]
    fn adapters_send_the_gradients_of_adapters() {
        let run = Run { tp: 8, pp: 1, zero: 1, global_batch: 64, ..Run::default() };
        for method in ["", "lora"] {
            let run = run.with_texts(&[("adapter.method", method)]).unwrap();
            let evaluation = evaluate(&run).unwrap();
            let parts = evaluation.report.step.parts.iter();
            let part: f64 = parts.filter(|part| part.kind == PartKind::ExposedDp).map(|part| part.seconds.0).sum();
            let charged = of(&run).charged;
            let both = (charged.gradients + charged.weights).exposed() + charged.tied;
            assert!((both.0 - part).abs() < 1e-9 * part, "{method}: {both:?} {part}");
        }
    }

    /// A measured step is the same step on another clock: every part of it longer by the same factor.
    #[test]
    fn a_measured_step_lengthens_every_part_alike() {
        let alone = evaluate(&Run::default()).unwrap();
        let measured_step_s = Some(alone.report.step.time_s.0 * 3.0);
        let run = Run { measured_step_s, ..Run::default() };
        let (before, after) = (of(&Run::default()), of(&run));
        let thrice = |a: Seconds, b: Seconds| (b.0 - 3.0 * a.0).abs() <= 1e-9 * b.0;
        for (a, b) in [
            (before.charged.gradients.exposed(), after.charged.gradients.exposed()),
            (before.charged.weights.exposed(), after.charged.weights.exposed()),
            (before.charged.inside, after.charged.inside),
            (before.exposed[0], after.exposed[0]),
            (before.exposed[2], after.exposed[2]),
        ] {
            assert!(thrice(a, b), "{a:?} {b:?}");
        }
    }

    /// The picture, which includes bubbles, never shows more than the step counts with them left out.
    #[test]
    fn eager_buckets_show_at_most_what_the_step_counts() {
        for schedule in [Schedule::Gpipe, Schedule::OneFOneB, Schedule::ZbH1, Schedule::Seq1F1B] {
            let run = Run { schedule, ..Run::default() };
            let sync = of(&run);
            let [end, done, eager] = sync.exposed;
            assert!(eager.0 <= done.0 && done.0 <= end.0, "{:?}", sync.exposed);
            // Where a backward is cut in two, weight gradients are complete later than the step's one pass has it.
            let charged = sync.charged.gradients.exposed().0;
            assert!(
                schedule == Schedule::ZbH1 || eager.0 <= charged * (1.0 + 1e-9),
                "{schedule:?}: {eager:?} {charged}"
            );
        }
    }

    #[test]
    fn nothing_is_drawn_where_nothing_is_sent() {
        let alone = Run { gpus: 8, ..Run::default() };
        let sharded = Run { zero: 3, ..Run::default() };
        for run in [alone, sharded] {
            let evaluation = evaluate(&run).unwrap();
            assert_eq!(gradient_sync(&evaluation, ReducePolicy::Eager), None);
        }
    }
}
