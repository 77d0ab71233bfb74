//! The scatter of predicted over measured.

use crate::scene::palette::{Palette, Rgb};
use crate::scene::scatter::Scatter;
use crate::units::significant;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{BackendColor, DrawingBackend, DrawingErrorKind};

/// Room for the numbers left of the picture and below it, CSS pixels.
const LEFT: f64 = 36.0;
const BELOW: f64 = 20.0;
/// Half the side of a mark.
const MARK: f64 = 2.5;

/// A picture to paint.
pub struct ScatterPicture<'a> {
    /// The points and axes.
    pub scatter: &'a Scatter,
    /// Width and height, CSS pixels.
    pub size: (f64, f64),
    /// What the measured axis is in: "s".
    pub unit: &'a str,
    /// Colours.
    pub palette: Palette,
    /// Device pixels a CSS pixel.
    pub scale: f64,
}

type Painted<DB> = Result<(), DrawingErrorKind<<DB as DrawingBackend>::ErrorType>>;

fn style(rgb: Rgb, alpha: f64) -> BackendColor {
    BackendColor { alpha, rgb }
}

impl ScatterPicture<'_> {
    /// Paints everything. The first series is round, the second square, the third a cross.
    ///
    /// # Errors
    /// Whatever the backend says.
    pub fn paint<DB: DrawingBackend>(&self, backend: &mut DB) -> Painted<DB> {
        let (width, height) = self.size;
        let x = |share: f64| self.px(LEFT + share * (width - LEFT - 8.0));
        let y = |share: f64| self.px(6.0 + share * (height - BELOW - 12.0));
        for (ratio, at) in &self.scatter.up {
            let middle = (ratio - 1.0).abs() < 1e-9;
            let colour = if middle {
                self.palette.text
            } else {
                self.palette.line
            };
            backend.draw_line((x(0.0), y(*at)), (x(1.0), y(*at)), &style(colour, 1.0))?;
            let place = (x(0.0) - self.px(6.0), y(*at));
            self.number(
                backend,
                &format!("{ratio}"),
                place,
                HPos::Right,
                VPos::Center,
            )?;
        }
        for (value, at) in &self.scatter.across {
            let foot = y(1.0);
            backend.draw_line(
                (x(*at), foot),
                (x(*at), foot + self.px(4.0)),
                &style(self.palette.muted, 1.0),
            )?;
            let text = format!("{} {}", significant(*value, 1), self.unit);
            self.number(
                backend,
                &text,
                (x(*at), foot + self.px(6.0)),
                HPos::Center,
                VPos::Top,
            )?;
        }
        let palette = &self.palette;
        let colours = [palette.forward, palette.backward, palette.weight];
        for (across, up, series) in &self.scatter.points {
            let colour = colours[series % colours.len()];
            let (cx, cy, half) = (x(*across), y(*up), self.px(MARK).max(1));
            let fill = style(colour, 0.7);
            match series % colours.len() {
                0 => backend.draw_circle((cx, cy), half.unsigned_abs(), &fill, true)?,
                1 => {
                    let corners = ((cx - half, cy - half), (cx + half, cy + half));
                    backend.draw_rect(corners.0, corners.1, &fill, true)?;
                }
                _ => {
                    let ends = [
                        ((cx - half, cy - half), (cx + half, cy + half)),
                        ((cx - half, cy + half), (cx + half, cy - half)),
                    ];
                    for (from, to) in ends {
                        backend.draw_line(from, to, &style(colour, 1.0))?;
                    }
                }
            }
        }
        Ok(())
    }

    #[allow(clippy::cast_possible_truncation)] // pixels fit an i32
    fn px(&self, css: f64) -> i32 {
        (css * self.scale).round() as i32
    }

    fn number<DB: DrawingBackend>(
        &self,
        backend: &mut DB,
        text: &str,
        at: (i32, i32),
        across: HPos,
        up: VPos,
    ) -> Painted<DB> {
        let style = TextStyle {
            font: ("system-ui, sans-serif", 11.0 * self.scale).into_font(),
            color: style(self.palette.muted, 1.0),
            pos: Pos::new(across, up),
        };
        backend.draw_text(text, &style, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::palette::Theme;
    use crate::scene::scatter::{Point, scatter};

    #[test]
    fn every_point_is_a_mark_of_its_series() {
        let points = [0, 1, 1, 2].map(|series| Point {
            measured: 3.0,
            ratio: 1.1,
            series,
        });
        let mut svg = String::new();
        {
            let mut backend = SVGBackend::with_string(&mut svg, (400, 200));
            let picture = ScatterPicture {
                scatter: &scatter(&points).unwrap(),
                size: (400.0, 200.0),
                unit: "s",
                palette: Theme::Light.palette(),
                scale: 1.0,
            };
            picture.paint(&mut backend).unwrap();
            backend.present().unwrap();
        }
        assert_eq!(svg.matches("<circle").count(), 1);
        assert_eq!(svg.matches("<rect").count(), 2);
    }
}
