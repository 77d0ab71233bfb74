//! Micro-batches of unequal work on data-parallel replicas: which replica takes longest, and by how much.
//!
//! Replicas wait for each other at the end of a step, or in every micro-batch where gradients are reduced, weights
//! gathered or tokens sent to experts in each. The time of a replica's pipeline is taken as `Σ w + (p − 1) max w`.

use crate::sort::sort_by;
use std::collections::BinaryHeap;

/// Most micro-batches that are picked for all drawn steps together.
const MOST_PICKED: usize = 131_072;
/// Fewest and most steps that are drawn.
const STEPS: (usize, usize) = (4, 32);
/// Micro-batches of one drawn step, at most: of more replicas than that some are drawn.
const MOST_OF_A_STEP: usize = 65_536;
/// Samples of a step under dynamic context parallelism, at most.
const MOST_SAMPLES: usize = 20_000;

/// How the micro-batches of a step come to replicas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dealing {
    pub replicas: usize,
    /// Micro-batches of a replica.
    pub microbatches: usize,
    /// Pipeline ranks of a replica.
    pub ranks: u32,
    /// Replicas that wait for each other in every micro-batch; 1: all wait at the end of the step alone.
    pub together: usize,
    /// Longest first, or in the order of arrival.
    pub sorted: bool,
}

/// Work of the replica that a step waits for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slowest {
    /// Work of each of its micro-batches in a typical step.
    pub work: Vec<f64>,
    /// Mean over steps of its work over that of the mean replica.
    pub imbalance: f64,
    /// Time of its pipeline in the fast and the slow tenth of steps, over the mean.
    pub low: f64,
    pub high: f64,
}

/// `(c − 1) max t + Σ t` for micro-batches of `times` on `ranks` ranks: exact for GPipe with equal stages, an
/// objective for the other schedules. Source: Fudan lecture; `DynaPipe`.
fn iteration_time(times: &[f64], ranks: u32) -> f64 {
    let longest = times.iter().copied().fold(0.0, f64::max);
    f64::from(ranks.max(1) - 1) * longest + times.iter().sum::<f64>()
}

impl Dealing {
    /// Replicas that are drawn.
    fn drawn(&self) -> usize {
        let most = (MOST_OF_A_STEP / self.microbatches.max(1)).max(1);
        let together = self.together.clamp(1, self.replicas.max(1));
        // Whole groups.
        let groups = (most / together).clamp(1, self.replicas.max(1) / together);
        (groups * together).min(most.max(together))
    }

    /// The micro-batches of one step by replica, as indices of `work`; `pick` draws an index below a count.
    pub fn step(&self, work: &[f64], mut pick: impl FnMut(usize) -> usize) -> Vec<Vec<usize>> {
        let replicas = self.drawn();
        let mut taken: Vec<usize> = (0..replicas * self.microbatches).map(|_| pick(work.len())).collect();
        if !self.sorted {
            return taken.chunks(self.microbatches.max(1)).map(<[usize]>::to_vec).collect();
        }
        sort_by(&mut taken, |a, b| work[*b].total_cmp(&work[*a]));
        let mut dealt = vec![Vec::with_capacity(self.microbatches); replicas];
        if self.together > 1 {
            // Neighbours in the order of work run at the same time.
            let groups = replicas / self.together.min(replicas);
            for (at, row) in taken.chunks(self.together.min(replicas)).enumerate() {
                for (place, pack) in row.iter().enumerate() {
                    dealt[at % groups * self.together + place].push(*pack);
                }
            }
            return dealt;
        }
        // The next one goes to the replica with the least work that still has room. The bits of positive numbers sort
        // as the numbers do.
        let mut least: BinaryHeap<_> = (0..replicas).map(|replica| std::cmp::Reverse((0_u64, replica))).collect();
        for pack in taken {
            let Some(std::cmp::Reverse((bits, replica))) = least.pop() else { break };
            dealt[replica].push(pack);
            if dealt[replica].len() < self.microbatches {
                least.push(std::cmp::Reverse(((f64::from_bits(bits) + work[pack]).to_bits(), replica)));
            }
        }
        dealt
    }

    /// Work of each micro-batch of a group of replicas that wait for each other: the largest among them.
    fn waited(&self, work: &[f64], step: &[Vec<usize>]) -> Vec<Vec<f64>> {
        let groups = step.chunks(self.together.max(1));
        let of = |group: &[Vec<usize>]| {
            let at = |place: usize| {
                let each = group.iter().filter_map(|replica| replica.get(place));
                each.map(|pack| work[*pack]).fold(0.0, f64::max)
            };
            (0..self.microbatches).map(at).collect()
        };
        groups.map(of).collect()
    }

