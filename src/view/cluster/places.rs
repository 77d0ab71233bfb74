//! Places and sizes of nodes, GPUs and cells in the picture.

use super::grid::{Grid, largest_block};
use super::scene::{GpuCell, Level, Rect, RowName, Scene};
use shardscope_core::cluster::Mesh;

/// Most cells that stand for several GPUs.
const MAX_CELLS: u64 = 2400;
/// Most rows of cells.
const MAX_ROWS: u64 = 64;

/// The line above the picture with the replicas.
const HEAD: f64 = 22.0;
/// Between nodes, between lines of them, within a node around its GPUs, and the line of its name.
const APART: f64 = 9.0;
/// Room for links below a line of nodes: usual, and in a frame.
const LINKS: [f64; 2] = [40.0, 22.0];
const PAD: f64 = 8.0;
const NAME: f64 = 20.0;
/// Least width of a GPU with the gap beside it.
const MIN_PITCH: f64 = 7.0;
/// Largest width of a GPU with the gap beside it, and its largest height where few GPUs have room for it in [`TALL`].
const MAX_PITCH: f64 = 112.0;
/// Height up to which larger GPUs take the room that there is.
const TALL: f64 = 560.0;
/// Height of a GPU with the gap beside it, whatever the height of all.
const USUAL_PITCH: f64 = 30.0;
/// The narrowest GPU of a node whose GPUs are in one row.
const ROW_PITCH: f64 = 24.0;
/// Least width of a cell that is a block of GPUs.
const MIN_CELL: f64 = 2.6;
/// Width below which the cells of a row are put on several lines.
const FULL_CELL: f64 = 6.0;
/// Height of the opened node below such cells.
const OPENED: f64 = 52.0;

/// Most nodes that are drawn one by one.
const MAX_NODES: u64 = 64;
/// Most GPUs that are drawn one by one.
const MAX_GPUS: u64 = 1600;
/// Names on the left, pixels: wide and narrow.
const GUTTERS: [f64; 2] = [92.0, 60.0];
/// Least height that a frame is taken to have for the picture.
const FRAME: f64 = 120.0;
/// From this width on a picture is wide.
const WIDE: f64 = 560.0;

impl Scene {
    /// The cluster of `mesh`, `width` pixels wide.
    pub fn of(mesh: Mesh, width: f64) -> Self {
        Self::within(mesh, width, None)
    }
    /// The cluster of `mesh`, `width` pixels wide; in a frame that has `height` pixels for it, what is drawn is made to
    /// fit, and its words keep their size.
    pub fn within(mesh: Mesh, width: f64, height: Option<f64>) -> Self {
        let width = width.clamp(240.0, 4000.0);
        let gutter = GUTTERS[usize::from(width < WIDE)];
        if mesh.ranks() <= MAX_GPUS && mesh.nodes() <= MAX_NODES {
            let scene = gpus(mesh, width, gutter, height);
            if height.is_none_or(|height| scene.height <= height.max(FRAME)) {
                return scene;
            }
        }
        blocks(mesh, width, gutter, height)
    }
}

