//! The time of a window by what ran: parts that add up to it exactly, in nanoseconds.
//!
//! At every instant the first of these that runs has the time: compute by class, messages by parallelism and kind,
//! waits of expert libraries, copies. What is left is a gap, with the reason why nothing ran.

use super::dimension::{Dimension, GroupSizes, dimension};
use super::trace::{Interval, RankTrace, StepWindow, WorkKind};
use crate::statics::named;
use crate::time::KernelClass;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A longer gap is a pause: the host does not merely launch late. Source: diagnosis of 19 public traces.
const PAUSE_NS: i64 = 10_000_000;
/// A launch that follows the end of a synchronisation by less waited for it.
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
    /// Messages that nothing hides, with their kind.
    Exposed(Dimension, KernelClass),
    /// Waits of expert libraries for other ranks.
    ExpertWait,
    /// Copies and fills beside which nothing runs.
    Transfers,
    Idle(GapReason),
}

impl MeasuredPart {
    /// Its name: parts of one name are added up.
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

/// Gaps of one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GapSum {
    pub count: u64,
    pub total: i64,
    pub longest: Interval,
    /// Of pauses: those in most of which no call of the host begins.
    pub silent: u64,
}

/// A window by parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attribution {
    /// Nanoseconds of each part; they add up to the window.
    pub parts: BTreeMap<MeasuredPart, i64>,
    /// Gaps by reason.
    pub gaps: BTreeMap<GapReason, GapSum>,
    /// Time in which a message of a parallelism is on its way, hidden or not.
    pub messages: BTreeMap<Dimension, i64>,
    /// Nanoseconds in which any message or wait is under way.
    pub any_message: i64,
    /// Kernels of each class that start in the window, and their median length.
    pub kernels: BTreeMap<KernelClass, (u64, i64)>,
    /// Median length of a kernel that computes.
    pub median_kernel: i64,
    /// Start of the last backward kernel of attention, else of the last that computes before the optimizer.
    pub last_compute: i64,
}

impl Attribution {
    /// Sum of the parts that `counts` accepts.
    pub fn sum(&self, counts: impl Fn(MeasuredPart) -> bool) -> i64 {
        self.parts.iter().filter(|(part, _)| counts(**part)).map(|(_, ns)| ns).sum()
    }

    pub fn compute(&self) -> i64 {
        self.sum(|part| matches!(part, MeasuredPart::Compute(_)))
    }

    /// Messages that nothing hides, with waits of expert libraries.
    pub fn exposed(&self) -> i64 {
        self.sum(|part| matches!(part, MeasuredPart::Exposed(..) | MeasuredPart::ExpertWait))
    }

    pub fn idle(&self) -> i64 {
        self.sum(|part| matches!(part, MeasuredPart::Idle(_)))
    }

    pub fn of_gap(&self, gap: GapReason) -> i64 {
        self.gaps.get(&gap).map_or(0, |gaps| gaps.total)
    }
}

/// Lanes of the sweep, in the order in which time is given: compute, messages, waits, copies.
const COMPUTE: usize = KernelClass::AllReduce as usize;
const KINDS: usize = 16;
const WAITS: usize = COMPUTE + 6 * KINDS;
const COPIES: usize = WAITS + 1;
const LANES: usize = COPIES + 1;

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

/// What runs at an instant of the sweep.
struct Running {
    lanes: [u32; LANES],
    dimensions: [u32; 6],
    messages: u32,
}

impl Running {
    fn first(&self) -> Option<usize> {
        self.lanes.iter().position(|count| *count > 0)
    }

    fn add(&mut self, at: usize, change: i32) {
        let step = |count: &mut u32| *count = count.saturating_add_signed(change);
        step(&mut self.lanes[at]);
        if (COMPUTE..WAITS).contains(&at) {
            step(&mut self.dimensions[(at - COMPUTE) / KINDS]);
            step(&mut self.messages);
        } else if at == WAITS {
            step(&mut self.dimensions[Dimension::Expert as usize]);
            step(&mut self.messages);
        }
    }
}

