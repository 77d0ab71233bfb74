//! Times of the kernels of a layer, and of exchanges over nodes.

use super::super::bars::run;
use super::super::plot::{Axis, Line, Marks, Plot, Spacing};
use super::layer::{Layer, cut, index, seconds, three};
use super::{Dials, Live};
use crate::core::cluster::Group;
use crate::core::message::{Message, verbatim};
use crate::core::t;
use crate::core::time::{Kernel, kernels, roof};
use crate::core::traffic::Fabric;
use crate::core::units::{Bytes, number, show_bandwidth, show_percent, significant};
use crate::view::charts::ink::Ink;
use crate::view::node::Node;
use crate::view::node::markup::muted;

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
        let all: f64 = kernels.iter().map(of).sum();
        kernels.iter().filter(bound).map(of).sum::<f64>() / all
    };
    let text = vec![
        t!(
            "To know what hides behind compute, ask first how long compute takes. A kernel reads its inputs, computes, and writes its outputs; the slower of memory and arithmetic decides."
        ),
        t!(
            "Large products use what they read many times: above {ridge} operations per byte arithmetic decides. Norms and activation functions use it once, so memory decides.",
            ridge = three(ridge)
        ),
        t!(
            "Kernels that memory bounds do {work} of the work of this layer and take {time} of its time. Cutting its matrices over more ranks makes all products smaller and slower.",
            work = format!("{} %", significant(100.0 * sum(|kernel| kernel.flops), 2)),
            time = show_percent(sum(|kernel| kernel.seconds))
        ),
    ];
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
    let live = Live::of(text)
        .formula(
            "P ≤ min(F, M I),  F = M I at I = F / M",
            format!("{} · 10¹² / ({} · 10¹²) = {}", three(gpu.bf16.0 / 1e12), three(gpu.hbm.0 / 1e12), three(ridge)),
        )
        .plots(across, &[plot], &head, rows.collect());
    Live { legend: Node::from_iter([live.legend, names]), ..live }
}

/// Bytes of the whole tensor that an all-gather and an all-reduce of `bytes` finish a second over `nodes` nodes of eight.
fn finished(fabric: &Fabric, nodes: u64, bytes: f64) -> [f64; 2] {
    let group = Group { size: 8 * nodes, in_node: 8 };
    let times = [fabric.gather(group, Bytes(bytes)), fabric.all_reduce(group, Bytes(bytes))];
    times.map(|time| bytes / time.0)
}

/// Seconds of an all-gather of one byte over `nodes` nodes of eight.
fn latency(fabric: &Fabric, nodes: u64) -> f64 {
    fabric.gather(Group { size: 8 * nodes, in_node: 8 }, Bytes(1.0)).0
}

pub(super) fn exchange(dials: &Dials) -> Live {
    let bytes = dials.get("S") as f64 * 1e6;
    let Some(evaluation) = run("gpus=64") else {
        return Live::default();
    };
    let gpu = &evaluation.scenario.gpu;
    let fabric = Fabric::of(&evaluation.scenario);
    let nodes = [1, 2, 4, 8, 16, 32, 64, 128];
    let at = |nodes| finished(&fabric, nodes, bytes).map(|rate| rate / 1e9);
    let [one, many] = [1, 64].map(at);
    let text = vec![
        t!(
            "Ranks that share something exchange it around a ring. Gathering a tensor, or reducing and scattering it, sends it once through every link; an all-reduce does both."
        ),
        t!(
            "Inside a node {near} GB per second are gathered here, over {nodes} nodes {far}. A ring leaves each node over the network cards of all its GPUs.",
            near = three(one[0]),
            nodes = 64_u8,
            far = three(many[0])
        ),
        t!(
            "Every hop adds its latency: a message that is small for its ring wastes the wire. An all-reduce may go up and down a tree instead, which has fewer hops."
        ),
    ];
    let line = |name: &'static str, ink, which: usize| Line {
        name: name.into(),
        ink,
        points: nodes.map(|nodes| (nodes as f64, at(nodes)[which])).to_vec(),
        marks: Marks::Dots,
    };
    let plot = Plot {
        up: Axis { name: "GB/s of the whole tensor", spacing: Spacing::Linear },
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
        let rates = at(*nodes).map(|rate| verbatim(three(rate)));
        [vec![index(*nodes)], rates.to_vec(), vec![verbatim(three(1e3 * latency(&fabric, *nodes)))]].concat()
    });
    let across = Axis { name: "nodes of eight GPUs", spacing: Spacing::Doublings };
    let head = ["nodes", "all-gather, reduce-scatter, GB/s", "all-reduce, GB/s", "latency of an all-gather, ms"];
    Live::of(text)
        .formula(
            "t = hops · latency + S (n − 1) / (n B)",
            format!(
                "{} GB / {} = {}",
                number(bytes / 1e9, 3),
                seconds(bytes / (many[0] * 1e9)),
                show_bandwidth(many[0] * 1e9)
            ),
        )
        .note(t!(
            "H100: {near} in the node, {far} per GPU between nodes by the data sheets. The formula is an all-gather's over {nodes} nodes.",
            near = show_bandwidth(gpu.intra.0),
            far = show_bandwidth(gpu.inter.0),
            nodes = 64_u8
        ))
        .plots(across, &[plot, waits], &head, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lecture: a ring of n ranks has n - 1 steps, each with its latency, so that twice the nodes wait twice as long.
    #[test]
    fn the_latency_of_a_ring_grows_with_its_ranks() {
        let fabric = Fabric::of(&run("gpus=64").unwrap().scenario);
        for nodes in [8, 16, 32, 64] {
            let ratio = latency(&fabric, 2 * nodes) / latency(&fabric, nodes);
            assert!((1.7..=2.1).contains(&ratio), "{nodes}: {ratio}");
        }
    }
}
