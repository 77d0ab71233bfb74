//! An instant of the step: what every stage does, and what a block of the timeline waits for.

use super::wires::Wire;
use crate::charts::prepared::Prepared;
use crate::prelude::*;
use shardscope_core::cluster::GroupKind;
use shardscope_core::pipeline::trace::{OpPlace, StartCause};
use shardscope_core::pipeline::{OpKind, TimedOp, Timeline};

/// The op of `rank` at `time`, by its place in the timeline.
pub fn op_at(timeline: &Timeline, rank: usize, time: f64) -> Option<(OpPlace, TimedOp)> {
    let ops = timeline.ranks.get(rank)?;
    let at = ops.partition_point(|op| op.end <= time);
    let op = ops.get(at).filter(|op| op.start <= time)?;
    Some((OpPlace { rank, at }, *op))
}

/// The links that a block of the timeline waits for, and those that it uses while it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    /// The pipeline rank whose result it waited for.
    pub from: Option<usize>,
    /// Groups that send while it runs.
    pub kinds: Vec<GroupKind>,
}

impl Waits {
    /// The waits of the block at `place`.
    pub fn of(prepared: &Prepared, place: OpPlace, wires: &[Wire]) -> Self {
        let Some(op) = prepared.op(place) else {
            return Self::default();
        };
        let from = match prepared.trace().cause(place) {
            StartCause::Result(result) if result.rank != place.rank => Some(result.rank),
            _ => None,
        };
        let pass = match op.op.kind {
            OpKind::F => Some(0),
            OpKind::B | OpKind::BW => Some(1),
            OpKind::W => None,
        };
        // Gradients are reduced behind the last backward pass, pipeline sends are between blocks.
        let inside = |wire: &&Wire| {
            matches!(wire.kind, GroupKind::Tp | GroupKind::Cp | GroupKind::Ep)
                && pass.is_some_and(|pass| wire.passes[pass])
        };
        let mut kinds: Vec<GroupKind> = wires.iter().filter(inside).map(|wire| wire.kind).collect();
        // On the network and on the links of a node.
        kinds.dedup();
        Self { from, kinds }
    }
    /// The waits of `rank` at `time`: in the block that runs then, else before the block that runs next.
    pub fn at(prepared: &Prepared, rank: usize, time: f64, wires: &[Wire]) -> Self {
        let timeline = prepared.evaluation.timeline();
        if let Some((place, _)) = op_at(timeline, rank, time) {
            return Self { from: None, ..Self::of(prepared, place, wires) };
        }
        let ops = timeline.ranks.get(rank).map_or(&[][..], Vec::as_slice);
        let at = ops.partition_point(|op| op.end <= time);
        Self { kinds: Vec::new(), ..Self::of(prepared, OpPlace { rank, at }, wires) }
    }
    /// The pipeline link that `rank` waited over, by its lower stage; none where stages are no neighbours.
    pub fn link(&self, rank: usize) -> Option<usize> {
        let from = self.from?;
        (from.abs_diff(rank) == 1).then_some(from.min(rank))
    }
    pub fn words(&self) -> Message {
        let kinds = Message::joined(", ", self.kinds.iter().map(|kind| kind.name().into()));
        match (self.from, self.kinds.is_empty()) {
            (Some(rank), false) => t!("Waited for PP rank {rank}; inside the block: {kinds}.", rank, kinds),
            (Some(rank), true) => t!("Waited for PP rank {rank}.", rank),
            (None, false) => t!("Waited for no other PP rank; inside the block: {kinds}.", kinds),
            (None, true) => t!("Waited for no link."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::wires::wires;
    use super::*;
    use std::sync::Arc;

    /// The first forward pass of stage 2 waits for that of stage 1, its first backward for stage 3; tensor-parallel
    /// messages are in both.
    #[test]
    fn a_block_waits_for_the_stage_before_it_in_its_direction() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let wires = &wires(&evaluation)[2];
        let prepared = Prepared::of(Arc::new(evaluation));
        let ops = &prepared.evaluation.timeline().ranks[2];
        let backward = ops.iter().position(|op| op.op.kind == OpKind::BW).unwrap();
        for (at, from) in [(0, 1), (backward, 3)] {
            let waits = Waits::of(&prepared, OpPlace { rank: 2, at }, wires);
            assert_eq!(waits.from, Some(from));
            assert_eq!(waits.kinds, [GroupKind::Tp]);
            assert!(waits.words().to_string().contains(&format!("Waited for PP rank {from};")));
        }
    }

    /// Stage 3 idles until the first micro-batch has passed three stages; at the end of the step stage 0 works last.
    #[test]
    fn early_only_the_first_stage_works() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let timeline = evaluation.timeline();
        let works = |time: f64| (0..4).map(move |rank| op_at(timeline, rank, time).is_some());
        assert_eq!(works(1e-6).collect::<Vec<_>>(), [true, false, false, false]);
        // The wait of stage 3 then, and its link; while it works it waits for none.
        let prepared = Prepared::of(Arc::new(evaluate(&Run::default()).unwrap()));
        let waits = Waits::at(&prepared, 3, 1e-6, &[]);
        assert_eq!((waits.from, waits.link(3)), (Some(2), Some(2)));
        assert_eq!(Waits::at(&prepared, 0, 1e-6, &[]), Waits::default());
        let end = timeline.makespan() * (1.0 - 1e-9);
        assert!(works(end).next().unwrap());
        assert_eq!(op_at(timeline, 0, timeline.makespan() + 1.0), None);
        assert_eq!(op_at(timeline, 9, 0.0), None);
    }
}
