//! Small pictures as SVG: across in shares of the width, so that they fill the width they get and text keeps its
//! size; down in CSS pixels.
//!
//! In the page colours are its tokens and follow its theme; a file of its own names them.

use super::ink::Ink;
use super::lod::Sums;
use super::shape::DrawnRanks;
use super::timeline::cells;
use super::viewport::Viewport;
use crate::node::markup::{Node, el, text};
use crate::palette::Theme;
use shardscope_core::message::{Catalogue, Message};
use shardscope_core::pipeline::{TimedOp, Timeline};

/// Side of words to their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// They begin there.
    Start,
    /// They are centred there.
    Middle,
    /// They end there.
    End,
}

/// The form of a dot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    /// Filled, small.
    Dot,
    /// Filled, one of many.
    Faint,
    /// A filled square, one of many.
    Square,
    /// An outline, one of many.
    Hollow,
    /// Filled, one of few.
    Large,
    /// A ring around other dots.
    Ring,
}

/// A rectangle: across in shares of the width, down in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Box {
    /// Left edge, 0 to 1.
    pub x: f64,
    /// Width, 0 to 1.
    pub width: f64,
    /// Upper edge, pixels.
    pub y: f64,
    /// Height, pixels.
    pub height: f64,
}

impl Box {
    pub(crate) fn holds(self, inner: Self) -> bool {
        let across = self.x <= inner.x && inner.x + inner.width <= self.x + self.width;
        across && self.y <= inner.y && inner.y + inner.height <= self.y + self.height
    }
    /// It has a place in common with `other`.
    pub(crate) fn meets(self, other: Self) -> bool {
        let across = self.x < other.x + other.width && other.x < self.x + self.width;
        across && self.y < other.y + other.height && other.y < self.y + self.height
    }
}

/// Room for names on the left, CSS pixels; the style sheet has it too.
pub const NAMES: f64 = 64.0;
/// Width below which neighbours are drawn as one, pixels.
pub(crate) const DETAIL: f64 = 800.0;
/// Least width of ops that have a gap between them, pixels.
const APART: f64 = 3.0;
/// Width of that gap, pixels.
const PAPER: f64 = 0.7;
/// Width of a digit at 11 px, pixels: 0.64 em in the widest of the usual fonts, `DejaVu Sans`.
const DIGIT: f64 = 7.0;
/// Widths of a picture with its names from which on the words of a class are shown; the style sheet has them too.
const FITTED: [(f64, &str); 8] = [
    (240.0, "at w240"),
    (300.0, "at w300"),
    (340.0, "at w340"),
    (420.0, "at w420"),
    (560.0, "at w560"),
    (700.0, "at w700"),
    (900.0, "at w900"),
    (1100.0, "at w1100"),
];
/// Room on the right for what is over the edge.
const MARGIN: f64 = 12.0;
/// Room above a file's picture for its title.
const TITLE: f64 = 28.0;

/// A picture being drawn.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    height: f64,
    hatched: bool,
    pieces: Vec<Node>,
}

fn share(x: f64) -> String {
    format!("{:.3}%", x * 100.0)
}

fn px(y: f64) -> String {
    format!("{y:.1}")
}

