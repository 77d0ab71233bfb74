//! Places of the rows of a timeline: for painting and for hit tests.

/// Height of the axis with its numbers, CSS pixels.
const AXIS: f64 = 22.0;
/// Height of the memory curve below it.
const CURVE: f64 = 56.0;
/// Height of all rows of one of several pictures.
const LOW: f64 = 160.0;
/// Height of the axis of the first screen's picture.
const SLIM_AXIS: f64 = 16.0;
/// Least distance of its rows: of more ranks, every n-th is drawn.
const SLIM_PITCH: f64 = 3.0;

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
        let pitch = (480.0 / count.max(1) as f64).clamp(4.0, 34.0);
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

/// Ranks that are drawn; of more, every n-th.
const MAX_ROWS: usize = 128;

/// Ranks that are rows of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Shape {
    /// Rows drawn.
    pub count: usize,
    /// Ranks from one row to the next.
    pub stride: usize,
    pub rows: PictureRows,
    /// Height of the axis with its numbers; 0 where there is one below.
    pub axis: f64,
    /// Height of the memory curve.
    pub curve: f64,
}

impl Shape {
    /// The shape of a picture of `ranks` pipeline ranks.
    pub fn of(ranks: usize) -> Self {
        let stride = ranks.div_ceil(MAX_ROWS).max(1);
        let count = ranks.div_ceil(stride);
        Self { count, stride, rows: PictureRows::fitting(count), axis: AXIS, curve: CURVE }
    }
    /// The shape of one of several pictures that share an axis.
    pub fn low(ranks: usize) -> Self {
        let mut shape = Self::of(ranks);
        let pitch = (LOW / shape.count.max(1) as f64).clamp(2.0, 17.0);
        shape.rows = PictureRows { pitch, height: pitch - (pitch * 0.15).min(2.0) };
        (shape.axis, shape.curve) = (6.0, 40.0);
        shape
    }
    /// The shape of a picture whose rows fill `height`, however many ranks there are.
    pub fn filling(ranks: usize, height: f64) -> Self {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few
        let most = (height / SLIM_PITCH) as usize;
        let stride = ranks.div_ceil(most.max(1)).max(1);
        let count = ranks.div_ceil(stride).max(1);
        let pitch = height / count as f64;
        let rows = PictureRows { pitch, height: pitch - (pitch * 0.2).min(1.0) };
        Self { count, stride, rows, axis: SLIM_AXIS, curve: 0.0 }
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
        (rank / self.stride) as f64 * self.rows.pitch + self.rows.height / 2.0
    }
}
