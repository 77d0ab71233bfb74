//! Partly laid out orders as flat words, the earliest starts they leave, and a lower bound on every way to finish them.
//!
//! A state is what the future can see of the past: ops laid out of each chain, the clock of each rank, and for every
//! chain that another rank waits for the ends of its ops that are not used yet ([`Ends`]). One-machine bounds of each
//! rank's remaining ops depend on counts alone; they are kept with the state and renewed for the rank that moves. So
//! are the earliest start of every chain's next op, raised where the move raises it, and what each rank adds to the
//! bound.

use super::ends::Ends;
use super::memo::Memo;
use super::problem::{Chain, Problem, Ticks};
use super::room::{HolderWay, Room};
use super::tails::Tails;

/// A chain without ops left starts never.
const NEVER: Ticks = Ticks::MAX / 2;

/// An arc into a chain.
#[derive(Clone, Copy, Debug)]
struct Wait {
    from: usize,
    lag: Ticks,
    offset: Ticks,
    /// The word that says where the ends of `from` are; none where the clock of the rank already tells.
    ends: Option<usize>,
}

/// A chain whose ends other chains wait for.
#[derive(Clone, Debug)]
struct Source {
    chain: usize,
    /// The word that says where its ends are.
    at: usize,
    /// The arcs whose waiting chains read them.
    readers: Vec<Reader>,
}

impl Source {
    /// The first of its ops whose end a reader has not used yet.
    fn first_read(&self, state: &[Ticks]) -> Ticks {
        self.readers.iter().map(|reader| state[reader.to] - reader.offset).min().unwrap_or(0).max(0)
    }
}

/// A chain that reads the ends of another.
#[derive(Clone, Copy, Debug)]
struct Reader {
    to: usize,
    lag: Ticks,
    offset: Ticks,
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
    /// The word of each chain that says where its ends are, if others wait for them.
    ends_of: Vec<Option<usize>>,
    sources: Vec<Source>,
    clocks: usize,
    left: usize,
    without: usize,
    starts: usize,
    /// Chains that wait for each chain.
    follows: Vec<Vec<usize>>,
    rooms: Vec<Room>,
    /// The room that each chain takes, if any.
    room_of: Vec<Option<usize>>,
    /// The room of each rank, if its stages share one.
    room_at: Vec<Option<usize>>,
    /// For each room, the chains whose next op waits until another op of the rank is laid out, as bits.
    waiting: usize,
    /// For each room, what the counts of its rank tell of it ([`Room::counted`]).
    counted: usize,
    /// What each rank adds to the bound and to the score: see [`Merit`].
    bounds: usize,
    scores: usize,
    /// Words of a state.
    pub words: usize,
}

/// What laying out an op needs besides, kept from one to the next.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Chains whose earliest start may be raised; empty before and after.
    open: Vec<usize>,
    /// Ranks of which a start was raised, once each; empty before and after.
    moved: Vec<usize>,
    is_moved: Vec<bool>,
    ways: Vec<HolderWay>,
    times: Vec<Ticks>,
}

impl Scratch {
    fn note(&mut self, rank: usize) {
        if self.is_moved.len() <= rank {
            self.is_moved.resize(rank + 1, false);
        }
        if !self.is_moved[rank] {
            self.is_moved[rank] = true;
            self.moved.push(rank);
        }
    }
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

/// The arcs of a problem, as [`SearchProblem`] has them.
struct Arcs {
    waits: Vec<Vec<Wait>>,
    follows: Vec<Vec<usize>>,
    ends_of: Vec<Option<usize>>,
    sources: Vec<Source>,
}

impl Arcs {
    /// The arcs of `problem`; the words that say where the ends of the sources are begin with word `first`.
    fn of(problem: &Problem, first: usize) -> Self {
        let chains = problem.chains.len();
        let mut arcs = Self {
            waits: vec![Vec::new(); chains],
            follows: vec![Vec::new(); chains],
            ends_of: vec![None; chains],
            sources: Vec::new(),
        };
        for arc in &problem.arcs {
            arcs.follows[arc.from].push(arc.to);
            let crosses = problem.chains[arc.from].rank != problem.chains[arc.to].rank || arc.lag > 0;
            let offset = Ticks::from(arc.offset);
            let ends = crosses.then(|| {
                let source = arcs.source(arc.from, first);
                source.readers.push(Reader { to: arc.to, lag: arc.lag, offset });
                source.at
            });
            if ends.is_some() {
                arcs.ends_of[arc.from] = ends;
            }
            arcs.waits[arc.to].push(Wait { from: arc.from, lag: arc.lag, offset, ends });
        }
        arcs
    }

