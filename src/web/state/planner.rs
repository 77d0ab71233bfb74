//! The search in the background: what is asked of the worker, and what is known.

use crate::core::report::Evaluation;
use crate::core::run::Run;
use crate::core::search::session::{PlanCommand, PlanQuery, PlanResult};
use crate::view::node::action::PlanFold;
use crate::view::panels::runs::bare;
use crate::view::panels::suggest::SearchProgressShown;
use crate::web::worker::{Job, JobProgress, JobRequest, Reply, request};
use leptos::prelude::*;

/// Layouts that are candidates for the next run to measure.
const FIRST: usize = 8;

/// The search in the background: what is asked, and what is known.
#[derive(Clone, Copy)]
pub(crate) struct Planner {
    pub(in crate::web) query: RwSignal<Option<PlanQuery>>,
    /// Open folds of the panel.
    pub(in crate::web) folds: RwSignal<Vec<PlanFold>>,
    pub(in crate::web) result: RwSignal<PlanResult, LocalStorage>,
    pub(in crate::web) request: StoredValue<Option<JobRequest>>,
}

impl Planner {
    /// A planner that is asked nothing yet.
    pub fn new() -> Self {
        Self {
            query: RwSignal::new(None),
            folds: RwSignal::new(PlanFold::OPEN.to_vec()),
            result: RwSignal::new_local(PlanResult::default()),
            request: StoredValue::new(None),
        }
    }

    /// Progress of the search for the run of `evaluation`.
    pub fn searched(self, evaluation: &Evaluation) -> SearchProgressShown {
        self.result.with(|result| SearchProgressShown::of(result, evaluation))
    }

    /// The fastest layouts that were found.
    pub fn layouts(self) -> Vec<Run> {
        let first = |result: &PlanResult| {
            let rows = result.rows.iter().take(FIRST);
            rows.map(|found| bare(&found.run)).collect()
        };
        self.result.with_untracked(first)
    }

    /// Searches layouts of `run`.
    pub(in crate::web) fn follow(self, run: &Run) {
        if self.query.with_untracked(Option::is_none) {
            let query = PlanQuery::improve(run);
            self.ask(Some(&query));
            self.query.set(Some(query));
        } else {
            self.change(|query| query.set_run(run));
        }
    }

    /// Opens a closed fold, closes an open one; a result that only it shows is searched while it is open.
    pub(in crate::web) fn toggle(self, fold: PlanFold) {
        let is_open = self.folds.with_untracked(|folds| folds.contains(&fold));
        self.folds.update(|folds| {
            folds.retain(|one| *one != fold);
            folds.extend((!is_open).then_some(fold));
        });
        if let Some(extra) = fold.extra() {
            self.change(|query| query.apply(PlanCommand::Want(extra, !is_open)));
        }
    }

    /// Changes the query, and asks it where it is another now.
    pub(in crate::web) fn change(self, change: impl FnOnce(&mut PlanQuery)) {
        let mut query = self.query.get_untracked();
        if let Some(query) = &mut query {
            change(query);
        }
        if query == self.query.get_untracked() {
            return;
        }
        self.ask(query.as_ref());
        self.query.set(query);
    }

    fn ask(self, query: Option<&PlanQuery>) {
        if let Some(request) = self.request.get_value() {
            request.cancel();
        }
        self.request.set_value(None);
        let Some(query) = query.filter(|query| !query.is_empty()) else {
            self.result.set(PlanResult::default());
            return;
        };
        let stopped = query.stopped;
        self.result.update(|result| result.done = stopped);
        // The panel may be gone when a reply comes.
        let request = request(Job::Plan(query.clone()), move |progress| match progress {
            JobProgress::Reply(Reply::Plan(result)) => drop(self.result.try_set(*result)),
            JobProgress::Reply(_) => {}
            JobProgress::Done | JobProgress::Failed => {
                self.result.try_update(|result| result.done = true);
            }
        });
        self.request.set_value(Some(request));
    }
}
