//! The address bar follows the Run and the view, and both follow the address bar.

use crate::io::link;
use crate::web::browser;
use crate::web::form::history;
use crate::web::state::{State, read_address};
use leptos::prelude::*;
use std::time::Duration;

/// Typing settles this long before the address changes: browsers refuse more than a few changes a second.
const SETTLE: Duration = Duration::from_millis(150);

/// Keeps both in step; in an embed the address is not changed.
pub fn keep(state: State) {
    let pending = StoredValue::new(None::<TimeoutHandle>);
    // The view of the entry that is shown.
    let opened = StoredValue::new(state.view.open.get_untracked());
    if state.view.embed.is_none() {
        browser::number_entry(state.history.get_value().at());
        Effect::new(move |first: Option<()>| {
            let fragment = state.run.with(|run| link::encode_with(run, &state.view.get()));
            if first.is_none() && browser::link_text().is_empty() {
                return;
            }
            if let Some(before) = pending.get_value() {
                before.clear();
            }
            let view = state.view.open.get_untracked();
            let turns = !opened.get_value().is_like(view);
            opened.set_value(view);
            let settled = move || history::settle(state, &fragment, turns);
            // A step that begins is an entry at once: "Back" may come before anything settles.
            if turns || history::begins(state) {
                return settled();
            }
            let timer = set_timeout_with_handle(settled, SETTLE);
            pending.set_value(timer.ok());
        });
    }
    for event in ["hashchange", "popstate"] {
        let handle = window_event_listener_untyped(event, move |_| {
            let history = state.history.get_value();
            // One way is both events.
            let arrives = event == "popstate" && history.arrives();
            if history.travels() {
                return;
            }
            if arrives {
                return history::show(state);
            }
            let link::Decoded { run, mut view, origin, auto, notices } = read_address();
            view.embed = state.view.embed;
            opened.set_value(view.open);
            if state.view.embed.is_none() {
                history::turn(state, &run);
            }
            state.view.set(view);
            // A link of nothing but bad values is the Run that is there, and more to say.
            state.notices.set(notices);
            if state.run.with_untracked(|now| *now != run) {
                let layout = state.layout.get_value();
                let origin = layout.remembered(&run).unwrap_or(origin);
                layout.open(&run);
                state.take(run, origin);
            }
            if let Some(given) = auto {
                state.layout.get_value().resolve(&given);
            }
        });
        on_cleanup(move || handle.remove());
    }
}
