//! Ranks by node and group: who rank 0 talks to, and which groups leave their node.

use crate::core::cluster::{Axis, Link, Mesh};
use crate::core::message::verbatim;
use crate::core::run::{OneOf, Scenario};
use crate::core::sort::sort;
use crate::core::t;
use crate::view::node::markup::{Node, el, leaf, table, text};

/// Nodes drawn; of more, those where rank 0's groups have members come first.
const MAX_NODES: usize = 12;
/// GPUs drawn of a node: more than any scale-up domain that is built has.
const MAX_GPUS: u64 = 576;

fn names(axis: Axis) -> (&'static str, &'static str) {
    match axis {
        Axis::Tp => ("T", "tensor parallel"),
        Axis::Cp => ("C", "context parallel"),
        Axis::Dp => ("D", "data parallel"),
        Axis::Pp => ("P", "pipeline"),
        Axis::Ep => ("E", "experts"),
    }
}

/// The picture, and the same as a table.
#[must_use]
pub fn mesh(scenario: &Scenario) -> Node {
    let mesh = scenario.layout.mesh();
    let axes: Vec<Axis> = Axis::ALL
        .into_iter()
        .filter(|axis| mesh.span(*axis).size() > 1)
        .collect();
    let lead = t!(
        "Rank order: {order}, the fastest axis first. The groups of rank 0 are marked.",
        order = scenario.layout.rank_order.choice().label
    );
    let nodes: Node = shown_nodes(mesh, &axes)
        .into_iter()
        .map(|node| node_box(mesh, node))
        .collect();
    [
        leaf("p", "muted", lead),
        el(
            "div",
            &[("class", "mesh"), ("aria-hidden", "true")],
            &[nodes],
        ),
        hidden_nodes(mesh),
        groups(mesh, &axes),
    ]
    .into_iter()
    .collect()
}

fn nodes(mesh: Mesh) -> u64 {
    mesh.ranks().div_ceil(mesh.per_node)
}

fn hidden_nodes(mesh: Mesh) -> Node {
    let all = nodes(mesh);
    if all <= MAX_NODES as u64 {
        return Node::none();
    }
    let words = t!(
        "{MOST_NODES} of {all} nodes, those first that hold someone of rank 0's groups.",
        MOST_NODES = MAX_NODES,
        all
    );
    leaf("p", "muted", &words)
}

/// Nodes to draw: where rank 0's groups have members, then the others, in order.
fn shown_nodes(mesh: Mesh, axes: &[Axis]) -> Vec<u64> {
    let all = nodes(mesh);
    if all <= MAX_NODES as u64 {
        return (0..all).collect();
    }
    let mut listed: Vec<u64> = Vec::new();
    // One member of each kind in turn, so that every kind is seen.
    let longest = axes
        .iter()
        .map(|axis| mesh.span(*axis).size())
        .max()
        .unwrap_or(0);
    for member in 0..longest {
        for axis in axes {
            let span = mesh.span(*axis);
            let node = span.offset(member) / mesh.per_node;
            if member < span.size() && !listed.contains(&node) {
                listed.push(node);
            }
        }
        if listed.len() >= MAX_NODES {
            break;
        }
    }
    listed.truncate(MAX_NODES);
    sort(&mut listed);
    listed
}

fn node_box(mesh: Mesh, node: u64) -> Node {
    let first = node * mesh.per_node;
    let last = (first + mesh.per_node).min(mesh.ranks());
    let drawn = last.min(first + MAX_GPUS);
    let cells: Node = (first..drawn).map(|rank| cell(mesh, rank)).collect();
    let name = leaf("span", "muted", t!("node {node}", node));
    let gpus = el("div", &[("class", "gpus")], &[cells]);
    let more = if drawn < last {
        leaf(
            "span",
            "muted",
            t!("and {drawn} more GPUs", drawn = last - drawn),
        )
    } else {
        Node::none()
    };
    el("div", &[("class", "node")], &[name, gpus, more])
}

