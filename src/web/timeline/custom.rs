//! An order of one's own: tokens or PyTorch's CSV, pasted or typed.

use crate::core::message::Message;
use crate::core::pipeline::torch_csv::to_tokens;
use crate::core::run::Schedule;
use crate::core::run::registry::{LONGEST_TEXT, field};
use crate::core::t;
use crate::view::node::markup::{Node, PanelAction, el, leaf, text};
use crate::view::panels::issues::line;
use crate::web::browser::html::flag;
use crate::web::browser::i18n::say;
use crate::web::document::render::{Handler, handled};
use crate::web::form::field::commit;
use crate::web::state::State;
use leptos::prelude::*;
use std::sync::Arc;

pub fn custom(state: State) -> AnyView {
    let draft = RwSignal::new(String::new());
    let bad = RwSignal::new(Message::default());
    let order = move || state.run.with(|run| run.schedule_options.order.clone().unwrap_or_default());
    let lines = |order: &str| order.replace('|', "\n");
    let tokens = Memo::new(move |_| {
        let (order, draft) = (order(), draft.get());
        match to_tokens(&draft) {
            Ok(tokens) if tokens != lines(&order) && bad.with(Message::is_empty) => lines(&order),
            _ => draft,
        }
    });
    // As the field takes it: what is longer than a link can hold is refused.
    let set = move |tokens: &str| {
        let field = field("schedule_options.order");
        let taken = field.map_or(Ok(()), |field| commit(state, field, &tokens.replace('\n', "|")));
        bad.set(taken.err().unwrap_or_default());
    };
    let typed = move |event| {
        let text = event_target_value(&event);
        match to_tokens(&text) {
            Ok(tokens) => set(&tokens),
            Err(error) => bad.set(error.message()),
        }
        draft.set(text);
    };
    let notes = move || {
        let unread = bad.get();
        let mut notes = Vec::new();
        if !unread.is_empty() {
            notes.push(el("p", &[("class", "issue error")], &[text("✕ "), text(unread)]));
        }
        let errors = state.shown.with(|tokens| tokens.errors.clone());
        notes.extend(errors.iter().map(line));
        let start = leaf("button", "", "Start from the order that is drawn");
        notes.push(start.on(PanelAction::StartOrder));
        Node::from_iter(notes)
    };
    let start: Handler = Arc::new(move |action| {
        if action != PanelAction::StartOrder {
            return;
        }
        if let Some(evaluation) = untrack(|| state.evaluation()) {
            draft.set(String::new());
            set(evaluation.order.print().trim());
        }
    });
    let notes = Signal::derive(notes);
    let label = t!(
        "Your order, one line per rank, {letters} letters at most: tokens such as 0F0, 0BW0, 0B1, 0W1, (0F7;7BW3), or \
            PyTorch's CSV",
        letters = LONGEST_TEXT
    );
    view! {
        <div
            class="own-order"
            hidden=flag(move || state.run.with(|run| run.schedule != Schedule::Custom))
        >
            <label for="own-order">{say(label)}</label>
            <textarea
                id="own-order"
                rows="6"
                spellcheck="false"
                autocomplete="off"
                maxlength=LONGEST_TEXT
                prop:value=tokens
                on:input=typed
            ></textarea>
            <div class="said" use:handled=(notes, start)></div>
        </div>
    }
    .into_any()
}
