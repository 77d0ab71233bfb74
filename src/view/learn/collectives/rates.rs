//! Times and bus bandwidth of collectives over nodes of eight.

use crate::learn::prelude::*;
use shardscope_core::cluster::RankGroup;
use shardscope_core::traffic::Fabric;

/// The wires of nodes of eight H100.
pub(in crate::learn) fn fabric() -> Option<Fabric> {
    Some(Fabric::of(&run("gpus=64")?.scenario))
}

/// Seconds of an all-gather and of an all-reduce of `bytes` over `nodes` nodes of eight.
pub(super) fn times(fabric: &Fabric, nodes: u64, bytes: f64) -> [f64; 2] {
    let group = RankGroup { size: 8 * nodes, in_node: 8 };
    [fabric.gather(group, Bytes(bytes)), fabric.all_reduce(group, Bytes(bytes))].map(|time| time.0)
}

/// Bus bandwidth of an all-gather and of an all-reduce of `bytes` over `nodes` nodes of eight: what each rank sends,
/// over the time. Source: nccl-tests, PERFORMANCE.md.
pub(in crate::learn) fn bus(fabric: &Fabric, nodes: u64, bytes: f64) -> [f64; 2] {
    let n = (8 * nodes) as f64;
    let sent = (n - 1.0) / n * bytes;
    let [gather, reduce] = times(fabric, nodes, bytes);
    [sent / gather, 2.0 * sent / reduce]
}