    /// The source that `chain` is, a new one where it was none.
    fn source(&mut self, chain: usize, first: usize) -> &mut Source {
        let known = self.sources.iter().position(|source| source.chain == chain);
        let place = known.unwrap_or_else(|| {
            self.sources.push(Source { chain, at: first + self.sources.len(), readers: Vec::new() });
            self.sources.len() - 1
        });
        &mut self.sources[place]
    }
}

impl SearchProblem {
    pub fn new(problem: &Problem) -> Self {
        let chains = problem.chains.len();
        let (clocks, left) = (chains, chains + problem.ranks);
        let without = left + problem.ranks;
        let starts = without + chains;
        let Arcs { waits, mut follows, ends_of, sources } = Arcs::of(problem, starts + chains);
        let tails = Tails::new(problem);
        let rooms = Room::of(problem, &tails, &problem.reach());
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
        let mut room_at = vec![None; problem.ranks];
        for (at, pool) in problem.pools.iter().enumerate() {
            room_at[pool.rank] = Some(at);
        }
        let waiting = starts + chains + sources.len();
        let counted = waiting + rooms.len();
        let bounds = counted + rooms.len();
        let scores = bounds + problem.ranks;
        Self {
            tails,
            rooms,
            room_of,
            room_at,
            waiting,
            counted,
            bounds,
            scores,
            topological: problem.topological(),
            by_rank: problem.chains_by_rank(),
            waits,
            ends_of,
            sources,
            clocks,
            left,
            without,
            starts,
            follows,
            words: scores + problem.ranks,
            problem: problem.clone(),
        }
    }

