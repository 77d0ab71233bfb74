//! The planner's desk: one search with what a person asks of it. Filters, a map, pinned layouts, sweeps, single
//! questions: each in a word ("pin:3.0"), each worked on in slices after what was asked before it.

use super::answers::{Question, largest_micro_batch};
use super::filter::{Axis, Filter};
use super::map::{Map, Picture};
use super::ranking::{Found, Place, Promise, Ranking};
use super::request::{Request, TOP};
use super::sweep::{Grown, Sweep, doublings};
use crate::issue::Issue;
use crate::run::Run;
use std::rc::Rc;

/// Layouts that can be compared side by side.
const MOST_PINNED: usize = 4;
/// Shortest sequence of a sweep.
const LEAST_TOKENS: u64 = 1024;
/// Longest sequence of a sweep.
const MOST_TOKENS: u64 = 1 << 22;
/// Largest batch of a sweep, sequences.
const MOST_SEQUENCES: u64 = 65_536;

/// A single question with what is known of its answer.
#[derive(Clone, Debug)]
pub enum Asked {
    /// One that a sweep answers.
    Sweep(Question, Box<Sweep>),
    /// The largest micro-batch of the run's own layout.
    MicroBatch(Box<Option<Run>>),
}

/// The search of a run, and what was asked of it.
#[derive(Clone, Debug)]
pub struct Desk {
    /// The run as it stands on the page.
    pub run: Run,
    /// The search.
    pub request: Request,
    /// What rows are shown.
    pub filter: Filter,
    /// The filtered rows, while something is filtered.
    pub shown: Option<Ranking>,
    /// Layouts to compare.
    pub pinned: Vec<Rc<Found>>,
    /// What the map is drawn over.
    pub picture: Picture,
    /// The map, while its fold is open.
    pub map: Option<Map>,
    /// A sweep that was asked for.
    pub sweep: Option<Sweep>,
    /// The last question.
    pub asked: Option<Asked>,
    question: Run,
    searching: bool,
    stopped: bool,
    open: Vec<String>,
    last: String,
}

impl Desk {
    /// An empty desk for `run`; nothing is searched until it is asked for.
    ///
    /// # Errors
    /// A run that has no model, GPU or precision.
    pub fn new(run: &Run) -> Result<Self, Vec<Issue>> {
        let question = Request::question(run);
        let request = Request::new(&question, &[], TOP)?;
        Ok(Self {
            run: run.clone(),
            request,
            filter: Filter::default(),
            shown: None,
            pinned: Vec::new(),
            picture: Picture::Fields(Axis::Tp, Axis::Pp),
            map: None,
            sweep: None,
            asked: None,
            question,
            searching: false,
            stopped: false,
            open: vec!["why".to_owned()],
            last: String::new(),
        })
    }

    /// Whether anything was searched.
    #[must_use]
    pub fn is_searching(&self) -> bool {
        self.searching
    }

    /// Whether it was told to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Whether a fold is open.
    #[must_use]
    pub fn is_open(&self, fold: &str) -> bool {
        self.open.iter().any(|open| open == fold)
    }

    /// The run without what a search changes.
    #[must_use]
    pub fn question(&self) -> &Run {
        &self.question
    }

    /// The rows to show.
    #[must_use]
    pub fn rows(&self) -> &[Rc<Found>] {
        let all = self.request.search.best();
        self.shown.as_ref().map_or(all, Ranking::best)
    }

    /// Takes the page's run: another question starts the search anew, another layout changes nothing.
    pub fn look_at(&mut self, run: &Run) {
        if self.run == *run {
            return;
        }
        self.run = run.clone();
        let question = Request::question(run);
        if question == self.question {
            // The largest micro-batch is one layout's.
            self.asked
                .take_if(|asked| matches!(asked, Asked::MicroBatch(_)));
            return;
        }
        if let Ok(next) = Self::new(run) {
            let before = std::mem::replace(self, next);
            self.searching = before.searching;
            self.open = before.open;
            self.filter = before.filter;
            self.picture = before.picture;
            self.last = before.last;
        }
    }

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
            "search" => self.searching = true,
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
            self.pinned.truncate(MOST_PINNED - 1);
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

    /// Works for about `budget` units on what is asked and not answered; true when nothing is left.
    pub fn step(&mut self, budget: u64) -> bool {
        if self.stopped || !self.searching && self.sweep.is_none() && self.asked.is_none() {
            return true;
        }
        let search = &mut self.request.search;
        if self.searching && !search.progress().done {
            search.step(budget);
            return false;
        }
        if self.searching && !self.filter.is_empty() && self.shown.is_none() {
            let kept = self.kept();
            self.shown = Some(Ranking::new(kept, TOP, self.filter.fits));
        }
        if let Some(shown) = self.shown.as_mut().filter(|shown| !shown.is_over()) {
            let mut left = budget;
            while left > 0 && !shown.is_over() {
                left = left.saturating_sub(self.request.search.rank_more(shown).max(1));
            }
            return false;
        }
        if let Some(Asked::Sweep(_, sweep)) = &mut self.asked
            && !sweep.step(budget)
        {
            return false;
        }
        if let Some(sweep) = &mut self.sweep
            && !sweep.step(budget)
        {
            return false;
        }
        if self.searching && self.is_open("map") {
            return self.step_map(budget);
        }
        true
    }

