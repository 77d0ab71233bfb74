//! The search for a layout, the fixes of an error, and the questions of people who fine-tune.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers that tests share

#[path = "../common/mod.rs"]
mod common;

mod better;
mod exhaustive;
mod fixes;
mod guide;
mod ladder;
mod limits;
mod plans;
mod warnings;
