//! Several chunks a rank in a loop: interleaved 1F1B with its group size, looped breadth-first, the overlapped
//! interleaving and the interleaved zero bubble.
//!
//! Chunk c of rank r is stage c·p + r. The visiting order runs groups of g micro-batches through all chunks before the
//! next group; backwards follow the same table with the chunks reversed.

use super::weave::{Strand, WeavePattern, weave};
use crate::issue::Issue;
use crate::pipeline::op::Op;
use crate::pipeline::order::Order;
use crate::pipeline::registry::Spec;
use crate::pipeline::row::RankRow;
use crate::pipeline::spec::{each_rank, runs};
use crate::t;

/// The order in which a rank visits micro-batches and chunks: for each group of `g` consecutive micro-batches (the last
/// may be shorter) every chunk, for each chunk every micro-batch of the group.
#[derive(Clone, Copy)]
struct Visits {
    /// Ranks.
    p: u32,
    /// Micro-batches.
    m: u32,
    /// Chunks of a rank.
    v: u32,
    /// Micro-batches of a group.
    g: u32,
}

impl Visits {
    fn new(spec: &Spec, g: u32) -> Self {
        let m = spec.microbatches;
        Self { p: spec.pp, m, v: spec.chunks(), g: g.min(m) }
    }
    /// The micro-batch and the chunk of visit number `at`.
    const fn visit(self, at: u32) -> (u32, u32) {
        let group = at / (self.g * self.v);
        let (start, within) = (group * self.g, at % (self.g * self.v));
        let left = self.m - start;
        let size = if left < self.g { left } else { self.g };
        (start + within % size, within / size)
    }
    const fn forward(self, rank: u32, at: u32) -> Op {
        let (microbatch, chunk) = self.visit(at);
        Op::f(chunk * self.p + rank, microbatch)
    }
    fn backward(self, rank: u32, at: u32, op: fn(u32, u32) -> Op) -> Op {
        let (microbatch, chunk) = self.visit(at);
        op((self.v - 1 - chunk) * self.p + rank, microbatch)
    }
    const fn pattern(self) -> WeavePattern {
        let period = self.g * self.v;
        WeavePattern { units: self.m * self.v, period, step: self.g, regular: self.m / self.g * period }
    }
}

fn order(spec: &Spec, rank: impl Fn(u32) -> RankRow) -> Order {
    spec.order(each_rank(spec.pp, rank))
}

/// Forwards that rank r runs before its first backward: per · (p − 1 − r) + (v − 1) g + extra, at most m v.
fn warm_up(spec: &Spec, r: u32, g: u32, per: u64, extra: u64) -> u32 {
    let (p, m, v) = (u64::from(spec.pp), u64::from(spec.microbatches), u64::from(spec.chunks()));
    let warm_up = per * (p - 1 - u64::from(r)) + (v - 1) * u64::from(g) + extra;
    u32::try_from(warm_up.min(m * v)).unwrap_or(u32::MAX)
}

/// The order over visits in which whole backwards run `warm_up(r)` turns behind the forwards, as `pairs` where it says
/// so.
fn visited(spec: &Spec, g: u32, warm_up: impl Fn(u32) -> u32, pairs: bool) -> Order {
    let visits = Visits::new(spec, g);
    order(spec, |r| {
        let forward = |at| visits.forward(r, at);
        let backward = |at| visits.backward(r, at, Op::bw);
        let strands = [Strand { lag: 0, op: &forward }, Strand { lag: warm_up(r), op: &backward }];
        weave(visits.pattern(), &strands, pairs)
    })
}

fn megatron(spec: &Spec, g: u32) -> Order {
    visited(spec, g, |r| warm_up(spec, r, g, 2, 0), false)
}

/// weave(min(2(p − 1 − r) + (v − 1) g, m v)) over the visiting order.
///
/// Source: Narayanan et al. 2021, section 2.2; Megatron-LM `get_schedule_table` for g; Llama 3, section 3.3.2 (g free).
pub(crate) fn interleaved(spec: &Spec) -> Result<Order, Issue> {
    if spec.virtual_stages == 1 {
        let message = "interleaved 1F1B needs at least 2 chunks per rank: with 1 it is plain 1F1B";
        return Err(Issue::error("virtual_stages", message).with_fix("virtual_stages", 2));
    }
    let g = spec.group.unwrap_or(spec.pp);
    let order = megatron(spec, g);
    if is_megatron_legal(spec, g) || runs(&order) {
        return Ok(order);
    }
    Err(dead_lock("group", spec, g, megatron))
}

