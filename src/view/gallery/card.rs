//! A schedule of the gallery: its name, its picture on the common axis, its figures.

use super::certificate::line;
use super::sketch::{Axis, Sketch};
use super::{GalleryAction, GalleryLook, MOST};
use crate::charts::ticks::{tick_label, ticks};
use crate::node::figure::Scope;
use crate::panels::pipeline::IN_SPAN;
use crate::prelude::*;
use crate::words::{is_told, unnamed, verdict_under};
use shardscope_core::advice::{ScheduleFigures, ScheduleRow};
use shardscope_core::pipeline::certify::Certificate;
use shardscope_core::report::ScheduleVariant;

/// Room for a mark of the axis, as a share of the width.
const APART: f64 = 0.11;

/// The card of a schedule that fits.
pub(super) fn card(gallery: &Gallery, row: &ScheduleRow) -> Node {
    let (variant, own) = (row.variant, ScheduleVariant::of(&gallery.own.scenario.run));
    let Ok(figures) = &row.figures else {
        return Node::none();
    };
    let ticked = gallery.look.ticked(&gallery.own.scenario.run);
    let class = if ticked.contains(&variant) { "card on" } else { "card" };
    let brief = variant.schedule.row().idea;
    let unnamed = unnamed(&gallery.own.scenario.run, &row.set);
    let parts = [
        tick(gallery, variant, &[difference(gallery, (variant == own, variant), figures)]),
        el("small", &[("class", "brief")], &[text(brief)]).title(brief),
        picture(gallery, row, figures),
        unnamed.map_or_else(Node::none, |words| leaf("small", "unable", words)),
        numbers(gallery, row, figures),
        line((gallery.certificate)(variant)),
    ];
    let name = variant.to_string();
    el("li", &[("class", class), ("data-variant", &name)], &parts).keyed(&name)
}

/// Difference from the Run's own step.
fn difference(gallery: &Gallery, (is_own, of): (bool, ScheduleVariant), figures: &ScheduleFigures) -> Node {
    if is_own {
        return leaf("span", "change", "your run");
    }
    let ratio = figures.step_s / gallery.own.report.step.time_s - 1.0;
    let sign = if ratio < 0.0 { "−" } else { "+" };
    let told = is_told(&gallery.own.scenario.run, 1.0 + ratio);
    let class = if ratio < 0.0 && told { "change better" } else { "change" };
    let is_same = ratio.abs() < SMALLEST_PRINTED;
    let share = if is_same { t!("same") } else { verbatim(format!("{sign}{}", show_percent(ratio.abs()))) };
    leaf("span", class, share).reports("step.time_change", &Scope::run().part(of))
}

/// The picture in words: its label for screen readers and its tooltip.
fn described(gallery: &Gallery, variant: ScheduleVariant, figures: &ScheduleFigures) -> Message {
    t!(
        "{name}: step {step}, bubble {bubble}, peak {peak} of {capacity}, {held} micro-batches held",
        name = variant.name(),
        step = show_seconds(figures.step_s),
        bubble = show_percent(figures.bubble_fraction),
        peak = gallery.unit.show(figures.peak_bytes),
        capacity = gallery.unit.show(gallery.own.report.memory.capacity_bytes),
        held = number(figures.in_flight, 3)
    )
}

fn picture(gallery: &Gallery, row: &ScheduleRow, figures: &ScheduleFigures) -> Node {
    let axis = gallery.axis;
    let every = if axis.cut.is_some() { 10 } else { 5 };
    let mut last = f64::NEG_INFINITY;
    let marks = ticks(0.0, axis.end, every).into_iter().filter(|tick| {
        let inside = |(from, to): (f64, f64)| *tick > from && *tick < to;
        // Not over the one before.
        let kept = !axis.cut.is_some_and(inside) && axis.x(*tick) - last > APART;
        if kept {
            last = axis.x(*tick);
        }
        kept
    });
    let marks: Node = marks
        .map(|tick| {
            let at = percent("left", axis.x(tick));
            el("span", &[("style", &at)], &[text(verbatim(tick_label(tick)))])
        })
        .collect();
    let drawn = (gallery.sketch)(row.variant);
    let inside = drawn.map_or_else(Node::none, |sketch| drawing(sketch, axis));
    let image =
        el("div", &[("class", "sketch"), ("role", "img")], &[inside]).label(described(gallery, row.variant, figures));
    let marks = el("div", &[("class", "marks"), ("aria-hidden", "true")], &[marks]);
    Node::from_iter([image, marks])
}

