//! The pictures that several steps draw: pipelines on one axis with what a rank holds, bars side by side.

use super::caption::data;
use crate::charts::drawing::{Anchor, Box, Drawing};
use crate::charts::figure::{legend as entries, swatch};
use crate::charts::ink::Ink;
use crate::charts::ticks::ticks;
use crate::prelude::*;
use shardscope_core::pipeline::stats::{buffered_version, in_flight_curve, weight_versions};
use shardscope_core::pipeline::trace::{Awaited, awaited};
use shardscope_core::pipeline::{Durations, Half, OpKind, Order, Spec, Stats, Timeline, build, measure};

/// A simulated pipeline: a forward pass of a rank's layers takes 1, each half of a backward pass 1.
pub(super) struct Pipeline {
    pub order: Order,
    pub timeline: Timeline,
    pub stats: Stats,
    /// Times of its passes.
    pub durations: Durations,
    /// Blocks show the version of the weights that they use, not their micro-batch: weights that are updated once in so
    /// many micro-batches.
    pub updated_every: Option<u32>,
}

impl Pipeline {
    /// The pipeline of `schedule`; none if the schedule has no order for these sizes.
    pub fn of(schedule: Schedule, change: impl Fn(&mut Spec)) -> Option<Self> {
        Self::with_messages(schedule, change, 0.0)
    }
    /// The same with messages between ranks that take `latency`, in forward passes of a rank.
    pub fn with_messages(schedule: Schedule, change: impl Fn(&mut Spec), latency: f64) -> Option<Self> {
        let mut spec = Spec::new(schedule.row(), 4, 8);
        change(&mut spec);
        let durations = |stages, chunks: u32| Durations::unit(stages).rescaled(1.0 / f64::from(chunks.max(1)));
        let built = build(&spec, &durations(spec.stages().max(1), spec.chunks())).ok()?;
        // A stage is so much of what a rank's layers would be without copies.
        let parts = built.order.stages / spec.pp.max(1);
        let durations = durations(built.order.stages, parts).with_p2p(latency);
        let (timeline, stats) = measure(&built.order, &durations).ok()?;
        Some(Self { order: built.order, timeline, stats, durations, updated_every: None })
    }
    /// Micro-batch after micro-batch: the next enters when the one before has left.
    pub fn naive(pp: u32, microbatches: u32) -> Option<Self> {
        let rank = |rank: u32| {
            let each = (0..microbatches).map(|m| format!("{rank}F{m},{rank}BW{m}"));
            each.collect::<Vec<_>>().join(",")
        };
        let order = (0..pp).map(rank).collect::<Vec<_>>().join("|");
        Self::of(Schedule::Custom, |spec| {
            (spec.pp, spec.microbatches) = (pp, microbatches);
            spec.order = Some(order.clone());
        })
    }
    /// Messages that a rank waits for while it has nothing else to run.
    pub fn awaited(&self) -> Vec<Awaited> {
        awaited(&self.order, &self.timeline, self.durations.p2p)
    }
    /// Most stage-micro-batches that a rank holds.
    pub fn held(&self) -> f64 {
        self.stats.in_flight.iter().copied().fold(0.0, f64::max)
    }
}

/// Height of a rank's row, pixels.
const ROW: f64 = 24.0;
/// Height of the words above a pipeline, pixels.
const WORDS: f64 = 22.0;
/// Height of the axis, pixels.
const AXIS: f64 = 24.0;
/// Height of the curve with the activations of rank 0, pixels.
const CURVE: f64 = 60.0;
/// Ranks drawn; of more, every n-th.
const MAX_RANKS: usize = 8;
/// Opacity of the first stages of a rank.
const FAINTS: [f64; 4] = [1.0, 0.6, 0.36, 0.22];
/// Paper between blocks, pixels.
const GAP: f64 = 1.0;
/// Paper below a pipeline, pixels.
const BELOW: f64 = 8.0;

