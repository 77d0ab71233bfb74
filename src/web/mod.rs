//! The page: a Run in a signal, its evaluation in a memo, and panels that show slices of it.

pub mod dialogs;
pub mod worker;

#[cfg(feature = "ui")]
mod actions;
#[cfg(feature = "ui")]
mod app;
#[cfg(feature = "ui")]
mod browser;
#[cfg(feature = "ui")]
mod cluster;
#[cfg(feature = "ui")]
mod compare;
#[cfg(feature = "ui")]
mod diagnose;
#[cfg(feature = "ui")]
mod document;
#[cfg(feature = "ui")]
mod embed;
#[cfg(any(feature = "ui", test))]
mod entries;
#[cfg(feature = "ui")]
mod form;
#[cfg(feature = "ui")]
mod gallery;
#[cfg(feature = "ui")]
mod header;
#[cfg(feature = "ui")]
mod javascript;
#[cfg(feature = "ui")]
mod late;
#[cfg(feature = "ui")]
mod learn;
#[cfg(feature = "ui")]
mod link_sync;
#[cfg(feature = "ui")]
mod memory;
#[cfg(feature = "ui")]
mod opened;
#[cfg(feature = "ui")]
mod pasted;
#[cfg(feature = "ui")]
mod reader;
#[cfg(feature = "ui")]
mod runs;
#[cfg(feature = "ui")]
mod scoreboard;
#[cfg(feature = "ui")]
mod state;
#[cfg(feature = "ui")]
mod strip;
#[cfg(feature = "ui")]
mod tabs;
#[cfg(feature = "ui")]
mod timeline;
#[cfg(feature = "ui")]
mod whole;

#[cfg(feature = "ui")]
pub use app::mount;
