//! The rails of the network: GPUs of one place in all nodes share a switch. Which rails the groups of a GPU use, as
//! words and as a line of marks below the picture.

use super::base::words;
use super::legend::class;
use super::names::group_name;
use super::scene::{Level, Scene};
use crate::prelude::*;
use shardscope_core::cluster::{GroupKind, Members, Mesh};
use std::fmt::Write;

/// Most rails that are drawn.
const MAX_RAILS: u64 = 144;
/// The widest rail, the lines of the words and numbers, and that of a group, pixels: names of 13 pixels, as a frame has
/// them, do not touch.
const PITCH: f64 = 26.0;
const HEAD: f64 = 48.0;
const LINE: f64 = 15.0;

/// The groups of `gpu` that leave their node.
fn leaving(mesh: Mesh, gpu: u64, kinds: &[GroupKind]) -> Vec<(GroupKind, Members)> {
    let groups = kinds.iter().map(|kind| (*kind, mesh.sharing(*kind, gpu)));
    groups.filter(|(_, members)| !members.share_node(mesh.per_node)).collect()
}

/// Groups of `gpu` that stay on its rail, and the number of rails of the others; empty where none leaves its node.
pub fn sentence(mesh: Mesh, gpu: u64, kinds: &[GroupKind]) -> Message {
    let rails = mesh.per_node;
    let sentence = |(kind, members): &(GroupKind, Members)| match members.rail_count(rails) {
        1 => t!("{kind} stays on rail {rail}.", kind = group_name(mesh, *kind), rail = gpu % rails),
        n => t!("{kind} is on {n} of {rails} rails.", kind = group_name(mesh, *kind), n, rails),
    };
    Message::joined(" ", leaving(mesh, gpu, kinds).iter().map(sentence))
}

/// Lines from left to right, as the path of an SVG.
fn lines(starts: &mut dyn Iterator<Item = (f64, f64)>, length: f64, class: &str) -> Node {
    let mut path = String::new();
    for (x, y) in starts {
        // Writing to a String cannot fail.
        let _ = write!(path, "M{x:.1} {y:.1}h{length:.1}");
    }
    el("path", &[("d", &*path), ("class", class)], &[])
}

/// The rails below `top` of the picture, marked where the groups of `gpu` use them, and how high that is; nothing where
/// no group leaves its node, and in a frame.
pub(super) fn strip(scene: &Scene, gpu: u64, kinds: &[GroupKind], top: f64) -> (Node, f64) {
    let mesh = scene.mesh;
    let groups = leaving(mesh, gpu, kinds);
    if groups.is_empty() || mesh.per_node > MAX_RAILS || scene.is_framed {
        return (Node::none(), 0.0);
    }
    let pitch = ((scene.width - scene.gutter) / mesh.per_node as f64).min(PITCH);
    let length = pitch * 0.85;
    let x = |rail: u64| scene.gutter + rail as f64 * pitch;
    let title = t!("rails: GPU i of every node shares a switch");
    let mut nodes = vec![words(0.0, top + 16.0, "", title)];
    for rail in (0..mesh.per_node).step_by(if pitch < 16.0 { 4 } else { 1 }) {
        let number = verbatim(rail.to_string());
        nodes.push(words(x(rail) + length / 2.0, top + HEAD - 10.0, "mid", number));
    }
    for (at, (kind, members)) in groups.iter().enumerate() {
        let y = top + HEAD + at as f64 * LINE;
        let used = members.rails(mesh.per_node);
        let mut every = (0..mesh.per_node).map(|rail| (x(rail), y));
        let mut taken = used.iter().zip(0..).filter(|(used, _)| **used);
        let mut taken = taken.by_ref().map(|(_, rail)| (x(rail), y));
        nodes.push(words(0.0, y + 4.0, "", group_name(mesh, *kind)));
        nodes.push(lines(&mut every, length, "rail"));
        nodes.push(lines(&mut taken, length, &format!("rail {}", class(*kind))));
    }
    let height = HEAD + groups.len() as f64 * LINE;
    (nodes.into_iter().collect(), height)
}

/// The GPUs that share a rail with `gpu`: a line below each.
pub(super) fn neighbours(scene: &Scene, gpu: u64) -> Node {
    let mesh = scene.mesh;
    let place = gpu % mesh.per_node;
    let cells = scene.cells.iter();
    let mut cells =
        cells.filter(|cell| cell.rank % mesh.per_node == place).map(|cell| (cell.at.x, cell.at.bottom() + 1.5));
    if scene.level != Level::Gpus || mesh.nodes() == 1 {
        return Node::none();
    }
    let length = scene.cells.first().map_or(0.0, |cell| cell.at.width);
    lines(&mut cells, length, "rail own")
}

#[cfg(test)]
mod tests {
    use super::super::scene::tests::mesh;
    use super::*;

    const KINDS: [GroupKind; 3] = [GroupKind::Tp, GroupKind::Dp, GroupKind::Pp];

    /// 256 GPUs, TP 8, DP 8, PP 4 on nodes of eight: every exchange between nodes is between GPUs of one place. With TP
    /// 2 data-parallel ranks are two places apart.
    #[test]
    fn groups_say_whether_they_stay_on_a_rail() {
        let text = |sizes| sentence(mesh(sizes, 8), 83, &KINDS).to_string();
        assert_eq!(text([8, 1, 8, 4]), "DP stays on rail 3. PP stays on rail 3.");
        assert_eq!(text([2, 1, 32, 4]), "DP is on 4 of 8 rails. PP stays on rail 3.");
        assert_eq!(text([8, 1, 1, 1]), "");
    }

    #[test]
    fn every_rail_has_its_number_and_the_rail_of_a_gpu_its_line_in_each_node() {
        let scene = Scene::of(mesh([8, 1, 8, 4], 8), 1064.0);
        let (drawn, height) = strip(&scene, 83, &KINDS, 100.0);
        let html = drawn.to_html();
        assert_eq!(html.matches("<text").count(), 1 + 8 + 2);
        assert!(height > 60.0);
        let lines = neighbours(&scene, 83).to_html();
        assert_eq!(lines.matches('M').count(), 32);
        // An NVL72 domain has 72 rails; one node has none.
        let domain = Scene::of(mesh([8, 1, 18, 8], 72), 340.0);
        assert!(strip(&domain, 83, &KINDS, 0.0).1 > 0.0);
        let node = Scene::of(mesh([8, 1, 1, 1], 8), 340.0);
        assert_eq!(strip(&node, 3, &KINDS, 0.0).1, 0.0);
    }
}
