//! The published runs that the calculator is held to, fetched and computed when asked for.
//!
//! The tables are static files beside the page; their rows are computed in the back room, some at a time.

use crate::core::accuracy::FILES;
use crate::view::accuracy::BETWEEN;
use crate::web::back::once;
use crate::web::browser;
use crate::web::html::{flag, text};
use leptos::prelude::*;

/// Rows computed at once.
const SLICE: usize = 16;

/// The accuracy panel.
#[component]
pub fn AccuracyPanel() -> impl IntoView {
    let words = RwSignal::new(String::new());
    let content = RwSignal::new(String::new());
    let begun = RwSignal::new(false);
    let begin = move |_| {
        begun.set(true);
        leptos::task::spawn_local(async move {
            match computed(words).await {
                Some(html) => {
                    words.set(String::new());
                    content.set(html);
                }
                None => begun.set(false),
            }
        });
    };
    view! {
        <section id="accuracy" aria-labelledby="accuracy-title">
            <div class="panel-head">
                <h2 id="accuracy-title">"Accuracy"</h2>
                <span class="spring"></span>
                <small>"predicted against measured"</small>
            </div>
            <div hidden=flag(move || begun.get())>
                <p class="muted">
                    "Published step times, memory peaks and out-of-memory outcomes, each as a run of its own, against what this calculator says of it: hits and misses."
                </p>
                <button on:click=begin>"Compute them all"</button>
            </div>
            <p role="status" class="muted">{text(move || words.get())}</p>
            <div inner_html=text(move || content.get())></div>
        </section>
    }
}

/// Fetches the tables and computes their rows; none where a part of it cannot be had, which `words` then says.
async fn computed(words: RwSignal<String>) -> Option<String> {
    let [table, part] = BETWEEN.map(String::from);
    let mut question = Vec::new();
    let mut done = 0;
    for file in FILES {
        let Some(csv) = browser::text_beside(&format!("data/{file}")).await else {
            words.set(format!("data/{file} could not be read: the page is offline, a single file, or in a frame that may not fetch. The same rows are in its source, in public/data."));
            return None;
        };
        let mut lines: Vec<String> = Vec::new();
        loop {
            words.set(format!("{done} runs computed…"));
            let slice = format!("{file} {} {SLICE}\n{csv}", lines.len());
            let Some(answer) = once("accuracy-rows", &slice).await else {
                words.set(
                    "The part of the calculator that computes them could not be loaded.".to_owned(),
                );
                return None;
            };
            let before = lines.len();
            lines.extend(answer.lines().map(str::to_owned));
            done += lines.len() - before;
            if lines.len() - before < SLICE {
                break;
            }
            browser::next_turn().await;
        }
        question.push([file, &*lines.join("\n"), &csv].join(&part));
    }
    once("accuracy", &question.join(&table)).await
}
