//! The table of ranks: which GPU is where in every group. To copy, and the part of it that the picture opens.

use super::scene::Scene;
use crate::prelude::*;
use shardscope_core::cluster::{Mesh, RANK_COLUMNS};

/// Most rows of a copied table.
const MAX_COPIED: u64 = 1 << 20;
/// Most rows of a table on the page.
const MAX_SHOWN: u64 = 144;

/// All ranks, a line each, columns apart by tabs, as spreadsheets take them.
pub fn rank_table(mesh: Mesh) -> String {
    let mut out = RANK_COLUMNS.join("\t");
    for rank in 0..mesh.ranks().min(MAX_COPIED) {
        let mut before = '\n';
        for index in mesh.row_of(rank) {
            out.push(before);
            out.push_str(&index.to_string());
            before = '\t';
        }
    }
    out
}

/// The rows of the node of `gpu`: what the picture shows of it, in figures.
pub fn node_table(scene: &Scene, gpu: u64) -> Node {
    let mesh = scene.mesh;
    let first = gpu - gpu % mesh.per_node.min(MAX_SHOWN);
    let last = (first + mesh.per_node.min(MAX_SHOWN)).min(mesh.ranks());
    let rows = (first..last).map(|rank| {
        let cells = mesh.row_of(rank);
        let cells = cells.map(|index| text(verbatim(index.to_string())));
        (rank == gpu, cells.into())
    });
    let rows: Vec<_> = rows.collect();
    let node = gpu / mesh.per_node;
    let label = t!("Ranks of node {node}", node);
    Node::from_iter([muted(&label), table(label, &RANK_COLUMNS, &rows)])
}

#[cfg(test)]
mod tests {
    use super::super::scene::tests::mesh;
    use super::*;

    /// A line for each rank with the indices that say where it is; Megatron's own are held to in
    /// `tests/page_free/ranks.rs`.
    #[test]
    fn the_copied_table_has_every_rank() {
        let mesh = mesh([2, 1, 2, 2], 8);
        let text = rank_table(mesh);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "rank\tnode\ttp\tcp\tdp\tpp\tep\tetp\texpert_dp");
        assert_eq!(lines.len(), 9);
        assert!(lines[4].starts_with("3\t0\t1\t0\t1\t0\t"), "{}", lines[4]);
        let table = node_table(&Scene::of(mesh, 600.0), 3).to_html();
        assert_eq!(table.matches("<tr").count(), 9);
    }
}