fn cell(mesh: Mesh, rank: u64) -> Node {
    let place = mesh.place(rank);
    let title = t!(
        "rank {rank}: tp {tp}, cp {cp}, dp {dp}, stage {pp}",
        rank,
        tp = place.tp,
        cp = place.cp,
        dp = place.dp,
        pp = place.pp
    );
    let (class, letters) = if rank == 0 {
        ("me".to_owned(), "0".to_owned())
    } else {
        let met = Axis::ALL
            .into_iter()
            .filter(|axis| mesh.with_first(*axis, rank));
        let letters: String = met.map(|axis| names(axis).0).collect();
        (letters.chars().take(1).collect(), letters)
    };
    let class = if class.is_empty() {
        class
    } else {
        format!("g-{class}")
    };
    el("i", &[("class", &class)], &[text(&letters)]).title(title)
}

fn groups(mesh: Mesh, axes: &[Axis]) -> Node {
    let row = |axis: &Axis| {
        let (span, group) = (mesh.span(*axis), mesh.group(*axis));
        let size = span.size();
        let (letter, name) = names(*axis);
        let listed = size.min(4);
        let ranks: Vec<String> = (0..listed)
            .map(|index| span.offset(index).to_string())
            .collect();
        let more = if size > listed { ", …" } else { "" };
        let wire = match group.link() {
            Link::Intra => t!("stays in its node"),
            Link::Inter => t!(
                "crosses {nodes} nodes, {in_node} in each",
                nodes = group.nodes(),
                in_node = group.in_node
            ),
        };
        let cells = [
            t!("{axis} ({letter})", axis = name, letter),
            verbatim(size.to_string()),
            verbatim((mesh.ranks() / size).to_string()),
            verbatim(format!("{}{more}", ranks.join(", "))),
            wire,
        ];
        (group.link() == Link::Inter, cells.map(text).into())
    };
    if axes.is_empty() {
        return leaf("p", "", "One GPU: no groups.");
    }
    let rows: Vec<_> = axes.iter().map(row).collect();
    let head = ["group", "ranks in it", "such groups", "rank 0's", "wire"];
    table("Groups", &head, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::run::Run;

    fn html(run: &Run) -> String {
        mesh(&Scenario::new(run).unwrap()).to_html()
    }

    /// 64 GPUs, TP 2, DP 8, PP 4 on nodes of eight: four of a data-parallel group share a node, stages stand two nodes apart.
    #[test]
    fn the_default_run_keeps_tensor_parallelism_in_its_node_and_nothing_else() {
        let html = html(&Run::default());
        assert_eq!(html.matches("class=\"node\"").count(), 8);
        assert_eq!(html.matches("<i").count(), 64);
        assert!(html.contains("stays in its node"));
        assert!(html.contains("crosses 2 nodes, 4 in each"), "{html}");
        assert!(html.contains("crosses 4 nodes, 1 in each"));
        assert!(html.contains("0, 16, 32, 48"));
    }

    #[test]
    fn a_large_cluster_shows_some_nodes_and_says_how_many_there_are() {
        let run = Run {
            gpus: 16_384,
            global_batch: 4096,
            ..Run::default()
        };
        let html = html(&run);
        assert_eq!(html.matches("class=\"node\"").count(), MAX_NODES);
        assert!(html.contains("12 of 2048 nodes"));
        for kind in ["g-T", "g-D", "g-P"] {
            assert!(html.contains(kind), "{kind}");
        }
    }

    /// `gpus_per_node` goes to 2²⁰.
    #[test]
    fn a_node_larger_than_any_is_drawn_in_part() {
        let run = Run {
            gpus: 1 << 20,
            gpus_per_node: Some(1 << 20),
            global_batch: 1 << 20,
            ..Run::default()
        };
        let html = html(&run);
        assert_eq!(html.matches("<i").count() as u64, MAX_GPUS);
        assert!(
            html.contains("and 1\u{2009}048\u{2009}000 more GPUs"),
            "{html}"
        );
    }
}
