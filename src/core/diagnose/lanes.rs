//! A window as two lanes of intervals: what computes, and the messages beside it, exposed or hidden.

use super::causes::CauseId;
use super::expected::{ExpectedStep, StepShare};
use super::parts::{GapReason, why};
use super::trace::{AttentionPass, Interval, RankTrace, StepWindow, WorkKind};
use crate::pipeline::OpKind;
use crate::report::{Evaluation, evaluate};
use crate::run::Run;
use crate::statics::named;
use crate::time::{KernelClass, PartKind};
use serde::{Deserialize, Serialize};

named! {
    /// Kind of work in an interval of a lane.
    #[derive(Serialize, Deserialize)]
    pub enum LaneKind: name {
        Forward = "forward",
        Backward = "backward",
        /// Compute of a pass that the trace does not name.
        Compute = "compute",
        Optimizer = "optimizer",
        /// A message while nothing computes.
        Exposed = "exposed",
        /// A message behind compute.
        Hidden = "hidden",
        /// Nothing runs for more than 10 ms, or the data loader is late.
        Pause = "pause",
        /// Launched, and waiting for something else.
        Waiting = "waiting",
    }
}

/// An interval of a lane: nanoseconds from the start of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneSpan {
    pub begin: i64,
    pub end: i64,
    pub kind: LaneKind,
}

/// The two lanes of a rank's window; spans of a lane are in order and do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceLanes {
    /// Nanoseconds.
    pub length: i64,
    pub compute: Vec<LaneSpan>,
    pub messages: Vec<LaneSpan>,
}

/// The lanes of a trace, with its place in the job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLanes {
    pub rank: Option<u64>,
    /// Ranks of the job.
    pub world: Option<u64>,
    pub lanes: TraceLanes,
}

impl MeasuredLanes {
    /// The lanes that are predicted for the rank of the trace, of `run`; those of the first rank where the trace is of
    /// a job of another size. None of a run that cannot work.
    pub fn predicted(&self, run: &Run) -> Option<TraceLanes> {
        let evaluation = evaluate(&Run { measured_step_s: None, ..run.clone() }).ok()?;
        let layout = &evaluation.scenario.layout;
        let rank = self.rank.filter(|_| self.world == Some(layout.gpus)).unwrap_or(0);
        let stage = usize::try_from(layout.mesh().place(rank).pp).unwrap_or(0);
        Some(TraceLanes::predicted(&evaluation, stage))
    }

    /// The lanes of the step of `trace` that is diagnosed; none without kernels. A lane has 100,000 spans at most.
    pub fn of(trace: &RankTrace) -> Option<Self> {
        let (window, _) = trace.median_window()?;
        let mut lanes = TraceLanes::of(trace, window);
        joined(&mut lanes.compute, MOST_SPANS);
        joined(&mut lanes.messages, MOST_SPANS);
        Some(Self { rank: trace.rank, world: trace.world, lanes })
    }
}

/// Shorter gaps are not drawn, nanoseconds.
const LEAST_GAP: i64 = 2_000;
/// Spans of a lane at most: as many are drawn within a frame.
const MOST_SPANS: usize = 100_000;

impl TraceLanes {
    /// The lanes of `window`. Forward and backward are told by the nearest attention kernel.
    pub fn of(trace: &RankTrace, window: StepWindow) -> Self {
        let inside = trace.activities.iter().take_while(|one| one.start < window.end);
        let inside = inside.filter(|one| one.end > window.begin);
        let passes: Vec<(i64, AttentionPass)> =
            inside.clone().filter_map(|one| Some((one.start, one.attention?))).collect();
        let at = |time: i64| time.clamp(window.begin, window.end) - window.begin;
        let mut lanes = Self { length: window.length(), ..Self::default() };
        let (mut computed, mut sent, mut copied) = (0, 0, 0);
        let mut messages: Vec<Interval> = Vec::new();
        let mut waits: Vec<Interval> = Vec::new();
        let mut busy: Vec<Interval> = Vec::new();
        for one in inside {
            let (begin, end) = (at(one.start), at(one.end));
            match one.work {
                WorkKind::Kernel(KernelClass::ExpertWait) => waits.push((begin, end)),
                WorkKind::Kernel(class) if class.is_message() => {
                    if end > sent {
                        messages.push((begin.max(sent), end));
                        sent = end;
                    }
                }
                WorkKind::Kernel(class) => {
                    if end > computed {
                        let kind = match class {
                            KernelClass::Optimizer => LaneKind::Optimizer,
                            _ => pass_at(&passes, one.start),
                        };
                        lanes.compute.push(LaneSpan { begin: begin.max(computed), end, kind });
                        computed = end;
                    }
                }
                WorkKind::Transfer => {}
            }
            if end > copied {
                busy.push((begin.max(copied), end));
                copied = end;
            }
        }
        let computing: Vec<Interval> = lanes.compute.iter().map(|span| (span.begin, span.end)).collect();
        lanes.messages = split(&messages, &computing, LaneKind::Exposed);
        let waiting = split(&waits, &computing, LaneKind::Waiting);
        lanes.messages.extend(waiting.into_iter().filter(|span| span.kind == LaneKind::Waiting));
        lanes.messages.sort_unstable_by_key(|span| (span.begin, span.end));
        lanes.gaps(trace, window, &busy);
        lanes
    }

