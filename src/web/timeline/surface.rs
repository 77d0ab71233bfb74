//! A timeline's canvas with what lies over it, the rank names beside it, and the pointer.

use super::keys::key;
use super::look::{Lane, Size, TimelineLook};
use super::overlay::overlay;
use crate::core::pipeline::trace::OpPlace;
use crate::core::report::{Figure, StageMessages, stage_messages};
use crate::view::charts::prepared::Prepared;
use crate::view::charts::timeline::{Cell, hit};
use crate::view::node::markup::{Node, PanelAction};
use crate::view::panels::pipeline::{label, rank_names};
use crate::web::browser;
use crate::web::browser::after_paint;
use crate::web::browser::canvas::{CanvasFrame, paint};
use crate::web::browser::html::effect;
use crate::web::browser::i18n::translated;
use crate::web::document::render::{Handler, handled, nodes};
use crate::web::state::State;
use leptos::html::{Canvas, Div};
use leptos::prelude::*;
use std::sync::Arc;

/// Pause after which a wheel over a picture zooms it and no longer scrolls the page, milliseconds.
const PAUSE: f64 = 400.0;

/// One picture: names, canvas, overlay.
pub(crate) fn surface(state: State, look: TimelineLook, lane: Lane, over: AnyView) -> AnyView {
    let surface = NodeRef::<Div>::new();
    let canvas = NodeRef::<Canvas>::new();
    let drag = RwSignal::new(None::<f64>);
    effect(move || {
        if let Some(element) = surface.get() {
            browser::watch_width(&element, move |width| {
                if width > 0.0 {
                    look.width.set(width);
                }
            });
        }
    });
    let still = browser::matches_media("(prefers-reduced-motion: reduce)");
    repaint(state, look, lane, canvas, still);
    let under = move |event: &web_sys::PointerEvent| {
        let prepared = lane.prepared.get_untracked()?;
        let shape = untrack(move || lane.shape());
        let (row, upper) = shape.rows.at(f64::from(event.offset_y()));
        let rank = shape.ranks.rank(row);
        let time = look.seen().time(f64::from(event.offset_x()), look.width.get_untracked());
        let at = hit(prepared.evaluation.timeline().ranks.get(rank)?, time, upper)?;
        Some(OpPlace { rank, at })
    };
    let moved = move |event: web_sys::PointerEvent| {
        // A tap opens the sheet and nothing else.
        if event.pointer_type() == "touch" {
            return;
        }
        let x = f64::from(event.offset_x());
        if let Some(from) = drag.get_untracked() {
            let view = look.seen();
            look.set(view.panned((from - x) / look.width.get_untracked() * view.span()));
            drag.set(Some(x));
            lane.hover.set(None);
            lane.pointer.set(None);
        } else {
            lane.hover.set(under(&event));
            lane.pointer.set(matches!(lane.size, Size::Filling(_)).then_some(x));
        }
        let time = look.seen().time(x, look.width.get_untracked());
        if lane.is_low() || still {
            look.clock.set(Some(time));
        }
    };
    let wheel = wheel(look, lane.is_low() || state.view.embed.is_some());
    let height = move || format!("{:.0}px", lane.shape().height());
    let name = move || {
        let prepared = lane.prepared.get();
        prepared.map(|prepared| translated(label(&prepared.evaluation)))
    };
    view! {
        <div class="timeline" hidden=move || lane.ranks() == 0>
            {names(state, lane)}
            <div
                class="surface"
                class:dragging=move || drag.get().is_some()
                node_ref=surface
                tabindex="0"
                role="application"
                aria-label=name
                style:height=height
                on:wheel=wheel
                on:pointerdown=move |event: web_sys::PointerEvent| {
                    if event.pointer_type() != "touch" {
                        drag.set(Some(f64::from(event.offset_x())));
                    }
                }
                on:pointermove=moved
                on:pointerup=move |event: web_sys::PointerEvent| {
                    drag.set(None);
                    let place = under(&event);
                    match place {
                        Some(place) if event.pointer_type() == "touch" => {
                            state.panels.explain(Figure::Memory(place.rank));
                        }
                        _ => look.press(lane, state, place),
                    }
                }
                on:pointerleave=move |_| { drag.set(None); lane.hover.set(None); lane.pointer.set(None); }
                on:dblclick=move |_| look.window.set(None)
                on:keydown=move |event| key(look, lane, &event)
            >
                <div
                    class="paper hatch"
                    style:width=move || hatched(look, lane)
                    style:height=move || format!("{:.0}px", lane.shape().rows_height())
                ></div>
                <canvas node_ref=canvas aria-hidden="true" style:height=height></canvas>
                {nodes("over", move || overlay(look, lane))}
                {over}
            </div>
        </div>
    }
    .into_any()
}

