//! The cluster as SVG: what stays while the pointer moves, and over it the groups of one GPU.

use super::MAX_NODE;
use super::marks::{Mark, marks};
use super::scene::{Cell, Level, Rect, RowName, Scene};
use super::wires::Wire;
use crate::core::cluster::GroupKind;
use crate::core::message::{Message, verbatim};
use crate::core::model::stage_range;
use crate::core::pipeline::Kind;
use crate::core::report::Evaluation;
use crate::core::t;
use crate::core::units::{MemoryUnit, show_percent};
use crate::view::charts::ink::Ink;
use crate::view::charts::palette::{Palette, Rgb, Theme, blend, ink_on, stage_colour};
use crate::view::node::markup::{Node, el, leaf, text};
use std::fmt::Write;

/// Different colours of stages; more stages share them.
const MAX_TONES: u64 = 64;
/// The node of the selected GPU below cells that are nodes: room, pixels.
const STRIP: f64 = 26.0;
const STRIP_HEAD: f64 = 22.0;
const MAX_STRIP: u64 = 144;
/// Most GPUs that have their numbers on them, selected or not.
const MAX_NUMBERED: usize = 64;

/// How many colours the stages of `scene` have.
#[must_use]
pub(crate) fn tones(scene: &Scene) -> usize {
    usize::try_from(scene.mesh.pp.min(MAX_TONES)).unwrap_or(1)
}

/// The first stage of a colour.
#[must_use]
pub(crate) fn stage_of_tone(scene: &Scene, tone: usize) -> usize {
    tone * usize::try_from(scene.mesh.pp).unwrap_or(1) / tones(scene)
}

fn tone_of(scene: &Scene, stage: u64) -> usize {
    let tones = tones(scene);
    let tone = (stage * tones as u64 + tones as u64 - 1) / scene.mesh.pp.max(1);
    usize::try_from(tone).unwrap_or(0).min(tones - 1)
}

/// The cells of the node of `gpu`, where the picture has none of its own; below the others.
#[must_use]
pub fn strip(scene: &Scene, gpu: u64) -> Vec<Cell> {
    let mesh = scene.mesh;
    if scene.level == Level::Gpus {
        return Vec::new();
    }
    let first = gpu / mesh.per_node * mesh.per_node;
    let first = first + (gpu - first) / MAX_STRIP * MAX_STRIP;
    let count = mesh.per_node.min(MAX_STRIP).min(mesh.ranks() - first);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few
    let across = ((scene.width - scene.gutter) / STRIP).max(1.0) as u64;
    let cell = |local: u64| Cell {
        rank: first + local,
        stage: mesh.place(first + local).pp,
        at: Rect {
            x: scene.gutter + (local % across) as f64 * STRIP,
            y: scene.height + STRIP_HEAD + (local / across) as f64 * STRIP,
            width: STRIP - 4.0,
            height: STRIP - 4.0,
        },
    };
    (0..count).map(cell).collect()
}

/// The GPU at a point of the whole picture.
#[must_use]
pub fn hit(scene: &Scene, x: f64, y: f64, selected: u64) -> Option<u64> {
    let inside = |cell: &&Cell| {
        let at = cell.at;
        x >= at.x && x < at.right() && y >= at.y && y < at.bottom()
    };
    let strip = strip(scene, selected);
    let below = strip.iter().find(inside).map(|cell| cell.rank);
    below.or_else(|| scene.hit(x, y, selected))
}

/// Where a GPU stands, in words.
#[must_use]
pub fn who(scene: &Scene, gpu: u64) -> Message {
    let place = scene.mesh.place(gpu);
    let local = gpu % scene.mesh.per_node;
    let indices = [
        ("TP", scene.mesh.tp, place.tp),
        ("CP", scene.mesh.cp, place.cp),
        ("DP", scene.mesh.dp, place.dp),
        ("EP", scene.mesh.ep, place.ep / scene.mesh.etp),
        ("PP", scene.mesh.pp, place.pp),
    ];
    let indices = indices.into_iter().filter(|(_, size, _)| *size > 1);
    let indices = indices.map(|(name, _, index)| verbatim(format!("{name} {index}")));
    let node = t!("node {node}, place {local}", node = place.node, local);
    let all = std::iter::once(node).chain(indices);
    Message::joined(" · ", all)
}