    pub const fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The state in which nothing is laid out.
    pub fn start(&self, memo: &mut Memo) -> Vec<Ticks> {
        let mut state = vec![0; self.words];
        let mut scratch = Scratch::default();
        for rank in 0..self.problem.ranks {
            self.renew(&mut state, rank, memo, &mut scratch.ways);
        }
        scratch.open.extend(self.topological.iter().rev());
        self.settle(&mut state, None, &Ends::default(), &mut scratch);
        self.rate_all(&mut state, &mut scratch);
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

    /// What depends on the counts of `rank` alone: its one-machine bounds, and what they tell of its room.
    fn renew(&self, state: &mut [Ticks], rank: usize, memo: &mut Memo, ways: &mut Vec<HolderWay>) {
        if let Some(at) = self.room_at[rank] {
            state[self.counted + at] = self.rooms[at].counted(state, &self.tails, ways);
        }
        let (counts, rest) = state.split_at_mut(self.clocks);
        rest[self.left - self.clocks + rank] = memo.left(&self.tails, rank, counts, None);
        let chains = &self.by_rank[rank];
        if chains.len() > 2 {
            for chain in chains {
                rest[self.without - self.clocks + chain] = memo.left(&self.tails, rank, counts, Some(*chain));
            }
        }
    }

    /// Lays out the next op of `choice.chain`.
    pub fn lay(&self, state: &mut [Ticks], choice: NextOp, memo: &mut Memo, ends: &mut Ends, scratch: &mut Scratch) {
        let chain = self.problem.chains[choice.chain];
        let end = choice.start + chain.ticks;
        state[choice.chain] += 1;
        state[self.clocks + chain.rank] = end;
        if let Some(at) = self.ends_of[choice.chain] {
            state[at] = ends.after(state[at], end);
        }
        self.renew(state, chain.rank, memo, &mut scratch.ways);
        if let Some(at) = self.room_at[chain.rank] {
            state[self.waiting + at] = 0;
        }
        // Starts that count on the chain's next op hold where that begins at this end.
        let is_over = state[choice.chain] == Ticks::from(self.problem.microbatches);
        state[self.starts + choice.chain] = if is_over { NEVER } else { end };
        scratch.note(chain.rank);
        scratch.open.extend_from_slice(&self.by_rank[chain.rank]);
        self.settle(state, Some(choice.chain), ends, scratch);
        self.rate_moved(state, scratch);
    }

    /// Raises the earliest starts of the open chains, and of those that wait for them, until nothing changes. The ends
    /// that the next op of a chain waits for are looked up once, when that of the `laid` chain becomes the next: those
    /// that are known later are what its start counted on.
    fn settle(&self, state: &mut [Ticks], laid: Option<usize>, ends: &Ends, scratch: &mut Scratch) {
        while let Some(chain) = scratch.open.pop() {
            let k = state[chain];
            if k >= Ticks::from(self.problem.microbatches) {
                continue;
            }
            let rank = self.problem.chains[chain].rank;
            let before = state[self.starts + chain];
            let mut start = before.max(state[self.clocks + rank]);
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
                } else if laid == Some(chain)
                    && k >= wait.offset
                    && let Some(at) = wait.ends
                {
                    start = start.max(ends.back(state[at], -lacking) + wait.lag);
                }
            }
            if start > before {
                state[self.starts + chain] = start;
                scratch.note(rank);
                scratch.open.extend_from_slice(&self.follows[chain]);
            }
        }
    }

