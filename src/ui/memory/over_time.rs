//! One stage over the step: areas on a canvas, the fullest instant in words, pointer and arrow keys for the others.

use crate::memory::Component;
use crate::paint::memory::{AREA, AXIS, AreaPicture, GUTTER};
use crate::report::over_time::{self, over_time};
use crate::report::{Evaluation, Figure};
use crate::scene::over_time::{Areas, areas, peak_words, sampled};
use crate::ui::browser;
use crate::ui::state::State;
use crate::units::{MemoryUnit, Seconds, show_seconds};
use leptos::html::{Canvas, Div};
use leptos::prelude::*;
use plotters_canvas::CanvasBackend;
use std::sync::Arc;
use wasm_bindgen::JsCast;

/// Rows of the table that says the same.
const TABLE_ROWS: usize = 24;
/// Narrower than this nothing is painted.
const NARROWEST: f64 = GUTTER + 20.0;

type Curve = Memo<Option<Arc<over_time::OverTime>>>;

/// The picture of one stage, computed while it is visible.
#[component]
pub fn OverTime(visible: Signal<bool>) -> impl IntoView {
    let state = expect_context::<State>();
    let chosen = RwSignal::new(None::<usize>);
    let stage = Memo::new(move |_| {
        let evaluation = state.evaluation()?;
        let memory = &evaluation.report.memory;
        let known = |stage: &usize| *stage < memory.per_stage.len();
        Some(chosen.get().filter(known).unwrap_or(memory.peak_stage))
    });
    let curve: Curve = Memo::new_with_compare(
        move |_| {
            let evaluation = state.evaluation().filter(|_| visible.get())?;
            over_time(&evaluation, stage.get()?).map(Arc::new)
        },
        |_, _| true,
    );
    let option = move |rank: usize| {
        view! { <option value=rank.to_string() prop:selected=move || stage.get() == Some(rank)>{format!("stage {rank}")}</option> }
    };
    let options = move || {
        let count = state
            .evaluation()
            .map_or(0, |evaluation| evaluation.report.memory.per_stage.len());
        (0..count).map(option).collect_view()
    };
    let words = move || {
        let unit = state.unit.get();
        curve.with(|curve| curve.as_ref().map(|curve| peak_words(curve, unit)))
    };
    view! {
        <div class="over-time" hidden=move || !visible.get()>
            <p class="legend">
                <select aria-label="Stage" on:change=move |event| chosen.set(event_target_value(&event).parse().ok())>{options}</select>
                {move || state.evaluation().filter(|evaluation| evaluation.report.memory.method != "detailed").map(|_| view! {
                    <span>"by the detailed method: the others know no time"</span>
                })}
                {legend()}
            </p>
            <Surface curve=curve/>
            <p class="peak-words">{words}</p>
            <details class="twin">
                <summary>"Show as a table"</summary>
                {move || curve.get().map(|curve| table(&curve, state.unit.get()))}
            </details>
        </div>
    }
}

fn legend() -> impl IntoView {
    let entry = |component: Component| {
        let name = component.name();
        view! { <span><i class=format!("swatch c-{name}")></i>{name}</span> }
    };
    Component::ALL.map(entry).collect_view()
}

