//! The page: a Run in a signal, its evaluation in a memo, and panels that show slices of it.

mod about;
mod accuracy;
mod app;
mod back;
mod browser;
mod chart;
mod compare;
mod embed;
mod evaluated;
mod field;
mod form;
mod history;
mod html;
mod link_sync;
mod memory;
mod overlap;
mod plan;
mod room;
mod share;
mod state;
mod strip;
mod timeline;

pub use app::start;
