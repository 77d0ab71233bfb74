//! The run to make next: the one after which the question's answers would be surest.
//!
//! Greedy A-optimal: of the candidates that fit on the GPUs at hand, the one that makes `Σ T V' Tᵀ` smallest, T the
//! slopes of each target and `V' = V - (V Jᵀ)(J V)/(σ² + J V Jᵀ)` with J the slopes of the candidate. An extreme run
//! has an extreme error of its layout: the first run should be a typical one, so before it candidates keep their order.

use super::NOISE;
use super::components::{Components, variance};
use super::linear::dot;
use super::posterior::Posterior;
use crate::memory::Verdict;
use crate::message::Message;
use crate::report::plain_report as report;
use crate::run::{Matrix, Multiplier, Run, Vector};
use crate::sort::sort_by;
use crate::t;
use serde::{Deserialize, Serialize};

/// A run worth making.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NextRun {
    pub run: Run,
    /// Root mean square of the standard deviations of the logarithms of the targets' steps now, and after it.
    pub sd: (f64, f64),
    /// The multiplier that it informs most.
    pub teaches: Multiplier,
}

/// The question `run`, and runs that differ from it in one respect each: GPUs, length, micro-batch, layout, launches.
fn probes(run: &Run) -> Vec<Run> {
    let mut runs = vec![run.clone()];
    let mut add = |edit: &dyn Fn(&mut Run)| {
        let mut probe = run.clone();
        edit(&mut probe);
        if !runs.contains(&probe) {
            runs.push(probe);
        }
    };
    let (gpus, batch) = (run.gpus, run.global_batch);
    let dense = run.tp * run.pp * run.cp;
    for shrink in [2, 4, 8, 16, 32, 64] {
        if gpus.is_multiple_of(shrink) && batch.is_multiple_of(shrink) {
            add(&|probe| (probe.gpus, probe.global_batch) = (gpus / shrink, batch / shrink));
        }
    }
    for longer in [4, 2] {
        add(&|probe| probe.seq_len *= longer);
        if run.seq_len.is_multiple_of(longer) {
            add(&|probe| probe.seq_len /= longer);
        }
    }
    for size in [1, 2, 4, 8] {
        add(&|probe| probe.micro_batch = size);
        if size * run.pp * run.cp <= gpus {
            add(&|probe| probe.tp = size);
        }
    }
    if run.pp > 1 && gpus.is_multiple_of(dense / run.pp) {
        add(&|probe| probe.pp = 1);
    }
    add(&|probe| {
        let graphs = probe.software().graphs.any();
        (probe.graph_scope, probe.cuda_graphs) = (None, Some(!graphs));
    });
    runs
}

/// Runs that could be made on `gpus` GPUs to learn about `question`: the layouts of its `plan`, itself, and small
/// changes of it. Those that cannot run or do not fit are left out.
pub fn candidates(question: &Run, plan: &[Run], gpus: u64) -> Vec<Run> {
    let mut distinct: Vec<Run> = Vec::new();
    let listed = plan.iter().cloned().chain(probes(question));
    // A layout that fits on all of the question's GPUs is tried on as many as there are.
    let fitted = listed.map(|run| {
        let shrink = run.gpus.div_ceil(gpus.max(1)).next_power_of_two();
        let whole = run.gpus.is_multiple_of(shrink) && run.global_batch.is_multiple_of(shrink);
        if shrink > 1 && whole {
            Run { gpus: run.gpus / shrink, global_batch: run.global_batch / shrink, ..run }
        } else {
            run
        }
    });
    for run in fitted.filter(|run| run.gpus <= gpus) {
        let run = Run { measured_step_s: None, stage_layers: None, mtp_stage: None, ..run };
        let fits = || report(&run).is_ok_and(|report| report.memory.verdict != Verdict::Oom);
        if !distinct.contains(&run) && fits() {
            distinct.push(run);
        }
    }
    distinct
}

/// Slopes of the logarithm of a run's step in those of the fitted multipliers: the share of the step that each kind of
/// work is. None where the run cannot work.
fn slopes(run: &Run, found: &Posterior) -> Option<Vector> {
    let components = Components::of(run, &found.mean).ok()?;
    Some(components.shares(&found.mean))
}

