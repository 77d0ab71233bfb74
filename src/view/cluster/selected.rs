//! The selected GPU: its groups and their messages, its memory, its work and its waits.

use super::names::layers;
use super::wires::{Wire, load, of_group};
use crate::prelude::*;
use shardscope_core::cluster::{GroupKind, Link, Mesh};
use shardscope_core::pipeline::Spans;

/// Members that are listed by number.
const LISTED: u64 = 4;

/// The panel beside the picture.
pub fn selected(evaluation: &Evaluation, gpu: u64, wires: &[Wire], unit: MemoryUnit) -> Node {
    let mesh = evaluation.scenario.layout.mesh();
    let groups = GroupKind::ALL.into_iter();
    let groups = groups.map(|kind| group(evaluation, mesh, kind, gpu, wires, unit));
    let groups = el("ul", &[("class", "cluster-groups")], &[groups.collect()]);
    let rank = usize::try_from(mesh.place(gpu).pp).unwrap_or(0);
    Node::from_iter([groups, facts(evaluation, rank, wires, unit)])
}

fn group(evaluation: &Evaluation, mesh: Mesh, kind: GroupKind, gpu: u64, wires: &[Wire], unit: MemoryUnit) -> Node {
    let members = mesh.members(kind, gpu);
    let name = strong(kind.name());
    let experts = evaluation.scenario.model.moe.is_some();
    let unused = match kind {
        GroupKind::Ep | GroupKind::ExpertDp if !experts => Some(t!("dense model")),
        _ if members.size() == 1 => Some(t!("not used")),
        _ => None,
    };
    if let Some(why) = unused {
        return el("li", &[("class", "off")], &[name, inline(why)]);
    }
    let listed: Vec<_> = (0..members.size().min(LISTED)).map(|at| members.rank(at).to_string()).collect();
    let listed = listed.join(", ") + if members.size() > LISTED { ", …" } else { "" };
    let node = gpu / mesh.per_node;
    let members = if members.share_node(mesh.per_node) {
        t!("{n} GPUs of node {node}: {listed}", n = members.size(), node, listed)
    } else {
        t!("{n} GPUs on {nodes} nodes: {listed}", n = members.size(), nodes = members.nodes(mesh.per_node), listed)
    };
    let sent = of_group(wires, kind).map(|wire| {
        let line = t!("{bytes} over {medium}", bytes = unit.fitting(wire.bytes), medium = wire.medium());
        Node::from_iter([aside(line), wire.meter()])
    });
    let sent: Node = sent.collect();
    let with_cp = if kind == GroupKind::Dp && mesh.cp > 1 {
        let n = mesh.dp * mesh.cp;
        aside(t!("gradients are shared by the {n} GPUs of DP × CP", n))
    } else {
        Node::none()
    };
    let words = el("span", &[], &[text(members), sent, with_cp]);
    el("li", &[], &[name, words])
}

