//! One stage over the step: areas on a canvas, the fullest instant in words, pointer and arrow keys for the others.

use crate::paint::memory::{AREA, AXIS, AreaPicture, GUTTER};
use crate::report::over_time::{OverTime, over_time};
use crate::run::{Method, OneOf};
use crate::scene::markup::{Html, el, span};
use crate::scene::over_time::{Areas, areas, curve_table, instant_tip, legend, peak_words};
use crate::ui::browser;
use crate::ui::html::{flag, html, text};
use crate::ui::state::State;
use crate::units::Seconds;
use leptos::html::{Canvas, Div};
use leptos::prelude::*;
use plotters_canvas::CanvasBackend;
use std::sync::Arc;
use wasm_bindgen::JsCast;

/// Narrower than this nothing is painted.
const NARROWEST: f64 = GUTTER + 20.0;

/// What the picture follows.
#[derive(Clone, Copy)]
struct Look {
    state: State,
    /// Its memory over the step, while it is visible.
    curve: Memo<Option<Arc<OverTime>>>,
    /// Width of the surface, CSS pixels.
    width: RwSignal<f64>,
    /// The instant under the pointer or the keys.
    at: RwSignal<Option<usize>>,
}

/// The picture, computed while `visible`.
pub fn view(state: State, visible: Signal<bool>) -> AnyView {
    let stage = RwSignal::new(None::<usize>);
    let curve = Memo::new_with_compare(
        move |_| {
            let evaluation = state.evaluation().filter(|_| visible.get())?;
            let memory = &evaluation.report.memory;
            let known = |stage: &usize| *stage < memory.per_stage.len();
            let stage = stage.get().filter(known).unwrap_or(memory.peak_stage);
            over_time(&evaluation, stage).map(Arc::new)
        },
        |_: Option<&Option<Arc<OverTime>>>, _| true,
    );
    let look = Look {
        state,
        curve,
        width: RwSignal::new(0.0),
        at: RwSignal::new(None),
    };
    let from_curve = move |of: fn(&OverTime, crate::units::MemoryUnit) -> Html| {
        move || {
            let unit = state.unit.get();
            let curve = curve.get();
            curve.map_or_else(Html::none, |curve| of(&curve, unit))
        }
    };
    view! {
        <div class="over-time" hidden=flag(move || !visible.get())>
            <p class="legend">
                <select
                    aria-label="Stage"
                    inner_html=text(move || stages(look).into_string())
                    on:change=move |event| stage.set(event_target_value(&event).parse().ok())
                ></select>
                <span inner_html=text(move || legend().into_string())></span>
            </p>
            {surface(look)}
            {html("peak-words", from_curve(|curve, unit| span("p", "", &peak_words(curve, unit))))}
            {html("peak-words", move || other_method(state))}
            <details class="twin">
                <summary>"Show as a table"</summary>
                {html("", from_curve(curve_table))}
            </details>
        </div>
    }
    .into_any()
}

/// Says that the picture is the detailed method's where the panel shows another.
fn other_method(state: State) -> Html {
    let evaluation = state.evaluation();
    let other =
        evaluation.filter(|evaluation| evaluation.report.memory.method != Method::Detailed.id());
    other.map_or_else(Html::none, |_| {
        span(
            "p",
            "",
            "By the detailed method: the published ones know no time.",
        )
    })
}

/// The list of stages, the one that is shown chosen.
fn stages(look: Look) -> Html {
    let count = look
        .state
        .evaluation()
        .map_or(0, |evaluation| evaluation.report.memory.per_stage.len());
    let chosen = look
        .curve
        .with(|curve| curve.as_ref().map(|curve| curve.rank));
    (0..count)
        .map(|rank| {
            let value = rank.to_string();
            let mark = if chosen == Some(rank) { "selected" } else { "" };
            let name = crate::scene::markup::text(&format!("stage {rank}"));
            el("option", &[("value", &value), ("selected", mark)], &[name])
        })
        .collect()
}

