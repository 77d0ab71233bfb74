//! Room that several stages of a rank share, as the search reads it.
//!
//! The ops of a rank run one after another, so its room is full or not by its own order alone. Two things follow that
//! arcs do not tell. A micro-batch that has been through one stage and not yet through another on the same rank needs
//! room there before it can leave; where too many wait so, none leaves ([`Room::takes`]). And room times time is enough
//! for all: each place is held by one micro-batch after another, each for its round trip at least ([`Room::bound`]).

use super::problem::{Pool, Problem, Reach, Ticks};
use super::tails::Tails;

/// [`Room::counted`] where room is not short.
const NO_BOUND: Ticks = -1;

/// A pool and the ways between its chains.
#[derive(Clone, Debug)]
pub struct Room {
    size: Ticks,
    holders: Vec<Holder>,
    /// The least tails after a round trip of all that is ever held, ascending, one for each unit of room; and their
    /// sum.
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
    /// For every other holder, true if its micro-batches come through this stage first.
    leads: Vec<bool>,
    /// For every other holder, true if a micro-batch leaves this stage only after it found room there.
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

    /// An order may be better in which the rank waits and lays out others before `chain`: only where those may fill the
    /// room.
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

    /// Room times time, where the next op of each chain begins at `starts` at the earliest. Every unit of room is a
    /// place that holds one micro-batch after another: it is free at some time, holds each for its round trip at least,
    /// and what follows the last is left. Places are as many as there is room, their first and last micro-batches all
    /// different. `counted` is [`Self::counted`] of the same counts.
    pub fn bound(&self, counts: &[Ticks], starts: &[Ticks], counted: Ticks, ways: &mut Vec<HolderWay>) -> Ticks {
        if counted == NO_BOUND {
            return 0;
        }
        let mut sum = counted;
        ways.clear();
        for (holder, at) in self.holders.iter().zip(0..) {
            let freed = counts[holder.takes] - counts[holder.frees];
            sum += freed * starts[holder.frees] * holder.amount;
            let left = self.microbatches - counts[holder.takes];
            ways.push(HolderWay { holder: at, next: starts[holder.takes], left });
        }
        sum += self.first_starts(ways, self.size - self.held(counts));
        sum.div_euclid(self.size) + Ticks::from(sum.rem_euclid(self.size) > 0)
    }

    /// The part of room times time that counts alone tell; no bound where less is left than there is room.
    pub fn counted(&self, counts: &[Ticks], tails: &Tails, ways: &mut Vec<HolderWay>) -> Ticks {
        let left = self.holders.iter().map(|holder| (self.microbatches - counts[holder.takes]) * holder.amount);
        if left.sum::<Ticks>() + self.held(counts) < self.size {
            return NO_BOUND;
        }
        let mut sum = 0;
        ways.clear();
        for (holder, at) in self.holders.iter().zip(0..) {
            sum += (self.microbatches - counts[holder.takes]) * holder.amount * holder.life;
            // Ends of the ops that free what is held, one after the other. A place may keep what it holds as its last.
            let freed = counts[holder.takes] - counts[holder.frees];
            sum += freed * (freed + 1) / 2 * holder.ticks[1] * holder.amount;
            ways.push(HolderWay { holder: at, next: Ticks::MAX, left: freed });
        }
        sum + self.last_tails(counts, tails, ways)
    }

    /// The sum of the first `units` starts of the ops that take room, each as early as its chain allows.
    fn first_starts(&self, ways: &mut [HolderWay], units: Ticks) -> Ticks {
        let (mut sum, mut left) = (0, units);
        while left > 0
            && let Some(way) = ways.iter_mut().filter(|way| way.left > 0).min_by_key(|way| way.next)
        {
            let holder = &self.holders[way.holder];
            let taken = holder.amount.min(left);
            sum += way.next * taken;
            left -= taken;
            way.left -= 1;
            way.next += holder.ticks[0];
        }
        sum
    }

