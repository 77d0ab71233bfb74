//! Panels of the page: views that follow the last valid evaluation.

use crate::core::report::Evaluation;
use crate::core::units::MemoryUnit;
use crate::view::node::markup::{Node, leaf};
use crate::view::panel::Panel;
use crate::web::browser::html::{flag, view_of, view_once};
use crate::web::browser::i18n::say;
use crate::web::document::arriving::MISSING;
use crate::web::document::fold::Fold;
use crate::web::document::render::patched;
use crate::web::late::{Late, Missing, parts};
use crate::web::state::State;
use leptos::prelude::*;
use std::sync::Arc;

parts! {
    views: panel_view(panel: Panel, evaluation: Arc<Evaluation>, unit: MemoryUnit) -> Node
        = panel.view(&evaluation, unit);
}

/// Shows `view` of the last valid evaluation: again with each that follows, and with every other signal that it reads.
/// Nothing is computed while `open` is false.
pub fn panel(
    state: State,
    open: impl Fn() -> bool + Send + Sync + 'static,
    view: impl Fn(&Evaluation, MemoryUnit) -> Node + Send + Sync + 'static,
) -> Signal<Node> {
    view_once(move || {
        let evaluation = open().then(|| state.evaluation()).flatten()?;
        Some(view(&evaluation, state.view.unit.get()))
    })
}

/// The panel that `panel` returns, from a part that is loaded with the first of them; nothing while it returns none.
pub fn shown(state: State, panel: impl Fn() -> Option<Panel> + Send + Sync + 'static) -> Signal<Node> {
    let (kind, late) = (Signal::derive(panel), Late::new());
    view_once(move || {
        let Some(kind) = kind.get() else {
            return Some(Node::none());
        };
        let evaluation = if kind.draws_ops() { state.drawn.get() } else { state.painted.get() };
        Some(late_view(late, kind, evaluation?, state.view.unit.get()))
    })
}

/// The panel of an evaluation; while its part is awaited and where it does not arrive, words that say so.
pub fn late_view(late: Late, panel: Panel, evaluation: Arc<Evaluation>, unit: MemoryUnit) -> Node {
    match late.value(panel_view(panel, evaluation, unit)) {
        Ok(Some(view)) => view,
        Ok(None) => leaf("p", "muted", "Loading…").say("role", "status"),
        Err(Missing) => leaf("p", "issue error missing", MISSING).say("role", "alert"),
    }
}

/// A panel of the first screen, of the last valid evaluation once its key figures have been painted.
pub fn first(state: State, panel: impl Fn() -> Panel + Send + Sync + 'static) -> Signal<Node> {
    view_once(move || Some(panel().first_view(&*state.painted.get()?, state.view.unit.get())))
}

/// A fold whose content is a panel, computed while it is open.
pub fn fold(state: State, summary: &'static str, panel: impl Fn() -> Panel + Send + Sync + 'static) -> AnyView {
    let content = move |open: Signal<bool>| shown(state, move || open.get().then(&panel));
    part(None, "fold", say(summary), flag(|| false), content)
}

/// A fold whose content is computed, and in the document, while it is open. It opens by itself where `opens` says so
/// and the user has not chosen otherwise.
pub fn part(
    id: Option<&'static str>,
    class: &'static str,
    summary: Signal<String>,
    opens: Signal<bool>,
    content: impl FnOnce(Signal<bool>) -> Signal<Node>,
) -> AnyView {
    let chosen = RwSignal::new(None);
    let open = flag(move || chosen.get().unwrap_or_else(|| opens.get()));
    let content = content(open);
    let content = view_of(move || if open.get() { content.get() } else { Node::none() });
    Fold {
        id,
        class,
        summary: view! { {summary} }.into_any(),
        open,
        chosen,
        content: view! { <div use:patched=content></div> }.into_any(),
    }
    .view()
}
