//! The cluster: every node and GPU coloured by pipeline stage, the groups of one GPU, the links between them by how
//! busy they are over the step.
//!
//! `scene` decides what is drawn for a mesh and a width, `marks` what is drawn over it for one GPU, [`picture`] makes
//! SVG of both. [`wires`] are the report's traffic by group, [`crossing`] says which of it must leave the node,
//! [`moment`] what happens at an instant of the step.

pub mod base;
pub mod crossing;
mod grid;
pub mod legend;
mod marks;
pub mod moment;
pub mod names;
pub mod opened;
pub mod picture;
mod places;
pub mod rails;
pub mod ranks;
mod scene;
pub mod selected;
pub mod wires;

pub use scene::{Level, Scene};

use crate::charts::figure::save;
use crate::node::action::PanelChoice;
use crate::prelude::*;
use shardscope_core::cluster::{GroupKind, Link};
use wires::Wire;

/// A node with more GPUs than this is a domain of several machines.
const MAX_NODE: u64 = 16;

/// The picture in a sentence; `load`: the links whose load colours it.
pub fn summary(scene: &Scene, load: Option<Link>) -> Message {
    let mesh = scene.mesh;
    let (nodes, n) = (mesh.nodes(), mesh.per_node.min(mesh.ranks()));
    let size = if nodes == 1 {
        t!("One node of {n} GPUs.", n)
    } else if n == 72 {
        t!("{nodes} NVL72 domains of {n} GPUs.", nodes, n)
    } else if n > MAX_NODE {
        t!("{nodes} scale-up domains of {n} GPUs.", nodes, n)
    } else {
        t!("{nodes} nodes of {n} GPUs.", nodes, n)
    };
    // The legend has the scale of a load.
    if load.is_some() {
        return size;
    }
    let drawn = match scene.level {
        Level::Gpus => t!("Colour is the PP rank."),
        Level::Blocks(1) if scene.block() == mesh.per_node => {
            t!("Colour is the PP rank; a cell is a node, a column a replica.")
        }
        Level::Blocks(1) => {
            t!("Colour is the PP rank; a cell is the part of a node in one PP rank, a column a replica.")
        }
        Level::Blocks(n) => t!("Colour is the PP rank; a cell is {n} replicas side by side.", n),
    };
    Message::joined(" ", [size, drawn])
}

/// The pipeline rank whose links are busiest, and their traffic.
pub fn busiest(ranks: &[Vec<Wire>]) -> Message {
    let sentence = |link: Link| {
        let (rank, busy, most) = wires::busiest(ranks, link)?;
        let (busy, group) = (show_percent(busy), most.kind.name());
        let share = show_percent(most.busy);
        Some(match link {
            Link::Intra => t!(
                "Busiest node links: PP rank {rank}, {busy} of the step ({group} {share}).",
                rank,
                busy,
                group,
                share
            ),
            Link::Inter => t!(
                "Busiest network cards: PP rank {rank}, {busy} of the step ({group} {share}).",
                rank,
                busy,
                group,
                share
            ),
        })
    };
    Message::joined(" ", [Link::Intra, Link::Inter].into_iter().filter_map(sentence))
}

/// The buttons above the picture: its colours, its groups, and saving it.
pub fn tools(evaluation: &Evaluation, chosen: Option<GroupKind>, load: Option<Link>) -> Node {
    let kinds = kinds(evaluation).into_iter().map(Some);
    let option = |kind: Option<GroupKind>| {
        let label = kind.map_or("all", GroupKind::name);
        let choose = Action::Choose(PanelChoice::Group(kind));
        (choose, label.into(), kind == chosen)
    };
    let options = std::iter::once(None).chain(kinds).map(option);
    let colours = [(None, "PP rank"), (Some(Link::Intra), "node link load"), (Some(Link::Inter), "network load")];
    let colours = colours.map(|(link, label)| {
        let choose = Action::Choose(PanelChoice::Load(link));
        (choose, label.into(), link == load)
    });
    Node::from_iter([
        choices(["colour", "Colour"], colours, Node::none()),
        choices(["show groups", "Show groups"], options, save("cluster")),
    ])
}

/// The kinds of group that the Run has.
pub fn kinds(evaluation: &Evaluation) -> Vec<GroupKind> {
    let mesh = evaluation.scenario.layout.mesh();
    let experts = evaluation.scenario.model.moe.is_some();
    let used = |kind: &GroupKind| {
        let routed = matches!(kind, GroupKind::Ep | GroupKind::ExpertDp);
        (experts || !routed) && mesh.members(*kind, 0).size() > 1
    };
    GroupKind::ALL.into_iter().filter(used).collect()
}
