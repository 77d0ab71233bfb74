//! The published runs that the calculator is tested against, fetched and computed when they are nearly seen.
//!
//! The tables are static files beside the page; the worker computes their rows.

use crate::core::accuracy::{Bench, FILES, read};
use crate::core::message::Message;
use crate::core::t;
use crate::view::node::markup::Node;
use crate::view::panels::accuracy::{Yours, panel};
use crate::web::browser;
use crate::web::html::{flag, text};
use crate::web::i18n::{say, translated};
use crate::web::render::patched;
use crate::web::state::State;
use crate::web::worker::{Job, Progress, Reply, request};
use js_sys::Promise;
use leptos::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

/// Rows between two messages of progress.
const SLICE: usize = 16;

/// Pixels below the window at which the panel begins.
const NEAR: f64 = 600.0;

/// The accuracy panel: it begins by itself when it is nearly seen.
#[component]
pub(crate) fn AccuracyPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let words = RwSignal::new(Message::default());
    let bench = RwSignal::new_local(None::<Rc<Bench>>);
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
                    bench.set(Some(computed));
                    state.runs.ask(state);
                }
                None => begun.set(false),
            }
        });
    };
    let frame = NodeRef::<leptos::html::Section>::new();
    let look = move || {
        let near = frame.get_untracked().is_some_and(|frame| {
            let height = window()
                .inner_height()
                .ok()
                .and_then(|height| height.as_f64());
            frame.get_bounding_client_rect().top() < height.unwrap_or_default() + NEAR
        });
        // A failed load is repeated on the next request.
        if near && untrack(|| words.with(Message::is_empty)) {
            begin();
        }
    };
    let handle = window_event_listener_untyped("scroll", move |_| look());
    on_cleanup(move || handle.remove());
    let content = Signal::derive(move || {
        let evaluation = state.evaluation();
        bench.with(|bench| match (bench, evaluation) {
            (Some(bench), Some(evaluation)) => state.runs.fit.with(|fit| {
                let yours = fit.as_ref().map(|(runs, fit)| Yours {
                    runs,
                    standings: &fit.fit.standings,
                });
                panel(bench, &evaluation, yours.unwrap_or_default())
            }),
            _ => Node::none(),
        })
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

/// Fetches the tables and has their rows computed; none where a part of it cannot be had, which `words` then says.
async fn computed(words: RwSignal<Message>) -> Option<Rc<Bench>> {
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
    Some(Rc::new(bench.take()))
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
