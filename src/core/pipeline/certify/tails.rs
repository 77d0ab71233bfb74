//! Proven least times from an op to the end of everything, by backward induction with the one-machine bound.
//!
//! tau(x) is at least: the op's duration and tau of whatever must follow it; and for every rank j, the distance d to
//! the ops D on j that must follow x, and what j needs for them. That is J(D): all of D free at once, each y delivered
//! q(y) = tau(y) − its duration after its end. Run by longest q first, J = max over the sequence of
//! (durations so far + q): optimal for this relaxation by exchange, so a valid bound. Sorted by tau instead it would be
//! no bound at all.

use super::problem::{Problem, Reach, Ticks};
use crate::sort::{sort, sort_by};
use std::collections::HashMap;

/// The tails of every op, and what computes J of them.
#[derive(Clone, Debug)]
pub struct Tails {
    /// tau by chain and micro-batch.
    pub tau: Vec<Vec<Ticks>>,
    durations: Vec<Ticks>,
    by_rank: Vec<Vec<usize>>,
    microbatches: usize,
    /// Ops of every rank in the order of J.
    sequences: Vec<Vec<Op>>,
}

/// An op, and the least time from its end to the end of everything.
#[derive(Clone, Copy, Debug)]
struct Op {
    behind: Ticks,
    chain: usize,
    microbatch: Ticks,
}

impl Tails {
    /// The tails of `problem`; pools are left out, which keeps them true.
    ///
    /// J is computed for the last micro-batches only, as many as a limit of work allows. One micro-batch more in front
    /// puts one op more of every chain into a rank's sequence; where the prefix that gave J held an op of a chain, the
    /// new op has a longer tail and lies in the prefix too: J grows by its duration at least.
    pub fn new(problem: &Problem) -> Self {
        Self::with_depth(problem, depth(problem))
    }

    /// The tails with J computed for the last `depth` micro-batches.
    pub fn with_depth(problem: &Problem, depth: usize) -> Self {
        let m = problem.microbatches as usize;
        let mut tails = Self {
            tau: problem.chains.iter().map(|chain| vec![chain.ticks; m]).collect(),
            durations: problem.chains.iter().map(|chain| chain.ticks).collect(),
            by_rank: problem.chains_by_rank(),
            microbatches: m,
            sequences: Vec::new(),
        };
        let reach = problem.reach();
        let (mut sets, following) = sets(&tails.by_rank, &reach);
        let mut order = problem.topological();
        order.reverse();
        let mut out = vec![Vec::new(); problem.chains.len()];
        for arc in &problem.arcs {
            out[arc.from].push(*arc);
        }
        for k in (0..m).rev() {
            // Micro-batches beyond those of which J is computed.
            let beyond =
                (m - k).checked_sub(depth).and_then(|more| Ticks::try_from(more).ok()).filter(|more| *more > 0);
            if beyond == Some(1) {
                for set in &mut sets {
                    set.extended = tails.jackson_prefix(&set.chains, k + 1);
                }
            }
            for set in &mut sets {
                set.needed = None;
            }
            // The second round uses what the first found for the same micro-batch.
            for _ in 0..2 {
                for &chain in &order {
                    let duration = tails.durations[chain];
                    let mut tau = tails.tau[chain][k];
                    if k + 1 < m {
                        tau = tau.max(duration + tails.tau[chain][k + 1]);
                    }
                    for arc in &out[chain] {
                        if let Some(next) = tails.tau[arc.to].get(k + arc.offset as usize) {
                            tau = tau.max(duration + arc.lag + next);
                        }
                    }
                    tails.tau[chain][k] = tau;
                    for (distance, set) in &following[chain] {
                        let set = &mut sets[*set];
                        let from = |(chain, offset): &(usize, u32)| (*chain, k + *offset as usize);
                        let needed = *set.needed.get_or_insert_with(|| match (beyond, set.extended) {
                            (None, _) => tails.jackson(set.chains.iter().map(from)),
                            (Some(more), (needed, each)) => needed + more * each,
                        });
                        if needed > 0 {
                            tau = tau.max(distance + needed);
                        }
                    }
                    tails.tau[chain][k] = tau;
                }
            }
        }
        tails.sequences = tails.by_rank.iter().map(|chains| tails.sequence(chains)).collect();
        tails
    }

    fn sequence(&self, chains: &[usize]) -> Vec<Op> {
        let ops = chains.iter().flat_map(|&chain| {
            let behind = self.tau[chain].iter().map(move |tau| tau - self.durations[chain]);
            (0..).zip(behind).map(move |(microbatch, behind)| Op { behind, chain, microbatch })
        });
        let mut ops: Vec<Op> = ops.collect();
        sort_by(&mut ops, |one, other| other.behind.cmp(&one.behind));
        ops
    }

    /// Duration of an op of each chain.
    pub fn durations(&self) -> &[Ticks] {
        &self.durations
    }

