//! Geometry of the picture of a cluster, in pixels. A cell is one GPU where there are few GPUs; of more GPUs it is a
//! block of consecutive ranks, those of one stage on one node; of too many blocks it is several blocks of neighbouring
//! replicas. So the picture has at most some thousand items.

use super::grid::Grid;
use shardscope_core::cluster::Mesh;

/// Most items of a picture: cells, frames, names and marks.
#[cfg(test)]
pub(crate) const MAX_ITEMS: usize = 4000;

/// A rectangle, pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    pub fn right(self) -> f64 {
        self.x + self.width
    }
    pub(crate) fn bottom(self) -> f64 {
        self.y + self.height
    }
    fn holds(self, x: f64, y: f64) -> bool {
        x >= self.x && x < self.right() && y >= self.y && y < self.bottom()
    }
}

/// A cell: one GPU, or several GPUs that are drawn as one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuCell {
    /// The first rank in it.
    pub rank: u64,
    /// The pipeline rank of that first rank.
    pub stage: u64,
    pub at: Rect,
}

/// The unit that a cell stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// One GPU.
    Gpus,
    /// This number of blocks, of neighbouring replicas. A block is consecutive ranks of one stage.
    Blocks(u64),
}

/// The name of a row, drawn on its left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowName {
    /// First and last pipeline rank of the row.
    pub stages: (u64, u64),
    /// Middle of the row's first line, pixels.
    pub y: f64,
}

/// The geometry of the picture; the marks of the selected GPU and its groups are not in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The mesh of the run.
    pub mesh: Mesh,
    /// Width of the picture, pixels.
    pub width: f64,
    /// Height of the picture, pixels.
    pub height: f64,
    /// The unit that a cell stands for.
    pub level: Level,
    /// GPUs in the order of ranks; other cells row by row.
    pub cells: Vec<GpuCell>,
    /// Frames of the nodes in their order; empty where a cell is more than one GPU.
    pub nodes: Vec<Rect>,
    /// Names of rows.
    pub rows: Vec<RowName>,
    /// Names of columns, drawn above them: index of a data-parallel replica, and the middle of its column in pixels.
    pub columns: Vec<(u64, f64)>,
    /// Width of the names of rows, pixels.
    pub gutter: f64,
    /// Room for links below a line of nodes, pixels.
    pub(super) links: f64,
    /// True in a frame, which has no room for the rails and the layers of a row.
    pub(super) is_framed: bool,
    /// Rows and columns of the blocks before several are merged into a cell.
    pub(super) grid: Grid,
    /// Cells in a row.
    pub(super) row_cells: u64,
    /// Rows of the grid that one row of the picture stands for.
    pub(super) merged_rows: u64,
}

