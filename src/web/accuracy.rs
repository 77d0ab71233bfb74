//! The panel of the published runs that the calculator is tested against: they are computed when they are nearly seen.

use crate::core::message::Message;
use crate::web::html::{flag, text};
use crate::web::i18n::{say, translated};
use crate::web::late::{arriving, published_runs};
use crate::web::state::State;
use leptos::prelude::*;

/// Pixels below the window at which the panel begins.
const NEAR: f64 = 600.0;

/// The accuracy panel: it begins by itself when it is nearly seen.
#[component]
pub(crate) fn AccuracyPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let (words, begun) = (RwSignal::new(Message::default()), RwSignal::new(false));
    let begin = move || {
        if !begun.get_untracked() {
            begun.set(true);
        }
    };
    let frame = NodeRef::<leptos::html::Section>::new();
    let look = move || {
        let near = frame.get_untracked().is_some_and(|frame| {
            let height = window().inner_height().ok().and_then(|height| height.as_f64());
            frame.get_bounding_client_rect().top() < height.unwrap_or_default() + NEAR
        });
        // A failed load is repeated on the next request.
        if near && untrack(|| words.with(Message::is_empty)) {
            begin();
        }
    };
    let handle = window_event_listener_untyped("scroll", move |_| look());
    on_cleanup(move || handle.remove());
    view! {
        <section id="accuracy" node_ref=frame aria-labelledby="accuracy-title">
            <div class="panel-head">
                <h2 id="accuracy-title">{say("Accuracy")}</h2>
                <small>{say("published runs, predicted by the same code as this page")}</small>
            </div>
            <div hidden=flag(move || begun.get())>
                <p class="muted">
                    {say("Published step times, memory peaks and out-of-memory outcomes, each as a run of its own, against what this calculator says of it: hits and misses.")}
                </p>
                <button on:click=move |_| begin()>{say("Compute them all")}</button>
            </div>
            <p role="status" class="muted">{text(move || translated(words.get()))}</p>
            {move || begun.get().then(|| arriving(move || published_runs(state, words, begun)))}
        </section>
    }
}
