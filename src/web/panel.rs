//! Panels of the page: views that follow the last valid evaluation.

use crate::core::report::Evaluation;
use crate::core::units::MemoryUnit;
use crate::view::node::markup::Node;
use crate::web::html::view_once;
use crate::web::i18n::say;
use crate::web::panels::{Question, named};
use crate::web::render::patched;
use crate::web::state::State;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// What `view` makes of the last valid evaluation: again with each that follows, and with whatever else it reads.
/// Nothing is computed while `open` says no.
pub fn panel(
    state: State,
    open: impl Fn() -> bool + Send + Sync + 'static,
    view: impl Fn(&Evaluation, MemoryUnit) -> Node + Send + Sync + 'static,
) -> Signal<Node> {
    view_once(move || {
        let evaluation = open().then(|| state.evaluation()).flatten()?;
        Some(view(&evaluation, state.unit.get()))
    })
}

/// The panel `name` of [`crate::web::panels::PANELS`], while `query` asks for it.
pub fn named_panel(
    state: State,
    name: &'static str,
    query: impl Fn() -> Option<String> + Send + Sync + 'static,
) -> Signal<Node> {
    let query = Signal::derive(query);
    panel(
        state,
        move || query.with(Option::is_some),
        move |evaluation, unit| {
            let of = query.get().unwrap_or_default();
            let question = Question {
                evaluation,
                of: &of,
                unit,
            };
            named(name, &question)
        },
    )
}

/// A fold whose content is the panel `name`, computed while it is open.
pub fn fold(state: State, name: &'static str, summary: &'static str) -> AnyView {
    fold_of(summary, move |open| {
        named_panel(state, name, move || open.get().then(String::new))
    })
}

/// A fold whose content is computed while it is open.
pub fn fold_of(
    summary: &'static str,
    content: impl FnOnce(RwSignal<bool>) -> Signal<Node>,
) -> AnyView {
    let open = RwSignal::new(false);
    let content = content(open);
    view! {
        <details class="data-table" on:toggle=move |event| open.set(is_open(&event))>
            <summary>{say(summary)}</summary>
            <div use:patched=content></div>
        </details>
    }
    .into_any()
}

/// Whether the fold of a `toggle` event is open.
pub fn is_open(event: &leptos::ev::Event) -> bool {
    let target = event.target();
    let fold = target.and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    fold.is_some_and(|fold| fold.has_attribute("open"))
}
