//! The timeline's canvas: a surface in device pixels, painted at most once a frame.

use crate::paint::timeline::{AXIS, CURVE, Rows, TimelinePicture};
use crate::report::Evaluation;
use crate::scene::palette::Theme;
use crate::scene::timeline::cells;
use crate::scene::viewport::Viewport;
use leptos::prelude::window;
use plotters_canvas::CanvasBackend;
use wasm_bindgen::JsCast;

/// Ranks that are drawn; of more, every n-th.
const MOST_ROWS: usize = 128;

/// Which ranks are rows of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Rows drawn.
    pub count: usize,
    /// Ranks from one row to the next.
    pub stride: usize,
    /// Their spacing.
    pub rows: Rows,
}

impl Shape {
    /// The shape of a picture of `ranks` pipeline ranks.
    pub fn of(ranks: usize) -> Self {
        let stride = ranks.div_ceil(MOST_ROWS).max(1);
        let count = ranks.div_ceil(stride);
        Self {
            count,
            stride,
            rows: Rows::fitting(count),
        }
    }
    /// Height in CSS pixels.
    pub fn height(self) -> f64 {
        self.count as f64 * self.rows.pitch + AXIS + CURVE
    }
    /// Height of the rows alone.
    pub fn rows_height(self) -> f64 {
        self.count as f64 * self.rows.pitch
    }
}

/// Everything that a picture depends on.
pub struct Frame<'a> {
    pub evaluation: &'a Evaluation,
    pub curve: &'a [(f64, u32)],
    pub shape: Shape,
    pub view: Viewport,
    pub width: f64,
    pub theme: Theme,
}

/// Paints one frame.
pub fn paint(canvas: &web_sys::HtmlCanvasElement, frame: &Frame) {
    let scale = window().device_pixel_ratio().max(1.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a size in pixels
    let pixels = |css: f64| (css * scale).round().max(1.0) as u32;
    let (width, height) = (pixels(frame.width), pixels(frame.shape.height()));
    if canvas.width() != width || canvas.height() != height {
        canvas.set_width(width);
        canvas.set_height(height);
    }
    let context = canvas.get_context("2d").ok().flatten();
    if let Some(context) =
        context.and_then(|context| context.dyn_into::<web_sys::CanvasRenderingContext2d>().ok())
    {
        context.clear_rect(0.0, 0.0, f64::from(width), f64::from(height));
    }
    let Some(mut backend) = CanvasBackend::with_canvas_object(canvas.clone()) else {
        return;
    };
    let order = &frame.evaluation.order;
    let stages: Vec<Vec<u32>> = (0..order.pp() as usize)
        .map(|rank| order.stages_of(rank))
        .collect();
    let stride = frame.shape.stride;
    let chunk_of = |row: usize, stage: u32| {
        let held = stages.get(row * stride);
        held.and_then(|held| held.iter().position(|other| *other == stage))
            .unwrap_or(0)
    };
    let ranks = &frame.evaluation.timeline.ranks;
    let rows: Vec<_> = ranks.iter().step_by(stride).map(Vec::as_slice).collect();
    let picture = TimelinePicture {
        cells: &cells(&rows, frame.view, frame.width),
        rows: frame.shape.rows,
        count: frame.shape.count,
        view: frame.view,
        width: frame.width,
        chunk_of: &chunk_of,
        curve: frame.curve,
        palette: frame.theme.palette(),
        scale,
    };
    // A canvas that cannot be drawn on stays empty; the table beside it says the same.
    let _ = picture.paint(&mut backend);
}
