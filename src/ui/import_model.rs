//! A model from its config.json: paste it, choose the file, or drop it.

use crate::ui::back::answer;
use crate::ui::browser;
use crate::ui::state::State;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// The button and its dialog; what the text means is said by the back room, whose button takes the model.
pub fn import_model(state: State) -> AnyView {
    let typed = RwSignal::new(String::new());
    let meant = answer(state, "import", move || Some(typed.get()));
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
                    maxlength="250000"
                    placeholder="{ \"model_type\": \"llama\", \"hidden_size\": 4096, ... }"
                    prop:value=typed
                    on:input=move |event| typed.set(event_target_value(&event))
                ></textarea>
            </div>
            <input type="file" aria-label="Choose the file" accept=".json,application/json" on:change=chosen/>
            <div class="summary" aria-live="polite" inner_html=meant></div>
            <div class="end">
                <button on:click=move |_| close()>"Close"</button>
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

/// Closes the dialog.
pub fn close() {
    if let Some(dialog) = dialog() {
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
            typed.set(text.chars().take(250_000).collect());
        }
    });
}
