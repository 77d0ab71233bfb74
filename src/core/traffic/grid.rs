//! Tensor parallelism in one, two and three dimensions, compared: what a rank computes, keeps and sends for `Y = X A`.
//!
//! 1D cuts the weight over P ranks and keeps the activations whole; 2D (SUMMA) cuts both over a q x q grid and
//! broadcasts along rows and columns; 3D over q x q x q multiplies blocks (i, j, l) and adds along the third axis.
//! Source: Fudan lecture, section on 2D and 3D tensor parallelism.

use crate::maths::cbrt;

/// One way to cut a matrix product, relative to a single rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridCut {
    /// Dimensions of the grid.
    pub dimensions: u32,
    /// Ranks along an axis.
    pub side: f64,
    /// Share of the FLOPs.
    pub compute: f64,
    /// Share of the parameters.
    pub parameters: f64,
    /// Share of the activations.
    pub activations: f64,
    /// Elements that a rank receives over those of one activation.
    pub communication: f64,
    /// Messages one after the other.
    pub steps: f64,
}

/// The cuts that `ranks` allow: 1D always, 2D where it is a square, 3D where it is a cube.
///
/// 1D: an all-reduce, `2 (P-1)/P` of the output in `2 (P-1)` steps. 2D: every rank gathers its row of X and its column
/// of A, `1/q` of each. 3D: A and X blocks along one axis each, the result along the third, `1/q²` of each.
pub fn grid_cuts(ranks: u64) -> Vec<GridCut> {
    let p = ranks as f64;
    let whole = |root: f64| {
        let side = root.round();
        (root - side).abs() < 1e-9
    };
    let mut cuts = vec![GridCut {
        dimensions: 1,
        side: p,
        compute: 1.0 / p,
        parameters: 1.0 / p,
        activations: 1.0,
        communication: 2.0 * (p - 1.0) / p,
        steps: 2.0 * (p - 1.0),
    }];
    for (dimensions, side) in [(2, p.sqrt()), (3, cbrt(p))] {
        if ranks > 1 && whole(side) {
            let q = side.round();
            let axis = (q - 1.0) / q;
            cuts.push(GridCut {
                dimensions,
                side: q,
                compute: 1.0 / p,
                parameters: 1.0 / p,
                activations: 1.0 / p,
                communication: if dimensions == 2 { 2.0 * axis / q } else { 3.0 * axis / (q * q) },
                steps: f64::from(dimensions) * (q - 1.0),
            });
        }
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_squares_and_cubes_have_grids() {
        let dimensions = |ranks| -> Vec<u32> { grid_cuts(ranks).iter().map(|cut| cut.dimensions).collect() };
        assert_eq!(dimensions(8), [1, 3]);
        assert_eq!(dimensions(16), [1, 2]);
        assert_eq!(dimensions(64), [1, 2, 3]);
        assert_eq!(dimensions(12), [1]);
    }

    /// Fudan lecture: 1D keeps activations whole and sends `2 (P-1)/P` in `2 (P-1)` steps; 2D sends O(1/q), 3D
    /// O(1/q²).
    #[test]
    fn more_dimensions_send_less_and_keep_less() {
        let cuts = grid_cuts(64);
        let (one, two, three) = (cuts[0], cuts[1], cuts[2]);
        assert_eq!((one.activations, one.steps), (1.0, 126.0));
        assert!((one.communication - 2.0 * 63.0 / 64.0).abs() < 1e-12);
        assert!(two.communication <= 2.0 / two.side);
        assert!(three.communication <= 3.0 / (three.side * three.side));
        assert!((two.activations * 64.0 - 1.0).abs() < 1e-12);
        assert!((three.parameters * 64.0 - 1.0).abs() < 1e-12);
    }
}
