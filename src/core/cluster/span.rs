//! The ranks of one communication group: the distances between them, how many share a node, and the slowest link
//! between them.

use serde::{Deserialize, Serialize};

/// Kind of link between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Link {
    /// The scale-up link inside a node.
    Intra,
    /// The network between nodes.
    Inter,
}

/// The size of a group of ranks that exchange data, and how many of them share a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankGroup {
    pub size: u64,
    /// Ranks of the group on one node.
    pub in_node: u64,
}

impl RankGroup {
    /// Number of nodes that have ranks of the group.
    pub fn nodes(self) -> u64 {
        self.size.div_ceil(self.in_node)
    }
    /// The slowest kind of link between its ranks.
    pub fn link(self) -> Link {
        if self.nodes() > 1 { Link::Inter } else { Link::Intra }
    }
    /// Share of what a rank sends in rings that goes over its own network card. A ring leaves a node over the card of
    /// one member; as many rings as members use the cards of all.
    pub(crate) fn ring_over_card(self) -> f64 {
        if self.nodes() > 1 { 1.0 / self.in_node as f64 } else { 0.0 }
    }
    /// Share of what a rank sends in an all-to-all that goes over its network card: to the ranks on other nodes.
    pub(crate) fn exchanged_over_card(self) -> f64 {
        (self.size - self.in_node) as f64 / (self.size as f64 - 1.0).max(1.0)
    }
}

/// Most members of a row that [`Span::places`] looks at. A choice, above the GPUs of any node that is built.
const MAX_PLACES: u64 = 256;

/// Ranks at equal distances: their number, and the distance between neighbours.
pub(super) type Row = (u64, u64);

/// The ranks of one group as offsets from its first rank: the sum of an offset in the inner row and one in the outer
/// row. With the inner row (2, 1) and the outer row (3, 8) the offsets are 0, 1, 8, 9, 16, 17.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    inner: Row,
    outer: Row,
}

impl Span {
    /// The span of both rows. Rows that together are ranks at equal distances become one row.
    pub(super) fn new(inner: Row, outer: Row) -> Self {
        if inner.0 == 1 {
            (outer, (1, 1)).into()
        } else if outer.0 == 1 || outer.1 == inner.0 * inner.1 {
            ((inner.0 * outer.0, inner.1), (1, 1)).into()
        } else {
            (inner, outer).into()
        }
    }
    /// Number of members.
    pub fn size(self) -> u64 {
        self.inner.0 * self.outer.0
    }
    /// The offset of the member with this index from the group's first rank.
    pub fn offset(self, member: u64) -> u64 {
        member % self.inner.0 * self.inner.1 + member / self.inner.0 * self.outer.1
    }
    /// Its size, and how many of its members share a node of `per_node` GPUs.
    pub fn group(self, per_node: u64) -> RankGroup {
        let in_node = |(size, stride): Row| (per_node / stride.max(1)).clamp(1, size.max(1));
        RankGroup { size: self.size(), in_node: in_node(self.inner) * in_node(self.outer) }
    }
    /// Number of nodes of `per_node` GPUs that have members, where the first has the local index `first` of its node.
    pub(super) fn nodes(self, first: u64, per_node: u64) -> u64 {
        let (near, stride) = self.inner;
        let mut count = 0;
        // The first node that has not been counted: members come in the order of their ranks.
        let mut next = 0;
        for far in 0..self.outer.0 {
            let start = first + far * self.outer.1;
            let [lowest, highest] = [start, start + near.saturating_sub(1) * stride].map(|rank| rank / per_node);
            // Steps longer than a node leave some out.
            let all = if stride > per_node { near } else { highest + 1 - lowest };
            count += all.min((highest + 1).saturating_sub(next));
            next = next.max(highest + 1);
        }
        count
    }
    /// For each local index of a node of `per_node` GPUs, whether a member has it on any node. `first` is the local
    /// index of the first member. Of longer rows only the first [`MAX_PLACES`] members count.
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
    /// Divides the members into parts of `size`. Returns the first part, and the span of the first members of all
    /// parts.
    pub(super) fn split(self, size: u64) -> (Self, Self) {
        let (inner, outer) = (self.inner, self.outer);
        // A part has `far` rows with `near` members each.
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
