//! Undo and redo of the Run, and what was changed of the default.
//!
//! A step is from one settled Run to the next, so that what is typed in one go is one step. Runs are kept as links.

use crate::core::run::Run;
use crate::core::t;
use crate::io::link;
use crate::view::node::markup::{Action, Node, el, text};
use crate::view::panels::changes::{changed, what_changed};
use crate::web::browser;
use crate::web::html::text as text_of;
use crate::web::i18n::{say, translated};
use crate::web::menu::menu;
use crate::web::render::nodes;
use crate::web::state::{History, State};
use leptos::prelude::*;

/// Steps that can be undone; earlier ones are forgotten.
const MOST: usize = 100;
/// Longest pause between two edits that undo takes as one step, milliseconds.
const APART: f64 = 500.0;

/// Shows `run` in place of the page's own, as an entry of the browser's history.
pub(crate) fn load(state: State, run: Run) {
    if state.view.embed.is_none() {
        browser::keep_entry();
    }
    state.view.change(|view| view.chosen = false);
    state.take(run);
}

/// Shows a Run that was read in place of the page's own. Where it is another model and nothing else, a layout is chosen for it, as
/// for a model that is chosen in the form.
pub(crate) fn import(state: State, run: Run) {
    let is_model = state.run.with_untracked(|now| Run { model: now.model.clone(), ..run.clone() } == *now);
    if is_model && state.view.follows.get_untracked() {
        state.run.set(run);
    } else {
        load(state, run);
    }
}

/// Takes the Run as it is for a step, if it is another.
pub(crate) fn settle(state: State) {
    let history = state.history.get_value();
    let link = state.run.with_untracked(link::encode);
    let before = history.now.get_value();
    if link == before {
        return;
    }
    let time = js_sys::Date::now();
    if time - history.at.get_value() > APART {
        history.past.update(|past| {
            past.push(before);
            if past.len() > MOST {
                past.remove(0);
            }
        });
        history.future.set(Vec::new());
    }
    history.now.set_value(link);
    history.at.set_value(time);
    history.keep();
}

/// Goes one step back or forth.
pub fn step(state: State, back: bool) {
    settle(state);
    let history = state.history.get_value();
    let (from, to) = if back { (history.past, history.future) } else { (history.future, history.past) };
    let mut link = None;
    from.update(|links| link = links.pop());
    let Some(link) = link else {
        return;
    };
    let now = history.now.get_value();
    to.update(|links| links.push(now));
    state.unread.set(None);
    state.take(link::decode(&link).run);
    history.now.set_value(link);
    history.at.set_value(0.0);
    history.keep();
}

/// Ctrl or Cmd with Z and Y, outside of fields.
pub fn key(state: State, event: &web_sys::KeyboardEvent) {
    if !(event.ctrl_key() || event.meta_key()) || browser::is_typing() {
        return;
    }
    let back = match (event.key().as_str(), event.shift_key()) {
        ("z", false) => true,
        ("z" | "Z", true) | ("y", false) => false,
        _ => return,
    };
    event.prevent_default();
    step(state, back);
}

/// The buttons, and the fold with what was changed.
pub fn history(state: State) -> AnyView {
    let button = |steps: RwSignal<Vec<String>>, action: Action, label: &'static str, title: &'static str| {
        let off = if steps.with(Vec::is_empty) { "disabled" } else { "" };
        let attributes = [("class", "quiet"), ("disabled", off)];
        el("button", &attributes, &[text(label)]).title(title).on(action)
    };
    let buttons = move || {
        let History { past, future, .. } = state.history.get_value();
        Node::from_iter([
            button(past, Action::Undo, "↶ undo", "Undo (Ctrl+Z)"),
            button(future, Action::Redo, "↷ redo", "Redo (Shift+Ctrl+Z)"),
        ])
    };
    let count = move || match state.run.with(|run| changed(run).len()) {
        0 => String::new(),
        n => translated(t!("{n} changed", n)),
    };
    // The name has the words that are seen.
    let unnamed = say("Changed settings");
    let name = Signal::derive(move || Some(count()).filter(|seen| !seen.is_empty()).unwrap_or_else(|| unnamed.get()));
    let changes = nodes("changed-list", move || state.run.with(what_changed));
    view! {
        <div class="history-row">
            {nodes("history", buttons)}
            {menu("changes", name, text_of(count).into_any(), changes)}
        </div>
    }
    .into_any()
}
