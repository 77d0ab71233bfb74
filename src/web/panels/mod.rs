//! What the page shows, as HTML text: its panels and the pages of its dialog, by name.

mod dialog;
mod registry;

pub use dialog::dialog;
pub use registry::{NamedPanel, PANELS, Question, named};