impl Drawing {
    /// Nothing yet, `height` pixels high.
    pub fn new(height: f64) -> Self {
        Self { height, ..Self::default() }
    }
    /// A filled rectangle; `label` is its tooltip, if anything.
    pub fn fill(&mut self, at: Box, ink: Ink, opacity: f64, label: impl Into<Message>) {
        let mut style = format!("fill:var({})", ink.token());
        if opacity < 1.0 {
            style = format!("{style};fill-opacity:{opacity}");
        }
        self.rect(at, &style, label);
    }
    /// The outline of a rectangle.
    pub fn frame(&mut self, at: Box, ink: Ink) {
        self.rect(at, &format!("fill:none;stroke:var({})", ink.token()), "");
    }
    /// The 45 degree lines of idle time.
    pub fn hatch(&mut self, at: Box) {
        self.hatched = true;
        self.rect(at, "fill:url(#hatched)", "");
    }
    /// The ops of the `drawn` ranks that `view` shows; a row's `place` is its upper edge and height, `label` the
    /// tooltip of an op.
    pub fn ops(
        &mut self,
        timeline: &Timeline,
        drawn: DrawnRanks,
        view: Viewport,
        place: impl Fn(usize) -> (f64, f64),
        label: impl Fn(TimedOp) -> Message,
    ) {
        let sums = Sums::of(timeline);
        for cell in cells(&sums.rows(timeline, drawn), view, DETAIL) {
            let (top, height) = place(cell.row);
            let apart = cell.op.is_some() && cell.width > APART;
            let gap = if apart { PAPER } else { 0.0 };
            let (upper, lower) = cell.band;
            let at = Box {
                x: cell.x / DETAIL,
                width: (cell.width - gap) / DETAIL,
                y: top + upper * height,
                height: (lower - upper) * height,
            };
            let label = cell.op.map_or_else(Message::default, &label);
            self.fill(at, Ink::of(cell.kind), 1.0, label);
        }
    }
    fn rect(&mut self, at: Box, style: &str, label: impl Into<Message>) {
        let attributes = [
            ("x", &*share(at.x)),
            ("y", &px(at.y)),
            ("width", &share(at.width.max(0.0))),
            ("height", &px(at.height)),
            ("style", style),
        ];
        let label = label.into();
        let title = if label.is_empty() { Node::none() } else { el("title", &[], &[text(label)]) };
        self.pieces.push(el("rect", &attributes, &[title]));
    }
    /// A line `width` pixels thick.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, width: f64) {
        self.stroke(from, to, &format!("stroke:var({});stroke-width:{width}", ink.token()));
    }
    /// A dashed line.
    pub(crate) fn dashed(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, width: f64) {
        self.stroke(from, to, &format!("stroke:var({});stroke-width:{width};stroke-dasharray:6 4", ink.token()));
    }
    fn stroke(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        let attributes =
            [("x1", &*share(from.0)), ("y1", &px(from.1)), ("x2", &share(to.0)), ("y2", &px(to.1)), ("style", style)];
        self.pieces.push(el("line", &attributes, &[]));
    }
    /// Words of 11 pixels whose middle is at `y`.
    pub fn words(&mut self, at: (f64, f64), anchor: Anchor, ink: Ink, label: impl Into<Message>) {
        self.write(at, 0.0, anchor, ink, "", label);
    }
    /// Words on a rectangle, left out where the page is narrow.
    pub fn label(&mut self, at: (f64, f64), ink: Ink, label: impl Into<Message>) {
        self.write(at, 0.0, Anchor::Middle, ink, "in", label);
    }
    /// Words at a point, left out where the page is narrow.
    pub(crate) fn beside(&mut self, at: (f64, f64), anchor: Anchor, ink: Ink, label: impl Into<Message>) {
        self.write(at, 0.0, anchor, ink, "in", label);
    }
    /// Words on a rectangle as wide as `room`, a share of the width: shown where the picture is wide enough for them.
    pub(crate) fn fitted(&mut self, at: (f64, f64), ink: Ink, room: f64, label: impl Into<Message>) {
        let label = label.into();
        let words = DIGIT * (label.to_string().chars().count() as f64 + 0.25);
        let least = words / room.max(f64::MIN_POSITIVE) + NAMES + MARGIN;
        if let Some((_, class)) = FITTED.iter().find(|(width, _)| least <= *width) {
            self.write(at, 0.0, Anchor::Middle, ink, class, label);
        }
    }
    fn write(
        &mut self,
        (x, y): (f64, f64),
        aside: f64,
        anchor: Anchor,
        ink: Ink,
        class: &str,
        label: impl Into<Message>,
    ) {
        let label = label.into();
        if label.is_empty() {
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let attributes = [
            ("class", class),
            ("x", &*share(x)),
            ("y", &px(y)),
            ("dx", &px(aside)),
            ("dy", "4"),
            ("text-anchor", anchor),
            ("style", &format!("fill:var({})", ink.token())),
        ];
        self.pieces.push(el("text", &attributes, &[text(label)]));
    }
    /// A name left of the picture.
    pub fn name(&mut self, y: f64, label: impl Into<Message>) {
        self.write((0.0, y), -NAMES, Anchor::Start, Ink::Muted, "", label);
    }
    /// The words above a part of the picture, from where the names begin: on a phone they need the room.
    pub(crate) fn heading(&mut self, y: f64, label: impl Into<Message>) {
        self.write((0.0, y), -NAMES, Anchor::Start, Ink::Text, "", label);
    }
    /// A value at the axis left of the picture.
    pub(crate) fn tick(&mut self, y: f64, label: impl Into<Message>) {
        self.write((0.0, y), -6.0, Anchor::End, Ink::Muted, "", label);
    }
    /// A dot with its tooltip, if it has one.
    pub(crate) fn dot(&mut self, (x, y): (f64, f64), form: Form, ink: Ink, label: &Message) {
        let (radius, is_filled, stroke) = match form {
            Form::Dot => (3.0, true, ""),
            Form::Faint => (2.6, true, ";fill-opacity:.7"),
            Form::Square => (2.5, true, ""),
            Form::Hollow => (2.6, false, ""),
            Form::Large => (5.0, true, ";stroke:var(--bg)"),
            Form::Ring => (7.0, false, ";stroke-width:2"),
        };
        let token = ink.token();
        let paint = if is_filled { format!("fill:var({token})") } else { format!("fill:none;stroke:var({token})") };
        let style = [("class", "dot"), ("style", &*format!("{paint}{stroke}"))];
        let title = if label.is_empty() { Node::none() } else { el("title", &[], &[text(label)]) };
        let (x, y, r) = (share(x), px(y), px(radius));
        self.pieces.push(if form == Form::Square {
            let (size, aside) = (format!("{}", 2.0 * radius), format!("translate(-{radius} -{radius})"));
            let place = [("x", &*x), ("y", &y), ("width", &size), ("height", &size), ("transform", &aside)];
            el("rect", &[&style[..], &place].concat(), &[title])
        } else {
            el("circle", &[&style[..], &[("cx", &*x), ("cy", &y), ("r", &r)]].concat(), &[title])
        });
    }
    /// Dots as one path, in shares of `height` pixels from `top` on: thousands of elements would be slow.
    pub(crate) fn cloud(&mut self, top: f64, height: f64, places: impl Iterator<Item = (f64, f64)>, ink: Ink) {
        let thousandth = |share: f64| (share * 1000.0).round();
        let dots = places.fold(String::new(), |dots, (x, y)| dots + &format!("M{} {}h0", thousandth(x), thousandth(y)));
        let stroke = format!("fill:none;stroke:var({});stroke-width:3;stroke-linecap:round", ink.token());
        let path = [("d", &*dots), ("vector-effect", "non-scaling-stroke"), ("style", &stroke)];
        let area = [
            ("y", &*px(top)),
            ("width", "100%"),
            ("height", &px(height)),
            ("viewBox", "0 0 1000 1000"),
            ("preserveAspectRatio", "none"),
            ("overflow", "visible"),
        ];
        self.pieces.push(el("svg", &area, &[el("path", &path, &[])]));
    }
    /// Drawn elements, and the pattern that they need.
    fn content(self) -> Vec<Node> {
        let mut pieces = self.pieces;
        if self.hatched {
            let lines = [("d", "M-1 1l2-2M0 6l6-6M5 7l2-2"), ("style", "stroke:var(--line)")];
            let pattern = [("id", "hatched"), ("width", "6"), ("height", "6"), ("patternUnits", "userSpaceOnUse")];
            let pattern = el("pattern", &pattern, &[el("path", &lines, &[])]);
            pieces.insert(0, el("defs", &[], &[pattern]));
        }
        pieces
    }
    /// For the page; `label` describes it to screen readers.
    pub fn inline(self, label: impl Into<Message>) -> Node {
        // The height once more, for style sheets that shrink it.
        let height = px(self.height);
        let height = format!("height:{height}px;--down:{height}");
        let attributes = [("class", "drawing"), ("role", "img"), ("style", &height)];
        el("svg", &attributes, &self.content()).label(label)
    }
    /// As a file: `width` pixels for the picture, names beside it, the title above it, in the language of `catalogue`.
    pub fn file(self, width: f64, theme: Theme, title: impl Into<Message>, catalogue: &Catalogue) -> String {
        let across = width + NAMES + MARGIN;
        let down = self.height + TITLE + MARGIN;
        let height = px(self.height);
        let inner = el(
            "svg",
            &[
                ("x", &*px(NAMES)),
                ("y", &px(TITLE)),
                ("width", &px(width)),
                ("height", &height),
                ("overflow", "visible"),
            ],
            &self.content(),
        );
        let paper = el("rect", &[("width", "100%"), ("height", "100%"), ("style", "fill:var(--bg)")], &[]);
        let title =
            el("text", &[("x", "8"), ("y", "18"), ("style", "fill:var(--text);font-size:13px")], &[text(title)]);
        let whole = el(
            "svg",
            &[
                ("xmlns", "http://www.w3.org/2000/svg"),
                ("width", &px(across)),
                ("height", &px(down)),
                ("font-family", "system-ui, sans-serif"),
                ("font-size", "11"),
            ],
            &[paper, title, inner],
        );
        themed(&whole, theme, catalogue)
    }
}