/// The parts of `window` in `trace`; messages are of the parallelism that `axes` give them.
pub fn attribute(trace: &RankTrace, window: StepWindow, axes: GroupSizes) -> Attribution {
    let mut found = Attribution::default();
    count_kernels(&mut found, trace, window);
    let edges = edges(trace, window, axes);
    for gap in sweep(&mut found, edges, window) {
        let (reason, silent) = why(trace, window, gap);
        let length = gap.1 - gap.0;
        *found.parts.entry(MeasuredPart::Idle(reason)).or_default() += length;
        let gaps = found.gaps.entry(reason).or_default();
        gaps.count += 1;
        gaps.total += length;
        gaps.silent += u64::from(silent);
        if length > gaps.longest.1 - gaps.longest.0 {
            gaps.longest = gap;
        }
    }
    found
}

/// Counts the kernels that begin in `window`, and their lengths.
fn count_kernels(found: &mut Attribution, trace: &RankTrace, window: StepWindow) {
    let mut lengths: BTreeMap<KernelClass, Vec<i64>> = BTreeMap::new();
    let mut all: Vec<i64> = Vec::new();
    let within = trace.activities.iter().take_while(|one| one.start < window.end);
    for one in within.filter(|one| one.start >= window.begin) {
        let WorkKind::Kernel(class) = one.work else { continue };
        lengths.entry(class).or_default().push(one.end - one.start);
        if !class.is_message() {
            all.push(one.end - one.start);
            if class != KernelClass::Optimizer {
                found.last_compute = found.last_compute.max(one.start);
            }
        }
    }
    found.median_kernel = middle(&mut all);
    found.kernels =
        lengths.into_iter().map(|(class, mut lengths)| (class, (lengths.len() as u64, middle(&mut lengths)))).collect();
}

/// Begin (1) and end (-1) of a lane's work at a moment.
type Edge = (i64, usize, i32);

/// Begins and ends of all work in `window`, in their order, ends before begins.
fn edges(trace: &RankTrace, window: StepWindow, axes: GroupSizes) -> Vec<Edge> {
    let mut edges: Vec<Edge> = Vec::new();
    for one in trace.activities.iter().take_while(|one| one.start < window.end) {
        let (start, end) = (one.start.max(window.begin), one.end.min(window.end));
        if end <= start {
            continue;
        }
        let dimension = match one.work {
            WorkKind::Kernel(class) if class.is_message() => {
                let group = one.group.and_then(|at| trace.groups.get(usize::from(at)));
                dimension(class, group, axes)
            }
            _ => Dimension::Other,
        };
        let lane = lane(one.work, dimension);
        edges.push((start, lane, 1));
        edges.push((end, lane, -1));
    }
    edges.sort_unstable_by_key(|(at, _, change)| (*at, *change));
    edges
}

/// Adds the time of each part, of each parallelism and of any message; the intervals in which nothing runs.
fn sweep(found: &mut Attribution, edges: Vec<Edge>, window: StepWindow) -> Vec<Interval> {
    let mut running = Running { lanes: [0; LANES], dimensions: [0; 6], messages: 0 };
    let mut times = [0i64; LANES];
    let mut idle: Vec<Interval> = Vec::new();
    let mut now = window.begin;
    for (at, lane, change) in edges.into_iter().chain([(window.end, LANES, 0)]) {
        let passed = at - now;
        if passed > 0 {
            match running.first() {
                Some(first) => times[first] += passed,
                None => idle.push((now, at)),
            }
            for (dimension, count) in Dimension::ALL.into_iter().zip(running.dimensions) {
                if count > 0 {
                    *found.messages.entry(dimension).or_default() += passed;
                }
            }
            if running.messages > 0 {
                found.any_message += passed;
            }
            now = at;
        }
        if lane < LANES {
            running.add(lane, change);
        }
    }
    for (lane, time) in times.into_iter().enumerate().filter(|(_, time)| *time > 0) {
        *found.parts.entry(part_of(lane)).or_default() += time;
    }
    idle
}

/// The middle of `values`; 0 of none.
fn middle(values: &mut [i64]) -> i64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Why nothing runs in the gap, and whether the host was silent in a pause.
pub(super) fn why(trace: &RankTrace, window: StepWindow, (begin, end): Interval) -> (GapReason, bool) {
    let length = end - begin;
    if overlap(&trace.loading, (begin, end)) * 2 > length {
        return (GapReason::Loader, false);
    }
    let next = trace.activities.partition_point(|one| one.start < end);
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
        // In most of it no call begins: the host itself stood still.
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

/// Nanoseconds between `begin` and `end` that intervals, sorted by start, cover.
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
