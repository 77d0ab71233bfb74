//! Time of a message: rings, trees, all-to-all and single sends, inside a node and between nodes.
//!
//! `t = α + f S / β`: S is the whole tensor, f what each rank sends of it (all-gather and reduce-scatter `(n-1)/n`,
//! all-reduce twice that), β the bus bandwidth. A ring leaves each node once for every member's network card, so
//! between nodes β is `members in a node x card`, at most the scale-up link.
//! Source: NCCL's tuning model and nccl-tests' PERFORMANCE.md; efficiencies from curves in ML Engineering.

use super::calls::CallKind;
use crate::cluster::{Link, RankGroup};
use crate::explain::Quantity;
use crate::maths::log2;
use crate::run::presets::GpuFamily;
use crate::run::{Multiplier, Scenario};
use crate::source::{Cited, DEEPEP, NCCL, STAS};
use crate::units::{Bytes, Seconds};

/// Bus bandwidth reached inside a node over the data sheet: 78 % on A100, 80 to 82 % on H200.
pub const INTRA: Cited<f64> = Cited::new(0.78, &STAS, "network benchmarks, all_reduce of 16 GiB");
/// Bus bandwidth reached between nodes over the data sheet: 37 of 50 GB/s a card.
pub const INTER: Cited<f64> = Cited::new(0.75, &STAS, "network benchmarks, four nodes of B200");
/// All-to-all inside a node reaches less: many small messages at once.
pub(crate) const ALL_TO_ALL: Cited<f64> = Cited::new(0.5, &crate::source::SIMUMAX, "all2all, in node");
/// Rates of kernels that pass tokens on inside the node, over those of the data sheet. Of the scale-up link, 200 GB/s:
/// 153 are printed for 8 GPUs, an eighth of which stays on the rank. Of the card, 50 GB/s: 58 are printed for four
/// nodes, a quarter of which stays in the node.
pub(crate) const DISPATCH: Cited<(f64, f64)> =
    Cited::new((0.67, 0.87), &DEEPEP, "README, normal kernels on H800, 8 and 32 GPUs");
/// Rate of the fused dispatch of 2026 over the scale-up link: 726 of 900 GB/s.
pub(crate) const FUSED_DISPATCH: Cited<f64> =
    Cited::new(0.81, &DEEPEP, "README, version 2, 8 GPUs of B200, 64 multiprocessors");
/// Latency of a launch, of a hop inside a node and of a hop between nodes.
pub(crate) const LATENCY: Cited<[f64; 3]> = Cited::new([15e-6, 3e-6, 14e-6], &NCCL, "tuning.cc, ring, simple");

/// Seconds that an all-reduce in the switches of a node takes to begin. Source: NCCL, `tuning.cc`, NVLS.
const NVLS_LATENCY: f64 = 25e-6;

/// Seconds of a message of `bytes` over a wire of `bandwidth` bytes a second that begins `latency` seconds late.
pub(crate) fn on_wire<Q: Quantity>(latency: Q, bytes: Q, bandwidth: Q) -> Q {
    latency + bytes / bandwidth
}

/// The wires of a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fabric {
    /// Bytes a second that rings reach inside a node.
    intra: f64,
    /// Bytes a second of the scale-up link by the data sheet.
    link: f64,
    /// Bytes a second of the network card by the data sheet.
    network: f64,
    /// Bytes a second of an all-reduce in the switches of a node; 0 where they have none.
    switch: f64,
    /// Share of the link that a dispatch once a node reaches.
    dispatch: f64,
    /// Bytes a second that an all-to-all reaches inside a node.
    intra_all_to_all: f64,
    /// Bytes a second that a network card reaches.
    inter: f64,
    /// Seconds of a launch, of a hop inside a node and of a hop between nodes.
    latency: [f64; 3],
    /// Ranks of a node among which a GPU divides its scale-up link, where each pair of GPUs has a link of its own.
    pairwise: Option<f64>,
}

