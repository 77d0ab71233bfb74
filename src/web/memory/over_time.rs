//! Memory of one pipeline rank over the step, drawn at the panel's width.

use crate::core::t;
use crate::view::node::markup::{Node, el, text as words};
use crate::view::panel::Panel;
use crate::web::browser;
use crate::web::browser::html::{effect, flag, view_of};
use crate::web::browser::i18n::say;
use crate::web::document::panel::shown;
use crate::web::document::render::patched;
use crate::web::state::State;
use leptos::html::Div;
use leptos::prelude::*;

/// The picture, asked for while `visible`.
pub fn view(state: State, visible: Signal<bool>) -> AnyView {
    let width = RwSignal::new(0.0);
    let frame = NodeRef::<Div>::new();
    effect(move || {
        if let Some(element) = frame.get() {
            browser::watch_width(&element, move |wide| width.set(wide));
        }
    });
    let panel = move || {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // of an element, in pixels
        let width = width.get().round() as usize;
        let (rank, theme) = (state.rank(), state.view.theme.get());
        (visible.get() && width > 0).then_some(Panel::OverTime { rank, theme, width })
    };
    let choices = view_of(move || ranks(state));
    let content = shown(state, panel);
    view! {
        <div class="over-time" node_ref=frame hidden=flag(move || !visible.get())>
            <select
                aria-label=say("Pipeline rank")
                use:patched=choices
                on:change=move |event| match event_target_value(&event).parse() {
                    Ok(rank) => state.select_rank(rank),
                    Err(_) => state.view.select(None),
                }
            ></select>
            <div use:patched=content></div>
        </div>
    }
    .into_any()
}

/// The pipeline ranks to choose from; the fullest until one is chosen.
fn ranks(state: State) -> Node {
    let evaluation = state.evaluation();
    let count = evaluation.map_or(0, |evaluation| evaluation.report.memory.per_stage.len());
    let chosen = state.rank();
    let rank = |rank: usize| {
        let value = rank.to_string();
        let selected = if chosen == Some(rank) { "selected" } else { "" };
        el("option", &[("value", &value), ("selected", selected)], &[words(t!("rank {rank}", rank))])
    };
    let fullest = el("option", &[("value", "-")], &[words("fullest rank")]);
    std::iter::once(fullest).chain((0..count).map(rank)).collect()
}
