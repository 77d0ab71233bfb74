//! The folded parts: methods side by side, what would make it fit, how to narrow a surprise down. Each is computed
//! while it is open only.

use super::fold::Fold;
use crate::memory::Verdict;
use crate::report::Evaluation;
use crate::report::fit::{Search, Suggestion};
use crate::report::methods::{MethodRow, rows};
use crate::report::narrow::{gaps, narrow};
use crate::scene::markup::Html;
use crate::scene::memory as scene;
use crate::ui::html::{flag, text};
use crate::ui::state::State;
use leptos::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Typing settles this long before many Runs are computed.
const SETTLE: Duration = Duration::from_millis(150);
/// The search gives way to the page after this many milliseconds.
const SLICE_MS: f64 = 8.0;

fn fixed(words: &'static str) -> Signal<String> {
    text(move || words.to_owned())
}

/// The same Run by every method.
pub fn methods(state: State) -> AnyView {
    let open = RwSignal::new(false);
    let list = Memo::new_with_compare(
        move |_| {
            let evaluation = state.evaluation();
            evaluation.map_or_else(Vec::new, |evaluation| rows(&evaluation))
        },
        |_: Option<&Vec<MethodRow>>, _| true,
    );
    Fold {
        id: "memory-methods",
        title: fixed("The same run by every method"),
        note: text(move || list.with(|list| scene::range(list, state.unit.get()))),
        open: open.into(),
        content: text(move || {
            if !open.get() {
                return String::new();
            }
            list.with(|list| scene::methods(list, state.unit.get()))
                .into_string()
        }),
    }
    .view(move |to| open.set(to))
}

/// How to narrow down a run that should have fitted.
pub fn narrowing(state: State) -> AnyView {
    let open = RwSignal::new(false);
    let content = RwSignal::new(String::new());
    let pending = StoredValue::new(None::<TimeoutHandle>);
    Effect::new(move |_| {
        state.shown.track();
        let unit = state.unit.get();
        if !open.get() {
            return;
        }
        if let Some(before) = pending.get_value() {
            before.clear();
        }
        let compute = move || {
            if let Some(evaluation) = untrack(|| state.evaluation()) {
                let html = scene::narrow(&narrow(&evaluation), &gaps(&evaluation), unit);
                content.set(html.into_string());
            }
        };
        pending.set_value(set_timeout_with_handle(compute, SETTLE).ok());
    });
    Fold {
        id: "memory-narrow",
        title: fixed("Fits, but ran out of memory?"),
        note: fixed("narrow it down"),
        open: open.into(),
        content: content.into(),
    }
    .view(move |to| open.set(to))
}

/// What was found so far.
#[derive(Clone, Copy)]
struct Finding {
    list: RwSignal<Vec<Suggestion>>,
    busy: RwSignal<bool>,
    /// Counts searches, so that an old one stops.
    number: StoredValue<u64>,
}

/// What would make it fit, open where it does not.
pub fn fit(state: State) -> AnyView {
    let finding = Finding {
        list: RwSignal::new(Vec::new()),
        busy: RwSignal::new(false),
        number: StoredValue::new(0),
    };
    // None until someone opens or closes it.
    let asked = RwSignal::new(None::<bool>);
    let fits = Memo::new(move |_| {
        state
            .evaluation()
            .is_none_or(|evaluation| evaluation.report.memory.verdict == Verdict::Fits)
    });
    let open = flag(move || asked.get().unwrap_or(!fits.get()));
    Effect::new(move |_| {
        state.shown.track();
        finding.number.update_value(|number| *number += 1);
        if !open.get() {
            return;
        }
        let number = finding.number.get_value();
        finding.busy.set(true);
        set_timeout(
            move || {
                if let Some(evaluation) = untrack(|| state.evaluation()) {
                    let search = Search::new(&evaluation);
                    slice(finding, number, evaluation, search);
                }
            },
            SETTLE,
        );
    });
    let title = move || {
        if fits.get() {
            "What would take less memory"
        } else {
            "What would make it fit"
        }
        .to_owned()
    };
    let note = move || {
        if open.get() && finding.busy.get() {
            "looking…".to_owned()
        } else {
            String::new()
        }
    };
    let content = move || {
        let Some(evaluation) = state.evaluation().filter(|_| open.get()) else {
            return Html::none();
        };
        let (memory, unit) = (&evaluation.report.memory, state.unit.get());
        finding
            .list
            .with(|list| scene::fit(memory, list, finding.busy.get(), unit))
    };
    Fold {
        id: "memory-fit",
        title: text(title),
        note: text(note),
        open,
        content: text(move || content().into_string()),
    }
    .view(move |to| asked.set(Some(to)))
}

/// Searches for a moment, then lets the page breathe.
fn slice(finding: Finding, number: u64, base: Arc<Evaluation>, mut search: Search) {
    if finding.number.try_get_value() != Some(number) {
        return;
    }
    let until = js_sys::Date::now() + SLICE_MS;
    let mut more = true;
    while more && js_sys::Date::now() < until {
        more = search.step(&base);
    }
    if more {
        set_timeout(move || slice(finding, number, base, search), Duration::ZERO);
    } else {
        finding.list.set(search.ranked());
        finding.busy.set(false);
    }
}
