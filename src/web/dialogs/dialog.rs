//! The dialog: import, export, and what has no place of its own on the page.

use crate::view::node::action::Dialog;
use crate::web::browser::chosen;
use crate::web::browser::html::{effect, flag};
use crate::web::browser::i18n::say;
use crate::web::dialogs::body::dialog_page;
use crate::web::dialogs::page::named;
use crate::web::document::arriving::arriving;
use crate::web::document::modal::{close, open};
use crate::web::state::State;
use leptos::prelude::*;

/// The dialog, closed; a text to import is typed, pasted, chosen or dropped here, what it means is shown below.
pub fn dialog(state: State) -> AnyView {
    let typed = state.panels.imported;
    let opened = Memo::new(move |was: Option<&bool>| was == Some(&true) || state.panels.dialog.get().is_some());
    let dropped = move |event: web_sys::DragEvent| {
        event.prevent_default();
        let files = event.data_transfer().and_then(|data| data.files());
        let file = files.and_then(|files| files.get(0));
        if let Some(file) = file {
            load(&file, typed);
        }
    };
    effect(move || {
        if let Some(page) = state.view.page.get() {
            open(state, named(&page));
        }
    });
    view! {
        <dialog
            id="dialog"
            aria-label="Shardscope"
            on:dragover=|event| event.prevent_default()
            on:drop=dropped
            on:close=move |_| state.panels.dialog.set(None)
        >
            <div hidden=flag(move || state.panels.dialog.get() != Some(Dialog::Import))>
                <h2>{say("Import a run or a model")}</h2>
                <p class="muted">{say("A link, a config.json, arguments, Python, TOML, YAML, JSON or an environment \
                    file of a training program, an adapter_config.json, or an export: paste it, drop it here, or \
                    choose the file. Settings that extend another file: paste that file first, then a line of three \
                    dashes, then the settings. It is read in this browser and goes nowhere.")}</p>
                <textarea
                    rows="6"
                    aria-label=say("What to bring in")
                    spellcheck="false"
                    maxlength="500000"
                    prop:value=typed
                    on:input=move |event| typed.set(event_target_value(&event))
                ></textarea>
                <input
                    type="file"
                    aria-label=say("Choose the file")
                    on:change=move |event| if let Some(file) = chosen(&event) { load(&file, typed); }
                />
            </div>
            {move || opened.get().then(|| arriving(move || dialog_page(state, typed)))}
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
