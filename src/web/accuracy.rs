//! The published runs that the calculator is compared with, fetched and computed on request.
//!
//! The tables are static files beside the page; the worker computes their rows.

use crate::core::accuracy::{Bench, FILES, read};
use crate::core::message::Message;
use crate::core::t;
use crate::view::node::markup::Node;
use crate::view::panels::accuracy::panel;
use crate::web::browser;
use crate::web::html::{flag, text};
use crate::web::i18n::{say, translated};
use crate::web::render::patched;
use crate::web::worker::{Job, Progress, Reply, request};
use js_sys::Promise;
use leptos::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

/// Rows between two messages of progress.
const SLICE: usize = 16;

/// The accuracy panel.
#[component]
pub fn AccuracyPanel() -> impl IntoView {
    let words = RwSignal::new(Message::default());
    let content = RwSignal::new(Node::none());
    let begun = RwSignal::new(false);
    let begin = move |_| {
        begun.set(true);
        leptos::task::spawn_local(async move {
            match computed(words).await {
                Some(view) => {
                    words.set(Message::default());
                    content.set(view);
                }
                None => begun.set(false),
            }
        });
    };
    view! {
        <section id="accuracy" aria-labelledby="accuracy-title">
            <div class="panel-head">
                <h2 id="accuracy-title">{say("Accuracy")}</h2>
                <span class="spring"></span>
                <small>{say("predicted against measured")}</small>
            </div>
            <div hidden=flag(move || begun.get())>
                <p class="muted">
                    {say("Published step times, memory peaks and out-of-memory outcomes, each as a run of its own, against what this calculator says of it: hits and misses.")}
                </p>
                <button on:click=begin>{say("Compute them all")}</button>
            </div>
            <p role="status" class="muted">{text(move || translated(words.get()))}</p>
            <div use:patched=content.into()></div>
        </section>
    }
}

/// Fetches the tables and has their rows computed; none where a part of it cannot be had, which `words` then says.
async fn computed(words: RwSignal<Message>) -> Option<Node> {
    let bench = Rc::new(RefCell::new(Bench::default()));
    for file in FILES {
        let Some(csv) = browser::text_beside(&format!("data/{file}")).await else {
            words.set(t!(
                "data/{file} could not be read: the page is offline, a single file, or in a frame that may not fetch. The same rows are in its source, in public/data.",
                file = *file
            ));
            return None;
        };
        bench.borrow_mut().add(read(file, &csv));
        let job = Job::Accuracy {
            file: (*file).to_owned(),
            csv,
        };
        if !table(job, Rc::clone(&bench), words).await {
            words.set(t!(
                "The part of the calculator that computes them could not be loaded."
            ));
            return None;
        }
    }
    let view = panel(&bench.borrow());
    Some(view)
}

/// Records the rows of one table; false where the worker ended.
async fn table(job: Job, bench: Rc<RefCell<Bench>>, words: RwSignal<Message>) -> bool {
    let mut job = Some(job);
    let end = Promise::new(&mut |resolve, _| {
        let (Some(job), bench) = (job.take(), Rc::clone(&bench)) else {
            return;
        };
        request(job, move |progress| match progress {
            Progress::Reply(Reply::Predicted(prediction)) => {
                let mut bench = bench.borrow_mut();
                bench.record(prediction);
                if bench.done().is_multiple_of(SLICE) {
                    words.set(t!("{count} runs computed…", count = bench.done()));
                }
            }
            Progress::Reply(_) => {}
            Progress::Done | Progress::Failed => {
                let done = matches!(progress, Progress::Done);
                let _ = resolve.call1(&JsValue::UNDEFINED, &done.into());
            }
        });
    });
    let done = JsFuture::from(end).await;
    done.is_ok_and(|done| done.as_bool() == Some(true))
}
