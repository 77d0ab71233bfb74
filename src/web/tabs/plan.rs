//! The plan panel: commands of its buttons change a query, a job answers it.

use crate::core::search::session::PlanCommand;
use crate::view::node::markup::{Node, PanelAction};
use crate::view::panels::plan;
use crate::web::browser::html::{effect, text};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::render::{Handler, handled};
use crate::web::state::State;
use leptos::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Pause after the last edit before the search begins.
const SETTLE: Duration = Duration::from_millis(300);

/// Follows the Run with a search in the background.
pub(crate) fn follow(state: State) {
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
}

/// `view` of what the search found.
fn part(state: State, view: fn(&plan::PlanView) -> Node) -> AnyView {
    let panel = state.planner;
    let content = Signal::derive(move || {
        let evaluation = state.evaluation();
        let found = panel.query.with(|query| {
            let query = query.as_ref()?;
            panel.result.with(|result| {
                let own = evaluation.as_deref();
                let input =
                    plan::PlanView { query, result, own, folds: &panel.folds.get(), unit: state.view.unit.get() };
                Some(view(&input))
            })
        });
        found.unwrap_or_default()
    });
    let works = move || panel.result.with(|result| !result.done);
    let handler: Handler = Arc::new(move |action| match action {
        PanelAction::Plan(command) => panel.change(|query| query.apply(command)),
        PanelAction::Fold(fold) => panel.toggle(fold),
        _ => {}
    });
    view! { <div class="plan" aria-busy=text(move || works().to_string()) use:handled=(content, handler)></div> }
        .into_any()
}

/// The fewest GPUs, the longest sequence, and what other sizes would cost.
pub(crate) fn scaling(state: State) -> AnyView {
    part(state, plan::scaling)
}

/// The layouts that were found.
pub(crate) fn layouts(state: State) -> AnyView {
    let panel = state.planner;
    let works = move || panel.result.with(|result| !result.done);
    let label = text(move || translated(if works() { "Stop" } else { "Search again" }));
    let press = move |_| {
        let works = untrack(works);
        panel.change(|query| {
            query.apply(if works { PlanCommand::Stop } else { PlanCommand::Search });
        });
    };
    view! {
        <section aria-labelledby="plan-title">
            <div class="panel-head">
                <h2 id="plan-title">{say("Layouts")}</h2>
                <small class="caption">{say("every TP, PP, CP, EP, ZeRO, micro-batch, schedule and recomputation that \
                    divides this cluster and that this software runs")}</small>
                <span class="spring"></span>
                <button on:click=press>{label}</button>
            </div>
            {part(state, |view| plan::panel(view).into_iter().collect())}
        </section>
    }
    .into_any()
}
