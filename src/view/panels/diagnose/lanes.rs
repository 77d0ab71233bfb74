//! Timelines: what a rank did over what is predicted for it, on one scale. However many kernels there are, a picture
//! has as many rectangles as columns at most.

use super::bars::axis;
use super::{head, legend_item};
use crate::node::action::TimelineAction;
use crate::prelude::*;
use shardscope_core::diagnose::{CauseId, LaneKind, MeasuredLanes, TraceLanes, seen};
use std::fmt::Write;

/// Columns of a picture.
const COLUMNS: usize = 1200;
/// Height of a lane, and between two of them, units of the picture.
const LANE: u32 = 15;
const GAP: u32 = 2;

/// The lanes of a trace and of the prediction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LanePair {
    pub rank: Option<u64>,
    pub measured: TraceLanes,
    /// Where the trace is compared with a run.
    pub predicted: Option<TraceLanes>,
}

/// The part of the lanes that is shown, nanoseconds from the start of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneZoom {
    pub begin: i64,
    pub end: i64,
}

/// Nanoseconds that are shown at least.
const LEAST: i64 = 10_000;

impl LanePair {
    /// The lanes `measured`, over those that are `predicted` for the run that is compared.
    pub fn of(measured: MeasuredLanes, predicted: Option<TraceLanes>) -> Self {
        Self { rank: measured.rank, measured: measured.lanes, predicted }
    }

    /// All of it: as long as the measured window.
    pub fn whole(&self) -> LaneZoom {
        let predicted = self.predicted.as_ref().map_or(0, |lanes| lanes.length);
        // A window that is a part of a step is not lost in the whole of it.
        let end = if predicted < 3 * self.measured.length { predicted } else { 0 };
        LaneZoom { begin: 0, end: self.measured.length.max(end).max(LEAST) }
    }

    /// Where a cause is seen best, with as much before and behind it.
    pub fn around(&self, cause: CauseId) -> Option<LaneZoom> {
        let (begin, end) = self.measured.place_of(cause)?;
        let room = (end - begin).max(LEAST);
        Some(self.held(LaneZoom { begin: begin - room, end: end + room }))
    }

    /// `zoom` within the window.
    fn held(&self, zoom: LaneZoom) -> LaneZoom {
        let whole = self.whole();
        let length = (zoom.end - zoom.begin).clamp(LEAST, whole.end);
        let begin = zoom.begin.clamp(0, whole.end - length);
        LaneZoom { begin, end: begin + length }
    }

    /// Nearer by `factor`, around its middle.
    pub fn zoomed(&self, zoom: LaneZoom, factor: f64) -> LaneZoom {
        let length = (zoom.end - zoom.begin) as f64 / factor;
        #[allow(clippy::cast_possible_truncation)] // nanoseconds of a step
        let (middle, half) = (i64::midpoint(zoom.begin, zoom.end), (length / 2.0) as i64);
        self.held(LaneZoom { begin: middle - half, end: middle + half.max(1) })
    }

    /// Moved by `share` of what is shown.
    pub fn moved(&self, zoom: LaneZoom, share: f64) -> LaneZoom {
        #[allow(clippy::cast_possible_truncation)] // nanoseconds of a step
        let by = ((zoom.end - zoom.begin) as f64 * share) as i64;
        self.held(LaneZoom { begin: zoom.begin + by, end: zoom.end + by })
    }
}

const fn class(kind: LaneKind) -> &'static str {
    match kind {
        LaneKind::Forward => "l-forward",
        LaneKind::Backward => "l-backward",
        LaneKind::Compute => "l-compute",
        LaneKind::Optimizer => "l-optimizer",
        LaneKind::Exposed => "l-exposed",
        LaneKind::Hidden => "l-hidden",
        LaneKind::Pause => "l-pause",
        LaneKind::Waiting => "l-waiting",
    }
}

