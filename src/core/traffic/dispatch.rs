//! The path of a token to its experts and back: which copies cross the network, which stay on the scale-up link.
//!
//! All-to-all sends a copy for every expert. Once a node: one copy for every node that has some of the token's experts,
//! passed on to those ranks that have them while the next is on the network (`DeepSeek-V3`, section 3.2.2). A router
//! that is limited to groups of experts keeps these nodes few (section 2.1.2, "node-limited routing"); the copies of an
//! all-to-all it only moves elsewhere.

use crate::cluster::RankGroup;
use crate::explain::Quantity;
use crate::explain::symbols::{PLACE_GROUPS, PLACES, TOP_K};
use crate::model::Moe;
use crate::run::{MoeDispatch, Scenario};
use crate::source::{Cited, DEEPSEEK_V3};

/// Bytes of an element in fp8, with a scale of four bytes for 128 of them.
pub(crate) const FP8_ELEMENT: Cited<f64> = Cited::new(1.0 + 4.0 / 128.0, &DEEPSEEK_V3, "sections 3.3.2 and 3.3.3");

/// Share of the multiprocessors that kernels which pass tokens on inside the node take from the compute beside them: 20
/// of the 132 of an H800.
pub(crate) const DISPATCHERS: Cited<f64> = Cited::new(20.0 / 132.0, &DEEPSEEK_V3, "section 3.2.2");

/// Copies of a token that a rank sends to the experts of one layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Copies<Q = f64> {
    /// Over the network.
    pub crossing: Q,
    /// Over the scale-up link.
    pub inside: Q,
}

impl Copies {
    /// Both.
    pub fn total(self) -> f64 {
        self.crossing + self.inside
    }
}

/// Copies of a token of `moe` that go once to each node of the ranks that share the experts.
///
/// Some of K experts are on `v(m) = m (1 - (1 - 1/m)^K)` of m places, each expert on any of them alike. Over n nodes
/// of g ranks, where a token may go to m of the nodes: `v(m) (n - 1)/n` copies to other nodes, and inside them one for
/// every rank that has some of its experts but the one where it arrived, `v(m g) (g - 1)/g`.
pub(crate) fn once_a_node<Q: Quantity>(moe: Moe, group: RankGroup) -> Copies<Q> {
    let (nodes, near) = (group.nodes() as f64, group.in_node as f64);
    let allowed = allowed_nodes(moe, nodes);
    let one = Q::number(1.0);
    let copies = |places: f64, parts: f64| {
        let (places, parts) = (PLACES.of::<Q>(places), PLACE_GROUPS.of::<Q>(parts));
        places * (one - (one - one / places).power(TOP_K.of::<Q>(moe.top_k))) * (parts - one) / parts
    };
    Copies { crossing: copies(allowed, nodes), inside: copies(allowed * near, near) }
}

/// Nodes of `nodes` that the chosen groups of a token's experts are on, on average: `t n/G` where a group spans a
/// node or more, else those that some of t groups out of G, drawn without putting back, are on.
fn allowed_nodes(moe: Moe, nodes: f64) -> f64 {
    let (groups, chosen) = (moe.groups.max(1) as f64, moe.top_groups.max(1) as f64);
    if groups <= nodes {
        return (chosen / groups * nodes).max(1.0);
    }
    let elsewhere = groups - groups / nodes;
    let missed: f64 =
        (0..moe.top_groups).map(|drawn| ((elsewhere - drawn as f64) / (groups - drawn as f64)).max(0.0)).product();
    (nodes * (1.0 - missed)).max(1.0)
}

/// True if `scenario` sends a token once a node.
pub(crate) fn is_once_a_node(scenario: &Scenario) -> bool {
    scenario.software.moe_dispatch != MoeDispatch::AllToAll
}

/// Bytes of an element on its way to the experts, and on its way back: forward tokens and sums, backward gradients of
/// both. In fp8 the way there alone: "for both the forward and backward combine components, we retain them in BF16"
/// (`DeepSeek-V3`, section 3.3.3).
pub(crate) fn element_bytes(scenario: &Scenario) -> (f64, f64) {
    let back = scenario.precision.computes.activation();
    let there = if scenario.software.fp8_dispatch { FP8_ELEMENT.value } else { back };
    (there, back)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run, presets};
    use crate::traffic::Fabric;
    use crate::units::Bytes;

    fn deepseek() -> Moe {
        let model = presets::model("deepseek-v3").unwrap().architecture;
        model.moe.unwrap()
    }

    /// DeepSeek-V3, section 3.2.2: at most four nodes, which halves what eight experts send. Without the
    /// limit eight experts meet `8 (1 - (7/8)^8)` of eight nodes.
    #[test]
    fn a_limit_of_four_nodes_halves_what_crosses_the_network() {
        let group = RankGroup { size: 64, in_node: 8 };
        let limited = once_a_node::<f64>(deepseek(), group);
        let copies = 8.0 * 7.0 / 8.0;
        assert!(limited.crossing < 4.0 * 7.0 / 8.0);
        assert!((0.4..0.5).contains(&(limited.crossing / copies)));
        let ranks = 32.0 * (1.0 - (31.0f64 / 32.0).powi(8));
        assert!((limited.inside - ranks * 7.0 / 8.0).abs() < 1e-12);
        let free = Moe { groups: 1, top_groups: 1, ..deepseek() };
        let met = 8.0 * (1.0 - 0.875f64.powi(8));
        assert!((once_a_node::<f64>(free, group).crossing - met * 7.0 / 8.0).abs() < 1e-12);
    }

    #[test]
    fn groups_stand_on_as_many_nodes_as_they_are() {
        let moe = deepseek();
        assert!((allowed_nodes(moe, 8.0) - 4.0).abs() < 1e-12);
        assert!((allowed_nodes(moe, 16.0) - 8.0).abs() < 1e-12);
        // Two nodes of four groups each: both, but for one draw in 35.
        let pairs = 2.0 * (1.0 - 1.0 / 70.0);
        assert!((allowed_nodes(moe, 2.0) - pairs).abs() < 1e-12);
        assert!((allowed_nodes(moe, 1.0) - 1.0).abs() < 1e-12);
        let free = Moe { groups: 1, top_groups: 1, ..moe };
        assert!((allowed_nodes(free, 8.0) - 8.0).abs() < 1e-12);
    }

    /// DeepEP's README, normal kernels on H800 with cards of 50 GB/s, dispatch in fp8: 43, 58 and 51 GB/s on 16, 32 and
    /// 64 GPUs (the copies of a token's own node counted), 153 GB/s on 8.
    #[test]
    fn what_deepep_measures_is_met_to_12_percent() {
        let run = Run { gpu: Based::preset("h800-sxm-80gb"), ..Run::default() };
        let fabric = Fabric::of(&Scenario::new(&run).unwrap());
        for (size, measured) in [(8, 153e9), (16, 43e9), (32, 58e9), (64, 51e9)] {
            let group = RankGroup { size, in_node: 8 };
            let nodes = group.nodes() as f64;
            let copies = once_a_node::<f64>(deepseek(), group);
            let token = 4096.0 * 7168.0;
            let time = fabric.once_a_node(Bytes(copies.crossing * token), Bytes(copies.inside * token));
            let counted = if nodes > 1.0 { copies.crossing * nodes / (nodes - 1.0) } else { copies.inside * 8.0 / 7.0 };
            let reached = counted * token / time.0;
            assert!((reached / measured - 1.0).abs() < 0.12, "{size}: {reached:e}");
        }
    }
}
