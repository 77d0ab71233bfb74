//! The steady state of a pipeline that never drains: `PipeDream` and `PipeDream-2BW` run one step's micro-batches right
//! behind the last step's, so that fill and drain happen once in a training and not in every step.
//!
//! Forward i + w of rank r follows backward i of it (1F1B with w = p − 1 − r forwards ahead). Dependencies
//! therefore run in cycles: over the ranks r to s forward, back over the same ranks, and n = s − r + 1 micro-batches
//! later again. The slowest cycle sets the pace, `max over r <= s of (Σ T_j + 2 (n − 1) l)/n`. For equal ranks that
//! is T without latency and T + 2 l (p − 1)/p with it.

use super::Durations;
use std::ops::Range;

/// Steps that are followed where micro-batches have lengths of their own, half of them discarded as the start.
const STEPS: usize = 16;

/// The dependencies that set the pace of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cycle {
    /// The ranks that it runs over, forward and back.
    pub ranks: Range<usize>,
    /// Seconds between micro-batches.
    pub seconds: f64,
}

/// The slowest cycle over ranks that work `totals` seconds on a micro-batch, with `p2p` seconds between neighbours.
///
/// Starting from the longest rank, a better cycle is one whose work and messages exceed the pace so far; each round
/// finds the one that exceeds it most, and ends when none does.
pub(crate) fn slowest_cycle(totals: &[f64], p2p: f64) -> Cycle {
    let mut slowest = Cycle { ranks: 0..0, seconds: 0.0 };
    for (rank, seconds) in totals.iter().copied().enumerate() {
        if seconds > slowest.seconds {
            slowest = Cycle { ranks: rank..rank + 1, seconds };
        }
    }
    loop {
        let mut most = (2.0 * p2p, 0..0);
        let (mut first, mut sum) = (0, 0.0);
        for (rank, seconds) in totals.iter().enumerate() {
            if sum <= 0.0 {
                (first, sum) = (rank, 0.0);
            }
            sum += seconds + 2.0 * p2p - slowest.seconds;
            if sum > most.0 {
                most = (sum, first..rank + 1);
            }
        }
        let ranks = most.1;
        let count = ranks.len() as f64;
        let work: f64 = totals[ranks.clone()].iter().sum();
        let seconds = (work + 2.0 * (count - 1.0) * p2p) / count;
        if ranks.is_empty() || seconds <= slowest.seconds {
            return slowest;
        }
        slowest = Cycle { ranks, seconds };
    }
}

/// Seconds that one stage works on a micro-batch, of every stage.
pub fn totals(durations: &Durations) -> Vec<f64> {
    let lists = durations.forward.iter().zip(&durations.backward_input);
    let lists = lists.zip(&durations.backward_weight);
    lists.map(|((f, b), w)| f + b + w).collect()
}

/// Seconds of a step of `microbatches` once the pipeline is full. Exact, but for micro-batches of unequal length: these
/// are followed over some steps and averaged.
pub fn step_seconds(durations: &Durations, microbatches: u32) -> f64 {
    match &durations.microbatch_scale {
        Some(scale) => followed(durations, scale),
        None => f64::from(microbatches) * slowest_cycle(&totals(durations), durations.p2p).seconds,
    }
}

/// Runs the rounds of endless 1F1B: in each a rank works forward on a micro-batch, then backward on the one that
/// entered w earlier.
fn followed(durations: &Durations, scale: &[f64]) -> f64 {
    let (p, m, l) = (durations.forward.len(), scale.len(), durations.p2p);
    let (mut forward, mut backward) = (vec![0.0f64; p], vec![0.0f64; p]);
    let mut half = 0.0;
    for round in 0..STEPS * m {
        let length = |ahead: usize| scale[(round + ahead) % m];
        for r in (0..p).rev() {
            // The rank before did this micro-batch in the round before.
            let arrival = if r > 0 { forward[r - 1] + l } else { 0.0 };
            forward[r] = backward[r].max(arrival) + durations.forward[r] * length(p - 1 - r);
        }
        for r in (0..p).rev() {
            let arrival = backward.get(r + 1).map_or(0.0, |end| end + l);
            let work = durations.backward_input[r] + durations.backward_weight[r];
            backward[r] = forward[r].max(arrival) + work * length(0);
        }
        if round + 1 == STEPS / 2 * m {
            half = backward[0];
        }
    }
    (backward.first().copied().unwrap_or(0.0) - half) / (STEPS - STEPS / 2) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Spec, build, measure, schedule};

    /// Seconds that a micro-batch adds to the simulated order once the fill is forgotten: from `few` to `many` of them.
    fn simulated(durations: &Durations, few: u32, many: u32) -> f64 {
        let p = u32::try_from(durations.forward.len()).unwrap();
        let end = |m: u32| {
            let spec = Spec::new(schedule("pipedream").unwrap(), p, m);
            let mut durations = durations.clone();
            if let Some(scale) = &mut durations.microbatch_scale {
                *scale = scale.iter().copied().cycle().take(m as usize).collect();
            }
            let order = build(&spec, &durations).unwrap().order;
            measure(&order, &durations).unwrap().1.makespan_s
        };
        end(many) - end(few)
    }

    /// Stages of every length: the cycle of some ranks in the middle may set the pace.
    #[test]
    fn the_slowest_cycle_is_what_further_micro_batches_add_to_a_simulation() {
        let lengths = [7.0, 3.0, 9.0, 9.5, 2.0, 6.0, 8.0, 1.0, 9.0, 4.0];
        for p in 1..=8usize {
            for start in 0..lengths.len() - p {
                for l in [0.0, 0.5, 2.0, 20.0] {
                    let stages = &lengths[start..start + p];
                    let durations = Durations::uniform(u32::try_from(p).unwrap(), 1.0, 1.2, 0.7)
                        .with_stage_scale(stages)
                        .with_p2p(l);
                    // 840 is a multiple of every number of ranks: cycles of all of them come out whole.
                    let added = simulated(&durations, 1680, 2520);
                    let ours = step_seconds(&durations, 840);
                    assert!((ours / added - 1.0).abs() < 1e-9, "p={p} l={l} {stages:?}: {ours} {added}");
                }
            }
        }
    }

    #[test]
    fn lengths_of_their_own_are_followed_as_the_simulator_does() {
        let scale = vec![1.0, 3.0, 0.5, 2.0, 0.25, 1.0, 4.0, 0.5];
        let mean = scale.iter().sum::<f64>() / scale.len() as f64;
        let equal = Durations::uniform(4, 1.0, 1.2, 0.7).with_p2p(0.1);
        let durations = equal.clone().with_microbatch_scale(scale);
        let ours = step_seconds(&durations, 8);
        let added = simulated(&durations, 80, 160) / 10.0;
        assert!((ours / added - 1.0).abs() < 1e-2, "{ours} {added}");
        // Unequal ones wait for each other.
        assert!(ours > step_seconds(&equal, 8) * mean);
        let same = equal.clone().with_microbatch_scale(vec![1.0; 8]);
        assert!((step_seconds(&same, 8) / step_seconds(&equal, 8) - 1.0).abs() < 1e-9);
    }
}
