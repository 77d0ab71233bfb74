//! How much memory each GPU needs, by pipeline rank and by what it is for.
//!
//! Memory does not know pipelines: what a schedule makes each rank hold arrives as [`RankLoad`]s, numbers only.
//! Several methods answer the same question; each lives in its own file and says what it leaves out.

mod assumptions;
mod estimate;
pub mod methods;

pub use estimate::{Estimate, RankLoad, StageMemory, Verdict};

use crate::run::{Method, Scenario};

use crate::explain::Term;
use crate::model::stage_range;
use crate::units::Bytes;

/// Bytes that one micro-batch of global stage `stage` keeps for its backward pass: what the report weighs the
/// schedule's in-flight activations with.
#[must_use]
pub fn chunk_activation_bytes(scenario: &Scenario, stage: usize) -> Bytes {
    let layers = stage_range(&scenario.stage_layers, stage);
    Bytes((layers.end - layers.start) as f64)
}

/// How the total of pipeline rank `rank` comes about, by the Run's method.
#[must_use]
pub fn explain(scenario: &Scenario, loads: &[RankLoad], rank: usize) -> Option<Term> {
    match scenario.run.memory_method {
        _ => methods::fujii::explain(scenario, loads, rank),
    }
}

/// The memory of every pipeline rank by the method that the Run names.
#[must_use]
pub fn estimate(scenario: &Scenario, loads: &[RankLoad]) -> Estimate {
    match scenario.run.memory_method {
        Method::Fujii => methods::fujii::estimate(scenario, loads),
        // The other methods arrive with issue 2; until then they are not offered.
        _ => methods::fujii::estimate(scenario, loads),
    }
}
