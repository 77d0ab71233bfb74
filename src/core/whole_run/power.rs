//! Power of a node as a function of what its GPUs do.
//!
//! `P = S (1.24 u + 0.68 c + 0.38 (1 - u - c))` on the AC side, with `S` the rated power of the node's GPUs, `u` the
//! share of time in kernels, `c` the share that waits in collectives or bubbles, the rest idle. Fitted to 15 MLPerf
//! Power runs (`tests/data/node_power.csv`) of H100 and B200 nodes; B200's waiting and idle power are carried over from
//! H100.

use crate::explain::Quantity;

/// Power over the rated power of the GPUs while kernels run.
const BUSY: f64 = 1.24;
/// While GPUs wait in collectives or bubbles.
const WAITING: f64 = 0.68;
/// While nothing runs.
const IDLE: f64 = 0.38;
/// Half width of the range: chassis and fans differ by maker (−15 % at worst on the fitted rows).
pub const POWER_RANGE: f64 = 0.2;

/// Shares of time of a GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activity {
    /// In kernels.
    pub busy: f64,
    /// Waiting in collectives, bubbles or for the host.
    pub waiting: f64,
}

impl Activity {
    /// Nothing runs.
    pub const NONE: Self = Self { busy: 0.0, waiting: 0.0 };
}

/// Watts on the AC side of a node whose GPUs are rated `rated_w` together.
pub fn node_power(rated_w: f64, activity: Activity) -> f64 {
    power(rated_w, activity.busy, activity.waiting)
}

/// [`node_power`] over numbers or symbols.
pub(super) fn power<Q: Quantity>(rated_w: Q, busy: Q, waiting: Q) -> Q {
    rated_w * (busy * BUSY + waiting * WAITING + (Q::number(1.0) - busy - waiting) * IDLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_draw_what_the_formula_says() {
        // S (1.24 u + 0.68 c), of `docs/methods/whole-run.md`, worked by hand.
        for (rated, busy, expected) in [(5600.0, 0.9, 6630.4), (8000.0, 0.9, 9472.0), (5600.0, 0.662, 5884.0)] {
            let power = node_power(rated, Activity { busy, waiting: 1.0 - busy });
            assert!((power - expected).abs() < 0.6, "{power} for {expected}");
        }
    }
}
