//! Step time: published step times and utilisation, and invariants of any layout.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers that tests share

#[path = "../common/mod.rs"]
mod common;

mod classes;
mod decode;
mod differences;
mod expressible;
mod kept;
mod left_out;
mod lengths;
mod loading;
mod more_is_less;
mod origin;
mod outside;
mod overlap;
mod properties;
mod ratios;
mod regret;
mod rl;
mod throughput;
mod towers;
mod utilisation;
mod whole_bounds;
mod whole_input;
mod whole_published;
mod whole_run;
