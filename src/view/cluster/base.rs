//! Part of the cluster's picture that stays while the pointer moves: nodes, names, and the cells of each stage.

use super::MAX_NODE;
use super::names::{layers, row_name};
use super::scene::{Level, Rect, Scene};
use crate::prelude::*;
use std::fmt::Write;

/// Different colours of stages; more stages share them.
const MAX_TONES: u64 = 64;
/// Most GPUs that have their numbers on them, selected or not.
const MAX_NUMBERED: usize = 64;

/// Number of colours of the stages of `scene`.
pub fn tones(scene: &Scene) -> usize {
    usize::try_from(scene.mesh.pp.min(MAX_TONES)).unwrap_or(1)
}

/// The first stage of a colour.
pub fn stage_of_tone(scene: &Scene, tone: usize) -> usize {
    tone * usize::try_from(scene.mesh.pp).unwrap_or(1) / tones(scene)
}

pub(super) fn tone_of(scene: &Scene, stage: u64) -> usize {
    let tones = tones(scene);
    let tone = (stage * tones as u64 + tones as u64 - 1) / scene.mesh.pp.max(1);
    usize::try_from(tone).unwrap_or(0).min(tones - 1)
}

pub(super) fn words(x: f64, y: f64, class: &str, label: impl Into<Message>) -> Node {
    let (x, y) = (format!("{x:.1}"), format!("{y:.1}"));
    el("text", &[("class", class), ("x", &x), ("y", &y)], &[text(label)])
}

pub(super) fn rect(at: Rect, class: &str, style: &str) -> Node {
    let [x, y, width, height] = [at.x, at.y, at.width, at.height].map(|side| format!("{side:.1}"));
    let attributes =
        [("class", class), ("x", &*x), ("y", &y), ("width", &width), ("height", &height), ("style", style)];
    el("rect", &attributes, &[])
}

/// The names of the nodes, which links from above pass: drawn over them.
pub(super) fn node_names(scene: &Scene) -> Node {
    let name = |(node, at): (usize, &Rect)| {
        let label = match (at.width >= 62.0, scene.mesh.per_node > MAX_NODE) {
            (true, false) => t!("node {node}", node),
            (true, true) => t!("domain {node}", node),
            (false, _) => verbatim(node.to_string()),
        };
        words(at.x + 8.0, at.y + 14.0, "on-paper", label)
    };
    scene.nodes.iter().enumerate().map(name).collect()
}

/// Draws nodes, names, and the cells of each stage as one path.
pub fn base(scene: &Scene, evaluation: &Evaluation) -> Node {
    let mut paths = vec![String::new(); tones(scene)];
    for cell in &scene.cells {
        let Rect { x, y, width, height } = cell.at;
        if let Some(path) = paths.get_mut(tone_of(scene, cell.stage)) {
            // Writing to a String cannot fail.
            let _ = write!(path, "M{x:.1} {y:.1}h{width:.1}v{height:.1}h-{width:.1}z");
        }
    }
    let cells = paths.iter().enumerate().map(|(tone, path)| {
        let style = format!("fill:var(--s{tone})");
        el("path", &[("d", &**path), ("style", &style)], &[])
    });
    let wide = scene.gutter > 60.0 && !scene.is_framed;
    let rows = scene.rows.iter().map(|row| {
        let layers = if wide && row.stages.0 == row.stages.1 && scene.level == Level::Gpus {
            let rank = usize::try_from(row.stages.0).unwrap_or(0);
            let layers = layers(evaluation, rank);
            let short = layers.chars().count() <= 12;
            if short { words(0.0, row.y + 11.0, "", t!("layers {layers}", layers)) } else { Node::none() }
        } else {
            Node::none()
        };
        let lift = if scene.level == Level::Gpus && wide { 4.0 } else { -4.0 };
        Node::from_iter([words(0.0, row.y - lift, "", row_name(*row)), layers])
    });
    let columns = scene.columns.iter().map(|(replica, x)| {
        let label = format!("DP {replica}");
        let half = label.len() as f64 * 3.4;
        words(x.min(scene.width - half), 12.0, "mid", verbatim(label))
    });
    let nodes = scene.nodes.iter().map(|at| rect(*at, "node", ""));
    let names: Node = columns.chain(rows).chain(nodes).collect();
    let cells = el("g", &[("class", "cells")], &[cells.collect()]);
    let single = scene.level == Level::Gpus && scene.cells.len() <= MAX_NUMBERED;
    let numbers = scene.cells.iter().filter(|cell| single && cell.at.width >= 26.0);
    let numbers = numbers.map(|cell| {
        let (x, y) = (cell.at.x + cell.at.width / 2.0, cell.at.y + cell.at.height / 2.0 + 4.0);
        words(x, y, "mid", verbatim(cell.rank.to_string()))
    });
    el("g", &[], &[names, cells, numbers.collect()])
}
