//! One simulated future by days: its interruptions, and the time that each day loses.

use super::found::{WholeRunAnswer, duration};
use crate::charts::drawing::{Anchor, Box, Drawing};
use crate::charts::figure::key;
use crate::charts::ink::Ink;
use crate::prelude::*;
use shardscope_core::whole_run::{self, RunEvent, seed};

const DAY: f64 = 86_400.0;
/// Cells of the picture at most.
const MOST: f64 = 140.0;
/// Cells of a column.
const COLUMN: usize = 7;
/// Height of a cell and of the words above a column, pixels.
const CELL: f64 = 19.0;
const WORDS: f64 = 18.0;

/// Lengths of a cell: an hour, a day, a week, four weeks, a year.
const CELLS: [(f64, &str); 5] = [
    (DAY / 24.0, "hour"),
    (DAY, "day"),
    (7.0 * DAY, "week"),
    (28.0 * DAY, "period of four weeks"),
    (364.0 * DAY, "year"),
];

/// Interruptions of a cell, and the shares of its time that repeat work and that stand still.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cell {
    pub count: u64,
    pub repeated: f64,
    pub down: f64,
}

/// The cells of a future, each `length` seconds.
pub(super) fn cells(events: &[RunEvent], end: Seconds, length: f64) -> Vec<Cell> {
    let place = |time: f64| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive, and few
        let at = (time / length).max(0.0) as usize;
        at
    };
    let mut cells = vec![Cell::default(); place(end.0 - 1e-6) + 1];
    for (at, event) in events.iter().enumerate() {
        // A repetition ends where the next interruption begins.
        let next = events.get(at + 1).map_or(end.0, |next| next.at.0);
        let up = event.at.0 + event.down.0;
        if let Some(cell) = cells.get_mut(place(event.at.0)) {
            cell.count += 1;
        }
        for (from, to, is_down) in [(event.at.0, up, true), (up, (up + event.lost.0).min(next), false)] {
            for (index, cell) in cells.iter_mut().enumerate().take(place(to) + 1).skip(place(from)) {
                let start = index as f64 * length;
                let share = (to.min(start + length) - from.max(start)).max(0.0) / length;
                *(if is_down { &mut cell.down } else { &mut cell.repeated }) += share;
            }
        }
    }
    cells
}

/// Least share of a cell that a part of it takes in the picture.
const SEEN: f64 = 0.05;

/// Fills the area of a cell of `length` seconds with the shares that stand still and repeat work; returns their sum.
fn fill_cell(drawing: &mut Drawing, area: Box, cell: &Cell, length: f64) -> f64 {
    let title = t!(
        "{interruptions}, {down} down, {repeated} repeated",
        interruptions = interruptions(cell.count),
        down = duration(Seconds(cell.down * length)),
        repeated = duration(Seconds(cell.repeated * length))
    );
    drawing.fill(area, Ink::Forward, 0.16, title);
    let (down, repeated) = (cell.down.min(1.0), cell.repeated.min((1.0 - cell.down).max(0.0)));
    let part = |x: f64, width: f64| Box { x: area.x + area.width * x, width: area.width * width, ..area };
    // A share is seen however short it is.
    let [seen_down, seen_repeated] = [down, repeated].map(|share| if share > 0.0 { share.max(SEEN) } else { 0.0 });
    if down > 0.0 {
        drawing.fill(part(0.0, seen_down), Ink::Exposed, 1.0, "");
    }
    if repeated > 0.0 {
        let from = seen_down.min(1.0 - SEEN);
        drawing.fill(part(from, seen_repeated.min(1.0 - from)), Ink::Backward, 1.0, "");
    }
    down + repeated
}

/// One simulated future by days; `chosen` is another seed than the Run's own.
pub fn future(run: &Run, answer: &WholeRunAnswer, chosen: Option<u64>) -> Node {
    let setting = &answer.setting;
    let (events, end) = whole_run::future(setting, chosen.unwrap_or_else(|| seed(run)));
    let fits = |(length, _): &&(f64, &str)| end.0 / length <= MOST;
    let (length, name) = CELLS.iter().find(fits).copied().unwrap_or(CELLS[4]);
    let cells = cells(&events, end, length);
    let drawn = &cells[..cells.len().min(1000)];
    let columns = drawn.len().div_ceil(COLUMN);
    let rows = drawn.len().min(COLUMN);
    let pitch = 1.0 / columns.max(8) as f64;
    let mut drawing = Drawing::new(WORDS + rows as f64 * CELL);
    let stride = columns.div_ceil(6);
    for (at, cell) in drawn.iter().enumerate() {
        let (column, row) = (at / COLUMN, at % COLUMN);
        let area =
            Box { x: column as f64 * pitch, width: pitch * 0.92, y: WORDS + row as f64 * CELL, height: CELL - 2.0 };
        if row == 0 && column % stride == 0 {
            let first = t!("{n}", n = (at + 1).to_string());
            drawing.words((area.x, WORDS / 2.0 - 2.0), Anchor::Start, Ink::Muted, first);
        }
        let lost = fill_cell(&mut drawing, area, cell, length);
        if cell.count > 0 && lost < 0.55 && columns <= 22 {
            let place = (area.x + area.width - 0.14 * pitch, area.y + area.height / 2.0);
            drawing.label(place, Ink::Text, verbatim(cell.count.to_string()));
        }
    }
    let lost: f64 = events.iter().map(|event| (event.down + event.lost).0).sum();
    let label = t!(
        "{interruptions}, the last token after {time}",
        interruptions = interruptions(events.len() as u64),
        time = duration(end)
    );
    let words = t!(
        "{said}; {lost} are lost to restarts and repeated work. A cell is one {cell} with its number of interruptions; \
            a column is {column} of them, numbered by its first.",
        said = label.clone(),
        lost = duration(Seconds(lost)),
        cell = name,
        column = COLUMN as u64
    );
    let next = chosen.map_or(1, |seed| seed.wrapping_add(1));
    let mut buttons = vec![link_button("another future").on(Action::Future(Some(next)))];
    if let Some(seed) = chosen {
        buttons.push(text(" · "));
        buttons.push(link_button("the first one").on(Action::Future(None)));
        buttons.push(text(" "));
        buttons.push(leaf("small", "muted", t!("seed {seed}", seed = significant_seed(seed))));
    }
    let head = [leaf("h3", "", "One simulated future"), leaf("span", "spring", ""), Node::from_iter(buttons)];
    Node::from_iter([
        el("div", &[("class", "panel-head")], &head),
        if lost > 0.0 { key(&[("c-exposed", "Restarts"), ("c-backward", "Repeated work")]) } else { Node::none() },
        el("div", &[("class", "future")], &[drawing.inline(label)]),
        leaf("p", "muted note", words),
    ])
}

fn interruptions(count: u64) -> Message {
    if count == 1 { t!("1 interruption") } else { t!("{count} interruptions", count) }
}

fn significant_seed(seed: u64) -> Message {
    if seed < 1_000_000 { verbatim(seed.to_string()) } else { verbatim(significant(seed as f64, 3)) }
}
