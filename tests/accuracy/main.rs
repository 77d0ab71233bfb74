//! Predictions held to published runs: the rows of the page, presets, fine-tuning, calibration.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers that tests share

#[path = "../common/mod.rs"]
mod common;

mod calibration;
mod contributed;
mod finetune;
mod presets;
mod priors;
mod published;
mod recipes;
mod rows;
mod scoreboard;
