//! Shared by the files of all programs: reads the settings of a program into a Run, and writes a Run as its settings.

pub(crate) mod hub;
pub(crate) mod launcher;
pub(crate) mod prelude;
pub(crate) mod program;
pub mod reader;
pub(crate) mod rotary;
pub(crate) mod values;
