//! The rails of the network: GPUs of one place in all nodes share a switch. Which rails the groups of a GPU use, as words
//! and as a line of marks below the picture.

use super::base::words;
use super::legend::class;
use super::scene::{Level, Scene};
use crate::core::cluster::{GroupKind, Mesh};
use crate::core::message::{Message, verbatim};
use crate::core::t;
use crate::view::node::markup::{Node, el};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Most rails that are drawn.
const MAX_RAILS: u64 = 144;
/// The widest rail, the line of their numbers and that of a group, pixels.
const PITCH: f64 = 26.0;
const HEAD: f64 = 34.0;
const LINE: f64 = 12.0;

/// The rails of the groups of `gpu` that leave their node.
fn used(mesh: Mesh, gpu: u64, kinds: &[GroupKind]) -> Vec<(GroupKind, BTreeSet<u64>)> {
    let leaves = kinds.iter().map(|kind| (*kind, mesh.members(*kind, gpu)));
    let leaves = leaves.filter(|(_, members)| !members.share_node(mesh.per_node));
    leaves
        .map(|(kind, members)| (kind, members.rails(mesh.per_node)))
        .collect()
}

/// Which groups of `gpu` stay on its rail, and on how many rails the others are; empty where none leaves its node.
#[must_use]
pub fn sentence(mesh: Mesh, gpu: u64, kinds: &[GroupKind]) -> Message {
    let used = used(mesh, gpu, kinds);
    let name = |(kind, _): &(GroupKind, BTreeSet<u64>)| Message::from(kind.name());
    let (stay, change): (Vec<_>, Vec<_>) = used.iter().partition(|(_, rails)| rails.len() == 1);
    let stay = (!stay.is_empty()).then(|| {
        t!(
            "On the network {groups} stays on rail {rail}, the switch of GPU {rail} of every node.",
            groups = Message::joined(", ", stay.into_iter().map(name)),
            rail = gpu % mesh.per_node
        )
    });
    let change = change.into_iter().map(|group| {
        t!(
            "{group} is on {n} of {rails} rails.",
            group = name(group),
            n = group.1.len(),
            rails = mesh.per_node
        )
    });
    Message::joined(" ", stay.into_iter().chain(change))
}

/// The rails below `top` of the picture, marked where the groups of `gpu` use them, and how high that is; nothing where no
/// group leaves its node.
pub(super) fn strip(scene: &Scene, gpu: u64, kinds: &[GroupKind], top: f64) -> (Node, f64) {
    let mesh = scene.mesh;
    let used = used(mesh, gpu, kinds);
    if used.is_empty() || mesh.per_node > MAX_RAILS {
        return (Node::none(), 0.0);
    }
    let pitch = ((scene.width - scene.gutter) / mesh.per_node as f64).min(PITCH);
    let x = |rail: u64| scene.gutter + rail as f64 * pitch;
    let path = |rails: &mut dyn Iterator<Item = u64>, y: f64, class: &str| {
        let mut path = String::new();
        for rail in rails {
            // Writing to a String cannot fail.
            let _ = write!(path, "M{:.1} {y:.1}h{:.1}", x(rail), pitch * 0.85);
        }
        el("path", &[("d", &*path), ("class", class)], &[])
    };
    let every = if pitch < 16.0 { 4 } else { 1 };
    let numbers = (0..mesh.per_node).step_by(every).map(|rail| {
        let class = if rail == gpu % mesh.per_node {
            "mid own"
        } else {
            "mid"
        };
        words(
            x(rail) + pitch * 0.42,
            top + HEAD - 10.0,
            class,
            verbatim(rail.to_string()),
        )
    });
    let name = words(0.0, top + HEAD - 10.0, "", t!("rails"));
    let lines = used.iter().enumerate().map(|(at, (kind, rails))| {
        let y = top + HEAD + at as f64 * LINE;
        Node::from_iter([
            words(0.0, y + 4.0, "", kind.name()),
            path(&mut (0..mesh.per_node), y, "rail"),
            path(
                &mut rails.iter().copied(),
                y,
                &format!("rail {}", class(*kind)),
            ),
        ])
    });
    let height = HEAD + used.len() as f64 * LINE;
    (
        std::iter::once(name).chain(numbers).chain(lines).collect(),
        height,
    )
}

/// The GPUs that share a rail with `gpu`: a line below each.
pub(super) fn neighbours(scene: &Scene, gpu: u64) -> Node {
    let mesh = scene.mesh;
    if scene.level != Level::Gpus || mesh.nodes() == 1 {
        return Node::none();
    }
    let mut path = String::new();
    let place = gpu % mesh.per_node;
    for cell in scene
        .cells
        .iter()
        .filter(|cell| cell.rank % mesh.per_node == place)
    {
        let at = cell.at;
        // Writing to a String cannot fail.
        let _ = write!(
            path,
            "M{:.1} {:.1}h{:.1}",
            at.x,
            at.bottom() + 1.5,
            at.width
        );
    }
    el("path", &[("d", &*path), ("class", "rail own")], &[])
}

#[cfg(test)]
mod tests {
    use super::super::scene::tests::mesh;
    use super::*;

    const KINDS: [GroupKind; 3] = [GroupKind::Tp, GroupKind::Dp, GroupKind::Pp];

    /// 256 GPUs, TP 8, DP 8, PP 4 on nodes of eight: every exchange between nodes is between GPUs of one place. With TP 2
    /// data-parallel ranks are two places apart.
    #[test]
    fn groups_say_whether_they_stay_on_a_rail() {
        let said = |sizes| sentence(mesh(sizes, 8), 83, &KINDS).to_string();
        assert_eq!(
            said([8, 1, 8, 4]),
            "On the network DP, PP stays on rail 3, the switch of GPU 3 of every node."
        );
        assert_eq!(
            said([2, 1, 32, 4]),
            "On the network PP stays on rail 3, the switch of GPU 3 of every node. DP is on 4 of 8 rails."
        );
        assert_eq!(said([8, 1, 1, 1]), "");
    }

    #[test]
    fn every_rail_has_its_number_and_the_rail_of_a_gpu_its_line_in_each_node() {
        let scene = Scene::of(mesh([8, 1, 8, 4], 8), 1064.0);
        let (drawn, height) = strip(&scene, 83, &KINDS, 100.0);
        let html = drawn.to_html();
        assert_eq!(html.matches("<text").count(), 1 + 8 + 2);
        assert!(html.contains("class=\"mid own\"") && height > 40.0);
        let lines = neighbours(&scene, 83).to_html();
        assert_eq!(lines.matches('M').count(), 32);
        // An NVL72 domain has 72 rails; one node has none.
        let domain = Scene::of(mesh([8, 1, 18, 8], 72), 340.0);
        assert!(strip(&domain, 83, &KINDS, 0.0).1 > 0.0);
        let node = Scene::of(mesh([8, 1, 1, 1], 8), 340.0);
        assert_eq!(strip(&node, 3, &KINDS, 0.0).1, 0.0);
    }
}
