//! Places of the rows of a timeline: for painting and for hit tests.

/// Height of the axis with its numbers, CSS pixels.
const AXIS: f64 = 22.0;
/// Height of the memory curve below it.
const CURVE: f64 = 56.0;
/// Height of all rows of one of several pictures.
const LOW: f64 = 160.0;
/// Height of the axis of the first screen's picture.
const SLIM_AXIS: f64 = 16.0;
/// Height of all rows of a picture by itself.
const TALL: f64 = 480.0;
/// Least distance of rows, of which bands of three colours and open idle time can be told apart: of more ranks, every
/// n-th is drawn, whatever the picture is.
const LEAST_PITCH: f64 = 7.0;

/// Rows and their spacing, CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PictureRows {
    /// Distance from one row's top to the next.
    pub pitch: f64,
    pub height: f64,
}

impl PictureRows {
    /// Rows for `count` ranks: 28 px where they fit, thinner where there are many.
    pub fn fitting(count: usize) -> Self {
        let pitch = (TALL / count.max(1) as f64).clamp(LEAST_PITCH, 34.0);
        let gap = if pitch > 16.0 { 6.0 } else { pitch * 0.2 };
        Self { pitch, height: pitch - gap }
    }
    /// The row at `y`, and whether in its upper half.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // y is on the picture
    pub fn at(self, y: f64) -> (usize, bool) {
        let row = (y.max(0.0) / self.pitch).floor();
        (row as usize, y - row * self.pitch < self.height / 2.0)
    }
}

/// The ranks that are rows of a picture: all of them, or one of every few, the fullest among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawnRanks {
    /// Ranks from one row to the next.
    pub stride: usize,
    /// The rank that is drawn in its row, whichever is first there.
    kept: usize,
}

impl DrawnRanks {
    /// One of every `stride`, the first; of those with `kept`, that one.
    pub fn with(stride: usize, kept: usize) -> Self {
        Self { stride: stride.max(1), kept }
    }
    /// All ranks.
    pub fn all() -> Self {
        Self::with(1, 0)
    }
    /// Rows of `ranks`.
    pub fn rows(self, ranks: usize) -> usize {
        ranks.div_ceil(self.stride)
    }
    /// The row of `rank`, or of the one that is drawn for it.
    pub fn row(self, rank: usize) -> usize {
        rank / self.stride
    }
    /// The rank that is drawn in `row`.
    pub fn rank(self, row: usize) -> usize {
        if self.row(self.kept) == row { self.kept } else { row * self.stride }
    }
    /// True if `rank` itself is drawn.
    pub fn has(self, rank: usize) -> bool {
        self.rank(self.row(rank)) == rank
    }
}

/// Ranks from one row to the next where rows of `ranks` share `height`.
fn stride_in(ranks: usize, height: f64) -> usize {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few
    let most = (height / LEAST_PITCH) as usize;
    ranks.div_ceil(most.max(1)).max(1)
}

/// Ranks that are rows of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Shape {
    /// Rows drawn.
    pub count: usize,
    /// Ranks that are drawn in them.
    pub ranks: DrawnRanks,
    pub rows: PictureRows,
    /// Height of the axis with its numbers; 0 where there is one below.
    pub axis: f64,
    /// Height of the memory curve.
    pub curve: f64,
}

impl Shape {
    /// The shape of a picture of `ranks` pipeline ranks, of which `fullest` is drawn.
    pub fn of(ranks: usize, fullest: usize) -> Self {
        let drawn = DrawnRanks::with(stride_in(ranks, TALL), fullest);
        let count = drawn.rows(ranks);
        Self { count, ranks: drawn, rows: PictureRows::fitting(count), axis: AXIS, curve: CURVE }
    }
    /// The shape of one of several pictures that share an axis.
    pub fn low(ranks: usize, fullest: usize) -> Self {
        let drawn = DrawnRanks::with(stride_in(ranks, LOW), fullest);
        let count = drawn.rows(ranks);
        let pitch = (LOW / count.max(1) as f64).min(17.0);
        let rows = PictureRows { pitch, height: pitch - (pitch * 0.15).min(2.0) };
        Self { count, ranks: drawn, rows, axis: 6.0, curve: 40.0 }
    }
    /// The shape of a picture whose rows fill `height`, however many ranks there are.
    pub fn filling(ranks: usize, fullest: usize, height: f64) -> Self {
        let drawn = DrawnRanks::with(stride_in(ranks, height), fullest);
        let count = drawn.rows(ranks).max(1);
        let pitch = height / count as f64;
        let rows = PictureRows { pitch, height: pitch - (pitch * 0.2).min(1.0) };
        Self { count, ranks: drawn, rows, axis: SLIM_AXIS, curve: 0.0 }
    }
    /// The picture with rows of twice the height, without an axis.
    pub fn doubled(self) -> Self {
        let pitch = self.rows.pitch * 2.0;
        Self { rows: PictureRows { pitch, height: pitch - (pitch * 0.2).min(2.0) }, axis: 1.0, curve: 0.0, ..self }
    }
    /// True if the axis is below several pictures.
    pub(crate) fn shares_axis(self) -> bool {
        self.axis < SLIM_AXIS
    }
    /// Height in CSS pixels.
    pub fn height(self) -> f64 {
        self.rows_height() + self.axis + self.curve
    }
    /// Height of the rows alone.
    pub fn rows_height(self) -> f64 {
        self.count as f64 * self.rows.pitch
    }
    /// The middle of the row of `rank`.
    pub fn middle(self, rank: usize) -> f64 {
        self.ranks.row(rank) as f64 * self.rows.pitch + self.rows.height / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the picture and the number of ranks, rows are seven pixels apart at least, and all ranks are within;
    /// the fullest is one of them, each row has one rank, and each is further down than the one before.
    #[test]
    fn rows_are_high_enough_for_bands_in_every_picture() {
        for ranks in [1, 4, 16, 17, 22, 23, 64, 65, 100, 128, 1024] {
            let full = (ranks * 2 / 3).min(ranks - 1);
            let slim = [90.0, 119.0, 240.0].map(|height| Shape::filling(ranks, full, height));
            for shape in slim.into_iter().chain([Shape::of(ranks, full), Shape::low(ranks, full)]) {
                assert!(shape.rows.pitch >= LEAST_PITCH && shape.rows.height >= 5.5, "{ranks}: {shape:?}");
                let stride = shape.ranks.stride;
                assert!(shape.count * stride >= ranks && (shape.count - 1) * stride < ranks, "{shape:?}");
                let drawn: Vec<usize> = (0..shape.count).map(|row| shape.ranks.rank(row)).collect();
                assert!(drawn.contains(&full) && drawn.iter().all(|rank| *rank < ranks), "{full}: {drawn:?}");
                assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]), "{drawn:?}");
                assert!((0..ranks).filter(|rank| shape.ranks.has(*rank)).eq(drawn), "{shape:?}");
            }
        }
    }
}
