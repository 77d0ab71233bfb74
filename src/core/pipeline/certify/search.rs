//! Order and proof together: narrow searches find an order, wide ones prove how good it is, from both ends of the step.

use super::beam::{Beam, First};
use super::memo::Memo;
use super::problem::{Problem, Ticks};
use super::relaxed::Few;
use super::root::both_sides;
use super::state::SearchProblem;

/// Runs of the beam: states kept in a layer, the limit, and which are kept first. Each is from both sides; the last,
/// from the first side alone, is repeated while it proves more.
const ROUNDS: [(usize, Limit, First); 8] = [
    (1, Limit::Bound, First::Bound),
    (1, Limit::Best, First::Bound),
    (16, Limit::Bound, First::Bound),
    (16, Limit::Best, First::Bound),
    (16, Limit::Best, First::Score),
    (512, Limit::Between, First::Bound),
    (512, Limit::Best, First::Bound),
    (512, Limit::Between, First::Bound),
];

/// A makespan and a lower bound this close (one in 20,000) are the same: rounding to ticks moves them no further apart.
const CLOSE: Ticks = 20_000;

/// The run of the beam before which bounds by some of the chains are looked for; earlier where half of the work is
/// done. Of some of the chains these are the runs that find an order.
const FEW_AT: usize = 10;

/// States of some of the chains that are kept in a layer, and of the same counts; more of these are merged.
const FEW_WIDTH: usize = 600;
const FEW_ALIKE: usize = 16;

/// One of the two directions: its problem with tails, and what was computed of it.
#[derive(Clone, Debug)]
struct Side {
    layout: SearchProblem,
    memo: Memo,
}

/// Search for the order of a [`Problem`] with the least makespan.
#[derive(Clone, Debug)]
pub struct OrderSearch {
    sides: [Side; 2],
    /// No order takes less.
    pub lower: Ticks,
    /// The best order: its makespan and its ops as chains in the order of their starts.
    pub best: Option<(Ticks, Vec<u16>)>,
    /// Every order that a run of the beam found.
    pub orders: Vec<Vec<u16>>,
    /// States generated.
    pub children: u64,
    budget: u64,
    stage: usize,
    beam: Option<Beam>,
    /// The problem of some of the chains that is searched; it is looked for once.
    few: Option<Box<FewRun>>,
    few_children: Option<u64>,
    over: bool,
}

/// Some of the chains: narrow searches find an order, then a merging run of the beam bounds all.
#[derive(Clone, Debug)]
struct FewRun {
    few: Few,
    search: OrderSearch,
}

/// One run of the beam: width, side, and how far from the lower bound to the best order its limit is.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    width: usize,
    side: usize,
    limit: Limit,
    first: First,
}

/// The longest order that a run of the beam looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// As long as the lower bound.
    Bound,
    /// Half way: either there is such an order, or the bound rises as far.
    Between,
    /// Shorter than the best.
    Best,
}

impl OrderSearch {
    /// A search that generates `budget` states, then ends as soon as it has an order.
    pub fn new(problem: &Problem, budget: u64) -> Self {
        let (layouts, lower) = both_sides(problem);
        let sides = layouts.map(|layout| Side { memo: Memo::new(layout.problem()), layout });
        Self {
            sides,
            lower,
            best: None,
            orders: Vec::new(),
            children: 0,
            budget,
            stage: 0,
            beam: None,
            few: None,
            few_children: (problem.ranks > 2).then_some(0),
            over: false,
        }
    }

    /// Takes an order that is known.
    pub fn start_from(&mut self, order: Vec<u16>) {
        if let Some(makespan) = replay(self.sides[0].layout.problem(), &order)
            && self.best.as_ref().is_none_or(|(best, _)| makespan < *best)
        {
            self.best = Some((makespan, order));
        }
    }

    /// The order takes as long as the bound.
    pub fn is_closed(&self) -> bool {
        self.best.as_ref().is_some_and(|(makespan, _)| makespan - self.lower <= makespan / CLOSE)
    }

    /// Works on; true once the search is over.
    pub fn step(&mut self) -> bool {
        if self.over || self.is_closed() {
            return true;
        }
        let is_time = self.stage == FEW_AT || self.children >= self.budget / 2;
        if is_time && self.beam.is_none() && self.few_children.is_some() {
            self.search_few();
            return self.is_closed();
        }
        let attempt = self.attempt();
        let side = &mut self.sides[attempt.side];
        let mut beam = self.beam.take().unwrap_or_else(|| {
            let limit = match (attempt.limit, &self.best) {
                (Limit::Best, Some((makespan, _))) => makespan - 1 - makespan / (2 * CLOSE),
                (Limit::Best, None) => Ticks::MAX - 1,
                (Limit::Between, Some((makespan, _))) => self.lower + (makespan - self.lower) / 2,
                (Limit::Bound, _) | (Limit::Between, None) => self.lower,
            };
            Beam::new(&side.layout, &mut side.memo, attempt.width, limit).keeping(attempt.first)
        });
        let before = beam.children;
        let ended = beam.advance(&side.layout, &mut side.memo);
        self.children += beam.children - before;
        if self.children >= self.budget {
            beam.hurry();
        }
        let Some(ended) = ended else {
            self.beam = Some(beam);
            return false;
        };
        if let Some((_, mut order)) = ended.found {
            if attempt.side == 1 {
                order.reverse();
            }
            self.orders.push(order.clone());
            self.start_from(order);
        }
        let best = self.best.as_ref().map_or(Ticks::MAX, |(makespan, _)| *makespan);
        let before = self.lower;
        if beam.dropped < Ticks::MAX {
            self.lower = self.lower.max(beam.dropped.min(best));
        }
        let last = 2 * (ROUNDS.len() - 1);
        if self.stage < last {
            self.stage += 1;
        }
        let spent = self.children >= self.budget && (self.best.is_some() || self.stage == last);
        let stuck = self.stage == last && self.lower == before;
        self.over = spent || stuck;
        self.over || self.is_closed()
    }

