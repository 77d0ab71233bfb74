//! The key figures, and what is to be said about them.

use crate::scene::issues::list;
use crate::scene::markup::Html;
use crate::scene::strip::strip;
use crate::ui::html::{flag, html, text};
use crate::ui::state::State;
use leptos::prelude::*;

/// The key figures; each opens its formula.
#[component]
pub fn Strip() -> impl IntoView {
    let state = expect_context::<State>();
    let figures = move || {
        let unit = state.unit.get();
        state
            .evaluation()
            .map_or_else(Html::none, |evaluation| strip(&evaluation.report, unit))
    };
    let instead = move || {
        let stands_in = state.shown.with(|shown| shown.stands_in);
        let words = if stands_in {
            "the default run instead"
        } else {
            "the last run that made sense"
        };
        words.to_owned()
    };
    view! {
        <div class="strip-frame" class:stale=flag(move || state.is_stale()) role="region" aria-label="Key figures">
            <span class="stale-note" hidden=flag(move || !state.is_stale())>{text(instead)}</span>
            {html("strip", figures)}
        </div>
    }
}

/// Everything to be said, with a way to the field.
#[component]
pub fn IssueList() -> impl IntoView {
    let state = expect_context::<State>();
    view! {
        <ul
            class="issues"
            aria-label="What to know"
            hidden=flag(move || state.issues().is_empty())
            inner_html=text(move || list(&state.issues()).into_string())
        ></ul>
    }
}
