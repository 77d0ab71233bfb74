//! Ranks of each group, groups that leave their node, and the place of each rank.
//!
//! Ranks are numbered along the axes of a [`RankOrder`], by default tensor parallel first, then context and data,
//! pipeline last (Megatron's and torchtitan's order), so that the groups that send most sit closest together. Routed
//! experts have a mesh of their own over the same ranks: expert tensor parallel in the place of tensor parallel, then
//! experts, expert data parallel in the place of data parallel (Megatron-LM, `core/parallel_state.py`,
//! `RankGenerator`).

use super::span::{Link, RankGroup, Row, Span};
use crate::field::one_of;

/// Place of a rank in every group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankPlace {
    pub node: u64,
    /// Index in the tensor-parallel group; the next ones likewise.
    pub tp: u64,
    pub cp: u64,
    pub dp: u64,
    pub pp: u64,
    /// Index among the ranks that share the routed experts.
    pub ep: u64,
    /// Index in the data-parallel group of the routed experts.
    pub expert_dp: u64,
}

/// A kind of group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParallelAxis {
    /// Tensor parallel; expert tensor parallel for routed experts.
    Tp,
    Cp,
    /// Data parallel; expert data parallel for routed experts.
    Dp,
    Pp,
    /// The ranks that share the routed experts.
    Ep,
}

impl ParallelAxis {
    /// All kinds, the innermost first, experts last.
    pub const ALL: [Self; 5] = [Self::Tp, Self::Cp, Self::Dp, Self::Pp, Self::Ep];
}

one_of! {
    /// The order of the axes that ranks are numbered along, the fastest first.
    #[derive(Default)]
    RankOrder {
        /// `tp-cp-ep-dp-pp`: the default of Megatron-LM and the only one of torchtitan.
        #[default]
        PpLast = "tp-cp-ep-dp-pp" "TP, CP, EP, DP, PP",
        /// `tp-cp-ep-pp-dp`: Megatron-LM's `--use-tp-pp-dp-mapping`.
        DpLast = "tp-cp-ep-pp-dp" "TP, CP, EP, PP, DP",
        /// `tp-cp-pp-ep-dp`: Megatron-LM's other order of `initialize_model_parallel`.
        EpAfterPp = "tp-cp-pp-ep-dp" "TP, CP, PP, EP, DP",
    }
}

impl RankOrder {
    fn axes(self) -> [ParallelAxis; 5] {
        match self {
            Self::PpLast => [ParallelAxis::Tp, ParallelAxis::Cp, ParallelAxis::Ep, ParallelAxis::Dp, ParallelAxis::Pp],
            Self::DpLast => [ParallelAxis::Tp, ParallelAxis::Cp, ParallelAxis::Ep, ParallelAxis::Pp, ParallelAxis::Dp],
            Self::EpAfterPp => {
                [ParallelAxis::Tp, ParallelAxis::Cp, ParallelAxis::Pp, ParallelAxis::Ep, ParallelAxis::Dp]
            }
        }
    }
}

/// The sizes of the parallel groups over nodes of equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mesh {
    pub tp: u64,
    pub cp: u64,
    pub dp: u64,
    pub pp: u64,
    pub ep: u64,
    pub etp: u64,
    pub per_node: u64,
    pub order: RankOrder,
}

impl Mesh {
    pub fn ranks(self) -> u64 {
        self.tp * self.cp * self.dp * self.pp
    }
    pub fn expert_dp(self) -> u64 {
        self.tp * self.cp * self.dp / (self.ep * self.etp).max(1)
    }
    /// Size and stride along `axis` on the mesh of the dense parts.
    fn dense(self, axis: ParallelAxis) -> Row {
        self.row(axis, |axis| match axis {
            ParallelAxis::Tp => self.tp,
            ParallelAxis::Cp => self.cp,
            ParallelAxis::Dp => self.dp,
            ParallelAxis::Pp => self.pp,
            ParallelAxis::Ep => 1,
        })
    }
    /// Size and stride along `axis` on the mesh of the routed experts.
    fn experts(self, axis: ParallelAxis) -> Row {
        self.row(axis, |axis| match axis {
            ParallelAxis::Tp => self.etp,
            ParallelAxis::Cp => 1,
            ParallelAxis::Dp => self.expert_dp(),
            ParallelAxis::Pp => self.pp,
            ParallelAxis::Ep => self.ep,
        })
    }
    /// Size along `axis`, and its stride: the product of the sizes of the axes that ranks are numbered along before it.
    fn row(self, axis: ParallelAxis, size: impl Fn(ParallelAxis) -> u64) -> Row {
        let inner = self.order.axes().into_iter().take_while(|a| *a != axis);
        (size(axis), inner.map(&size).product())
    }
    /// True if dense parts and routed experts have the same pipeline groups. Megatron-LM asserts it; it can fail only
    /// where the pipeline is not the last axis.
    pub fn pipelines_agree(self) -> bool {
        self.pp == 1 || self.dense(ParallelAxis::Pp) == self.experts(ParallelAxis::Pp)
    }
    /// The group of rank 0 along `axis`; along [`ParallelAxis::Ep`] with expert tensor parallelism.
    pub fn span(self, axis: ParallelAxis) -> Span {
        match axis {
            ParallelAxis::Ep => Span::new(self.experts(ParallelAxis::Tp), self.experts(ParallelAxis::Ep)),
            axis => Span::new(self.dense(axis), (1, 1)),
        }
    }
    /// The ranks that share gradients of dense parts: context and data parallel.
    pub(super) fn replicas(self) -> Span {
        Span::new(self.dense(ParallelAxis::Cp), self.dense(ParallelAxis::Dp))
    }
    /// The ranks that hold the same routed experts.
    pub(super) fn expert_copies(self) -> Span {
        Span::new(self.experts(ParallelAxis::Dp), (1, 1))
    }
    /// Places of the groups along `axis` on the nodes.
    pub fn group(self, axis: ParallelAxis) -> RankGroup {
        self.span(axis).group(self.per_node)
    }
    /// `size` neighbours of the tensor-parallel group.
    pub(crate) fn tensor_group(self, size: u64) -> RankGroup {
        self.span(ParallelAxis::Tp).split(size).0.group(self.per_node)
    }
    /// The first `size` ranks of those that share gradients: a `ZeRO` or HSDP shard group.
    pub fn shard_group(self, size: u64) -> RankGroup {
        self.replicas().split(size).0.group(self.per_node)
    }
    /// The ranks that hold the same shard where shard groups have `shard` ranks.
    pub(crate) fn replica_group(self, shard: u64) -> RankGroup {
        self.replicas().split(shard).1.group(self.per_node)
    }
    /// The first `size` of the ranks that hold the same routed experts.
    pub(crate) fn expert_shard_group(self, size: u64) -> RankGroup {
        self.expert_copies().split(size).0.group(self.per_node)
    }
    /// The ranks that hold the same shard of the same routed experts where shard groups have `shard` ranks.
    pub(crate) fn expert_replica_group(self, shard: u64) -> RankGroup {
        self.expert_copies().split(shard).1.group(self.per_node)
    }
    /// Wire of the groups along `axis`; gradients' groups include context-parallel ranks.
    pub fn link(self, axis: ParallelAxis) -> Link {
        match axis {
            ParallelAxis::Dp => self.replicas().group(self.per_node).link(),
            axis => self.group(axis).link(),
        }
    }

