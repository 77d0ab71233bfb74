//! What every program's file is written with: its settings read into a Run, and a Run written as its settings.

pub(crate) mod hub;
pub(crate) mod launcher;
pub(crate) mod prelude;
pub(crate) mod program;
pub mod reader;
pub(crate) mod rotary;
pub(crate) mod values;
