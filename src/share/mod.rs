//! A Run out of the calculator and back in: the link, and what other programs write.

pub mod import;
pub mod link;
pub mod panels;
