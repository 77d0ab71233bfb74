//! The folded parts, computed while they are open: methods side by side, what would make it fit, how to narrow a
//! surprise down.

use super::fold::Fold;
use crate::core::memory::Verdict;
use crate::core::report::Evaluation;
use crate::core::report::fit::{Fit, LIMIT};
use crate::view::node::markup::{Node, leaf};
use crate::view::panels::memory::suggestions;
use crate::web::html::{effect, flag, text};
use crate::web::i18n::{said, say};
use crate::web::panel::named_panel;
use crate::web::state::State;
use crate::web::worker::next_turn;
use leptos::prelude::*;
use std::sync::Arc;

/// The same Run by every method.
pub fn methods(state: State) -> AnyView {
    let title = say("The same run by every method");
    let content = move |open: Signal<bool>| named(state, "methods", open);
    part("methods", title, flag(|| false), content)
}

/// How to narrow down a run that should have fitted.
pub fn narrowing(state: State) -> AnyView {
    let title = say("Fits, but ran out of memory?");
    let content = move |open: Signal<bool>| named(state, "narrow", open);
    part("narrow", title, flag(|| false), content)
}

/// What would make it fit, open where it does not.
pub fn fit(state: State) -> AnyView {
    let fits = move || {
        let evaluation = state.evaluation();
        evaluation.is_none_or(|evaluation| evaluation.report.memory.verdict == Verdict::Fits)
    };
    let title = move || {
        said(if fits() {
            "What would take less memory"
        } else {
            "What would make it fit"
        })
    };
    let content = move |open: Signal<bool>| found(state, open);
    part("fit", text(title), flag(move || !fits()), content)
}

/// Units of the search between two turns of the event loop: some milliseconds.
const SLICE: u64 = 20_000;

/// The suggestions: searched after everything else, in slices, and dropped as soon as the Run is another.
fn found(state: State, open: Signal<bool>) -> Signal<Node> {
    // The evaluation with its search, which is none while it goes on.
    let found = RwSignal::new_local(None::<(Arc<Evaluation>, Option<Fit>)>);
    let latest = StoredValue::new(0u32);
    let base = Memo::new_with_compare(
        move |_| open.get().then(|| state.evaluation()).flatten(),
        |_, _| true,
    );
    effect(move || {
        latest.update_value(|number| *number += 1);
        let (number, base) = (latest.get_value(), base.get());
        let Some(base) = base else { return };
        leptos::task::spawn_local(async move {
            let mut search = Fit::new(&base, LIMIT);
            let mut slices = 0u32;
            loop {
                next_turn().await;
                // Another Run has come, or the panel is gone.
                if latest.try_get_value() != Some(number) {
                    return;
                }
                if search.step(SLICE) {
                    found.set(Some((base, Some(search))));
                    return;
                }
                slices += 1;
                if slices == SILENT {
                    found.set(Some((Arc::clone(&base), None)));
                }
            }
        });
    });
    Memo::new(move |_| {
        found.with(|found| match found {
            None => Node::none(),
            Some((_, None)) => leaf("p", "muted", "Searching."),
            Some((base, Some(search))) => {
                suggestions(&base.report.memory, search, state.unit.get())
            }
        })
    })
    .into()
}

/// Slices after which the panel says that it searches: shorter searches replace what is shown at once.
const SILENT: u32 = 12;

fn named(state: State, name: &'static str, open: Signal<bool>) -> Signal<Node> {
    named_panel(state, name, move || open.get().then(String::new))
}

/// A fold over `content`, open by itself where `opens` says so and nobody has chosen otherwise.
fn part(
    id: &'static str,
    title: Signal<String>,
    opens: Signal<bool>,
    content: impl FnOnce(Signal<bool>) -> Signal<Node>,
) -> AnyView {
    let chosen = RwSignal::new(None::<bool>);
    let open = flag(move || chosen.get().unwrap_or_else(|| opens.get()));
    Fold {
        id,
        title,
        open,
        content: content(open),
    }
    .view(move |to| chosen.set(Some(to)))
}
