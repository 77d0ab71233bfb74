//! Room that several stages of a rank share, as the search reads it.
//!
//! The ops of a rank run one after another, so its room is full or not by its own order alone. Two things follow that arcs do
//! not tell. A micro-batch that has been through one stage and not yet through another on the same rank needs room there
//! before it can leave; where too many wait so, none leaves ([`Room::takes`]). And room times time is enough for all: each
//! place is held by one micro-batch after another, each for its round trip at least ([`Room::bound`]).

use super::problem::{Pool, Problem, Reach, Ticks};
use super::tails::Tails;

/// A pool and the ways between its chains.
#[derive(Clone, Debug)]
pub struct Room {
    size: Ticks,
    holders: Vec<Holder>,
    /// The least tails after a round trip of all that is ever held, ascending, one for each unit of room; and their sum.
    tails: Vec<Ticks>,
    tail: Ticks,
    microbatches: Ticks,
}

/// Activations of a stage.
#[derive(Clone, Debug)]
struct Holder {
    takes: usize,
    frees: usize,
    amount: Ticks,
    /// Durations of an op that takes and of one that frees.
    ticks: [Ticks; 2],
    /// Least time from the start of the op that takes to the end of the one that frees.
    life: Ticks,
    /// For every other holder: its micro-batches that may come before one of this stage are those that came through this stage.
    leads: Vec<bool>,
    /// For every other holder: what this stage holds leaves only after the same micro-batch found room there.
    needs: Vec<bool>,
}

impl Room {
    pub fn of(problem: &Problem, tails: &Tails, reach: &[Vec<Option<Reach>>]) -> Vec<Self> {
        problem.pools.iter().map(|pool| Self::new(problem, pool, tails, reach)).collect()
    }

    fn new(problem: &Problem, pool: &Pool, tails: &Tails, reach: &[Vec<Option<Reach>>]) -> Self {
        let at_once = |from: usize, to: usize| reach[from][to].filter(|way| way.offset == 0);
        let others = || pool.stages.iter().map(|(other, ..)| *other);
        let holder = |&(takes, frees, amount): &(usize, usize, u32)| {
            let ticks = [takes, frees].map(|chain| problem.chains[chain].ticks);
            Holder {
                takes,
                frees,
                amount: Ticks::from(amount),
                ticks,
                life: at_once(takes, frees).map_or(0, |way| way.distance) + ticks[1],
                leads: others().map(|other| at_once(takes, other).is_some()).collect(),
                needs: others().map(|other| at_once(other, frees).is_some()).collect(),
            }
        };
        let holders: Vec<Holder> = pool.stages.iter().map(holder).collect();
        let mut least: Vec<Ticks> = Vec::new();
        for holder in &holders {
            for (taken, freed) in tails.tau[holder.takes].iter().zip(&tails.tau[holder.frees]) {
                let tail = (taken - holder.life).max(freed - holder.ticks[1]);
                least.extend((0..holder.amount).map(|_| tail));
            }
        }
        crate::sort::sort(&mut least);
        least.truncate(pool.room as usize);
        Self {
            size: Ticks::from(pool.room),
            holders,
            tail: least.iter().sum(),
            tails: least,
            microbatches: Ticks::from(problem.microbatches),
        }
    }

    /// Chains that take room, and chains that free it.
    pub fn chains(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.holders.iter().map(|holder| (holder.takes, holder.frees))
    }

    /// Units that are held where `counts` ops are laid out.
    fn held(&self, counts: &[Ticks]) -> Ticks {
        self.holders.iter().map(|holder| (counts[holder.takes] - counts[holder.frees]) * holder.amount).sum()
    }

    /// The bit of a chain that takes room.
    pub fn bit(&self, chain: usize) -> Ticks {
        self.place(chain).map_or(0, |at| 1 << at)
    }

    fn place(&self, chain: usize) -> Option<usize> {
        self.holders.iter().position(|holder| holder.takes == chain)
    }

    /// There is no room now for an op of `chain`, if that takes some.
    pub fn is_full(&self, counts: &[Ticks], chain: usize) -> bool {
        self.place(chain).is_some_and(|at| self.held(counts) + self.holders[at].amount > self.size)
    }

