//! Views that are computed while they are open: methods side by side, what would make it fit, how to narrow a surprise
//! down.

use crate::core::advice::fit::{Base, Suggestions};
use crate::core::report::Evaluation;
use crate::core::run::registry::field;
use crate::view::node::markup::{Node, muted};
use crate::view::panel::Panel;
use crate::view::panels::memory::suggestions;
use crate::web::browser::html::flag;
use crate::web::browser::i18n::say;
use crate::web::document::panel::shown;
use crate::web::document::render::patched;
use crate::web::form::choice::choice_select;
use crate::web::state::State;
use crate::web::worker::{Job, JobProgress, JobRequest, Reply, request};
use leptos::prelude::*;
use std::sync::Arc;

/// The Run by every method, and the method that the page counts by.
pub fn methods(state: State, open: Signal<bool>) -> AnyView {
    let content = shown(state, move || open.get().then_some(Panel::Methods));
    let method = field("memory_method").map(|field| choice_select(state, field, "Memory method"));
    view! {
        <p class="tools">{say("The page counts by")} " " {method}</p>
        <div id="methods" use:patched=content></div>
    }
    .into_any()
}

/// Measurements that narrow down a run that should have fitted.
pub(crate) fn narrowing(state: State, open: Signal<bool>) -> AnyView {
    let content = shown(state, move || open.get().then_some(Panel::Narrow));
    view! { <div id="narrow" use:patched=content></div> }.into_any()
}

/// Changes that would make it fit, or take less where it does.
pub fn fit(state: State, open: Signal<bool>) -> AnyView {
    let content = found(state, open);
    view! { <div id="fit" inert=flag(move || state.stands_in()) use:patched=content></div> }.into_any()
}

/// The suggestions: searched by a worker, and dropped as soon as the Run is another.
fn found(state: State, open: Signal<bool>) -> Signal<Node> {
    // The evaluation with its suggestions, which are none while the search goes on.
    let found = RwSignal::new_local(None::<(Arc<Evaluation>, Option<Suggestions>)>);
    let base = Memo::new_with_compare(move |_| open.get().then(|| state.evaluation()).flatten(), |_, _| true);
    Effect::new(move |before: Option<Option<JobRequest>>| {
        if let Some(request) = before.flatten() {
            request.cancel();
        }
        let base = base.get()?;
        Some(request(Job::Fit(Base::of(&base)), move |progress| {
            if let JobProgress::Reply(Reply::Fit(suggestions)) = progress {
                // The panel may be gone by now.
                let _ = found.try_set(Some((Arc::clone(&base), suggestions)));
            }
        }))
    });
    Memo::new(move |_| {
        found.with(|found| match found {
            None => Node::none(),
            Some((_, None)) => muted("Searching."),
            Some((base, Some(list))) => suggestions(&base.report.memory, list, state.view.unit.get()),
        })
    })
    .into()
}
