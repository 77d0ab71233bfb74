//! The cluster as SVG: the groups of one GPU, drawn over the part that stays the same while the pointer moves.

use super::base::{node_names, rect, stage_of_tone, tone_of, tones, words};
use super::legend::class;
use super::marks::{ClusterMark, marks};
use super::opened::strip;
use super::rails;
use super::scene::{GpuCell, Level, Rect, Scene};
use super::wires::Wire;
use crate::charts::ink::Ink;
use crate::palette::{Palette, Rgb, Theme, blend, ink_on, stage_colour};
use crate::prelude::*;
use shardscope_core::cluster::GroupKind;
use shardscope_core::pipeline::OpKind;
use shardscope_core::sort::sort_by;
use std::fmt::Write;

/// Selection and colours of the picture.
#[derive(Clone, Copy, Debug)]
pub struct ClusterLook<'a> {
    pub scene: &'a Scene,
    /// The part of the picture that no pointer changes.
    pub base: &'a Node,
    pub theme: Theme,
    pub selected: u64,
    /// The GPU whose groups are drawn: under the pointer, or the selected one.
    pub gpu: u64,
    /// The groups to draw.
    pub kinds: &'a [GroupKind],
    /// Traffic of the GPU's stage.
    pub wires: &'a [Wire],
    /// While a step is played, the op that runs on the stage of each colour; else none, and cells have the colours of
    /// their stages.
    pub doing: Option<&'a [Option<OpKind>]>,
    /// Load of the links of the stage of each colour, over that of the busiest stage: it colours the cells where it is
    /// given.
    pub load: Option<&'a [f64]>,
    /// Groups whose links are lit.
    pub lit: &'a [GroupKind],
    /// The pipeline link that is lit, by its lower stage.
    pub lit_stage: Option<usize>,
}

/// Least room for the traffic of a link, pixels.
const LABEL: f64 = 160.0;
/// Room of a node's name, pixels.
const NAME: f64 = 64.0;

/// The colour of a link that is so busy, against the busiest.
fn heat(palette: &Palette, load: f64) -> Rgb {
    blend(palette.paper, palette.exposed, 0.1 + 0.9 * load)
}

