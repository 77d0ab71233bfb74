//! The challenge of a step: a number that its sliders have to bring below or above a mark.

use crate::prelude::*;

/// A challenge.
#[derive(Clone, Debug)]
pub struct Goal {
    /// Its number, as a noun.
    pub(super) subject: Message,
    pub(super) now: f64,
    pub(super) mark: f64,
    pub(super) is_below: bool,
    pub(super) shown: fn(f64) -> String,
}

/// The part of the bar that a mark takes, below and above which a number is wanted.
const MARKS: [f64; 2] = [0.2, 0.8];

impl Goal {
    /// True if the number is beyond its mark, and is printed otherwise than the mark.
    pub fn is_done(&self) -> bool {
        let is_beyond = if self.is_below { self.now < self.mark } else { self.now > self.mark };
        is_beyond && (self.shown)(self.now) != (self.shown)(self.mark)
    }

    /// The challenge, how far it is, and a sign and a word when it is done.
    pub fn view(&self) -> Node {
        let (subject, mark) = (&self.subject, (self.shown)(self.mark));
        let words = if self.is_below {
            t!("Bring {subject} below {mark}.", subject, mark)
        } else {
            t!("Bring {subject} above {mark}.", subject, mark)
        };
        let at = MARKS[usize::from(!self.is_below)];
        let filled = percent("width", (at * self.now / self.mark).clamp(0.0, 1.0));
        let bar = [el("i", &[("style", &filled)], &[]), el("u", &[("style", &percent("left", at))], &[])];
        let now = (self.shown)(self.now);
        let state = if self.is_done() { t!("✓ Done: {now}.", now) } else { t!("Now {now}.", now) };
        let parts = [
            el("p", &[], &[strong("Challenge"), text(" "), text(words)]),
            el("div", &[("class", "goal-bar"), ("aria-hidden", "true")], &bar),
            el("p", &[("class", if self.is_done() { "good" } else { "muted" }), ("role", "status")], &[text(state)]),
        ];
        el("div", &[("class", "goal")], &parts)
    }
}
