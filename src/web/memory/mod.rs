//! Memory per GPU: bars a pipeline rank or one rank over the step, the verdict against what was measured, and the
//! advice built on it.

mod advice;
mod over_time;

use crate::core::search::better::Gain;
use crate::view::node::markup::Node;
use crate::view::panel::Panel;
use crate::view::panels::memory;
use crate::view::panels::names::name;
use crate::web::browser::html::{flag, text};
use crate::web::browser::i18n::say;
use crate::web::document::choice_row::{view_at, views};
use crate::web::document::panel::{first, fold};
use crate::web::document::render::{nodes, patched};
use crate::web::state::State;
use crate::web::state::evaluated::evaluated;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// Views of the panel; a frame has the first two.
const VIEWS: [&str; 5] = ["by component", "over the step", "every method", "what takes less", "fits but ran out"];

#[component]
pub(crate) fn MemoryPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let chosen = RwSignal::new(0);
    let is = move |at: usize| flag(move || chosen.get() == at);
    let alone = state.view.embed.is_some();
    // Room for as many bars as will come.
    let bars = move || format!("--bars:{}", state.run.with(|run| run.pp.clamp(1, 16)));
    let picture = first(state, move || Panel::MemoryBars(state.rank()));
    let suggested = (!alone).then(|| suggestion(state));
    let bands = first(state, || Panel::MemoryBands);
    let tuning = first(state, || Panel::Tuning);
    let advice = (!alone).then(|| {
        let contents = [advice::methods(state, is(2)), advice::fit(state, is(3)), advice::narrowing(state, is(4))];
        contents.into_iter().enumerate().map(|(at, content)| view_at(chosen, at + 2, content)).collect_view()
    });
    view! {
        <section aria-labelledby="memory-title" class="stale-able" class:stale=flag(move || state.is_stale())>
            <div class="panel-head">
                <h2 id="memory-title">{say("Memory per GPU, by pipeline rank")}</h2>
                <span class="spring"></span>
                {views(VIEWS.into_iter().take(if alone { 2 } else { VIEWS.len() }), chosen)}
            </div>
            <div hidden=flag(move || chosen.get() != 0) on:keydown=move |event| walk(&event)>
                <div style=text(bars) use:patched=picture></div>
                {suggested}
                <div class="bands" use:patched=bands></div>
                {fold(state, "The same as a table", || Panel::MemoryTable)}
                <div use:patched=tuning></div>
            </div>
            {over_time::view(state, is(1))}
            {advice}
        </section>
    }
}

/// The bars of the layout that the search in the background suggests.
fn suggestion(state: State) -> AnyView {
    let run = Memo::new(move |_| {
        let evaluation = state.evaluation()?;
        let searched = state.planner.searched(&evaluation);
        let list = searched.betters.list;
        let leaner = list.iter().find(|better| matches!(better.gain, Gain::Memory | Gain::Fits));
        leaner.or(list.first()).cloned()
    });
    let other = evaluated(move || run.get().map(|better| better.run));
    nodes("suggested", move || {
        let other = other.with(|other| other.evaluation.clone());
        let (Some(own), Some(other), Some(better)) = (state.evaluation(), other, run.get()) else {
            return Node::none();
        };
        let name = name(&better, &own.scenario.run);
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
