//! The timeline as a picture outside the page: as SVG, and as what a canvas of its own is painted with.

use plotters::prelude::{DrawingBackend, SVGBackend};
use shardscope_core::message::{Catalogue, Message, verbatim};
use shardscope_core::pipeline::OpKind;
use shardscope_core::report::{Evaluation, ScheduleVariant};
use shardscope_core::run::OneOf;
use shardscope_core::t;
use shardscope_core::units::{MemoryUnit, Seconds, show_percent, show_seconds};
use shardscope_view::charts::lod::Sums;
use shardscope_view::charts::prepared::{awaited_in, mebibytes, memory_curve, paper_of_stage, version, versions};
use shardscope_view::charts::shape::{DrawnRanks, Shape};
use shardscope_view::charts::ticks::{tick_label, ticks};
use shardscope_view::charts::timeline::{Arrival, arrivals, cells};
use shardscope_view::charts::viewport::Viewport;
use shardscope_view::gallery::letter;
use shardscope_view::node::markup::{Node, el, text};
use shardscope_view::paint::timeline::{NAMES, PictureFrame, TITLE, TimelinePicture};
use shardscope_view::palette::{Palette, Rgb, Theme, blend};
use shardscope_view::words::{name, of_microbatches, ranks};

/// Room behind the axis for half of its last number.
pub(super) const RIGHT: f64 = 24.0;

/// The visible part of a timeline.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    pub evaluation: &'a Evaluation,
    /// Its running sums.
    pub sums: &'a Sums,
    /// The window on the time axis.
    pub view: Viewport,
    /// Width of the rows, CSS pixels.
    pub width: f64,
    /// The rank whose in-flight activations are drawn.
    pub rank: usize,
    pub theme: Theme,
    /// The language of its title.
    pub catalogue: &'a Catalogue,
}

impl Picture<'_> {
    /// Width and height with title and names, device pixels of `scale`.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a size in pixels
    pub fn size(&self, scale: f64) -> (u32, u32) {
        let pixels = |css: f64| (css * scale).ceil().max(1.0) as u32;
        let height = self.shape(Shape::of).height();
        (pixels(self.width + NAMES), pixels(height + TITLE))
    }

    fn ranks(&self) -> usize {
        self.evaluation.order.ranks.len()
    }

    /// The shape of a kind for its ranks, the fullest among the rows.
    fn shape(&self, kind: fn(usize, usize) -> Shape) -> Shape {
        kind(self.ranks(), self.evaluation.report.memory.peak_stage)
    }

    /// The messages between ranks that are drawn.
    fn arrivals(&self, drawn: DrawnRanks) -> Vec<Arrival> {
        let rows = self.sums.rows(self.evaluation.timeline(), drawn);
        arrivals(&rows, drawn, &awaited_in(self.evaluation), self.view, self.width)
    }

    /// Paints it with title, names, paper and hatch.
    ///
    /// # Errors
    /// Errors of the drawing backend, in words.
    pub fn paint<DB: DrawingBackend>(&self, backend: &mut DB, scale: f64) -> Result<(), String> {
        let report = &self.evaluation.report;
        let title = t!(
            "{run}, {schedule}: {ranks} {microbatches}, pipeline {time} of a step of {step}, bubble {bubble}",
            run = name(&self.evaluation.scenario.run),
            schedule = verbatim(report.pipeline.schedule.choice().label),
            ranks = ranks(self.ranks()),
            microbatches = of_microbatches(report.layout.microbatches),
            time = show_seconds(Seconds(self.evaluation.spans.makespan())),
            step = show_seconds(report.step.time_s),
            bubble = show_percent(report.pipeline.bubble_fraction)
        );
        let curve = memory_curve(self.evaluation, self.rank);
        self.draw(backend, scale, &title, self.shape(Shape::of), &curve, 0)
    }

    fn draw<DB: DrawingBackend>(
        &self,
        backend: &mut DB,
        scale: f64,
        title: &Message,
        shape: Shape,
        curve: &[(f64, u32)],
        most: u32,
    ) -> Result<(), String> {
        let evaluation = self.evaluation;
        let timeline = evaluation.timeline();
        let rows = self.sums.rows(timeline, shape.ranks);
        let versions = versions(evaluation);
        let end = self.view.x(timeline.makespan(), self.width);
        let picture = TimelinePicture {
            cells: &cells(&rows, self.view, self.width),
            shape,
            frame: Some(PictureFrame {
                title: &title.translated(self.catalogue),
                rank: self.rank,
                end: end.clamp(0.0, self.width),
            }),
            view: self.view,
            width: self.width,
            paper_of: &|row, stage| paper_of_stage(evaluation, shape.ranks.rank(row), stage),
            curve,
            messages: &[],
            arrivals: &self.arrivals(shape.ranks),
            version_of: &|row, microbatch| version(&versions, shape.ranks.rank(row), microbatch),
            capacity: mebibytes(evaluation.report.memory.capacity_bytes),
            most,
            palette: self.theme.palette(),
            scale,
            fills: None,
            writes: None,
        };
        picture.paint(backend).and_then(|()| backend.present()).map_err(|error| error.to_string())
    }
}