    /// Steps that are drawn.
    pub fn steps(&self) -> usize {
        let of_a_step = self.drawn() * self.microbatches;
        (MOST_PICKED / of_a_step.max(1)).clamp(STEPS.0, STEPS.1)
    }

    /// The replica that a typical step waits for, where `pick` draws its micro-batches from `work`.
    pub fn slowest(&self, work: &[f64], mut pick: impl FnMut(usize) -> usize) -> Slowest {
        if work.is_empty() || self.microbatches == 0 {
            return Slowest::default();
        }
        let steps = self.steps();
        let mut found: Vec<(f64, Vec<f64>)> = Vec::with_capacity(steps);
        let mut imbalance = 0.0;
        for _ in 0..steps {
            let step = self.step(work, &mut pick);
            let all: f64 = step.iter().flatten().map(|pack| work[*pack]).sum();
            let each = self.waited(work, &step).into_iter();
            let timed = each.map(|replica| (iteration_time(&replica, self.ranks), replica));
            let Some(longest) = timed.max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
            imbalance += longest.1.iter().sum::<f64>() * step.len() as f64 / all / steps as f64;
            found.push(longest);
        }
        typical(found, imbalance)
    }
}

/// The step nearest to the mean of `found`, its work scaled to that mean.
fn typical(mut found: Vec<(f64, Vec<f64>)>, imbalance: f64) -> Slowest {
    let count = found.len().max(1);
    let mean = found.iter().map(|(time, _)| time).sum::<f64>() / count as f64;
    sort_by(&mut found, |a, b| a.0.total_cmp(&b.0));
    let at = |tenths: usize| found.get(count * tenths / 10).map_or(1.0, |(time, _)| time / mean);
    let (low, high) = (at(1), at(9));
    let near = found.into_iter().min_by(|a, b| (a.0 - mean).abs().total_cmp(&(b.0 - mean).abs()));
    let work = near.map_or_else(Vec::new, |(time, work)| work.iter().map(|one| one * mean / time).collect());
    Slowest { work, imbalance, low, high }
}

/// Samples that each run on as many ranks as they need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DynamicContext {
    /// Ranks of all data-parallel and context-parallel groups.
    pub ranks: usize,
    /// Tokens of a sample that one rank takes.
    pub tokens: f64,
}

impl DynamicContext {
    /// Ranks of a sample of `length` tokens: `2^⌈log₂(L/Q)⌉`. Source: Megatron-LM `hybrid_cp_schedule.py`.
    pub fn ranks_of(&self, length: f64) -> usize {
        let mut ranks = 1;
        while (ranks as f64) * self.tokens < length && ranks < self.ranks {
            ranks *= 2;
        }
        ranks.min(self.ranks)
    }

    /// Work of the rank that a step waits for, and of the mean rank, where `lengths` are dealt with the longest first
    /// to the least loaded aligned ranks. Megatron-LM also waits between groups of samples, each filled to 5 %.
    fn step(&self, mut lengths: Vec<f64>, work: &impl Fn(f64) -> f64) -> (f64, f64) {
        sort_by(&mut lengths, |a, b| b.total_cmp(a));
        let mut load = vec![0.0_f64; self.ranks];
        let mut rest = lengths.as_slice();
        while let Some(first) = rest.first() {
            let together = self.ranks_of(*first);
            let count = rest.iter().take_while(|length| self.ranks_of(**length) == together).count();
            let (now, later) = rest.split_at(count);
            rest = later;
            let blocks = load.chunks_exact(together).map(|block| block.iter().copied().fold(0.0, f64::max).to_bits());
            let mut least: BinaryHeap<_> = blocks.enumerate().map(|(at, bits)| std::cmp::Reverse((bits, at))).collect();
            for length in now {
                let Some(std::cmp::Reverse((bits, at))) = least.pop() else { break };
                let until = f64::from_bits(bits) + work(*length) / together as f64;
                let end = (at * together + together).min(load.len());
                load[at * together..end].fill(until);
                least.push(std::cmp::Reverse((until.to_bits(), at)));
            }
        }
        let all: f64 = lengths.iter().map(|length| work(*length)).sum();
        (load.iter().copied().fold(0.0, f64::max), all / self.ranks as f64)
    }

