//! The step of each pipeline rank: its parts, its kernels by class, and what the bubble comes from.

use super::draft::Draft;
use super::evaluation::Evaluation;
use super::passes::Pass;
use super::step::{copies, paired};
use crate::pipeline::{self, Durations, Order, Stats};
use crate::time::{BubbleShares, KernelClass, KernelPass, Part, PartKind, RankKernels, RankParts, stage_loading};
use crate::units::Seconds;
use std::collections::BTreeMap;

/// The figures of a step by pipeline rank.
#[derive(Clone, Debug, PartialEq)]
pub struct StepByRank {
    pub parts: Vec<RankParts>,
    pub kernels: Vec<RankKernels>,
    pub bubble: BubbleShares,
}

/// The parts of each pipeline rank; none for a pipeline that never drains.
pub fn by_rank(evaluation: &Evaluation) -> Option<StepByRank> {
    let draft = Draft::of(&evaluation.scenario.run).ok()?;
    if draft.spec.schedule.endless {
        return None;
    }
    let step = &evaluation.report.step;
    let scale = step.rescaled_by.unwrap_or(1.0);
    let loads = &evaluation.loads;
    let scenario = &draft.scenario;
    let part = |kind: PartKind| step.parts.iter().find(|part| part.kind == kind).map_or(0.0, |part| part.seconds.0);
    let stats = Stats::of(&evaluation.order, &evaluation.spans);
    // Spans are on the clock of a measured step, passes on the model's own.
    let own = Stats { ideal_s: stats.ideal_s / scale, ..stats.clone() };
    let share = paired(&draft, loads, &own);
    // Ranks wait for a tower beside them as long as for a stage.
    let tower = evaluation.report.tower.map_or(Seconds::ZERO, |tower| tower.waits_s);
    let mean_loading: f64 = stage_loading(scenario);
    let sum = |rank: usize, of: &dyn Fn(&Pass) -> f64| -> f64 {
        let load = &loads[rank];
        let stages = load.stages.iter().filter_map(|stage| draft.passes.get(*stage));
        stages.map(of).sum::<f64>() * scenario.usual_microbatches() / copies(scenario, load)
    };
    let times = |rank: usize| {
        let busy = stats.busy_s[rank] / scale;
        rank_times(&|of| sum(rank, of), share, busy, (stats.makespan_s + tower.0) / scale - busy)
    };
    let ranks = loads.len();
    let mut lists: Vec<BTreeMap<u8, f64>> = Vec::with_capacity(ranks);
    let mut products = Vec::with_capacity(ranks);
    for rank in 0..ranks {
        let loading = (PartKind::Loader, sum(rank, &|pass| pass.loading.0) - mean_loading);
        let all = times(rank).into_iter().chain([loading]);
        lists.push(all.map(|(kind, seconds)| (kind as u8, seconds * scale)).collect());
        products.push(sum(rank, &|pass| (pass.compute.linear + pass.compute.attention).0));
    }
    // What ends the step is the same for all ranks: the slowest counts.
    let last_dp = part(PartKind::ExposedDp) - mean(&lists, PartKind::ExposedDp);
    let mean_products = products.iter().sum::<f64>() / ranks.max(1) as f64;
    let parts = lists.iter().zip(&products).enumerate().map(|(rank, (list, products))| {
        let own = |kind: PartKind| list.get(&(kind as u8)).copied().unwrap_or(0.0);
        // FLOPs are shared out by the time of products and attention.
        let ideal = part(PartKind::Ideal) * if mean_products > 0.0 { products / mean_products } else { 1.0 };
        let parts = step.parts.iter().map(|part| {
            let seconds = match part.kind {
                PartKind::Ideal => ideal,
                PartKind::Kernels => own(PartKind::Kernels) - ideal,
                PartKind::ExposedDp => own(PartKind::ExposedDp) + last_dp,
                PartKind::Loader => part.seconds.0 + own(PartKind::Loader),
                PartKind::Optimizer => part.seconds.0,
                kind => own(kind),
            };
            Part { kind: part.kind, seconds: Seconds(seconds) }
        });
        RankParts { rank, parts: parts.collect() }
    });
    let parts = parts.collect();
    Some(StepByRank {
        parts,
        kernels: kernels(&draft, evaluation, scale, part(PartKind::Optimizer)),
        bubble: {
            let shares = bubble(&evaluation.order, &evaluation.durations);
            BubbleShares { unequal_stages_s: shares.unequal_stages_s + tower, ..shares }
        },
    })
}