    /// The earliest start of the next op of every chain, as far as arcs and clocks tell.
    fn starts<'a>(&self, state: &'a [Ticks]) -> &'a [Ticks] {
        &state[self.starts..self.starts + self.clocks]
    }

    pub fn merit(&self, state: &[Ticks]) -> Merit {
        let bound = state[self.bounds..self.scores].iter().copied().max().unwrap_or(0);
        Merit { bound, score: state[self.scores..].iter().sum() }
    }

    /// Updates the bounds of the ranks whose starts were raised.
    fn rate_moved(&self, state: &mut [Ticks], scratch: &mut Scratch) {
        let mut moved = std::mem::take(&mut scratch.moved);
        for rank in moved.drain(..) {
            scratch.is_moved[rank] = false;
            self.rate(state, rank, &mut scratch.ways);
        }
        scratch.moved = moved;
    }

    fn rate_all(&self, state: &mut [Ticks], scratch: &mut Scratch) {
        (0..self.problem.ranks).for_each(|rank| scratch.note(rank));
        self.rate_moved(state, scratch);
    }

    /// What `rank` adds to the bound: its clock, the tails of its next ops, all that it has left from the first of them
    /// on, and its room.
    fn rate(&self, state: &mut [Ticks], rank: usize, ways: &mut Vec<HolderWay>) {
        let starts = self.starts(state);
        let (mut bound, mut score) = (state[self.clocks + rank], 0);
        let chains = &self.by_rank[rank];
        let (mut first, mut second, mut earliest) = (NEVER, NEVER, None);
        for &chain in chains {
            let start = starts[chain];
            if let Some(tau) = self.tails.tau[chain].get(usize::try_from(state[chain]).unwrap_or(0)) {
                bound = bound.max(start + tau);
                score += start + tau;
            }
            if start < first {
                (second, first, earliest) = (first, start, Some(chain));
            } else if start < second {
                second = start;
            }
        }
        if let Some(earliest) = earliest {
            let needed = first + state[self.left + rank];
            bound = bound.max(needed);
            score += needed;
            // Without the chain that could begin first the others begin later.
            if second < NEVER && chains.len() > 2 {
                bound = bound.max(second + state[self.without + earliest]);
            }
        }
        if let Some(at) = self.room_at[rank] {
            bound = bound.max(self.rooms[at].bound(state, starts, state[self.counted + at], ways));
        }
        state[self.bounds + rank] = bound;
        state[self.scores + rank] = score;
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
    pub fn put_off(&self, state: &mut [Ticks], chain: usize, ends: &Ends, scratch: &mut Scratch) -> bool {
        let Some(at) = self.room_of[chain].filter(|at| self.rooms[*at].may_wait(state, chain)) else { return false };
        let Chain { rank, ticks } = self.problem.chains[chain];
        let clock = self.clocks + rank;
        state[clock] = state[clock].max(state[self.starts + chain] + ticks);
        state[self.waiting + at] |= self.rooms[at].bit(chain);
        scratch.note(rank);
        scratch.open.extend_from_slice(&self.by_rank[rank]);
        self.settle(state, None, ends, scratch);
        self.rate_moved(state, scratch);
        true
    }

    /// `state` is no worse than `other`, which has the same counts and the bound `bound`: what follows `other` may
    /// follow `state` at the same times. No clock and no arrival is later, but for what no op of `other` can use so
    /// early: its rank or its chain waits for something else till then.
    pub fn dominates(&self, state: &[Ticks], other: &[Ticks], bound: Ticks, ends: &Ends) -> bool {
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
            && self.sources.iter().all(|source| {
                let (one, another) = (state[source.at], other[source.at]);
                one == another || {
                    let last = state[source.chain];
                    let unused = usize::try_from(last - source.first_read(state)).unwrap_or(0);
                    let pairs = (1..).zip(ends.pairs(one, another).take(unused));
                    pairs.into_iter().all(|(back, (end, others))| {
                        let is_late = |reader: &Reader| self.waits_for(other, *reader, last - back, end);
                        end <= others || !source.readers.iter().any(is_late)
                    })
                }
            })
    }

    /// In `state` the reader of op `op` of another chain has not used its end, and could use an earlier one than `end`.
    fn waits_for(&self, state: &[Ticks], reader: Reader, op: Ticks, end: Ticks) -> bool {
        let (next, waiting) = (state[reader.to], op + reader.offset);
        let start = self.starts(state)[reader.to] + (waiting - next) * self.problem.chains[reader.to].ticks;
        waiting >= next && waiting < Ticks::from(self.problem.microbatches) && end + reader.lag > start
    }

    /// Distance of two states of the same counts: the sum of the differences of their times.
    pub fn distance(&self, state: &[Ticks], other: &[Ticks]) -> Ticks {
        let times = (self.clocks..self.left).chain(self.starts..self.starts + self.clocks);
        times.map(|at| (state[at] - other[at]).abs()).sum()
    }

    /// Merges `other`, a state with the same counts, into `state`: the result is no worse than either.
    pub fn merge(&self, state: &mut [Ticks], other: &[Ticks], ends: &mut Ends, scratch: &mut Scratch) {
        for at in (self.clocks..self.starts + self.clocks).chain(self.waiting..self.counted) {
            state[at] = if at < self.waiting { state[at].min(other[at]) } else { state[at] & other[at] };
        }
        for source in &self.sources {
            let unused = state[source.chain] - source.first_read(state);
            state[source.at] = ends.earlier(state[source.at], other[source.at], unused, &mut scratch.times);
        }
        self.rate_all(state, scratch);
    }

    /// Forgets the ends that no op of the `states` waits for.
    pub fn forget(&self, states: &mut [Ticks], ends: &mut Ends) {
        for state in states.chunks_exact(self.words) {
            for source in &self.sources {
                ends.mark(state[source.at], state[source.chain] - source.first_read(state));
            }
        }
        let places = ends.sweep();
        for state in states.chunks_exact_mut(self.words) {
            for source in &self.sources {
                state[source.at] = Ends::moved(&places, state[source.at]);
            }
        }
    }
}
