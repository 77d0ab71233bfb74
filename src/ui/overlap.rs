//! What is sent, what hides it, what stays visible; and the step as the sum of its parts.

use crate::report::Evaluation;
use crate::scene::markup::Html;
use crate::scene::overlap::{rows, step};
use crate::ui::html::html;
use crate::ui::state::State;
use leptos::prelude::*;

/// The overlap panel.
#[component]
pub fn OverlapPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let shown = move |content: fn(&Evaluation) -> Html| {
        html("", move || {
            let evaluation = state.evaluation();
            evaluation.map_or_else(Html::none, |evaluation| content(&evaluation))
        })
    };
    view! {
        <section aria-labelledby="overlap-title" class="stale-able" class:stale=move || state.is_stale()>
            <div class="panel-head">
                <h2 id="overlap-title">"Overlap"</h2>
                <span class="spring"></span>
                <small>"ratio at most 1: compute can hide it"</small>
            </div>
            {shown(|evaluation| rows(&evaluation.report.overlap))}
            {shown(step)}
        </section>
    }
}
