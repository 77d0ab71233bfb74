//! The tail of V-Half and V-Min on one rank, whose ops are moved into earlier idle slots: which slots are taken, and
//! how many activations are held, where every idle slot does a W that is pending.

/// What a rank holds after a slot.
#[derive(Clone, Copy, Default)]
struct State {
    /// Activations of forward passes whose W has not been done.
    held: u32,
    /// Gradients whose W has not been done.
    pending: u32,
}

impl State {
    fn after(self, kind: Option<u8>) -> Self {
        let Self { held, pending } = self;
        match kind {
            Some(0 | 1) => Self { held: held + 1, pending },
            Some(_) => Self { held, pending: pending + 1 },
            None if pending > 0 => Self { held: held.saturating_sub(1), pending: pending - 1 },
            None => self,
        }
    }
}

/// The slots of a rank.
pub(crate) struct Tail {
    kinds: Vec<Option<u8>>,
    states: Vec<State>,
}

impl Tail {
    /// The tail with the kind of op in each slot: 0 and 1 are forward passes, 2 and 3 gradients of inputs (B).
    pub(crate) fn new(grid: &[Option<usize>]) -> Self {
        let kind = |kind: &Option<usize>| kind.and_then(|kind| u8::try_from(kind).ok());
        let kinds: Vec<Option<u8>> = grid.iter().map(kind).collect();
        let mut state = State::default();
        let states = kinds.iter().map(|kind| {
            state = state.after(*kind);
            state
        });
        Self { states: states.collect(), kinds }
    }
    /// Most activations held at once.
    pub(crate) fn peak(&self) -> u32 {
        self.states.iter().map(|state| state.held).max().unwrap_or(0)
    }
    fn before(&self, slot: usize) -> State {
        slot.checked_sub(1).map_or_else(State::default, |before| self.states[before])
    }
    /// Moves the op in `slot` to the first idle slot from `from` on in which at most `most` activations are held at any
    /// time; returns the slot that it is in then.
    pub(crate) fn pull(&mut self, from: usize, slot: usize, most: u32) -> usize {
        let kind = self.kinds[slot];
        let to = (from..slot).find(|to| self.kinds[*to].is_none() && self.fits(*to, slot, most));
        let Some(to) = to else { return slot };
        self.kinds[slot] = None;
        self.kinds[to] = kind;
        let mut state = self.before(to);
        for at in to..self.kinds.len() {
            state = state.after(self.kinds[at]);
            self.states[at] = state;
        }
        to
    }
    /// True if at most `most` are held after the op of `slot` moves into `to`.
    fn fits(&self, to: usize, slot: usize, most: u32) -> bool {
        let mut state = self.before(to);
        for at in to..self.kinds.len() {
            let kind = if at == to {
                self.kinds[slot]
            } else if at == slot {
                None
            } else {
                self.kinds[at]
            };
            state = state.after(kind);
            if state.held > most {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forward_is_pulled_only_behind_a_weight_that_makes_room() {
        // F . B . F: the idle slot after B does its W, so that F fits behind it and not before.
        let mut tail = Tail::new(&[Some(0), None, Some(2), None, None, Some(0)]);
        assert_eq!(tail.peak(), 1);
        assert_eq!(tail.pull(1, 5, 1), 4);
        let mut tail = Tail::new(&[Some(0), None, Some(2), None, None, Some(0)]);
        assert_eq!(tail.pull(1, 5, 2), 1);
    }
}