/// Several timelines one below the other as one SVG: one time axis below them, one scale of memory. They share window
/// and width. The heading is the first one's Run, or `heading`, where they are of Runs that differ.
pub fn stacked(pictures: &[Picture], unit: MemoryUnit, heading: Option<&Message>) -> String {
    let Some(first) = pictures.first() else {
        return String::new();
    };
    let curves: Vec<_> = pictures.iter().map(|picture| memory_curve(picture.evaluation, picture.rank)).collect();
    let most = curves.iter().flatten().map(|at| at.1).max().unwrap_or(0);
    let palette = first.theme.palette();
    let own = || name(&first.evaluation.scenario.run);
    let heading = heading.cloned().unwrap_or_else(own).translated(first.catalogue);
    let entries = entries(pictures, &palette);
    // A long heading has a line of its own, above the key.
    let keyed = if wide(&heading) + key_width(&entries, first.catalogue) > first.width { TITLE } else { 0.0 };
    let head = TITLE + keyed;
    let mut top = head;
    let mut inside = String::new();
    for (at, (picture, curve)) in pictures.iter().zip(&curves).enumerate() {
        let report = &picture.evaluation.report;
        let title = t!(
            "{letter}  {schedule}: step {time}, bubble {bubble}, peak {peak} of {capacity}",
            letter = verbatim(letter(at)),
            schedule = ScheduleVariant::of(&picture.evaluation.scenario.run).name(),
            time = show_seconds(report.step.time_s),
            bubble = show_percent(report.pipeline.bubble_fraction),
            peak = unit.show(report.memory.peak_bytes),
            capacity = unit.show(report.memory.capacity_bytes)
        );
        let shape = picture.shape(Shape::low);
        let height = (shape.height() + TITLE).ceil();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a size in pixels
        let size = ((first.width + NAMES).ceil() as u32, height as u32);
        let lane = painted(size, |backend| picture.draw(backend, 1.0, &title, shape, curve, most));
        inside.push_str(&lane.replacen("<svg ", &format!("<svg y=\"{top}\" "), 1));
        top += height;
    }
    let rgb = |(r, g, b): Rgb| format!("rgb({r},{g},{b})");
    let (ink, muted, line) = (palette.text, rgb(palette.muted), rgb(palette.line));
    let words = |x: f64, y: f64, anchor: &str, colour: &str, words: String| {
        let (x, y) = (format!("{x:.1}"), format!("{y}"));
        let place = [("x", &*x), ("y", &y), ("text-anchor", anchor)];
        let look = [("fill", colour), ("font-size", "12")];
        el("text", &[place.as_slice(), &look].concat(), &[text(verbatim(words))])
    };
    let rule = |d: &str, colour: &str, opacity: &str| {
        let stroke = [("d", d), ("stroke", colour), ("stroke-opacity", opacity)];
        el("path", &stroke, &[])
    };
    let across = first.width + NAMES;
    let mut axis =
        vec![words(8.0, 18.0, "start", &rgb(ink), heading), rule(&format!("M{NAMES} {top}H{across}"), &muted, "1")];
    axis.extend(key(first, &entries, keyed, &|x, y, said: &Message| {
        words(x, y, "start", &muted, said.translated(first.catalogue))
    }));
    for tick in ticks(first.view.start, first.view.end, 8) {
        let x = NAMES + first.view.x(tick, first.width);
        // Over the lanes too: what is at one time is at one place.
        axis.push(rule(&format!("M{x:.1} {head}V{top}"), &line, "0.5"));
        axis.push(words(x, top + 16.0, "middle", &muted, tick_label(tick)));
    }
    let axis = Node::from_iter(axis).to_html();
    let (width, height) = ((across + RIGHT).ceil(), top + TITLE);
    format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"system-ui, \
            sans-serif\" xmlns=\"http://www.w3.org/2000/svg\"><rect width=\"100%\" height=\"100%\" \
            fill=\"{}\"/>{inside}{axis}</svg>",
        rgb(palette.paper)
    )
}