    /// Adds gaps in which nothing runs and the host is not to blame for each kernel: pauses, and waits.
    fn gaps(&mut self, trace: &RankTrace, window: StepWindow, busy: &[Interval]) {
        let ends = [(self.length, self.length)];
        let mut from = 0;
        let mut gaps = Vec::new();
        for (begin, end) in busy.iter().chain(&ends) {
            if begin - from > LEAST_GAP {
                let (reason, _) = why(trace, window, (from + window.begin, begin + window.begin));
                let kind = match reason {
                    GapReason::HostPause | GapReason::Loader => Some(LaneKind::Pause),
                    GapReason::Launched => Some(LaneKind::Waiting),
                    _ => None,
                };
                gaps.extend(kind.map(|kind| LaneSpan { begin: from, end: *begin, kind }));
            }
            from = from.max(*end);
        }
        self.compute.extend(gaps);
        self.compute.sort_unstable_by_key(|span| (span.begin, span.end));
    }

    /// The predicted lanes of pipeline rank `rank`: its ops, then messages of data-parallel ranks that nothing hides,
    /// then the optimizer. Messages inside an op are not drawn.
    pub fn predicted(evaluation: &Evaluation, rank: usize) -> Self {
        #[allow(clippy::cast_possible_truncation)] // nanoseconds of a step
        let ns = |seconds: f64| (seconds * 1e9) as i64;
        let timeline = evaluation.timeline();
        let Some(ops) = timeline.ranks.get(rank.min(timeline.ranks.len().saturating_sub(1))) else {
            return Self::default();
        };
        let parts = &evaluation.report.step.parts;
        let of_step = |kind| parts.iter().find(|part| part.kind == kind).map_or(0.0, |part| part.seconds.0);
        // What is computed again begins the pass back, as a trace shows it: by the attention of a forward pass.
        let back: f64 = ops.iter().filter(|op| op.op.kind.sends_gradient()).map(|op| op.end - op.start).sum();
        let again = if back > 0.0 { (of_step(PartKind::Recompute) / back).min(1.0) } else { 0.0 };
        let mut compute: Vec<LaneSpan> = Vec::new();
        for op in ops {
            let begin = ns(op.start).max(compute.last().map_or(0, |span| span.end));
            let end = ns(op.end);
            let turn = match op.op.kind {
                OpKind::F => end,
                kind if kind.sends_gradient() => ns(op.start + again * (op.end - op.start)),
                _ => begin,
            };
            let turn = turn.clamp(begin, end.max(begin));
            let spans = [(begin, turn, LaneKind::Forward), (turn, end, LaneKind::Backward)];
            let spans = spans.into_iter().filter(|(from, to, _)| to > from);
            compute.extend(spans.map(|(begin, end, kind)| LaneSpan { begin, end, kind }));
        }
        // As the table of parts counts them: what a hidden message adds to compute is compute.
        let expected = ExpectedStep::of_evaluation(evaluation, rank);
        let part = |share: StepShare| ns(expected.shares.get(&share).copied().unwrap_or(0.0));
        let late = ns(of_step(PartKind::ExposedDp));
        let slowed = (late - part(StepShare::ExposedDp)).max(0);
        if let Some(span) = compute.last_mut() {
            span.end += slowed;
        }
        let end = compute.last().map_or(0, |span| span.end);
        let sent = end + part(StepShare::ExposedDp);
        let messages = vec![LaneSpan { begin: end, end: sent, kind: LaneKind::Exposed }];
        let last = sent + part(StepShare::Optimizer);
        compute.push(LaneSpan { begin: sent, end: last, kind: LaneKind::Optimizer });
        let not_empty = |spans: Vec<LaneSpan>| spans.into_iter().filter(|span| span.end > span.begin).collect();
        Self { length: ns(evaluation.report.step.time_s.0), compute: not_empty(compute), messages: not_empty(messages) }
    }

