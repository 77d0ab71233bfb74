//! Scenes into strokes, on any plotters backend: the canvas on screen, SVG for export and tests.

pub mod memory;
pub mod timeline;

use crate::palette::Rgb;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{BackendColor, DrawingBackend, DrawingErrorKind};

type Painted<DB> = Result<(), DrawingErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Device pixels of `css` pixels, `scale` of them in one.
#[allow(clippy::cast_possible_truncation)] // pixels fit an i32
fn px(css: f64, scale: f64) -> i32 {
    (css * scale).round() as i32
}

/// The side of a label that is `at` pixels on an axis of `width` pixels: it stays within.
fn label_side(at: f64, width: f64) -> HPos {
    if at < 24.0 {
        HPos::Left
    } else if at > width - 24.0 {
        HPos::Right
    } else {
        HPos::Center
    }
}

/// A colour of lines and rectangles, one device pixel wide.
fn ink(colour: Rgb) -> BackendColor {
    BackendColor { alpha: 1.0, rgb: colour }
}

/// A colour of areas and paths.
fn fill((r, g, b): Rgb) -> ShapeStyle {
    ShapeStyle { color: RGBColor(r, g, b).to_rgba(), filled: true, stroke_width: 1 }
}

/// Family of all words in pictures.
pub const FONT: &str = "system-ui, sans-serif";

/// Words of `size` device pixels.
fn text_style(size: f64, colour: Rgb, h: HPos, v: VPos) -> TextStyle<'static> {
    TextStyle { font: (FONT, size).into_font(), color: ink(colour), pos: Pos::new(h, v) }
}
