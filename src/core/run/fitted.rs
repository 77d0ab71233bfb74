//! Constants of routed layers and of eager programs that were fitted to published runs, each with what was known before
//! the fit.
//!
//! A fit tries others on a [`Scenario`](super::Scenario); a Run never holds them.

use crate::source::{Cited, DEEPGEMM, FMS_ACCELERATION, MEGATRON_BRIDGE, SIMUMAX, Source};

/// Number of them.
pub const CONSTANTS: usize = 8;

/// A constant that was fitted: the last two to runs of programs that fine-tune, the others to runs with experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// Time of the grouped products of experts on Hopper, over that of one product at the grouped rate.
    ProductsHopper,
    /// Time of the grouped products of experts from Blackwell on, over that of one product at the grouped rate.
    ProductsBlackwell,
    /// Host seconds of a routed layer and micro-batch, forward and backward.
    Host,
    /// Host seconds of a layer and micro-batch for each expert of the rank whose operands are quantised by themselves.
    HostExpert,
    /// Host time of layers that are interleaved with those of another micro-batch, over that of layers alone.
    HostOverlapped,
    /// Steps of K in fp8 that the beginning and the end of a tile of a grouped product take.
    TileEnd,
    /// Seconds from one kernel that Python launches to the next.
    Launch,
    /// Host seconds of a unit of FSDP and pass.
    Unit,
}

impl Constant {
    /// True if runs of programs that fine-tune decide it.
    pub fn is_tuned(self) -> bool {
        matches!(self, Self::Launch | Self::Unit)
    }
}

/// A constant with its prior: a log-normal distribution.
#[derive(Clone, Copy, Debug)]
pub struct Prior {
    pub constant: Constant,
    /// Its name on the page.
    pub name: &'static str,
    /// Its value before the fit.
    pub mean: f64,
    /// Standard deviation of its logarithm.
    pub width: f64,
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
pub static PRIORS: [Prior; CONSTANTS] = [
    prior(
        Constant::ProductsHopper,
        "grouped products of experts, GPUs with fp8 before Blackwell, time",
        1.0,
        0.10,
        1.14,
        &SIMUMAX,
        "prior 1 ± 10 % of its grouped rates",
    ),
    prior(
        Constant::ProductsBlackwell,
        "grouped products of experts from Blackwell on, time",
        1.0,
        0.10,
        1.21,
        &SIMUMAX,
        "prior 1 ± 10 % of its grouped rates",
    ),
    prior(
        Constant::Host,
        "host of a routed layer, seconds",
        5e-3,
        0.5,
        7.49e-3,
        &MEGATRON_BRIDGE,
        "prior 5 ms ± 50 %, assumed: router and dispatcher have 57 to 111 launches, 0.8 to 1.5 ms",
    ),
    prior(
        Constant::HostExpert,
        "host of an expert of a rank, seconds",
        0.25e-3,
        0.5,
        0.145e-3,
        &MEGATRON_BRIDGE,
        "prior 0.25 ms ± 50 %, assumed: the six counted launches take 0.1 ms",
    ),
    prior(
        Constant::HostOverlapped,
        "host of overlapped layers over layers alone",
        1.6,
        0.3,
        1.51,
        &MEGATRON_BRIDGE,
        "prior 1.6 ± 30 %: pull request 2168 of Megatron-LM names the overhead",
    ),
    prior(
        Constant::TileEnd,
        "begin and end of a tile of grouped products, steps of K in fp8",
        324.0,
        0.15,
        352.0,
        &DEEPGEMM,
        "prior 324 ± 15 %: README of April 2025, 1297 and 1099 TFLOP/s at K 7168 and 2048 on H800, of which operands \
            as here leave 1424 and 1285",
    ),
    prior(
        Constant::Launch,
        "from one kernel that Python launches to the next, seconds",
        31e-6,
        0.3,
        22.4e-6,
        &FMS_ACCELERATION,
        "prior 31 µs ± 30 %: launches 31 to 42 µs apart in eager models (vllm-omni pull request 6516, unsloth issue \
            10806)",
    ),
    prior(
        Constant::Unit,
        "host of a unit of FSDP and pass, seconds",
        1e-3,
        0.5,
        1.475e-3,
        &FMS_ACCELERATION,
        "prior 1 ms ± 50 %: pre_forward of a unit (PyTorch issue 173680)",
    ),
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
    pub fn of(&self, constant: Constant) -> f64 {
        self.0[constant as usize]
    }
}