impl Scene {
    /// The cell that `rank` is drawn in.
    pub(crate) fn cell_of(&self, rank: u64) -> usize {
        let cell = match self.level {
            Level::Gpus => rank,
            Level::Blocks(merged) => {
                let (row, column) = self.grid.place(rank / self.grid.block);
                row / self.merged_rows * self.row_cells + column / merged
            }
        };
        usize::try_from(cell).unwrap_or(usize::MAX).min(self.cells.len().saturating_sub(1))
    }
    /// The GPU at a point of the picture. In a cell of several GPUs it is the one with the same index in its block as
    /// the GPU `selected` has in its own block.
    pub fn hit(&self, x: f64, y: f64, selected: u64) -> Option<u64> {
        let cell = self.cells.iter().find(|cell| cell.at.holds(x, y))?;
        Some(match self.level {
            Level::Gpus => cell.rank,
            Level::Blocks(_) => cell.rank + selected % self.grid.block,
        })
    }
    /// Number of ranks in a block.
    pub fn block(&self) -> u64 {
        self.grid.block
    }
    /// The GPU that a key of the keyboard moves to from `gpu`: the arrows left and right to the previous and the next
    /// cell, up and down to the previous and the next stage, Home and End to the first and the last GPU.
    pub fn walked(&self, gpu: u64, key: &str) -> Option<u64> {
        let last = self.mesh.ranks() - 1;
        let stage = self.mesh.place(gpu).pp;
        let cell = |cell: Option<usize>| {
            let cell = self.cells.get(cell?)?;
            let index_in_block = match self.level {
                Level::Gpus => 0,
                Level::Blocks(_) => gpu % self.grid.block,
            };
            Some((cell.rank + index_in_block).min(last))
        };
        match key {
            "ArrowRight" => cell(self.cell_of(gpu).checked_add(1)),
            "ArrowLeft" => cell(self.cell_of(gpu).checked_sub(1)),
            "ArrowDown" if stage + 1 < self.mesh.pp => Some(gpu + self.mesh.stage_stride()),
            "ArrowUp" if stage > 0 => Some(gpu - self.mesh.stage_stride()),
            "Home" => Some(0),
            "End" => Some(last),
            _ => None,
        }
    }
    /// Number of items drawn.
    pub fn items(&self) -> usize {
        self.cells.len() + 2 * self.nodes.len() + 2 * self.rows.len() + self.columns.len()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use shardscope_core::cluster::RankOrder;

    pub fn mesh([tp, cp, dp, pp]: [u64; 4], per_node: u64) -> Mesh {
        Mesh { tp, cp, dp, pp, ep: 1, etp: 1, per_node, order: RankOrder::PpLast }
    }

    /// From one GPU to as many as a Run may have, with nodes of every kind.
    pub fn meshes() -> Vec<Mesh> {
        let sizes = [
            ([1, 1, 1, 1], 8),
            ([2, 1, 2, 2], 8),
            ([8, 1, 8, 4], 8),
            ([1, 1, 100, 1], 8),
            ([3, 2, 5, 7], 8),
            ([8, 1, 24, 8], 72),
            ([8, 1, 128, 16], 8),
            ([8, 1, 3906, 32], 8),
            ([8, 16, 64, 128], 72),
            ([1, 1, 1 << 40, 1], 8),
            ([1, 1, 1 << 20, 4], 1 << 20),
            ([4, 1, 2, 1000], 4),
        ];
        let orders = [RankOrder::PpLast, RankOrder::DpLast, RankOrder::EpAfterPp];
        let each = |(sizes, per_node)| orders.map(|order| Mesh { order, ..mesh(sizes, per_node) });
        sizes.into_iter().flat_map(each).collect()
    }

    #[test]
    fn cells_stand_apart_inside_the_picture() {
        for mesh in meshes() {
            for width in [340.0, 760.0, 1064.0] {
                let scene = Scene::of(mesh, width);
                assert!(scene.items() < MAX_ITEMS, "{mesh:?}: {}", scene.items());
                let every = 1 + scene.cells.len() / 200;
                for (at, cell) in scene.cells.iter().enumerate().step_by(every) {
                    let Rect { x, y, width, height } = cell.at;
                    assert!(x >= scene.gutter && cell.at.right() <= scene.width + 0.1, "{mesh:?}");
                    assert!(y >= 0.0 && cell.at.bottom() <= scene.height, "{mesh:?}");
                    assert!(width > 1.5 && height > 1.5, "{mesh:?} {scene:?}");
                    let middle = (x + width / 2.0, y + height / 2.0);
                    let hit = scene.hit(middle.0, middle.1, 0);
                    assert_eq!(hit, Some(cell.rank), "{mesh:?} at {scene:?}");
                    assert_eq!(scene.cell_of(cell.rank), at, "{mesh:?}");
                }
            }
        }
    }

    /// 16 stages of 128 replicas: down goes to the same place of the next stage, right to the next replica.
    #[test]
    fn the_arrows_walk_over_stages_and_replicas() {
        let scene = Scene::of(mesh([8, 1, 128, 16], 8), 1064.0);
        assert_eq!(scene.walked(7211, "ArrowDown"), Some(7211 + 1024));
        assert_eq!(scene.walked(7211, "ArrowUp"), Some(7211 - 1024));
        assert_eq!(scene.walked(7211, "ArrowRight"), Some(7219));
        assert_eq!(scene.walked(3, "ArrowUp"), None);
        assert_eq!(scene.walked(3, "ArrowLeft"), None);
        assert_eq!(scene.walked(3, "End"), Some(16_383));
        assert_eq!(scene.walked(3, "Enter"), None);
    }

    /// 8 GPUs are one node with eight cells; 256 are 32 nodes, 4 rows of 8; of 16 384 a cell is a node and a column a
    /// replica; a million are drawn in the same rows.
    #[test]
    fn cells_are_gpus_up_to_256_and_whole_nodes_of_16384() {
        let scene = |sizes| Scene::of(mesh(sizes, 8), 1064.0);
        let eight = scene([2, 1, 2, 2]);
        assert_eq!((eight.cells.len(), eight.nodes.len()), (8, 1));
        let node = scene([8, 1, 8, 4]);
        assert_eq!((node.cells.len(), node.nodes.len(), node.rows.len()), (256, 32, 4));
        assert_eq!(node.columns.len(), 8);
        let large = scene([8, 1, 128, 16]);
        assert_eq!((large.level, large.cells.len()), (Level::Blocks(1), 16 * 128));
        let million = scene([8, 1, 7813, 16]);
        assert_eq!((million.mesh.ranks(), million.rows.len()), (1_000_064, 16));
        assert!(million.cells.len() > 1500);
    }
}