/// The layers of a pipeline rank: `0–19`, or `0–3, 28–31` where it has several stages.
#[must_use]
pub fn layers(evaluation: &Evaluation, rank: usize) -> String {
    let load = evaluation.loads.get(rank);
    let stages = load.map_or(&[][..], |load| &load.stages).iter();
    let ranges = stages.filter_map(|stage| {
        let range = stage_range(&evaluation.scenario.stage_layers, *stage);
        (!range.is_empty()).then(|| match range.end - range.start {
            1 => range.start.to_string(),
            _ => format!("{}–{}", range.start, range.end - 1),
        })
    });
    ranges.collect::<Vec<_>>().join(", ")
}

fn stage_name(name: RowName) -> Message {
    let (first, last) = name.stages;
    if first == last {
        t!("stage {stage}", stage = first)
    } else {
        t!("stages {first}–{last}", first, last)
    }
}

fn words(x: f64, y: f64, class: &str, label: impl Into<Message>) -> Node {
    let (x, y) = (format!("{x:.1}"), format!("{y:.1}"));
    el(
        "text",
        &[("class", class), ("x", &x), ("y", &y)],
        &[text(label)],
    )
}

fn rect(at: Rect, class: &str, style: &str) -> Node {
    let [x, y, width, height] = [at.x, at.y, at.width, at.height].map(|side| format!("{side:.1}"));
    let attributes = [
        ("class", class),
        ("x", &*x),
        ("y", &y),
        ("width", &width),
        ("height", &height),
        ("style", style),
    ];
    el("rect", &attributes, &[])
}

/// What stays: nodes, names, and the cells of each stage as one path.
#[must_use]
pub fn base(scene: &Scene, evaluation: &Evaluation) -> Node {
    let mut paths = vec![String::new(); tones(scene)];
    for cell in &scene.cells {
        let Rect {
            x,
            y,
            width,
            height,
        } = cell.at;
        if let Some(path) = paths.get_mut(tone_of(scene, cell.stage)) {
            // Writing to a String cannot fail.
            let _ = write!(path, "M{x:.1} {y:.1}h{width:.1}v{height:.1}h-{width:.1}z");
        }
    }
    let cells = paths.iter().enumerate().map(|(tone, path)| {
        let style = format!("fill:var(--s{tone})");
        el("path", &[("d", &**path), ("style", &style)], &[])
    });
    let wide = scene.gutter > 60.0;
    let rows = scene.rows.iter().map(|row| {
        let layers = if wide && row.stages.0 == row.stages.1 && scene.level == Level::Gpus {
            let rank = usize::try_from(row.stages.0).unwrap_or(0);
            let layers = layers(evaluation, rank);
            let short = layers.chars().count() <= 12;
            if short {
                words(0.0, row.y + 11.0, "", t!("layers {layers}", layers))
            } else {
                Node::none()
            }
        } else {
            Node::none()
        };
        let lift = if scene.level == Level::Gpus && wide {
            4.0
        } else {
            -4.0
        };
        Node::from_iter([words(0.0, row.y - lift, "", stage_name(*row)), layers])
    });
    let columns = scene.columns.iter().map(|(replica, x)| {
        let label = format!("DP {replica}");
        let half = label.len() as f64 * 3.4;
        words(x.min(scene.width - half), 12.0, "mid", verbatim(label))
    });
    let nodes = scene.nodes.iter().enumerate().map(|(node, at)| {
        let label = match (at.width >= 62.0, scene.mesh.per_node > MAX_NODE) {
            (true, false) => t!("node {node}", node),
            (true, true) => t!("domain {node}", node),
            (false, _) => verbatim(node.to_string()),
        };
        Node::from_iter([
            rect(*at, "node", ""),
            words(at.x + 8.0, at.y + 14.0, "", label),
        ])
    });
    let names: Node = columns.chain(rows).chain(nodes).collect();
    let cells = el("g", &[("class", "cells")], &[cells.collect()]);
    let single = scene.level == Level::Gpus && scene.cells.len() <= MAX_NUMBERED;
    let numbers = scene
        .cells
        .iter()
        .filter(|cell| single && cell.at.width >= 26.0);
    let numbers = numbers.map(|cell| {
        let (x, y) = (
            cell.at.x + cell.at.width / 2.0,
            cell.at.y + cell.at.height / 2.0 + 4.0,
        );
        words(x, y, "mid", verbatim(cell.rank.to_string()))
    });
    el("g", &[], &[names, cells, numbers.collect()])
}

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// The cluster.
    pub scene: &'a Scene,
    /// What [`base`] made of it.
    pub base: &'a Node,
    /// Light or dark.
    pub theme: Theme,
    /// The selected GPU.
    pub selected: u64,
    /// The GPU whose groups are drawn: under the pointer, or the selected one.
    pub gpu: u64,
    /// The groups to draw.
    pub kinds: &'a [GroupKind],
    /// Traffic of the GPU's stage.
    pub wires: &'a [Wire],
    /// What each colour's stage does while a step is played: `None` for the colours of the stages.
    pub doing: Option<&'a [Option<Kind>]>,
    /// How busy the links of each colour's stage are, against the busiest: in the place of the stages' colours.
    pub load: Option<&'a [f64]>,
    /// Groups whose links are lit, and the pair of stages.
    pub lit: &'a [GroupKind],
    /// The pipeline link that is lit, by its lower stage.
    pub lit_stage: Option<usize>,
}

