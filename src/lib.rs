//! Shardscope: a calculator of large-model training layouts in the browser.
//!
//! Four layers in one direction, three of them packages of their own: [`core`] is the calculator, a Run in, a report
//! out; [`view`] turns reports into pictures and panels; [`io`] reads and writes links, files and other programs'
//! settings;
//! `web`, which is this package, is the page and the JavaScript package.

pub use shardscope_core as core;
pub use shardscope_io as io;
pub use shardscope_view as view;

pub mod web;
