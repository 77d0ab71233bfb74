//! What is sent, what hides it, what stays visible; and the step as the sum of its parts.

use crate::web::html::flag;
use crate::web::i18n::say;
use crate::web::panel::{fold, named_panel};
use crate::web::render::patched;
use crate::web::state::State;
use leptos::prelude::*;

/// What opens below: the panel, and what it is about.
const FOLDS: [(&str, &str); 5] = [
    (
        "step",
        "Range, MFU as others count it, and the token budget",
    ),
    ("mesh", "Ranks by node and group: who talks over which wire"),
    (
        "sequences",
        "A sequence cut by TP + SP, Ulysses or ring attention",
    ),
    ("ring", "Ring attention step by step"),
    (
        "grids",
        "Tensor parallelism in one, two and three dimensions",
    ),
];

/// The overlap panel.
#[component]
pub fn OverlapPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let rows = named_panel(state, "overlap", || Some(String::new()));
    view! {
        <section aria-labelledby="overlap-title" class="stale-able" class:stale=flag(move || state.is_stale())>
            <div class="panel-head">
                <h2 id="overlap-title">{say("Overlap")}</h2>
                <small>{say("communication against the compute that runs beside it, busiest rank")}</small>
            </div>
            <div use:patched=rows></div>
            {state.embed().is_none().then(|| FOLDS.map(|(name, summary)| fold(state, name, summary)))}
        </section>
    }
}
