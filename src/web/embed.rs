//! One panel, or one step of a lesson, embedded in another page: no inputs, what is wrong in words, the way to the
//! whole calculator.
//!
//! Replies to the page around a frame ([`frame`]); `public/lazy/embed_protocol.js` carries the messages, sets the
//! address, which the Run follows, and reports the height of the page.

use crate::core::message::Message;
use crate::core::report::Evaluation;
use crate::core::run::OneOf;
use crate::io::frame;
use crate::io::link::encode_with;
use crate::view::node::markup::{Node, leaf};
use crate::view::panels::issues::framed;
use crate::view::view_state::ViewState;
use crate::view::views::{Embed, View};
use crate::view::words;
use crate::web::browser;
use crate::web::browser::html::{flag, text};
use crate::web::browser::i18n::{say, translated};
use crate::web::cluster::cluster_frame;
use crate::web::compare::second_run;
use crate::web::diagnose::diagnose_frame;
use crate::web::document::arriving::arriving;
use crate::web::document::drawer::About;
use crate::web::document::render::nodes;
use crate::web::gallery::schedules_frame;
use crate::web::late::{Missing, parts};
use crate::web::learn::lesson_frame;
use crate::web::memory::MemoryPanel;
use crate::web::scoreboard::board_frame;
use crate::web::state::State;
use crate::web::strip::{ReinforcementStep, Strip, Waterfall};
use crate::web::tabs::overlap::OverlapPanel;
use crate::web::timeline::FirstTimeline;
use crate::web::whole::whole_frame;
use leptos::prelude::*;
use std::sync::Arc;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

parts! {
    work: frame_answer(message: String, address: String) -> String
        = serde_json::to_string(&frame::answer(&message, &address)).unwrap_or_default();
}

/// The answer to a message of the page around the frame at `address`, both as JSON: see [`frame`].
///
/// # Errors
/// The part that answers did not arrive.
#[wasm_bindgen(js_name = answerHost)]
pub async fn answer_host(message: String, address: String) -> Result<String, JsValue> {
    let answer = frame_answer(message, address).await;
    answer.map_err(|Missing| js_sys::Error::new("a part of the calculator did not arrive").into())
}

/// The title of a frame: the run, or the lesson.
fn title_of(state: State, panel: Embed, lesson: RwSignal<Message>) -> Message {
    match panel {
        Embed::Lesson => lesson.get(),
        Embed::Scoreboard => View::Scoreboard.choice().label.into(),
        // The picture shows no verdict of its own.
        Embed::Timeline => {
            // Never the verdict of another Run.
            let evaluation = state.evaluation().filter(|_| !state.is_stale());
            let report = evaluation.as_ref().map(|one| &one.report);
            state.run.with(|run| words::framed(run, report, state.view.unit.get()))
        }
        _ => state.run.with(words::line),
    }
}

/// The address of the page that shows what a frame shows.
fn page_address(state: State, panel: Embed) -> String {
    let now = state.view.get();
    let open = match panel {
        Embed::Lesson => now.open,
        Embed::Cluster => View::Cluster,
        Embed::Schedules => View::Schedules,
        Embed::Whole => View::Whole,
        Embed::Scoreboard => View::Scoreboard,
        Embed::Diagnose => View::Diagnose(false),
        _ => View::Run,
    };
    let view = ViewState { embed: None, open, theme: None, lang: None, page: None, ..now };
    let fragment = state.run.with(|run| encode_with(run, &view));
    format!("{}#{fragment}", browser::address())
}

/// The panel alone.
pub fn embed(state: State, panel: Embed) -> AnyView {
    let shows = |one: Embed| panel == one || panel == Embed::All;
    let notes = move || {
        let notices = state.notices.get();
        let instead = state.instead();
        state.shown.with(|shown| framed(&shown.errors, &notices, &instead))
    };
    // Runs without it show nothing in the page; a frame says what is missing.
    let no_step = move || {
        let is_missing = |one: &Arc<Evaluation>| one.scenario.run.rl.algorithm.is_none();
        let is_missing = state.shown.with(|shown| shown.evaluation.as_ref().is_some_and(is_missing));
        let words = "The step of reinforcement learning, once its algorithm is set.";
        if is_missing { leaf("p", "", words) } else { Node::none() }
    };
    let panels = || {
        view! {
            {nodes("said", notes)}
            <main class="page">
                <div class="results">
                    {shows(Embed::Strip).then(|| view! { <Strip/> })}
                    {shows(Embed::Waterfall).then(|| view! { <Waterfall/> })}
                    {shows(Embed::Memory).then(|| view! { <MemoryPanel/> })}
                    {shows(Embed::Timeline).then(|| view! { <FirstTimeline/> })}
                    {shows(Embed::Rl).then(|| view! { <ReinforcementStep/> })}
                    {(panel == Embed::Rl).then(|| nodes("muted", no_step))}
                    {shows(Embed::Overlap).then(|| view! { <OverlapPanel/> })}
                    {(panel == Embed::Compare).then(|| arriving(move || second_run(state)))}
                    {(panel == Embed::Diagnose).then(|| arriving(move || diagnose_frame(state)))}
                    {(panel == Embed::Cluster).then(|| arriving(move || cluster_frame(state)))}
                    {(panel == Embed::Whole).then(|| arriving(move || whole_frame(state)))}
                    {(panel == Embed::Scoreboard).then(|| arriving(move || board_frame(state)))}
                    {(panel == Embed::Schedules).then(|| arriving(move || schedules_frame(state)))}
                </div>
            </main>
        }
        .into_any()
    };
    // Where the host page names a theme, its background shows through.
    let clear = state.view.now().theme.is_some();
    let lesson = RwSignal::new(Message::default());
    let is_lesson = panel == Embed::Lesson;
    let title = move || translated(title_of(state, panel, lesson));
    let whole = move || page_address(state, panel);
    view! {
        <div class="embed" class:clear=clear>
            {if is_lesson { arriving(move || lesson_frame(state, lesson)) } else { panels() }}
            // Derivation of a figure, below the panels.
            <aside class="detail" class:open=flag(move || state.panels.drawer.get()) aria-label=say("About a number")>
                {move || state.panels.drawer.get().then(|| view! { <About/> })}
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
