//! The ranks of one group: how far apart they stand, how many share a node, which wire joins them.

use serde::{Deserialize, Serialize};

/// Wire of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Link {
    /// The scale-up link inside a node.
    Intra,
    /// The network between nodes.
    Inter,
}

/// A group of ranks that exchange data, by how it lies on the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankGroup {
    pub size: u64,
    /// Ranks of it that share a node.
    pub in_node: u64,
}

impl RankGroup {
    /// Nodes that the group is spread over.
    pub fn nodes(self) -> u64 {
        self.size.div_ceil(self.in_node)
    }
    /// The slowest wire in it.
    pub fn link(self) -> Link {
        if self.nodes() > 1 { Link::Inter } else { Link::Intra }
    }
}

/// Members of a row that are looked at for the places they take.
const MAX_PLACES: u64 = 256;

/// Ranks at equal distances: how many, and how far apart.
pub(super) type Row = (u64, u64);

/// The ranks of one group, as offsets from its first: an inner row, repeated along an outer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    inner: Row,
    outer: Row,
}

impl Span {
    /// The inner row repeated along the outer one. Where the outer row goes on where the inner one ends, both are one.
    pub(super) fn new(inner: Row, outer: Row) -> Self {
        if inner.0 == 1 {
            (outer, (1, 1)).into()
        } else if outer.0 == 1 || outer.1 == inner.0 * inner.1 {
            ((inner.0 * outer.0, inner.1), (1, 1)).into()
        } else {
            (inner, outer).into()
        }
    }
    pub fn size(self) -> u64 {
        self.inner.0 * self.outer.0
    }
    /// The offset of a member from the group's first rank.
    pub fn offset(self, member: u64) -> u64 {
        member % self.inner.0 * self.inner.1 + member / self.inner.0 * self.outer.1
    }
    /// Its places on nodes of `per_node` GPUs.
    pub fn group(self, per_node: u64) -> RankGroup {
        let near = |(size, stride): Row| (per_node / stride.max(1)).clamp(1, size.max(1));
        RankGroup { size: self.size(), in_node: near(self.inner) * near(self.outer) }
    }
    /// Which of the `per_node` places of a node a member has, on whichever node it stands: true for each such place.
    /// The first member is at place `first`; of rows longer than [`MAX_PLACES`] only the first members count.
    pub(super) fn places(self, first: u64, per_node: u64) -> Vec<bool> {
        let members = |row: Row| 0..row.0.min(per_node).min(MAX_PLACES);
        let mut places = vec![false; usize::try_from(per_node).unwrap_or(0)];
        for far in members(self.outer) {
            for near in members(self.inner) {
                let offset = far * (self.outer.1 % per_node) + near * (self.inner.1 % per_node);
                let place = usize::try_from((first + offset) % per_node).unwrap_or(0);
                if let Some(place) = places.get_mut(place) {
                    *place = true;
                }
            }
        }
        places
    }
    /// The members cut into parts of `size`: the first part, and the group of the first members of all parts.
    pub(super) fn split(self, size: u64) -> (Self, Self) {
        let (inner, outer) = (self.inner, self.outer);
        // Of the `size` members of a part, `near` stand in an inner row and `far` rows belong to it.
        let near = if outer.0 == 1 { size } else { gcd(size, inner.0) };
        let far = size / near.max(1);
        (
            Self::new((near, inner.1), (far, outer.1)),
            Self::new((inner.0 / near.max(1), inner.1 * near), ((outer.0 / far.max(1)).max(1), outer.1 * far)),
        )
    }
}

impl From<(Row, Row)> for Span {
    fn from((inner, outer): (Row, Row)) -> Self {
        Self { inner, outer }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