/// A class for the colour and the dashes of a kind.
fn class(kind: GroupKind) -> &'static str {
    match kind {
        GroupKind::Tp => "g-tp",
        GroupKind::Cp => "g-cp",
        GroupKind::Dp => "g-dp",
        GroupKind::Ep => "g-ep",
        GroupKind::ExpertDp => "g-edp",
        GroupKind::Pp => "g-pp",
    }
}

/// The colour of a link that is so busy, against the busiest.
fn heat(palette: &Palette, load: f64) -> Rgb {
    blend(palette.paper, palette.exposed, 0.1 + 0.9 * load)
}

impl Look<'_> {
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
    /// A cell in full colour, with its number where there is room.
    fn cell(&self, cell: Cell, single: bool, ring: &str) -> Node {
        let colour = self.colour(cell.stage);
        let (r, g, b) = colour;
        let fill = format!("fill:rgb({r},{g},{b})");
        let number = cell.rank.to_string();
        let fits =
            single && number.len() as f64 * 6.3 + 1.0 <= cell.at.width && cell.at.height >= 12.0;
        let number = if fits {
            let (r, g, b) = ink_on(colour);
            let (x, y) = (
                cell.at.x + cell.at.width / 2.0,
                cell.at.y + cell.at.height / 2.0 + 4.0,
            );
            let (x, y, style) = (
                format!("{x:.1}"),
                format!("{y:.1}"),
                format!("fill:rgb({r},{g},{b})"),
            );
            el(
                "text",
                &[("class", "mid"), ("x", &*x), ("y", &y), ("style", &style)],
                &[text(verbatim(number))],
            )
        } else {
            Node::none()
        };
        let ring = if ring.is_empty() {
            Node::none()
        } else {
            rect(cell.at, ring, "")
        };
        Node::from_iter([rect(cell.at, "", &fill), ring, number])
    }
    fn mark(&self, mark: &Mark) -> Node {
        let lit = |kind: GroupKind, stage: usize| {
            let on = match kind {
                GroupKind::Pp => self.lit_stage == Some(stage),
                kind => self.lit.contains(&kind),
            };
            format!("{}{}", class(kind), if on { " lit" } else { "" })
        };
        let width = |kind: GroupKind| format!("stroke-width:{:.1}px", self.thickness(kind));
        match mark {
            Mark::Member(kind, cell) => {
                let single = self.scene.level == Level::Gpus;
                let Some(cell) = self.scene.cells.get(*cell) else {
                    return Node::none();
                };
                let ring = if single {
                    format!("ring {}", class(*kind))
                } else {
                    String::new()
                };
                self.cell(*cell, single, &ring)
            }
            Mark::Outline(kind, at) | Mark::Node(kind, at) => rect(
                *at,
                &format!("ring {}", lit(*kind, usize::MAX)),
                &width(*kind),
            ),
            Mark::Link(kind, stage, points) => {
                let mut path = String::new();
                for (at, (x, y)) in points.iter().enumerate() {
                    let letter = if at == 0 { 'M' } else { 'L' };
                    let _ = write!(path, "{letter}{x:.1} {y:.1}");
                }
                let class = format!("link {}", lit(*kind, *stage));
                el(
                    "path",
                    &[("d", &*path), ("class", &class), ("style", &width(*kind))],
                    &[],
                )
            }
        }
    }
    /// What runs over the widest link of each group, at its right end: its rail, and how busy it is.
    fn labels(&self, marks: &[Mark]) -> Node {
        let widest = |wire: &Wire| {
            let links = marks.iter().filter_map(|mark| match mark {
                Mark::Link(kind, _, points) if *kind == wire.kind => Some(points),
                _ => None,
            });
            let across = links
                .flat_map(|points| points.windows(2))
                .filter_map(|ends| {
                    let [(from, y), (to, end)] = ends else {
                        return None;
                    };
                    (y == end).then_some((to - from, *to, *y))
                });
            across.max_by(|one, other| one.0.total_cmp(&other.0))
        };
        let label = |wire: &Wire| {
            let (length, right, y) = widest(wire)?;
            let members = self.scene.mesh.members(wire.kind, self.gpu);
            let per_node = self.scene.mesh.per_node;
            let (kind, busy) = (wire.kind.name(), show_percent(wire.busy));
            let label = if members.on_one_rail(per_node) && !members.share_node(per_node) {
                let rail = self.gpu % per_node;
                t!("{kind}, rail {rail}, {busy} busy", kind, rail, busy)
            } else {
                wire.words()
            };
            (length > 160.0).then(|| words(right - 8.0, y + 4.0, "on-link", label))
        };
        self.wires.iter().filter_map(label).collect()
    }
    /// The node of the selected GPU, opened below its cell.
    fn opened(&self) -> Node {
        let cells = strip(self.scene, self.selected);
        let Some(first) = cells.first() else {
            return Node::none();
        };
        let mesh = self.scene.mesh;
        let each = cells.iter().map(|cell| {
            let of = |kind: &&GroupKind| {
                let own = mesh.members(**kind, self.gpu);
                own.size() > 1 && mesh.members(**kind, cell.rank) == own
            };
            let ring = self
                .kinds
                .iter()
                .find(of)
                .map_or_else(String::new, |kind| format!("ring {}", class(*kind)));
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
    /// The picture; `label` says what it shows.
    #[must_use]
    pub fn view(&self, label: Message) -> Node {
        let scene = self.scene;
        let marks = marks(scene, self.gpu, self.kinds);
        // Members lie below links.
        let is_member = |mark: &&Mark| matches!(mark, Mark::Member(..));
        let below: Node = marks
            .iter()
            .filter(is_member)
            .map(|mark| self.mark(mark))
            .collect();
        let above: Node = marks
            .iter()
            .filter(|mark| !is_member(mark))
            .map(|mark| self.mark(mark))
            .collect();
        let own = |gpu: u64, class: &str| {
            let cell = scene.cells.get(scene.cell_of(gpu)).copied();
            let inside = strip(scene, self.selected)
                .into_iter()
                .find(|cell| cell.rank == gpu);
            let drawn = cell.map_or_else(Node::none, |cell| {
                let cell = if scene.level == Level::Gpus {
                    Cell { rank: gpu, ..cell }
                } else {
                    cell
                };
                self.cell(cell, scene.level == Level::Gpus, class)
            });
            Node::from_iter([
                drawn,
                inside.map_or_else(Node::none, |cell| self.cell(cell, true, class)),
            ])
        };
        let hovered = if self.gpu == self.selected {
            Node::none()
        } else {
            own(self.gpu, "ring hover")
        };
        let over = [
            below,
            above,
            self.labels(&marks),
            self.opened(),
            own(self.selected, "ring own"),
            hovered,
        ];
        let below = strip(scene, self.selected)
            .last()
            .map_or(scene.height, |cell| cell.at.bottom() + 4.0);
        let (width, height) = (format!("{:.0}", scene.width), format!("{below:.0}"));
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
        let attributes = [
            ("class", class),
            ("role", "img"),
            ("width", &*width),
            ("height", &height),
            ("style", &style),
        ];
        let children = [self.base.clone(), el("g", &[], &over)];
        el("svg", &attributes, &children).label(label)
    }
}

/// What line and colour stand for which group, how busy its link is and with how many bytes; `most` is how busy the
/// links are that have the darkest colour.
#[must_use]
pub fn legend(wires: &[Wire], most: Option<f64>, unit: MemoryUnit) -> Node {
    let item = |wire: &Wire| {
        let width = format!("border-top-width:{:.0}px", wire.thickness().max(1.0));
        let class = format!("line {}", class(wire.kind));
        let line = el("i", &[("class", &*class), ("style", &width)], &[]);
        let traffic = t!(
            "{bytes} over {medium}",
            bytes = unit.fitting(wire.bytes),
            medium = wire.medium()
        );
        let kind = leaf("b", "", wire.kind.name());
        el(
            "span",
            &[],
            &[
                line,
                kind,
                text(" "),
                wire.meter(),
                leaf("small", "muted", traffic),
            ],
        )
    };
    let items = wires.iter().map(item);
    let note = leaf(
        "span",
        "muted",
        "line width: share of the step that the link is busy",
    );
    let scale = most.map(|most| {
        let ramp = leaf("i", "ramp", "");
        let ends = t!("0 to {most} busy", most = show_percent(most));
        el("span", &[], &[ramp, text(ends)])
    });
    let all = items
        .chain((!wires.is_empty()).then_some(note))
        .chain(scale);
    el("div", &[("class", "legend links")], &[all.collect()])
}

#[cfg(test)]
mod tests {
    use super::super::scene::MAX_ITEMS;
    use super::super::wires::wires;
    use super::*;
    use crate::core::report::evaluate;
    use crate::core::run::Run;

    fn drawn(gpus: u64, gpu: u64) -> String {
        let run = Run {
            gpus,
            tp: 2,
            pp: 2,
            global_batch: gpus,
            ..Run::default()
        };
        let evaluation = evaluate(&run).unwrap();
        let scene = Scene::of(evaluation.scenario.layout.mesh(), 1064.0);
        let base = base(&scene, &evaluation);
        let look = Look {
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

    /// A million GPUs are fewer than 4000 elements in the document too.
    #[test]
    fn a_million_gpus_are_a_small_document() {
        for gpus in [8, 256, 16_384, 1 << 20] {
            let html = drawn(gpus, gpus / 3);
            assert!(html.matches('<').count() < 2 * MAX_ITEMS, "{gpus}");
            assert!(!html.contains("NaN") && !html.contains("inf"), "{gpus}");
        }
    }

    #[test]
    fn each_of_eight_gpus_can_be_pressed_where_it_is_drawn() {
        let mesh = evaluate(&Run {
            gpus: 8,
            tp: 2,
            pp: 2,
            ..Run::default()
        })
        .unwrap()
        .scenario
        .layout
        .mesh();
        let scene = Scene::of(mesh, 800.0);
        for cell in &scene.cells {
            let at = cell.at;
            assert_eq!(hit(&scene, at.x + 1.0, at.y + 1.0, 0), Some(cell.rank));
        }
        assert_eq!(hit(&scene, 0.0, 0.0, 0), None);
        let five = who(&scene, 5).to_string();
        assert_eq!(five, "node 0, place 5 · TP 1 · DP 0 · PP 1");
    }

    /// In the opened node below the cells every GPU of it can be pressed.
    #[test]
    fn the_opened_node_has_its_own_gpus() {
        let run = Run {
            gpus: 16_384,
            tp: 8,
            pp: 16,
            global_batch: 4096,
            ..Run::default()
        };
        let mesh = evaluate(&run).unwrap().scenario.layout.mesh();
        let scene = Scene::of(mesh, 800.0);
        let cells = strip(&scene, 7211);
        let ranks: Vec<u64> = cells.iter().map(|cell| cell.rank).collect();
        assert_eq!(ranks, (7208..7216).collect::<Vec<_>>());
        for cell in cells {
            assert_eq!(
                hit(&scene, cell.at.x + 1.0, cell.at.y + 1.0, 7211),
                Some(cell.rank)
            );
        }
    }
}