/// True if [`interleaved`] has an order for `spec`, as far as that is known without it.
pub(crate) fn has_whole_groups(spec: &Spec) -> bool {
    spec.virtual_stages > 1 && is_megatron_legal(spec, spec.group.unwrap_or(spec.pp))
}

/// p ≤ g ≤ m and a last group that is whole or holds at least p: what Megatron-LM accepts and what always runs.
fn is_megatron_legal(spec: &Spec, g: u32) -> bool {
    takes_group(spec.pp, spec.microbatches, g)
}

/// True if Megatron-LM takes m micro-batches on p ranks in groups of g.
pub(crate) fn takes_group(p: u32, m: u32, g: u32) -> bool {
    p <= g && g <= m && (m.is_multiple_of(g) || m % g >= p)
}

/// Names the group nearest to `g` that runs, or failing that the micro-batches.
fn dead_lock(field: &'static str, spec: &Spec, g: u32, make: fn(&Spec, u32) -> Order) -> Issue {
    let (p, m) = (spec.pp, spec.microbatches);
    let legal = (1..=m).filter(|group| is_megatron_legal(spec, *group));
    let nearest = legal.min_by_key(|group| group.abs_diff(g));
    let nearest = nearest.or_else(|| runs(&make(spec, m)).then_some(m));
    let what = if g < p {
        t!("groups of {g} are smaller than the {p} ranks and the order dead-locks", g, p)
    } else {
        let left = m % g;
        t!("groups of {g} leave {left} of {m} micro-batches over and the order dead-locks", g, left, m)
    };
    match nearest {
        Some(group) if field == "group" => Issue::error(field, what).with_fix(field, group),
        _ => {
            let whole = (m / p).max(1) * p;
            Issue::error("microbatches", what).with_fix("microbatches", whole)
        }
    }
}

/// The warnings of [`interleaved`]: what implementations refuse.
pub(crate) fn warn_group(spec: &Spec) -> Vec<Issue> {
    let (p, m) = (spec.pp, spec.microbatches);
    let g = spec.group.unwrap_or(p);
    let mut warnings = Vec::new();
    if !is_megatron_legal(spec, g) {
        let why = if g < p {
            t!("group {g} is below the {p} ranks: Megatron-LM raises (Llama 3 allows it)", g, p)
        } else if g > m {
            t!("group {g} is above the {m} micro-batches: Megatron-LM raises", g, m)
        } else {
            t!(
                "the last group holds {g} of {m} micro-batches, fewer than the {p} ranks: Megatron-LM raises an error, \
                    and the short group causes a stall",
                g = m % g,
                m,
                p
            )
        };
        let legal = (1..=m).filter(|group| is_megatron_legal(spec, *group));
        let warning = Issue::warning("group", why);
        warnings.push(match legal.min_by_key(|group| group.abs_diff(g)) {
            Some(group) => warning.with_fix("group", group),
            None => warning,
        });
    }
    warnings.extend(warn_rounds(spec));
    if m > 1 && !m.is_multiple_of(p) {
        let message = t!("sail-sg's interleaving raises for {m} micro-batches on {p} ranks: it wants a multiple", m, p);
        let nearest = (m / p).max(1) * p;
        warnings.push(Issue::warning("microbatches", message).with_fix("microbatches", nearest));
    }
    warnings
}

/// True if PyTorch takes m micro-batches on p ranks: where m mod max(1, ⌊m/p⌋) = 0.
pub(crate) const fn takes_rounds(p: u32, m: u32) -> bool {
    m.is_multiple_of(rounds(p, m))
}

/// Rounds of PyTorch's interleaving, max(1, ⌊m/p⌋).
const fn rounds(p: u32, m: u32) -> u32 {
    if m < p { 1 } else { m / p }
}

/// The warning that PyTorch refuses m micro-batches.
pub(crate) fn warn_rounds(spec: &Spec) -> Option<Issue> {
    let (p, m) = (spec.pp, spec.microbatches);
    let rounds = rounds(p, m);
    if takes_rounds(p, m) {
        return None;
    }
    let nearest = m / rounds * rounds;
    let message = t!(
        "PyTorch raises for {m} micro-batches on {p} ranks: {m} does not divide into {rounds} equal rounds",
        m,
        p,
        rounds
    );
    Some(Issue::warning("microbatches", message).with_fix("microbatches", nearest))
}

/// Rank r: every micro-batch through chunk 0, then chunk 1, ...; backwards from the last chunk, last micro-batch first.
///
/// Source: Lamy-Poirier 2022; the backward order is PyTorch's `ScheduleLoopedBFS`.
pub(crate) fn looped_bfs(spec: &Spec) -> Order {
    let (p, m, v) = (spec.pp, spec.microbatches, spec.chunks());
    order(spec, |r| {
        let mut row = RankRow::default();
        for c in 0..v {
            row.repeat([Op::f(c * p + r, 0).into()], m, 1);
        }
        for c in (0..v).rev() {
            row.repeat([Op::bw(c * p + r, m - 1).into()], m, -1);
        }
        row
    })
}

