//! The published runs that the calculator is tested against, fetched and computed when they are nearly seen.
//!
//! The tables are static files beside the page; their rows are computed a few at a time.

use crate::core::accuracy::{Bench, FILES, read};
use crate::core::message::Message;
use crate::core::t;
use crate::view::node::markup::Node;
use crate::view::panels::accuracy::{self, Yours};
use crate::web::browser;
use crate::web::html::{flag, text, view_once};
use crate::web::i18n::{say, translated};
use crate::web::render::patched;
use crate::web::state::State;
use crate::web::worker::next_turn;
use leptos::prelude::*;

/// Pixels below the window at which the panel begins.
const NEAR: f64 = 600.0;
/// Rows that are computed at once: some milliseconds.
const SLICE: usize = 8;

/// The accuracy panel: it begins by itself when it is nearly seen.
#[component]
pub(crate) fn AccuracyPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let words = RwSignal::new(Message::default());
    let bench = StoredValue::new_local(Bench::default());
    let all = RwSignal::new(Node::none());
    let begun = RwSignal::new(false);
    let begin = move || {
        if begun.get_untracked() {
            return;
        }
        begun.set(true);
        leptos::task::spawn_local(async move {
            if compute(bench, words).await {
                words.set(Message::default());
                all.set(bench.with_value(accuracy::all));
                state.runs.ask(state);
            } else {
                begun.set(false);
            }
        });
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
    let content = view_once(move || {
        let all = all.get();
        if all == Node::none() {
            return Some(all);
        }
        let evaluation = state.evaluation()?;
        let (runs, standings) = state.runs.fit.get().unzip();
        let standings = standings.map_or_else(Vec::new, |fit| fit.fit.standings);
        let yours = Yours { runs: runs.as_deref().unwrap_or_default(), standings: &standings };
        let near = bench.with_value(|bench| accuracy::near(bench, &evaluation.scenario, yours));
        Some(Node::from_iter([near, all]))
    });
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
            <div use:patched=content></div>
        </section>
    }
}

/// Fetches the tables and computes their rows into `bench`; false where one cannot be had, which `words` then says.
async fn compute(bench: StoredValue<Bench, LocalStorage>, words: RwSignal<Message>) -> bool {
    let mut fresh = Bench::default();
    for file in FILES {
        let Some(csv) = browser::text_beside(&format!("data/{file}")).await else {
            words.set(t!(
                "data/{file} could not be read: the page is offline, a single file, or in a frame that may not fetch. The same rows are in its source, in public/data.",
                file = *file
            ));
            return false;
        };
        fresh.add(read(file, &csv));
    }
    while (0..SLICE).all(|_| fresh.advance()) {
        words.set(t!("{count} runs computed…", count = fresh.done()));
        next_turn().await;
    }
    bench.try_set_value(fresh).is_none()
}