    /// The sum of the least tails, as many as there is room: of those after a round trip, and of what `ways` hold. A
    /// chain's later micro-batches have the shorter tails, so that each way is walked from its end as long as it
    /// replaces a longer one.
    fn last_tails(&self, counts: &[Ticks], tails: &Tails, ways: &mut [HolderWay]) -> Ticks {
        let tail = |way: &HolderWay| {
            let holder = &self.holders[way.holder];
            let last = usize::try_from(counts[holder.frees] + way.left - 1).unwrap_or(0);
            tails.tau[holder.frees].get(last).copied().unwrap_or(0) - holder.ticks[1]
        };
        for way in ways.iter_mut().filter(|way| way.left > 0) {
            way.next = tail(way);
        }
        let mut sum = self.tail;
        let mut free = self.size - Ticks::try_from(self.tails.len()).unwrap_or(Ticks::MAX);
        let mut longest = self.tails.iter().rev();
        let most = self.tails.last().copied().unwrap_or(0);
        while let Some(way) = ways.iter_mut().filter(|way| way.left > 0).min_by_key(|way| way.next) {
            for _ in 0..self.holders[way.holder].amount {
                if free > 0 && way.next < most {
                    free -= 1;
                    sum += way.next;
                    continue;
                }
                match longest.next() {
                    Some(replaced) if way.next < *replaced => sum += way.next - replaced,
                    _ => return sum,
                }
            }
            way.left -= 1;
            if way.left > 0 {
                way.next = tail(way);
            }
        }
        sum
    }
}

/// A holder's ops on the way through them, in the order of their values.
#[derive(Clone, Copy, Debug)]
pub struct HolderWay {
    holder: usize,
    /// Value of the next op.
    next: Ticks,
    /// Ops that are left.
    left: Ticks,
}

#[cfg(test)]
mod tests {
    use super::super::stages::StepStages;
    use super::*;

    /// The sum of the `count` least values of `list`.
    fn least_of(mut list: Vec<Ticks>, count: Ticks) -> Ticks {
        list.sort_unstable();
        list.iter().take(usize::try_from(count).unwrap()).sum()
    }

    /// With two and four stages on a rank, at random counts and starts: the sums equal those of sorted lists of every
    /// op.
    #[test]
    fn the_least_starts_and_tails_are_those_of_sorted_lists() {
        let mut seed = 9u64;
        let mut random = |below: Ticks| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Ticks::try_from(seed >> 33).unwrap() % below
        };
        let mut replaced = 0;
        for (home, room) in [(vec![0, 1, 1, 0], 5), (vec![0, 1, 1, 0, 0, 1, 1, 0], 9), (vec![0, 1, 1, 0], 15)] {
            let stages = home.len();
            let times = |base: f64| (0..stages).map(|stage| base + (stage % 3) as f64).collect::<Vec<f64>>();
            let stages = StepStages {
                home,
                microbatches: 8,
                forward: times(2.0),
                backward_input: times(3.0),
                backward_weight: times(1.0),
                whole: false,
                lag: 1.0,
                room: vec![room; 2],
                apart: Vec::new(),
            };
            let (problem, _) = stages.problem();
            let tails = Tails::new(&problem);
            let rooms = Room::of(&problem, &tails, &problem.reach());
            assert_eq!(rooms.len(), 2);
            for room in rooms {
                for _ in 0..400 {
                    let mut counts = vec![0; problem.chains.len()];
                    let starts: Vec<Ticks> = counts.iter().map(|_| random(1_000_000)).collect();
                    for holder in &room.holders {
                        counts[holder.takes] = random(9);
                        counts[holder.frees] = random(counts[holder.takes] + 1);
                    }
                    let held = room.held(&counts);
                    let left: Ticks = room.holders.iter().map(|holder| 8 - counts[holder.takes]).sum();
                    if held > room.size || left + held < room.size {
                        continue;
                    }
                    let (mut sum, mut firsts, mut lasts) = (0, Vec::new(), room.tails.clone());
                    for holder in &room.holders {
                        sum += (8 - counts[holder.takes]) * holder.life;
                        for at in 0..8 - counts[holder.takes] {
                            firsts.push(starts[holder.takes] + at * holder.ticks[0]);
                        }
                        for at in 0..counts[holder.takes] - counts[holder.frees] {
                            sum += starts[holder.frees] + (at + 1) * holder.ticks[1];
                            let k = usize::try_from(counts[holder.frees] + at).unwrap();
                            lasts.push(tails.tau[holder.frees][k] - holder.ticks[1]);
                        }
                    }
                    let last = least_of(lasts, room.size);
                    replaced += u32::from(last < room.tail);
                    sum += least_of(firsts, room.size - held) + last;
                    let expected = sum.div_euclid(room.size) + Ticks::from(sum.rem_euclid(room.size) > 0);
                    let counted = room.counted(&counts, &tails, &mut Vec::new());
                    assert_eq!(room.bound(&counts, &starts, counted, &mut Vec::new()), expected);
                }
            }
        }
        assert!(replaced > 50, "{replaced}");
    }
}
