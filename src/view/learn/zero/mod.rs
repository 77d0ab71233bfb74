//! Data parallelism and `ZeRO`: copies that agree, what their agreement costs, and what need not be copied.

mod compared;
mod everywhere;
mod flow;

use super::bars::{MEMORY, TIME, part};
use super::collectives::{bus, fabric};
use crate::learn::prelude::*;
use shardscope_core::source::{NCCL, PLAYBOOK, ZERO};
use shardscope_core::units::GIB;

const N: Slider = slider("n", "data-parallel ranks", &[2, 4, 8, 16, 64, 256], 2);
const S: Slider = slider("S", "megabytes of a message", &[1, 16, 256, 4096], 2);
const B: Slider = slider("B", "sequences of a batch", &[256, 1024, 4096], 1);
const Z: Slider = slider("z", "stage of ZeRO", &[1, 2], 0);
const M: Slider = slider("m", "micro-batches", &[1, 2, 4], 0);
const W: Slider = slider("w", "what is hidden", &[1, 2, 3, 4], 0).called(flow::way);

pub(super) const LESSON: Lesson = Lesson {
    id: "zero",
    title: "Data parallelism and ZeRO",
    about: "what stages 0, 1, 2 and 3 shard",
    steps: &[
        LessonStep {
            id: "copies",
            title: "Copies that must agree",
            sliders: &[N],
            live: copies,
            source: (&PLAYBOOK, "data parallelism"),
            on_run: (Gauge::Sent(Traffic::Dp), &[("zero", "0")]),
        },
        LessonStep {
            id: "collectives",
            title: "How fast a collective is",
            sliders: &[S],
            live: collectives,
            source: (&NCCL, "PERFORMANCE.md"),
            on_run: (Gauge::Exposed(Traffic::Dp), &[("gpu.inter_gb_per_s", "25")]),
        },
        LessonStep {
            id: "overlap",
            title: "Hide it behind the backward pass",
            sliders: &[N],
            live: overlap,
            source: (&PLAYBOOK, "overlapping gradient synchronisation"),
            on_run: (Gauge::Exposed(Traffic::Dp), &[("overlap.dp", "0")]),
        },
        LessonStep {
            id: "optimizer",
            title: "ZeRO-1: shard the optimizer",
            sliders: &[N],
            live: stage_one,
            source: (&ZERO, "section 5.1"),
            on_run: (Gauge::Held(Component::Optimizer), &[("zero", "0")]),
        },
        LessonStep {
            id: "shards",
            title: "ZeRO-2 and ZeRO-3: shard the rest",
            sliders: &[N],
            live: stages,
            source: (&ZERO, "sections 5.2 and 5.3"),
            on_run: (Gauge::Peak, &[("pp", "1"), ("zero", "3")]),
        },
        LessonStep {
            id: "everywhere",
            title: "Memory of all GPUs together",
            sliders: &[N],
            live: everywhere::everywhere,
            source: (&ZERO, "figure 1"),
            on_run: (Gauge::Held(Component::Optimizer), &[("pp", "1"), ("zero", "3")]),
        },
        LessonStep {
            id: "traffic",
            title: "What each stage sends",
            sliders: &[N],
            live: traffic,
            source: (&ZERO, "section 7"),
            on_run: (Gauge::Sent(Traffic::Zero3), &[("pp", "1"), ("zero", "3")]),
        },
        LessonStep {
            id: "flow",
            title: "A step as a flow",
            sliders: &[W, N, Z, M],
            live: flow::flow,
            source: (&PLAYBOOK, "ZeRO-1 and ZeRO-2, communication"),
            on_run: (Gauge::Exposed(Traffic::Dp), &[("overlap.dp", "0")]),
        },
        LessonStep {
            id: "pipeline",
            title: "ZeRO-3 or a pipeline",
            sliders: &[
                slider("n", "ranks", &[4, 8, 16], 1),
                B.over(&[16, 64, 512], 1),
                slider("b", "sequences of a micro-batch", &[1, 4, 16, 64], 0),
            ],
            live: compared::compared,
            source: (&PLAYBOOK, "5D parallelism in a nutshell"),
            on_run: (Gauge::Sent(Traffic::Pp), &[("pp", "8")]),
        },
        LessonStep {
            id: "scaling",
            title: "How far data parallelism goes",
            sliders: &[B],
            live: scaling,
            source: (&PLAYBOOK, "data parallelism"),
            on_run: (Gauge::Step, &[("gpus", "128")]),
        },
    ],
};