/// The canvas, and what is under the pointer or the arrow keys.
#[component]
fn Surface(curve: Curve) -> impl IntoView {
    let state = expect_context::<State>();
    let (surface, canvas) = (NodeRef::<Div>::new(), NodeRef::<Canvas>::new());
    let width = RwSignal::new(0.0);
    let looked = RwSignal::new(None::<usize>);
    let picture = Memo::new_with_compare(
        move |_| {
            let (curve, evaluation) = (curve.get()?, state.evaluation()?);
            let width = width.get();
            (width > NARROWEST).then(|| Arc::new(laid_out(&evaluation, &curve, width)))
        },
        |_, _| true,
    );
    Effect::new(move |_| {
        if let Some(element) = surface.get() {
            browser::watch_width(&element, move |wide| width.set(wide));
        }
    });
    // One painting a frame, however many signals changed.
    let waiting = StoredValue::new(false);
    Effect::new(move |_| {
        let _ = (state.theme.get(), state.unit.get(), picture.track());
        if waiting.get_value() {
            return;
        }
        waiting.set_value(true);
        request_animation_frame(move || {
            waiting.set_value(false);
            let (Some(canvas), Some(areas), Some(curve)) = (
                canvas.get_untracked(),
                picture.get_untracked(),
                curve.get_untracked(),
            ) else {
                return;
            };
            paint(&canvas, |scale| AreaPicture {
                areas: &areas,
                makespan: curve.makespan,
                unit: state.unit.get_untracked(),
                palette: state.theme.get_untracked().palette(),
                scale,
            });
        });
    });
    let at = move |x: f64| {
        let curve = curve.get_untracked()?;
        let share = ((x - GUTTER) / (width.get_untracked() - GUTTER)).clamp(0.0, 1.0);
        let time = Seconds(share * curve.makespan.0);
        let after = curve.instants.partition_point(|one| one.time.0 <= time.0);
        Some(after.saturating_sub(1))
    };
    let key = move |event: web_sys::KeyboardEvent| {
        let Some(curve) = curve.get_untracked() else {
            return;
        };
        let now = looked.get_untracked().unwrap_or(curve.peak);
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
        looked.set(next);
    };
    let label = move || {
        let unit = state.unit.get();
        let words = curve.with(|curve| curve.as_ref().map(|curve| peak_words(curve, unit)));
        format!(
            "Memory over the step. {} Arrow keys step through the changes, F goes to the fullest.",
            words.unwrap_or_default()
        )
    };
    view! {
        <div
            class="surface areas"
            node_ref=surface
            tabindex="0"
            role="application"
            aria-label=label
            style:height=format!("{}px", AREA + AXIS)
            on:pointermove=move |event: web_sys::PointerEvent| looked.set(at(f64::from(event.offset_x())))
            on:pointerleave=move |_| looked.set(None)
            on:blur=move |_| looked.set(None)
            on:keydown=key
        >
            <canvas node_ref=canvas aria-hidden="true" style:height=format!("{}px", AREA + AXIS)></canvas>
            {move || {
                let curve = curve.get()?;
                Some(cursor(&curve, looked.get()?, width.get(), state.unit.get()))
            }}
        </div>
        <button class="link" on:click=move |_| if let Some(curve) = curve.get_untracked() { state.ask(Figure::Memory(curve.rank)) }>
            "how the peak comes about"
        </button>
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // pixels on a screen
fn laid_out(evaluation: &Evaluation, curve: &over_time::OverTime, width: f64) -> Areas {
    // The detailed method is held against what the driver shows.
    areas(
        curve,
        evaluation.scenario.gpu.usable,
        (width - GUTTER).floor() as usize,
    )
}

/// Sizes the canvas in device pixels and paints.
fn paint<'a>(canvas: &web_sys::HtmlCanvasElement, picture: impl FnOnce(f64) -> AreaPicture<'a>) {
    let scale = window().device_pixel_ratio().max(1.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a size in pixels
    let pixels = |css: f64| (css * scale).round().max(1.0) as u32;
    let picture = picture(scale);
    let wide = picture.areas.columns.len() as f64 + GUTTER;
    let (width, height) = (pixels(wide), pixels(AREA + AXIS));
    let _ = canvas.set_attribute(
        "style",
        &format!("width: {wide}px; height: {}px", AREA + AXIS),
    );
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
    if let Some(mut backend) = CanvasBackend::with_canvas_object(canvas.clone()) {
        // A canvas that cannot be drawn on stays empty; words and table say the same.
        let _ = picture.paint(&mut backend);
    }
}

/// A line at the instant that is looked at, and its parts.
fn cursor(
    curve: &over_time::OverTime,
    at: usize,
    width: f64,
    unit: MemoryUnit,
) -> Option<impl IntoView + use<>> {
    let instant = curve.instants.get(at)?;
    let share = instant.time.0 / curve.makespan.0;
    let x = GUTTER + share * (width - GUTTER);
    let parts = Component::ALL.into_iter().zip(curve.components(instant));
    let line = |(component, bytes): (Component, crate::units::Bytes)| {
        view! { <dt>{component.name()}</dt><dd>{unit.show(bytes)}</dd> }
    };
    let on_left = share < 0.5;
    Some(view! {
        <i class="cursor" style:left=format!("{x:.1}px")></i>
        <div
            class="tip parts"
            role="status"
            style:top="8px"
            style:left=on_left.then(|| format!("{:.1}px", x + 8.0))
            style:right=(!on_left).then(|| format!("{:.1}px", width - x + 8.0))
        >
            <b>{format!("{}: {}", show_seconds(instant.time), unit.show(curve.total(instant)))}</b>
            <dl>{parts.map(line).collect_view()}</dl>
        </div>
    })
}

fn table(curve: &over_time::OverTime, unit: MemoryUnit) -> impl IntoView + use<> {
    let fullest = curve.fullest();
    let rows = sampled(curve, TABLE_ROWS);
    let row = |instant: &over_time::Instant| {
        let [.., activations, buffers, _] = curve.components(instant);
        let peak = *instant == fullest;
        view! {
            <tr class:peak=peak>
                <td>{show_seconds(instant.time)}{peak.then_some(" (fullest)")}</td>
                <td>{unit.number(activations)}</td>
                <td>{unit.number(buffers)}</td>
                <td>{unit.number(curve.total(instant))}</td>
            </tr>
        }
    };
    view! {
        <div class="scroll-x" tabindex="0" role="region" aria-label="Memory over the step">
            <table>
                <thead>
                    <tr>
                        <th scope="col">"time"</th>
                        <th scope="col">"activations"</th>
                        <th scope="col">"buffers"</th>
                        <th scope="col">{format!("total {}", unit.name())}</th>
                    </tr>
                </thead>
                <tbody>{rows.iter().map(row).collect_view()}</tbody>
            </table>
        </div>
    }
}
