//! A Run out of the calculator and back in: the link, panels as text, its timeline as files, and what other programs
//! write.

pub mod courier;
pub mod export;
pub mod import;
pub mod link;
pub mod panels;
