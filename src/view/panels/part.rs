//! Parts of a step that the first screen's picture zooms into, and the speed at which it plays.

use crate::charts::viewport::Viewport;
use crate::prelude::*;
use crate::words::of_microbatches;
use shardscope_core::pipeline::OpKind;

/// A part of the step on the axis of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisPart {
    Step,
    /// Until the first micro-batch is through.
    Fill,
    /// The middle, as long as the fill.
    Steady,
    /// From the last forward of the first rank.
    Drain,
}

impl AxisPart {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::Step, "whole step"), (Self::Fill, "fill"), (Self::Steady, "steady"), (Self::Drain, "drain")];

    /// Its window on the axis of `evaluation`; none: all of it.
    pub fn window(self, evaluation: &Evaluation) -> Option<Viewport> {
        let full = Viewport::all(evaluation.spans.makespan());
        let ops = evaluation.timeline().ranks.first()?;
        let back = ops.iter().find(|op| op.op.kind != OpKind::F);
        let fill = back.map_or(full.end, |op| op.end);
        let last = ops.iter().rfind(|op| op.op.kind == OpKind::F);
        let window = match self {
            Self::Step => return None,
            Self::Fill => full.between(0.0, fill),
            Self::Steady => full.between((full.end - fill) / 2.0, f64::midpoint(full.end, fill)),
            Self::Drain => full.between(last.map_or(0.0, |op| op.start), full.end),
        };
        (!window.is_all()).then_some(window)
    }
}

/// Seconds in which the playhead crosses a step of `makespan` seconds: its real time, held between 4 and 15 s.
pub fn played(makespan: f64) -> f64 {
    makespan.clamp(4.0, 15.0)
}

/// Line about the picture: ranks, micro-batches and the speed of the playhead.
pub fn played_line(evaluation: &Evaluation) -> Message {
    let makespan = evaluation.spans.makespan();
    let factor = makespan / played(makespan);
    let speed = if (factor - 1.0).abs() < 1e-9 {
        t!("in real time")
    } else {
        t!("at {factor} × its speed", factor = significant(factor, 2))
    };
    let microbatches = of_microbatches(evaluation.report.layout.microbatches);
    match evaluation.order.ranks.len() {
        1 => t!("1 rank · {microbatches} · {speed}", microbatches, speed),
        ranks => t!("{ranks} ranks · {microbatches} · {speed}", ranks, microbatches, speed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1F1B of p ranks: the first micro-batch is through after p forwards and p backwards; equal times give equal ends.
    #[test]
    fn the_fill_ends_with_the_first_micro_batch_and_the_drain_begins_with_the_last_forward() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let ranks = &evaluation.timeline().ranks;
        let fill = AxisPart::Fill.window(&evaluation).unwrap();
        let through = ranks[0].iter().find(|op| op.op.kind != OpKind::F).unwrap();
        assert_eq!((fill.start, through.op.microbatch), (0.0, 0));
        assert!((fill.end - through.end).abs() < 1e-9);
        let drain = AxisPart::Drain.window(&evaluation).unwrap();
        assert!((drain.end - evaluation.spans.makespan()).abs() < 1e-9);
        assert!(ranks[0].iter().all(|op| op.op.kind != OpKind::F || op.start <= drain.start + 1e-9));
        let steady = AxisPart::Steady.window(&evaluation).unwrap();
        assert!((steady.span() - fill.span()).abs() < 1e-9 && steady.start > fill.end && steady.end < drain.start);
        assert_eq!(AxisPart::Step.window(&evaluation), None);
        // One rank, one micro-batch: nothing to zoom into.
        let alone = Run { tp: 1, pp: 1, global_batch: 64, ..Run::default() };
        assert_eq!(AxisPart::Fill.window(&evaluate(&alone).unwrap()), None);
    }
}
