//! The timeline's cells, time axis and memory curve.
//!
//! Backends count whole device pixels and know no scale factor: the caller sizes the surface in device pixels and says
//! how many of them make a CSS pixel.

use super::{Painted, fill, ink, label_side, px, text_style};
use crate::charts::shape::Shape;
use crate::charts::strokes::steps;
use crate::charts::ticks::tick_times;
use crate::charts::timeline::{Arrival, Cell};
use crate::charts::viewport::Viewport;
use crate::palette::{Palette, Rgb, blend, ink_on};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::DrawingBackend;
use shardscope_core::pipeline::{Half, OpKind, TimedOp};
use shardscope_core::report::{PassMessages, StageMessages};

/// A cell is labelled from this width on.
const LABEL_WIDTH: f64 = 16.0;
/// A row, or the half of a pair, is labelled from this height on.
const LABEL_HEIGHT: f64 = 11.0;

/// Height of the messages in a block, CSS pixels.
const STRIP: f64 = 4.0;
/// Least width of a block that shows messages, CSS pixels.
const STRIP_WIDTH: f64 = 5.0;
/// Height of a message between ranks, a share of its row.
const ARRIVAL: f64 = 0.4;
/// Least height of a block that shows messages, CSS pixels.
const STRIP_HEIGHT: f64 = 9.0;

/// Room for the rank names of an exported picture, CSS pixels.
pub const NAMES: f64 = 64.0;
/// Room for its title.
pub const TITLE: f64 = 28.0;
/// From one line of the hatch to the next.
const HATCH: f64 = 6.0;

/// Parts of a picture outside the page besides its blocks.
#[derive(Clone, Copy, Debug)]
pub struct PictureFrame<'a> {
    /// A line above it.
    pub title: &'a str,
    /// Rank whose memory is drawn.
    pub rank: usize,
    /// End of the hatch of idle time: that of the pipeline, CSS pixels.
    pub end: f64,
}

/// A filled rectangle, device pixels: left, upper, right, lower.
pub type Corners = [i32; 4];

/// Fills rectangles of one colour at once.
pub type Fill<'a> = dyn Fn(Rgb, &[Corners]) + 'a;

/// A label in a block: its words, their middle in device pixels, their colour and their height in device pixels.
pub struct BlockLabel {
    pub words: String,
    pub middle: (i32, i32),
    pub colour: Rgb,
    pub font: f64,
}

/// Writes labels of one colour and height at once.
pub type Write<'a> = dyn Fn(&[BlockLabel]) + 'a;

/// A picture to paint.
pub struct TimelinePicture<'a> {
    /// The visible cells.
    pub cells: &'a [Cell],
    pub shape: Shape,
    /// Title, names, paper and hatch of its own; none on the page, which has them around the canvas.
    pub frame: Option<PictureFrame<'a>>,
    /// The time axis.
    pub view: Viewport,
    /// Size in CSS pixels: width of the picture.
    pub width: f64,
    /// Share of paper in the colour of a stage of a row: more the later it is on its rank.
    pub paper_of: &'a dyn Fn(usize, u32) -> f64,
    /// The version of the weights that a micro-batch meets in a row, where a rank keeps several.
    pub version_of: &'a dyn Fn(usize, u32) -> Option<i32>,
    /// The messages of every stage that are drawn in the blocks; none: none are.
    pub messages: &'a [StageMessages],
    /// Messages between ranks that are drawn in the idle time before the ops that wait for them.
    pub arrivals: &'a [Arrival],
    /// Memory of the chosen rank over time, MiB.
    pub curve: &'a [(f64, u32)],
    /// Memory of the rank, MiB.
    pub capacity: u32,
    /// Least end of the scale of memory, MiB.
    pub most: u32,
    pub palette: Palette,
    /// Device pixels a CSS pixel.
    pub scale: f64,
    /// Fills blocks of one colour, where the surface has a quicker way than a call of its backend for each: a canvas
    /// reads the text of a colour once.
    pub fills: Option<&'a Fill<'a>>,
    /// Writes labels of one colour and height, where the surface has a quicker way than a call of its backend for each:
    /// a canvas reads the text of a font once.
    pub writes: Option<&'a Write<'a>>,
}

