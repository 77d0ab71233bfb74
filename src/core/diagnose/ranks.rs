//! Several ranks: their clocks aligned by what they leave together, and who makes the others wait.
//!
//! All ranks of a collective leave it together. Calls are matched by group and their number within it; the offset of
//! two clocks is the most frequent difference of ends. Where fewer than half of the calls agree the clocks are not
//! aligned, and only lengths are used.

use super::dimension::{Dimension, GroupSizes, dimension};
use super::series::middle_of;
use super::trace::{RankTrace, StepWindow, WorkKind};
use crate::time::KernelClass;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Ends that differ by less are of one call.
const TOGETHER_NS: i64 = 300_000;

/// A call of one rank.
#[derive(Clone, Copy)]
struct Call {
    end: i64,
    length: i64,
    dimension: Dimension,
}

/// Calls by group, kind and number.
type Calls = BTreeMap<(String, KernelClass, usize), Call>;

/// The times that one rank waits for others, and that others wait for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankWaits {
    pub rank: u64,
    /// Seconds on the wire: of each call the shortest of all ranks.
    pub wire_s: f64,
    /// Seconds beyond it inside the same calls.
    pub waiting_s: f64,
    /// Mean seconds that another rank waits in calls to which this one comes last.
    pub makes_wait_s: f64,
    /// Seconds of kernels that compute; none for a table of calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_s: Option<f64>,
    /// Clock of this rank less that of the first, nanoseconds; none where calls do not agree.
    pub offset_ns: Option<i64>,
}

/// Ranks of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SeveralRanks {
    pub ranks: Vec<RankWaits>,
    /// Calls that all of them made.
    pub calls: u64,
    /// The rank that makes the others wait longest, where that is more than half of all waiting.
    pub late: Option<u64>,
    /// Most compute of a rank over the median of its stage; none where a stage has fewer than three ranks here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<f64>,
    /// The rank with that most compute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow: Option<u64>,
    /// Most compute of a stage over the median stage; none of one stage, or where the stages of ranks are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<f64>,
}

impl SeveralRanks {
    /// With the compute of each rank, in their order: its pipeline stage, where that is known, and seconds.
    #[must_use]
    pub fn with_compute(mut self, compute: &[(Option<u64>, f64)]) -> Self {
        let mut by_stage: BTreeMap<Option<u64>, Vec<(u64, f64)>> = BTreeMap::new();
        for (row, (stage, seconds)) in self.ranks.iter_mut().zip(compute) {
            row.compute_s = Some(*seconds);
            by_stage.entry(*stage).or_default().push((row.rank, *seconds));
        }
        let middle = |rows: &[(u64, f64)]| middle_of(&rows.iter().map(|row| row.1).collect::<Vec<_>>());
        // The compute of two ranks has no median that one of them could be slow against.
        for rows in by_stage.values().filter(|rows| rows.len() > 2) {
            let of_stage = middle(rows);
            if let Some((rank, most)) = rows.iter().max_by(|a, b| a.1.total_cmp(&b.1))
                && of_stage > 0.0
                && most / of_stage > self.workers.unwrap_or(0.0)
            {
                (self.workers, self.slow) = (Some(most / of_stage), Some(*rank));
            }
        }
        let known = by_stage.keys().all(Option::is_some);
        let stages: Vec<f64> = by_stage.values().map(|rows| middle(rows)).collect();
        let most = stages.iter().copied().fold(0.0, f64::max);
        let of_all = middle_of(&stages);
        self.stages = (known && stages.len() > 1 && of_all > 0.0).then(|| most / of_all);
        self
    }
}

