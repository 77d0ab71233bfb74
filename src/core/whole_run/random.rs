//! Seeded random numbers: splitmix64 (Steele, Lea, Flood 2014), normal deviates by Box and Muller, quantiles.

use crate::maths::{ln_1p, sin_cos};

/// A stream of random numbers, the same for the same seed on every machine.
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1), with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Two independent standard normal deviates.
    pub fn normals(&mut self) -> [f64; 2] {
        let (u, v) = (self.unit(), self.unit());
        let radius = (-2.0 * ln_1p(-u)).sqrt();
        let (sin, cos) = sin_cos(std::f64::consts::TAU * v);
        [radius * cos, radius * sin]
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * ln_1p(-self.unit())
    }
}

/// The `share` quantile of `sorted` values by linear interpolation.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * sorted.len().saturating_sub(1) as f64;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index of a list of some thousands
    let below = at.floor() as usize;
    let value = |index: usize| sorted.get(index).or(sorted.last()).copied().unwrap_or(f64::NAN);
    value(below) + (at - at.floor()) * (value(below + 1) - value(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // The first four draws of splitmix64 with seed 7, computed apart.
        let mut random = Random::new(7);
        for expected in [0.389_829_75, 0.016_788_29, 0.900_760_68, 0.582_930_27] {
            assert!((random.unit() - expected).abs() < 3e-8);
        }
    }

    #[test]
    fn normals_have_mean_0_and_variance_1() {
        let mut random = Random::new(1);
        let draws: Vec<f64> = (0..20_000).flat_map(|_| random.normals()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), 3.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 1.0), 4.0);
    }
}
