//! The view, independent of the page: geometry of pictures (scales, ticks, what is visible and what is under the
//! pointer), small pictures as SVG, panels and pages of reference as view trees, the glossary, the plan.
//!
//! All of it is pure. Coordinates are CSS pixels unless a name says otherwise; `paint` turns the geometry of the large
//! pictures into strokes.

pub mod charts;
pub mod choose;
pub mod cluster;
pub mod gallery;
pub mod learn;
pub mod look;
pub mod node;
pub mod paint;
pub mod palette;
pub mod panel;
pub mod panels;
mod prelude;
pub mod scoreboard;
pub mod steps;
pub mod view_state;
pub mod views;
pub mod words;
