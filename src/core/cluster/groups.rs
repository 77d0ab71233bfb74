//! The groups of one GPU by member, and the indices that the table of ranks lists.

use super::mesh::{Axis, Mesh};
use super::span::{Group, Span};

/// A kind of communication group, as Megatron-LM initialises them (`core/parallel_state.py`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// Tensor parallel.
    Tp,
    /// Context parallel.
    Cp,
    /// Data parallel, without the context-parallel ranks that also share gradients.
    Dp,
    /// The ranks that share the routed experts; with expert tensor parallelism its ranks too.
    Ep,
    /// Data parallel of the routed experts.
    ExpertDp,
    /// Pipeline parallel.
    Pp,
}

impl GroupKind {
    /// All of them, in the order of pictures and tables.
    pub const ALL: [Self; 6] = [
        Self::Tp,
        Self::Cp,
        Self::Dp,
        Self::Ep,
        Self::ExpertDp,
        Self::Pp,
    ];
    /// Short name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tp => "TP",
            Self::Cp => "CP",
            Self::Dp => "DP",
            Self::Ep => "EP",
            Self::ExpertDp => "expert DP",
            Self::Pp => "PP",
        }
    }
}

/// The members of one group, in the order of their index in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    first: u64,
    span: Span,
}

impl Members {
    /// How many there are.
    #[must_use]
    pub fn size(self) -> u64 {
        self.span.size()
    }
    /// The global rank of a member.
    #[must_use]
    pub fn rank(self, member: u64) -> u64 {
        self.first + self.span.offset(member)
    }
    /// All of them, or `most` at equal distances.
    pub fn sample(self, most: u64) -> impl Iterator<Item = u64> {
        let step = self.size().div_ceil(most.max(1)).max(1);
        let count = self.size().div_ceil(step);
        (0..count).map(move |at| self.rank(at * step))
    }
    /// How they lie on nodes of `per_node` GPUs.
    #[must_use]
    pub fn group(self, per_node: u64) -> Group {
        self.span.group(per_node)
    }
    /// Whether all of them share a node of `per_node` GPUs.
    #[must_use]
    pub fn share_node(self, per_node: u64) -> bool {
        let last = self.rank(self.size().saturating_sub(1));
        self.first / per_node == last / per_node
    }
    /// Whether each stands at the same place of its node: the traffic between nodes then stays on one rail.
    #[must_use]
    pub fn on_one_rail(self, per_node: u64) -> bool {
        let mut places = self.sample(MAX_SAMPLE).map(|rank| rank % per_node);
        places.all(|place| place == self.first % per_node)
    }
}

/// Members looked at where there may be any number of them.
const MAX_SAMPLE: u64 = 4096;
/// Ranks looked at where there may be any number of them.
const MAX_RANKS: u64 = 1024;

/// The columns of the table of ranks: the indices as a launch script or a log counts them.
pub const RANK_COLUMNS: [&str; 9] = [
    "rank",
    "node",
    "tp",
    "cp",
    "dp",
    "pp",
    "ep",
    "etp",
    "expert_dp",
];

impl Mesh {
    /// The group of `kind` that `rank` is in.
    #[must_use]
    pub fn members(self, kind: GroupKind, rank: u64) -> Members {
        let place = self.place(rank);
        let (span, index) = match kind {
            GroupKind::Tp => (self.span(Axis::Tp), place.tp),
            GroupKind::Cp => (self.span(Axis::Cp), place.cp),
            GroupKind::Dp => (self.span(Axis::Dp), place.dp),
            GroupKind::Pp => (self.span(Axis::Pp), place.pp),
            GroupKind::Ep => (self.span(Axis::Ep), place.ep),
            GroupKind::ExpertDp => (self.expert_copies(), place.expert_dp),
        };
        Members {
            first: rank - span.offset(index),
            span,
        }
    }
    /// Whether a group of `kind` leaves its node; of many ranks the first are looked at.
    #[must_use]
    pub fn leaves_node(self, kind: GroupKind) -> bool {
        let mut ranks = 0..self.ranks().min(MAX_RANKS);
        ranks.any(|rank| !self.members(kind, rank).share_node(self.per_node))
    }
    /// The row of `rank` in the table of ranks, in the order of [`RANK_COLUMNS`].
    #[must_use]
    pub fn row_of(self, rank: u64) -> [u64; 9] {
        let place = self.place(rank);
        let (ep, etp) = (place.ep / self.etp, place.ep % self.etp);
        [
            rank,
            place.node,
            place.tp,
            place.cp,
            place.dp,
            place.pp,
            ep,
            etp,
            place.expert_dp,
        ]
    }
    /// Nodes in all; the last may be in part.
    #[must_use]
    pub fn nodes(self) -> u64 {
        self.ranks().div_ceil(self.per_node)
    }
    /// Ranks from a stage to the next one of the same pipeline.
    #[must_use]
    pub fn stage_stride(self) -> u64 {
        if self.pp == 1 {
            self.ranks()
        } else {
            self.span(Axis::Pp).offset(1)
        }
    }
}
