//! GPUs and stages in words: where a GPU is, which layers a rank has.

use super::scene::{RowName, Scene};
use crate::prelude::*;
use shardscope_core::cluster::{GroupKind, Mesh};
use shardscope_core::model::stage_range;

/// Place of a GPU, in words.
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
    let words = std::iter::once(node).chain(indices);
    Message::joined(" · ", words)
}

/// The layers of a pipeline rank: `0–19`, or `0–3, 28–31` where it has several stages.
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

/// The pipeline ranks of a row, as a column has its data-parallel rank.
pub(super) fn row_name(name: RowName) -> Message {
    let (first, last) = name.stages;
    verbatim(if first == last { format!("PP {first}") } else { format!("PP {first}–{last}") })
}

/// The name of the ranks that messages of `kind` go round: gradients also go to the context-parallel ranks.
pub(super) fn group_name(mesh: Mesh, kind: GroupKind) -> Message {
    if kind == GroupKind::Dp && mesh.cp > 1 { verbatim("DP × CP") } else { kind.name().into() }
}