/// A sum over the passes of the micro-batches of a rank.
type PassSum<'a> = dyn Fn(&dyn Fn(&Pass) -> f64) -> f64 + 'a;

/// Seconds of the parts of a rank that is `busy` for so long and idle for `bubble`; `share` of its passes are paired.
fn rank_times(sum: &PassSum, share: f64, busy: f64, bubble: f64) -> [(PartKind, f64); 8] {
    let saved = share * sum(&|pass| pass.saved.messages.0);
    let shards = share * sum(&|pass| pass.saved.shards.0);
    let inside = sum(&|pass| pass.exposed().0) - saved + shards;
    let loading = sum(&|pass| pass.loading.0);
    let recompute = sum(&|pass| pass.compute.recompute.0);
    let launches = sum(&|pass| pass.compute.host.0) + share * sum(&|pass| pass.saved.host.0);
    let waits: [&dyn Fn(&Pass) -> f64; 4] = [
        &|pass| pass.waits.tp.exposed().0,
        &|pass| pass.waits.cp.exposed().0,
        &|pass| pass.waits.ep.exposed().0,
        &|pass| (pass.waits.zero3.exposed() + pass.waits.gradients.exposed()).0,
    ];
    let [tp, cp, ep, dp] = waits.map(sum);
    let kernels = busy - inside - loading - recompute - launches;
    [
        (PartKind::Kernels, kernels),
        (PartKind::Recompute, recompute),
        (PartKind::Launches, launches),
        (PartKind::Bubble, bubble),
        (PartKind::ExposedTp, tp),
        (PartKind::ExposedCp, cp),
        (PartKind::ExposedEp, ep - saved),
        (PartKind::ExposedDp, dp + shards),
    ]
}

fn mean(lists: &[BTreeMap<u8, f64>], kind: PartKind) -> f64 {
    lists.iter().filter_map(|list| list.get(&(kind as u8))).sum::<f64>() / lists.len().max(1) as f64
}

/// Kernels of each rank in a step.
fn kernels(draft: &Draft, evaluation: &Evaluation, scale: f64, optimizer: f64) -> Vec<RankKernels> {
    let scenario = &draft.scenario;
    let mut all = Vec::new();
    for (rank, load) in evaluation.loads.iter().enumerate() {
        let times = scenario.usual_microbatches() / copies(scenario, load) * scale;
        let mut sums: BTreeMap<(KernelClass, KernelPass), f64> = BTreeMap::new();
        for stage in &load.stages {
            for (key, seconds) in draft.clock.kernels(scenario, *stage) {
                *sums.entry(key).or_default() += seconds * times;
            }
        }
        sums.insert((KernelClass::Optimizer, KernelPass::Step), optimizer);
        let rows = sums.into_iter().map(|((class, pass), seconds)| RankKernels {
            rank,
            class,
            pass,
            seconds: Seconds(seconds),
        });
        all.extend(rows);
    }
    all
}