/// The covariance `V'` once a run with these slopes is measured too.
fn after(covariance: &Matrix, slopes: &Vector) -> Matrix {
    let through: Vector = std::array::from_fn(|row| dot(&covariance[row], slopes));
    let total = NOISE * NOISE + dot(&through, slopes);
    std::array::from_fn(|row| {
        std::array::from_fn(|column| covariance[row][column] - through[row] * through[column] / total)
    })
}

/// At most `count` of `candidates`, without those that narrow the `targets` by less than 1 %: the best first where a
/// run is `known` already, else in their order.
pub(crate) fn next_runs(
    found: &Posterior,
    known: bool,
    targets: &[Run],
    candidates: &[Run],
    count: usize,
) -> Vec<NextRun> {
    let goals: Vec<Vector> = targets.iter().filter_map(|run| slopes(run, found)).collect();
    if goals.is_empty() {
        return Vec::new();
    }
    let mean_sd = |covariance: &Matrix| {
        let sum: f64 = goals.iter().map(|goal| variance(goal, covariance)).sum();
        (sum / goals.len() as f64).sqrt()
    };
    let now = mean_sd(&found.covariance);
    let mut ranked: Vec<NextRun> = candidates
        .iter()
        .filter_map(|run| {
            let slopes = slopes(run, found)?;
            let then = after(&found.covariance, &slopes);
            // Gain of the question by each multiplier's own variance.
            let narrowed = |kind: Multiplier| {
                let at = kind as usize;
                let shares = goals.iter().map(|goal| goal[at] * goal[at]);
                shares.sum::<f64>() * (found.covariance[at][at] - then[at][at])
            };
            let teaches = Multiplier::ALL.into_iter().max_by(|a, b| narrowed(*a).total_cmp(&narrowed(*b)))?;
            Some(NextRun { run: run.clone(), sd: (now, mean_sd(&then)), teaches })
        })
        .filter(|next| next.sd.1 < next.sd.0 * 0.99)
        .collect();
    if known {
        sort_by(&mut ranked, |a, b| a.sd.1.total_cmp(&b.sd.1));
    }
    ranked.truncate(count);
    ranked
}

/// Describes the run that would inform a multiplier that no run has informed yet.
pub fn informed_by(multiplier: Multiplier) -> Message {
    match multiplier {
        Multiplier::Gemm => t!("one GPU or a small tensor-parallel group, a large micro-batch"),
        Multiplier::Elementwise => {
            t!("a small hidden size or micro-batch 1; a small batch shows the optimizer")
        }
        Multiplier::NodeLinks => t!("the same run at TP 1 and at TP 8 in a node"),
        Multiplier::Network => {
            t!("the same run on one node and on many, at the same batch per GPU")
        }
        Multiplier::Host => t!("micro-batch 1 and a short sequence; CUDA graphs on and off"),
        Multiplier::Loader => t!("mock data and real data"),
        Multiplier::All => t!("any run"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::posterior::mixture;
    use crate::run::MULTIPLIERS;

    #[test]
    fn the_update_of_a_covariance_is_that_of_one_more_observation() {
        let prior = mixture(&[], &[0.0; MULTIPLIERS]);
        let slopes = [0.5, 0.1, 0.05, 0.2, 0.05, 0.0, 1.0];
        let then = after(&prior.covariance, &slopes);
        // Sherman-Morrison: V'⁻¹ = V⁻¹ + JᵀJ/σ².
        let mut information = super::super::linear::Cholesky::of(&prior.covariance).inverse();
        super::super::linear::add_outer(&mut information, &slopes, NOISE.powi(-2));
        let other = super::super::linear::Cholesky::of(&information).inverse();
        for row in 0..MULTIPLIERS {
            for column in 0..MULTIPLIERS {
                assert!((then[row][column] - other[row][column]).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn every_candidate_runs_on_the_gpus_at_hand_and_the_best_narrows_the_question() {
        let question = Run::default();
        let found = mixture(&[], &[0.0; MULTIPLIERS]);
        let runs = candidates(&question, &[], 16);
        assert!(runs.len() > 4);
        assert!(runs.iter().all(|run| run.gpus <= 16 && report(run).is_ok()));
        let next = next_runs(&found, true, &[question], &runs, 3);
        assert!(next[0].sd.1 < next[0].sd.0);
        assert!(next.windows(2).all(|pair| pair[0].sd.1 <= pair[1].sd.1));
    }
}
