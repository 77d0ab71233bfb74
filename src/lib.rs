//! Shardscope: a calculator of large-model training layouts in the browser.
//!
//! [`core`] is the calculator: a Run in, a report out. [`view`] turns reports into pictures and panels, [`io`] reads and
//! writes links, files and other programs' settings, `web` is the page and the JavaScript package. Dependencies run one
//! way, in the order of the modules below; `tests/house/boundaries.rs` holds the crate to it.

pub use shardscope_core as core;

pub mod view;

pub mod io;

pub mod web;
