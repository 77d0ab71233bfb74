//! The pipeline timeline: canvas, pointer and keyboard, tooltip, minimap, the same as a table.

use crate::pipeline::trace::{Cause, Place};
use crate::pipeline::{Kind, TimedOp, Trace, stats};
use crate::report::{Evaluation, Figure};
use crate::run::registry::field;
use crate::scene::timeline::hit;
use crate::scene::viewport::Viewport;
use crate::scene::words;
use crate::ui::browser;
use crate::ui::chart::{Frame, Shape, paint};
use crate::ui::field::choice_select;
use crate::ui::state::State;
use crate::units::{Seconds, show_percent, show_seconds};
use leptos::html::{Canvas, Div};
use leptos::prelude::*;
use std::sync::Arc;

/// What is looked at in the picture.
#[derive(Clone, Copy)]
struct Look {
    /// The window on the time axis; none: all of it.
    window: RwSignal<Option<Viewport>>,
    /// Width of the picture, CSS pixels.
    width: RwSignal<f64>,
    /// The op under the pointer.
    hover: RwSignal<Option<Place>>,
    /// The op chosen by click or key.
    focus: RwSignal<Option<Place>>,
    /// The rank whose in-flight activations are drawn.
    rank: RwSignal<usize>,
}

impl Look {
    /// The visible window of a picture that ends at `full`: a window on another picture shows all of this one.
    fn view(self, full: f64) -> Viewport {
        let same = |window: &Viewport| (window.full - full).abs() <= full * 1e-12;
        self.window
            .get()
            .filter(same)
            .unwrap_or_else(|| Viewport::all(full))
    }
    fn set(self, view: Viewport) {
        self.window.set((!view.is_all()).then_some(view));
    }
}

/// The timeline panel.
#[component]
pub fn TimelinePanel() -> impl IntoView {
    let state = expect_context::<State>();
    let look = Look {
        window: RwSignal::new(None),
        width: RwSignal::new(0.0),
        hover: RwSignal::new(None),
        focus: RwSignal::new(None),
        rank: RwSignal::new(0),
    };
    let ranks = Memo::new(move |_| {
        state
            .evaluation()
            .map_or(0, |evaluation| evaluation.timeline.ranks.len())
    });
    let move_view = move |change: fn(Viewport) -> Viewport| {
        if let Some(evaluation) = state.evaluation() {
            look.set(change(look.view(evaluation.timeline.makespan())));
        }
    };
    view! {
        <section aria-labelledby="timeline-title" class="stale-able" class:stale=move || state.is_stale()>
            <div class="panel-head">
                <h2 id="timeline-title">"Pipeline timeline"</h2>
                <span class="spring"></span>
                <span class="tools">
                    {state.embed().is_none().then(|| field("schedule").map(|field| choice_select(state, field, "Pipeline schedule")))}
                    <button aria-label="Zoom in" title="Zoom in (W)" on:click=move |_| move_view(|view| view.zoomed(2.0, f64::midpoint(view.start, view.end)))>"+"</button>
                    <button aria-label="Zoom out" title="Zoom out (S)" on:click=move |_| move_view(|view| view.zoomed(0.5, f64::midpoint(view.start, view.end)))>"−"</button>
                    <button title="Show all of it (0)" on:click=move |_| look.window.set(None)>"fit"</button>
                </span>
            </div>
            {move || state.evaluation().map(|evaluation| legend(state, &evaluation))}
            <div class="timeline">
                <div class="ranks">{move || labels(state, look, ranks.get())}</div>
                <Surface look=look/>
                <Minimap look=look/>
            </div>
            <details class="twin">
                <summary>"Show as a table"</summary>
                {move || state.evaluation().map(|evaluation| table(&evaluation))}
            </details>
        </section>
    }
}

fn legend(state: State, evaluation: &Evaluation) -> impl IntoView + use<> {
    let report = &evaluation.report;
    let bubble = &report.pipeline;
    let split = evaluation
        .timeline
        .ranks
        .iter()
        .flatten()
        .any(|op| op.op.kind == Kind::W);
    let chunks = evaluation.order.chunks_per_rank();
    view! {
        <p class="visually-hidden">{words::pipeline(bubble, report.layout.microbatches)}</p>
        <div class="legend">
            <span><i class="swatch c-forward"></i>"F forward"</span>
            <span><i class="swatch c-backward"></i>{if split { "B backward (input)" } else { "BW backward" }}</span>
            {split.then(|| view! { <span><i class="swatch c-weight"></i>"W weight gradient"</span> })}
            <span>
                <i class="swatch hatch"></i>
                <button class="link" on:click=move |_| state.ask(Figure::Bubble)>
                    {format!("bubble {} of the step", show_percent(bubble.bubble_fraction))}
                </button>
                {format!(" ({} of ideal)", show_percent(bubble.bubble_over_ideal))}
            </span>
            {(chunks > 1).then(|| view! { <span>"lighter: later chunk of the rank"</span> })}
            <span class="phone-hide">"Ctrl + wheel zooms, drag pans"</span>
        </div>
    }
}

