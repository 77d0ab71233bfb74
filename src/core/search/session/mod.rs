//! The planner, as a query and the work that answers it. A [`PlanQuery`] is the request: commands change it, and it
//! can be sent to another thread. A [`PlanSession`] does the work in slices, keeps what it found from one query to the
//! next, and gives a [`PlanResult`] at any time.

mod query;
mod result;

pub use query::{Asked, Extra, PlanCommand, PlanQuery, RowOrder};
pub use result::PlanResult;

use super::answers::{AnswerState, MAX_GPUS, PlanQuestion, fewer_gpus, largest_micro_batch};
use super::better::{Betters, Improving};
use super::engine::Search;
use super::fastest::Fastest;
use super::filter::Filter;
use super::front::Front;
use super::map::Map;
use super::neighbours::{Comparing, Neighbours};
use super::promise::Promise;
use super::ranking::{FoundLayout, Ranking};
use super::request::{PlanRequest, TOP};
use super::sweep::{Grown, Sweep, Until, doublings};
use crate::issue::Issue;
use crate::run::Run;
use std::rc::Rc;

/// Units of work of a search on the page, where it can be stopped and shows what it has: twice those of a request.
const WORK: u64 = 2 * super::WORK;
/// Shortest sequence of a sweep.
const MIN_TOKENS: u64 = 1024;
/// Longest sequence of a sweep.
const MAX_TOKENS: u64 = 1 << 22;
/// Largest batch of a sweep, sequences.
const MAX_SEQUENCES: u64 = 65_536;

/// The work for an answer.
#[derive(Clone, Debug)]
enum Answering {
    Sweep(PlanQuestion, Box<Sweep>),
    MicroBatch(Box<Option<Run>>),
}

/// The work that answers queries about one question: a Run without the fields that a search changes.
#[derive(Clone, Debug, Default)]
pub struct PlanSession {
    query: PlanQuery,
    /// Units of work of its search.
    work: u64,
    question: Run,
    /// Its space takes more time and memory than the rest of a session: made when the search starts.
    request: Option<PlanRequest>,
    /// The filtered rows, while something is filtered.
    filtered: Option<Ranking>,
    front: Option<Front>,
    cheapest: Option<Sweep>,
    improving: Option<Improving>,
    neighbours: Option<Comparing>,
    /// The search for the fastest alone, where that of all rows ended at its limit of work.
    fastest: Option<Fastest>,
    map: Option<Map>,
    sweep: Option<Sweep>,
    answering: Option<Answering>,
}

impl PlanSession {
    /// A session for `query`, in which nothing is done yet.
    ///
    /// # Errors
    /// A run that has no model, GPU or precision.
    pub fn new(query: PlanQuery) -> Result<Self, Vec<Issue>> {
        Self::with_work(query, WORK)
    }

    /// A session for `query` whose search stops after about `work` units.
    ///
    /// # Errors
    /// A run that has no model, GPU or precision.
    pub fn with_work(query: PlanQuery, work: u64) -> Result<Self, Vec<Issue>> {
        query.run.model.resolve()?;
        query.run.gpu.resolve()?;
        query.run.precision.resolve()?;
        let question = PlanRequest::question(&query.run);
        Ok(Self { query, work, question, ..Self::default() })
    }

    /// True if its work answers queries about `run`.
    pub fn is_about(&self, run: &Run) -> bool {
        PlanRequest::question(run) == self.question
    }

    /// Takes another query of the same question; work that it does not change is kept.
    pub fn set(&mut self, query: &PlanQuery) {
        if self.query == *query {
            return;
        }
        let before = std::mem::replace(&mut self.query, query.clone());
        let now = &self.query;
        if before.also != now.also {
            (self.request, self.improving, self.neighbours) = (None, None, None);
        }
        if before.filter != now.filter || before.also != now.also {
            (self.filtered, self.front, self.map) = (None, None, None);
        }
        if before.picture != now.picture {
            self.map = None;
        }
        if before.sweep != now.sweep {
            self.sweep = None;
        }
        // The largest micro-batch belongs to one layout.
        let of_layout = now.asked == Some(Asked::MicroBatch) && before.run != now.run;
        if before.asked != now.asked || of_layout {
            self.answering = None;
        }
    }

