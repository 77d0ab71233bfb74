//! The frame of the page: header, inputs, results, drawer.

use crate::core::message::{Message, verbatim};
use crate::core::run::OneOf;
use crate::core::t;
use crate::view::node::action::Dialog;
use crate::view::node::markup::{self, Action, Node, leaf, link_button};
use crate::view::panels::compare::named;
use crate::view::panels::issues::refused;
use crate::view::panels::published;
use crate::view::views::View;
use crate::view::words;
use crate::web::actions::dispatch;
use crate::web::browser::html::{effect, flag, text, view_of};
use crate::web::browser::i18n;
use crate::web::browser::i18n::{Language, say, translated};
use crate::web::dialogs::dialog::dialog;
use crate::web::dialogs::share::ShareDialog;
use crate::web::document::drawer::About;
use crate::web::document::render::{Dispatch, nodes, patched};
use crate::web::document::shortcuts;
use crate::web::embed::embed;
use crate::web::form::Form;
use crate::web::form::history::history;
use crate::web::header::{Header, foot_bar};
use crate::web::late::{at_once, parts};
use crate::web::runs::measured_offer;
use crate::web::state::{State, asks_for_layout};
use crate::web::strip::{Advice, ReinforcementStep, Strip, Waterfall};
use crate::web::tabs::Tabs;
use crate::web::tabs::plan;
use crate::web::timeline::FirstTimeline;
use crate::web::timeline::look::TimelineLook;
use crate::web::{browser, link_sync, opened, pasted};
use leptos::prelude::*;
use std::time::Duration;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    /// Tells the page's `guard.js`, which shows it.
    #[wasm_bindgen(js_name = reportError)]
    fn report_error(message: &str);
}

/// Replaces the skeleton by the calculator, in the language that the document names.
#[wasm_bindgen]
pub async fn mount() {
    std::panic::set_hook(Box::new(|info| report_error(&info.to_string())));
    i18n::speak(i18n::of_document()).await;
    // A run that cannot work is shown in another layout, and one without a layout in a first guess. Both are in the
    // part of the tabs: the skeleton stands until it is here, so that nothing jumps.
    if asks_for_layout() {
        let _ = views_part().await;
    }
    leptos::mount::mount_to_body(App);
    if let Some(skeleton) = browser::by_id("skeleton") {
        skeleton.remove();
    }
}

#[component]
fn App() -> impl IntoView {
    let state = State::from_address();
    provide_context(state);
    provide_context(state.view);
    provide_context(state.panels);
    provide_context(Dispatch(dispatch));
    provide_context(TimelineLook::new(state));
    link_sync::keep(state);
    plan::follow(state);
    shortcuts::listen(state);
    // A link that the address changes to may ask for another language.
    Effect::new(move |before: Option<()>| {
        let wanted = state.view.lang.get().and_then(|lang| Language::named(&lang));
        if let Some(language) = wanted.filter(|_| before.is_some()) {
            leptos::task::spawn_local(i18n::speak(language));
        }
    });
    effect(move || {
        let theme = state.view.theme.get();
        if let Some(root) = browser::document_element() {
            let _ = root.set_attribute("data-theme", theme.id());
        }
    });
    title(state);
    if let Some(panel) = state.view.embed {
        return embed(state, panel);
    }
    set_timeout(|| _ = at_once(views_part()), SETTLED);
    page(state).into_any()
}

/// The document's title follows the run. A browser takes about a millisecond for another one: after the first, it waits
/// until an edit has been painted.
fn title(state: State) {
    let waiting = StoredValue::new(None::<String>);
    let is_first = StoredValue::new(true);
    effect(move || {
        let verdict = match state.evaluation() {
            _ if state.is_halted() => t!("✕ cannot run"),
            Some(evaluation) if !state.is_stale() => {
                words::peak(&evaluation.scenario.run, &evaluation.report, state.view.unit.get())
            }
            _ => Message::default(),
        };
        let second = state.view.second.get();
        let name = state.run.with(|run| match &second {
            Some(second) if state.view.open.get() == View::Run => named([run, second]),
            _ => words::name(run),
        });
        let view = match state.view.open.get() {
            View::Run => Message::default(),
            view => view.choice().label.into(),
        };
        let parts = [verdict, name, view, verbatim("Shardscope")].into_iter();
        let title = translated(Message::joined(" · ", parts.filter(|part| !part.is_empty())));
        if is_first.get_value() {
            is_first.set_value(false);
            return document().set_title(&title);
        }
        let is_waiting = waiting.try_update_value(|waiting| waiting.replace(title)).flatten().is_some();
        // Not with a frame: a page in the background paints none, and its title is what is seen of it.
        let show = move || {
            if let Some(title) = waiting.try_update_value(Option::take).flatten() {
                document().set_title(&title);
            }
        };
        if !is_waiting {
            set_timeout(show, PAINTED);
        }
    });
}

