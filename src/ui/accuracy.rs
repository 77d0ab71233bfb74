//! The published runs that the calculator is held to, computed in the page when asked for.

use crate::accuracy::{Bench, FILES, read};
use crate::paint::scatter::ScatterPicture;
use crate::scene::accuracy::{details, points, points_in_words, summary};
use crate::scene::markup::Html;
use crate::scene::scatter::scatter;
use crate::ui::browser;
use crate::ui::html::html;
use crate::ui::state::State;
use crate::ui::surface::surface;
use leptos::html::Canvas;
use leptos::prelude::*;
use std::sync::Arc;

/// Milliseconds of work between two frames.
const SLICE_MS: f64 = 10.0;
/// Height of a picture, CSS pixels.
const HEIGHT: f64 = 260.0;

/// How far the rows are.
#[derive(Clone, Copy)]
struct Progress {
    /// What is being done, or why it could not be.
    words: RwSignal<String>,
    /// Whether it was asked for.
    begun: RwSignal<bool>,
    /// The result.
    bench: RwSignal<Option<Arc<Bench>>>,
}

/// The accuracy panel.
#[component]
pub fn AccuracyPanel() -> impl IntoView {
    let progress = Progress {
        words: RwSignal::new(String::new()),
        begun: RwSignal::new(false),
        bench: RwSignal::new(None),
    };
    let begin = move |_| {
        if !progress.begun.get_untracked() {
            progress.begun.set(true);
            leptos::task::spawn_local(run(progress));
        }
    };
    let shown = move |content: fn(&Bench) -> Html| {
        html("", move || {
            let bench = progress.bench.get();
            bench.map_or_else(Html::none, |bench| content(&bench))
        })
    };
    view! {
        <section id="accuracy" aria-labelledby="accuracy-title">
            <div class="panel-head">
                <h2 id="accuracy-title">"Accuracy"</h2>
                <span class="spring"></span>
                <small>"predicted against measured"</small>
            </div>
            <p class="muted" hidden=move || progress.bench.with(Option::is_some)>
                "Published step times, memory peaks and out-of-memory outcomes, each as a run of its own, against what this calculator says. "
                <button hidden=move || progress.begun.get() on:click=begin>"Compute them all here"</button>
            </p>
            <p role="status" class="muted">{move || progress.words.get()}</p>
            {shown(summary)}
            {picture(progress, false)}
            {picture(progress, true)}
            {shown(details)}
        </section>
    }
}

/// A scatter with its text twin.
fn picture(progress: Progress, memory: bool) -> AnyView {
    let state = expect_context::<State>();
    let canvas = NodeRef::<Canvas>::new();
    let width = RwSignal::new(0.0);
    let (title, unit) = if memory {
        ("Memory peaks: predicted over measured", "GiB")
    } else {
        ("Step times: predicted over measured", "s")
    };
    Effect::new(move |_| {
        if let Some(element) = canvas.get() {
            browser::watch_width(&element, move |now| width.set(now));
        }
    });
    Effect::new(move |_| {
        let (Some(element), Some(bench)) = (canvas.get(), progress.bench.get()) else {
            return;
        };
        let (across, theme) = (width.get(), state.theme.get());
        let Some(scatter) = scatter(&points(&bench, memory)) else {
            return;
        };
        if across > 0.0
            && let Some((mut backend, scale)) = surface(&element, across, HEIGHT)
        {
            let picture = ScatterPicture {
                scatter: &scatter,
                size: (across, HEIGHT),
                unit,
                palette: theme.palette(),
                scale,
            };
            // A canvas that cannot be drawn on stays empty; the sentence below it says the same.
            let _ = picture.paint(&mut backend);
        }
    });
    let words = move || {
        let bench = progress.bench.get();
        bench.map_or_else(String::new, |bench| points_in_words(&bench, memory))
    };
    view! {
        <figure class="scatter" hidden=move || progress.bench.with(Option::is_none)>
            <h3>{title}</h3>
            <canvas node_ref=canvas aria-hidden="true"></canvas>
            <figcaption class="muted">
                {words} " Round: dense runs. Square: experts. Cross: shown only. Beyond half and twice: on the edge."
            </figcaption>
        </figure>
    }
    .into_any()
}

/// Fetches the tables and computes their rows, a slice a frame.
async fn run(progress: Progress) {
    let mut bench = Bench::default();
    for file in FILES {
        progress.words.set(format!("reading {file}…"));
        let Some(text) = browser::text_beside(&format!("data/{file}")).await else {
            progress.words.set(format!(
                "data/{file} could not be read from where this page is: it is offline, one file, or in a frame that may not fetch. The rows are in the source, public/data."
            ));
            progress.begun.set(false);
            return;
        };
        bench.add(read(file, &text));
    }
    loop {
        let begun = js_sys::Date::now();
        let mut more = true;
        while more && js_sys::Date::now() - begun < SLICE_MS {
            more = bench.advance();
        }
        let (done, all) = (bench.done(), bench.rows.len());
        progress.words.set(format!("{done} of {all} runs"));
        if !more {
            break;
        }
        browser::next_turn().await;
    }
    progress.words.set(String::new());
    progress.bench.set(Some(Arc::new(bench)));
}
