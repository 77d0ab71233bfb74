//! The dialog: import, export, and what has no place of its own on the page.

use crate::io::export::Stamp;
use crate::view::node::markup::Node;
use crate::web::browser;
use crate::web::html::flag;
use crate::web::i18n::say;
use crate::web::panels;
use crate::web::render::patched;
use crate::web::state::State;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// The page of the dialog that `query` asks for, about the Run as it is; as it was while nothing is asked for.
pub fn content(
    state: State,
    query: impl Fn() -> Option<String> + Send + Sync + 'static,
) -> Signal<Node> {
    Memo::new(move |before: Option<&Node>| {
        let Some(query) = query() else {
            return before.cloned().unwrap_or_default();
        };
        let (date, address) = (browser::today(), browser::address());
        let stamp = Stamp {
            date: &date,
            address: &address,
        };
        state.run.with(|run| panels::dialog(&query, run, &stamp))
    })
    .into()
}

/// The dialog, closed; a text to import is typed, pasted, chosen or dropped here, what it means is shown below.
pub fn dialog(state: State) -> AnyView {
    let typed = RwSignal::new(String::new());
    let said = content(state, move || {
        let of = state.dialog.get();
        match of.as_str() {
            "" => None,
            "import" => Some(format!("import {}", typed.get())),
            _ => Some(of),
        }
    });
    let dropped = move |event: web_sys::DragEvent| {
        event.prevent_default();
        let files = event.data_transfer().and_then(|data| data.files());
        load(files, typed);
    };
    let chosen = move |event: web_sys::Event| {
        let input = event
            .target()
            .and_then(|target| target.dyn_into::<web_sys::HtmlInputElement>().ok());
        load(input.and_then(|input| input.files()), typed);
    };
    if let Some(page) = state.view.with_value(|view| view.page.clone()) {
        Effect::new(move |_| open(state, &page));
    }
    view! {
        <dialog id="dialog" aria-label="Shardscope" on:dragover=|event| event.prevent_default() on:drop=dropped on:close=move |_| state.dialog.set(String::new())>
            <div hidden=flag(move || state.dialog.with(|of| of != "import"))>
                <h2>{say("Import a run or a model")}</h2>
                <p class="muted">{say("A link, a config.json, arguments of Megatron-LM or torchtitan, TOML, DeepSpeed's JSON, Nanotron's YAML, or an export: paste it, drop it here, or choose the file. It is read in this browser and goes nowhere.")}</p>
                <textarea
                    rows="6"
                    aria-label=say("What to bring in")
                    spellcheck="false"
                    maxlength="500000"
                    prop:value=typed
                    on:input=move |event| typed.set(event_target_value(&event))
                ></textarea>
                <input type="file" aria-label=say("Choose the file") on:change=chosen/>
            </div>
            <div class="summary" aria-live="polite" use:patched=said></div>
            <div class="end">
                <button on:click=move |_| close()>{say("Close")}</button>
            </div>
        </dialog>
    }
    .into_any()
}

fn element() -> Option<web_sys::HtmlDialogElement> {
    browser::by_id("dialog").and_then(|element| element.dyn_into().ok())
}

/// Opens the dialog on what `of` names, or turns to it.
pub fn open(state: State, of: &str) {
    state.dialog.set(of.to_owned());
    if let Some(dialog) = element().filter(|dialog| !dialog.open()) {
        let _ = dialog.show_modal();
    }
}

/// Closes the dialog.
pub fn close() {
    if let Some(dialog) = element() {
        dialog.close();
    }
}

/// Puts the first file's text into `typed`.
fn load(files: Option<web_sys::FileList>, typed: RwSignal<String>) {
    let Some(file) = files.and_then(|files| files.get(0)) else {
        return;
    };
    let promise = file.text();
    leptos::task::spawn_local(async move {
        if let Ok(content) = wasm_bindgen_futures::JsFuture::from(promise).await {
            // As much as a paste may have: what is longer is no such file.
            let text = content.as_string().unwrap_or_default();
            typed.set(text.chars().take(500_000).collect());
        }
    });
}