/// The sketch, the hatch of idle time behind it.
fn drawing(sketch: &Sketch, axis: Axis) -> Node {
    let idle = percent("width", axis.x(sketch.end));
    let behind = if sketch.end > axis.end {
        let end = show_seconds(Seconds(sketch.end));
        leaf("em", "", t!("to {end} →", end))
    } else {
        Node::none()
    };
    Node::from_iter([el("i", &[("class", "hatch"), ("style", &idle)], &[]), raw(&sketch.svg), behind])
}

/// True if the bubble that the zero-bubble papers count stands beside that of all ranks' time.
pub(super) fn shows_span(row: &ScheduleRow) -> bool {
    let Ok(figures) = &row.figures else { return false };
    let differs = (figures.bubble_span - figures.bubble_fraction).abs() > SMALLEST_PRINTED;
    row.variant.schedule.row().splits_backward && differs
}

/// Step, bubble (and what the zero-bubble papers count where it differs) and memory.
fn numbers(gallery: &Gallery, row: &ScheduleRow, figures: &ScheduleFigures) -> Node {
    let own = &gallery.own.scenario.run;
    let scope = Scope::of_changed(own, &row.set);
    let pair = |value: String, word: &'static str, field: &'static str| {
        let value = strong(verbatim(value)).reports(field, &scope);
        el("span", &[], &[value, text(" "), text(word)])
    };
    let span = if shows_span(row) {
        pair(show_percent(figures.bubble_span), "in span", "pipeline.bubble_span").title(IN_SPAN)
    } else {
        Node::none()
    };
    let capacity = gallery.own.report.memory.capacity_bytes;
    let share = (figures.peak_bytes / capacity).min(1.0);
    let fill = [("style", &*percent("width", share))];
    let peak = gallery.unit.show(figures.peak_bytes);
    let (class, sign, verdict) = verdict_under(own, &row.set, figures);
    let verdict = leaf("b", class, t!("{sign}{verdict}", sign, verdict));
    let time = [
        pair(show_seconds(figures.step_s), "step", "step.time_s"),
        pair(show_percent(figures.bubble_fraction), "bubble", "pipeline.bubble_fraction"),
        span,
    ];
    let memory = [
        strong(verbatim(peak)).reports("memory.peak_bytes", &scope),
        el("span", &[("class", "fill")], &[el("i", &fill, &[])]),
        verdict,
    ];
    let lines = [time, memory].map(|line| el("p", &[("class", "numbers")], &line));
    lines.into_iter().collect()
}

pub struct Gallery<'a> {
    /// The page's Run.
    pub own: &'a Evaluation,
    /// Its schedules, as far as they are known.
    pub rows: &'a [ScheduleRow],
    /// Their pictures, as far as they are drawn.
    pub sketch: &'a dyn Fn(ScheduleVariant) -> Option<&'a Sketch>,
    /// Their certificates, as far as they are known.
    pub certificate: &'a dyn Fn(ScheduleVariant) -> Option<&'a Option<Certificate>>,
    /// The axis that all of them share.
    pub axis: Axis,
    /// Selection and sorting.
    pub look: &'a GalleryLook,
    pub unit: MemoryUnit,
}

/// The letter of the `at`-th timeline that is compared.
pub fn letter(at: usize) -> &'static str {
    ["A", "B", "C", "D"].get(at).copied().unwrap_or("")
}

/// The button that compares a schedule, with its letter where it is compared.
pub(super) fn tick(gallery: &Gallery, variant: ScheduleVariant, inside: &[Node]) -> Node {
    let ticked = gallery.look.ticked(&gallery.own.scenario.run);
    let at = ticked.iter().position(|one| *one == variant);
    let full = at.is_none() && ticked.len() >= MOST;
    let attributes = [
        ("class", "tick"),
        ("aria-pressed", if at.is_some() { "true" } else { "false" }),
        ("disabled", if full { "disabled" } else { "" }),
    ];
    let mark = leaf("i", "", verbatim(at.map_or("", letter)));
    let name = strong(variant.name());
    let title = if full { t!("Four are compared already") } else { t!("Compare whole steps") };
    let mut parts = vec![mark, name];
    parts.extend_from_slice(inside);
    el("button", &attributes, &parts).title(title).on(Action::Gallery(GalleryAction::Tick(variant)))
}
