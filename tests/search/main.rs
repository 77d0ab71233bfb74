//! The search for a layout, the fixes of an error, and the questions of people who fine-tune.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers that tests share

#[path = "../common/mod.rs"]
mod common;

mod better;
mod fixes;
mod guide;
mod ladder;
mod plans;
mod warnings;