    pub fn rows(&self) -> &[Rc<FoundLayout>] {
        let ranked = self.request.as_ref().map(|request| request.search.best());
        let filtered = self.filtered.as_ref().map(Ranking::best);
        filtered.or(ranked).unwrap_or_default()
    }

    /// Works for about `budget` units on what is not finished; true when nothing is left to do.
    pub fn step(&mut self, budget: u64) -> bool {
        if self.query.stopped {
            return true;
        }
        if self.query.searches {
            if self.request.is_none() {
                let request = PlanRequest::able(&self.question, &[], TOP).ok();
                let (also, work) = (self.query.also, self.work);
                self.request = request.map(|request| {
                    let mut request = if also { request.also(&self.question) } else { request };
                    request.search.allow(work);
                    request.search.unpair();
                    request.search.propose();
                    request
                });
            }
            if !self.search(budget) || !self.improve(budget) || !self.front(budget) || !self.compare(budget) {
                return false;
            }
        }
        if self.query.order == RowOrder::Cheapest {
            let question = &self.question;
            let sweep = self.cheapest.get_or_insert_with(|| fewer_gpus(question));
            if !sweep.step(budget) {
                return false;
            }
        }
        if let Some(asked) = self.query.asked {
            let answering = self.answering.get_or_insert_with(|| match asked {
                Asked::Sweep(one) => Answering::Sweep(one, Box::new(one.sweep(&self.question))),
                Asked::MicroBatch => Answering::MicroBatch(Box::new(largest_micro_batch(&self.query.run))),
            });
            if let Answering::Sweep(_, sweep) = answering
                && !sweep.step(budget)
            {
                return false;
            }
        }
        if let Some(grown) = self.query.sweep {
            let sweep = self.sweep.get_or_insert_with(|| sweep(&self.question, grown));
            if !sweep.step(budget) {
                return false;
            }
        }
        if self.query.wants(Extra::Map)
            && let Some(request) = &mut self.request
        {
            let search = &mut request.search;
            let map = self.map.get_or_insert_with(|| {
                let query = &self.query;
                Map::new(query.picture, &self.question, search, &query.filter)
            });
            map.step(search, budget);
            return map.is_over();
        }
        true
    }

    /// Works on the rows; true when they are found.
    fn search(&mut self, budget: u64) -> bool {
        let Some(request) = &mut self.request else {
            return true;
        };
        let (search, filter) = (&mut request.search, &self.query.filter);
        if !search.progress().is_over() {
            search.step(budget);
            return false;
        }
        if filter.is_empty() {
            return true;
        }
        let ranking = self.filtered.get_or_insert_with(|| Ranking::new(&kept(search, filter), TOP, filter.fits));
        let mut left = budget;
        while left > 0 && !ranking.is_over() {
            left = left.saturating_sub(search.rank_more(ranking).max(1));
        }
        ranking.is_over()
    }

    /// Works on the layouts that do better than that of the run; true when they are found.
    fn improve(&mut self, budget: u64) -> bool {
        let Some(request) = self.request.as_mut().filter(|_| self.query.improves) else {
            return true;
        };
        let (search, run) = (&mut request.search, &self.query.run);
        if search.progress().stopped.is_some() {
            if self.fastest.is_none() {
                self.fastest = Fastest::new(&self.question, &[]).ok();
            }
            if self.fastest.as_mut().is_some_and(|fastest| !fastest.step(budget)) {
                return false;
            }
        }
        if self.improving.as_ref().is_none_or(|improving| improving.run() != run) {
            let known = self.fastest.as_ref().and_then(Fastest::found).cloned();
            self.improving = Improving::new(run, search, known);
        }
        self.improving.as_mut().is_none_or(|improving| improving.step(search, budget))
    }