const SENT: Scale = Scale { parts: &[("gradients", Ink::Memory(1)), ("weights", Ink::Memory(0))], unit: ("GB", 1e9) };
const SPEED: Scale = Scale { parts: &[("reached", Ink::Forward)], unit: ("GB/s", 1e9) };
const TOKENS: Scale = Scale { parts: &[("tokens per second and GPU", Ink::Forward)], unit: ("", 1.0) };

/// Llama 3.1 8B, one rank a copy.
fn settings(ranks: u64, zero: u64, batch: u64) -> String {
    format!("model=llama-3.1-8b&tp=1&pp=1&seq_len=4096&recompute=full&gpus={ranks}&zero={zero}&global_batch={batch}")
}

/// Bytes that a GPU sends in a step of one micro-batch for gradients and for gathered weights. A report counts the
/// weights that stages one and two gather behind the update with the gradients: what is more than stage three's one
/// reduce-scatter.
fn sent(ranks: u64, zero: u64) -> [f64; 2] {
    let rows = |zero: u64| -> [f64; 2] {
        let rows = run(&settings(ranks, zero, ranks)).map(|evaluation| evaluation.report.overlap).unwrap_or_default();
        let bytes = |traffic| rows.iter().find(|row| row.traffic == traffic).map_or(0.0, |row| row.bytes_per_gpu.0);
        [bytes(Traffic::Dp), bytes(Traffic::Zero3)]
    };
    let [all, gathered] = rows(zero);
    if !matches!(zero, 1 | 2) {
        return [all, gathered];
    }
    let [gradients, _] = rows(3);
    [gradients, all - gradients + gathered]
}

fn copies(dials: &Dials) -> Live {
    let n = dials.get("n");
    let [bytes, _] = sent(n, 0);
    let parameters = run(&settings(n, 0, n)).map_or(0, |evaluation| evaluation.report.parameters.total);
    let share = 2.0 * (n as f64 - 1.0) / n as f64;
    let bars: Vec<Bar> = [2, 4, 8, 16, 64, 256]
        .into_iter()
        .map(|ranks| Bar::new(t!("{ranks} ranks", ranks), [sent(ranks, 0)[0], 0.0]))
        .collect();
    Live::of([
        t!(
            "The simplest way to use {n} GPUs: each holds the whole model and takes other samples. A batch's gradient \
                is a sum over samples, so an all-reduce adds up all copies' gradients before the update.",
            n
        ),
        t!(
            "Around a ring every rank sends almost twice its gradients, whatever the number of ranks: here {bytes} \
                per GPU and step.",
            bytes = gb(bytes)
        ),
    ])
    .below("what a GPU sends", bytes, 40e9, gb)
    .formula(
        "V = 2 g P (n − 1) / n",
        format!(
            "4 B · {} · 10⁹ · {} = {} GB",
            number(parameters as f64 / 1e9, 3),
            number(share, 3),
            number(bytes / 1e9, 3)
        ),
    )
    .bars(&SENT, &bars, None)
}

fn gb(bytes: f64) -> String {
    format!("{} GB", number(bytes / 1e9, 3))
}

fn collectives(dials: &Dials) -> Live {
    let bytes = dials.get("S") as f64 * 1e6;
    let speed = |nodes| fabric().map_or(0.0, |fabric| bus(&fabric, nodes, bytes)[1]);
    let (one, many) = (speed(1), speed(64));
    let bars: Vec<Bar> = [1, 2, 4, 16, 64]
        .into_iter()
        .map(|nodes| Bar::new(t!("{gpus} GPUs", gpus = 8 * nodes), [speed(nodes)]))
        .collect();
    let note = t!("H100 with a network of {rate} GB/s per GPU.", rate = 50_u8);
    Live::of([
        t!(
            "Bus bandwidth, from the lesson before, says how fast an all-reduce runs. For a message of {size} MB it \
                is {one} inside a node and {many} over {nodes} nodes: the slowest link of the group decides.",
            size = dials.get("S"),
            one = show_bandwidth(one),
            many = show_bandwidth(many),
            nodes = 64_u8
        ),
        t!("Small messages do not reach it, because every hop takes some microseconds. So frameworks collect \
                gradients in buckets before they send them."),
    ])
    .above("the bus bandwidth over the most GPUs", many, 290e9, show_bandwidth)
    .formula("t = hops · latency + 2 S (n − 1) / (n · B)", format!("{} GB/s", number(many / 1e9, 3)))
    .note(note)
    .bars(&SPEED, &bars, None)
}

