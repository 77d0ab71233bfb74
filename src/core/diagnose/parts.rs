//! Divides the time of a window of a trace into parts, in nanoseconds. The parts sum to the length of the window.
//!
//! Where several kinds of work run at one instant, that instant counts for the first of them in this order: compute by
//! class of kernel; messages by parallelism and kind; waits of expert libraries; copies. Time in which none of them
//! runs is a gap, and each gap gets the reason why nothing ran.

use super::dimension::{Dimension, GroupSizes, dimension};
use super::trace::{Interval, RankTrace, StepWindow, WorkKind};
use crate::statics::named;
use crate::time::KernelClass;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A late launch behind a gap longer than this counts as a pause of the host. Chosen on public traces,
/// of which 15 are in `tests/data/traces`.
const PAUSE_NS: i64 = 10_000_000;
/// A launch that begins less than this after the end of a synchronisation counts as one that waited for it.
const BEHIND_SYNC_NS: i64 = 50_000;

named! {
    /// Why nothing ran on the GPU.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum GapReason: name {
        /// The host waited for its data loader.
        Loader = "loader",
        /// The kernel was launched too late, after a call that waits for the GPU.
        Synchronised = "synchronised",
        /// The kernel was launched too late.
        HostLate = "host_late",
        /// The kernel was launched more than 10 ms too late.
        HostPause = "host_pause",
        /// The kernel was launched, and waited for something else.
        Launched = "launched_waiting",
        /// Between kernels of a CUDA graph.
        Graph = "inside_a_graph",
        /// No kernel follows.
        Behind = "behind_the_last_kernel",
        /// The trace does not say when the kernel was launched.
        Unknown = "not_known",
    }
}

/// A part of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MeasuredPart {
    Compute(KernelClass),
    /// Messages beside which nothing computes, with their kind.
    Exposed(Dimension, KernelClass),
    /// Kernels of expert libraries (DeepEP) that only wait for other ranks.
    ExpertWait,
    /// Copies and fills beside which nothing else runs.
    Transfers,
    /// A gap, with its reason.
    Idle(GapReason),
}

impl MeasuredPart {
    /// Its name in an answer. Exposed messages of one parallelism share a name, and their times are added there.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute(class) => class.name(),
            Self::Exposed(dimension, _) => match dimension {
                Dimension::Tensor => "exposed_tp",
                Dimension::Context => "exposed_cp",
                Dimension::Expert => "exposed_ep",
                Dimension::Data => "exposed_dp",
                Dimension::Pipeline => "exposed_pp",
                Dimension::Other => "exposed_other",
            },
            Self::ExpertWait => "expert_wait",
            Self::Transfers => "transfers",
            Self::Idle(gap) => gap.name(),
        }
    }
}

/// The gaps of a window that have one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GapSum {
    pub count: u64,
    /// Nanoseconds of all of them.
    pub total: i64,
    pub longest: Interval,
    /// Number of pauses in which the host begins no call for four fifths of the pause or longer; 0 for other reasons.
    pub silent: u64,
}

/// A window of a trace, divided into parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attribution {
    /// Nanoseconds of each part. Their sum is the length of the window.
    pub parts: BTreeMap<MeasuredPart, i64>,
    /// Gaps by reason.
    pub gaps: BTreeMap<GapReason, GapSum>,
    /// Nanoseconds in which at least one message of a parallelism runs, hidden or not.
    pub messages: BTreeMap<Dimension, i64>,
    /// Nanoseconds in which at least one message or wait of an expert library runs.
    pub any_message: i64,
    /// Number of kernels of each class that start in the window, and their median length in nanoseconds.
    pub kernels: BTreeMap<KernelClass, (u64, i64)>,
    /// Median length of the kernels that compute, nanoseconds.
    pub median_kernel: i64,
}

impl Attribution {
    /// Sum of the parts that `counts` accepts.
    pub fn sum(&self, counts: impl Fn(MeasuredPart) -> bool) -> i64 {
        self.parts.iter().filter(|(part, _)| counts(**part)).map(|(_, ns)| ns).sum()
    }

    /// Nanoseconds of compute.
    pub fn compute(&self) -> i64 {
        self.sum(|part| matches!(part, MeasuredPart::Compute(_)))
    }

    /// Nanoseconds of messages beside which nothing computes, and of waits of expert libraries.
    pub fn exposed(&self) -> i64 {
        self.sum(|part| matches!(part, MeasuredPart::Exposed(..) | MeasuredPart::ExpertWait))
    }

    /// Nanoseconds of all gaps.
    pub fn idle(&self) -> i64 {
        self.sum(|part| matches!(part, MeasuredPart::Idle(_)))
    }

