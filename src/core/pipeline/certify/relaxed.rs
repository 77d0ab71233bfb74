//! Bounds by some of the chains: the others run any number of ops at once.
//!
//! Where memory is short, ranks whose ops get into each other's way cost more than any of them alone. A problem of few
//! chains is soon solved: the others become lags of the arcs through them. Its least makespan bounds that of all. The
//! two chains of a rank whose ops overlap most in the order that was found are kept next.

use super::problem::{Arc, Chain, Pool, Problem, Ticks};

/// A problem of some of the chains of another.
#[derive(Clone, Debug)]
pub struct Few {
    kept: Vec<bool>,
    /// The chain that stands for each of the whole problem, where it is kept.
    places: Vec<Option<usize>>,
    /// The problem: its least makespan is a bound of the whole one's.
    pub problem: Problem,
}

impl Few {
    /// The problem of the chains that are `kept`.
    pub fn new(whole: &Problem, kept: Vec<bool>) -> Self {
        let (problem, places) = reduced(whole, &kept);
        Self { kept, places, problem }
    }

    /// One or two chains more: those of a rank whose ops overlap most where the kept chains start at `starts`. None
    /// where none overlap, or with them all are kept.
    pub fn with_next(&self, whole: &Problem, starts: &[Vec<Ticks>]) -> Option<Self> {
        let starts = self.every_start(whole, starts);
        let ops = |chain: usize| (&starts[chain][..], whole.chains[chain].ticks);
        let mut most = (0, 0, 0);
        for chains in whole.chains_by_rank() {
            for (at, &one) in chains.iter().enumerate() {
                for &other in chains[at..].iter().filter(|other| !(self.kept[one] && self.kept[**other])) {
                    most = most.max((overlap(ops(one), ops(other)), one, other));
                }
            }
        }
        let (late, one, other) = most;
        let mut kept = self.kept.clone();
        (kept[one], kept[other]) = (true, true);
        // Where a rank's stages share room all of them are kept.
        for pool in whole.pools.iter().filter(|pool| pool.rank == whole.chains[one].rank) {
            for (kept, chain) in kept.iter_mut().zip(&whole.chains) {
                *kept |= chain.rank == pool.rank;
            }
        }
        (late > 0 && kept.contains(&false)).then(|| Self::new(whole, kept))
    }

    /// The starts of all chains where the kept ones start at `starts` and the others as early as they may.
    fn every_start(&self, whole: &Problem, starts: &[Vec<Ticks>]) -> Vec<Vec<Ticks>> {
        let mut every: Vec<Vec<Ticks>> = vec![Vec::new(); whole.chains.len()];
        let topological = whole.topological();
        for k in 0..whole.microbatches as usize {
            for &chain in &topological {
                let end = |of: usize, op: usize| Some(every[of].get(op)? + whole.chains[of].ticks);
                let start = self.places[chain].map_or_else(
                    || {
                        let into = whole.arcs.iter().filter(|arc| arc.to == chain);
                        let ready =
                            into.filter_map(|arc| Some(end(arc.from, k.checked_sub(arc.offset as usize)?)? + arc.lag));
                        ready.chain(k.checked_sub(1).and_then(|before| end(chain, before))).max().unwrap_or(0)
                    },
                    |place| starts[place].get(k).copied().unwrap_or(0),
                );
                every[chain].push(start);
            }
        }
        every
    }
}

