//! The folded parts, made in the back room while they are open: methods side by side, what would make it fit, how to
//! narrow a surprise down.

use super::fold::Fold;
use crate::core::memory::Verdict;
use crate::web::back::answer;
use crate::web::html::{flag, text};
use crate::web::state::State;
use leptos::prelude::*;

/// The same Run by every method.
pub fn methods(state: State) -> AnyView {
    let title = text(|| "The same run by every method".to_owned());
    part(state, "methods", title, flag(|| false))
}

/// How to narrow down a run that should have fitted.
pub fn narrowing(state: State) -> AnyView {
    let title = text(|| "Fits, but ran out of memory?".to_owned());
    part(state, "narrow", title, flag(|| false))
}

/// What would make it fit, open where it does not.
pub fn fit(state: State) -> AnyView {
    let fits = move || {
        let evaluation = state.evaluation();
        evaluation.is_none_or(|evaluation| evaluation.report.memory.verdict == Verdict::Fits)
    };
    let title = move || {
        let title = if fits() {
            "What would take less memory"
        } else {
            "What would make it fit"
        };
        title.to_owned()
    };
    part(state, "fit", text(title), flag(move || !fits()))
}

/// A fold over the panel `name`, open by itself where `opens` says so and nobody has said otherwise.
fn part(state: State, name: &'static str, title: Signal<String>, opens: Signal<bool>) -> AnyView {
    let asked = RwSignal::new(None::<bool>);
    let open = flag(move || asked.get().unwrap_or_else(|| opens.get()));
    Fold {
        id: name,
        title,
        open,
        content: answer(state, name, move || open.get().then(String::new)),
    }
    .view(move |to| asked.set(Some(to)))
}
