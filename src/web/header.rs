//! The header: views, what a run is kept, compared and shared with, and what is rarely used.

use crate::core::run::OneOf;
use crate::core::units::MemoryUnit;
use crate::io::dialect::launcher;
use crate::view::node::action::{Compare, Dialog, Save, TimelineAction};
use crate::view::node::markup::{Action, Node, PanelAction, el, text as words};
use crate::view::palette::Theme;
use crate::view::steps::StepId;
use crate::view::views::{Drawn, View};
use crate::web::browser;
use crate::web::browser::html::{effect, text, view_of};
use crate::web::browser::i18n;
use crate::web::browser::i18n::say;
use crate::web::dialogs::share::open_share;
use crate::web::document::menu::menu;
use crate::web::document::render::{Handler, handled, patched};
use crate::web::form::sentence::sentence;
use crate::web::state::{State, Viewed};
use crate::web::timeline::export;
use crate::web::timeline::look::TimelineLook;
use leptos::html::Div;
use leptos::prelude::*;
use std::sync::Arc;
use wasm_bindgen::JsCast;

/// A grey button that does `action`.
fn quiet(action: Action, class: &'static str, title: &'static str, label: &'static str) -> Node {
    el("button", &[("class", class)], &[words(label)]).title(title).on(action)
}

const PUBLISHED: &str = "Published runs, with what was measured";

/// Buttons for the second Run and for runs from elsewhere.
fn exchange() -> Node {
    Node::from_iter([
        quiet(Action::Open(Dialog::Published), "quiet rare", PUBLISHED, "Published runs"),
        quiet(Action::Compare(Compare::Begin), "quiet", "Keep this run beside what you change", "Compare"),
    ])
}

/// Entries of the menu that saves: pictures, tables, settings of a framework, the link.
fn files(state: State) -> Node {
    // The saved run is the shown one: an earlier run where this one cannot be shown.
    let saved = state.evaluation().map(|evaluation| evaluation.scenario.run.clone());
    let run = Arc::new(saved.unwrap_or_else(|| state.run.get()));
    let unit = state.view.unit.get();
    let picture = |drawn: Drawn, label: &'static str| {
        let run = || Some(Arc::clone(&run));
        let save = |png| Save::Picture { name: drawn.id(), drawn: Some(drawn), unit, png, run: run(), theme: None };
        pair(label, [false, true].map(|png| Action::Save(save(png)).into()))
    };
    let timeline = |action| PanelAction::Timeline(action).into();
    let item =
        |label: &'static str, press: crate::view::node::markup::Press| el("button", &[], &[words(label)]).on(press);
    Node::from_iter([
        pair("Timeline", [timeline(TimelineAction::Svg), timeline(TimelineAction::Png)]),
        picture(Drawn::Step, "Where the step goes"),
        picture(Drawn::Memory, "Memory"),
        picture(Drawn::Overlap, "Overlap"),
        item("Ops with their times (CSV)", timeline(TimelineAction::Csv)),
        item("Trace for Perfetto", timeline(TimelineAction::Trace)),
        item("Export: settings, tables, report…", Action::Open(Dialog::Export(launcher(&run))).into()),
        item("Link…", Action::Share.into()),
    ])
}

/// A picture with its two formats.
fn pair(label: &'static str, [svg, png]: [crate::view::node::markup::Press; 2]) -> Node {
    let button = |label: &'static str, press| el("button", &[], &[words(label)]).on(press);
    el("p", &[], &[el("span", &[], &[words(label)]), button("SVG", svg), button("PNG", png)])
}

fn save_menu(state: State) -> AnyView {
    let look = expect_context::<TimelineLook>();
    let handler: Handler = Arc::new(move |action| {
        if let PanelAction::Timeline(action) = action {
            export::export(state, look, action);
        }
    });
    let files = view_of(move || files(state));
    let content = view! { <div class="list" use:handled=(files, handler)></div> };
    menu("save", say("Save"), view! { {say("Save")} " ▾" }.into_any(), content.into_any())
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
        <button translate="no" lang=text(move || other().id().to_owned()) on:click=turn>
            {text(move || other().names()[1].to_owned())}
        </button>
    }
    .into_any()
}