/// Room that a letter of a key takes, and what a mark takes with the room around it.
const KEY: (f64, f64) = (6.6, 32.0);

/// Room that words of a key or a heading take.
fn wide(said: &str) -> f64 {
    KEY.1 + KEY.0 * said.chars().count() as f64
}

/// Room that a key takes.
fn key_width(entries: &[(Rgb, Message)], catalogue: &Catalogue) -> f64 {
    entries.iter().map(|(_, said)| wide(&said.translated(catalogue))).sum()
}

/// What the colours of `pictures` mean.
fn entries(pictures: &[Picture], palette: &Palette) -> Vec<(Rgb, Message)> {
    let any = |is: &dyn Fn(&Evaluation) -> bool| pictures.iter().any(|picture| is(picture.evaluation));
    let splits = any(&|one| {
        let mut rows = one.order.ranks.iter();
        rows.any(|row| row.written().iter().any(|item| item.ops().any(|op| op.kind == OpKind::W)))
    });
    let later = any(&|one| one.loads.iter().any(|load| load.stages.len() > 1));
    let sent = pictures.iter().any(|one| !one.arrivals(one.shape(Shape::low).ranks).is_empty());
    let shade = blend(palette.forward, palette.paper, 0.25);
    let entries = [
        Some((palette.forward, t!("forward"))),
        Some((palette.backward, t!("backward"))),
        splits.then(|| (palette.weight, t!("weight gradient"))),
        later.then(|| (shade, t!("later stages of the rank"))),
        sent.then(|| (palette.exposed, t!("message on its way"))),
        Some((palette.hatch, t!("bubble"))),
        Some((palette.activations, t!("memory over time"))),
    ];
    entries.into_iter().flatten().collect()
}

/// A key of `entries` in one line `down` pixels below the heading, which ends where the rows of `first` do.
fn key(
    first: &Picture,
    entries: &[(Rgb, Message)],
    down: f64,
    words: &dyn Fn(f64, f64, &Message) -> Node,
) -> Vec<Node> {
    let mut x = first.width + NAMES - key_width(entries, first.catalogue);
    let entry = |((r, g, b), said): &(Rgb, Message)| {
        let (at, y, colour) = (format!("{x:.1}"), format!("{:.0}", 8.0 + down), format!("rgb({r},{g},{b})"));
        let mark = [("x", &*at), ("y", &y), ("width", "12"), ("height", "12"), ("fill", &colour)];
        let pair = [el("rect", &mark, &[]), words(x + 18.0, 18.0 + down, said)];
        x += wide(&said.translated(first.catalogue));
        Node::from_iter(pair)
    };
    entries.iter().map(entry).collect()
}