/// Time in which an edit has been painted.
const PAINTED: Duration = Duration::from_millis(150);

parts! {
    views: views_part() -> () = ();
}

/// Pause after which the part of the tabs is loaded, so that none waits for it when it is opened.
const SETTLED: Duration = Duration::from_secs(1);

/// The line below everything.
fn footer() -> Node {
    let open = |page, label: &'static str| link_button(label).on(Action::Open(page));
    // A page of the other language stands at another address.
    let link = |address: &'static str, label: &'static str| leaf("a", "", label).say("href", address);
    let links = [
        open(Dialog::Published, "Published runs"),
        open(Dialog::Methods, "Methods"),
        open(Dialog::Glossary(None), "Glossary"),
        link_button("Calibrate").on(Action::Show(View::Diagnose(true))),
        open(Dialog::Import, "Import"),
        open(Dialog::Export("markdown"), "Save"),
        link("docs/index.html", "Docs"),
        link("limits.html", "What it does not model"),
        link("sources.html", "Sources"),
        link("licences.txt", "Licences"),
    ];
    let words = t!(
        "Shardscope {version} estimates training (not inference). Everything is computed in this browser; nothing \
            leaves it. ",
        version = verbatim(env!("CARGO_PKG_VERSION"))
    );
    let mut pieces = vec![markup::text(words)];
    for (at, link) in links.into_iter().enumerate() {
        if at > 0 {
            pieces.push(markup::text(" · "));
        }
        pieces.push(link);
    }
    Node::from_iter(pieces)
}

/// Files that no other part of the page takes are diagnosed.
fn dropped(state: State, event: &web_sys::DragEvent) {
    // What another part took has no default left.
    if event.default_prevented() {
        return;
    }
    let files = event.data_transfer().and_then(|data| data.files()).filter(|files| files.length() > 0);
    if files.is_some() {
        event.prevent_default();
        state.view.show(View::Diagnose(false));
        state.dropped.set(files);
    }
}

fn page(state: State) -> impl IntoView {
    pasted::listen(state);
    let tab = state.panels.tab;
    let beside = view_of(move || state.run.with(published::beside));
    let scored = view_of(move || {
        let found = state.scored.get().zip(state.evaluation());
        found.map_or_else(Node::none, |(scored, evaluation)| published::from_scoreboard(&scored, &evaluation))
    });
    let footer = view_of(footer);
    view! {
        <button
            class="skip"
            on:click=move |_| if let Some(results) = browser::by_id("results") { let _ = results.focus(); }
        >
            {say("Skip to the results")}
        </button>
        <div
            data-tab=text(move || tab.get().to_owned())
            on:dragover=|event| event.prevent_default()
            on:drop=move |event| dropped(state, &event)
        >
            <Header/>
            {opened::diagnose(state)}
            {opened::whole(state)}
            {opened::schedules(state)}
            {opened::lesson(state)}
            {opened::cluster(state)}
            {opened::scoreboard(state)}
            <main class="page" hidden=flag(move || state.view.open.get() != View::Run)>
                <aside class="inputs" aria-label=say("Inputs")>
                    {history(state)}
                    <Form/>
                </aside>
                <div
                    class="results"
                    class:comparing=flag(move || state.view.second.with(Option::is_some))
                    id="results"
                    tabindex="-1"
                >
                    {nodes("link-notice", move || refused(&state.refused()))}
                    <Strip/>
                    <ReinforcementStep/>
                    <FirstTimeline/>
                    <Waterfall/>
                    <Advice/>
                    {measured_offer(state)}
                    {opened::second(state)}
                    <div use:patched=scored></div>
                    <div use:patched=beside></div>
                    <Tabs/>
                    <p class="footnote" use:patched=footer></p>
                </div>
                <aside
                    class="detail stale-able"
                    class:open=flag(move || state.panels.drawer.get())
                    class:stale=flag(move || state.is_stale())
                    aria-label=say("About a number")
                >
                    <About/>
                </aside>
            </main>
            {foot_bar(state)}
            <ShareDialog/>
            {dialog(state)}
        </div>
    }
}