/// Compares the windows of ranks; none of one rank, or where they share fewer than four calls.
pub fn several(traces: &[(&RankTrace, StepWindow)], sizes: GroupSizes) -> Option<SeveralRanks> {
    if traces.len() < 2 {
        return None;
    }
    let lists: Vec<Calls> = traces.iter().map(|(trace, window)| calls_of(trace, *window, sizes)).collect();
    let shared: Vec<_> = lists[0].keys().filter(|key| lists.iter().all(|list| list.contains_key(*key))).collect();
    // Where each rank knows another part of a pipeline, sends are not one call of all.
    let shared: Vec<_> = shared
        .into_iter()
        .filter(|key| lists[0].get(*key).is_some_and(|call| call.dimension != Dimension::Pipeline))
        .collect();
    if shared.len() < 4 {
        return None;
    }
    // For each rank: seconds on the wire, seconds that it waits, mean seconds that it makes another rank wait.
    let mut sums = vec![[0.0f64; 3]; lists.len()];
    for key in &shared {
        let lengths: Vec<i64> = lists.iter().filter_map(|list| Some(list.get(*key)?.length)).collect();
        let least = lengths.iter().copied().min().unwrap_or_default();
        // The rank that comes last leaves with the others, so its call is the shortest.
        let last = lengths.iter().position(|length| *length == least).unwrap_or_default();
        let others = (lengths.len() - 1) as f64;
        for (rank, length) in lengths.iter().enumerate() {
            sums[rank][0] += least as f64 * 1e-9;
            sums[rank][1] += (length - least) as f64 * 1e-9;
            sums[last][2] += (length - least) as f64 * 1e-9 / others;
        }
    }
    let ranks = traces.iter().zip(&lists).zip(&sums).enumerate().map(|(at, (((trace, _), list), sums))| RankWaits {
        rank: trace.rank.unwrap_or(at as u64),
        wire_s: sums[0],
        waiting_s: sums[1],
        makes_wait_s: sums[2],
        compute_s: None,
        offset_ns: offset(&lists[0], list),
    });
    let ranks: Vec<RankWaits> = ranks.collect();
    let all: f64 = ranks.iter().map(|rank| rank.makes_wait_s).sum();
    let most = ranks.iter().max_by(|a, b| a.makes_wait_s.total_cmp(&b.makes_wait_s));
    let late = most.filter(|most| most.makes_wait_s > 0.5 * all && all > 0.0).map(|most| most.rank);
    Some(SeveralRanks { calls: shared.len() as u64, late, ranks, ..SeveralRanks::default() })
}

fn calls_of(trace: &RankTrace, window: StepWindow, sizes: GroupSizes) -> Calls {
    let mut numbers: BTreeMap<(String, KernelClass), usize> = BTreeMap::new();
    let mut calls = Calls::new();
    for one in &trace.activities {
        let WorkKind::Kernel(class) = one.work else {
            continue;
        };
        if !class.is_message() || class == KernelClass::ExpertWait || !(window.begin..window.end).contains(&one.start) {
            continue;
        }
        let group = one.group.and_then(|at| trace.groups.get(usize::from(at)));
        let name = group.map_or_else(String::new, |group| group.name.clone());
        let number = numbers.entry((name.clone(), class)).or_default();
        let call = Call { end: one.end, length: one.end - one.start, dimension: dimension(class, group, sizes) };
        calls.insert((name, class, *number), call);
        *number += 1;
    }
    calls
}

/// The most frequent difference of ends, where at least half of the calls agree on it.
fn offset(first: &Calls, other: &Calls) -> Option<i64> {
    let differences = other.iter().filter_map(|(key, call)| Some(call.end - first.get(key)?.end));
    let mut differences: Vec<i64> = differences.collect();
    differences.sort_unstable();
    let mut best: (usize, Option<i64>) = (0, None);
    let mut from = 0;
    for to in 0..differences.len() {
        while differences[to] - differences[from] > TOGETHER_NS {
            from += 1;
        }
        if to - from + 1 > best.0 {
            best = (to - from + 1, Some(differences[usize::midpoint(from, to)]));
        }
    }
    // Clocks that are 2^53 ns apart count from different epochs, and JavaScript has no larger integers.
    best.1.filter(|offset| best.0 * 2 >= differences.len() && offset.abs() < 1 << 53)
}

/// Calls of one kind by rank, as a table gives them: seconds in all, and the least of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallTable {
    pub name: String,
    /// Rank, calls, seconds in all.
    pub rows: Vec<(u64, u64, f64)>,
    /// Seconds on the wire of all calls, where the table has them by call; else the least rank's.
    pub wire_s: f64,
}

impl CallTable {
    /// Who waits in these calls: the rank with the least time comes last.
    pub fn waits(&self) -> SeveralRanks {
        let wire = self.wire_s;
        let last = self.rows.iter().min_by(|a, b| a.2.total_cmp(&b.2)).map(|row| row.0);
        let waits = |seconds: f64| (seconds - wire).max(0.0);
        let all: f64 = self.rows.iter().map(|row| waits(row.2)).sum();
        let others = self.rows.len().saturating_sub(1).max(1) as f64;
        let ranks = self.rows.iter().map(|(rank, _, seconds)| RankWaits {
            rank: *rank,
            wire_s: wire,
            waiting_s: waits(*seconds),
            makes_wait_s: if Some(*rank) == last { (all - waits(*seconds)) / others } else { 0.0 },
            compute_s: None,
            offset_ns: None,
        });
        let ranks: Vec<RankWaits> = ranks.collect();
        let calls = self.rows.iter().map(|row| row.1).max().unwrap_or_default();
        // Less waiting than a twentieth of the wire's time names nobody.
        let late = last.filter(|_| all > 0.05 * wire * others);
        SeveralRanks { ranks, calls, late, ..SeveralRanks::default() }
    }
}