/// The picture as SVG; empty where it cannot be painted.
pub fn svg(picture: &Picture) -> String {
    painted(picture.size(1.0), |backend| picture.paint(backend, 1.0))
}

fn painted(size: (u32, u32), paint: impl Fn(&mut SVGBackend) -> Result<(), String>) -> String {
    let mut out = String::new();
    let result = paint(&mut SVGBackend::with_string(&mut out, size));
    if result.is_ok() { out } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::evaluate;
    use shardscope_core::run::{Run, Schedule};

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
            catalogue: &Catalogue::default(),
        };
        let svg = svg(&picture);
        assert!(
            svg.contains("Llama 3.1 8B on 64 GPUs, 1F1B: 4 ranks run 32 micro-batches, pipeline "),
            "{}",
            &svg[..400]
        );
        assert!((0..4).all(|rank| svg.contains(&format!("rank {rank}"))));
        assert_eq!(svg.matches("#0C3E81").count(), 4 * 32);
        // 45 degree lines are under every row, each as tall as wide.
        assert!(svg.matches("<line").count() > 4 * 200);
        let (width, height) = picture.size(1.0);
        assert!(svg.contains(&format!("width=\"{width}\" height=\"{height}\"")));
        for number in svg.split("x1=\"").skip(1) {
            let x: f64 = number.split('"').next().unwrap().parse().unwrap();
            assert!((0.0..=f64::from(width)).contains(&x));
        }
    }

    /// Interleaving with 8 chunks: each rank runs each of its 8 stages once forward for each of the 32 micro-batches,
    /// and each stage has a colour of its own.
    #[test]
    fn eight_chunks_of_a_rank_have_eight_colours() {
        let set = [("schedule", "interleaved-1f1b"), ("virtual_stages", "8"), ("pp", "4")];
        let evaluation = evaluate(&Run::default().with_texts(&set).unwrap()).unwrap();
        let (sums, catalogue) = (Sums::of(evaluation.timeline()), Catalogue::default());
        let view = Viewport::all(evaluation.timeline().makespan());
        let (rank, theme) = (0, Theme::Light);
        let picture =
            Picture { evaluation: &evaluation, sums: &sums, view, width: 3000.0, rank, theme, catalogue: &catalogue };
        let (svg, palette) = (svg(&picture), theme.palette());
        for chunk in 0..8 {
            let (r, g, b) = blend(palette.forward, palette.paper, 0.75 * f64::from(chunk) / 7.0);
            assert_eq!(svg.matches(&format!("#{r:02X}{g:02X}{b:02X}")).count(), 4 * 32, "chunk {chunk}");
        }
    }

    /// A rank's message ends where its first block begins: on a slow link the picture has a bar before that of every
    /// rank but the first, and the key of several pictures names it; on a fast one both are away.
    #[test]
    fn messages_between_ranks_are_drawn_where_they_can_be_seen() {
        let english = Catalogue::default();
        for (bandwidth, is_seen) in [("0.5", true), ("400", false)] {
            let set = [("schedule", "gpipe"), ("pp", "4"), ("tp", "8"), ("gpu.inter_gb_per_s", bandwidth)];
            let evaluation = evaluate(&Run::default().with_texts(&set).unwrap()).unwrap();
            let sums = Sums::of(evaluation.timeline());
            let view = Viewport::all(evaluation.timeline().makespan());
            let (rank, theme) = (0, Theme::Light);
            let picture =
                Picture { evaluation: &evaluation, sums: &sums, view, width: 1600.0, rank, theme, catalogue: &english };
            let p2p = evaluation.durations.p2p;
            let bars = picture.arrivals(DrawnRanks::all());
            assert_eq!(view.x(p2p, 1600.0) > 1.0, is_seen, "{p2p}");
            assert_eq!(stacked(&[picture], MemoryUnit::Gib, None).contains("message on its way"), is_seen);
            let (r, g, b) = theme.palette().exposed;
            assert_eq!(svg(&picture).matches(&format!("#{r:02X}{g:02X}{b:02X}")).count(), bars.len());
            for (rank, ops) in evaluation.timeline().ranks.iter().enumerate().skip(1).filter(|_| is_seen) {
                let first = bars.iter().find(|bar| bar.row == rank).unwrap();
                assert!((first.x + first.width - view.x(ops[0].start, 1600.0)).abs() < 1e-6);
                assert!((first.width - view.x(p2p, 1600.0)).abs() < 1e-6);
            }
        }
    }

    /// One second is at one place in all timelines of the picture, and the axis is drawn once, below them.
    #[test]
    fn stacked_timelines_share_one_axis_and_one_scale() {
        let evaluated = |schedule| {
            let run = Run { schedule, ..Run::default() };
            evaluate(&run).unwrap()
        };
        let evaluations = [Schedule::OneFOneB, Schedule::ZbV].map(evaluated);
        let ends = evaluations.each_ref().map(|one| one.timeline().makespan());
        let view = Viewport::all(ends[0].max(ends[1]));
        let sums = evaluations.each_ref().map(|one| Sums::of(one.timeline()));
        let english = Catalogue::default();
        let pictures: Vec<Picture> = evaluations
            .iter()
            .zip(&sums)
            .map(|(evaluation, sums)| Picture {
                evaluation,
                sums,
                view,
                width: 900.0,
                rank: evaluation.report.memory.peak_stage,
                theme: Theme::Light,
                catalogue: &english,
            })
            .collect();
        let svg = stacked(&pictures, MemoryUnit::Gib, None);
        // Runs that differ are named in the heading, which has a line of its own where the key leaves no room.
        let long = "A: Llama 3.1 8B on 64 GPUs, TP 2, PP 4, 1F1B; B: Llama 3.1 70B on 128 GPUs, TP 8, PP 4, ZB-V";
        let both = stacked(&pictures, MemoryUnit::Gib, Some(&verbatim(long)));
        let height =
            |svg: &str| svg.split("height=\"").nth(1).and_then(|rest| rest.split('"').next()?.parse::<f64>().ok());
        assert!(both.contains(&format!(">{long}</text>")) && !both.contains(">Llama 3.1 8B on 64 GPUs</text>"));
        assert!((height(&both).unwrap() - height(&svg).unwrap() - TITLE).abs() < 1e-9);
        let tick = tick_label(1.0);
        assert_eq!(svg.matches(&format!(">{tick}</text>")).count(), 1, "{tick}");
        // Its colours have names: ZB-V splits its backward, and its ranks have two stages each.
        let shades = ["forward", "backward", "weight gradient", "later stages of the rank", "bubble"];
        for title in ["A  1F1B: step", "B  ZB-V: step"].into_iter().chain(shades.map(|name| name)) {
            let title = if title.contains(':') { title.to_owned() } else { format!(">{title}</text>") };
            let title = title.as_str();
            assert_eq!(svg.matches(title).count(), 1, "{title}");
        }
        // The last block of each ends where its pipeline does.
        for (lane, end) in svg.split("<svg y=").skip(1).zip(ends) {
            let number = |tag: &str, name: &str| -> f64 {
                let value = tag.split(&format!(" {name}=\"")).nth(1).unwrap();
                value.split('"').next().unwrap().parse().unwrap()
            };
            let palette = Theme::Light.palette();
            let paper = [palette.paper, palette.line].map(|(r, g, b)| format!("#{r:02X}{g:02X}{b:02X}"));
            let blocks =
                lane.split("<rect").skip(1).filter(|tag| !paper.iter().any(|colour| tag.contains(colour.as_str())));
            let last = blocks.map(|tag| number(tag, "x") + number(tag, "width"));
            let last = last.fold(0.0, f64::max) - NAMES;
            assert!((last - view.x(end, 900.0)).abs() < 2.5, "{last}");
        }
    }
}
