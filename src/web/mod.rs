//! The page: a Run in a signal, its evaluation in a memo, and panels that show slices of it.

#[cfg(feature = "ui")]
mod api;
pub mod dialog_page;
pub mod worker;

#[cfg(feature = "ui")]
mod about;
#[cfg(feature = "ui")]
mod accuracy;
#[cfg(feature = "ui")]
mod actions;
#[cfg(feature = "ui")]
mod app;
#[cfg(feature = "ui")]
mod browser;
#[cfg(feature = "ui")]
mod chart;
#[cfg(feature = "ui")]
mod choice;
#[cfg(feature = "ui")]
mod choice_row;
#[cfg(feature = "ui")]
mod cluster;
#[cfg(feature = "ui")]
mod compare;
#[cfg(feature = "ui")]
mod diagnose;
#[cfg(feature = "ui")]
mod dialog;
#[cfg(feature = "ui")]
mod dialog_body;
#[cfg(feature = "ui")]
mod embed;
#[cfg(any(feature = "ui", test))]
mod entries;
#[cfg(feature = "ui")]
mod evaluated;
#[cfg(feature = "ui")]
mod field;
#[cfg(feature = "ui")]
mod fold;
#[cfg(feature = "ui")]
mod form;
#[cfg(feature = "ui")]
mod gallery;
#[cfg(feature = "ui")]
mod header;
#[cfg(feature = "ui")]
mod history;
#[cfg(feature = "ui")]
mod html;
#[cfg(feature = "ui")]
mod i18n;
#[cfg(feature = "ui")]
mod inverse;
#[cfg(feature = "ui")]
mod late;
#[cfg(feature = "ui")]
mod learn;
#[cfg(feature = "ui")]
mod link_sync;
#[cfg(feature = "ui")]
mod memory;
#[cfg(feature = "ui")]
mod menu;
#[cfg(feature = "ui")]
mod modal;
#[cfg(feature = "ui")]
mod opened;
#[cfg(feature = "ui")]
mod overlap;
#[cfg(feature = "ui")]
mod panel;
#[cfg(feature = "ui")]
mod plain;
#[cfg(feature = "ui")]
mod plan;
#[cfg(feature = "ui")]
mod published;
#[cfg(feature = "ui")]
mod render;
#[cfg(feature = "ui")]
mod runs;
#[cfg(feature = "ui")]
mod scoreboard;
#[cfg(feature = "ui")]
mod sentence;
#[cfg(feature = "ui")]
mod settings;
#[cfg(feature = "ui")]
mod share;
#[cfg(feature = "ui")]
mod shortcuts;
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
mod worded;

#[cfg(feature = "ui")]
pub use app::mount;
