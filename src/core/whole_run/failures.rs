//! Rate and length of a run's interruptions: classes with their uncertainty.
//!
//! Rates are interruptions of a job per node of eight GPUs and day. The pool: Llama 3.1 405B (419 in 54 days on 2,048
//! nodes, table 5 of the report), Meta's RSC-2 and RSC-1 (HPCA 2025), SKT's B200 nodes, and for shared clusters RSC-1's
//! jobs of 1,024 GPUs and OPT-175B (`tests/data/whole_run.csv`). The class, not the size, carries the difference: one
//! rate a node fits all sizes within a class.

use super::formulas;
use crate::run::{FailureClass, Failures, Operation};
use crate::units::Seconds;

/// GPUs of the node that rates are counted by.
pub const NODE: f64 = 8.0;
/// Seconds of an hour.
const HOUR: f64 = 3600.0;
/// Uncertainty of a rate or a mean time that the user gives.
const GIVEN: f64 = 0.1;

/// A positive quantity known up to a factor: its median or mean, and the standard deviation of its logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uncertain {
    /// Median of a rate, mean of a downtime.
    pub value: f64,
    /// Standard deviation of the logarithm.
    pub sigma: f64,
}

/// Interruptions per 1,000 node-days. Vetted: geometric mean and spread of the four rows of vetted fleets; shared: of
/// the two others; unknown: geometric mean of both.
pub fn rate(failures: Failures) -> Uncertain {
    let (value, sigma) = match failures {
        Failures::Class(FailureClass::Vetted) => (3.57, 0.43),
        Failures::Class(FailureClass::Shared) => (24.4, 0.43),
        Failures::Class(FailureClass::Unknown) => (9.33, 0.75),
        Failures::Rate(rate) => (rate, GIVEN),
    };
    Uncertain { value, sigma }
}

/// Mean time between interruptions of a job on `gpus` GPUs, by the calendar as rates are counted: `1000 days / (nodes
/// × rate)`, at least one node.
pub fn time_to_interrupt(rate: f64, gpus: u64) -> Seconds {
    Seconds(formulas::time_to_interrupt(nodes(gpus), rate))
}

/// Nodes of eight GPUs, at least one: a node fails as a whole.
pub fn nodes(gpus: u64) -> f64 {
    (gpus as f64 / NODE).max(1.0)
}

/// Uncertainty of a mean time to interrupt that the user gives.
pub const GIVEN_TIME: f64 = GIVEN;

/// Mean downtime of an interruption. Automatic: MegaScale (detection below 10 minutes, back at the lost step within
/// 15); warm: standby nodes and saves in memory (ByteRobust); manual: a person is called, the weakest number here.
pub fn downtime(operation: Operation) -> Uncertain {
    let hours = match operation {
        Operation::Warm => 0.10,
        Operation::Automatic => 0.25,
        Operation::Manual => 2.0,
    };
    Uncertain { value: hours * HOUR, sigma: 0.4 }
}

/// Median time from the first process to the first step of 111 MLPerf runs by size (`tests/data/mlperf_training.csv`).
pub fn startup(gpus: u64) -> Seconds {
    Seconds(match gpus {
        0..=8 => 70.0,
        9..=128 => 108.0,
        _ => 364.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maths::{exp, ln};

    #[test]
    fn the_pool_without_llama_3_predicts_its_interruptions() {
        // The other three rows of vetted fleets, per 1,000 node-days: RSC-2, RSC-1, SKT. They expect 387 interruptions
        // of Llama 3.1 405B, of which 419 were counted.
        let pool: f64 =
            [2.34, 24.0 / (0.23 * 16_384.0) * 1000.0, 10.0 / (63.0 * 55.0) * 1000.0].iter().map(|rate| ln(*rate)).sum();
        let rate = exp(pool / 3.0);
        let predicted = Seconds(54.0 * 86_400.0) / time_to_interrupt(rate, 16_384);
        assert!((predicted - 387.0).abs() < 2.0, "{predicted}");
        // The class itself holds Llama's row too.
        let class = rate_of(FailureClass::Vetted);
        let with_it = exp((pool + ln(419.0 / (54.0 * 2048.0) * 1000.0)) / 4.0);
        assert!((class - with_it).abs() < 0.02, "{class} {with_it}");
    }

    fn rate_of(class: FailureClass) -> f64 {
        rate(Failures::Class(class)).value
    }

    #[test]
    fn unknown_lies_between_vetted_and_shared() {
        let between = (rate_of(FailureClass::Vetted) * rate_of(FailureClass::Shared)).sqrt();
        assert!((between - rate_of(FailureClass::Unknown)).abs() < 0.01);
    }
}
