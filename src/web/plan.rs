//! The plan panel: commands of its buttons change a query, a job answers it.

use crate::core::report::Evaluation;
use crate::core::run::Run;
use crate::core::search::session::{PlanCommand, PlanQuery, PlanResult};
use crate::view::node::markup::Action;
use crate::view::panels::plan;
use crate::view::panels::runs::bare;
use crate::view::panels::suggest::Searched;
use crate::web::html::{effect, text};
use crate::web::i18n::{say, translated};
use crate::web::render::{Handler, handled};
use crate::web::state::State;
use crate::web::worker::{Job, Progress, Reply, Request, request};
use leptos::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// How long after the last edit the search begins.
const SETTLE: Duration = Duration::from_millis(300);
/// Layouts that are candidates for the next run to measure.
const FIRST: usize = 8;

/// The search in the background: what is asked, and what is known.
#[derive(Clone, Copy)]
pub(crate) struct Planner {
    query: RwSignal<Option<PlanQuery>>,
    result: RwSignal<PlanResult, LocalStorage>,
    request: StoredValue<Option<Request>>,
}

impl Planner {
    /// Of which nothing is asked.
    pub fn new() -> Self {
        Self {
            query: RwSignal::new(None),
            result: RwSignal::new_local(PlanResult::default()),
            request: StoredValue::new(None),
        }
    }

    /// What is known of the run of `evaluation`.
    pub fn searched(self, evaluation: &Evaluation) -> Searched {
        self.query.with(|query| {
            let Some(query) = query else {
                return Searched::default();
            };
            self.result
                .with(|result| Searched::of(query, result, evaluation))
        })
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
    fn follow(self, run: &Run) {
        if self.query.with_untracked(Option::is_none) {
            let query = PlanQuery::search(run);
            self.ask(Some(&query));
            self.query.set(Some(query));
        } else {
            self.change(|query| query.set_run(run));
        }
    }

    /// Changes the query, and asks it where it is another now.
    fn change(self, change: impl FnOnce(&mut PlanQuery)) {
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
            Progress::Reply(Reply::Plan(result)) => drop(self.result.try_set(*result)),
            Progress::Reply(_) => {}
            Progress::Done | Progress::Failed => {
                self.result.try_update(|result| result.done = true);
            }
        });
        self.request.set_value(Some(request));
    }
}

/// The layouts: a search in the background that follows the Run.
pub(crate) fn plan_panel(state: State) -> AnyView {
    let panel = state.planner;
    let pending = StoredValue::new(None::<TimeoutHandle>);
    effect(move || {
        let Some(evaluation) = state.evaluation() else {
            return;
        };
        if let Some(before) = pending.get_value() {
            before.clear();
        }
        let search = move || panel.follow(&evaluation.scenario.run);
        pending.set_value(set_timeout_with_handle(search, SETTLE).ok());
    });
    let parts = Signal::derive(move || {
        let evaluation = state.evaluation();
        panel
            .query
            .with(|query| {
                let query = query.as_ref()?;
                panel.result.with(|result| {
                    let view = plan::View {
                        query,
                        result,
                        own: evaluation.as_deref(),
                        unit: state.unit.get(),
                    };
                    Some(plan::panel(&view))
                })
            })
            .into_iter()
            .flatten()
            .collect()
    });
    let works = move || panel.result.with(|result| !result.done);
    let label = text(move || translated(if works() { "Stop" } else { "Search again" }));
    let press = move |_| {
        let works = untrack(works);
        panel.change(|query| {
            query.apply(if works {
                PlanCommand::Stop
            } else {
                PlanCommand::Search
            });
        });
    };
    let handler: Handler = Arc::new(move |action| {
        let Action::Plan(command) = action else {
            return false;
        };
        panel.change(|query| query.apply(*command));
        true
    });
    view! {
        <section aria-labelledby="plan-title">
            <div class="panel-head">
                <h2 id="plan-title">{say("Layouts")}</h2>
                <small>{say("every TP, PP, CP, EP, ZeRO, micro-batch, schedule and recomputation that divides this cluster")}</small>
                <span class="spring"></span>
                <button on:click=press>{label}</button>
            </div>
            <div class="plan" aria-busy=text(move || works().to_string()) use:handled=(parts, handler)></div>
        </section>
    }
    .into_any()
}
