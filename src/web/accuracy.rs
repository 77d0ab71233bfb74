//! The published runs that the calculator is tested against, fetched and computed when they are nearly seen.
//!
//! The tables are static files beside the page; the second module computes their rows, a few at a time, and shows them.

use crate::core::accuracy::FILES;
use crate::core::message::Message;
use crate::core::t;
use crate::io::asked::Asked;
use crate::view::node::markup::Node;
use crate::view::panels::accuracy::{Answer, Question};
use crate::web::ask::asked;
use crate::web::browser;
use crate::web::html::{effect, flag, text, view_of};
use crate::web::i18n::{say, translated};
use crate::web::render::patched;
use crate::web::state::State;
use crate::web::worker::next_turn;
use leptos::prelude::*;

/// Pixels below the window at which the panel begins.
const NEAR: f64 = 600.0;

/// The accuracy panel: it begins by itself when it is nearly seen.
#[component]
pub(crate) fn AccuracyPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let words = RwSignal::new(Message::default());
    let (near, all) = (RwSignal::new(Node::none()), RwSignal::new(Node::none()));
    let begun = RwSignal::new(false);
    let begin = move || {
        if begun.get_untracked() {
            return;
        }
        begun.set(true);
        leptos::task::spawn_local(async move {
            match computed(words).await {
                Some(computed) => {
                    words.set(Message::default());
                    all.set(computed);
                    state.runs.ask(state);
                }
                None => begun.set(false),
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
    effect(move || {
        let Some(evaluation) = state.evaluation() else {
            return;
        };
        if all.with(|all| *all == Node::none()) {
            return;
        }
        let (runs, standings) = state.runs.fit.get().unzip();
        let question = Question::Near {
            run: Box::new(evaluation.scenario.run.clone()),
            runs: runs.unwrap_or_default(),
            standings: standings.map_or_else(Vec::new, |fit| fit.fit.standings),
        };
        // Gone when the effect runs again.
        let latest = StoredValue::new(());
        leptos::task::spawn_local(async move {
            if let Some(Answer::Shown(shown)) = answered(question).await
                && !latest.is_disposed()
            {
                near.set(shown);
            }
        });
    });
    let content = view_of(move || match near.get() {
        near if near == Node::none() => near,
        near => Node::from_iter([near, all.get()]),
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

/// The second module's answer.
async fn answered(question: Question) -> Option<Answer> {
    asked(&Asked::Accuracy(question)).await
}

/// Fetches the tables and has their rows computed; none where a part of it cannot be had, which `words` then says.
async fn computed(words: RwSignal<Message>) -> Option<Node> {
    let mut tables = Vec::new();
    for file in FILES {
        let Some(csv) = browser::text_beside(&format!("data/{file}")).await else {
            words.set(t!(
                "data/{file} could not be read: the page is offline, a single file, or in a frame that may not fetch. The same rows are in its source, in public/data.",
                file = *file
            ));
            return None;
        };
        tables.push(((*file).to_owned(), csv));
    }
    let mut question = Question::Tables(tables);
    loop {
        match answered(question).await {
            Some(Answer::Computed(count)) => words.set(t!("{count} runs computed…", count)),
            Some(Answer::Shown(all)) => return Some(all),
            None => {
                words.set(t!("The part of the calculator that computes them could not be loaded."));
                return None;
            }
        }
        question = Question::Compute;
        next_turn().await;
    }
}
