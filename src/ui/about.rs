//! The drawer about a number.

use crate::report::{Figure, explain};
use crate::scene::about::about;
use crate::scene::markup::span;
use crate::ui::html::html;
use crate::ui::state::State;
use leptos::prelude::*;

/// The drawer; before anything is asked it explains the fullest GPU.
#[component]
pub fn About() -> impl IntoView {
    let state = expect_context::<State>();
    let content = move || {
        let term = state.evaluation().and_then(|evaluation| {
            let peak = Figure::Memory(evaluation.report.memory.peak_stage);
            explain(&evaluation, state.figure.get().unwrap_or(peak))
                .or_else(|| explain(&evaluation, peak))
        });
        term.map_or_else(
            || span("p", "muted", "Choose a figure to see where it comes from."),
            |term| about(&term),
        )
    };
    view! {
        <button class="close-sheet" aria-label="Close" on:click=move |_| state.drawer.set(false)>"✕"</button>
        <small class="muted">"About this number"</small>
        {html("", content)}
    }
}
