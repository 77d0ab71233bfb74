//! The steady state of an order that is laid out round by round: once the rounds repeat themselves, what they repeat is
//! not laid out again.
//!
//! The ops of a round follow from how far apart the ranks' clocks are, from what each rank has run and what is under
//! way,
//! and from comparisons of a gap with the slack of a rank: the idle time that it may lose until it has lost as much as
//! the rank that lost most. Where all but the last are what they were some rounds ago, the rounds since then are
//! repeated for as long as each such comparison comes out as it did. Times are on a grid on which their sums are exact,
//! so the order is that of all rounds, op for op.

use crate::pipeline::{Durations, OrderItem, RankRow};
use std::collections::VecDeque;

/// Longest period looked for, in rounds.
pub(super) const LONGEST: usize = 64;

/// `durations` on a grid on which sums of `ops` of them are exact, a billionth of the longest or finer.
pub(super) fn exact(durations: &Durations, ops: u64) -> Durations {
    let [f, b, w] = [&durations.forward, &durations.backward_input, &durations.backward_weight];
    let longest = [f, b, w].into_iter().flatten().copied();
    let longest = longest.fold(durations.p2p, f64::max);
    let mut unit = f64::MIN_POSITIVE;
    // Half of the digits' range is left for sums of several clocks.
    while unit * 2f64.powi(51) < longest * (ops + 1) as f64 {
        unit *= 2.0;
    }
    let on = |time: f64| (time / unit).round() * unit;
    let rounded = |times: &[f64]| times.iter().copied().map(on).collect();
    Durations {
        forward: rounded(f),
        backward_input: rounded(b),
        backward_weight: rounded(w),
        pair: None,
        p2p: on(durations.p2p),
        microbatch_scale: None,
    }
}

/// Ops of a rank: those since the last repetition are apart.
#[derive(Default)]
pub(super) struct Laid {
    pub row: RankRow,
    pub ops: Vec<OrderItem>,
}

impl Laid {
    pub fn row(mut self) -> RankRow {
        self.row.extend(self.ops);
        self.row
    }
    /// The ops behind the first `from`, `times` times more, each time `step` micro-batches on.
    pub fn repeat(&mut self, from: usize, times: u32, step: u32) {
        let body = self.ops.split_off(from);
        self.row.extend(self.ops.drain(..));
        self.row.repeat(body, times + 1, step.cast_signed());
    }
}

/// A comparison of a gap with the slack of a rank.
pub(super) struct Comparison {
    pub rank: usize,
    /// The rank that has lost most; none where the slack does not count from it.
    pub worst: Option<usize>,
    /// Gap over slack: where positive, the gap mattered.
    pub over: f64,
}

/// The state behind a round.
pub(super) struct Mark {
    /// Everything that decides what follows but idle time, relative to clock and micro-batch.
    pub shape: Vec<f64>,
    /// The clock of rank 0.
    pub clock: f64,
    /// The micro-batch that rank 0 begins next; no rank has begun it.
    pub microbatch: u32,
    /// Idle time that each rank has lost.
    pub lost: Vec<f64>,
    pub ops: Vec<usize>,
    pub comparisons: Vec<Comparison>,
}

impl Mark {
    /// The state whose rank 0 begins the micro-batch `begun` next, from the idle time and the ops of each rank.
    pub fn new(
        shape: Vec<f64>,
        clock: f64,
        begun: usize,
        comparisons: &mut Vec<Comparison>,
        ranks: impl Iterator<Item = (f64, usize)>,
    ) -> Self {
        #[allow(clippy::cast_possible_truncation)] // comes from u32
        let microbatch = begun as u32;
        let (lost, ops) = ranks.unzip();
        Self { shape, clock, microbatch, lost, ops, comparisons: std::mem::take(comparisons) }
    }
}

/// Rounds that repeat.
pub(super) struct Period {
    pub rounds: u32,
    pub times: u32,
    /// Seconds of one time.
    pub seconds: f64,
    /// Micro-batches of one time.
    pub step: u32,
    /// Idle time that each rank loses in one time.
    pub rates: Vec<f64>,
    /// Their first op in each rank's ops.
    pub from: Vec<usize>,
}

