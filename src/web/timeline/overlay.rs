//! Overlay of the canvas: the mark around an op with its name, the critical path.

use super::look::{Lane, TimelineLook};
use crate::core::pipeline::trace::OpPlace;
use crate::core::t;
use crate::view::charts::prepared::Prepared;
use crate::view::charts::strokes::chain;
use crate::view::node::markup::{Node, el, leaf};
use crate::view::panels::pipeline::describe;
use leptos::prelude::*;

/// Everything over the canvas of `lane`.
pub(crate) fn overlay(look: TimelineLook, lane: Lane) -> Node {
    let path = if look.path.get() { path(look, lane) } else { None };
    [path, clock(look, lane), mark(look, lane)].into_iter().flatten().collect()
}

/// The op under the pointer in words.
pub(crate) fn hovered(lane: Lane) -> Node {
    let (Some(place), Some(prepared)) = (lane.hover.get(), lane.prepared.get()) else {
        return Node::none();
    };
    lines(&prepared, place)
}

/// Kind of an op, its time and what it waits for.
fn lines(prepared: &Prepared, place: OpPlace) -> Node {
    let version = prepared.op(place).and_then(|op| prepared.version(place.rank, op.op.microbatch));
    let version = version.map(|updates| match updates {
        ..0 => t!("weights of one update before this step"),
        1 => t!("weights after 1 update since the step began"),
        0 | 2.. => t!("weights after {updates} updates since the step began", updates = updates.unsigned_abs()),
    });
    describe(&prepared.trace(), place).iter().chain(&version).map(|line| leaf("div", "", line)).collect()
}

fn path(look: TimelineLook, lane: Lane) -> Option<Node> {
    let prepared = lane.prepared.get()?;
    let shape = lane.shape();
    let (view, width) = (look.view(), look.width.get());
    let drawn = chain(prepared.critical_path(), view, width, |rank| shape.middle(rank));
    let stroke = el("path", &[("d", &drawn)], &[]);
    let height = format!("{:.0}", shape.rows_height());
    let width = format!("{width:.0}");
    Some(el(
        "svg",
        &[("class", "critical"), ("width", &width), ("height", &height), ("aria-hidden", "true")],
        &[stroke],
    ))
}

/// The instant that is shown while a step is played.
fn clock(look: TimelineLook, lane: Lane) -> Option<Node> {
    let x = look.view().x(look.clock.get()?, look.width.get());
    let shape = lane.shape();
    let height = if lane.is_low() { shape.height() } else { shape.rows_height() };
    let style = format!("left:{x:.1}px;height:{height:.0}px");
    (0.0..=look.width.get()).contains(&x).then(|| el("div", &[("class", "clock"), ("style", &style)], &[]))
}

fn mark(look: TimelineLook, lane: Lane) -> Option<Node> {
    let place = lane.hover.get().or(lane.focus.get())?;
    let prepared = lane.prepared.get()?;
    let op = prepared.op(place)?;
    let shape = lane.shape();
    let (view, width) = (look.view(), look.width.get());
    let left = view.x(op.start, width).max(0.0);
    let right = view.x(op.end, width).min(width);
    if right < 0.0 || left > width {
        return None;
    }
    let top = shape.ranks.row(place.rank) as f64 * shape.rows.pitch;
    let frame = format!(
        "left:{left:.1}px;top:{top:.1}px;width:{:.1}px;height:{:.1}px",
        (right - left).max(3.0),
        shape.rows.height
    );
    // Below all rows: it hides none of them, nor the legend above; within the surface, which is as wide as the page
    // allows.
    let (side, at) = if left < width / 2.0 { ("left", left) } else { ("right", (width - right).max(0.0)) };
    let tip = format!("top:{:.1}px;{side}:{at:.1}px;max-width:min(420px,100% - {at:.1}px)", shape.rows_height());
    let mark = el("div", &[("class", "mark-op"), ("style", &frame)], &[]);
    // The lens says it under the pointer.
    if lane.pointer.get().is_some() {
        return Some(mark);
    }
    let words = lines(&prepared, place);
    Some(Node::from_iter([mark, el("div", &[("class", "tip"), ("role", "status"), ("style", &tip)], &[words])]))
}