/// Pipelines below each other on one axis, and below them the micro-batches that rank 0 of each holds.
pub(super) fn pipelines(drawn: &[(Message, Pipeline)]) -> Node {
    let end = drawn.iter().map(|(_, one)| one.stats.makespan_s).fold(0.0, f64::max);
    let foot: f64 = drawn.iter().map(|(_, one)| strip_height(one)).sum();
    let mut drawing = Drawing::new(foot + AXIS + WORDS + CURVE);
    let mut top = 0.0;
    for (words, one) in drawn {
        let figures = t!(
            "{name}: bubble {bubble}, ends at {end}",
            name = words,
            bubble = show_percent(one.stats.bubble_fraction),
            end = number(one.stats.makespan_s, 3)
        );
        drawing.heading(top + 10.0, figures);
        strip(&mut drawing, one, end, top + WORDS);
        top += strip_height(one);
    }
    drawing.line((0.0, foot), (1.0, foot), Ink::Line, 1.0);
    for tick in ticks(0.0, end, 6) {
        drawing.words((tick / end, foot + 11.0), Anchor::Middle, Ink::Muted, verbatim(number(tick, 3)));
    }
    let words = t!("held by rank {rank}", rank = 0_u8);
    // From where the names of the ranks begin: on a phone it would lie on the unit.
    drawing.name(foot + AXIS + 8.0, words);
    let unit = t!("time in forward passes of a rank");
    drawing.words((1.0, foot + AXIS + 8.0), Anchor::End, Ink::Muted, unit);
    let pipelines: Vec<&Pipeline> = drawn.iter().map(|(_, one)| one).collect();
    curves(&mut drawing, &pipelines, end, foot + AXIS + WORDS);
    let label = Message::joined(", ", drawn.iter().map(|(words, _)| words.clone()));
    scrubbed(drawing.inline(label))
}

/// A picture of pipelines that is covered from the moment on that the page chose.
pub(super) fn scrubbed(picture: Node) -> Node {
    el("div", &[("class", "scrubbed")], &[picture, el("div", &[("class", "curtain"), ("aria-hidden", "true")], &[])])
}

/// Every how many-th rank is drawn, and the rows that these are.
fn stride_and_rows(one: &Pipeline) -> (usize, usize) {
    let ranks = one.timeline.ranks.len();
    let stride = ranks.div_ceil(MAX_RANKS).max(1);
    (stride, ranks.div_ceil(stride))
}

/// Height of a pipeline with its words and the paper below it, pixels.
fn strip_height(one: &Pipeline) -> f64 {
    WORDS + ROW * stride_and_rows(one).1 as f64 + BELOW
}

/// The rows of a pipeline from `top` on, on an axis that ends at `end`.
fn strip(drawing: &mut Drawing, one: &Pipeline, end: f64, top: f64) {
    let ranks = &one.timeline.ranks;
    let (stride, rows) = stride_and_rows(one);
    let tall = ROW - 3.0;
    let y = |row: usize| top + row as f64 * ROW;
    for row in 0..rows {
        drawing.name(y(row) + tall / 2.0, t!("rank {rank}", rank = row * stride));
        drawing.hatch(Box { x: 0.0, width: one.stats.makespan_s / end, y: y(row), height: tall });
    }
    for Awaited { rank, from, to } in one.awaited() {
        if rank.is_multiple_of(stride) {
            let place = Box { x: from / end, width: (to - from) / end, y: y(rank / stride), height: tall - GAP };
            drawing.fill(place, Ink::Exposed, 1.0, t!("message on its way"));
        }
    }
    for (row, (rank, ops)) in ranks.iter().enumerate().step_by(stride).enumerate() {
        let stages = one.order.stages_of(rank);
        let versions = one.updated_every.map(|every| match every {
            1 => weight_versions(ops),
            _ => (0..one.order.microbatches).map(|k| buffered_version(k, every)).collect(),
        });
        for op in ops {
            let (upper, lower) = match op.half {
                Half::Whole => (0.0, 1.0),
                Half::First => (0.0, 0.5),
                Half::Second => (0.5, 1.0),
            };
            let at = Box {
                x: op.start / end,
                width: (op.end - op.start) / end,
                y: y(row) + tall * upper,
                height: tall * (lower - upper) - GAP,
            };
            let chunk = stages.iter().position(|stage| *stage == op.op.stage);
            let token = format!("{}{}{}", op.op.stage, op.op.kind.letters(), op.op.microbatch);
            let version = versions.as_ref().and_then(|all| all.get(op.op.microbatch as usize));
            let faint = version.map_or(chunk.unwrap_or(0).min(3), |version| usize::try_from(*version).unwrap_or(0) % 4);
            let opacity = FAINTS[faint];
            if opacity < 1.0 {
                drawing.fill(at, Ink::Paper, 1.0, "");
            }
            drawing.fill(at, Ink::of(op.op.kind), opacity, verbatim(token));
            let middle = (at.x + at.width / 2.0, at.y + at.height / 2.0);
            let ink = if opacity < 1.0 { Ink::Text } else { Ink::Paper };
            let number = version.map_or_else(|| op.op.microbatch.to_string(), i32::to_string);
            drawing.fitted(middle, ink, at.width, verbatim(number));
        }
    }
}

