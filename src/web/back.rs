//! The back room: what is not needed at first sight is made by the JavaScript package, in a worker where the browser
//! allows one. What the page downloads to start stays small, and long work never holds it up.

use crate::core::issue::Issue;
use crate::core::report::Timed;
use crate::core::run::Run;
use crate::io::{courier, link};
use crate::view::markup::leaf;
use crate::web::browser;
use crate::web::state::State;
use js_sys::{Array, Float64Array};
use leptos::prelude::*;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

// public/room.js: the door to it.
#[wasm_bindgen(raw_module = "./room.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = answer)]
    async fn door(name: &str, of: &str, unit: &str, link: &str) -> Result<JsValue, JsValue>;
}

async fn ask(name: &str, of: &str, unit: &str, link: &str) -> Option<String> {
    door(name, of, unit, link).await.ok()?.as_string()
}

/// What the panel `name` of the back room says: anew with each Run that makes sense, while `of` says what is wanted.
pub fn answer(
    state: State,
    name: &'static str,
    of: impl Fn() -> Option<String> + Send + Sync + 'static,
) -> Signal<String> {
    follow(state, name, Signal::derive(of))
}

/// One instance for all panels.
fn follow(state: State, name: &'static str, of: Signal<Option<String>>) -> Signal<String> {
    let content = RwSignal::new(String::new());
    let asked = StoredValue::new(String::new());
    Effect::new(move |_| {
        let unit = state.unit.get();
        // Panels are about the last Run that made sense; a run is brought in or out, and a glossary read, whatever the
        // present one is.
        let link = if name == "room" {
            Some(state.run.with(link::encode))
        } else {
            let evaluation = state.evaluation();
            evaluation.map(|evaluation| link::encode(&evaluation.scenario.run))
        };
        let (Some(of), Some(link)) = (of.get(), link) else {
            return;
        };
        let question = format!("{of}\n{}\n{link}", unit.name());
        if asked.with_value(|before| *before == question) {
            return;
        }
        asked.set_value(question.clone());
        leptos::task::spawn_local(async move {
            let html = ask(name, &of, unit.name(), &link).await;
            // An answer to an earlier question is not shown.
            if asked.try_get_value() == Some(question) {
                content.set(html.unwrap_or_else(not_loaded));
            }
        });
    });
    content.into()
}

/// The Run's pipeline, simulated.
///
/// # Errors
/// What is wrong with its schedule, or that the back room cannot be loaded.
pub async fn timed(run: &Run) -> Result<Timed, Vec<Issue>> {
    let answer = door("timed", "", "", &link::encode(run)).await;
    let answer = answer.unwrap_or(JsValue::NULL);
    // Numbers and warnings, or what is wrong.
    if let Some(errors) = answer.as_string() {
        return Err(courier::issues(&errors));
    }
    let pair = Array::from(&answer);
    let numbers = Float64Array::new(&pair.get(0)).to_vec();
    let warnings = pair.get(1).as_string().unwrap_or_default();
    courier::unpack(&numbers, &warnings).ok_or_else(|| vec![Issue::error("schedule", NOT_LOADED)])
}

/// What the panel `name` answers to `of`, which is no matter of the Run; none where the back room cannot be loaded.
pub async fn once(name: &str, of: &str) -> Option<String> {
    ask(name, of, "", "").await
}

/// What the panel `name` says of the Run that is shown: for files.
pub async fn of_run(state: State, name: &str, of: &str) -> Option<String> {
    let link = link::encode(&untrack(|| state.evaluation())?.scenario.run);
    let unit = state.unit.get_untracked().name();
    ask(name, of, unit, &link).await
}

/// A fold whose content the panel `name` makes while it is open; a button in it asks for something else by its `data-of`.
pub fn back_fold(state: State, name: &'static str, summary: &'static str) -> AnyView {
    let open = RwSignal::new(false);
    let chosen = RwSignal::new(String::new());
    let of = move || open.get().then(|| chosen.get());
    let content = answer(state, name, of);
    let pressed = move |event: web_sys::MouseEvent| {
        if let Some((of, button)) = browser::pressed_data(&event, "data-of") {
            chosen.set(of);
            browser::focus_again(&button, "data-of");
        }
    };
    view! {
        <details class="twin" on:toggle=move |_| open.update(|open| *open = !*open) on:click=pressed>
            <summary>{summary}</summary>
            <div inner_html=content></div>
        </details>
    }
    .into_any()
}

const NOT_LOADED: &str =
    "This part of the calculator could not be loaded; the rest of the page is complete.";

fn not_loaded() -> String {
    leaf("p", "muted", NOT_LOADED).to_html()
}
