//! Overlap: how long compute takes, how long messages take, and which of them can run at the same time.

mod activations;
mod layer;
mod parameters;
mod rates;

use crate::learn::prelude::*;
use activations::{ring, tensor};
pub(super) use layer::{Layer, copies, index};
use parameters::{cost, gathers, gradients};
use rates::{exchange, roofline};
use shardscope_core::source::{NCCL, PLAYBOOK, STAS};

const S: Slider = slider("s", "tokens of a sequence", &[1024, 2048, 4096, 8192, 16_384, 32_768], 2);
const N: Slider = slider("n", "data-parallel ranks", &[8, 16, 64, 256], 2);
const K: Slider = slider("k", "layers of a bucket", &[1, 2, 4, 8, 16], 2);
const C: Slider = slider("c", "context-parallel ranks", &[2, 4, 8, 16], 1);
const M: Slider = slider("S", "megabytes of a message", &[1, 16, 256, 4096], 2);
const SHARE: Slider = slider("φ", "percent of the compute that may hide", &[0, 20, 40, 80, 100], 3);

pub(super) const LESSON: Lesson = Lesson {
    id: "overlap",
    title: "Overlap",
    about: "what can hide behind compute",
    steps: &[
        LessonStep {
            id: "kernels",
            title: "How long a kernel takes",
            sliders: &[S, TENSOR],
            live: roofline,
            source: (&STAS, "accelerators, maximum achievable FLOP/s"),
            on_run: (Gauge::Step, &[("tp", "8")]),
        },
        LessonStep {
            id: "exchange",
            title: "How fast a group exchanges",
            sliders: &[M],
            live: exchange,
            source: (&NCCL, "PERFORMANCE.md"),
            on_run: (Gauge::Exposed(Traffic::Dp), &[("gpu.inter_gb_per_s", "25")]),
        },
        LessonStep {
            id: "gradients",
            title: "Gradients leave in buckets",
            sliders: &[S, N, K],
            live: gradients,
            source: (&PLAYBOOK, "appendix A3"),
            on_run: (Gauge::Exposed(Traffic::Dp), &[("overlap.dp", "0")]),
        },
        LessonStep {
            id: "gathers",
            title: "ZeRO-3: gather the next layer",
            sliders: &[S, N],
            live: gathers,
            source: (&PLAYBOOK, "appendix A3"),
            on_run: (Gauge::Exposed(Traffic::Zero3), &[("pp", "1"), ("zero", "3")]),
        },
        LessonStep {
            id: "tensor",
            title: "Tensor parallelism: nothing runs beside it",
            sliders: &[S, TENSOR.over(&[2, 4, 8, 16], 2)],
            live: tensor,
            source: (&PLAYBOOK, "appendix A3"),
            on_run: (Gauge::Exposed(Traffic::Tp), &[("stack.tp_overlap", "userbuffers")]),
        },
        LessonStep {
            id: "ring",
            title: "Ring attention: send while attending",
            sliders: &[S.over(&[8192, 16_384, 32_768, 131_072, 524_288], 2), C],
            live: ring,
            source: (&PLAYBOOK, "context parallelism"),
            on_run: (Gauge::Exposed(Traffic::Cp), &[("cp", "2"), ("overlap.cp", "0")]),
        },
        LessonStep {
            id: "cost",
            title: "Hiding is not free",
            sliders: &[SHARE, S.over(&[4096, 8192, 16_384, 32_768], 2)],
            live: cost,
            source: (&PLAYBOOK, "overlapping compute and communication"),
            on_run: (Gauge::Exposed(Traffic::Dp), &[("overlap.dp", "1")]),
        },
    ],
};