    /// Nanoseconds of the gaps with the reason `gap`.
    pub fn of_gap(&self, gap: GapReason) -> i64 {
        self.gaps.get(&gap).map_or(0, |gaps| gaps.total)
    }
}

/// Number of classes of kernels that compute. They are the first lanes of the sweep: where work of several lanes runs,
/// the time counts for the lowest lane.
const COMPUTE: usize = KernelClass::AllReduce as usize;
/// Lanes of one parallelism's messages: one for each class of message, with room for more classes than there are.
const KINDS: usize = 16;
/// Number of parallelisms of messages.
const DIMENSIONS: usize = 6;
/// The lane of waits of expert libraries, behind those of the messages.
const WAITS: usize = COMPUTE + DIMENSIONS * KINDS;
/// The lane of copies.
const COPIES: usize = WAITS + 1;
/// Number of lanes.
const LANES: usize = COPIES + 1;

/// The lane of `work`; `dimension` is the parallelism of a message.
fn lane(work: WorkKind, dimension: Dimension) -> usize {
    match work {
        WorkKind::Transfer => COPIES,
        WorkKind::Kernel(KernelClass::ExpertWait) => WAITS,
        WorkKind::Kernel(class) if class.is_message() => {
            COMPUTE + dimension as usize * KINDS + (class as usize - COMPUTE)
        }
        WorkKind::Kernel(class) => class as usize,
    }
}

/// The part that the time of a lane belongs to.
fn part_of(lane: usize) -> MeasuredPart {
    match lane {
        COPIES => MeasuredPart::Transfers,
        WAITS => MeasuredPart::ExpertWait,
        lane if lane < COMPUTE => MeasuredPart::Compute(KernelClass::ALL[lane]),
        lane => {
            let (dimension, kind) = ((lane - COMPUTE) / KINDS, (lane - COMPUTE) % KINDS);
            MeasuredPart::Exposed(Dimension::ALL[dimension], KernelClass::ALL[COMPUTE + kind])
        }
    }
}

/// Numbers of kernels and copies that run at an instant of the sweep.
struct Running {
    /// In each lane.
    lanes: [u32; LANES],
    /// Messages of each parallelism; waits of expert libraries are of the expert parallelism.
    dimensions: [u32; DIMENSIONS],
    /// Messages and waits of expert libraries.
    messages: u32,
}

impl Running {
    /// The lowest lane in which something runs: the time counts for it.
    fn first(&self) -> Option<usize> {
        self.lanes.iter().position(|count| *count > 0)
    }

    /// Counts the beginning (`change` 1) or the end (−1) of work in `lane`.
    fn add(&mut self, lane: usize, change: i32) {
        let step = |count: &mut u32| *count = count.saturating_add_signed(change);
        step(&mut self.lanes[lane]);
        if (COMPUTE..WAITS).contains(&lane) {
            step(&mut self.dimensions[(lane - COMPUTE) / KINDS]);
            step(&mut self.messages);
        } else if lane == WAITS {
            step(&mut self.dimensions[Dimension::Expert as usize]);
            step(&mut self.messages);
        }
    }
}

/// Divides `window` of `trace` into parts. `axes`, the sizes of the run's groups, decide which parallelism a message is
/// of.
pub fn attribute(trace: &RankTrace, window: StepWindow, axes: GroupSizes) -> Attribution {
    let mut attribution = Attribution::default();
    count_kernels(&mut attribution, trace, window);
    let edges = edges(trace, window, axes);
    for gap in sweep(&mut attribution, edges, window) {
        let (reason, silent) = why(trace, window, gap);
        let length = gap.1 - gap.0;
        *attribution.parts.entry(MeasuredPart::Idle(reason)).or_default() += length;
        let gaps = attribution.gaps.entry(reason).or_default();
        gaps.count += 1;
        gaps.total += length;
        gaps.silent += u64::from(silent);
        if length > gaps.longest.1 - gaps.longest.0 {
            gaps.longest = gap;
        }
    }
    attribution
}

/// Counts the kernels that begin in `window` by class, with the medians of their lengths.
fn count_kernels(attribution: &mut Attribution, trace: &RankTrace, window: StepWindow) {
    let mut lengths: BTreeMap<KernelClass, Vec<i64>> = BTreeMap::new();
    let mut compute: Vec<i64> = Vec::new();
    let before_end = trace.activities.iter().take_while(|work| work.start < window.end);
    for activity in before_end.filter(|work| work.start >= window.begin) {
        let WorkKind::Kernel(class) = activity.work else { continue };
        let length = activity.end - activity.start;
        lengths.entry(class).or_default().push(length);
        if !class.is_message() {
            compute.push(length);
        }
    }
    attribution.median_kernel = median(&mut compute);
    let kernels = lengths.into_iter();
    attribution.kernels =
        kernels.map(|(class, mut lengths)| (class, (lengths.len() as u64, median(&mut lengths)))).collect();
}

