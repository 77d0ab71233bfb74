//! The dialog: import, export, and what has no place of its own on the page.

use crate::io::export::Stamp;
use crate::io::import::summary::summary;
use crate::view::node::action::Dialog;
use crate::view::node::markup::Node;
use crate::web::browser::{self, chosen};
use crate::web::html::{effect, flag, view_once};
use crate::web::i18n::say;
use crate::web::modal::{close, open};
use crate::web::render::patched;
use crate::web::state::State;
use crate::web::{dialog_page, runs};
use leptos::prelude::*;

/// The open page about the Run, with the import that is `typed`; the page that was open last while the dialog is closed.
fn content(state: State, typed: RwSignal<String>) -> Signal<Node> {
    view_once(move || match state.panels.dialog.get()? {
        Dialog::Import => Some(match typed.get() {
            text if text.trim().is_empty() => Node::none(),
            text => state.run.with(|run| summary(&text, run)),
        }),
        page => {
            let stamp = Stamp { date: &browser::today(), address: &browser::address() };
            Some(state.run.with(|run| dialog_page::content(page, run, &stamp)))
        }
    })
}

/// The dialog, closed; a text to import is typed, pasted, chosen or dropped here, what it means is shown below.
pub fn dialog(state: State) -> AnyView {
    let typed = RwSignal::new(String::new());
    let content = content(state, typed);
    let dropped = move |event: web_sys::DragEvent| {
        event.prevent_default();
        let files = event.data_transfer().and_then(|data| data.files());
        let file = files.and_then(|files| files.get(0));
        if let Some(file) = file {
            match state.panels.dialog.get_untracked() {
                Some(Dialog::Runs) => state.runs.take_file(state, file),
                _ => load(&file, typed),
            }
        }
    };
    effect(move || {
        if let Some(page) = state.view.page.get() {
            open(state, dialog_page::named(&page));
        }
    });
    view! {
        <dialog id="dialog" aria-label="Shardscope" on:dragover=|event| event.prevent_default() on:drop=dropped on:close=move |_| state.panels.dialog.set(None)>
            <div hidden=flag(move || state.panels.dialog.get() != Some(Dialog::Import))>
                <h2>{say("Import a run or a model")}</h2>
                <p class="muted">{say("A link, a config.json, arguments of Megatron-LM or torchtitan, TOML, DeepSpeed's JSON, YAML of axolotl, LLaMA-Factory, Trainer, Accelerate, torchtune, llm-foundry or Nanotron, an adapter_config.json, or an export: paste it, drop it here, or choose the file. It is read in this browser and goes nowhere.")}</p>
                <textarea
                    rows="6"
                    aria-label=say("What to bring in")
                    spellcheck="false"
                    maxlength="500000"
                    prop:value=typed
                    on:input=move |event| typed.set(event_target_value(&event))
                ></textarea>
                <input type="file" aria-label=say("Choose the file") on:change=move |event| if let Some(file) = chosen(&event) { load(&file, typed); }/>
            </div>
            {runs::dialog(state)}
            <div class="summary" aria-live="polite" use:patched=content></div>
            <div class="end">
                <button on:click=move |_| close()>{say("Close")}</button>
            </div>
        </dialog>
    }
    .into_any()
}

/// Puts the file's text into `typed`.
fn load(file: &web_sys::File, typed: RwSignal<String>) {
    let promise = file.text();
    leptos::task::spawn_local(async move {
        if let Ok(content) = wasm_bindgen_futures::JsFuture::from(promise).await {
            // As much as a paste may have: what is longer is no such file.
            let text = content.as_string().unwrap_or_default();
            typed.set(text.chars().take(500_000).collect());
        }
    });
}
