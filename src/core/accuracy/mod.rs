//! Predicted against measured: every published run that this calculator is tested against, as a Run of its own.
//!
//! The page shows these rows and the tests assert over them: both read the same files (`public/data`) through the same
//! [`SOURCES`]. The settings of a row are in its column `run`; what
//! a source does not print follows its software: the comments of the table and beside each source say what.

mod bench;
mod constants;
mod evidence;
mod fitting;
pub mod left_out;
mod nearest;
pub mod origin;
mod outcomes;
pub mod record;
mod sources;
pub mod towers;

pub use bench::{BandCount, Bench, Fact, Prediction, SourceError, verdict_bands};
pub use constants::{SourcedConstant, constants};
pub use evidence::{Evidence, Measurement, read};
pub use nearest::nearest_of;
pub use outcomes::{Outcome, Rule};
pub use sources::{DATED, EvidenceSource, FILES, LEFT_OUT, MeasuredQuantity, SOURCES, SourceUse, TUNED};
