//! A step of the cluster, played or at an instant.

use super::map::Map;
use crate::core::units::{Seconds, show_seconds};
use crate::view::node::Node;
use crate::view::node::markup::paragraph;
use crate::web::browser::html::{flag, text};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::render::nodes;
use leptos::prelude::*;

/// Seconds in which a step is played.
const PLAY: f64 = 12.0;
/// Positions of the slider over the step.
const POSITIONS: f64 = 1000.0;

/// Plays the step, or shows an instant of it.
pub(super) fn player(map: Map) -> AnyView {
    let clock = map.look.clock;
    let play = move |_| {
        let starts = !map.playing.get_untracked();
        map.playing.set(starts);
        if starts {
            if clock.get_untracked().is_none_or(|time| time >= map.makespan()) {
                clock.set(Some(0.0));
            }
            tick(map, js_sys::Date::now());
        }
    };
    let stop = move |_| {
        map.playing.set(false);
        clock.set(None);
    };
    let position = move || {
        let whole = map.look.own.prepared.get().map_or(1.0, |prepared| prepared.makespan());
        clock.get().unwrap_or(0.0) / whole * POSITIONS
    };
    let moved = move |event| {
        if let Ok(position) = event_target_value(&event).parse::<f64>() {
            map.playing.set(false);
            clock.set(Some(position / POSITIONS * map.makespan()));
        }
    };
    let now = move || show_seconds(Seconds(clock.get().unwrap_or(0.0)));
    let words = move || {
        let drawn = map.drawn.get();
        let waits = drawn.and_then(|_| map.waits(&map.wires()));
        waits.map_or_else(Node::none, |waits| paragraph(waits.words()))
    };
    view! {
        <div class="cluster-player">
            <button on:click=play>
                {text(move || translated(if map.playing.get() { "Pause" } else { "Play the step" }))}
            </button>
            <input
                type="range"
                min="0"
                max=POSITIONS.to_string()
                aria-label=say("Instant of the step")
                aria-valuetext=text(now)
                prop:value=text(move || format!("{:.0}", position()))
                on:input=moved
            />
            <output>{text(now)}</output>
            <button hidden=flag(move || clock.get().is_none()) on:click=stop>{say("Show the PP ranks")}</button>
        </div>
        {nodes("muted cluster-waits", words)}
    }
    .into_any()
}

/// One frame of the step that is played.
fn tick(map: Map, before: f64) {
    request_animation_frame(move || {
        let plays = map.playing.try_get_untracked().unwrap_or(false);
        if !plays || !map.open.get_untracked() {
            return;
        }
        let (now, whole) = (js_sys::Date::now(), map.makespan());
        let time = map.look.clock.get_untracked().unwrap_or(0.0) + (now - before) / 1000.0 / PLAY * whole;
        map.look.clock.set(Some(time.min(whole)));
        if time < whole {
            tick(map, now);
        } else {
            map.playing.set(false);
        }
    });
}
