//! Scenes into strokes, on any plotters backend: the canvas on screen, SVG for export and tests.

pub mod memory;
pub mod timeline;

use plotters_backend::{DrawingBackend, DrawingErrorKind};

/// Whether it could be painted.
type Painted<DB> = Result<(), DrawingErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Device pixels of `css` pixels, `scale` of them in one.
#[allow(clippy::cast_possible_truncation)] // pixels fit an i32
fn px(css: f64, scale: f64) -> i32 {
    (css * scale).round() as i32
}
