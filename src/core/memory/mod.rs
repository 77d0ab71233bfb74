//! Memory of each GPU, by pipeline rank and by component.
//!
//! Memory does not depend on pipelines: what a schedule makes each rank hold arrives as [`RankLoad`]s, numbers only.
//! Several methods answer the same question; each has its own file, which lists what it leaves out.

mod assumptions;
pub mod curve;
pub mod detailed;
mod estimate;
mod explain;
pub mod host;
mod method;
pub mod methods;
pub mod phases;
pub mod recompute;
pub(crate) mod remedies;
pub mod verdict;

pub(crate) use detailed::{Chunks, REFERENCE_MODEL, activation_bytes, offloaded_reference, reference_on_host};
pub use detailed::{PeakMoment, chunk_activation_bytes};
pub use estimate::{Component, Estimate, Item, Lifetime, RankLoad, StageMemory};
pub use method::MemoryMethod;
pub use verdict::Verdict;

use crate::explain::Term;
use crate::run::{Method, Scenario};
use detailed::Detailed;

/// The memory of every pipeline rank by the method that the Run names.
pub fn estimate(scenario: &Scenario, loads: &[RankLoad]) -> Estimate {
    methods::estimate(scenario.run.memory_method, scenario, loads)
}

/// The memory of every pipeline rank where what the `chunks` keep is known already.
pub(crate) fn estimate_of(scenario: &Scenario, chunks: &Chunks, loads: &[RankLoad]) -> Estimate {
    match scenario.run.memory_method {
        Method::Detailed => Detailed.of_ranks(scenario, detailed::ranks(scenario, chunks, loads)),
        method => methods::estimate(method, scenario, loads),
    }
}

/// Derivation of the total of pipeline rank `rank`, by the Run's method.
pub fn explain(scenario: &Scenario, loads: &[RankLoad], rank: usize) -> Option<Term> {
    methods::explain(scenario.run.memory_method, scenario, loads, rank)
}
