//! Constants fitted to published steps: some rounds of weighted least squares over the logarithms of the steps. The
//! loss is quadratic in an error up to 15 % and linear beyond, and each constant has a prior. A step's logarithm
//! changes by the constant's, times a slope.

/// Scale of the errors in the loss.
const SCALE: f64 = 0.10;
/// Error from which on the loss is linear, in scales: 15 %.
const BEND: f64 = 1.5;

/// Constants that are fitted, each with its prior.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    pub names: Vec<String>,
    /// Distance of the logarithm, from the value in the code to the prior's.
    pub away: Vec<f64>,
    /// Width of the prior's logarithm.
    pub width: Vec<f64>,
}

impl Constants {
    pub(super) fn place(&mut self, name: String, away: f64, width: f64) -> usize {
        if let Some(at) = self.names.iter().position(|other| *other == name) {
            return at;
        }
        self.names.push(name);
        self.away.push(away);
        self.width.push(width);
        self.names.len() - 1
    }

    /// Moves of the logarithms of the constants that fit `rows`, in `rounds` rounds from `start` on: in each the rows
    /// are weighed by the errors after the round before.
    pub(super) fn fit(&self, rows: &[FittedRow], start: Vec<f64>, rounds: usize) -> Vec<f64> {
        let count = self.names.len();
        let mut moves = start;
        for _ in 0..rounds {
            let mut matrix = vec![vec![0.0; count]; count];
            let mut side = vec![0.0; count];
            for at in 0..count {
                let precision = self.width[at].powi(-2);
                matrix[at][at] += precision;
                side[at] += precision * self.away[at];
            }
            for row in rows {
                let scales = row.moved(&moves) / SCALE;
                let weight = row.weight * (BEND / scales.abs().max(BEND)) / (SCALE * SCALE);
                for (left, slope) in row.slopes {
                    side[*left] -= weight * slope * row.error;
                    for (right, other) in row.slopes {
                        matrix[*left][*right] += weight * slope * other;
                    }
                }
            }
            moves = solved(matrix, side);
        }
        moves
    }
}

/// A published step as a fit uses it.
pub(super) struct FittedRow<'row> {
    /// Logarithm of predicted over measured, by the constants of the code.
    pub error: f64,
    /// Weight in the fit.
    pub weight: f64,
    /// Slopes of the step's logarithm, by the place of the constant.
    pub slopes: &'row [(usize, f64)],
}

impl FittedRow<'_> {
    /// The logarithm of predicted over measured with constants `moves` from those of the code.
    pub fn moved(&self, moves: &[f64]) -> f64 {
        self.error + self.slopes.iter().map(|(at, slope)| slope * moves[*at]).sum::<f64>()
    }
}

/// Gaussian elimination; the matrix is positive definite.
fn solved(mut matrix: Vec<Vec<f64>>, mut side: Vec<f64>) -> Vec<f64> {
    let n = side.len();
    for at in 0..n {
        for below in at + 1..n {
            let factor = matrix[below][at] / matrix[at][at];
            if factor != 0.0 {
                let (above, rest) = matrix.split_at_mut(below);
                for (cell, upper) in rest[0][at..].iter_mut().zip(&above[at][at..]) {
                    *cell -= factor * upper;
                }
                side[below] -= factor * side[at];
            }
        }
    }
    for at in (0..n).rev() {
        let right: f64 = (at + 1..n).map(|column| matrix[at][column] * side[column]).sum();
        side[at] = (side[at] - right) / matrix[at][at];
    }
    side
}
