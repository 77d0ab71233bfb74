//! The frame of the page: header, inputs, results, drawer.

use crate::core::message::{Message, verbatim};
use crate::core::t;
use crate::core::units::MemoryUnit;
use crate::view::charts::palette::Theme;
use crate::view::node::action::{Compare, Dialog};
use crate::view::node::markup::{self, Action, Node, el, leaf, link_button};
use crate::view::panels::issues::refused;
use crate::view::panels::{published, words};
use crate::view::views::View;
use crate::web::about::About;
use crate::web::accuracy::AccuracyPanel;
use crate::web::actions::dispatch;
use crate::web::compare::compare;
use crate::web::dialog::dialog;
use crate::web::embed::embed;
use crate::web::form::Form;
use crate::web::history::history;
use crate::web::html::{effect, flag, text, view_of};
use crate::web::i18n::{Language, say, translated};
use crate::web::memory::MemoryPanel;
use crate::web::overlap::OverlapPanel;
use crate::web::plan::plan_panel;
use crate::web::render::{Dispatch, nodes, patched};
use crate::web::runs::measured_offer;
use crate::web::sentence::sentence;
use crate::web::share::{ShareDialog, open_share};
use crate::web::start::start;
use crate::web::state::{State, Viewed};
use crate::web::strip::{Advice, Strip, Waterfall};
use crate::web::timeline::TimelinePanel;
use crate::web::timeline::look::Look;
use crate::web::{browser, i18n, link_sync, modal, opened, shortcuts};
use leptos::prelude::*;
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
    provide_context(Look::new(state));
    link_sync::keep(state);
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
    effect(move || {
        let verdict = match state.evaluation() {
            _ if state.fault().is_some() => t!("✕ cannot run"),
            Some(evaluation) if !state.is_stale() => words::peak(&evaluation.report, state.view.unit.get()),
            _ => Message::default(),
        };
        let name = state.run.with(words::name);
        let parts = [verdict, name, verbatim("Shardscope")].into_iter();
        let title = Message::joined(" · ", parts.filter(|part| !part.is_empty()));
        document().set_title(&translated(title));
    });
    match state.view.embed {
        Some(panel) => embed(state, panel),
        None => page(state).into_any(),
    }
}

/// Buttons of the header for the second Run and the dialog.
fn exchange() -> Node {
    let button = |action, class, title: &'static str, label: &'static str| {
        let button = el("button", &[("class", class)], &[markup::text(label)]).title(title);
        Node::from_iter([button.on(action), markup::text(" ")])
    };
    let begin = Action::Compare(Compare::Begin);
    let runs = "Published runs, with what was measured";
    let mine = "Learn the constants of your cluster from runs that you measured";
    Node::from_iter([
        button(begin, "", "Keep this run beside what you change", "Compare"),
        button(Action::Open(Dialog::Published), "quiet", runs, "Runs"),
        button(Action::Open(Dialog::Runs), "quiet", mine, "My runs"),
        button(Action::Open(Dialog::Import), "quiet", "", "Import"),
        button(Action::Open(Dialog::Export("markdown")), "quiet", "", "Export"),
    ])
}