/// Commands that are rarely used, or have no room on a phone.
fn more_menu(state: State) -> AnyView {
    let view_of_page = state.view;
    let other_unit = move |_| {
        view_of_page.unit.update(|unit| {
            *unit = match unit {
                MemoryUnit::Gib => MemoryUnit::Gb,
                MemoryUnit::Gb => MemoryUnit::Gib,
            };
        });
    };
    let items = view_of(|| {
        let item = |class, action, label: &'static str| quiet(action, class, "", label);
        Node::from_iter([
            item("narrow", Action::Show(View::Cluster), "Cluster"),
            item("narrow", Action::Show(View::Learn(StepId::first())), "Learn"),
            item("narrow", Action::Show(View::Scoreboard), "Scoreboard"),
            item("narrow", Action::Compare(Compare::Begin), "Compare"),
            item("narrow", Action::Open(Dialog::Export("markdown")), "Save"),
            item("narrow", Action::Share, "Share"),
            item("seldom", Action::Open(Dialog::Published), "Published runs"),
            item("seldom", Action::Show(View::Diagnose(true)), "Calibrate"),
            item("", Action::Open(Dialog::Import), "Import"),
            item("", Action::Open(Dialog::Methods), "Methods"),
            item("", Action::Open(Dialog::Glossary(None)), "Glossary"),
            item("", Action::Open(Dialog::Keys), "Keyboard"),
        ])
    });
    let content = view! {
        <div class="list" use:patched=items></div>
        <button title=say("Memory in GiB (2³⁰ bytes) or GB (10⁹ bytes)") on:click=other_unit>
            {say("Memory in")} " " {text(move || match view_of_page.unit.get() {
                MemoryUnit::Gib => MemoryUnit::Gb.name(),
                MemoryUnit::Gb => MemoryUnit::Gib.name(),
            }.to_owned())}
        </button>
        {language_button(view_of_page)}
    };
    menu("more", say("More"), "⋯".into_any(), content.into_any())
}

#[component]
pub(crate) fn Header() -> impl IntoView {
    let state = expect_context::<State>();
    let view_of_page = state.view;
    let flip = move |_| {
        let theme = match view_of_page.theme.get_untracked() {
            Theme::Light => Theme::Dark,
            Theme::Dark => Theme::Light,
        };
        view_of_page.prefer(theme);
    };
    let exchange = view_of(exchange);
    let view_button = move |view: View| {
        let current = move || view_of_page.open.get().is_like(view);
        view! {
            <button
                data-view=view.to_string()
                aria-current=text(move || current().to_string())
                on:click=move |_| view_of_page.show(view)
            >
                {say(view.choice().label)}
            </button>
        }
    };
    // A sentence of long names has two lines: what stands below it begins where it ends.
    let top = NodeRef::<Div>::new();
    effect(move || {
        if let Some(top) = top.get() {
            browser::watch_height(&top, |height| {
                let root = browser::document_element();
                let height = format!("{height}px");
                // A variable that is set has the style of the whole page computed again.
                let stands = root.as_ref().and_then(|root| browser::variable(root, "--top"));
                if let Some(root) = root.and_then(|root| root.dyn_into::<web_sys::HtmlElement>().ok())
                    && stands.as_ref() != Some(&height)
                {
                    let _ = root.style().set_property("--bar", &height);
                }
            });
        }
    });
    view! {
        <div class="top" node_ref=top>
            <header class="bar">
                <i class="logo"></i>
                <h1>"Shardscope"</h1>
                <nav class="views" aria-label=say("Views")>{View::offered().map(view_button).collect_view()}</nav>
                <span class="spring"></span>
                <span class="wide-only exchange" use:patched=exchange></span>
                <span class="wide-only">{save_menu(state)}</span>
                <button
                    class="quiet"
                    aria-label=say("Light or dark")
                    title=say("Light or dark")
                    on:click=flip
                >
                    "◐"
                </button>
                <span class="phone-only">{language_button(view_of_page)}</span>
                {more_menu(state)}
                <button class="main wide-only" on:click=move |_| open_share(state, false)>{say("Share")}</button>
            </header>
            {sentence(state)}
        </div>
    }
}

/// The bar at the foot of a phone: the views that fit, and the inputs.
pub(crate) fn foot_bar(state: State) -> AnyView {
    let (shown, tab) = (state.view, state.panels.tab);
    let on_inputs = move || tab.get() == "inputs";
    let button = move |view: View| {
        let current = move || shown.open.get().is_like(view) && !on_inputs();
        let turn = move |_| {
            tab.set("results");
            shown.show(view);
        };
        view! {
            <button aria-current=text(move || current().to_string()) on:click=turn>
                {say(view.choice().label)}
            </button>
        }
    };
    let inputs = move |_| {
        shown.show(View::Run);
        tab.set("inputs");
    };
    view! {
        <nav class="tabbar" aria-label=say("Sections")>
            {View::offered().filter(|view| view.is_frequent()).map(button).collect_view()}
            <button aria-current=text(move || on_inputs().to_string()) on:click=inputs>{say("Inputs")}</button>
        </nav>
    }
    .into_any()
}
