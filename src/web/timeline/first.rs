//! One step of the pipeline on the first screen: the playhead crosses it, a lens shows what is under the pointer twice
//! as large.

use super::look::{Lane, TimelineLook};
use super::overlay::hovered;
use super::surface::surface;
use crate::core::units::{Seconds, show_seconds};
use crate::view::charts::viewport::Viewport;
use crate::view::node::markup::{Node, leaf};
use crate::view::panels::part::{AxisPart, played, played_line};
use crate::view::panels::pipeline::{kinds, rank_memory};
use crate::web::browser::canvas::{CanvasFrame, paint};
use crate::web::browser::html::{effect, flag, text};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::render::nodes;
use crate::web::state::State;
use leptos::html::{B, Canvas, Div, Input};
use leptos::prelude::*;
use std::time::Duration;
use web_sys::AnimationEvent;

/// Share of the picture under the lens, and the width of the lens in pixels.
const LENS: (f64, f64) = (170.0 / 900.0, 344.0);
/// From one number at the playhead to the next.
const TICK: Duration = Duration::from_millis(120);
/// Seconds after which the playhead stops, so that a tab which stays open leaves the processor alone.
const PLAYS: f64 = 60.0;
/// Positions of the slider over the step.
const POSITIONS: f64 = 1000.0;

/// What says where the playhead is.
#[derive(Clone, Copy)]
struct Playhead {
    /// Share of the step at which it stands, or was put by hand: the same part of another run's step. It plays on from
    /// there.
    put: RwSignal<Option<f64>>,
    head: NodeRef<Div>,
    number: NodeRef<B>,
    slider: NodeRef<Input>,
}

impl Playhead {
    /// Share of the step at which it is drawn; none where it is hidden.
    fn share(self) -> Option<f64> {
        let head = self.head.get_untracked()?;
        let here = head.get_bounding_client_rect();
        // Hidden where motion is unwanted.
        if here.height() == 0.0 || here.bottom() < 0.0 {
            return None;
        }
        let around = head.parent_element().map_or(here.clone(), |around| around.get_bounding_client_rect());
        Some(((here.left() - around.left()) / around.width().max(1.0)).clamp(0.0, 1.0))
    }

    /// Lets it stand at this share of a step of so many seconds.
    fn stand(self, share: f64, makespan: f64) {
        self.put.set(Some(share));
        self.say(share, makespan, true);
    }

    /// Says that it is at this share of a step of so many seconds, where it came by itself or by hand.
    fn say(self, share: f64, makespan: f64, by_hand: bool) {
        let now = show_seconds(Seconds(share * makespan));
        // The text and not its node: a node that is put in has the style of all that `:has` may name computed again.
        if let Some(text) = self.number.get_untracked().and_then(|number| number.first_child()) {
            text.set_node_value(Some(&now));
        }
        // What a person holds is not moved.
        let free = self.slider.get_untracked().filter(|slider| by_hand || !slider.matches(":focus").unwrap_or(false));
        if let Some(slider) = free {
            slider.set_value(&format!("{:.0}", share * POSITIONS));
            let _ = slider.set_attribute("aria-valuetext", &now);
        }
    }
}

/// The timeline of the first screen and of frames.
#[component]
pub(crate) fn FirstTimeline() -> impl IntoView {
    let state = expect_context::<State>();
    let look = expect_context::<TimelineLook>();
    let lane = look.own;
    let drawn = move |view: fn(&crate::core::report::Evaluation) -> Node| {
        lane.prepared.get().map_or_else(Node::none, |prepared| view(&prepared.evaluation))
    };
    let key = move || {
        let notes = look.notes(&[lane]);
        lane.prepared.get().map_or_else(Node::none, |prepared| kinds(&prepared.evaluation, notes))
    };
    let memory = move || {
        let prepared = lane.prepared.get();
        prepared.map_or_else(Node::none, |one| rank_memory(&one.evaluation, lane.shape(), state.view.unit.get()))
    };
    let is_stale = move || state.is_stale() || !state.is_drawn();
    let part = move |(part, name): (AxisPart, &'static str)| {
        let window = move || lane.prepared.get().and_then(|prepared| part.window(&prepared.evaluation));
        let is_on = move || {
            let view = look.view();
            window().map_or(part == AxisPart::Step && view.is_all(), |window| window == view)
        };
        view! {
            <button
                aria-pressed=text(move || is_on().to_string())
                on:click=move |_| look.window.set(untrack(window))
            >
                {say(name)}
            </button>
        }
    };
    let playhead =
        Playhead { put: RwSignal::new(None), head: NodeRef::new(), number: NodeRef::new(), slider: NodeRef::new() };
    let pressed = move |_| {
        if let Some(share) = playhead.share().filter(|_| look.plays.get_untracked()) {
            playhead.stand(share, untrack(move || lane.makespan()));
        }
        look.plays.update(|plays| *plays = !*plays);
    };
    let moved = move |event: web_sys::Event| {
        if let Ok(position) = event_target_value(&event).parse::<f64>() {
            let share = (position / POSITIONS).clamp(0.0, 1.0);
            look.plays.set(false);
            playhead.stand(share, untrack(move || lane.makespan()));
        }
    };
    // Frames have no inputs.
    let slider = state.view.embed.is_none().then(|| {
        view! {
            <input
                type="range"
                class="scrub played"
                min="0"
                max=POSITIONS.to_string()
                value="0"
                aria-label=say("Instant of the step")
                node_ref=playhead.slider
                on:input=moved
            />
        }
    });
    let label = text(move || translated(if look.plays.get() { "Stop the playhead" } else { "Play the step" }));
    view! {
        <section class="pipe stale-able" class:stale=flag(is_stale) aria-labelledby="timeline-title">
            <div class="panel-head">
                <h2 id="timeline-title">{say("One step of this pipeline")}</h2>
                {nodes("muted caption", move || drawn(|one| leaf("small", "", played_line(one))))}
                <span class="spring"></span>
                {nodes("legend", key)}
                <span class="pipe-parts">
                <span
                    class="seg"
                    role="group"
                    aria-label=say("Part of the step")
                >
                    {AxisPart::ALL.map(part).collect_view()}
                </span>
                <button
                    class="quiet play-button"
                    aria-label=label
                    title=label
                    on:click=pressed
                >
                    {text(move || if look.plays.get() { "❚❚" } else { "▶" }.to_owned())}
                </button>
                {slider}
                // Beside the button, where it covers no tick of the axis.
                <b class="played" node_ref=playhead.number aria-hidden="true">"0 s"</b>
                </span>
            </div>
            <div class="pipe-grid">
                {surface(state, look, lane, over(state, look, lane, playhead))}
                {nodes("rank-memory", memory)}
            </div>
        </section>
    }
}

