//! A Run out of the calculator and back in: the link, and its timeline as files.

pub mod export;
pub mod link;
