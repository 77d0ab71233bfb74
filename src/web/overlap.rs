//! Traffic, the part of it that hides, the part that stays exposed; and the step as the sum of its parts.

use crate::view::panel::Panel;
use crate::web::html::flag;
use crate::web::i18n::say;
use crate::web::panel::{fold, shown};
use crate::web::render::patched;
use crate::web::state::State;
use leptos::prelude::*;

/// Panels that open below, with their titles.
const FOLDS: [(Panel, &str); 4] = [
    (Panel::Step, "Range, MFU as others count it, and the token budget"),
    (Panel::Sequences, "A sequence cut by TP + SP, Ulysses or ring attention"),
    (Panel::Ring, "Ring attention step by step"),
    (Panel::Grids, "Tensor parallelism in one, two and three dimensions"),
];

/// The overlap panel.
#[component]
pub(crate) fn OverlapPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let rows = shown(state, || Some(Panel::Overlap));
    view! {
        <section aria-labelledby="overlap-title" class="stale-able" class:stale=flag(move || state.is_stale())>
            <div class="panel-head">
                <h2 id="overlap-title">{say("Overlap")}</h2>
                <small>{say("communication against the compute that runs beside it, busiest rank")}</small>
            </div>
            <div use:patched=rows></div>
            {state.view.embed.is_none().then(|| FOLDS.map(|(panel, summary)| fold(state, summary, move || panel)))}
        </section>
    }
}
