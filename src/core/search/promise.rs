//! A layout of a space by its place, and what it promises: the least time and the least memory that it can have.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Place of a layout in its space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LayoutPlace {
    block: u32,
    member: u32,
}

impl LayoutPlace {
    /// The `member`-th layout of the `block`-th block.
    pub fn new(block: usize, member: usize) -> Self {
        let small = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        Self { block: small(block), member: small(member) }
    }
    pub fn block(self) -> usize {
        self.block as usize
    }
    /// Index among the layouts of the block.
    pub fn member(self) -> usize {
        self.member as usize
    }
}

/// A layout that may win, smallest bound first, then first in its space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// The least step time, seconds.
    pub bound: f64,
    /// True if that is the best bound there is.
    pub timed: bool,
    /// Memory of the fullest GPU at least, bytes.
    pub peak: f64,
    /// The verdict "fits" is possible.
    pub may_fit: bool,
    pub place: LayoutPlace,
}

impl Eq for Promise {}
impl PartialOrd for Promise {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Promise {
    /// Reversed: a heap gives its greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        let time = other.bound.total_cmp(&self.bound);
        time.then(other.place.cmp(&self.place))
    }
}
