//! A model from its config.json: paste it, choose the file, or drop it.

use crate::issue::Issue;
use crate::run::Value;
use crate::share::import::huggingface::{Imported, read};
use crate::share::import::summary::summary;
use crate::ui::browser;
use crate::ui::html::{flag, text};
use crate::ui::state::State;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

type Read = Option<Result<Imported, Vec<Issue>>>;

/// The button and its dialog.
pub fn import_model(state: State) -> AnyView {
    let typed = RwSignal::new(String::new());
    let found = Memo::new_with_compare(
        move |_| understood(&typed.get()),
        |_: Option<&Read>, _| true,
    );
    let none = flag(move || !found.with(|found| matches!(found, Some(Ok(_)))));
    let take = move |_| {
        if let Some(Ok(imported)) = found.get_untracked() {
            state.run.update(|run| run.model = imported.model());
            close();
        }
    };
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
    let content = move || {
        found.with(|found| {
            found
                .as_ref()
                .map(summary)
                .unwrap_or_default()
                .into_string()
        })
    };
    view! {
        <button class="link more" on:click=move |_| open()>"import a config.json"</button>
        <dialog id="import-model" aria-labelledby="import-title" on:dragover=|event| event.prevent_default() on:drop=dropped>
            <h2 id="import-title">"Model from a config.json"</h2>
            <p class="muted">"Hugging Face's file of a model: paste it, drop it here, or choose it. It is read in this browser and goes nowhere."</p>
            <div class="row">
                <textarea
                    rows="6"
                    aria-label="config.json"
                    spellcheck="false"
                    placeholder="{ \"model_type\": \"llama\", \"hidden_size\": 4096, ... }"
                    prop:value=typed
                    on:input=move |event| typed.set(event_target_value(&event))
                ></textarea>
            </div>
            <input type="file" aria-label="Choose the file" accept=".json,application/json" on:change=chosen/>
            <div class="summary" aria-live="polite" inner_html=text(content)></div>
            <div class="end">
                <button on:click=move |_| close()>"Close"</button>
                <button class="main" disabled=none on:click=take>"Use this model"</button>
            </div>
        </dialog>
    }
    .into_any()
}

fn dialog() -> Option<web_sys::HtmlDialogElement> {
    browser::by_id("import-model").and_then(|element| element.dyn_into().ok())
}

fn open() {
    if let Some(dialog) = dialog() {
        let _ = dialog.show_modal();
    }
}

fn close() {
    if let Some(dialog) = dialog() {
        dialog.close();
    }
}

/// What the text means; none where there is none.
fn understood(typed: &str) -> Read {
    if typed.trim().is_empty() {
        return None;
    }
    let refuse = |message: &str| Err(vec![Issue::error("model", message)]);
    let Ok(object) = js_sys::JSON::parse(typed) else {
        return Some(refuse("this is no JSON: paste the whole file, from { to }"));
    };
    Some(match serde_wasm_bindgen::from_value::<Value>(object) {
        Ok(config) => read(&config),
        Err(_) => refuse("this JSON cannot be read"),
    })
}

/// Puts the first file's text into `typed`.
fn load(files: Option<web_sys::FileList>, typed: RwSignal<String>) {
    let Some(file) = files.and_then(|files| files.get(0)) else {
        return;
    };
    let promise = file.text();
    leptos::task::spawn_local(async move {
        if let Ok(content) = wasm_bindgen_futures::JsFuture::from(promise).await {
            typed.set(content.as_string().unwrap_or_default());
        }
    });
}
