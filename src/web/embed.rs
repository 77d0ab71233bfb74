//! One panel, or one step of a lesson, embedded in another page: no inputs, what is wrong in words, the way to the whole
//! calculator.
//!
//! What the page around it asks is answered here ([`frame`]); `public/lazy/embed_protocol.js` carries the messages, sets the
//! address, which the Run follows, and says how high the page is.

use crate::io::frame;
use crate::io::link::{View, encode_with};
use crate::view::panels::issues::framed;
use crate::view::panels::words;
use crate::web::about::About;
use crate::web::browser;
use crate::web::cluster::map;
use crate::web::gallery::schedules;
use crate::web::html::{flag, text};
use crate::web::i18n::{say, translated};
use crate::web::learn::{self, Open};
use crate::web::link_sync::view;
use crate::web::memory::MemoryPanel;
use crate::web::overlap::OverlapPanel;
use crate::web::render::nodes;
use crate::web::state::State;
use crate::web::strip::{Strip, Waterfall};
use crate::web::timeline::TimelinePanel;
use leptos::prelude::*;
use wasm_bindgen::prelude::wasm_bindgen;

/// The answer to a message of the page around the frame at `address`, both as JSON: see [`frame`].
#[wasm_bindgen(js_name = answerHost)]
#[must_use]
pub fn answer_host(message: &str, address: &str) -> String {
    serde_json::to_string(&frame::answer(message, address)).unwrap_or_default()
}

/// The panel of that name; everything where there is none.
pub fn embed(state: State, panel: &str) -> AnyView {
    let (of_lesson, of_cluster) = (panel == "lesson", panel == "cluster");
    let known = of_cluster || ["memory", "timeline", "overlap", "strip", "schedules"].contains(&panel);
    let shows = |name: &str| !known || panel == name;
    let notes = move || {
        let notices = state.notices.get();
        state.shown.with(|shown| framed(&shown.errors, &notices, shown.stands_in))
    };
    let panels = || {
        view! {
            {nodes("said", notes)}
            <main class="page">
                <div class="results">
                    {shows("strip").then(|| view! { <Strip/> })}
                    {(!known).then(|| view! { <Waterfall/> })}
                    {shows("memory").then(|| view! { <MemoryPanel/> })}
                    {shows("timeline").then(|| view! { <TimelinePanel/> })}
                    {shows("overlap").then(|| view! { <OverlapPanel/> })}
                    {of_cluster.then(|| map(state))}
                    {(panel == "schedules").then(|| view! { <div class="gallery">{schedules(state)}</div> })}
                </div>
            </main>
        }
        .into_any()
    };
    // Where the host page names a theme, its background shows through.
    let clear = state.view.with_value(|view| view.theme.is_some());
    let step = of_lesson.then(|| Open::new(state));
    let title = move || {
        let of_run = || state.run.with(words::line);
        translated(step.map_or_else(of_run, Open::title))
    };
    let open = (of_cluster || panel == "schedules").then(|| panel.to_owned());
    let whole = move || {
        let [_, lesson, sliders] = state.linked_view();
        let view = View {
            lesson: lesson.filter(|_| of_lesson),
            sliders: sliders.filter(|_| of_lesson),
            open: open.clone(),
            theme: None,
            lang: None,
            page: None,
            ..view(state)
        };
        let fragment = state.run.with(|run| encode_with(run, &view));
        format!("{}#{fragment}", browser::address())
    };
    view! {
        <div class="embed" class:clear=clear>
            {step.map_or_else(panels, learn::framed)}
            // Where a figure comes from, below the panels.
            <aside class="detail" class:open=flag(move || state.drawer.get()) aria-label=say("About a number")>
                {move || state.drawer.get().then(|| view! { <About/> })}
            </aside>
            <footer class="embed-foot">
                <h1>{text(title)}</h1>
                <span class="spring"></span>
                <a href=text(whole) target="_blank" rel="noopener">{say("Open in Shardscope")}</a>
            </footer>
        </div>
    }
    .into_any()
}
