//! Panels of the page: views that follow the last valid evaluation.

use crate::core::report::Evaluation;
use crate::core::units::MemoryUnit;
use crate::view::node::markup::Node;
use crate::view::panel::Panel;
use crate::web::html::view_once;
use crate::web::i18n::say;
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

/// The panel that `panel` says; what it showed last while that is none.
pub fn shown(
    state: State,
    panel: impl Fn() -> Option<Panel> + Send + Sync + 'static,
) -> Signal<Node> {
    let kind = Signal::derive(panel);
    self::panel(
        state,
        move || kind.with(Option::is_some),
        move |evaluation, unit| {
            kind.get()
                .map_or_else(Node::none, |kind| kind.view(evaluation, unit))
        },
    )
}

/// A fold whose content is a panel, computed while it is open.
pub fn fold(
    state: State,
    summary: &'static str,
    panel: impl Fn() -> Panel + Send + Sync + 'static,
) -> AnyView {
    let open = RwSignal::new(false);
    let content = shown(state, move || open.get().then(&panel));
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
