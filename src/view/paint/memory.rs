//! Paints the memory over one step: stacked areas by component, a line at the capacity and a mark at the peak.
//!
//! Sizes are in CSS pixels; `scale` of the picture converts them to device pixels.

use super::{Painted, fill, ink, label_side, px, text_style};
use crate::charts::ticks::{tick_times, ticks};
use crate::palette::{Palette, Rgb};
use crate::panels::over_time::Areas;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::DrawingBackend;
use shardscope_core::units::{Bytes, GIB, MemoryUnit, Seconds, group};

/// Height of the areas, CSS pixels.
pub(crate) const AREA: f64 = 168.0;
/// Height of the time axis below them.
pub const AXIS: f64 = 22.0;
/// Width of the numbers of the scale, left of the areas, CSS pixels.
pub(crate) const GUTTER: f64 = 44.0;

/// A picture to paint.
pub(crate) struct AreaPicture<'a> {
    /// The areas, one column for each CSS pixel of width.
    pub areas: &'a Areas,
    /// Time at the end of the time axis.
    pub makespan: Seconds,
    /// GiB or GB on the scale.
    pub unit: MemoryUnit,
    pub palette: Palette,
    /// Device pixels a CSS pixel.
    pub scale: f64,
}

impl AreaPicture<'_> {
    /// Paints everything.
    ///
    /// # Errors
    /// Errors of the drawing backend.
    pub fn paint<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        self.paint_scale(backend)?;
        self.paint_areas(backend)?;
        self.paint_capacity(backend)?;
        self.paint_peak(backend)?;
        self.paint_axis(backend)
    }

    fn px(&self, css: f64) -> i32 {
        px(css, self.scale)
    }

    fn y(&self, share: f64) -> i32 {
        self.px(AREA * (1.0 - share))
    }

    fn width(&self) -> f64 {
        self.areas.columns.len() as f64
    }

    fn paint_scale<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        let bytes_of_unit = match self.unit {
            MemoryUnit::Gib => GIB,
            MemoryUnit::Gb => 1e9,
        };
        let right = self.px(GUTTER + self.width());
        for tick in ticks(0.0, self.areas.scale.0 / bytes_of_unit, 6) {
            let y = self.y(Bytes(tick * bytes_of_unit) / self.areas.scale);
            let line = ink(self.palette.line);
            backend.draw_line((self.px(GUTTER), y), (right, y), &line)?;
            let text = self.text(HPos::Right, VPos::Center);
            // The unit is written in the place of the highest number.
            if y < self.px(20.0) {
                continue;
            }
            let label = if tick == 0.0 { "0".to_owned() } else { group(&format!("{}", (tick * 1e3).round() / 1e3)) };
            let y = y.min(self.px(AREA - 5.0));
            backend.draw_text(&label, &text, (self.px(GUTTER - 6.0), y))?;
        }
        let text = self.text(HPos::Right, VPos::Center);
        let place = (self.px(GUTTER - 6.0), self.px(7.0));
        backend.draw_text(self.unit.name(), &text, place)
    }

    fn paint_areas<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        for (component, colour) in self.palette.components().into_iter().enumerate() {
            let top = |tops: &[f64; 6]| tops[component];
            let bottom = |tops: &[f64; 6]| component.checked_sub(1).map_or(0.0, |under| tops[under]);
            let columns = &self.areas.columns;
            if columns.iter().all(|tops| top(tops) - bottom(tops) <= 0.0) {
                continue;
            }
            let mut outline = self.edge(&top);
            outline.extend(self.edge(&bottom).into_iter().rev());
            backend.fill_polygon(outline, &fill(colour))?;
        }
        Ok(())
    }

    /// A stepped line at the `height` of each column; neighbours of one height give one segment.
    fn edge(&self, height: &dyn Fn(&[f64; 6]) -> f64) -> Vec<(i32, i32)> {
        let mut line: Vec<(i32, i32)> = Vec::new();
        for (column, tops) in self.areas.columns.iter().enumerate() {
            let (x, y) = (self.px(GUTTER + column as f64), self.y(height(tops)));
            match line.last() {
                Some(last) if last.1 == y => {}
                Some(last) => {
                    let before = (x, last.1);
                    line.extend([before, (x, y)]);
                }
                None => line.push((x, y)),
            }
        }
        if let Some(last) = line.last().copied() {
            line.push((self.px(GUTTER + self.width()), last.1));
        }
        line
    }

    fn paint_capacity<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        let y = self.y(self.areas.capacity);
        let right = self.px(GUTTER + self.width());
        backend.draw_line((self.px(GUTTER), y), (right, y), &self.stroke(self.palette.text, 2.0))?;
        let text = TextStyle { color: ink(self.palette.text), ..self.text(HPos::Right, VPos::Bottom) };
        // A sign instead of a word, since painted texts are not translated.
        let words = format!("≤ {}", self.unit.show(self.areas.scale * self.areas.capacity));
        backend.draw_text(&words, &text, (right - self.px(2.0), y - self.px(2.0)))
    }

    /// A thin line and a triangle at the peak.
    fn paint_peak<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        let x = self.px(GUTTER + self.areas.peak * self.width());
        let line = self.stroke(self.palette.text, 1.0);
        backend.draw_line((x, self.y(self.areas.top)), (x, self.px(AREA + 6.0)), &line)?;
        let corner = self.px(4.0);
        let y = self.y(self.areas.top);
        let mark = vec![(x - corner, y - self.px(7.0)), (x + corner, y - self.px(7.0)), (x, y)];
        backend.fill_polygon(mark, &fill(self.palette.text))
    }

    fn paint_axis<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        let (y, left) = (self.px(AREA), self.px(GUTTER));
        let right = self.px(GUTTER + self.width());
        backend.draw_line((left, y), (right, y), &ink(self.palette.line))?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few
        let most = (self.width() / 90.0).max(3.0) as usize;
        for (tick, label) in tick_times(0.0, self.makespan.0, most) {
            let at = tick / self.makespan.0 * self.width();
            let x = self.px(GUTTER + at);
            backend.draw_line((x, y), (x, self.px(AREA + 4.0)), &ink(self.palette.line))?;
            let side = label_side(at, self.width());
            backend.draw_text(&label, &self.text(side, VPos::Top), (x, self.px(AREA + 7.0)))?;
        }
        Ok(())
    }

    fn text(&self, h: HPos, v: VPos) -> TextStyle<'static> {
        text_style(11.0 * self.scale, self.palette.muted, h, v)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few pixels
    fn stroke(&self, colour: Rgb, css: f64) -> ShapeStyle {
        ShapeStyle { stroke_width: (css * self.scale).round() as u32, ..fill(colour) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette::Theme;
    use crate::panels::over_time::areas;
    use shardscope_core::report::{evaluate, over_time::over_time};
    use shardscope_core::run::Run;

    #[test]
    fn an_svg_of_the_default_run_has_an_area_for_every_component() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let curve = over_time(&evaluation, 3).unwrap();
        let picture = areas(&curve, evaluation.report.memory.capacity_bytes, 700);
        let palette = Theme::Light.palette();
        let mut svg = String::new();
        {
            let mut backend = SVGBackend::with_string(&mut svg, (760, 200));
            AreaPicture { areas: &picture, makespan: curve.makespan, unit: MemoryUnit::Gib, palette, scale: 1.0 }
                .paint(&mut backend)
                .unwrap();
            backend.present().unwrap();
        }
        for (r, g, b) in palette.components() {
            let colour = format!("<polygon opacity=\"1\" fill=\"#{r:02X}{g:02X}{b:02X}\"");
            assert_eq!(svg.matches(&colour).count(), 1, "{colour}");
        }
        assert!(svg.contains("GiB") && !svg.contains("NaN"));
    }
}
