//! Order and proof together: narrow searches find an order, wide ones prove how good it is, from both ends of the step.

use super::beam::Beam;
use super::memo::Memo;
use super::problem::{Problem, Ticks};
use super::root::both_sides;
use super::state::Layout;

/// States kept in a layer, from the first search to the last.
const WIDTHS: [usize; 3] = [1, 16, 128];

/// A makespan and a lower bound this close (one in 20,000) are the same: rounding to ticks moves them no further apart.
const CLOSE: Ticks = 20_000;

/// One of the two directions: its problem with tails, and what was computed of it.
#[derive(Clone, Debug)]
struct Side {
    layout: Layout,
    memo: Memo,
}

/// Search for the order of a [`Problem`] with the least makespan.
#[derive(Clone, Debug)]
pub struct Search {
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
    over: bool,
}

/// One run of the beam: width, side, and the limit is the lower bound (else below the best order).
#[derive(Clone, Copy, Debug)]
struct Attempt {
    width: usize,
    side: usize,
    at_bound: bool,
}

impl Search {
    /// A search that generates `budget` states, then ends as soon as it has an order.
    #[must_use]
    pub fn new(problem: &Problem, budget: u64) -> Self {
        // Shared room has no mirror image: from the other side there is only the bound.
        let (layouts, lower) = both_sides(problem);
        let sides = layouts.map(|layout| Side { memo: Memo::new(layout.problem()), layout });
        Self { sides, lower, best: None, orders: Vec::new(), children: 0, budget, stage: 0, beam: None, over: false }
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
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.best.as_ref().is_some_and(|(makespan, _)| makespan - self.lower <= makespan / CLOSE)
    }

    /// Works on; true once the search is over.
    pub fn step(&mut self) -> bool {
        if self.over || self.is_closed() {
            return true;
        }
        let attempt = self.attempt();
        let side = &mut self.sides[attempt.side];
        let mut beam = self.beam.take().unwrap_or_else(|| {
            let limit = match &self.best {
                Some((makespan, _)) if !attempt.at_bound => makespan - 1 - makespan / (2 * CLOSE),
                None if !attempt.at_bound => Ticks::MAX - 1,
                _ => self.lower,
            };
            Beam::new(&side.layout, &mut side.memo, attempt.width, limit)
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
        // Where room is shared, active schedules are not all that may be optimal: a forward may have to wait for another stage's.
        // The other side has no pools: what it proves of less holds.
        let proves = self.sides[attempt.side].layout.problem().pools.is_empty();
        if proves && beam.dropped < Ticks::MAX {
            self.lower = self.lower.max(beam.dropped.min(best));
        }
        let last = WIDTHS.len() * 4;
        if self.stage < last {
            self.stage += 1;
        }
        let spent = self.children >= self.budget && (self.best.is_some() || self.stage == last);
        let stuck = self.stage == last && self.lower == before;
        self.over = spent || stuck;
        self.over || self.is_closed()
    }

    fn attempt(&self) -> Attempt {
        let width = WIDTHS[(self.stage / 4).min(WIDTHS.len() - 1)];
        let last = self.stage >= WIDTHS.len() * 4;
        Attempt { width, side: self.stage % 2, at_bound: last || self.stage % 4 < 2 }
    }

    /// Works until the search is over.
    pub fn finish(&mut self) {
        while !self.step() {}
    }
}

/// The makespan of `order`, each op as early as arcs and its rank allow; none where an op comes before what it waits for or
/// finds no room.
#[must_use]
pub fn replay(problem: &Problem, order: &[u16]) -> Option<Ticks> {
    let mut ends: Vec<Vec<Ticks>> = vec![Vec::new(); problem.chains.len()];
    let mut clocks = vec![0; problem.ranks];
    let mut latest = 0;
    let into = |chain: usize| problem.arcs.iter().filter(move |arc| arc.to == chain).copied().collect::<Vec<_>>();
    let arcs: Vec<Vec<_>> = (0..problem.chains.len()).map(into).collect();
    for &index in order {
        let index = usize::from(index);
        let chain = problem.chains.get(index)?;
        let k = ends[index].len();
        let mut start: Ticks = clocks[chain.rank];
        for arc in &arcs[index] {
            if let Some(before) = k.checked_sub(arc.offset as usize) {
                start = start.max(ends[arc.from].get(before)? + arc.lag);
            }
        }
        for pool in &problem.pools {
            let taken = |(takes, frees, amount): &(usize, usize, u32)| {
                (ends[*takes].len() - ends[*frees].len()) * *amount as usize
            };
            let takes = pool.stages.iter().find(|(takes, _, _)| *takes == index);
            let taken: usize = pool.stages.iter().map(taken).sum();
            if takes.is_some_and(|(_, _, amount)| taken + *amount as usize > pool.room as usize) {
                return None;
            }
        }
        ends[index].push(start + chain.ticks);
        clocks[chain.rank] = start + chain.ticks;
        latest = latest.max(start + chain.ticks);
    }
    ends.iter().all(|ends| ends.len() == problem.microbatches as usize).then_some(latest)
}
