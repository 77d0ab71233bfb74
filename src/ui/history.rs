//! Undo and redo of the Run, and what was changed of the default.
//!
//! A step is from one settled Run to the next, so that what is typed in one go is one step. Runs are kept as links.

use crate::share::link;
use crate::ui::back::back_fold;
use crate::ui::browser;
use crate::ui::html::flag;
use crate::ui::state::State;
use leptos::prelude::*;
use std::time::Duration;

/// Steps that can be undone; earlier ones are forgotten.
const MOST: usize = 100;

/// What is typed within this time of each other is one step.
const SETTLE: Duration = Duration::from_millis(500);

/// Earlier Runs, later Runs, and the one between them.
#[derive(Clone, Copy)]
struct History {
    state: State,
    now: StoredValue<String>,
    past: RwSignal<Vec<String>>,
    future: RwSignal<Vec<String>>,
}

impl History {
    /// Takes the Run as it is for a step, if it is another.
    fn settle(self) {
        let link = self.state.run.with_untracked(link::encode);
        let before = self.now.get_value();
        if link == before {
            return;
        }
        self.now.set_value(link);
        self.past.update(|past| {
            past.push(before);
            if past.len() > MOST {
                past.remove(0);
            }
        });
        self.future.set(Vec::new());
    }

    /// Goes one step back or forth.
    fn step(self, back: bool) {
        self.settle();
        let (from, to) = if back {
            (self.past, self.future)
        } else {
            (self.future, self.past)
        };
        let mut link = None;
        from.update(|links| link = links.pop());
        let Some(link) = link else {
            return;
        };
        let now = self.now.get_value();
        to.update(|links| links.push(now));
        self.state.unread.set(None);
        self.state.run.set(link::decode(&link).run);
        self.now.set_value(link);
    }
}

/// The buttons, their keys, and the fold with what was changed.
pub fn history(state: State) -> AnyView {
    let history = History {
        state,
        now: StoredValue::new(state.run.with_untracked(link::encode)),
        past: RwSignal::new(Vec::new()),
        future: RwSignal::new(Vec::new()),
    };
    let pending = StoredValue::new(None::<TimeoutHandle>);
    Effect::new(move |_| {
        state.run.track();
        if let Some(before) = pending.get_value() {
            before.clear();
        }
        pending.set_value(set_timeout_with_handle(move || history.settle(), SETTLE).ok());
    });
    let handle = window_event_listener(leptos::ev::keydown, move |event| {
        if !(event.ctrl_key() || event.meta_key()) || browser::is_typing() {
            return;
        }
        let back = match (event.key().as_str(), event.shift_key()) {
            ("z", false) => true,
            ("z" | "Z", true) | ("y", false) => false,
            _ => return,
        };
        event.prevent_default();
        history.step(back);
    });
    on_cleanup(move || handle.remove());
    let button = move |back: bool, label: &'static str, title: &'static str| {
        let steps = if back { history.past } else { history.future };
        view! {
            <button
                class="quiet"
                title=title
                disabled=flag(move || steps.with(Vec::is_empty))
                on:click=move |_| history.step(back)
            >{label}</button>
        }
    };
    view! {
        <div class="history">
            {button(true, "↶ undo", "Undo (Ctrl+Z)")}
            {button(false, "↷ redo", "Redo (Shift+Ctrl+Z)")}
        </div>
        {back_fold(state, "changed", "What is changed")}
    }
    .into_any()
}
