//! A Python file of configuration as a program's settings: assignments and calls with keywords. Nothing is run.
//!
//! `cfg.model.seq_length = 2 * 4096` is `model.seq_length` 8192, `return Config(training=Training(steps=10))` is
//! `training.steps` 10 beside `training` "Training"; an item of a list or an argument without a name is numbered. A
//! name is the value that was assigned to it before, or what it was imported as. What is written otherwise is a text as
//! it stands.

mod program;
mod reading;
mod writing;

pub(crate) use program::{PyCall, PyValue, PythonProgram, follow, follow_told, is_program, plain};
pub(in crate::dialect) use reading::{BEGINS_WITH, FUNCTION};
pub(crate) use reading::{entries, is_configuration, is_file};
pub(in crate::dialect) use writing::{CallEnd, print};
