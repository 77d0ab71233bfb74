//! Shardscope: what a layout of large-model training costs, before the launch.
//!
//! A pure calculator with a thin face. A [`run::Run`] comes in (what a link holds), becomes a [`run::Scenario`] or a
//! list of [`issue::Issue`]s, becomes one report; every door (page, link, JavaScript, embed, headless example) shows
//! that report and computes nothing itself. Dependencies run one way, in the order of the modules below;
//! `tests/boundaries.rs` holds the crate to it.

pub mod explain;
pub mod issue;
mod sort;
pub mod source;
pub mod units;

pub mod cluster;
pub mod model;

pub mod run;

pub mod memory;
pub mod pipeline;
pub mod time;
pub mod traffic;

pub mod report;

pub mod accuracy;
pub mod search;

pub mod scene;

pub mod paint;

pub mod share;

pub mod back;

#[cfg(all(feature = "js", not(feature = "ui")))]
pub mod api;
#[cfg(feature = "ui")]
pub mod ui;
