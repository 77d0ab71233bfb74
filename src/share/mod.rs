//! A Run out of the calculator and back in: the link.

pub mod link;
