//! Constants of routed layers that were fitted to published runs, each with what was known before the fit.
//!
//! A fit tries others on a [`Scenario`](super::Scenario); a Run never holds them.

use crate::source::{Cited, DEEPEP, DEEPGEMM, MEGATRON_BRIDGE, SIMUMAX, Source};

/// Number of them.
pub const CONSTANTS: usize = 11;

/// A constant that published runs with experts decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// Time of the grouped products of experts up to Hopper, over that of one product at the grouped rate.
    ProductsHopper,
    /// The same from Blackwell on.
    ProductsBlackwell,
    /// Time of the fused kernel of experts over its parts.
    Fused,
    /// Time of dispatch and combine over what links allow.
    Messages,
    /// Share of a hidden message that the passes beside it do not take longer.
    Hidden,
    /// Host seconds of a routed layer and micro-batch, forward and backward.
    Host,
    /// The same for every expert of the rank.
    HostExpert,
    /// Host time of layers that are interleaved with those of another micro-batch, over that of layers alone.
    HostOverlapped,
    /// Time of Mamba-2's kernels over that at the shipped rate.
    Mamba,
    /// Steps of K in fp8 that the beginning and the end of a tile of a grouped product take.
    TileEnd,
    /// Time of the experts' permutation over that at its rate.
    Permutation,
}

/// A constant with its prior: a log-normal distribution.
#[derive(Clone, Copy, Debug)]
pub struct Prior {
    /// The constant.
    pub constant: Constant,
    /// Its name on the page.
    pub name: &'static str,
    /// Its value before the fit.
    pub mean: f64,
    /// Standard deviation of its logarithm.
    pub width: f64,
    /// Its value, fitted.
    pub fitted: Cited<f64>,
}

const fn prior(
    constant: Constant,
    name: &'static str,
    mean: f64,
    width: f64,
    fitted: f64,
    source: &'static Source,
    place: &'static str,
) -> Prior {
    Prior { constant, name, mean, width, fitted: Cited::fitted(fitted, source, place) }
}

/// All of them, in the order of [`Constant`]; `tests/time/left_out/` fits them and says how many runs could
/// move each.
#[rustfmt::skip]
pub static PRIORS: [Prior; CONSTANTS] = [
    prior(Constant::ProductsHopper, "grouped products of experts up to Hopper, time", 1.0, 0.10, 1.04, &SIMUMAX, "prior 1 ± 10 % of its grouped rates"),
    prior(Constant::ProductsBlackwell, "grouped products of experts from Blackwell on, time", 1.0, 0.10, 1.20, &SIMUMAX, "prior 1 ± 10 % of its grouped rates"),
    prior(Constant::Fused, "fused kernel of experts, time over its parts", 1.1, 0.15, 1.19, &MEGATRON_BRIDGE, "prior 1.1 ± 15 %: no table of its rates"),
    prior(Constant::Messages, "dispatch and combine, time over what links allow", 1.0, 0.2, 1.01, &DEEPEP, "prior 1 ± 20 % of its tables"),
    prior(Constant::Hidden, "share of a hidden expert message that costs nothing", 0.72, 0.2, 0.875, &DEEPEP, "prior 0.72 ± 20 %: 32 of 148 multiprocessors send"),
    prior(Constant::Host, "host of a routed layer, seconds", 5e-3, 0.5, 6.92e-3, &MEGATRON_BRIDGE, "prior 5 ms ± 50 %: 400 launches of 10 to 15 µs"),
    prior(Constant::HostExpert, "host of an expert of a rank, seconds", 0.25e-3, 0.5, 0.156e-3, &MEGATRON_BRIDGE, "prior 0.25 ms ± 50 %: 25 launches of 10 µs"),
    prior(Constant::HostOverlapped, "host of overlapped layers over layers alone", 1.6, 0.3, 1.57, &MEGATRON_BRIDGE, "prior 1.6 ± 30 %: pull request 2168 of Megatron-LM names the overhead"),
    prior(Constant::Mamba, "kernels of Mamba-2, time over that at their rate", 1.0, 0.15, 1.086, &MEGATRON_BRIDGE, "prior 1 ± 15 %: five kernels take three times the scan of chunks alone (TileLang)"),
    prior(Constant::TileEnd, "begin and end of a tile of grouped products, steps of K in fp8", 324.0, 0.15, 334.0, &DEEPGEMM, "prior 324 ± 15 %: README of April 2025, 1297 and 1099 TFLOP/s at K 7168 and 2048 on H800, of which operands as here leave 1424 and 1285"),
    prior(Constant::Permutation, "permutation of the experts' tokens, time over that at its rate", 1.0, 0.05, 0.99, &SIMUMAX, "prior 1 ± 5 % of its rates: 0.501 forward, 0.511 backward on B200"),
];

/// A value for every constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted(pub [f64; CONSTANTS]);

impl Default for Fitted {
    fn default() -> Self {
        Self(PRIORS.map(|row| row.fitted.value))
    }
}

impl Fitted {
    /// The value of `constant`.
    #[must_use]
    pub fn of(&self, constant: Constant) -> f64 {
        self.0[constant as usize]
    }
}
