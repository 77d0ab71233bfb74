//! Memory of a rank: published tables, measured peaks, worked vectors, verdicts, and invariants of any layout.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers that tests share

#[path = "../common/mod.rs"]
mod common;

mod estimates;
mod golden;
mod measured;
mod multi_token;
mod objective;
mod offload;
mod papers;
mod parameters;
mod phases;
mod precision;
mod properties;
mod vectors;
mod verdicts;
