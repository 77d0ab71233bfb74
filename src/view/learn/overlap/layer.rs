//! The layer whose compute and messages the lesson compares.

use crate::learn::prelude::*;
use shardscope_core::cluster::RankGroup;
use shardscope_core::report::windows;
use shardscope_core::time::{Clock, ComputeTime};
use shardscope_core::traffic::{StageWaits, flops_per_byte, playbook_ratio, ring_bandwidth, stage_waits};
use shardscope_core::units::BytesPerSecond;

/// One layer on a rank, without what the first and the last stage do besides.
pub(in crate::learn) struct Layer {
    pub scenario: Scenario,
    pub time: ComputeTime,
    pub waits: StageWaits,
}

impl Layer {
    pub fn of(settings: &str) -> Option<Self> {
        let mut scenario = run(settings)?.scenario;
        scenario.stage_layers = vec![0, 1, 0];
        let time = Clock::new(&scenario).stage(&scenario, 1);
        let waits = stage_waits(&scenario, 1, &windows(&time));
        Some(Self { scenario: *scenario, time, waits })
    }
    /// Bandwidth of a ring over `group` by the data sheets.
    pub fn wire(&self, group: RankGroup) -> BytesPerSecond {
        ring_bandwidth(&self.scenario, group)
    }
    /// FLOPs that the GPU computes while a byte travels: F / B of the formulas.
    pub fn per_byte(&self, group: RankGroup) -> f64 {
        flops_per_byte(self.scenario.gpu.bf16, self.wire(group))
    }
    /// The playbook's ratio of `traffic` over a wire, in bytes.
    pub fn ratio(&self, traffic: Traffic, wire: BytesPerSecond) -> f64 {
        let ratio = playbook_ratio(&self.scenario, traffic, wire, 1.0, 1.0);
        ratio.map_or(0.0, |ratio| ratio.corrected)
    }
    /// The data-parallel ranks.
    pub fn copies(&self) -> RankGroup {
        let scenario = &self.scenario;
        scenario.layout.mesh().shard_group(scenario.zero.shard)
    }
}

/// Seconds as a person reads them.
pub(super) fn seconds(value: f64) -> String {
    show_seconds(Seconds(value))
}

pub(in crate::learn) fn index(value: u64) -> Message {
    verbatim(value.to_string())
}

pub(super) fn three(value: f64) -> String {
    significant(value, 3)
}

/// Llama 3.1 8B, one rank a copy.
pub(in crate::learn) fn copies(s: u64, n: u64, more: &str) -> String {
    format!("model=llama-3.1-8b&tp=1&pp=1&seq_len={s}&gpus={n}&global_batch={n}{more}")
}

/// Llama 3.1 70B, its matrices cut over `t` ranks and its sequence over `c`.
pub(super) fn cut(s: u64, t: u64, c: u64, more: &str) -> String {
    let gpus = t * c;
    format!("model=llama-3.1-70b&tp={t}&cp={c}&pp=1&seq_len={s}&gpus={gpus}&global_batch=1{more}")
}
