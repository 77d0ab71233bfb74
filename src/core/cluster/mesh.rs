//! Which ranks form which group, which groups leave their node, and where each rank stands.
//!
//! Ranks are numbered tensor-parallel first, then context, expert and data, pipeline last (Megatron's order), so the
//! groups that talk most sit closest together. Routed experts have a mesh of their own over the same ranks: expert
//! tensor parallel first, then experts, then expert data parallel.

/// Which wire a group talks over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The scale-up link inside a node.
    Intra,
    /// The network between nodes.
    Inter,
}

/// A group of ranks that exchange data, by how it lies on the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Ranks in the group.
    pub size: u64,
    /// Of these, how many share a node.
    pub in_node: u64,
}

impl Group {
    /// `size` ranks, `stride` ranks apart, on nodes of `per_node`.
    #[must_use]
    pub fn new(size: u64, stride: u64, per_node: u64) -> Self {
        let in_node = (per_node / stride.max(1)).clamp(1, size.max(1));
        Self { size, in_node }
    }
    /// Nodes that the group is spread over.
    #[must_use]
    pub fn nodes(self) -> u64 {
        self.size.div_ceil(self.in_node)
    }
    /// The slowest wire in it.
    #[must_use]
    pub fn link(self) -> Link {
        if self.nodes() > 1 {
            Link::Inter
        } else {
            Link::Intra
        }
    }
}

/// Where a rank stands in every group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Node.
    pub node: u64,
    /// Index in the tensor-parallel group.
    pub tp: u64,
    /// Index in the context-parallel group.
    pub cp: u64,
    /// Index in the data-parallel group.
    pub dp: u64,
    /// Pipeline rank.
    pub pp: u64,
    /// Index among the ranks that share the routed experts.
    pub ep: u64,
}

/// The sizes of the parallel groups over nodes of equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mesh {
    /// Tensor-parallel size.
    pub tp: u64,
    /// Context-parallel size.
    pub cp: u64,
    /// Data-parallel size.
    pub dp: u64,
    /// Pipeline-parallel size.
    pub pp: u64,
    /// Ranks that share the experts: expert- times expert-tensor-parallel size.
    pub ep: u64,
    /// GPUs a node.
    pub per_node: u64,
}

/// A kind of group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Tensor parallel.
    Tp,
    /// Context parallel.
    Cp,
    /// Data parallel.
    Dp,
    /// Pipeline parallel.
    Pp,
    /// The ranks that share the routed experts.
    Ep,
}

impl Axis {
    /// All kinds, the innermost first, experts last.
    pub const ALL: [Self; 5] = [Self::Tp, Self::Cp, Self::Dp, Self::Pp, Self::Ep];
}

impl Mesh {
    /// Ranks in all.
    #[must_use]
    pub fn ranks(self) -> u64 {
        self.tp * self.cp * self.dp * self.pp
    }
    /// Size of the groups along `axis`, and how many ranks apart their members are.
    #[must_use]
    pub fn along(self, axis: Axis) -> (u64, u64) {
        match axis {
            Axis::Tp => (self.tp, 1),
            Axis::Cp => (self.cp, self.tp),
            Axis::Dp => (self.dp, self.tp * self.cp),
            Axis::Pp => (self.pp, self.tp * self.cp * self.dp),
            Axis::Ep => (self.ep, 1),
        }
    }
    /// How the groups along `axis` lie on the nodes.
    #[must_use]
    pub fn group_along(self, axis: Axis) -> Group {
        let (size, stride) = self.along(axis);
        self.group(size, stride)
    }
    /// Whether `rank` is in rank 0's group along `axis`.
    #[must_use]
    pub fn with_first(self, axis: Axis, rank: u64) -> bool {
        let (size, stride) = self.along(axis);
        rank.is_multiple_of(stride) && rank / stride < size
    }
    fn group(self, size: u64, stride: u64) -> Group {
        Group::new(size, stride, self.per_node)
    }
    /// The tensor-parallel group.
    #[must_use]
    pub fn tp_group(self) -> Group {
        self.group(self.tp, 1)
    }
    /// The context-parallel group.
    #[must_use]
    pub fn cp_group(self) -> Group {
        self.group(self.cp, self.tp)
    }
    /// The first `size` ranks of those that share gradients (data and context parallel): a `ZeRO` or HSDP shard group.
    #[must_use]
    pub fn shard_group(self, size: u64) -> Group {
        self.group(size, self.tp)
    }
    /// The ranks that hold the same shard where shard groups have `shard` ranks.
    #[must_use]
    pub fn replica_group(self, shard: u64) -> Group {
        self.group(self.dp * self.cp / shard.max(1), self.tp * shard)
    }
    /// The ranks that share the routed experts.
    #[must_use]
    pub fn ep_group(self) -> Group {
        self.group(self.ep, 1)
    }
    /// `size` of the ranks that hold the same routed experts.
    #[must_use]
    pub fn expert_group(self, size: u64) -> Group {
        self.group(size, self.ep)
    }
    /// The pipeline ranks.
    #[must_use]
    pub fn pp_group(self) -> Group {
        self.group(self.pp, self.tp * self.cp * self.dp)
    }
    /// Wire of the tensor-parallel group.
    #[must_use]
    pub fn tp_link(self) -> Link {
        self.tp_group().link()
    }
    /// Wire of the context-parallel group.
    #[must_use]
    pub fn cp_link(self) -> Link {
        self.cp_group().link()
    }
    /// Wire of the data-parallel group (context-parallel ranks share its gradients).
    #[must_use]
    pub fn dp_link(self) -> Link {
        self.shard_group(self.dp * self.cp).link()
    }
    /// Wire of the expert-parallel group, spread over the innermost ranks.
    #[must_use]
    pub fn ep_link(self) -> Link {
        self.ep_group().link()
    }
    /// Wire between neighbouring pipeline stages.
    #[must_use]
    pub fn pp_link(self) -> Link {
        self.pp_group().link()
    }

