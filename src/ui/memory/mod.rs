//! Memory per GPU: bars a pipeline rank or one rank over the step, the verdict against what was measured, and the advice
//! built on it.

mod bars;
mod fit;
mod fold;
mod methods;
mod narrow;
mod over_time;
mod table;

use crate::memory::Verdict;
use crate::memory::verdict::BANDS;
use crate::report::{Evaluation, Figure};
use crate::run::registry::field;
use crate::run::{Method, OneOf};
use crate::scene::words;
use crate::ui::field::choice_select;
use crate::ui::state::State;
use crate::units::show_percent;
use leptos::prelude::*;

/// What the picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    ByComponent,
    OverTheStep,
}

/// The memory panel.
#[component]
pub fn MemoryPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let shown = RwSignal::new(Shown::ByComponent);
    let alone = state.embed().is_some();
    let method = (!alone).then(|| {
        field("memory_method").map(|field| {
            view! { <span class="tools"><small>"method "</small>{choice_select(state, field, "Memory method")}</span> }
        })
    });
    let toggle = move |to: Shown, label: &'static str| {
        view! {
            <button
                class="toggle-link"
                aria-pressed=move || (shown.get() == to).to_string()
                on:click=move |_| shown.set(to)
            >{label}</button>
        }
    };
    let over_time = Signal::derive(move || shown.get() == Shown::OverTheStep);
    let panels = (!alone).then(|| {
        view! { <methods::Methods/> <fit::Fit/> <narrow::Narrow/> }
    });
    view! {
        <section aria-labelledby="memory-title" class="stale-able" class:stale=move || state.is_stale()>
            <div class="panel-head">
                <h2 id="memory-title">"Memory per GPU, by stage"</h2>
                <span class="spring"></span>
                {method}
                <span class="tools" role="group" aria-label="Picture">
                    {toggle(Shown::ByComponent, "by component")}
                    {toggle(Shown::OverTheStep, "over the step")}
                </span>
            </div>
            <div hidden=move || over_time.get()>
                <bars::Bars/>
            </div>
            <over_time::OverTime visible=over_time/>
            {move || state.evaluation().map(|evaluation| measured(state, &evaluation))}
            {panels}
        </section>
    }
}

/// The share of the capacity that is needed, and what became of measured runs with this verdict.
fn measured(state: State, evaluation: &Evaluation) -> impl IntoView + use<> {
    let memory = &evaluation.report.memory;
    let share = show_percent(memory.peak_bytes / memory.capacity_bytes);
    let open = move |_| state.ask(Figure::Capacity);
    if memory.method == Method::Fujii.id() {
        return view! {
            <p class="bands">
                {format!("{share} of the size on the box. ")}
                "The paper: up to 80 % none of its 454 runs ran out of memory, above 100 % it expects to. "
                <button class="link" on:click=open>"the rule"</button>
            </p>
        }
        .into_any();
    }
    let band = |band: &crate::memory::verdict::Band| {
        let mine = band.verdict == memory.verdict;
        let word = match band.verdict {
            Verdict::Oom => "out of memory".to_owned(),
            other => words::verdict(other).to_lowercase(),
        };
        let text = format!("{word}: {} of {} ran out", band.ran_out, band.runs);
        view! { <span class="band" class:mine=mine aria-current=mine.then_some("true")>{text}</span> }
    };
    view! {
        <p class="bands">
            {format!("{share} of what the driver shows. Measured runs by verdict: ")}
            {BANDS.iter().map(band).collect_view()}
            <button class="link" on:click=open>"the rule"</button>
        </p>
    }
    .into_any()
}
