//! The timeline's cells, time axis and in-flight curve.
//!
//! Backends count whole device pixels and know no scale factor: the caller sizes the surface in device pixels and says
//! how many of them make a CSS pixel.

use crate::pipeline::{Half, Kind};
use crate::scene::palette::{Palette, Rgb, blend, ink_on};
use crate::scene::ticks::ticks;
use crate::scene::timeline::Cell;
use crate::scene::viewport::Viewport;
use crate::units::{Seconds, show_seconds};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{BackendColor, BackendStyle, DrawingBackend, DrawingErrorKind};

/// Height of the axis with its numbers, CSS pixels.
pub const AXIS: f64 = 22.0;
/// Height of the in-flight curve below it.
pub const CURVE: f64 = 56.0;
/// A cell is labelled from this width on.
const LABEL_WIDTH: f64 = 16.0;
/// A row is labelled from this height on.
const LABEL_HEIGHT: f64 = 13.0;

/// Rows and their spacing, CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rows {
    /// Distance from one row's top to the next.
    pub pitch: f64,
    /// Height of a row.
    pub height: f64,
}

impl Rows {
    /// Rows for `count` ranks: 28 px where there is room, thinner where there are many.
    #[must_use]
    pub fn fitting(count: usize) -> Self {
        let pitch = (480.0 / count.max(1) as f64).clamp(4.0, 34.0);
        let gap = if pitch > 16.0 { 6.0 } else { pitch * 0.2 };
        Self {
            pitch,
            height: pitch - gap,
        }
    }
    /// The row at `y`, and whether in its upper half.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // y is on the picture
    pub fn at(self, y: f64) -> (usize, bool) {
        let row = (y.max(0.0) / self.pitch).floor();
        (row as usize, y - row * self.pitch < self.height / 2.0)
    }
}

/// A picture to paint.
pub struct TimelinePicture<'a> {
    /// What is visible.
    pub cells: &'a [Cell],
    /// Rows.
    pub rows: Rows,
    /// How many rows.
    pub count: usize,
    /// The time axis.
    pub view: Viewport,
    /// Size in CSS pixels: width of the picture.
    pub width: f64,
    /// Chunk of a rank that a stage is: lighter the later.
    pub chunk_of: &'a dyn Fn(usize, u32) -> usize,
    /// In-flight activations of the chosen rank over time.
    pub curve: &'a [(f64, u32)],
    /// Colours.
    pub palette: Palette,
    /// Device pixels a CSS pixel.
    pub scale: f64,
}

type Painted<DB> = Result<(), DrawingErrorKind<<DB as DrawingBackend>::ErrorType>>;