    /// Works on the neighbours of the run's layout where they are shown; true when they are known.
    fn compare(&mut self, budget: u64) -> bool {
        let wanted = self.query.wants(Extra::Neighbours);
        let Some(request) = self.request.as_mut().filter(|_| wanted) else {
            return true;
        };
        let (search, run) = (&mut request.search, &self.query.run);
        if self.neighbours.as_ref().is_none_or(|comparing| comparing.run() != run) {
            self.neighbours = Some(Comparing::new(run, search));
        }
        self.neighbours.as_mut().is_none_or(|comparing| comparing.step(search, budget))
    }

    /// Works on the Pareto front where it is shown; true when it is found.
    fn front(&mut self, budget: u64) -> bool {
        let (query, request) = (&self.query, self.request.as_mut());
        let wanted = query.wants(Extra::Front) || query.order == RowOrder::Leanest;
        let Some(request) = request.filter(|_| wanted) else {
            return true;
        };
        let search = &mut request.search;
        if self.front.is_none() && !search.time_all(budget) {
            return false;
        }
        let front = self.front.get_or_insert_with(|| {
            let filter = &query.filter;
            Front::new(&kept(search, filter), filter.fits)
        });
        front.step(search, budget)
    }

    /// Approximate share of the present work that is done.
    fn share(&self) -> f64 {
        if let Some(request) = &self.request
            && let progress = request.search.progress()
            && !progress.is_over()
        {
            return progress.share;
        }
        let answering = match &self.answering {
            Some(Answering::Sweep(_, sweep)) => Some(&**sweep),
            _ => None,
        };
        let sweeps = [self.cheapest.as_ref(), answering, self.sweep.as_ref()];
        let sweep = sweeps.into_iter().flatten().find(|sweep| sweep.share() < 1.0);
        match (sweep, &self.map) {
            (Some(sweep), _) => sweep.share(),
            (None, Some(map)) => map.found.share(),
            (None, None) => 1.0,
        }
    }

    /// Layouts that do better than that of the run, as far as they are known.
    fn betters(&self) -> Betters {
        let improving = self.improving.as_ref().filter(|improving| *improving.run() == self.query.run);
        improving.map(|improving| improving.found().clone()).unwrap_or_default()
    }

    /// Neighbours of the layout of the run, as far as they are known.
    fn neighbours(&self) -> Neighbours {
        let comparing = self.neighbours.as_ref().filter(|comparing| *comparing.run() == self.query.run);
        comparing.map(|comparing| comparing.found().clone()).unwrap_or_default()
    }

    /// The answer so far; `done` is the last value of [`PlanSession::step`].
    pub fn result(&self, done: bool) -> PlanResult {
        let search = self.request.as_ref().map(|request| &request.search);
        let found = |search: &Search| {
            let pinned = self.query.pinned.iter();
            pinned.filter_map(|place| search.found(*place)).collect()
        };
        let map = self.map.as_ref().filter(|_| self.query.wants(Extra::Map));
        PlanResult {
            run: self.query.run.clone(),
            progress: search.map(Search::progress),
            share: self.share(),
            done,
            rows: self.rows().to_vec(),
            layouts: self.front.as_ref().map(Front::layouts).unwrap_or_default(),
            cheapest: self.cheapest.as_ref().map(|sweep| sweep.found.clone()),
            best: search.and_then(|search| search.best().first().cloned()),
            betters: self.betters(),
            neighbours: self.neighbours(),
            proposal: search.and_then(|search| search.proposal().cloned()),
            pinned: search.map(found).unwrap_or_default(),
            map: map.map(|map| map.found.clone()),
            sweep: self.sweep.as_ref().map(|sweep| sweep.found.clone()),
            answer: self.answering.as_ref().map(|answering| match answering {
                Answering::Sweep(question, sweep) => AnswerState::Sweep(*question, sweep.found.clone()),
                Answering::MicroBatch(run) => AnswerState::MicroBatch(run.clone()),
            }),
        }
    }
}

fn sweep(run: &Run, grown: Grown) -> Sweep {
    let values = match grown {
        Grown::Gpus => doublings(1, MAX_GPUS),
        Grown::SeqLen => doublings(MIN_TOKENS, MAX_TOKENS),
        Grown::GlobalBatch => doublings(1, MAX_SEQUENCES),
    };
    Sweep::new(run, grown, values, Until::End)
}