/// Says where the playhead is, every [`TICK`], while it moves; where it stands, once for each step that is drawn.
fn follow(look: TimelineLook, lane: Lane, playhead: Playhead) {
    effect(move || {
        let makespan = lane.makespan();
        if makespan > 0.0 && !look.plays.get_untracked() {
            // Where it stands is known once it is drawn.
            request_animation_frame(move || {
                let put = || playhead.put.try_get_untracked().flatten();
                playhead.say(playhead.share().or_else(put).unwrap_or(0.0), makespan, true);
            });
        }
    });
    let tick = move || {
        if let Some(share) = playhead.share().filter(|_| look.plays.get_untracked()) {
            playhead.say(share, untrack(move || lane.makespan()), false);
        }
    };
    if let Ok(handle) = set_interval_with_handle(tick, TICK) {
        on_cleanup(move || handle.clear());
    }
}

/// Over the picture: the playhead and the lens.
fn over(state: State, look: TimelineLook, lane: Lane, playhead: Playhead) -> AnyView {
    let makespan = move || lane.makespan();
    let length = move || format!("{:.3}s", played(makespan()));
    // All of the step at the scale of the window.
    let place = move |share: fn(Viewport) -> f64| format!("{:.3}%", share(look.view()) * 100.0);
    follow(look, lane, playhead);
    // It begins anew wherever it stood.
    let crossed = move |event: AnimationEvent| {
        if f64::from(event.elapsed_time()) >= PLAYS {
            playhead.stand(0.0, untrack(move || lane.makespan()));
            look.plays.set(false);
        }
    };
    let canvas = NodeRef::<Canvas>::new();
    let window = move || {
        let x = lane.pointer.get()?;
        let view = look.view();
        let half = view.span() * LENS.0 / 2.0;
        let middle = view.time(x, look.width.get());
        Some(view.between(middle - half, middle + half))
    };
    effect(move || {
        let (Some(view), Some(canvas), Some(prepared)) = (window(), canvas.get(), lane.prepared.get()) else {
            return;
        };
        let (shape, theme) = (lane.shape().doubled(), state.view.theme.get());
        paint(
            &canvas,
            &CanvasFrame { prepared: &prepared, shape, most: 0, curve: &[], messages: &[], view, width: LENS.1, theme },
            None,
        );
    });
    let is_off = flag(move || lane.pointer.get().is_none());
    let frame = move || {
        let Some(window) = window() else {
            return String::new();
        };
        let (view, width) = (look.view(), look.width.get());
        let (left, wide) = (view.x(window.start, width), window.span() / view.span() * width);
        format!("left:{left:.1}px;width:{wide:.1}px;height:{:.0}px", lane.shape().rows_height())
    };
    let lens_left = move || {
        let room = (look.width.get() - LENS.1 - 16.0).max(0.0);
        let x = lane.pointer.get().unwrap_or_default() - LENS.1 / 2.0;
        format!("{:.1}px", x.clamp(0.0, room))
    };
    let rows = move || format!("{:.0}px", lane.shape().rows_height());
    let lens_height = move || format!("{:.0}px", lane.shape().doubled().height());
    let put = playhead.put;
    let stands = flag(move || put.get().is_some() && !look.plays.get());
    let from = move || format!("{:.3}s", -put.get().unwrap_or(0.0) * played(makespan()));
    let at = move || format!("{:.3}%", put.get().unwrap_or(0.0) * 100.0);
    view! {
        <div
            class="play"
            class:paused=flag(move || !look.plays.get())
            class:put=stands
            style:height=rows
            aria-hidden="true"
        >
            <div
                class="axis"
                style:left=move || place(|view| -view.start / view.span())
                style:width=move || place(|view| view.full / view.span())
            >
                <div
                    class="head"
                    node_ref=playhead.head
                    style:--length=length
                    style:--from=from
                    style:--at=at
                    on:animationiteration=crossed
                ></div>
            </div>
        </div>
        <div class="window" hidden=is_off style=text(frame)></div>
        <div
            class="lens"
            hidden=is_off
            style:left=lens_left
            style:top=move || format!("{:.0}px", lane.shape().rows_height() + 8.0)
        >
            <div class="hatch">
                <canvas node_ref=canvas aria-hidden="true" style:height=lens_height></canvas>
            </div>
            {nodes("lens-words", move || hovered(lane))}
        </div>
    }
    .into_any()
}
