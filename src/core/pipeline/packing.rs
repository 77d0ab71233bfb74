//! Samples of unequal length into micro-batches: which belong together, in which order they enter, how long that takes.
//!
//! The iteration is taken to last `(c − 1) max t + sum t` over its micro-batches, c pipeline ranks: exact for GPipe, an
//! objective for the others (1F1B was up to 1.36 times longer in simulation). Source: Fudan lecture;
//! `DynaPipe`.

use crate::maths::{cos, exp, ln};
use crate::sort::{sort, sort_by};

/// `(c − 1) max t + sum t` for micro-batches of `times` on `ranks` ranks.
pub(crate) fn iteration_time(times: &[f64], ranks: u32) -> f64 {
    let longest = times.iter().copied().fold(0.0, f64::max);
    f64::from(ranks.max(1) - 1) * longest + times.iter().sum::<f64>()
}

/// Micro-batches of samples.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Packing {
    /// Lengths of the samples of each micro-batch, ascending.
    pub microbatches: Vec<Vec<u64>>,
    /// Seconds of each.
    pub times: Vec<f64>,
    /// `(c − 1) max t + sum t`.
    pub iteration_s: f64,
}

/// Packs samples into micro-batches so that the iteration is shortest: they are sorted by length, neighbours share a
/// micro-batch (padded to its longest sample), at most `most_tokens` padded tokens each.
///
/// `time`: seconds of a micro-batch, of the number of its samples and of their tokens, no shorter for more of them.
/// For each candidate of the longest micro-batch, `best(j) = min over i of best(i) + time(i..j)` over those not longer;
/// the best candidate wins. None where a sample alone is too long.
pub(crate) fn pack(lengths: &[u64], ranks: u32, most_tokens: u64, time: impl Fn(u64, u64) -> f64) -> Option<Packing> {
    let mut sorted = lengths.to_vec();
    sort(&mut sorted);
    let count = sorted.len();
    // Time of the micro-batch of samples from..to, where it may exist.
    let allowed = |from: usize, to: usize| {
        let (samples, longest) = ((to - from) as u64, sorted[to - 1]);
        (samples.saturating_mul(longest) <= most_tokens).then(|| time(samples, longest))
    };
    let mut candidates: Vec<f64> = Vec::new();
    for to in 1..=count {
        for from in (0..to).rev() {
            match allowed(from, to) {
                Some(time) => candidates.push(time),
                None => break,
            }
        }
    }
    sort_by(&mut candidates, f64::total_cmp);
    candidates.dedup();
    let mut best: Option<Packing> = None;
    for bound in candidates {
        let found = shortest_sum(count, |from, to| allowed(from, to).filter(|time| *time <= bound));
        let Some(cuts) = found else { continue };
        let groups = || cuts.windows(2).map(|cut| cut[0]..cut[1]);
        let times: Vec<f64> = groups().filter_map(|group| allowed(group.start, group.end)).collect();
        let iteration_s = iteration_time(&times, ranks);
        if best.as_ref().is_none_or(|best| iteration_s < best.iteration_s) {
            best = Some(Packing {
                microbatches: groups().map(|group| sorted[group].to_vec()).collect(),
                times,
                iteration_s,
            });
        }
    }
    best
}

/// Cuts `0..count` into groups of the least total time; each cut from 0 to `count`.
fn shortest_sum(count: usize, time: impl Fn(usize, usize) -> Option<f64>) -> Option<Vec<usize>> {
    let mut best = vec![f64::INFINITY; count + 1];
    let mut cut = vec![0; count + 1];
    best[0] = 0.0;
    for to in 1..=count {
        for from in (0..to).rev() {
            // One sample more only makes it longer.
            let Some(time) = time(from, to) else { break };
            if best[from] + time < best[to] {
                (best[to], cut[to]) = (best[from] + time, from);
            }
        }
    }
    if best[count].is_infinite() {
        return None;
    }
    let mut cuts = vec![count];
    let mut to = count;
    while to > 0 {
        to = cut[to];
        cuts.push(to);
    }
    cuts.reverse();
    Some(cuts)
}

/// The order in which micro-batches enter so that the long ones meet in the middle: the second shortest first, then
/// rising, then falling. Fill and drain then wait for short ones. Indices into `times`.
pub(crate) fn rise_and_fall(times: &[f64]) -> Vec<usize> {
    let mut rising: Vec<usize> = (0..times.len()).collect();
    sort_by(&mut rising, |a, b| times[*a].total_cmp(&times[*b]));
    let falling = rising.iter().copied().step_by(2).collect::<Vec<_>>();
    let mut order: Vec<usize> = rising.iter().copied().skip(1).step_by(2).collect();
    order.extend(falling.into_iter().rev());
    order
}

/// Distribution of sample lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LengthSpread {
    /// Evenly between an eighth of the longest and the longest.
    Uniform,
    /// Many short, few long: log-normal around a quarter of the longest, standard deviation 0.8 of its logarithm.
    #[default]
    LogNormal,
    /// Four of five about an eighth of the longest, one of five nearly as long as it.
    Bimodal,
}

