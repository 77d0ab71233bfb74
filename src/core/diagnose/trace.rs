//! What a GPU and its host did, as a profiler recorded it: integer nanoseconds on the clock of one file.

use super::dimension::ProcessGroup;
use crate::time::KernelClass;
use serde::{Deserialize, Serialize};

/// An interval of nanoseconds, from its start to before its end.
pub type Interval = (i64, i64);

/// Kind of work on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkKind {
    Kernel(KernelClass),
    /// A copy or fill by the copy engines (`gpu_memcpy`, `gpu_memset`).
    Transfer,
}

/// A kernel or copy on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuWork {
    pub start: i64,
    pub end: i64,
    pub work: WorkKind,
    /// When the host's call that launched it began; none where the trace does not link them.
    pub launch: Option<i64>,
    /// It was launched with others by one call: of a CUDA graph.
    pub graphed: bool,
    /// Its process group, by its place in [`RankTrace::groups`].
    pub group: Option<u16>,
    /// Bytes of its message; 0 where the trace does not say.
    pub bytes: u64,
    /// A forward or backward kernel of attention, where it is one.
    pub attention: Option<AttentionPass>,
}

/// Pass of an attention kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttentionPass {
    Forward,
    Backward,
}

impl AttentionPass {
    /// The pass of the attention kernel called `name`; none for those that only prepare or join.
    pub fn of(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if has(&["preprocess", "convert", "combine", "reduce", "dot_do_o", "splitkv_comb"]) {
            return None;
        }
        Some(if has(&["bwd", "bprop", "backward"]) { Self::Backward } else { Self::Forward })
    }
}

/// A step that the host marked: `ProfilerStep#7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepMark {
    pub number: u64,
    pub begin: i64,
    pub end: i64,
}

/// Time before the first launch of a step in which what the host did may be why that launch is late, nanoseconds.
const HOST_BEFORE: i64 = 1_000_000;

/// One rank's trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankTrace {
    pub rank: Option<u64>,
    /// Ranks of the job.
    pub world: Option<u64>,
    /// Name of the GPU.
    pub device: Option<String>,
    /// By their start.
    pub activities: Vec<GpuWork>,
    /// By their begin.
    pub marks: Vec<StepMark>,
    pub groups: Vec<ProcessGroup>,
    /// When the host waited for its data loader, by start.
    pub loading: Vec<Interval>,
    /// When calls of the host ended that wait for the GPU, sorted.
    pub synchronised: Vec<i64>,
    /// When calls of the host began, sorted: what tells a busy host from a silent one.
    pub calls: Vec<i64>,
    /// When the host reserved memory of the GPU (`cudaMalloc`): such a step is not like the others.
    pub reserved: Vec<i64>,
    /// Nanoseconds of kernels whose name nothing is known of.
    pub unknown_ns: i64,
    /// Nanoseconds of all kernels.
    pub kernels_ns: i64,
    /// Bytes that were copied from the GPU to the host.
    pub to_host_bytes: u64,
    /// The profiler recorded stacks or shapes, which slow the host.
    pub with_stacks: bool,
    /// The step that it was cut to, and how many it was chosen from; none for a whole trace.
    pub chosen: Option<(StepWindow, usize)>,
}

/// The time of one step on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepWindow {
    /// Number of the step; none where nothing marks it.
    pub number: Option<u64>,
    pub begin: i64,
    pub end: i64,
    /// The last step: to the end of its last kernel.
    pub is_last: bool,
}

impl StepWindow {
    /// Its length, nanoseconds.
    pub fn length(self) -> i64 {
        self.end - self.begin
    }
}

