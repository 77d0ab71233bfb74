//! Marks in a cluster: the groups of one GPU and the links between their members.

use super::scene::{Level, Rect, Scene};
use shardscope_core::cluster::GroupKind;
use shardscope_core::sort::sort;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ClusterMark {
    /// A member of a group, by its cell: drawn in full colour with a ring.
    Member(GroupKind, usize),
    /// Cells side by side that all have members.
    Outline(GroupKind, Rect),
    /// A node that is one group.
    Node(GroupKind, Rect),
    /// A link through these points; in a pipeline from this stage to the next.
    Link(GroupKind, usize, Vec<(f64, f64)>),
}

/// Members of a group up to which each is joined to the others.
const MAX_JOINED: u64 = 128;
/// Members followed in a group: enough to meet every cell that has any.
const MAX_MEMBERS: u64 = 1 << 13;
/// Cells in full colour, and outlines, of all groups together.
const MAX_MARKED: usize = 700;
/// Room for the links of one kind below a line of nodes.
const LANE: f64 = 6.0;

/// Marks of the groups of `gpu`.
pub(crate) fn marks(scene: &Scene, gpu: u64, kinds: &[GroupKind]) -> Vec<ClusterMark> {
    let mut marks = Vec::new();
    let mut lane = 0;
    for kind in kinds {
        let members = scene.mesh.members(*kind, gpu);
        if members.size() == 1 {
            continue;
        }
        let mut cells: Vec<usize> = members.sample(MAX_MEMBERS).map(|rank| scene.cell_of(rank)).collect();
        if scene.level == Level::Gpus && members.size() <= MAX_JOINED {
            marks.extend(cells.iter().map(|cell| ClusterMark::Member(*kind, *cell)));
            let per_node = scene.mesh.per_node;
            let whole = members.size() == per_node && members.share_node(per_node);
            if whole && let Some(node) = node_of(scene, cells[0]) {
                marks.push(ClusterMark::Node(*kind, node));
            } else {
                links(scene, *kind, &cells, lane, &mut marks);
                lane += 1;
            }
            continue;
        }
        sort(&mut cells);
        cells.dedup();
        if marks.len() + cells.len() <= MAX_MARKED {
            marks.extend(cells.iter().map(|cell| ClusterMark::Member(*kind, *cell)));
        }
        let outlines = outlines(scene, &cells).into_iter();
        let left = MAX_MARKED.saturating_sub(marks.len()).max(MAX_MARKED / 10);
        marks.extend(outlines.take(left).map(|at| ClusterMark::Outline(*kind, at)));
    }
    marks
}

fn node_of(scene: &Scene, cell: usize) -> Option<Rect> {
    let node = scene.cells.get(cell)?.rank / scene.mesh.per_node;
    scene.nodes.get(usize::try_from(node).ok()?).copied()
}

/// Lines below the nodes that join the members: a bus for each line of nodes, the buses joined on the left; a pipeline
/// is a chain from stage to stage.
fn links(scene: &Scene, kind: GroupKind, cells: &[usize], lane: usize, marks: &mut Vec<ClusterMark>) {
    let below = |node: Rect| node.bottom() + 5.0 + (lane as f64 * LANE).min(scene.links - 9.0);
    let ends: Vec<(Rect, Rect)> =
        cells.iter().filter_map(|cell| Some((scene.cells.get(*cell)?.at, node_of(scene, *cell)?))).collect();
    // Past GPUs further down in the node.
    let beside = |cell: Rect, node: Rect| {
        if cell.bottom() + cell.height < node.bottom() {
            cell.right() + 1.0
        } else {
            cell.x + cell.width * (0.3 + 0.1 * lane as f64)
        }
    };
    if kind == GroupKind::Pp {
        for (stage, pair) in ends.windows(2).enumerate() {
            let [(from, node), (to, other)] = pair else {
                continue;
            };
            let (x, y) = (beside(*from, *node), below(*node));
            let lower = other.y > node.y;
            let end = if lower { to.x + (x - from.x) } else { beside(*to, *other) };
            let stop = if lower { to.y } else { to.bottom() };
            let points = vec![(x, from.bottom()), (x, y), (end, y), (end, stop)];
            marks.push(ClusterMark::Link(kind, stage, points));
        }
        return;
    }
    // Side by side in a node: one line below them.
    if let (Some((first, node)), Some((last, other))) = (ends.first(), ends.last())
        && node == other
        && (first.y - last.y).abs() < 0.1
        && last.right() - first.x < (first.width + 5.0) * ends.len() as f64
    {
        let y = first.bottom() + 2.0;
        marks.push(ClusterMark::Link(kind, 0, vec![(first.x, y), (last.right(), y)]));
        return;
    }
    let mut buses: Vec<(f64, f64, f64)> = Vec::new();
    for (cell, node) in ends {
        let (x, y) = (beside(cell, node), below(node));
        marks.push(ClusterMark::Link(kind, 0, vec![(x, cell.bottom()), (x, y)]));
        match buses.iter_mut().find(|bus| (bus.0 - y).abs() < 0.5) {
            Some(bus) => (bus.1, bus.2) = (bus.1.min(x), bus.2.max(x)),
            None => buses.push((y, x, x)),
        }
    }
    let side = scene.gutter - 4.0 - 3.0 * lane as f64;
    let several = buses.len() > 1;
    for (y, from, to) in &buses {
        let from = if several { side } else { *from };
        marks.push(ClusterMark::Link(kind, 0, vec![(from, *y), (*to, *y)]));
    }
    if let (true, Some(first), Some(last)) = (several, buses.first(), buses.last()) {
        marks.push(ClusterMark::Link(kind, 0, vec![(side, first.0), (side, last.0)]));
    }
}

