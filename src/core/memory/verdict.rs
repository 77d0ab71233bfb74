//! Memory of a process beyond its tensors, and the rule that says fits, tight or out of memory.
//!
//! needed = φ (allocated − logits − weights and states of fine-tuning) + both + κ (1 + \[c > 1\] + \[x > 1\])
//!
//! held against what the driver shows. Three constants, no more: φ, κ and the half width of the band. They are fitted
//! on the 232 outcomes of Fujii 2024, tables 3 and 4 (Megatron Core 0.8, A100 40 GB and H100 94 GB);
//! `tests/memory/verdicts.rs` fits them again on either table and tries them on the other.

use crate::run::{Allocator, Method, Scenario};
use crate::source::{Cited, FUJII_2024};
use crate::units::{Bytes, GIB};
use serde::{Deserialize, Serialize};

/// Reserved over allocated memory, φ: the caching allocator's blocks that fit nothing. SimuMax's runs with room to
/// spare reserve 1.03 to 1.09 times what they allocate. The logits are single blocks of their own and do not fragment.
pub static FRAGMENTATION: Cited<f64> = Cited::fitted(1.135, &FUJII_2024, "fitted on tables 3 and 4");

/// CUDA context, kernels, library workspaces and the communicators every run has, κ; as much again for each dimension
/// that exchanges activations inside a layer by send and receive or all-to-all: context and expert parallelism. The
/// runs that it is fitted on have 4 GPUs or more: what their communicators take is in it and was not measured apart, so
/// that a single GPU, which has none, is counted with as much.
pub static PROCESS: Cited<Bytes> = Cited::fitted(Bytes(1.2 * GIB), &FUJII_2024, "fitted on tables 3 and 4");

/// Half the width of the band around all of the visible memory in which a run is called tight.
pub static HALF_BAND: Cited<f64> = Cited::fitted(0.07, &FUJII_2024, "fitted on tables 3 and 4");

/// Prediction of the outcome, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Well below the capacity.
    Fits,
    /// Close to it: some such runs ran out of memory.
    Tight,
    /// Above it.
    Oom,
}

impl Verdict {
    /// True of a tight need whose `estimate` is itself above `capacity`: it may run out of memory. Of the 31 measured
    /// runs that are tight 12 are below, of which 11 ran, and 19 above, of which 2 ran (`tests/memory/verdicts.rs`).
    pub fn may_run_out(self, estimate: Bytes, capacity: Bytes) -> bool {
        self == Self::Tight && estimate > capacity
    }
}

/// Need of a rank, as a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryNeed {
    /// Measured runs whose range begins above the capacity ran out.
    pub low: Bytes,
    /// The estimate itself, process and fragmentation included.
    pub likely: Bytes,
    /// Measured runs whose range ends below the capacity ran.
    pub high: Bytes,
}

impl MemoryNeed {
    /// The calibrated range around an estimate that counts what a process needs beyond its tensors.
    pub fn calibrated(likely: Bytes) -> Self {
        Self { low: likely / (1.0 + HALF_BAND.value), likely, high: likely / (1.0 - HALF_BAND.value) }
    }

    /// The calibrated range for `scenario`. With expandable segments it begins at the tensors and the process: where
    /// the driver has no more, their pages without a tensor are given back and taken again. Without them blocks that
    /// fit nothing stay. Source: PyTorch 002a76f `c10/cuda/CUDACachingAllocator.cpp` (`ExpandableSegment`,
    /// `release_cached_blocks`).
    pub(crate) fn of(scenario: &Scenario, likely: Bytes) -> Self {
        let need = Self::calibrated(likely);
        if scenario.run.allocator == Allocator::Native {
            return need;
        }
        let process = process(scenario);
        let tensors = (likely - process) / fragmentation(scenario) + process;
        Self { low: if tensors < need.low { tensors } else { need.low }, ..need }
    }

    /// The calibrated range for `scenario` around `allocated` bytes of tensors.
    pub(crate) fn of_tensors(scenario: &Scenario, allocated: Bytes) -> Self {
        Self::of(scenario, allocated * fragmentation(scenario) + process(scenario))
    }

    /// Fits if all of the range is within `capacity`, tight if some of it is, out of memory if none is.
    pub fn verdict(self, capacity: Bytes) -> Verdict {
        if self.high <= capacity {
            Verdict::Fits
        } else if self.low <= capacity {
            Verdict::Tight
        } else {
            Verdict::Oom
        }
    }
}

/// Outcomes of the measured runs to which a method gives the same verdict as to a Run: their need over capacity is in
/// the same band, and where that is tight their estimate is on the same side of the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chance {
    /// Measured runs of that kind.
    pub like: u64,
    /// Runs that ran out of memory.
    pub ran_out: u64,
}

const fn of(like: u64, ran_out: u64) -> Chance {
    Chance { like, ran_out }
}

/// The 232 outcomes of Fujii 2024, tables 3 and 4 (`public/data/fujii_measured.csv`), by the verdict that each method
/// gives: fits, tight, tight with an estimate above the capacity, out of memory. Counted by `tests/memory/verdicts.rs`.
///
/// Every rule had seen these runs when it was set: φ, κ and the band of all methods but `fujii-4d` were fitted to
/// them, and that one's 80 % is its paper's. Whatever shows these counts says so; the counts of rules that had not seen
/// a run are those of the scoreboard ([`crate::scoreboard::Score::by_use`]).
pub static OUTCOMES: [(Method, [Chance; 4]); 5] = [
    (Method::Detailed, [of(132, 0), of(12, 1), of(19, 17), of(69, 69)]),
    (Method::Fujii, [of(125, 0), of(49, 29), of(0, 0), of(58, 58)]),
    (Method::He, [of(158, 31), of(23, 13), of(0, 0), of(51, 43)]),
    (Method::Uneven, [of(83, 13), of(44, 8), of(0, 0), of(105, 66)]),
    (Method::Playbook, [of(126, 5), of(29, 14), of(0, 0), of(77, 68)]),
];

/// Outcomes of the measured runs to which `method` gives `verdict`; `above` where the estimate is above the capacity.
pub fn chance(method: Method, verdict: Verdict, above: bool) -> Chance {
    let row = OUTCOMES.iter().find(|(known, _)| *known == method);
    row.map_or(of(0, 0), |(_, [fits, tight, tight_above, oom])| match verdict {
        Verdict::Fits => *fits,
        Verdict::Tight if above => *tight_above,
        Verdict::Tight => *tight,
        Verdict::Oom => *oom,
    })
}

/// Reserved over allocated memory of this scenario: what its profile says, else φ.
pub fn fragmentation(scenario: &Scenario) -> f64 {
    let fitted = scenario.run.profile.fragmentation();
    fitted.unwrap_or(FRAGMENTATION.value)
}

/// What a process holds beyond its tensors, in words: a single GPU has no communicator.
pub fn process_words(scenario: &Scenario) -> &'static str {
    match scenario.run.gpus {
        1 => "CUDA context and libraries",
        _ => "CUDA context, libraries and communicators",
    }
}

/// Memory of a process in this scenario: κ a process, and the addition of its profile.
pub fn process(scenario: &Scenario) -> Bytes {
    PROCESS.value * processes(scenario) + scenario.run.profile.overhead()
}

/// Processes of κ each on a GPU of this scenario: its own, and one for each of context and expert parallelism.
pub fn processes(scenario: &Scenario) -> f64 {
    let communicator = |size: u64| if size > 1 { 1.0 } else { 0.0 };
    1.0 + communicator(scenario.layout.cp) + communicator(scenario.layout.ep)
}
