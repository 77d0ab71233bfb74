//! One stage over the step, drawn at the panel's width.

use crate::core::t;
use crate::view::node::markup::{Node, el, text as words};
use crate::web::browser;
use crate::web::html::{effect, flag, view_of};
use crate::web::i18n::say;
use crate::web::panel::named_panel;
use crate::web::render::patched;
use crate::web::state::State;
use leptos::html::Div;
use leptos::prelude::*;

/// The picture, asked for while `visible`.
pub fn view(state: State, visible: Signal<bool>) -> AnyView {
    let stage = RwSignal::new(String::new());
    let width = RwSignal::new(0.0);
    let frame = NodeRef::<Div>::new();
    effect(move || {
        if let Some(element) = frame.get() {
            browser::watch_width(&element, move |wide| width.set(wide));
        }
    });
    let asked = move || {
        let theme = state.theme.get().id();
        let wide = width.get();
        (visible.get() && wide > 0.0).then(|| format!("{}:{theme}:{wide:.0}", stage.get()))
    };
    let choices = view_of(move || stages(state));
    let content = named_panel(state, "over-time", asked);
    view! {
        <div class="over-time" node_ref=frame hidden=flag(move || !visible.get())>
            <select
                aria-label=say("Stage")
                use:patched=choices
                on:change=move |event| stage.set(event_target_value(&event))
            ></select>
            <div use:patched=content></div>
        </div>
    }
    .into_any()
}

/// The stages to choose from; the fullest until one is chosen.
fn stages(state: State) -> Node {
    let evaluation = state.evaluation();
    let count = evaluation.map_or(0, |evaluation| evaluation.report.memory.per_stage.len());
    let rank = |rank: usize| {
        let value = rank.to_string();
        el(
            "option",
            &[("value", &value)],
            &[words(t!("rank {rank}", rank))],
        )
    };
    let fullest = el("option", &[("value", "-")], &[words("fullest rank")]);
    std::iter::once(fullest)
        .chain((0..count).map(rank))
        .collect()
}
