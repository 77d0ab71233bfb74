//! One panel in someone's page: no inputs, what is wrong in words, the way to the whole calculator.
//!
//! Its height, and what the page around it asks, are `public/lazy/embed_protocol.js`'s business: it sets the address, which the Run
//! follows.

use crate::io::link;
use crate::view::panels::issues::framed;
use crate::view::panels::words;
use crate::web::about::About;
use crate::web::browser;
use crate::web::cluster::map;
use crate::web::html::{flag, text};
use crate::web::i18n::{say, translated};
use crate::web::memory::MemoryPanel;
use crate::web::overlap::OverlapPanel;
use crate::web::render::nodes;
use crate::web::state::State;
use crate::web::strip::{Strip, Waterfall};
use crate::web::timeline::TimelinePanel;
use leptos::prelude::*;

/// The panel of that name; everything where there is none.
pub fn embed(state: State, panel: &str) -> AnyView {
    let known = ["memory", "timeline", "overlap", "strip", "cluster"].contains(&panel);
    let shows = |name: &str| !known || panel == name;
    // Where the host page names a theme, its background shows through.
    let clear = state.view.with_value(|view| view.theme.is_some());
    let title = move || translated(state.run.with(words::line));
    let whole = move || format!("{}#{}", browser::address(), state.run.with(link::encode));
    let notes = move || {
        let notices = state.notices.get();
        state
            .shown
            .with(|shown| framed(&shown.errors, &notices, shown.stands_in))
    };
    view! {
        <div class="embed" class:clear=clear>
            {nodes("said", notes)}
            <main class="page">
                <div class="results">
                    {shows("strip").then(|| view! { <Strip/> })}
                    {(!known).then(|| view! { <Waterfall/> })}
                    {shows("memory").then(|| view! { <MemoryPanel/> })}
                    {shows("timeline").then(|| view! { <TimelinePanel/> })}
                    {shows("overlap").then(|| view! { <OverlapPanel/> })}
                    {(panel == "cluster").then(|| map(state))}
                </div>
            </main>
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
