//! The timeline's canvas: a surface in device pixels, painted at most once a frame.

use crate::core::report::StageMessages;
use crate::io::export::Picture;
use crate::view::charts::prepared::{Prepared, mebibytes, paper_of_stage};
use crate::view::charts::shape::Shape;
use crate::view::charts::timeline::{Cell, cells, moved};
use crate::view::charts::viewport::Viewport;
use crate::view::paint::FONT;
use crate::view::paint::timeline::{BlockLabel, Corners, TimelinePicture};
use crate::view::palette::{Rgb, Theme};
use leptos::prelude::window;
use plotters_canvas::CanvasBackend;
use wasm_bindgen::JsCast;

/// Device pixels a CSS pixel of an exported picture.
const EXPORT_SCALE: f64 = 2.0;

/// Everything that a picture depends on.
pub struct CanvasFrame<'a> {
    pub prepared: &'a Prepared,
    pub shape: Shape,
    pub most: u32,
    pub curve: &'a [(f64, u32)],
    /// Messages that are drawn in the blocks.
    pub messages: &'a [StageMessages],
    pub view: Viewport,
    pub width: f64,
    pub theme: Theme,
}

/// Paints one frame; its cells are `share` of the way from those of another frame, where that is given. Returns the
/// cells that it painted.
pub fn paint(canvas: &web_sys::HtmlCanvasElement, frame: &CanvasFrame, from: Option<(&[Cell], f64)>) -> Vec<Cell> {
    let shape = frame.shape;
    let scale = window().device_pixel_ratio().max(1.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a size in pixels
    let pixels = |css: f64| (css * scale).round().max(1.0) as u32;
    let (width, height) = (pixels(frame.width), pixels(shape.height()));
    if canvas.width() != width || canvas.height() != height {
        canvas.set_width(width);
        canvas.set_height(height);
    }
    let context = canvas.get_context("2d").ok().flatten();
    let context = context.and_then(|context| context.dyn_into::<web_sys::CanvasRenderingContext2d>().ok());
    if let Some(context) = &context {
        context.clear_rect(0.0, 0.0, f64::from(width), f64::from(height));
    }
    // Thousands of blocks have few colours.
    let fills = |(r, g, b): Rgb, blocks: &[Corners]| {
        let Some(context) = &context else { return };
        context.set_fill_style_str(&format!("rgb({r},{g},{b})"));
        for [left, upper, right, lower] in blocks.iter().map(|corners| corners.map(f64::from)) {
            context.fill_rect(left, upper, right - left, lower - upper);
        }
    };
    // Reading a font takes as long as ten labels.
    let writes = |labels: &[BlockLabel]| {
        let (Some(context), Some(first)) = (&context, labels.first()) else { return };
        let (r, g, b) = first.colour;
        context.set_fill_style_str(&format!("rgb({r},{g},{b})"));
        context.set_font(&format!("{}px {FONT}", first.font));
        context.set_text_align("center");
        context.set_text_baseline("middle");
        for label in labels {
            let (x, y) = label.middle;
            let _ = context.fill_text(&label.words, f64::from(x), f64::from(y));
        }
    };
    let Some(mut backend) = CanvasBackend::with_canvas_object(canvas.clone()) else {
        return Vec::new();
    };
    let evaluation = &frame.prepared.evaluation;
    let rows = frame.prepared.sums.rows(evaluation.timeline(), shape.ranks);
    let mut cells = cells(&rows, frame.view, frame.width);
    if let Some((from, share)) = from {
        cells = moved(from, &cells, share);
    }
    let picture = TimelinePicture {
        cells: &cells,
        shape,
        frame: None,
        view: frame.view,
        width: frame.width,
        paper_of: &|row, stage| paper_of_stage(evaluation, shape.ranks.rank(row), stage),
        version_of: &|row, microbatch| frame.prepared.version(shape.ranks.rank(row), microbatch),
        curve: frame.curve,
        messages: frame.messages,
        arrivals: &frame.prepared.arrivals(shape.ranks, frame.view, frame.width),
        capacity: mebibytes(evaluation.report.memory.capacity_bytes),
        most: frame.most,
        palette: frame.theme.palette(),
        scale,
        fills: Some(&fills),
        writes: Some(&writes),
    };
    // A canvas that cannot be drawn on stays empty; the table beside it has the same figures.
    let _ = picture.paint(&mut backend);
    cells
}

/// The address of a PNG of `picture`; none where the browser has no canvas for it.
pub(crate) fn png(picture: &Picture) -> Option<String> {
    let canvas = window().document()?.create_element("canvas").ok()?;
    let canvas: web_sys::HtmlCanvasElement = canvas.dyn_into().ok()?;
    let (width, height) = picture.size(EXPORT_SCALE);
    canvas.set_width(width);
    canvas.set_height(height);
    let mut backend = CanvasBackend::with_canvas_object(canvas.clone())?;
    picture.paint(&mut backend, EXPORT_SCALE).ok()?;
    canvas.to_data_url().ok()
}