/// The idle time of `order` under `durations` by its causes.
fn bubble(order: &Order, durations: &Durations) -> BubbleShares {
    let idle = |durations: &Durations| {
        let spans = pipeline::time(order, durations).unwrap_or_default();
        let ranks = spans.busy.len().max(1) as f64;
        spans.makespan() - spans.busy.iter().sum::<f64>() / ranks
    };
    let whole = idle(durations);
    let quiet = Durations { p2p: 0.0, ..durations.clone() };
    let equal = Durations { microbatch_scale: None, ..quiet.clone() };
    let even = |seconds: &Vec<f64>| {
        let mean = seconds.iter().sum::<f64>() / seconds.len().max(1) as f64;
        vec![mean; seconds.len()]
    };
    let even = Durations {
        forward: even(&equal.forward),
        backward_input: even(&equal.backward_input),
        backward_weight: even(&equal.backward_weight),
        pair: equal.pair.as_ref().map(even),
        ..equal.clone()
    };
    let [quiet, equal, even] = [quiet, equal, even].map(|durations| idle(&durations));
    BubbleShares {
        fill_drain_s: Seconds(even),
        unequal_stages_s: Seconds(equal - even),
        unequal_microbatches_s: Seconds(quiet - equal),
        messages_s: Seconds(whole - quiet),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::run::{Based, Run, Schedule};

    fn runs() -> Vec<Run> {
        let base = Run::default();
        vec![
            base.clone(),
            Run { pp: 1, tp: 8, ..base.clone() },
            Run { schedule: Schedule::Interleaved, virtual_stages: 2, ..base.clone() },
            Run { model: Based::preset("mixtral-8x7b"), ep: 4, gpus: 128, ..base.clone() },
            Run { stage_layers: Some(vec![9, 9, 9, 5]), ..base.clone() },
            Run { measured_step_s: Some(9.0), ..base.clone() },
            Run { loader_stage_s: 0.01, ..base },
        ]
    }

    /// A rank's parts are its whole step; their mean over ranks is the step's own part.
    #[test]
    fn parts_of_every_rank_sum_to_the_step_and_their_mean_is_the_steps_part() {
        for run in runs() {
            let evaluation = evaluate(&run).unwrap();
            let ranks = by_rank(&evaluation).unwrap();
            let step = &evaluation.report.step;
            let whole = step.time_s.0;
            for rank in &ranks.parts {
                let sum: f64 = rank.parts.iter().map(|part| part.seconds.0).sum();
                assert!((sum / whole - 1.0).abs() < 1e-9, "{} {sum} {whole}", rank.rank);
            }
            for (at, part) in step.parts.iter().enumerate() {
                let sum: f64 = ranks.parts.iter().map(|rank| rank.parts[at].seconds.0).sum();
                let mean = sum / ranks.parts.len() as f64;
                assert!((mean - part.seconds.0).abs() < 1e-6 * whole, "{:?} {mean} {}", part.kind, part.seconds.0);
            }
        }
    }

    /// Equal stages without messages leave fill and drain alone: (p - 1)(tF + tB) of 1F1B.
    #[test]
    fn shares_of_the_bubble_sum_to_it_and_uneven_stages_have_theirs() {
        for run in runs() {
            let evaluation = evaluate(&run).unwrap();
            let shares = by_rank(&evaluation).unwrap().bubble;
            let sum = shares.fill_drain_s + shares.unequal_stages_s + shares.unequal_microbatches_s + shares.messages_s;
            let bubble = evaluation.report.step.bubble_s;
            assert!((sum.0 - bubble.0).abs() < 1e-9 * evaluation.report.step.time_s.0, "{sum:?} {bubble:?}");
        }
        let uneven = Run { stage_layers: Some(vec![11, 7, 7, 7]), ..Run::default() };
        let of = |run: &Run| by_rank(&evaluate(run).unwrap()).unwrap().bubble.unequal_stages_s;
        assert!(of(&uneven) > of(&Run::default()));
        let flat = Durations::uniform(4, 1.0, 1.0, 1.0);
        let evaluation = evaluate(&Run { pp: 4, tp: 1, ..Run::default() }).unwrap();
        let shares = bubble(&evaluation.order, &flat);
        assert_eq!((shares.fill_drain_s.0, shares.unequal_stages_s.0, shares.messages_s.0), (9.0, 0.0, 0.0));
    }
}
