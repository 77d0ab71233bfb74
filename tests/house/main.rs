//! The repository itself: order of modules, import circles, dependencies, sources of constants, names.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers that tests share

#[path = "../common/mod.rs"]
mod common;

mod boundaries;
mod circles;
mod dependencies;
mod fields;
mod keys;
mod names;
mod panels;
mod project;
mod provenance;
mod sources;
mod verbs;
mod width;
mod words;
mod workflows;
