//! Places of blocks of consecutive ranks: a row for each pipeline stage, a column for each replica of it, in every
//! order of the axes.

use shardscope_core::cluster::Mesh;

/// Blocks of consecutive ranks in rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Ranks in a block; the last may have fewer.
    pub block: u64,
    /// Rows: the stages, or groups of them where a block holds several.
    pub rows: u64,
    pub columns: u64,
    /// Consecutive blocks of a row.
    run: u64,
}

impl Grid {
    /// The grid of `mesh`. It has one row where neither stages divide into blocks nor blocks into stages.
    pub fn of(mesh: Mesh, block: u64) -> Self {
        let (stage, ranks) = (mesh.stage_stride(), mesh.ranks());
        let (blocks, pipeline) = (ranks.div_ceil(block), stage * mesh.pp);
        let (rows, run) = if stage.is_multiple_of(block) {
            (mesh.pp, stage / block)
        } else if block.is_multiple_of(stage) && pipeline.is_multiple_of(block) {
            (pipeline / block, 1)
        } else {
            (1, blocks)
        };
        Self { block, rows, columns: blocks.div_ceil(rows), run }
    }
    /// The block at `row` and `column`.
    pub fn at(self, row: u64, column: u64) -> u64 {
        column / self.run * self.run * self.rows + row * self.run + column % self.run
    }
    /// Row and column of a block.
    pub fn place(self, block: u64) -> (u64, u64) {
        let (turn, within) = (block / (self.run * self.rows), block % (self.run * self.rows));
        (within / self.run, turn * self.run + within % self.run)
    }
}

/// The largest block that holds ranks of one stage and of one node, cut further where a node has more GPUs than any
/// that is built.
pub(crate) fn largest_block(mesh: Mesh) -> u64 {
    const MAX_BLOCK: u64 = 144;
    const PART: u64 = 64;
    let block = gcd(mesh.stage_stride(), mesh.per_node);
    if block > MAX_BLOCK { gcd(block, PART) } else { block }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::cluster::RankOrder;

    fn mesh(order: RankOrder, per_node: u64, sizes: [u64; 4]) -> Mesh {
        let default = super::super::scene::tests::mesh(sizes, per_node);
        Mesh { order, ..default }
    }

    /// Every block has a place of its own, and a row of blocks within stages holds one stage.
    #[test]
    fn rows_are_stages_in_every_order() {
        for order in [RankOrder::PpLast, RankOrder::DpLast, RankOrder::EpAfterPp] {
            for sizes in [[8, 1, 8, 4], [2, 2, 6, 3], [2, 1, 8, 4], [4, 1, 1, 16]] {
                let mesh = mesh(order, 8, sizes);
                let grid = Grid::of(mesh, largest_block(mesh));
                assert_eq!(grid.rows, mesh.pp, "{mesh:?}");
                let blocks = mesh.ranks() / grid.block;
                assert_eq!(blocks, grid.rows * grid.columns);
                for block in 0..blocks {
                    let (row, column) = grid.place(block);
                    assert_eq!(grid.at(row, column), block);
                    for rank in block * grid.block..(block + 1) * grid.block {
                        assert_eq!(mesh.place(rank).pp, row);
                    }
                }
            }
        }
    }

    /// 8 nodes of 8: two stages a node where the pipeline comes before data parallel, so two rows of nodes.
    #[test]
    fn a_node_with_several_stages_stands_in_the_row_of_its_first() {
        let mesh = mesh(RankOrder::DpLast, 8, [4, 1, 4, 4]);
        let grid = Grid::of(mesh, 8);
        assert_eq!((grid.rows, grid.columns), (2, 4));
        assert_eq!(grid.at(1, 2), 5);
        assert_eq!(mesh.place(5 * 8).pp, 2);
    }
}