/// The canvas, and what is under the pointer or the arrow keys.
fn surface(look: Look) -> AnyView {
    let (surface, canvas) = (NodeRef::<Div>::new(), NodeRef::<Canvas>::new());
    let Look {
        state,
        curve,
        width,
        at,
        ..
    } = look;
    Effect::new(move |_| {
        if let Some(element) = surface.get() {
            browser::watch_width(&element, move |wide| width.set(wide));
        }
    });
    // One painting a frame, however many signals changed.
    let waiting = StoredValue::new(false);
    Effect::new(move |_| {
        let _ = (state.theme.get(), state.unit.get(), width.get());
        curve.track();
        if waiting.get_value() {
            return;
        }
        waiting.set_value(true);
        request_animation_frame(move || {
            waiting.set_value(false);
            if let Some(canvas) = canvas.get_untracked() {
                untrack(|| repaint(look, &canvas));
            }
        });
    });
    let under = move |x: f64| {
        let curve = curve.get_untracked()?;
        let share = ((x - GUTTER) / (width.get_untracked() - GUTTER)).clamp(0.0, 1.0);
        Some(curve.index_at(Seconds(share * curve.makespan.0)))
    };
    let label = move || {
        let unit = state.unit.get();
        let words = curve.with(|curve| curve.as_ref().map(|curve| peak_words(curve, unit)));
        format!(
            "Memory over the step. {} Arrow keys step through the changes, F goes to the fullest.",
            words.unwrap_or_default()
        )
    };
    let height = format!("height:{}px", AREA + AXIS);
    view! {
        <div
            class="surface areas"
            node_ref=surface
            tabindex="0"
            role="application"
            aria-label=text(label)
            style=height
            on:pointermove=move |event: web_sys::PointerEvent| at.set(under(f64::from(event.offset_x())))
            on:pointerleave=move |_| at.set(None)
            on:blur=move |_| at.set(None)
            on:keydown=move |event| key(look, &event)
        >
            <canvas node_ref=canvas aria-hidden="true"></canvas>
            {html("cursors", move || cursor(look).unwrap_or_default())}
        </div>
    }
    .into_any()
}

fn key(look: Look, event: &web_sys::KeyboardEvent) {
    let Some(curve) = look.curve.get_untracked() else {
        return;
    };
    let now = look.at.get_untracked().unwrap_or(curve.peak);
    let last = curve.instants.len().saturating_sub(1);
    let next = match event.key().as_str() {
        "ArrowRight" | "." => Some((now + 1).min(last)),
        "ArrowLeft" | "," => Some(now.saturating_sub(1)),
        "Home" => Some(0),
        "End" => Some(last),
        "f" | "F" => Some(curve.peak),
        "Escape" => None,
        _ => return,
    };
    event.prevent_default();
    look.at.set(next);
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // pixels on a screen
fn laid_out(look: Look, curve: &OverTime) -> Option<Areas> {
    let width = look.width.get_untracked();
    let evaluation = look.state.evaluation().filter(|_| width > NARROWEST)?;
    // The detailed method is held against what the driver shows.
    let usable = evaluation.scenario.gpu.usable;
    Some(areas(curve, usable, (width - GUTTER).floor() as usize))
}

/// Sizes the canvas in device pixels and paints.
fn repaint(look: Look, canvas: &web_sys::HtmlCanvasElement) {
    let Some(curve) = look.curve.get_untracked() else {
        return;
    };
    let Some(areas) = laid_out(look, &curve) else {
        return;
    };
    let scale = window().device_pixel_ratio().max(1.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a size in pixels
    let pixels = |css: f64| (css * scale).round().max(1.0) as u32;
    let (wide, high) = (areas.columns.len() as f64 + GUTTER, AREA + AXIS);
    let style = format!("width:{wide}px;height:{high}px");
    let _ = canvas.set_attribute("style", &style);
    let (width, height) = (pixels(wide), pixels(high));
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
    let picture = AreaPicture {
        areas: &areas,
        makespan: curve.makespan,
        unit: look.state.unit.get_untracked(),
        palette: look.state.theme.get_untracked().palette(),
        scale,
    };
    if let Some(mut backend) = CanvasBackend::with_canvas_object(canvas.clone()) {
        // A canvas that cannot be drawn on stays empty; words and table say the same.
        let _ = picture.paint(&mut backend);
    }
}

/// A line at the instant that is looked at, and its parts.
fn cursor(look: Look) -> Option<Html> {
    let (curve, unit) = (look.curve.get()?, look.state.unit.get());
    let instant = curve.instants.get(look.at.get()?)?;
    let share = instant.time.0 / curve.makespan.0;
    let width = look.width.get();
    let x = GUTTER + share * (width - GUTTER);
    let side = if share < 0.5 {
        format!("left:{:.1}px;top:8px", x + 8.0)
    } else {
        format!("right:{:.1}px;top:8px", width - x + 8.0)
    };
    let line = [("class", "cursor"), ("style", &format!("left:{x:.1}px"))];
    let tip = [("class", "tip parts"), ("role", "status"), ("style", &side)];
    let pieces = [
        el("i", &line, &[]),
        el("div", &tip, &[instant_tip(instant, unit)]),
    ];
    Some(pieces.into_iter().collect())
}