/// Rank names beside the rows; clicking one draws its in-flight activations.
fn labels(state: State, look: Look, ranks: usize) -> impl IntoView {
    let shape = Shape::of(ranks);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few
    let every = (14.0 / shape.rows.pitch).ceil().max(1.0) as usize;
    let label = move |row: usize| {
        let rank = row * shape.stride;
        let top = row as f64 * shape.rows.pitch + shape.rows.height / 2.0 - 6.0;
        view! {
            <button
                style:top=format!("{top}px")
                aria-pressed=move || (look.rank.get() == rank).to_string()
                title="Show this rank's in-flight activations"
                on:click=move |_| look.rank.set(rank)
            >
                {format!("rank {rank}")}
            </button>
        }
    };
    let peak = move || {
        let evaluation = state.evaluation()?;
        let peak = *evaluation
            .report
            .pipeline
            .peak_in_flight
            .get(look.rank.get())?;
        Some(format!("peak {peak}"))
    };
    view! {
        {(0..shape.count).step_by(every).map(label).collect_view()}
        <span style:top=format!("{}px", shape.rows_height() + 28.0)>{peak}</span>
        <span style:top=format!("{}px", shape.rows_height() + 46.0)>"in flight"</span>
    }
}

/// The canvas with its overlay.
#[component]
fn Surface(look: Look) -> impl IntoView {
    let state = expect_context::<State>();
    let surface = NodeRef::<Div>::new();
    let canvas = NodeRef::<Canvas>::new();
    let drag = RwSignal::new(None::<f64>);
    let curve = Memo::new_with_compare(
        move |_| {
            let evaluation = state.evaluation()?;
            let ops = evaluation
                .timeline
                .ranks
                .get(look.rank.get())
                .or(evaluation.timeline.ranks.first())?;
            Some(Arc::new(stats::in_flight_curve(ops)))
        },
        |_, _| true,
    );
    Effect::new(move |_| {
        if let Some(element) = surface.get() {
            browser::watch_width(&element, move |width| look.width.set(width));
        }
    });
    // One painting a frame, however many signals changed.
    let waiting = StoredValue::new(false);
    Effect::new(move |_| {
        let (_, _, _) = (state.theme.get(), look.width.get(), look.window.get());
        state.shown.track();
        curve.track();
        if waiting.get_value() {
            return;
        }
        waiting.set_value(true);
        request_animation_frame(move || {
            waiting.set_value(false);
            let (Some(canvas), Some(evaluation)) =
                (canvas.get_untracked(), untrack(|| state.evaluation()))
            else {
                return;
            };
            let width = look.width.get_untracked();
            if width < 1.0 {
                return;
            }
            let curve = curve.get_untracked().unwrap_or_default();
            let frame = Frame {
                evaluation: &evaluation,
                curve: &curve,
                shape: Shape::of(evaluation.timeline.ranks.len()),
                view: untrack(|| look.view(evaluation.timeline.makespan())),
                width,
                theme: state.theme.get_untracked(),
            };
            paint(&canvas, &frame);
        });
    });
    let under = move |x: f64, y: f64| {
        let evaluation = state.evaluation()?;
        let shape = Shape::of(evaluation.timeline.ranks.len());
        let (row, upper) = shape.rows.at(y);
        let rank = row * shape.stride;
        let view = look.view(evaluation.timeline.makespan());
        let ops = evaluation.timeline.ranks.get(rank)?;
        let at = hit(ops, view.time(x, look.width.get()), upper)?;
        Some(Place { rank, at })
    };
    let pan = move |pixels: f64| {
        if let Some(evaluation) = untrack(|| state.evaluation()) {
            let view = untrack(|| look.view(evaluation.timeline.makespan()));
            look.set(view.panned(-pixels / look.width.get_untracked() * view.span()));
        }
    };
    let moved = move |event: web_sys::PointerEvent| {
        let (x, y) = (f64::from(event.offset_x()), f64::from(event.offset_y()));
        if let Some(from) = drag.get_untracked() {
            pan(x - from);
            drag.set(Some(x));
            look.hover.set(None);
        } else {
            look.hover.set(untrack(|| under(x, y)));
        }
    };
    let wheel = move |event: web_sys::WheelEvent| {
        if !(event.ctrl_key() || event.meta_key()) {
            return;
        }
        event.prevent_default();
        if let Some(evaluation) = untrack(|| state.evaluation()) {
            let view = untrack(|| look.view(evaluation.timeline.makespan()));
            let at = view.time(f64::from(event.offset_x()), look.width.get_untracked());
            look.set(view.zoomed((-event.delta_y() * 0.002).exp(), at));
        }
    };
    let shape = move || {
        Shape::of(
            state
                .evaluation()
                .map_or(0, |evaluation| evaluation.timeline.ranks.len()),
        )
    };
    let label = move || {
        state.evaluation().map(|evaluation| {
            let report = &evaluation.report;
            format!(
                "Timeline. {} Arrow keys move, comma and full stop step through ops.",
                words::pipeline(&report.pipeline, report.layout.microbatches)
            )
        })
    };
    view! {
        <div
            class="surface"
            class:dragging=move || drag.get().is_some()
            node_ref=surface
            tabindex="0"
            role="application"
            aria-label=label
            style:height=move || format!("{}px", shape().height())
            on:wheel=wheel
            on:pointerdown=move |event: web_sys::PointerEvent| {
                if event.pointer_type() != "touch" {
                    drag.set(Some(f64::from(event.offset_x())));
                }
            }
            on:pointermove=moved
            on:pointerup=move |event: web_sys::PointerEvent| {
                drag.set(None);
                look.focus.set(untrack(|| under(f64::from(event.offset_x()), f64::from(event.offset_y()))));
            }
            on:pointerleave=move |_| { drag.set(None); look.hover.set(None); }
            on:dblclick=move |_| focus_op(state, look)
            on:keydown=move |event| key(state, look, &event)
        >
            <div class="paper hatch" style:height=move || format!("{}px", shape().rows_height())></div>
            <canvas node_ref=canvas aria-hidden="true" style:height=move || format!("{}px", shape().height())></canvas>
            {move || overlay(state, look)}
        </div>
    }
}

