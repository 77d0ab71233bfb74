//! Scenes into strokes, on any plotters backend: the canvas on screen, SVG for export and tests.

pub mod memory;
pub mod timeline;

use crate::view::charts::ticks::tick_label;
use plotters::style::text_anchor::HPos;
use plotters_backend::{DrawingBackend, DrawingErrorKind};

/// Result of painting.
type Painted<DB> = Result<(), DrawingErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Device pixels of `css` pixels, `scale` of them in one.
#[allow(clippy::cast_possible_truncation)] // pixels fit an i32
fn px(css: f64, scale: f64) -> i32 {
    (css * scale).round() as i32
}

/// The label of a tick of a time axis, seconds, and its side: within the axis of `width` pixels, on which it is `at`.
fn time_label(tick: f64, at: f64, width: f64) -> (String, HPos) {
    let side = if at < 24.0 {
        HPos::Left
    } else if at > width - 24.0 {
        HPos::Right
    } else {
        HPos::Center
    };
    (tick_label(tick), side)
}