fn overlap(dials: &Dials) -> Live {
    let n = dials.get("n");
    let link = |ranks: u64, share: &str| format!("{}&overlap.dp={share}", settings(ranks, 1, ranks));
    let bars: Vec<Bar> = [("sent at the end", "0"), ("sent meanwhile", "1")]
        .into_iter()
        .filter_map(|(name, share)| Bar::time(name, &link(n, share), 1.0))
        .collect();
    Live::of([
        t!("The gradient of the last layer is complete when the backward pass has only begun. Sent then, in buckets, \
                it travels while earlier layers compute."),
        t!(
            "What does not fit behind the backward pass is exposed and lengthens the step: {part} of {all} on the \
                wire. More tokens on each rank hide more of it.",
            part = show_seconds(Seconds(part(&bars, 1, 1))),
            all = show_seconds(Seconds(part(&bars, 0, 1)))
        ),
    ])
    .below("the exposed time", part(&bars, 1, 1), 0.04, |seconds| show_seconds(Seconds(seconds)))
    .formula("exposed = max(0, wire − overlap · backward)", show_seconds(Seconds(part(&bars, 1, 1))))
    .bars(&TIME, &bars, None)
}

fn memory(n: u64, zero: u64) -> Option<Bar> {
    Bar::memory(verbatim(format!("ZeRO-{zero}")), &settings(n, zero, n))
}

fn stage_one(dials: &Dials) -> Live {
    let n = dials.get("n");
    let bars: Vec<Bar> = [0, 1].into_iter().filter_map(|zero| memory(n, zero)).collect();
    Live::of([
        t!(
            "All copies do the same update. It is enough that each of {n} ranks keeps the optimizer states of its \
                part, updates that part and sends the new weights to the others.",
            n
        ),
        t!(
            "An all-reduce is a reduce-scatter and an all-gather: with the update between them nothing more is sent. \
                The states shrink from {before} to {after}.",
            before = gib(part(&bars, 0, 2)),
            after = gib(part(&bars, 1, 2))
        ),
    ])
    .below("the optimizer states of a rank", part(&bars, 1, 2), 2.0 * GIB, gib)
    .formula("optimizer = 12 P / n", format!("{} / {n} = {}", gib(part(&bars, 0, 2)), gib(part(&bars, 1, 2))))
    .bars(&MEMORY, &bars, None)
}

fn stages(dials: &Dials) -> Live {
    let n = dials.get("n");
    let bars: Vec<Bar> = (0..4).filter_map(|zero| memory(n, zero)).collect();
    Live::of([
        t!("Gradients are needed only by the rank that updates them: stage two shards them. A rank can also keep its \
                part of the weights and gather each layer right before it runs: stage three, FSDP."),
        t!(
            "Memory falls from {before} to {after}. The cost: every micro-batch gathers all weights, in the forward \
                and again in the backward pass.",
            before = gib(total(&bars, 0)),
            after = gib(total(&bars, 3))
        ),
    ])
    .below("the memory of stage three", total(&bars, 3), 18.0 * GIB, gib)
    .formula("states = 18 P / n", gib(bars.last().map_or(0.0, |bar| bar.values.iter().take(3).sum())))
    .memory(&bars)
}

