//! The node of the selected GPU, opened below cells that stand for nodes.

use super::scene::{GpuCell, Level, Rect, Scene};

/// Width of one GPU with the gap beside it, pixels.
const STRIP: f64 = 26.0;
/// Height of the line with its name, pixels.
const STRIP_HEAD: f64 = 22.0;
/// Most GPUs of it.
const MAX_STRIP: u64 = 144;

/// The cells of the node of `gpu`, where the picture has none of its own; below the others.
pub fn strip(scene: &Scene, gpu: u64) -> Vec<GpuCell> {
    let mesh = scene.mesh;
    if scene.level == Level::Gpus {
        return Vec::new();
    }
    let first = gpu / mesh.per_node * mesh.per_node;
    let first = first + (gpu - first) / MAX_STRIP * MAX_STRIP;
    let count = mesh.per_node.min(MAX_STRIP).min(mesh.ranks() - first);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few
    let across = ((scene.width - scene.gutter) / STRIP).max(1.0) as u64;
    let cell = |local: u64| GpuCell {
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
pub fn hit(scene: &Scene, x: f64, y: f64, selected: u64) -> Option<u64> {
    let inside = |cell: &&GpuCell| {
        let at = cell.at;
        x >= at.x && x < at.right() && y >= at.y && y < at.bottom()
    };
    let strip = strip(scene, selected);
    let below = strip.iter().find(inside).map(|cell| cell.rank);
    below.or_else(|| scene.hit(x, y, selected))
}

#[cfg(test)]
mod tests {
    use super::super::names::who;
    use super::*;
    use shardscope_core::report::evaluate;
    use shardscope_core::run::Run;

    #[test]
    fn each_of_eight_gpus_can_be_pressed_where_it_is_drawn() {
        let mesh = evaluate(&Run { gpus: 8, tp: 2, pp: 2, ..Run::default() }).unwrap().scenario.layout.mesh();
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
        let run = Run { gpus: 16_384, tp: 8, pp: 16, global_batch: 4096, ..Run::default() };
        let mesh = evaluate(&run).unwrap().scenario.layout.mesh();
        let scene = Scene::of(mesh, 800.0);
        let cells = strip(&scene, 7211);
        let ranks: Vec<u64> = cells.iter().map(|cell| cell.rank).collect();
        assert_eq!(ranks, (7208..7216).collect::<Vec<_>>());
        for cell in cells {
            assert_eq!(hit(&scene, cell.at.x + 1.0, cell.at.y + 1.0, 7211), Some(cell.rank));
        }
    }
}
