//! Memory per GPU: bars a pipeline rank or one rank over the step, the verdict against what was measured, and the advice
//! built on it.

mod advice;
mod over_time;

use crate::core::run::registry::field;
use crate::view::node::markup::Node;
use crate::view::panel::Panel;
use crate::view::panels::memory;
use crate::view::panels::suggest::brief;
use crate::web::evaluated::evaluated;
use crate::web::field::choice_select;
use crate::web::html::{flag, text};
use crate::web::i18n::say;
use crate::web::panel::{fold, shown};
use crate::web::render::{nodes, patched};
use crate::web::state::State;
use leptos::prelude::*;
use std::sync::Arc;
use wasm_bindgen::JsCast;

/// The memory panel.
#[component]
pub(crate) fn MemoryPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let over_time = RwSignal::new(false);
    let alone = state.view.embed.is_some();
    let method = (!alone).then(|| {
        field("memory_method").map(|field| {
            view! { <span class="tools"><small>{say("method")}" "</small>{choice_select(state, field, "Memory method")}</span> }
        })
    });
    let toggle = move |to: bool, label: &'static str| {
        view! {
            <button
                class="toggle-link"
                aria-pressed=text(move || (over_time.get() == to).to_string())
                on:click=move |_| over_time.set(to)
            >{say(label)}</button>
        }
    };
    // Room for as many bars as will come.
    let bars = move || format!("--bars:{}", state.run.with(|run| run.pp.clamp(1, 16)));
    let advice = (!alone).then(|| [advice::methods(state), advice::fit(state), advice::narrowing(state)]);
    let picture = shown(state, move || Some(Panel::MemoryBars(state.rank())));
    let suggested = (!alone).then(|| suggestion(state));
    let bands = shown(state, || Some(Panel::MemoryBands));
    let tuning = shown(state, || Some(Panel::Tuning));
    view! {
        <section aria-labelledby="memory-title" class="stale-able" class:stale=flag(move || state.is_stale())>
            <div class="panel-head">
                <h2 id="memory-title">{say("Memory per GPU, by pipeline rank")}</h2>
                <span class="spring"></span>
                {method}
                <span class="tools" role="group" aria-label=say("Picture")>
                    {toggle(false, "by component")}
                    {toggle(true, "over the step")}
                </span>
            </div>
            <div hidden=flag(move || over_time.get()) on:keydown=move |event| walk(&event)>
                <div style=text(bars) use:patched=picture></div>
                {suggested}
                {fold(state, "Show as a table, with the named parts", || Panel::MemoryTable)}
            </div>
            {over_time::view(state, over_time.into())}
            <div class="bands" use:patched=bands></div>
            <div use:patched=tuning></div>
            {advice}
        </section>
    }
}

/// The bars of the layout that the search in the background suggests.
fn suggestion(state: State) -> AnyView {
    let run = Memo::new(move |_| {
        let own = state.evaluation()?;
        let searched = state.planner.searched(&own);
        searched.better(&own).map(|better| Arc::clone(&better.run))
    });
    let other = evaluated(move || run.get().map(|run| (*run).clone()));
    nodes("suggested", move || {
        let other = other.with(|other| other.evaluation.clone());
        let (Some(own), Some(other), true) = (state.evaluation(), other, run.with(Option::is_some)) else {
            return Node::none();
        };
        let name = brief(&other.scenario.run, &own.scenario.run);
        let memories = (&own.report.memory, &other.report.memory);
        memory::suggested(memories.0, memories.1, name, state.view.unit.get())
    })
    .into_any()
}

/// Arrow keys move over the parts of the bars: left and right within one, up and down between them.
fn walk(event: &web_sys::KeyboardEvent) {
    let target = event.target();
    let Some(here) = target
        .and_then(|target| target.dyn_into::<web_sys::Element>().ok())
        .filter(|element| element.class_list().contains("segment"))
    else {
        return;
    };
    let row = || here.closest(".bar-row").ok().flatten();
    // The part of the same component in another bar.
    let alike = |row: Option<web_sys::Element>| {
        let component = here.class_name().replace(" sliver", "");
        let component = component.replace("segment ", ".");
        row?.query_selector(&component).ok().flatten()
    };
    let next = match event.key().as_str() {
        "ArrowRight" => here.next_element_sibling(),
        "ArrowLeft" => here.previous_element_sibling(),
        "ArrowDown" => alike(row().and_then(|row| row.next_element_sibling())),
        "ArrowUp" => alike(row().and_then(|row| row.previous_element_sibling())),
        _ => return,
    };
    event.prevent_default();
    if let Some(next) = next.and_then(|next| next.dyn_into::<web_sys::HtmlElement>().ok())
        && next.class_list().contains("segment")
    {
        let _ = next.focus();
    }
}