/// Zooms by the wheel, unless the page scrolls; only with Ctrl where `guarded`: among several pictures, and in a frame,
/// whose host scrolls.
fn wheel(look: TimelineLook, guarded: bool) -> impl Fn(web_sys::WheelEvent) + 'static {
    let scrolled = StoredValue::new(f64::NEG_INFINITY);
    let handle = window_event_listener_untyped("scroll", move |event| scrolled.set_value(event.time_stamp()));
    on_cleanup(move || handle.remove());
    move |event: web_sys::WheelEvent| {
        let view = look.seen();
        let at = view.time(f64::from(event.offset_x()), look.width.get_untracked());
        let zoomed = view.zoomed((-event.delta_y() * 0.002).exp(), at);
        // A page that scrolls goes on under the pointer, and so does one below a picture that shows all it has.
        let scrolls = guarded || event.time_stamp() - scrolled.get_value() < PAUSE || zoomed == view;
        if scrolls && !(event.ctrl_key() || event.meta_key()) {
            return;
        }
        event.prevent_default();
        look.set(zoomed);
    }
}

/// The names of the ranks beside the rows.
fn names(state: State, lane: Lane) -> AnyView {
    // A pressed rank name draws that rank's in-flight activations.
    let choose: Handler = Arc::new(move |action| {
        if let PanelAction::Rank(rank) = action {
            state.select_rank(rank);
        }
    });
    let names = Signal::derive(move || {
        let Some(prepared) = lane.prepared.get() else {
            return Node::none();
        };
        rank_names(&prepared.evaluation, lane.shape(), lane.rank.get(), state.view.embed.is_none())
    });
    view! { <div class="ranks" use:handled=(names, choose)></div> }.into_any()
}

/// End of the hatch of idle time: it ends with the pipeline.
fn hatched(look: TimelineLook, lane: Lane) -> String {
    let end = look.view().x(lane.makespan(), 100.0).clamp(0.0, 100.0);
    format!("{end:.3}%")
}

/// Milliseconds in which blocks move to their places in another timeline.
const MOVE: f64 = 150.0;

/// The last painting: its timeline and cells, and the cells that are being left since a time.
#[derive(Clone, Default)]
struct Painted {
    prepared: Option<Arc<Prepared>>,
    cells: Vec<Cell>,
    left: Option<(Vec<Cell>, f64)>,
}

impl Painted {
    /// True if the last painting is of another timeline than `now`.
    fn is_of_another(&self, now: Option<&Arc<Prepared>>) -> bool {
        self.prepared.as_ref().zip(now).is_some_and(|(before, now)| !Arc::ptr_eq(before, now))
    }
}

/// One painting a frame, however many signals changed; blocks move to their places in another timeline.
fn repaint(state: State, look: TimelineLook, lane: Lane, canvas: NodeRef<Canvas>, still: bool) {
    let waiting = StoredValue::new(false);
    let painted = StoredValue::new(Painted::default());
    let moves = RwSignal::new(());
    let messages: Memo<Vec<StageMessages>> = Memo::new(move |_| {
        let (chosen, prepared) = (state.view.chosen.get().beside, lane.prepared.get());
        chosen.zip(prepared).map_or_else(Vec::new, |(kind, one)| stage_messages(&one.evaluation, kind))
    });
    effect(move || {
        state.view.theme.track();
        look.width.track();
        look.window.track();
        look.full.track();
        look.most.track();
        lane.curve.track();
        messages.track();
        lane.prepared.track();
        moves.track();
        if canvas.get().is_none() || waiting.get_value() {
            return;
        }
        waiting.set_value(true);
        let paints = move || {
            // The picture may be gone by now.
            if waiting.try_set_value(false).is_some() {
                return;
            }
            let width = look.width.get_untracked();
            if let (Some(canvas), Some(prepared)) = (canvas.get_untracked(), lane.prepared.get_untracked())
                && width >= 1.0
            {
                let frame = CanvasFrame {
                    prepared: &prepared,
                    shape: untrack(move || lane.shape()),
                    most: look.most.get_untracked(),
                    curve: &lane.curve.get_untracked(),
                    messages: &messages.get_untracked(),
                    view: look.seen(),
                    width,
                    theme: state.view.theme.get_untracked(),
                };
                painted.update_value(|painted| {
                    let now = js_sys::Date::now();
                    if painted.is_of_another(Some(&prepared)) && !still {
                        painted.left = Some((std::mem::take(&mut painted.cells), now));
                    }
                    let passed = painted.left.as_ref().map_or(MOVE, |(_, since)| now - since);
                    let share = passed / MOVE;
                    // Ease-out.
                    let share = 1.0 - (1.0 - share.clamp(0.0, 1.0)).powi(3);
                    let left = painted.left.as_ref().map(|(cells, _)| (cells.as_slice(), share));
                    painted.cells = paint(&canvas, &frame, left);
                    painted.prepared = Some(Arc::clone(&prepared));
                    if passed >= MOVE {
                        painted.left = None;
                    }
                });
                if painted.with_value(|painted| painted.left.is_some()) {
                    moves.set(());
                }
            }
        };
        // The figures of another run are painted first.
        if painted.with_value(|painted| painted.is_of_another(lane.prepared.get_untracked().as_ref())) {
            after_paint(paints);
        } else {
            request_animation_frame(paints);
        }
    });
}