impl ClusterLook<'_> {
    fn colour(&self, stage: u64) -> Rgb {
        let tone = tone_of(self.scene, stage);
        let palette = self.theme.palette();
        if let (Some(load), None) = (self.load, self.doing) {
            return heat(&palette, load.get(tone).copied().unwrap_or(0.0));
        }
        match self.doing.and_then(|doing| doing.get(tone)) {
            Some(Some(kind)) => Ink::of(*kind).rgb(&palette),
            Some(None) => palette.line,
            None => stage_colour(self.theme, tone, tones(self.scene)),
        }
    }
    fn thickness(&self, kind: GroupKind) -> f64 {
        let wire = self.wires.iter().find(|wire| wire.kind == kind);
        wire.map_or(1.0, Wire::thickness)
    }
    /// A cell in full colour, with its number where it fits.
    fn cell(&self, cell: GpuCell, single: bool, ring: &str) -> Node {
        let colour = self.colour(cell.stage);
        let (r, g, b) = colour;
        let fill = format!("fill:rgb({r},{g},{b})");
        let number = cell.rank.to_string();
        let fits = single && number.len() as f64 * 6.3 + 1.0 <= cell.at.width && cell.at.height >= 12.0;
        let number = if fits {
            let (r, g, b) = ink_on(colour);
            let (x, y) = (cell.at.x + cell.at.width / 2.0, cell.at.y + cell.at.height / 2.0 + 4.0);
            let (x, y, style) = (format!("{x:.1}"), format!("{y:.1}"), format!("fill:rgb({r},{g},{b})"));
            el("text", &[("class", "mid"), ("x", &*x), ("y", &y), ("style", &style)], &[text(verbatim(number))])
        } else {
            Node::none()
        };
        let ring = if ring.is_empty() { Node::none() } else { rect(cell.at, ring, "") };
        Node::from_iter([rect(cell.at, "", &fill), ring, number])
    }
    fn mark(&self, mark: &ClusterMark) -> Node {
        let lit = |kind: GroupKind, stage: usize| {
            let on = match kind {
                GroupKind::Pp => self.lit_stage == Some(stage),
                kind => self.lit.contains(&kind),
            };
            format!("{}{}", class(kind), if on { " lit" } else { "" })
        };
        let width = |kind: GroupKind| format!("stroke-width:{:.1}px", self.thickness(kind));
        match mark {
            ClusterMark::Member(kind, cell) => {
                let single = self.scene.level == Level::Gpus;
                let Some(cell) = self.scene.cells.get(*cell) else {
                    return Node::none();
                };
                let ring = if single { format!("ring {}", class(*kind)) } else { String::new() };
                self.cell(*cell, single, &ring)
            }
            ClusterMark::Outline(kind, at) | ClusterMark::Node(kind, at) => {
                rect(*at, &format!("ring {}", lit(*kind, usize::MAX)), &width(*kind))
            }
            ClusterMark::Link(kind, stage, points) => {
                let mut path = String::new();
                for (at, (x, y)) in points.iter().enumerate() {
                    let letter = if at == 0 { 'M' } else { 'L' };
                    let _ = write!(path, "{letter}{x:.1} {y:.1}");
                }
                let class = format!("link {}", lit(*kind, *stage));
                el("path", &[("d", &*path), ("class", &class), ("style", &width(*kind))], &[])
            }
        }
    }
    /// Traffic over the widest link of each group, at its right end, and its load; of a link between the GPUs of a node
    /// in the line of the node's name, where it covers no GPU.
    fn labels(&self, marks: &[ClusterMark]) -> Node {
        let widest = |wire: &Wire| {
            let links = marks.iter().filter_map(|mark| match mark {
                ClusterMark::Link(kind, _, points) if *kind == wire.kind => Some(points),
                _ => None,
            });
            let across = links.flat_map(|points| points.windows(2)).filter_map(|ends| {
                let [(from, y), (to, end)] = ends else {
                    return None;
                };
                (y == end).then_some((to - from, *to, *y))
            });
            across.max_by(|one, other| one.0.total_cmp(&other.0))
        };
        // The busiest first: labels of links that are too close to its own are left out.
        let mut wires: Vec<&Wire> = self.wires.iter().collect();
        sort_by(&mut wires, |one, other| other.busy.total_cmp(&one.busy));
        let mut lines: Vec<f64> = Vec::new();
        let mut labels = Vec::new();
        for wire in wires {
            let Some((length, right, y)) = widest(wire) else {
                continue;
            };
            let is_around =
                |node: &&Rect| (node.y..node.bottom()).contains(&y) && (node.x..=node.right()).contains(&right);
            let node = self.scene.nodes.iter().find(is_around);
            let (end, foot) = node.map_or((right - 8.0, y + 4.0), |node| (node.right() - 8.0, node.y + 14.0));
            let room = node.map_or(length, |node| node.width - NAME);
            if room > LABEL && lines.iter().all(|line| (line - foot).abs() > 12.0) {
                lines.push(foot);
                labels.push(words(end, foot, "on-link", wire.words()));
            }
        }
        labels.into_iter().collect()
    }
    /// The node of the selected GPU, opened below its cell.
    fn opened(&self) -> Node {
        let cells = strip(self.scene, self.selected);
        let Some(first) = cells.first() else {
            return Node::none();
        };
        let mesh = self.scene.mesh;
        let each = cells.iter().map(|cell| {
            let is_ring = |kind: &&GroupKind| {
                let members = mesh.members(**kind, self.gpu);
                members.size() > 1 && mesh.members(**kind, cell.rank) == members
            };
            let ring =
                self.kinds.iter().find(is_ring).map_or_else(String::new, |kind| format!("ring {}", class(*kind)));
            self.cell(*cell, true, &ring)
        });
        let node = self.selected / mesh.per_node;
        let name = t!(
            "node {node}: GPUs {first} to {last}",
            node,
            first = first.rank,
            last = first.rank + cells.len() as u64 - 1
        );
        let name = words(self.scene.gutter, self.scene.height + 14.0, "", name);
        std::iter::once(name).chain(each).collect()
    }
    /// The picture; `label` describes it.
    pub fn view(&self, label: Message) -> Node {
        let scene = self.scene;
        let marks = marks(scene, self.gpu, self.kinds);
        // Members lie below links.
        let is_member = |mark: &&ClusterMark| matches!(mark, ClusterMark::Member(..));
        let below: Node = marks.iter().filter(is_member).map(|mark| self.mark(mark)).collect();
        let above: Node = marks.iter().filter(|mark| !is_member(mark)).map(|mark| self.mark(mark)).collect();
        let selected = |gpu: u64, class: &str| {
            let cell = scene.cells.get(scene.cell_of(gpu)).copied();
            let inside = strip(scene, self.selected).into_iter().find(|cell| cell.rank == gpu);
            let drawn = cell.map_or_else(Node::none, |cell| {
                let cell = if scene.level == Level::Gpus { GpuCell { rank: gpu, ..cell } } else { cell };
                self.cell(cell, scene.level == Level::Gpus, class)
            });
            Node::from_iter([drawn, inside.map_or_else(Node::none, |cell| self.cell(cell, true, class))])
        };
        let hovered = if self.gpu == self.selected { Node::none() } else { selected(self.gpu, "ring hover") };
        let end = strip(scene, self.selected).last().map_or(scene.height, |cell| cell.at.bottom() + 4.0);
        let (rails, high) = rails::strip(scene, self.gpu, self.kinds, end);
        let over = [
            rails::neighbours(scene, self.gpu),
            below,
            above,
            node_names(scene),
            self.labels(&marks),
            self.opened(),
            selected(self.selected, "ring own"),
            hovered,
            rails,
        ];
        let (width, height) = (format!("{:.0}", scene.width), format!("{:.0}", end + high));
        let mut style = String::new();
        for tone in 0..tones(scene) {
            let (r, g, b) = self.colour(stage_of_tone(scene, tone) as u64);
            let _ = write!(style, "--s{tone}:rgb({r},{g},{b});");
        }
        let class = if self.doing.is_some() {
            "cluster-map playing"
        } else if self.load.is_some() {
            "cluster-map loaded"
        } else {
            "cluster-map"
        };
        let attributes =
            [("class", class), ("role", "img"), ("width", &*width), ("height", &height), ("style", &style)];
        let children = [self.base.clone(), el("g", &[], &over)];
        el("svg", &attributes, &children).label(label)
    }
}

