//! What a person says to the desk, word by word: "pin:3.0", "filter:ZeRO=2", "map:across=PP".

use super::Desk;
use super::asked::{ask, sweep};
use crate::search::filter::{Axis, Filter};
use crate::search::map::Picture;
use crate::search::ranking::{Found, Place};
use std::rc::Rc;

/// Layouts that can be compared side by side.
const MAX_PINNED: usize = 4;

impl Desk {
    /// Does what `said` asks: "number|word". The same number again is the same wish, and done already.
    pub fn hear(&mut self, said: &str) {
        let (number, word) = said.split_once('|').unwrap_or((said, ""));
        if number == self.last || word.is_empty() {
            return;
        }
        number.clone_into(&mut self.last);
        let (verb, of) = word.split_once(':').unwrap_or((word, ""));
        // What is on the desk can be looked at without going on.
        if !matches!(verb, "pin" | "unpin") {
            self.stopped = verb == "stop";
        }
        match verb {
            "search" => self.search(),
            "open" => self.fold(of),
            "filter" => self.filter(of),
            "pin" => self.pin(of),
            "unpin" => self.pinned.clear(),
            "map" => self.draw(of),
            "sweep" => self.sweep = sweep(&self.question, of),
            "ask" => self.asked = ask(&self.run, &self.question, of),
            _ => {}
        }
    }

    fn fold(&mut self, name: &str) {
        if self.is_open(name) {
            self.open.retain(|open| open != name);
        } else {
            self.open.push(name.to_owned());
        }
    }

    fn filter(&mut self, of: &str) {
        let (name, value) = of.split_once('=').unwrap_or((of, ""));
        match (name, Axis::named(name), value.parse()) {
            ("fits", ..) => self.filter.fits = !self.filter.fits,
            ("none", ..) => self.filter = Filter::default(),
            (_, Some(axis), Ok(value)) => self.filter.press(axis, value),
            _ => {}
        }
        (self.shown, self.map) = (None, None);
    }

    /// Pins a row, or the row again lets it go; `place` as [`place`] writes it.
    fn pin(&mut self, of: &str) {
        let same = |found: &Rc<Found>| place(found.place) == of;
        if self.pinned.iter().any(same) {
            self.pinned.retain(|found| !same(found));
        } else if let Some(found) = self.rows().iter().find(|found| same(found)) {
            let found = Rc::clone(found);
            self.pinned.truncate(MAX_PINNED - 1);
            self.pinned.push(found);
        }
    }

    fn draw(&mut self, of: &str) {
        let (across, down) = match self.picture {
            Picture::Fields(across, down) => (across, down),
            _ => (Axis::Tp, Axis::Pp),
        };
        let (what, axis) = of.split_once('=').unwrap_or((of, ""));
        self.picture = match (what, Axis::named(axis)) {
            ("sizes", _) => Picture::Sizes,
            ("layouts", _) => Picture::Layouts,
            // The same field on both sides: they change places.
            ("across", Some(axis)) if axis == down => Picture::Fields(axis, across),
            ("across", Some(axis)) => Picture::Fields(axis, down),
            ("down", Some(axis)) if axis == across => Picture::Fields(down, axis),
            ("down", Some(axis)) => Picture::Fields(across, axis),
            _ => Picture::Fields(across, down),
        };
        self.map = None;
    }
}

/// A place as a word.
#[must_use]
pub fn place(place: Place) -> String {
    format!("{}.{}", place.block(), place.member())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{desk, finish};
    use super::*;

    #[test]
    fn the_same_number_again_changes_nothing() {
        let mut desk = desk();
        desk.hear("1|search");
        finish(&mut desk);
        let pin = format!("2|pin:{}", place(desk.rows()[1].place));
        desk.hear(&pin);
        desk.hear(&pin);
        assert_eq!(desk.pinned.len(), 1);
        desk.hear(&pin.replace("2|", "3|"));
        assert!(desk.pinned.is_empty());
    }

    #[test]
    fn the_axes_of_a_map_change_places_rather_than_meet() {
        let mut desk = desk();
        desk.hear("1|map:across=PP");
        assert_eq!(desk.picture, Picture::Fields(Axis::Pp, Axis::Tp));
        desk.hear("2|map:down=ZeRO");
        assert_eq!(desk.picture, Picture::Fields(Axis::Pp, Axis::Zero));
        desk.hear("3|map:sizes");
        assert_eq!(desk.picture, Picture::Sizes);
    }
}
