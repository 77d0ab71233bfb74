//! A fitted profile: what a person's own runs taught about the constants of the time model, and how sure that is.
//!
//! A multiplier stretches the times of one kind of work; 1 is the constant as shipped. `calibrate` fits them, a Run
//! carries them, and everything that is computed of the Run uses them.

use super::presets::Software;
use crate::cluster::Gpu;
use crate::field::Steps::By;
use crate::field::{fields, method};
use crate::maths::exp;
use crate::statics::named;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

pub const MULTIPLIERS: usize = 7;
/// One number for each multiplier, in the order of [`Multiplier::ALL`].
pub type Vector = [f64; MULTIPLIERS];
/// One number for each pair of them.
pub type Matrix = [Vector; MULTIPLIERS];

/// Smallest and largest multiplier that mean anything.
pub(crate) const MEAN_RANGE: (f64, f64) = (0.02, 50.0);
/// Longest name of a profile, in bytes: with it a profile takes at most 300 characters of a link.
pub const LONGEST_NAME: usize = 28;

named! {
    /// The kind of work that a multiplier stretches.
    #[derive(Serialize, Deserialize)]
    pub enum Multiplier: name {
        Gemm = "GEMM and attention",
        /// Kernels bound by memory: norms, activation functions, the loss, the optimizer.
        Elementwise = "elementwise kernels",
        /// Collectives inside a node.
        NodeLinks = "links in a node",
        /// Messages between nodes.
        Network = "network",
        /// Launches and what the host adds a layer.
        Host = "host",
        Loader = "data loader",
        /// Everything: clocks, power caps, the framework.
        All = "everything",
    }
}

impl Multiplier {
    pub const fn key(self) -> &'static str {
        match self {
            Self::Gemm => "gemm",
            Self::Elementwise => "elementwise",
            Self::NodeLinks => "node_links",
            Self::Network => "network",
            Self::Host => "host",
            Self::Loader => "loader",
            Self::All => "all",
        }
    }
}

fields! {
    /// A profile as a Run holds it; the constants are as shipped where there are no means.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Profile in "profile." {
        /// what your own runs taught, by the name you gave it
        name: Option<String> => method("Profile").advanced(),
        /// times of GEMM, elementwise kernels, links in a node, network, host, loader, everything
        means: Option<Vec<f64>> => method("Multipliers").numbers(MULTIPLIERS, 0.02, 50.0).advanced(),
        /// how sure each multiplier is: standard deviation of its logarithm
        widths: Option<Vec<f64>> => method("Widths").numbers(MULTIPLIERS, 0.0, 3.0).advanced(),
        /// correlations between the multipliers, one letter per pair
        correlations: Option<String> => method("Correlations").advanced(),
        /// how far a run lies from a model whose constants are all known
        spread: Option<f64> => method("Spread").number(0.0, 1.0, 0.01).advanced(),
        /// GiB beyond the model's overhead, and reserved over allocated
        memory: Option<Vec<f64>> => method("Memory by your runs").numbers(2, 0.0, 64.0).advanced(),
        /// how many it was fitted to
        runs: Option<u64> => method("Runs in the profile").count(1, 100_000, By(1.0)).advanced(),
        /// what they ran on
        gpu: Option<String> => method("GPU of the profile").advanced(),
        /// of the calculator that fitted it
        version: Option<String> => method("Version of the profile").advanced(),
    }
}

/// Letters of the correlations: the k-th of 64 means (k - 32)/32.
pub(crate) const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Certainty of the multipliers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Uncertainty {
    /// Covariance of the logarithms of the multipliers.
    pub covariance: Matrix,
    /// Spread of a run around the model besides, a standard deviation of its logarithm.
    pub spread: f64,
}

impl Uncertainty {
    /// Standard deviation of the logarithm of a step whose logarithm has `slopes` by those of the multipliers:
    /// `(J V Jᵀ + σ²)^(1/2)`.
    pub fn of(&self, slopes: &Vector) -> f64 {
        (quadratic(&self.covariance, slopes).max(0.0) + self.spread.powi(2)).sqrt()
    }
}

/// `v M vᵀ`.
pub(crate) fn quadratic(matrix: &Matrix, vector: &Vector) -> f64 {
    let rows = matrix.iter().zip(vector);
    rows.map(|(row, left)| {
        let sum: f64 = row.iter().zip(vector).map(|(cell, right)| cell * right).sum();
        left * sum
    })
    .sum()
}

impl Profile {
    pub fn factors(&self) -> Factors {
        Factors(numbers(self.means.as_ref(), 1.0))
    }

    /// Their certainty; none without widths.
    pub(crate) fn uncertainty(&self) -> Option<Uncertainty> {
        let widths = numbers(Some(self.widths.as_ref()?), 0.0);
        let letters = self.correlations.as_deref().unwrap_or_default().bytes();
        let shared = letters.map(correlation).chain(std::iter::repeat(0.0));
        let mut covariance = [[0.0; MULTIPLIERS]; MULTIPLIERS];
        for (at, width) in widths.iter().enumerate() {
            covariance[at][at] = width * width;
        }
        for ((row, column), shared) in pairs().zip(shared) {
            covariance[row][column] = shared * widths[row] * widths[column];
            covariance[column][row] = covariance[row][column];
        }
        Some(Uncertainty { covariance, spread: self.spread.unwrap_or(0.0) })
    }