    /// The next op of `chain` finds room, if it takes some, and leaves room without which nothing would ever leave.
    pub fn takes(&self, counts: &[Ticks], chain: usize) -> bool {
        let Some(at) = self.place(chain) else { return true };
        if self.held(counts) + self.holders[at].amount > self.size {
            return false;
        }
        let after = |place: usize| counts[self.holders[place].takes] + Ticks::from(place == at);
        let lagging = self.holders.iter().enumerate().filter(|(last, _)| after(*last) < self.microbatches);
        lagging.into_iter().all(|(last, other)| {
            let waiting =
                self.holders.iter().enumerate().filter(|(place, holder)| *place != last && holder.needs[last]);
            let waiting = waiting.map(|(place, holder)| holder.amount * (after(place) - after(last)).max(0));
            waiting.sum::<Ticks>() + other.amount <= self.size
        })
    }

    /// An order may be better in which the rank waits and lays out others before `chain`: only where those may fill the room.
    pub fn may_wait(&self, counts: &[Ticks], chain: usize) -> bool {
        let Some(at) = self.place(chain) else { return false };
        let mine = &self.holders[at];
        let others = self.holders.iter().enumerate().filter(|(place, _)| *place != at);
        let others = others.map(|(place, other)| {
            let most = if mine.leads[place] { counts[mine.takes] } else { self.microbatches };
            other.amount * (most - counts[other.takes])
        });
        self.held(counts) + others.sum::<Ticks>() + mine.amount > self.size
    }

    /// The time at which something may leave: no chain finds room in a full pool before it.
    pub fn leaves(&self, starts: &[Ticks]) -> Ticks {
        self.holders.iter().map(|holder| starts[holder.frees] + holder.ticks[1]).min().unwrap_or(0)
    }

    /// Room times time, where the next op of each chain begins at `starts` at the earliest. Every unit of room is a place that
    /// holds one micro-batch after another: it is free at some time, holds each for its round trip at least, and what follows
    /// the last is left. Places are as many as there is room, their first and last micro-batches all different.
    pub fn bound(&self, counts: &[Ticks], starts: &[Ticks], tails: &Tails, list: &mut Vec<Ticks>) -> Ticks {
        let held = self.held(counts);
        let left = self.holders.iter().map(|holder| (self.microbatches - counts[holder.takes]) * holder.amount);
        if left.sum::<Ticks>() + held < self.size {
            return 0;
        }
        let empty = self.size - held;
        let mut sum = 0;
        list.clear();
        for holder in &self.holders {
            let more = self.microbatches - counts[holder.takes];
            sum += more * holder.amount * holder.life;
            for at in 0..counts[holder.takes] - counts[holder.frees] {
                sum += (starts[holder.frees] + (at + 1) * holder.ticks[1]) * holder.amount;
            }
            for at in 0..more.min(empty) {
                let start = starts[holder.takes] + at * holder.ticks[0];
                list.extend((0..holder.amount).map(|_| start));
            }
        }
        sum += least_of(list, empty);
        // A place may keep what it holds as its last.
        list.clear();
        let most = self.tails.last().copied().unwrap_or(0);
        for holder in &self.holders {
            for k in counts[holder.frees]..counts[holder.takes] {
                let tau = tails.tau[holder.frees].get(usize::try_from(k).unwrap_or(0)).copied().unwrap_or(0);
                if tau - holder.ticks[1] < most {
                    list.extend((0..holder.amount).map(|_| tau - holder.ticks[1]));
                }
            }
        }
        if list.is_empty() {
            sum += self.tail;
        } else {
            list.extend_from_slice(&self.tails);
            sum += least_of(list, self.size);
        }
        sum.div_euclid(self.size) + Ticks::from(sum.rem_euclid(self.size) > 0)
    }
}

/// The sum of so many of the least.
fn least_of(list: &mut [Ticks], count: Ticks) -> Ticks {
    list.sort_unstable();
    list.iter().take(usize::try_from(count).unwrap_or(0)).sum()
}
