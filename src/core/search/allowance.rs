//! The work that a search may do, and which layouts it looks at where that work does not suffice for all.
//!
//! Work is counted in units, so that every machine gives the same answer. Rows of blocks are bounded in rounds: three
//! quarters of what is left are for bounds, the rest for reports. Where a round cannot afford all rows, those it
//! looks at lie evenly spread; where its reports leave work over, the next round looks at more of them.

use super::all_bounds::ROW;
use super::space::Space;

/// Units of work of a request that names none: 2 s of a core. Set by `cargo bench --bench plan`: the median of its
/// questions is 7 to 8 million units a second of a processor (3.7 to 16 million), measured on a busy Xeon of 2026.
pub const WORK: u64 = 16_000_000;

/// Units in one that bounds and reports count: the bound of a layout, 20 ops of a report.
const UNITS: u64 = 8;

#[derive(Clone, Debug)]
pub(crate) struct Allowance {
    left: u64,
    /// Work besides, while nothing is found: up to that of a request that names none.
    more: u64,
    spent: u64,
    /// Work that is left in this round until only what is kept for reports is.
    round: u64,
    /// Share of the round's rows that it can afford, and how much of it is due.
    share: f64,
    due: f64,
    /// Blocks looked at.
    looked: usize,
    /// First blocks of the rows that this round passed over.
    passed: Vec<usize>,
}

impl Allowance {
    /// An allowance of about `work` units.
    pub fn new(work: u64, space: &Space) -> Self {
        let mut allowance = Self {
            left: work,
            more: WORK.saturating_sub(work),
            spent: 0,
            round: 0,
            share: 1.0,
            due: 1.0,
            looked: 0,
            passed: Vec::new(),
        };
        allowance.begin(units(space, 0..space.blocks.len()), work);
        allowance
    }

    /// Begins a round over rows whose bounds take `units`, at least one of which is looked at.
    fn begin(&mut self, units: u64, budget: u64) {
        self.round = (budget - budget / 4).max(1);
        self.share = (self.round as f64 / units.max(1) as f64).min(1.0);
        self.due = 1.0;
    }

    /// Begins another round over the rows that this one passed over, and returns them; none where there are none.
    pub fn another_round(&mut self, space: &Space) -> Option<Vec<usize>> {
        let rows = std::mem::take(&mut self.passed);
        if rows.is_empty() {
            return None;
        }
        // Beyond the limit each round is as large as all before it, so that a layout is found soon.
        let budget = if self.left > 0 { self.left } else { self.more.min(self.spent) };
        let blocks = rows.iter().flat_map(|row| *row..(row + ROW).min(space.blocks.len()));
        self.begin(units(space, blocks), budget);
        Some(rows)
    }

    /// True if the row that begins with block `next` is left out.
    pub fn passes_over(&mut self, next: usize) -> bool {
        if !next.is_multiple_of(ROW) {
            return false;
        }
        let passes = self.due < 1.0 || self.round == 0;
        self.due += self.share - if passes { 0.0 } else { 1.0 };
        if passes {
            self.passed.push(next);
        }
        passes
    }

    /// Counts the bounds of a block.
    pub fn look(&mut self, counted: u64) {
        self.looked += 1;
        self.spend(counted);
    }

    /// Counts what bounds or reports counted.
    pub fn spend(&mut self, counted: u64) {
        let work = UNITS.saturating_mul(counted);
        self.round = self.round.saturating_sub(work);
        let beyond = work.saturating_sub(self.left);
        self.left = self.left.saturating_sub(work);
        self.more = self.more.saturating_sub(beyond);
        self.spent = self.spent.saturating_add(work);
    }

    /// True if no work is left for a search that has `found` something or not.
    pub fn is_spent(&self, found: bool) -> bool {
        self.left == 0 && (found || self.more == 0)
    }

    /// True if every block was looked at or is looked at in this round.
    pub fn is_whole(&self) -> bool {
        self.passed.is_empty()
    }

    /// Units spent.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Share of the blocks of `space` that were looked at.
    pub fn looked(&self, space: &Space) -> f64 {
        self.looked as f64 / space.blocks.len().max(1) as f64
    }
}

/// Units that the bounds of `blocks` take.
fn units(space: &Space, blocks: impl Iterator<Item = usize>) -> u64 {
    let layouts = |at: usize| space.blocks.get(at).map_or(0, |block| space.members(block).len() as u64 + 2);
    blocks.map(layouts).fold(0, |sum: u64, layouts| sum.saturating_add(UNITS * layouts))
}
