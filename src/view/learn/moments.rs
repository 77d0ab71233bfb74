//! A moment of a picture of pipelines: what every rank does then, for the slider in time under the picture.

use crate::prelude::*;
use shardscope_core::pipeline::stats::in_flight_curve;
use shardscope_core::pipeline::{TimedOp, Timeline};

/// The ops of the ranks of a picture over its time axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moments {
    /// Time at the right edge of the picture.
    end: f64,
    /// Times are seconds, not forward passes.
    in_seconds: bool,
    pipelines: Vec<Ranks>,
}

/// A pipeline of the picture.
#[derive(Clone, Debug, PartialEq)]
struct Ranks {
    name: Message,
    ops: Vec<Vec<TimedOp>>,
    /// Number of stages of a rank: as many ops are one pass of its layers.
    chunks: f64,
}

impl Moments {
    /// The moments of pipelines on one axis, each given with its name and the stages of a rank.
    pub(super) fn of<'a>(drawn: impl IntoIterator<Item = (Message, &'a Timeline, f64)>, in_seconds: bool) -> Self {
        let pipelines: Vec<(Ranks, f64)> = drawn
            .into_iter()
            .map(|(name, timeline, chunks)| {
                let ranks = Ranks { name, ops: timeline.ranks.clone(), chunks: chunks.max(1.0) };
                (ranks, timeline.makespan())
            })
            .collect();
        let end = pipelines.iter().map(|(_, end)| *end).fold(0.0, f64::max);
        Self { end, in_seconds, pipelines: pipelines.into_iter().map(|(ranks, _)| ranks).collect() }
    }

    /// The time at a share of the width of the picture.
    pub fn time(&self, share: f64) -> String {
        let time = share * self.end;
        if self.in_seconds { show_seconds(Seconds(time)) } else { number(time, 3) }
    }

    /// The op of each rank at a share of the width of the picture.
    pub fn at(&self, share: f64) -> Node {
        let time = share * self.end;
        let lines = self.pipelines.iter().map(|one| {
            let doing = one.ops.iter().map(|ops| doing(ops, time));
            let doing: Vec<String> = doing.collect();
            let words = t!(
                "{name} at {time}: {busy} of {ranks} ranks work; micro-batches that rank 0 holds: {held}",
                name = one.name.clone(),
                time = self.time(share),
                busy = doing.iter().filter(|words| !words.is_empty()).count(),
                ranks = doing.len(),
                held = number(held(one, time), 3)
            );
            let each = doing.iter().map(|words| if words.is_empty() { "–" } else { words });
            let each = each.collect::<Vec<_>>().join(" · ");
            el("p", &[], &[text(words), text(" "), leaf("small", "muted", verbatim(each))])
        });
        lines.collect()
    }
}

/// Ops that a rank runs at `time`, as F3 or B1; a pair has two.
fn doing(ops: &[TimedOp], time: f64) -> String {
    let now = ops.iter().filter(|op| op.start <= time && time < op.end);
    let now = now.map(|op| format!("{}{}", op.op.kind.letters(), op.op.microbatch));
    now.collect::<Vec<_>>().join("+")
}

/// Micro-batches that rank 0 holds at `time`.
fn held(one: &Ranks, time: f64) -> f64 {
    let curve = one.ops.first().map(|ops| in_flight_curve(ops)).unwrap_or_default();
    let last = curve.iter().take_while(|(at, _)| *at <= time).last();
    last.map_or(0.0, |(_, held)| f64::from(*held) / one.chunks)
}

#[cfg(test)]
mod tests {
    use super::super::pictures::Pipeline;
    use super::*;

    /// GPipe of 2 ranks and 4 micro-batches by hand: forward passes of 1, backward passes of 2. At 1.5 rank 0 is in its
    /// second forward pass and rank 1 in its first; at 5.5 rank 1 runs its first backward pass and rank 0, which holds
    /// all four, waits for it.
    #[test]
    fn a_moment_says_what_each_rank_does_and_holds() {
        let pipeline = Pipeline::of(Schedule::Gpipe, |spec| (spec.pp, spec.microbatches) = (2, 4)).unwrap();
        let moments = Moments::of([("GPipe".into(), &pipeline.timeline, 1.0)], false);
        let said = |time: f64| moments.at(time / moments.end).to_html();
        let early = said(1.5);
        assert!(early.contains("at 1.50: 2 of 2 ranks work") && early.contains("F1 · F0"), "{early}");
        let late = said(5.5);
        assert!(late.contains("1 of 2 ranks work; micro-batches that rank 0 holds: 4 "), "{late}");
        assert!(late.contains("– · BW"), "{late}");
        assert!(said(moments.end).contains("0 of 2 ranks work; micro-batches that rank 0 holds: 0 "));
    }
}
