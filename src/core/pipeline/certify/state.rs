//! Partly laid out orders as flat words, the earliest starts they leave, and a lower bound on every way to finish them.
//!
//! A state is what the future can see of the past: ops laid out of each chain, the clock of each rank, and for every
//! arc that crosses ranks the arrivals that its waiting chain has not used yet. One-machine bounds of each rank's
//! remaining ops depend on counts alone; they are kept with the state and renewed for the rank that moves. So is the
//! earliest start of every chain's next op, raised where the move raises it.

use super::memo::Memo;
use super::problem::{Chain, Problem, Ticks};
use super::room::Room;
use super::tails::Tails;

/// A chain without ops left starts never.
const NEVER: Ticks = Ticks::MAX / 2;

/// An arc into a chain.
#[derive(Clone, Copy, Debug)]
struct Wait {
    from: usize,
    lag: Ticks,
    offset: Ticks,
    /// Place of its arrivals; none where the clock of the rank already tells.
    ring: Option<Ring>,
}

/// Arrivals of an arc, by the op of the waiting chain modulo the size.
#[derive(Clone, Copy, Debug)]
struct Ring {
    at: usize,
    size: usize,
    /// The chain that waits.
    to: usize,
    offset: usize,
    lag: Ticks,
}

impl Ring {
    const fn place(self, op: usize) -> usize {
        self.at + op % self.size
    }
}

/// The problem as the search reads it.
#[derive(Clone, Debug)]
pub struct SearchProblem {
    problem: Problem,
    /// Tails of the same problem.
    pub tails: Tails,
    topological: Vec<usize>,
    by_rank: Vec<Vec<usize>>,
    waits: Vec<Vec<Wait>>,
    /// Rings that an op of a chain fills.
    fills: Vec<Vec<Ring>>,
    rings: Vec<Ring>,
    clocks: usize,
    left: usize,
    without: usize,
    starts: usize,
    /// Chains that wait for each chain.
    follows: Vec<Vec<usize>>,
    rooms: Vec<Room>,
    /// The room that each chain takes, if any.
    room_of: Vec<Option<usize>>,
    /// For each room, the chains whose next op waits until another op of the rank is laid out, as bits.
    waiting: usize,
    /// Words of a state.
    pub words: usize,
}

/// The least bound on every completion of a state, and the sum that orders states of equal bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Merit {
    /// No completion ends earlier.
    pub bound: Ticks,
    /// Sum of the parts of the bound: room that a completion has.
    pub score: Ticks,
}

/// An op that may be laid out next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextOp {
    pub chain: usize,
    pub start: Ticks,
}

impl SearchProblem {
    pub fn new(problem: &Problem) -> Self {
        let chains = problem.chains.len();
        let m = problem.microbatches as usize;
        let reach = problem.reach();
        let (clocks, left) = (chains, chains + problem.ranks);
        let without = left + problem.ranks;
        let starts = without + chains;
        let mut words = starts + chains;
        let (mut waits, mut fills) = (vec![Vec::new(); chains], vec![Vec::new(); chains]);
        let mut follows = vec![Vec::new(); chains];
        let mut rings = Vec::new();
        for arc in &problem.arcs {
            follows[arc.from].push(arc.to);
            let crosses = problem.chains[arc.from].rank != problem.chains[arc.to].rank || arc.lag > 0;
            let ring = crosses.then(|| {
                // Ops of `from` that may end before the waiting chain has used their arrivals.
                let lead = reach[arc.to][arc.from].map_or(m, |back| (back.offset + arc.offset) as usize);
                let size = lead.clamp(1, m) + 1;
                let ring = Ring { at: words, size, to: arc.to, offset: arc.offset as usize, lag: arc.lag };
                words += size;
                ring
            });
            waits[arc.to].push(Wait { from: arc.from, lag: arc.lag, offset: Ticks::from(arc.offset), ring });
            fills[arc.from].extend(ring);
            rings.extend(ring);
        }
        let tails = Tails::new(problem);
        let rooms = Room::of(problem, &tails, &reach);
        let mut room_of = vec![None; chains];
        for (at, room) in rooms.iter().enumerate() {
            for (takes, _) in room.chains() {
                room_of[takes] = Some(at);
                // Where room is full the one waits for whatever leaves first.
                for (_, frees) in room.chains() {
                    follows[frees].push(takes);
                }
            }
        }
        let waiting = words;
        words += rooms.len();
        Self {
            tails,
            rooms,
            room_of,
            waiting,
            topological: problem.topological(),
            by_rank: problem.chains_by_rank(),
            waits,
            fills,
            rings,
            clocks,
            left,
            without,
            starts,
            follows,
            words,
            problem: problem.clone(),
        }
    }

    pub const fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The state in which nothing is laid out.
    pub fn start(&self, memo: &mut Memo) -> Vec<Ticks> {
        let mut state = vec![0; self.words];
        for rank in 0..self.problem.ranks {
            self.renew(&mut state, rank, memo);
        }
        self.settle(&mut state, &mut self.topological.iter().rev().copied().collect());
        state
    }

