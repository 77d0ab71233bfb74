//! Posterior of the multipliers: the most probable logarithms, their covariance, and the probability of the
//! observations.
//!
//! `V = (diag τ⁻² + Σ w JᵀJ/σ²)⁻¹`, Student-t weights `w = 5/(4 + (r/σ)²)` by iteration; the mixture of
//! two priors is weighted by the marginal likelihood of the observations. The widths were chosen on 12 public sources.

use super::components::{Components, variance};
use super::linear::{Cholesky, add_outer};
use crate::maths::{exp, ln};
use crate::run::{MULTIPLIERS, Matrix, Vector};
use serde::{Deserialize, Serialize};

/// Widths of the logarithms for a cluster and software like the published ones: half of what the sources scattered by
/// before the constants were fitted to them. Of the halves and doubles of them these make the fitted sources
/// other than tables 3 and 4 of Fujii 2024 the most probable (`tests/accuracy/calibration.rs`).
pub const TIGHT: Vector = [0.025, 0.025, 0.05, 0.075, 0.1, 0.075, 0.015];
/// Widths of the logarithms for another cluster or other software.
pub const WIDE: Vector = [0.20, 0.15, 0.4, 0.5, 0.6, 0.4, 0.12];

const ITERATIONS: usize = 30;

/// A measured step, and the model of it.
#[derive(Clone, Copy, Debug)]
pub struct Datum<'a> {
    pub components: &'a Components,
    /// Logarithm of the measured seconds.
    pub log_seconds: f64,
    pub sigma: f64,
}

/// The multipliers after the observations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Posterior {
    /// Logarithms of the multipliers.
    pub mean: Vector,
    pub covariance: Matrix,
    /// Logarithm of the marginal likelihood of the observations.
    pub evidence: f64,
    /// Student-t weight of each observation: near 1.25 for one that agrees with the fit, near 0 for one that stands
    /// out.
    pub weights: Vec<f64>,
    /// Probability of the wide prior; 1 for a single prior.
    pub wide: f64,
}

impl Posterior {
    /// Mean and variance of the logarithm of a step, without the noise of a run.
    pub fn predict(&self, components: &Components) -> (f64, f64) {
        let (log, slopes) = components.log_seconds(&self.mean);
        (log, variance(&slopes, &self.covariance))
    }
}

/// The multipliers after `data`, from a normal prior around `start` of these `widths`.
pub fn posterior(data: &[Datum], start: &Vector, widths: &Vector) -> Posterior {
    let mut mean = *start;
    let mut weights = vec![1.0; data.len()];
    let mut information = prior_information(widths);
    for iteration in 0..ITERATIONS {
        information = prior_information(widths);
        let mut pull: Vector = std::array::from_fn(|at| (start[at] - mean[at]) / widths[at].powi(2));
        for (datum, weight) in data.iter().zip(&mut weights) {
            let (log, slopes) = datum.components.log_seconds(&mean);
            let residual = datum.log_seconds - log;
            // The first step is taken with every run at its word.
            if iteration > 0 {
                *weight = 5.0 / (4.0 + (residual / datum.sigma).powi(2));
            }
            let precision = *weight / datum.sigma.powi(2);
            add_outer(&mut information, &slopes, precision);
            for (pull, slope) in pull.iter_mut().zip(&slopes) {
                *pull += precision * residual * slope;
            }
        }
        let step = Cholesky::of(&information).solve(&pull);
        for (mean, step) in mean.iter_mut().zip(&step) {
            // A multiplier changes by at most e at once.
            *mean += step.clamp(-1.0, 1.0);
        }
        if iteration > 1 && step.iter().all(|step| step.abs() < 1e-6) {
            break;
        }
    }
    let decomposed = Cholesky::of(&information);
    let evidence = evidence(data, &mean, start, widths, &decomposed);
    Posterior { covariance: decomposed.inverse(), mean, evidence, weights, wide: 1.0 }
}

fn prior_information(widths: &Vector) -> Matrix {
    let mut information = [[0.0; MULTIPLIERS]; MULTIPLIERS];
    for (at, width) in widths.iter().enumerate() {
        information[at][at] = 1.0 / (width * width);
    }
    information
}

/// Laplace's approximation of `ln ∫ Π t₄(r/σ) N(δ; start, T) dδ` around the mean, without what all priors
/// share: `-Σ 5/2 ln(1 + r²/4σ²) - ½ dᵀ T⁻¹ d - ½ ln det T - ½ ln det V⁻¹`.
fn evidence(data: &[Datum], mean: &Vector, start: &Vector, widths: &Vector, information: &Cholesky) -> f64 {
    let likelihood = data.iter().map(|datum| {
        let off = (datum.log_seconds - datum.components.log_seconds(mean).0) / datum.sigma;
        -2.5 * ln(1.0 + off * off / 4.0)
    });
    let prior = (0..MULTIPLIERS).map(|at| {
        let moved = (mean[at] - start[at]) / widths[at];
        -0.5 * moved * moved - ln(widths[at])
    });
    likelihood.sum::<f64>() + prior.sum::<f64>() - 0.5 * information.log_determinant()
}

