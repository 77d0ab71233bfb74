//! Links, files and text in and out: round trips, files of other programs, hostile input, the headless program.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers that tests share

#[path = "../common/mod.rs"]
mod common;

mod accumulation;
mod audit;
mod audited;
mod brought;
mod commands;
mod configs;
mod diagnose;
mod exchange;
mod exported;
mod forks;
mod headless;
mod hostile;
mod identity;
mod launch;
mod launched;
mod links;
mod logs;
mod meaning;
mod modules;
mod pasted;
mod programs;
mod python_programs;
mod refused;
mod returns;
mod round_trip;
mod settings;
mod slow;
mod swift_stated;
mod together;
mod tuning;
mod wrong;
