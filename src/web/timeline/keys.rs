//! The timeline by keyboard: move, zoom, step from op to op.

use super::look::{Lane, TimelineLook};
use crate::core::pipeline::trace::OpPlace;

/// Does what the key asks for.
pub fn key(look: TimelineLook, lane: Lane, event: &web_sys::KeyboardEvent) {
    use leptos::prelude::*;
    if event.ctrl_key() || event.meta_key() || event.alt_key() {
        return;
    }
    let view = look.seen();
    match event.key().as_str() {
        "w" | "W" => look.zoom(1.5),
        "s" | "S" => look.zoom(1.0 / 1.5),
        "a" | "A" | "ArrowLeft" => look.set(view.panned(-view.span() * 0.2)),
        "d" | "D" | "ArrowRight" => look.set(view.panned(view.span() * 0.2)),
        "f" | "F" => look.focus(lane),
        "0" | "Home" => look.window.set(None),
        "." => walk(look, lane, 0, 1),
        "," => walk(look, lane, 0, -1),
        "ArrowDown" => walk(look, lane, 1, 0),
        "ArrowUp" => walk(look, lane, -1, 0),
        " " => look.plays.update(|plays| *plays = !*plays),
        "Escape" => {
            lane.focus.set(None);
            lane.hover.set(None);
            look.clock.set(None);
        }
        _ => return,
    }
    event.prevent_default();
}

/// Chooses the op so many ranks and ops further, if there is one.
fn walk(look: TimelineLook, lane: Lane, ranks: isize, ops: isize) {
    use leptos::prelude::*;
    let Some(prepared) = lane.prepared.get_untracked() else {
        return;
    };
    let next = match lane.focus.get_untracked().or(lane.hover.get_untracked()) {
        None => Some(OpPlace { rank: lane.rank.get_untracked(), at: 0 }),
        Some(place) => place
            .rank
            .checked_add_signed(ranks)
            .zip(place.at.checked_add_signed(ops))
            .map(|(rank, at)| OpPlace { rank, at }),
    };
    let Some((place, op)) = next.and_then(|place| Some((place, prepared.op(place)?))) else {
        return;
    };
    lane.focus.set(Some(place));
    look.clock.set(lane.is_low().then_some(op.start));
    lane.hover.set(None);
    let view = look.seen();
    if op.start < view.start || op.end > view.end {
        look.set(view.panned(op.start - view.start - view.span() * 0.2));
    }
}
