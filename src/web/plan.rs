//! The plan: a desk in the back room, which searches slice by slice and does what its buttons say.

use crate::web::back::answer;
use crate::web::browser;
use crate::web::html::text;
use crate::web::state::State;
use leptos::prelude::*;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(raw_module = "./room.js")]
extern "C" {
    /// Gives what had the focus in the panel, before it was made again, the focus in the new one.
    #[wasm_bindgen(js_name = keepFocus)]
    fn keep_focus();
}

/// The plan panel: nothing is searched until it is asked for; then the answer follows the Run.
pub fn plan_panel(state: State) -> AnyView {
    // What is said to the desk, numbered: said twice it is done once.
    let said = RwSignal::new((0u32, String::new()));
    let say =
        move |word: String| said.update(|(number, last)| (*number, *last) = (*number + 1, word));
    let content = answer(state, "plan", move || {
        said.with(|(number, word)| Some(format!("{number}|{word}")))
    });
    let more = move || content.with(|html| html.contains("data-more"));
    Effect::new(move |_| {
        // Each answer that is not the last asks for the next.
        if more() {
            say(String::new());
        }
        keep_focus();
    });
    // How far it is changes often, what is found seldom: only what changes is put into the document again.
    let part = move |index: usize| {
        text(move || {
            content.with(|html| html.split('\n').nth(index).unwrap_or_default().to_owned())
        })
    };
    let label = text(move || if more() { "Stop" } else { "Plan" }.to_owned());
    let press = move |_| say(if more() { "stop" } else { "search" }.to_owned());
    let pressed = move |event: web_sys::MouseEvent| {
        if let Some((word, _)) = browser::pressed_data(&event, "data-plan") {
            say(word);
        }
    };
    view! {
        <section aria-labelledby="plan-title">
            <div class="panel-head">
                <h2 id="plan-title">"Plan: the fastest layouts that fit"</h2>
                <span class="spring"></span>
                <button class="main" on:click=press>{label}</button>
            </div>
            <div class="plan" on:click=pressed>
                <div inner_html=part(0)></div>
                <div inner_html=part(1)></div>
            </div>
        </section>
    }
    .into_any()
}