    /// Where a cause is seen best: the longest interval that it is; none for a cause that has no place.
    pub fn place_of(&self, cause: CauseId) -> Option<Interval> {
        let kind = match cause {
            CauseId::HostPause | CauseId::Loader | CauseId::Checkpoint => LaneKind::Pause,
            CauseId::Bubble | CauseId::EpImbalance => LaneKind::Waiting,
            CauseId::SlowNetwork | CauseId::LateRank => LaneKind::Exposed,
            one if one.is_exposed() => LaneKind::Exposed,
            CauseId::HostLate => return self.widest_gap(),
            _ => return None,
        };
        let of = self.compute.iter().chain(&self.messages).filter(|span| span.kind == kind);
        of.max_by_key(|span| span.end - span.begin).map(|span| (span.begin, span.end))
    }

    /// The widest gap between two spans of compute.
    fn widest_gap(&self) -> Option<Interval> {
        let gaps = self.compute.windows(2).map(|pair| (pair[0].end, pair[1].begin));
        gaps.filter(|(from, to)| to > from).max_by_key(|(from, to)| to - from)
    }
}

/// Joins neighbours of `spans`, in order, until there are `most`: across gaps that are short, and short spans to the
/// one before. What is short doubles until it is enough.
fn joined(spans: &mut Vec<LaneSpan>, most: usize) {
    let mut short = LEAST_GAP;
    while spans.len() > most.max(1) {
        spans.dedup_by(|next, last| {
            let joins = next.begin - last.end < short
                && (next.kind == last.kind || next.end - next.begin < short || last.end - last.begin < short);
            if joins {
                if next.end - next.begin > last.end - last.begin {
                    last.kind = next.kind;
                }
                last.end = last.end.max(next.end);
            }
            joins
        });
        short = short.saturating_mul(2);
    }
}

/// The pass of what starts at `time`.
fn pass_at(passes: &[(i64, AttentionPass)], time: i64) -> LaneKind {
    let next = passes.partition_point(|(start, _)| *start < time);
    let before = next.checked_sub(1).and_then(|at| passes.get(at));
    let nearest = match (before, passes.get(next)) {
        (Some(before), Some(after)) => Some(if time - before.0 <= after.0 - time { before } else { after }),
        (before, after) => before.or(after),
    };
    match nearest {
        Some((_, AttentionPass::Forward)) => LaneKind::Forward,
        Some((_, AttentionPass::Backward)) => LaneKind::Backward,
        None => LaneKind::Compute,
    }
}

/// `intervals`, hidden where one of `over` runs and `kind` elsewhere; both sorted, those of `over` without overlap.
fn split(intervals: &[Interval], over: &[Interval], kind: LaneKind) -> Vec<LaneSpan> {
    let mut spans = Vec::new();
    for (begin, end) in intervals {
        let mut from = *begin;
        let first = over.partition_point(|(_, until)| until <= begin);
        for (start, until) in over[first..].iter().take_while(|(start, _)| start < end) {
            if *start > from {
                spans.push(LaneSpan { begin: from, end: *start, kind });
            }
            let (start, until) = ((*start).max(from), (*until).min(*end));
            spans.push(LaneSpan { begin: start, end: until, kind: LaneKind::Hidden });
            from = until;
        }
        if from < *end {
            spans.push(LaneSpan { begin: from, end: *end, kind });
        }
    }
    spans
}

