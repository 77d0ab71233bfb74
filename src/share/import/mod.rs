//! Configurations of other programs, read into a Run: what was used, what was ignored, what had to be assumed.

pub mod huggingface;
pub mod summary;
