//! A rank's list, written as short as it repeats: an order is periodic for most of its length, whatever the number of
//! micro-batches, and what repeats is written, simulated and counted once.

use super::op::OrderItem;
use serde::{Deserialize, Serialize};

/// A part of a row: its items, run some times over, each time `step` micro-batches on.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Repeat {
    /// End of its items in the row's.
    end: u32,
    times: u32,
    step: i32,
}

/// Ops of a rank, in order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RankRow {
    items: Vec<OrderItem>,
    repeats: Vec<Repeat>,
}

/// A part of a row: a part that occurs once has `times` 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loop<'a> {
    /// Its items, as they run first.
    pub body: &'a [OrderItem],
    /// Number of times it runs.
    pub times: u32,
    /// Op indices that it moves on by each time.
    pub step: i32,
}

impl Loop<'_> {
    fn items(self) -> impl Iterator<Item = OrderItem> {
        (0..self.times).flat_map(move |turn| self.turn(turn))
    }
    /// The items of one run, from 0.
    pub fn turn(self, turn: u32) -> impl Iterator<Item = OrderItem> {
        #[allow(clippy::cast_possible_wrap)] // an order has at most 2^21 ops
        let by = turn as i32 * self.step;
        self.body.iter().map(move |item| item.moved(by))
    }
}

impl RankRow {
    /// Appends an item.
    pub fn push(&mut self, item: impl Into<OrderItem>) {
        self.extend([item.into()]);
    }
    /// Appends `body`, run `times` times, each time `step` op indices on.
    pub fn repeat(&mut self, body: impl IntoIterator<Item = OrderItem>, times: u32, step: i32) {
        let before = self.items.len();
        self.items.extend(body);
        let end = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        if times == 0 {
            self.items.truncate(before);
        } else if self.items.len() > before {
            match self.repeats.last_mut() {
                Some(last) if last.times == 1 && times == 1 => last.end = end,
                _ => self.repeats.push(Repeat { end, times, step }),
            }
        }
    }
    /// Its parts.
    pub(crate) fn loops(&self) -> impl Iterator<Item = Loop<'_>> {
        let mut start = 0;
        self.repeats.iter().map(move |repeat| {
            let end = repeat.end as usize;
            let body = &self.items[start..end];
            start = end;
            Loop { body, times: repeat.times, step: repeat.step }
        })
    }
    /// Every item.
    pub fn iter(&self) -> impl Iterator<Item = OrderItem> {
        self.loops().flat_map(Loop::items)
    }
    /// Its items as they are written: those that repeat, once.
    pub fn written(&self) -> &[OrderItem] {
        &self.items
    }
    /// Number of items.
    pub fn len(&self) -> usize {
        self.loops().map(|part| part.body.len() * part.times as usize).sum()
    }
    /// It has none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// The item at `at`, from 0.
    pub fn get(&self, at: usize) -> Option<OrderItem> {
        self.iter().nth(at)
    }
    /// Calls `event` with the items of the first and the last run of each part, and with the number of runs between:
    /// what grows evenly from run to run is largest at either end.
    pub fn ends(&self, mut event: impl FnMut(Visit)) {
        for part in self.loops() {
            part.turn(0).for_each(|item| event(Visit::Item(item)));
            if part.times > 2 {
                event(Visit::Skipped(part.body, part.times - 2));
            }
            if part.times > 1 {
                let last = part.turn(part.times - 1);
                last.for_each(|item| event(Visit::Item(item)));
            }
        }
    }

    /// The row of these items, with what repeats `step` op indices on, or back, written once: loops of at most
    /// `longest` items.
    pub fn folded(items: &[OrderItem], step: i32, longest: usize) -> Self {
        let mut row = Self::default();
        let mut from = 0;
        while let Some(item) = items.get(from) {
            let ahead = &items[from + 1..];
            let found = [step, -step].into_iter().find_map(|step| {
                let next = item.moved(step);
                let length = 1 + ahead.iter().take(longest).position(|item| *item == next)?;
                let pairs = items[from..].iter().zip(&items[from + length..]);
                let same = pairs.take_while(|(item, next)| item.moved(step) == **next);
                let times = 1 + same.count() / length;
                (times > 1).then_some((step, length, times))
            });
            let (step, length, times) = found.unwrap_or((0, 1, 1));
            let body = items[from..from + length].iter().copied();
            row.repeat(body, u32::try_from(times).unwrap_or(u32::MAX), step);
            from += length * times;
        }
        row
    }
    /// The row of items of which nothing is known: they are folded by what repeats behind their first quarter.
    pub fn of(items: Vec<OrderItem>) -> Self {
        let start = items.len() / 4;
        let found = (1..=start).find_map(|length| {
            let (one, next) = (items[start].first(), items[start + length].first());
            let step = next.microbatch.cast_signed() - one.microbatch.cast_signed();
            let both = items[start..start + length].iter().zip(&items[start + length..]);
            let mut both = both.map(|(item, next)| item.moved(step) == *next);
            (step != 0 && both.all(|same| same)).then_some((step, length))
        });
        match found {
            Some((step, length)) => Self::folded(&items, step, length),
            None => items.into(),
        }
    }
    /// The row with its longest loop run `more` times more and what follows moved on by as much; none where nothing
    /// repeats.
    pub(crate) fn stretched(mut self, more: u32) -> Option<Self> {
        let loops = self.loops().enumerate().filter(|(_, part)| part.times > 1);
        let (at, _) = loops.max_by_key(|(_, part)| part.body.len() * part.times as usize)?;
        let repeat = &mut self.repeats[at];
        repeat.times += more;
        let by = repeat.step * i32::try_from(more).ok()?;
        for item in &mut self.items[repeat.end as usize..] {
            *item = item.moved(by);
        }
        Some(self)
    }
}

