//! Which ranks form which group, and which groups leave their node.
//!
//! Ranks are numbered tensor-parallel first, then context, expert and data, pipeline last (Megatron's order), so the
//! groups that talk most sit closest together.

/// Which wire a group talks over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The scale-up link inside a node.
    Intra,
    /// The network between nodes.
    Inter,
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

impl Mesh {
    /// The wire a group of `size` ranks, `stride` ranks apart, talks over: inside a node while the whole group spans
    /// at most one.
    fn link(self, size: u64, stride: u64) -> Link {
        if size.saturating_mul(stride) <= self.per_node {
            Link::Intra
        } else {
            Link::Inter
        }
    }
    /// Wire of the tensor-parallel group.
    #[must_use]
    pub fn tp_link(self) -> Link {
        self.link(self.tp, 1)
    }
    /// Wire of the context-parallel group.
    #[must_use]
    pub fn cp_link(self) -> Link {
        self.link(self.cp, self.tp)
    }
    /// Wire of the data-parallel group (context-parallel ranks share its gradients).
    #[must_use]
    pub fn dp_link(self) -> Link {
        self.link(self.dp * self.cp, self.tp)
    }
    /// Wire of the expert-parallel group, spread over the innermost ranks.
    #[must_use]
    pub fn ep_link(self) -> Link {
        self.link(self.ep, 1)
    }
    /// Wire between neighbouring pipeline stages.
    #[must_use]
    pub fn pp_link(self) -> Link {
        self.link(self.pp, self.tp * self.cp * self.dp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_leave_the_node_when_they_outgrow_it() {
        let mesh = Mesh {
            tp: 2,
            cp: 1,
            dp: 8,
            pp: 4,
            ep: 1,
            per_node: 8,
        };
        assert_eq!(mesh.tp_link(), Link::Intra);
        assert_eq!(mesh.dp_link(), Link::Inter);
        assert_eq!(mesh.pp_link(), Link::Inter);
        let one_node = Mesh { dp: 1, ..mesh };
        assert_eq!(one_node.pp_link(), Link::Intra);
    }
}