/// Activations of rank 0 over time, in stage-micro-batches; the last pipeline's in colour.
fn curves(drawing: &mut Drawing, all: &[&Pipeline], end: f64, top: f64) {
    let most = all.iter().map(|one| one.held()).fold(1.0, f64::max);
    let y = |held: f64| top + (CURVE - 8.0) * (1.0 - held / most);
    for held in [0.0, most] {
        drawing.line((0.0, y(held)), (1.0, y(held)), Ink::Line, 1.0);
        drawing.name(y(held), verbatim(number(held, 3)));
    }
    for (at, one) in all.iter().enumerate() {
        let Some(ops) = one.timeline.ranks.first() else {
            continue;
        };
        let chunks = f64::from(one.order.stages) / one.timeline.ranks.len() as f64;
        let ink = if at + 1 == all.len() { Ink::Memory(3) } else { Ink::Muted };
        let mut from = (0.0, 0.0);
        for (time, held) in in_flight_curve(ops) {
            let to = (time / end, f64::from(held) / chunks.max(1.0));
            drawing.line((from.0, y(from.1)), (to.0, y(from.1)), ink, 1.5);
            drawing.line((to.0, y(from.1)), (to.0, y(to.1)), ink, 1.5);
            from = to;
        }
    }
}

/// The kinds of op that are drawn.
pub(super) fn legend(drawn: &[(Message, Pipeline)]) -> Node {
    let ops = drawn.iter().flat_map(|(_, one)| one.timeline.ranks.iter().flatten());
    let split = ops.clone().any(|op| op.op.kind == OpKind::W);
    let chunks = drawn.iter().any(|(_, one)| one.order.chunks_per_rank() > 1);
    let sent = drawn.iter().any(|(_, one)| !one.awaited().is_empty());
    let mut kinds = vec![
        ("c-forward", "F forward"),
        ("c-backward", if split { "B backward" } else { "BW backward" }),
        ("hatch", "bubble"),
    ];
    if split {
        kinds.insert(2, ("c-weight", "W weight gradient"));
    }
    if chunks {
        kinds.push(("c-forward later", "later stages of the rank"));
    }
    if sent {
        kinds.push(("c-exposed", "message on its way"));
    }
    let by_version = drawn.iter().any(|(_, one)| one.updated_every.is_some());
    let numbers = by_version.then(|| inline("numbers: version of the weights"));
    entries(kinds.iter().map(swatch).chain(numbers))
}

/// Step, bubble and what is held, of each pipeline.
pub(super) fn pipeline_table(drawn: &[(Message, Pipeline)]) -> Node {
    let row = |(words, one): &(Message, Pipeline)| {
        let figures = [number(one.stats.makespan_s, 3), show_percent(one.stats.bubble_fraction), number(one.held(), 3)];
        let mut cells = vec![words.clone()];
        cells.extend(figures.map(verbatim));
        cells
    };
    let head = ["schedule", "step", "bubble", "micro-batches held at most"];
    data(&head, drawn.iter().map(row).collect())
}