impl TimelinePicture<'_> {
    /// Paints everything.
    ///
    /// # Errors
    /// Whatever the backend says.
    pub fn paint<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        self.paint_gaps(backend)?;
        for cell in self.cells {
            self.paint_cell(cell, backend)?;
        }
        self.paint_axis(backend)?;
        self.paint_curve(backend)
    }

    #[allow(clippy::cast_possible_truncation)] // pixels fit an i32
    fn px(&self, css: f64) -> i32 {
        (css * self.scale).round() as i32
    }

    fn colour(kind: Kind, palette: &Palette) -> Rgb {
        match kind {
            Kind::F => palette.forward,
            Kind::B | Kind::BW => palette.backward,
            Kind::W => palette.weight,
        }
    }

    /// Paper between the rows: what is left uncovered inside a row shows the hatch of a bubble behind the canvas.
    fn paint_gaps<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        let paper = style(self.palette.paper);
        let width = self.px(self.width);
        for row in 0..self.count {
            let top = row as f64 * self.rows.pitch + self.rows.height;
            let bottom = (row + 1) as f64 * self.rows.pitch;
            let corners = ((0, self.px(top)), (width, self.px(bottom)));
            backend.draw_rect(corners.0, corners.1, &paper, true)?;
        }
        Ok(())
    }

    fn paint_cell<DB: DrawingBackend>(&self, cell: &Cell, backend: &mut DB) -> Painted<DB> {
        let top = cell.row as f64 * self.rows.pitch;
        let (from, to) = match cell.half {
            Half::Whole => (0.0, self.rows.height),
            Half::First => (0.0, self.rows.height / 2.0),
            Half::Second => (self.rows.height / 2.0, self.rows.height),
        };
        // A hairline of paper keeps neighbours apart where there is room for one.
        let gap = if cell.width >= 4.0 { 1.0 } else { 0.0 };
        let mut colour = Self::colour(cell.kind, &self.palette);
        if let Some(timed) = cell.op {
            let chunk = (self.chunk_of)(cell.row, timed.op.stage).min(3);
            colour = blend(colour, self.palette.paper, 0.25 * chunk as f64);
        }
        let left = self.px(cell.x);
        let right = self.px(cell.x + cell.width - gap).max(left + 1);
        let (upper, lower) = (self.px(top + from), self.px(top + to));
        backend.draw_rect((left, upper), (right, lower), &style(colour), true)?;
        let height = to - from;
        if let Some(timed) = cell.op
            && cell.width >= LABEL_WIDTH
            && height >= LABEL_HEIGHT
        {
            let label = timed.op.microbatch.to_string();
            let font = 11.0f64.min(height - 2.0) * self.scale;
            if label.len() as f64 * 6.5 <= cell.width - 4.0 {
                let middle = (i32::midpoint(left, right), i32::midpoint(upper, lower));
                let text = text_style(font, ink_on(colour), HPos::Center, VPos::Center);
                backend.draw_text(&label, &text, middle)?;
            }
        }
        Ok(())
    }

    fn paint_axis<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        let top = self.count as f64 * self.rows.pitch;
        let (y, width) = (self.px(top), self.px(self.width));
        let paper = style(self.palette.paper);
        backend.draw_rect((0, y), (width, self.px(top + AXIS + CURVE)), &paper, true)?;
        let line = style(self.palette.line);
        backend.draw_line((0, y), (width, y), &line)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let most = (self.width / 90.0).max(2.0) as usize;
        for tick in ticks(self.view.start, self.view.end, most) {
            let at = self.view.x(tick, self.width);
            let x = self.px(at);
            backend.draw_line((x, y), (x, self.px(top + 4.0)), &line)?;
            let side = if at < 24.0 {
                HPos::Left
            } else if at > self.width - 24.0 {
                HPos::Right
            } else {
                HPos::Center
            };
            let label = if tick == 0.0 {
                "0".to_owned()
            } else {
                show_seconds(Seconds(tick))
            };
            let text = text_style(11.0 * self.scale, self.palette.muted, side, VPos::Top);
            backend.draw_text(&label, &text, (x, self.px(top + 7.0)))?;
        }
        Ok(())
    }

    fn paint_curve<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        let peak = self
            .curve
            .iter()
            .map(|(_, held)| *held)
            .max()
            .unwrap_or(0)
            .max(1);
        let bottom = self.count as f64 * self.rows.pitch + AXIS + CURVE - 2.0;
        let height = CURVE - 10.0;
        let y = |held: u32| self.px(bottom - f64::from(held) / f64::from(peak) * height);
        let line = style(self.palette.line);
        backend.draw_line((0, y(0)), (self.px(self.width), y(0)), &line)?;
        let mut points = Vec::new();
        let mut before = 0;
        let from = self
            .curve
            .partition_point(|(time, _)| *time < self.view.start);
        if from > 0 {
            before = self.curve[from - 1].1;
        }
        points.push((0, y(before)));
        for (time, held) in &self.curve[from..] {
            if *time > self.view.end {
                break;
            }
            let x = self.px(self.view.x(*time, self.width));
            // Steps closer than a pixel share one vertical stroke.
            if points.last().is_none_or(|(last, _)| *last != x) {
                points.push((x, y(before)));
            }
            points.push((x, y(*held)));
            before = *held;
        }
        points.push((self.px(self.width), y(before)));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let stroke = ShapeStyle {
            color: rgb(self.palette.activations).to_rgba(),
            filled: false,
            stroke_width: (1.5 * self.scale).round() as u32,
        };
        backend.draw_path(points, &stroke)
    }
}

fn rgb((r, g, b): Rgb) -> RGBColor {
    RGBColor(r, g, b)
}

fn style(colour: Rgb) -> BackendColorStyle {
    BackendColorStyle(BackendColor {
        alpha: 1.0,
        rgb: colour,
    })
}

/// A plain colour as a backend style, one device pixel wide.
struct BackendColorStyle(BackendColor);

impl BackendStyle for BackendColorStyle {
    fn color(&self) -> BackendColor {
        self.0
    }
}

fn text_style(size: f64, colour: Rgb, h: HPos, v: VPos) -> TextStyle<'static> {
    TextStyle {
        font: FontDesc::new(
            FontFamily::Name("system-ui, sans-serif"),
            size,
            FontStyle::Normal,
        ),
        color: BackendColor {
            alpha: 1.0,
            rgb: colour,
        },
        pos: Pos::new(h, v),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::run::Run;
    use crate::scene::palette::Theme;
    use crate::scene::timeline::cells;

    #[test]
    fn an_svg_of_the_default_run_has_a_rectangle_for_every_op() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let ranks = &evaluation.timeline.ranks;
        let rows: Vec<_> = ranks.iter().map(Vec::as_slice).collect();
        let view = Viewport::all(evaluation.timeline.makespan());
        let cells = cells(&rows, view, 2000.0);
        let mut svg = String::new();
        {
            let mut backend = SVGBackend::with_string(&mut svg, (2000, 220));
            TimelinePicture {
                cells: &cells,
                rows: Rows::fitting(4),
                count: 4,
                view,
                width: 2000.0,
                chunk_of: &|_, _| 0,
                curve: &[(0.0, 1), (1.0, 0)],
                palette: Theme::Light.palette(),
                scale: 1.0,
            }
            .paint(&mut backend)
            .unwrap();
            backend.present().unwrap();
        }
        let forwards = svg.matches("#0C3E81").count();
        assert_eq!(forwards, 4 * 32);
        assert!(
            svg.contains(">31<") || svg.contains("\n31\n"),
            "micro-batch numbers are written"
        );
    }
}
