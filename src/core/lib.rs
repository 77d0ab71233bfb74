//! The calculator of Shardscope: what a layout of large-model training costs, before the launch.
//!
//! A [`run::Run`] comes in (what a link holds), becomes a [`run::Scenario`] or a list of [`issue::Issue`]s, becomes one
//! report. Dependencies run one way, in the order of the modules below; `tests/house/boundaries.rs` holds the crate to
//! it.
#![warn(clippy::disallowed_methods)]

pub mod explain;
pub mod issue;
pub mod maths;
pub mod message;
pub mod sort;
pub mod source;
pub mod statics;
pub mod table;
pub mod units;

pub mod field;

pub mod cluster;
pub mod model;

pub mod run;

pub mod memory;
pub mod pipeline;
pub mod time;
pub mod traffic;

pub mod report;

pub mod advice;
pub mod whole_run;

pub mod calibrate;
pub mod diagnose;

pub mod rl;

pub mod accuracy;
pub mod scoreboard;
pub mod search;