    pub fn place(self, rank: u64) -> RankPlace {
        let on = |(size, stride): Row| rank / stride % size;
        RankPlace {
            node: rank / self.per_node,
            tp: on(self.dense(ParallelAxis::Tp)),
            cp: on(self.dense(ParallelAxis::Cp)),
            dp: on(self.dense(ParallelAxis::Dp)),
            pp: on(self.dense(ParallelAxis::Pp)),
            ep: on(self.experts(ParallelAxis::Tp)) + self.etp * on(self.experts(ParallelAxis::Ep)),
            expert_dp: on(self.experts(ParallelAxis::Dp)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESH: Mesh = Mesh { tp: 2, cp: 1, dp: 8, pp: 4, ep: 1, etp: 1, per_node: 8, order: RankOrder::PpLast };
    const ORDERS: [RankOrder; 3] = [RankOrder::PpLast, RankOrder::DpLast, RankOrder::EpAfterPp];

    #[test]
    fn groups_leave_the_node_when_they_outgrow_it() {
        assert_eq!(MESH.link(ParallelAxis::Tp), Link::Intra);
        assert_eq!(MESH.link(ParallelAxis::Dp), Link::Inter);
        assert_eq!(MESH.link(ParallelAxis::Pp), Link::Inter);
        let one_node = Mesh { dp: 1, ..MESH };
        assert_eq!(one_node.link(ParallelAxis::Pp), Link::Intra);
        let pipeline_first = Mesh { order: RankOrder::DpLast, ..MESH };
        assert_eq!(pipeline_first.link(ParallelAxis::Pp), Link::Intra);
        assert_eq!(pipeline_first.shard_group(8).in_node, 1);
    }

    #[test]
    fn a_group_counts_its_members_on_a_node() {
        let dp = MESH.shard_group(8);
        assert_eq!((dp.in_node, dp.nodes()), (4, 2));
        assert_eq!(MESH.group(ParallelAxis::Pp).in_node, 1);
        assert_eq!(MESH.group(ParallelAxis::Tp).nodes(), 1);
        let nvl72 = Mesh { per_node: 72, ..MESH };
        assert_eq!(nvl72.group(ParallelAxis::Pp).nodes(), 1);
    }

    fn meshes() -> impl Iterator<Item = Mesh> {
        ORDERS.into_iter().flat_map(|order| {
            [(1, 1), (2, 1), (4, 1), (2, 2), (8, 2)].map(|(ep, etp)| Mesh { cp: 2, ep, etp, order, ..MESH })
        })
    }

    #[test]
    fn every_rank_has_its_own_place_on_both_meshes() {
        for mesh in meshes() {
            let places: Vec<_> = (0..mesh.ranks()).map(|rank| mesh.place(rank)).collect();
            let dense = |p: &RankPlace| (p.tp, p.cp, p.dp, p.pp);
            let experts = |p: &RankPlace| (p.ep, p.expert_dp, p.pp);
            for (at, place) in places.iter().enumerate() {
                assert!(place.pp < mesh.pp && place.node == at as u64 / 8);
                assert!(places[..at].iter().all(|other| dense(other) != dense(place)));
                if mesh.pipelines_agree() {
                    assert!(places[..at].iter().all(|other| experts(other) != experts(place)));
                }
            }
        }
    }

    /// Shards and their copies together are all ranks that share gradients; a node never holds more than there are.
    #[test]
    fn shard_groups_divide_the_replicas() {
        for mesh in meshes() {
            for shard in [1, 2, 4, 8, 16] {
                let (own, copies) = (mesh.shard_group(shard), mesh.replica_group(shard));
                assert_eq!((own.size, own.size * copies.size), (shard, mesh.cp * mesh.dp));
                assert!(own.in_node * copies.in_node <= mesh.per_node);
            }
        }
    }
}