impl Fabric {
    /// The wires of `scenario`'s GPUs.
    pub fn of(scenario: &Scenario) -> Self {
        let gpu = &scenario.gpu;
        let pairwise = scenario.run.gpu.family().is_some_and(GpuFamily::joins_pairs);
        Self {
            intra: gpu.intra.0 * INTRA.value,
            link: gpu.intra.0,
            network: gpu.inter.0,
            switch: gpu.nvls.0,
            dispatch: if scenario.software.moe_fused && gpu.computes_in_fp4() {
                FUSED_DISPATCH.value
            } else {
                DISPATCH.value.0
            },
            intra_all_to_all: gpu.intra.0 * ALL_TO_ALL.value,
            inter: gpu.inter.0 * INTER.value,
            latency: LATENCY.value.map(|seconds| seconds * scenario.factors.of(Multiplier::All)),
            pairwise: pairwise.then_some(scenario.layout.per_node as f64),
        }
    }

    /// The part of the scale-up link that `members` of a node can use among themselves.
    fn reach(&self, members: u64) -> f64 {
        let reached = |node: f64| ((members as f64 - 1.0) / (node - 1.0).max(1.0)).clamp(0.0, 1.0);
        self.pairwise.map_or(1.0, reached)
    }

    /// Bus bandwidth of a ring over `group`.
    fn bus(&self, group: RankGroup) -> f64 {
        let inside = self.intra * self.reach(group.in_node.max(2));
        if group.nodes() == 1 {
            inside
        } else if group.in_node == 1 {
            self.inter
        } else {
            inside.min(group.in_node as f64 * self.inter)
        }
    }

    /// Bytes a second that messages of `kind` reach on the links of a node with `members` of their group; `once`:
    /// tokens that go once a node.
    pub(super) fn inside(&self, kind: CallKind, members: u64, once: bool) -> f64 {
        let rate = match kind {
            CallKind::AllToAll if once => return self.link * self.dispatch,
            CallKind::AllToAll => self.intra_all_to_all,
            _ => self.intra,
        };
        rate * self.reach(members.max(2))
    }

    /// Latency of one turn round the ring.
    fn turn(&self, group: RankGroup) -> f64 {
        let [launch, near, far] = self.latency;
        let nodes = group.nodes();
        let crossings = nodes - 1;
        launch + (group.size - nodes) as f64 * near + crossings as f64 * far
    }

    /// All-gather to, or reduce-scatter of, `bytes`: `(n-1)/n S / β`, n - 1 hops.
    pub fn gather(&self, group: RankGroup, bytes: Bytes) -> Seconds {
        if group.size <= 1 || bytes.0 <= 0.0 {
            return Seconds::ZERO;
        }
        let n = group.size as f64;
        Seconds(on_wire(self.turn(group), (n - 1.0) / n * bytes.0, self.bus(group)))
    }

    /// All-reduce of `bytes`: `2 (n-1)/n S / β`; twice round the ring, or up and down a tree, whichever is sooner.
    pub fn all_reduce(&self, group: RankGroup, bytes: Bytes) -> Seconds {
        if group.size <= 1 || bytes.0 <= 0.0 {
            return Seconds::ZERO;
        }
        let [launch, near, far] = self.latency;
        let n = group.size as f64;
        let ring = 2.0 * self.turn(group) - launch;
        let depth = log2(group.nodes() as f64) * far;
        let tree = launch + 2.0 * ((group.in_node - 1) as f64 * near + depth);
        let moved = 2.0 * (n - 1.0) / n * bytes.0;
        let around = on_wire(ring.min(tree), moved, self.bus(group));
        if group.nodes() > 1 || self.switch <= 0.0 {
            return Seconds(around);
        }
        Seconds(around.min(on_wire(NVLS_LATENCY, moved, self.switch)))
    }

    /// All-to-all of `bytes` a rank: what stays in the node over the scale-up link, what leaves it over the card.
    pub(crate) fn all_to_all(&self, group: RankGroup, bytes: Bytes) -> Seconds {
        if group.size <= 1 || bytes.0 <= 0.0 {
            return Seconds::ZERO;
        }
        let (n, near) = (group.size as f64, group.in_node as f64);
        let link = self.intra_all_to_all * self.reach(group.in_node.max(2));
        let inside = on_wire(2.0 * self.latency[0], (near - 1.0) / n * bytes.0, link);
        Seconds(on_wire(inside, (n - near) / n * bytes.0, self.inter))
    }

    /// A dispatch (or combine) of `crossing` bytes a rank over the network while `inside` bytes run over the scale-up
    /// link: "communications via IB and `NVLink` are fully overlapped" (`DeepSeek-V3`, section 3.2.2).
    pub(crate) fn once_a_node(&self, crossing: Bytes, inside: Bytes) -> Seconds {
        let network = crossing.0 / (self.network * DISPATCH.value.1);
        let link = inside.0 / (self.link * self.dispatch);
        Seconds(2.0 * self.latency[0] + network.max(link))
    }