/// Tokens replaced by the colours of `theme`.
fn themed(svg: &Node, theme: Theme, catalogue: &Catalogue) -> String {
    let mut out = svg.to_html_in(catalogue);
    let palette = theme.palette();
    for ink in Ink::ALL {
        let (r, g, b) = ink.rgb(&palette);
        out = out.replace(&format!("var({})", ink.token()), &format!("#{r:02x}{g:02x}{b:02x}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_its_colours_and_the_page_its_tokens() {
        let mut drawing = Drawing::new(40.0);
        for (at, ink) in Ink::ALL.into_iter().enumerate() {
            let at = Box { x: at as f64 / 16.0, width: 0.05, y: 0.0, height: 20.0 };
            drawing.fill(at, ink, 0.5, "<said>");
        }
        drawing.name(10.0, "rank 0");
        let page = drawing.clone().inline("A picture").to_html();
        assert!(page.contains("var(--t-exposed)") && page.contains("&lt;said&gt;"));
        for theme in [Theme::Light, Theme::Dark] {
            let file = drawing.clone().file(600.0, theme, "Title", &Catalogue::default());
            assert!(file.starts_with("<svg xmlns=") && !file.contains("var("));
        }
    }

    #[test]
    fn the_style_sheet_has_the_same_colours_and_the_same_room_for_names() {
        let css = include_str!("../../../style/main.css").to_ascii_lowercase();
        let (light, dark) = css.split_once("[data-theme=dark]").unwrap();
        for (sheet, theme) in [(light, Theme::Light), (dark, Theme::Dark)] {
            for ink in Ink::ALL {
                let (r, g, b) = ink.rgb(&theme.palette());
                let rule = format!("{}: #{r:02x}{g:02x}{b:02x}", ink.token());
                assert!(sheet.contains(&rule), "{rule}");
            }
        }
        assert!(css.contains(&format!("margin-left: {NAMES}px")), "{NAMES}");
    }
}
