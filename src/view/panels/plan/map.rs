//! The map: the best layout of every cell of two axes, by lightness of one hue and the number in it; an empty cell says
//! why it is empty.

use super::controls::{PlanView, chips_of, fold};
use super::rows::layout;
use crate::node::action::PlanFold;
use crate::prelude::*;
use crate::words;
use shardscope_core::search::filter::LayoutAxis;
use shardscope_core::search::map::{Cells, MapAxes, MapCell};
use shardscope_core::search::session::PlanCommand;
use shardscope_core::search::{Axes, FoundLayout};

/// Strongest tint of a cell: the ink stays readable on it, on light and on dark paper.
const TINT: f64 = 50.0;

pub fn map(view: &PlanView, axes: &Axes) -> Node {
    fold(view, PlanFold::Map, "Map: the best layout over two axes", || {
        let grid = match &view.result.map {
            Some(map) => drawn(view, map, axes),
            None => muted("being searched…"),
        };
        Node::from_iter([grid, choices(view, axes)])
    })
}

fn choices(view: &PlanView, axes: &Axes) -> Node {
    let current = view.query.picture;
    let chip = |picture: MapAxes, label: Message| (PlanCommand::Map(picture), picture == current, label);
    let several = || {
        let axes_of_maps = LayoutAxis::ALL.into_iter();
        axes_of_maps.filter(|axis| axis.values(axes).len() > 1)
    };
    let published =
        [chip(MapAxes::Sizes, "model size by nodes".into()), chip(MapAxes::Layouts, "TP, PP, CP by GPUs".into())];
    let across = several().map(|axis| chip(current.with_across(axis), axis.name().into()));
    let down = several().map(|axis| chip(current.with_down(axis), axis.name().into()));
    let lines = [chips_of("Columns", across), chips_of("Rows", down), chips_of("As published", published.into_iter())];
    el("div", &[("class", "filters")], &lines)
}

/// The words in the corner of the map, and those below it.
fn map_words(picture: MapAxes) -> (Message, &'static str) {
    match picture {
        MapAxes::Fields(across, down) => (
            t!("{down} by {across}", down = down.name(), across = across.name()),
            "Best step time of each cell; outlined: your sizes; ▲ tight. Press a cell to use its layout.",
        ),
        MapAxes::Sizes => (
            t!("model by nodes"),
            "MFU of the best layout of each model on each number of nodes, with this run's GPUs, sequence and batch; \
                1F1B, even splits, with and without recomputation, as the playbook searched.",
        ),
        MapAxes::Layouts => (
            t!("TP, PP, CP by GPUs"),
            "MFU of the best layout of each (TP, PP, CP) on each number of GPUs, this batch; rows are the most \
                promising here.",
        ),
    }
}

fn drawn(view: &PlanView, map: &Cells, axes: &Axes) -> Node {
    let present = view.own.map(|own| (own.scenario.run.tp, own.scenario.run.pp));
    let sizes = [LayoutAxis::Tp, LayoutAxis::Pp];
    let by_sizes =
        matches!(map.picture, MapAxes::Fields(across, down) if sizes.contains(&across) && sizes.contains(&down));
    let by_time = matches!(map.picture, MapAxes::Fields(..));
    let value = |found: &FoundLayout| {
        let step = &found.figures;
        if by_time { 1.0 / step.time_s.0 } else { step.mfu }
    };
    let best = map.cells.iter().filter_map(|cell| match cell {
        MapCell::Best(found) => Some(value(found)),
        _ => None,
    });
    let best = best.fold(f64::MIN_POSITIVE, f64::max);
    let (corner, words) = map_words(map.picture);
    let head: Node = std::iter::once(leaf("th", "", &corner))
        .chain(map.across.iter().map(|head| leaf("th", "", head.label(axes))))
        .collect();
    let rows: Vec<Node> = map
        .down
        .iter()
        .enumerate()
        .map(|(row, head)| {
            let cells = (0..map.across.len()).map(|column| match map.cell(column, row) {
                MapCell::Best(found) => {
                    let figure =
                        if by_time { show_seconds(found.figures.time_s) } else { show_percent(found.figures.mfu) };
                    let mine = by_sizes && present == Some((found.run.tp, found.run.pp));
                    let peak = view.unit.number(found.figures.peak.bytes);
                    filled(found, [figure, peak], value(found) / best, mine)
                }
                MapCell::Open => leaf("td", "muted", "…"),
                MapCell::Tight => over(
                    (Verdict::Tight, words::MAY_RUN_OUT),
                    "Every layout here may run out of memory: its estimate is above the usable memory",
                ),
                MapCell::Out => {
                    over((Verdict::Oom, words::OUT), "Every layout here that this software runs is out of memory")
                }
                MapCell::Void => empty(verbatim("–"), "No layout divides here"),
            });
            let name = std::iter::once(el("th", &[("scope", "row")], &[text(head.label(axes))]));
            el("tr", &[], &[name.chain(cells).collect()])
        })
        .collect();
    let table = grid("map", head, rows.into_iter().collect());
    let note = t!("{map} Second line: peak, {unit}; – where nothing divides.", map = words, unit = view.unit.name());
    let again = if map.done { Node::none() } else { footnote("The rest is being searched…") };
    Node::from_iter([scrolled("Map of layouts", table), again, footnote(&note)])
}

/// The best layout of a cell; `mine` where the page's own run is of the cell.
fn filled(found: &FoundLayout, [figure, peak]: [String; 2], share: f64, mine: bool) -> Node {
    let tint = format!("background:color-mix(in srgb, var(--accent) {:.0}%, var(--bg))", share.powi(2) * TINT);
    let title = layout(found);
    let (class, sign, _) = words::verdict_of(&found.run, &found.figures.peak);
    let peak = if class == words::sign(Verdict::Fits).0 { peak } else { format!("{sign}{peak}") };
    let lines = [text(verbatim(figure)), aside(verbatim(peak))];
    let button = load("plain", &found.run, &title, &lines);
    let class = if mine { "mine" } else { "" };
    el("td", &[("class", class), ("style", &tint)], &[button])
}

/// A cell of which no layout is listed.
fn over((verdict, word): (Verdict, &'static str), why: &'static str) -> Node {
    empty(Message::joined("", [verbatim(words::sign(verdict).1), word.into()]), why)
}

fn empty(figure: Message, why: &'static str) -> Node {
    el("td", &[("class", "muted void")], &[text(figure)]).title(why)
}
