//! A planner session: one search with its filters, map, pinned layouts, sweeps and questions. Commands change what is
//! wanted; [`PlanSession::step`] does the work in slices.

mod command;

pub use command::{Fold, PlanCommand};

use super::answers::Answer;
use super::engine::Search;
use super::filter::Filter;
use super::map::{Map, Picture};
use super::ranking::{Found, Promise, Ranking};
use super::request::{Request, TOP};
use super::sweep::Sweep;
use crate::issue::Issue;
use crate::run::Run;
use std::rc::Rc;

/// The search of a run, and what is shown of it.
#[derive(Clone, Debug)]
pub struct PlanSession {
    /// The run as it stands on the page.
    pub run: Run,
    /// The search, once started: its space takes more time and memory than the rest of a session.
    pub request: Option<Request>,
    /// What rows are shown.
    pub filter: Filter,
    /// The filtered rows, while something is filtered.
    pub filtered: Option<Ranking>,
    /// Layouts to compare.
    pub pinned: Vec<Rc<Found>>,
    /// What the map is drawn over.
    pub picture: Picture,
    /// The map, while its fold is open.
    pub map: Option<Map>,
    /// The last sweep.
    pub sweep: Option<Sweep>,
    /// The answer to the last question.
    pub answer: Option<Answer>,
    question: Run,
    stopped: bool,
    open: Vec<Fold>,
}

impl PlanSession {
    /// An empty session for `run`; [`PlanCommand::Search`] starts the search.
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
            filtered: None,
            pinned: Vec::new(),
            picture: Picture::default(),
            map: None,
            sweep: None,
            answer: None,
            question: Request::question(run),
            stopped: false,
            open: vec![Fold::Why],
        })
    }

    /// Whether a search was started.
    #[must_use]
    pub fn is_searching(&self) -> bool {
        self.request.is_some()
    }

    /// Starts the search unless it was started before.
    fn search(&mut self) {
        if self.request.is_none() {
            self.request = Request::new(&self.question, &[], TOP).ok();
        }
    }

    /// Whether the work is paused.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Whether a fold is open.
    #[must_use]
    pub fn is_open(&self, fold: Fold) -> bool {
        self.open.contains(&fold)
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
        let filtered = self.filtered.as_ref().map(Ranking::best);
        filtered.or(all).unwrap_or_default()
    }

    /// Takes the page's run: another question restarts the search, another layout changes nothing.
    pub fn set_run(&mut self, run: &Run) {
        if self.run == *run {
            return;
        }
        self.run = run.clone();
        let question = Request::question(run);
        if question == self.question {
            // The largest micro-batch belongs to one layout.
            self.answer
                .take_if(|answer| matches!(answer, Answer::MicroBatch(_)));
            return;
        }
        if let Ok(next) = Self::new(run) {
            let before = std::mem::replace(self, next);
            self.open = before.open;
            self.filter = before.filter;
            self.picture = before.picture;
            if before.request.is_some() {
                self.search();
            }
        }
    }

    /// Works for about `budget` units on what is not finished; true when nothing is left to do.
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
            if !self.filter.is_empty() && self.filtered.is_none() {
                let kept = kept(search, &self.filter);
                self.filtered = Some(Ranking::new(kept, TOP, self.filter.fits));
            }
            let filtered = self.filtered.as_mut();
            if let Some(ranking) = filtered.filter(|ranking| !ranking.is_over()) {
                let mut left = budget;
                while left > 0 && !ranking.is_over() {
                    left = left.saturating_sub(search.rank_more(ranking).max(1));
                }
                return false;
            }
        }
        if let Some(Answer::Sweep(_, sweep)) = &mut self.answer
            && !sweep.step(budget)
        {
            return false;
        }
        if let Some(sweep) = &mut self.sweep
            && !sweep.step(budget)
        {
            return false;
        }
        if self.is_open(Fold::Map)
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

    /// Approximate share of the work that is done.
    #[must_use]
    pub fn share(&self) -> f64 {
        if let Some(request) = &self.request
            && let progress = request.search.progress()
            && !progress.done
        {
            return progress.share;
        }
        let sweep = match &self.answer {
            Some(Answer::Sweep(_, sweep)) if sweep.share() < 1.0 => Some(&**sweep),
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
    use super::super::filter::Axis;
    use super::*;

    pub(super) fn session() -> PlanSession {
        let run = Run {
            gpus: 8,
            global_batch: 16,
            ..Run::default()
        };
        PlanSession::new(&run).unwrap()
    }

    pub(super) fn finish(session: &mut PlanSession) {
        while !session.step(10_000) {}
    }

    fn is_done(session: &PlanSession) -> bool {
        let request = session.request.as_ref().unwrap();
        request.search.progress().done
    }

    #[test]
    fn nothing_is_searched_before_the_command_and_stop_pauses() {
        let mut session = session();
        assert!(session.step(1000) && session.rows().is_empty());
        session.set_run(&Run {
            seq_len: 4096,
            ..session.run.clone()
        });
        session.apply(PlanCommand::Toggle(Fold::Map));
        assert!(session.step(1000) && session.request.is_none());
        session.apply(PlanCommand::Search);
        assert!(!session.step(500));
        session.apply(PlanCommand::Stop);
        assert!(session.step(1000));
        assert!(!is_done(&session));
        session.apply(PlanCommand::Search);
        finish(&mut session);
        assert_eq!(session.rows().len(), TOP);
    }

    /// Rows of a filter against a search that is limited to it.
    #[test]
    fn filtered_rows_are_those_of_a_limited_search() {
        let mut session = session();
        session.apply(PlanCommand::Search);
        session.apply(PlanCommand::Filter(Axis::Zero, 2));
        finish(&mut session);
        let run = Run {
            zero: 2,
            ..session.question().clone()
        };
        let mut alone = Request::new(&run, &["zero"], TOP).unwrap();
        alone.search.finish();
        let ours: Vec<f64> = session
            .rows()
            .iter()
            .map(|row| row.report.step.time_s.0)
            .collect();
        let best = alone.search.best().iter();
        let theirs: Vec<f64> = best.map(|row| row.report.step.time_s.0).collect();
        assert_eq!(ours, theirs);
        assert!(session.rows().iter().all(|row| row.run.zero == 2));
        session.apply(PlanCommand::ClearFilter);
        finish(&mut session);
        assert!(session.rows().iter().any(|row| row.run.zero != 2));
    }

    #[test]
    fn another_layout_keeps_the_search_another_question_restarts_it() {
        let mut session = session();
        session.apply(PlanCommand::Search);
        finish(&mut session);
        let loaded = session.rows()[3].run.clone();
        session.set_run(&loaded);
        assert!(is_done(&session));
        session.set_run(&Run {
            seq_len: 4096,
            ..loaded
        });
        assert!(!is_done(&session) && session.is_searching());
    }

    #[test]
    fn the_largest_micro_batch_belongs_to_one_layout() {
        let mut session = session();
        session.apply(PlanCommand::AskMicroBatch);
        finish(&mut session);
        assert!(session.answer.is_some());
        let tp = session.run.tp * 2;
        let other = Run {
            tp,
            ..session.run.clone()
        };
        session.set_run(&other);
        assert!(session.answer.is_none());
    }
}