impl TimelinePicture<'_> {
    /// Paints everything.
    ///
    /// # Errors
    /// Errors of the drawing backend.
    pub fn paint<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        match &self.frame {
            None => self.paint_gaps(backend)?,
            Some(frame) => self.paint_frame(frame, backend)?,
        }
        self.paint_arrivals(backend)?;
        self.paint_blocks(backend)?;
        for cell in self.cells {
            self.paint_inside(cell, backend)?;
        }
        self.paint_labels(backend)?;
        self.paint_axis(backend)?;
        self.paint_curve(backend)
    }

    fn px(&self, css: f64) -> i32 {
        px(css, self.scale)
    }
    /// Device pixels from the left, behind the names.
    fn across(&self, css: f64) -> i32 {
        self.px(css + self.frame.map_or(0.0, |_| NAMES))
    }
    /// Device pixels from the top, below the title.
    fn down(&self, css: f64) -> i32 {
        self.px(css + self.frame.map_or(0.0, |_| TITLE))
    }

    fn colour(kind: OpKind, palette: &Palette) -> Rgb {
        match kind {
            OpKind::F => palette.forward,
            OpKind::B | OpKind::BW => palette.backward,
            OpKind::W => palette.weight,
        }
    }

    /// Paper between the rows: what is left uncovered inside a row shows the hatch of a bubble behind the canvas.
    fn paint_gaps<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        let paper = ink(self.palette.paper);
        let width = self.px(self.width);
        for row in 0..self.shape.count {
            let top = row as f64 * self.shape.rows.pitch + self.shape.rows.height;
            let bottom = (row + 1) as f64 * self.shape.rows.pitch;
            let corners = ((0, self.px(top)), (width, self.px(bottom)));
            backend.draw_rect(corners.0, corners.1, &paper, true)?;
        }
        Ok(())
    }

    /// Paper, title, names and a hatch behind the rows.
    fn paint_frame<DB: DrawingBackend>(&self, frame: &PictureFrame, backend: &mut DB) -> Painted<DB> {
        let (right, bottom) = (self.width, self.shape.height());
        let corner = (self.across(right), self.down(bottom));
        backend.draw_rect((0, 0), corner, &ink(self.palette.paper), true)?;
        let title = text_style(13.0 * self.scale, self.palette.text, HPos::Left, VPos::Top);
        backend.draw_text(frame.title, &title, (self.px(8.0), self.px(7.0)))?;
        let name = text_style(11.0 * self.scale, self.palette.muted, HPos::Left, VPos::Center);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few
        let every = (13.0 / self.shape.rows.pitch).ceil().max(1.0) as usize;
        for row in 0..self.shape.count {
            let rank = self.shape.ranks.rank(row);
            if row.is_multiple_of(every) {
                let at = (self.px(8.0), self.down(self.shape.middle(rank)));
                backend.draw_text(&format!("rank {rank}"), &name, at)?;
            }
            self.paint_hatch(row, frame.end, backend)?;
        }
        let foot = self.shape.rows_height() + self.shape.axis + self.shape.curve / 2.0;
        let foot = self.down(foot);
        let words = format!("GiB, rank {}", frame.rank);
        backend.draw_text(&words, &name, (self.px(8.0), foot))
    }

    /// The 45 degree lines of a bubble over a row.
    fn paint_hatch<DB: DrawingBackend>(&self, row: usize, end: f64, backend: &mut DB) -> Painted<DB> {
        let line = ink(self.palette.line);
        let top = row as f64 * self.shape.rows.pitch;
        let height = self.shape.rows.height;
        let mut foot = 0.0;
        while foot < end + height {
            // Up to the right, y = top + foot - x, cut off at both sides.
            let (left, right) = ((foot - height).max(0.0), foot.min(end));
            let (low, high) = (top + foot - left, top + foot - right);
            backend.draw_line((self.across(left), self.down(low)), (self.across(right), self.down(high)), &line)?;
            foot += HATCH;
        }
        Ok(())
    }

    /// The messages between ranks: thin bars in the middle of their rows, over the hatch of idle time.
    fn paint_arrivals<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        let height = self.px(self.shape.rows.height);
        let thin = px(ARRIVAL, f64::from(height)).max(2).min(height);
        let place = |arrival: &Arrival| {
            let left = self.across(arrival.x);
            let right = self.across(arrival.x + arrival.width).max(left + 1);
            (left, right, self.down(arrival.row as f64 * self.shape.rows.pitch) + (height - thin) / 2)
        };
        if let Some(fills) = self.fills {
            let corners = self.arrivals.iter().map(place).map(|(left, right, top)| [left, top, right, top + thin]);
            fills(self.palette.exposed, &corners.collect::<Vec<Corners>>());
            return Ok(());
        }
        for (left, right, top) in self.arrivals.iter().map(place) {
            backend.draw_rect((left, top), (right, top + thin), &ink(self.palette.exposed), true)?;
        }
        Ok(())
    }

    /// All cells without what is inside them: forward passes, then what may take their last pixel, and of each kind
    /// those of one colour together.
    fn paint_blocks<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        let block = |cell: &Cell| {
            let after = match cell.kind {
                OpKind::F => 0u8,
                OpKind::B | OpKind::BW => 1,
                OpKind::W => 2,
            };
            (after, self.shade(cell), self.corners(cell))
        };
        let mut blocks: Vec<_> = self.cells.iter().map(block).collect();
        blocks.sort_by_key(|(after, colour, _)| (*after, *colour));
        let mut same: Vec<Corners> = Vec::new();
        for alike in blocks.chunk_by(|a, b| a.1 == b.1) {
            let colour = alike[0].1;
            if let Some(fills) = self.fills {
                same.clear();
                same.extend(alike.iter().map(|(_, _, corners)| corners));
                fills(colour, &same);
                continue;
            }
            for (_, _, [left, upper, right, lower]) in alike {
                backend.draw_rect((*left, *upper), (*right, *lower), &ink(colour), true)?;
            }
        }
        Ok(())
    }

    /// The version of the weights that an op of a cell meets.
    fn version(&self, cell: &Cell) -> Option<i32> {
        cell.op.and_then(|timed| (self.version_of)(cell.row, timed.op.microbatch))
    }

    /// Colour of a cell.
    fn shade(&self, cell: &Cell) -> Rgb {
        let mut colour = Self::colour(cell.kind, &self.palette);
        if let Some(timed) = cell.op {
            // Neighbouring versions of the weights differ as chunks do: no schedule has both.
            let paper = match self.version(cell) {
                Some(version) => 0.25 * f64::from(version.max(0) % 3),
                None => (self.paper_of)(cell.row, timed.op.stage),
            };
            colour = blend(colour, self.palette.paper, paper);
        }
        colour
    }

    /// Place of a cell.
    fn corners(&self, cell: &Cell) -> Corners {
        let top = self.down(cell.row as f64 * self.shape.rows.pitch);
        // A hairline of background separates neighbours where they are wide enough.
        let gap = if cell.width >= 4.0 && cell.op.is_some() { 1.0 } else { 0.0 };
        let left = self.across(cell.x);
        let right = self.across(cell.x + cell.width - gap).max(left + 1);
        let (from, to) = whole(cell.band, cell.kind, self.px(self.shape.rows.height));
        [left, top + from, right, top + to]
    }

    /// The messages inside an op.
    fn paint_inside<DB: DrawingBackend>(&self, cell: &Cell, backend: &mut DB) -> Painted<DB> {
        let Some(timed) = cell.op.filter(|_| cell.width >= STRIP_WIDTH && self.filled_height(cell) >= STRIP_HEIGHT)
        else {
            return Ok(());
        };
        let [left, _, right, lower] = self.corners(cell);
        match messages_of(self.messages, &timed) {
            Some(messages) => self.paint_messages((left, right), lower, messages, backend),
            None => Ok(()),
        }
    }

    /// CSS pixels that a cell fills of its row's height.
    fn filled_height(&self, cell: &Cell) -> f64 {
        (cell.band.1 - cell.band.0) * self.shape.rows.height
    }

    /// The numbers inside ops, those of one colour and height together.
    fn paint_labels<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        let mut labels: Vec<BlockLabel> = self.cells.iter().filter_map(|cell| self.label(cell)).collect();
        labels.sort_by(|a, b| a.colour.cmp(&b.colour).then(a.font.total_cmp(&b.font)));
        for alike in labels.chunk_by(|a, b| a.colour == b.colour && a.font.total_cmp(&b.font).is_eq()) {
            if let Some(writes) = self.writes {
                writes(alike);
                continue;
            }
            let text = text_style(alike[0].font, alike[0].colour, HPos::Center, VPos::Center);
            for label in alike {
                backend.draw_text(&label.words, &text, label.middle)?;
            }
        }
        Ok(())
    }

    /// The number inside an op that has the room.
    fn label(&self, cell: &Cell) -> Option<BlockLabel> {
        let height = self.filled_height(cell);
        let timed = cell.op.filter(|_| cell.width >= LABEL_WIDTH && height >= LABEL_HEIGHT)?;
        let number = timed.op.microbatch.to_string();
        // Not the number alone where blocks beside it show their version.
        let labels = match self.version(cell) {
            Some(version) => {
                let version = format!("v{version}").replace('-', "−");
                vec![format!("{number}·{version}"), version]
            }
            None => vec![number],
        };
        let fits = |label: &String| label.chars().count() as f64 * 6.5 <= cell.width - 4.0;
        let [left, upper, right, lower] = self.corners(cell);
        Some(BlockLabel {
            words: labels.into_iter().find(fits)?,
            middle: (i32::midpoint(left, right), i32::midpoint(upper, lower)),
            colour: ink_on(self.shade(cell)),
            font: 11.0f64.min(height - 2.0) * self.scale,
        })
    }

    /// At the foot of a block the messages inside it: what it waits for at its end, what it hides before that.
    fn paint_messages<DB: DrawingBackend>(
        &self,
        (left, right): (i32, i32),
        foot: i32,
        messages: PassMessages,
        backend: &mut DB,
    ) -> Painted<DB> {
        let top = foot - self.px(STRIP).max(2);
        // What there is has a pixel at least.
        let wide = |share: f64| if share > 0.0 { px(share, f64::from(right - left)).max(1) } else { 0 };
        let exposed = right - wide(messages.exposed);
        let hidden = (exposed - wide(messages.hidden)).max(left);
        let light = blend(self.palette.exposed, self.palette.paper, 0.55);
        // A hairline of paper keeps both apart from the block.
        let paper = ink(self.palette.paper);
        if hidden < right {
            backend.draw_rect((hidden, top - 1), (right, top), &paper, true)?;
        }
        if hidden < exposed {
            backend.draw_rect((hidden, top), (exposed, foot), &ink(light), true)?;
        }
        if exposed < right {
            backend.draw_rect((exposed, top), (right, foot), &ink(self.palette.exposed), true)?;
        }
        Ok(())
    }

    fn paint_axis<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        let top = self.shape.count as f64 * self.shape.rows.pitch;
        let (y, left, width) = (self.down(top), self.across(0.0), self.across(self.width));
        let paper = ink(self.palette.paper);
        let foot = self.down(top + self.shape.axis + self.shape.curve);
        backend.draw_rect((left, y), (width, foot), &paper, true)?;
        let line = ink(self.palette.line);
        backend.draw_line((left, y), (width, y), &line)?;
        if self.shape.shares_axis() {
            return Ok(());
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few
        let most = (self.width / 90.0).max(3.0) as usize;
        for (tick, label) in tick_times(self.view.start, self.view.end, most) {
            let at = self.view.x(tick, self.width);
            let x = self.across(at);
            backend.draw_line((x, y), (x, self.down(top + 4.0)), &line)?;
            let side = label_side(at, self.width);
            let text = text_style(11.0 * self.scale, self.palette.muted, side, VPos::Top);
            backend.draw_text(&label, &text, (x, self.down(top + self.shape.axis - 14.0)))?;
        }
        Ok(())
    }

    fn paint_curve<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        if self.shape.curve == 0.0 {
            return Ok(());
        }
        let levels = self.curve.iter().map(|(_, held)| *held);
        let peak = levels.max().unwrap_or(0).max(self.capacity).max(self.most);
        let peak = peak.max(1);
        let bottom = self.shape.rows_height() + self.shape.axis + self.shape.curve - 2.0;
        let height = self.shape.curve - 10.0;
        let y = |held: u32| self.down(bottom - f64::from(held) / f64::from(peak) * height);
        let line = ink(self.palette.line);
        let ends = ((self.across(0.0), y(0)), (self.across(self.width), y(0)));
        backend.draw_line(ends.0, ends.1, &line)?;
        let points: Vec<_> =
            steps(self.curve, self.view, self.width).into_iter().map(|(x, held)| (self.across(x), y(held))).collect();
        if let (Some(first), Some(last)) = (points.first(), points.last()) {
            let foot = [(last.0, y(0)), (first.0, y(0))];
            let area = blend(self.palette.activations, self.palette.paper, 0.85);
            backend.fill_polygon(points.iter().copied().chain(foot), &ink(area))?;
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few pixels
        let stroke = ShapeStyle {
            filled: false,
            stroke_width: (1.5 * self.scale).round() as u32,
            ..fill(self.palette.activations)
        };
        backend.draw_path(points, &stroke)?;
        if self.capacity == 0 {
            return Ok(());
        }
        let (left, right, top) = (self.across(0.0), self.across(self.width), y(self.capacity));
        backend.draw_line((left, top), (right, top), &ink(self.palette.text))
    }
}

