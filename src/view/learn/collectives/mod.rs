//! Collectives: what they are, how a ring and a tree carry them out step by step, and the bandwidth that they are
//! measured by.

mod kinds;
mod rates;
mod ring;
mod server;
mod tree;

use crate::learn::prelude::*;
use rates::times;
pub(super) use rates::{bus, fabric};
use shardscope_core::source::{LECTURE, NCCL, PLAYBOOK};

const K: Slider = slider("k", "collective", &[1, 2, 3, 4, 5, 6, 7, 8], 0).called(kinds::name);
const N: Slider = slider("n", "ranks of a group", &[2, 4, 8], 1);
const STEP: Slider = slider("j", "steps done", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14], 1);
const S: Slider = slider("S", "megabytes of a message", &[1, 16, 256, 4096], 1);
const NODES: Slider = slider("N", "nodes of eight GPUs", &[1, 2, 8, 64], 1);

pub(super) const LESSON: Lesson = Lesson {
    id: "collectives",
    title: "Collectives",
    about: "who sends what, on a ring and on a tree",
    steps: &[
        LessonStep {
            id: "kinds",
            title: "Eight exchanges of a group",
            sliders: &[K],
            live: kinds::kinds,
            source: (&PLAYBOOK, "appendix A0"),
            on_run: (Gauge::Sent(Traffic::Dp), &[("tp", "4")]),
        },
        LessonStep {
            id: "ring",
            title: "An all-reduce around a ring",
            sliders: &[N, STEP],
            live: ring::ring,
            source: (&PLAYBOOK, "appendix A0, ring all-reduce"),
            on_run: (Gauge::Sent(Traffic::Dp), &[("tp", "4")]),
        },
        LessonStep {
            id: "server",
            title: "A parameter server or a ring",
            sliders: &[N.over(&[2, 4, 8, 16, 64], 2), slider("k", "servers", &[1, 2, 4, 8], 0)],
            live: server::server,
            source: (&LECTURE, "data parallelism, parameter server"),
            on_run: (Gauge::Sent(Traffic::Dp), &[("tp", "4")]),
        },
        LessonStep {
            id: "tree",
            title: "An all-reduce up and down a tree",
            sliders: &[N.over(&[4, 8, 16], 1), STEP.over(&[0, 1, 2, 3, 4, 5, 6, 7, 8], 1)],
            live: tree::tree,
            source: (&NCCL, "tuning.cc"),
            on_run: (Gauge::Exposed(Traffic::Dp), &[("gpu.inter_gb_per_s", "25")]),
        },
        LessonStep {
            id: "bandwidth",
            title: "Bus bandwidth",
            sliders: &[S, NODES],
            live: bandwidth,
            source: (&NCCL, "PERFORMANCE.md"),
            on_run: (Gauge::Exposed(Traffic::Dp), &[("gpu.inter_gb_per_s", "25")]),
        },
        LessonStep {
            id: "gradients",
            title: "Who exchanges what in training",
            sliders: &[slider(
                "t",
                "tensor-parallel \
            ranks",
                &[1, 2, 4, 8],
                1,
            )],
            live: kinds::in_training,
            source: (&LECTURE, "collective communication"),
            on_run: (Gauge::Sent(Traffic::Tp), &[("tp", "8")]),
        },
    ],
};

const RATES: Scale = Scale { parts: &[("bandwidth", Ink::Forward)], unit: ("GB/s", 1e9) };

fn bandwidth(dials: &Dials) -> Live {
    let (bytes, nodes) = (dials.get("S") as f64 * 1e6, dials.get("N"));
    let Some(fabric) = fabric() else {
        return Live::default();
    };
    let [gather, reduce] = bus(&fabric, nodes, bytes);
    let [gathering, reducing] = times(&fabric, nodes, bytes);
    let bars = [
        Bar::new("all-gather: tensor over time", [bytes / gathering]),
        Bar::new("all-gather: bus bandwidth", [gather]),
        Bar::new("all-reduce: tensor over time", [bytes / reducing]),
        Bar::new("all-reduce: bus bandwidth", [reduce]),
    ];
    let n = 8 * nodes;
    Live::of([
        t!(
            "An all-reduce moves almost twice the tensor, an all-gather once. So the tensor's size over the time, \
                here {finished}, does not show the wire's speed.",
            finished = show_bandwidth(bytes / reducing)
        ),
        t!(
            "Bus bandwidth is what each rank sends, over the time: {reduce} for the all-reduce, {gather} for the \
                all-gather. It compares every collective with the data sheet, so later lessons use it.",
            reduce = show_bandwidth(reduce),
            gather = show_bandwidth(gather)
        ),
    ])
    .formula(
        "B = 2 S (n − 1) / (n t)",
        format!(
            "2 · {} GB · {} / ({n} · {}) = {}",
            number(bytes / 1e9, 3),
            n - 1,
            show_seconds(Seconds(reducing)),
            show_bandwidth(reduce)
        ),
    )
    .note(t!(
        "Of the all-reduce; an all-gather or a reduce-scatter has no factor of two. H100 with a network card of \
        {rate} GB/s for each GPU.",
        rate = 50_u8
    ))
    .above("the bus bandwidth of the all-reduce", reduce, 300e9, show_bandwidth)
    .bars(&RATES, &bars, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// nccl-tests, PERFORMANCE.md: the factor of an all-reduce is `2 (n - 1)/n`, of an all-gather `(n - 1)/n`; large
    /// messages reach the same bus bandwidth with either where both are rings.
    #[test]
    fn the_bus_bandwidth_is_the_wires_whatever_the_collective() {
        let fabric = fabric().unwrap();
        let [gather, reduce] = bus(&fabric, 64, 1e12);
        assert!((gather / reduce - 1.0).abs() < 0.01, "{gather:e} {reduce:e}");
        assert!(reduce < 400e9);
        let [gathering, reducing] = times(&fabric, 2, 1e9);
        assert!((bus(&fabric, 2, 1e9)[1] * reducing / 1e9 - 2.0 * 15.0 / 16.0).abs() < 1e-12);
        assert!((bus(&fabric, 2, 1e9)[0] * gathering / 1e9 - 15.0 / 16.0).abs() < 1e-12);
    }
}
