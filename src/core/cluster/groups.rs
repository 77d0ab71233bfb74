//! The communication groups that a GPU is a member of, and the table of ranks.

use super::mesh::{Mesh, ParallelAxis};
use super::span::{Link, RankGroup, Span};
use crate::statics::named;
use serde::{Deserialize, Serialize};

named! {
    /// A kind of communication group, as Megatron-LM initialises them (`core/parallel_state.py`).
    #[derive(Serialize, Deserialize)]
    pub enum GroupKind: name {
        Tp = "TP",
        Cp = "CP",
        /// Data parallel, without the context-parallel ranks that also share gradients.
        Dp = "DP",
        /// The ranks that share one copy of the routed experts, those of the expert tensor parallelism among them.
        Ep = "EP",
        /// Data parallel of the routed experts.
        ExpertDp = "expert DP",
        Pp = "PP",
    }
}

/// The ranks of one group. A member's index is its place in the group, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    first: u64,
    span: Span,
}

impl Members {
    pub fn size(self) -> u64 {
        self.span.size()
    }
    /// The rank with this index.
    pub fn rank(self, member: u64) -> u64 {
        self.first + self.span.offset(member)
    }
    /// All ranks of the group; of more than `most` ranks a sample of at most `most`, at equal distances.
    pub fn sample(self, most: u64) -> impl Iterator<Item = u64> {
        let step = self.size().div_ceil(most.max(1)).max(1);
        let count = self.size().div_ceil(step);
        (0..count).map(move |at| self.rank(at * step))
    }
    /// Its size, and how many of its ranks share a node of `per_node` GPUs.
    pub fn group(self, per_node: u64) -> RankGroup {
        self.span.group(per_node)
    }
    /// True if all its ranks are on one node of `per_node` GPUs.
    pub fn share_node(self, per_node: u64) -> bool {
        let last = self.rank(self.size().saturating_sub(1));
        self.first / per_node == last / per_node
    }
    /// Number of nodes of `per_node` GPUs that its ranks lie on.
    pub fn nodes(self, per_node: u64) -> u64 {
        self.span.nodes(self.first % per_node, per_node)
    }
    /// For each rail, whether a rank of the group is on it. A rail is the switch that joins the GPUs with one local
    /// index of all nodes. The messages of the group use no other rails.
    pub fn rails(self, per_node: u64) -> Vec<bool> {
        self.span.places(self.first % per_node, per_node)
    }
    /// Number of rails that ranks of the group are on.
    pub fn rail_count(self, per_node: u64) -> usize {
        let rails = self.rails(per_node);
        rails.iter().filter(|used| **used).count()
    }
}

/// Most ranks that [`Mesh::leaves_node`] looks at. A choice: its time must not grow with the run.
const MAX_RANKS: u64 = 1024;

/// The columns of the table of ranks. Indices count from 0, as in launch scripts and logs.
pub const RANK_COLUMNS: [&str; 9] = ["rank", "node", "tp", "cp", "dp", "pp", "ep", "etp", "expert_dp"];