/// GPUs side by side in a node: about twice as many as lines of them, a divisor where there is one.
fn across(gpus: u64) -> u64 {
    let least = (1..=gpus).find(|side| side * side >= 2 * gpus).unwrap_or(gpus);
    let divisors = (least..=gpus.min(3 * least)).find(|side| gpus.is_multiple_of(*side));
    divisors.unwrap_or(least)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few
fn floor(pixels: f64) -> u64 {
    pixels.max(0.0).floor() as u64
}

/// Every node with its GPUs.
fn gpus(mesh: Mesh, width: f64, gutter: f64, frame: Option<f64>) -> Scene {
    let node_ranks = mesh.per_node.min(mesh.ranks());
    let grid = Grid::of(mesh, mesh.per_node);
    let room = width - gutter;
    // Where all nodes of a line have room for their GPUs in one row, they are in one.
    let one_row = node_ranks as f64 * ROW_PITCH + 2.0 * PAD + APART;
    let in_one_row = grid.columns as f64 * one_row <= room + APART;
    let side = if in_one_row { node_ranks } else { across(node_ranks) };
    let inside = |pitch: f64| side as f64 * pitch + 2.0 * PAD;
    let fit = floor((room + APART) / (inside(MIN_PITCH) + APART)).max(1);
    let lines = grid.columns.div_ceil(fit.min(grid.columns));
    let per_line = grid.columns.div_ceil(lines);
    let (links, down) = (LINKS[usize::from(frame.is_some())], node_ranks.div_ceil(side) as f64);
    let of_line = (frame.unwrap_or(TALL) - HEAD) / (grid.rows * lines) as f64 - NAME - PAD - links;
    let tallest = (of_line / down).clamp(if frame.is_some() { MIN_PITCH } else { USUAL_PITCH }, MAX_PITCH);
    let node_width = ((room + APART) / per_line as f64 - APART).min(inside(MAX_PITCH));
    let pitch = (node_width - 2.0 * PAD) / side as f64;
    // A GPU is as high as wide where there is room.
    let high = pitch.min(tallest);
    let gap = if high >= 16.0 { 4.0 } else { 1.5 };
    let node_height = NAME + down * high + PAD - gap;
    let line_height = node_height + links;
    let place = |node: u64| {
        let (row, column) = grid.place(node);
        let line = row * lines + column / per_line;
        Rect {
            x: gutter + (column % per_line) as f64 * (node_width + APART),
            y: HEAD + line as f64 * line_height,
            width: node_width,
            height: node_height,
        }
    };
    let nodes: Vec<Rect> = (0..mesh.nodes()).map(place).collect();
    let cells = (0..mesh.ranks()).map(|rank| {
        let (node, local) = (rank / mesh.per_node, rank % mesh.per_node);
        let frame = place(node);
        GpuCell {
            rank,
            stage: mesh.place(rank).pp,
            at: Rect {
                x: frame.x + PAD + (local % side) as f64 * pitch + gap / 2.0,
                y: frame.y + NAME + (local / side) as f64 * high,
                width: pitch - gap,
                height: high - gap,
            },
        }
    });
    let stage_of = |rank: u64| mesh.place(rank.min(mesh.ranks() - 1)).pp;
    let rows = (0..grid.rows).map(|row| {
        let first = grid.at(row, 0) * mesh.per_node;
        let last = if grid.rows == 1 { mesh.pp - 1 } else { stage_of(first + mesh.per_node - 1) };
        RowName { stages: (stage_of(first), last), y: HEAD + (row * lines) as f64 * line_height + node_height / 2.0 }
    });
    // A name above a column where it is one replica in every row.
    let named = lines == 1 && node_width >= 44.0 && grid.columns == mesh.dp && mesh.dp > 1;
    let columns = if named { 0..grid.columns } else { 0..0 };
    let columns = columns.map(|column| {
        let node = grid.at(0, column);
        (mesh.place(node * mesh.per_node).dp, place(node).x + node_width / 2.0)
    });
    Scene {
        mesh,
        width,
        height: HEAD + (grid.rows * lines) as f64 * line_height,
        level: Level::Gpus,
        cells: cells.collect(),
        nodes,
        rows: rows.collect(),
        columns: columns.collect(),
        gutter,
        links,
        is_framed: frame.is_some(),
        grid,
        row_cells: grid.columns,
        merged_rows: 1,
    }
}

/// A cell for each block, or for several where they are many.
fn blocks(mesh: Mesh, width: f64, gutter: f64, frame: Option<f64>) -> Scene {
    const LINES: u64 = 24;
    let grid = Grid::of(mesh, largest_block(mesh));
    let room = width - gutter;
    let merged_rows = grid.rows.div_ceil(MAX_ROWS);
    let rows = grid.rows.div_ceil(merged_rows);
    let wanted = grid.columns.div_ceil(floor(room / FULL_CELL).max(1));
    let lines = wanted.clamp(1, (LINES / rows).max(1));
    let most = (floor(room / MIN_CELL) * lines).min(MAX_CELLS / rows).max(1);
    let merged = grid.columns.div_ceil(most);
    let row_cells = grid.columns.div_ceil(merged);
    let per_line = row_cells.div_ceil(lines);
    let pitch = room / per_line as f64;
    let height = match frame {
        Some(frame) => ((frame - HEAD - OPENED) / (rows * lines) as f64).clamp(3.0, 22.0),
        None => (360.0 / (rows * lines) as f64).clamp(7.0, 22.0),
    };
    let gap = if pitch >= 5.0 { 1.5 } else { 0.6 };
    // Lines of one row are closer together than rows.
    let row_height = lines as f64 * height + if lines > 1 { 8.0 } else { 0.0 };
    let mut cells = Vec::new();
    for row in 0..rows {
        for cell in 0..row_cells {
            let block = grid.at(row * merged_rows, cell * merged);
            let rank = (block * grid.block).min(mesh.ranks() - 1);
            cells.push(GpuCell {
                rank,
                stage: mesh.place(rank).pp,
                at: Rect {
                    x: gutter + (cell % per_line) as f64 * pitch,
                    y: HEAD + row as f64 * row_height + (cell / per_line) as f64 * height,
                    width: pitch - gap,
                    height: height - (height * 0.2).min(1.5),
                },
            });
        }
    }
    let every = floor((12.0 / row_height).ceil()).max(1);
    let each = (0..rows).step_by(usize::try_from(every).unwrap_or(1));
    let names = each.map(|row| RowName {
        stages: (
            mesh.place(grid.at(row * merged_rows, 0) * grid.block).pp,
            mesh.place(grid.at(((row + 1) * merged_rows).min(grid.rows) - 1, 0) * grid.block).pp,
        ),
        y: HEAD + row as f64 * row_height + height / 2.0,
    });
    let named = if lines == 1 && mesh.dp > 1 { 4 } else { 0 };
    let columns = (0..=named).filter(|_| named > 0).map(|quarter| {
        let cell = (row_cells - 1) * quarter / named;
        let rank = grid.at(0, cell * merged) * grid.block;
        (mesh.place(rank).dp, gutter + (cell as f64 + 0.5) * pitch)
    });
    Scene {
        mesh,
        width,
        height: HEAD + rows as f64 * row_height,
        level: Level::Blocks(merged),
        cells,
        nodes: Vec::new(),
        rows: names.collect(),
        columns: columns.collect(),
        gutter,
        links: LINKS[0],
        is_framed: frame.is_some(),
        grid,
        row_cells,
        merged_rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::evaluate;
    use shardscope_core::run::Run;

    fn mesh(settings: &[(&str, &str)]) -> Mesh {
        let pairs: Vec<(String, String)> =
            settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let (run, issues) = Run::from_pairs(&pairs);
        assert!(issues.is_empty(), "{issues:?}");
        evaluate(&run).unwrap().scenario.layout.mesh()
    }

    /// A picture of few nodes takes more than half of its width, and no node is outside; beside the list of a GPU's
    /// groups, as wide as the page has it, it takes nine tenths where its height allows.
    #[test]
    fn few_nodes_fill_the_picture() {
        for (gpus, pp) in [("8", "1"), ("16", "1"), ("64", "4"), ("64", "8"), ("128", "4")] {
            let mesh = mesh(&[("gpus", gpus), ("tp", "2"), ("pp", pp), ("global_batch", "512")]);
            for width in [320.0, 600.0, 1064.0] {
                let scene = Scene::of(mesh, width);
                let right = scene.nodes.iter().map(|node| node.x + node.width).fold(0.0, f64::max);
                assert!(right <= width + 1e-9, "{gpus} {pp} {width}: {right}");
                let least = if width > 1000.0 { 0.9 } else { 0.5 };
                assert!(right >= least * width, "{gpus} {pp} {width}: {right}");
                assert!(width < 1000.0 || pp == "8" || scene.height <= TALL + 1e-9, "{gpus} {pp}: {}", scene.height);
            }
        }
        // 405B on 8,192 GPUs in 64 stages: 16 replicas side by side.
        let set = [("model", "llama-3.1-405b"), ("gpus", "8192"), ("tp", "8"), ("pp", "64"), ("global_batch", "2048")];
        let scene = Scene::of(mesh(&set), 1064.0);
        let right = scene.cells.iter().map(|cell| cell.at.right()).fold(0.0, f64::max);
        assert!(right > 0.97 * 1064.0 && right <= 1064.0, "{right}");
    }

    /// 2,048 GPUs and more in any layout of the page take the whole width, however few replicas stand side by side:
    /// 405B in 64 stages has four of them on 2,048 GPUs.
    #[test]
    fn many_gpus_take_the_whole_width() {
        let mut seen = 0;
        for gpus in ["2048", "4096", "16384"] {
            for (tp, pp) in [("8", "64"), ("8", "32"), ("8", "16"), ("4", "8"), ("2", "4"), ("1", "1")] {
                let set =
                    [("model", "llama-3.1-405b"), ("gpus", gpus), ("tp", tp), ("pp", pp), ("global_batch", "16384")];
                let mesh = mesh(&set);
                for width in [600.0, 1064.0] {
                    let scene = Scene::of(mesh, width);
                    let right = scene.cells.iter().map(|cell| cell.at.right()).fold(0.0, f64::max);
                    assert!(right > 0.97 * width && right <= width, "{gpus} {tp} {pp} {width}: {right}");
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, 36);
    }

    /// In a frame of 600 by 400 pixels, of which 300 are the picture's, all of it is seen in its own size: nothing is
    /// scaled, so words stay as large as they are.
    #[test]
    fn a_frame_holds_the_picture_in_its_own_size() {
        for (gpus, tp, pp) in [("8", "2", "1"), ("64", "2", "4"), ("512", "8", "8"), ("8192", "8", "64")] {
            let mesh =
                mesh(&[("gpus", gpus), ("tp", tp), ("pp", pp), ("model", "llama-3.1-405b"), ("global_batch", "8192")]);
            for (width, height) in [(576.0, 300.0), (366.0, 290.0)] {
                let scene = Scene::within(mesh, width, Some(height));
                let opened = if scene.nodes.is_empty() { OPENED } else { 0.0 };
                assert!(scene.height + opened <= height + 1e-9, "{gpus} {width}: {} and {opened}", scene.height);
                let right = scene.cells.iter().map(|cell| cell.at.right()).fold(0.0, f64::max);
                assert!(right <= width + 1e-9, "{gpus} {width}: {right}");
            }
        }
    }
}