/// The time at which work begins (1) or ends (−1): time, lane, 1 or −1.
type Edge = (i64, usize, i32);

/// The edges of all work in `window` by time; at one time the ends come before the beginnings.
fn edges(trace: &RankTrace, window: StepWindow, axes: GroupSizes) -> Vec<Edge> {
    let mut edges: Vec<Edge> = Vec::new();
    for activity in trace.activities.iter().take_while(|work| work.start < window.end) {
        let (start, end) = (activity.start.max(window.begin), activity.end.min(window.end));
        if end <= start {
            continue;
        }
        let dimension = match activity.work {
            WorkKind::Kernel(class) if class.is_message() => {
                let group = activity.group.and_then(|at| trace.groups.get(usize::from(at)));
                dimension(class, group, axes)
            }
            _ => Dimension::Other,
        };
        let lane = lane(activity.work, dimension);
        edges.push((start, lane, 1));
        edges.push((end, lane, -1));
    }
    edges.sort_unstable_by_key(|(at, _, change)| (*at, *change));
    edges
}

/// Goes through `edges` and adds the times of parts and messages to `attribution`. Returns the gaps.
fn sweep(attribution: &mut Attribution, edges: Vec<Edge>, window: StepWindow) -> Vec<Interval> {
    let mut running = Running { lanes: [0; LANES], dimensions: [0; DIMENSIONS], messages: 0 };
    let mut times = [0i64; LANES];
    let mut gaps: Vec<Interval> = Vec::new();
    let mut now = window.begin;
    for (at, lane, change) in edges.into_iter().chain([(window.end, LANES, 0)]) {
        let passed = at - now;
        if passed > 0 {
            match running.first() {
                Some(first) => times[first] += passed,
                None => gaps.push((now, at)),
            }
            for (dimension, count) in Dimension::ALL.into_iter().zip(running.dimensions) {
                if count > 0 {
                    *attribution.messages.entry(dimension).or_default() += passed;
                }
            }
            if running.messages > 0 {
                attribution.any_message += passed;
            }
            now = at;
        }
        if lane < LANES {
            running.add(lane, change);
        }
    }
    for (lane, time) in times.into_iter().enumerate().filter(|(_, time)| *time > 0) {
        *attribution.parts.entry(part_of(lane)).or_default() += time;
    }
    gaps
}

/// The median of `values`, the upper of two; 0 for no values.
fn median(values: &mut [i64]) -> i64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The reason of a gap, and whether the host was silent in it: whether, in a pause of the host, it began no call for
/// four fifths of the pause or longer.
pub(super) fn why(trace: &RankTrace, window: StepWindow, (begin, end): Interval) -> (GapReason, bool) {
    let length = end - begin;
    if overlap(&trace.loading, (begin, end)) * 2 > length {
        return (GapReason::Loader, false);
    }
    let next = trace.activities.partition_point(|work| work.start < end);
    let Some(next) = trace.activities.get(next).filter(|_| end < window.end || !window.is_last) else {
        return (GapReason::Behind, false);
    };
    let Some(launch) = next.launch else {
        return (GapReason::Unknown, false);
    };
    if launch <= begin {
        return (if next.graphed { GapReason::Graph } else { GapReason::Launched }, false);
    }
    if length > PAUSE_NS {
        // The longest time between two calls of the host in the gap.
        let first = trace.calls.partition_point(|call| *call < begin);
        let last = trace.calls.partition_point(|call| *call < launch);
        let mut quiet = 0;
        let mut before = begin;
        for call in trace.calls[first..last].iter().chain([&launch]) {
            quiet = quiet.max(*call - before);
            before = *call;
        }
        return (GapReason::HostPause, quiet * 5 >= length * 4);
    }
    let sync = trace.synchronised.partition_point(|at| *at <= launch);
    let synchronised = sync > 0 && launch - trace.synchronised[sync - 1] <= BEHIND_SYNC_NS;
    (if synchronised { GapReason::Synchronised } else { GapReason::HostLate }, false)
}

/// Nanoseconds between `begin` and `end` that `intervals` cover, which are sorted by their starts.
fn overlap(intervals: &[Interval], (begin, end): Interval) -> i64 {
    let mut covered = 0;
    let mut from = begin;
    for (start, stop) in intervals.iter().take_while(|(start, _)| *start < end) {
        let (start, stop) = ((*start).max(from), (*stop).min(end));
        if stop > start {
            covered += stop - start;
            from = stop;
        }
    }
    covered
}