/// Shows the chosen op large.
fn focus_op(state: State, look: Look) {
    let Some(evaluation) = untrack(|| state.evaluation()) else {
        return;
    };
    if let Some(op) = look
        .focus
        .get_untracked()
        .and_then(|place| get(&evaluation, place))
    {
        look.set(Viewport::all(evaluation.timeline.makespan()).showing(op.start, op.end));
    }
}

fn get(evaluation: &Evaluation, place: Place) -> Option<TimedOp> {
    evaluation
        .timeline
        .ranks
        .get(place.rank)?
        .get(place.at)
        .copied()
}

fn key(state: State, look: Look, event: &web_sys::KeyboardEvent) {
    if event.ctrl_key() || event.meta_key() || event.alt_key() {
        return;
    }
    let Some(evaluation) = untrack(|| state.evaluation()) else {
        return;
    };
    let view = untrack(|| look.view(evaluation.timeline.makespan()));
    let middle = f64::midpoint(view.start, view.end);
    let walk = |change: fn(Place) -> Option<Place>| {
        let place = look.focus.get_untracked().or(look.hover.get_untracked());
        let next = match place {
            Some(place) => change(place),
            None => Some(Place {
                rank: look.rank.get_untracked(),
                at: 0,
            }),
        };
        let Some((place, op)) = next.and_then(|place| Some((place, get(&evaluation, place)?)))
        else {
            return;
        };
        look.focus.set(Some(place));
        look.hover.set(None);
        if op.start < view.start || op.end > view.end {
            look.set(view.panned(op.start - view.start - view.span() * 0.2));
        }
    };
    match event.key().as_str() {
        "w" | "W" => look.set(view.zoomed(1.5, middle)),
        "s" | "S" => look.set(view.zoomed(1.0 / 1.5, middle)),
        "a" | "A" | "ArrowLeft" => look.set(view.panned(-view.span() * 0.2)),
        "d" | "D" | "ArrowRight" => look.set(view.panned(view.span() * 0.2)),
        "f" | "F" => focus_op(state, look),
        "0" | "Home" => look.window.set(None),
        "." => walk(|place| {
            Some(Place {
                at: place.at + 1,
                ..place
            })
        }),
        "," => walk(|place| {
            Some(Place {
                at: place.at.checked_sub(1)?,
                ..place
            })
        }),
        "ArrowDown" => walk(|place| {
            Some(Place {
                rank: place.rank + 1,
                ..place
            })
        }),
        "ArrowUp" => walk(|place| {
            Some(Place {
                rank: place.rank.checked_sub(1)?,
                ..place
            })
        }),
        "Escape" => {
            look.focus.set(None);
            look.hover.set(None);
        }
        _ => return,
    }
    event.prevent_default();
}

