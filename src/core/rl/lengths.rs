//! Lengths of responses: a distribution that the engine's limit cuts, as quantiles and as classes.

use super::WideningCause;
use crate::maths::{erfc, exp, ln};
use crate::run::{ResponseParts, ResponseShape};

/// Spread where none is said. No run has printed it; on the published steps it moves the step by at most 2 %, because
/// the limit is reached there whatever it is.
pub const SIGMA: f64 = 0.6;
/// Classes of equal probability.
const CLASSES: usize = 64;
/// Halvings of an interval until its ends are equal.
const HALVINGS: u32 = 60;
/// Standard deviations beyond which nothing lies.
const FAR: f64 = 9.0;

/// Lengths of the responses, in tokens; those beyond the limit are cut there.
#[derive(Clone, Debug, PartialEq)]
pub struct Lengths {
    /// Mean of the logarithm, before the limit cuts.
    mu: f64,
    /// Standard deviation of the logarithm; 0: all are equal.
    sigma: f64,
    /// Tokens at which a response is cut.
    pub limit: f64,
    /// Mean length.
    pub mean: f64,
    /// Mean of `ℓ²/2ℓ`: the tokens that a decoded token finds before it in its response.
    pub before: f64,
    /// Lengths of classes of equal probability, ascending.
    pub classes: Vec<f64>,
}

impl Lengths {
    /// Those that a person sets; none where neither mean nor median is given.
    pub fn of(parts: &ResponseParts, limit: f64) -> Option<Self> {
        let sigma = match parts.base {
            Some(ResponseShape::Constant) => 0.0,
            _ => parts.sigma.unwrap_or(SIGMA),
        };
        let mu = match (parts.mean, parts.median) {
            (Some(mean), _) if sigma > 0.0 => mu_of(mean.min(limit), sigma, limit),
            (Some(length), _) | (None, Some(length)) => ln(length),
            (None, None) => return None,
        };
        Some(Self::new(mu, sigma, limit))
    }

    /// Log-normal with mean `mu` and standard deviation `sigma` of the logarithm, cut at `limit`.
    pub fn new(mu: f64, sigma: f64, limit: f64) -> Self {
        let mut lengths = Self { mu, sigma, limit, mean: 0.0, before: 0.0, classes: Vec::new() };
        let middle = |class: usize| (class as f64 + 0.5) / CLASSES as f64;
        lengths.classes = (0..CLASSES).map(|class| lengths.quantile(middle(class))).collect();
        let sum: f64 = lengths.classes.iter().sum();
        let squares: f64 = lengths.classes.iter().map(|length| length * length).sum();
        lengths.mean = if sigma > 0.0 { cut_mean(mu, sigma, limit) } else { exp(mu).min(limit) };
        lengths.before = squares / sum / 2.0;
        lengths
    }

    /// The length that `share` of the responses do not exceed.
    pub fn quantile(&self, share: f64) -> f64 {
        exp(self.mu + self.sigma * normal_quantile(share)).min(self.limit)
    }

    /// The longest of `responses`, typically: their quantile `1 − 1/2B`.
    pub fn longest(&self, responses: f64) -> f64 {
        self.quantile(1.0 - 0.5 / responses.max(1.0))
    }
}

/// Mean of a cut log-normal: `e^(μ + σ²/2) Φ(c − σ) + R (1 − Φ(c))`, `c = (ln R − μ)/σ`.
fn cut_mean(mu: f64, sigma: f64, limit: f64) -> f64 {
    let cut = (ln(limit) - mu) / sigma;
    exp(mu + sigma * sigma / 2.0) * normal(cut - sigma) + limit * normal(-cut)
}

/// The μ of a cut log-normal with this mean.
fn mu_of(mean: f64, sigma: f64, limit: f64) -> f64 {
    let far = FAR * (1.0 + sigma);
    let (mut low, mut high) = (ln(mean) - sigma * sigma - far, ln(limit) + far);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if cut_mean(middle, sigma, limit) < mean {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The normal distribution Φ.
fn normal(x: f64) -> f64 {
    0.5 * erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Its inverse.
fn normal_quantile(share: f64) -> f64 {
    let (mut low, mut high) = (-FAR, FAR);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if normal(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Reasons why an answer about lengths is doubtful.
pub(super) fn doubts(lengths: &Lengths, parts: &ResponseParts, responses: f64) -> Option<WideningCause> {
    let is_guessed = parts.sigma.is_none() && parts.base != Some(ResponseShape::Constant);
    (is_guessed && lengths.longest(responses) < lengths.limit).then_some(WideningCause::Spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mean: f64, sigma: f64, limit: f64) -> Lengths {
        let parts = ResponseParts { mean: Some(mean), sigma: Some(sigma), ..ResponseParts::default() };
        Lengths::of(&parts, limit).unwrap()
    }

    #[test]
    fn the_normal_distribution_is_the_tabulated_one() {
        // Tables of the normal distribution: 1.959964 holds 97.5 %, 2.326348 holds 99 %.
        for (x, share) in [(0.0, 0.5), (1.959_964, 0.975), (2.326_348, 0.99), (-1.0, 0.158_655_254)] {
            assert!((normal(x) - share).abs() < 1e-7, "{x}");
            assert!((normal_quantile(share) - x).abs() < 1e-5, "{share}");
        }
    }

    /// Busy shares and longest responses of batches, simulated by another program: within an eighth.
    #[test]
    fn the_longest_of_a_batch_follows_spread_and_limit() {
        for (sigma, mean, limit, longest, busy) in [
            (0.6, 1000.0, 4000.0, 4000.0, 0.25),
            (0.3, 3000.0, 4000.0, 4000.0, 0.75),
            (0.6, 12000.0, 32000.0, 32000.0, 0.38),
            (0.3, 2000.0, 32000.0, 4842.0, 0.41),
            (0.6, 2000.0, 32000.0, 10714.0, 0.19),
            (1.0, 2000.0, 32000.0, 26936.0, 0.07),
        ] {
            let lengths = of(mean, sigma, limit);
            let top = lengths.longest(512.0);
            assert!((top / longest - 1.0).abs() < 0.125, "{sigma} {mean} {limit}: {top}");
            assert!((mean / top / busy - 1.0).abs() < 0.15, "{sigma} {mean} {limit}: {}", mean / top);
        }
    }

    #[test]
    fn a_limit_keeps_the_mean_that_was_given() {
        for (mean, sigma, limit) in [(3206.0, 0.6, 3996.0), (1000.0, 1.0, 8000.0), (3990.0, 0.6, 3996.0)] {
            let lengths = of(mean, sigma, limit);
            assert!((lengths.mean / mean - 1.0).abs() < 1e-6, "{}", lengths.mean);
            let classes = lengths.classes.iter().sum::<f64>() / lengths.classes.len() as f64;
            assert!((classes / mean - 1.0).abs() < 0.01, "{classes}");
            assert!(lengths.classes.is_sorted() && lengths.classes.iter().all(|length| *length <= limit));
        }
    }

    #[test]
    fn equal_lengths_have_no_tail() {
        let parts =
            ResponseParts { base: Some(ResponseShape::Constant), mean: Some(500.0), ..ResponseParts::default() };
        let lengths = Lengths::of(&parts, 4000.0).unwrap();
        assert!((lengths.longest(4096.0) - 500.0).abs() < 1e-6 && (lengths.before - 250.0).abs() < 1e-6);
    }
}
