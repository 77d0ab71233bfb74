//! How much memory each GPU needs, by pipeline rank and by what it is for.
//!
//! Memory does not know pipelines: what a schedule makes each rank hold arrives as [`RankLoad`]s, numbers only.
//! Several methods answer the same question; each lives in its own file and says what it leaves out.

mod assumptions;
pub mod detailed;
mod estimate;
pub mod methods;
pub mod recompute;
pub mod verdict;

pub use detailed::chunk_activation_bytes;
pub use estimate::{Component, Estimate, Item, RankLoad, StageMemory, Verdict};

use crate::explain::Term;
use crate::run::{Method, Scenario};

/// How the total of pipeline rank `rank` comes about, by the Run's method.
#[must_use]
pub fn explain(scenario: &Scenario, loads: &[RankLoad], rank: usize) -> Option<Term> {
    match scenario.run.memory_method {
        Method::Fujii => methods::fujii::explain(scenario, loads, rank),
        _ => detailed::explain(scenario, loads, rank),
    }
}

/// The memory of every pipeline rank by the method that the Run names.
#[must_use]
pub fn estimate(scenario: &Scenario, loads: &[RankLoad]) -> Estimate {
    match scenario.run.memory_method {
        Method::Fujii => methods::fujii::estimate(scenario, loads),
        // The other methods arrive with issue 2; until then they are not offered.
        _ => detailed::estimate(scenario, loads),
    }
}
