//! The answer at a glance: does it fit, how long is a step, where does the time go; and what is to be said about it.

use crate::issue::Severity;
use crate::memory::Verdict;
use crate::report::{Evaluation, Figure};
use crate::scene::words;
use crate::ui::browser;
use crate::ui::field::input_id;
use crate::ui::field::issue_line;
use crate::ui::state::State;
use crate::units::{Seconds, group, show_percent, show_seconds};
use leptos::prelude::*;

/// The key figures; each opens its formula.
#[component]
pub fn Strip() -> impl IntoView {
    let state = expect_context::<State>();
    view! {
        <div class="strip" class:stale=move || state.is_stale() role="region" aria-label="Key figures">
            <Show when=move || state.is_stale()>
                <span class="stale-note">"the last run that made sense"</span>
            </Show>
            {move || state.evaluation().map(|evaluation| keys(state, &evaluation))}
        </div>
    }
}

fn keys(state: State, evaluation: &Evaluation) -> impl IntoView + use<> {
    let report = &evaluation.report;
    let (memory, step) = (&report.memory, report.step);
    let unit = state.unit.get();
    let (class, mark) = match memory.verdict {
        Verdict::Fits => ("key verdict fits", "✓"),
        Verdict::Tight => ("key verdict tight", "≈"),
        Verdict::Oom => ("key verdict oom", "✕"),
    };
    let peak = Figure::Memory(memory.peak_stage);
    let key = move |name: &'static str,
                    value: String,
                    small: String,
                    figure: Figure,
                    class: &'static str| {
        view! {
            <button class=format!("key {class}") on:click=move |_| state.ask(figure)>
                <span class="name">{name}</span>
                <span class="value">{value} <small class="range">{small}</small></span>
            </button>
        }
    };
    let share = |part: Seconds| {
        show_percent(if step.time_s.0 > 0.0 {
            part / step.time_s
        } else {
            0.0
        })
    };
    let range = format!(
        "{} to {}",
        show_seconds(step.low_s).trim_end_matches(" s"),
        show_seconds(step.high_s)
    );
    view! {
        <button class=class on:click=move |_| state.ask(peak) title=format!("{} bytes", group(&format!("{:.0}", memory.peak_bytes.0)))>
            <span class="name">{format!("Fullest GPU: stage {}", memory.peak_stage)}</span>
            <span class="value">
                <span class="mark">{mark}</span>
                <span class="word">{words::verdict(memory.verdict)}</span>
                " "
                <small>{format!("{} of {}", unit.number(memory.peak_bytes), unit.show(memory.capacity_bytes))}</small>
            </span>
        </button>
        {key("Step", show_seconds(step.time_s), range, Figure::Step, "")}
        {key("Tokens/s/GPU", group(&format!("{:.0}", step.tokens_per_s_per_gpu)), String::new(), Figure::Tokens, "")}
        {key("MFU", show_percent(step.mfu), String::new(), Figure::Mfu, "")}
        {key("Bubble", show_percent(report.pipeline.bubble_fraction), String::new(), Figure::Bubble, "")}
        {key("Exposed", share(step.exposed_comm_s), String::new(), Figure::Exposed, "phone-skip")}
    }
}

/// Everything to be said, with a way to the field.
#[component]
pub fn IssueList() -> impl IntoView {
    let state = expect_context::<State>();
    let list = move || state.issues();
    let line = move |issue: crate::issue::Issue| {
        let field = crate::run::registry::field(&issue.field);
        let go = field.map(|field| {
            let id = input_id(field);
            view! {
                <button class="link field-link" on:click=move |_| {
                    if let Some(input) = browser::by_id(&id) {
                        input.scroll_into_view();
                        let _ = input.focus();
                    }
                }>{field.label}</button>
            }
        });
        let errors = issue.severity == Severity::Error;
        view! { <li class:error=errors>{go}{issue_line(state, issue)}</li> }
    };
    view! {
        <ul class="issues" aria-label="What to know" hidden=move || list().is_empty()>
            {move || list().into_iter().map(line).collect_view()}
        </ul>
    }
}
