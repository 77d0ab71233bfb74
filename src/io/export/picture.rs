//! The timeline as a picture outside the page: as SVG, and as what a canvas of its own is painted with.

use crate::core::report::Evaluation;
use crate::view::charts::lod::Sums;
use crate::view::charts::palette::Theme;
use crate::view::charts::prepared::{mebibytes, memory_curve, version, versions};
use crate::view::charts::shape::Shape;
use crate::view::charts::timeline::cells;
use crate::view::charts::viewport::Viewport;
use crate::view::paint::timeline::{Frame, NAMES, TITLE, TimelinePicture};
use crate::view::panels::words;
use plotters::prelude::{DrawingBackend, SVGBackend};

/// What is seen of which timeline.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// The Run.
    pub evaluation: &'a Evaluation,
    /// Its running sums.
    pub sums: &'a Sums,
    /// The window on the time axis.
    pub view: Viewport,
    /// Width of the rows, CSS pixels.
    pub width: f64,
    /// The rank whose in-flight activations are drawn.
    pub rank: usize,
    /// Light or dark.
    pub theme: Theme,
}

impl Picture<'_> {
    /// Width and height with title and names, device pixels of `scale`.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a size in pixels
    pub fn size(&self, scale: f64) -> (u32, u32) {
        let height = Shape::of(self.evaluation.order.ranks.len()).height();
        let pixels = |css: f64| (css * scale).ceil().max(1.0) as u32;
        (pixels(self.width + NAMES), pixels(height + TITLE))
    }

    /// Paints it with title, names, paper and hatch.
    ///
    /// # Errors
    /// Errors of the drawing backend, in words.
    pub fn paint<DB: DrawingBackend>(&self, backend: &mut DB, scale: f64) -> Result<(), String> {
        let evaluation = self.evaluation;
        let shape = Shape::of(evaluation.order.ranks.len());
        let rows = self.sums.rows(evaluation.timeline(), shape.stride);
        let (report, versions) = (&evaluation.report, versions(evaluation));
        let title = format!(
            "{} on {} GPUs, {}: {}",
            evaluation.scenario.run.model.title(),
            evaluation.scenario.run.gpus,
            crate::core::pipeline::schedule(report.pipeline.schedule)
                .map_or(report.pipeline.schedule, |row| row.name),
            words::pipeline(&report.pipeline, report.layout.microbatches)
        );
        let picture = TimelinePicture {
            cells: &cells(&rows, self.view, self.width),
            shape,
            frame: Some(Frame {
                title: &title,
                rank: self.rank,
            }),
            view: self.view,
            width: self.width,
            chunk_of: &|row, stage| evaluation.chunk_of(row * shape.stride, stage),
            curve: &memory_curve(evaluation, self.rank),
            version_of: &|row, microbatch| version(&versions, row * shape.stride, microbatch),
            capacity: mebibytes(report.memory.capacity_bytes),
            most: 0,
            palette: self.theme.palette(),
            scale,
        };
        picture
            .paint(backend)
            .and_then(|()| backend.present())
            .map_err(|error| error.to_string())
    }
}

/// Several pictures one below the other, as one SVG.
#[must_use]
pub fn stacked(pictures: &[Picture]) -> String {
    let mut inside = String::new();
    let (mut width, mut top) = (0, 0);
    for picture in pictures {
        let (across, down) = picture.size(1.0);
        inside.push_str(&svg(picture).replacen("<svg ", &format!("<svg y=\"{top}\" "), 1));
        width = width.max(across);
        top += down;
    }
    format!(
        "<svg width=\"{width}\" height=\"{top}\" xmlns=\"http://www.w3.org/2000/svg\">{inside}</svg>"
    )
}

/// The picture as SVG; empty where it cannot be painted.
#[must_use]
pub fn svg(picture: &Picture) -> String {
    let mut out = String::new();
    let size = picture.size(1.0);
    let painted = {
        let mut backend = SVGBackend::with_string(&mut out, size);
        picture.paint(&mut backend, 1.0)
    };
    if painted.is_ok() { out } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::evaluate;
    use crate::core::run::Run;

    #[test]
    fn the_svg_has_a_title_names_a_hatch_and_every_op() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let picture = Picture {
            evaluation: &evaluation,
            sums: &Sums::of(evaluation.timeline()),
            view: Viewport::all(evaluation.timeline().makespan()),
            width: 1600.0,
            rank: 0,
            theme: Theme::Light,
        };
        let both = stacked(&[picture, picture]);
        let svg = svg(&picture);
        assert!(
            svg.contains("Llama 3.1 8B on 64 GPUs, 1F1B: 4 ranks run 32"),
            "{}",
            &svg[..400]
        );
        assert!((0..4).all(|rank| svg.contains(&format!("rank {rank}"))));
        assert_eq!(svg.matches("#0C3E81").count(), 4 * 32);
        // 45 degree lines stand under every row, each as tall as wide.
        assert!(svg.matches("<line").count() > 4 * 200);
        let (width, height) = picture.size(1.0);
        assert!(both.starts_with(&format!("<svg width=\"{width}\" height=\"{}\"", 2 * height)));
        assert!(both.contains(&format!("<svg y=\"{height}\"")));
        assert_eq!(both.matches("#0C3E81").count(), 2 * 4 * 32);
        assert!(svg.contains(&format!("width=\"{width}\" height=\"{height}\"")));
        for number in svg.split("x1=\"").skip(1) {
            let x: f64 = number.split('"').next().unwrap().parse().unwrap();
            assert!((0.0..=f64::from(width)).contains(&x));
        }
    }
}
