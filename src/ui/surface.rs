//! A canvas to paint on, as many device pixels as it covers.

use leptos::prelude::window;
use plotters_canvas::CanvasBackend;
use wasm_bindgen::JsCast;

/// Clears `canvas`, sized to `width` by `height` CSS pixels; its backend and the device pixels a CSS pixel.
pub fn surface(
    canvas: &web_sys::HtmlCanvasElement,
    width: f64,
    height: f64,
) -> Option<(CanvasBackend, f64)> {
    let scale = window().device_pixel_ratio().max(1.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a size in pixels
    let pixels = |css: f64| (css * scale).round().max(1.0) as u32;
    // Setting a size clears the canvas.
    canvas.set_width(pixels(width));
    canvas.set_height(pixels(height));
    let style = canvas.unchecked_ref::<web_sys::HtmlElement>();
    style
        .set_attribute("style", &format!("height:{height}px"))
        .ok()?;
    Some((CanvasBackend::with_canvas_object(canvas.clone())?, scale))
}
