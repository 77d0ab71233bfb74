//! A Run out of the calculator and back in: the link, panels as text, its timeline as files, and what other programs
//! read and write.

pub mod courier;
pub mod dialect;
pub mod export;
pub mod import;
pub mod link;
pub mod panels;
pub mod room;