/// The messages inside an op.
pub fn messages_of(stages: &[StageMessages], timed: &TimedOp) -> Option<PassMessages> {
    let stage = stages.get(timed.op.stage as usize)?;
    Some(match (timed.half, timed.op.kind) {
        (_, OpKind::W) => return None,
        (Half::First | Half::Second, _) => stage.pair,
        (Half::Whole, OpKind::F) => stage.forward,
        (Half::Whole, OpKind::B) => stage.input,
        (Half::Whole, OpKind::BW) => stage.backward,
    })
}

/// The device pixels that a band of a row fills, where rows are `height` pixels high: at least one, and never the
/// topmost pixels that the bands above it keep.
fn whole((from, to): (f64, f64), kind: OpKind, height: i32) -> (i32, i32) {
    let above = match kind {
        OpKind::W if height > 2 => 2,
        _ => 1,
    };
    let last = (height - 1).max(0);
    let upper = if from <= 0.0 { 0 } else { px(from, f64::from(height)).max(above).min(last) };
    (upper, px(to, f64::from(height)).clamp(upper + 1, last + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::lod::Sums;
    use crate::charts::shape::DrawnRanks;
    use crate::charts::timeline::cells;
    use crate::palette::Theme;
    use shardscope_core::report::{evaluate, stage_messages};
    use shardscope_core::run::Run;
    use shardscope_core::traffic::Traffic;

    /// The picture of `cells` without names, curve and versions.
    fn plain(cells: &[Cell], shape: Shape, view: Viewport, width: f64, scale: f64) -> TimelinePicture<'_> {
        TimelinePicture {
            cells,
            shape,
            frame: None,
            view,
            width,
            paper_of: &|_, _| 0.0,
            curve: &[],
            capacity: 0,
            most: 0,
            version_of: &|_, _| None,
            messages: &[],
            arrivals: &[],
            palette: Theme::Light.palette(),
            scale,
            fills: None,
            writes: None,
        }
    }

    /// Filled rectangles of an SVG of `colour`: upper edge and height.
    fn rects(svg: &str, (r, g, b): Rgb) -> Vec<(i32, i32)> {
        let colour = format!("fill=\"#{r:02X}{g:02X}{b:02X}\"");
        let number = |tag: &str, name: &str| {
            let value = tag.split(&format!(" {name}=\"")).nth(1)?;
            value.split('"').next()?.parse::<i32>().ok()
        };
        svg.split("<rect")
            .filter(|tag| tag.contains(&colour))
            .filter_map(|tag| Some((number(tag, "y")?, number(tag, "height")?)))
            .collect()
    }

    /// Whatever the height of a row, a column that holds forwards and backwards shows both, the same on every rank.
    #[test]
    fn a_column_of_forwards_and_backwards_shows_both_on_every_rank() {
        let view = Viewport::all(1.0);
        for (ranks, scale) in [(16, 1.0), (64, 1.0), (64, 1.5), (100, 1.0), (128, 2.0)] {
            let shape = Shape::of(ranks, 0);
            let column = |row| {
                [(OpKind::F, (0.0, 0.25)), (OpKind::BW, (0.25, 1.0))].map(|(kind, band)| Cell {
                    row,
                    x: 0.0,
                    width: 90.0,
                    band,
                    kind,
                    op: None,
                })
            };
            let cells: Vec<Cell> = (0..ranks).flat_map(column).collect();
            let mut svg = String::new();
            {
                let mut backend = SVGBackend::with_string(&mut svg, (400, 2000));
                plain(&cells, shape, view, 100.0, scale).paint(&mut backend).unwrap();
                backend.present().unwrap();
            }
            let palette = Theme::Light.palette();
            let (forward, backward) = (rects(&svg, palette.forward), rects(&svg, palette.backward));
            assert_eq!((forward.len(), backward.len()), (ranks, ranks));
            for (f, b) in forward.iter().zip(&backward) {
                assert!(f.1 >= 1 && b.1 >= 1, "{ranks} ranks: {f:?} {b:?}");
                assert!(f.0 + f.1 <= b.0, "{ranks} ranks: {f:?} under {b:?}");
                assert_eq!((f.1, b.1), (forward[0].1, backward[0].1));
            }
        }
    }

    /// Three quarters of the column are idle: its forwards have their own colour in the upper quarter of the row.
    #[test]
    fn idle_time_of_a_column_is_left_open() {
        let shape = Shape::of(1, 0);
        let cells = [Cell { row: 0, x: 0.0, width: 90.0, band: (0.0, 0.25), kind: OpKind::F, op: None }];
        let mut svg = String::new();
        {
            let mut backend = SVGBackend::with_string(&mut svg, (400, 200));
            plain(&cells, shape, Viewport::all(1.0), 100.0, 1.0).paint_blocks(&mut backend).unwrap();
            backend.present().unwrap();
        }
        assert_eq!(rects(&svg, Theme::Light.palette().forward), [(0, px(shape.rows.height * 0.25, 1.0))]);
    }

    /// Each block of the default run ends with what it waits for of its tensor-parallel messages.
    #[test]
    fn blocks_end_with_the_messages_that_are_chosen() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let sums = Sums::of(evaluation.timeline());
        let view = Viewport::all(evaluation.timeline().makespan());
        let cells = cells(&sums.rows(evaluation.timeline(), DrawnRanks::all()), view, 2000.0);
        let messages = stage_messages(&evaluation, Traffic::Tp);
        let count = |messages: &[StageMessages]| {
            let mut svg = String::new();
            {
                let mut backend = SVGBackend::with_string(&mut svg, (2000, 220));
                let picture = plain(&cells, Shape::of(4, 0), view, 2000.0, 1.0);
                TimelinePicture { messages, ..picture }.paint(&mut backend).unwrap();
                backend.present().unwrap();
            }
            rects(&svg, Theme::Light.palette().exposed).len()
        };
        assert_eq!(count(&[]), 0);
        assert!(messages.iter().all(|stage| stage.forward.exposed > 0.0), "{messages:?}");
        // A forward and a backward of each of 32 micro-batches on each of 4 ranks, where they are a pixel wide.
        let drawn = count(&messages);
        assert!((100..=256).contains(&drawn), "{drawn}");
    }

    #[test]
    fn an_svg_of_the_default_run_has_a_rectangle_for_every_op() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let sums = Sums::of(evaluation.timeline());
        let view = Viewport::all(evaluation.timeline().makespan());
        let cells = cells(&sums.rows(evaluation.timeline(), DrawnRanks::all()), view, 2000.0);
        let mut svg = String::new();
        {
            let mut backend = SVGBackend::with_string(&mut svg, (2000, 220));
            plain(&cells, Shape::of(4, 0), view, 2000.0, 1.0).paint(&mut backend).unwrap();
            backend.present().unwrap();
        }
        let forwards = svg.matches("#0C3E81").count();
        assert_eq!(forwards, 4 * 32);
        assert!(svg.contains(">31<") || svg.contains("\n31\n"), "micro-batch numbers are written");
    }
}
