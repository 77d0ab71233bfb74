//! A step of reinforcement learning: what it generates, what it trains, how long each takes on which GPUs, and how the
//! GPUs are split.
//!
//! Generation is counted by classes of lengths and the engine's memory for keys and values; training is our own
//! training step on the packed responses. Both run in turn on the same GPUs, or apart, with a limit of staleness beside
//! each other. A prediction is a range: two splits within 40 % of each other are not told apart.
//!
//! Three constants are fitted to the 24 steps that NeMo-RL publishes; `tests/time/rl.rs` has their errors, and those of
//! models that a fit left out.

mod changes;
mod engine;
mod lengths;
mod queue;
mod range;
mod request;
mod rollout;
mod setting;
mod split;
mod step;
mod sync;
mod training;

pub use changes::{RlChange, changes};
pub use engine::{EngineModel, EngineRates};
pub use lengths::Lengths;
pub use queue::Queue;
pub use range::{NOT_SAID, TOLD_APART, WideningCause, range_of_framework};
pub use request::{RlReply, answer, of_run};
pub use rollout::{Batch, Rollout};
pub use split::SplitPoint;
pub use step::{
    GpuGroup, Idle, PhaseMemory, PhaseName, RlPhase, RlStep, WaitsFor, predict, predict_at, predicted_parts, step,
};
pub use training::OVER_TRAINING;