/// The multipliers after `data` from the mixture of [`TIGHT`] and [`WIDE`], half each before.
pub fn mixture(data: &[Datum], start: &Vector) -> Posterior {
    let tight = posterior(data, start, &TIGHT);
    let wide = posterior(data, start, &WIDE);
    let share = 1.0 / (1.0 + exp(tight.evidence - wide.evidence));
    let parts = [(1.0 - share, &tight), (share, &wide)];
    let mean: Vector = std::array::from_fn(|at| parts.iter().map(|(share, of)| share * of.mean[at]).sum());
    let mut covariance = [[0.0; MULTIPLIERS]; MULTIPLIERS];
    for (share, of) in parts {
        let away: Vector = std::array::from_fn(|at| of.mean[at] - mean[at]);
        add_outer(&mut covariance, &away, share);
        for (row, own) in covariance.iter_mut().zip(&of.covariance) {
            for (cell, own) in row.iter_mut().zip(own) {
                *cell += share * own;
            }
        }
    }
    let weights = tight.weights.iter().zip(&wide.weights);
    Posterior {
        mean,
        covariance,
        evidence: tight.evidence.max(wide.evidence),
        weights: weights.map(|(tight, wide)| (1.0 - share) * tight + share * wide).collect(),
        wide: share,
    }
}

/// A step of the list with what the fit needs of it.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub observation: usize,
    pub components: Components,
    /// Logarithm of the seconds.
    pub log_seconds: f64,
    pub sigma: f64,
    /// True if it is a step rather than a kind of work by itself.
    pub is_step: bool,
}

impl Measured {
    /// As the fit takes it.
    pub fn datum(&self) -> Datum<'_> {
        Datum { components: &self.components, log_seconds: self.log_seconds, sigma: self.sigma }
    }
}

/// Standard deviation of a prediction of `components`, with the spread of a run.
pub(super) fn prediction_sd(posterior: &Posterior, components: &Components, spread: f64) -> f64 {
    let slopes = components.shares(&posterior.mean);
    (variance(&slopes, &posterior.covariance) + spread * spread).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;

    /// One run's ratio is split over the multipliers in proportion to share times squared width,
    /// `δ = τ² Jᵀ z/(J τ² Jᵀ + σ²)`, where the model is linear: for a small z.
    #[test]
    fn one_run_is_split_by_share_and_squared_width() {
        let components = Components::of(&Run::default(), &[0.0; 7]).unwrap();
        let (log, slopes) = components.log_seconds(&[0.0; 7]);
        let (z, sigma) = (1e-3, 0.07);
        let datum = Datum { components: &components, log_seconds: log + z, sigma };
        // The weight of an observation that agrees is 5/4.
        let noise = sigma * sigma * 0.8;
        let through: f64 = (0..7).map(|at| (WIDE[at] * slopes[at]).powi(2)).sum();
        let found = posterior(&[datum], &[0.0; 7], &WIDE);
        for at in 0..7 {
            let expected = WIDE[at].powi(2) * slopes[at] * z / (through + noise);
            assert!((found.mean[at] - expected).abs() < 2e-6, "{at}");
        }
    }

    #[test]
    fn without_runs_the_posterior_is_the_prior() {
        let found = posterior(&[], &[0.0; 7], &TIGHT);
        assert_eq!(found.mean, [0.0; 7]);
        assert!((found.covariance[2][2].sqrt() - TIGHT[2]).abs() < 1e-9);
        assert!(found.evidence.abs() < 1e-9);
        let both = mixture(&[], &[0.0; 7]);
        assert!((both.wide - 0.5).abs() < 1e-9);
    }

    /// An observation 50 % slow among five that agree moves the rest less than a fifth of it.
    #[test]
    fn one_outlier_among_six_hardly_moves_the_fit() {
        let components = Components::of(&Run::default(), &[0.0; 7]).unwrap();
        let log = components.log_seconds(&[0.0; 7]).0;
        let datum = |z: f64| Datum { components: &components, log_seconds: log + z, sigma: 0.07 };
        let data: Vec<Datum> = [0.0, 0.01, -0.01, 0.02, 0.0, 0.4].map(datum).to_vec();
        let found = mixture(&data, &[0.0; 7]);
        assert!(found.predict(&components).0 - log < 0.04);
        assert!(found.weights[5] < 0.3 && found.weights[0] > 1.0);
    }
}
