//! Pipeline schedules: orders and figures of other implementations, closed forms, and invariants of every family.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers that tests share

#[path = "../common/mod.rs"]
mod common;

mod certificates;
mod exhaustive;
mod exhaustive_offload;
mod forms;
mod joint;
mod peers;
mod periodic;
mod properties;
mod random_cases;
mod steady;