fn facts(evaluation: &Evaluation, rank: usize, wires: &[Wire], unit: MemoryUnit) -> Node {
    let memory = &evaluation.report.memory;
    let memory_text = memory.per_stage.get(rank).map_or_else(Message::default, |stage| {
        t!("{held} of {capacity}", held = unit.number(stage.total), capacity = unit.show(memory.capacity_bytes))
    });
    let layers = layers(evaluation, rank);
    let is_one = layers.parse::<u64>().is_ok();
    let holds = match (evaluation.scenario.layout.tp, is_one) {
        (1, true) => t!("layer {layer}", layer = layers),
        (n, true) => t!("1/{n} of layer {layer}", n, layer = layers),
        (1, false) => t!("layers {layers}", layers),
        (n, false) => t!("layers {layers}, 1/{n} of each", layers, n),
    };
    let works = show_percent(works(&evaluation.spans, rank));
    // The step is longer: exposed messages and the optimizer come after the pipeline.
    let pipeline = show_seconds(Seconds(evaluation.spans.makespan()));
    let step = show_seconds(evaluation.report.step.time_s);
    let waits = waits_for(evaluation, rank);
    let links = [(Link::Intra, "Node link"), (Link::Inter, "Network")];
    let links = links
        .into_iter()
        .map(|(link, name)| (name, t!("busy {share} of the step", share = show_percent(load(wires, link)))));
    let rows = [
        ("Holds", holds),
        ("Memory", memory_text),
        ("Works", t!("{works} of the pipeline's {pipeline}; a step is {step}", works, pipeline, step)),
        ("Waits for", waits),
    ];
    let row = |(name, value): (&'static str, Message)| el("div", &[], &[leaf("dt", "", name), leaf("dd", "", value)]);
    el("dl", &[("class", "cluster-facts")], &[rows.into_iter().chain(links).map(row).collect()])
}

/// The share of the simulated step that a rank works.
fn works(spans: &Spans, rank: usize) -> f64 {
    let busy = spans.busy.get(rank).copied().unwrap_or(0.0);
    busy / spans.makespan().max(f64::MIN_POSITIVE)
}

/// The pipeline ranks whose results `rank` needs: forward, and backward.
pub(crate) fn neighbours(evaluation: &Evaluation, rank: usize) -> [Vec<usize>; 2] {
    let loads = &evaluation.loads;
    let stages = loads.get(rank).map_or(&[][..], |load| &load.stages);
    let mut found = [Vec::new(), Vec::new()];
    for stage in stages {
        for (ranks, other) in found.iter_mut().zip([stage.checked_sub(1), stage.checked_add(1)]) {
            let holder =
                |load: &shardscope_core::memory::RankLoad| other.is_some_and(|other| load.stages.contains(&other));
            let holders = (0..loads.len()).filter(|at| *at != rank && holder(&loads[*at]));
            for holder in holders {
                if !ranks.contains(&holder) {
                    ranks.push(holder);
                }
            }
        }
    }
    found
}

fn waits_for(evaluation: &Evaluation, rank: usize) -> Message {
    let [forward, backward] = neighbours(evaluation, rank).map(|ranks| {
        let ranks: Vec<_> = ranks.iter().map(usize::to_string).collect();
        ranks.join(", ")
    });
    match (forward.is_empty(), backward.is_empty()) {
        (true, true) => verbatim("–"),
        (false, true) => t!("PP rank {forward} forward", forward),
        (true, false) => t!("PP rank {backward} backward", backward),
        (false, false) => t!("PP rank {forward} forward, PP rank {backward} backward", forward, backward),
    }
}

#[cfg(test)]
mod tests {
    use super::super::wires::wires;
    use super::*;

    /// 1F1B: a rank takes activations from the one before and gradients from the one after (Narayanan et al. 2021,
    /// figure 3); interleaving makes the pipeline a ring, and a V turns at the last rank.
    #[test]
    fn a_rank_waits_for_its_neighbours() {
        let neighbouring = |schedule, chunks, rank| {
            let run = Run { schedule, virtual_stages: chunks, ..Run::default() };
            neighbours(&evaluate(&run).unwrap(), rank)
        };
        assert_eq!(neighbouring(Schedule::OneFOneB, 1, 1), [vec![0], vec![2]]);
        assert_eq!(neighbouring(Schedule::OneFOneB, 1, 0), [vec![], vec![1]]);
        assert_eq!(neighbouring(Schedule::Interleaved, 2, 0), [vec![3], vec![1]]);
        assert_eq!(neighbouring(Schedule::ZbV, 1, 3), [vec![2], vec![2]]);
    }

    /// Two chunks on each of four ranks are eight stages: rank 0 has stages 0 and 4, whose neighbours 1 and 5, and 3,
    /// lie on ranks 1 and 3 (Narayanan et al. 2021, section 2.2), and its words name those as ranks.
    #[test]
    fn what_a_rank_waits_for_is_called_a_rank() {
        let run = Run { schedule: Schedule::Interleaved, virtual_stages: 2, ..Run::default() };
        let words = waits_for(&evaluate(&run).unwrap(), 0).to_string();
        assert_eq!(words, "PP rank 3 forward, PP rank 1 backward");
    }

    /// The share of the timeline that is not bubble, over all ranks, is what the report says.
    #[test]
    fn ranks_work_what_the_bubble_leaves() {
        for schedule in [Schedule::OneFOneB, Schedule::DualPipe] {
            let run = Run { schedule, ..Run::default() };
            let evaluation = evaluate(&run).unwrap();
            let mean: f64 = (0..4).map(|rank| works(&evaluation.spans, rank)).sum::<f64>() / 4.0;
            let bubble = evaluation.report.pipeline.bubble_fraction;
            assert!((mean + bubble - 1.0).abs() < 1e-9, "{mean} {bubble}");
        }
    }

    #[test]
    fn every_kind_of_group_has_a_line() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let html = selected(&evaluation, 21, &wires(&evaluation)[1], MemoryUnit::Gib).to_html();
        assert_eq!(html.matches("<li").count(), 6);
        assert!(html.contains("2 GPUs of node 2: 20, 21"), "{html}");
        assert!(html.contains("4 GPUs on 4 nodes: 5, 21, 37, 53"), "{html}");
        assert!(html.contains("dense model"));
    }
}
