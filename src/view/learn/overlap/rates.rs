//! Times of the kernels of a layer, and of exchanges over nodes.

use super::super::collectives::bus;
use super::layer::{Layer, cut, index, seconds, three};
use crate::learn::prelude::*;
use shardscope_core::cluster::RankGroup;
use shardscope_core::time::{Kernel, kernels, roof};
use shardscope_core::traffic::Fabric;

pub(super) fn roofline(dials: &Dials) -> Live {
    let (s, t) = (dials.get("s"), dials.get("t"));
    let Some(Layer { scenario, .. }) = Layer::of(&cut(s, t, 1, "")) else {
        return Live::default();
    };
    let kernels = kernels(&scenario);
    let gpu = &scenario.gpu;
    let ridge = gpu.bf16.0 / gpu.hbm.0;
    let bound = |kernel: &&Kernel| kernel.intensity() < ridge;
    let sum = |of: fn(&Kernel) -> f64| {
        let total: f64 = kernels.iter().map(of).sum();
        kernels.iter().filter(bound).map(of).sum::<f64>() / total
    };
    let points: Vec<(f64, f64)> = kernels.iter().map(|kernel| (kernel.intensity(), kernel.rate() / 1e12)).collect();
    let least = points.iter().map(|point| point.0).fold(ridge, f64::min) / 2.0;
    let most = points.iter().map(|point| point.0).fold(ridge, f64::max) * 2.0;
    let over = [least, ridge, most].map(|at| (at, roof(&scenario, at) / 1e12));
    let line = |name: &'static str, ink, points, marks| Line { name: name.into(), ink, points, marks };
    let plot = Plot {
        up: Axis { name: "TFLOP/s", spacing: Spacing::Tens },
        lines: vec![
            line("what the data sheet allows", Ink::Text, over.to_vec(), Marks::None),
            line("kernels of a forward pass", Ink::Forward, points, Marks::Numbers),
        ],
        level: None,
    };
    let across = Axis { name: "operations per byte", spacing: Spacing::Tens };
    let rows = kernels.iter().map(|kernel| {
        let figures = [three(kernel.intensity()), three(kernel.rate() / 1e12), seconds(kernel.seconds)];
        let mut row = vec![kernel.name.into()];
        row.extend(figures.map(verbatim));
        row
    });
    let head = ["kernel", "operations per byte", "TFLOP/s", "time"];
    let names = kernels.iter().zip(1_usize..);
    let names = names.map(|(kernel, number)| t!("{number} {kernel}", number, kernel = kernel.name));
    let names = muted(Message::joined(" · ", names));
    let live = Live::of([
        t!(
            "To know what hides behind compute, ask how long compute takes. A kernel reads, computes and writes; the \
                slower of memory and arithmetic decides: above {ridge} operations per byte, arithmetic.",
            ridge = three(ridge)
        ),
        t!(
            "Kernels below it, norms and activation functions, do {work} of this layer's work in {time} of its time. \
                Cutting matrices over more ranks makes all products slower.",
            work = format!("{} %", significant(100.0 * sum(|kernel| kernel.flops), 2)),
            time = show_percent(sum(|kernel| kernel.seconds))
        ),
    ])
    .below("the time of kernels that memory bounds", sum(|kernel| kernel.seconds), 0.035, show_percent)
    .formula(
        "P ≤ min(F, M I),  F = M I at I = F / M",
        format!("{} · 10¹² / ({} · 10¹²) = {}", three(gpu.bf16.0 / 1e12), three(gpu.hbm.0 / 1e12), three(ridge)),
    )
    .plots(across, &[plot], &head, rows.collect());
    Live { legend: Node::from_iter([live.legend, names]), ..live }
}

/// Seconds of an all-gather of one byte over `nodes` nodes of eight.
fn latency(fabric: &Fabric, nodes: u64) -> f64 {
    fabric.gather(RankGroup { size: 8 * nodes, in_node: 8 }, Bytes(1.0)).0
}

