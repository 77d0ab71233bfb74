//! Kinds of GPUs for the budget, compared while the tab of the costs is open; their prices are typed beside the table.

use crate::core::message::Message;
use crate::core::run::Run;
use crate::core::run::length::RunLength;
use crate::core::run::presets::GPUS;
use crate::core::search::kinds::{KindRow, places};
use crate::core::t;
use crate::view::node::markup::Node;
use crate::view::panels::budget::{read_price, show_price, sign, with_prices};
use crate::view::panels::kinds::kinds;
use crate::view::views::PanelsTab;
use crate::web::browser::html::{effect, flag, text, view_of};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::render::patched;
use crate::web::state::State;
use crate::web::worker::asked::WorkerQuestion;
use crate::web::worker::{Job, Reply};
use leptos::prelude::*;
use std::time::Duration;

/// Pause after the last edit before the search begins, as that of the layouts.
const SETTLE: Duration = Duration::from_millis(300);

/// What a search of the kinds depends on: not prices, budget or length.
fn question(run: &Run) -> Run {
    Run { tokens_total: None, price_per_gpu_hour: None, length: RunLength::default(), ..run.clone() }
}

/// Has the kinds searched for the Run, once it has not changed for [`SETTLE`] and the tab of costs is open.
fn search_settled(state: State, asked: WorkerQuestion<(Run, Vec<usize>), Vec<KindRow>>, compared: Memo<Vec<usize>>) {
    let pending = StoredValue::new(None::<TimeoutHandle>);
    effect(move || {
        if state.view.tab.get() != PanelsTab::Costs {
            return;
        }
        let Some(evaluation) = state.evaluation() else {
            return;
        };
        let run = evaluation.scenario.run.clone();
        let of = (question(&run), compared.get());
        if asked.of.with_untracked(|before| before.as_ref() == Some(&of)) {
            return;
        }
        if let Some(before) = pending.get_value() {
            before.clear();
        }
        let search = move || {
            let job = Job::Kinds(run.clone(), of.1.clone());
            asked.ask(of.clone(), job, |rows, reply| {
                if let Reply::Kind(row) = reply {
                    rows.push(row);
                }
            });
        };
        pending.set_value(set_timeout_with_handle(search, SETTLE).ok());
    });
}

/// The comparison.
pub(crate) fn comparison(state: State) -> AnyView {
    let asked = WorkerQuestion::<(Run, Vec<usize>), Vec<KindRow>>::new();
    // Kinds that were added and have no price yet.
    let added = RwSignal::new(Vec::<usize>::new());
    let compared = Memo::new(move |_| {
        let mut all = state.run.with(places);
        added.with(|added| all.extend(added));
        all.sort_unstable();
        all.dedup();
        all
    });
    search_settled(state, asked, compared);
    let rows = view_of(move || {
        let Some(evaluation) = state.evaluation() else {
            return Node::none();
        };
        asked.found.with(|rows| kinds(&evaluation, rows, !asked.works.get()))
    });
    let is_stale = move || {
        let of = state.run.with(question);
        asked.of.with(|before| before.as_ref().is_some_and(|(run, _)| *run != of))
    };
    let prices = move || compared.get().into_iter().map(|place| price_of(state, place)).collect_view();
    let others = move || {
        let now = compared.get();
        let rest = GPUS.iter().enumerate().filter(|(place, _)| !now.contains(place));
        rest.map(|(place, preset)| view! { <option value=place.to_string()>{preset.choice.label}</option> })
            .collect_view()
    };
    let add = move |event: web_sys::Event| {
        if let Ok(place) = event_target_value(&event).parse() {
            added.update(|added| added.push(place));
        }
        // The list has lost this kind, and would show the one after it as if that were chosen.
        event_target::<web_sys::HtmlSelectElement>(&event).set_value("");
    };
    let wrong = RwSignal::new(None::<Message>);
    let all = move |event: web_sys::Event| match state
        .run
        .with_untracked(|run| with_prices(run, &event_target_value(&event)))
    {
        Ok(run) => {
            wrong.set(None);
            // Each price stands in its own field.
            event_target::<web_sys::HtmlInputElement>(&event).set_value("");
            if state.run.with_untracked(|now| *now != run) {
                state.run.set(run);
            }
        }
        Err(words) => wrong.set(Some(words)),
    };
    let message = text(move || wrong.get().map(translated).unwrap_or_default());
    view! {
        <section class="kinds" aria-labelledby="kinds-title">
            <div class="panel-head">
                <h3 id="kinds-title">{say("Kinds of GPUs for this budget")}</h3>
                <span class="spring"></span>
                <select aria-label=say("Compare another GPU") on:change=add>
                    <option value="" selected=true>{say("Compare another GPU")}</option>
                    {others}
                </select>
            </div>
            <div class="kind-prices" role="group" aria-label=say("Price of a GPU-hour")>
                <span class="muted">{say("Price of a GPU-hour")}</span>
                {prices}
                <label>
                    {say("several at once")} " "
                    <input
                        type="text"
                        class="several"
                        autocomplete="off"
                        placeholder="H100 2.5, A100 1.5"
                        aria-invalid=text(move || wrong.with(Option::is_some).to_string())
                        on:change=all
                    />
                </label>
                <span class="issue error" role="status">{message}</span>
            </div>
            <div class="stale-able" class:stale=flag(is_stale) use:patched=rows></div>
        </section>
    }
    .into_any()
}

/// The input of a kind's price.
fn price_of(state: State, place: usize) -> Option<AnyView> {
    let choice = &GPUS.get(place)?.choice;
    let id = choice.id;
    let now = text(move || {
        let shown = |run: &Run| run.price(id).map(|price| show_price(&sign(run), price));
        state.run.with(shown).unwrap_or_default()
    });
    let wrong = RwSignal::new(false);
    let typed = move |event| {
        let typed = event_target_value(&event);
        let number = read_price(&typed).1;
        let price = if number.is_empty() { Some(None) } else { number.parse().ok().map(Some) };
        let run = price.and_then(|price| state.run.with_untracked(|run| run.with_price(id, price)));
        wrong.set(run.is_none());
        if let Some(run) = run.filter(|run| state.run.with_untracked(|now| now != run)) {
            state.run.set(run);
        }
    };
    let label = text(move || translated(t!("Price of a GPU-hour of {gpu}", gpu = choice.label)));
    let view = view! {
        <label>
            {choice.label} " "
            <input
                type="text"
                inputmode="decimal"
                autocomplete="off"
                size="6"
                aria-label=label
                placeholder=say("price")
                prop:value=now
                aria-invalid=text(move || wrong.get().to_string())
                on:change=typed
            />
        </label>
    };
    Some(view.into_any())
}