/// As [`interleaved`] with g = p, one more warm-up forward and (F; BW) pairs in the steady state.
///
/// Source: Megatron Core's combined 1F1B (`overlap_moe_expert_parallel_comm`), as drawn by Victarry.
pub(crate) fn overlap(spec: &Spec) -> Result<Order, Issue> {
    let make = |spec: &Spec, g| visited(spec, g, |r| warm_up(spec, r, g, 2, 1), true);
    let order = make(spec, spec.pp);
    if runs(&order) {
        return Ok(order);
    }
    Err(dead_lock("microbatches", spec, spec.pp, make))
}

/// The visiting order with PyTorch's g = m / max(1, ⌊m/p⌋), warm-up (p − 1 − r) + (v − 1) g, backward cut in
/// two and W delayed by r backwards.
///
/// Source: PyTorch `ScheduleInterleavedZeroBubble`; with one chunk it is ZB-H1.
pub(crate) fn zero_bubble(spec: &Spec) -> Result<Order, Issue> {
    let make = |spec: &Spec, g: u32| {
        let visits = Visits::new(spec, g);
        order(spec, |r| {
            let f = |at| visits.forward(r, at);
            let b = |at| visits.backward(r, at, Op::b);
            let w = |at| visits.backward(r, at, Op::w);
            let lag = warm_up(spec, r, g, 1, 0);
            let strands = [Strand { lag: 0, op: &f }, Strand { lag, op: &b }, Strand { lag: lag + r, op: &w }];
            weave(visits.pattern(), &strands, false)
        })
    };
    let g = spec.microbatches / (spec.microbatches / spec.pp).max(1);
    let order = make(spec, g);
    if spec.microbatches.is_multiple_of(g) || runs(&order) {
        return Ok(order);
    }
    Err(dead_lock("microbatches", spec, g, make))
}

/// The warnings of [`overlap`].
pub(crate) fn warn_short_group(spec: &Spec) -> Vec<Issue> {
    let (p, m) = (spec.pp, spec.microbatches);
    if m % p == 0 {
        return Vec::new();
    }
    let message = t!(
        "the last group has only {left} of {p} micro-batches: Megatron-LM raises an error, and the short group causes \
            a stall",
        left = m % p,
        p
    );
    let nearest = (m / p).max(1) * p;
    vec![Issue::warning("microbatches", message).with_fix("microbatches", nearest)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Durations, build, schedule, stats::peak_in_flight};

    fn spec(p: u32, m: u32, v: u32, group: Option<u32>) -> Spec {
        Spec { virtual_stages: v, group, ..Spec::new(schedule("interleaved-1f1b").unwrap(), p, m) }
    }

    #[test]
    fn a_short_last_group_that_dead_locks_is_rejected_with_a_group_that_runs() {
        let spec = spec(8, 12, 4, None);
        let issue = build(&spec, &Durations::unit(32)).unwrap_err();
        assert_eq!(issue.field, "group");
        let (key, group) = issue.fix.unwrap().set.remove(0);
        assert_eq!(key, "group");
        let mended = Spec { group: Some(group.parse().unwrap()), ..spec };
        assert!(build(&mended, &Durations::unit(32)).is_ok());
    }

    /// 10 micro-batches are two groups of 4 and one of 2.
    #[test]
    fn a_short_group_names_what_it_has_and_what_a_group_has() {
        let [issue] = &warn_short_group(&spec(4, 10, 2, None))[..] else { panic!("one warning") };
        let words = issue.message.to_string();
        assert!(words.contains("has only 2 of 4 micro-batches"), "{words}");
    }

    #[test]
    fn one_chunk_is_an_error_that_offers_two() {
        let issue = build(&spec(4, 8, 1, None), &Durations::unit(4)).unwrap_err();
        assert_eq!(issue.field, "virtual_stages");
        assert_eq!(issue.fix.unwrap().set, [("virtual_stages", "2".to_owned())]);
    }

    #[test]
    fn the_first_rank_holds_as_korthikanti_prints() {
        // A (1 + (p − 1)/(p v)) in chunks of A/(p v): p v + p − 1.
        for (p, v) in [(4, 2), (8, 4), (3, 5)] {
            let order = build(&spec(p, 4 * p, v, None), &Durations::unit(p * v)).unwrap().order;
            assert_eq!(peak_in_flight(&order)[0], p * v + p - 1);
        }
    }
}