/// The mark around the op that is looked at, and what it is.
fn overlay(state: State, look: Look) -> Option<impl IntoView> {
    let evaluation = state.evaluation()?;
    let place = look.hover.get().or(look.focus.get())?;
    let op = get(&evaluation, place)?;
    let shape = Shape::of(evaluation.timeline.ranks.len());
    let (view, width) = (look.view(evaluation.timeline.makespan()), look.width.get());
    let row = place.rank / shape.stride;
    let (left, right) = (
        view.x(op.start, width).max(0.0),
        view.x(op.end, width).min(width),
    );
    if right < 0.0 || left > width {
        return None;
    }
    let top = row as f64 * shape.rows.pitch;
    let below = top + shape.rows.height + 6.0;
    let on_left = left < width / 2.0;
    Some(view! {
        <div
            class="mark-op"
            style:left=format!("{left:.1}px")
            style:top=format!("{top:.1}px")
            style:width=format!("{:.1}px", (right - left).max(3.0))
            style:height=format!("{:.1}px", shape.rows.height)
        ></div>
        <div
            class="tip"
            role="status"
            style:top=format!("{below:.1}px")
            style:left=on_left.then(|| format!("{left:.1}px"))
            style:right=(!on_left).then(|| format!("{:.1}px", (width - right).max(0.0)))
        >
            {describe(&evaluation, place, op).into_iter().map(|line| view! { <div>{line}</div> }).collect_view()}
        </div>
    })
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::F => "forward",
        Kind::B => "backward for the input",
        Kind::W => "gradient of the weight",
        Kind::BW => "backward",
    }
}

/// What the tooltip says of an op, line by line.
fn describe(evaluation: &Evaluation, place: Place, op: TimedOp) -> Vec<String> {
    let trace = Trace::new(
        &evaluation.order,
        &evaluation.timeline,
        evaluation.durations.p2p,
    );
    let name = |op: TimedOp| {
        format!(
            "{} of micro-batch {} on stage {}",
            kind_name(op.op.kind),
            op.op.microbatch,
            op.op.stage
        )
    };
    let waited = match trace.cause(place) {
        Cause::Nothing => "starts with the step".to_owned(),
        Cause::Rank(before) => match trace.get(before) {
            Some(before) => format!("follows the {}", name(before)),
            None => String::new(),
        },
        Cause::Result(result) => match trace.get(result) {
            Some(found) => format!("waits for rank {}: {}", result.rank, name(found)),
            None => String::new(),
        },
    };
    vec![
        format!("rank {}: {}", place.rank, name(op)),
        format!(
            "{} to {} ({})",
            show_seconds(Seconds(op.start)),
            show_seconds(Seconds(op.end)),
            show_seconds(Seconds(op.end - op.start))
        ),
        waited,
    ]
}

/// Where the window is on the whole axis; click or drag moves it.
#[component]
fn Minimap(look: Look) -> impl IntoView {
    let state = expect_context::<State>();
    let track = NodeRef::<Div>::new();
    let view = move || {
        look.view(
            state
                .evaluation()
                .map_or(1.0, |evaluation| evaluation.timeline.makespan()),
        )
    };
    let percent = |share: f64| format!("{:.3}%", share * 100.0);
    let go = move |event: web_sys::PointerEvent| {
        if event.buttons() == 0 {
            return;
        }
        let Some(track) = track.get_untracked() else {
            return;
        };
        let area = track.get_bounding_client_rect();
        let at = (f64::from(event.client_x()) - area.left()) / area.width();
        let view = untrack(view);
        look.set(view.panned(at * view.full - f64::midpoint(view.start, view.end)));
    };
    view! {
        <div class="minimap" node_ref=track aria-hidden="true" hidden=move || view().is_all() on:pointerdown=go on:pointermove=go>
            <i style:left=move || percent(view().start / view().full) style:width=move || percent(view().span() / view().full)></i>
        </div>
    }
}

/// Busy and idle time of every rank.
fn table(evaluation: &Evaluation) -> impl IntoView + use<> {
    let pipeline = &evaluation.report.pipeline;
    let makespan = pipeline.makespan_s;
    let busy = evaluation.timeline.ranks.iter().map(|ops| {
        let whole = ops
            .iter()
            .filter(|op| op.half != crate::pipeline::Half::Second);
        Seconds(whole.map(|op| op.end - op.start).sum())
    });
    let rows = busy
        .zip(&pipeline.peak_in_flight)
        .enumerate()
        .take(256)
        .map(|(rank, (busy, peak))| {
            view! {
                <tr>
                    <td>{rank}</td>
                    <td>{show_seconds(busy)}</td>
                    <td>{show_seconds(makespan - busy)}</td>
                    <td>{show_percent(1.0 - busy / makespan)}</td>
                    <td>{*peak}</td>
                </tr>
            }
        });
    view! {
        <div class="scroll-x" tabindex="0" role="region" aria-label="Timeline table">
            <table>
                <thead>
                    <tr><th>"rank"</th><th>"busy"</th><th>"idle"</th><th>"idle share"</th><th>"chunks in flight"</th></tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </div>
    }
}