impl Mesh {
    /// The group of `kind` that `rank` is in.
    pub fn members(self, kind: GroupKind, rank: u64) -> Members {
        let place = self.place(rank);
        let (span, index) = match kind {
            GroupKind::Tp => (self.span(ParallelAxis::Tp), place.tp),
            GroupKind::Cp => (self.span(ParallelAxis::Cp), place.cp),
            GroupKind::Dp => (self.span(ParallelAxis::Dp), place.dp),
            GroupKind::Pp => (self.span(ParallelAxis::Pp), place.pp),
            GroupKind::Ep => (self.span(ParallelAxis::Ep), place.ep),
            GroupKind::ExpertDp => (self.expert_copies(), place.expert_dp),
        };
        Members { first: rank - span.offset(index), span }
    }
    /// The ranks that messages of `kind` go round, those that `rank` sends among them: of data parallelism with the
    /// context-parallel ranks, which share gradients too; of any other kind its group.
    pub fn sharing(self, kind: GroupKind, rank: u64) -> Members {
        match kind {
            GroupKind::Dp => {
                let (place, span) = (self.place(rank), self.replicas());
                Members { first: rank - span.offset(place.cp + self.cp * place.dp), span }
            }
            _ => self.members(kind, rank),
        }
    }
    /// True if the groups of `kind` cross nodes as their messages are timed: by the group of rank 0, which begins with
    /// its node.
    pub fn crosses_nodes(self, kind: GroupKind) -> bool {
        self.sharing(kind, 0).group(self.per_node).link() == Link::Inter
    }
    /// True if a group of `kind` has ranks on several nodes; only the groups of the first ranks are looked at. Where
    /// groups do not divide the GPUs of a node, some do though [`Mesh::crosses_nodes`] says no.
    pub fn leaves_node(self, kind: GroupKind) -> bool {
        let mut ranks = 0..self.ranks().min(MAX_RANKS);
        ranks.any(|rank| !self.sharing(kind, rank).share_node(self.per_node))
    }
    /// The row of `rank` in the table of ranks, in the order of [`RANK_COLUMNS`].
    pub fn row_of(self, rank: u64) -> [u64; 9] {
        let place = self.place(rank);
        let (ep, etp) = (place.ep / self.etp, place.ep % self.etp);
        [rank, place.node, place.tp, place.cp, place.dp, place.pp, ep, etp, place.expert_dp]
    }
    /// Number of nodes; the last may be used in part.
    pub fn nodes(self) -> u64 {
        self.ranks().div_ceil(self.per_node)
    }
    /// Ranks from a stage to the next one of the same pipeline.
    pub fn stage_stride(self) -> u64 {
        if self.pp == 1 { self.ranks() } else { self.span(ParallelAxis::Pp).offset(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mesh::RankOrder;
    use super::*;

    /// TP 2, DP 8, PP 4 on nodes of eight: a pipeline's ranks are two nodes apart, so at one place; data-parallel ranks
    /// are at every second place. Numbering by hand: rank = tp + 2 dp + 16 pp.
    #[test]
    fn a_group_is_on_the_rails_of_its_places() {
        let mesh = Mesh { tp: 2, cp: 1, dp: 8, pp: 4, ep: 1, etp: 1, per_node: 8, order: RankOrder::PpLast };
        let rails = |mesh: Mesh, kind| -> Vec<usize> {
            let rails = mesh.members(kind, 21).rails(mesh.per_node);
            (0..rails.len()).filter(|rail| rails[*rail]).collect()
        };
        assert_eq!(rails(mesh, GroupKind::Tp), [4, 5]);
        assert_eq!(rails(mesh, GroupKind::Dp), [1, 3, 5, 7]);
        assert_eq!(rails(mesh, GroupKind::Pp), [5]);
        // TP as wide as a node leaves each GPU one rail; a million ranks without TP are on all.
        let wide = Mesh { tp: 8, ..mesh };
        assert_eq!(rails(wide, GroupKind::Dp), [5]);
        let long = Mesh { tp: 1, dp: 1 << 20, ..mesh };
        assert_eq!(long.members(GroupKind::Dp, 0).rail_count(8), 8);
        // The count equals an enumeration, for every group of every rank.
        for per_node in [4, 6, 8, 72] {
            let mesh = Mesh { per_node, ep: 4, cp: 3, ..mesh };
            for (kind, rank) in GroupKind::ALL.into_iter().zip([0, 7, 50, 101, 150, 191]) {
                let members = mesh.members(kind, rank);
                let mut counted = vec![false; usize::try_from(per_node).unwrap()];
                for member in members.sample(1 << 20) {
                    counted[usize::try_from(member % per_node).unwrap()] = true;
                }
                assert_eq!(members.rails(per_node), counted, "{kind:?} {per_node}");
            }
        }
    }

    /// The nodes of a group are those of its members, one by one, also where groups do not divide them.
    #[test]
    fn the_nodes_of_a_group_are_those_of_its_members() {
        for order in [RankOrder::PpLast, RankOrder::DpLast, RankOrder::EpAfterPp] {
            for (tp, cp, dp, pp, ep, etp) in [(1, 1, 128, 8, 32, 1), (3, 2, 16, 4, 8, 3), (2, 3, 12, 5, 4, 2)] {
                for per_node in [3, 4, 7, 8, 72] {
                    let mesh = Mesh { tp, cp, dp, pp, ep, etp, per_node, order };
                    for kind in GroupKind::ALL {
                        for rank in (0..mesh.ranks()).step_by(7) {
                            let members = mesh.members(kind, rank);
                            let nodes: std::collections::BTreeSet<_> =
                                members.sample(u64::MAX).map(|rank| rank / per_node).collect();
                            let counted = members.nodes(per_node);
                            assert_eq!(counted, nodes.len() as u64, "{mesh:?} {kind:?} {rank}");
                            assert_eq!(counted == 1, members.share_node(per_node));
                        }
                    }
                }
            }
        }
    }
}
