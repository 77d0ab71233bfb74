//! Samples drawn from a distribution of lengths, and the micro-batches that they make.
//!
//! Samples come in random order; a sequence takes them as long as they fit ("next fit"). With a capacity S that is
//! large against the samples it is filled to `1 − E[L²]/(2 E[L] S)` (renewal theory: the next sample, which no
//! longer fits, is picked by its length, and half of it is free on average).

use super::lengths::{LengthShape, LengthsParts};
use crate::maths::{cos, exp, ln};
use std::f64::consts::TAU;
use std::sync::{Arc, Mutex};

/// Most samples that are drawn for a pool of micro-batches.
const MOST_SAMPLES: usize = 32_768;
/// Fewest and most micro-batches in a pool.
const PACKS: (usize, usize) = (64, 2048);
/// Samples of one micro-batch, at most.
pub(super) const MOST_IN_A_PACK: usize = 8192;
/// Lower edge of the first range of a histogram, as a share of its upper edge; samples below it are few tokens.
const SHORTEST: f64 = 1.0 / 32.0;
/// Seed of the pool.
const SEED: u64 = 2026;

/// Random numbers, the same for the same seed: a linear congruence (Knuth, MMIX), of which the upper bits are used.
#[derive(Clone, Debug)]
pub(crate) struct Congruence(u64);

impl Congruence {
    pub fn new(seed: u64) -> Self {
        let mut first = Self(seed);
        first.share();
        first
    }
    /// A number in (0, 1).
    pub fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }
    /// An index below `count`.
    pub fn index(&mut self, count: usize) -> usize {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below the count
        let at = (self.share() * count as f64) as usize;
        at.min(count.saturating_sub(1))
    }
}

/// A range of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthRange {
    pub low: f64,
    pub high: f64,
    /// Share of the samples up to `high`.
    pub up_to: f64,
}

/// Distribution of the lengths of samples, tokens.
#[derive(Clone, Debug, PartialEq)]
pub enum SampleLengths {
    Equal(f64),
    /// Longer ones are cut at `longest`.
    LogNormal {
        median: f64,
        sigma: f64,
        longest: f64,
    },
    /// Log-uniform in each range.
    Ranges(Vec<LengthRange>),
}

impl SampleLengths {
    /// What `parts` say of samples of at most `longest` tokens; none where nothing is said, or what is refused.
    pub fn of(parts: &LengthsParts, longest: u64) -> Option<Self> {
        let longest = longest as f64;
        match parts.base? {
            LengthShape::Constant => Some(Self::Equal(parts.median?.round().min(longest))),
            LengthShape::LogNormal => Some(Self::LogNormal { median: parts.median?, sigma: parts.sigma?, longest }),
            LengthShape::Histogram => {
                let ranges = &parts.values.as_ref()?.0;
                let sum: f64 = ranges.iter().map(|(_, share)| share).sum();
                let first = ranges.first().filter(|_| sum > 0.0)?;
                let (mut low, mut up_to) = (first.0 as f64 * SHORTEST, 0.0);
                let ranges = ranges.iter().map(|(edge, share)| {
                    up_to += share / sum;
                    let range = LengthRange { low, high: *edge as f64, up_to };
                    low = *edge as f64;
                    range
                });
                Some(Self::Ranges(ranges.collect()))
            }
        }
    }

    /// The longest sample that can come.
    pub fn longest(&self) -> f64 {
        match self {
            Self::Equal(length) => *length,
            Self::LogNormal { longest, .. } => *longest,
            Self::Ranges(ranges) => ranges.last().map_or(0.0, |range| range.high),
        }
    }

    fn draw(&self, random: &mut Congruence) -> f64 {
        let length = match self {
            Self::Equal(length) => *length,
            Self::LogNormal { median, sigma, longest } => {
                // Box and Muller.
                let (radius, turn) = (random.share(), random.share());
                let normal = (-2.0 * ln(radius)).sqrt() * cos(TAU * turn);
                (median * exp(sigma * normal)).min(*longest)
            }
            Self::Ranges(ranges) => {
                let (place, within) = (random.share(), random.share());
                let range = ranges.iter().find(|range| place <= range.up_to).or(ranges.last());
                range.map_or(1.0, |range| {
                    let low = range.low.max(1.0).min(range.high);
                    low * exp(within * ln(range.high / low))
                })
            }
        };
        length.round().max(1.0)
    }
}

/// A micro-batch of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SamplePack {
    /// Tokens of its samples.
    pub real: f64,
    /// Tokens that are computed, padding included.
    pub tokens: f64,
    /// Sum over the samples of the square of their computed length: twice the pairs of a causal mask.
    pub squares: f64,
    /// Samples in it.
    pub samples: f64,
}

