//! The Share dialog: the link, and what to copy into a wiki.

use crate::io::link::{encode, encode_with};
use crate::view::view_state::ViewState;
use crate::view::views::{Embed, View};
use crate::web::browser;
use crate::web::html::{flag, text};
use crate::web::i18n::{say, translated};
use crate::web::state::State;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// Panels to choose from; a lesson is shared while it is open.
fn panels() -> impl Iterator<Item = (&'static str, &'static str)> {
    let others = Embed::ALL.into_iter().filter(|(panel, ..)| *panel != Embed::Lesson);
    others.map(|(_, id, name)| (id, name))
}

const FORMS: [(&str, &str); 3] = [
    ("frame", "frame"),
    ("element", "element, as high as its content"),
    ("markdown", "Markdown link to the whole page"),
];

fn choice(
    label: &'static str,
    options: impl Iterator<Item = (&'static str, &'static str)>,
    to: RwSignal<String>,
) -> AnyView {
    let option = |(id, label)| view! { <option value=id>{say(label)}</option> };
    let choose = move |event| to.set(event_target_value(&event));
    view! { <select aria-label=say(label) on:change=choose>{options.map(option).collect_view()}</select> }.into_any()
}

/// Opens the dialog.
pub(crate) fn open_share() {
    if let Some(dialog) = dialog() {
        let _ = dialog.show_modal();
    }
}

fn dialog() -> Option<web_sys::HtmlDialogElement> {
    browser::by_id("share").and_then(|element| element.dyn_into().ok())
}

/// The dialog, closed.
#[component]
pub(crate) fn ShareDialog() -> impl IntoView {
    let state = expect_context::<State>();
    let panel = RwSignal::new(String::new());
    let form = RwSignal::new(String::new());
    let address = move |view: ViewState| {
        let fragment = state.run.with(|run| encode_with(run, &view));
        format!("{}#{fragment}", browser::address())
    };
    let made = || Some(env!("CARGO_PKG_VERSION").to_owned());
    let whole = move |lang| address(ViewState { lang, made: made(), theme: None, page: None, ..state.view.get() });
    let link = move || whole(state.view.lang.get());
    // An embed has the language that was chosen here, by link or by button; where none was chosen, its reader's.
    let chosen = move || {
        let lang = state.view.lang.get().or_else(|| state.view.language.get());
        lang.filter(|lang| ["en", "zh"].contains(&lang.as_str()))
    };
    let code = move || {
        let now = state.view.get();
        // Of an open lesson it is the step that is shared.
        let step = now.step();
        let panel = step.map_or_else(|| Embed::named(&panel.get()).unwrap_or(Embed::Memory), |_| Embed::Lesson);
        let home = browser::address();
        let home = home.rsplit_once('/').map_or("", |(home, _)| home);
        match form.get().as_str() {
            "element" => {
                let run = state.run.with(encode).replace('&', "&amp;");
                let lang = chosen().map_or_else(String::new, |lang| format!(" lang=\"{lang}\""));
                let pairs = now.pairs().filter(|(name, _)| ["lesson", "sliders"].contains(name));
                let step: Vec<String> = pairs.map(|(name, value)| format!(" {name}=\"{value}\"")).collect();
                let step = step.concat();
                let panel = panel.id();
                format!(
                    "<script type=\"module\" src=\"{home}/embed.js\"></script>\n<shardscope-embed run=\"{run}\" panel=\"{panel}\"{step}{lang}></shardscope-embed>"
                )
            }
            "markdown" => format!("[{}]({})", document().title(), whole(chosen())),
            _ => {
                let view = ViewState {
                    embed: Some(panel),
                    open: step.map_or(View::Run, View::Learn),
                    lang: chosen(),
                    made: made(),
                    theme: None,
                    page: None,
                    second: None,
                    ..now
                };
                let source = address(view).replace('&', "&amp;");
                format!(
                    "<iframe src=\"{source}\" width=\"600\" height=\"400\" style=\"border:0\" loading=\"lazy\" title=\"Shardscope\"></iframe>"
                )
            }
        }
    };
    let long = move || link().len() > 1000;
    view! {
        <dialog id="share" aria-labelledby="share-title">
            <h2 id="share-title">{say("Share this run")}</h2>
            <p class="muted">{say("The link holds the whole configuration. Nothing is stored anywhere else.")}</p>
            <div class="row">
                <textarea id="share-link" readonly rows="2" aria-label=say("Link") prop:value=text(link)></textarea>
                <CopyButton what=text(link)/>
            </div>
            <p class="issue warning" hidden=flag(move || !long())>{say("Over 1000 characters: some chat programs cut it.")}</p>
            <p>
                {say("For a wiki:")}
                " "
                <span hidden=flag(move || matches!(state.view.open.get(), View::Learn(_)))>{choice("Panel", panels(), panel)}</span>
                " "
                {choice("Form", FORMS.into_iter(), form)}
            </p>
            <div class="row">
                <textarea readonly rows="3" aria-label=say("Code") prop:value=text(code)></textarea>
                <CopyButton what=text(code)/>
            </div>
            <div class="end">
                <button on:click=move |_| if let Some(dialog) = dialog() { dialog.close() }>{say("Close")}</button>
            </div>
        </dialog>
    }
}

#[component]
fn CopyButton(what: Signal<String>) -> impl IntoView {
    let word = RwSignal::new("Copy");
    let copy = move |_| {
        browser::copy(&what.get_untracked(), move |done| {
            word.set(if done { "Copied" } else { "Select and copy" });
        });
    };
    view! { <button class="main" on:click=copy aria-live="polite">{text(move || translated(word.get()))}</button> }
}