pub(super) fn exchange(dials: &Dials) -> Live {
    let bytes = dials.get("S") as f64 * 1e6;
    let Some(evaluation) = run("gpus=64") else {
        return Live::default();
    };
    let gpu = &evaluation.scenario.gpu;
    let fabric = Fabric::of(&evaluation.scenario);
    let nodes = [1, 2, 4, 8, 16, 32, 64, 128];
    let at = |nodes| bus(&fabric, nodes, bytes);
    let [one, many] = [1, 64].map(at);
    let line = |name: &'static str, ink, which: usize| Line {
        name: name.into(),
        ink,
        points: nodes.map(|nodes| (nodes as f64, at(nodes)[which] / 1e9)).to_vec(),
        marks: Marks::Dots,
    };
    let plot = Plot {
        up: Axis { name: "bus bandwidth, GB/s", spacing: Spacing::Linear },
        lines: vec![line("all-gather, reduce-scatter", Ink::Forward, 0), line("all-reduce", Ink::Exposed, 1)],
        level: None,
    };
    let waits = Plot {
        up: Axis { name: "latency of an all-gather, ms", spacing: Spacing::Linear },
        lines: vec![Line {
            name: "latency alone".into(),
            ink: Ink::Muted,
            points: nodes.map(|nodes| (nodes as f64, 1e3 * latency(&fabric, nodes))).to_vec(),
            marks: Marks::Dots,
        }],
        level: None,
    };
    let rows = nodes.iter().map(|nodes| {
        let rates = at(*nodes).map(|rate| verbatim(three(rate / 1e9)));
        [vec![index(*nodes)], rates.to_vec(), vec![verbatim(three(1e3 * latency(&fabric, *nodes)))]].concat()
    });
    let across = Axis { name: "nodes of eight GPUs", spacing: Spacing::Doublings };
    let head = ["nodes", "all-gather, reduce-scatter, GB/s", "all-reduce, GB/s", "latency of an all-gather, ms"];
    Live::of([
        t!(
            "Collectives again, now by the number of nodes: for a message of this size an all-gather reaches a bus \
                bandwidth of {near} inside a node, {far} over {nodes} nodes.",
            near = show_bandwidth(one[0]),
            far = show_bandwidth(many[0]),
            nodes = 64_u8
        ),
        t!(
            "Every hop adds its latency, and a ring over many nodes has many hops. An all-reduce may use a tree, \
                which has fewer: it reaches {tree}.",
            tree = show_bandwidth(many[1])
        ),
    ])
    .above("the bus bandwidth of the all-gather over the most nodes", many[0], 200e9, show_bandwidth)
    .formula(
        "t = hops · latency + S (n − 1) / (n B)",
        format!(
            "S (n − 1) / n / t = {} GB · 511/512 / {} = {}",
            number(bytes / 1e9, 3),
            seconds(511.0 / 512.0 * bytes / many[0]),
            show_bandwidth(many[0])
        ),
    )
    .note(t!(
        "H100: {near} in the node, {far} per GPU between nodes by the data sheets. The formula is an all-gather's \
            over {nodes} nodes.",
        near = show_bandwidth(gpu.intra.0),
        far = show_bandwidth(gpu.inter.0),
        nodes = 64_u8
    ))
    .plots(across, &[plot, waits], &head, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lecture: a ring of n ranks has n - 1 steps, each with its latency, so that twice the nodes wait twice as
    /// long.
    #[test]
    fn the_latency_of_a_ring_grows_with_its_ranks() {
        let fabric = Fabric::of(&run("gpus=64").unwrap().scenario);
        for nodes in [8, 16, 32, 64] {
            let ratio = latency(&fabric, 2 * nodes) / latency(&fabric, nodes);
            assert!((1.7..=2.1).contains(&ratio), "{nodes}: {ratio}");
        }
    }
}