    /// J: least time from now to the end for one rank that has to run some of its chains, each from a micro-batch on.
    pub fn jackson(&self, from: impl Iterator<Item = (usize, usize)>) -> Ticks {
        let mut heads = [(0usize, 0usize); MOST_CHAINS];
        let mut count = 0;
        for head in from.filter(|(_, k)| *k < self.microbatches) {
            heads[count] = head;
            count += 1;
        }
        let heads = &mut heads[..count];
        let (mut sum, mut longest) = (0, 0);
        loop {
            let mut best: Option<(Ticks, usize)> = None;
            for (at, (chain, k)) in heads.iter().enumerate() {
                if let Some(tau) = self.tau[*chain].get(*k) {
                    let q = tau - self.durations[*chain];
                    if best.is_none_or(|(most, _)| q > most) {
                        best = Some((q, at));
                    }
                }
            }
            let Some((q, at)) = best else { return longest };
            sum += self.durations[heads[at].0];
            longest = longest.max(sum + q);
            heads[at].1 += 1;
        }
    }

    /// J of the ops of chains, each from its number of micro-batches after `k` on, and the durations of the chains of
    /// which the sequence that gave it holds an op.
    fn jackson_prefix(&self, chains: &[(usize, u32)], k: usize) -> (Ticks, Ticks) {
        let mut ops: Vec<(Ticks, usize)> = Vec::new();
        for (chain, offset) in chains {
            let left = self.tau[*chain].iter().skip(k + *offset as usize);
            ops.extend(left.map(|tau| (tau - self.durations[*chain], *chain)));
        }
        sort_by(&mut ops, |one, other| other.cmp(one));
        let (mut sum, mut longest, mut length) = (0, 0, 0);
        for (at, (q, chain)) in ops.iter().enumerate() {
            sum += self.durations[*chain];
            if sum + q >= longest {
                (longest, length) = (sum + q, at + 1);
            }
        }
        let counted = chains.iter().filter(|(chain, _)| ops[..length].iter().any(|(_, other)| other == chain));
        (longest, counted.map(|(chain, _)| self.durations[*chain]).sum())
    }

    /// J of the ops of `rank` that `counts` (by chain) leaves, with the chains left out that `skipped` names.
    pub fn left(&self, rank: usize, counts: &[Ticks], skipped: Option<usize>) -> Ticks {
        let left = |op: &&Op| op.microbatch >= counts[op.chain] && Some(op.chain) != skipped;
        let ends = self.sequences[rank].iter().filter(left).scan(0, |sum, op| {
            *sum += self.durations[op.chain];
            Some(*sum + op.behind)
        });
        ends.max().unwrap_or(0)
    }
}

/// Work of a table of tails at most: pairs of chains times micro-batches squared.
const WORK: usize = 2_000_000;

/// Micro-batches from the end of which J is computed.
fn depth(problem: &Problem) -> usize {
    let pairs = (problem.chains.len() * problem.chains.len()).max(1);
    (WORK / pairs).isqrt().max(2)
}

/// Chains of a rank at most: three kinds of sixteen chunks.
pub const MOST_CHAINS: usize = 48;

/// Ops on one rank that must follow others: of which many ops share the same.
struct Set {
    /// Chains, and from how many micro-batches later on.
    chains: Vec<(usize, u32)>,
    /// J for the micro-batch at hand, once it is known.
    needed: Option<Ticks>,
    /// J at the first micro-batch that is not computed whole, and its growth from there.
    extended: (Ticks, Ticks),
}

/// The sets of the followers of every chain, each once, and for every chain the distances to its sets. On each rank a
/// chain has all that follow it, then those without the nearest: fewer ops, but later.
fn sets(by_rank: &[Vec<usize>], reach: &[Vec<Option<Reach>>]) -> (Vec<Set>, Vec<Vec<(Ticks, usize)>>) {
    let mut places: HashMap<Vec<(usize, u32)>, usize> = HashMap::new();
    let mut sets = Vec::new();
    let following = reach.iter().map(|reach| {
        let mut mine = Vec::new();
        for chains in by_rank {
            let found = chains.iter().filter_map(|chain| reach[*chain].map(|to| (to.distance, *chain, to.offset)));
            let mut found: Vec<(Ticks, usize, u32)> = found.collect();
            sort(&mut found);
            for first in 0..found.len() {
                let rest = &found[first..];
                if first > 0 && found[first - 1].0 == rest[0].0 || rest.len() == 1 {
                    continue;
                }
                let mut chains: Vec<(usize, u32)> = rest.iter().map(|(_, chain, offset)| (*chain, *offset)).collect();
                sort(&mut chains);
                let place = *places.entry(chains.clone()).or_insert_with(|| {
                    sets.push(Set { chains, needed: None, extended: (0, 0) });
                    sets.len() - 1
                });
                mine.push((rest[0].0, place));
            }
        }
        mine
    });
    let following = following.collect();
    (sets, following)
}
