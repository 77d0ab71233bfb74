//! Overlap: how long compute takes, how long messages take, and which of them can run at the same time.

mod activations;
mod parameters;
mod rates;

use super::bars::run;
use super::dials::{Dials, Slider, TENSOR, slider};
use super::{Lesson, Live, Step};
use crate::core::cluster::Group;
use crate::core::message::{Message, verbatim};
use crate::core::report::windows;
use crate::core::run::Scenario;
use crate::core::source::{NCCL, PLAYBOOK, STAS};
use crate::core::time::{Clock, ComputeTime};
use crate::core::traffic::{StageWaits, flops_per_byte, playbook_ratio, stage_waits};
use crate::core::units::{BytesPerSecond, Seconds, show_seconds, significant};
use activations::{ring, tensor};
use parameters::{cost, gathers, gradients};
use rates::{exchange, roofline};

const S: Slider = slider(
    "s",
    "tokens of a sequence",
    &[1024, 2048, 4096, 8192, 16_384, 32_768],
    2,
);
const N: Slider = slider("n", "data-parallel ranks", &[8, 16, 64, 256], 2);
const K: Slider = slider("k", "layers of a bucket", &[1, 2, 4, 8, 16], 2);
const C: Slider = slider("c", "context-parallel ranks", &[2, 4, 8, 16], 1);
const M: Slider = slider("S", "megabytes of a message", &[1, 16, 256, 4096], 2);
const SHARE: Slider = slider(
    "φ",
    "percent of the compute that may hide",
    &[0, 20, 40, 80, 100],
    3,
);

/// The lesson.
#[rustfmt::skip]
pub(super) const LESSON: Lesson = Lesson {
    title: "Overlap",
    about: "what can hide behind compute",
    steps: &[
        Step { title: "How long a kernel takes", sliders: &[S, TENSOR], live: roofline, source: (&STAS, "accelerators, maximum achievable FLOP/s"), on_run: &[] },
        Step { title: "How fast a group exchanges", sliders: &[M], live: exchange, source: (&NCCL, "PERFORMANCE.md"), on_run: &[] },
        Step { title: "Gradients leave in buckets", sliders: &[S, N, K], live: gradients, source: (&PLAYBOOK, "appendix A3"), on_run: &[("zero", "1"), ("overlap.dp", "0.8")] },
        Step { title: "ZeRO-3: gather the next layer", sliders: &[S, N], live: gathers, source: (&PLAYBOOK, "appendix A3"), on_run: &[("zero", "3"), ("pp", "1")] },
        Step { title: "Tensor parallelism: nothing beside", sliders: &[S, TENSOR.over(&[2, 4, 8, 16], 2)], live: tensor, source: (&PLAYBOOK, "appendix A3"), on_run: &[("stack.tp_overlap", "userbuffers")] },
        Step { title: "Ring attention: send while attending", sliders: &[S.over(&[8192, 16_384, 32_768, 131_072, 524_288], 2), C], live: ring, source: (&PLAYBOOK, "context parallelism"), on_run: &[("cp", "2")] },
        Step { title: "Hiding is not free", sliders: &[SHARE, S.over(&[4096, 8192, 16_384, 32_768], 2)], live: cost, source: (&PLAYBOOK, "overlapping compute and communication"), on_run: &[("overlap.dp", "1")] },
    ],
};

/// One layer on a rank, without what the first and the last stage do besides.
struct Layer {
    scenario: Scenario,
    time: ComputeTime,
    waits: StageWaits,
}

impl Layer {
    fn of(settings: &str) -> Option<Self> {
        let mut scenario = run(settings)?.scenario;
        scenario.stage_layers = vec![0, 1, 0];
        let time = Clock::new(&scenario).stage(&scenario, 1);
        let waits = stage_waits(&scenario, 1, &windows(&time));
        Some(Self {
            scenario,
            time,
            waits,
        })
    }
    /// Bandwidth of a ring over `group` by the data sheets: it leaves each node over the cards of all its members there.
    fn wire(&self, group: Group) -> BytesPerSecond {
        let gpu = &self.scenario.gpu;
        let cards = BytesPerSecond(gpu.inter.0 * group.in_node as f64);
        if group.nodes() == 1 || cards.0 > gpu.intra.0 {
            gpu.intra
        } else {
            cards
        }
    }
    /// FLOPs that the GPU computes while a byte travels: F / B of the formulas.
    fn per_byte(&self, group: Group) -> f64 {
        flops_per_byte(self.scenario.gpu.bf16, self.wire(group))
    }
    /// The playbook's ratio of the row `name` over a wire, in bytes.
    fn ratio(&self, name: &str, wire: BytesPerSecond) -> f64 {
        let ratio = playbook_ratio(&self.scenario, name, wire, 1.0, 1.0);
        ratio.map_or(0.0, |ratio| ratio.corrected)
    }
    /// The data-parallel ranks.
    fn copies(&self) -> Group {
        let scenario = &self.scenario;
        scenario.layout.mesh().shard_group(scenario.zero.shard)
    }
}

/// Seconds as a person reads them.
fn seconds(value: f64) -> String {
    show_seconds(Seconds(value))
}

fn index(value: u64) -> Message {
    verbatim(value.to_string())
}

fn three(value: f64) -> String {
    significant(value, 3)
}

/// Llama 3.1 8B, one rank a copy.
fn copies(s: u64, n: u64, more: &str) -> String {
    format!("model=llama-3.1-8b&tp=1&pp=1&seq_len={s}&gpus={n}&global_batch={n}{more}")
}

/// Llama 3.1 70B, its matrices cut over `t` ranks and its sequence over `c`.
fn cut(s: u64, t: u64, c: u64, more: &str) -> String {
    let gpus = t * c;
    format!("model=llama-3.1-70b&tp={t}&cp={c}&pp=1&seq_len={s}&gpus={gpus}&global_batch=1{more}")
}