fn words(kind: LaneKind) -> &'static str {
    match kind {
        LaneKind::Forward => "forward, also where computed again",
        LaneKind::Backward => "backward",
        LaneKind::Compute => "compute",
        LaneKind::Optimizer => "optimizer",
        LaneKind::Exposed => "exposed communication",
        LaneKind::Hidden => "hidden",
        LaneKind::Pause => "pause",
        LaneKind::Waiting => "waiting",
    }
}

/// Two lanes as a picture.
fn picture(lanes: &TraceLanes, zoom: LaneZoom) -> String {
    let mut paths = [const { String::new() }; LaneKind::ALL.len()];
    for (top, spans) in [(0, &lanes.compute), (LANE + GAP, &lanes.messages)] {
        for (left, right, kind) in seen(spans, (zoom.begin, zoom.end), COLUMNS) {
            let (left, width) = (left * COLUMNS as f64, (right - left) * COLUMNS as f64);
            // Writing to a String cannot fail.
            let _ = write!(paths[kind as usize], "M{left:.0} {top}h{width:.0}v{LANE}h-{width:.0}z");
        }
    }
    let height = 2 * LANE + GAP;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {COLUMNS} {height}\" preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\" \
            aria-hidden=\"true\">"
    );
    for (kind, path) in LaneKind::ALL.into_iter().zip(&paths).filter(|(_, path)| !path.is_empty()) {
        let _ = write!(svg, "<path class=\"{}\" d=\"{path}\"/>", class(kind));
    }
    svg + "</svg>"
}

/// Kinds that the lanes hold.
fn kinds(lanes: &LanePair) -> Vec<LaneKind> {
    let all = [Some(&lanes.measured), lanes.predicted.as_ref()];
    let mut held = [false; LaneKind::ALL.len()];
    for span in all.into_iter().flatten().flat_map(|lanes| lanes.compute.iter().chain(&lanes.messages)) {
        held[span.kind as usize] = true;
    }
    LaneKind::ALL.into_iter().filter(|kind| held[*kind as usize]).collect()
}

/// The measured lanes over the predicted ones, with buttons.
pub(super) fn timeline(lanes: &LanePair, zoom: LaneZoom) -> Node {
    let key: Vec<Node> = kinds(lanes).into_iter().map(|kind| legend_item(class(kind), words(kind))).collect();
    let button = |action: TimelineAction, sign: &'static str, label: &'static str| {
        el("button", &[], &[text(verbatim(sign))]).title(label).label(label).on(PanelAction::Timeline(action))
    };
    let buttons = [
        leaf("button", "", verbatim("‹")).title("Earlier").label("Earlier").on(PanelAction::Pan(false)),
        leaf("button", "", verbatim("›")).title("Later").label("Later").on(PanelAction::Pan(true)),
        button(TimelineAction::Out, "−", "Zoom out"),
        button(TimelineAction::In, "+", "Zoom in"),
        leaf("button", "", "all").on(PanelAction::Timeline(TimelineAction::Fit)),
    ];
    let name = lanes.rank.map_or_else(|| t!("Timeline"), |rank| t!("Timeline of rank {rank}", rank));
    let seconds = |ns: i64| show_seconds(Seconds(ns as f64 * 1e-9));
    let shown = t!("{from} to {to}", from = seconds(zoom.begin), to = seconds(zoom.end));
    let row = |label: Message, lanes: &TraceLanes| {
        let cells = [leaf("span", "muted", label), el("span", &[("class", "lanes")], &[raw(&picture(lanes, zoom))])];
        el("div", &[("class", "pair-row")], &cells)
    };
    let mut rows = vec![row(t!("Measured: compute, communication"), &lanes.measured)];
    if let Some(predicted) = &lanes.predicted {
        rows.push(row(t!("Predicted: compute, communication"), predicted));
    }
    if zoom == lanes.whole() {
        rows.push(axis(zoom.end as f64 * 1e-9));
    }
    Node::from_iter([
        head(name, shown, el("span", &[("class", "key-line")], &key)),
        el("p", &[("class", "row-of-buttons")], &buttons),
        el("div", &[("class", "pairs lanes-grid")], &rows),
    ])
}