    /// Where global rank `rank` stands: `rank = tp + t (cp + c (dp + d pp))`.
    #[must_use]
    pub fn place(self, rank: u64) -> Place {
        let (tp, rest) = (rank % self.tp, rank / self.tp);
        let (cp, rest) = (rest % self.cp, rest / self.cp);
        let (dp, pp) = (rest % self.dp, rest / self.dp);
        Place {
            node: rank / self.per_node,
            tp,
            cp,
            dp,
            pp,
            ep: rank % self.ep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESH: Mesh = Mesh {
        tp: 2,
        cp: 1,
        dp: 8,
        pp: 4,
        ep: 1,
        per_node: 8,
    };

    #[test]
    fn groups_leave_the_node_when_they_outgrow_it() {
        assert_eq!(MESH.tp_link(), Link::Intra);
        assert_eq!(MESH.dp_link(), Link::Inter);
        assert_eq!(MESH.pp_link(), Link::Inter);
        let one_node = Mesh { dp: 1, ..MESH };
        assert_eq!(one_node.pp_link(), Link::Intra);
    }

    #[test]
    fn a_group_counts_its_members_on_a_node() {
        let dp = MESH.shard_group(8);
        assert_eq!((dp.in_node, dp.nodes()), (4, 2));
        assert_eq!(MESH.pp_group().in_node, 1);
        assert_eq!(MESH.tp_group().nodes(), 1);
        let nvl72 = Mesh {
            per_node: 72,
            ..MESH
        };
        assert_eq!(nvl72.pp_group().nodes(), 1);
    }

    /// Members of a group differ in one coordinate only.
    #[test]
    fn rank_0_meets_along_each_axis_those_that_differ_in_it_alone() {
        let mesh = Mesh { cp: 2, ..MESH };
        for rank in 0..mesh.ranks() {
            let place = mesh.place(rank);
            let others = [
                (Axis::Tp, place.cp + place.dp + place.pp),
                (Axis::Cp, place.tp + place.dp + place.pp),
                (Axis::Dp, place.tp + place.cp + place.pp),
                (Axis::Pp, place.tp + place.cp + place.dp),
            ];
            for (axis, others) in others {
                assert_eq!(mesh.with_first(axis, rank), others == 0, "{axis:?} {rank}");
            }
        }
    }

    #[test]
    fn every_rank_has_its_own_place() {
        let mesh = Mesh { cp: 3, ..MESH };
        let ranks = mesh.tp * mesh.cp * mesh.dp * mesh.pp;
        for rank in 0..ranks {
            let place = mesh.place(rank);
            let back = place.tp + mesh.tp * (place.cp + mesh.cp * (place.dp + mesh.dp * place.pp));
            assert_eq!(back, rank);
            assert!(place.pp < mesh.pp && place.node == rank / 8);
        }
    }
}