#[cfg(test)]
mod tests {
    use super::super::base::base;
    use super::super::scene::MAX_ITEMS;
    use super::super::wires::wires;
    use super::*;

    fn drawn(gpus: u64, gpu: u64) -> String {
        let run = Run { gpus, tp: 2, pp: 2, global_batch: gpus, ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        let scene = Scene::of(evaluation.scenario.layout.mesh(), 1064.0);
        let base = base(&scene, &evaluation);
        let look = ClusterLook {
            scene: &scene,
            base: &base,
            theme: Theme::Light,
            selected: gpu,
            gpu,
            kinds: &GroupKind::ALL,
            wires: &wires(&evaluation)[0],
            doing: None,
            load: Some(&[0.5, 1.0]),
            lit: &[],
            lit_stage: None,
        };
        look.view("Cluster".into()).to_html()
    }

    /// The words over the links of 8 GPUs, of 64 and of 256: none lies on a GPU, and no two on one another.
    #[test]
    fn words_on_links_cover_no_gpu() {
        let mut said = 0;
        for (gpus, tp, pp) in [(8, 2, 2), (64, 2, 4), (64, 8, 2), (256, 8, 4)] {
            let run = Run { gpus, tp, pp, global_batch: 256, ..Run::default() };
            let evaluation = evaluate(&run).unwrap();
            for width in [366.0, 1064.0] {
                let scene = Scene::of(evaluation.scenario.layout.mesh(), width);
                let look = ClusterLook {
                    scene: &scene,
                    base: &Node::none(),
                    theme: Theme::Light,
                    selected: 0,
                    gpu: 0,
                    kinds: &GroupKind::ALL,
                    wires: &wires(&evaluation)[0],
                    doing: None,
                    load: None,
                    lit: &[],
                    lit_stage: None,
                };
                let html = look.labels(&marks(&scene, 0, &GroupKind::ALL)).to_html();
                let feet: Vec<f64> = html
                    .split("<text")
                    .filter_map(|tag| tag.split(" y=\"").nth(1)?.split('"').next()?.parse().ok())
                    .collect();
                for foot in &feet {
                    // Letters of 11 pixels stand on their foot.
                    let covered = scene.cells.iter().find(|cell| cell.at.y < *foot && foot - 8.0 < cell.at.bottom());
                    assert!(covered.is_none(), "{gpus} {width}: {covered:?} {html}");
                }
                said += feet.len();
            }
        }
        assert!(said > 3, "{said}");
    }

    /// A million GPUs are fewer than 4000 elements in the document too.
    #[test]
    fn a_million_gpus_are_a_small_document() {
        for gpus in [8, 256, 16_384, 1 << 20] {
            let html = drawn(gpus, gpus / 3);
            assert!(html.matches('<').count() < 2 * MAX_ITEMS, "{gpus}");
            assert!(!html.contains("NaN") && !html.contains("inf"), "{gpus}");
        }
    }
}
