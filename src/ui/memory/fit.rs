//! What would make it fit: each change a button, with its memory and its cost in time.

use super::fold::Fold;
use crate::memory::Verdict;
use crate::report::Evaluation;
use crate::report::fit::{Goal, Search, Suggestion};
use crate::ui::state::State;
use crate::units::{MemoryUnit, group, show_percent, show_seconds};
use leptos::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Typing settles this long before the search begins.
const SETTLE: Duration = Duration::from_millis(150);
/// The search gives way to the page after this many milliseconds.
const SLICE_MS: f64 = 8.0;

/// What was found so far.
#[derive(Clone, Copy)]
struct Finding {
    list: RwSignal<Vec<Suggestion>>,
    busy: RwSignal<bool>,
    /// Counts searches, so that an old one stops.
    number: StoredValue<u64>,
}

/// The suggestions, open where the run does not fit.
#[component]
pub fn Fit() -> impl IntoView {
    let state = expect_context::<State>();
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
    let open = Signal::derive(move || asked.get().unwrap_or(!fits.get()));
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
    let note = move || match (open.get(), finding.busy.get()) {
        (true, true) => "looking…".to_owned(),
        _ => String::new(),
    };
    view! {
        <Fold
            id="memory-fit"
            title=Signal::derive(title)
            note=Signal::derive(note)
            open=open
            toggle=Callback::new(move |()| asked.set(Some(!open.get_untracked())))
        >
            {move || {
                let evaluation = state.evaluation()?;
                Some(finding.list.with(|list| table(state, &evaluation, list, finding.busy.get())))
            }}
        </Fold>
    }
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

fn table(state: State, base: &Evaluation, list: &[Suggestion], busy: bool) -> AnyView {
    let fits = base.report.memory.verdict == Verdict::Fits;
    if list.is_empty() {
        let words = match (busy, fits) {
            (true, _) => "",
            (false, true) => "No single setting takes less and still fits.",
            (false, false) => {
                "No change of up to three settings makes it fit, nor up to 64 times as many GPUs. A smaller model or shorter sequences would."
            }
        };
        return view! { <p class="muted">{words}</p> }.into_any();
    }
    let unit = state.unit.get();
    let goal = if fits { Goal::Less } else { Goal::Fits };
    let rows = list.iter().map(|one| row(state, base, one, unit));
    let caption = match goal {
        Goal::Fits => "Smallest changes that fit, the cheapest in GPU time first.",
        Goal::Less => {
            "Smallest change of each setting that takes less, the cheapest in GPU time first."
        }
    };
    view! {
        <p class="muted">{caption}</p>
        <div class="scroll-x" tabindex="0" role="region" aria-label="Suggestions" aria-busy=busy.to_string()>
            <table class="fit">
                <thead>
                    <tr>
                        <th scope="col">"change"</th>
                        <th scope="col">{format!("peak {}", unit.name())}</th>
                        <th scope="col">"saves"</th>
                        <th scope="col">"step"</th>
                        <th scope="col">"GPU time a token"</th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn row(
    state: State,
    base: &Evaluation,
    one: &Suggestion,
    unit: MemoryUnit,
) -> impl IntoView + use<> {
    let fix = one.fix.clone();
    let more = one.dearer - 1.0;
    let cost = if more.abs() < 5e-4 {
        "the same".to_owned()
    } else if more > 0.0 {
        format!("+{}", show_percent(more))
    } else {
        format!("−{}", show_percent(-more))
    };
    let batch = one
        .global_batch
        .map(|batch| view! { <small class="muted">{format!(" global batch {}", group(&batch.to_string()))}</small> });
    let saved = base.report.memory.peak_bytes - one.peak;
    view! {
        <tr>
            <td><button class="fix" on:click=move |_| state.apply(&fix)>{one.fix.label.clone()}</button>{batch}</td>
            <td title=format!("{:.0} bytes", one.peak.0)>{unit.number(one.peak)}</td>
            <td>{unit.number(saved)}</td>
            <td>{show_seconds(one.step)}</td>
            <td>{cost}</td>
        </tr>
    }
}