    /// Works on the bound by some of the chains. Chains are added until three quarters of the limit of work are done
    /// once more; the last problem ends at five quarters.
    fn search_few(&mut self) {
        let whole = self.sides[0].layout.problem();
        let most = self.best.as_ref().map_or(Ticks::MAX - 1, |(makespan, _)| *makespan);
        let begun = |few: Few, lower: Ticks| {
            let mut search = Self { few_children: None, ..Self::new(&few.problem, self.budget) };
            search.lower = search.lower.max(lower);
            Some(Box::new(FewRun { few, search }))
        };
        // The rank of the longest way back comes first, then whichever is in the way.
        let Some(mut run) = self.few.take() else {
            let kept = whole.chains.iter().map(|chain| chain.rank == 0).collect();
            self.few = begun(Few::new(whole, kept), self.lower);
            return;
        };
        let FewRun { few, search } = &mut *run;
        let before = search.children;
        let over = search.step_few(most);
        // A state of few chains is less work.
        let more = (search.children - before) * few.problem.chains.len() as u64 / whole.chains.len() as u64;
        self.children += more;
        self.lower = self.lower.max(search.lower).min(most);
        let spent = self.few_children.unwrap_or(0) + more;
        // The last problem is given up where it takes too much.
        self.few_children = Some(spent).filter(|spent| *spent <= self.budget * 5 / 4);
        if !over {
            self.few = Some(run);
            return;
        }
        let next = search.best.as_ref().and_then(|(_, order)| few.with_next(whole, &starts(&few.problem, order)?));
        self.few = next.filter(|_| spent < self.budget * 3 / 4).and_then(|next| begun(next, self.lower));
        if self.few.is_none() {
            self.few_children = None;
        }
    }

    /// Works on as a search of some of the chains of a problem of which an order of `most` is known; true once it is
    /// over.
    fn step_few(&mut self, most: Ticks) -> bool {
        if self.stage < FEW_AT {
            return self.step();
        }
        let Side { layout, memo } = &mut self.sides[0];
        let most = self.best.as_ref().map_or(most, |(makespan, _)| most.min(*makespan));
        let mut beam =
            self.beam.take().unwrap_or_else(|| Beam::new(layout, memo, FEW_WIDTH, most - 1).merging(FEW_ALIKE));
        let before = beam.children;
        let ended = beam.advance(layout, memo);
        self.children += beam.children - before;
        let Some(ended) = ended else {
            // Whatever follows comes from a state of this layer or from one that was dropped.
            self.lower = self.lower.max(beam.least.min(beam.dropped).min(most));
            self.beam = Some(beam);
            return false;
        };
        let least = ended.found.as_ref().map_or(Ticks::MAX, |(makespan, _)| *makespan);
        self.lower = self.lower.max(least.min(beam.dropped).min(most));
        if let Some((_, order)) = ended.found {
            self.start_from(order);
        }
        true
    }

    fn attempt(&self) -> Attempt {
        let round = self.stage / 2;
        let (width, limit, first) = ROUNDS[round.min(ROUNDS.len() - 1)];
        Attempt { width, side: self.stage % 2, limit, first }
    }

    pub fn finish(&mut self) {
        while !self.step() {}
    }
}

/// The makespan of `order`, each op as early as arcs and its rank allow; none where an op comes before what it waits
/// for or finds no room.
pub fn replay(problem: &Problem, order: &[u16]) -> Option<Ticks> {
    let starts = starts(problem, order)?;
    let ends = starts.iter().zip(&problem.chains).filter_map(|(starts, chain)| Some(starts.last()? + chain.ticks));
    Some(ends.max().unwrap_or(0))
}

/// The starts of the ops of every chain.
fn starts(problem: &Problem, order: &[u16]) -> Option<Vec<Vec<Ticks>>> {
    let mut starts: Vec<Vec<Ticks>> = vec![Vec::new(); problem.chains.len()];
    let mut clocks = vec![0; problem.ranks];
    let into = |chain: usize| problem.arcs.iter().filter(move |arc| arc.to == chain).copied().collect::<Vec<_>>();
    let arcs: Vec<Vec<_>> = (0..problem.chains.len()).map(into).collect();
    for &index in order {
        let index = usize::from(index);
        let chain = problem.chains.get(index)?;
        let k = starts[index].len();
        let mut start: Ticks = clocks[chain.rank];
        for arc in &arcs[index] {
            if let Some(before) = k.checked_sub(arc.offset as usize) {
                start = start.max(starts[arc.from].get(before)? + problem.chains[arc.from].ticks + arc.lag);
            }
        }
        for pool in &problem.pools {
            let taken = |(takes, frees, amount): &(usize, usize, u32)| {
                (starts[*takes].len() - starts[*frees].len()) * *amount as usize
            };
            let takes = pool.stages.iter().find(|(takes, _, _)| *takes == index);
            let taken: usize = pool.stages.iter().map(taken).sum();
            if takes.is_some_and(|(_, _, amount)| taken + *amount as usize > pool.room as usize) {
                return None;
            }
        }
        starts[index].push(start);
        clocks[chain.rank] = start + chain.ticks;
    }
    starts.iter().all(|starts| starts.len() == problem.microbatches as usize).then_some(starts)
}
