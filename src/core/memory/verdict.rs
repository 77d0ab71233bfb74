//! What a process needs beyond its tensors, and the rule that says fits, tight or out of memory.
//!
//! needed = φ (allocated − logits) + peak bytes of the logits + κ (1 + \[c > 1\] + \[x > 1\])
//!
//! held against what the driver shows. Three constants, no more: φ, κ and the half width of the band. They are fitted
//! on the 232 outcomes of Fujii 2024, tables 3 and 4 (Megatron Core 0.8, A100 40 GB and H100 94 GB);
//! `tests/verdicts.rs` fits them again on either table and tries them on the other.

use super::estimate::Verdict;
use crate::run::Scenario;
use crate::source::{Cited, FUJII_2024};
use crate::units::{Bytes, GIB};

/// Reserved over allocated memory, φ: the caching allocator's blocks that fit nothing. SimuMax's runs with room to
/// spare reserve 1.03 to 1.09 times what they allocate. The logits are single blocks of their own and do not fragment.
pub static FRAGMENTATION: Cited<f64> =
    Cited::fitted(1.135, &FUJII_2024, "fitted on tables 3 and 4");

/// CUDA context, kernels, library workspaces and the communicators every run has, κ; as much again for each dimension
/// that exchanges activations inside a layer by send and receive or all-to-all: context and expert parallelism.
pub static PROCESS: Cited<Bytes> =
    Cited::fitted(Bytes(1.2 * GIB), &FUJII_2024, "fitted on tables 3 and 4");

/// Half the width of the band around all of the visible memory in which a run is called tight.
pub static HALF_BAND: Cited<f64> = Cited::fitted(0.07, &FUJII_2024, "fitted on tables 3 and 4");

/// What became of the runs of one verdict.
#[derive(Clone, Copy, Debug)]
pub struct Band {
    /// The verdict.
    pub verdict: Verdict,
    /// Runs that it was given.
    pub runs: u64,
    /// Those that ran out of memory.
    pub ran_out: u64,
}

/// Observed over the 232 outcomes of Fujii 2024, tables 3 and 4.
pub static BANDS: &[Band] = &[
    Band {
        verdict: Verdict::Fits,
        runs: 132,
        ran_out: 0,
    },
    Band {
        verdict: Verdict::Tight,
        runs: 31,
        ran_out: 18,
    },
    Band {
        verdict: Verdict::Oom,
        runs: 69,
        ran_out: 69,
    },
];

/// Fits below the band, tight within it, out of memory above it.
#[must_use]
pub fn verdict(needed: Bytes, visible: Bytes) -> Verdict {
    let ratio = needed / visible;
    if ratio <= 1.0 - HALF_BAND.value {
        Verdict::Fits
    } else if ratio <= 1.0 + HALF_BAND.value {
        Verdict::Tight
    } else {
        Verdict::Oom
    }
}

/// Processes of κ each on a GPU of this scenario: its own, and one for each of context and expert parallelism.
#[must_use]
pub fn processes(scenario: &Scenario) -> f64 {
    let communicator = |size: u64| if size > 1 { 1.0 } else { 0.0 };
    1.0 + communicator(scenario.layout.cp) + communicator(scenario.layout.ep)
}

/// The rule on a method that counts tensors only.
#[must_use]
pub fn verdict_of_tensors(scenario: &Scenario, allocated: f64) -> Verdict {
    let needed = FRAGMENTATION.value * allocated + PROCESS.value.0 * processes(scenario);
    verdict(Bytes(needed), scenario.gpu.usable)
}