/// The promises of `search` that `filter` keeps.
fn kept(search: &Search, filter: &Filter) -> Vec<Promise> {
    if filter.is_empty() {
        return search.promises().to_vec();
    }
    let space = search.space();
    let keeps =
        |promise: &&Promise| space.at(promise.place).is_some_and(|(block, member)| filter.keeps(space, block, member));
    search.promises().iter().filter(keeps).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::super::filter::LayoutAxis;
    use super::*;

    fn query() -> PlanQuery {
        PlanQuery::new(&Run { gpus: 8, global_batch: 16, ..Run::default() })
    }

    fn finish(session: &mut PlanSession) -> PlanResult {
        while !session.step(10_000) {}
        session.result(true)
    }

    #[test]
    fn nothing_is_searched_before_the_command_and_stop_pauses() {
        let mut query = query();
        query.apply(PlanCommand::Want(Extra::Map, false));
        let mut session = PlanSession::new(query.clone()).unwrap();
        assert!(session.step(1000) && session.request.is_none());
        query.apply(PlanCommand::Search);
        session.set(&query);
        assert!(!session.step(500));
        query.apply(PlanCommand::Stop);
        session.set(&query);
        assert!(session.step(1000) && !session.result(true).progress.is_some_and(|progress| progress.is_over()));
        query.apply(PlanCommand::Search);
        session.set(&query);
        assert_eq!(finish(&mut session).rows.len(), TOP);
    }

    /// Rows of a filter against a search that is limited to it.
    #[test]
    fn filtered_rows_are_those_of_a_limited_search() {
        // It runs every ZeRO stage.
        let run = query().run.with_texts(&[("stack", "megatron-2025")]).unwrap();
        let mut query = PlanQuery::new(&run);
        query.apply(PlanCommand::Search);
        query.apply(PlanCommand::Filter(LayoutAxis::Zero, 2));
        let mut session = PlanSession::new(query.clone()).unwrap();
        let rows = finish(&mut session).rows;
        let run = Run { zero: 2, ..session.question.clone() };
        let mut alone = PlanRequest::able(&run, &["zero"], TOP).unwrap();
        alone.search.finish();
        // Where there is one replica every ZeRO stage is the same layout: the limited search lists it, the filter
        // drops it.
        let shared = |rows: &[Rc<FoundLayout>]| -> Vec<f64> {
            let shares = |row: &&Rc<FoundLayout>| row.run.data_parallel().is_some_and(|replicas| replicas > 1);
            rows.iter().filter(shares).map(|row| row.figures.time_s.0).collect()
        };
        let (filtered, limited) = (shared(&rows), shared(alone.search.best()));
        assert!(limited.len() > TOP / 2);
        assert!(filtered.iter().zip(&limited).all(|(one, other)| one == other), "{filtered:?} {limited:?}");
        assert!(rows.iter().all(|row| row.run.zero == 2));
        query.apply(PlanCommand::ClearFilter);
        session.set(&query);
        assert!(finish(&mut session).rows.iter().any(|row| row.run.zero != 2));
    }

    #[test]
    fn another_layout_keeps_the_search_another_question_does_not() {
        let mut query = query();
        query.apply(PlanCommand::Search);
        let mut session = PlanSession::new(query.clone()).unwrap();
        let loaded = finish(&mut session).rows[3].run.clone();
        assert!(session.is_about(&loaded));
        query.set_run(&loaded);
        session.set(&query);
        assert!(session.result(false).progress.is_some_and(|progress| progress.is_over()));
        assert!(!session.is_about(&Run { seq_len: 4096, ..loaded }));
    }

    #[test]
    fn a_pinned_row_stays_whatever_the_filter_hides() {
        let mut query = query();
        query.apply(PlanCommand::Search);
        let mut session = PlanSession::new(query.clone()).unwrap();
        let row = Rc::clone(&finish(&mut session).rows[1]);
        query.apply(PlanCommand::Pin(row.place));
        query.apply(PlanCommand::Filter(LayoutAxis::Zero, (row.run.zero + 1) % 4));
        session.set(&query);
        let result = finish(&mut session);
        assert!(!result.rows.contains(&row));
        assert_eq!(result.pinned, [row]);
    }
}
