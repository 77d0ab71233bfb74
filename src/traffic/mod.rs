//! Who sends what to whom, how long the wire takes, and what compute can hide it.
//!
//! Traffic knows neither time nor pipelines: the compute it may hide behind arrives as seconds.

mod overlap;
mod playbook;
mod volume;

pub use overlap::{OverlapRow, Windows, exposed, rows};
pub use playbook::{PlaybookRatio, playbook_ratio};
pub use volume::{MicrobatchTraffic, StepTraffic, microbatch_traffic, step_traffic, wire};