    /// One send of `bytes` to the neighbour.
    pub fn send(&self, link: Link, bytes: Bytes) -> Seconds {
        if bytes.0 <= 0.0 {
            return Seconds::ZERO;
        }
        let [launch, _, far] = self.latency;
        match link {
            Link::Intra => Seconds(on_wire(launch, bytes.0, self.intra * self.reach(2))),
            Link::Inter => Seconds(on_wire(launch + far, bytes.0, self.inter)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    fn fabric(gpu: &'static str, inter: f64) -> Fabric {
        let mut run = Run { gpu: Based::preset(gpu), ..Run::default() };
        run.gpu.parts.inter = Some(inter);
        Fabric::of(&Scenario::new(&run).unwrap())
    }

    /// ML Engineering, network benchmarks: all-reduce of 16 GiB reaches 235 GB/s of bus bandwidth on eight A100, 366 on
    /// four nodes of eight B200 with 50 GB/s cards. The ring's 367 on H200 is met; NVLS reaches 482.
    #[test]
    fn measured_bus_bandwidths_are_met_to_a_fifth() {
        for (gpu, size, in_node, measured) in [
            ("a100-sxm-80gb", 8, 8, 235e9),
            ("h200-sxm-141gb", 8, 8, 367e9),
            ("b200-sxm", 8, 8, 680e9),
            ("b200-sxm", 32, 8, 366e9),
        ] {
            let bytes = 16.0 * crate::units::GIB;
            let time = fabric(gpu, 50.0).all_reduce(RankGroup { size, in_node }, Bytes(bytes));
            let n = size as f64;
            let bus = 2.0 * (n - 1.0) / n * bytes / time.0;
            assert!((bus / measured - 1.0).abs() < 0.2, "{gpu} {size}: {bus:e}");
        }
    }

    /// ML Engineering, network benchmarks: on eight H200 an all-reduce of 16 GiB reaches 482 GB/s with NVLS and 367 on
    /// rings; gathers and what leaves the node stay rings.
    #[test]
    fn switches_reduce_inside_a_node() {
        let bytes = Bytes(16.0 * crate::units::GIB);
        let gains = |nvls: Option<f64>, size: u64| {
            let mut run = Run { gpu: Based::preset("h200-sxm-141gb"), ..Run::default() };
            run.gpu.parts.nvls = nvls;
            let fabric = Fabric::of(&Scenario::new(&run).unwrap());
            let group = RankGroup { size, in_node: 8 };
            let n = size as f64;
            (2.0 * (n - 1.0) / n * bytes.0 / fabric.all_reduce(group, bytes).0, fabric.gather(group, bytes).0)
        };
        let (with, without) = (gains(Some(482.0), 8), gains(None, 8));
        assert!((with.0 / 482e9 - 1.0).abs() < 0.01, "{:e}", with.0);
        assert!(without.0 < with.0 && without.1 == with.1);
        assert_eq!(gains(Some(482.0), 16), gains(None, 16));
        assert_eq!(gains(Some(1.0), 8), without);
    }

    #[test]
    fn more_bandwidth_is_never_slower_and_alone_costs_nothing() {
        let (slow, fast) = (fabric("h100-sxm-80gb", 25.0), fabric("h100-sxm-80gb", 50.0));
        for size in [1, 2, 4, 8, 16, 64] {
            for in_node in [1, 2, 8] {
                let group = RankGroup { size, in_node: in_node.min(size) };
                let bytes = Bytes(1e8);
                for (a, b) in [
                    (fast.gather(group, bytes), slow.gather(group, bytes)),
                    (fast.all_reduce(group, bytes), slow.all_reduce(group, bytes)),
                    (fast.all_to_all(group, bytes), slow.all_to_all(group, bytes)),
                ] {
                    assert!(a.0 <= b.0);
                    assert_eq!(size == 1, a.0 == 0.0);
                }
            }
        }
    }

    #[test]
    fn a_pair_without_a_switch_gets_one_link() {
        let pair = RankGroup { size: 2, in_node: 2 };
        let node = RankGroup { size: 8, in_node: 8 };
        let fabric = fabric("mi300x", 50.0);
        assert!((fabric.bus(pair) * 7.0 - fabric.bus(node)).abs() < 1.0);
    }
}
