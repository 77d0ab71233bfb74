//! What the page's back room answers, as HTML text: its panels and the pages of its dialog, by name. The JavaScript
//! package makes them in a worker.

mod registry;
mod room;

pub use registry::{BackPanel, PANELS, Question, panel};
pub use room::room;
