//! One panel, or one step of a lesson, embedded in another page: no inputs, what is wrong in words, the way to the whole
//! calculator.
//!
//! Its height, and what the page around it asks, are `public/lazy/embed_protocol.js`'s business: it sets the address, which the Run
//! follows.

use crate::io::link::{View, encode_with};
use crate::view::panels::issues::framed;
use crate::view::panels::words;
use crate::web::about::About;
use crate::web::browser;
use crate::web::cluster::map;
use crate::web::gallery::schedules;
use crate::web::html::{flag, text};
use crate::web::i18n::{say, translated};
use crate::web::learn::framed as framed_step;
use crate::web::link_sync::view;
use crate::web::memory::MemoryPanel;
use crate::web::overlap::OverlapPanel;
use crate::web::render::nodes;
use crate::web::state::State;
use crate::web::strip::{Strip, Waterfall};
use crate::web::timeline::TimelinePanel;
use leptos::prelude::*;

/// The panel of that name; everything where there is none.
pub fn embed(state: State, panel: &str) -> AnyView {
    let (of_lesson, of_cluster) = (panel == "lesson", panel == "cluster");
    let known =
        of_cluster || ["memory", "timeline", "overlap", "strip", "schedules"].contains(&panel);
    let shows = |name: &str| !known || panel == name;
    let notes = move || {
        let notices = state.notices.get();
        state
            .shown
            .with(|shown| framed(&shown.errors, &notices, shown.stands_in))
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
    let step = move || of_lesson.then(|| state.open.get().step());
    let title = move || {
        translated(step().map_or_else(
            || state.run.with(words::line),
            |step| step.lesson().title.into(),
        ))
    };
    let open = (of_cluster || panel == "schedules").then(|| panel.to_owned());
    let whole = move || {
        let lesson = step().map(|step| step.to_string());
        let view = View {
            lesson,
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
            {if of_lesson { framed_step(state) } else { panels() }}
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