    /// Ops laid out of each chain.
    pub fn counts<'a>(&self, state: &'a [Ticks]) -> &'a [Ticks] {
        &state[..self.clocks]
    }

    /// End of the last op so far.
    pub fn latest(&self, state: &[Ticks]) -> Ticks {
        state[self.clocks..self.left].iter().copied().max().unwrap_or(0)
    }

    /// The one-machine bounds of `rank`, which depend on its counts alone.
    fn renew(&self, state: &mut [Ticks], rank: usize, memo: &mut Memo) {
        let (counts, rest) = state.split_at_mut(self.clocks);
        rest[self.left - self.clocks + rank] = memo.left(&self.tails, rank, counts, None);
        let chains = &self.by_rank[rank];
        if chains.len() > 2 {
            for chain in chains {
                rest[self.without - self.clocks + chain] = memo.left(&self.tails, rank, counts, Some(*chain));
            }
        }
    }

    /// Lays out the next op of `choice.chain`; `open` is empty before and after.
    pub fn lay(&self, state: &mut [Ticks], choice: NextOp, memo: &mut Memo, open: &mut Vec<usize>) {
        let chain = self.problem.chains[choice.chain];
        let op = usize::try_from(state[choice.chain]).unwrap_or(0);
        let end = choice.start + chain.ticks;
        state[choice.chain] += 1;
        state[self.clocks + chain.rank] = end;
        for ring in &self.fills[choice.chain] {
            let waiting = op + ring.offset;
            if waiting < self.problem.microbatches as usize {
                state[ring.place(waiting)] = end + ring.lag;
            }
        }
        self.renew(state, chain.rank, memo);
        for (at, pool) in self.problem.pools.iter().enumerate() {
            if pool.rank == chain.rank {
                state[self.waiting + at] = 0;
            }
        }
        // Starts that count on the chain's next op hold where that begins at this end.
        let is_over = state[choice.chain] == Ticks::from(self.problem.microbatches);
        state[self.starts + choice.chain] = if is_over { NEVER } else { end };
        open.extend_from_slice(&self.by_rank[chain.rank]);
        self.settle(state, open);
    }

    /// Raises the earliest starts of the `open` chains, and of those that wait for them, until nothing changes.
    fn settle(&self, state: &mut [Ticks], open: &mut Vec<usize>) {
        while let Some(chain) = open.pop() {
            let k = state[chain];
            if k >= Ticks::from(self.problem.microbatches) {
                continue;
            }
            let before = state[self.starts + chain];
            let mut start = before.max(state[self.clocks + self.problem.chains[chain].rank]);
            if let Some(room) = self.room_of[chain].map(|at| &self.rooms[at])
                && room.is_full(state, chain)
            {
                start = start.max(room.leaves(self.starts(state)));
            }
            for wait in &self.waits[chain] {
                let lacking = k - wait.offset + 1 - state[wait.from];
                if lacking > 0 {
                    let duration = self.problem.chains[wait.from].ticks;
                    start = start.max(state[self.starts + wait.from] + lacking * duration + wait.lag);
                } else if k >= wait.offset
                    && let Some(ring) = wait.ring
                {
                    start = start.max(state[ring.place(usize::try_from(k).unwrap_or(0))]);
                }
            }
            if start > before {
                state[self.starts + chain] = start;
                open.extend_from_slice(&self.follows[chain]);
            }
        }
    }

    /// The earliest start of the next op of every chain, as far as arcs and clocks tell.
    fn starts<'a>(&self, state: &'a [Ticks]) -> &'a [Ticks] {
        &state[self.starts..self.starts + self.clocks]
    }

    pub fn merit(&self, state: &[Ticks]) -> Merit {
        let starts = self.starts(state);
        let (mut bound, mut score) = (self.latest(state), 0);
        for (chain, start) in starts.iter().enumerate() {
            if let Some(tau) = self.tails.tau[chain].get(usize::try_from(state[chain]).unwrap_or(0)) {
                bound = bound.max(start + tau);
                score += start + tau;
            }
        }
        for (rank, chains) in self.by_rank.iter().enumerate() {
            let (mut first, mut second, mut earliest) = (NEVER, NEVER, None);
            for &chain in chains {
                let start = starts[chain];
                if start < first {
                    (second, first, earliest) = (first, start, Some(chain));
                } else if start < second {
                    second = start;
                }
            }
            let Some(earliest) = earliest else { continue };
            let needed = first + state[self.left + rank];
            bound = bound.max(needed);
            score += needed;
            // Without the chain that could begin first the others begin later.
            if second < NEVER && chains.len() > 2 {
                bound = bound.max(second + state[self.without + earliest]);
            }
        }
        let mut ways = Vec::new();
        for room in &self.rooms {
            bound = bound.max(room.bound(state, starts, &self.tails, &mut ways));
        }
        Merit { bound, score }
    }

    /// The next op of `chain` has all that it waits for.
    fn is_ready(&self, state: &[Ticks], chain: usize) -> bool {
        let k = state[chain];
        k < Ticks::from(self.problem.microbatches)
            && self.waits[chain].iter().all(|wait| k - wait.offset < state[wait.from])
    }

    /// The ops of which one starts next in some active schedule (Giffler and Thompson): those on the rank where an op
    /// could end first that could start before that end. Returns the chain of that op.
    pub fn choices(&self, state: &[Ticks], found: &mut Vec<NextOp>) -> Option<usize> {
        let starts = self.starts(state);
        found.clear();
        let mut first: Option<(Ticks, usize)> = None;
        for (chain, start) in starts.iter().enumerate() {
            // What starts later than another one ends is not next.
            let is_early = *start < first.map_or(NEVER, |(earliest, _)| earliest);
            if is_early && self.is_ready(state, chain) && self.has_room(state, chain) {
                let end = start + self.problem.chains[chain].ticks;
                if first.is_none_or(|(earliest, _)| end < earliest) {
                    first = Some((end, chain));
                }
                found.push(NextOp { chain, start: *start });
            }
        }
        let (end, at) = first?;
        let rank = self.problem.chains[at].rank;
        found.retain(|choice| {
            choice.chain == at || self.problem.chains[choice.chain].rank == rank && choice.start < end
        });
        Some(at)
    }

    /// The room of the rank takes the next op of `chain`, if that takes room, and it need not wait.
    fn has_room(&self, state: &[Ticks], chain: usize) -> bool {
        self.room_of[chain].is_none_or(|at| {
            let room = &self.rooms[at];
            state[self.waiting + at] & room.bit(chain) == 0 && room.takes(state, chain)
        })
    }

    /// Makes the next op of `chain` wait until another one of its rank is laid out, if that may be better: moved to the
    /// front it ends before the other begins, but takes room that is needed. False where it frees room or takes none
    /// that is short.
    pub fn put_off(&self, state: &mut [Ticks], chain: usize, open: &mut Vec<usize>) -> bool {
        let Some(at) = self.room_of[chain].filter(|at| self.rooms[*at].may_wait(state, chain)) else { return false };
        let Chain { rank, ticks } = self.problem.chains[chain];
        let clock = self.clocks + rank;
        state[clock] = state[clock].max(state[self.starts + chain] + ticks);
        state[self.waiting + at] |= self.rooms[at].bit(chain);
        open.extend_from_slice(&self.by_rank[rank]);
        self.settle(state, open);
        true
    }

    /// `state` is no worse than `other`, which has the same counts and the bound `bound`: what follows `other` may
    /// follow `state` at the same times. No clock and no arrival is later, but for what no op of `other` can use so
    /// early: its rank or its chain waits for something else till then.
    pub fn dominates(&self, state: &[Ticks], other: &[Ticks], bound: Ticks) -> bool {
        if state[..self.clocks] != other[..self.clocks] {
            return false;
        }
        let rooms = self.waiting..self.waiting + self.rooms.len();
        if rooms.into_iter().any(|at| state[at] & !other[at] != 0) {
            return false;
        }
        let starts = self.starts(other);
        let clocks = self.by_rank.iter().enumerate().all(|(rank, chains)| {
            let (clock, others) = (state[self.clocks + rank], other[self.clocks + rank]);
            // A rank that has ended may not end after everything.
            clock <= others || clock <= chains.iter().map(|chain| starts[*chain]).fold(NEVER, Ticks::min).min(bound)
        });
        clocks
            && self.rings.iter().all(|ring| {
                let (ticks, count) = (self.problem.chains[ring.to].ticks, usize::try_from(state[ring.to]).unwrap_or(0));
                let mut start = starts[ring.to];
                (count..self.filled(ring, state)).all(|op| {
                    let place = ring.place(op);
                    let holds = op < ring.offset || state[place] <= other[place].max(start);
                    start += ticks;
                    holds
                })
            })
    }

    /// Distance of two states of the same counts: the sum of the differences of their times.
    pub fn distance(&self, state: &[Ticks], other: &[Ticks]) -> Ticks {
        let times = (self.clocks..self.left).chain(self.starts..self.starts + self.clocks);
        times.map(|at| (state[at] - other[at]).abs()).sum()
    }

    /// Merges `other`, a state with the same counts, into `state`: the result is no worse than either.
    pub fn merge(&self, state: &mut [Ticks], other: &[Ticks]) {
        for (at, (one, other)) in state.iter_mut().zip(other).enumerate().skip(self.clocks) {
            let is_bits = (self.waiting..self.waiting + self.rooms.len()).contains(&at);
            *one = if is_bits { *one & *other } else { (*one).min(*other) };
        }
    }

    /// Ops of the waiting chain whose arrivals are known.
    fn filled(&self, ring: &Ring, state: &[Ticks]) -> usize {
        let from = self.waits[ring.to].iter().find(|wait| wait.ring.is_some_and(|one| one.at == ring.at));
        let count = from.map_or(0, |wait| usize::try_from(state[wait.from]).unwrap_or(0));
        (count + ring.offset).min(self.problem.microbatches as usize)
    }
}