fn traffic(dials: &Dials) -> Live {
    let n = dials.get("n");
    let bars: Vec<Bar> = (0..4).map(|zero| Bar::new(verbatim(format!("ZeRO-{zero}")), sent(n, zero))).collect();
    Live::of([
        t!("Stage one sends as much as plain data parallelism if gradients and weights have the same precision. Here \
                gradients have more bytes, so it sends less."),
        t!(
            "Stage three gathers the weights once more, for the backward pass: with one micro-batch per step it sends \
                {more} times as much as stage one. Further micro-batches repeat the gathers.",
            more = number(total(&bars, 3) / total(&bars, 1), 3)
        ),
    ])
    .below("what stage three sends", total(&bars, 3), 40e9, gb)
    .formula(
        "V = (g + w) P (n − 1) / n,  V₃ = (g + 2 w) P (n − 1) / n",
        format!("{} GB, {} GB", number(total(&bars, 1) / 1e9, 3), number(total(&bars, 3) / 1e9, 3)),
    )
    .bars(&SENT, &bars, None)
}

fn scaling(dials: &Dials) -> Live {
    let batch = dials.get("B");
    let speed = |ranks: u64| {
        run(&settings(ranks, 1, batch)).map_or(0.0, |evaluation| evaluation.report.step.tokens_per_s_per_gpu)
    };
    let ranks: Vec<u64> = [8, 32, 128, 256, 1024].into_iter().filter(|ranks| *ranks <= batch).collect();
    let bars: Vec<Bar> =
        ranks.iter().map(|ranks| Bar::new(t!("{ranks} ranks", ranks = *ranks), [speed(*ranks)])).collect();
    let (first, last) = (bars.first().map_or(1.0, Bar::total), bars.last().map_or(0.0, Bar::total));
    Live::of([
        t!(
            "A batch of {batch} sequences has one for each of at most {batch} ranks: data parallelism ends there.",
            batch
        ),
        t!(
            "Before that, gradients stay as large while the compute that hides them shrinks: at {ranks} ranks a GPU \
                reaches {share} of its speed at eight. Larger batches help until the loss no longer falls faster.",
            ranks = ranks.last().copied().unwrap_or(1),
            share = show_percent(last / first)
        ),
    ])
    .above("the speed with the most ranks as a share of that with eight", last / first, 0.88, show_percent)
    .formula("n ≤ B / b", format!("{batch} / 1 = {batch}"))
    .bars(&TOKENS, &bars, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ZeRO, section 7, with bf16 weights and fp32 gradients: `(g + w) P` and `(g + 2 w) P`, that is 6 and 8 bytes.
    #[test]
    fn stage_three_sends_one_gather_more() {
        for n in [8, 64] {
            let total = |zero| sent(n, zero).iter().sum::<f64>();
            let ratio = total(3) / total(1);
            assert!((ratio - 8.0 / 6.0).abs() < 0.02, "{n}: {ratio}");
        }
    }

    /// ZeRO, section 7: with fp32 gradients and bf16 weights a rank sends `8 P (n − 1) / n` in an all-reduce; stages
    /// one and two `4 P` of gradients and `2 P` of weights, stage three `2 P` of weights more. Picture, table and
    /// formula have these.
    #[test]
    fn each_stage_sends_gradients_and_weights_as_the_paper_counts() {
        let p = 8.030_261_248e9;
        for n in [8_u64, 64] {
            let share = (n as f64 - 1.0) / n as f64;
            for (zero, expected) in (0..4).zip([[8.0, 0.0], [4.0, 2.0], [4.0, 2.0], [4.0, 4.0]]) {
                for (held, bytes) in sent(n, zero).into_iter().zip(expected) {
                    assert!((held - bytes * p * share).abs() < 0.01 * p, "{n} {zero}: {held:e} {bytes}");
                }
            }
        }
    }

    /// nccl-tests, PERFORMANCE.md: the bus bandwidth of an all-reduce is the wire's, so it does not exceed it.
    #[test]
    fn a_collective_reaches_less_than_the_wire() {
        let fabric = fabric().unwrap();
        let speeds = [1, 2, 64].map(|nodes| bus(&fabric, nodes, 4e9)[1]);
        assert!(speeds[0] < 450e9 && speeds[1] < 450e9 && speeds[2] < 400e9, "{speeds:?}");
        assert!(bus(&fabric, 64, 1e6)[1] < speeds[2]);
    }
}