/// The last rounds.
pub(super) struct Rounds {
    marks: VecDeque<Mark>,
    longest: usize,
}

impl Rounds {
    /// None yet; periods of `longest` rounds at most are found.
    pub const fn new(longest: usize) -> Self {
        Self { marks: VecDeque::new(), longest }
    }
    /// The period that ends with the round behind which `mark` is, repeated until the last of `microbatches` is to
    /// be begun at most.
    pub fn period(&mut self, mark: Mark, microbatches: u32) -> Option<Period> {
        let marks = &mut self.marks;
        let mut earlier = marks.iter().rev().zip(1u32..);
        let found = earlier.find(|(before, _)| before.shape == mark.shape);
        let period = found.and_then(|(before, rounds)| {
            let step = mark.microbatch - before.microbatch;
            let both = mark.lost.iter().zip(&before.lost);
            let rates: Vec<f64> = both.map(|(now, then)| now - then).collect();
            let most = rates.iter().copied().fold(0.0, f64::max);
            let since = marks.iter().rev().take(rounds as usize - 1);
            let comparisons = since.chain([&mark]).flat_map(|mark| &mark.comparisons);
            let lasting = comparisons.map(|one| one.lasts(&rates, most));
            let left = (microbatches - 1).checked_sub(mark.microbatch)?.checked_div(step)?;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most `left`
            let times = lasting.fold(f64::from(left), f64::min) as u32;
            (times > 0).then(|| Period {
                rounds,
                times,
                seconds: mark.clock - before.clock,
                step,
                rates,
                from: before.ops.clone(),
            })
        });
        if period.is_some() {
            marks.clear();
        } else {
            marks.push_back(mark);
            if marks.len() > self.longest {
                marks.pop_front();
            }
        }
        period
    }
}

impl Comparison {
    /// Number of rounds that come out alike where each rank loses `rates` a time, `most` the worst of them.
    fn lasts(&self, rates: &[f64], most: f64) -> f64 {
        let rate = rates[self.rank];
        if self.over > 0.0 {
            // The slack grows by no more than this.
            let by = most - rate;
            let times = (self.over / by).ceil() - 1.0;
            let fits = times * by < self.over || by <= 0.0;
            if fits { times } else { times - 1.0 }
        } else {
            // And shrinks by no more than this.
            let by = rate - self.worst.map_or(0.0, |worst| rates[worst]);
            if by <= 0.0 {
                return f64::INFINITY;
            }
            let times = (-self.over / by).floor();
            if times * by <= -self.over { times } else { times - 1.0 }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Stages of equal times, of few times, so that cycles tie, or of any; those of `seed`.
    pub fn any_durations(seed: u64, stages: u32) -> Durations {
        let mut state = seed | 1;
        let mut next = |count: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) % count
        };
        let kind = next(3);
        let mut times = || -> Vec<f64> {
            let usual = 1 + next(1000);
            let time = |_| match kind {
                0 => usual,
                1 => 1 + next(3),
                _ => 1 + next(1000),
            };
            (0..stages).map(time).map(|time| time as f64 / 300.0).collect()
        };
        Durations {
            forward: times(),
            backward_input: times(),
            backward_weight: times(),
            pair: None,
            p2p: [0.0, 0.01, 1.0][usize::from(next(2) > 0) + usize::from(next(2) > 0)],
            microbatch_scale: None,
        }
    }

    /// A sum of as many as are promised is exact: in any order it is the same.
    #[test]
    fn sums_on_the_grid_are_exact() {
        let durations = exact(&any_durations(5, 64), 100_000);
        let times = durations.forward.iter().cycle().take(100_000);
        let forth: f64 = times.clone().sum();
        let mut sorted: Vec<f64> = times.copied().collect();
        sorted.sort_by(f64::total_cmp);
        assert_eq!(forth, sorted.iter().sum::<f64>());
        let before = any_durations(5, 64).forward;
        let near = durations.forward.iter().zip(before).all(|(on, off)| (on - off).abs() < 1e-8);
        assert!(near);
    }
}