    /// The slowest rank of steps of `samples` samples that `draw` draws, as work of one micro-batch.
    pub fn slowest(&self, samples: f64, mut draw: impl FnMut() -> f64, work: &impl Fn(f64) -> f64) -> Slowest {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // within the limit
        let drawn = (samples.round() as usize).clamp(1, MOST_SAMPLES);
        let steps = (MOST_PICKED / drawn).clamp(STEPS.0, STEPS.1);
        let mut found = Vec::with_capacity(steps);
        let mut imbalance = 0.0;
        for _ in 0..steps {
            let (most, mean) = self.step((0..drawn).map(|_| draw()).collect(), work);
            imbalance += most / mean / steps as f64;
            let whole = most * samples / drawn as f64;
            found.push((whole, vec![whole]));
        }
        typical(found, imbalance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Durations, Spec, build, measure, schedule};
    use proptest::prelude::*;

    proptest! {
        /// The closed form is the simulated makespan of GPipe.
        #[test]
        fn the_iteration_time_is_exact_for_gpipe(
            times in proptest::collection::vec(0.5f64..2.0, 1..12),
            ranks in 1u32..6,
        ) {
            let spec = Spec::new(schedule("gpipe").unwrap(), ranks, u32::try_from(times.len()).unwrap());
            let durations = Durations::uniform(ranks, 0.25, 0.5, 0.25).with_microbatch_scale(times.clone());
            let order = build(&spec, &durations).unwrap().order;
            let simulated = measure(&order, &durations).unwrap().1.makespan_s;
            prop_assert!((simulated - iteration_time(&times, ranks)).abs() < 1e-9);
        }
    }

    /// Picks in turn.
    fn in_turn() -> impl FnMut(usize) -> usize {
        let mut at = 0;
        move |count| {
            at += 1;
            (at - 1) % count
        }
    }

    fn dealing(together: usize, sorted: bool) -> Dealing {
        Dealing { replicas: 2, microbatches: 2, ranks: 1, together, sorted }
    }

    /// Four micro-batches of work 4, 1, 3, 2: (4, 1) and (3, 2) as they come, 5 of a mean of 5; in every micro-batch
    /// max(4, 3) + max(1, 2). Longest first: (4, 1) and (3, 2) again, and 4 beside 3, 2 beside 1.
    #[test]
    fn replicas_wait_at_the_end_or_in_every_micro_batch() {
        let work = [4.0, 1.0, 3.0, 2.0];
        let of = |together, sorted| dealing(together, sorted).slowest(&work, in_turn());
        assert!((of(1, false).imbalance - 1.0).abs() < 1e-12);
        assert!((of(2, false).imbalance - 6.0 / 5.0).abs() < 1e-12);
        assert!((of(1, true).imbalance - 1.0).abs() < 1e-12);
        assert!((of(2, true).imbalance - 6.0 / 5.0).abs() < 1e-12);
        assert_eq!(dealing(2, true).step(&work, in_turn()), [vec![0, 3], vec![2, 1]]);
        let bad = [4.0, 4.0, 1.0, 1.0];
        let of = |sorted| dealing(1, sorted).slowest(&bad, in_turn());
        assert!((of(false).imbalance - 8.0 / 5.0).abs() < 1e-12 && (of(true).imbalance - 1.0).abs() < 1e-12);
    }

    #[test]
    fn equal_work_has_no_slowest_replica() {
        for together in [1, 4] {
            for sorted in [false, true] {
                let dealing = Dealing { replicas: 8, microbatches: 3, ranks: 4, together, sorted };
                let found = dealing.slowest(&[0.5; 7], in_turn());
                assert!((found.imbalance - 1.0).abs() < 1e-12);
                assert_eq!((found.work.as_slice(), found.low, found.high), ([0.5; 3].as_slice(), 1.0, 1.0));
            }
        }
    }

    /// A sample of four times what a rank takes runs on four ranks; equal work fills all of them.
    #[test]
    fn a_long_sample_takes_as_many_ranks_as_it_needs() {
        let context = DynamicContext { ranks: 8, tokens: 1000.0 };
        assert_eq!([500.0, 1000.0, 1001.0, 4000.0, 9000.0].map(|length| context.ranks_of(length)), [1, 1, 2, 4, 8]);
        let (most, mean) = context.step(vec![4000.0, 1000.0, 1000.0, 1000.0, 1000.0], &|length| length);
        assert!((most - 1000.0).abs() < 1e-9 && (mean - 1000.0).abs() < 1e-9);
    }
}
