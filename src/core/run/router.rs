//! Load of the busiest expert rank where the router's spread is given.
//!
//! Tokens choose experts whose popularity is log-normal, its logarithm with a standard deviation σ. A rank holds
//! n = E/x of the E experts, so its share is about log-normal with `σ_n² = ln(1 + (e^(σ²) - 1)/n)` (moments of a sum;
//! Fenton 1960), and the largest of x shares over their mean is about `exp(κ_x σ_n - σ_n²/2)`, with `κ_x` the expected
//! maximum of x standard normals. One router is the more uneven the fewer experts a rank holds.

use crate::maths::{exp, ln, log2};

/// Expected maximum of 1, 2, 4, ... 1,024 standard normals. Source: Harter, Expected Values of Normal Order Statistics,
/// Biometrika 1961, table 1; from 128 on by the same integral.
const KAPPA: [f64; 11] = [0.0, 0.564, 1.029, 1.424, 1.766, 2.070, 2.344, 2.594, 2.828, 3.047, 3.255];

/// The expected maximum of `count` standard normals, between powers of two by the logarithm of the count.
fn expected_maximum(count: f64) -> f64 {
    let place = log2(count.max(1.0));
    let within = |low: usize| place - low as f64;
    let low = (0..KAPPA.len() - 2).take_while(|low| within(*low) >= 1.0).count();
    KAPPA[low] + (KAPPA[low + 1] - KAPPA[low]) * within(low).min(1.0)
}

/// Tokens of the busiest of `ranks` over the average, where each holds `held` experts whose popularity spreads by
/// `sigma`; at least 1.
pub(super) fn busiest_rank(sigma: f64, held: f64, ranks: f64) -> f64 {
    if ranks <= 1.0 {
        return 1.0;
    }
    let variance = ln(1.0 + (exp(sigma * sigma) - 1.0) / held.max(1.0));
    exp(expected_maximum(ranks) * variance.sqrt() - variance / 2.0).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in (0, 1) by a linear congruence (Knuth, MMIX).
    struct Draws(u64);

    impl Draws {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        }
        /// A standard normal (Box and Muller).
        fn normal(&mut self) -> f64 {
            let (radius, turn) = (self.next(), self.next());
            (-2.0 * ln(radius)).sqrt() * crate::maths::cos(std::f64::consts::TAU * turn)
        }
    }

    /// Mean over 2,000 routers of the busiest rank's share over the mean share.
    fn simulated(sigma: f64, experts: usize, ranks: usize) -> f64 {
        let mut draws = Draws(7);
        let routers = 2000;
        let mut sum = 0.0;
        for _ in 0..routers {
            let popular: Vec<f64> = (0..experts).map(|_| exp(sigma * draws.normal())).collect();
            let shares = popular.chunks(experts / ranks).map(|held| held.iter().sum::<f64>());
            let most = shares.fold(0.0, f64::max);
            sum += most * ranks as f64 / popular.iter().sum::<f64>();
        }
        sum / f64::from(routers)
    }

    #[test]
    fn the_busiest_rank_is_that_of_simulated_routers() {
        let mut sum = 0.0;
        let mut cases = 0;
        for experts in [64, 128, 256] {
            for ranks in [8, 16, 32, 64] {
                for sigma in [0.3, 0.65, 1.0] {
                    let closed = busiest_rank(sigma, (experts / ranks) as f64, ranks as f64);
                    let off = (closed / simulated(sigma, experts, ranks) - 1.0).abs();
                    assert!(off < 0.125, "E {experts}, x {ranks}, sigma {sigma}: {closed}, off by {off}");
                    sum += off;
                    cases += 1;
                }
            }
        }
        let mean = sum / f64::from(cases);
        println!("mean error {mean}");
        assert!(mean < 0.03);
    }

    #[test]
    fn an_even_router_fills_all_ranks_alike_and_one_rank_has_the_average() {
        for ranks in [1.0, 2.0, 7.0, 64.0] {
            assert!((busiest_rank(0.0, 4.0, ranks) - 1.0).abs() < 1e-12);
        }
        assert!((busiest_rank(1.0, 4.0, 1.0) - 1.0).abs() < 1e-12);
    }
}
