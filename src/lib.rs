//! Shardscope: what a layout of large-model training costs, before the launch.
//!
//! A pure calculator with a thin face. A [`run`] comes in (what a link holds), becomes a Scenario or a list of
//! [`issue`]s, becomes one report; every door (page, link, JavaScript, embed, headless example) shows that report and
//! computes nothing itself. Dependencies run one way, in the order of the modules below; `tests/boundaries.rs` holds
//! the crate to it.

pub mod issue;
pub mod source;
pub mod units;

pub mod pipeline;

#[cfg(feature = "ui")]
pub mod ui;

#[cfg(feature = "js")]
pub mod api;
