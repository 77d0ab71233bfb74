//! The drawer about a number: the formula, the same with this run's values, the source, what it leaves out.

use crate::explain::Term;
use crate::report::{Figure, explain};
use crate::ui::state::State;
use leptos::prelude::*;

/// The drawer; before anything is asked it explains the fullest GPU.
#[component]
pub fn About() -> impl IntoView {
    let state = expect_context::<State>();
    let term = move || {
        let evaluation = state.evaluation()?;
        let peak = Figure::Memory(evaluation.report.memory.peak_stage);
        explain(&evaluation, state.figure.get().unwrap_or(peak))
            .or_else(|| explain(&evaluation, peak))
    };
    view! {
        <button class="close-sheet" aria-label="Close" on:click=move |_| state.drawer.set(false)>"✕"</button>
        <small class="muted">"About this number"</small>
        {move || match term() {
            Some(term) => whole(&term).into_any(),
            None => view! { <p class="muted">"Choose a figure to see where it comes from."</p> }.into_any(),
        }}
    }
}

fn whole(term: &Term) -> impl IntoView + use<> {
    let nested: Vec<&Term> = term
        .parts
        .iter()
        .filter(|part| !part.formula.is_empty())
        .collect();
    view! {
        <div class="term">
            <h2>{capitalised(&term.name)}</h2>
            {formula(term)}
            {inputs(term)}
            {nested.into_iter().map(nested_term).collect_view()}
            {source(term)}
            {notes(term)}
        </div>
    }
}

fn nested_term(term: &Term) -> AnyView {
    let deeper = term
        .parts
        .iter()
        .filter(|part| !part.formula.is_empty())
        .map(nested_term);
    view! {
        <h3>{term.symbol} ": " {term.name.clone()}</h3>
        {formula(term)}
        {inputs(term)}
        {source(term)}
        {notes(term)}
        {deeper.collect_view()}
    }
    .into_any()
}

fn formula(term: &Term) -> impl IntoView + use<> {
    let line = (!term.formula.is_empty()).then(|| {
        view! {
            <p class="formula">{term.symbol} " = " {term.formula.clone()}</p>
            <p class="numbers">"= " {term.substituted()}</p>
        }
    });
    view! { {line} <p class="result">"= " {term.shown()}</p> }
}

fn inputs(term: &Term) -> impl IntoView + use<> {
    let row = |part: &Term| {
        view! {
            <dt>{part.symbol}</dt>
            <dd>{part.name.clone()}</dd>
            <dd class="amount">{part.shown()}</dd>
        }
    };
    (!term.parts.is_empty()).then(|| view! { <dl>{term.parts.iter().map(row).collect_view()}</dl> })
}

fn source(term: &Term) -> impl IntoView + use<> {
    term.source.map(|(source, place)| {
        let name = format!("{}, {place}", source.short);
        let body = if source.locator.starts_with("http") {
            view! { <a href=source.locator target="_blank" rel="noopener" title=source.title>{name}</a> }.into_any()
        } else {
            view! { <span title=source.title>{name}</span> }.into_any()
        };
        view! { <p class="muted">"Source: " {body}</p> }
    })
}

fn notes(term: &Term) -> impl IntoView + use<> {
    let items = term
        .notes
        .iter()
        .map(|note| view! { <li>{note.clone()}</li> });
    (!term.notes.is_empty()).then(|| view! { <ul>{items.collect_view()}</ul> })
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
