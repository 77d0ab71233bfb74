//! How long compute takes: each stage's passes, the optimizer, and what a step is made of.
//!
//! Time knows neither pipelines nor traffic: waiting and communication arrive as numbers.

mod compute;
mod step;

pub use compute::{ComputeTime, SHARE_OF_PEAK, optimizer_time, stage_compute};
pub use step::{Step, StepParts};
