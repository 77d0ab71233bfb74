//! A Run written and read: the link, its timeline as files, requests as lines, and what other programs
//! read and write.
#![warn(clippy::disallowed_methods)]

pub mod auto;
pub mod config;
pub mod contributed;
pub mod dialect;
pub mod evidence;
pub mod export;
pub mod frame;
pub mod import;
pub mod json;
mod json_scan;
mod kineto;
pub mod link;
pub mod logs;
pub mod pasted;
pub mod request;
pub mod scoreboard;
pub mod wrong;
