//! Spare nodes: nodes under repair are a Poisson count with mean `nodes × rate × repair time` (M/G/∞: the
//! distribution of repair times does not matter).

use crate::maths::exp;

/// Means above which the Poisson quantile is taken from its normal approximation with skewness, right to one node.
const LARGE: f64 = 500.0;

/// The least number of spares that suffices with probability `share` where `mean` nodes are under repair on average.
pub fn spares(mean: f64, share: f64) -> u64 {
    if mean <= 0.0 {
        return 0;
    }
    if mean > LARGE {
        let z = normal_quantile(share);
        let count = mean + z * mean.sqrt() + (z * z - 1.0) / 6.0;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive, and far below 2^53
        return count.max(0.0).round() as u64;
    }
    // Terms too small to be added end the sum where rounding keeps it below the share.
    let met = |(_, term, sum): &(u64, f64, f64)| *sum >= share || *term <= 0.0;
    cumulated(mean).find(met).map_or(0, |(count, ..)| count)
}

/// Counts of nodes under repair, each with its probability and that of at most as many.
fn cumulated(mean: f64) -> impl Iterator<Item = (u64, f64, f64)> {
    let none = exp(-mean.max(0.0));
    std::iter::successors(Some((0, none, none)), move |(count, term, sum)| {
        let term = term * mean / (count + 1) as f64;
        Some((count + 1, term, sum + term))
    })
}

/// Probability that at most `spares` nodes are under repair where `mean` are on average; none above the means whose
/// terms are added.
pub fn suffices(mean: f64, spares: u64) -> Option<f64> {
    (mean <= LARGE).then(|| cumulated(mean).find(|(count, ..)| *count >= spares).map_or(1.0, |(.., sum)| sum))
}

/// Means above which no distribution is listed.
const MOST: f64 = 1e4;

/// Counts of nodes under repair with their probabilities, as far as they are at least a 500th of the largest; none
/// where nothing is under repair or the mean is above 10,000. Terms go from the mode outwards, so that none is too
/// small.
pub fn under_repair(mean: f64) -> Vec<(u64, f64)> {
    const LEAST: f64 = 2e-3;
    if !(mean > 0.0 && mean <= MOST) {
        return Vec::new();
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive and small
    let mode = mean.floor() as u64;
    let is_likely = |(_, term): &(u64, f64)| *term >= LEAST;
    let next = |(count, term): &(u64, f64)| (*count > 0).then(|| (count - 1, term * *count as f64 / mean));
    let mut counts: Vec<_> = std::iter::successors(Some((mode, 1.0)), next).take_while(is_likely).collect();
    counts.reverse();
    let next = |(count, term): &(u64, f64)| Some((count + 1, term * mean / (count + 1) as f64));
    counts.extend(std::iter::successors(Some((mode, 1.0)), next).skip(1).take_while(is_likely));
    let sum: f64 = counts.iter().map(|(_, term)| term).sum();
    counts.into_iter().map(|(count, term)| (count, term / sum)).collect()
}

/// The quantile of the standard normal distribution, by bisection of its integral.
fn normal_quantile(share: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if normal_integral(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The integral of the standard normal density up to `z` (Marsaglia 2004: a series that converges everywhere).
fn normal_integral(z: f64) -> f64 {
    let (mut sum, mut term, mut n) = (z, z, 1.0);
    while term.abs() > 1e-17 {
        n += 2.0;
        term *= z * z / n;
        sum += term;
    }
    0.5 + sum * exp(-z * z / 2.0) / std::f64::consts::TAU.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_quantiles_of_a_poisson_distribution() {
        // Quantiles of a Poisson distribution; OPT-175B kept a pool of 12 (two machines a day, three days of repair).
        for (mean, share, expected) in [
            (21.934_08, 0.99, 34),
            (21.934_08, 0.9, 28),
            (6.0, 0.99, 12),
            (6.236_16, 0.99, 13),
            (1.827_84, 0.99, 6),
            (0.0, 0.99, 0),
        ] {
            assert_eq!(spares(mean, share), expected, "{mean} {share}");
        }
    }

    #[test]
    fn the_distribution_has_its_mean_and_the_quantile_of_the_spares() {
        for mean in [0.3, 6.0, 21.934_08, 900.0] {
            let counts = under_repair(mean);
            let sum: f64 = counts.iter().map(|(_, share)| share).sum();
            let first: f64 = counts.iter().map(|(count, share)| *count as f64 * share).sum();
            assert!(sum > 0.99 && sum <= 1.0 + 1e-9 && (first / mean - 1.0).abs() < 0.01, "{mean}: {sum} {first}");
            let below =
                |last: u64| counts.iter().filter(|(count, _)| *count <= last).map(|(_, share)| share).sum::<f64>();
            let least = spares(mean, 0.9);
            assert!(below(least + 1) >= 0.9 && below(least.saturating_sub(2)) < 0.9, "{mean}");
        }
        assert!(under_repair(0.0).is_empty());
    }

    /// e⁻⁰·²²⁴ (1 + 0.224 + 0.224²/2), by hand.
    #[test]
    fn a_count_suffices_as_often_as_the_distribution_says() {
        let close = |spares, expected: f64| (suffices(0.224, spares).unwrap() - expected).abs() < 1e-4;
        assert!(close(0, 0.7993) && close(1, 0.9784) && close(2, 0.9984));
        assert!(suffices(0.0, 0) == Some(1.0) && suffices(1e4, 1).is_none());
    }

    #[test]
    fn the_approximation_meets_the_sum() {
        for share in [0.5, 0.9, 0.99, 0.999] {
            let (below, above) = (spares(LARGE, share), spares(LARGE * 1.000_001, share));
            assert!(below.abs_diff(above) <= 1, "{share}: {below} {above}");
        }
    }
}
