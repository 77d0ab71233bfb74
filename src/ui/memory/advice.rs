//! The folded parts: methods side by side, what would make it fit, how to narrow a surprise down. The back room makes
//! each while it is open.

use super::fold::Fold;
use crate::memory::Verdict;
use crate::ui::back::back_room;
use crate::ui::html::{flag, text};
use crate::ui::state::State;
use leptos::prelude::*;

/// A part of the back room, asked for while it is open.
fn part(state: State, name: &'static str, open: Signal<bool>) -> AnyView {
    back_room(state, "", name, move || open.get().then(String::new))
}

/// A part that is closed until someone opens it.
fn closed(state: State, id: &'static str, title: &'static str, note: &'static str) -> AnyView {
    let open = RwSignal::new(false);
    Fold {
        id,
        title: text(move || title.to_owned()),
        note,
        open: open.into(),
        content: part(state, id, open.into()),
    }
    .view(move |to| open.set(to))
}

/// The same Run by every method.
pub fn methods(state: State) -> AnyView {
    let title = "The same run by every method";
    closed(
        state,
        "memory-methods",
        title,
        "five, and what each leaves out",
    )
}

/// How to narrow down a run that should have fitted.
pub fn narrowing(state: State) -> AnyView {
    let title = "Fits, but ran out of memory?";
    closed(state, "memory-narrow", title, "narrow it down")
}

/// What would make it fit, open where it does not.
pub fn fit(state: State) -> AnyView {
    // None until someone opens or closes it.
    let asked = RwSignal::new(None::<bool>);
    let fits = Memo::new(move |_| {
        state
            .evaluation()
            .is_none_or(|evaluation| evaluation.report.memory.verdict == Verdict::Fits)
    });
    let open = flag(move || asked.get().unwrap_or(!fits.get()));
    let title = move || {
        if fits.get() {
            "What would take less memory"
        } else {
            "What would make it fit"
        }
        .to_owned()
    };
    Fold {
        id: "memory-fit",
        title: text(title),
        note: "",
        open,
        content: part(state, "memory-fit", open),
    }
    .view(move |to| asked.set(Some(to)))
}