/// Rectangles around cells, in order, that touch in a line, and around lines of them that are alike.
fn outlines(scene: &Scene, cells: &[usize]) -> Vec<Rect> {
    let mut lines: Vec<Rect> = Vec::new();
    for cell in cells.iter().filter_map(|cell| scene.cells.get(*cell)) {
        let at = cell.at;
        match lines.last_mut() {
            Some(last) if (last.y - at.y).abs() < 0.1 && at.x - last.right() < 2.0 => {
                last.width = at.right() - last.x;
            }
            _ => lines.push(at),
        }
    }
    let mut boxes: Vec<Rect> = Vec::new();
    for line in lines {
        let same = |other: &&mut Rect| {
            (other.x - line.x).abs() < 0.1
                && (other.width - line.width).abs() < 0.1
                && (0.0..10.0).contains(&(line.y - other.bottom()))
        };
        match boxes.iter_mut().rev().find(same) {
            Some(above) => above.height = line.bottom() - above.y,
            None => boxes.push(line),
        }
    }
    boxes
}

#[cfg(test)]
mod tests {
    use super::super::scene::tests::{mesh, meshes};
    use super::super::scene::{MAX_ITEMS, Scene};
    use super::*;

    #[test]
    fn no_cluster_has_more_than_4000_items() {
        for mesh in meshes() {
            for width in [340.0, 1064.0] {
                let scene = Scene::of(mesh, width);
                for gpu in [0, mesh.ranks() - 1] {
                    let marks = marks(&scene, gpu, &GroupKind::ALL);
                    let items = scene.items() + marks.len();
                    assert!(items <= MAX_ITEMS, "{mesh:?} {width}: {items}");
                }
            }
        }
    }

    /// The mock's GPU 83 of 256: its tensor-parallel group is node 10, its data-parallel ranks are in nodes 8 to 15,
    /// its pipeline in nodes 2, 10, 18 and 26.
    #[test]
    fn gpu_83_has_the_links_of_the_drawing() {
        let scene = Scene::of(mesh([8, 1, 8, 4], 8), 1064.0);
        let marks = marks(&scene, 83, &GroupKind::ALL);
        let members = |kind| -> Vec<usize> {
            let cells = marks.iter().filter_map(|mark| match mark {
                ClusterMark::Member(of, cell) if *of == kind => Some(*cell),
                _ => None,
            });
            cells.collect()
        };
        assert_eq!(members(GroupKind::Tp), (80..88).collect::<Vec<_>>());
        assert!(marks.contains(&ClusterMark::Node(GroupKind::Tp, scene.nodes[10])));
        assert_eq!(members(GroupKind::Dp), [67, 75, 83, 91, 99, 107, 115, 123]);
        assert_eq!(members(GroupKind::Pp), [19, 83, 147, 211]);
        assert!(members(GroupKind::Cp).is_empty());
    }

    /// The mock's GPU 7211 of 16 384: a row of 128 replicas, a column of 16 stages, one node.
    #[test]
    fn groups_of_many_are_outlines() {
        let scene = Scene::of(mesh([8, 1, 128, 16], 8), 1064.0);
        let marks = marks(&scene, 7211, &GroupKind::ALL);
        let outlines = |kind| -> Vec<Rect> {
            let rects = marks.iter().filter_map(|mark| match mark {
                ClusterMark::Outline(of, at) if *of == kind => Some(*at),
                _ => None,
            });
            rects.collect()
        };
        for (kind, across, down) in [(GroupKind::Tp, 1, 1), (GroupKind::Dp, 128, 1), (GroupKind::Pp, 1, 16)] {
            let [outline] = outlines(kind)[..] else {
                panic!("{kind:?}: {:?}", outlines(kind));
            };
            let cells = scene.cells.iter().map(|cell| cell.at);
            let inside = cells.filter(|at| {
                at.x >= outline.x
                    && at.right() <= outline.right() + 0.1
                    && at.y >= outline.y
                    && at.bottom() <= outline.bottom() + 0.1
            });
            assert_eq!(inside.count(), across * down, "{kind:?}");
        }
    }
}