/// A stop of [`RankRow::ends`].
pub enum Visit<'a> {
    /// An item that runs.
    Item(OrderItem),
    /// Items that run this number of times more.
    Skipped(&'a [OrderItem], u32),
}

impl From<Vec<OrderItem>> for RankRow {
    fn from(items: Vec<OrderItem>) -> Self {
        let mut row = Self::default();
        row.extend(items);
        row
    }
}

impl Extend<OrderItem> for RankRow {
    fn extend<I: IntoIterator<Item = OrderItem>>(&mut self, items: I) {
        self.repeat(items, 1, 0);
    }
}

impl FromIterator<OrderItem> for RankRow {
    fn from_iter<I: IntoIterator<Item = OrderItem>>(items: I) -> Self {
        let mut row = Self::default();
        row.extend(items);
        row
    }
}

/// Rows are equal where they run the same, however they are written.
impl PartialEq for RankRow {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::order::parse_ranks;
    use crate::pipeline::{Op, OpKind};

    fn items(text: &str) -> Vec<OrderItem> {
        parse_ranks(text).unwrap().remove(0)
    }

    #[test]
    fn what_repeats_is_written_once() {
        let items = items("0F0,0F1,0F2,0BW0,0F3,0BW1,0F4,0BW2,0F5,0BW3,0BW4,0BW5");
        let row = RankRow::folded(&items, 1, 2);
        assert!(row.iter().eq(items.iter().copied()));
        let loops: Vec<(usize, u32)> = row.loops().map(|part| (part.body.len(), part.times)).collect();
        assert_eq!(loops, [(1, 3), (2, 3), (1, 3)]);
        assert_eq!(row, RankRow::of(items));
    }

    #[test]
    fn a_stretched_row_has_more_of_what_repeats() {
        let row = RankRow::folded(&items("0F0,0F1,0BW0,0F2,0BW1,0F3,0BW2,0BW3"), 1, 2);
        let longer = items("0F0,0F1,0BW0,0F2,0BW1,0F3,0BW2,0F4,0BW3,0F5,0BW4,0BW5");
        assert_eq!(row.stretched(2), Some(longer.into()));
        let twice = RankRow::folded(&items("0F0,0BW0"), 1, 2);
        assert_eq!(twice.stretched(1), None);
    }

    /// Held after each item: what is largest at the end of a loop of forwards, or at the start of one of backwards.
    #[test]
    fn both_ends_of_a_loop_tell_the_most_that_is_held() {
        let mut row = RankRow::default();
        row.repeat([Op::f(0, 0).into()], 9, 1);
        row.repeat([Op::bw(0, 8).into()], 9, -1);
        let (mut alive, mut most, mut seen) = (0i32, 0, 0);
        row.ends(|part| match part {
            Visit::Item(item) => {
                alive += if item.first().kind == OpKind::F { 1 } else { -1 };
                most = most.max(alive);
                seen += 1;
            }
            Visit::Skipped(body, times) => {
                let change = if body[0].first().kind == OpKind::F { 1 } else { -1 };
                alive += change * times.cast_signed();
            }
        });
        assert_eq!((alive, most, seen, row.len()), (0, 9, 4, 18));
    }
}