/// `whole` with only the chains that are `kept`, the first chain, and the last one of the longest way, which get a rank
/// of their own. A chain that waited for one that is left out waits for the chains that this one waited for.
fn reduced(whole: &Problem, kept: &[bool]) -> (Problem, Vec<Option<usize>>) {
    let reach = whole.reach();
    let first = whole.topological().first().copied().unwrap_or(0);
    let last = (0..whole.chains.len()).filter_map(|chain| {
        let way = reach[first][chain].filter(|way| way.offset == 0)?;
        Some((way.distance + whole.chains[chain].ticks, chain))
    });
    let last = last.max().map_or(first, |(_, chain)| chain);
    let stays = |chain: usize| kept[chain] || chain == first || chain == last;
    let mut arcs: Vec<Arc> = Vec::new();
    for arc in &whole.arcs {
        enter(whole, &mut arcs, *arc);
    }
    for chain in (0..whole.chains.len()).filter(|chain| !stays(*chain)) {
        let (through, others): (Vec<Arc>, Vec<Arc>) =
            arcs.into_iter().partition(|arc| arc.from == chain || arc.to == chain);
        arcs = others;
        for into in through.iter().filter(|arc| arc.from != chain) {
            for out in through.iter().filter(|arc| arc.to != chain) {
                let lag = into.lag + whole.chains[chain].ticks + out.lag;
                enter(whole, &mut arcs, Arc { from: into.from, to: out.to, lag, offset: into.offset + out.offset });
            }
        }
        reduce(whole, &mut arcs);
    }
    let mut places = vec![None; whole.chains.len()];
    let mut homes = vec![None; whole.ranks];
    let (mut chains, mut ranks) = (Vec::new(), 0);
    for (index, chain) in whole.chains.iter().enumerate().filter(|(index, _)| stays(*index)) {
        let no_home = &mut None;
        let home = if kept[index] { &mut homes[chain.rank] } else { no_home };
        let rank = *home.get_or_insert_with(|| {
            ranks += 1;
            ranks - 1
        });
        places[index] = Some(chains.len());
        chains.push(Chain { rank, ticks: chain.ticks });
    }
    let place = |chain: usize| places[chain].unwrap_or(0);
    let arcs = arcs.into_iter().map(|arc| Arc { from: place(arc.from), to: place(arc.to), ..arc }).collect();
    let pools = whole.pools.iter().filter_map(|pool| {
        let complete = pool.stages.iter().all(|(takes, frees, _)| kept[*takes] && kept[*frees]);
        let stages = pool.stages.iter().map(|(takes, frees, amount)| (place(*takes), place(*frees), *amount));
        complete.then(|| Pool { rank: homes[pool.rank].unwrap_or(0), stages: stages.collect(), ..*pool })
    });
    let pools = pools.collect();
    (Problem { ranks, microbatches: whole.microbatches, chains, arcs, pools }, places)
}

/// Adds an arc to those of `whole` unless another says as much, and takes out those that say less.
fn enter(whole: &Problem, arcs: &mut Vec<Arc>, arc: Arc) {
    if arc.offset < whole.microbatches && !arcs.iter().any(|one| says(whole, *one, arc)) {
        arcs.retain(|other| !says(whole, arc, *other));
        arcs.push(arc);
    }
}

/// The first arc implies the second: an earlier op of a chain ends a whole op before the next one does.
fn says(whole: &Problem, one: Arc, other: Arc) -> bool {
    let ticks = whole.chains[one.from].ticks.max(whole.chains[one.to].ticks);
    let more = Ticks::from(other.offset) - Ticks::from(one.offset);
    one.from == other.from && one.to == other.to && more >= 0 && one.lag + more * ticks >= other.lag
}

/// Takes out the arcs that two others imply.
fn reduce(whole: &Problem, arcs: &mut Vec<Arc>) {
    for at in (0..arcs.len()).rev() {
        let arc = arcs[at];
        let others = || arcs.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, other)| *other);
        let implied = others().filter(|one| one.from == arc.from).any(|one| {
            let ticks = whole.chains[one.to].ticks;
            others().filter(|two| two.from == one.to && two.to == arc.to).any(|two| {
                let both = Arc { lag: one.lag + ticks + two.lag, offset: one.offset + two.offset, ..arc };
                says(whole, both, arc)
            })
        });
        if implied {
            arcs.swap_remove(at);
        }
    }
}

/// Ticks in which ops of two chains run at once; of a chain with itself, in which an op runs when the next has begun.
/// Ops are starts, ascending, and a duration.
fn overlap((one, ticks): (&[Ticks], Ticks), (other, others): (&[Ticks], Ticks)) -> Ticks {
    let same = std::ptr::eq(one, other);
    let (mut sum, mut from) = (0, 0);
    for (at, start) in one.iter().enumerate() {
        if same {
            from = at + 1;
        }
        while other.get(from).is_some_and(|begin| begin + others <= *start) {
            from += 1;
        }
        for begin in other[from..].iter().take_while(|begin| **begin < start + ticks) {
            sum += (begin + others).min(start + ticks) - begin.max(start);
        }
    }
    sum
}
