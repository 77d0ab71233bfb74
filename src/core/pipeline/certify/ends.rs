//! Ends of the ops of chains, as states share them.
//!
//! Two states that have the same past have the same ends: each state names the last end of a chain, and every end the
//! one before it. So a state of a wide search is a word a chain, however many ends wait to be used.

use super::problem::Ticks;

/// The last end of a chain, as a word of a state: 0 where there is none.
type Place = Ticks;

/// An end, and the place of the end of the op before.
#[derive(Clone, Copy, Debug)]
struct End {
    ticks: Ticks,
    before: u32,
    /// Found by [`Ends::mark`].
    is_kept: bool,
}

/// The ends of a search.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    list: Vec<End>,
    /// How many were kept when ends were last forgotten.
    kept: usize,
}

/// Ends of which none is forgotten: some 400 kB.
const FEW: usize = 1 << 14;

impl Ends {
    fn at(&self, place: Place) -> Option<&End> {
        usize::try_from(place).ok()?.checked_sub(1).and_then(|at| self.list.get(at))
    }

    /// Ends in all.
    pub const fn count(&self) -> usize {
        self.list.len()
    }

    /// Takes out what was added after the first `length`.
    pub fn truncate(&mut self, length: usize) {
        self.list.truncate(length);
    }

    /// The place of an end that follows the one at `before`.
    pub fn after(&mut self, before: Place, ticks: Ticks) -> Place {
        let before = u32::try_from(before).unwrap_or(0);
        self.list.push(End { ticks, before, is_kept: false });
        Ticks::try_from(self.list.len()).unwrap_or(0)
    }

    /// The end that is `ops` before the one at `place`.
    pub fn back(&self, place: Place, ops: Ticks) -> Ticks {
        let mut end = self.at(place);
        for _ in 0..ops {
            end = end.and_then(|end| self.at(Place::from(end.before)));
        }
        end.map_or(0, |end| end.ticks)
    }

    /// The ends at two places and before them, from the last on, until the two are one.
    pub fn pairs(&self, mut one: Place, mut other: Place) -> impl Iterator<Item = (Ticks, Ticks)> + '_ {
        std::iter::from_fn(move || {
            if one == other {
                return None;
            }
            let (first, second) = (self.at(one)?, self.at(other)?);
            (one, other) = (Place::from(first.before), Place::from(second.before));
            Some((first.ticks, second.ticks))
        })
    }

    /// The place of the earlier ends of two, of which the last `unused` are of use.
    pub fn earlier(&mut self, one: Place, other: Place, unused: Ticks, times: &mut Vec<Ticks>) -> Place {
        times.clear();
        let most = usize::try_from(unused).unwrap_or(0);
        times.extend(self.pairs(one, other).take(most).map(|(one, other)| one.min(other)));
        // Where the two are one from there on, that is what comes before.
        let mut place = one;
        for _ in 0..times.len() {
            place = self.at(place).map_or(0, |end| Place::from(end.before));
        }
        for ticks in times.drain(..).rev() {
            place = self.after(place, ticks);
        }
        place
    }

    /// True if enough ends were added since some were last forgotten that it is time to forget again.
    pub const fn is_worth_sweeping(&self) -> bool {
        self.list.len() > FEW && self.list.len() > 4 * self.kept
    }

    /// Keeps the last `unused` ends at `place`.
    pub fn mark(&mut self, place: Place, unused: Ticks) {
        let mut at = usize::try_from(place).unwrap_or(0);
        for _ in 0..unused {
            let Some(end) = at.checked_sub(1).and_then(|at| self.list.get_mut(at)) else { return };
            end.is_kept = true;
            at = end.before as usize;
        }
    }

    /// Forgets what is not marked; the new place of each end, by the old one.
    pub fn sweep(&mut self) -> Vec<u32> {
        let mut places = vec![0; self.list.len() + 1];
        let mut kept = Vec::with_capacity(self.kept);
        for (at, end) in self.list.iter().enumerate().filter(|(_, end)| end.is_kept) {
            // What comes before an end was added before it.
            kept.push(End { before: places[end.before as usize], is_kept: false, ..*end });
            places[at + 1] = u32::try_from(kept.len()).unwrap_or(0);
        }
        self.kept = kept.len();
        self.list = kept;
        places
    }

    /// A place after [`Self::sweep`].
    pub fn moved(places: &[u32], place: Place) -> Place {
        let place = usize::try_from(place).unwrap_or(0);
        Place::from(places.get(place).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists that fork, grow, are merged and forgotten at random, against plain lists of the same.
    #[test]
    fn shared_ends_are_those_of_plain_lists() {
        let mut seed = 5u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % below
        };
        let mut ends = Ends::default();
        // Places, the ends there, and how many of the last are of use.
        let mut lists: Vec<(Place, Vec<Ticks>)> = vec![(0, Vec::new()); 6];
        let unused = 5;
        let (mut merged, mut swept) = (0, 0);
        for round in 0..4000 {
            let (at, other) = (random(lists.len()), random(lists.len()));
            match random(20) {
                0..4 => lists[at] = lists[other].clone(),
                4..8 if lists[at].1.len() == lists[other].1.len() => {
                    let place = ends.earlier(lists[at].0, lists[other].0, unused, &mut Vec::new());
                    let others = lists[other].1.clone();
                    lists[at].0 = place;
                    lists[at].1.iter_mut().zip(others).for_each(|(one, other)| *one = (*one).min(other));
                    merged += 1;
                }
                8 => {
                    for (place, _) in &lists {
                        ends.mark(*place, unused);
                    }
                    let before = ends.count();
                    let places = ends.sweep();
                    for (place, _) in &mut lists {
                        *place = Ends::moved(&places, *place);
                    }
                    assert!(ends.count() <= lists.len() * 5);
                    swept += before - ends.count();
                }
                _ => {
                    let end = Ticks::try_from(10 * round + random(100)).unwrap();
                    lists[at].0 = ends.after(lists[at].0, end);
                    lists[at].1.push(end);
                }
            }
            for (place, list) in &lists {
                for (back, end) in list.iter().rev().take(5).enumerate() {
                    assert_eq!(ends.back(*place, Ticks::try_from(back).unwrap()), *end, "round {round}");
                }
            }
        }
        assert!(merged > 100 && swept > 1000, "{merged} {swept}");
    }
}