/// The line below everything.
fn footer() -> Node {
    let open = |page, label: &'static str| link_button(label).on(Action::Open(page));
    // A page of the other language stands at another address.
    let link = |address: &'static str, label: &'static str| leaf("a", "", label).say("href", address);
    let links = [
        open(Dialog::Published, "Published runs"),
        open(Dialog::Methods, "Methods"),
        open(Dialog::Glossary(None), "Glossary"),
        open(Dialog::Runs, "My runs"),
        open(Dialog::Import, "Import"),
        open(Dialog::Export("markdown"), "Export"),
        link("limits.html", "What it does not model"),
        link("sources.html", "Sources"),
        link("licences.txt", "Licences"),
    ];
    let words = t!(
        "Shardscope {version} estimates training (not inference). Everything is computed in this browser; nothing leaves it. ",
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

fn page(state: State) -> impl IntoView {
    let tab = state.panels.tab;
    let turn = move |name: &'static str| {
        let compares = name == "compare";
        state.view.show(View::Run);
        tab.set(if compares { "results" } else { name });
        if compares {
            compare(state);
        }
    };
    let beside = view_of(move || state.run.with(published::beside));
    let footer = view_of(footer);
    let tab_button = move |name: &'static str, label: &'static str| {
        view! {
            <button aria-current=text(move || (tab.get() == name).to_string()) on:click=move |_| turn(name)>
                {say(label)}
            </button>
        }
    };
    view! {
        <button class="skip" on:click=move |_| if let Some(results) = browser::by_id("results") { let _ = results.focus(); }>
            {say("Skip to the results")}
        </button>
        <div data-tab=text(move || tab.get().to_owned())>
            <Header/>
            {opened::schedules(state)}
            {opened::lesson(state)}
            {opened::cluster(state)}
            <main class="page" hidden=flag(move || state.view.open.get() != View::Run)>
                <aside class="inputs" aria-label=say("Inputs")>
                    {history(state)}
                    <Form/>
                </aside>
                <div class="results" id="results" tabindex="-1">
                    {start(state)}
                    {nodes("link-notice", move || refused(&state.refused()))}
                    <Strip/>
                    <Waterfall/>
                    <Advice/>
                    {measured_offer(state)}
                    {opened::second(state)}
                    <div use:patched=beside></div>
                    <MemoryPanel/>
                    <TimelinePanel/>
                    <OverlapPanel/>
                    {plan_panel(state)}
                    <AccuracyPanel/>
                    <p class="footnote" use:patched=footer></p>
                </div>
                <aside class="detail stale-able" class:open=flag(move || state.panels.drawer.get()) class:stale=flag(move || state.is_stale()) aria-label=say("About a number")>
                    <About/>
                </aside>
            </main>
            <nav class="tabbar" aria-label=say("Sections")>
                {tab_button("inputs", "Inputs")}
                {tab_button("results", "Results")}
                {tab_button("compare", "Compare")}
                <button on:click=move |_| modal::open(state, Dialog::Runs)>{say("My runs")}</button>
                <button on:click=move |_| open_share()>{say("Share")}</button>
            </nav>
            <ShareDialog/>
            {dialog(state)}
        </div>
    }
}

/// Switches to the other language.
fn language_button(shown: Viewed) -> AnyView {
    let other = move || i18n::shown().0.other();
    let turn = move |_| {
        let to = untrack(other);
        shown.prefer_language(to.id());
        leptos::task::spawn_local(i18n::speak(to));
    };
    view! {
        <button class="quiet" translate="no" lang=text(move || other().id().to_owned()) title=text(move || other().names()[1].to_owned()) on:click=turn>
            {text(move || other().names()[0].to_owned())}
        </button>
    }
    .into_any()
}

#[component]
fn Header() -> impl IntoView {
    let state = expect_context::<State>();
    let shown = state.view;
    let flip = move |_| {
        let theme = match shown.theme.get_untracked() {
            Theme::Light => Theme::Dark,
            Theme::Dark => Theme::Light,
        };
        shown.prefer(theme);
    };
    let other_unit = move |_| {
        shown.unit.update(|unit| {
            *unit = match unit {
                MemoryUnit::Gib => MemoryUnit::Gb,
                MemoryUnit::Gb => MemoryUnit::Gib,
            };
        });
    };
    let exchange = view_of(exchange);
    let view_button = move |view: View| {
        let current = move || shown.open.get().is_like(view);
        view! {
            <button class="quiet" data-view=view.to_string() aria-current=text(move || current().to_string()) on:click=move |_| shown.show(view)>
                {say(view.name())}
            </button>
        }
    };
    view! {
        <div class="top">
        <header class="bar">
            <i class="logo"></i>
            <h1>"Shardscope"</h1>
            <nav class="views" aria-label=say("Views")>
                {View::offered().map(view_button).collect_view()}
            </nav>
            <span class="spring"></span>
            {language_button(shown)}
            <button class="quiet" title=say("Memory in GiB (2³⁰ bytes) or GB (10⁹ bytes)") on:click=other_unit>
                {text(move || shown.unit.get().name().to_owned())}
            </button>
            <button class="quiet" aria-label=say("Light or dark") title=say("Light or dark") on:click=flip>"◐"</button>
            <span class="wide-only" use:patched=exchange></span>
            <button class="main wide-only" on:click=move |_| open_share()>{say("Share")}</button>
        </header>
        {sentence(state)}
        </div>
    }
}
