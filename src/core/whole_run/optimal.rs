//! Compute-optimal tokens of a model, by a fit that is disputed.
//!
//! `L = E + A/N^α + B/D^β` is least at `N* = G (C/6)^(β/(α+β))`, `G = (αA/βB)^(1/(α+β))`, for `C = 6 N D`
//! FLOP. Constants: Besiroglu et al. 2024, who refit the points of Hoffmann et al. 2022 and show the printed fit of its
//! third approach to be wrong.

use crate::maths::pow;

const A: f64 = 482.01;
const B: f64 = 2085.43;
const ALPHA: f64 = 0.3478;
const BETA: f64 = 0.3658;

/// Parameters and tokens that reach the least loss with `flops`.
pub fn compute_optimal(flops: f64) -> (f64, f64) {
    let g = pow(ALPHA * A / (BETA * B), 1.0 / (ALPHA + BETA));
    let parameters = g * pow(flops / 6.0, BETA / (ALPHA + BETA));
    (parameters, flops / 6.0 / parameters)
}

/// Tokens for which a model of `parameters` is compute-optimal.
pub fn optimal_tokens(parameters: f64) -> f64 {
    let g = pow(ALPHA * A / (BETA * B), 1.0 / (ALPHA + BETA));
    pow(parameters / g, (ALPHA + BETA) / BETA) / parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_of_1e24_has_the_worked_optimum() {
        // Worked by hand: N 95.9 B, D 1.74 T, 18.1 tokens a parameter.
        let (parameters, tokens) = compute_optimal(1e24);
        assert!(
            (parameters / 95.9e9 - 1.0).abs() < 1e-3 && (tokens / 1.74e12 - 1.0).abs() < 2e-3,
            "{parameters} {tokens}"
        );
        assert!((tokens / parameters - 18.1).abs() < 0.1);
        assert!((optimal_tokens(parameters) / tokens - 1.0).abs() < 1e-9);
    }
}
