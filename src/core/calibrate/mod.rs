//! Calibration by a person's own runs: seven multipliers of the time model and two of memory, fitted with priors.
//!
//! `T(δ)` of a run is the exact model with each kind of work stretched by `e^δ`. Observations are logarithms of
//! measured steps; the prior is a mixture of "like the clusters that were published" and "another stack"; weights are
//! Student's, so that one bad run does not decide. For the person: what each run taught, what none can teach, which run
//! stands out, and which one to make next.

mod components;
mod fit;
mod learned;
mod linear;
mod memory;
mod next;
mod observation;
mod posterior;
mod request;
mod suspects;

pub use components::Components;
pub use fit::{Fit, fit, fit_step, leave_one_out, spread};
pub use learned::{Agreement, LearnedMultiplier, RunStanding};
pub use memory::{Allocated, MemoryFit};
pub use next::{NextRun, candidates, informed_by};
pub use observation::{MeasuredPeak, MemoryKind, Observation};
pub use posterior::{Datum, Posterior, TIGHT, WIDE, mixture, posterior};
pub use request::{CalibrateRequest, Calibrated, Calibration, calibrate, disagreement, warning, wrong_layout};
pub use suspects::Suspect;

/// Standard deviation of the logarithm of a step across layouts, where all constants are known: what the fit takes, and
/// what a prediction is shown with while few runs are known. By the protocol of `tests/accuracy/calibration.rs`, where
/// the range of four in five has to hold 70 to 90 % of the rows: 86 to 88 % of dense models, 82 to 86 % of those with
/// experts.
pub const NOISE: f64 = 0.07;
/// Spread of a kind of work that was measured by itself: a benchmark is not a training step.
pub(crate) const RATIO_NOISE: f64 = 0.1;
/// Spread of a figure that covers evaluation, saving and the first steps, such as a trainer's whole runtime.
pub const COARSE_NOISE: f64 = 0.15;
