//! The fold with every schedule, simulated in the back room while it is open.

use crate::web::back::answer;
use crate::web::browser;
use crate::web::state::State;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

pub fn schedules(state: State) -> AnyView {
    let open = RwSignal::new(false);
    // The heads that were pressed, in order: what the table is sorted by.
    let sort = RwSignal::new(String::new());
    let content = answer(state, "schedules", move || open.get().then(|| sort.get()));
    let pressed = move |event: web_sys::MouseEvent| {
        if let Some((key, button)) = browser::pressed_data(&event, "data-sort") {
            sort.update(|keys| {
                keys.push(',');
                keys.push_str(&key);
            });
            browser::focus_again(&button, "data-sort");
        }
    };
    let toggled = move |event: leptos::ev::Event| {
        let fold = event
            .target()
            .and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        open.set(fold.is_some_and(|fold| fold.has_attribute("open")));
    };
    view! {
        <details class="twin" id="schedules" on:toggle=toggled on:click=pressed>
            <summary>"All schedules for this run"</summary>
            <div inner_html=content></div>
        </details>
    }
    .into_any()
}
