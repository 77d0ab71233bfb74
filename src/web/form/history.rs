//! Undo and redo of the Run, and what was changed of the run that the page opens with.
//!
//! A step is from one settled Run to the next, so that what is typed in one go is one step. Each is an entry of the
//! browser's history: undo and redo walk over the entries that "Back" and "Forward" walk over.

use crate::core::run::Run;
use crate::core::search::ladder::LadderEnd;
use crate::io::import::summary::is_model_alone;
use crate::io::link;
use crate::view::node::markup::{Action, Node, el, text};
use crate::view::panels::changes::{ChangedSettings, what_changed};
use crate::view::panels::chosen::LayoutOrigin;
use crate::web::browser;
use crate::web::browser::html::text as text_of;
use crate::web::browser::i18n::{say, translated};
use crate::web::document::menu::menu;
use crate::web::document::render::nodes;
use crate::web::state::State;
use leptos::prelude::*;

/// Longest pause between two edits that undo takes as one step, milliseconds.
const APART: f64 = 500.0;

/// Shows `run`, whose layout is from `origin`, in place of the page's own; undo brings that one back.
pub(crate) fn load(state: State, run: Run, origin: LayoutOrigin) {
    state.history.get_value().begin();
    state.take(run, origin);
}

/// Shows a Run that was read in place of the page's own. Where it is another model and nothing else, a layout is chosen
/// for it, as for a model that is chosen in the form.
pub(crate) fn import(state: State, run: Run) {
    let is_model = state.run.with_untracked(|now| is_model_alone(&run, now));
    if is_model && state.view.follows.get_untracked() {
        state.run.set(run);
    } else {
        let before = state.layout.get_value().origin.get_untracked();
        let origin = state.run.with_untracked(|now| before.of_read(now, &run));
        load(state, run, origin);
    }
}

/// True if the Run as it is begins a step.
pub(crate) fn begins(state: State) -> bool {
    let history = state.history.get_value();
    history.time.get_value() == 0.0 && !history.travels() && !is_entry(state)
}

/// True if the entry that is shown is of the Run as it is.
fn is_entry(state: State) -> bool {
    let link = state.run.with_untracked(link::encode);
    state.history.get_value().entries.with_untracked(|entries| entries.run() == link)
}

/// Puts the Run and the view, whose link is `fragment`, into the entry that is shown; into a new one where another view
/// is opened (`turns`), or another step begins.
pub(crate) fn settle(state: State, fragment: &str, turns: bool) {
    let history = state.history.get_value();
    // On the way to another entry the address is the browser's: it is written on arrival.
    if history.travels() {
        return;
    }
    let (time, is_same) = (js_sys::Date::now(), is_entry(state));
    let link = state.run.with_untracked(link::encode);
    let begins = turns || (!is_same && time - history.time.get_value() > APART);
    if begins && browser::new_entry(fragment, history.at() + 1) {
        history.entries.update(|entries| entries.push(link));
    } else {
        browser::show_link(fragment, history.at());
        if !is_same {
            history.entries.update(|entries| entries.replace(link));
        }
    }
    if !is_same {
        history.time.set_value(time);
    }
    history.keep();
}

/// Puts the Run and the view as they are into the entry that is shown.
pub(crate) fn show(state: State) {
    let fragment = state.run.with_untracked(|run| link::encode_with(run, &state.view.now()));
    settle(state, &fragment, false);
}

/// Takes over the entry that the browser came to, which shows `run`: one of the page's own, or one of another link.
pub(crate) fn turn(state: State, run: &Run) {
    let history = state.history.get_value();
    let (link, number) = (link::encode(run), browser::entry());
    history.entries.update(|entries| match number {
        Some(at) => {
            entries.turn(at);
            entries.replace(link);
        }
        None => entries.push(link),
    });
    if number.is_none() {
        browser::number_entry(history.at());
    }
    history.begin();
    history.keep();
}

/// Goes one step back or forth, to the nearest entry with another Run; the view stays.
pub fn step(state: State, back: bool) {
    let history = state.history.get_value();
    if !is_entry(state) {
        show(state);
    }
    let Some(to) = history.entries.with_untracked(|entries| entries.other(back)) else {
        return;
    };
    history.entries.update(|entries| entries.turn(to));
    state.forget_texts();
    let link = history.entries.with_untracked(|entries| entries.run().to_owned());
    let run = link::decode(&link).run;
    let origin = state.origin_of(&run);
    state.take(run, origin);
    history.begin();
    history.keep();
    history.travel();
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
    let button = move |back: bool, action: Action, label: &'static str, title: &'static str| {
        let steps = state.history.get_value().entries;
        let off = if steps.with(|entries| entries.other(back).is_none()) { "disabled" } else { "" };
        let attributes = [("class", "quiet"), ("disabled", off)];
        el("button", &attributes, &[text(label)]).title(title).on(action)
    };
    let buttons = move || {
        Node::from_iter([
            button(true, Action::Undo, "↶ undo", "Undo (Ctrl+Z)"),
            button(false, Action::Redo, "↷ redo", "Redo (Shift+Ctrl+Z)"),
        ])
    };
    let origin = move || {
        let layout = state.layout.get_value();
        // Where the search found none, the layout that stands is as it was set.
        let is_found = !matches!(layout.outcome(), Some(LadderEnd::Undivided));
        Some(layout.origin.get()).filter(|_| is_found).unwrap_or(LayoutOrigin::Yours)
    };
    let count = move || translated(state.run.with(|run| ChangedSettings::of(run, origin()).count()));
    // The name has the words that are seen.
    let unnamed = say("Changed settings");
    let name = Signal::derive(move || Some(count()).filter(|seen| !seen.is_empty()).unwrap_or_else(|| unnamed.get()));
    let changes = nodes("changed-list", move || state.run.with(|run| what_changed(run, origin())));
    view! {
        <div class="history-row">
            {nodes("history", buttons)}
            {menu("changes", name, text_of(count).into_any(), changes)}
        </div>
    }
    .into_any()
}
