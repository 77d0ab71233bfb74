//! Transfer or waiting: how much of the time inside the kernels of a collective is the message's own.
//!
//! A kernel of a collective lasts until the last rank has come. The call that moves its bytes fastest is one for which
//! nobody was late: its rate gives every call's own time, and what is longer waited.

use super::dimension::{Dimension, GroupSizes, dimension};
use super::trace::{RankTrace, StepWindow, WorkKind};
use crate::time::KernelClass;
use std::collections::BTreeMap;

/// Fewer calls say nothing of waiting.
const MIN_CALLS: usize = 4;

/// Calls of one kind in one group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallsOf {
    pub dimension: Dimension,
    pub class: KernelClass,
    /// Ranks of the group; 0 where the trace does not say.
    pub ranks: u64,
    pub count: u64,
    /// Bytes of all messages; 0 where the trace does not say.
    pub bytes: u64,
    /// Nanoseconds inside the kernels.
    pub total: i64,
    /// The part of it that is waiting; none for fewer than 4 calls.
    pub waiting: Option<i64>,
    /// Bytes a second of message on the fastest call.
    pub rate: Option<f64>,
    /// Without bytes the waiting is a lower bound.
    pub at_least: bool,
}

/// The calls of `window`, kind by kind.
pub fn calls(trace: &RankTrace, window: StepWindow, axes: GroupSizes) -> Vec<CallsOf> {
    let mut by_kind: BTreeMap<(Dimension, KernelClass, u64), Vec<(i64, u64)>> = BTreeMap::new();
    for one in &trace.activities {
        if let WorkKind::Kernel(class) = one.work
            && class.is_message()
            && (window.begin..window.end).contains(&one.start)
        {
            let group = one.group.and_then(|at| trace.groups.get(usize::from(at)));
            let key = (dimension(class, group, axes), class, group.map_or(0, |group| group.size));
            by_kind.entry(key).or_default().push((one.end - one.start, one.bytes));
        }
    }
    let each = by_kind.into_iter().map(|((dimension, class, ranks), calls)| {
        let total = calls.iter().map(|(length, _)| length).sum();
        let bytes: u64 = calls.iter().map(|(_, bytes)| bytes).sum();
        let (waiting, rate) = match (class, dimension, ranks) {
            (KernelClass::ExpertWait, ..) => (Some(total), None),
            // They may be of several groups, of which one is not late where its calls are longer than another's.
            (_, Dimension::Other, 0) => (None, None),
            _ => waiting(&calls),
        };
        CallsOf {
            dimension,
            class,
            ranks,
            count: calls.len() as u64,
            bytes,
            total,
            waiting,
            rate,
            at_least: bytes == 0,
        }
    });
    each.collect()
}

/// The waiting in calls of one kind by their lengths and bytes, and the rate of the fastest.
fn waiting(calls: &[(i64, u64)]) -> (Option<i64>, Option<f64>) {
    let shortest = calls.iter().map(|(length, _)| *length).min().unwrap_or_default();
    let largest = calls.iter().map(|(_, bytes)| *bytes).max().unwrap_or_default();
    let large = calls.iter().filter(|(length, bytes)| *bytes * 4 >= largest && *bytes > 0 && *length > 0);
    let rate = large.map(|(length, bytes)| *bytes as f64 / (*length as f64 * 1e-9)).max_by(f64::total_cmp);
    if calls.len() < MIN_CALLS {
        return (None, rate);
    }
    let own: Box<dyn Fn(u64) -> i64> = if let Some(rate) = rate {
        #[allow(clippy::cast_possible_truncation)] // nanoseconds of a message
        let of_bytes = move |bytes| (bytes as f64 / rate * 1e9) as i64;
        Box::new(of_bytes)
    } else {
        let mut lengths: Vec<i64> = calls.iter().map(|(length, _)| *length).collect();
        lengths.sort_unstable();
        let quartile = lengths[lengths.len() / 4];
        Box::new(move |_| quartile)
    };
    let waits = calls.iter().map(|(length, bytes)| (length - own(*bytes).max(shortest)).max(0));
    (Some(waits.sum()), rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four messages of one size: the fastest took 10 ms, so of the others what is longer is waiting.
    #[test]
    fn what_is_longer_than_the_fastest_call_waited() {
        let calls = [(10, 800), (30, 800), (10, 800), (50, 800)].map(|(ms, kb)| (ms * 1_000_000, kb * 1000));
        let (waits, rate) = waiting(&calls);
        assert_eq!(waits, Some(60_000_000));
        assert!((rate.unwrap() - 8e7).abs() < 1.0);
        // Fewer than four say nothing; without bytes the lower quartile stands for the transfer.
        assert_eq!(waiting(&calls[..3]).0, None);
        assert_eq!(waiting(&calls.map(|(length, _)| (length, 0))).0, Some(60_000_000));
    }
}
