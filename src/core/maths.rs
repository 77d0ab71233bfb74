//! Exponentials, logarithms and powers of one library wherever the calculator runs, so that its answers are the same to
//! the last digit: Rust's own (`f64::exp`) are those of the system natively, others in a browser, others again under
//! WASI. `clippy.toml` refuses them.

pub use libm::{
    cbrt, cos, erfc, exp, exp2, expm1 as exp_m1, log as ln, log1p as ln_1p, log2, log10, pow, sincos as sin_cos,
};

#[cfg(test)]
mod tests {
    use super::*;

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
