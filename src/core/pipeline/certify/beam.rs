//! Layered search over active schedules: layer d holds states with d ops laid out, at most `width` of them.
//!
//! The candidates dropped for width or limit are the proof: with D their least bound, every schedule takes at least
//! min(D, best found). A dominated state does not count: the state that dominates it leads to schedules as good. Two
//! states with equal counts may be merged into a third that is no later than either: every way on from the two is open
//! to it, so the ends of the third are bounds of theirs.

use super::ends::Ends;
use super::memo::{Memo, NumberMap};
use super::problem::Ticks;
use super::state::{Merit, NextOp, Scratch, SearchProblem};

/// Index of the state before, in the layer before, and the chain whose op led from it.
#[derive(Clone, Copy, Debug)]
struct Step {
    parent: u32,
    chain: u16,
}

/// The states of a layer that are kept before others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum First {
    /// The least bound first; of equal ones the least score.
    #[default]
    Bound,
    /// The least score first, whatever the bound, which tells little where it is far below the best order.
    Score,
}

/// A search, one layer at a time.
#[derive(Clone, Debug)]
#[must_use]
pub struct Beam {
    width: usize,
    limit: Ticks,
    first: First,
    /// States of the same counts that are kept; more are merged. None are merged where it is 0.
    alike: usize,
    states: Vec<Ticks>,
    history: Vec<Vec<Step>>,
    /// Least bound of all that was dropped for width or limit.
    pub dropped: Ticks,
    /// Least bound of the states of this layer.
    pub least: Ticks,
    /// States were dropped for width.
    pub narrowed: bool,
    /// States generated.
    pub children: u64,
    choices: Vec<NextOp>,
    /// States of the layer that is being made.
    next: Vec<Ticks>,
    ends: Ends,
    scratch: Scratch,
}

/// The result of a search that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Makespan and the order of the chains' ops; none where nothing met the limit.
    pub found: Option<(Ticks, Vec<u16>)>,
}

impl Beam {
    /// A search for an order that takes at most `limit`.
    pub fn new(layout: &SearchProblem, memo: &mut Memo, width: usize, limit: Ticks) -> Self {
        Self {
            width,
            limit,
            first: First::default(),
            alike: 0,
            states: layout.start(memo),
            history: Vec::new(),
            dropped: Ticks::MAX,
            least: 0,
            narrowed: false,
            children: 0,
            choices: Vec::new(),
            next: Vec::new(),
            ends: Ends::default(),
            scratch: Scratch::default(),
        }
    }

    /// The beam that keeps states in another order.
    pub const fn keeping(mut self, first: First) -> Self {
        self.first = first;
        self
    }

    /// The beam that merges states with equal numbers of ops beyond `alike`: what is found is a bound, not an order.
    pub const fn merging(mut self, alike: usize) -> Self {
        self.alike = alike;
        self
    }

    /// From now on keeps one state a layer.
    pub fn hurry(&mut self) {
        self.width = 1;
    }

    /// Lays out one op more in every state; something once the search has ended.
    pub fn advance(&mut self, layout: &SearchProblem, memo: &mut Memo) -> Option<Ended> {
        if self.history.len() == layout.problem().ops() {
            return Some(self.ended(layout));
        }
        let words = layout.words;
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        let mut candidates: Vec<(Merit, Step)> = Vec::new();
        let (mut from, mut choices) = (Vec::new(), std::mem::take(&mut self.choices));
        let (ends, scratch) = (&mut self.ends, &mut self.scratch);
        for (parent, state) in self.states.chunks_exact(words).enumerate() {
            from.clear();
            from.extend_from_slice(state);
            while let Some(first) = layout.choices(&from, &mut choices) {
                for &choice in &choices {
                    self.children += 1;
                    let (at, known) = (next.len(), ends.count());
                    next.extend_from_slice(&from);
                    layout.lay(&mut next[at..], choice, memo, ends, scratch);
                    let merit = layout.merit(&next[at..]);
                    if merit.bound > self.limit {
                        self.dropped = self.dropped.min(merit.bound);
                        next.truncate(at);
                        ends.truncate(known);
                        continue;
                    }
                    let step = Step {
                        parent: u32::try_from(parent).unwrap_or(0),
                        chain: u16::try_from(choice.chain).unwrap_or(0),
                    };
                    candidates.push((merit, step));
                }
                if !layout.put_off(&mut from, first, ends, scratch) {
                    break;
                }
            }
        }
        self.choices = choices;
        self.keep(layout, &next, &candidates);
        self.next = next;
        if self.states.is_empty() { Some(Ended { found: None }) } else { None }
    }

    /// The best candidates that no better one dominates.
    fn keep(&mut self, layout: &SearchProblem, next: &[Ticks], candidates: &[(Merit, Step)]) {
        let words = layout.words;
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        match self.first {
            First::Bound => order.sort_unstable_by_key(|at| (candidates[*at].0, *at)),
            First::Score => order.sort_unstable_by_key(|at| (candidates[*at].0.score, *at)),
        }
        self.least = candidates.iter().map(|(merit, _)| merit.bound).min().unwrap_or(Ticks::MAX);
        let state = |at: usize| &next[at * words..(at + 1) * words];
        let mut alike: NumberMap<Vec<usize>> = NumberMap::default();
        let (mut kept, mut steps): (Vec<Ticks>, Vec<Step>) = (std::mem::take(&mut self.states), Vec::new());
        kept.clear();
        for at in order {
            let key = hash(layout.counts(state(at)));
            let same = alike.entry(key).or_default();
            let bound = candidates[at].0.bound;
            let one = |place: usize| place * words..(place + 1) * words;
            if same.iter().any(|better| layout.dominates(&kept[one(*better)], state(at), bound, &self.ends)) {
                continue;
            }
            if self.alike > 0 && (same.len() >= self.alike || steps.len() == self.width) {
                let nearest = same.iter().min_by_key(|place| layout.distance(&kept[one(**place)], state(at)));
                if let Some(nearest) = nearest {
                    layout.merge(&mut kept[one(*nearest)], state(at), &mut self.ends, &mut self.scratch);
                    continue;
                }
            }
            if steps.len() == self.width {
                self.dropped = self.dropped.min(bound);
                self.narrowed = true;
                match self.first {
                    // The rest is no better than this one.
                    First::Bound if self.alike == 0 => break,
                    _ => continue,
                }
            }
            same.push(steps.len());
            kept.extend_from_slice(state(at));
            steps.push(candidates[at].1);
        }
        if self.ends.is_worth_sweeping() {
            layout.forget(&mut kept, &mut self.ends);
        }
        self.states = kept;
        self.history.push(steps);
    }

    fn ended(&self, layout: &SearchProblem) -> Ended {
        let ends = self.states.chunks_exact(layout.words).map(|state| layout.latest(state));
        let best = ends.enumerate().min_by_key(|(_, end)| *end);
        let found = best.map(|(mut at, end)| {
            let mut chains: Vec<u16> = Vec::with_capacity(self.history.len());
            for steps in self.history.iter().rev() {
                chains.push(steps[at].chain);
                at = steps[at].parent as usize;
            }
            chains.reverse();
            (end, chains)
        });
        Ended { found }
    }
}

fn hash(counts: &[Ticks]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = super::memo::Multiply::default();
    for pair in counts.chunks(2) {
        let second = pair.get(1).copied().unwrap_or(0);
        hasher.write_u64(pair[0].cast_unsigned() << 32 | second.cast_unsigned());
    }
    hasher.finish()
}
