//! A figure with its range: how many digits it has, its track and its words.

use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::rl::RlStep;
use shardscope_core::run::presets::{PublishedRun, published};
use shardscope_core::time::Step;

/// Characters of a figure that its column has room for at 28 px.
pub(super) const ROOM: usize = 5;

/// A number with its unit, which stands small behind it.
pub(super) type Part = (String, Message);

/// A time with its range.
#[derive(Clone, Copy)]
pub(super) struct RangedTime {
    pub time: Seconds,
    low: Seconds,
    high: Seconds,
}

impl From<&Step> for RangedTime {
    fn from(step: &Step) -> Self {
        Self { time: step.time_s, low: step.low_s, high: step.high_s }
    }
}

impl From<&RlStep> for RangedTime {
    fn from(step: &RlStep) -> Self {
        Self { time: step.step_s, low: step.low_s, high: step.high_s }
    }
}

impl RangedTime {
    /// True if the range supports no third digit.
    pub fn is_wide(self) -> bool {
        (self.high - self.low) / self.time >= WIDE
    }
}

/// Width of a range over its figure from which on the figure has two digits.
pub(crate) const WIDE: f64 = 0.10;

/// Digits of a figure whose range is `wide` or not.
pub(crate) const fn digits(wide: bool) -> usize {
    if wide { 2 } else { 3 }
}

/// The range of a figure that follows from a step's time, on its track and in words; `field` and whose it is.
pub(super) fn range(
    ranged: RangedTime,
    show: &dyn Fn(Seconds) -> Part,
    inverse: bool,
    (field, whose): (&str, &Scope),
) -> (Node, Message) {
    let RangedTime { time, low, high } = ranged;
    if low >= high {
        return (el("span", &[("class", "whisker")], &[]), t!("as measured"));
    }
    let place = |seconds: Seconds| {
        let ratio = seconds / time;
        (if inverse { 1.0 / ratio } else { ratio } - 0.5).clamp(0.0, 1.0)
    };
    let (from, to) = if inverse { (high, low) } else { (low, high) };
    let marks = [bracket(place(from), place(to)), el("b", &[], &[])];
    let ((low, one), (high, other)) = (show(from), show(to));
    let [low, high] = [("low", low), ("high", high)].map(|(end, shown)| whose.says(format!("{field}, {end}"), shown));
    // A unit that both ends have is said once.
    let low = if one == other { low } else { Message::joined(" ", [low, one]) };
    let high = Message::joined(" ", [high, other]);
    (el("span", &[("class", "whisker")], &marks), t!("{low} to {high}", low, high))
}

/// `low` without its unit, where `high` has the same.
pub(crate) fn without_unit<'a>(low: &'a str, high: &str) -> &'a str {
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, one)), Some((_, other))) if one == other => number,
        _ => low,
    }
}
/// `10.2 s` as number and unit.
pub(super) fn parted(shown: &str) -> Part {
    let (number, unit) = shown.rsplit_once(' ').unwrap_or((shown, ""));
    (number.to_owned(), verbatim(unit))
}

/// A unit behind its number, apart from it where it is read or copied.
pub(super) fn behind(unit: &Message) -> Node {
    el("small", &[], &[text(" "), text(unit)])
}

/// The figure of `field` with its unit, if it has one; one that is long is smaller.
pub(super) fn value((number, unit): &Part, field: &'static str, scope: &Scope) -> Node {
    let class = if number.chars().count() > ROOM { "value long" } else { "value" };
    let unit = if unit.is_empty() { Node::none() } else { behind(unit) };
    el("span", &[("class", class)], &[strong(verbatim(number)).reports(field, scope), unit])
}

/// Beside a figure that follows from a step which is far from the published one.
pub(super) const AS_FAR: &str = "as far off as the step";

/// The published step of `run`, where the range of `step` does not hold it.
pub(super) fn published_outside(run: &Run, step: &Step) -> Option<Seconds> {
    let theirs = published(run).and_then(PublishedRun::step)?;
    (!(step.low_s.0..=step.high_s.0).contains(&theirs.0)).then_some(theirs)
}
