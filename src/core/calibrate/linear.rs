//! Linear algebra for seven unknowns: symmetric positive definite matrices by Cholesky's decomposition `A = L Lᵀ`.

use crate::maths::ln;
use crate::run::{MULTIPLIERS, Matrix, Vector};

/// A decomposed matrix.
pub(crate) struct Cholesky(Matrix);

impl Cholesky {
    /// Decomposes `matrix`, which has to be symmetric. A pivot that rounding made zero or negative becomes 1e-12, so
    /// that results stay finite.
    pub fn of(matrix: &Matrix) -> Self {
        let mut lower = [[0.0; MULTIPLIERS]; MULTIPLIERS];
        for row in 0..MULTIPLIERS {
            for column in 0..=row {
                let products: f64 = (0..column).map(|k| lower[row][k] * lower[column][k]).sum();
                let rest = matrix[row][column] - products;
                lower[row][column] = if row == column { rest.max(1e-12).sqrt() } else { rest / lower[column][column] };
            }
        }
        Self(lower)
    }

    /// `x` of `A x = b`.
    pub(crate) fn solve(&self, b: &Vector) -> Vector {
        let lower = &self.0;
        let mut x = *b;
        for row in 0..MULTIPLIERS {
            let products: f64 = (0..row).map(|k| lower[row][k] * x[k]).sum();
            x[row] = (x[row] - products) / lower[row][row];
        }
        for row in (0..MULTIPLIERS).rev() {
            let products: f64 = (row + 1..MULTIPLIERS).map(|k| lower[k][row] * x[k]).sum();
            x[row] = (x[row] - products) / lower[row][row];
        }
        x
    }

    pub fn inverse(&self) -> Matrix {
        let mut inverse = [[0.0; MULTIPLIERS]; MULTIPLIERS];
        for column in 0..MULTIPLIERS {
            let mut unit = [0.0; MULTIPLIERS];
            unit[column] = 1.0;
            let solved = self.solve(&unit);
            for row in 0..MULTIPLIERS {
                inverse[row][column] = solved[row];
            }
        }
        inverse
    }

    /// `ln det A`.
    pub(crate) fn log_determinant(&self) -> f64 {
        2.0 * (0..MULTIPLIERS).map(|at| ln(self.0[at][at])).sum::<f64>()
    }
}

/// `Σ a b`.
pub fn dot(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `matrix += scale · v vᵀ`.
pub(crate) fn add_outer(matrix: &mut Matrix, v: &Vector, scale: f64) {
    for (row, left) in matrix.iter_mut().zip(v) {
        for (cell, right) in row.iter_mut().zip(v) {
            *cell += scale * left * right;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solution_solves_and_an_inverse_inverts() {
        let mut matrix = [[0.0; MULTIPLIERS]; MULTIPLIERS];
        for at in 0..MULTIPLIERS {
            matrix[at][at] += 1.0 + at as f64;
            let v = std::array::from_fn(|k| ((at * 7 + k * 3) % 5) as f64 - 1.5);
            add_outer(&mut matrix, &v, 0.7);
        }
        let decomposed = Cholesky::of(&matrix);
        let b = std::array::from_fn(|k| k as f64 - 2.0);
        let x = decomposed.solve(&b);
        let inverse = decomposed.inverse();
        for row in 0..MULTIPLIERS {
            assert!((dot(&matrix[row], &x) - b[row]).abs() < 1e-9);
            assert!((dot(&inverse[row], &b) - x[row]).abs() < 1e-9);
        }
        // det of a diagonal matrix is the product of its diagonal.
        let mut diagonal = [[0.0; MULTIPLIERS]; MULTIPLIERS];
        (0..MULTIPLIERS).for_each(|at| diagonal[at][at] = 2.0);
        let log = Cholesky::of(&diagonal).log_determinant();
        assert!((log - ln(128.0)).abs() < 1e-12);
    }
}
