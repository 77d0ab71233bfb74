//! The folded parts, computed while they are open: methods side by side, what would make it fit, how to narrow a
//! surprise down.

use crate::core::memory::Verdict;
use crate::core::report::Evaluation;
use crate::core::report::fit::{Base, Suggestions};
use crate::view::node::markup::{Node, muted};
use crate::view::panel::Panel;
use crate::view::panels::memory::suggestions;
use crate::web::html::{flag, text};
use crate::web::i18n::{say, translated};
use crate::web::panel::{part, shown};
use crate::web::state::State;
use crate::web::worker::{Job, Progress, Reply, Request, request};
use leptos::prelude::*;
use std::sync::Arc;

/// Classes of its folds.
const PART: &str = "fold part";

/// The same Run by every method.
pub fn methods(state: State) -> AnyView {
    let title = say("The same run by every method");
    let content = move |open: Signal<bool>| shown(state, move || open.get().then_some(Panel::Methods));
    part(Some("methods"), PART, title, flag(|| false), content)
}

/// Measurements that narrow down a run that should have fitted.
pub(crate) fn narrowing(state: State) -> AnyView {
    let title = say("Out of memory although it fits?");
    let content = move |open: Signal<bool>| shown(state, move || open.get().then_some(Panel::Narrow));
    part(Some("narrow"), PART, title, flag(|| false), content)
}

/// Changes that would make it fit, open where it does not.
pub fn fit(state: State) -> AnyView {
    let fits = move || {
        let evaluation = state.evaluation();
        evaluation.is_none_or(|evaluation| evaluation.report.memory.verdict == Verdict::Fits)
    };
    let title = move || translated(if fits() { "What would take less memory" } else { "What would make it fit" });
    let content = move |open: Signal<bool>| found(state, open);
    part(Some("fit"), PART, text(title), flag(move || !fits()), content)
}

/// The suggestions: searched by a worker, and dropped as soon as the Run is another.
fn found(state: State, open: Signal<bool>) -> Signal<Node> {
    // The evaluation with its suggestions, which are none while the search goes on.
    let found = RwSignal::new_local(None::<(Arc<Evaluation>, Option<Suggestions>)>);
    let base = Memo::new_with_compare(move |_| open.get().then(|| state.evaluation()).flatten(), |_, _| true);
    Effect::new(move |before: Option<Option<Request>>| {
        if let Some(request) = before.flatten() {
            request.cancel();
        }
        let base = base.get()?;
        Some(request(Job::Fit(Base::of(&base)), move |progress| {
            if let Progress::Reply(Reply::Fit(suggestions)) = progress {
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
