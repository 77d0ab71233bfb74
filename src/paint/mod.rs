//! Scenes into strokes, on any plotters backend: the canvas on screen, SVG for export and tests.

pub mod memory;
pub mod timeline;
