//! The plan panel: runs a planner session in slices between the page's other work and applies the commands of its
//! buttons.

use crate::core::search::session::{PlanCommand, PlanSession};
use crate::core::search::{Found, Place, why};
use crate::view::node::markup::{Action, Node, leaf};
use crate::view::panels::plan;
use crate::view::panels::suggest::{Searched, Suggestion};
use crate::web::html::text;
use crate::web::i18n::{said, say};
use crate::web::render::{Handler, handled};
use crate::web::state::State;
use crate::web::worker::next_turn;
use leptos::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Milliseconds of work between two turns of the event loop: a frame stays in time.
const SLICE_MS: f64 = 10.0;
/// Units of the search between two reads of the clock.
const UNITS: u64 = 1000;
/// How long after the last edit the search begins.
const SETTLE: Duration = Duration::from_millis(300);
/// Milliseconds between two redraws while the work is under way.
const REDRAW_MS: f64 = 120.0;

/// The search and what is shown of it.
#[derive(Clone, Copy)]
struct Panel {
    state: State,
    session: StoredValue<Option<PlanSession>, LocalStorage>,
    /// The progress line, and everything else.
    parts: RwSignal<[Node; 2]>,
    /// Whether work is under way.
    works: RwSignal<bool>,
}

impl Panel {
    /// Takes the Run of the page, which may restart the search.
    fn follow(self) {
        let evaluation = self.state.evaluation();
        let Some(run) = evaluation.map(|evaluation| evaluation.scenario.run.clone()) else {
            return;
        };
        self.session.update_value(|session| match session {
            Some(session) => session.set_run(&run),
            None => *session = PlanSession::new(&run).ok(),
        });
        self.work();
    }

    fn apply(self, command: PlanCommand) {
        self.session.update_value(|session| {
            if let Some(session) = session {
                session.apply(command);
            }
        });
        self.work();
    }

    /// Works until nothing is left to do.
    fn work(self) {
        if self.works.get_untracked() {
            return;
        }
        self.works.set(true);
        leptos::task::spawn_local(async move {
            let mut drawn = 0.0;
            // The panel may be gone by now.
            while let Some(over) = self.slice() {
                if over || js_sys::Date::now() - drawn > REDRAW_MS {
                    self.draw(over);
                    drawn = js_sys::Date::now();
                }
                if over {
                    break;
                }
                next_turn().await;
            }
            let _ = self.works.try_set(false);
        });
    }

    /// One slice; true where nothing is left.
    fn slice(self) -> Option<bool> {
        self.session.try_update_value(|session| {
            let begun = js_sys::Date::now();
            let Some(session) = session else {
                return true;
            };
            while js_sys::Date::now() - begun < SLICE_MS {
                if session.step(UNITS) {
                    return true;
                }
            }
            false
        })
    }

    fn draw(self, over: bool) {
        let unit = self.state.unit.get_untracked();
        let parts = self.session.with_value(|session| {
            let panel = |session| plan::panel(session, over, unit);
            session.as_ref().map_or_else(nothing_to_plan, panel)
        });
        self.parts.set(parts);
        let searched = self.session.with_value(|session| {
            let request = session.as_ref()?.request.as_ref()?;
            let progress = request.search.progress();
            let own = untrack(|| self.state.evaluation())?;
            let own = Found {
                run: own.scenario.run.clone(),
                report: own.report.clone(),
                place: Place::new(0, 0),
            };
            let best = request.search.best().first();
            Some(Searched {
                done: progress.done,
                evaluated: progress.evaluated,
                feasible: progress.feasible,
                best: best.map(|found| Suggestion {
                    run: Arc::new(found.run.clone()),
                    time: found.report.step.time_s,
                    peak: found.report.memory.peak_bytes,
                    why: why(found, &own),
                }),
            })
        });
        self.state.searched.set(searched.unwrap_or_default());
    }
}

fn nothing_to_plan() -> [Node; 2] {
    let words = "This run has no model, GPU or precision to plan for.";
    [Node::none(), leaf("p", "muted", words)]
}

/// The plan panel: the Plan button starts the search; from then on it follows the Run.
pub fn plan_panel(state: State) -> AnyView {
    let panel = Panel {
        state,
        session: StoredValue::new_local(None),
        parts: RwSignal::default(),
        works: RwSignal::new(false),
    };
    let pending = StoredValue::new(None::<TimeoutHandle>);
    Effect::new(move |_| {
        state.unit.track();
        panel.follow();
        if let Some(before) = pending.get_value() {
            before.clear();
        }
        // Begun once nothing was edited for a while.
        let search = move || panel.apply(PlanCommand::Search);
        pending.set_value(set_timeout_with_handle(search, SETTLE).ok());
    });
    let parts = Signal::derive(move || panel.parts.get().into_iter().collect());
    let label = text(move || said(if panel.works.get() { "Stop" } else { "Plan" }));
    let press = move |_| {
        panel.apply(if panel.works.get_untracked() {
            PlanCommand::Stop
        } else {
            PlanCommand::Search
        });
    };
    let handler: Handler = Arc::new(move |action| {
        let Action::Plan(command) = action else {
            return false;
        };
        panel.apply(*command);
        true
    });
    view! {
        <section aria-labelledby="plan-title">
            <div class="panel-head">
                <h2 id="plan-title">{say("Plan: the fastest layouts that fit")}</h2>
                <span class="spring"></span>
                <button class="main" on:click=press>{label}</button>
            </div>
            <div class="plan" aria-busy=text(move || panel.works.get().to_string()) use:handled=(parts, handler)></div>
        </section>
    }
    .into_any()
}