    /// The profile of `means` (logarithms of the multipliers) and their `covariance`, rounded to what a link holds.
    pub(crate) fn of_logarithms(means: &Vector, covariance: &Matrix) -> Self {
        // Significant digits, by the exponential form.
        let rounded = |value: f64, digits: usize| -> f64 {
            let text = format!("{value:.*e}", digits - 1);
            text.parse().unwrap_or(value)
        };
        let width = |at: usize| covariance[at][at].max(0.0).sqrt();
        let pairs = pairs().map(|(row, column)| {
            let scale = (width(row) * width(column)).max(1e-12);
            letter(covariance[row][column] / scale)
        });
        let (low, high) = MEAN_RANGE;
        Self {
            means: Some(means.iter().map(|log| rounded(exp(*log).clamp(low, high), 3)).collect()),
            widths: Some((0..MULTIPLIERS).map(|row| rounded(width(row), 2)).collect()),
            correlations: Some(pairs.collect()),
            ..Self::default()
        }
    }

    /// GiB that a process takes beyond the model's own.
    pub fn overhead(&self) -> Bytes {
        let gib = self.memory.as_ref().and_then(|memory| memory.first());
        Bytes(gib.copied().unwrap_or(0.0) * crate::units::GIB)
    }

    /// Reserved over allocated memory, where runs said it.
    pub fn fragmentation(&self) -> Option<f64> {
        let ratio = self.memory.as_ref()?.get(1)?;
        Some(ratio.clamp(1.0, 4.0))
    }
}

/// The pairs of multipliers, row by row below the diagonal.
fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..MULTIPLIERS).flat_map(|row| (0..row).map(move |column| (row, column)))
}

/// The value of a letter; none for an unknown one.
fn correlation(letter: u8) -> f64 {
    let position = LETTERS.iter().position(|known| *known == letter);
    position.map_or(0.0, |k| (k as f64 - 32.0) / 32.0)
}

/// The letter nearest to a correlation.
fn letter(correlation: f64) -> char {
    let distance = |letter: &u8| (self::correlation(*letter) - correlation).abs();
    let nearest = LETTERS.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    char::from(nearest.copied().unwrap_or(b'g'))
}

fn numbers(list: Option<&Vec<f64>>, usual: f64) -> Vector {
    let mut out = [usual; MULTIPLIERS];
    for (slot, value) in out.iter_mut().zip(list.into_iter().flatten()) {
        *slot = *value;
    }
    out
}

/// Time of each kind of work over that by the shipped constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors(pub Vector);

impl Factors {
    /// Factor of work of this kind: its own multiplier times that of everything.
    pub fn of(&self, kind: Multiplier) -> f64 {
        let everything = self.0[Multiplier::All as usize];
        match kind {
            Multiplier::All => everything,
            own => self.0[own as usize] * everything,
        }
    }

    /// `gpu` with the memory, links and network that it shows in training. Its peaks stay: they are what utilisation is
    /// counted against, and `time::Rates` divides by the multiplier of GEMM and attention itself.
    pub(super) fn gpu(&self, gpu: Gpu) -> Gpu {
        Gpu {
            hbm: gpu.hbm * (1.0 / self.of(Multiplier::Elementwise)),
            intra: gpu.intra * (1.0 / self.of(Multiplier::NodeLinks)),
            inter: gpu.inter * (1.0 / self.of(Multiplier::Network)),
            ..gpu
        }
    }

    /// `software` with the host and loader that it shows in training.
    pub(super) fn software(&self, software: Software) -> Software {
        Software {
            host: software.host * self.of(Multiplier::Host),
            loader_ns: software.loader_ns * self.of(Multiplier::Loader),
            ..software
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_covariance_comes_back_from_the_letters_of_a_link() {
        let mut covariance = [[0.0; MULTIPLIERS]; MULTIPLIERS];
        let widths = [0.16, 0.15, 0.4, 0.27, 0.6, 0.12, 0.11];
        for row in 0..MULTIPLIERS {
            for column in 0..MULTIPLIERS {
                let shared = if row == column { 1.0 } else { -0.1 * (row + column) as f64 / 2.0 };
                covariance[row][column] = shared * widths[row] * widths[column];
            }
        }
        let profile = Profile::of_logarithms(&[0.1; 7], &covariance);
        let read = profile.uncertainty().unwrap().covariance;
        for row in 0..MULTIPLIERS {
            for column in 0..MULTIPLIERS {
                let scale = widths[row] * widths[column];
                assert!((read[row][column] - covariance[row][column]).abs() < 0.02 * scale);
            }
        }
        assert_eq!(profile.means.unwrap()[0], 1.11);
        assert_eq!(LETTERS.len(), 64);
    }

    #[test]
    fn work_of_a_kind_takes_its_own_multiplier_and_that_of_everything() {
        let mut multipliers = [1.0; MULTIPLIERS];
        (multipliers[0], multipliers[6]) = (0.5, 3.0);
        let factors = Factors(multipliers);
        assert_eq!(factors.of(Multiplier::Gemm), 1.5);
        assert_eq!(factors.of(Multiplier::All), 3.0);
        assert_eq!(Profile::default().factors(), Factors([1.0; 7]));
    }
}