impl SamplePack {
    fn add(&mut self, real: f64, computed: f64) {
        self.real += real;
        self.tokens += computed;
        self.squares += computed * computed;
        self.samples += 1.0;
    }
}

/// Sizes that shape a micro-batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackShape {
    /// Tokens that a sequence has room for; none: samples are padded to the longest of their micro-batch.
    pub capacity: Option<f64>,
    /// Sequences of a micro-batch.
    pub sequences: u64,
    /// The tokens of a sample are padded to a multiple of this.
    pub align: f64,
}

/// Micro-batches drawn from a distribution: those of every step are picked among them.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplePool {
    pub lengths: SampleLengths,
    pub packs: Vec<SamplePack>,
    pub shape: PackShape,
    /// Lengths of the samples, as drawn.
    pub drawn: Vec<f64>,
    /// Mean length of a sample.
    pub mean: f64,
    /// Mean tokens of a micro-batch, without padding.
    pub real: f64,
    /// Mean tokens that are computed of a micro-batch, padding included.
    pub tokens: f64,
    /// Mean length of the sample that a computed token is in: `Σ l²/Σ l`.
    pub attended: f64,
    /// Mean length of the sample that a token stands in, padding left out of both.
    pub attended_real: f64,
}

/// The pool made last: layouts of one run mostly share it.
static LAST: Mutex<Option<Arc<SamplePool>>> = Mutex::new(None);

impl SamplePool {
    /// [`SamplePool::new`], made once for what is asked again.
    pub fn shared(lengths: SampleLengths, shape: PackShape) -> Option<Arc<Self>> {
        let known = LAST.lock().ok().and_then(|last| last.clone());
        if let Some(pool) = known.filter(|pool| pool.shape == shape && pool.lengths == lengths) {
            return Some(pool);
        }
        let pool = Arc::new(Self::new(lengths, shape)?);
        if let Ok(mut last) = LAST.lock() {
            *last = Some(Arc::clone(&pool));
        }
        Some(pool)
    }

    /// The micro-batches of `shape` that samples of `lengths` make; none where one takes too many samples.
    pub fn new(lengths: SampleLengths, shape: PackShape) -> Option<Self> {
        let mut random = Congruence::new(SEED);
        let rounded = |length: f64| (length / shape.align).ceil() * shape.align;
        let (mut packs, mut drawn) = (Vec::new(), Vec::new());
        let mut next = lengths.draw(&mut random);
        while packs.len() < PACKS.1 && (drawn.len() < MOST_SAMPLES || packs.len() < PACKS.0) {
            let mut pack = SamplePack::default();
            let before = drawn.len();
            for _ in 0..shape.sequences {
                let start = pack.tokens;
                let mut is_empty = true;
                loop {
                    let computed = rounded(next);
                    let room = shape.capacity.map_or(0.0, |capacity| capacity - (pack.tokens - start));
                    if !is_empty && computed > room {
                        break;
                    }
                    if drawn.len() - before == MOST_IN_A_PACK {
                        return None;
                    }
                    pack.add(next, computed);
                    drawn.push(next);
                    is_empty = false;
                    next = lengths.draw(&mut random);
                }
            }
            if shape.capacity.is_none() {
                let longest = rounded(drawn[before..].iter().copied().fold(0.0, f64::max));
                pack.tokens = pack.samples * longest;
                pack.squares = pack.tokens * longest;
            }
            packs.push(pack);
        }
        let count = packs.len().max(1) as f64;
        let sum = |part: fn(&SamplePack) -> f64| packs.iter().map(part).sum::<f64>();
        let (real, tokens, squares) = (sum(|pack| pack.real), sum(|pack| pack.tokens), sum(|pack| pack.squares));
        let sum_drawn = drawn.iter().sum::<f64>();
        Some(Self {
            mean: sum_drawn / drawn.len().max(1) as f64,
            real: real / count,
            tokens: tokens / count,
            attended: squares / tokens,
            attended_real: drawn.iter().map(|length| length * length).sum::<f64>() / sum_drawn,
            lengths,
            shape,
            packs,
            drawn,
        })
    }

    /// Work of each micro-batch over that of a usual one, which has `usual` tokens in samples of the mean attended
    /// length; `squared` is the share of a usual one's time that grows with the square of lengths.
    pub fn work(&self, usual: f64, squared: f64) -> Vec<f64> {
        let of = |pack: &SamplePack| ((1.0 - squared) * pack.tokens + squared * pack.squares / self.attended) / usual;
        self.packs.iter().map(of).collect()
    }