    fn step_map(&mut self, budget: u64) -> bool {
        let search = &mut self.request.search;
        let map = self
            .map
            .get_or_insert_with(|| Map::new(self.picture, &self.question, search, &self.filter));
        map.step(search, budget);
        map.is_over()
    }

    /// The promises that the filter keeps.
    fn kept(&self) -> Vec<Promise> {
        let space = self.request.search.space();
        let mut at = usize::MAX;
        let mut members = Vec::new();
        let mut keeps = |promise: &&Promise| {
            let block = &space.blocks[promise.place.block()];
            if promise.place.block() != at {
                (at, members) = (promise.place.block(), space.members(block));
            }
            let member = members.get(promise.place.member());
            member.is_some_and(|member| self.filter.keeps(space, block, *member))
        };
        let promises = self.request.search.promises().iter();
        promises.filter(|promise| keeps(promise)).copied().collect()
    }

    /// Share of what is asked that is done, about.
    #[must_use]
    pub fn share(&self) -> f64 {
        let progress = self.request.search.progress();
        if self.searching && !progress.done {
            return progress.share;
        }
        let sweep = match &self.asked {
            Some(Asked::Sweep(_, sweep)) if sweep.share() < 1.0 => Some(&**sweep),
            _ => self.sweep.as_ref().filter(|sweep| sweep.share() < 1.0),
        };
        match (sweep, &self.map) {
            (Some(sweep), _) => sweep.share(),
            (None, Some(map)) => map.share(),
            (None, None) => 1.0,
        }
    }
}

/// A place as a word.
#[must_use]
pub fn place(place: Place) -> String {
    format!("{}.{}", place.block(), place.member())
}

/// The sweep called `of`; where nothing fits any more it ends.
fn sweep(question: &Run, of: &str) -> Option<Sweep> {
    let (grown, values) = match of {
        "gpus" => (Grown::Gpus, doublings(1, super::answers::MOST_GPUS)),
        "seq_len" => (Grown::SeqLen, doublings(LEAST_TOKENS, MOST_TOKENS)),
        "global_batch" => (Grown::GlobalBatch, doublings(1, MOST_SEQUENCES)),
        _ => return None,
    };
    Some(Sweep::new(
        question,
        grown,
        values,
        super::sweep::Until::End,
    ))
}

/// The question called `of`.
fn ask(run: &Run, question: &Run, of: &str) -> Option<Asked> {
    let asked = match of {
        "fewest" => Question::FewestGpus,
        "longest" => Question::LongestSequence,
        "cheapest" => Question::Cheapest,
        "micro-batch" => return Some(Asked::MicroBatch(Box::new(largest_micro_batch(run)))),
        _ => return None,
    };
    Some(Asked::Sweep(asked, Box::new(asked.sweep(question))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desk() -> Desk {
        let run = Run {
            gpus: 8,
            global_batch: 16,
            ..Run::default()
        };
        Desk::new(&run).unwrap()
    }

    fn finish(desk: &mut Desk) {
        while !desk.step(10_000) {}
    }

    #[test]
    fn nothing_is_searched_until_asked_and_stop_stops() {
        let mut desk = desk();
        assert!(desk.step(1000) && desk.rows().is_empty());
        desk.hear("1|search");
        assert!(!desk.step(500));
        desk.hear("2|stop");
        assert!(desk.step(1000));
        assert!(!desk.request.search.progress().done);
        desk.hear("3|search");
        finish(&mut desk);
        assert_eq!(desk.rows().len(), TOP);
    }

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

    /// Rows of a filter against a search that is limited to it.
    #[test]
    fn filtered_rows_are_those_of_a_limited_search() {
        let mut desk = desk();
        desk.hear("1|search");
        desk.hear("2|filter:ZeRO=2");
        finish(&mut desk);
        let run = Run {
            zero: 2,
            ..desk.question().clone()
        };
        let mut alone = Request::new(&run, &["zero"], TOP).unwrap();
        alone.search.finish();
        let ours: Vec<f64> = desk
            .rows()
            .iter()
            .map(|row| row.report.step.time_s.0)
            .collect();
        let best = alone.search.best().iter();
        let theirs: Vec<f64> = best.map(|row| row.report.step.time_s.0).collect();
        assert_eq!(ours, theirs);
        assert!(desk.rows().iter().all(|row| row.run.zero == 2));
        desk.hear("3|filter:none");
        finish(&mut desk);
        assert!(desk.rows().iter().any(|row| row.run.zero != 2));
    }

    #[test]
    fn another_layout_keeps_the_search_another_model_starts_anew() {
        let mut desk = desk();
        desk.hear("1|search");
        finish(&mut desk);
        let loaded = desk.rows()[3].run.clone();
        desk.look_at(&loaded);
        assert!(desk.request.search.progress().done);
        desk.look_at(&Run {
            seq_len: 4096,
            ..loaded
        });
        assert!(!desk.request.search.progress().done && desk.is_searching());
    }

    #[test]
    fn the_largest_micro_batch_is_one_layouts() {
        let mut desk = desk();
        desk.hear("1|ask:micro-batch");
        finish(&mut desk);
        assert!(desk.asked.is_some());
        let tp = desk.run.tp * 2;
        let other = Run {
            tp,
            ..desk.run.clone()
        };
        desk.look_at(&other);
        assert!(desk.asked.is_none());
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
