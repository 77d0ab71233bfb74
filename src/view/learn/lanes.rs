//! Two lanes on one axis: what a GPU computes, what its link transfers meanwhile, and what waits for the other.

use super::Live;
use super::caption::{colours, data};
use crate::charts::drawing::{Anchor, Box, Drawing};
use crate::charts::ink::Ink;
use crate::charts::ticks::ticks;
use crate::prelude::*;

/// Something that runs.
struct Block {
    from: f64,
    to: f64,
    ink: Ink,
    name: Message,
}

/// Compute and messages of one GPU, each one after the other; seconds.
pub(super) struct Lanes {
    name: Message,
    compute: Vec<Block>,
    wire: Vec<Block>,
}

fn end(lane: &[Block]) -> f64 {
    lane.last().map_or(0.0, |block| block.to)
}

fn busy(lane: &[Block]) -> f64 {
    lane.iter().map(|block| block.to - block.from).sum()
}

fn push(lane: &mut Vec<Block>, ready: f64, seconds: f64, ink: Ink, name: Message) -> f64 {
    let from = ready.max(end(lane));
    let to = from + seconds;
    lane.push(Block { from, to, ink, name });
    to
}

impl Lanes {
    pub fn new(name: impl Into<Message>) -> Self {
        Self { name: name.into(), compute: Vec::new(), wire: Vec::new() }
    }
    /// Computes for `seconds`, from `ready` on at the earliest; returns the end.
    pub fn compute(&mut self, ready: f64, seconds: f64, ink: Ink, name: impl Into<Message>) -> f64 {
        push(&mut self.compute, ready, seconds, ink, name.into())
    }
    /// Sends for `seconds`, from `ready` on at the earliest; returns the end.
    pub fn send(&mut self, ready: f64, seconds: f64, name: impl Into<Message>) -> f64 {
        push(&mut self.wire, ready, seconds, Ink::Exposed, name.into())
    }
    pub fn end(&self) -> f64 {
        end(&self.compute).max(end(&self.wire))
    }
    /// Time in which nothing is computed.
    pub fn exposed(&self) -> f64 {
        (self.end() - busy(&self.compute)).max(0.0)
    }
    pub fn wire(&self) -> f64 {
        busy(&self.wire)
    }
    pub fn computed(&self) -> f64 {
        busy(&self.compute)
    }
}

/// Height of a lane, pixels.
const LANE: f64 = 26.0;
/// Height of the words above two lanes, pixels.
const WORDS: f64 = 22.0;
/// Height of the axis, pixels.
const AXIS: f64 = 20.0;
/// Paper between blocks, pixels.
const GAP: f64 = 3.0;

impl Live {
    /// With pairs of lanes on one axis for a picture, and the same as a table.
    pub(super) fn lanes(self, drawn: &[Lanes]) -> Self {
        let rows = drawn.iter().map(|one| {
            let times = [one.computed(), one.wire(), one.exposed(), one.end()];
            let times = times.map(|time| verbatim(show_seconds(Seconds(time))));
            [vec![one.name.clone()], times.to_vec()].concat()
        });
        let head = ["", "compute", "on the wire", "exposed", "in all"];
        Self { legend: legend(drawn), picture: draw(drawn), table: data(&head, rows.collect()), ..self }
    }
}

fn legend(drawn: &[Lanes]) -> crate::node::Node {
    let has = |ink: Ink| {
        let mut blocks = drawn.iter().flat_map(|one| &one.compute);
        blocks.any(|block| block.ink == ink)
    };
    let names = [("forward", Ink::Forward), ("backward", Ink::Backward), ("update", Ink::Optimizer)];
    let mut entries: Vec<(Message, Ink)> =
        names.into_iter().filter(|(_, ink)| has(*ink)).map(|(name, ink)| (name.into(), ink)).collect();
    entries.push(("on the wire".into(), Ink::Exposed));
    entries.push(("waits".into(), Ink::Line));
    colours(&entries)
}

fn draw(drawn: &[Lanes]) -> crate::node::Node {
    let last = drawn.iter().map(Lanes::end).fold(1e-9, f64::max);
    let each = WORDS + 2.0 * LANE + 6.0;
    let foot = each * drawn.len() as f64;
    let mut drawing = Drawing::new(foot + AXIS);
    for (at, one) in drawn.iter().enumerate() {
        let top = each * at as f64;
        let words =
            t!("{name}: {exposed} exposed", name = one.name.clone(), exposed = show_seconds(Seconds(one.exposed())));
        drawing.heading(top + 10.0, words);
        for (row, (name, blocks)) in [("compute", &one.compute), ("wire", &one.wire)].into_iter().enumerate() {
            let y = top + WORDS + LANE * row as f64;
            drawing.name(y + LANE / 2.0 - 2.0, name);
            if row == 0 {
                drawing.hatch(Box { x: 0.0, width: one.end() / last, y, height: LANE - GAP });
            }
            for block in blocks {
                lay(&mut drawing, block, last, y);
            }
        }
    }
    drawing.line((0.0, foot), (1.0, foot), Ink::Line, 1.0);
    let (unit, per) = if last < 1e-3 {
        ("µs", 1e-6)
    } else if last < 2.0 {
        ("ms", 1e-3)
    } else {
        ("s", 1.0)
    };
    for tick in ticks(0.0, last / per * 0.97, 5) {
        let place = (tick * per / last, foot + 11.0);
        drawing.words(place, Anchor::Middle, Ink::Muted, verbatim(number(tick, 3)));
    }
    drawing.name(foot + 11.0, verbatim(unit));
    let label = Message::joined(", ", drawn.iter().map(|one| one.name.clone()));
    drawing.inline(label)
}

fn lay(drawing: &mut Drawing, block: &Block, last: f64, y: f64) {
    let (x, width) = (block.from / last, (block.to - block.from) / last);
    let at = Box {
        x,
        // A hairline of background separates neighbours.
        width: (width - 0.0015).max(width * 0.7),
        y,
        height: LANE - GAP,
    };
    drawing.fill(at, Ink::Paper, 1.0, "");
    drawing.fill(at, block.ink, 1.0, &block.name);
    let middle = (x + width / 2.0, y + (LANE - GAP) / 2.0);
    drawing.fitted(middle, Ink::Paper, width, &block.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: two blocks of 2 and 3 s, a message of 4 s behind the first: it ends at 6 s, 1 s after the compute.
    #[test]
    fn what_waits_is_what_no_compute_covers() {
        let mut lanes = Lanes::new("");
        let first = lanes.compute(0.0, 2.0, Ink::Backward, "");
        lanes.compute(0.0, 3.0, Ink::Backward, "");
        assert_eq!(lanes.send(first, 4.0, ""), 6.0);
        assert_eq!((lanes.exposed(), lanes.wire(), lanes.computed()), (1.0, 4.0, 5.0));
    }
}