/// What is seen of a lane in `columns` equal columns from `begin` to `end`: runs of columns of one kind, as shares of
/// the width. A column is of the kind that has most of it, and of none where less than a fifth of it is covered.
pub fn seen(spans: &[LaneSpan], (begin, end): Interval, columns: usize) -> Vec<(f64, f64, LaneKind)> {
    let length = (end - begin).max(1) as f64;
    let count = columns.max(1) as f64;
    let mut covered = vec![[0.0f32; LaneKind::ALL.len()]; columns];
    let first = spans.partition_point(|span| span.end <= begin);
    for span in spans[first..].iter().take_while(|span| span.begin < end) {
        let place = |time: i64| ((time.clamp(begin, end) - begin) as f64 / length * count).clamp(0.0, count);
        let (from, to) = (place(span.begin), place(span.end));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // columns of a picture
        let (left, right) = (from as usize, (to.ceil() as usize).min(columns));
        for (at, column) in covered.iter_mut().enumerate().take(right).skip(left) {
            let part = to.min(at as f64 + 1.0) - from.max(at as f64);
            #[allow(clippy::cast_possible_truncation)] // a share of a column
            let part = part.max(0.0) as f32;
            column[span.kind as usize] += part;
        }
    }
    let mut runs: Vec<(f64, f64, LaneKind)> = Vec::new();
    for (at, column) in covered.iter().enumerate() {
        let sum: f32 = column.iter().sum();
        let most = LaneKind::ALL.into_iter().max_by(|a, b| column[*a as usize].total_cmp(&column[*b as usize]));
        let Some(kind) = most.filter(|_| sum >= 0.2) else {
            continue;
        };
        let (left, right) = (at as f64 / count, (at + 1) as f64 / count);
        match runs.last_mut() {
            Some((_, until, last)) if *last == kind && (*until - left).abs() < 1e-9 => *until = right,
            _ => runs.push((left, right, kind)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::run::{Recompute, Run};

    /// Full recomputation runs the forward pass again in the pass back: the kernels of a trace are as much forward as
    /// backward then (forward 1, again 1, backward 2 of its products), and the prediction is drawn as the trace is.
    #[test]
    fn what_is_computed_again_is_drawn_as_forward() {
        let of = |recompute| {
            let run = Run { recompute, ..Run::default() };
            let lanes = TraceLanes::predicted(&evaluate(&run).unwrap(), 0);
            assert!(lanes.compute.windows(2).all(|pair| pair[0].end <= pair[1].begin));
            let sum = |kind| -> i64 {
                lanes.compute.iter().filter(|span| span.kind == kind).map(|span| span.end - span.begin).sum()
            };
            (sum(LaneKind::Forward) as f64, sum(LaneKind::Backward) as f64)
        };
        let ((plain, back), (again, back_again)) = (of(Recompute::None), of(Recompute::Full));
        assert!((again / plain - 2.0).abs() < 0.15, "{plain} {again}");
        assert!((back_again / back - 1.0).abs() < 0.1, "{back} {back_again}");
    }

    #[test]
    fn a_message_is_hidden_where_something_computes() {
        let found = split(&[(0, 10), (20, 30)], &[(5, 8), (9, 25)], LaneKind::Exposed);
        let of = |kind: LaneKind| found.iter().filter(|span| span.kind == kind).map(|span| span.end - span.begin).sum();
        let (exposed, hidden): (i64, i64) = (of(LaneKind::Exposed), of(LaneKind::Hidden));
        assert_eq!((exposed, hidden), (5 + 1 + 5, 3 + 1 + 5));
        assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].begin), "{found:?}");
    }

    /// A lane of a long trace is cut to so many spans, from the first to the last of them.
    #[test]
    fn spans_are_joined_to_as_many_as_are_drawn() {
        let kind = |at: i64| if at % 3 == 0 { LaneKind::Forward } else { LaneKind::Backward };
        let span = |at: i64| LaneSpan { begin: at * 1000, end: at * 1000 + 700, kind: kind(at) };
        let mut spans: Vec<LaneSpan> = (0..5_000).map(span).collect();
        let pause = LaneSpan { begin: 50_000_000, end: 90_000_000, kind: LaneKind::Pause };
        spans.push(pause);
        let all = spans.clone();
        joined(&mut spans, 5_001);
        assert_eq!(spans, all);
        joined(&mut spans, 100);
        assert!(spans.len() <= 100 && spans.len() > 1, "{}", spans.len());
        assert_eq!((spans.first().unwrap().begin, spans.last().copied()), (0, Some(pause)));
        assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].begin));
    }

    /// However many spans there are, no more runs than columns, and their widths are what they cover.
    #[test]
    fn a_picture_has_no_more_runs_than_columns() {
        let kind = |at: i64| if at % 2 == 0 { LaneKind::Forward } else { LaneKind::Backward };
        let span = |at: i64| LaneSpan { begin: at * 10, end: at * 10 + 10, kind: kind(at) };
        let spans: Vec<LaneSpan> = (0..100_000).map(span).collect();
        let runs = seen(&spans, (0, 1_000_000), 900);
        assert!(runs.len() <= 900);
        let width: f64 = runs.iter().map(|(left, right, _)| right - left).sum();
        assert!((width - 1.0).abs() < 1e-6, "{width}");
        // Near by each of them is seen.
        assert_eq!(seen(&spans, (0, 100), 900).len(), 10);
    }
}
