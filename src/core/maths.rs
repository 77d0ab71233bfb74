//! Exponentials, logarithms and powers of one library wherever the calculator runs, so that its answers are the same to
//! the last digit: Rust's own (`f64::exp`) are those of the system natively, others in a browser, others again under
//! WASI. `clippy.toml` refuses them.

pub use libm::{
    cbrt, cos, erfc, exp, exp2, expm1 as exp_m1, log as ln, log1p as ln_1p, log2, log10, pow, sincos as sin_cos,
};

/// The principal branch of Lambert's W on [-1/e, 0): the root w of w e^w = `z`.
pub fn lambert_w0(z: f64) -> f64 {
    lambert_from(z, (2.0 * (1.0 + std::f64::consts::E * z)).max(0.0).sqrt())
}

/// Below it the series of [`one_plus_w0`] is exact to rounding; the iteration would lose digits by cancellation.
const NEAR_BRANCH: f64 = 1e-3;

/// 1 + W₀(-1/e^(1 + `x`)) for `x` of 0 or more, also near the branch point, where `x` is small.
pub fn one_plus_w0(x: f64) -> f64 {
    // p² = 2 (1 + e z) is 2 (1 - e^(-x)), which loses no digits as `exp_m1`.
    let p = (-2.0 * exp_m1(-x)).sqrt();
    if p < NEAR_BRANCH {
        // Corless et al. 1996, equation 4.22.
        return p - p * p / 3.0 + 11.0 * p.powi(3) / 72.0 - 43.0 * p.powi(4) / 540.0 + 769.0 * p.powi(5) / 17_280.0;
    }
    1.0 + lambert_from(-exp(-1.0 - x), p)
}

/// Lambert's W₀ of `z` with `p = √(2(1 + e z))`, by Halley's iteration from the series in `p` at the branch point.
fn lambert_from(z: f64, p: f64) -> f64 {
    let mut w = -1.0 + p - p * p / 3.0 + 11.0 * p.powi(3) / 72.0;
    for _ in 0..8 {
        let e = exp(w);
        let f = w * e - z;
        let slope = e * (w + 1.0);
        let change = f / (slope - (w + 2.0) * f / (2.0 * w + 2.0));
        if !change.is_finite() || change == 0.0 {
            break;
        }
        w -= change;
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambert_has_its_published_values() {
        assert!((lambert_w0(-0.3) + 0.489_402_227_180_215).abs() < 1e-13);
        assert!((lambert_w0(-0.36) + 0.806_084_315_970_817_5).abs() < 1e-13);
    }

    /// Corless et al. 1996, equation 4.22: with x = -ln(1 - p²/2), 1 + W₀ is
    /// p - p²/3 + 11 p³/72 - 43 p⁴/540 + ...
    #[test]
    fn lambert_keeps_its_digits_at_the_branch_point() {
        for p in [1.5e-6, 5e-5, 9e-4] {
            let x = -ln_1p(-p * p / 2.0);
            let series = p - p * p / 3.0 + 11.0 * p.powi(3) / 72.0 - 43.0 * p.powi(4) / 540.0;
            assert!((one_plus_w0(x) / series - 1.0).abs() < 1e-12, "{p}");
        }
        // On either side of where the series ends.
        for x in [4e-7, 6e-7, 1e-3] {
            let u = one_plus_w0(x);
            // w e^w = -e^(-1 - x) with w = u - 1: ln(1 - u) + u = -x.
            assert!((ln_1p(-u) + u + x).abs() < 1e-15 + 1e-9 * x, "{x} {u}");
        }
    }

    /// Code that rounds down to an order of magnitude relies on it.
    #[test]
    fn powers_and_their_logarithms_are_exact_where_they_can_be() {
        for n in 0..=60_i32 {
            let power = 2_f64.powi(n);
            assert_eq!((exp2(n.into()), log2(power), pow(2.0, n.into())), (power, n.into(), power));
        }
        for n in 0..=22_i32 {
            let power = 10_f64.powi(n);
            assert_eq!((log10(power), pow(10.0, n.into())), (n.into(), power));
        }
    }
}
