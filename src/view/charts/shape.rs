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
        let stride = stride_in(ranks, TALL);
        let count = ranks.div_ceil(stride);
        Self { count, stride, rows: PictureRows::fitting(count), axis: AXIS, curve: CURVE }
    }
    /// The shape of one of several pictures that share an axis.
    pub fn low(ranks: usize) -> Self {
        let stride = stride_in(ranks, LOW);
        let count = ranks.div_ceil(stride);
        let pitch = (LOW / count.max(1) as f64).min(17.0);
        let rows = PictureRows { pitch, height: pitch - (pitch * 0.15).min(2.0) };
        Self { count, stride, rows, axis: 6.0, curve: 40.0 }
    }
    /// The shape of a picture whose rows fill `height`, however many ranks there are.
    pub fn filling(ranks: usize, height: f64) -> Self {
        let stride = stride_in(ranks, height);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the picture and the number of ranks, rows are seven pixels apart at least, and all ranks are within.
    #[test]
    fn rows_are_high_enough_for_bands_in_every_picture() {
        for ranks in [1, 4, 16, 17, 22, 23, 64, 65, 100, 128, 1024] {
            let slim = [90.0, 119.0, 240.0].map(|height| Shape::filling(ranks, height));
            for shape in slim.into_iter().chain([Shape::of(ranks), Shape::low(ranks)]) {
                assert!(shape.rows.pitch >= LEAST_PITCH && shape.rows.height >= 5.5, "{ranks}: {shape:?}");
                assert!(shape.count * shape.stride >= ranks && (shape.count - 1) * shape.stride < ranks, "{shape:?}");
            }
        }
    }
}
