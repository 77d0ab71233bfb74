//! Traffic, the part of it that hides, the part that stays exposed; and the costs of the step.

use crate::view::node::markup::Node;
use crate::view::panel::{Panel, Tab};
use crate::view::panels::issues::only_if;
use crate::web::browser::html::flag;
use crate::web::browser::i18n::say;
use crate::web::document::choice_row::{view_at, views};
use crate::web::document::panel::shown;
use crate::web::document::render::{nodes, patched};
use crate::web::state::State;
use crate::web::tabs::kinds::comparison;
use crate::web::tabs::plan::scaling;
use leptos::prelude::*;

#[component]
pub(crate) fn OverlapPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let chosen = RwSignal::new(0);
    let (names, panels): (Vec<_>, Vec<_>) = Panel::offered(Tab::Overlap).unzip();
    let content = shown(state, move || {
        let panel = *panels.get(chosen.get())?;
        Some(match panel {
            Panel::Overlap(_) => Panel::Overlap(state.view.chosen.get().beside),
            other => other,
        })
    });
    view! {
        <section aria-labelledby="overlap-title" class="stale-able" class:stale=flag(move || state.is_stale())>
            <div class="panel-head">
                <h2 id="overlap-title">{say("Overlap")}</h2>
                <small
                    class="caption"
                >
                    {say("communication against the compute that runs beside it, busiest rank")}
                </small>
                <span class="spring"></span>
                {state.view.embed.is_none().then(|| views(names, chosen))}
            </div>
            <div use:patched=content></div>
        </section>
    }
}

/// Views of the costs.
const COSTS: [&str; 2] = ["costs", "scaling"];

/// Costs of the step and of the budget, and what other sizes would cost.
#[component]
pub(crate) fn CostsPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let chosen = RwSignal::new(0);
    let step = shown(state, || Some(Panel::Step));
    view! {
        <section aria-labelledby="costs-title" class="stale-able" class:stale=flag(move || state.is_stale())>
            <div class="panel-head">
                <h2 id="costs-title">{say("Costs and scaling")}</h2>
                <span class="spring"></span>
                {views(COSTS, chosen)}
            </div>
            {nodes("costs-unfit", move || {
                state.evaluation().map_or_else(Node::none, |evaluation| only_if(&evaluation, state.view.unit.get()))
            })}
            {view_at(chosen, 0, view! { <div use:patched=step></div> {comparison(state)} }.into_any())}
            {view_at(chosen, 1, scaling(state))}
        </section>
    }
}
