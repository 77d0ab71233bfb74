//! The planner's desk: one search with what a person asks of it. Filters, a map, pinned layouts, sweeps, single
//! questions: each in a word ("pin:3.0"), each worked on in slices after what was asked before it.

mod asked;
mod words;

pub use asked::Asked;
pub use words::place;

use super::engine::Search;
use super::filter::{Axis, Filter};
use super::map::{Map, Picture};
use super::ranking::{Found, Promise, Ranking};
use super::request::{Request, TOP};
use super::sweep::Sweep;
use crate::issue::Issue;
use crate::run::Run;
use std::rc::Rc;

/// The search of a run, and what was asked of it.
#[derive(Clone, Debug)]
pub struct Desk {
    /// The run as it stands on the page.
    pub run: Run,
    /// The search, once it was asked for: its space is the dearest part of a desk.
    pub request: Option<Request>,
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
        run.model.resolve()?;
        run.gpu.resolve()?;
        run.precision.resolve()?;
        Ok(Self {
            run: run.clone(),
            request: None,
            filter: Filter::default(),
            shown: None,
            pinned: Vec::new(),
            picture: Picture::Fields(Axis::Tp, Axis::Pp),
            map: None,
            sweep: None,
            asked: None,
            question: Request::question(run),
            stopped: false,
            open: vec!["why".to_owned()],
            last: String::new(),
        })
    }

    /// Whether anything was searched.
    #[must_use]
    pub fn is_searching(&self) -> bool {
        self.request.is_some()
    }

    /// Begins the search, or lets it go on.
    fn search(&mut self) {
        if self.request.is_none() {
            self.request = Request::new(&self.question, &[], TOP).ok();
        }
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
        let all = self.request.as_ref().map(|request| request.search.best());
        let shown = self.shown.as_ref().map(Ranking::best);
        shown.or(all).unwrap_or_default()
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
            self.open = before.open;
            self.filter = before.filter;
            self.picture = before.picture;
            self.last = before.last;
            if before.request.is_some() {
                self.search();
            }
        }
    }

    /// Works for about `budget` units on what is asked and not answered; true when nothing is left.
    pub fn step(&mut self, budget: u64) -> bool {
        if self.stopped {
            return true;
        }
        if let Some(request) = &mut self.request {
            let search = &mut request.search;
            if !search.progress().done {
                search.step(budget);
                return false;
            }
            if !self.filter.is_empty() && self.shown.is_none() {
                let kept = kept(search, &self.filter);
                self.shown = Some(Ranking::new(kept, TOP, self.filter.fits));
            }
            if let Some(shown) = self.shown.as_mut().filter(|shown| !shown.is_over()) {
                let mut left = budget;
                while left > 0 && !shown.is_over() {
                    left = left.saturating_sub(search.rank_more(shown).max(1));
                }
                return false;
            }
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
        if self.is_open("map")
            && let Some(request) = &mut self.request
        {
            let search = &mut request.search;
            let map = self.map.get_or_insert_with(|| {
                Map::new(self.picture, &self.question, search, &self.filter)
            });
            map.step(search, budget);
            return map.is_over();
        }
        true
    }

    /// Share of what is asked that is done, about.
    #[must_use]
    pub fn share(&self) -> f64 {
        if let Some(request) = &self.request
            && let progress = request.search.progress()
            && !progress.done
        {
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

/// The promises of `search` that `filter` keeps.
fn kept(search: &Search, filter: &Filter) -> Vec<Promise> {
    let space = search.space();
    let mut at = usize::MAX;
    let mut members = Vec::new();
    let mut keeps = |promise: &&Promise| {
        let block = &space.blocks[promise.place.block()];
        if promise.place.block() != at {
            (at, members) = (promise.place.block(), space.members(block));
        }
        let member = members.get(promise.place.member());
        member.is_some_and(|member| filter.keeps(space, block, *member))
    };
    let promises = search.promises().iter();
    promises.filter(|promise| keeps(promise)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn desk() -> Desk {
        let run = Run {
            gpus: 8,
            global_batch: 16,
            ..Run::default()
        };
        Desk::new(&run).unwrap()
    }

    pub(super) fn finish(desk: &mut Desk) {
        while !desk.step(10_000) {}
    }

    fn is_done(desk: &Desk) -> bool {
        let request = desk.request.as_ref().unwrap();
        request.search.progress().done
    }

    #[test]
    fn nothing_is_searched_until_asked_and_stop_stops() {
        let mut desk = desk();
        assert!(desk.step(1000) && desk.rows().is_empty());
        desk.look_at(&Run {
            seq_len: 4096,
            ..desk.run.clone()
        });
        desk.hear("0|open:map");
        assert!(desk.step(1000) && desk.request.is_none());
        desk.hear("1|search");
        assert!(!desk.step(500));
        desk.hear("2|stop");
        assert!(desk.step(1000));
        assert!(!is_done(&desk));
        desk.hear("3|search");
        finish(&mut desk);
        assert_eq!(desk.rows().len(), TOP);
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
        assert!(is_done(&desk));
        desk.look_at(&Run {
            seq_len: 4096,
            ..loaded
        });
        assert!(!is_done(&desk) && desk.is_searching());
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
}