/// `count` sample lengths up to `longest`, the same for the same `seed`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 1 and the longest
pub fn draw(spread: LengthSpread, count: usize, longest: u64, seed: u64) -> Vec<u64> {
    let mut state = seed;
    let mut next = || {
        // Knuth's MMIX generator; the upper 32 bits are well mixed.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as f64 / f64::from(u32::MAX)
    };
    let mut share = || match spread {
        LengthSpread::Uniform => 0.125 + 0.875 * next(),
        LengthSpread::LogNormal => {
            // Box and Muller.
            let (u, v) = (next().max(1e-12), next());
            let normal = (-2.0 * ln(u)).sqrt() * cos(std::f64::consts::TAU * v);
            0.25 * exp(0.8 * normal)
        }
        LengthSpread::Bimodal => {
            let (long, within) = (next() < 0.2, next());
            if long { 0.8 + 0.2 * within } else { 0.0625 + 0.125 * within }
        }
    };
    (0..count).map(|_| ((share() * longest as f64).round() as u64).clamp(longest.min(16), longest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Durations, Spec, build, measure, schedule};
    use proptest::prelude::*;

    fn simulated(id: &str, ranks: u32, times: &[f64]) -> f64 {
        let m = u32::try_from(times.len()).unwrap();
        let spec = Spec::new(schedule(id).unwrap(), ranks, m);
        // F and BW together take `time`.
        let durations = Durations::uniform(ranks, 0.25, 0.5, 0.25).with_microbatch_scale(times.to_vec());
        let order = build(&spec, &durations).unwrap().order;
        measure(&order, &durations).unwrap().1.makespan_s
    }

    proptest! {
        /// The closed form is GPipe's makespan, and 1F1B never beats it by more than the fill that it saves.
        #[test]
        fn the_iteration_time_is_exact_for_gpipe(
            times in proptest::collection::vec(0.5f64..2.0, 1..12),
            ranks in 1u32..6,
        ) {
            let gpipe = simulated("gpipe", ranks, &times);
            prop_assert!((gpipe - iteration_time(&times, ranks)).abs() < 1e-9);
        }

        /// All contiguous groupings of up to 8 sorted samples, one by one.
        #[test]
        fn no_grouping_of_sorted_samples_is_shorter(
            lengths in proptest::collection::vec(1u64..100, 1..8),
            ranks in 1u32..6,
        ) {
            let time = |count: u64, length: u64| 0.3 + count as f64 * (length as f64 + 0.01 * (length * length) as f64);
            let found = pack(&lengths, ranks, 250, time).unwrap();
            prop_assert_eq!(found.microbatches.iter().map(Vec::len).sum::<usize>(), lengths.len());
            let mut sorted = lengths.clone();
            sorted.sort_unstable();
            let mut best = f64::INFINITY;
            for mask in 0u32..1 << (sorted.len() - 1) {
                let mut times = Vec::new();
                let mut from = 0;
                let mut fits = true;
                for to in 1..=sorted.len() {
                    if to == sorted.len() || mask & (1 << (to - 1)) != 0 {
                        let count = (to - from) as u64;
                        fits &= count * sorted[to - 1] <= 250;
                        times.push(time(count, sorted[to - 1]));
                        from = to;
                    }
                }
                if fits {
                    best = best.min(iteration_time(&times, ranks));
                }
            }
            prop_assert!((found.iteration_s - best).abs() < 1e-9, "{} {best}", found.iteration_s);
        }
    }

    #[test]
    fn a_sample_that_is_too_long_alone_cannot_be_packed() {
        assert_eq!(pack(&[10, 300], 4, 250, |_, length| length as f64), None);
        assert_eq!(pack(&[], 4, 250, |_, length| length as f64), None);
    }

    #[test]
    fn the_same_seed_draws_the_same_lengths() {
        for spread in [LengthSpread::Uniform, LengthSpread::LogNormal, LengthSpread::Bimodal] {
            let drawn = draw(spread, 200, 8192, 7);
            assert_eq!(drawn, draw(spread, 200, 8192, 7));
            assert_ne!(drawn, draw(spread, 200, 8192, 8));
            assert!(drawn.iter().all(|length| (16..=8192).contains(length)));
        }
        let mean = |spread| draw(spread, 4000, 8192, 1).iter().sum::<u64>() as f64 / 4000.0 / 8192.0;
        // Means of the distributions: 9/16; 0.8 · 1/8 + 0.2 · 0.9; e^(0.8²/2)/4 less what the longest cuts off.
        assert!((mean(LengthSpread::Uniform) - 0.5625).abs() < 0.02);
        assert!((mean(LengthSpread::Bimodal) - 0.28).abs() < 0.02);
        let uncut = exp(0.8f64.powi(2) / 2.0) / 4.0;
        let cut = mean(LengthSpread::LogNormal);
        assert!(cut < uncut && cut > 0.9 * uncut, "{cut} {uncut}");
        // Half of them are below the median.
        let short = draw(LengthSpread::LogNormal, 4000, 8192, 1);
        let short = short.iter().filter(|length| **length < 2048).count();
        assert!((1900..2100).contains(&short), "{short}");
    }

    #[test]
    fn the_long_ones_meet_in_the_middle() {
        assert_eq!(rise_and_fall(&[5.0, 1.0, 3.0, 2.0, 4.0]), [3, 4, 0, 2, 1]);
        let times: Vec<f64> = draw(LengthSpread::LogNormal, 16, 1000, 3).iter().map(|l| *l as f64).collect();
        let ordered: Vec<f64> = rise_and_fall(&times).into_iter().map(|at| times[at]).collect();
        let mut long_first = times.clone();
        long_first.sort_by(|a, b| b.total_cmp(a));
        assert!(simulated("1f1b", 4, &ordered) <= simulated("1f1b", 4, &long_first));
    }
}
