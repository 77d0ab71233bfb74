//! The panel of the published runs that the calculator is tested against: they are computed when their tab is opened.

use crate::core::message::Message;
use crate::web::browser::html::{flag, text};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::arriving::arriving;
use crate::web::scoreboard::published::published_runs;
use crate::web::state::State;
use leptos::prelude::*;

/// The accuracy panel: it begins when its tab is opened.
#[component]
pub(crate) fn AccuracyPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let (words, begun) = (RwSignal::new(Message::default()), RwSignal::new(true));
    view! {
        <section id="accuracy" aria-labelledby="accuracy-title">
            <div class="panel-head">
                <h2 id="accuracy-title">{say("Accuracy")}</h2>
                <small>{say("published runs, predicted by the same code as this page")}</small>
            </div>
            <div hidden=flag(move || begun.get())>
                <p class="muted">
                    {say("Published step times, memory peaks and out-of-memory outcomes, each as a run of its own, \
                        against what this calculator says of it: hits and misses.")}
                </p>
                <button on:click=move |_| begun.set(true)>{say("Compute them all")}</button>
            </div>
            <p role="status" class="muted">{text(move || translated(words.get()))}</p>
            {move || begun.get().then(|| arriving(move || published_runs(state, words, begun)))}
        </section>
    }
}