impl RankTrace {
    /// Sorts what was recorded; to be called once all of it is there.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.activities.sort_unstable_by_key(|activity| (activity.start, activity.end));
        self.marks.sort_unstable_by_key(|mark| mark.begin);
        self.marks.dedup_by_key(|mark| mark.number);
        self.loading.sort_unstable();
        self.synchronised.sort_unstable();
        self.calls.sort_unstable();
        self
    }

    /// The steps on the GPU: each from the first kernel that was launched in it to that of the next; the last to the
    /// end of its last kernel. They follow one another without a gap. All of the trace where nothing marks a step.
    pub fn windows(&self) -> Vec<StepWindow> {
        let (Some(first), Some(end)) = (self.activities.first(), self.activities.iter().map(|one| one.end).max())
        else {
            return Vec::new();
        };
        let all = StepWindow { number: None, begin: first.start, end, is_last: true };
        // Where no kernel knows its launch, the kernels that start in a step are its own.
        let linked = self.activities.iter().any(|one| one.launch.is_some());
        let launched = |one: &GpuWork| if linked { one.launch } else { Some(one.start) };
        let mut begins: Vec<(StepMark, i64)> = Vec::new();
        for (at, mark) in self.marks.iter().enumerate() {
            let next = self.marks.get(at + 1).map_or(i64::MAX, |next| next.begin);
            let own = self.activities.iter().filter(|one| {
                launched(one)
                    .is_some_and(|launch| (mark.begin..next.min(mark.end.max(mark.begin + 1))).contains(&launch))
            });
            if let Some(begin) = own.map(|one| one.start).min() {
                begins.push((*mark, begin));
            }
        }
        begins.sort_by_key(|(_, begin)| *begin);
        let mut windows = Vec::new();
        for (at, (mark, begin)) in begins.iter().enumerate() {
            let next = begins.get(at + 1).map(|(_, next)| *next);
            let own_end = || {
                let own = self.activities.iter();
                let own = own.filter(|one| launched(one).is_some_and(|at| (mark.begin..mark.end).contains(&at)));
                own.map(|one| one.end).max().unwrap_or(end)
            };
            let window = StepWindow {
                number: Some(mark.number),
                begin: *begin,
                end: next.unwrap_or_else(own_end),
                is_last: next.is_none(),
            };
            if window.length() > 0 {
                windows.push(window);
            }
        }
        if windows.is_empty() { vec![all] } else { windows }
    }

    /// The step of median length, and how many steps it was chosen from: of several without the last, whose end is that
    /// of its last kernel, without the first where three or more are left, and without those in which memory was
    /// reserved where others are left.
    pub fn median_window(&self) -> Option<(StepWindow, usize)> {
        if self.chosen.is_some() {
            return self.chosen;
        }
        let mut windows = self.windows();
        if windows.len() > 1 {
            windows.pop();
        }
        if windows.len() > 2 {
            windows.remove(0);
        }
        let reserves = |window: &StepWindow| {
            let mark = self.marks.iter().find(|mark| Some(mark.number) == window.number);
            mark.is_some_and(|mark| self.reserved.iter().any(|at| (mark.begin..mark.end).contains(at)))
        };
        if !windows.iter().all(reserves) {
            windows.retain(|window| !reserves(window));
        }
        windows.sort_by_key(|window| StepWindow::length(*window));
        let count = windows.len();
        windows.get(count / 2).map(|window| (*window, count))
    }

    /// The trace cut to the step that is diagnosed: a long one need not be held whole. What is found of it is the same.
    #[must_use]
    pub fn of_median_step(mut self) -> Self {
        let Some((window, count)) = self.median_window() else {
            return self;
        };
        // The first kernel behind the window tells what its last gap waits for.
        let behind = self.activities.iter().map(|one| one.start).filter(|start| *start >= window.end).min();
        let until = behind.unwrap_or(window.end);
        self.activities.retain(|one| one.end > window.begin && one.start <= until);
        self.activities.shrink_to_fit();
        let from = self.activities.iter().map(|one| one.launch.unwrap_or(one.start)).min().unwrap_or(window.begin);
        let from = from.min(window.begin) - HOST_BEFORE;
        self.loading.retain(|(start, end)| *end >= from && *start <= until);
        for times in [&mut self.synchronised, &mut self.calls, &mut self.reserved] {
            times.retain(|time| (from..=until).contains(time));
            times.shrink_to_fit();
        }
        self.chosen = Some((window, count));
        self
    }

    /// Attention kernels of a window, forward and backward: those that start in it.
    pub fn attention_kernels(&self, window: StepWindow) -> [u64; 2] {
        let inside = self.activities.iter().filter(|one| (window.begin..window.end).contains(&one.start));
        let mut counts = [0, 0];
        for pass in inside.filter_map(|one| one.attention) {
            counts[pass as usize] += 1;
        }
        counts
    }
}
