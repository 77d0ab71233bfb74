//! The plan: every layout searched in the back room, slice by slice, with a button that stops it.

use crate::ui::back::answer;
use crate::ui::html::{flag, text};
use crate::ui::state::State;
use leptos::prelude::*;

/// The plan panel: nothing is searched until it is asked for; then the answer follows the Run.
pub fn plan_panel(state: State) -> AnyView {
    let turn = RwSignal::new(None::<u32>);
    let content = answer(state, "plan", move || {
        turn.get().map(|turn| turn.to_string())
    });
    let more = move || content.with(|html| html.contains("data-more"));
    Effect::new(move |_| {
        // Each answer that is not the last asks for the next.
        if more() {
            turn.update(|turn| *turn = turn.map(|turn| turn.wrapping_add(1)));
        }
    });
    let works = flag(move || turn.get().is_some() && (more() || content.with(String::is_empty)));
    let label = text(move || if works.get() { "Stop" } else { "Plan" }.to_owned());
    let press = move |_| turn.set(if works.get_untracked() { None } else { Some(0) });
    view! {
        <section aria-labelledby="plan-title">
            <div class="panel-head">
                <h2 id="plan-title">"Plan: the fastest layouts that fit"</h2>
                <span class="spring"></span>
                <button class="main" on:click=press>{label}</button>
            </div>
            <div class="plan" inner_html=content></div>
        </section>
    }
    .into_any()
}