    /// The least [`work`](Self::work) of a micro-batch for any `squared`, at most 1.
    pub fn least_work(&self, usual: f64) -> f64 {
        let of = |pack: &SamplePack| pack.tokens.min(pack.squares / self.attended) / usual;
        self.packs.iter().map(of).fold(f64::INFINITY, f64::min).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::lengths::LengthHistogram;

    fn log_normal(median: f64, sigma: f64, longest: f64) -> SampleLengths {
        SampleLengths::LogNormal { median, sigma, longest }
    }

    fn articles() -> SampleLengths {
        // Lengths of articles for continued pretraining: dataset_stats_qwen.md of elsayedhazemm/gemma3-pt.
        let edges = [1000, 2000, 4000, 8000, 16_000, 32_000];
        let shares = [21.8, 15.3, 29.4, 27.7, 5.6, 0.1];
        let values = Some(LengthHistogram(edges.into_iter().zip(shares).collect()));
        let parts = LengthsParts { base: Some(LengthShape::Histogram), values, ..LengthsParts::default() };
        SampleLengths::of(&parts, 32_768).unwrap()
    }

    fn packed(lengths: SampleLengths, capacity: f64) -> SamplePool {
        SamplePool::new(lengths, PackShape { capacity: Some(capacity), sequences: 1, align: 1.0 }).unwrap()
    }

    /// Fill and lengths as another program simulated them, and the closed form: within 2.5 %.
    #[test]
    fn sequences_fill_as_simulated_elsewhere() {
        for (lengths, capacity, mean, fill) in [
            (log_normal(400.0, 1.0, 8192.0), 8192.0, 655.0, 0.902),
            (log_normal(1000.0, 1.2, 32_768.0), 32_768.0, 2023.0, 0.899),
            (log_normal(6000.0, 1.0, 65_536.0), 65_536.0, 9636.0, 0.851),
            (log_normal(16_000.0, 1.2, 262_144.0), 262_144.0, 31_229.0, 0.849),
            (articles(), 32_768.0, 3403.0, 0.908),
        ] {
            let pool = packed(lengths, capacity);
            assert!((pool.mean / mean - 1.0).abs() < 0.025, "{capacity}: {}", pool.mean);
            let filled = pool.real / capacity;
            assert!((filled / fill - 1.0).abs() < 0.025, "{capacity}: {filled}");
            let squares = pool.drawn.iter().map(|length| length * length).sum::<f64>() / pool.drawn.len() as f64;
            let renewal = 1.0 - squares / (2.0 * pool.mean * capacity);
            assert!((renewal / filled - 1.0).abs() < 0.03, "{capacity}: {renewal} {filled}");
        }
    }

    /// Equal samples of L tokens: `floor(S/L) L/S`, alignment to 32 tokens takes as many as it adds.
    #[test]
    fn equal_samples_fill_as_many_as_fit() {
        let pool = packed(SampleLengths::Equal(3000.0), 8192.0);
        assert!((pool.real - 6000.0).abs() < 1e-9 && (pool.attended - 3000.0).abs() < 1e-9);
        let shape = PackShape { capacity: Some(8192.0), sequences: 2, align: 32.0 };
        let aligned = SamplePool::new(SampleLengths::Equal(1000.0), shape).unwrap();
        assert!((aligned.real - 16_000.0).abs() < 1e-9 && (aligned.tokens - 16.0 * 1024.0).abs() < 1e-9);
    }

    /// Two samples padded to the longer: `E[L]/E[max]` of a uniform logarithm between 1 and e is
    /// `(e − 1)/2` over `2 (1)`: E[L] = e − 1, E[max of 2] = ∫ e^x 2x dx = 2.
    #[test]
    fn padded_micro_batches_are_as_long_as_their_longest_sample() {
        let range = LengthRange { low: 10_000.0, high: 27_182.818, up_to: 1.0 };
        let shape = PackShape { capacity: None, sequences: 2, align: 1.0 };
        let pool = SamplePool::new(SampleLengths::Ranges(vec![range]), shape).unwrap();
        let expected = (std::f64::consts::E - 1.0) / 2.0;
        assert!((pool.real / pool.tokens / expected - 1.0).abs() < 0.01, "{}", pool.real / pool.tokens);
        assert!((pool.tokens / 40_000.0 - 1.0).abs() < 0.01, "{}", pool.tokens);
    }

    #[test]
    fn the_work_of_the_mean_is_what_is_filled() {
        let pool = packed(log_normal(1000.0, 1.2, 32_768.0), 32_768.0);
        for squared in [0.0, 0.3, 1.0] {
            let work = pool.work(32_768.0, squared);
            let mean = work.iter().sum::<f64>() / work.len() as f64;
            assert!((mean - pool.tokens / 32_768.0).abs() < 1e-9);
            assert!(work.iter().all(|work| *work >= pool.least_work(32_768.0)));
        }
    }
}
